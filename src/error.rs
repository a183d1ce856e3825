//! The one error of this program: what was being done, to what, why it failed, and what helps.
//!
//! ```text
//! attach to /sys/fs/cgroup/cpuset/mesos/c1: No space left on device (hint: cpuset.cpus or cpuset.mems is empty there)
//! ^operation ^subject                       ^cause                   ^hint
//! ```
//!
//! Inner code returns it, the edge logs it once.

use std::borrow::Cow;
use std::fmt::{self, Display};
use std::io;

/// The result of everything that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An operation that failed on a subject, with its cause and, where one is known, a hint.
#[derive(Debug)]
pub struct Error {
    operation: Cow<'static, str>,
    subject: String,
    cause: Cause,
    hint: Option<Cow<'static, str>>,
}

/// Why an operation failed.
#[derive(Debug)]
enum Cause {
    /// An answer of the kernel.
    Io(io::Error),
    /// A finding of our own, in words.
    Words(Cow<'static, str>),
}

impl Error {
    /// `operation subject: cause`, where the kernel or an I/O layer gave the cause.
    pub fn io(operation: impl Into<Cow<'static, str>>, subject: impl Display, cause: impl Into<io::Error>) -> Self {
        Self { operation: operation.into(), subject: subject.to_string(), cause: Cause::Io(cause.into()), hint: None }
    }

    /// `operation subject: cause`, where the cause is a finding of our own.
    pub fn new(
        operation: impl Into<Cow<'static, str>>,
        subject: impl Display,
        cause: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            operation: operation.into(),
            subject: subject.to_string(),
            cause: Cause::Words(cause.into()),
            hint: None,
        }
    }

    /// Adds what the reader can do about it. A later hint replaces an earlier one.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<Cow<'static, str>>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same error as the reason why something larger failed: `start proxy: exec ./km: …`.
    #[must_use]
    pub fn while_doing(mut self, larger: impl Display) -> Self {
        self.operation = Cow::Owned(format!("{larger}: {}", self.operation));
        self
    }

    /// The kernel's error number, when the kernel gave the cause.
    pub fn errno(&self) -> Option<i32> {
        match &self.cause {
            Cause::Io(error) => error.raw_os_error(),
            Cause::Words(_) => None,
        }
    }
}

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.operation)?;
        if !self.subject.is_empty() {
            write!(f, " {}", self.subject)?;
        }
        match &self.cause {
            Cause::Io(error) => write!(f, ": {}", in_words(error))?,
            Cause::Words(words) => write!(f, ": {words}")?,
        }
        match &self.hint {
            Some(hint) => write!(f, " (hint: {hint})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.cause {
            Cause::Io(error) => Some(error),
            Cause::Words(_) => None,
        }
    }
}

/// The errno in words alone: std appends ` (os error 2)`, which says the same twice.
fn in_words(error: &io::Error) -> String {
    let text = error.to_string();
    match (error.raw_os_error(), text.rfind(" (os error ")) {
        (Some(_), Some(end)) => text[..end].to_owned(),
        _ => text,
    }
}

/// Puts operation and subject to an I/O result: `file.sync_all().during("sync", path.display())?`.
pub trait During<T> {
    /// Names what was being done, and to what, if it failed. The subject is rendered only on failure.
    fn during(self, operation: &'static str, subject: impl Display) -> Result<T>;
}

impl<T, E: Into<io::Error>> During<T> for std::result::Result<T, E> {
    fn during(self, operation: &'static str, subject: impl Display) -> Result<T> {
        self.map_err(|cause| Error::io(operation, subject, cause))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error as _;

    #[test]
    fn names_operation_subject_errno_in_words_and_hint() {
        let error = Err::<(), _>(io::Error::from_raw_os_error(libc::ENOENT))
            .during("exec", "./km")
            .map_err(|e| e.hint("--km-binary names it").while_doing("start proxy"))
            .unwrap_err();
        assert_eq!(error.to_string(), "start proxy: exec ./km: No such file or directory (hint: --km-binary names it)");
        assert_eq!(error.errno(), Some(libc::ENOENT));
        assert!(error.source().is_some());
    }

    #[test]
    fn a_finding_of_our_own_has_no_errno() {
        let error = Error::new("read", "MESOS_DIRECTORY", "it is empty");
        assert_eq!(error.to_string(), "read MESOS_DIRECTORY: it is empty");
        assert_eq!(error.errno(), None);
    }

    #[test]
    fn io_errors_without_an_errno_keep_their_text() {
        let error = Error::io("read", "x", io::Error::other("ends early (os error or not)"));
        assert_eq!(error.to_string(), "read x: ends early (os error or not)");
    }
}
