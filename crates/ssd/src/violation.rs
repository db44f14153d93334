//! Collections that broke the window contract: when, where and why.

use alloc::vec::Vec;
use units::Instant;

/// Number of violations of a drive that are kept, the first ones.
const KEPT: usize = 256;

/// Reason why a collection broke the window contract.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ViolationCause {
    /// Writes of the host had no room: free space was down to the hard watermark.
    NoRoom,
    /// Free space was nearly down to the hard watermark, and the drive keeps all its work in
    /// windows.
    ShortOfSpace,
    /// The collection began in the window and ended after it, because the host's commands held it
    /// up.
    Overran,
}

/// A collection that broke the window contract.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Violation {
    /// Time at which it began, or ended if it overran.
    pub at: Instant,
    /// The reason.
    pub cause: ViolationCause,
    /// First die that it kept from the host.
    pub first_die: u32,
    /// Free blocks of that die (or lines of the drive) at that time.
    pub free_blocks: u32,
    /// All blocks of that die (or lines of the drive).
    pub blocks: u32,
}

impl Violation {
    /// Share of the blocks that were free, from 0 to 1.
    #[must_use]
    pub fn free_share(&self) -> f64 {
        f64::from(self.free_blocks) / f64::from(self.blocks)
    }
}

/// The first violations of a drive.
#[derive(Clone, Debug, Default)]
pub(crate) struct Violations(Vec<Violation>);

impl Violations {
    pub(crate) fn add(&mut self, violation: Violation) {
        if self.0.len() < KEPT {
            self.0.push(violation);
        }
    }

    pub(crate) fn kept(&self) -> &[Violation] {
        &self.0
    }
}
