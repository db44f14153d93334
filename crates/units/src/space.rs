//! Sizes and addresses.

use core::fmt;
use core::ops::Add;

/// Bytes in a KiB.
pub const KIB: u64 = 1 << 10;
/// Bytes in a MiB.
pub const MIB: u64 = 1 << 20;
/// Bytes in a GiB.
pub const GIB: u64 = 1 << 30;

/// A logical block address. The logical block of a drive is its flash page, so one `Lba` names one
/// page; an array uses the same block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Lba(pub u64);

impl Add<u64> for Lba {
    type Output = Self;
    fn add(self, blocks: u64) -> Self {
        Self(self.0 + blocks)
    }
}

/// Position of a drive in its array, from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DriveId(pub u8);

impl DriveId {
    /// The position as an index.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A size in bytes, displayed with a unit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = match self.0 {
            0..KIB => return write!(f, "{} B", self.0),
            KIB..MIB => (self.0 as f64 / KIB as f64, "KiB"),
            MIB..GIB => (self.0 as f64 / MIB as f64, "MiB"),
            _ => (self.0 as f64 / GIB as f64, "GiB"),
        };
        if value >= 100.0 || value == (value as u64) as f64 {
            write!(f, "{value:.0} {unit}")
        } else {
            write!(f, "{value:.2} {unit}")
        }
    }
}
