//! What drives miss that the array goes on without.
//!
//! A drive that is given up holds what it held. A region whose mark was taken back before that is
//! synced on it: it can differ only where a region was marked when it was given up, or has been
//! since. So a drive that comes back is rebuilt there and nowhere else.
//!
//! This is known as long as the array runs. A later start cannot know it, because marks are taken
//! back while a drive is away; the superblocks say that a drive which comes back is rebuilt from
//! its start, and so does a start that finds it before it serves.

use super::superblock::Superblock;
use crate::planted::{Bug, Planted};
use alloc::vec;
use alloc::vec::Vec;
use core::ops::RangeInclusive;
use units::DriveId;

/// What one drive misses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MissedRegions {
    drive: DriveId,
    /// What the generation of its superblock can be.
    generations: RangeInclusive<u64>,
    /// A bit per region.
    regions: Vec<u64>,
}

impl MissedRegions {
    /// Whether `found` is what the drive said when it was given up: nobody has used it since, and
    /// nothing was put in its place.
    #[must_use]
    pub fn is_of(&self, found: &Superblock, array: &Superblock) -> bool {
        let place = self.drive.index();
        found.uuid == array.uuid
            && found.member == self.drive
            && found.joined.get(place) == array.joined.get(place)
            && self.generations.contains(&found.generation)
    }

    /// The regions, in order.
    pub fn regions(&self) -> impl Iterator<Item = u32> + '_ {
        let bits = (0..).zip(&self.regions);
        bits.flat_map(|(word, bits): (u32, _)| {
            (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| word * 64 + bit)
        })
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Missed {
    drives: Vec<MissedRegions>,
    planted: Planted,
}

impl Missed {
    pub(super) const fn new(planted: Planted) -> Self {
        Self { drives: Vec::new(), planted }
    }

    /// A drive that held all that it should is given up; these regions are marked.
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

    /// A drive that was getting back what it missed is given up again.
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

    /// What a drive missed is of no use any more: it has it, or another is in its place.
    pub(super) fn forget(&mut self, drive: DriveId) {
        self.drives.retain(|missed| missed.drive != drive);
    }

    /// The region of this bit of this word was marked.
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
