//! The doctor's lines as text and as JSON.

use super::{Check, Health};
use crate::inspect::json::{Object, plain};
use crate::inspect::report::Answer;
use crate::render::{Cell, Column, Fit, Screen, Table, Tone};

/// The version of what `doctor --json` prints. Fields may be added to it, not changed or removed.
const SCHEMA: &str = "minion.doctor/1";

/// The checks for a person or, with `json`, for a script. Code 0: all is well; 1: something is not; 2: all that could be seen
/// is well, and something could not be seen.
pub fn report(checks: &[Check], json: bool, screen: &Screen) -> Answer {
    let count = |health: Health| checks.iter().filter(|check| check.health == health).count();
    let counts = [Health::Ok, Health::Warn, Health::Fail, Health::Unknown].map(|health| (health, count(health)));
    let code = match (count(Health::Warn) + count(Health::Fail), count(Health::Unknown)) {
        (0, 0) => 0,
        (0, _) => 2,
        (..) => 1,
    };
    let text = if json {
        let add = |object: Object, (health, count): &(Health, usize)| object.count(health.word(), Some(*count as u64));
        let counts = counts.iter().fold(Object::default(), add).end();
        let object = Object::default().text("schema", SCHEMA).put("counts", counts).put("checks", plain(checks));
        format!("{}\n", object.end())
    } else {
        let counts: Vec<String> = counts.iter().map(|(health, count)| format!("{count} {}", health.word())).collect();
        format!("{}\n{}\n", table(checks).render(screen), counts.join(", "))
    };
    Answer { text, code }
}

fn table(checks: &[Check]) -> Table {
    let mut table = Table::new(&[
        Column::new("HEALTH", Fit::Whole),
        Column::new("CHECK", Fit::Whole),
        Column::new("EVIDENCE", Fit::Wrapped),
    ]);
    for check in checks {
        let tone = match check.health {
            Health::Ok => Tone::Good,
            Health::Unknown => Tone::Dim,
            Health::Warn => Tone::Warn,
            Health::Fail => Tone::Bad,
        };
        let word = match check.health {
            Health::Ok | Health::Unknown => check.health.word().to_owned(),
            // Found without colour too.
            Health::Warn | Health::Fail => check.health.word().to_uppercase(),
        };
        table.row([Cell::toned(tone, word), check.name.into(), (&check.evidence).into()]);
        if !check.remedy.is_empty() {
            table.row([Cell::from(""), "".into(), format!("remedy: {}", check.remedy).into()]);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_says_all_well_something_wrong_or_cannot_tell() {
        let (ok, unknown) = (Check::ok("a", "x"), Check::unknown("b", "EACCES on /x"));
        let (warn, fail) = (Check::warn("c", "x", "do it"), Check::fail("d", "x", "do it"));
        let code = |checks: &[&Check]| {
            let checks: Vec<Check> = checks.iter().map(|check| (*check).clone()).collect();
            report(&checks, false, &Screen::plain(80)).code
        };
        assert_eq!((code(&[&ok]), code(&[&ok, &unknown]), code(&[&ok, &warn, &unknown]), code(&[&fail])), (0, 2, 1, 1));
    }

    #[test]
    fn each_line_that_is_not_ok_has_its_remedy() {
        let checks = [Check::ok("seccomp", "off"), Check::fail("km", "not found", "--km-binary names it")];
        let text = report(&checks, false, &Screen::plain(80)).text;
        assert_eq!(
            text,
            "HEALTH  CHECK    EVIDENCE\nok      seccomp  off\nFAIL    km       not found\n                 remedy: --km-binary \
             names it\n\n1 ok, 0 warn, 1 fail, 0 unknown\n"
        );
        let json: serde_json::Value = serde_json::from_str(&report(&checks, true, &Screen::plain(80)).text).unwrap();
        assert_eq!((&json["schema"], &json["checks"][1]["health"]), (&SCHEMA.into(), &"fail".into()));
    }
}
