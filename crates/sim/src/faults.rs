//! Faults in a run: drives that fail, are replaced, cannot read, or do not behave as they say.

use std::collections::VecDeque;
use units::{DriveId, Duration, Instant, Ratio};

/// Something that goes wrong, or is put right.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The drive fails and forgets everything.
    Fail(DriveId),
    /// A factory-new drive takes its place, as soon as the failed one has answered what is out.
    Replace(DriveId),
    /// From now on every so many reads the drive cannot do one; never again if it is 0.
    Unreadable {
        /// The drive.
        drive: DriveId,
        /// Reads from one that it cannot do to the next.
        every: u64,
    },
    /// From now on everything that the drive does takes several times as long, and it does not say
    /// so.
    Slow {
        /// The drive.
        drive: DriveId,
        /// How many times as long, 1 or more; 1 ends it.
        factor: u32,
    },
    /// From now on the drive repeats a share of its sensings, as on worn flash or of old data, on
    /// top of those that it is made with.
    Worn {
        /// The drive.
        drive: DriveId,
        /// Share of the sensings, up to 1; 0 ends it.
        share: Ratio,
    },
    /// From now on the drive collects and programs whenever it likes, fails no read fast and
    /// announces no busy time; or it keeps to its windows again.
    IgnoresWindows {
        /// The drive.
        drive: DriveId,
        /// Whether it ignores them.
        on: bool,
    },
}

/// How long a drive that cannot be replaced yet is left alone.
const AGAIN: Duration = Duration::from_micros(50);

/// The faults that are to come.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    events: VecDeque<(Instant, Fault)>,
}

impl Faults {
    /// Faults in the order of their time.
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

    /// The fault comes a little later than it was to.
    pub(crate) fn again(&mut self, now: Instant, fault: Fault) {
        self.events.push_front((now + AGAIN, fault));
        self.events.make_contiguous().sort_by_key(|&(at, _)| at);
    }
}
