//! What a drive is made of.

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

/// How long things take (IODA Table 2, first segment).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// `t_r`: sensing a page.
    pub read: Duration,
    /// `t_w`: programming a page.
    pub program: Duration,
    /// `t_e`: erasing a block.
    pub erase: Duration,
    /// Blocks of a die that one operation erases, 1 or more. With `N`, each `N`th erase of a die takes
    /// `N` times `erase`, and the others take no time. A block of a drive that is scaled down is a
    /// part of a block of the flash.
    pub blocks_per_erase: u32,
    /// `t_cpt`: moving one page over its channel.
    pub transfer: Duration,
    /// `B_pcie`: bytes per second and direction between host and drive; none for no limit.
    pub pcie_bytes_per_second: Option<u64>,
    /// From the arrival of a command to its fast failure (IODA §4.2.1: 1 µs over PCIe).
    pub fail_fast: Duration,
    /// Step to which the busy remaining time of a fast failure is rounded up, so that it tells less
    /// of the inside of the drive (IODA §7.3); zero for the exact time.
    pub busy_time_step: Duration,
    /// What the controller and its firmware add to a read of flash. It keeps nothing busy.
    pub read_overhead: Duration,
    /// For how long a command keeps the link to the host busy besides its data, in its direction:
    /// the inverse of the most commands per second. Needs a PCIe bandwidth.
    pub command: Duration,
    /// For how long the firmware takes in a write, one after the other.
    pub write_command: Duration,
}

/// What is collected at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CollectionUnit {
    /// One block of one die.
    Block,
    /// A line: the blocks of the same number on every die (a superblock).
    Line,
}

/// What a collection keeps the host from using (TTFLASH Figure 3).
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

/// What lets a drive look whether a collection is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CollectionTrigger {
    /// Whatever changes free space or the right to collect: a window that opens, a collection that
    /// ends.
    FreeSpace,
    /// A command of the host, and nothing else: the public IODA artifact tries to collect after it
    /// has served one, a line at most. A host that hands out the right to collect (tokens,
    /// Harmonia, Rails) has commanded it by that.
    HostCommand,
}

/// Garbage collection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CollectionConfig {
    /// What is collected at a time.
    pub unit: CollectionUnit,
    /// What it keeps the host from using.
    pub blocking: Blocking,
    /// What lets the drive look whether one is due.
    pub trigger: CollectionTrigger,
    /// Soft watermark: collect when no more than this share of the blocks is free.
    pub soft: Ratio,
    /// Hard watermark: host writes stall when no more than this share of the blocks is free.
    pub hard: Ratio,
    /// In its busy window, collect until more than this share of the blocks is free: the "certain
    /// level" that rule 1 of IODA §4.3.1 speaks of. At least the soft watermark.
    pub restore: Ratio,
    /// Above the hard watermark, leave a victim alone that has less than this share invalid.
    pub min_invalid: Ratio,
    /// Collections that run on one channel at once; 0 for any number. The public code of TTFLASH
    /// runs one.
    pub per_channel: u32,
    /// Pages are copied within their die, without crossing the channel and its error correction
    /// (TTFLASH §4.1).
    pub copyback: bool,
    /// Erases that the least erased free block of a die may have more than the least erased block
    /// there that holds data, before those data count as cold and move to the most erased free
    /// block (static wear leveling). Lines of the drive where lines are collected. 0 for never.
    pub static_wear_leveling: u32,
    /// What takes no time at all: the drives that policies are measured against.
    pub untimed: Untimed,
}

/// Where the pages of a range of logical blocks lie.
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
    /// Which dies they have.
    pub placement: RangePlacement,
}

impl RangeConfig {
    /// One range: the whole drive.
    pub const ONE: Self = Self { count: 1, placement: RangePlacement::Channels };
}

/// Which die a page of the host goes to, on a drive without RAIN; with RAIN stripes say that.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Allocation {
    /// The next one that has room, whatever the page.
    NextDie,
    /// The one that its number says: consecutive pages lie on consecutive channels, and then on the
    /// next die of each (static allocation in SSDSim).
    Static,
}

/// What may be interrupted for reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Suspendable {
    /// Any program or erase, also those of the host.
    Everything,
    /// Any program, also those of the host. Erases go on to their end.
    Programs,
    /// Programs and erases of a collection (IODA §6.2.5: "a GC write/erase"). Reads need no
    /// priority for that: what the host sent before them is served before them.
    Collection,
}

/// Interrupting programs and erases for reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SuspensionConfig {
    /// What may be interrupted.
    pub what: Suspendable,
    /// Time to suspend a program, and again to resume it.
    pub program: Duration,
    /// Time to suspend an erase, and again to resume it.
    pub erase: Duration,
    /// Most suspensions of one operation, so that it ends. An erase in pulses has no such limit: it
    /// goes on for a pulse after each.
    pub most: u32,
    /// Where in an operation it can be suspended.
    pub pulses: PulseConfig,
}

impl SuspensionConfig {
    /// Time to suspend a program unless it is set: our choice.
    pub const USUAL_PROGRAM: Duration = Duration::from_micros(10);
    /// Time to suspend an erase unless it is set, and where erases are not suspended: our choice.
    pub const USUAL_ERASE: Duration = Duration::from_micros(100);

    /// Suspends programs only. Times and pulses of erases become those of a drive that sets none.
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
/// behind each, and suspends between two of them (Kim et al., "Practical erase suspension for modern
/// low-latency SSDs", ATC 2019).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PulseConfig {
    /// Length of a pulse of a program, its check included; zero if a program stops at once.
    pub program: Duration,
    /// Length of a pulse of an erase; zero if an erase stops at once.
    pub erase: Duration,
    /// Least time for which a die goes on between two suspensions.
    pub apart: Duration,
}

impl PulseConfig {
    /// Suspension at any time.
    pub const NONE: Self =
        Self { program: Duration::ZERO, erase: Duration::ZERO, apart: Duration::ZERO };
}

/// Whose commands a preemptive collection gives way to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PreemptionScope {
    /// Those that wait for its die.
    Die,
    /// Those that wait for any die of its channel, and reads that are in service there: a
    /// collection goes on only while its channel has no queue (SSDSim).
    Channel,
}

/// Collections and the host in turns of many pages, on all dies at the same time. In the turn of the
/// host collections stand still until it has programmed what they gave back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TurnConfig {
    /// Most pages that each die moves in a turn of collections.
    pub most_pages: u32,
    /// Least of these pages. A turn of the host that ends while writes wait for room in the buffer
    /// halves the turn of collections after it; one that ends otherwise makes it longer by a quarter.
    pub least_pages: u32,
}

/// What may overtake what on a die.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SchedulingConfig {
    /// Reads are served before the writes that wait with them.
    pub read_priority: bool,
    /// The host is served between the page operations of a collection, above the hard watermark.
    pub preemptive_collection: bool,
    /// While a die collects, programs of the host take turns with it in proportion to what it gives
    /// back, so that neither free space nor the host runs dry; without it they wait for its end, or
    /// go first if collection is preemptive. Reads are not affected.
    pub paced_writes: bool,
    /// Turns of many pages, of a drive with paced writes; `None` if each die takes turns by itself,
    /// one program at a time.
    pub turns: Option<TurnConfig>,
    /// While writes wait for room in the buffer, reads neither overtake nor suspend programs.
    pub in_order_when_full: bool,
    /// Whose commands those are.
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

/// Which of the commands that wait for a slot of the drive comes next (NVMe Base 2.0, §3.4.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arbitration {
    /// The one that came first: all are in one submission queue.
    OneQueue,
    /// Reads and writes have queues of their own, which take turns.
    RoundRobin,
    /// Each submitter has a queue of its own, for reads and writes; the queues take turns. Linux
    /// gives each CPU a queue.
    Submitters,
    /// Reads and writes have queues of their own, which send so many in their turn.
    Weighted {
        /// Commands of the queue of reads.
        reads: u32,
        /// Commands of the queue of writes.
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
    /// Which of the others comes next.
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

/// Checking pages that were copied within their die, past error correction, in idle time (TTFLASH
/// §7).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScrubConfig {
    /// A die that has been idle for this long begins to check.
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
    /// The drive is on sale without the contract, and the model assumes other firmware.
    pub is_assumed: bool,
}

/// When a write buffer is flushed (IODA ToS §7.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlushRule {
    /// Whenever the buffer fills up to its high mark, down to its low mark.
    WhenFull,
    /// In the busy window, all of it; outside of it only what writes need that find it full. A
    /// drive without windows flushes as by [`FlushRule::WhenFull`].
    InWindow,
}

/// DRAM in the drive that acknowledges writes before they are on flash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WriteBufferConfig {
    /// Capacity in pages.
    pub pages: u32,
    /// Time to acknowledge a write that is in the buffer, or to read a page from it.
    pub latency: Duration,
    /// When it is flushed.
    pub flush: FlushRule,
    /// Share of the capacity in use at which a free-running flush starts.
    pub high: Ratio,
    /// Dirty share of the capacity at which it stops.
    pub low: Ratio,
    /// Share of the capacity in use at which a full buffer takes in writes again; 100 % for as soon
    /// as a slot is free.
    pub reopens: Ratio,
}

impl WriteBufferConfig {
    /// A buffer of `pages` that is flushed from 80 % to 20 % when it fills up, and takes 5 µs.
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
        // A host that goes on when it is answered would go on for ever without time passing.
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
    /// How long things take.
    pub timing: Timing,
    /// `R_p`: share of the flash that the host does not see.
    pub over_provisioning: Ratio,
    /// Pages that share cells and planes, if many are programmed at a time; instead of
    /// `timing.read` and `timing.program`.
    pub cells: Option<CellConfig>,
    /// Garbage collection.
    pub collection: CollectionConfig,
    /// Ranges of logical blocks.
    pub ranges: RangeConfig,
    /// Which die a page goes to.
    pub allocation: Allocation,
    /// What may overtake what.
    pub scheduling: SchedulingConfig,
    /// Commands that the drive works on at a time; none for as many as come. Others wait for a
    /// slot.
    pub queue: Option<QueueConfig>,
    /// How often pages have to be sensed again, if at all.
    pub retry: Option<RetryConfig>,
    /// Checking of copied pages in idle time, if there is any.
    pub scrub: Option<ScrubConfig>,
    /// The terms of the window contract.
    pub contract: ContractConfig,
    /// The write buffer, if there is one.
    pub write_buffer: Option<WriteBufferConfig>,
    /// Parity within the drive, if there is any.
    pub rain: Option<RainConfig>,
}

/// Most dies a drive may have.
pub(crate) const DIES_MAX: u32 = 4096;
/// Most blocks that one operation may erase.
pub(crate) const BLOCKS_PER_ERASE_MAX: u32 = 1 << 10;
/// Most pages a block may have.
pub(crate) const PAGES_PER_BLOCK_MAX: u32 = 1 << 16;

impl Config {
    /// The real drive, of which this one is a part.
    #[must_use]
    pub fn whole(&self) -> Self {
        let mut whole = self.clone();
        let factor = core::mem::replace(&mut whole.geometry.scaled_down, 1);
        whole.geometry.pages_per_block *= factor;
        whole.timing.erase = whole.timing.erase * u64::from(factor);
        whole.timing.blocks_per_erase = (whole.timing.blocks_per_erase / factor).max(1);
        whole
    }

    /// Pages that the drive keeps: those that the host sees and their parity.
    #[must_use]
    pub fn stored_pages(&self) -> u64 {
        let pages = self.geometry.pages();
        let stored = pages - self.over_provisioning.of(pages);
        // With RAIN every die has one page of each stripe of its group.
        let dies = u64::from(self.geometry.dies());
        if self.rain.is_some() { stored / dies * dies } else { stored }
    }

    /// About the memory that a simulated drive takes: both maps between logical and flash pages,
    /// and what ageing adds.
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
