//! Checks of the cells, SLC cache and parity in a drive's configuration.

use super::{Blocking, CollectionUnit, Config, ConfigError, FlushRule, refuse};
use crate::cells::{CellConfig, PAGE_TYPES_MAX, PLANES_MAX, PageTime};
use crate::rain::{RainConfig, Rotation, WIDTH_MAX};
use crate::slc_config::{SlcCacheConfig, SlcOverflow};
use alloc::format;
use alloc::string::String;

impl CellConfig {
    pub(crate) fn validate(&self, config: &Config) -> Result<(), ConfigError> {
        if !(1..=PAGE_TYPES_MAX as u32).contains(&self.bits) {
            return refuse(format!(
                "cells hold {} bits; 1 to {PAGE_TYPES_MAX} are supported, and cells.reads and cells.programs have a time for each",
                self.bits
            ));
        }
        if self.types().iter().any(|page| page.read.is_zero() || page.program.is_zero()) {
            return refuse(String::from(
                "the times in cells.reads and cells.programs must be longer than zero, each of them",
            ));
        }
        if config.geometry.planes_per_chip != 1 {
            return refuse(format!(
                "planes_per_chip is {}, but a block of this drive reaches over its {} planes (cells.planes); set planes_per_chip to 1, and blocks_per_plane to the blocks of a die",
                config.geometry.planes_per_chip, self.planes
            ));
        }
        if self.blocks_per_page == 0 || self.blocks_per_page > 64 {
            return refuse(format!(
                "cells.blocks_per_page is {}; it must be between 1 and 64",
                self.blocks_per_page
            ));
        }
        if self.planes == 0 || self.planes > PLANES_MAX {
            return refuse(format!(
                "cells.planes is {}; it must be between 1 and {PLANES_MAX}",
                self.planes
            ));
        }
        if self.read_groups == 0 || !self.planes.is_multiple_of(self.read_groups) {
            return refuse(format!(
                "cells.read_groups is {}; it must divide the {} planes",
                self.read_groups, self.planes
            ));
        }
        let (unit, block) = (self.unit_pages(), config.geometry.pages_per_block);
        if !block.is_multiple_of(unit) {
            return refuse(format!(
                "pages_per_block is {block}; it must be a multiple of the {unit} that are programmed at a time (flash pages of {}, {} planes, {} bits)",
                self.blocks_per_page, self.planes, self.bits
            ));
        }
        let buffered = config.write_buffer.map_or(0, |buffer| buffer.pages);
        if buffered < unit * 2 {
            return refuse(format!(
                "the drive programs {unit} logical blocks at a time and gathers them in its write buffer, which has {buffered}; set write_buffer to at least {} blocks",
                unit * 2
            ));
        }
        if config.rain.is_some() {
            return refuse(String::from(
                "cells that are programmed many pages at a time cannot be combined with rain; leave out one of them",
            ));
        }
        if config.scrub.is_some() || config.collection.copyback {
            return refuse(String::from(
                "cells that are programmed many pages at a time cannot be combined with copyback and scrub_after; leave these out",
            ));
        }
        self.slc.map_or(Ok(()), |slc| slc.validate(self, config))
    }
}

impl SlcCacheConfig {
    pub(crate) fn validate(&self, cells: &CellConfig, config: &Config) -> Result<(), ConfigError> {
        if cells.bits < 2 {
            return refuse(String::from(
                "cells of one bit are no faster in SLC mode; leave out slc_cache, or give cells.reads and cells.programs at least two times",
            ));
        }
        let least = cells.row_pages() * cells.bits * 2;
        if config.geometry.pages_per_block < least {
            return refuse(format!(
                "pages_per_block is {}; with an slc_cache it must be at least {least}, so that folding a block gives something back",
                config.geometry.pages_per_block
            ));
        }
        let PageTime { read, program } = self.page;
        if read.is_zero() || program.is_zero() {
            return refuse(String::from(
                "slc_cache.read and slc_cache.program must be longer than zero",
            ));
        }
        if read > cells.longest_read() || program > cells.longest_program() {
            return refuse(format!(
                "slc_cache.read is {read} and slc_cache.program {program}; one bit in a cell must not take longer than several, which take at most {} and {}",
                cells.longest_read(),
                cells.longest_program()
            ));
        }
        let Self { most_blocks, fixed_blocks, low_blocks, .. } = *self;
        if most_blocks == 0 || most_blocks > config.geometry.blocks_per_die() {
            return refuse(format!(
                "slc_cache.most_blocks is {most_blocks}; it must be between 1 and the {} blocks of a die",
                config.geometry.blocks_per_die()
            ));
        }
        if fixed_blocks > most_blocks || low_blocks > most_blocks {
            return refuse(format!(
                "slc_cache.fixed_blocks is {fixed_blocks} and slc_cache.low_blocks {low_blocks}; both must be at most most_blocks, which is {most_blocks}"
            ));
        }
        if self.overflow == SlcOverflow::Wait && (fixed_blocks == 0 || low_blocks == 0) {
            return refuse(String::from(
                "writes that wait for the cache need one, and somebody who empties it: set slc_cache.fixed_blocks and slc_cache.low_blocks to at least 1, or overflow to bypass",
            ));
        }
        // A closed-loop host would find the drive at work again with each command.
        if self.fold_after.is_zero() {
            return refuse(String::from(
                "folding begins in no time, so that no drive would ever be idle for the host; set slc_cache.fold_after to at least 1ns",
            ));
        }
        Ok(())
    }
}

impl RainConfig {
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
