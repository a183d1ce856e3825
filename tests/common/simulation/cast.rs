//! Who plays: random tasks, and how their processes behave.

use super::random::Random;
use minion::task::spec::{Health, Hook, Limited, Probe, Readiness, ReadyWay, StartLimit};
use minion::task::{Exit, Restart, Role, TaskSpec};
use std::time::Duration;

/// How a simulated process behaves.
#[derive(Clone, Copy)]
pub(super) struct Nature {
    /// When it dies by itself, after its exec.
    pub(super) lives: Option<Duration>,
    /// How it ends when it dies by itself or obeys.
    pub(super) exit: Exit,
    /// How long it takes to obey SIGTERM; `None` ignores it.
    pub(super) obeys: Option<Duration>,
    /// A process in uninterruptible sleep does not even obey SIGKILL.
    pub(super) killable: bool,
    /// How many more it starts when SIGKILL finds it.
    pub(super) forks: u32,
    /// When it can serve, after its exec; `None`: never.
    pub(super) serves: Option<Duration>,
    /// When it falls ill after that; `None`: never.
    pub(super) ails: Option<Duration>,
}

const DELAYS: [u64; 3] = [0, 5, 5_000];

/// The tasks of a world. A helper waits only for those before it in the list, the executor for any.
pub(super) fn cast(random: &mut Random) -> Vec<TaskSpec> {
    let helpers = usize::try_from(random.below(5)).unwrap();
    let mut specs: Vec<TaskSpec> = (0..helpers).map(|n| task(&format!("h{n}"), Role::Helper, random)).collect();
    specs.push(task("executor", Role::Executor, random));
    if random.one_in(2) {
        for late in 0..specs.len() {
            let before: Vec<String> =
                (0..late).filter(|_| random.one_in(3)).map(|early| specs[early].name.clone()).collect();
            specs[late].after = before;
        }
    }
    let at = usize::try_from(random.below(specs.len() as u64)).unwrap();
    let last = specs.len() - 1;
    specs.swap(at, last);
    specs
}

fn task(name: &str, role: Role, random: &mut Random) -> TaskSpec {
    let delay = Duration::from_millis(random.pick(&DELAYS));
    let max = Duration::from_millis(random.pick(&[0, 60_000]));
    let restart = match role {
        Role::Executor => Restart::Never,
        Role::Helper if random.one_in(6) => Restart::Never,
        Role::Helper if random.one_in(4) => Restart::OnFailure { delay, max },
        Role::Helper => Restart::Always { delay, max },
    };
    let mut spec = TaskSpec::new(name, role, "/bin/true", restart);
    // Half of the worlds are as plain as the hyperkube profile.
    if random.one_in(2) {
        return spec;
    }
    let probe = || Probe::File("/".into());
    let every = Duration::from_millis(random.pick(&[0, 100, 2_000]));
    spec.readiness = Readiness {
        way: match random.below(4) {
            0 | 1 => ReadyWay::Exec,
            2 => ReadyWay::Notify,
            _ => ReadyWay::Probe { probe: probe(), every: every.max(Duration::from_millis(50)) },
        },
        within: random.pick(&[None, Some(1), Some(20)]).map(Duration::from_secs),
    };
    spec.health = random.one_in(3).then(|| Health {
        probe: random.one_in(2).then(probe),
        every: every.max(Duration::from_millis(500)),
        timeout: Duration::from_millis(300),
        failures: u32::try_from(random.below(3)).unwrap(),
    });
    let mut hook = || {
        let timeout = Duration::from_millis(random.pick(&[1, 1_000, 30_000]));
        random.one_in(4).then(|| Hook { args: vec!["/bin/true".into()], timeout })
    };
    (spec.before_start, spec.after_stop) = (hook(), hook());
    spec.start_limit = random.one_in(4).then(|| StartLimit {
        starts: 1 + u32::try_from(random.below(4)).unwrap(),
        within: Duration::from_secs(30),
        then: random.pick(&[Limited::End, Limited::GiveUp]),
    });
    spec
}

/// The main process of a task, or one that it left behind.
pub(super) fn nature(random: &mut Random) -> Nature {
    Nature {
        lives: random.pick(&[None, Some(10_000), Some(3_000_000), Some(100_000_000)]).map(|end| random.micros(end)),
        exit: random.pick(&[Exit::Code(0), Exit::Code(3), Exit::Signal { signal: 9, core: false }]),
        obeys: random.pick(&[None, Some(2_000), Some(2_000_000)]).map(|end| random.micros(end)),
        killable: !random.one_in(100),
        forks: random.pick(&[0, 0, 0, 5]),
        serves: random.pick(&[None, Some(10_000), Some(10_000), Some(5_000_000)]).map(|end| random.micros(end)),
        ails: random.pick(&[None, None, Some(20_000_000)]).map(|end| random.micros(end)),
    }
}

/// A hook: mostly short and good.
pub(super) fn hook(random: &mut Random) -> Nature {
    let good = !random.one_in(4);
    let exit = if good { Exit::Code(0) } else { Exit::Code(1) };
    let lives = random.pick(&[Some(2_000), Some(2_000), None]).map(|end| random.micros(end));
    Nature { lives, exit, forks: 0, ..nature(random) }
}

/// When a process obeys a signal.
pub(super) fn answer(nature: Nature, force: bool, random: &mut Random) -> Option<Duration> {
    if force { nature.killable.then(|| random.micros(1_000)) } else { nature.obeys }
}
