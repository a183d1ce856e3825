//! Where text goes: how wide it may be, and whether it may have colours.

use std::ffi::OsStr;

/// The width where nobody says another.
const WIDTH: usize = 80;
/// Narrower than this nothing can be laid out; text then runs over the edge.
const LEAST: usize = 40;

/// The place that text is laid out for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    /// Columns.
    width: usize,
    /// Whether colours are used.
    colour: bool,
}

/// What a colour stands for. The word beside it says the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// As it should be: green.
    Good,
    /// To be looked at: yellow.
    Warn,
    /// Wrong: red.
    Bad,
    /// Beside the point: dim.
    Dim,
    /// A heading: bold.
    Strong,
}

impl Screen {
    /// Standard output as it is: the terminal's width (`TIOCGWINSZ`), else `COLUMNS`, else 80; colour on a terminal only,
    /// and not with `NO_COLOR` or `TERM=dumb`.
    pub fn of_stdout() -> Self {
        let stdout = rustix::stdio::stdout();
        let terminal = rustix::termios::isatty(stdout);
        let window = rustix::termios::tcgetwinsize(stdout).ok().map(|size| usize::from(size.ws_col));
        let variable = |name: &str| std::env::var_os(name);
        Self::from_facts(terminal, window, &variable)
    }

    /// The same from its sources. `NO_COLOR` counts when it is not empty, as <https://no-color.org> has it.
    fn from_facts(
        terminal: bool,
        window: Option<usize>,
        variable: &dyn Fn(&str) -> Option<std::ffi::OsString>,
    ) -> Self {
        let asked = variable("COLUMNS").and_then(|columns| columns.to_str()?.parse().ok());
        let width = window.filter(|columns| *columns > 0).or(asked).unwrap_or(WIDTH);
        let refused = variable("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = variable("TERM").is_some_and(|term| term == OsStr::new("dumb"));
        Self { width: width.max(LEAST), colour: terminal && !refused && !dumb }
    }

    /// So many columns, without colour.
    pub fn plain(width: usize) -> Self {
        Self { width: width.max(LEAST), colour: false }
    }

    /// How many columns there are.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The text in the colour of its tone, where there is colour.
    pub fn paint(&self, tone: Tone, text: &str) -> String {
        if !self.colour || text.is_empty() {
            return text.to_owned();
        }
        let code = match tone {
            Tone::Good => "32",
            Tone::Warn => "33",
            Tone::Bad => "31",
            Tone::Dim => "2",
            Tone::Strong => "1",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    /// A paragraph in lines of this screen: the first behind `first`, the others indented as far.
    ///
    /// A word that is longer than a line stands on one of its own: a path must stay one that can be copied.
    pub fn paragraph(&self, first: &str, text: &str) -> String {
        let indent = first.chars().count();
        let mut out = String::from(first);
        for (at, line) in wrap(text, self.width.saturating_sub(indent).max(LEAST / 2)).iter().enumerate() {
            if at > 0 {
                out.push('\n');
                out.extend(std::iter::repeat_n(' ', indent));
            }
            out.push_str(line);
        }
        out.push('\n');
        out
    }
}

/// The words of a text in lines of at most `width` characters; a word that is longer has a line of its own.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut room = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        match lines.last_mut() {
            Some(line) if length < room => {
                line.push(' ');
                line.push_str(word);
                room -= length + 1;
            }
            _ => {
                lines.push(word.to_owned());
                room = width.saturating_sub(length);
            }
        }
    }
    lines
}

/// The text without anything that a terminal would take for a command: names of processes and cgroups hold what they like.
pub fn clean(text: &str) -> String {
    let escape = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    if text.contains(char::is_control) { text.chars().map(escape).collect() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;

    fn screen(terminal: bool, window: Option<usize>, variables: &[(&str, &str)]) -> Screen {
        let find = |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value));
        Screen::from_facts(terminal, window, &find)
    }

    #[test]
    fn the_terminal_says_the_width_then_columns_then_eighty() {
        assert_eq!(screen(true, Some(132), &[("COLUMNS", "99")]).width(), 132);
        assert_eq!(screen(false, None, &[("COLUMNS", "99")]).width(), 99);
        assert_eq!(screen(true, Some(0), &[]).width(), 80, "a serial line has no size");
        assert_eq!(screen(false, None, &[("COLUMNS", "many")]).width(), 80);
        assert_eq!(screen(true, Some(3), &[]).width(), LEAST);
    }

    #[test]
    fn colour_is_for_terminals_that_did_not_refuse_it() {
        let painted = |screen: Screen| screen.paint(Tone::Bad, "fail") != "fail";
        assert!(painted(screen(true, None, &[("TERM", "xterm"), ("NO_COLOR", "")])));
        assert!(!painted(screen(false, None, &[("TERM", "xterm")])));
        assert!(!painted(screen(true, None, &[("NO_COLOR", "1")])));
        assert!(!painted(screen(true, None, &[("TERM", "dumb")])));
    }

    #[test]
    fn a_paragraph_hangs_behind_its_first_words_and_keeps_paths_whole() {
        let path = "/".repeat(60);
        let text = Screen::plain(40).paragraph("  remedy: ", &format!("write the pid to {path} and look again"));
        assert_eq!(text, format!("  remedy: write the pid to\n          {path}\n          and look again\n"));
    }

    #[test]
    fn what_a_terminal_would_obey_is_spelled_out() {
        assert_eq!(clean("a\x1b[31mb\n"), "a\\u{1b}[31mb\\n");
        assert_eq!(clean("naïve"), "naïve");
    }
}
