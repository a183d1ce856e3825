//! What this process may execute and enter.

use rustix::fs::{Access, AtFlags, CWD, accessat};
use std::path::Path;

/// Whether the path is a file that this process may execute. That it has an x bit says it of somebody.
pub fn is_executable(path: &Path) -> bool {
    is_permitted(path) && path.is_file()
}

/// Whether the path is a directory that this process may enter.
pub fn is_directory(path: &Path) -> bool {
    is_permitted(path) && path.is_dir()
}

/// `faccessat2(2)`, for the effective user: he is the one whom exec and chdir ask for.
fn is_permitted(path: &Path) -> bool {
    accessat(CWD, path, Access::EXEC_OK, AtFlags::EACCESS).is_ok()
}
