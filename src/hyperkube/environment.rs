//! The environment of the two children.

use super::profile::Notice;
use crate::mesos::DEFAULT_PATH;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// Names and values, in order.
pub(super) type Environment = Vec<(OsString, OsString)>;

/// The variable that names the container to the executor.
const CONTAINER: &str = "MESOS_EXECUTOR_CONTAINER_UUID";

/// The value of a variable: the first entry counts, as for the original. [GO-14]
pub(super) fn value<'a>(env: &'a [(OsString, OsString)], name: &str) -> Option<&'a OsStr> {
    env.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_os_str())
}

/// minion's environment with `<cwd>/bin` behind PATH, and `path_override` in its place where it is not empty.
pub(super) fn inherited(
    env: &[(OsString, OsString)],
    path_override: &OsStr,
    cwd: Option<&Path>,
    notices: &mut Vec<Notice>,
) -> Environment {
    let given = if path_override.is_empty() { value(env, "PATH").unwrap_or_default() } else { path_override };
    let path = search_path(given, cwd, notices);
    let mut result: Environment = Vec::with_capacity(env.len() + 2);
    for (name, value) in env {
        if result.iter().all(|(earlier, _)| earlier != name) {
            let value = if name == "PATH" { &path } else { value };
            result.push((name.clone(), value.clone()));
        }
    }
    if value(env, "PATH").is_none() {
        result.push(("PATH".into(), path));
    }
    result
}

/// The executor's: the same, and the container's id. None leaves it empty but set.
pub(super) fn of_executor(inherited: &Environment, container: Option<&str>) -> Environment {
    let mut result: Environment = inherited.iter().filter(|(name, _)| name != CONTAINER).cloned().collect();
    result.push((CONTAINER.into(), container.unwrap_or_default().into()));
    result
}

/// The elements of `given` and `<cwd>/bin`. Never an empty element: to exec that is the working directory. [GO-14]
fn search_path(given: &OsStr, cwd: Option<&Path>, notices: &mut Vec<Notice>) -> OsString {
    let mut elements: Vec<&[u8]> = given.as_bytes().split(|byte| *byte == b':').filter(|e| !e.is_empty()).collect();
    if elements.is_empty() {
        // Without one, neither child finds iptables or nsenter.
        notices.push(Notice::warn(format!("PATH is not set: the children get {DEFAULT_PATH}")));
        elements.push(DEFAULT_PATH.as_bytes());
    }
    let bin = cwd.map(|cwd| cwd.join("bin"));
    match &bin {
        None => notices.push(Notice::warn("no working directory: its bin is not in the children's PATH".to_owned())),
        Some(bin) if bin.as_os_str().as_bytes().contains(&b':') => {
            notices.push(Notice::warn(format!("{bin:?} holds a colon: it is not in the children's PATH")));
        }
        Some(bin) => elements.push(bin.as_os_str().as_bytes()),
    }
    OsString::from_vec(elements.join(&b':'))
}
