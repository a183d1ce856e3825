//! What a row has on cgroup2, and what it lacks for whoever may not ask.

use crate::common::{another_name, minion, unified};
use crate::{builder, directory, launch, need, root, survey};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

#[test]
fn on_v2_a_row_has_the_containers_limits_and_counts_and_pressures() {
    need!("root", "v2enabled");
    let root = root();
    let agent = builder(&root).v2(unified()).memory(64 << 20).start().unwrap();
    let (container, _) = launch(&agent);
    let (seen, code) = survey(&root);
    let row = &seen["containers"][0];
    assert_eq!((code, row["id"].as_str(), row["pids"].as_u64()), (0, Some(container.id()), Some(2)), "{seen}");
    assert_eq!((row["memory_limit_bytes"].as_u64(), row["oom_kills"].as_u64()), (Some(64 << 20), Some(0)), "{seen}");
    assert!(row["memory_bytes"].as_u64().unwrap() > 0 && row["cpu_ns"].as_u64().unwrap() > 0, "{seen}");
    let top = directory(&container, "unified");
    for (file, member) in [("cpu.pressure", "cpu_pressure"), ("memory.pressure", "memory_pressure")] {
        assert_eq!(fs::read(top.join(file)).is_ok(), row[member].is_number(), "{file}: {seen}");
    }
}

#[test]
fn who_may_not_ask_all_processes_is_told_so_and_gets_code_2() {
    need!("root", "v1", "setpriv");
    let root = root();
    let agent = builder(&root).start().unwrap();
    let _container = launch(&agent);
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let program = directory.path().join("minion");
    another_name(minion(), &program);
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(program);
    let output = command.args(["containers", "--root", &root]).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("could not be asked"), "{said}");
}
