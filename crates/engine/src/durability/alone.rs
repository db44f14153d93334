//! Check that an array with missing drives may start without confirmation by its operator.
//!
//! Two parts of an array must never both go on: each would lose what was written to the other. A
//! start without the drives that are *away* records on all others that these have failed. From then
//! on the drives that are away are outdated if any other drive is found with them. Found alone,
//! they do not show that. So a start needs no confirmation only if the drives that are away are too
//! few for an array of their own, now and at any earlier time.
//!
//! A drive is away if the leading superblock counts on it and it is missing, outdated, damaged or
//! blank. A drive that had failed before is not away: a start of that drive without the others
//! finds the others away, and the rule holds there.
//!
//! Proof: suppose the array went on earlier without any of the drives found now. Each change of
//! members is prepared on all drives that take part. So that first change was written by drives
//! that the drives found count on. Those drives were enough then, and all are away now. So the rule
//! refuses this start.

use super::assembly::Assembly;
use super::disk::Disk;
use super::open::{Opening, recover_intent};
use super::opened::{OpenError, has_write_hole};
use super::setup::Setup;
use super::superblock::MemberState;

/// Reason for which an array with missing drives does not start by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Doubt {
    /// The drives that are away suffice for an array of their own, and may have gone on without
    /// these.
    Apart {
        /// The drives that are away, as bits.
        away: u64,
    },
    /// Stripes were being written when the array stopped, and it has lost a drive since. The drive
    /// cannot be reconstructed there: parity may not fit the data, and no journal has the writes.
    WriteHole {
        /// The drives that were lost, as bits.
        lost: u64,
        /// Regions of the write-intent record that are marked.
        regions: u32,
    },
}

impl Assembly {
    /// Drives that the array counts on and that are missing or not current, as bits.
    #[must_use]
    pub fn away(&self) -> u64 {
        let states = self.leader.states.iter().enumerate();
        let counted = states.filter(|(_, state)| **state != MemberState::Failed);
        let counted = counted.fold(0u64, |bits, (member, _)| bits | 1 << member);
        counted & self.absent & !self.rebuilding
    }
}

impl<D: Disk> Opening<D> {
    /// Returns the reason for which this array must not start without confirmation; `None` if it
    /// may. Writes nothing.
    ///
    /// # Errors
    ///
    /// If a drive cannot be read.
    pub fn doubt(&mut self, setup: impl Into<Setup>) -> Result<Option<Doubt>, OpenError<D::Error>> {
        let Self { assembly, disks } = self;
        let (away, geometry) = (assembly.away(), assembly.geometry);
        if away == 0 {
            return Ok(None);
        }
        let all = u64::MAX >> (64 - u32::from(geometry.width));
        if !geometry.misses_too_much(all & !away) {
            return Ok(Some(Doubt::Apart { away }));
        }
        let lost = assembly.lost;
        if assembly.clean || lost == 0 || !has_write_hole(&geometry) {
            return Ok(None);
        }
        let intent = recover_intent(assembly, disks, setup.into())?;
        let regions = intent.dirty_regions().len() as u32;
        Ok((regions > 0).then_some(Doubt::WriteHole { lost, regions }))
    }
}
