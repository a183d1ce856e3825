//! Where text goes: how wide it may be, and whether it may have colours.

use super::words::{Extent, wrap};
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
    /// Columns that text is laid out for.
    width: usize,
    /// Columns that there are, which may be fewer.
    columns: usize,
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
        Self { width: width.max(LEAST), columns: width, height, colour: terminal && !refused && !dumb }
    }

    /// So many columns, without colour.
    pub fn plain(width: usize) -> Self {
        Self { width: width.max(LEAST), columns: width, height: None, colour: false }
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
    /// elsewhere below it, whole. A line that is longer than the screen is wide, such as a path, takes several of its rows.
    pub fn afresh(&self, frame: &str) -> String {
        let Some(height) = self.height else { return frame.to_owned() };
        let lines: Vec<(&str, Extent)> = frame.lines().map(|line| (line, Extent::of(line, self.columns))).collect();
        let all: usize = lines.iter().map(|(_, extent)| extent.rows).sum();
        // The last row is for saying how many lines are not there.
        let room = if all > height { height - 1 } else { height };
        let mut used = 0;
        let mut out = String::from(HOME);
        let mut shown = 0;
        for (line, extent) in &lines {
            if used + extent.rows > room {
                break;
            }
            (used, shown) = (used + extent.rows, shown + 1);
            // In a row that is full, the cursor stands on its last character, which would be wiped away.
            out.extend([*line, if extent.is_full { "" } else { REST_OF_LINE }, "\n"]);
        }
        if shown < lines.len() {
            out.extend(format!("… {} more lines", lines.len() - shown).chars().take(self.columns.saturating_sub(1)));
            out.push_str(REST_OF_LINE);
        } else if used == height {
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
    fn a_line_that_is_wider_than_the_screen_takes_as_many_of_its_rows_as_a_terminal_gives_it() {
        let drawn = |columns: u16, frame: &str| screen(true, Some((columns.into(), 4)), &[]).afresh(frame);
        let long = "/".repeat(50);
        assert_eq!(drawn(20, &format!("{long}\na")), format!("\x1b[H{long}\x1b[K\na\x1b[K\x1b[J"), "4 rows");
        assert_eq!(drawn(20, &format!("{long}\na\nb")), format!("\x1b[H{long}\x1b[K\n… 2 more lines\x1b[K\x1b[J"));
        assert_eq!(drawn(20, &"/".repeat(100)), "\x1b[H… 1 more lines\x1b[K\x1b[J");
        let full = format!("\x1b[31m{}\x1b[0m", "x".repeat(40));
        assert_eq!(
            drawn(20, &format!("{full}\na\n")),
            format!("\x1b[H{full}\na\x1b[K\n\x1b[J"),
            "colours take no room"
        );
        assert_eq!(drawn(5, "漢字漢\na\nb"), "\x1b[H漢字漢\x1b[K\na\x1b[K\nb\x1b[K\x1b[J", "two columns each");
        assert_eq!(drawn(5, "漢字漢\na\nb\nc"), "\x1b[H漢字漢\x1b[K\na\x1b[K\n… 2 \x1b[K\x1b[J");
    }
}
