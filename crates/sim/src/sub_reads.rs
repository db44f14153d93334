//! Reads of drives: the lateness of the last reads of a stripe, and the differences between drives.

use crate::latency::LatencySummary;
use crate::returned_busy::ReturnedBusy;
use crate::stalled_reads::{StalledReadWatch, StalledReads};
use crate::watch::Watch;
use array::{Event as ArrayEvent, OpId, Why};
use engine::Event;
use hdrhistogram::Histogram;
use nvme::{CommandId, Opcode, Status};
use std::collections::BTreeMap;
use units::{Duration, Instant, Recorded};

/// Unit of slowdowns: thousandths, up to a million.
const THOUSANDTHS: f64 = 1e3;
const LARGEST: u64 = 1_000_000_000;
/// Fewest members with a median to compare with.
const FEWEST_MEMBERS: usize = 3;

/// Slowdowns in thousandths, to three significant digits.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Slowdowns(
    #[cfg_attr(feature = "serde", serde(with = "crate::stored::histogram"))] Histogram<u64>,
);

/// Statistics of reads of drives.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SubReads {
    /// For each read of a stripe, the slowdown of its last member: its latency as a multiple of the
    /// median member's. Then the same of the last but one. The median is the earlier of the two in
    /// the middle (IODA §2).
    slowdowns: [Slowdowns; 2],
    /// Latency of the reads of each drive, from their dispatch.
    pub drives: Vec<LatencySummary>,
    /// Stripe reads by the number of members that were returned busy: failed fast, or sent to a
    /// collecting die.
    pub returned_busy: Vec<u64>,
    /// Reads that stalled, and reads that were hedged.
    pub stalled: StalledReads,
}

impl SubReads {
    fn new(drives: usize) -> Self {
        let histogram = Histogram::new_with_bounds(1, LARGEST, 3)
            .unwrap_or_else(|error| unreachable!("constant bounds are valid: {error}"));
        Self {
            slowdowns: [Slowdowns(histogram.clone()), Slowdowns(histogram)],
            drives: vec![LatencySummary::new(); drives],
            returned_busy: vec![0; drives + 1],
            stalled: StalledReads::default(),
        }
    }

    /// Slowdown that `percentile` per cent of the stripe reads do not exceed: of the last member if
    /// `from_last` is 0, of the last but one if it is 1.
    #[must_use]
    pub fn slowdown(&self, from_last: usize, percentile: f64) -> f64 {
        self.slowdowns[from_last].0.value_at_percentile(percentile) as f64 / THOUSANDTHS
    }

    /// Number of stripe reads with a slowdown.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.slowdowns[0].0.len()
    }

    /// Percentage of stripe reads with a slowdown of more than `times`.
    #[must_use]
    pub fn slowed_percent(&self, from_last: usize, times: f64) -> f64 {
        let histogram = &self.slowdowns[from_last].0;
        match histogram.is_empty() {
            true => 0.0,
            false => 100.0 - histogram.percentile_below((times * THOUSANDTHS) as u64),
        }
    }

    /// Adds the reads of another run of the same array.
    pub(crate) fn add(&mut self, other: &Self) {
        for (sum, slowdowns) in self.slowdowns.iter_mut().zip(&other.slowdowns) {
            let added = sum.0.add(&slowdowns.0);
            debug_assert!(added.is_ok(), "all have the same bounds");
        }
        self.drives.iter_mut().zip(&other.drives).for_each(|(sum, drive)| sum.add(drive));
        for (sum, count) in self.returned_busy.iter_mut().zip(&other.returned_busy) {
            *sum += count;
        }
        self.stalled.add(&other.stalled);
    }

    /// Records a read of a stripe by the latencies of its members.
    fn record(&mut self, mut members: Vec<Duration>) {
        if members.len() < FEWEST_MEMBERS {
            return;
        }
        members.sort_unstable();
        let median = members[(members.len() - 1) / 2].as_nanos().max(1) as f64;
        for (slowdowns, member) in self.slowdowns.iter_mut().zip(members.iter().rev()) {
            let slowdown = member.as_nanos() as f64 / median;
            slowdowns.0.saturating_record((slowdown * THOUSANDTHS) as u64);
        }
    }
}

/// Watcher of the reads of drives.
pub(crate) struct SubReadWatch {
    /// Reads in flight: the time of dispatch, and the stripe operation if the member is wanted.
    sent: BTreeMap<CommandId, (Instant, Option<OpId>)>,
    /// Latencies of the members that have arrived, by operation.
    operations: BTreeMap<OpId, Vec<Duration>>,
    returned_busy: ReturnedBusy,
    stalled: StalledReadWatch,
    found: SubReads,
}

impl SubReadWatch {
    /// Creates a watcher; `read` is the time of a page read.
    pub(crate) fn new(drives: usize, read: Duration) -> Self {
        Self {
            sent: BTreeMap::new(),
            operations: BTreeMap::new(),
            returned_busy: ReturnedBusy::new(drives),
            stalled: StalledReadWatch::new(read),
            found: SubReads::new(drives),
        }
    }

    pub(crate) fn finish(self) -> SubReads {
        SubReads {
            returned_busy: self.returned_busy.into_counts(),
            stalled: self.stalled.into_found(),
            ..self.found
        }
    }
}

impl Watch for SubReadWatch {
    type Observe = Recorded;

    fn event(&mut self, at: Instant, event: Event) {
        self.returned_busy.event(&event);
        self.stalled.event(at, &event);
        let Event::Array(event) = event else { return };
        match event {
            ArrayEvent::Dispatched { command, target, opcode: Opcode::Read, why, .. } => {
                let op = target.filter(|_| why == Why::Wanted).map(|(op, _)| op);
                self.sent.insert(command, (at, op));
            }
            ArrayEvent::Answered { command, drive, status } => {
                let Some((sent, op)) = self.sent.remove(&command) else { return };
                if status != Status::Success {
                    return;
                }
                let latency = at.since(sent);
                self.found.drives[drive.index()].record(latency);
                if let Some(op) = op {
                    self.operations.entry(op).or_default().push(latency);
                }
            }
            ArrayEvent::OperationClosed { op } => {
                if let Some(members) = self.operations.remove(&op) {
                    self.found.record(members);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slowdown_is_against_the_second_earliest_of_four() {
        let mut reads = SubReads::new(4);
        let micros = |times: [u64; 4]| times.map(Duration::from_micros).to_vec();
        reads.record(micros([100, 900, 50, 200]));
        // A histogram keeps three digits.
        let is_about = |found: f64, wanted: f64| (found / wanted - 1.0).abs() < 0.002;
        assert!(is_about(reads.slowdown(0, 50.0), 9.0) && is_about(reads.slowdown(1, 50.0), 2.0));
        for _ in 0..3 {
            reads.record(micros([100; 4]));
        }
        assert!(is_about(reads.slowdown(0, 75.0), 1.0));
        assert_eq!((reads.slowed_percent(0, 2.0), reads.slowed_percent(1, 2.0)), (25.0, 0.0));
        // Two members have no median.
        reads.record(vec![Duration::from_micros(1), Duration::from_micros(9)]);
        assert_eq!(reads.slowed_percent(0, 2.0), 25.0);
        assert_eq!(SubReads::new(1).slowed_percent(0, 2.0), 0.0);
    }
}
