//! x
use crate::error::{Error, Result};
/// r
pub struct Request {
    /// t
    pub target: String,
    /// t
    pub as_user: bool,
    /// t
    pub command: Vec<std::ffi::OsString>,
}
/// e
pub struct Ending {
    /// c
    pub code: u8,
    /// c
    pub complaints: Vec<Error>,
}
/// e
pub fn enter(_: &Request) -> Result<Ending> {
    Err(Error::new("", "", ""))
}
