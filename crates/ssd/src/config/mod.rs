//! Configuration of a drive: geometry, times, collection, scheduling, buffer and contract.

mod error;
mod parts;
mod validate;

pub use error::ConfigError;
pub(crate) use error::refuse;

use crate::cells::CellConfig;
use crate::rain::RainConfig;
use crate::retry::RetryConfig;
use alloc::format;
use alloc::string::String;
use nvme::Untimed;
use units::{Duration, Ratio};

/// The arrangement of the flash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Geometry {
    /// Channels, each a shared bus.
    pub channels: u32,
    /// Chips on each channel; a chip is a die here, the unit that works on one operation at a time.
    pub chips_per_channel: u32,
    /// Planes in a chip. Planes multiply the blocks of their die.
    pub planes_per_chip: u32,
    /// Blocks in a plane.
    pub blocks_per_plane: u32,
    /// Pages in a block.
    pub pages_per_block: u32,
    /// Bytes in a page; also the logical block of the drive.
    pub page_bytes: u32,
    /// Factor by which blocks of the real drive have more pages and longer erases; 1 for a drive
    /// that is simulated whole.
    pub scaled_down: u32,
}

impl Geometry {
    /// Dies in the drive.
    #[must_use]
    pub fn dies(&self) -> u32 {
        self.channels * self.chips_per_channel
    }

    /// Blocks in a die.
    #[must_use]
    pub fn blocks_per_die(&self) -> u32 {
        self.planes_per_chip * self.blocks_per_plane
    }

    /// Pages in the drive.
    #[must_use]
    pub fn pages(&self) -> u64 {
        u64::from(self.dies()) * u64::from(self.blocks_per_die()) * u64::from(self.pages_per_block)
    }

    /// `S_t`: bytes of flash in the drive.
    #[must_use]
    pub fn raw_bytes(&self) -> u64 {
        self.pages() * u64::from(self.page_bytes)
    }
}

/// Times of operations (IODA Table 2, first segment).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// `t_r`: time to sense a page.
    pub read: Duration,
    /// `t_w`: time to program a page.
    pub program: Duration,
    /// `t_e`: time to erase a block.
    pub erase: Duration,
    /// Blocks of a die that one operation erases, 1 or more. With `N`, each `N`th erase of a die
    /// takes `N` times `erase`, and the others take no time. A block of a drive that is scaled down
    /// is a part of a block of the flash.
    pub blocks_per_erase: u32,
    /// `t_cpt`: time to move one page over its channel.
    pub transfer: Duration,
    /// `B_pcie`: bytes per second and direction between host and drive; `None` for no limit.
    pub pcie_bytes_per_second: Option<u64>,
    /// Time from the arrival of a command to its fast failure (IODA §4.2.1: 1 µs over PCIe).
    pub fail_fast: Duration,
    /// Step to which the busy remaining time of a fast failure is rounded up, so that it reveals
    /// less of the inside of the drive (IODA §7.3); zero for the exact time.
    pub busy_time_step: Duration,
    /// Time that the controller and its firmware add to a read of flash. It occupies no die,
    /// channel or link.
    pub read_overhead: Duration,
    /// Time for which a command occupies the link to the host in its direction, besides its data:
    /// the inverse of the highest command rate. Needs a PCIe bandwidth.
    pub command: Duration,
    /// Time of the firmware to accept a write; it accepts one write after the other.
    pub write_command: Duration,
}

/// Unit of a collection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CollectionUnit {
    /// One block of one die.
    Block,
    /// A line: the blocks of the same number on every die (a superblock).
    Line,
}

/// Part of the drive that a collection keeps the host from using (TTFLASH Figure 3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Blocking {
    /// The whole drive.
    Controller,
    /// Every die on the channel.
    Channel,
    /// Every die on the channel while pages are copied; the erase holds its own die only, because
    /// nothing crosses the channel then (SSDSim).
    ChannelForCopies,
    /// The die that is collected.
    Die,
}

impl Blocking {
    /// Dies that one collection keeps from the host when it begins.
    #[must_use]
    pub fn held_dies(self, geometry: &Geometry) -> u32 {
        match self {
            Self::Controller => geometry.dies(),
            Self::Channel | Self::ChannelForCopies => geometry.chips_per_channel,
            Self::Die => 1,
        }
    }
}

/// Event at which a drive checks whether a collection is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CollectionTrigger {
    /// Any change of free space or of the right to collect: a window opens, a collection ends.
    FreeSpace,
    /// A command of the host, and nothing else: the public IODA artifact tries to collect after
    /// each command, at most one line. A grant of the right to collect (tokens, Harmonia, Rails)
    /// counts as a command to collect.
    HostCommand,
}

/// Garbage collection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CollectionConfig {
    /// Unit of a collection.
    pub unit: CollectionUnit,
    /// Part of the drive that a collection keeps the host from using.
    pub blocking: Blocking,
    /// Event at which the drive checks whether a collection is due.
    pub trigger: CollectionTrigger,
    /// Soft watermark: collect when no more than this share of the blocks is free.
    pub soft: Ratio,
    /// Hard watermark: host writes stall when no more than this share of the blocks is free.
    pub hard: Ratio,
    /// In its busy window, collect until more than this share of the blocks is free: the "certain
    /// level" of rule 1 in IODA §4.3.1. At least the soft watermark.
    pub restore: Ratio,
    /// Least share of invalid pages of a victim above the hard watermark.
    pub min_invalid: Ratio,
    /// Collections that run on one channel at once; 0 for any number. The public code of TTFLASH
    /// runs one.
    pub per_channel: u32,
    /// Pages are copied within their die, without crossing the channel and its error correction
    /// (TTFLASH §4.1).
    pub copyback: bool,
    /// Static wear leveling: most erases by which the least erased free block of a die may exceed
    /// its least erased block with data. Beyond that, these data count as cold and move to the most
    /// erased free block. Counts lines of the drive where lines are collected. 0 for no leveling.
    pub static_wear_leveling: u32,
    /// Work that takes no time, for the ideal drives that policies are measured against.
    pub untimed: Untimed,
}

/// Placement of the pages of a range of logical blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RangePlacement {
    /// Each range on channels of its own.
    Channels,
    /// Each range on chips of its own, some on every channel.
    Chips,
}

/// Ranges of logical blocks with dies of their own (as NVM sets have), so that one can be collected
/// while the others are not (IODA §7.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RangeConfig {
    /// Number of ranges, of equal size; 1 for none.
    pub count: u32,
    /// Placement of the ranges on dies.
    pub placement: RangePlacement,
}

impl RangeConfig {
    /// One range: the whole drive.
    pub const ONE: Self = Self { count: 1, placement: RangePlacement::Channels };
}

/// Rule that chooses the die for a page of the host on a drive without RAIN. With RAIN, the stripes
/// determine the die.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Allocation {
    /// The next die with room, for any page.
    NextDie,
    /// The die that the number of the page determines: consecutive pages lie on consecutive
    /// channels, and then on the next die of each (static allocation in SSDSim).
    Static,
}

/// Operations that may be interrupted for reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Suspendable {
    /// Any program or erase, also those of the host.
    Everything,
    /// Any program, also those of the host. Erases run to their end.
    Programs,
    /// Programs and erases of a collection (IODA §6.2.5: "a GC write/erase"). Reads need no
    /// priority for that: earlier commands of the host are still served before them.
    Collection,
}

/// Interrupting programs and erases for reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SuspensionConfig {
    /// Operations that may be interrupted.
    pub what: Suspendable,
    /// Time to suspend a program, and again to resume it.
    pub program: Duration,
    /// Time to suspend an erase, and again to resume it.
    pub erase: Duration,
    /// Most suspensions of one operation, so that it ends. An erase in pulses has no such limit: it
    /// runs for one pulse after each suspension.
    pub most: u32,
    /// Points of an operation at which it can be suspended.
    pub pulses: PulseConfig,
}

impl SuspensionConfig {
    /// Default time to suspend a program: our choice.
    pub const USUAL_PROGRAM: Duration = Duration::from_micros(10);
    /// Default time to suspend an erase, also where erases are not suspended: our choice.
    pub const USUAL_ERASE: Duration = Duration::from_micros(100);

    /// Restricts suspension to programs. Times and pulses of erases return to their defaults.
    pub fn leave_erases_whole(&mut self) {
        self.what = Suspendable::Programs;
        self.erase = Self::USUAL_ERASE;
        self.pulses.erase = Duration::ZERO;
    }

    /// Whether an operation can be suspended more than once.
    #[must_use]
    pub fn repeats(&self) -> bool {
        self.most > 1 || !self.pulses.erase.is_zero()
    }
}

/// Pulses of programs and erases. Flash programs by a staircase of voltage pulses with a check
/// after each, and suspends between two of them (Kim et al., "Practical erase suspension for modern
/// low-latency SSDs", ATC 2019).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PulseConfig {
    /// Length of a pulse of a program, its check included; zero if a program stops at once.
    pub program: Duration,
    /// Length of a pulse of an erase; zero if an erase stops at once.
    pub erase: Duration,
    /// Least time from a resumption to the next suspension on a die.
    pub apart: Duration,
}

impl PulseConfig {
    /// Suspension at any time.
    pub const NONE: Self =
        Self { program: Duration::ZERO, erase: Duration::ZERO, apart: Duration::ZERO };
}

/// Commands that a preemptive collection gives way to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PreemptionScope {
    /// Commands that wait for its die.
    Die,
    /// Commands that wait for any die of its channel, and reads in service there: a collection
    /// continues only while its channel has no queue (SSDSim).
    Channel,
}

/// Alternation of collections and the host in turns of many pages, on all dies at the same time. In
/// the turn of the host, collections stand still until it has programmed as many pages as they gave
/// back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TurnConfig {
    /// Most pages that each die moves in a turn of collections.
    pub most_pages: u32,
    /// Fewest pages that each die moves in a turn of collections. A turn of the host that ends
    /// while writes wait for room in the buffer halves the next turn of collections; any other
    /// lengthens it by a quarter.
    pub least_pages: u32,
}

/// Rules by which operations overtake each other on a die.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SchedulingConfig {
    /// Reads are served before the writes that wait with them.
    pub read_priority: bool,
    /// The host is served between the page operations of a collection, above the hard watermark.
    pub preemptive_collection: bool,
    /// While a die collects, programs of the host take turns with the collection, in proportion to
    /// the space that it gives back. Neither free space nor the host runs dry. Otherwise programs
    /// wait for the end of the collection, or go first if collection is preemptive. Reads are not
    /// affected.
    pub paced_writes: bool,
    /// Turns of many pages, of a drive with paced writes; `None` if each die takes turns by itself,
    /// one program at a time.
    pub turns: Option<TurnConfig>,
    /// While writes wait for room in the buffer, reads neither overtake nor suspend programs.
    pub in_order_when_full: bool,
    /// Commands that a preemptive collection gives way to.
    pub preemption_scope: PreemptionScope,
    /// Programs and erases are interrupted for reads, above the hard watermark.
    pub suspension: Option<SuspensionConfig>,
}

impl SchedulingConfig {
    /// First come, first served.
    pub const FIRST_COME: Self = Self {
        read_priority: false,
        preemptive_collection: false,
        preemption_scope: PreemptionScope::Die,
        paced_writes: false,
        turns: None,
        in_order_when_full: false,
        suspension: None,
    };
}

/// Order in which commands that wait for a slot of the drive get one (NVMe Base 2.0, §3.4.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arbitration {
    /// First come, first served: all commands are in one submission queue.
    OneQueue,
    /// Reads and writes have queues of their own, which take turns.
    RoundRobin,
    /// Each submitter has a queue of its own, for reads and writes; the queues take turns. Linux
    /// gives each CPU a queue.
    Submitters,
    /// Reads and writes have queues of their own, each with a number of commands per turn.
    Weighted {
        /// Commands that the queue of reads sends in its turn.
        reads: u32,
        /// Commands that the queue of writes sends in its turn.
        writes: u32,
    },
}

impl Arbitration {
    /// Commands that the queues of reads and of writes send in their turn.
    #[must_use]
    pub fn weights(self) -> [u32; 2] {
        match self {
            Self::OneQueue | Self::RoundRobin | Self::Submitters => [1, 1],
            Self::Weighted { reads, writes } => [reads, writes],
        }
    }
}

/// The slots of a drive for commands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueConfig {
    /// Commands that the drive works on at a time.
    pub depth: u32,
    /// Order in which waiting commands get a slot.
    pub arbitration: Arbitration,
}

impl QueueConfig {
    fn validate(self) -> Result<(), ConfigError> {
        if self.depth == 0 {
            return refuse(String::from(
                "queue_depth is 0, so the drive would never work; give it at least 1, or leave it out",
            ));
        }
        if self.arbitration.weights().contains(&0) {
            return refuse(String::from(
                "a weight in queue_arbitration is 0, so that its commands would wait for ever; give both at least 1",
            ));
        }
        Ok(())
    }
}

/// Check in idle time of pages that were copied within their die and so bypassed error correction
/// (TTFLASH §7).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScrubConfig {
    /// Idle time after which a die begins to check.
    pub after: Duration,
}

/// The terms from which a drive computes its busy window (IODA §4.3.3 and Table 2).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ContractConfig {
    /// `R_v`: expected share of valid pages in a victim.
    pub valid_ratio: f64,
    /// `B_burst`: the highest write load in bytes per second.
    pub burst_bytes_per_second: f64,
    /// `N_dwpd`: drive writes per 8-hour day under normal load.
    pub drive_writes_per_day: f64,
    /// The share of the over-provisioned space that may fill in one cycle; see
    /// [`nvme::WindowParameters::usable_share`].
    pub usable_share: f64,
    /// True if drives on sale lack the contract, so that the model assumes other firmware.
    pub is_assumed: bool,
}

/// Rule for flushes of a write buffer (IODA ToS §7.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlushRule {
    /// A flush begins when the buffer fills up to its high mark, and ends at its low mark.
    WhenFull,
    /// The whole buffer is flushed in the busy window. Outside of it only the pages are flushed
    /// whose slots writes need when the buffer is full. A drive without windows follows
    /// [`FlushRule::WhenFull`].
    InWindow,
}

/// DRAM in the drive that acknowledges writes before they are on flash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WriteBufferConfig {
    /// Capacity in pages.
    pub pages: u32,
    /// Time to acknowledge a write that is in the buffer, or to read a page from it.
    pub latency: Duration,
    /// Rule for its flushes.
    pub flush: FlushRule,
    /// Share of the capacity in use at which a free-running flush starts.
    pub high: Ratio,
    /// Dirty share of the capacity at which a free-running flush stops.
    pub low: Ratio,
    /// Share of the capacity in use at which a full buffer takes in writes again; 100 % for as soon
    /// as a slot is free.
    pub reopens: Ratio,
}

impl WriteBufferConfig {
    /// Returns a buffer of `pages` that is flushed from 80 % to 20 % when it fills up, with a
    /// latency of 5 µs.
    #[must_use]
    pub const fn new(pages: u32) -> Self {
        Self {
            pages,
            latency: Duration::from_micros(5),
            flush: FlushRule::WhenFull,
            high: Ratio::from_percent(80),
            low: Ratio::from_percent(20),
            reopens: Ratio::ONE,
        }
    }

    fn validate(&self) -> Result<(), ConfigError> {
        let Self { pages, latency, high, low, reopens, .. } = self;
        if *pages == 0 {
            return refuse(String::from(
                "the write buffer has 0 pages; give it at least 1, or leave it out",
            ));
        }
        // A closed-loop host would run for ever without time passing.
        if latency.is_zero() {
            return refuse(String::from(
                "the write buffer answers in no time; set buffer_latency to at least 1ns",
            ));
        }
        if *high > Ratio::ONE {
            return refuse(format!(
                "the write buffer's flush starts at {high}; it must start at 100% or below"
            ));
        }
        if low >= high {
            return refuse(format!(
                "the write buffer's flush stops at {low}, which must be below where it starts ({high}); raise `high` or lower `low`"
            ));
        }
        if reopens > &Ratio::ONE || reopens < low {
            return refuse(format!(
                "a full write buffer takes in writes again at buffer_reopens, which is {reopens}; it must be between {low}, where the flush stops, and 100%"
            ));
        }
        Ok(())
    }
}

/// A drive.
#[derive(Clone, PartialEq, Debug)]
pub struct Config {
    /// Name of the model.
    pub name: String,
    /// The arrangement of the flash.
    pub geometry: Geometry,
    /// Times of operations.
    pub timing: Timing,
    /// `R_p`: share of the flash that the host does not see.
    pub over_provisioning: Ratio,
    /// Cells and planes of a drive that programs many pages at a time; replaces `timing.read` and
    /// `timing.program`. `None` if it programs one page at a time.
    pub cells: Option<CellConfig>,
    /// Garbage collection.
    pub collection: CollectionConfig,
    /// Ranges of logical blocks.
    pub ranges: RangeConfig,
    /// Rule that chooses the die for a page of the host.
    pub allocation: Allocation,
    /// Rules by which operations overtake each other.
    pub scheduling: SchedulingConfig,
    /// Command slots; `None` for no limit. Commands without a slot wait.
    pub queue: Option<QueueConfig>,
    /// Repeated sensing of pages; `None` if no page is sensed again.
    pub retry: Option<RetryConfig>,
    /// Check of copied pages in idle time; `None` for no check.
    pub scrub: Option<ScrubConfig>,
    /// The terms of the window contract.
    pub contract: ContractConfig,
    /// Write buffer; `None` without one.
    pub write_buffer: Option<WriteBufferConfig>,
    /// Parity within the drive; `None` without it.
    pub rain: Option<RainConfig>,
}

/// Most dies a drive may have.
pub(crate) const DIES_MAX: u32 = 4096;
/// Most blocks that one operation may erase.
pub(crate) const BLOCKS_PER_ERASE_MAX: u32 = 1 << 10;
/// Most pages a block may have.
pub(crate) const PAGES_PER_BLOCK_MAX: u32 = 1 << 16;

impl Config {
    /// The real drive, of which this one is a scaled-down part.
    #[must_use]
    pub fn whole(&self) -> Self {
        let mut whole = self.clone();
        let factor = core::mem::replace(&mut whole.geometry.scaled_down, 1);
        whole.geometry.pages_per_block *= factor;
        whole.timing.erase = whole.timing.erase * u64::from(factor);
        whole.timing.blocks_per_erase = (whole.timing.blocks_per_erase / factor).max(1);
        whole
    }

    /// Pages that hold data: pages that the host sees, and their parity.
    #[must_use]
    pub fn stored_pages(&self) -> u64 {
        let pages = self.geometry.pages();
        let stored = pages - self.over_provisioning.of(pages);
        // With RAIN every die has one page of each stripe of its group.
        let dies = u64::from(self.geometry.dies());
        if self.rain.is_some() { stored / dies * dies } else { stored }
    }

    /// Approximate memory of a simulated drive in bytes: both maps between logical and flash pages,
    /// and the additional memory of ageing.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        4 * (self.geometry.pages() + self.stored_pages()) + 2 * self.geometry.pages()
    }

    /// Logical blocks that the host sees.
    #[must_use]
    pub fn logical_pages(&self) -> u64 {
        let stored = self.stored_pages();
        self.rain.map_or(stored, |rain| stored / u64::from(rain.width) * u64::from(rain.width - 1))
    }

    /// Bytes that the host sees.
    #[must_use]
    pub fn logical_bytes(&self) -> u64 {
        self.logical_pages() * u64::from(self.geometry.page_bytes)
    }

    /// Logical blocks of a range; the last one may have fewer.
    #[must_use]
    pub fn range_pages(&self) -> u64 {
        self.logical_pages().div_ceil(u64::from(self.ranges.count))
    }

    /// Blocks of a die (or lines of the drive) at the soft watermark.
    #[must_use]
    pub fn soft_blocks(&self) -> u32 {
        self.collection.soft.of(u64::from(self.geometry.blocks_per_die())) as u32
    }

    /// Blocks of a die (or lines of the drive) to which a busy window restores free space.
    #[must_use]
    pub fn restore_blocks(&self) -> u32 {
        let blocks = self.collection.restore.of(u64::from(self.geometry.blocks_per_die()));
        self.soft_blocks().max(blocks as u32)
    }

    /// Blocks of a die (or lines of the drive) at the hard watermark.
    #[must_use]
    pub fn hard_blocks(&self) -> u32 {
        self.collection.hard.of(u64::from(self.geometry.blocks_per_die())) as u32
    }

    /// Blocks of a die (or lines of the drive) that serve the cache of SLC blocks even if the drive
    /// is full.
    #[must_use]
    pub fn cache_blocks(&self) -> u32 {
        self.cells.and_then(|cells| cells.slc).map_or(0, |slc| slc.reserved_blocks())
    }

    /// Refuses a drive that could not work.
    ///
    /// # Errors
    ///
    /// The first reason found, naming the setting, its value and the limit.
    pub fn validate(&self) -> Result<(), ConfigError> {
        validate::validate(self)
    }
}
