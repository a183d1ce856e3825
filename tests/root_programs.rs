//! Which program is taken: one that this user may execute.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers fail as tests do")]

mod common;

use common::minion;
use common::minion::FLAGS;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};

/// A user who owns nothing.
const NOBODY: u32 = 65534;

fn program(path: &Path, mode: u32) {
    fs::write(path, "#!/bin/sh\n").unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_km_that_only_root_may_execute_is_passed_over_by_anybody_else() {
    need!("root");
    let directory = tempfile::tempdir_in("/tmp").unwrap();
    let (beside, sandbox) = (directory.path().join("beside"), directory.path().join("sandbox"));
    for path in [directory.path(), &beside, &sandbox] {
        fs::create_dir_all(path).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    // A copy: where a link is, is not where the program lies.
    fs::copy(minion(), beside.join("minion")).unwrap();
    program(&beside.join("km"), 0o700);
    program(&sandbox.join("km"), 0o755);
    let found = |uid: u32| {
        let mut command = Command::new(beside.join("minion"));
        command.args(FLAGS).arg("--print-config").current_dir(&sandbox).uid(uid).gid(uid);
        let Output { status, stdout, stderr } = command.output().unwrap();
        assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
        String::from_utf8(stdout).unwrap()
    };
    for (uid, km) in [(NOBODY, sandbox.join("km")), (0, beside.join("km"))] {
        let file = found(uid);
        assert!(file.contains(&format!("    \"{}\",\n", km.display())), "uid {uid}: {file}");
    }
}
