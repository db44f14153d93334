//! What a drive with RAIN is made of.

use units::Duration;

/// Most pages a stripe may have; a set of its pages is kept as bits.
pub(crate) const WIDTH_MAX: u32 = 64;

/// Whether the dies of a plane group take turns in collecting (TTFLASH §4.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rotation {
    /// Every die collects when it is due.
    Off,
    /// At most one die of a group collects, except those that are out of free blocks; each of these
    /// is counted as a breach.
    On,
    /// At most one die of a group collects, whatever the host has to wait for (TTFLASH §6.6,
    /// "F-RGC").
    Forced,
}

/// Redundant array of independent NAND: stripes with parity over the channels (TTFLASH §4.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RainConfig {
    /// `N`: pages of a stripe, its parity included. It divides the channels.
    pub width: u32,
    /// Pages on a die that collects are computed from the rest of their stripe (TTFLASH §4.3).
    pub tolerant_reads: bool,
    /// Such pages are computed even where the additional reads are worth more than the wait
    /// (TTFLASH §4.3, "greedy").
    pub greedy_reads: bool,
    /// Whether the dies of a plane group take turns in collecting.
    pub rotation: Rotation,
    /// Time to compute a page from the rest of its stripe, once that is there (TTFLASH §4.3: below
    /// 3 µs).
    pub xor: Duration,
    /// A stripe moves away from a die that has had so many more erases than the one that it could
    /// burden instead (TTFLASH §7); none for never.
    pub wear_leveling: Option<u32>,
}

impl RainConfig {
    /// Stripes of `width` pages with everything that makes them tolerant of collection.
    #[must_use]
    pub const fn new(width: u32) -> Self {
        Self {
            width,
            tolerant_reads: true,
            greedy_reads: false,
            rotation: Rotation::On,
            xor: Duration::from_micros(3),
            wear_leveling: None,
        }
    }
}
