//! Container ids: what an agent may call a container, and where that puts it in a cgroup tree.

use crate::error::{Error, Result};
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The literal between a parent container and its nested one in a cgroup path (`<id>/mesos/<child>`).
pub const SEPARATOR: &str = "mesos";

/// The longest id that the agent's validation lets through, in bytes.
const LONGEST: usize = 242;

/// A container's id: the root container first, then each nested one.
///
/// # Invariants
/// At least one part; each part is one ordinary path component: not empty, not `.` or `..`, no `/`, no control character,
/// no white space, at most 242 bytes. So no id can lead out of the cgroup directory that it is joined to. [GO-12]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ContainerId {
    parts: Vec<String>,
}

impl ContainerId {
    /// The id of a container that is not nested.
    pub fn new(id: &OsStr) -> Result<Self> {
        Ok(Self { parts: vec![part(id)?] })
    }

    /// The id that `MESOS_DIRECTORY` carries: the last component of the sandbox path.
    pub fn from_directory(directory: &Path) -> Result<Self> {
        // `Path::file_name` skips a trailing `/` and `/.`; the original's path.Base does the first only, and what the
        // second would name is not a sandbox either.
        let last = directory
            .as_os_str()
            .as_bytes()
            .rsplit(|byte| *byte == b'/')
            .find(|component| !component.is_empty())
            .unwrap_or_default();
        Self::new(OsStr::from_bytes(last))
            .map_err(|error| error.while_doing(format_args!("container id from MESOS_DIRECTORY={directory:?}")))
    }

    /// The id of a container nested in this one.
    pub fn nested(&self, id: &OsStr) -> Result<Self> {
        let mut parts = self.parts.clone();
        parts.push(part(id)?);
        Ok(Self { parts })
    }

    /// The last part: the container's own id, without its parents. The last component of its sandbox.
    pub fn own(&self) -> &str {
        self.parts.last().map_or("", String::as_str)
    }

    /// The container that this one is nested in, if it is nested.
    pub fn parent(&self) -> Option<Self> {
        match self.parts.as_slice() {
            [parents @ .., _] if !parents.is_empty() => Some(Self { parts: parents.to_vec() }),
            _ => None,
        }
    }

    /// Parents and own id, the root container first.
    pub fn parts(&self) -> &[String] {
        &self.parts
    }

    /// `<root>/mesos/<child>/mesos/<grandchild>`: always relative, below the agent's cgroup root.
    pub fn cgroup_path(&self) -> PathBuf {
        self.parts.join(&format!("/{SEPARATOR}/")).into()
    }
}

/// As Mesos prints it: `parent.child`.
impl fmt::Display for ContainerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.parts.join("."))
    }
}

fn part(id: &OsStr) -> Result<String> {
    let refuse = |why: &'static str| Err(Error::new("use container id", format!("{id:?}"), why));
    let Some(text) = id.to_str() else {
        return refuse("it is not UTF-8");
    };
    match text {
        "" => refuse("it is empty"),
        "." | ".." => refuse("it is a relative path component"),
        _ if text.len() > LONGEST => refuse("it is longer than 242 bytes"),
        _ if text.contains('/') => refuse("it holds a slash"),
        _ if text.chars().any(char::is_control) => refuse("it holds a control character"),
        _ if text.chars().any(char::is_whitespace) => refuse("it holds white space"),
        _ => Ok(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(directory: &str) -> Result<ContainerId> {
        ContainerId::from_directory(Path::new(directory))
    }

    #[test]
    fn is_the_last_component_of_the_sandbox() {
        assert_eq!(of("/w/runs/3f0d-0a11").unwrap().own(), "3f0d-0a11");
        assert_eq!(of("/a/b/").unwrap().own(), "b");
        assert_eq!(of("/a/b//").unwrap().own(), "b");
    }

    #[test]
    fn refuses_what_would_leave_the_cgroup_root() {
        for bad in ["", "/", "//", ".", "/a/..", "..", "/a/.", "/a/x y", "/a/x\ny", "/a/x\t"] {
            let error = of(bad).unwrap_err().to_string();
            assert!(error.contains(&format!("{bad:?}")), "{error}");
        }
        assert!(of(&format!("/a/{}", "x".repeat(243))).is_err());
        assert!(of(&format!("/a/{}", "x".repeat(242))).is_ok());
    }

    #[test]
    fn nested_ids_are_joined_by_the_separator() {
        let nested = of("/r/P").unwrap().nested(OsStr::new("C")).unwrap();
        assert_eq!(nested.cgroup_path(), Path::new("P/mesos/C"));
        assert_eq!(nested.to_string(), "P.C");
        assert_eq!(nested.own(), "C");
        assert_eq!(nested.parent(), Some(of("/r/P").unwrap()));
        assert_eq!(of("/r/P").unwrap().parent(), None);
    }
}
