//! Which program the children are commands of.

use crate::error::{Error, Result};
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The name that is looked for.
const NAME: &str = "km";

/// Finds `km`, and says how: `--km-binary`, beside minion, in the sandbox, in PATH, in this order.
///
/// Relative and empty elements of PATH are passed over: what they name depends on where minion was started. The error
/// names every place that was looked at.
pub fn locate_km(
    flag: Option<&Path>,
    exe_dir: Option<&Path>,
    sandbox: Option<&Path>,
    path_var: Option<&OsStr>,
    is_executable: &dyn Fn(&Path) -> bool,
) -> Result<(PathBuf, &'static str)> {
    if let Some(path) = flag {
        return if is_executable(path) {
            Ok((path.to_owned(), "--km-binary"))
        } else {
            Err(Error::new("find km", format_args!("--km-binary={path:?}"), "no executable file"))
        };
    }
    let near = [(exe_dir, "beside minion"), (sandbox, "in the sandbox")];
    for (directory, why) in near {
        if let Some(km) = directory.map(|directory| directory.join(NAME)).filter(|km| is_executable(km)) {
            return Ok((km, why));
        }
    }
    in_path(NAME, path_var, is_executable)
        .map(|km| (km, "in PATH"))
        .ok_or_else(|| none_found(exe_dir, sandbox, path_var))
}

/// The first executable file of that name in the absolute elements of PATH.
pub fn in_path(name: &str, path_var: Option<&OsStr>, is_executable: &dyn Fn(&Path) -> bool) -> Option<PathBuf> {
    path_elements(path_var).map(|directory| directory.join(name)).find(|file| is_executable(file))
}

fn path_elements(path_var: Option<&OsStr>) -> impl Iterator<Item = &Path> {
    let elements = path_var.unwrap_or_default().as_bytes().split(|byte| *byte == b':');
    elements.map(|element| Path::new(OsStr::from_bytes(element))).filter(|path| path.is_absolute())
}

fn none_found(exe_dir: Option<&Path>, sandbox: Option<&Path>, path_var: Option<&OsStr>) -> Error {
    let mut places = String::new();
    for (place, directory) in [("beside minion", exe_dir), ("in the sandbox", sandbox)] {
        let quoted = directory.map_or_else(|| "unknown".to_owned(), |directory| format!("{directory:?}"));
        // Writing to a String cannot fail.
        let _ = write!(places, "{place} ({quoted}), ");
    }
    // With blanks, so that a table can break it.
    let path: Vec<String> = path_elements(path_var).map(|directory| format!("{directory:?}")).collect();
    let path = if path.is_empty() { "without a directory".to_owned() } else { path.join(", ") };
    Error::new("find km", "", format!("not {places}nor in PATH ({path})")).hint("--km-binary=PATH names it")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locate(flag: Option<&str>, there: &[&str]) -> Result<(PathBuf, &'static str)> {
        locate_km(
            flag.map(Path::new),
            Some(Path::new("/opt/minion")),
            Some(Path::new("/sandbox")),
            Some(OsStr::new("relative::/usr/bin:/bin")),
            &|path| there.iter().any(|there| path == Path::new(there)),
        )
    }

    #[test]
    fn the_nearest_place_wins() {
        let everywhere = ["/opt/minion/km", "/sandbox/km", "relative/km", "/bin/km", "/k"];
        assert_eq!(locate(Some("/k"), &everywhere).unwrap(), ("/k".into(), "--km-binary"));
        assert_eq!(locate(None, &everywhere).unwrap(), ("/opt/minion/km".into(), "beside minion"));
        assert_eq!(locate(None, &everywhere[1..]).unwrap(), ("/sandbox/km".into(), "in the sandbox"));
        assert_eq!(locate(None, &everywhere[2..]).unwrap(), ("/bin/km".into(), "in PATH"));
    }

    #[test]
    fn nothing_found_names_the_three_places() {
        assert_eq!(
            locate(None, &["relative/km"]).unwrap_err().to_string(),
            "find km: not beside minion (\"/opt/minion\"), in the sandbox (\"/sandbox\"), nor in PATH \
             (\"/usr/bin\", \"/bin\") (hint: --km-binary=PATH names it)"
        );
    }

    #[test]
    fn a_named_program_that_is_not_there_is_not_replaced() {
        assert_eq!(
            locate(Some("/k"), &["/sandbox/km"]).unwrap_err().to_string(),
            "find km --km-binary=\"/k\": no executable file"
        );
    }
}
