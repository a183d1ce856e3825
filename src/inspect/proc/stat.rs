//! `/proc/<pid>/stat`: parent, group, session, state, scheduling.

use super::once::Once;
use super::seen::Seen;

/// The fields that the tools use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::inspect) struct Stat {
    pub(in crate::inspect) pid: i32,
    /// The name: the first 15 bytes of the program's, or what it has set.
    pub(in crate::inspect) name: String,
    /// `R`, `S`, `D`, `T`, `t`, `Z`, …
    pub(in crate::inspect) state: char,
    pub(in crate::inspect) parent: i32,
    pub(in crate::inspect) group: i32,
    pub(in crate::inspect) session: i32,
    pub(in crate::inspect) threads: u32,
    /// Clock ticks from boot to its start.
    pub(in crate::inspect) start: u64,
    /// `SCHED_OTHER` is 0, `SCHED_FIFO` 1, `SCHED_RR` 2.
    pub(in crate::inspect) policy: u32,
}

impl Stat {
    /// As it is now.
    pub(in crate::inspect) fn read(pid: i32) -> Seen<Self> {
        Once::default().stat(pid)
    }

    /// The name may hold anything: the fields begin after the last `)`. [KF-61]
    pub(super) fn parse(line: &[u8]) -> Option<Self> {
        let (open, close) = (line.iter().position(|byte| *byte == b'(')?, line.iter().rposition(|byte| *byte == b')')?);
        let pid = std::str::from_utf8(line.get(..open)?).ok()?.trim().parse().ok()?;
        let name = String::from_utf8_lossy(line.get(open + 1..close)?).into_owned();
        let fields: Vec<&str> = std::str::from_utf8(line.get(close + 1..)?).ok()?.split_ascii_whitespace().collect();
        // Numbered from 1 in proc_pid_stat(5); the state is the third.
        let field = |number: usize| fields.get(number - 3).copied();
        Some(Self {
            pid,
            name,
            state: field(3)?.chars().next()?,
            parent: field(4)?.parse().ok()?,
            group: field(5)?.parse().ok()?,
            session: field(6)?.parse().ok()?,
            threads: field(20)?.parse().ok()?,
            start: field(22)?.parse().ok()?,
            policy: field(41)?.parse().ok()?,
        })
    }

    /// Dead, and not reaped.
    pub(in crate::inspect) fn is_zombie(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_name_moves_no_field() {
        let line =
            b"42 (a) R 1 (b) S 7 40 39 0 -1 1 2 3 4 5 6 7 8 9 20 0 1 0 252186 10 11 12 13 14 15 16 17 18 19 20 21 \
                     22 23 24 17 1 5 2 0 0 0\n";
        let stat = Stat::parse(line).unwrap();
        assert_eq!((stat.pid, stat.name.as_str(), stat.state), (42, "a) R 1 (b", 'S'));
        assert_eq!((stat.parent, stat.group, stat.session, stat.start, stat.policy), (7, 40, 39, 252_186, 2));
    }

    #[test]
    fn this_process_reads_itself() {
        let own = i32::try_from(std::process::id()).unwrap();
        let Seen::Known(stat) = Stat::read(own) else { panic!("not seen") };
        assert_eq!((stat.pid, stat.policy, stat.is_zombie()), (own, 0, false));
        assert!(stat.start > 0 && stat.parent > 0);
    }
}
