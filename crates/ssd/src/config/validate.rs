//! Checks of a drive's configuration.

use super::{
    Allocation, BLOCKS_PER_ERASE_MAX, Blocking, CollectionConfig, CollectionUnit, Config,
    ConfigError, DIES_MAX, PAGES_PER_BLOCK_MAX, RangeConfig, RangePlacement, SchedulingConfig,
    ScrubConfig, Suspendable, TurnConfig, refuse,
};
use alloc::format;
use alloc::string::String;
use units::Ratio;

/// Refuses a drive that could not work.
///
/// # Errors
///
/// The first reason found, naming the setting, its value and the limit.
pub(super) fn validate(config: &Config) -> Result<(), ConfigError> {
    geometry(config)?;
    watermarks(config)?;
    channels(config)?;
    ranges(config)?;
    scheduling(config)?;
    config.cells.map_or(Ok(()), |cells| cells.validate(config))?;
    config.rain.map_or(Ok(()), |rain| rain.validate(config))?;
    scrub(config)?;
    config.queue.map_or(Ok(()), |queue| queue.validate())?;
    config.retry.map_or(Ok(()), |retry| retry.validate())?;
    room(config)?;
    config.write_buffer.map_or(Ok(()), |buffer| buffer.validate())
}

fn geometry(config: &Config) -> Result<(), ConfigError> {
    let g = &config.geometry;
    let most = PAGES_PER_BLOCK_MAX / g.pages_per_block.clamp(1, PAGES_PER_BLOCK_MAX);
    if !(1..=most).contains(&g.scaled_down) {
        return refuse(format!(
            "scaled_down is {}; it must be between 1 and {most}, so that a block of the real drive has at most {PAGES_PER_BLOCK_MAX} pages",
            g.scaled_down
        ));
    }
    let counts = [
        ("channels", g.channels, DIES_MAX),
        ("chips_per_channel", g.chips_per_channel, DIES_MAX),
        ("planes_per_chip", g.planes_per_chip, 64),
        ("blocks_per_plane", g.blocks_per_plane, 1 << 20),
        ("pages_per_block", g.pages_per_block, PAGES_PER_BLOCK_MAX),
    ];
    for (name, value, most) in counts {
        if value == 0 || value > most {
            return refuse(format!("{name} is {value}; it must be between 1 and {most}"));
        }
    }
    let dies = u64::from(g.channels) * u64::from(g.chips_per_channel);
    if dies > u64::from(DIES_MAX) {
        return refuse(format!(
            "{} channels with {} chips each make {dies} dies; at most {DIES_MAX} are supported",
            g.channels, g.chips_per_channel
        ));
    }
    if !g.page_bytes.is_power_of_two() || !(512..=1 << 20).contains(&g.page_bytes) {
        return refuse(format!(
            "page_bytes is {}; it must be a power of two between 512 and 1048576",
            g.page_bytes
        ));
    }
    let blocks = u64::from(g.planes_per_chip) * u64::from(g.blocks_per_plane);
    let pages = u128::from(dies) * u128::from(blocks) * u128::from(g.pages_per_block);
    if pages >= u128::from(u32::MAX) {
        return refuse(format!(
            "the geometry has {pages} flash pages; at most {} are supported, so use larger pages or fewer blocks",
            u32::MAX - 1
        ));
    }
    if config.timing.read.is_zero() || config.timing.program.is_zero() {
        return refuse(String::from(
            "read and program times must be longer than zero; set t_r and t_w",
        ));
    }
    let blocks = config.timing.blocks_per_erase;
    if !(1..=BLOCKS_PER_ERASE_MAX).contains(&blocks) {
        return refuse(format!(
            "blocks_per_erase is {blocks}; it must be 1 to {BLOCKS_PER_ERASE_MAX}"
        ));
    }
    if config.timing.pcie_bytes_per_second == Some(0) {
        return refuse(String::from(
            "the PCIe bandwidth is zero; leave it out for no limit, or set at least 1 byte per second",
        ));
    }
    if !config.timing.command.is_zero() && config.timing.pcie_bytes_per_second.is_none() {
        return refuse(String::from(
            "command_time is time on the link to the host, which has no limit; set pcie_bytes_per_second or leave out command_time",
        ));
    }
    Ok(())
}

fn watermarks(config: &Config) -> Result<(), ConfigError> {
    let (soft, hard) = (config.soft_blocks(), config.hard_blocks());
    let (what, least) = match config.collection.unit {
        CollectionUnit::Block => ("blocks of each die", 1),
        CollectionUnit::Line => ("lines", 2),
    };
    if hard < least {
        return refuse(format!(
            "the hard watermark ({}) leaves {hard} of {} {what}; collection needs at least {least}, so raise `hard`",
            config.collection.hard,
            config.geometry.blocks_per_die()
        ));
    }
    if soft <= hard {
        return refuse(format!(
            "the soft watermark ({soft} {what}) must be above the hard watermark ({hard}); raise `soft` or lower `hard`"
        ));
    }
    if config.collection.restore < config.collection.soft {
        return refuse(format!(
            "restore is {}; it must be at least the soft watermark of {}",
            config.collection.restore, config.collection.soft
        ));
    }
    if config.collection.min_invalid > Ratio::ONE {
        return refuse(format!(
            "min_invalid is {}; it must be at most 100%",
            config.collection.min_invalid
        ));
    }
    Ok(())
}

fn scheduling(config: &Config) -> Result<(), ConfigError> {
    let SchedulingConfig { read_priority, preemptive_collection, paced_writes, suspension, .. } =
        config.scheduling;
    if paced_writes && !(preemptive_collection && config.cells.is_some()) {
        return refuse(String::from(
            "paced_writes lets programs of many pages in between those of a collection; set preemptive_collection to true and describe the cells, or leave it out",
        ));
    }
    let folds = config.cells.is_some_and(|cells| cells.slc.is_some());
    if let Some(TurnConfig { most_pages, least_pages }) = config.scheduling.turns {
        if !paced_writes {
            return refuse(format!(
                "turn_pages is {most_pages}; collections and the host take turns with paced writes, so set paced_writes to true or turn_pages to 0"
            ));
        }
        if least_pages == 0 || least_pages > most_pages {
            return refuse(format!(
                "least_turn_pages is {least_pages}; it must be between 1 and turn_pages, which is {most_pages}"
            ));
        }
        if folds {
            return refuse(format!(
                "turn_pages is {most_pages}, but a cache of SLC blocks is folded whenever the host leaves time; set turn_pages to 0 or leave out slc_cache"
            ));
        }
    }
    if config.scheduling.in_order_when_full && !(read_priority && config.write_buffer.is_some()) {
        return refuse(String::from(
            "in_order_when_full is about reads that go first unless the write buffer is full; set read_priority to true and write_buffer to a size, or leave it out",
        ));
    }
    if preemptive_collection && config.collection.blocking != Blocking::Die {
        return refuse(String::from(
            "preemptive collection keeps only its die from the host, but blocking is wider; set blocking to die",
        ));
    }
    let needs_priority =
        suspension.is_some_and(|suspension| suspension.what != Suspendable::Collection);
    if suspension.is_some() && config.collection.blocking != Blocking::Die
        || needs_priority && !read_priority
    {
        return refuse(String::from(
            "suspension lets reads interrupt the die that serves them; set read_priority to true (or suspends to collection) and blocking to die",
        ));
    }
    Ok(())
}

fn scrub(config: &Config) -> Result<(), ConfigError> {
    let Some(ScrubConfig { after }) = config.scrub else { return Ok(()) };
    if !config.collection.copyback {
        return refuse(String::from(
            "scrubbing checks pages that were copied past error correction, but without copyback every copy passes it; set copyback to true or leave out scrub_after",
        ));
    }
    // A closed-loop host would find the die at work again with each command.
    if after.is_zero() {
        return refuse(String::from(
            "scrubbing begins in no time, so that no die would ever be idle for the host; set scrub_after to at least 1ns",
        ));
    }
    Ok(())
}

/// Checks the limit of collections on a channel.
fn channels(config: &Config) -> Result<(), ConfigError> {
    let CollectionConfig { per_channel, unit, blocking, .. } = config.collection;
    if per_channel == 0 {
        return Ok(());
    }
    if unit != CollectionUnit::Block || blocking != Blocking::Die {
        return refuse(String::from(
            "collections_per_channel is for collections of a block that hold a die; set collection_unit to block and blocking to die, or leave it out",
        ));
    }
    let dies = config.geometry.chips_per_channel;
    if per_channel >= dies {
        return refuse(format!(
            "collections_per_channel is {per_channel}, but a channel has {dies} dies, so it limits nothing; set it below {dies}, or leave it out"
        ));
    }
    Ok(())
}

fn ranges(config: &Config) -> Result<(), ConfigError> {
    let RangeConfig { count, placement } = config.ranges;
    let (what, parts) = match placement {
        RangePlacement::Channels => ("channels", config.geometry.channels),
        RangePlacement::Chips => ("chips_per_channel", config.geometry.chips_per_channel),
    };
    if count == 0 || !parts.is_multiple_of(count) {
        return refuse(format!(
            "lba_ranges is {count}; it must divide {what}, which is {parts}, so that every range has as many dies"
        ));
    }
    if count > 1 && config.collection.unit == CollectionUnit::Line {
        return refuse(String::from(
            "lba_ranges cannot be combined with lines, which reach over all dies; set collection_unit to block",
        ));
    }
    if config.allocation == Allocation::Static && config.cells.is_some() {
        return refuse(String::from(
            "static allocation programs one page at a time; set allocation to next-die, or leave out the cells",
        ));
    }
    if config.allocation == Allocation::Static && (config.write_buffer.is_none() || count > 1) {
        return refuse(String::from(
            "with static allocation pages wait for their dies in the write buffer; set write_buffer and leave out lba_ranges, or set allocation to next-die",
        ));
    }
    if count > 1 && config.write_buffer.is_some() {
        return refuse(String::from(
            "lba_ranges cannot be combined with a write buffer, which is flushed to all dies; leave out write_buffer",
        ));
    }
    Ok(())
}

/// At the hard watermark every block that is neither free nor open must be able to hold all
/// logical pages and still have one invalid page somewhere: then collection always finds a
/// victim, and a full drive never deadlocks.
fn room(config: &Config) -> Result<(), ConfigError> {
    let g = &config.geometry;
    if config.over_provisioning >= Ratio::ONE {
        return refuse(format!(
            "over-provisioning of {} leaves the host nothing; lower it below 100%",
            config.over_provisioning
        ));
    }
    // One open block per die, and one more while dies drift apart within lines.
    let reserved = config.restore_blocks() + 2 + config.cache_blocks();
    let usable_blocks = g.blocks_per_die().saturating_sub(reserved);
    // The last program of a collection may contain filler, so a victim gives back less.
    let filler = config.cells.map_or(0, |cells| cells.unit_pages());
    let pages_per_block = u64::from(g.pages_per_block.saturating_sub(filler));
    let usable = u64::from(usable_blocks) * u64::from(g.dies()) * pages_per_block;
    let stored = match config.rain {
        Some(_) => config.stored_pages(),
        None if config.allocation == Allocation::Static => {
            let dies = u64::from(g.dies());
            config.logical_pages().div_ceil(dies) * dies
        }
        None => config.range_pages() * u64::from(config.ranges.count),
    };
    if stored >= usable {
        let needed = g.pages() - usable + 1;
        let percent = needed as f64 * 100.0 / g.pages() as f64;
        return refuse(format!(
            "the drive stores {} of {} pages, but collection keeps {reserved} of {} blocks per die free or open, which leaves it no invalid page to reclaim: raise over-provisioning above {percent:.1}% or lower the soft watermark",
            config.stored_pages(),
            g.pages(),
            g.blocks_per_die(),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::WriteBufferConfig;
    use super::*;
    use crate::presets;
    use alloc::string::ToString;
    use units::Duration;

    fn refused(change: impl FnOnce(&mut Config)) -> String {
        let mut config = presets::preset("femu-artifact").unwrap();
        change(&mut config);
        config.validate().unwrap_err().to_string()
    }

    #[test]
    fn impossible_drives_are_refused_with_what_to_change() {
        assert_eq!(
            refused(|c| c.geometry.channels = 0),
            "channels is 0; it must be between 1 and 4096"
        );
        assert!(refused(|c| c.geometry.page_bytes = 3000).contains("power of two"));
        assert!(refused(|c| c.over_provisioning = Ratio::from_percent(7)).contains("raise over-"));
        assert!(refused(|c| c.over_provisioning = Ratio::ONE).contains("below 100%"));
        assert!(refused(|c| c.collection.hard = Ratio::ZERO).contains("raise `hard`"));
        assert!(refused(|c| c.collection.soft = c.collection.hard).contains("raise `soft`"));
        assert!(
            refused(|c| c.geometry.blocks_per_plane = 1 << 20).contains("flash pages"),
            "more pages than a u32 can address"
        );
        assert!(refused(|c| c.timing.program = Duration::ZERO).contains("longer than zero"));
        let buffer = |pages, high, low| WriteBufferConfig {
            high: Ratio::from_percent(high),
            low: Ratio::from_percent(low),
            ..WriteBufferConfig::new(pages)
        };
        for (impossible, why) in [
            (buffer(0, 80, 20), "0 pages"),
            (buffer(8, 101, 20), "starts at 101%"),
            (buffer(8, 20, 20), "stops at 20%"),
        ] {
            assert!(refused(|c| c.write_buffer = Some(impossible)).contains(why));
        }
    }
}
