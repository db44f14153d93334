//! Changes of data that are in flight, and those that have ended lately: a concurrent read may find
//! the old or the new data.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::ops::Range;

/// Sums of blocks after a change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum NewSums {
    /// Sums of the new data.
    Data(Vec<u32>),
    /// Sums of zeros.
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

/// A change that its drive has not completed.
#[derive(Clone, Debug)]
pub(super) struct InFlight {
    pub(super) drive: u8,
    pub(super) blocks: Range<u64>,
    pub(super) sums: NewSums,
}

/// Position in the order of changes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Stamp(u64);

/// Changes in flight and changes that have ended lately.
#[derive(Clone, Debug)]
pub(super) struct Changes {
    now: Stamp,
    /// Changes in flight, by their tags.
    in_flight: BTreeMap<u32, InFlight>,
    /// Changes that have ended, the oldest first.
    ended: VecDeque<(Stamp, u8, Range<u64>)>,
    /// Changes that ended before this are forgotten.
    forgotten: Stamp,
    /// Number of ended changes that are remembered. A read that is older than all of them is
    /// repeated if its data does not fit.
    ended_max: usize,
}

impl Changes {
    /// Creates an empty set that remembers the last `ended_max` ended changes.
    pub(super) fn new(ended_max: usize) -> Self {
        Self {
            now: Stamp::default(),
            in_flight: BTreeMap::new(),
            ended: VecDeque::new(),
            forgotten: Stamp::default(),
            ended_max,
        }
    }

    pub(super) fn now(&self) -> Stamp {
        self.now
    }

    pub(super) fn begin(&mut self, tag: u32, change: InFlight) {
        self.in_flight.insert(tag, change);
    }

    /// Ends the change with this tag; `None` if the tag is of no change.
    #[inline]
    pub(super) fn end(&mut self, tag: u32) -> Option<InFlight> {
        let change = self.in_flight.remove(&tag)?;
        self.now.0 += 1;
        if self.ended.len() == self.ended_max {
            self.forgotten = self.ended.pop_front().map_or(self.now, |(at, ..)| at);
        }
        self.ended.push_back((self.now, change.drive, change.blocks.clone()));
        Some(change)
    }

    /// Returns true if a change in flight gives the block this sum.
    pub(super) fn brings(&self, drive: u8, block: u64, sum: u32) -> bool {
        self.touching(drive, block)
            .any(|change| change.sums.at((block - change.blocks.start) as usize) == sum)
    }

    fn touching(&self, drive: u8, block: u64) -> impl Iterator<Item = &InFlight> {
        let all = self.in_flight.values();
        all.filter(move |change| change.drive == drive && change.blocks.contains(&block))
    }

    /// Returns true if changes that have ended since `since` are forgotten.
    pub(super) fn has_forgotten(&self, since: Stamp) -> bool {
        since < self.forgotten
    }

    /// Returns true if the block may have been changed since `since`, or is being changed.
    pub(super) fn may_touch(&self, drive: u8, block: u64, since: Stamp) -> bool {
        self.has_forgotten(since)
            || self.touching(drive, block).next().is_some()
            || self
                .ended
                .iter()
                .rev()
                .take_while(|(at, ..)| *at > since)
                .any(|(_, other, blocks)| *other == drive && blocks.contains(&block))
    }

    /// Forgets the changes of a failed drive.
    pub(super) fn drive_gone(&mut self, drive: u8) {
        self.in_flight.retain(|_, change| change.drive != drive);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use units::Rng;

    const ENDED_MAX: usize = 1024;

    /// All changes of a run, with naive answers.
    #[derive(Default)]
    struct Model {
        in_flight: Vec<(u32, u8, Range<u64>, Vec<u32>)>,
        /// Changes in the order in which they ended.
        ended: Vec<(u8, Range<u64>)>,
    }

    impl Model {
        fn brings(&self, drive: u8, block: u64, sum: u32) -> bool {
            let mut all = self.in_flight.iter();
            all.any(|(_, other, blocks, sums)| {
                *other == drive
                    && blocks.contains(&block)
                    && sums[(block - blocks.start) as usize] == sum
            })
        }

        /// `since` is the number of changes that had ended.
        fn may_touch(&self, drive: u8, block: u64, since: usize) -> bool {
            let is_it = |other: u8, blocks: &Range<u64>| other == drive && blocks.contains(&block);
            self.in_flight.iter().any(|(_, other, blocks, _)| is_it(*other, blocks))
                || self.ended[since..].iter().any(|(other, blocks)| is_it(*other, blocks))
                || self.ended.len() - since > ENDED_MAX
        }
    }

    #[test]
    fn it_agrees_with_all_changes_that_ever_were() {
        for seed in testing::seeds(0..4) {
            let mut rng = Rng::stream(seed, "changes");
            let (mut changes, mut model) = (Changes::new(ENDED_MAX), Model::default());
            let mut stamps = vec![(changes.now(), 0)];
            for tag in 0..6000 {
                let drive = rng.below(2) as u8;
                match rng.below(30) {
                    0 => {
                        changes.drive_gone(drive);
                        model.in_flight.retain(|(_, other, ..)| *other != drive);
                    }
                    1..16 if model.in_flight.len() < 5 => {
                        let start = rng.below(20);
                        let blocks = start..start + 1 + rng.below(3);
                        let is_data = rng.below(2) == 0;
                        let sums = blocks.clone().map(|_| rng.below(3) as u32);
                        let sums: Vec<u32> =
                            sums.map(|sum| if is_data { sum } else { 0 }).collect();
                        let new =
                            if is_data { NewSums::Data(sums.clone()) } else { NewSums::Zeros };
                        changes.begin(tag, InFlight { drive, blocks: blocks.clone(), sums: new });
                        model.in_flight.push((tag, drive, blocks, sums));
                    }
                    _ if !model.in_flight.is_empty() => {
                        let at = rng.below(model.in_flight.len() as u64) as usize;
                        let (tag, drive, blocks, sums) = model.in_flight.swap_remove(at);
                        let ended = changes.end(tag).expect("it is in flight");
                        assert_eq!((ended.drive, &ended.blocks), (drive, &blocks));
                        for (index, sum) in sums.into_iter().enumerate() {
                            assert_eq!(ended.sums.at(index), sum);
                        }
                        assert!(changes.end(tag).is_none(), "it ends once");
                        model.ended.push((drive, blocks));
                    }
                    _ => {}
                }
                if rng.below(4) == 0 {
                    stamps.push((changes.now(), model.ended.len()));
                }
                for _ in 0..6 {
                    // Sometimes a stamp that is older than all remembered changes.
                    let recent = stamps.len().min(1 + rng.below(1200) as usize);
                    let (since, count) = stamps[stamps.len() - recent];
                    let (drive, block) = (rng.below(2) as u8, rng.below(24));
                    assert_eq!(
                        changes.may_touch(drive, block, since),
                        model.may_touch(drive, block, count),
                        "seed {seed}: block {block} of drive {drive} since {count}"
                    );
                    let sum = rng.below(3) as u32;
                    assert_eq!(
                        changes.brings(drive, block, sum),
                        model.brings(drive, block, sum),
                        "seed {seed}"
                    );
                }
            }
        }
    }
}
