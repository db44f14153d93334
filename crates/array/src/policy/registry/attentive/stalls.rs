//! Stalls of a drive: times at which its reads are late together, and what preceded them.

use crate::learnt::{Stall, Stalls};
use alloc::vec::Vec;
use units::{Duration, Instant};

/// Multiple of the usual read latency at which a read has stalled. Real drives reach 5 to 50 times
/// once in a thousand reads.
const STALLED_TIMES: u64 = 5;
/// Number of latest stalls that are kept.
const KEPT: usize = 64;

/// A stall that is in progress or over.
#[derive(Clone, Copy, Debug)]
struct Episode {
    began: Instant,
    ends: Instant,
    /// As known at its beginning.
    stall: Stall,
}

/// Stalls of one drive.
#[derive(Clone, Debug)]
pub(super) struct DriveStalls {
    count: u64,
    /// The last stall. Another read may still prolong it.
    last: Option<Episode>,
    /// Earlier stalls, at most [`KEPT`]; a ring from `next` on once it is full.
    kept: Vec<Stall>,
    next: usize,
    /// Blocks written since the last stall began.
    written_blocks: u64,
}

impl DriveStalls {
    pub(super) fn new() -> Self {
        let kept = Vec::with_capacity(KEPT);
        Self { count: 0, last: None, kept, next: 0, written_blocks: 0 }
    }

    pub(super) fn wrote(&mut self, blocks: u32) {
        self.written_blocks += u64::from(blocks);
    }

    /// Takes the answer to a read that took `latency`. Returns whether the read had stalled, where
    /// reads usually take `usual`.
    pub(super) fn answered(&mut self, now: Instant, latency: Duration, usual: Duration) -> bool {
        if latency < usual * STALLED_TIMES {
            return false;
        }
        let began = Instant::ZERO + now.since(Instant::ZERO).saturating_sub(latency);
        if let Some(last) = &mut self.last {
            if began <= last.ends + usual {
                (last.began, last.ends) = (last.began.min(began), now);
                return true;
            }
            let stall =
                Stall { length_nanos: last.ends.since(last.began).as_nanos(), ..last.stall };
            let period_nanos = began.since(last.began).as_nanos();
            // Nothing is known of the time before the first stall.
            if stall.period_nanos > 0 {
                self.keep(stall);
            }
            let written_blocks = core::mem::take(&mut self.written_blocks);
            let stall = Stall { length_nanos: 0, period_nanos, written_blocks };
            self.last = Some(Episode { began, ends: now, stall });
        } else {
            self.written_blocks = 0;
            self.last = Some(Episode { began, ends: now, stall: Stall::default() });
        }
        self.count += 1;
        true
    }

    fn keep(&mut self, stall: Stall) {
        if self.kept.len() < KEPT {
            self.kept.push(stall);
        } else {
            self.kept[self.next] = stall;
            self.next = (self.next + 1) % KEPT;
        }
    }

    pub(super) fn estimates(&self) -> Stalls {
        Stalls::of(self.count, &self.kept)
    }

    /// The latest stalls, the oldest first.
    pub(super) fn kept(&self) -> Vec<Stall> {
        let (later, earlier) = self.kept.split_at(self.next);
        [earlier, later].concat()
    }

    /// Adds stalls of an earlier run, the oldest first.
    pub(super) fn remember(&mut self, stalls: &[Stall]) {
        for stall in stalls {
            self.keep(*stall);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learnt::StallTrigger;

    const USUAL: Duration = Duration::from_micros(100);

    fn at(micros: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(micros)
    }

    fn read(stalls: &mut DriveStalls, ends_micros: u64, micros: u64) -> bool {
        stalls.answered(at(ends_micros), Duration::from_micros(micros), USUAL)
    }

    #[test]
    fn reads_that_are_late_together_are_one_stall() {
        let mut stalls = DriveStalls::new();
        assert!(!read(&mut stalls, 1_000, 499));
        for round in 0..10 {
            let begins = 10_000 * (round + 1);
            stalls.wrote(1_000);
            assert!(read(&mut stalls, begins + 1_000, 1_000));
            assert!(read(&mut stalls, begins + 1_000, 600));
            assert!(read(&mut stalls, begins + 1_600, 700), "sent before the end");
            assert!(!read(&mut stalls, begins + 1_700, 100));
        }
        assert_eq!(stalls.count, 10);
        // The first has no period, and the last may go on.
        let expected =
            Stall { length_nanos: 1_600_000, period_nanos: 10_000_000, written_blocks: 1_000 };
        assert_eq!(stalls.kept(), [expected; 8]);
        let estimates = stalls.estimates();
        assert_eq!(estimates.length_nanos.map(|estimate| estimate.median), Some(1_600_000));
        assert_eq!(estimates.trigger, StallTrigger::Unknown, "too few");
    }

    #[test]
    fn the_latest_are_kept_in_their_order_over_a_restart() {
        let mut stalls = DriveStalls::new();
        for round in 1..=200 {
            stalls.wrote(round as u32);
            read(&mut stalls, 10_000 * round, 1_000);
        }
        let kept = stalls.kept();
        let written: Vec<u64> = kept.iter().map(|stall| stall.written_blocks).collect();
        assert_eq!(written, (136..200).collect::<Vec<_>>());
        let mut after = DriveStalls::new();
        after.remember(&kept);
        assert_eq!(after.kept(), kept);
        assert_eq!(after.estimates().period_nanos, stalls.estimates().period_nanos);
    }
}
