//! Regions that absent drives missed.
//!
//! A failed drive keeps its old content. A region whose mark was cleared before the failure is
//! synced on it. So the drive can differ only in regions that were marked when it failed, or were
//! marked since. If it comes back, only these are rebuilt.
//!
//! This is known while the array runs. A later start cannot know it, because marks are cleared
//! while a drive is away. The superblocks therefore record a returned drive as rebuilt from its
//! start. A start that finds the drive before it serves rebuilds all of it.

use super::superblock::Superblock;
use crate::planted::{Bug, Planted};
use alloc::vec;
use alloc::vec::Vec;
use core::ops::RangeInclusive;
use units::DriveId;

/// Regions that one drive missed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MissedRegions {
    drive: DriveId,
    /// Generations that its superblock can have.
    generations: RangeInclusive<u64>,
    /// Bitmap: a bit per region.
    regions: Vec<u64>,
}

impl MissedRegions {
    /// Returns true if `found` is the superblock that the drive had when it failed: it was not used
    /// since, and not replaced.
    #[must_use]
    pub fn is_of(&self, found: &Superblock, array: &Superblock) -> bool {
        let place = self.drive.index();
        found.uuid == array.uuid
            && found.member == self.drive
            && found.joined.get(place) == array.joined.get(place)
            && self.generations.contains(&found.generation)
    }

    /// The missed regions, in order.
    pub fn regions(&self) -> impl Iterator<Item = u32> + '_ {
        let bits = (0..).zip(&self.regions);
        bits.flat_map(|(word, bits): (u32, _)| {
            (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| word * 64 + bit)
        })
    }
}

/// Missed regions of all absent drives.
#[derive(Clone, Debug)]
pub(super) struct Missed {
    drives: Vec<MissedRegions>,
    planted: Planted,
}

impl Missed {
    pub(super) const fn new(planted: Planted) -> Self {
        Self { drives: Vec::new(), planted }
    }

    /// Notes the failure of a drive that held all its data; these regions are marked.
    pub(super) fn handle_failed(
        &mut self,
        drive: DriveId,
        generations: RangeInclusive<u64>,
        marked: &[u64],
    ) {
        self.forget(drive);
        let regions = match self.planted.has(Bug::MarksOfFailedDriveForgotten) {
            true => vec![0; marked.len()],
            false => marked.into(),
        };
        self.drives.push(MissedRegions { drive, generations, regions });
    }

    /// Notes another failure of a drive that was being rebuilt after its return.
    pub(super) fn handle_failed_again(
        &mut self,
        drive: DriveId,
        generations: RangeInclusive<u64>,
        marked: &[u64],
    ) {
        let Some(own) = self.drives.iter_mut().find(|missed| missed.drive == drive) else { return };
        own.generations = generations;
        own.regions.iter_mut().zip(marked).for_each(|(missed, marked)| *missed |= marked);
    }

    /// Forgets a drive that holds all its data, or was replaced.
    pub(super) fn forget(&mut self, drive: DriveId) {
        self.drives.retain(|missed| missed.drive != drive);
    }

    /// Notes that the region of this bit of this word was marked.
    #[inline]
    pub(super) fn note(&mut self, word: usize, bit: u32) {
        for missed in &mut self.drives {
            if !self.planted.has(Bug::MissedWriteNotNoted) {
                missed.regions[word] |= 1 << bit;
            }
        }
    }

    pub(super) fn of(&self, drive: DriveId) -> Option<&MissedRegions> {
        self.drives.iter().find(|missed| missed.drive == drive)
    }
}
