//! Whether an array that misses drives may start without a word from its operator.
//!
//! Two parts of an array must never both go on: each would lose what was written to the other. A start without the
//! drives that are *away* writes down on all others that these have failed. After that write they are outdated beside
//! any of the others. Alone they do not know it. So a start may go on by itself only if the drives that are away are
//! too few to start an array of their own, now or at any earlier time.
//!
//! Away is each drive that the leading superblock counts on, and that is not here as this superblock knows it: it is
//! missing, or an outdated, damaged or blank one is in its place. A drive that had failed before is not away: whoever
//! starts it without the others finds them away, and the rule holds there. Whatever went on without the
//! drives that are here began with drives that these count on, because each change of members is written to all that
//! take part before it. Those drives were enough then, so they are enough by this rule as well.

use super::assembly::Assembly;
use super::disk::Disk;
use super::open::{Opening, recover_intent};
use super::opened::{OpenError, has_write_hole};
use super::setup::Setup;
use super::superblock::MemberState;

/// Why an array that misses drives does not start by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Doubt {
    /// The drives that are away suffice for an array of their own, and could go on without these.
    Apart {
        /// The drives that are away, as bits.
        away: u64,
    },
    /// Stripes were being written when the array stopped, and a drive that it lost by that cannot be reconstructed
    /// there: parity and data may not fit, and no journal says what they were to be.
    WriteHole {
        /// The drives that were lost, as bits.
        lost: u64,
        /// Regions of the write-intent record that are marked.
        regions: u32,
    },
}

impl Assembly {
    /// Drives that the array counts on, and that are not here as it knows them, as bits.
    #[must_use]
    pub fn away(&self) -> u64 {
        let states = self.leader.states.iter().enumerate();
        let counted = states.filter(|(_, state)| **state != MemberState::Failed);
        let counted = counted.fold(0u64, |bits, (member, _)| bits | 1 << member);
        counted & self.absent & !self.rebuilding
    }
}

impl<D: Disk> Opening<D> {
    /// Why this array must not start without a word from its operator; `None` if it may. Writes nothing.
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
