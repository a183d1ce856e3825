//! A value, or why it could not be seen. Nothing is guessed: what is unknown is printed as unknown.

use crate::process::procfs;
use rustix::fs::readlink;
use serde::{Serialize, Serializer};
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// A value that was seen, or the reason why not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen<T> {
    /// It is this.
    Known(T),
    /// `EACCES on /proc/1/ns/mnt`.
    Unknown(String),
}

impl<T> Seen<T> {
    /// Not seen: the errno by its name, and where.
    pub(in crate::inspect) fn not(path: &str, error: &io::Error) -> Self {
        Self::Unknown(format!("{} on {path}", errno_name(error)))
    }

    /// The value, if it was seen.
    pub fn known(&self) -> Option<&T> {
        match self {
            Self::Known(value) => Some(value),
            Self::Unknown(_) => None,
        }
    }

    /// Why it was not seen.
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::Known(_) => None,
            Self::Unknown(why) => Some(why),
        }
    }

    /// The value made into another.
    pub(in crate::inspect) fn map<U>(self, make: impl FnOnce(T) -> U) -> Seen<U> {
        match self {
            Self::Known(value) => Seen::Known(make(value)),
            Self::Unknown(why) => Seen::Unknown(why),
        }
    }

    /// The value made into another, which may fail.
    pub(in crate::inspect) fn and_then<U>(self, make: impl FnOnce(T) -> Result<U, String>) -> Seen<U> {
        match self {
            Self::Known(value) => make(value).map_or_else(Seen::Unknown, Seen::Known),
            Self::Unknown(why) => Seen::Unknown(why),
        }
    }
}

/// A known value as itself, an unknown one as `{"unknown": "EACCES on …"}`.
impl<T: Serialize> Serialize for Seen<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Unknown<'a> {
            unknown: &'a str,
        }
        match self {
            Self::Known(value) => value.serialize(serializer),
            Self::Unknown(why) => Unknown { unknown: why }.serialize(serializer),
        }
    }
}

/// `EACCES`.
pub(in crate::inspect) fn errno_name(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(number) => format!("{:?}", nix::errno::Errno::from_raw(number)),
        None => error.to_string(),
    }
}

/// Reads a file of the kernel that is made in one piece: a short read is its end. [KF-24]
pub(in crate::inspect) fn read(path: &str) -> Seen<Vec<u8>> {
    procfs::read_piece(path).map_or_else(|error| Seen::not(path, &error), Seen::Known)
}

/// The same as text, without white space at its ends.
pub(in crate::inspect) fn text(path: &str) -> Seen<String> {
    read(path).map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned())
}

/// A file that holds one number.
pub(in crate::inspect) fn number<T: std::str::FromStr>(path: &str) -> Seen<T> {
    text(path).and_then(|text| text.parse().map_err(|_| format!("{text:?} in {path} is no number")))
}

/// Where a symbolic link of the kernel leads.
pub(in crate::inspect) fn link(path: &str) -> Seen<PathBuf> {
    match readlink(path, Vec::with_capacity(256)) {
        Ok(target) => Seen::Known(OsString::from_vec(target.into_bytes()).into()),
        Err(error) => Seen::not(path, &error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_named_with_its_errno() {
        let seen: Seen<i32> = number("/proc/none");
        assert_eq!(seen, Seen::Unknown("ENOENT on /proc/none".into()));
        assert_eq!(serde_json::to_string(&seen).unwrap(), r#"{"unknown":"ENOENT on /proc/none"}"#);
        assert_eq!(serde_json::to_string(&Seen::Known(3)).unwrap(), "3");
    }

    #[test]
    fn a_file_of_the_kernel_is_read_whole() {
        assert_eq!(read("/proc/self/environ").known(), std::fs::read("/proc/self/environ").ok().as_ref());
        assert!(number::<i32>("/proc/self/oom_score_adj").known().is_some());
        assert!(link("/proc/self/exe").known().is_some_and(|path| path.is_absolute()));
    }
}
