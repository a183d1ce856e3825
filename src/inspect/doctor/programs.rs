//! The programs of the children, and what km needs in PATH.

use super::access::is_executable;
use super::elf::{self, Program};
use super::{Check, Children, Task};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// What kube-proxy and the kubelet call by name, and who misses it.
const NEEDED: [(&str, &str); 5] = [
    ("iptables", "kube-proxy"),
    ("conntrack", "kube-proxy"),
    ("nsenter", "the kubelet's exec and port-forward"),
    ("socat", "the kubelet's port-forward"),
    ("mount", "the kubelet's volumes"),
];

fn in_path(path: Option<&OsStr>) -> Check {
    let name = "programs in PATH";
    let Some(path) = path.filter(|path| !path.is_empty()) else {
        return Check::warn(name, "PATH is not set", "--path-override sets it for the children");
    };
    let directories: Vec<PathBuf> = std::env::split_paths(path).filter(|directory| directory.is_absolute()).collect();
    let there = |program: &str| directories.iter().any(|directory| is_executable(&directory.join(program)));
    let (found, missing): (Vec<_>, Vec<_>) = NEEDED.iter().partition(|(program, _)| there(program));
    let names = |programs: &[&(&str, &str)]| programs.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    if missing.is_empty() {
        return Check::ok(name, names(&found));
    }
    let for_whom: Vec<String> = missing.iter().map(|(program, user)| format!("{program} ({user})")).collect();
    Check::warn(
        name,
        format!("not in PATH: {}", names(&missing)),
        format!("install or --path-override: {}", for_whom.join(", ")),
    )
}

/// Of the children, each: whether this machine can run it.
pub(super) fn all(children: &Children, path: Option<&OsStr>) -> Vec<Check> {
    match children {
        Children::Km { found: Ok((km, how)), .. } => {
            vec![in_path(path), program("km", &format!("{} ({how})", km.display()), km)]
        }
        Children::Km { found: Err(why), told: true } => vec![in_path(path), Check::fail("km", why, "name another")],
        Children::Km { found: Err(why), told: false } => {
            let remedy =
                "minion run needs one: --km-binary names it. minion supervise does not: --config names its file";
            vec![in_path(path), Check::warn("km", why, remedy)]
        }
        Children::Tasks(tasks) => {
            let file = |task: &Task| format!("{}: {}", task.name, task.program.display());
            tasks.iter().map(|task| program("task", &file(task), &task.program)).collect()
        }
        Children::Refused(lines) => {
            let remedy = "minion supervise would not start: see its --check";
            lines.iter().map(|line| Check::fail("config", line, remedy)).collect()
        }
    }
}

fn program(name: &'static str, evidence: &str, path: &Path) -> Check {
    let absent = "exec would say that the program does not exist";
    match elf::look(path) {
        Err(why) => Check::fail(name, format!("{evidence}: {why}"), "make it readable and executable for this user"),
        Ok(Program::Script(interpreter)) if interpreter.is_empty() || !is_executable(Path::new(&interpreter)) => {
            let evidence = format!("{evidence}: its interpreter {interpreter:?} cannot be executed");
            Check::fail(name, evidence, format!("{absent}: install the interpreter"))
        }
        Ok(Program::Script(interpreter)) => Check::ok(name, format!("{evidence}, a script for {interpreter}")),
        Ok(Program::Other) => {
            Check::fail(name, format!("{evidence}: neither an ELF program nor a script"), "is it complete?")
        }
        // A script may call the original by its name. [GO-58]
        Ok(Program::Elf { .. }) if name == "km" && path.file_name() != Some(OsStr::new("km")) => {
            let evidence =
                format!("{evidence}: its file is not called km, so it would not read which command it is to be");
            Check::fail(name, evidence, "call it km, in a directory of its own if need be")
        }
        Ok(Program::Elf { machine, loader }) => elf_program(name, evidence, machine, loader.as_deref()),
    }
}

fn elf_program(name: &'static str, evidence: &str, machine: u16, loader: Option<&str>) -> Check {
    let here = rustix::system::uname();
    let this = here.machine().to_string_lossy();
    let built_for = elf::machine_name(machine);
    if !elf::runs_on(machine, &this) {
        let evidence = format!("{evidence}: built for {built_for}, and this machine is {this}");
        return Check::fail(name, evidence, "exec would answer ENOEXEC: take the one of this architecture");
    }
    match loader {
        Some(loader) if !Path::new(loader).exists() => Check::fail(
            name,
            format!("{evidence}: its loader {loader} does not exist"),
            "exec would say that the program does not exist: install that C library, or take a static one",
        ),
        Some(_) | None => Check::ok(name, format!("{evidence}, for {built_for}")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Health;
    use super::*;

    #[test]
    fn relative_elements_of_path_do_not_count() {
        let directory = tempfile::tempdir().unwrap();
        for (program, _) in NEEDED {
            let file = directory.path().join(program);
            std::fs::write(&file, "#!/bin/sh\n").unwrap();
            std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        }
        assert_eq!(in_path(Some(directory.path().as_os_str())).health, Health::Ok);
        std::fs::remove_file(directory.path().join("socat")).unwrap();
        let check = in_path(Some(directory.path().as_os_str()));
        assert_eq!((check.health, check.evidence.as_str()), (Health::Warn, "not in PATH: socat"));
        assert_eq!(in_path(Some(OsStr::new("bin:"))).health, Health::Warn);
        assert_eq!(in_path(None).evidence, "PATH is not set");
    }
}
