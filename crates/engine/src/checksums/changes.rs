//! Changes of data that are in flight, and those that have ended lately: what a read beside them may find.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::ops::Range;

/// Changes that have ended and are remembered. A read that is older than all of them is repeated if it does
/// not fit.
const ENDED_MAX: usize = 1024;

/// What a change makes of its blocks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum NewSums {
    /// Data with these sums.
    Data(Vec<u32>),
    /// Zeros.
    Zeros,
}

impl NewSums {
    pub(super) fn at(&self, index: usize) -> u32 {
        match self {
            Self::Data(sums) => sums[index],
            Self::Zeros => 0,
        }
    }
}

/// A change that its drive has not ended.
#[derive(Clone, Debug)]
pub(super) struct InFlight {
    pub(super) drive: u8,
    pub(super) blocks: Range<u64>,
    pub(super) sums: NewSums,
}

/// A moment in the order of changes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Stamp(u64);

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Changes {
    now: Stamp,
    /// By the numbers under which they end.
    in_flight: BTreeMap<u32, InFlight>,
    /// Those that have ended, the oldest first.
    ended: VecDeque<(Stamp, u8, Range<u64>)>,
    /// Older ones are forgotten.
    forgotten: Stamp,
}

impl Changes {
    pub(super) fn now(&self) -> Stamp {
        self.now
    }

    pub(super) fn begin(&mut self, tag: u32, change: InFlight) {
        self.in_flight.insert(tag, change);
    }

    /// A change has ended, if that is one.
    #[inline]
    pub(super) fn end(&mut self, tag: u32) -> Option<InFlight> {
        let change = self.in_flight.remove(&tag)?;
        self.now.0 += 1;
        if self.ended.len() == ENDED_MAX {
            self.forgotten = self.ended.pop_front().map_or(self.now, |(at, ..)| at);
        }
        self.ended.push_back((self.now, change.drive, change.blocks.clone()));
        Some(change)
    }

    /// Whether a change in flight makes the block what has this sum.
    pub(super) fn brings(&self, drive: u8, block: u64, sum: u32) -> bool {
        self.touching(drive, block)
            .any(|change| change.sums.at((block - change.blocks.start) as usize) == sum)
    }

    fn touching(&self, drive: u8, block: u64) -> impl Iterator<Item = &InFlight> {
        let all = self.in_flight.values();
        all.filter(move |change| change.drive == drive && change.blocks.contains(&block))
    }

    /// Whether the block may have been changed since then, or is being changed.
    pub(super) fn may_touch(&self, drive: u8, block: u64, since: Stamp) -> bool {
        since < self.forgotten
            || self.touching(drive, block).next().is_some()
            || self
                .ended
                .iter()
                .rev()
                .take_while(|(at, ..)| *at > since)
                .any(|(_, other, blocks)| *other == drive && blocks.contains(&block))
    }

    /// The drive is gone, and its changes with it.
    pub(super) fn drive_gone(&mut self, drive: u8) {
        self.in_flight.retain(|_, change| change.drive != drive);
    }
}
