//! A child that waits at a gate until its parent has checked everything, then execs.
//!
//! 1. [`Launcher::fork`]: everything that allocates is done before; the child sets itself up and waits for one byte.
//! 2. The parent holds a pidfd, attaches the child to its cgroups and verifies that. A child that is not where it should be
//!    never executes anything.
//! 3. [`Gated::open`]: the child execs. [`Report`] says whether it did, or which step failed with which errno.
//!
//! std's `Command` cannot do this: `spawn` returns after exec only, and an error of a pre-exec step loses its step.

mod block;
mod child;

use super::pidfd::{self, Pidfd};
use super::{memory, reap};
use crate::error::{During, Error, Result};
use rustix::fs::{Mode, OFlags};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Gid, Pid, Uid};
use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A program with its arguments, its environment, and who and where it is to be.
pub struct Program {
    path: PathBuf,
    /// Strings that end with NUL each: the file, the arguments, the variables, the directory where one was given.
    strings: Vec<u8>,
    args: usize,
    env: usize,
    user: Option<Credentials>,
    in_new_session: bool,
}

/// Who a child is to be. `setgroups`, `setns`, `setresgid`, `setresuid`.
#[derive(Debug)]
struct Credentials {
    uid: Uid,
    gid: Gid,
    groups: Vec<Gid>,
    /// The user namespace to join, where `uid` and `gid` are numbers in it. `groups` are numbers in ours. [KF-185]
    namespace: Option<OwnedFd>,
}

/// Where the child's three standard fds go. Two may be the same.
#[derive(Clone, Copy, Debug)]
pub struct Stdio<'a> {
    /// Usually `/dev/null`: [`Stdio::null`].
    pub stdin: BorrowedFd<'a>,
    /// The write end of a pipe, or `/dev/null`.
    pub stdout: BorrowedFd<'a>,
    /// The write end of a pipe, or `/dev/null`.
    pub stderr: BorrowedFd<'a>,
    /// One more fd, and the number that the program finds it under; 3 or above.
    pub extra: Option<(BorrowedFd<'a>, i32)>,
}

impl Stdio<'_> {
    /// `/dev/null`, for reading and writing.
    pub fn null() -> Result<OwnedFd> {
        rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).during("open", "/dev/null")
    }
}

/// What the child does between fork and exec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Step {
    /// `setpgid(0, 0)`, or `setsid`
    ProcessGroup = 1,
    /// `prctl(PR_SET_PDEATHSIG, SIGKILL)`
    DeathSignal,
    /// `dup2` of the three standard fds
    Stdio,
    /// `sigprocmask` to the empty mask
    SignalMask,
    /// `setns` of a user namespace
    UserNamespace,
    /// `setgroups`, `setresgid`, `setresuid`
    User,
    /// `chdir`
    Directory,
    /// `execve`
    Exec,
}

impl Step {
    const ALL: [Self; 8] = [
        Self::ProcessGroup,
        Self::DeathSignal,
        Self::Stdio,
        Self::SignalMask,
        Self::UserNamespace,
        Self::User,
        Self::Directory,
        Self::Exec,
    ];

    fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|step| *step as u8 == byte)
    }

    /// The operation in an error message.
    pub fn words(self) -> &'static str {
        match self {
            Self::ProcessGroup => "make a process group for",
            Self::DeathSignal => "set the death signal of",
            Self::Stdio => "connect stdin, stdout and stderr of",
            Self::SignalMask => "empty the signal mask of",
            Self::UserNamespace => "join the user namespace for",
            Self::User => "change the user of",
            Self::Directory => "change the directory of",
            Self::Exec => "exec",
        }
    }
}

/// A child that is set up and waits at the gate. Dropped, the gate shuts: the child exits without having executed
/// anything, and is reaped as any orphan is.
#[must_use]
#[derive(Debug)]
pub struct Gated {
    pidfd: Pidfd,
    gate: OwnedFd,
    report: Report,
}

/// A child that was let through the gate.
#[derive(Debug)]
pub struct Child {
    /// The process.
    pub pidfd: Pidfd,
    /// Whether its exec worked.
    pub report: Report,
}

impl Program {
    /// Fails when a string holds a NUL byte, which no argument can.
    pub fn new(path: &Path, args: &[OsString], env: &[(OsString, OsString)]) -> Result<Self> {
        let mut strings = Vec::new();
        push(&mut strings, &[path.as_os_str()])?;
        args.iter().try_for_each(|arg| push(&mut strings, &[arg]))?;
        env.iter().try_for_each(|(name, value)| push(&mut strings, &[name, OsStr::new("="), value]))?;
        Ok(Self { path: path.to_owned(), strings, args: args.len(), env: env.len(), user: None, in_new_session: false })
    }

    /// The child is to start in this directory. To be said once.
    pub fn in_directory(mut self, directory: &Path) -> Result<Self> {
        push(&mut self.strings, &[directory.as_os_str()])?;
        Ok(self)
    }

    /// The child is to lead a session. Its terminal is the first of its standard fds that is one and of no session yet, or none.
    #[must_use]
    pub fn in_new_session(mut self) -> Self {
        self.in_new_session = true;
        self
    }

    /// The child is to be this user, with this group and these supplementary groups.
    #[must_use]
    pub fn as_user(mut self, uid: u32, gid: u32, groups: &[u32]) -> Self {
        let groups = groups.iter().map(|group| Gid::from_raw(*group)).collect();
        self.user = Some(Credentials { uid: Uid::from_raw(uid), gid: Gid::from_raw(gid), groups, namespace: None });
        self
    }

    /// The child is to be who [`as_user`](Self::as_user) says in this user namespace: uid and gid are numbers inside, the
    /// supplementary groups are numbers outside. The child alone joins it: nobody comes back from one.
    #[must_use]
    pub fn in_user_namespace(mut self, namespace: OwnedFd) -> Self {
        if let Some(user) = &mut self.user {
            user.namespace = Some(namespace);
        }
        self
    }
}

/// What forks the children of this process.
#[derive(Debug)]
pub struct Launcher {
    own: Pid,
    block: RefCell<block::Block>,
    heap: Option<RefCell<memory::LeftOut>>,
}

/// Its children get a copy of all memory, as any fork gives it.
impl Default for Launcher {
    fn default() -> Self {
        Self { own: rustix::process::getpid(), block: RefCell::default(), heap: None }
    }
}

impl Launcher {
    /// One whose children get nothing of our heap: they never read it, and a start costs a third less. [KF-189]
    ///
    /// For a process in which nothing else forks a child that does: std's `Command` would, where it has something to do
    /// before the exec.
    pub fn without_heap() -> Self {
        Self { heap: Some(RefCell::default()), ..Self::default() }
    }

    /// `fork`s a child that leads its own process group, dies with the forking thread, has these standard fds, no other fd,
    /// no blocked and no ignored signal, and waits.
    ///
    /// Call it from the main thread only: the death signal is tied to the thread that forks. [KF-06]
    pub fn fork(&self, program: &Program, stdio: Stdio<'_>) -> Result<Gated> {
        let path = &program.path;
        let (gate_inside, gate) = pipe_with(PipeFlags::CLOEXEC).during("make a pipe for", path.display())?;
        let (report, report_inside) =
            pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).during("make a pipe for", path.display())?;
        // The extra fd must not take the number of one that the child still needs.
        let above = stdio.extra.map_or(0, |(_, number)| number + 1);
        let (gate_inside, report_inside) = (raise(gate_inside, above)?, raise(report_inside, above)?);
        let mut block = self.block.borrow_mut();
        let image = block.lay_out(program).during("map memory for", path.display())?;
        let plan = child::Plan {
            image,
            user: program.user.as_ref().map(|user| child::User {
                uid: user.uid,
                gid: user.gid,
                namespace: user.namespace.as_ref().map(AsFd::as_fd),
            }),
            in_new_session: program.in_new_session,
            stdio,
            gate: gate_inside.as_fd(),
            opener: gate.as_fd(),
            report: report_inside.as_fd(),
            parent: self.own,
        };
        if let Some(heap) = &self.heap {
            heap.borrow_mut().update();
        }
        let pid = child::fork(&plan).map_err(|cause| {
            Error::io("fork for", path.display(), cause)
                .hint("pids.max of the container, RLIMIT_NPROC or memory is used up")
        })?;
        block.trim();
        // The child is ours and unreaped: its number is pinned until we reap it.
        match Pidfd::open(pid) {
            Ok(pidfd) => Ok(Gated { pidfd, gate, report: Report { fd: report, path: path.clone() } }),
            Err(cause) => {
                drop(gate); // it reads end-of-file and exits
                let _ = reap::wait_for(pid);
                let hint = pidfd::hint(&cause);
                Err(hint.into_iter().fold(Error::io("open a pidfd for", path.display(), cause), Error::hint))
            }
        }
    }
}

impl Gated {
    /// The child's pid: to attach it to its cgroups.
    pub fn pid(&self) -> i32 {
        self.pidfd.pid()
    }

    /// Lets the child exec.
    pub fn open(self) -> Result<Child> {
        // The read end lives in the child alone; if that is dead (OOM), its exit says so and the byte does not matter.
        match rustix::io::write(&self.gate, &[1]) {
            Ok(_) | Err(rustix::io::Errno::PIPE) => Ok(Child { pidfd: self.pidfd, report: self.report }),
            Err(cause) => Err(Error::io("open the gate for", self.report.path.display(), cause)),
        }
    }

    /// What tells of its death.
    pub fn pidfd(&self) -> &Pidfd {
        &self.pidfd
    }

    /// What will tell whether its exec worked.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Ends the child, which has executed nothing, without waiting: it may hang in the disk of its directory. It is reaped as
    /// any orphan is.
    pub fn kill(self) {
        let _ = self.pidfd.signal(libc::SIGKILL);
    }

    /// Ends and reaps the child, which has executed nothing. Waits.
    pub fn abandon(self) -> Result<()> {
        let _ = self.pidfd.signal(libc::SIGKILL);
        reap::wait_for(self.pidfd.pid()).during("reap", self.pidfd.pid())
    }
}

/// The close-on-exec pipe on which the child says what failed before it was replaced. Readable once exec is decided.
#[derive(Debug)]
pub struct Report {
    fd: OwnedFd,
    path: PathBuf,
}

/// What a [`Report`] says.
#[derive(Debug)]
pub enum Progress {
    /// Nothing yet: the child is at or before exec.
    Pending,
    /// The program runs. Also the answer when the child died without a word: [`tree::Process::executed`] tells.
    ///
    /// [`tree::Process::executed`]: super::tree::Process::executed
    Executed,
    /// A step failed; the child has exited.
    Failed(Error),
}

impl Report {
    /// Reads what there is, without waiting.
    pub fn read(&self) -> Progress {
        let mut message = [0; child::MESSAGE];
        match rustix::io::read(&self.fd, &mut message) {
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Progress::Pending,
            Ok(child::MESSAGE) => Progress::Failed(self.failure(message)),
            // End of file is the close at exec; a torn message cannot be: it is shorter than PIPE_BUF.
            Ok(_) | Err(_) => Progress::Executed,
        }
    }

    fn failure(&self, [step, errno @ ..]: [u8; child::MESSAGE]) -> Error {
        let cause = io::Error::from_raw_os_error(i32::from_le_bytes(errno));
        let Some(step) = Step::from_byte(step) else {
            return Error::new("start", self.path.display(), "the child sent a report that nobody understands");
        };
        let error = Error::io(step.words(), self.path.display(), cause);
        match hint(step, i32::from_le_bytes(errno)) {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }
}

impl AsFd for Report {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// What an errno of a step usually means.
fn hint(step: Step, errno: i32) -> Option<&'static str> {
    match (step, errno) {
        (Step::Exec, libc::ENOENT) => {
            Some("the file, or the interpreter that its first line or its ELF header names, is missing")
        }
        (Step::Exec, libc::EACCES) => Some("it is not executable for this user, or its file system is mounted noexec"),
        (Step::Exec, libc::ENOEXEC) => {
            Some("it is neither a program for this architecture nor a script with a #! line")
        }
        (Step::Exec, libc::ETXTBSY) => Some("something has it open for writing: is it still being fetched?"),
        (Step::UserNamespace, libc::EPERM) => Some(
            "it takes CAP_SYS_ADMIN in that namespace: be root of the host, or of the namespace that it was made in",
        ),
        (Step::User, libc::EINVAL) => Some("the user namespace has no number for it: /proc/PID/uid_map and gid_map"),
        (Step::User, libc::EPERM) => Some("only root may become another user"),
        (Step::Exec, libc::E2BIG) => Some("arguments and environment together are too long"),
        _ => None,
    }
}

/// The same open file under a number that is at least this.
fn raise(fd: OwnedFd, least: i32) -> Result<OwnedFd> {
    if fd.as_raw_fd() >= least {
        return Ok(fd);
    }
    rustix::io::fcntl_dupfd_cloexec(&fd, least).during("duplicate", "a pipe")
}

/// The parts as one string, with a NUL byte behind it.
fn push(strings: &mut Vec<u8>, parts: &[&OsStr]) -> Result<()> {
    for part in parts {
        if part.as_bytes().contains(&0) {
            let text = format!("{part:?}");
            return Err(Error::new("pass", text, "it holds a NUL byte, which neither argument nor variable can"));
        }
        strings.extend_from_slice(part.as_bytes());
    }
    strings.push(0);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nul_byte_is_refused() {
        let refused = Program::new(Path::new("./km"), &["a\0b".into()], &[]).err().unwrap();
        assert!(refused.to_string().contains("NUL byte"), "{refused}");
    }

    #[test]
    fn reports_are_read_back_as_steps() {
        assert!(Step::ALL.into_iter().all(|step| Step::from_byte(step as u8) == Some(step)));
        assert_eq!(Step::from_byte(0), None);
    }
}
