//! How often a task may start. Pure.

use super::spec::StartLimit;
use std::collections::VecDeque;
use std::time::Instant;

/// The starts of the near past, as far as a limit asks for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Starts {
    limit: Option<StartLimit>,
    /// At most as many as the limit allows, oldest first.
    recent: VecDeque<Instant>,
}

impl Starts {
    pub(super) fn new(limit: Option<StartLimit>) -> Self {
        Self { limit, recent: VecDeque::new() }
    }

    /// Counts a start, or refuses it.
    pub(super) fn allow(&mut self, now: Instant) -> bool {
        let Some(limit) = self.limit else { return true };
        while self.recent.front().is_some_and(|start| *start + limit.within <= now) {
            self.recent.pop_front();
        }
        if self.recent.len() >= limit.starts.max(1) as usize {
            return false;
        }
        self.recent.push_back(now);
        true
    }

    /// A command starts it: what was before does not count.
    pub(super) fn forget(&mut self) {
        self.recent.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::spec::Limited;
    use std::time::Duration;

    #[test]
    fn so_many_starts_within_the_time_and_no_more() {
        let limit = StartLimit { starts: 2, within: Duration::from_secs(10), then: Limited::End };
        let mut starts = Starts::new(Some(limit));
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        assert!(starts.allow(at(0)) && starts.allow(at(1)));
        assert!(!starts.allow(at(9)));
        assert!(starts.allow(at(10)));
        assert!(!starts.allow(at(10)));
        starts.forget();
        assert!(starts.allow(at(10)));
    }

    #[test]
    fn without_a_limit_nothing_is_remembered() {
        let mut starts = Starts::new(None);
        assert!((0..1000).all(|_| starts.allow(Instant::now())));
        assert!(starts.recent.is_empty());
    }
}
