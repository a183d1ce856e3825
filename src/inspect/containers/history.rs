//! The last minute of each container, in eight heights of a block.

use super::{Container, Survey};
use std::collections::{HashMap, VecDeque};
use std::time::Instant;

/// So many samples are kept, one a second.
const KEPT: usize = 60;
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// What was seen of one container.
#[derive(Debug, Default)]
pub(super) struct Past {
    /// Per cent of one processor.
    pub(super) cpu: VecDeque<f64>,
    /// Bytes.
    pub(super) memory: VecDeque<f64>,
    /// Per cent of the time.
    pub(super) pressure: VecDeque<f64>,
    last: Option<(Instant, u64)>,
    seen: bool,
}

/// What was seen of all.
#[derive(Debug, Default)]
pub(super) struct History {
    pasts: HashMap<String, Past>,
}

impl History {
    /// Takes a look over, and forgets who is gone.
    pub(super) fn note(&mut self, survey: &Survey, now: Instant) {
        for container in &survey.containers {
            self.pasts.entry(container.id.clone()).or_default().note(container, now);
        }
        self.pasts.retain(|_, past| std::mem::take(&mut past.seen));
    }

    pub(super) fn of(&self, container: &Container) -> Option<&Past> {
        self.pasts.get(&container.id)
    }
}

impl Past {
    #[allow(clippy::cast_precision_loss, reason = "for a picture of eight heights")]
    fn note(&mut self, container: &Container, now: Instant) {
        self.seen = true;
        if let Some(cpu) = container.cpu_ns
            && let Some((before, used)) = self.last.replace((now, cpu))
        {
            let span = now.duration_since(before).as_nanos().max(1) as f64;
            push(&mut self.cpu, 100.0 * cpu.saturating_sub(used) as f64 / span);
        }
        if let Some(memory) = container.memory_bytes {
            push(&mut self.memory, memory as f64);
        }
        if let Some(pressure) = container.pressure() {
            push(&mut self.pressure, f64::from(pressure));
        }
    }
}

fn push(samples: &mut VecDeque<f64>, sample: f64) {
    if samples.len() == KEPT {
        samples.pop_front();
    }
    samples.push_back(sample);
}

/// The last `width` samples against the greatest of them, or against `least` where that is more: idle looks idle.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 7")]
pub(super) fn spark(samples: &VecDeque<f64>, width: usize, least: f64) -> String {
    let shown = samples.iter().skip(samples.len().saturating_sub(width));
    let most = shown.clone().copied().fold(least, f64::max);
    shown.map(|sample| BLOCKS[((sample / most * 7.0).round() as usize).min(7)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spark_is_as_high_as_its_greatest_sample_or_as_it_is_told() {
        let samples: VecDeque<f64> = [0.0, 50.0, 100.0].into();
        assert_eq!(spark(&samples, 10, 1.0), "▁▅█");
        assert_eq!(spark(&samples, 2, 1.0), "▅█");
        assert_eq!(spark(&samples, 3, 700.0), "▁▂▂");
        assert_eq!(spark(&VecDeque::new(), 3, 1.0), "");
    }

    #[test]
    fn cpu_is_the_difference_of_two_looks() {
        let begin = Instant::now();
        let mut past = Past::default();
        let look = |cpu: u64| Container { cpu_ns: Some(cpu), ..Container::default() };
        past.note(&look(1_000_000_000), begin);
        past.note(&look(1_500_000_000), begin + std::time::Duration::from_secs(1));
        assert_eq!(past.cpu, [50.0]);
    }
}
