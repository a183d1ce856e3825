//! A table: columns that are as wide as they need to be, and give way where the screen is too narrow.

use super::screen::{Screen, Tone};
use super::words::{clean, wrap};

/// Between two columns.
const GAP: usize = 2;
/// What a column that gives way keeps at least.
const KEEP: usize = 10;

/// A column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its heading: stable, for those who look for it.
    pub name: &'static str,
    /// What happens where there is no room.
    pub fit: Fit,
    /// Whether it is left out where the others need its room; the last such column goes first.
    spare: bool,
}

/// How a column's text is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// Words and short names: never cut.
    Whole,
    /// Numbers: to the right, never cut.
    Number,
    /// Paths and ids: cut in the middle, for both ends say something.
    Middle,
    /// Sentences: in as many lines as they need. Only the last column.
    Wrapped,
}

/// One field.
#[derive(Clone, Debug)]
pub struct Cell {
    text: String,
    tone: Option<Tone>,
}

/// Rows under headings.
#[derive(Debug)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Row>,
}

/// A row, and what is said below it.
#[derive(Debug)]
struct Row {
    cells: Vec<Cell>,
    notes: Vec<String>,
}

impl Column {
    /// A column of this heading.
    pub const fn new(name: &'static str, fit: Fit) -> Self {
        Self { name, fit, spare: false }
    }

    /// The same, left out where there is no room for all. Only what another command or JSON tells as well.
    #[must_use]
    pub const fn spare(self) -> Self {
        Self { spare: true, ..self }
    }

    /// What it cannot do without.
    fn least(&self, natural: usize) -> usize {
        match self.fit {
            Fit::Whole | Fit::Number => natural,
            Fit::Middle => natural.min(KEEP.max(self.name.len())),
            Fit::Wrapped => natural.min(2 * KEEP),
        }
    }
}

impl Cell {
    /// A field in the colour of its tone.
    pub fn toned(tone: Tone, text: impl AsRef<str>) -> Self {
        Self { text: clean(text.as_ref()), tone: Some(tone) }
    }
}

impl<T: AsRef<str>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { text: clean(text.as_ref()), tone: None }
    }
}

impl Table {
    /// An empty table.
    pub fn new(columns: &[Column]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row. Fields that are missing at its end are empty, fields beyond the columns are dropped.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let cells = cells.into_iter().take(self.columns.len()).collect();
        self.rows.push(Row { cells, notes: Vec::new() });
    }

    /// Adds a sentence below the last row, as wide as the screen.
    pub fn note(&mut self, text: String) {
        if let Some(row) = self.rows.last_mut() {
            row.notes.push(text);
        }
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Headings and rows, each line without blanks at its end. Nothing for a table without rows.
    pub fn render(&self, screen: &Screen) -> String {
        let mut out = String::new();
        if self.is_empty() {
            return out;
        }
        let widths = self.widths(screen.width());
        let headings: Vec<Cell> = self.columns.iter().map(|column| Cell::toned(Tone::Strong, column.name)).collect();
        self.lines(&headings, &widths, screen, &mut out);
        for row in &self.rows {
            self.lines(&row.cells, &widths, screen, &mut out);
            row.notes.iter().for_each(|note| out.push_str(&screen.paragraph("  ", note)));
        }
        out
    }

    /// The columns that are shown, each with what it needs; while that is too much, the widest one that may be cut gives way.
    fn widths(&self, screen: usize) -> Vec<(usize, usize)> {
        let mut widths = self.shown(screen);
        loop {
            let total = widths.iter().map(|(_, width)| width + GAP).sum::<usize>().saturating_sub(GAP);
            let excess = total.saturating_sub(screen);
            let gives = |(at, width): &(usize, usize)| *width > self.columns[*at].least(*width);
            // Sentences give way first: they lose nothing by it.
            let wrapped = |at: usize| self.columns[at].fit == Fit::Wrapped;
            let widest =
                widths.iter_mut().filter(|column| gives(column)).max_by_key(|(at, width)| (wrapped(*at), *width));
            match widest {
                Some((at, width)) if excess > 0 => {
                    let least = if wrapped(*at) { self.columns[*at].least(*width) } else { *width - 1 };
                    *width = width.saturating_sub(excess).max(least);
                }
                Some(_) | None => return widths,
            }
        }
    }

    /// Each column with its natural width; without the spare ones that there is no room for.
    fn shown(&self, screen: usize) -> Vec<(usize, usize)> {
        let mut shown: Vec<(usize, usize)> = (0..self.columns.len()).map(|at| (at, self.natural(at))).collect();
        let least = |(at, width): &(usize, usize)| self.columns[*at].least(*width) + GAP;
        while shown.iter().map(least).sum::<usize>() > screen + GAP {
            let Some(spare) = shown.iter().rposition(|(at, _)| self.columns[*at].spare) else { break };
            shown.remove(spare);
        }
        shown
    }

    fn natural(&self, at: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.cells.get(at));
        let longest = cells.map(|cell| cell.text.chars().count()).max();
        longest.unwrap_or(0).max(self.columns[at].name.len())
    }

    fn lines(&self, cells: &[Cell], widths: &[(usize, usize)], screen: &Screen, out: &mut String) {
        let mut line = String::new();
        let mut start = 0;
        let mut rest = Vec::new();
        for (nth, (at, width)) in widths.iter().enumerate() {
            let Some(cell) = cells.get(*at) else { break };
            let mut text = match self.columns[*at].fit {
                Fit::Whole | Fit::Number => cell.text.clone(),
                Fit::Middle => cut(&cell.text, *width),
                Fit::Wrapped => {
                    rest = wrap(&cell.text, *width);
                    if rest.is_empty() { String::new() } else { rest.remove(0) }
                }
            };
            let blanks = " ".repeat(width.saturating_sub(text.chars().count()));
            if let Some(tone) = cell.tone {
                text = screen.paint(tone, &text);
            }
            let gap = " ".repeat(if nth > 0 { GAP } else { 0 });
            let parts = match self.columns[*at].fit {
                Fit::Number => [gap, blanks, text],
                Fit::Whole | Fit::Middle | Fit::Wrapped => [gap, text, blanks],
            };
            line.extend(parts);
            start += if nth + 1 < widths.len() { width + GAP } else { 0 };
        }
        out.push_str(line.trim_end());
        out.push('\n');
        for more in rest {
            out.extend([" ".repeat(start), more, "\n".to_owned()]);
        }
    }
}

/// The text in `width` characters, with an ellipsis in its middle where it is longer.
fn cut(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    // The end of a path tells more than its beginning.
    let head = width.saturating_sub(1) / 3;
    let tail = width.saturating_sub(1) - head;
    let mut short: String = text.chars().take(head).collect();
    short.push('…');
    short.extend(text.chars().skip(length - tail));
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&[
            Column::new("HIERARCHY", Fit::Whole),
            Column::new("ACTUAL", Fit::Middle),
            Column::new("PIDS", Fit::Number),
            Column::new("VERDICT", Fit::Wrapped),
        ]);
        let id = "/mesos/0c8c9b9e-8f0b-4f5c-9d8e-2f0b1a3c4d5e";
        table.row([Cell::from("memory"), id.into(), "7".into(), Cell::toned(Tone::Good, "ok")]);
        table.row([
            Cell::from("cpu"),
            "/".into(),
            "1000".into(),
            Cell::toned(Tone::Bad, "outside: a real-time process is not taken"),
        ]);
        table
    }

    #[test]
    fn with_room_nothing_is_cut() {
        let text = table().render(&Screen::plain(120));
        assert!(text.contains("0c8c9b9e-8f0b-4f5c-9d8e-2f0b1a3c4d5e"), "{text}");
        assert_eq!(text.lines().count(), 3);
        assert!(text.lines().nth(1).unwrap().contains("     7  ok"), "{text}");
    }

    #[test]
    fn in_eighty_columns_sentences_wrap_and_paths_lose_their_middle() {
        for width in [40, 50, 60, 80] {
            let text = table().render(&Screen::plain(width));
            let longest = text.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(longest <= width.max(60), "{width}: {longest}\n{text}");
            assert!(text.lines().all(|line| line == line.trim_end()), "{text}");
            let words: Vec<&str> = text.split_whitespace().collect();
            assert!(words.contains(&"real-time") && words.contains(&"1000"), "nothing else is lost: {text}");
        }
        let narrow = table().render(&Screen::plain(60));
        assert!(narrow.contains("/m") && narrow.contains('…') && narrow.contains("4d5e"), "{narrow}");
    }

    #[test]
    fn spare_columns_go_where_there_is_no_room_the_last_one_first() {
        let mut table = Table::new(&[
            Column::new("TASK", Fit::Middle),
            Column::new("CPU", Fit::Number).spare(),
            Column::new("STATE", Fit::Whole),
            Column::new("LOG", Fit::Number).spare(),
        ]);
        table.row([Cell::from("executor"), "1m03s".into(), "r".repeat(20).into(), "41 MiB".into()]);
        table.note(format!("last exit: {}", "word ".repeat(20)));
        let heading = |width: usize| {
            let text = table.render(&Screen::plain(width));
            assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
            text.lines().next().unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(heading(80), "TASK CPU STATE LOG");
        assert_eq!(heading(45), "TASK CPU STATE LOG");
        assert_eq!(heading(40), "TASK CPU STATE");
    }

    #[test]
    fn an_empty_table_is_no_text() {
        assert_eq!(Table::new(&[Column::new("PID", Fit::Number)]).render(&Screen::plain(80)), "");
    }

    #[test]
    fn a_hostile_name_cannot_reach_the_terminal() {
        let mut table = Table::new(&[Column::new("NAME", Fit::Middle)]);
        table.row([Cell::from("a\x1b[2Jb")]);
        assert!(!table.render(&Screen::plain(80)).contains('\x1b'));
    }
}
