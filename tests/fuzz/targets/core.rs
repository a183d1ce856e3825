//! The core under sequences that no kernel would give: each byte pair is an input and a step of the clock.

use minion::task::spec::{Health, Hook, Limited, Probe, ReadyWay, StartLimit};
use minion::task::state::{Action, Event, Part};
use minion::task::{Command, Core, Exit, Input, Output, Restart, Role, TaskSpec};
use std::time::{Duration, Instant};

const SIGNALS: [i32; 3] = [15, 2, 1];

/// How many tasks, of what kind, with what time; then one input for each two bytes.
pub fn events(data: &[u8]) {
    let [shape, extras, steps @ ..] = data else { return };
    let tasks: Vec<TaskSpec> = (0..shape & 3).map(|nth| task(nth, *shape, *extras)).collect();
    let count = tasks.len();
    let budget = Duration::from_millis(1 << (shape >> 4));
    let mut core = Core::new(&tasks, budget);
    let mut now = Instant::now();
    let mut seen = Seen::default();
    for step in steps.chunks_exact(2) {
        now += Duration::from_micros(1 << (step[1] >> 3));
        let input = match input(step[0], step[1], count) {
            // The beginning comes first, and only the core itself says these to a task, not once the end has begun.
            Input::Begin if core.is_stopping() => Input::Tick,
            Input::Task(task, Event::Start | Event::Restart) if core.is_stopping() => {
                Input::Command(task, Command::Start)
            }
            input @ (Input::Begin
            | Input::Task(..)
            | Input::Stop(_)
            | Input::StopNow(_)
            | Input::Fail
            | Input::Command(..)
            | Input::Tick) => input,
        };
        let outputs = core.step(input, now);
        seen.check(input, &outputs, &core);
    }
    // Whatever came before, the end comes when it is asked for and the time is over.
    core.step(Input::StopNow(3), now);
    let over = core.step(Input::Tick, now + budget + Duration::from_secs(1));
    assert!(seen.over || over.iter().any(|output| matches!(output, Output::Over(_))) || core.deadline().is_none());
    assert_eq!(core.deadline(), None, "a timer is left armed");
}

/// A task with some of readiness, health, hooks, a limit and a predecessor, as the bits of `extras` say.
fn task(nth: u8, shape: u8, extras: u8) -> TaskSpec {
    let (role, restart) = kind(nth, shape);
    let mut spec = TaskSpec::new(nth.to_string(), role, "/bin/true", restart);
    let bit = |at: u8| extras.rotate_left(u32::from(nth)) >> at & 1 == 1;
    let second = Duration::from_secs(1);
    let hook = || Hook { args: vec!["/bin/true".into()], timeout: second };
    let probe = || Probe::File("/".into());
    spec.before_start = bit(0).then(hook);
    spec.after_stop = bit(1).then(hook);
    if bit(2) {
        spec.readiness.way = if bit(3) { ReadyWay::Notify } else { ReadyWay::Probe { probe: probe(), every: second } };
        spec.readiness.within = bit(4).then_some(second);
    }
    let health = || Health { probe: bit(3).then(probe), every: second, timeout: second, failures: 2 };
    spec.health = bit(5).then(health);
    spec.start_limit = bit(6).then_some(StartLimit { starts: 2, within: second, then: Limited::GiveUp });
    if bit(7) && nth > 0 {
        spec.after = vec![(nth - 1).to_string()];
    }
    spec
}

fn kind(nth: u8, shape: u8) -> (Role, Restart) {
    let (delay, max) = (Duration::from_millis(u64::from(shape >> 2)), Duration::from_secs(1));
    match (nth, shape >> 3 & 1) {
        (0, _) => (Role::Executor, Restart::Never),
        (_, 0) => (Role::Helper, Restart::Always { delay, max }),
        _ => (Role::Helper, Restart::OnFailure { delay, max }),
    }
}

fn input(what: u8, more: u8, count: usize) -> Input {
    // One more than there are: a task that is none.
    let task = usize::from(more & 7) % (count + 1);
    let event = |event| Input::Task(task, event);
    match what % 23 {
        0 => Input::Begin,
        1 => event(Event::Start),
        2 => event(Event::Executed),
        3 => event(Event::Exited(Exit::Code(more))),
        4 => event(Event::Exited(Exit::NotStarted)),
        5 => event(Event::Exited(Exit::Signal { signal: i32::from(more), core: more & 1 == 1 })),
        6 => event(Event::Quiet),
        7 => event(Event::Tick),
        8 => event(Event::Stop),
        9 => event(Event::Kill),
        10 => event(Event::Restart),
        11 => event(Event::StayDown),
        12 => Input::Stop(SIGNALS[usize::from(more) % SIGNALS.len()]),
        13 => Input::StopNow(3),
        14 => Input::Fail,
        15 => Input::Command(task, Command::Restart),
        16 => Input::Command(task, Command::Stop),
        17 => Input::Command(task, Command::Start),
        18 => event(Event::Ready),
        19 => event(Event::Alive),
        20 => event(Event::Answered(true)),
        21 => event(Event::Answered(false)),
        _ => Input::Tick,
    }
}

#[derive(Default)]
struct Seen {
    stopping: bool,
    over: bool,
}

impl Seen {
    fn check(&mut self, input: Input, outputs: &[Output], core: &Core) {
        let answers = outputs.iter().filter(|output| matches!(output, Output::Answered(_))).count();
        assert_eq!(answers, usize::from(matches!(input, Input::Command(..))), "one answer to a command");
        for output in outputs {
            assert!(!self.over || matches!(output, Output::Answered(Err(_))), "{output:?} after the end");
            match output {
                Output::Stopping(_) => {
                    assert!(!self.stopping, "the end begins once");
                    self.stopping = true;
                }
                Output::Task(_, Action::Spawn(Part::Before | Part::Main)) => {
                    assert!(!self.stopping, "a start after the end began");
                }
                Output::Over(_) => self.over = true,
                Output::Task(..) | Output::Killing | Output::Answered(_) => {}
            }
        }
        assert_eq!(self.stopping, core.is_stopping());
    }
}
