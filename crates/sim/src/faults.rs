//! Faults in a run: drives that fail, are replaced, cannot read, or misbehave.

use std::collections::VecDeque;
use units::{DriveId, Duration, Instant, Ratio};

/// A fault, or its repair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The drive fails and loses all data.
    Fail(DriveId),
    /// A factory-new drive replaces the failed one, as soon as that has answered all commands.
    Replace(DriveId),
    /// Every `every`-th read of the drive fails from now on; 0 ends that.
    Unreadable {
        /// The drive.
        drive: DriveId,
        /// Number of reads from one that fails to the next.
        every: u64,
    },
    /// All work of the drive takes `factor` times as long from now on, and the drive does not
    /// report it.
    Slow {
        /// The drive.
        drive: DriveId,
        /// Factor, 1 or more; 1 ends the fault.
        factor: u32,
    },
    /// The drive repeats a share of its sensings from now on, as on worn flash or of old data, in
    /// addition to its configured retries.
    Worn {
        /// The drive.
        drive: DriveId,
        /// Share of the sensings, up to 1; 0 ends the fault.
        share: Ratio,
    },
    /// The drive ignores its windows: it collects and programs at any time, fails no read fast and
    /// announces no busy time. Or it keeps to its windows again.
    IgnoresWindows {
        /// The drive.
        drive: DriveId,
        /// True if it ignores its windows.
        on: bool,
    },
}

/// Time until the next attempt to replace a drive that cannot be replaced yet.
const AGAIN: Duration = Duration::from_micros(50);

/// Faults that are still to come.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    events: VecDeque<(Instant, Fault)>,
}

impl Faults {
    /// Takes faults, and sorts them by time.
    pub(crate) fn new(mut events: Vec<(Instant, Fault)>) -> Self {
        events.sort_by_key(|&(at, _)| at);
        Self { events: events.into() }
    }

    pub(crate) fn next(&self) -> Instant {
        self.events.front().map_or(Instant::NEVER, |&(at, _)| at)
    }

    pub(crate) fn take(&mut self) -> Option<Fault> {
        self.events.pop_front().map(|(_, fault)| fault)
    }

    /// Schedules a fault again, a little later.
    pub(crate) fn again(&mut self, now: Instant, fault: Fault) {
        self.events.push_front((now + AGAIN, fault));
        self.events.make_contiguous().sort_by_key(|&(at, _)| at);
    }
}
