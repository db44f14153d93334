//! What a drive with RAIN is made of.

use crate::config::{Blocking, CollectionUnit, Config, ConfigError, FlushRule, refuse};
use alloc::format;
use alloc::string::String;
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
            rotation: Rotation::On,
            xor: Duration::from_micros(3),
            wear_leveling: None,
        }
    }

    pub(crate) fn validate(&self, drive: &Config) -> Result<(), ConfigError> {
        let channels = drive.geometry.channels;
        let most = channels.min(WIDTH_MAX);
        let width = self.width;
        if width < 3 || width > most || !channels.is_multiple_of(width) {
            return refuse(format!(
                "rain is {width}; a stripe lies across channels, so it must be between 3 and {most} and divide the {channels} channels"
            ));
        }
        if drive.collection.unit == CollectionUnit::Line {
            return refuse(String::from(
                "rain keeps each page on a die of its own, but lines reach over all dies; set collection_unit to block",
            ));
        }
        if drive.collection.blocking == Blocking::ChannelForCopies {
            return refuse(String::from(
                "rain flushes where no collection holds a die, from its beginning to its end; set blocking to die or channel",
            ));
        }
        if drive.ranges.count > 1 {
            return refuse(format!(
                "rain stripes reach over all channels, so lba_ranges must be 1, not {}",
                drive.ranges.count
            ));
        }
        let Some(buffer) = drive.write_buffer else {
            return refuse(String::from(
                "rain updates parity as pages leave the write buffer, and the drive has none; set write_buffer, for example to 64MiB",
            ));
        };
        // A stripe that leaves the buffer whole must fit into it.
        if buffer.pages < 2 * width {
            return refuse(format!(
                "the write buffer has {} pages, which is less than two stripes of rain; it needs at least {}",
                buffer.pages,
                2 * width
            ));
        }
        if buffer.flush == FlushRule::InWindow {
            return refuse(String::from(
                "rain flushes stripes as collection leaves them room, not in windows; set flush to when-full",
            ));
        }
        if self.rotation != Rotation::Off && drive.collection.blocking != Blocking::Die {
            return refuse(String::from(
                "rotating collection keeps one die of each plane group busy, but blocking is wider; set blocking to die",
            ));
        }
        if self.wear_leveling == Some(0) {
            return refuse(String::from(
                "wear_leveling is 0 erases; it must be at least 1, or `none`",
            ));
        }
        Ok(())
    }
}
