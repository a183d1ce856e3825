//! Which program is taken: one that this user may execute.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers fail as tests do")]

mod common;

use common::minion::FLAGS;
use common::{copy_program, minion, write_program};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output};

/// A user who owns nothing.
const NOBODY: u32 = 65534;

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
    copy_program(minion(), &beside.join("minion"), 0o755);
    write_program(beside.join("km"), "#!/bin/sh\n", 0o700);
    write_program(sandbox.join("km"), "#!/bin/sh\n", 0o755);
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
