//! What the log thread has to tell.

use super::Supervisor;
use crate::log::{Report, StreamId};
use tracing::{info, warn};

impl Supervisor {
    pub(super) fn read_log_reports(&mut self) {
        for report in self.logs.reports() {
            match report {
                Report::Ended { stream, dropped, tail, .. } => self.stream_ended(stream, dropped, tail),
                Report::Degraded { log, error } => {
                    warn!(log = %log, "{error}");
                    self.note_log(&log, Some(&error.to_string()), format!("{log}.log: {error}"));
                }
                Report::Recovered { log, dropped } => {
                    info!(log = %log, dropped, "the log can be written again");
                    self.note_log(&log, None, format!("{log}.log can be written again; bytes dropped: {dropped}"));
                }
                Report::Sacrificed { log, backup } => {
                    warn!(log = %log, backup = %backup, "the disk is full: removed a backup");
                    self.note("log-sacrificed", None, format!("the disk is full: removed {backup}"));
                }
                Report::Flaw { error } => warn!("{error}"),
            }
        }
    }

    fn stream_ended(&mut self, stream: StreamId, dropped: u64, tail: Vec<u8>) {
        let runs = self.slots.iter_mut().filter_map(|slot| slot.run.as_mut());
        for run in runs {
            let before = run.streams.len();
            run.streams.retain(|open| *open != stream);
            if run.streams.len() < before {
                run.dropped += dropped;
                if !tail.is_empty() {
                    run.tail = tail;
                }
                return;
            }
        }
    }
}
