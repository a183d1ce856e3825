//! The flags of a command as a table for the README.

use super::command::visible;
use super::flag::Group;
use std::fmt::Write as _;

/// A Markdown table of a command's flags; None when there is no such command. A test compares the README with it.
pub fn flags_markdown(command: &str) -> Option<String> {
    let row = visible().find(|row| row.name == command)?;
    let flags = (row.flags)();
    let mut text = String::from("| flag | default | meaning |\n|---|---|---|\n");
    for group in Group::ALL {
        let mut heading = Some(group.title());
        for about in flags.iter().filter(|about| about.group == group) {
            // Writing to a String cannot fail.
            if let Some(title) = heading.take() {
                let _ = writeln!(text, "| **{title}** | | |");
            }
            let default = if about.default.is_empty() { String::new() } else { format!("`{}`", about.default) };
            let spelled = about.spelled().replace('|', "\\|");
            let _ = writeln!(text, "| `{spelled}` | {default} | {} |", about.help);
        }
    }
    Some(text)
}
