//! Absent drives and unreadable members: pure queries, and the few events that change the answers.
//!
//! A member of a stripe is *unreadable* in three cases: its drive is absent, its drive was replaced
//! and this stripe is not rebuilt yet, or it is a parity that may not match its data since a crash.
//! It is *unwritable* in the first two cases only: a parity that may not match is computed from all
//! data with every write, and written.
//!
//! * An unreadable member is never read; it is reconstructed, as after a read that failed fast. The
//!   policy is not asked about it. Only stripes without unreadable members are hedged or raced.
//! * A read that ends with a media error is not sent again: the member is unreadable for that
//!   operation alone. A drive that fails a write is treated as failed.
//! * If more members are unreadable than there are parities, reads of the other members are served,
//!   and all else fails. A write is refused before it has changed anything; if drives fail while it
//!   is being written, it is reported as failed.
//! * Commands in flight to a drive that fails complete sooner or later, and their results are
//!   ignored. The drive cannot be replaced before the last of them has completed.
//! * No chunk is relocated while a member is unreadable. Chunks relocated before stay where they
//!   are.

use crate::layout::Layout;
use crate::members::MemberSet;
use crate::relocation::Relocation;
use crate::stripe_set::StripeSet;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;
use units::DriveId;

/// The absent drives, and the stripes that are to be rebuilt or resynced.
#[derive(Clone, Debug)]
pub(crate) struct Availability {
    /// Whether every member of every stripe can be read; kept, because every request reads it.
    optimal: bool,
    absent: MemberSet,
    /// Number of drive failures so far.
    drive_failures: u32,
    /// Drives that were replaced, and the stripes that are not rebuilt.
    to_rebuild: Vec<(DriveId, StripeSet)>,
    /// Stripes whose parity may not match their data, or whose copies may differ.
    to_resync: StripeSet,
}

impl Availability {
    pub(crate) fn new(absent: MemberSet) -> Self {
        Self {
            optimal: absent.is_empty(),
            absent,
            drive_failures: 0,
            to_rebuild: Vec::new(),
            to_resync: StripeSet::default(),
        }
    }

    /// Whether every member of every stripe can be read.
    #[inline]
    pub(crate) fn is_optimal(&self) -> bool {
        self.optimal
    }

    /// Missing drives. A replaced drive is not missing.
    #[inline]
    pub(crate) fn absent(&self) -> MemberSet {
        self.absent
    }

    /// Drives that are missing or not rebuilt.
    pub(crate) fn incomplete(&self) -> MemberSet {
        self.to_rebuild.iter().fold(self.absent, |all, (drive, _)| all | MemberSet::of(drive.0))
    }

    #[inline]
    pub(crate) fn is_absent(&self, drive: DriveId) -> bool {
        self.absent.contains(drive.0)
    }

    pub(crate) fn drive_failures(&self) -> u32 {
        self.drive_failures
    }

    fn update_optimal(&mut self) {
        self.to_rebuild.retain(|(_, stripes)| !stripes.is_empty());
        self.optimal =
            self.absent.is_empty() && self.to_rebuild.is_empty() && self.to_resync.is_empty();
    }

    /// Marks a drive as failed. Returns whether it was there.
    pub(crate) fn drive_failed(&mut self, drive: DriveId) -> bool {
        if self.is_absent(drive) {
            return false;
        }
        self.absent.insert(drive.0);
        self.drive_failures += 1;
        self.to_rebuild.retain(|(other, _)| *other != drive);
        self.update_optimal();
        true
    }

    /// Puts a drive in the place of an absent one, with `stripes` to rebuild. Returns their number.
    pub(crate) fn drive_replaced(
        &mut self,
        drive: DriveId,
        stripes: impl IntoIterator<Item = Range<u64>>,
    ) -> u64 {
        let mut to_rebuild = StripeSet::default();
        stripes.into_iter().for_each(|range| to_rebuild.insert(range));
        let stripes = to_rebuild.len();
        self.absent.remove(drive.0);
        self.to_rebuild.push((drive, to_rebuild));
        self.update_optimal();
        stripes
    }

    /// Marks stripes whose parity may not match their data, or whose copies may differ. A stripe
    /// with missing data is left out: its parity cannot be computed again and is assumed to match.
    /// Returns the number of stripes to resync.
    pub(crate) fn begin_resync(
        &mut self,
        layout: &Layout,
        relocation: &Relocation,
        stripes: impl IntoIterator<Item = Range<u64>>,
    ) -> u64 {
        let all = layout.stripes();
        let mut to_resync = StripeSet::default();
        for Range { start, end } in stripes {
            to_resync.insert(start.min(all)..end.min(all));
        }
        let mut next = 0;
        while !layout.level().is_mirrored()
            && !self.absent.is_empty()
            && let Some(stripe) = to_resync.first_from(next)
        {
            let data = layout.member_set(stripe) - layout.parity_set(stripe);
            if data.meets(self.unwritable(layout, relocation, stripe)) {
                to_resync.remove(stripe);
            }
            next = stripe + 1;
        }
        let stripes = to_resync.len();
        self.to_resync = to_resync;
        self.update_optimal();
        stripes
    }

    /// Number of stripes to rebuild on a drive; 0 if it holds all its data or is absent.
    pub(crate) fn stripes_to_rebuild(&self, drive: DriveId) -> u64 {
        let mut behind = self.to_rebuild.iter().filter(|(other, _)| *other == drive);
        behind.next().map_or(0, |(_, stripes)| stripes.len())
    }

    /// The first stripe from `next` on that is to be rebuilt on `drive`.
    pub(crate) fn next_to_rebuild(&self, drive: DriveId, next: u64) -> Option<u64> {
        let (_, stripes) = self.to_rebuild.iter().find(|(other, _)| *other == drive)?;
        stripes.first_from(next)
    }

    /// The first stripe from `next` on that is to be resynced.
    pub(crate) fn next_to_resync(&self, next: u64) -> Option<u64> {
        self.to_resync.first_from(next)
    }

    /// Notes that a repair has written members of a stripe: all unreadable ones whose drive is
    /// present.
    pub(crate) fn restored(
        &mut self,
        layout: &Layout,
        relocation: &Relocation,
        stripe: u64,
        written: MemberSet,
    ) {
        for (drive, stripes) in &mut self.to_rebuild {
            let there = relocation.members_on(layout, stripe, MemberSet::of(drive.0));
            if (there - written).is_empty() {
                stripes.remove(stripe);
            }
        }
        if !written.is_empty() && !layout.level().is_mirrored() {
            self.to_resync.remove(stripe);
        }
        self.update_optimal();
    }

    /// Notes that the copies of a stripe are equal.
    pub(crate) fn settled(&mut self, stripe: u64) {
        self.to_resync.remove(stripe);
        self.update_optimal();
    }

    /// Whether the parity of `stripe` may not match its data, or its copies may differ.
    pub(crate) fn is_in_doubt(&self, stripe: u64) -> bool {
        self.to_resync.contains(stripe)
    }

    /// Members of `stripe` whose drive is absent, or not rebuilt at this stripe.
    pub(crate) fn unwritable(
        &self,
        layout: &Layout,
        relocation: &Relocation,
        stripe: u64,
    ) -> MemberSet {
        if self.optimal {
            return MemberSet::EMPTY;
        }
        let behind = self.to_rebuild.iter().filter(|(_, stripes)| stripes.contains(stripe));
        let drives = behind.fold(self.absent, |drives, (drive, _)| drives | MemberSet::of(drive.0));
        relocation.members_on(layout, stripe, drives)
    }

    /// Members of `stripe` that cannot be read. Copies that may differ can be read once their rows
    /// are settled.
    pub(crate) fn unreadable(
        &self,
        layout: &Layout,
        relocation: &Relocation,
        stripe: u64,
    ) -> MemberSet {
        if self.optimal {
            return MemberSet::EMPTY;
        }
        self.unwritable(layout, relocation, stripe) | self.unsynced(layout, stripe)
    }

    /// Parities of `stripe` that may not match its data. Copies are no parities.
    pub(crate) fn unsynced(&self, layout: &Layout, stripe: u64) -> MemberSet {
        match self.to_resync.contains(stripe) && !layout.level().is_mirrored() {
            true => layout.parity_set(stripe),
            false => MemberSet::EMPTY,
        }
    }

    /// Whether more members of `stripe` are unreadable than can be reconstructed.
    #[inline]
    pub(crate) fn is_beyond_repair(
        &self,
        layout: &Layout,
        relocation: &Relocation,
        stripe: u64,
    ) -> bool {
        !self.optimal && self.unreadable(layout, relocation, stripe).len() > layout.parities()
    }

    /// Panics if a stored value does not follow from the others.
    pub(crate) fn check_invariants(&self) {
        let is_optimal =
            self.absent.is_empty() && self.to_rebuild.is_empty() && self.to_resync.is_empty();
        assert_eq!(self.optimal, is_optimal);
        for (drive, stripes) in &self.to_rebuild {
            assert!(!self.is_absent(*drive) && !stripes.is_empty(), "{drive:?}");
        }
    }
}

/// State of the data of a drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DriveState {
    /// It holds all its data.
    Serving,
    /// It was replaced, and its rebuild is in progress or waits.
    Rebuilding {
        /// Stripes that are not rebuilt yet.
        stripes: u64,
    },
    /// It was replaced, and these stripes could not be rebuilt, because too many of their members
    /// are unreadable: their data is lost unless other drives come back.
    Incomplete {
        /// Number of stripes.
        stripes: u64,
    },
    /// It has failed or is missing.
    Failed,
}

/// Reason why a drive cannot be replaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CannotReplace {
    /// There is no such drive.
    NoSuchDrive {
        /// The drive.
        drive: DriveId,
        /// Number of drives of the array.
        width: u32,
    },
    /// The drive serves, or is being rebuilt.
    Present {
        /// The drive.
        drive: DriveId,
    },
    /// Commands sent to the failed drive have not been answered.
    StillBusy {
        /// The drive.
        drive: DriveId,
    },
}

impl fmt::Display for CannotReplace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchDrive { drive, width } => write!(
                f,
                "there is no drive {}: the array has {width} drives, from 0 to {}",
                drive.0,
                width - 1
            ),
            Self::Present { drive } => {
                write!(f, "drive {} has not failed; only a failed drive can be replaced", drive.0)
            }
            Self::StillBusy { drive } => write!(
                f,
                "the failed drive {} has not answered all that was sent to it; replace it when it has",
                drive.0
            ),
        }
    }
}

impl core::error::Error for CannotReplace {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Level;
    use alloc::collections::{BTreeMap, BTreeSet};
    use alloc::format;
    use core::iter::once;
    use units::Rng;

    /// The stripes that each drive lacks, one by one.
    #[derive(Default)]
    struct Model {
        absent: BTreeSet<u8>,
        behind: BTreeMap<u8, BTreeSet<u64>>,
        doubtful: BTreeSet<u64>,
        failures: u32,
    }

    impl Model {
        fn lacks(&self, stripe: u64, member: u8) -> bool {
            let behind = self.behind.get(&member);
            self.absent.contains(&member) || behind.is_some_and(|its| its.contains(&stripe))
        }

        fn unreadable(&self, layout: &Layout, stripe: u64) -> MemberSet {
            let members = layout.member_set(stripe);
            let lacking = members.iter().filter(|&member| self.lacks(stripe, member));
            if !self.doubtful.contains(&stripe) {
                return lacking.collect();
            }
            let parity = layout.parity_set(stripe);
            match layout.level().is_mirrored() {
                true => lacking.collect(),
                false => lacking.chain(parity).collect(),
            }
        }

        fn is_optimal(&self) -> bool {
            let is_behind = self.behind.values().any(|stripes| !stripes.is_empty());
            self.absent.is_empty() && !is_behind && self.doubtful.is_empty()
        }
    }

    #[test]
    fn it_agrees_with_what_each_drive_lacks_of_each_stripe() {
        for seed in testing::seeds(0..300) {
            let mut rng = Rng::stream(seed, "availability");
            let shapes = [
                (Level::Raid5, 4, 4),
                (Level::Raid5, 5, 3),
                (Level::Raid6, 5, 5),
                (Level::Raid1, 3, 3),
                (Level::Raid10, 4, 2),
            ];
            let (level, width, stripe_width) = shapes[rng.below(5) as usize];
            let layout = Layout::striped(level, width, stripe_width, 1, 9).expect("a layout");
            let relocation = Relocation::new(&layout, 0, 0);
            let all = layout.stripes();
            let mut machine = Availability::new(MemberSet::EMPTY);
            let mut model = Model::default();
            for _ in 0..60 {
                let drive = rng.below(u64::from(width)) as u8;
                let stripe = rng.below(all);
                match rng.below(10) {
                    0 => {
                        let was_there = model.absent.insert(drive);
                        model.failures += u32::from(was_there);
                        model.behind.remove(&drive);
                        assert_eq!(machine.drive_failed(DriveId(drive)), was_there);
                    }
                    1 | 2 if model.absent.remove(&drive) => {
                        let first = rng.below(all);
                        let lacks = machine.drive_replaced(DriveId(drive), once(first..all));
                        assert_eq!(lacks, all - first);
                        model.behind.insert(drive, (first..all).collect());
                    }
                    3 => {
                        let ranges = [stripe..stripe + rng.below(4), all - 1..all + 5];
                        let left = machine.begin_resync(&layout, &relocation, ranges.clone());
                        let ranges = ranges.into_iter().flatten().filter(|stripe| *stripe < all);
                        let mut doubtful: BTreeSet<u64> = ranges.collect();
                        // Only parity still holds missing data, so it is not computed again.
                        if !level.is_mirrored() && !model.absent.is_empty() {
                            doubtful.retain(|&stripe| {
                                let data = layout.member_set(stripe) - layout.parity_set(stripe);
                                data.iter().all(|member| !model.lacks(stripe, member))
                            });
                        }
                        assert_eq!(left, doubtful.len() as u64, "seed {seed}");
                        model.doubtful = doubtful;
                    }
                    4 => {
                        machine.settled(stripe);
                        model.doubtful.remove(&stripe);
                    }
                    6..9 => {
                        let written = machine.unreadable(&layout, &relocation, stripe);
                        let absent: MemberSet = model.absent.iter().copied().collect();
                        let written = written - absent;
                        machine.restored(&layout, &relocation, stripe, written);
                        for (member, stripes) in &mut model.behind {
                            let is_in = layout.member_set(stripe).contains(*member);
                            if !is_in || written.contains(*member) {
                                stripes.remove(&stripe);
                            }
                        }
                        if !written.is_empty() && !level.is_mirrored() {
                            model.doubtful.remove(&stripe);
                        }
                    }
                    _ => {}
                }
                machine.check_invariants();
                assert_eq!(machine.drive_failures(), model.failures, "seed {seed}");
                assert_eq!(machine.is_optimal(), model.is_optimal(), "seed {seed}");
                assert!(machine.absent().iter().eq(model.absent.iter().copied()));
                for stripe in 0..all {
                    let lacking = layout.member_set(stripe);
                    let lacking =
                        lacking.iter().filter(|&member| model.lacks(stripe, member)).collect();
                    let unreadable = model.unreadable(&layout, stripe);
                    let text = format!("seed {seed}: stripe {stripe}");
                    assert_eq!(machine.unwritable(&layout, &relocation, stripe), lacking, "{text}");
                    assert_eq!(
                        machine.unreadable(&layout, &relocation, stripe),
                        unreadable,
                        "{text}"
                    );
                    assert_eq!(
                        machine.is_beyond_repair(&layout, &relocation, stripe),
                        unreadable.len() > layout.parities(),
                        "{text}"
                    );
                    assert_eq!(machine.is_in_doubt(stripe), model.doubtful.contains(&stripe));
                    let next = model.doubtful.range(stripe..).next().copied();
                    assert_eq!(machine.next_to_resync(stripe), next);
                    for drive in 0..width as u8 {
                        let stripes = model.behind.get(&drive);
                        let next = stripes.and_then(|its| its.range(stripe..).next().copied());
                        assert_eq!(machine.next_to_rebuild(DriveId(drive), stripe), next);
                        let left = stripes.map_or(0, |its| its.len() as u64);
                        assert_eq!(machine.stripes_to_rebuild(DriveId(drive)), left);
                    }
                }
            }
        }
    }
}
