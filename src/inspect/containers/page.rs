//! The survey for a person.

use super::finding::{Finding, Severity};
use super::{Container, Survey};
use crate::inspect::page::commands;
use crate::render::{Cell, Column, Fit, Screen, Table, Tone, clean, unit};
use std::collections::HashMap;
use std::time::Duration;

/// So many findings are shown; JSON has them all.
const SHOWN: usize = 40;

impl Survey {
    /// One row a container, then the findings.
    pub fn page(&self, screen: &Screen) -> String {
        let mut out = self.headline();
        let flagged = self.flagged();
        let mut table = Table::new(&[
            Column::new("CONTAINER", Fit::Middle),
            Column::new("EXECUTOR", Fit::Middle),
            Column::new("PIDS", Fit::Number),
            Column::new("MEMORY", Fit::Number),
            Column::new("LIMIT", Fit::Number).spare(),
            Column::new("CPU", Fit::Number),
            Column::new("OOM", Fit::Number),
            Column::new("PRESSURE", Fit::Number).spare(),
            Column::new("STATE", Fit::Whole),
            Column::new("FRAMEWORK", Fit::Middle).spare(),
        ]);
        for container in &self.containers {
            table.row(container.cells(flagged.get(container.id.as_str()).copied()));
        }
        out.push_str(&table.render(screen));
        self.findings_page(screen, &mut out);
        out
    }

    /// `3 containers with 14 processes below mesos (hybrid)`
    pub(super) fn headline(&self) -> String {
        let pids = self.containers.iter().map(|container| container.pids).sum();
        format!(
            "{} with {} {} ({} cgroups)\n",
            unit::counted(self.containers.len(), "container", "containers"),
            unit::counted(pids, "process", "processes"),
            if self.roots.is_empty() {
                "anywhere".to_owned()
            } else {
                format!("below {}", clean(&self.roots.join(", ")))
            },
            self.layout
        )
    }

    /// The worst finding of each container that has one.
    pub(super) fn flagged(&self) -> HashMap<&str, &Finding> {
        let mut flagged: HashMap<&str, &Finding> = HashMap::new();
        for finding in &self.findings {
            if let Some(id) = &finding.container {
                let worst = flagged.entry(id).or_insert(finding);
                if finding.severity > worst.severity {
                    *worst = finding;
                }
            }
        }
        flagged
    }

    fn findings_page(&self, screen: &Screen, out: &mut String) {
        if !self.findings.is_empty() {
            out.push('\n');
        }
        for finding in self.findings.iter().take(SHOWN) {
            let (word, tone) = words(finding.severity);
            let container = finding.container.as_deref().unwrap_or("-");
            let head = format!("{word} {}: {}", finding.kind.word(), clean(container));
            out.push_str(&screen.paint(tone, &head));
            out.push('\n');
            out.push_str(&screen.paragraph("  ", &clean(&finding.text)));
            out.push_str(&screen.paragraph("  remedy: ", &clean(&finding.remedy)));
            out.push_str(&commands("  run:    ", &finding.commands));
        }
        if self.findings.len() > SHOWN {
            let more = unit::counted(self.findings.len() - SHOWN, "more finding", "more findings");
            out.extend([more.as_str(), ": --json has all\n"]);
        }
        if self.unseen > 0 {
            let unseen = unit::counted(self.unseen, "process", "processes");
            out.push_str(
                &screen.paragraph("", &format!("{unseen} could not be asked: this user may not read the environment.")),
            );
        }
    }
}

pub(super) fn words(severity: Severity) -> (&'static str, Tone) {
    match severity {
        Severity::Note => ("note", Tone::Dim),
        Severity::Warning => ("warning", Tone::Warn),
        Severity::Problem => ("problem", Tone::Bad),
    }
}

impl Container {
    fn cells(&self, finding: Option<&Finding>) -> Vec<Cell> {
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        vec![
            Cell::from(&self.id),
            Cell::from(or_dash(self.executor.clone())),
            Cell::from(self.pids.to_string()),
            Cell::from(or_dash(self.memory_bytes.map(unit::bytes))),
            Cell::from(or_dash(self.memory_limit_bytes.map(unit::bytes))),
            Cell::from(or_dash(self.cpu_ns.map(|nanos| unit::span(Duration::from_nanos(nanos))))),
            self.oom_cell(),
            Cell::from(or_dash(self.pressure().map(|pressure| format!("{pressure:.0}%")))),
            state(finding),
            Cell::from(or_dash(self.framework.clone())),
        ]
    }

    pub(super) fn oom_cell(&self) -> Cell {
        match self.oom_kills {
            None => Cell::from("-"),
            Some(0) => Cell::from("0"),
            Some(kills) => Cell::toned(Tone::Bad, kills.to_string()),
        }
    }

    /// The greater of both.
    pub(super) fn pressure(&self) -> Option<f32> {
        match (self.cpu_pressure, self.memory_pressure) {
            (Some(cpu), Some(memory)) => Some(cpu.max(memory)),
            (one, other) => one.or(other),
        }
    }
}

/// The kind of the worst finding, or `ok`.
pub(super) fn state(finding: Option<&Finding>) -> Cell {
    match finding {
        None => Cell::toned(Tone::Good, "ok"),
        Some(finding) => Cell::toned(words(finding.severity).1, finding.kind.word()),
    }
}
