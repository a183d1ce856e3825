//! A world without processes for the pure core: children are entries in a queue of future events.

mod acts;
mod cast;
mod random;
mod rules;
mod seen;

use minion::task::spec::ReadyWay;
use minion::task::state::{Event, Part, State};
use minion::task::{Command, Core, Exit, Input, Outcome, Output, Reason, Refusal, Role, TaskSpec};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

use cast::Nature;
use random::Random;
#[allow(unused_imports, reason = "of the files that share this, one needs it")]
pub use seen::Seen;
use seen::{Commands, Finished, Ways};

struct Run {
    part: Part,
    since: Instant,
    executed: Option<Instant>,
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
    /// It was judged to be not ready or unhealthy.
    judged: bool,
    /// SIGKILL was sent to its main process.
    forced: bool,
}

impl Run {
    fn new(part: Part, since: Instant) -> Self {
        Self {
            part,
            since,
            executed: None,
            main_alive: false,
            main_dead_known: false,
            nature: None,
            leftovers: Vec::new(),
            drained: false,
            quiet_told: false,
            reported: false,
            told: None,
            commanded: false,
            judged: false,
            forced: false,
        }
    }

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
    SaysReady(usize, usize),
    Barks(usize, usize),
    Answers(usize, usize, bool),
    Signal(i32),
    Commands(usize, u8),
}

const COMMANDS: [Command; 3] = [Command::Restart, Command::Stop, Command::Start];

pub struct World {
    random: Random,
    core: Core,
    specs: Vec<TaskSpec>,
    /// Whether a task ever was ready.
    ready: Vec<bool>,
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
    /// A command had a say in its life.
    touched: Vec<bool>,
    answers: u32,
    commands: Commands,
    ways: Ways,
    /// Whether each step is printed: for the one schedule that a seed repeats.
    told: bool,
}

impl World {
    pub fn new(seed: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let specs = cast::cast(&mut random);
        let budget = Duration::from_millis(random.pick(&[1, 500, 4000, 89_000]));
        let mut world = Self {
            core: Core::new(&specs, budget),
            runs: specs.iter().map(|_| Vec::new()).collect(),
            held: vec![false; specs.len()],
            touched: vec![false; specs.len()],
            ready: vec![false; specs.len()],
            specs,
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
            ways: Ways::default(),
            told: std::env::var_os("MINION_SEED").is_some(),
            random,
        };
        for _ in 0..world.random.pick(&[0, 0, 1, 6]) {
            let at = world.random.micros(60_000_000);
            let task = usize::try_from(world.random.below(world.specs.len() as u64)).unwrap();
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
            Happening::Executes(task, run) if self.runs[task][run].main_alive => self.executes(task, run),
            Happening::SaysReady(task, run) if self.runs[task][run].main_alive => {
                self.feed(Input::Task(task, Event::Ready));
            }
            Happening::Barks(task, run) if self.runs[task][run].main_alive => self.barks(task, run),
            Happening::Answers(task, run, good) if self.runs[task][run].main_alive => {
                self.feed(Input::Task(task, Event::Answered(good)));
            }
            Happening::Dies(task, run) if self.runs[task][run].main_alive => self.main_dies(task, run),
            Happening::NeverStarts(task, run) => {
                self.runs[task][run].main_dead_known = true;
                self.exited(task, run, Exit::NotStarted);
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
            Happening::Executes(..)
            | Happening::Dies(..)
            | Happening::SaysReady(..)
            | Happening::Barks(..)
            | Happening::Answers(..) => {}
        }
    }

    /// Exactly one answer, and what it says is so.
    fn command(&mut self, task: usize, command: Command) {
        let before = (self.answers, self.core.state(task));
        let running = self.runs[task].last().is_some_and(|run| run.main_alive);
        self.touched[task] = true;
        self.held[task] &= command == Command::Stop;
        self.feed(Input::Command(task, command));
        assert_eq!(self.answers, before.0 + 1, "one answer to a command");
        let after = self.core.state(task).unwrap();
        let refused = self.specs[task].role == Role::Executor || self.stopping.is_some();
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

    fn executes(&mut self, task: usize, run: usize) {
        let now = self.now;
        self.runs[task][run].executed = Some(now);
        self.feed(Input::Task(task, Event::Executed));
        let Some(nature) = self.runs[task][run].nature.filter(|_| self.runs[task][run].part == Part::Main) else {
            return;
        };
        if self.specs[task].readiness.way == ReadyWay::Notify
            && let Some(serves) = nature.serves
        {
            self.later(serves, Happening::SaysReady(task, run));
        }
        self.later(Duration::from_millis(100), Happening::Barks(task, run));
    }

    /// Its watchdog, until it falls ill.
    fn barks(&mut self, task: usize, run: usize) {
        if self.is_well(task, run) {
            self.feed(Input::Task(task, Event::Alive));
        }
        if self.specs[task].health.is_some() {
            self.later(Duration::from_millis(250), Happening::Barks(task, run));
        }
    }

    fn is_well(&self, task: usize, run: usize) -> bool {
        let run = &self.runs[task][run];
        let (Some(nature), Some(executed)) = (run.nature, run.executed) else { return false };
        let up = self.now.duration_since(executed);
        nature.serves.is_some_and(|serves| up >= serves) && nature.ails.is_none_or(|ails| up < ails)
    }

    fn main_dies(&mut self, task: usize, run: usize) {
        self.check_death(task, run);
        for _ in 0..self.random.pick(&[0, 0, 0, 1, 3]) {
            let nature = cast::nature(&mut self.random);
            self.add_leftover(task, run, nature);
        }
        let drain = self.random.micros(2_000);
        self.later(drain, Happening::Drains(task, run));
        let current = &mut self.runs[task][run];
        current.main_alive = false;
        current.main_dead_known = true;
        let exit = if current.forced { Exit::Signal { signal: 9, core: false } } else { current.nature.unwrap().exit };
        self.exited(task, run, exit);
    }

    fn exited(&mut self, task: usize, run: usize, exit: Exit) {
        if self.specs[task].role == Role::Executor && self.runs[task][run].part == Part::Main {
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
        if self.told {
            eprintln!("{:?} {input:?}", self.now);
        }
        for output in self.core.step(input, self.now) {
            if self.told {
                eprintln!("   {output:?}");
            }
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
}
