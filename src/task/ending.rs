//! The end of everything inside one budget: which level is being told to end, and until when. Pure.

use super::outcome::Reason;
use std::time::{Duration, Instant};

/// After this long, a second TERM or INT means "now". Sooner it is an echo of the first: an agent's kill signals every process
/// of the tree, and the container's init forwards it once more. [ME-31]
pub const SECOND_SIGNAL_AFTER: Duration = Duration::from_millis(500);
/// What the rest gets once the executor is gone: the agent kills the container soon after, whatever the grace was. [ME-32]
pub const AFTER_EXECUTOR: Duration = Duration::from_secs(1);

/// The time that everything has to end in, out of the agent's grace period: a second less, because the agent's SIGKILL must
/// find nothing to do; but never less than half of it.
pub fn budget(grace: Duration) -> Duration {
    grace.saturating_sub(Duration::from_secs(1)).max(grace / 2)
}

/// An end that has begun.
///
/// Three quarters of the budget are for asking, the rest for SIGKILL and reaping. The time for asking is shared by the
/// levels; what a level does not use goes to those behind it, so the slowest cannot eat the others' time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stop {
    pub(super) reason: Reason,
    pub(super) since: Instant,
    level: usize,
    last_level: usize,
    /// When the share of the level is used up.
    share_until: Instant,
    /// When everything still alive is killed.
    kill_at: Instant,
    /// Whether it was.
    killed: bool,
    /// When we leave, whatever is alive.
    end_at: Instant,
}

impl Stop {
    pub(super) fn new(reason: Reason, now: Instant, budget: Duration, last_level: usize) -> Self {
        let kill_at = now + three_quarters(budget);
        let mut stop = Self {
            reason,
            since: now,
            level: 0,
            last_level,
            share_until: kill_at,
            kill_at,
            killed: false,
            end_at: now + budget,
        };
        stop.share(now);
        stop
    }

    /// Whether a signal that comes now means it.
    pub(super) fn is_insisted(&self, now: Instant) -> bool {
        now >= self.since + SECOND_SIGNAL_AFTER
    }

    pub(super) fn level(&self) -> usize {
        self.level
    }

    /// Whether there is no level behind this one, or it does not matter any more.
    pub(super) fn is_last(&self) -> bool {
        self.killed || self.level >= self.last_level
    }

    /// Whether the level's time is over. When it is the last one, so is the time for asking.
    pub(super) fn share_is_used(&self, now: Instant) -> bool {
        self.share_until <= now
    }

    pub(super) fn next_level(&mut self, now: Instant) {
        self.level += 1;
        self.share(now);
    }

    /// The executor is gone: the rest has little time.
    pub(super) fn hurry(&mut self, now: Instant, budget: Duration) {
        let rest = budget.min(AFTER_EXECUTOR);
        self.end_at = self.end_at.min(now + rest);
        self.kill_at = self.kill_at.min(now + three_quarters(rest));
        self.share(now);
    }

    /// The time for asking is over. True once.
    pub(super) fn kill(&mut self) -> bool {
        !std::mem::replace(&mut self.killed, true)
    }

    pub(super) fn is_over(&self, now: Instant) -> bool {
        self.end_at <= now
    }

    pub(super) fn deadline(&self) -> Instant {
        if self.killed { self.end_at } else { self.share_until }
    }

    fn share(&mut self, now: Instant) {
        let levels = u32::try_from(self.last_level - self.level.min(self.last_level) + 1).unwrap_or(u32::MAX);
        self.share_until = now + self.kill_at.saturating_duration_since(now) / levels;
    }
}

fn three_quarters(time: Duration) -> Duration {
    time * 3 / 4
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn the_budget_is_a_second_less_than_the_grace_and_at_least_half_of_it() {
        assert_eq!(budget(5 * SECOND), 4 * SECOND);
        assert_eq!(budget(Duration::from_millis(1500)), Duration::from_millis(750));
        assert_eq!(budget(Duration::ZERO), Duration::ZERO);
    }

    #[test]
    fn levels_share_the_time_and_hand_on_what_they_do_not_use() {
        let begin = Instant::now();
        let mut stop = Stop::new(Reason::Signal(15), begin, 40 * SECOND, 2);
        assert_eq!(stop.deadline(), begin + 10 * SECOND);
        stop.next_level(begin);
        assert_eq!(stop.deadline(), begin + 15 * SECOND);
        stop.next_level(begin + 15 * SECOND);
        assert_eq!(stop.deadline(), begin + 30 * SECOND);
        assert!(stop.is_last());
        assert!(stop.kill() && !stop.kill());
        assert_eq!(stop.deadline(), begin + 40 * SECOND);
    }

    #[test]
    fn after_the_executor_a_second_is_left() {
        let begin = Instant::now();
        let mut stop = Stop::new(Reason::Signal(15), begin, 40 * SECOND, 0);
        stop.hurry(begin + SECOND, 40 * SECOND);
        assert_eq!(stop.deadline(), begin + Duration::from_millis(1750));
        assert!(stop.is_over(begin + 2 * SECOND));
    }
}
