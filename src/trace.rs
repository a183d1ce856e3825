//! minion's own log: a tracing subscriber that makes one line of each event, as text or as JSON.
//!
//! Own code and not `tracing-subscriber`, because the form of a line is a promise to those who read it, because nothing
//! here may ever wait for a reader of stderr, and because of the memory that the other takes at idle. [CR-05]

use crate::log::Diagnostics;
use chrono::{DateTime, Utc};
use std::fmt::{self, Write as _};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// The form of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `2026-11-30T01:18:34.945Z info started task=proxy pid=4711`
    Text,
    /// `{"time":"…","level":"info","message":"started","task":"proxy","pid":4711}`
    Json,
}

/// Sends every event of this process up to `verbosity` to stderr: 0 is info and above, 1 debug, 2 and more trace.
///
/// Fails silently when it was called before: then the first one stays.
pub fn init(format: Format, verbosity: i32, diagnostics: Diagnostics) {
    let most = match verbosity {
        ..=0 => Level::INFO,
        1 => Level::DEBUG,
        2.. => Level::TRACE,
    };
    let _ = tracing::subscriber::set_global_default(Lines { format, most, diagnostics });
}

/// The line that stands where lines of this log had to be dropped, because nobody read stderr or its disk was full.
pub fn loss_notice(format: Format) -> fn(u64) -> String {
    match format {
        Format::Text => |lost| {
            format!("{} warn {lost} lines of this log were dropped: stderr was full or not read\n", time(Utc::now()))
        },
        Format::Json => |lost| {
            let message = "lines of this log were dropped: stderr was full or not read";
            let now = time(Utc::now());
            format!("{{\"time\":\"{now}\",\"level\":\"warn\",\"message\":\"{message}\",\"lost\":{lost}}}\n")
        },
    }
}

/// A panic is one line of this log too: the hook of std writes to stderr itself, and might wait there for ever.
pub fn report_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map_or_else(String::new, ToString::to_string);
        let payload = panic.payload();
        let text =
            payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let text = text.unwrap_or("no message");
        tracing::error!(place, "panic: {text}; please report it as a bug");
    }));
}

struct Lines {
    format: Format,
    most: Level,
    diagnostics: Diagnostics,
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() <= self.most
    }

    fn event(&self, event: &Event<'_>) {
        let line = match self.format {
            Format::Text => text(event, Utc::now()),
            Format::Json => json(event, Utc::now()),
        };
        self.diagnostics.push(line.as_bytes());
    }

    // There are no spans: a supervisor's events carry all that they mean.
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

fn time(now: DateTime<Utc>) -> impl fmt::Display {
    now.format("%Y-%m-%dT%H:%M:%S%.3fZ")
}

fn level(event: &Event<'_>) -> &'static str {
    match *event.metadata().level() {
        Level::ERROR => "error",
        Level::WARN => "warn",
        Level::INFO => "info",
        Level::DEBUG => "debug",
        Level::TRACE => "trace",
    }
}

// Writing to a String cannot fail, so the results of `write!` say nothing here.

fn text(event: &Event<'_>, now: DateTime<Utc>) -> String {
    let mut fields = TextFields::default();
    event.record(&mut fields);
    let mut line = String::with_capacity(fields.message.len() + fields.rest.len() + 40);
    let _ = write!(line, "{} {} ", time(now), level(event));
    one_line(&mut line, &fields.message);
    line.push_str(&fields.rest);
    line
}

fn json(event: &Event<'_>, now: DateTime<Utc>) -> String {
    let mut line = format!("{{\"time\":\"{}\",\"level\":\"{}\"", time(now), level(event));
    event.record(&mut JsonFields(&mut line));
    line.push('}');
    line
}

/// What others put into a message must not start a line of its own: control characters are escaped.
fn one_line(line: &mut String, text: &str) {
    for character in text.chars() {
        if character.is_control() {
            let _ = write!(line, "{}", character.escape_default());
        } else {
            line.push(character);
        }
    }
}

#[derive(Default)]
struct TextFields {
    message: String,
    rest: String,
}

impl TextFields {
    fn add(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            self.message.push_str(value);
            return;
        }
        let _ = write!(self.rest, " {}=", field.name());
        let plain = !value.is_empty() && value.chars().all(|c| !c.is_whitespace() && !c.is_control() && c != '"');
        if plain {
            self.rest.push_str(value);
        } else {
            let _ = write!(self.rest, "{value:?}");
        }
    }
}

impl Visit for TextFields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, value);
    }
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field, &format!("{value:?}"));
    }
}

struct JsonFields<'a>(&'a mut String);

impl JsonFields<'_> {
    fn add(&mut self, field: &Field, value: impl fmt::Display) {
        let _ = write!(self.0, ",\"{}\":{value}", field.name());
    }
}

impl Visit for JsonFields<'_> {
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, value);
    }
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, value);
    }
    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, value);
    }
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, serde_json::Value::from(value));
    }
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}
