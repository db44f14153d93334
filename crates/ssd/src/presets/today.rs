//! Drives of today by name, and the figures of their data sheets.
//!
//! Each has the dies, planes and over-provisioning of the product, and blocks with a sixteenth of
//! their pages, which are erased in a sixteenth of the time: a simulated drive has a sixteenth of
//! the capacity, and is unchanged otherwise. Vendors do not publish the timing of the flash in
//! their products; the sources below say where each substitute comes from. A figure that `ioda
//! presets drives --calibration` compares sets no parameter, unless its row says so.

use super::{UNFITTED, fitted};
use crate::cells::{CellConfig, PAGE_TYPES_MAX, PageTime};
use crate::config::{
    Allocation, Blocking, CollectionConfig, CollectionTrigger, CollectionUnit, Config,
    ContractConfig, FlushRule, Geometry, PreemptionScope, PulseConfig, RangeConfig,
    SchedulingConfig, Suspendable, SuspensionConfig, Timing, WriteBufferConfig,
};
use crate::slc_config::{SlcCacheConfig, SlcOverflow};
use alloc::string::String;
use nvme::Untimed;
use units::{Duration, Ratio};

/// Figures of a data sheet, and their use.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct DataSheet {
    /// Sequential reads of 128 KiB in MB/s.
    pub sequential_read: Option<Figure>,
    /// Sequential writes of 128 KiB in MB/s.
    pub sequential_write: Option<Figure>,
    /// Random reads of 4 KiB per second.
    pub random_read: Option<Figure>,
    /// Random writes of 4 KiB per second in steady state.
    pub random_write: Option<Figure>,
    /// Latency of a single read of 4 KiB, in µs.
    pub read_alone: Option<Figure>,
    /// Latency of a single write of 4 KiB, in µs.
    pub write_alone: Option<Figure>,
    /// Figures of the cache of SLC blocks, for a drive with one.
    pub cache: CacheSheet,
}

/// Figures in the data sheet of a drive with a cache of SLC blocks. The other figures hold while
/// the cache has room; these add the rest.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct CacheSheet {
    /// Sequential writes that find the cache full, in MB/s.
    pub write_behind: Option<Figure>,
    /// Sequential writes of the whole drive, from its first block to its last, in MB/s on average.
    pub fill: Option<Figure>,
    /// Random writes of 4 KiB per second into the cache.
    pub random_write: Option<Figure>,
    /// Latency of a single read of 4 KiB from the cache, in µs.
    pub read_alone: Option<Figure>,
}

/// One figure of a data sheet.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Figure {
    /// The figure.
    pub value: f64,
    /// Whether a parameter of the model was computed from it: the comparison then checks
    /// arithmetic, not the model.
    pub was_used: bool,
}

const fn used(value: f64) -> Option<Figure> {
    Some(Figure { value, was_used: true })
}

const fn rated(value: f64) -> Option<Figure> {
    Some(Figure { value, was_used: false })
}

/// A cache of SLC blocks.
#[derive(Clone, Copy)]
pub(super) struct SlcRow {
    /// Time to sense a page with one bit in a cell, in µs.
    read: u64,
    /// MB/s that one die programs in SLC mode, including transfers.
    program_mb_per_second: f64,
    /// Most superblocks in SLC mode.
    most: u32,
    /// Superblocks that are kept for the cache.
    fixed: u32,
}

/// One drive; times in µs.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) source: &'static str,
    pub(super) sheet: DataSheet,
    /// Dies on each of eight channels.
    pub(super) dies_per_channel: u32,
    /// Spare share of the flash, in parts per million.
    pub(super) over_provisioning_ppm: u32,
    pub(super) planes: u32,
    pub(super) read_groups: u32,
    pub(super) blocks_per_plane: u32,
    /// Flash pages in a block of one plane of the product.
    pub(super) pages_per_plane_block: u32,
    /// Times to sense each page type, one for each bit in a cell, 0 for the rest.
    pub(super) reads: [u64; PAGE_TYPES_MAX],
    pub(super) one_shot: bool,
    /// MB/s that one die programs in the drive, including transfers.
    pub(super) program_mb_per_second: f64,
    pub(super) erase: u64,
    /// MB/s of a channel.
    pub(super) channel_mb_per_second: f64,
    /// Bandwidth of the link in MB/s.
    pub(super) link_mb_per_second: u64,
    /// Highest rate of commands per second.
    pub(super) commands_per_second: f64,
    /// Total latency of a single read; from the cache if there is one.
    pub(super) read_alone: u64,
    /// Total latency of a single write.
    pub(super) write_alone: u64,
    pub(super) buffer_mib: u32,
    pub(super) drive_writes_per_day: f64,
    pub(super) slc: Option<SlcRow>,
}

impl Row {
    /// Logical blocks in a block of the model, on all its planes.
    pub(super) fn pages_per_block(&self) -> u32 {
        self.pages_per_plane_block * BLOCKS_PER_PAGE * self.planes / BLOCK_SHARE
    }
}

/// Pages in a block of the product for each page in a block of the model.
pub(super) const BLOCK_SHARE: u32 = 16;

pub(super) const CHANNELS: u32 = 8;
pub(super) const LOGICAL_BLOCK_BYTES: u32 = 4096;
/// Logical blocks in a flash page of 16 KiB.
const BLOCKS_PER_PAGE: u32 = 4;

/// No figures of a cache.
const NO_CACHE: CacheSheet =
    CacheSheet { write_behind: None, fill: None, random_write: None, read_alone: None };

pub(super) const TLC: Row = Row {
    name: "",
    source: "",
    sheet: DataSheet {
        sequential_read: None,
        sequential_write: None,
        random_read: None,
        random_write: None,
        read_alone: None,
        write_alone: None,
        cache: NO_CACHE,
    },
    dies_per_channel: 2,
    // Share that gives a write amplification of 4.20 under uniform random writes, as measured with
    // the 960 GB drive (SSD-iq, VLDB 2025). For comparison, 960 GB of 1024 GiB leave 12.7 %.
    over_provisioning_ppm: 145_000,
    planes: 2,
    read_groups: 2,
    // 512 Gbit: 32 GiB in each plane, in flash pages of 16 KiB; a block has 128 layers of 4 strings
    // and 3 bits.
    blocks_per_plane: 1365,
    pages_per_plane_block: 1536,
    // 45 µs on average (ISSCC 2019); the differences between the types are our choice.
    reads: [38, 45, 52, 0],
    one_shot: true,
    program_mb_per_second: 0.0,
    // "More than 3.5 ms" (AERO, ASPLOS 2024).
    erase: 5_000,
    channel_mb_per_second: 1_200.0,
    link_mb_per_second: 6_900,
    commands_per_second: 1_100_000.0,
    read_alone: 80,
    write_alone: 20,
    buffer_mib: 64,
    drive_writes_per_day: 1.0,
    slc: None,
};

/// Values that the drives with Micron's TLC of 176 layers have in common.
const TLC_176: Row = Row {
    planes: 4,
    read_groups: 2,
    over_provisioning_ppm: 190_000,
    // 512 Gbit: 16 GiB in each plane, and spare; a block has 176 layers of 4 strings and 3 bits.
    blocks_per_plane: 516,
    pages_per_plane_block: 2112,
    reads: [42, 50, 58, 0],
    channel_mb_per_second: 1_600.0,
    link_mb_per_second: 6_800,
    commands_per_second: 1_000_000.0,
    write_alone: 15,
    ..TLC
};

/// Values that the drives with QLC have in common.
pub(super) const QLC: Row = Row {
    planes: 4,
    read_groups: 4,
    // 1 Tbit: 32 GiB in each plane; a block has 144 layers of 4 strings and 4 bits.
    blocks_per_plane: 910,
    pages_per_plane_block: 2304,
    reads: [60, 75, 90, 115],
    one_shot: false,
    link_mb_per_second: 7_000,
    commands_per_second: 971_000.0,
    read_alone: 108,
    write_alone: 13,
    drive_writes_per_day: 0.58,
    ..TLC
};

/// Values that the client drives have in common.
const CLIENT: Row = Row {
    // 32 dies in either capacity: 16 could not sustain its writes when the cache is full.
    dies_per_channel: 4,
    program_mb_per_second: 62.5,
    link_mb_per_second: 7_000,
    commands_per_second: 1_000_000.0,
    // 22,000 reads and 60,000 writes per second, one at a time.
    read_alone: 45,
    write_alone: 17,
    drive_writes_per_day: 0.33,
    ..TLC
};

const ROWS: [Row; 12] = [
    Row {
        name: "pm9a3-960",
        source: "Samsung PM9A3 960 GB (PCIe 4, TLC of 128 layers): data sheet; sensing as at ISSCC 2019, programs as its sequential writes need; 80 and 20 us alone are our assumption",
        sheet: DataSheet {
            sequential_read: used(6_500.0),
            sequential_write: used(1_500.0),
            random_read: rated(580_000.0),
            random_write: rated(70_000.0),
            ..TLC.sheet
        },
        program_mb_per_second: 93.8,
        link_mb_per_second: 6_500,
        ..TLC
    },
    Row {
        name: "pm9a3-3840",
        source: "Samsung PM9A3 3.84 TB: as pm9a3-960; all dies program at the rate of its sequential writes, which power limits",
        sheet: DataSheet {
            sequential_read: used(6_900.0),
            sequential_write: used(4_100.0),
            random_read: used(1_000_000.0),
            random_write: rated(180_000.0),
            ..TLC.sheet
        },
        dies_per_channel: 8,
        program_mb_per_second: 64.1,
        commands_per_second: 1_000_000.0,
        buffer_mib: 256,
        ..TLC
    },
    Row {
        name: "7450-960",
        source: "Micron 7450 PRO 960 GB (PCIe 4, TLC of 176 layers): data sheet; sensing of 50 us on average is our assumption, programs as its sequential writes need, two groups of planes as its random reads need, spare as the write amplification of 3.19 needs that was measured with it (SSD-iq, VLDB 2025)",
        sheet: DataSheet {
            sequential_read: used(6_800.0),
            sequential_write: used(1_400.0),
            random_read: used(530_000.0),
            random_write: rated(85_000.0),
            read_alone: used(80.0),
            write_alone: used(15.0),
            ..TLC.sheet
        },
        program_mb_per_second: 87.5,
        ..TLC_176
    },
    Row {
        name: "7450-3840",
        source: "Micron 7450 PRO 3.84 TB: as 7450-960",
        sheet: DataSheet {
            sequential_read: used(6_800.0),
            sequential_write: used(5_300.0),
            random_read: used(1_000_000.0),
            random_write: rated(180_000.0),
            read_alone: used(80.0),
            write_alone: used(15.0),
            ..TLC.sheet
        },
        dies_per_channel: 8,
        program_mb_per_second: 82.8,
        buffer_mib: 256,
        ..TLC_176
    },
    Row {
        name: "p5520-1920",
        source: "Solidigm D7-P5520 1.92 TB (PCIe 4, TLC of 144 layers): data sheet; dies of 512 Gbit in four planes and sensing of 45 us on average are our assumption",
        sheet: DataSheet {
            sequential_read: used(5_300.0),
            sequential_write: used(1_900.0),
            random_read: used(700_000.0),
            random_write: rated(114_000.0),
            read_alone: used(75.0),
            write_alone: used(15.0),
            ..TLC.sheet
        },
        dies_per_channel: 4,
        planes: 4,
        blocks_per_plane: 630,
        pages_per_plane_block: 1728,
        program_mb_per_second: 59.4,
        link_mb_per_second: 5_300,
        commands_per_second: 700_000.0,
        read_alone: 75,
        write_alone: 15,
        buffer_mib: 128,
        ..TLC
    },
    Row {
        name: "pe8110-960",
        source: "SK hynix PE8110 960 GB (PCIe 4, TLC of 128 layers): data sheet; dies, sensing and spare as pm9a3-960",
        sheet: DataSheet {
            sequential_read: used(6_500.0),
            sequential_write: used(1_700.0),
            random_read: used(900_000.0),
            random_write: rated(70_000.0),
            read_alone: used(75.0),
            ..TLC.sheet
        },
        program_mb_per_second: 106.3,
        link_mb_per_second: 6_500,
        commands_per_second: 900_000.0,
        read_alone: 75,
        ..TLC
    },
    Row {
        name: "wd-960",
        source: "a WD data-centre drive of 960 GB (PCIe 3, TLC): data sheet; dies, sensing and spare as pm9a3-960",
        sheet: DataSheet {
            sequential_read: used(3_330.0),
            sequential_write: used(1_190.0),
            random_read: used(434_000.0),
            random_write: rated(49_000.0),
            read_alone: used(78.0),
            ..TLC.sheet
        },
        program_mb_per_second: 74.4,
        link_mb_per_second: 3_330,
        commands_per_second: 434_000.0,
        read_alone: 78,
        drive_writes_per_day: 0.8,
        ..TLC
    },
    Row {
        name: "cm7r-3840",
        source: "Kioxia CM7-R 3.84 TB (PCIe 5, TLC of 112 layers): data sheet; dies, sensing and spare as pm9a3-960",
        sheet: DataSheet {
            sequential_read: used(14_000.0),
            sequential_write: used(6_750.0),
            random_read: used(2_700_000.0),
            random_write: rated(310_000.0),
            ..TLC.sheet
        },
        dies_per_channel: 8,
        program_mb_per_second: 105.5,
        channel_mb_per_second: 2_400.0,
        link_mb_per_second: 14_000,
        commands_per_second: 2_700_000.0,
        buffer_mib: 256,
        ..TLC
    },
    Row {
        name: "p5430-7680",
        source: "Solidigm D5-P5430 7.68 TB (PCIe 4, QLC): dies of 1 Tbit, sensing and programs as Intel's QLC of 144 layers at ISSCC 2021; its data sheet was not at hand",
        sheet: DataSheet {
            sequential_read: used(7_000.0),
            random_read: used(971_000.0),
            read_alone: used(108.0),
            write_alone: used(13.0),
            ..TLC.sheet
        },
        dies_per_channel: 8,
        program_mb_per_second: 40.0,
        buffer_mib: 256,
        ..QLC
    },
    Row {
        name: "p5430-15360",
        source: "Solidigm D5-P5430 15.36 TB: as p5430-7680; all dies program at the rate of its sequential writes, which power limits",
        sheet: DataSheet {
            sequential_read: used(7_000.0),
            sequential_write: used(3_000.0),
            random_read: used(971_000.0),
            random_write: rated(120_000.0),
            read_alone: used(108.0),
            write_alone: used(13.0),
            ..TLC.sheet
        },
        dies_per_channel: 16,
        program_mb_per_second: 23.4,
        buffer_mib: 512,
        ..QLC
    },
    Row {
        name: "980pro-1000",
        source: "Samsung 980 PRO 1 TB (PCIe 4, TLC of 128 layers): data sheet and the SLC cache as reviews measured it, 114 GB of which 6 GB are fixed; dies of 256 Gbit with the sensing of pm9a3-960; 25 us for a page in SLC mode and folding after 100 ms without commands are our assumption",
        sheet: DataSheet {
            sequential_read: used(7_000.0),
            sequential_write: used(5_000.0),
            random_read: used(1_000_000.0),
            write_alone: used(17.0),
            cache: CacheSheet {
                write_behind: used(2_000.0),
                // Measured by a review over the whole drive.
                fill: rated(1_900.0),
                random_write: used(1_000_000.0),
                read_alone: used(45.0),
            },
            ..TLC.sheet
        },
        over_provisioning_ppm: 90_800,
        // 256 Gbit: 16 GiB in each plane.
        blocks_per_plane: 683,
        slc: Some(SlcRow { read: 25, program_mb_per_second: 156.3, most: 212, fixed: 11 }),
        ..CLIENT
    },
    Row {
        name: "980pro-2000",
        source: "Samsung 980 PRO 2 TB: as 980pro-1000, with dies of 512 Gbit; the size of its cache, 226 GB of which 10 GB are fixed, and its writes behind it are from second sources",
        sheet: DataSheet {
            sequential_read: used(7_000.0),
            sequential_write: used(5_100.0),
            random_read: used(1_000_000.0),
            write_alone: used(17.0),
            cache: CacheSheet {
                write_behind: used(2_000.0),
                fill: None,
                random_write: used(1_000_000.0),
                read_alone: used(45.0),
            },
            ..TLC.sheet
        },
        over_provisioning_ppm: 90_300,
        slc: Some(SlcRow { read: 25, program_mb_per_second: 159.4, most: 421, fixed: 19 }),
        ..CLIENT
    },
];

/// Names of these drives, in their order.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| row.name)
}

/// Source of the figures of a drive.
pub(super) fn source(name: &str) -> Option<&'static str> {
    ROWS.iter().find(|row| row.name == name).map(|row| row.source)
}

/// Figures in the data sheet of a drive.
pub(super) fn data_sheet(name: &str) -> Option<DataSheet> {
    let of_fitted = name.strip_suffix(UNFITTED);
    let mut sheet = ROWS.iter().find(|row| row.name == of_fitted.unwrap_or(name))?.sheet;
    if fitted::is_fitted(name) {
        // The fit has replaced the parameters that these figures set.
        let figures = [&mut sheet.sequential_write, &mut sheet.read_alone, &mut sheet.write_alone];
        for figure in figures.into_iter().flatten() {
            figure.was_used = false;
        }
    }
    Some(sheet)
}

/// The drive called `name`.
pub(super) fn preset(name: &str) -> Option<Config> {
    unfitted(name).map(fitted::apply)
}

/// The drive called `name`, from its data sheet alone.
pub(super) fn unfitted(name: &str) -> Option<Config> {
    ROWS.iter().find(|row| row.name == name).map(build)
}

/// Time to move `bytes` at `mb_per_second` MB/s.
pub(super) fn at_rate(bytes: f64, mb_per_second: f64) -> Duration {
    Duration::from_nanos(libm::round(bytes * 1e3 / mb_per_second) as u64)
}

fn cells(row: &Row, transfer: Duration) -> CellConfig {
    let bits = row.reads.iter().filter(|&&read| read > 0).count() as u32;
    let mut cells = CellConfig {
        page_types: [PageTime::default(); PAGE_TYPES_MAX],
        bits,
        blocks_per_page: BLOCKS_PER_PAGE,
        planes: row.planes,
        one_shot: row.one_shot,
        read_groups: row.read_groups,
        slc: None,
    };
    let unit = f64::from(cells.unit_pages()) * f64::from(LOGICAL_BLOCK_BYTES);
    // The program rate of a die includes moving its data in.
    let moved = transfer * u64::from(cells.unit_pages());
    let unit_time = at_rate(unit, row.program_mb_per_second).saturating_sub(moved);
    let types_at_once = if row.one_shot { u64::from(bits) } else { 1 };
    for (page, &read) in cells.page_types.iter_mut().zip(&row.reads) {
        let (read, program) = (Duration::from_micros(read), unit_time / types_at_once);
        *page = if read.is_zero() { PageTime::default() } else { PageTime { read, program } };
    }
    cells.slc = row.slc.map(|slc| {
        let unit = f64::from(cells.row_pages()) * f64::from(LOGICAL_BLOCK_BYTES);
        let moved = transfer * u64::from(cells.row_pages());
        SlcCacheConfig {
            page: PageTime {
                read: Duration::from_micros(slc.read),
                program: at_rate(unit, slc.program_mb_per_second).saturating_sub(moved),
            },
            most_blocks: slc.most,
            fixed_blocks: slc.fixed,
            fold_after: Duration::from_millis(100),
            low_blocks: 0,
            overflow: SlcOverflow::Bypass,
        }
    });
    cells
}

pub(super) fn build(row: &Row) -> Config {
    let transfer = at_rate(f64::from(LOGICAL_BLOCK_BYTES), row.channel_mb_per_second);
    let cells = cells(row, transfer);
    let geometry = Geometry {
        channels: CHANNELS,
        chips_per_channel: row.dies_per_channel,
        planes_per_chip: 1,
        blocks_per_plane: row.blocks_per_plane,
        pages_per_block: row.pages_per_block(),
        page_bytes: LOGICAL_BLOCK_BYTES,
        scaled_down: BLOCK_SHARE,
    };
    let link = row.link_mb_per_second * 1_000_000;
    let on_link = at_rate(f64::from(LOGICAL_BLOCK_BYTES), row.link_mb_per_second as f64);
    let command = Duration::from_nanos((1e9 / row.commands_per_second) as u64);
    let command = command.saturating_sub(on_link);
    let sensed = cells.slc.map_or(cells.mean_read(), |slc| slc.page.read);
    let read = sensed + transfer + on_link + command;
    let timing = Timing {
        read: cells.mean_read(),
        program: cells.mean_program(),
        // The time of an erase per page stays unchanged.
        erase: Duration::from_micros(row.erase) / u64::from(BLOCK_SHARE),
        blocks_per_erase: 1,
        transfer,
        pcie_bytes_per_second: Some(link),
        fail_fast: Duration::from_micros(1),
        busy_time_step: Duration::ZERO,
        read_overhead: Duration::from_micros(row.read_alone).saturating_sub(read),
        command,
        write_command: Duration::ZERO,
    };
    let percent = Ratio::from_percent;
    let superblocks = |count: u32| {
        Ratio::from_parts_per_million((count * 1_000_000).div_ceil(row.blocks_per_plane))
    };
    Config {
        name: String::from(row.name),
        geometry,
        timing,
        over_provisioning: Ratio::from_parts_per_million(row.over_provisioning_ppm),
        cells: Some(cells),
        // Superblocks on all dies, with few of them free: the spare flash serves collection.
        collection: CollectionConfig {
            unit: CollectionUnit::Line,
            blocking: Blocking::Die,
            trigger: CollectionTrigger::FreeSpace,
            soft: superblocks(8),
            hard: superblocks(2),
            restore: superblocks(10),
            min_invalid: Ratio::ZERO,
            per_channel: 0,
            copyback: false,
            static_wear_leveling: 0,
            untimed: Untimed::Nothing,
        },
        ranges: RangeConfig::ONE,
        allocation: Allocation::NextDie,
        // The times and the number of suspensions are our choice; vendors do not publish theirs.
        scheduling: SchedulingConfig {
            read_priority: true,
            preemptive_collection: true,
            preemption_scope: PreemptionScope::Die,
            paced_writes: true,
            turns: None,
            in_order_when_full: false,
            suspension: Some(SuspensionConfig {
                what: Suspendable::Everything,
                program: Duration::from_micros(20),
                erase: Duration::from_micros(40),
                most: 20,
                pulses: PulseConfig::NONE,
            }),
        },
        queue: None,
        retry: None,
        scrub: None,
        contract: ContractConfig {
            valid_ratio: 0.75,
            burst_bytes_per_second: f64::from(CHANNELS * row.dies_per_channel)
                * row.program_mb_per_second
                * 1e6,
            drive_writes_per_day: row.drive_writes_per_day,
            usable_share: 0.05,
            is_assumed: true,
        },
        // Protected against power loss: acknowledged data is safe.
        write_buffer: Some(WriteBufferConfig {
            pages: row.buffer_mib * (1 << 20) / LOGICAL_BLOCK_BYTES,
            latency: Duration::from_micros(row.write_alone)
                .saturating_sub(on_link + command)
                .max(Duration::from_micros(1)),
            flush: FlushRule::WhenFull,
            high: percent(10),
            low: percent(2),
            reopens: Ratio::ONE,
        }),
        rain: None,
    }
}
