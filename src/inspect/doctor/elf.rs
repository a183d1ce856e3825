//! The first bytes of a program: what it is, and for which machine.

use crate::inspect::proc::seen::errno_name;
use rustix::fs::{Access, Mode, OFlags, access, open};
use std::path::Path;

/// Enough for the header and the program headers of every linker.
const HEAD: usize = 4096;
/// The program header that names the loader.
const PT_INTERP: u32 = 3;

/// What the kernel would make of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Program {
    /// With its `e_machine` and, when it is dynamic, its loader.
    Elf {
        /// `EM_X86_64` is 62.
        machine: u16,
        /// `/lib64/ld-linux-x86-64.so.2`.
        loader: Option<String>,
    },
    /// With its interpreter.
    Script(String),
    /// The kernel refuses it.
    Other,
}

/// Looks at a file, which has to be executable.
pub(super) fn look(path: &Path) -> Result<Program, String> {
    let failed = |errno: rustix::io::Errno| errno_name(&errno.into());
    access(path, Access::EXEC_OK).map_err(failed)?;
    let file = open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).map_err(failed)?;
    let mut head = vec![0; HEAD];
    let length = rustix::io::read(&file, head.as_mut_slice()).map_err(failed)?;
    head.truncate(length);
    Ok(parse(&head))
}

fn parse(head: &[u8]) -> Program {
    if let Some(line) = head.strip_prefix(b"#!") {
        let line = String::from_utf8_lossy(line.split(|byte| *byte == b'\n').next().unwrap_or_default()).into_owned();
        return Program::Script(line.split_whitespace().next().unwrap_or_default().to_owned());
    }
    // EI_DATA at 5: 1 is little-endian, 2 big.
    match (head.starts_with(b"\x7fELF"), Fields { head, little: head.get(5) == Some(&1) }) {
        (true, fields) => fields
            .number(18, 2)
            .and_then(|machine| u16::try_from(machine).ok())
            .map_or(Program::Other, |machine| Program::Elf { machine, loader: fields.loader() }),
        (false, _) => Program::Other,
    }
}

struct Fields<'a> {
    head: &'a [u8],
    little: bool,
}

impl Fields<'_> {
    fn number(&self, at: usize, size: usize) -> Option<u64> {
        let field = self.head.get(at..at.checked_add(size)?)?;
        let add = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
        Some(if self.little { field.iter().rev().fold(0, add) } else { field.iter().fold(0, add) })
    }

    fn place(&self, at: usize, size: usize) -> Option<usize> {
        usize::try_from(self.number(at, size)?).ok()
    }

    /// The loader of a 64-bit program, when its name is within the head.
    fn loader(&self) -> Option<String> {
        (self.head.get(4) == Some(&2)).then_some(())?;
        let (first, size, count) = (self.place(32, 8)?, self.place(54, 2)?, self.place(56, 2)?);
        let headers = (0..count).map_while(|number| first.checked_add(number.checked_mul(size)?));
        let header =
            headers.take_while(|at| *at < HEAD).find(|at| self.number(*at, 4) == Some(u64::from(PT_INTERP)))?;
        let (start, length) = (self.place(header.checked_add(8)?, 8)?, self.place(header.checked_add(32)?, 8)?);
        let name = self.head.get(start..start.checked_add(length)?)?;
        Some(String::from_utf8_lossy(name.strip_suffix(b"\0").unwrap_or(name)).into_owned())
    }
}

/// `e_machine` with the names that `uname -m` has for machines that run it.
const MACHINES: [(u16, &[&str]); 8] = [
    (62, &["x86_64"]),
    (183, &["aarch64"]),
    (3, &["i686", "i586", "i486", "i386", "x86_64"]),
    (40, &["armv7l", "armv6l", "armv8l"]),
    (21, &["ppc64le", "ppc64"]),
    (22, &["s390x"]),
    (243, &["riscv64"]),
    (8, &["mips64", "mips"]),
];

pub(super) fn machine_name(machine: u16) -> String {
    let known = MACHINES.iter().find(|(number, _)| *number == machine);
    known.map_or_else(|| format!("machine {machine}"), |(_, names)| names[0].to_owned())
}

/// A machine that is not in the table is given the benefit of the doubt.
pub(super) fn runs_on(machine: u16, this: &str) -> bool {
    let known = MACHINES.iter().any(|(_, names)| names.contains(&this));
    !known || MACHINES.iter().any(|(number, names)| *number == machine && names.contains(&this))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_dynamic_program_names_its_loader() {
        let Ok(Program::Elf { machine, loader }) = look(Path::new("/bin/sh")) else { panic!("no ELF") };
        assert!(runs_on(machine, &rustix::system::uname().machine().to_string_lossy()));
        assert!(loader.is_none_or(|loader| Path::new(&loader).exists()));
    }

    #[test]
    fn a_foreign_program_is_told_by_its_machine() {
        let mut head = vec![0; 64];
        head[..6].copy_from_slice(b"\x7fELF\x02\x01");
        head[18] = 183;
        assert_eq!(parse(&head), Program::Elf { machine: 183, loader: None });
        assert!(!runs_on(183, "x86_64") && runs_on(3, "x86_64") && runs_on(183, "a-new-one"));
        assert_eq!(machine_name(183), "aarch64");
    }

    #[test]
    fn scripts_and_rubbish_are_told_apart() {
        assert_eq!(parse(b"#! /bin/sh -e\nx"), Program::Script("/bin/sh".into()));
        assert_eq!(parse(b"\x7fELF"), Program::Other);
        assert_eq!(parse(b"hello"), Program::Other);
    }

    proptest! {
        #[test]
        fn no_header_panics(mut head in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(&head);
            if head.len() > 6 {
                head[..6].copy_from_slice(b"\x7fELF\x02\x01");
                let _ = parse(&head);
            }
        }
    }
}
