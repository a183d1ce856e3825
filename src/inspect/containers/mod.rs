//! x
use super::render::Screen;
use crate::error::{Error, Result};
/// o
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// x
    Id,
    /// x
    Pids,
    /// x
    Memory,
    /// x
    Cpu,
    /// x
    Oom,
}
/// s
pub struct Survey;
impl Survey {
    /// x
    pub fn sort(&mut self, _: Order) {}
    /// x
    pub fn json(&self) -> String {
        String::new()
    }
    /// x
    pub fn page(&self, _: &Screen) -> String {
        String::new()
    }
    /// x
    pub fn code(&self) -> u8 {
        0
    }
}
/// s
pub fn survey(_: Option<&str>) -> Result<Survey> {
    Err(Error::new("", "", ""))
}
/// w
pub fn watch(_: Option<&str>, _: Order) -> Result<()> {
    Ok(())
}
