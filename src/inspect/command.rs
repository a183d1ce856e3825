//! Commands to paste, as remedies: with every flag without which they would look elsewhere, and whole on a line.

use super::view::cgroups::PREFIX;
use std::borrow::Cow;

/// `minion attach 4711 --to ID`, in every hierarchy or in one.
pub(super) fn attach(pid: i32, container: &str, only: Option<&str>, prefix: &str) -> String {
    // Each controller of a hierarchy stands for all of it.
    let only = only.map(|hierarchy| format!(" --only={}", quoted(hierarchy.split(',').next().unwrap_or(hierarchy))));
    format!("minion attach {pid} --to={}{}{}", quoted(container), only.unwrap_or_default(), flag(prefix))
}

/// The same for a process that is inside of another container.
pub(super) fn take(pid: i32, container: &str, only: Option<&str>, prefix: &str) -> String {
    attach(pid, container, only, prefix) + " --move"
}

/// `minion inspect WORD` of a pid or a container.
pub(super) fn inspect(word: &str, prefix: &str) -> String {
    format!("minion inspect {}{}", quoted(word), flag(prefix))
}

/// `minion containers`.
pub(super) fn containers(root: &str) -> String {
    if root == PREFIX { "minion containers".to_owned() } else { format!("minion containers --root={}", quoted(root)) }
}

/// A verb with its flags, and the task of the minion in a sandbox.
pub(super) fn of_task(verb: &str, task: &str, sandbox: &str) -> String {
    format!("minion {verb} --sandbox={} {}", quoted(sandbox), quoted(task))
}

/// Left out where it is what minion takes by itself.
fn flag(prefix: &str) -> String {
    if prefix == PREFIX { String::new() } else { format!(" --mesos-cgroup-prefix={}", quoted(prefix)) }
}

/// As a shell has to read it.
fn quoted(word: &str) -> Cow<'_, str> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=,+@%".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        return Cow::Borrowed(word);
    }
    Cow::Owned(format!("'{}'", word.replace('\'', "'\\''")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prefix_is_told_where_it_is_not_the_usual_one() {
        assert_eq!(attach(7, "c1", None, "mesos"), "minion attach 7 --to=c1");
        assert_eq!(
            attach(7, "c1.c2", Some("cpu,cpuacct"), "a/b"),
            "minion attach 7 --to=c1.c2 --only=cpu --mesos-cgroup-prefix=a/b"
        );
        assert_eq!(inspect("c1", "a b"), "minion inspect c1 --mesos-cgroup-prefix='a b'");
        assert_eq!(
            (containers("mesos"), containers("x")),
            ("minion containers".into(), "minion containers --root=x".into())
        );
    }

    #[test]
    fn a_word_stays_one_word_in_a_shell() {
        for word in ["", "a b", "it's", "$(x)", "ö"] {
            let echoed = std::process::Command::new("sh").args(["-c", &format!("printf %s {}", quoted(word))]).output();
            assert_eq!(String::from_utf8(echoed.unwrap().stdout).unwrap(), word);
        }
    }
}
