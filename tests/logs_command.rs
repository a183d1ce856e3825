//! `minion logs` on the logs of a real minion: one stream, whatever is rotated, packed or started again meanwhile.

#![allow(clippy::unwrap_used, clippy::panic)] // what serves a test is a test

mod common;

use ::minion::cli;
use common::fifo::Lines;
use common::minion::Sandbox;
use common::{DEADLINE, minion, wait_readable};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Instant;

/// Lines that each life of the executor writes as fast as it can: some hundred rotations.
const LINES: usize = 60_000;
/// Small files, all of them kept.
const TINY: [&str; 3] = ["--max-log-size=4Ki", "--max-log-backups=0", "--restart-delay=0"];
/// The second life goes on where the first has stopped.
const WRITER: &str = "[ $1 = executor ] || exec sleep 60
first=1; [ -e again ] && first=$((N + 1)); >again
exec awk -v a=$first -v n=$N 'BEGIN { for (i = a; i < a + n; i++) print \"line \" i }' >&2
";

fn logs(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(minion());
    command.arg("logs").args(arguments).current_dir(directory).stdin(Stdio::null());
    command
}

fn output(directory: &Path, arguments: &[&str]) -> Output {
    logs(directory, arguments).output().unwrap()
}

fn text(directory: &Path, arguments: &[&str]) -> String {
    let output = output(directory, arguments);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// A follower. Dropping it ends it.
struct Follower {
    child: Child,
    lines: Lines,
}

impl Follower {
    fn start(directory: &Path, arguments: &[&str]) -> Self {
        let mut child = logs(directory, arguments).stdout(Stdio::piped()).spawn().unwrap();
        let lines = Lines::of(child.stdout.take().unwrap().into());
        Self { child, lines }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn numbered(from: usize, to: usize) -> String {
    (from..=to).fold(String::new(), |text, number| text + "line " + &number.to_string() + "\n")
}

/// The same text, told by where it differs first: it is long.
fn assert_same(text: &str, expected: &str) {
    let differs = text.lines().zip(expected.lines()).enumerate().find(|(_, (is, should))| is != should);
    assert_eq!(differs, None);
    assert_eq!(text.len(), expected.len());
}

fn follows(flags: &[&str]) {
    let sandbox = Sandbox::with_km(&format!("N={LINES}\n{WRITER}"));
    let mut follower = Follower::start(&sandbox.path(""), &["executor", "-f", "--sandbox=."]);
    for life in 1..=2 {
        let flags: Vec<&str> = TINY.iter().chain(flags).copied().collect();
        sandbox.run(&flags).assert_code(0);
        follower.lines.next_with(&format!("line {}", life * LINES));
    }
    assert_same(&follower.lines.everything(), &numbered(1, 2 * LINES));
    assert_same(&text(&sandbox.path(""), &["executor"]), &numbered(1, 2 * LINES));
    let files = fs::read_dir(sandbox.path("")).unwrap().count();
    assert!(files > 200, "{files} files: nothing was rotated");
}

#[test]
fn following_at_full_speed_misses_no_line_and_prints_none_twice_across_rotations_and_a_restart_of_minion() {
    follows(&[]);
}

#[test]
fn nor_while_backups_are_packed_behind_the_reader() {
    follows(&["--log-gzip"]);
}

/// A sandbox whose files were written by hand: two backups, one packed, and the current file.
fn by_hand() -> tempfile::TempDir {
    let sandbox = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(sandbox.path().join(name), text).unwrap();
    write("proxy-2020-11-30T01-00-00.000.log", "one\ntwo\n");
    let packed = Command::new("gzip").arg(sandbox.path().join("proxy-2020-11-30T01-00-00.000.log")).status().unwrap();
    assert!(packed.success());
    write("proxy-2020-11-30T02-00-00.000.log", "three\nfour\n");
    write("proxy-2020-11-30T02-00-00.000.log.bak", "not ours\n");
    write("proxy.log", "five\nsi");
    sandbox
}

#[test]
fn packed_rotated_and_current_files_are_one_stream_in_order() {
    let sandbox = by_hand();
    assert_eq!(text(sandbox.path(), &["proxy"]), "one\ntwo\nthree\nfour\nfive\nsi");
}

#[test]
fn the_last_lines_are_counted_across_files_and_an_unfinished_one_counts() {
    let sandbox = by_hand();
    for (count, expected) in
        [("0", ""), ("1", "si"), ("2", "five\nsi"), ("3", "four\nfive\nsi"), ("5", "two\nthree\nfour\nfive\nsi")]
    {
        assert_eq!(text(sandbox.path(), &["proxy", "-n", count]), expected, "-n {count}");
    }
    assert_eq!(text(sandbox.path(), &["proxy", "--lines=99"]).lines().count(), 6);
}

#[test]
fn a_broken_backup_is_named_and_hides_nothing_of_the_others() {
    let name = "proxy-2020-11-30T01-00-00.000.log.gz";
    let whole = fs::read(by_hand().path().join(name)).unwrap();
    let read = |arguments: &[&str], breaks: &dyn Fn(&Path)| {
        let sandbox = by_hand();
        fs::remove_file(sandbox.path().join(name)).unwrap();
        breaks(&sandbox.path().join(name));
        let output = output(sandbox.path(), arguments);
        let errors = String::from_utf8(output.stderr).unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap(), errors.contains(&format!("read {name}: ")))
    };
    let rest = "three\nfour\nfive\nsi".to_owned();
    let garbage = |path: &Path| fs::write(path, "no gzip").unwrap();
    // Without its end all of the data may still come out, as it does here.
    let cut = |path: &Path| fs::write(path, &whole[..whole.len() - 8]).unwrap();
    for arguments in [&["proxy"][..], &["proxy", "-n", "99"]] {
        assert_eq!(read(arguments, &garbage), (Some(2), rest.clone(), true), "{arguments:?}");
        assert_eq!(read(arguments, &cut), (Some(2), format!("one\ntwo\n{rest}"), true), "{arguments:?}");
    }
    assert_eq!(read(&["proxy", "-n", "5"], &cut), (Some(2), format!("two\n{rest}"), true));
    assert_eq!(read(&["proxy", "-n", "2"], &garbage), (Some(0), "five\nsi".into(), false), "it was not needed");
}

#[test]
fn a_backup_that_is_cut_off_amid_a_line_swallows_none() {
    let sandbox = by_hand();
    // A second member that is none, behind one that ends so.
    let member = Command::new("sh").args(["-c", "printf 'one\ntw' | gzip -c; echo no gzip"]).output().unwrap();
    fs::write(sandbox.path().join("proxy-2020-11-30T01-00-00.000.log.gz"), member.stdout).unwrap();
    for (count, lines) in [("99", "one\ntw\nthree\nfour\nfive\nsi"), ("5", "tw\nthree\nfour\nfive\nsi")] {
        let output = output(sandbox.path(), &["proxy", "-n", count]);
        assert_eq!((String::from_utf8(output.stdout).unwrap().as_str(), output.status.code()), (lines, Some(2)));
    }
}

#[test]
fn a_backup_that_this_user_may_not_read_is_named_and_hides_none() {
    need!("root");
    let sandbox = by_hand();
    let program = sandbox.path().join("minion");
    common::another_name(minion(), &program);
    let of_mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    of_mode(sandbox.path(), 0o755);
    of_mode(&sandbox.path().join("proxy-2020-11-30T01-00-00.000.log.gz"), 0o600);
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(program).args(["logs", "proxy"]);
    let output = command.current_dir(sandbox.path()).output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "three\nfour\nfive\nsi", "{errors}");
    assert!(errors.contains("read proxy-2020-11-30T01-00-00.000.log.gz: Permission denied"), "{errors}");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn since_leaves_out_files_whose_last_line_is_older() {
    let sandbox = by_hand();
    let since = |time: &str| text(sandbox.path(), &["proxy", &format!("--since={time}")]);
    assert_eq!(since("2020-11-30T01:30:00Z"), "three\nfour\nfive\nsi");
    assert_eq!(since("2020-11-30T00:59"), "one\ntwo\nthree\nfour\nfive\nsi");
    // The current file was written just now.
    assert_eq!(since("1h").lines().last(), Some("si"));
    assert_eq!(output(sandbox.path(), &["proxy", "--since=yesterday"]).status.code(), Some(100));
}

#[test]
fn a_follower_begins_with_what_is_asked_for_and_goes_on_in_a_file_that_replaced_the_log() {
    let sandbox = by_hand();
    let mut follower = Follower::start(sandbox.path(), &["proxy", "-f", "-n1"]);
    let log = sandbox.path().join("proxy.log");
    let append = |text: &str| {
        use std::io::Write;
        fs::OpenOptions::new().append(true).create(true).open(&log).unwrap().write_all(text.as_bytes()).unwrap();
    };
    append("x\n");
    assert_eq!(follower.lines.next(), "six");
    fs::remove_file(&log).unwrap();
    append("seven\n");
    assert_eq!(follower.lines.next(), "seven");
    fs::write(&log, "").unwrap();
    append("8\n");
    assert_eq!(follower.lines.next(), "8", "truncated from outside");
    assert_eq!(follower.lines.everything(), "six\nseven\n8\n");
}

#[test]
fn a_follower_ends_when_its_reader_or_the_directory_does() {
    let sandbox = by_hand();
    let mut follower = Follower::start(sandbox.path(), &["proxy", "-f"]);
    follower.lines.next_with("five");
    sandbox.close().unwrap();
    follower.lines.read_all(Instant::now() + DEADLINE);
    assert!(follower.child.wait().unwrap().success());

    let sandbox = by_hand();
    let Follower { child, lines } = &mut Follower::start(sandbox.path(), &["proxy", "-f"]);
    lines.next_with("five");
    *lines = Lines::of(rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap().0);
    let pid = rustix::process::Pid::from_child(child);
    let pidfd = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).unwrap();
    assert!(wait_readable(pidfd, Instant::now() + DEADLINE), "nothing is written, and it ends all the same");
}

#[test]
fn the_sandbox_is_found_by_a_pid_below_minion_or_the_beginning_of_its_id_and_a_missing_log_is_said_so() {
    let sandbox = Sandbox::with_km("echo here >&2; cd /; exec sleep 60\n");
    let mut minion = sandbox.start(&[]);
    let child = minion.started("executor");
    let elsewhere = tempfile::tempdir().unwrap();
    common::sandbox::until(&sandbox.path(""), "its line", || {
        fs::read(sandbox.path("executor.log")).is_ok_and(|text| text == b"here\n").then_some(())
    });
    let found = text(elsewhere.path(), &["executor", "--sandbox", &child.to_string()]);
    assert_eq!(found, "here\n");
    // The directory is called as the container is.
    let id = sandbox.path("").file_name().unwrap().to_str().unwrap().to_owned();
    for word in [&id, &id[..id.len() - 1]] {
        assert_eq!(text(elsewhere.path(), &["executor", "--sandbox", word]), "here\n", "{word}");
    }
    let missing = output(elsewhere.path(), &["no-such-task"]);
    assert_eq!(missing.status.code(), Some(2));
    let said = String::from_utf8(missing.stderr).unwrap();
    assert!(said.contains("no-such-task.log") && said.contains("--sandbox"), "{said}");
    minion.stop().assert_code(0);
}

#[test]
fn the_log_that_the_help_names_for_a_separate_stdout_is_there() {
    let help = cli::help_text(Some("logs")).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    let named = help.split(" with --stdout=separate").next().unwrap().rsplit(' ').next().unwrap();
    let sandbox = Sandbox::with_km("[ $1 = executor ] || exec sleep 60\necho out; echo err >&2\n");
    sandbox.run(&["--stdout=separate"]).assert_code(0);
    assert_eq!(text(sandbox.path("").as_path(), &[named]), "out\n", "{named}");
    assert_eq!(text(sandbox.path("").as_path(), &["executor"]), "err\n");
}
