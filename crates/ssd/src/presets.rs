//! Drives by name, and drives made from data sheets.
//!
//! Geometry and timing of the first six are the columns of IODA's Table 2, of `ttflash`, `degraded`
//! and `ssdsim-channel` the published tables named beside them. The papers do not give watermarks
//! for most of them; without a published value the soft watermark is 0.4 and the hard one 0.2 of
//! the over-provisioned space, the proportions of the public IODA artifact (10 % and 5 % of the
//! flash with 25 % over-provisioning).

mod fitted;
mod sheet;
mod today;

pub use sheet::{Flash, SheetDrive, from_data_sheet};
pub use today::{CacheSheet, DataSheet, Figure};

use crate::config::{
    Allocation, Blocking, CollectionConfig, CollectionTrigger, CollectionUnit, Config,
    ContractConfig, Geometry, RangeConfig, SchedulingConfig, Timing, WriteBufferConfig,
};
use crate::rain::RainConfig;
use alloc::string::String;
use nvme::Untimed;
use units::{Duration, MIB, Ratio};

/// One row of the table below; times in µs unless named otherwise.
struct Row {
    name: &'static str,
    source: &'static str,
    transfer: u64,
    program: u64,
    read: u64,
    erase: u64,
    /// 0 for no limit.
    pcie_gb_per_second: u64,
    page_kib: u32,
    pages_per_block: u32,
    blocks_per_plane: u32,
    planes: u32,
    chips: u32,
    channels: u32,
    over_provisioning_percent: u32,
    valid_ratio: f64,
    drive_writes_per_day: f64,
    /// 0 to derive it from the channels.
    burst_mib_per_second: f64,
    unit: CollectionUnit,
    blocking: Blocking,
    trigger: CollectionTrigger,
    min_invalid_percent: u32,
    /// Soft and hard watermark; 0 to derive them from the over-provisioned space.
    watermarks_percent: (u32, u32),
    copyback: bool,
    read_priority: bool,
    /// 0 for none.
    write_buffer_mib: u32,
    /// Width of RAIN stripes, 0 for none.
    rain: u32,
    /// Whether the product is sold without the contract.
    is_on_sale: bool,
}

/// Values that the rows of IODA's Table 2 have in common: one block per channel is collected at a
/// time, and it blocks its channel (§4.4: reads fail that contend with "GCing channels").
const TABLE_2: Row = Row {
    name: "",
    source: "",
    transfer: 60,
    program: 0,
    read: 0,
    erase: 3_000,
    pcie_gb_per_second: 8,
    page_kib: 16,
    pages_per_block: 256,
    blocks_per_plane: 0,
    planes: 1,
    chips: 8,
    channels: 16,
    over_provisioning_percent: 20,
    valid_ratio: 0.75,
    drive_writes_per_day: 10.0,
    burst_mib_per_second: 4000.0,
    unit: CollectionUnit::Block,
    blocking: Blocking::Channel,
    trigger: CollectionTrigger::FreeSpace,
    min_invalid_percent: 0,
    watermarks_percent: (0, 0),
    copyback: false,
    read_priority: false,
    write_buffer_mib: 0,
    rain: 0,
    is_on_sale: false,
};

/// Values that the drives of degraded-mode scheduling have in common (its Table 2).
const SSDSIM: Row = Row {
    transfer: 205,
    program: 700,
    read: 45,
    erase: 3_500,
    pcie_gb_per_second: 0,
    page_kib: 8,
    pages_per_block: 128,
    blocks_per_plane: 256,
    planes: 4,
    chips: 4,
    burst_mib_per_second: 0.0,
    ..TABLE_2
};

const ROWS: [Row; 11] = [
    Row {
        name: "sim",
        source: "IODA Table 2, Sim: a consumer drive, 512 GiB",
        transfer: 40,
        program: 2_400,
        read: 60,
        erase: 8_000,
        pcie_gb_per_second: 4,
        pages_per_block: 512,
        blocks_per_plane: 2048,
        chips: 4,
        channels: 8,
        over_provisioning_percent: 25,
        valid_ratio: 0.5,
        burst_mib_per_second: 3200.0,
        ..TABLE_2
    },
    Row {
        name: "ocssd",
        source: "IODA Table 2, OCSSD: an open-channel drive, 2 TiB",
        program: 1_440,
        read: 40,
        pages_per_block: 512,
        blocks_per_plane: 2048,
        over_provisioning_percent: 12,
        ..TABLE_2
    },
    Row {
        name: "femu",
        source: "IODA Table 2, FEMU: the article's emulated drive, 16 GiB",
        program: 140,
        read: 40,
        pcie_gb_per_second: 4,
        page_kib: 4,
        blocks_per_plane: 256,
        channels: 8,
        over_provisioning_percent: 25,
        valid_ratio: 0.7,
        drive_writes_per_day: 40.0,
        burst_mib_per_second: 536.0,
        ..TABLE_2
    },
    Row {
        name: "970",
        source: "IODA Table 2, 970: a consumer drive, 512 GiB",
        transfer: 40,
        program: 960,
        read: 32,
        pcie_gb_per_second: 4,
        pages_per_block: 384,
        blocks_per_plane: 2731,
        chips: 4,
        channels: 8,
        burst_mib_per_second: 3200.0,
        is_on_sale: true,
        ..TABLE_2
    },
    Row {
        name: "p4600",
        source: "IODA Table 2, P4600: a data-centre drive, 2 TiB",
        program: 2_000,
        read: 60,
        erase: 6_000,
        blocks_per_plane: 5461,
        channels: 12,
        over_provisioning_percent: 40,
        burst_mib_per_second: 3204.0,
        is_on_sale: true,
        ..TABLE_2
    },
    Row {
        name: "sn260",
        source: "IODA Table 2, SN260: a data-centre drive, 2 TiB",
        program: 1_940,
        read: 50,
        blocks_per_plane: 4096,
        is_on_sale: true,
        ..TABLE_2
    },
    Row {
        name: "femu-artifact",
        source: "what IODA's public artifact emulates: 12 of 16 GiB, no channel time, lines of 64 blocks collected at once",
        transfer: 0,
        program: 200,
        read: 40,
        erase: 2_000,
        pcie_gb_per_second: 0,
        page_kib: 4,
        blocks_per_plane: 256,
        channels: 8,
        over_provisioning_percent: 25,
        valid_ratio: 0.7,
        drive_writes_per_day: 40.0,
        burst_mib_per_second: 536.0,
        unit: CollectionUnit::Line,
        blocking: Blocking::Die,
        min_invalid_percent: 25,
        ..TABLE_2
    },
    Row {
        name: "live",
        source: "our own: 1 of 2 GiB, small enough for memory, reads of 100 us, lines of 64 blocks collected at once; over-provisioning at which a window is longer than a collection",
        transfer: 20,
        program: 200,
        read: 80,
        erase: 2_000,
        pcie_gb_per_second: 0,
        page_kib: 4,
        pages_per_block: 64,
        blocks_per_plane: 128,
        channels: 8,
        over_provisioning_percent: 50,
        valid_ratio: 0.4,
        drive_writes_per_day: 40.0,
        burst_mib_per_second: 536.0,
        unit: CollectionUnit::Line,
        blocking: Blocking::Die,
        min_invalid_percent: 25,
        ..TABLE_2
    },
    Row {
        name: "ttflash",
        source: "TTFLASH Table 1, 256 GiB with RAIN 7+1 and 64 MiB of RAM; watermarks of its simulator, and over-provisioning at which victims have the 25 % valid pages of its Table 3, because its own drives are part-filled",
        transfer: 100,
        program: 800,
        read: 40,
        erase: 2_000,
        pcie_gb_per_second: 0,
        page_kib: 4,
        blocks_per_plane: 4096,
        channels: 8,
        over_provisioning_percent: 62,
        valid_ratio: 0.25,
        drive_writes_per_day: 5.0,
        burst_mib_per_second: 0.0,
        blocking: Blocking::Die,
        watermarks_percent: (30, 10),
        copyback: true,
        write_buffer_mib: 64,
        rain: 8,
        ..TABLE_2
    },
    Row {
        name: "degraded",
        source: "Degraded-mode scheduling Table 2, 32 GiB; 25 ns per byte on the channel (SSDSim) and 25 % over-provisioning are our choice",
        channels: 8,
        over_provisioning_percent: 25,
        valid_ratio: 0.5,
        ..SSDSIM
    },
    Row {
        name: "ssdsim-channel",
        source: "one channel of Degraded-mode scheduling's Table 2 as a drive of its own, 4 GiB of flash; collection at 10 % free; reads first and 25 ns per byte on the channel as in SSDSim; over-provisioning at which victims have 5.5 valid pages as in its §4.2.4",
        channels: 1,
        over_provisioning_percent: 72,
        valid_ratio: 0.043,
        watermarks_percent: (10, 5),
        read_priority: true,
        ..SSDSIM
    },
];

/// The names of all presets, in the order of their tables.
pub fn names() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| row.name).chain(today::names())
}

/// Suffix of a fitted preset's name for the drive without the fit, from its data sheet alone.
pub const UNFITTED: &str = "-unfitted";

/// Source of the figures of a preset.
#[must_use]
pub fn source(name: &str) -> Option<&'static str> {
    let name = name.strip_suffix(UNFITTED).unwrap_or(name);
    ROWS.iter().find(|row| row.name == name).map(|row| row.source).or_else(|| today::source(name))
}

/// Whether parameters of a preset were fitted to published measurements of the drive.
#[must_use]
pub fn is_fitted(name: &str) -> bool {
    fitted::is_fitted(name)
}

/// The drive called `name`, from its data sheet alone; `None` for a preset that was not fitted.
#[must_use]
pub fn unfitted(name: &str) -> Option<Config> {
    let drive = today::unfitted(name).filter(|_| is_fitted(name))?;
    Some(Config { name: drive.name.clone() + UNFITTED, ..drive })
}

/// Figures in the data sheet of a drive of today.
#[must_use]
pub fn data_sheet(name: &str) -> Option<DataSheet> {
    today::data_sheet(name)
}

/// The drive called `name`. With [`UNFITTED`] behind its name, a fitted preset is the drive from
/// its data sheet alone.
#[must_use]
pub fn preset(name: &str) -> Option<Config> {
    if let Some(fitted) = name.strip_suffix(UNFITTED) {
        return unfitted(fitted);
    }
    ROWS.iter().find(|row| row.name == name).map(build).or_else(|| today::preset(name))
}

fn build(row: &Row) -> Config {
    let over_provisioning = Ratio::from_percent(row.over_provisioning_percent);
    let geometry = Geometry {
        channels: row.channels,
        chips_per_channel: row.chips,
        planes_per_chip: row.planes,
        blocks_per_plane: row.blocks_per_plane,
        pages_per_block: row.pages_per_block,
        page_bytes: row.page_kib * 1024,
        scaled_down: 1,
    };
    let pcie = row.pcie_gb_per_second * 1_000_000_000;
    let timing = Timing {
        read: Duration::from_micros(row.read),
        program: Duration::from_micros(row.program),
        erase: Duration::from_micros(row.erase),
        blocks_per_erase: 1,
        transfer: Duration::from_micros(row.transfer),
        pcie_bytes_per_second: (pcie > 0).then_some(pcie),
        fail_fast: Duration::from_micros(1),
        busy_time_step: Duration::ZERO,
        read_overhead: Duration::ZERO,
        command: Duration::ZERO,
        write_command: Duration::ZERO,
    };
    // IODA writes MB for MiB throughout Table 2.
    let channel_burst = f64::from(geometry.channels) * f64::from(geometry.page_bytes)
        / timing.transfer.as_secs_f64();
    let burst = match row.burst_mib_per_second {
        0.0 => channel_burst,
        mib => mib * MIB as f64,
    };
    let (soft, hard) = match row.watermarks_percent {
        (0, 0) => {
            let tenth = over_provisioning.parts_per_million() / 10;
            (Ratio::from_parts_per_million(tenth * 4), Ratio::from_parts_per_million(tenth * 2))
        }
        (soft, hard) => (Ratio::from_percent(soft), Ratio::from_percent(hard)),
    };
    // A flush begins at 80 % (TTFLASH §4.5) and takes few pages, so that it never delays reads for
    // long.
    let write_buffer = (row.write_buffer_mib > 0).then(|| WriteBufferConfig {
        low: Ratio::from_percent(75),
        ..WriteBufferConfig::new(row.write_buffer_mib * 1024 / row.page_kib)
    });
    Config {
        name: String::from(row.name),
        geometry,
        timing,
        over_provisioning,
        cells: None,
        collection: CollectionConfig {
            unit: row.unit,
            blocking: row.blocking,
            trigger: row.trigger,
            soft,
            hard,
            restore: soft,
            min_invalid: Ratio::from_percent(row.min_invalid_percent),
            per_channel: 0,
            copyback: row.copyback,
            static_wear_leveling: 0,
            untimed: Untimed::Nothing,
        },
        ranges: RangeConfig::ONE,
        allocation: Allocation::NextDie,
        scheduling: SchedulingConfig {
            read_priority: row.read_priority,
            ..SchedulingConfig::FIRST_COME
        },
        queue: None,
        retry: None,
        scrub: None,
        contract: ContractConfig {
            valid_ratio: row.valid_ratio,
            burst_bytes_per_second: burst,
            drive_writes_per_day: row.drive_writes_per_day,
            usable_share: 0.05,
            is_assumed: row.is_on_sale,
        },
        write_buffer,
        rain: (row.rain > 0).then(|| RainConfig::new(row.rain)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::vec::Vec;

    #[test]
    fn every_preset_is_a_possible_drive() {
        for name in names() {
            let config = preset(name).unwrap();
            assert_eq!(config.validate(), Ok(()), "{name}");
        }
    }

    #[test]
    fn a_fitted_preset_has_its_data_sheet_beside_it() {
        let fitted: Vec<&str> = names().filter(|name| is_fitted(name)).collect();
        assert!(fitted.len() >= 6, "{fitted:?}");
        for name in fitted {
            let unfitted = preset(&format!("{name}{UNFITTED}")).unwrap();
            assert!(unfitted.validate().is_ok() && unfitted != preset(name).unwrap());
            assert_eq!(source(&unfitted.name), source(name));
        }
        assert_eq!(preset("femu-unfitted"), None);
    }

    #[test]
    fn the_artifact_collects_at_25_and_12_lines() {
        let config = preset("femu-artifact").unwrap();
        assert_eq!((config.soft_blocks(), config.hard_blocks()), (25, 12));
        assert_eq!(config.logical_bytes(), 12 << 30);
    }

    #[test]
    fn the_drive_that_is_served_has_a_gibibyte_and_reads_in_100_us() {
        let config = preset("live").unwrap();
        assert_eq!(config.logical_bytes(), 1 << 30);
        assert_eq!(config.timing.read + config.timing.transfer, Duration::from_micros(100));
    }
}
