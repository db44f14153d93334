//! Valid pages of the units of collection (blocks or lines), and the units that may be victims.

use crate::ftl::shape::Shape;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

/// Flag in a valid count while its unit is free, open or being collected. It also makes the unit
/// lose every comparison for the fewest valid pages.
const NOT_A_CANDIDATE: u32 = 1 << 31;

/// The valid pages of each unit of one drive.
#[derive(Clone, Debug)]
pub(super) struct ValidCounts {
    /// Valid pages of each unit, with [`NOT_A_CANDIDATE`]. A page counts from the moment it is
    /// allocated, so a block with programs in flight does not look emptier than it is.
    valid: Vec<u32>,
    /// Pages of each block that are allocated for a stripe and not mapped before the whole stripe
    /// is programmed; empty without RAIN. A block with such pages is no victim.
    pinned: Vec<u32>,
}

impl ValidCounts {
    /// Counts of a drive where all units are free. `pins` says whether pages are pinned.
    pub(super) fn new(shape: &Shape, pins: bool) -> Self {
        let units = shape.units() as usize;
        Self { valid: vec![NOT_A_CANDIDATE; units], pinned: vec![0; if pins { units } else { 0 }] }
    }

    /// Units of the drive.
    pub(super) fn len(&self) -> usize {
        self.valid.len()
    }

    /// Valid pages of a unit, including pages that are allocated and not programmed yet.
    pub(super) fn valid(&self, unit: usize) -> u32 {
        self.valid[unit] & !NOT_A_CANDIDATE
    }

    #[inline]
    pub(super) fn add(&mut self, unit: usize, pages: u32) {
        self.valid[unit] += pages;
    }

    #[inline]
    pub(super) fn remove_one(&mut self, unit: usize) {
        self.valid[unit] -= 1;
    }

    /// Pins a page of a unit that was allocated for a stripe.
    pub(super) fn pin(&mut self, unit: usize) {
        self.pinned[unit] += 1;
    }

    /// Unpins a page of a unit, because it is mapped. Returns whether no other is pinned.
    pub(super) fn unpin(&mut self, unit: usize) -> bool {
        self.pinned[unit] -= 1;
        self.pinned[unit] == 0
    }

    /// Whether pages of a unit are allocated for stripes and not mapped.
    pub(super) fn is_pinned(&self, unit: usize) -> bool {
        self.pinned.get(unit).is_some_and(|&pinned| pinned > 0)
    }

    /// Makes a full unit a possible victim.
    pub(super) fn make_candidate(&mut self, unit: usize) {
        self.valid[unit] &= !NOT_A_CANDIDATE;
    }

    /// Makes a unit that is being collected no possible victim.
    pub(super) fn take_candidate(&mut self, unit: usize) {
        self.valid[unit] |= NOT_A_CANDIDATE;
    }

    /// Whether a unit may be a victim.
    pub(super) fn is_candidate(&self, unit: usize) -> bool {
        self.valid[unit] & NOT_A_CANDIDATE == 0
    }

    /// First of `units` with the fewest valid pages, as a position among `units`; `None` if it has
    /// more than `valid_max`.
    pub(super) fn emptiest(&self, units: Range<usize>, valid_max: u32) -> Option<u32> {
        let counts = &self.valid[units];
        let fewest = counts.iter().copied().min()?;
        if fewest > valid_max {
            return None;
        }
        counts.iter().position(|&count| count == fewest).map(|unit| unit as u32)
    }
}
