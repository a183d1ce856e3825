//! Where text goes: how wide it may be, and whether it may have colours.

use std::ffi::OsStr;

/// The width where nobody says another.
const WIDTH: usize = 80;
/// The lines of a terminal that does not say.
const HEIGHT: usize = 24;
/// Narrower than this nothing can be laid out; text then runs over the edge.
const LEAST: usize = 40;
const HOME: &str = "\x1b[H";
const REST_OF_LINE: &str = "\x1b[K";
const REST_OF_SCREEN: &str = "\x1b[J";

/// The place that text is laid out for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    /// Columns.
    width: usize,
    /// Lines, where it is a terminal.
    height: Option<usize>,
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
        let window = rustix::termios::tcgetwinsize(stdout).ok();
        let window = window.map(|size| (usize::from(size.ws_col), usize::from(size.ws_row)));
        let variable = |name: &str| std::env::var_os(name);
        Self::from_facts(terminal, window, &variable)
    }

    /// The same from its sources. `NO_COLOR` counts when it is not empty, as <https://no-color.org> has it.
    fn from_facts(
        terminal: bool,
        window: Option<(usize, usize)>,
        variable: &dyn Fn(&str) -> Option<std::ffi::OsString>,
    ) -> Self {
        let asked = variable("COLUMNS").and_then(|columns| columns.to_str()?.parse().ok());
        let told = |size: usize| Some(size).filter(|size| *size > 0);
        let width = window.and_then(|(columns, _)| told(columns)).or(asked).unwrap_or(WIDTH);
        let height = terminal.then(|| window.and_then(|(_, lines)| told(lines)).unwrap_or(HEIGHT));
        let refused = variable("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = variable("TERM").is_some_and(|term| term == OsStr::new("dumb"));
        Self { width: width.max(LEAST), height, colour: terminal && !refused && !dumb }
    }

    /// So many columns, without colour.
    pub fn plain(width: usize) -> Self {
        Self { width: width.max(LEAST), height: None, colour: false }
    }

    /// How many columns there are.
    pub fn width(&self) -> usize {
        self.width
    }

    /// How many lines there are; None where it is no terminal, and has no end.
    pub fn height(&self) -> Option<usize> {
        self.height
    }

    /// The frame in the place of the one before, without a flicker: on a terminal from the top, as many lines as there are;
    /// elsewhere below it, whole.
    pub fn afresh(&self, frame: &str) -> String {
        let Some(height) = self.height else { return frame.to_owned() };
        let lines: Vec<&str> = frame.lines().collect();
        let (fit, hidden) =
            if lines.len() > height { (height - 1, lines.len() + 1 - height) } else { (lines.len(), 0) };
        let mut out = String::from(HOME);
        for line in &lines[..fit] {
            out.extend([line, REST_OF_LINE, "\n"]);
        }
        if hidden > 0 {
            out.extend([&format!("… {hidden} more lines"), REST_OF_LINE]);
        } else if fit == height {
            // The last line of the screen has no end, or it would scroll.
            out.pop();
        }
        out.push_str(REST_OF_SCREEN);
        out
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

/// The words of a text in lines of at most `width` characters; a word that is longer has a line of its own. What a terminal
/// would take for a command is spelled out.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut room = 0;
    for word in text.split_whitespace() {
        let word = clean(word);
        let length = word.chars().count();
        match lines.last_mut() {
            Some(line) if length < room => {
                line.push(' ');
                line.push_str(&word);
                room -= length + 1;
            }
            _ => {
                lines.push(word);
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

    fn screen(terminal: bool, window: Option<(usize, usize)>, variables: &[(&str, &str)]) -> Screen {
        let find = |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value));
        Screen::from_facts(terminal, window, &find)
    }

    #[test]
    fn the_terminal_says_the_width_then_columns_then_eighty() {
        assert_eq!(screen(true, Some((132, 0)), &[("COLUMNS", "99")]).width(), 132);
        assert_eq!(screen(false, None, &[("COLUMNS", "99")]).width(), 99);
        assert_eq!(screen(true, Some((0, 0)), &[]).width(), 80, "a serial line has no size");
        assert_eq!(screen(false, None, &[("COLUMNS", "many")]).width(), 80);
        assert_eq!(screen(true, Some((3, 3)), &[]).width(), LEAST);
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
    fn a_frame_is_drawn_over_the_one_before_and_never_scrolls() {
        let drawn = |lines: usize| {
            let frame = (0..lines).map(|line| line.to_string()).collect::<Vec<_>>().join("\n");
            screen(true, Some((80, 4)), &[]).afresh(&frame)
        };
        assert_eq!(drawn(2), "\x1b[H0\x1b[K\n1\x1b[K\n\x1b[J");
        assert_eq!(drawn(4), "\x1b[H0\x1b[K\n1\x1b[K\n2\x1b[K\n3\x1b[K\x1b[J");
        assert_eq!(drawn(6), "\x1b[H0\x1b[K\n1\x1b[K\n2\x1b[K\n… 3 more lines\x1b[K\x1b[J");
        assert_eq!(screen(false, Some((80, 4)), &[]).afresh("a\nb\n"), "a\nb\n", "a pipe has no top");
        assert_eq!(screen(true, None, &[]).height(), Some(24));
    }

    #[test]
    fn what_a_terminal_would_obey_is_spelled_out() {
        assert_eq!(clean("a\x1b[31mb\n"), "a\\u{1b}[31mb\\n");
        assert_eq!(clean("naïve"), "naïve");
        assert_eq!(Screen::plain(80).paragraph("", "a\x1b[31m\nb"), "a\\u{1b}[31m b\n");
    }
}
