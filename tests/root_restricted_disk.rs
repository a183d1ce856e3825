//! Sandboxes on disks that refuse, are full, or hang: a file system of the test's own in a mount namespace of its own.

#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy takes a test's helpers for production")]

mod common;

use ::minion::process::tree::Process;
use common::minion::{Minion, Sandbox};
use common::{DEADLINE, wait_readable};
use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_change, unmount};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// A file system mounted at `disk` in a sandbox, in a mount namespace that only this thread and its children are in.
/// Dropped, it is thawed and unmounted, whatever happened.
struct Disk {
    point: PathBuf,
    frozen: bool,
}

impl Disk {
    fn point(sandbox: &Sandbox) -> PathBuf {
        nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNS).unwrap();
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).unwrap();
        let point = sandbox.path("disk");
        fs::create_dir(&point).unwrap();
        point
    }

    /// In memory, with so much room.
    fn small(sandbox: &Sandbox, size: &str) -> Self {
        let point = Self::point(sandbox);
        let options = std::ffi::CString::new(format!("size={size}")).unwrap();
        mount("tmpfs", &point, "tmpfs", MountFlags::empty(), options.as_c_str()).unwrap();
        Self { point, frozen: false }
    }

    /// ext4 in a file, on a loop device that goes away with the mount.
    fn on_a_loop_device(sandbox: &Sandbox) -> Self {
        let point = Self::point(sandbox);
        let image = sandbox.path("image");
        File::create(&image).unwrap().set_len(16 << 20).unwrap();
        run("mkfs.ext4", &["-q", "-F"], &image);
        let mounted = Command::new("mount").args(["-o", "loop"]).args([&image, &point]).status().unwrap();
        assert!(mounted.success());
        Self { point, frozen: false }
    }

    fn remount_read_only(&self) {
        rustix::mount::mount_remount(&self.point, MountFlags::RDONLY, c"").unwrap();
    }

    /// From now on whoever writes waits, and cannot even be killed. [KF-152]
    fn freeze(&mut self) {
        run("fsfreeze", &["-f"], &self.point);
        self.frozen = true;
    }

    fn thaw(&mut self) {
        if std::mem::take(&mut self.frozen) {
            run("fsfreeze", &["-u"], &self.point);
        }
    }

    /// minion in this directory, with the `km` of the sandbox.
    fn command(&self, sandbox: &Sandbox, flags: &[&str]) -> Command {
        let km = format!("--km-binary={}", sandbox.path("km").display());
        let mut command = sandbox.command(&[&[km.as_str()], flags].concat());
        command.current_dir(&self.point);
        command
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if self.frozen {
            let _ = Command::new("fsfreeze").arg("-u").arg(&self.point).status();
        }
        // Whoever still holds a file there keeps the file system for a moment; nobody sees it any more.
        let _ = unmount(&self.point, UnmountFlags::DETACH);
    }
}

fn run(tool: &str, arguments: &[&str], on: &Path) {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let status = Command::new(tool).args(arguments).arg(on).env("PATH", path).status().unwrap();
    assert!(status.success(), "{tool} {arguments:?} {}: {status}", on.display());
}

#[test]
fn a_read_only_sandbox_is_refused() {
    need!("root", "mountns");
    let sandbox = Sandbox::with_km(">../started\n");
    let disk = Disk::small(&sandbox, "1m");
    disk.remount_read_only();
    let said = Minion::spawn(&mut disk.command(&sandbox, &[])).wait().assert_code(111);
    assert!(said.trim_end().ends_with("open the log proxy.log: Read-only file system errno=30 code=111"), "{said}");
    assert!(!sandbox.path("started").exists());
}

#[test]
fn on_a_full_disk_everything_runs_and_the_lost_bytes_are_counted_to_the_last() {
    need!("root", "mountns");
    let sandbox = Sandbox::with_km("cat ../text >&2\necho done >../events\nexit 3\n");
    let text = (1..=200_000).map(|n| format!("line {n:010}\n")).collect::<Vec<_>>().concat();
    fs::write(sandbox.path("text"), &text).unwrap();
    let mut events = sandbox.events("events");
    let disk = Disk::small(&sandbox, "1m");
    let flags = ["--run-proxy=false", "--max-log-size=0", "--log-stall=0s"];
    let said = Minion::spawn(&mut disk.command(&sandbox, &flags)).wait().assert_code(3);
    events.next_with("done");
    assert!(said.contains("write executor.log: No space left on device"), "{said}");
    let counted =
        said.lines().find(|line| line.contains("its log lacks bytes; the log says where")).unwrap_or_else(|| {
            panic!("{said}");
        });
    let dropped: usize = counted.split_once("dropped=").unwrap().1.split(' ').next().unwrap().parse().unwrap();
    let log = fs::read_to_string(disk.point.join("executor.log")).unwrap();
    let markers: usize =
        log.lines().filter(|line| line.starts_with("minion: dropped ")).map(|line| line.len() + 1).sum();
    // Where a line was torn, a newline of ours may stand.
    let kept = log.len() - markers;
    assert!((text.len()..=text.len() + 1).contains(&(kept + dropped)), "{kept} kept, {dropped} lost of {}", text.len());
    assert!(kept > 500_000 && log.starts_with("line 0000000001\n"));
}

/// A child that says that it was told to end, and one that does not listen.
const KM: &str = "cd ..
case $1 in
executor)
  trap 'echo told >events; exit 0' TERM; exec 9>lifeline; echo up >events
  read -r _ <tick; echo a line of the executor >&2; echo wrote >events
  while :; do read -r _ <tick; done ;;
proxy)
  trap '' TERM; exec 9>lifeline; echo up >events; exec sleep 300 ;;
esac
";

#[test]
fn a_disk_that_hangs_delays_no_signal_and_no_kill() {
    need!("root", "mountns", "fsfreeze", "mkfs.ext4");
    let sandbox = Sandbox::with_km(KM);
    let (mut events, _tick) = (sandbox.events("events"), sandbox.events("tick"));
    let lifeline = sandbox.lifeline();
    let mut disk = Disk::on_a_loop_device(&sandbox);
    let mut minion = Minion::spawn(&mut disk.command(&sandbox, &["--grace=3s"]));
    assert_eq!([events.next(), events.next()], ["up", "up"]);
    disk.freeze();
    // The log thread meets the frozen disk and stays in it.
    fs::write(sandbox.path("tick"), "\n").unwrap();
    assert_eq!(events.next(), "wrote");
    assert!(!lifeline.is_cut());
    let begin = Instant::now();
    minion.signal(Signal::TERM);
    assert_eq!(events.next(), "told");
    lifeline.assert_cut();
    let took = begin.elapsed();
    // The grace leaves two seconds, three quarters of them for asking.
    assert!(took < Duration::from_secs(3), "the children outlived the grace: {took:?}");
    assert!(took > Duration::from_millis(500), "nobody ignored SIGTERM: {took:?}");
    // What it has to say it says all the same, and then it has one thread left, in the disk.
    minion.says("ended: SIGTERM asked for it; executor exited with 0");
    minion.says("error the log thread does not end: its disk or the reader of stderr hangs");
    disk.thaw();
    minion.wait().assert_code(0);
    sandbox.assert_deserted();
}

#[test]
fn a_stderr_on_the_disk_that_hangs_does_not_keep_minion_from_its_end() {
    need!("root", "mountns", "fsfreeze", "mkfs.ext4");
    let sandbox = Sandbox::with_km(KM);
    let (mut events, _tick) = (sandbox.events("events"), sandbox.events("tick"));
    let lifeline = sandbox.lifeline();
    let mut disk = Disk::on_a_loop_device(&sandbox);
    // As an agent has it, whose sandbox holds stderr as well.
    let stderr = File::create(disk.point.join("stderr")).unwrap();
    let mut minion = disk.command(&sandbox, &["--grace=3s"]).stderr(stderr).spawn().unwrap();
    let pid = Pid::from_child(&minion);
    let pidfd = pidfd_open(pid, PidfdFlags::empty()).unwrap();
    assert_eq!([events.next(), events.next()], ["up", "up"]);
    disk.freeze();
    fs::write(sandbox.path("tick"), "\n").unwrap();
    assert_eq!(events.next(), "wrote");
    let begin = Instant::now();
    pidfd_send_signal(&pidfd, Signal::TERM).unwrap();
    lifeline.assert_cut();
    // Nobody can kill a thread that waits for a frozen disk; all that is ours to do is done when the main thread has ended.
    let main_ended = || Process::read(pid.as_raw_nonzero().get()).unwrap().is_zombie();
    while !main_ended() {
        assert!(begin.elapsed() < DEADLINE, "the main thread hangs too");
        wait_readable(&pidfd, Instant::now() + Duration::from_millis(10));
    }
    disk.thaw();
    assert_eq!(minion.wait().unwrap().code(), Some(0));
    sandbox.assert_deserted();
}

#[test]
fn what_was_written_while_a_disk_hung_is_in_the_log() {
    need!("root", "mountns", "fsfreeze", "mkfs.ext4");
    let sandbox = Sandbox::with_km(
        "cd ..; if [ $1 = proxy ]; then exec sleep 300; fi
         echo up >events; read -r _ <tick; seq 1 2000 >&2; echo written >events; read -r _ <tick; exit 3\n",
    );
    let (mut events, _tick) = (sandbox.events("events"), sandbox.events("tick"));
    let mut disk = Disk::on_a_loop_device(&sandbox);
    let minion = Minion::spawn(&mut disk.command(&sandbox, &[]));
    events.next();
    disk.freeze();
    fs::write(sandbox.path("tick"), "\n").unwrap();
    // So much fits into the pipe: the child does not wait either.
    assert_eq!(events.next(), "written");
    disk.thaw();
    fs::write(sandbox.path("tick"), "\n").unwrap();
    minion.wait().assert_code(3);
    let expected = (1..=2000).map(|n| format!("{n}\n")).collect::<Vec<_>>().concat();
    assert_eq!(fs::read_to_string(disk.point.join("executor.log")).unwrap(), expected);
}
