//! Whose a process is, by the environment that it was started with.

use crate::inspect::minion::Named;
use crate::inspect::proc::once::Once;
use crate::process::tree;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// What the environment of a process says. Any process may have been given any of it; it is a trace and no proof.
#[derive(Clone, Debug, Default)]
pub(super) struct Owner {
    /// `MESOS_DIRECTORY`.
    pub(super) sandbox: Option<PathBuf>,
    /// `MESOS_FRAMEWORK_ID`, or out of the sandbox's path.
    pub(super) framework: Option<String>,
    /// `MESOS_EXECUTOR_ID`, or out of the sandbox's path.
    pub(super) executor: Option<String>,
    /// `MINION_TASK`: the task, and the pid of the minion that started it, as that minion sees it.
    pub(super) task: Option<(String, i32)>,
    /// The process that says so.
    carrier: i32,
}

/// So many processes of a container are asked: the init of the agent knows nothing, and minion not what it started.
const ASKED: usize = 4;

/// What can be known.
pub(super) enum Seen {
    /// Something or nothing of interest.
    Owner(Owner),
    /// It is another user's.
    Denied,
    /// It has ended, or is a zombie or a thread of the kernel.
    Nothing,
}

impl Owner {
    /// Reads `/proc/<pid>/environ`.
    pub(super) fn of(pid: i32) -> Seen {
        match tree::start_environment(pid, tree::exec_end()) {
            Ok(text) if text.is_empty() => Seen::Nothing,
            Ok(text) => Seen::Owner(Self { carrier: pid, ..Self::parse(&text) }),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => Seen::Denied,
            Err(_) => Seen::Nothing,
        }
    }

    /// What the first processes of a container say together, and how many of them belong to others.
    pub(super) fn of_any(pids: &[i32]) -> (Self, usize) {
        let (mut owner, mut denied) = (Self::default(), 0);
        for pid in pids.iter().take(ASKED) {
            match Self::of(*pid) {
                Seen::Owner(said) => owner = owner.or(said),
                Seen::Denied => denied += 1,
                Seen::Nothing => {}
            }
            if owner.sandbox.is_some() && owner.task.is_some() {
                break;
            }
        }
        (owner, denied)
    }

    fn parse(environ: &[u8]) -> Self {
        let mut owner = Self::default();
        for entry in environ.split(|byte| *byte == 0) {
            let text = |value: &[u8]| Some(String::from_utf8_lossy(value).into_owned());
            if let Some(value) = entry.strip_prefix(b"MESOS_DIRECTORY=") {
                owner.sandbox = Some(OsStr::from_bytes(value).into());
            } else if let Some(value) = entry.strip_prefix(b"MESOS_FRAMEWORK_ID=") {
                owner.framework = text(value);
            } else if let Some(value) = entry.strip_prefix(b"MESOS_EXECUTOR_ID=") {
                owner.executor = text(value);
            } else if let Some(value) = entry.strip_prefix(b"MINION_TASK=") {
                owner.task = marker(&String::from_utf8_lossy(value));
            }
        }
        let path = owner.sandbox.clone().unwrap_or_default();
        owner.framework = owner.framework.or_else(|| behind(&path, "frameworks"));
        owner.executor = owner.executor.or_else(|| behind(&path, "executors"));
        owner
    }

    /// The container's own id: the name of its sandbox.
    pub(super) fn container(&self) -> Option<&str> {
        self.sandbox.as_deref()?.file_name()?.to_str()
    }

    /// With what another process of the container says.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            sandbox: self.sandbox.or(other.sandbox),
            framework: self.framework.or(other.framework),
            executor: self.executor.or(other.executor),
            carrier: if self.task.is_some() { self.carrier } else { other.carrier },
            task: self.task.or(other.task),
        }
    }

    /// The minion that its task names. None where there is no task, or the process has ended meanwhile.
    pub(super) fn minion(&self, once: &Once) -> Option<Named> {
        let (_, minion) = self.task.as_ref()?;
        once.stat(self.carrier).known().map(|carrier| Named::of(carrier, *minion, once))
    }
}

/// `proxy.4711.3`: the task, minion's pid, the number of the run.
fn marker(value: &str) -> Option<(String, i32)> {
    let mut parts = value.rsplitn(3, '.').skip(1);
    let minion = parts.next()?.parse().ok()?;
    Some((parts.next()?.to_owned(), minion))
}

/// The component behind one of this name: `…/frameworks/<id>/executors/<id>/runs/<id>`.
fn behind(path: &Path, name: &str) -> Option<String> {
    let mut components = path.components().map(Component::as_os_str);
    components.find(|component| *component == name)?;
    components.next()?.to_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn framework_and_executor_come_from_their_variables_or_from_the_sandbox() {
        let owner = Owner::parse(b"A=1\0MESOS_DIRECTORY=/w/slaves/S/frameworks/F/executors/my exec/runs/c1\0");
        assert_eq!((owner.framework.as_deref(), owner.executor.as_deref()), (Some("F"), Some("my exec")));
        assert_eq!(owner.container(), Some("c1"));
        let owner = Owner::parse(b"MESOS_EXECUTOR_ID=e\0MINION_TASK=a.b.4711.3\0");
        assert_eq!((owner.executor.as_deref(), owner.task), (Some("e"), Some(("a.b".to_owned(), 4711))));
    }
}
