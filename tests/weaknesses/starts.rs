//! What a child starts with and where: its namespace, its fds and signals, and why it did not start.

use super::common::minion::{Minion, Sandbox};
use super::common::write_program;
use crate::need;
use std::fs;
use std::process::Command;

/// A `km` that says something and a proxy that comes first; then the executor ends.
fn said_by_both(what: &str, flags: &[&str], start: Option<&str>) -> [String; 2] {
    let sandbox = Sandbox::with_km(&format!("[ $1 = executor ] && read -r _ <go\n{what}\n"));
    let _go = sandbox.events("go");
    let inner = sandbox.command(flags);
    let mut command = Command::new("bash");
    command.args(["-c", start.unwrap_or("exec \"$0\" \"$@\"")]).arg(inner.get_program()).args(inner.get_args());
    sandbox.mark(&mut command);
    let mut minion = Minion::spawn(&mut command);
    minion.says("exited with 0");
    fs::write(sandbox.path("go"), "go\n").unwrap();
    minion.wait().assert_code(0);
    [sandbox.read("proxy.log"), sandbox.read("executor.log")]
}

#[test]
fn weakness_07_private_mountns_is_where_the_children_are() {
    need!("root", "mountns");
    let ours = fs::read_link("/proc/self/ns/mnt").unwrap();
    let [proxy, executor] = said_by_both("exec readlink /proc/self/ns/mnt", &["--private-mountns"], None);
    assert_eq!(proxy, executor);
    assert_ne!(proxy.trim(), ours.to_str().unwrap());
    let [proxy, executor] = said_by_both("exec readlink /proc/self/ns/mnt", &[], None);
    assert_eq!([proxy.trim(), executor.trim()], [ours.to_str().unwrap(); 2]);
}

/// The original says `task "" exited with status 0`. [GO-56]
#[test]
fn weakness_10_why_a_child_did_not_start_is_said() {
    let sandbox = Sandbox::with_km("");
    write_program(sandbox.path("broken"), "#!/no/such/interpreter\n", 0o755);
    let broken = format!("--km-binary={}", sandbox.path("broken").display());
    let said = sandbox.run(&[&broken]).assert_code(111);
    assert!(said.contains(": exec ") && said.contains("No such file or directory"), "{said}");
    // Whichever is found first: it ends the other, which may not have come to its exec yet.
    assert!(said.contains(" error start ") && said.contains("the interpreter"), "{said}");
    let said = sandbox.run(&["--km-binary=/no/such/km"]).assert_code(111);
    assert!(said.contains("/no/such/km"), "{said}");
    let said = sandbox.run(&["--km-binary=/etc/passwd"]).assert_code(111);
    assert!(said.contains("/etc/passwd"), "{said}");
}

#[test]
fn weakness_16_no_fd_and_no_ignored_signal_leaks_into_either_child() {
    let dirty = "trap '' PIPE HUP USR1; exec 9</dev/null 200</etc/passwd; exec \"$0\" \"$@\"";
    for log in said_by_both("cat /proc/self/status\nexec ls /proc/self/fd", &[], Some(dirty)) {
        assert_eq!(super::common::proc::field_of(&log, "SigIgn"), "0000000000000000", "{log}");
        // The fourth is that of the listing.
        assert!(log.ends_with("\n0\n1\n2\n3\n"), "{log}");
    }
}
