//! Settings of RAIN.

use units::Duration;

/// Most pages of a stripe: a set of its pages is kept in the bits of 64-bit words.
pub(crate) const WIDTH_MAX: u32 = 64;

/// Whether the dies of a plane group take turns in collecting (TTFLASH §4.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rotation {
    /// Every die collects when it is due.
    Off,
    /// At most one die of a group collects. A die that is out of free blocks may collect beside it,
    /// which counts as a breach.
    On,
    /// At most one die of a group collects, however long the host has to wait (TTFLASH §6.6,
    /// "F-RGC").
    Forced,
}

/// Redundant array of independent NAND: stripes with parity over the channels (TTFLASH §4.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RainConfig {
    /// `N`: pages of a stripe, its parity included. It divides the channels.
    pub width: u32,
    /// Pages on a die that collects are reconstructed from the rest of their stripe (TTFLASH §4.3).
    pub tolerant_reads: bool,
    /// Such pages are reconstructed even where the additional reads cost more than the wait
    /// (TTFLASH §4.3, "greedy").
    pub greedy_reads: bool,
    /// Whether the dies of a plane group take turns in collecting.
    pub rotation: Rotation,
    /// Time to compute a page from the rest of its stripe, after that has been read (TTFLASH §4.3:
    /// below 3 µs).
    pub xor: Duration,
    /// Difference of erases at which a stripe moves away from a die, to burden another that has
    /// fewer (TTFLASH §7); `None` for never.
    pub wear_leveling: Option<u32>,
}

impl RainConfig {
    /// Stripes of `width` pages with all features that make them tolerant of collection.
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
