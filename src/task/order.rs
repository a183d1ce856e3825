//! In which order tasks start and stop. Pure.

/// For each task the tasks that it waits for, and the level at which it is told to end: 0 first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Order {
    after: Vec<Vec<usize>>,
    level: Vec<usize>,
}

impl Order {
    /// `after[task]` are the tasks that must be ready before it. A task is told to end before any of those is: its level is
    /// below theirs. A cycle, which no front end lets through, is cut where it is met.
    pub(super) fn new(after: Vec<Vec<usize>>) -> Self {
        let mut level = vec![0; after.len()];
        // Each round raises what is waited for above who waits; without a cycle this ends after as many rounds as tasks.
        for _ in 0..after.len() {
            let mut changed = false;
            for (task, waits_for) in after.iter().enumerate() {
                for &before in waits_for {
                    if before < level.len() && level[before] <= level[task] {
                        level[before] = level[task] + 1;
                        changed = true;
                    }
                }
            }
            if !changed {
                break;
            }
        }
        Self { after, level }
    }

    /// The tasks that a task waits for.
    pub(super) fn waits_for(&self, task: usize) -> &[usize] {
        self.after.get(task).map_or(&[], Vec::as_slice)
    }

    /// When a task is told to end: after all tasks of lower levels have ended.
    pub(super) fn level(&self, task: usize) -> usize {
        self.level.get(task).copied().unwrap_or(0)
    }

    /// The highest level.
    pub(super) fn last_level(&self) -> usize {
        self.level.iter().copied().max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_waited_for_ends_later() {
        // 2 waits for 1, 1 for 0; 3 for nobody.
        let order = Order::new(vec![vec![], vec![0], vec![1], vec![]]);
        assert_eq!((0..4).map(|task| order.level(task)).collect::<Vec<_>>(), [2, 1, 0, 0]);
        assert_eq!(order.last_level(), 2);
        assert_eq!(order.waits_for(2), [1]);
    }

    #[test]
    fn a_diamond_ends_from_its_tip() {
        let order = Order::new(vec![vec![], vec![0], vec![0], vec![1, 2]]);
        assert_eq!((0..4).map(|task| order.level(task)).collect::<Vec<_>>(), [2, 1, 1, 0]);
    }

    #[test]
    fn a_cycle_does_not_hang() {
        let order = Order::new(vec![vec![1], vec![0]]);
        assert!(order.last_level() > 0);
    }
}
