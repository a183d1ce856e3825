//! A world without processes for the pure core: children are entries in a queue of future events.

mod random;
mod seen;

use minion::task::state::{Action, COMMAND_GRACE, Event, State};
use minion::task::{Command, Core, Exit, Input, Outcome, Output, Reason, Refusal, Restart, Role};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

use random::Random;
#[allow(unused_imports, reason = "of the files that share this, one needs it")]
pub use seen::Seen;
use seen::{Commands, Finished};

/// How a simulated process behaves.
#[derive(Clone, Copy)]
struct Nature {
    /// When it dies by itself, after its start.
    lives: Option<Duration>,
    /// How long it takes to obey SIGTERM; `None` ignores it.
    obeys: Option<Duration>,
    /// A process in uninterruptible sleep does not even obey SIGKILL.
    killable: bool,
    /// How many more it starts when SIGKILL finds it.
    forks: u32,
}

#[derive(Default)]
struct Run {
    main_alive: bool,
    main_dead_known: bool,
    nature: Option<Nature>,
    leftovers: Vec<(u32, Nature)>,
    drained: bool,
    quiet_told: bool,
    reported: bool,
    /// A command told its main process to end.
    told: Option<Instant>,
    /// A command had a say in it.
    commanded: bool,
}

impl Run {
    fn is_over(&self) -> bool {
        !self.main_alive && self.main_dead_known && self.leftovers.is_empty() && self.drained
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    Executes(usize, usize),
    Dies(usize, usize),
    NeverStarts(usize, usize),
    LeftoverDies(usize, usize, u32),
    Drains(usize, usize),
    Signal(i32),
    Commands(usize, u8),
}

const COMMANDS: [Command; 3] = [Command::Restart, Command::Stop, Command::Start];

pub struct World {
    random: Random,
    core: Core,
    roles: Vec<Role>,
    runs: Vec<Vec<Run>>,
    queue: BinaryHeap<Reverse<(Instant, u64, Happening)>>,
    serial: u64,
    next_leftover: u32,
    now: Instant,
    budget: Duration,
    stopping: Option<(Instant, Reason)>,
    executor_died: Option<Instant>,
    over: Option<Outcome>,
    swept_by_force: bool,
    killed: bool,
    /// A command keeps it down.
    held: Vec<bool>,
    answers: u32,
    commands: Commands,
}

impl World {
    pub fn new(seed: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let mut roles = vec![Role::Executor];
        roles.extend((0..random.below(4)).map(|_| Role::Helper));
        let at = usize::try_from(random.below(roles.len() as u64)).unwrap();
        roles.swap(0, at);
        let tasks: Vec<(Role, Restart)> = roles.iter().map(|role| (*role, restart(*role, &mut random))).collect();
        let budget = Duration::from_millis(random.pick(&[1, 500, 4000, 89_000]));
        let mut world = Self {
            core: Core::of(tasks, budget),
            runs: roles.iter().map(|_| Vec::new()).collect(),
            held: vec![false; roles.len()],
            roles,
            queue: BinaryHeap::new(),
            serial: 0,
            next_leftover: 0,
            now: Instant::now(),
            budget,
            stopping: None,
            executor_died: None,
            over: None,
            swept_by_force: false,
            killed: false,
            answers: 0,
            commands: Commands::default(),
            random,
        };
        for _ in 0..world.random.pick(&[0, 0, 1, 6]) {
            let at = world.random.micros(60_000_000);
            let task = usize::try_from(world.random.below(world.roles.len() as u64)).unwrap();
            let command = world.random.pick(&[0, 1, 2]);
            world.later(at, Happening::Commands(task, command));
        }
        for _ in 0..world.random.below(4) {
            let at = world.random.micros(100_000_000);
            let signal = world.random.pick(&[libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT]);
            world.later(at, Happening::Signal(signal));
        }
        world.later(Duration::from_secs(200), Happening::Signal(libc::SIGTERM));
        world
    }

    /// Runs to the end, checking at every step.
    pub fn run(mut self) -> Finished {
        self.feed(Input::Begin);
        let mut steps = 0;
        while self.over.is_none() {
            steps += 1;
            assert!(steps < 20_000, "it does not end");
            let event = self.queue.peek().map(|Reverse((at, ..))| *at);
            match (self.core.deadline(), event) {
                (Some(timer), event) if event.is_none_or(|at| timer <= at) => {
                    self.now = self.now.max(timer);
                    self.feed(Input::Tick);
                    let next = self.core.deadline();
                    assert!(next.is_none_or(|at| at > self.now), "a timer that is due again at once spins");
                }
                (_, Some(_)) => self.happen(),
                (_, None) => panic!("nothing can happen any more and it is not over"),
            }
        }
        self.check_end()
    }

    fn later(&mut self, after: Duration, what: Happening) {
        self.serial += 1;
        self.queue.push(Reverse((self.now + after, self.serial, what)));
    }

    fn happen(&mut self) {
        let Some(Reverse((at, _, what))) = self.queue.pop() else { return };
        self.now = at;
        match what {
            Happening::Signal(signal) if signal == libc::SIGQUIT => self.feed(Input::StopNow(signal)),
            Happening::Signal(signal) => self.feed(Input::Stop(signal)),
            Happening::Commands(task, command) => self.command(task, COMMANDS[usize::from(command)]),
            Happening::Executes(task, run) if self.runs[task][run].main_alive => {
                self.feed(Input::Task(task, Event::Executed));
            }
            Happening::Dies(task, run) if self.runs[task][run].main_alive => self.main_dies(task, run),
            Happening::NeverStarts(task, run) => {
                self.runs[task][run].main_dead_known = true;
                self.exited(task, Exit::NotStarted);
                self.tell_quiet(task, run);
            }
            Happening::LeftoverDies(task, run, who) => {
                self.runs[task][run].leftovers.retain(|(id, _)| *id != who);
                self.tell_quiet(task, run);
            }
            Happening::Drains(task, run) => {
                self.runs[task][run].drained = true;
                self.tell_quiet(task, run);
            }
            Happening::Executes(..) | Happening::Dies(..) => {}
        }
    }

    /// Exactly one answer, and what it says is so.
    fn command(&mut self, task: usize, command: Command) {
        let before = (self.answers, self.core.state(task));
        let running = self.runs[task].last().is_some_and(|run| run.main_alive);
        self.held[task] &= command == Command::Stop;
        self.feed(Input::Command(task, command));
        assert_eq!(self.answers, before.0 + 1, "one answer to a command");
        let after = self.core.state(task).unwrap();
        let refused = self.roles[task] == Role::Executor || self.stopping.is_some();
        if refused {
            assert_eq!(Some(after), before.1, "a refused command changes nothing");
            self.commands.refused += 1;
            return;
        }
        self.commands.obeyed += 1;
        self.held[task] |= command == Command::Stop;
        if let State::Stopping { kill_at: Some(_), .. } = after
            && running
        {
            let now = self.now;
            self.runs[task].last_mut().unwrap().told.get_or_insert(now);
        }
        match command {
            Command::Stop => assert!(!matches!(after, State::Running { .. } | State::Starting { .. }), "{after:?}"),
            Command::Restart => assert!(!matches!(after, State::Running { .. } | State::Down), "{after:?}"),
            Command::Start => assert!(!matches!(after, State::Backoff { .. } | State::Down), "{after:?}"),
        }
        if let Some(run) = self.runs[task].last_mut() {
            run.commanded = true;
        }
    }

    fn main_dies(&mut self, task: usize, run: usize) {
        if let Run { told: Some(told), nature: Some(Nature { killable: true, .. }), .. } = self.runs[task][run] {
            let limit = told + COMMAND_GRACE + Duration::from_millis(1);
            assert!(self.now <= limit, "a task that a command ends is killed when it does not obey");
        }
        for _ in 0..self.random.pick(&[0, 0, 0, 1, 3]) {
            let nature = nature(&mut self.random);
            self.add_leftover(task, run, nature);
        }
        let drain = self.random.micros(2_000);
        self.later(drain, Happening::Drains(task, run));
        let current = &mut self.runs[task][run];
        current.main_alive = false;
        current.main_dead_known = true;
        let exit = self.random.pick(&[Exit::Code(0), Exit::Code(3), Exit::Signal { signal: 9, core: false }]);
        self.exited(task, exit);
    }

    fn exited(&mut self, task: usize, exit: Exit) {
        if self.roles[task] == Role::Executor {
            self.executor_died = Some(self.now);
        }
        self.feed(Input::Task(task, Event::Exited(exit)));
    }

    fn add_leftover(&mut self, task: usize, run: usize, nature: Nature) {
        self.next_leftover += 1;
        let id = self.next_leftover;
        self.runs[task][run].leftovers.push((id, nature));
        if let Some(lives) = nature.lives {
            self.later(lives, Happening::LeftoverDies(task, run, id));
        }
    }

    fn tell_quiet(&mut self, task: usize, run: usize) {
        let current = &mut self.runs[task][run];
        if current.is_over() && !current.quiet_told {
            current.quiet_told = true;
            self.feed(Input::Task(task, Event::Quiet));
        }
    }

    fn feed(&mut self, input: Input) {
        for output in self.core.step(input, self.now) {
            assert!(self.over.is_none(), "{output:?} after the end");
            match output {
                Output::Task(task, action) => self.act(task, action),
                Output::Stopping(reason) => {
                    assert!(self.stopping.is_none(), "the end begins once");
                    self.stopping = Some((self.now, reason));
                }
                Output::Killing => self.killed = true,
                Output::Answered(answer) => {
                    self.answers += 1;
                    assert_ne!(answer == Err(Refusal::Ending), self.stopping.is_none(), "{answer:?}");
                }
                Output::Over(outcome) => self.over = Some(outcome),
            }
        }
    }

    fn act(&mut self, task: usize, action: Action) {
        match action {
            Action::Spawn => self.spawn(task),
            Action::Terminate => self.signal_main(task, false),
            Action::Kill => self.signal_main(task, true),
            Action::SweepTerm => self.sweep(task, false),
            Action::SweepKill => {
                self.swept_by_force = true;
                self.sweep(task, true);
            }
            Action::CheckPlacement => assert!(self.runs[task].last().unwrap().main_alive, "nobody to look at"),
            Action::Report { restart, commanded, .. } => {
                let held = self.held[task];
                let run = self.runs[task].last_mut().unwrap();
                assert!(run.is_over(), "an exit is reported when the run is over, whole");
                assert!(!run.reported, "an exit is reported once");
                run.reported = true;
                assert!(run.commanded || !commanded, "nobody commanded that");
                assert!(!held || restart.is_none(), "it shall stay down");
                self.commands.held += u64::from(commanded && restart.is_none());
                self.commands.started_again += u64::from(commanded && restart.is_some());
                assert!(restart.is_none() || self.roles[task] == Role::Helper, "the executor never restarts");
            }
        }
    }

    fn spawn(&mut self, task: usize) {
        assert!(self.stopping.is_none(), "nothing is started after the end began");
        assert!(!self.held[task], "a task that a command keeps down is started");
        let previous = self.runs[task].last();
        assert!(previous.is_none_or(|run| run.is_over() && run.reported), "two runs of one task");
        assert!(previous.is_none() || self.roles[task] == Role::Helper, "the executor never restarts");
        let run = self.runs[task].len();
        if self.random.one_in(60) {
            self.runs[task].push(Run { drained: true, ..Run::default() });
            let after = self.random.micros(3_000);
            return self.later(after, Happening::NeverStarts(task, run));
        }
        let nature = nature(&mut self.random);
        self.runs[task].push(Run { main_alive: true, nature: Some(nature), ..Run::default() });
        let exec = self.random.micros(2_000);
        self.later(exec, Happening::Executes(task, run));
        if let Some(lives) = nature.lives {
            self.later(exec + lives, Happening::Dies(task, run));
        }
    }

    fn signal_main(&mut self, task: usize, force: bool) {
        let run = self.runs[task].len() - 1;
        let current = &self.runs[task][run];
        // A start that is going to fail has no process to signal.
        let Some(nature) = current.nature.filter(|_| current.main_alive) else { return };
        if let Some(after) = answer(nature, force, &mut self.random) {
            self.later(after, Happening::Dies(task, run));
        }
    }

    fn sweep(&mut self, task: usize, force: bool) {
        let run = self.runs[task].len() - 1;
        assert!(!self.runs[task][run].main_alive, "leftovers are what is left when the main process is gone");
        for (id, nature) in self.runs[task][run].leftovers.clone() {
            if force && nature.forks > 0 && nature.killable {
                self.add_leftover(task, run, Nature { forks: nature.forks - 1, ..nature });
            }
            if let Some(after) = answer(nature, force, &mut self.random) {
                self.later(after, Happening::LeftoverDies(task, run, id));
            }
        }
    }

    fn check_end(self) -> Finished {
        let outcome = self.over.expect("the loop ended by it");
        let (since, reason) = self.stopping.expect("the end was said to begin");
        assert_eq!(outcome.reason, reason);
        assert!(self.now <= since + self.budget, "it took longer than the budget");
        if let Some(died) = self.executor_died {
            let limit = Duration::from_secs(1).min(self.budget);
            assert!(self.now <= died.max(since) + limit, "the rest outlived the executor by too much");
        }
        let alive = self.runs.iter().flatten().any(|run| run.main_alive || !run.leftovers.is_empty());
        if outcome.everything_ended {
            assert!(!alive, "everything ended, it says");
            assert!(self.runs.iter().flatten().all(|run| run.reported), "every exit is reported");
        }
        assert_eq!(self.core.deadline(), None, "a timer is left armed");
        let restarts = self.runs.iter().map(|runs| runs.len().saturating_sub(1)).sum::<usize>();
        Finished {
            outcome,
            restarts: u32::try_from(restarts).unwrap(),
            swept_by_force: self.swept_by_force,
            killed: self.killed,
            commands: self.commands,
        }
    }
}

fn restart(role: Role, random: &mut Random) -> Restart {
    match role {
        Role::Executor => Restart::Never,
        Role::Helper => Restart::Always {
            delay: Duration::from_millis(random.pick(&[0, 5, 5_000])),
            max: Duration::from_millis(random.pick(&[0, 60_000])),
        },
    }
}

fn nature(random: &mut Random) -> Nature {
    Nature {
        lives: random.pick(&[None, Some(10_000), Some(3_000_000), Some(100_000_000)]).map(|end| random.micros(end)),
        obeys: random.pick(&[None, Some(2_000), Some(2_000_000)]).map(|end| random.micros(end)),
        killable: !random.one_in(100),
        forks: random.pick(&[0, 0, 0, 5]),
    }
}

fn answer(nature: Nature, force: bool, random: &mut Random) -> Option<Duration> {
    if force { nature.killable.then(|| random.micros(1_000)) } else { nature.obeys }
}
