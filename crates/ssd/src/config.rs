//! What a drive is made of, and which drives cannot exist.

use crate::cells::CellConfig;
use crate::rain::RainConfig;
use crate::retry::RetryConfig;
use alloc::format;
use alloc::string::String;
use core::fmt;
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
    /// Factor by which blocks of the real drive have more pages and longer erases; 1 for a drive that is simulated whole.
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
    /// `t_cpt`: moving one page over its channel.
    pub transfer: Duration,
    /// `B_pcie`: bytes per second and direction between host and drive; none for no limit.
    pub pcie_bytes_per_second: Option<u64>,
    /// From the arrival of a command to its fast failure (IODA §4.2.1: 1 µs over PCIe).
    pub fail_fast: Duration,
    /// What the controller and its firmware add to a read of flash. It keeps nothing busy.
    pub read_overhead: Duration,
    /// For how long a command keeps the link to the host busy besides its data, in its direction: the
    /// inverse of the most commands per second. Needs a PCIe bandwidth.
    pub command: Duration,
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
    /// Every die on the channel while pages are copied; the erase holds its own die only, because nothing
    /// crosses the channel then (SSDSim).
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
    /// Whatever changes free space or the right to collect: a window that opens, a collection that ends.
    FreeSpace,
    /// A command of the host, and nothing else: the public IODA artifact tries to collect after it has
    /// served one, a line at most. A host that hands out the right to collect (tokens, Harmonia, Rails) has
    /// commanded it by that.
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
    /// Pages are copied within their die, without crossing the channel and its error correction
    /// (TTFLASH §4.1).
    pub copyback: bool,
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
    /// The one that its number says: consecutive pages lie on consecutive channels, and then on the next die of
    /// each (static allocation in SSDSim).
    Static,
}

/// What may be interrupted for reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Suspendable {
    /// Any program or erase, also those of the host.
    Everything,
    /// Programs and erases of a collection (IODA §6.2.5: "a GC write/erase"). Reads need no priority for that:
    /// what the host sent before them is served before them.
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
    /// Most suspensions of one operation, so that it ends.
    pub most: u32,
}

/// Whose commands a preemptive collection gives way to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PreemptionScope {
    /// Those that wait for its die.
    Die,
    /// Those that wait for any die of its channel, and reads that are in service there: a collection goes on only
    /// while its channel has no queue (SSDSim).
    Channel,
}

/// What may overtake what on a die.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SchedulingConfig {
    /// Reads are served before the writes that wait with them.
    pub read_priority: bool,
    /// The host is served between the page operations of a collection, above the hard watermark.
    pub preemptive_collection: bool,
    /// While a die collects, programs of the host take turns with it in proportion to what it gives back,
    /// so that neither free space nor the host runs dry; without it they wait for its end, or go first if
    /// collection is preemptive. Reads are not affected.
    pub paced_writes: bool,
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
            Self::OneQueue | Self::RoundRobin => [1, 1],
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

/// Checking pages that were copied within their die, past error correction, in idle time (TTFLASH §7).
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
    /// In the busy window, all of it; outside of it only what writes need that find it full. A drive
    /// without windows flushes as by [`FlushRule::WhenFull`].
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
        }
    }

    fn validate(&self) -> Result<(), ConfigError> {
        let Self { pages, latency, high, low, .. } = self;
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
    /// Pages that share cells and planes, if many are programmed at a time; instead of `timing.read` and
    /// `timing.program`.
    pub cells: Option<CellConfig>,
    /// Garbage collection.
    pub collection: CollectionConfig,
    /// Ranges of logical blocks.
    pub ranges: RangeConfig,
    /// Which die a page goes to.
    pub allocation: Allocation,
    /// What may overtake what.
    pub scheduling: SchedulingConfig,
    /// Commands that the drive works on at a time; none for as many as come. Others wait for a slot.
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

/// Why a drive cannot exist, in one sentence that says what to change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfigError(String);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for ConfigError {}

/// Most dies a drive may have.
pub(crate) const DIES_MAX: u32 = 4096;
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

    /// About the memory that a simulated drive takes: both maps between logical and flash pages, and what ageing adds.
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

    /// Blocks of a die (or lines of the drive) that serve the cache of SLC blocks even if the drive is full.
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
        self.validate_geometry()?;
        self.validate_watermarks()?;
        self.validate_ranges()?;
        self.validate_scheduling()?;
        self.cells.map_or(Ok(()), |cells| cells.validate(self))?;
        self.rain.map_or(Ok(()), |rain| rain.validate(self))?;
        self.validate_scrub()?;
        self.queue.map_or(Ok(()), |queue| queue.validate())?;
        self.retry.map_or(Ok(()), |retry| retry.validate())?;
        self.validate_room()?;
        self.write_buffer.map_or(Ok(()), |buffer| buffer.validate())
    }

    fn validate_geometry(&self) -> Result<(), ConfigError> {
        let g = &self.geometry;
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
        if self.timing.read.is_zero() || self.timing.program.is_zero() {
            return refuse(String::from(
                "read and program times must be longer than zero; set t_r and t_w",
            ));
        }
        if self.timing.pcie_bytes_per_second == Some(0) {
            return refuse(String::from(
                "the PCIe bandwidth is zero; leave it out for no limit, or set at least 1 byte per second",
            ));
        }
        if !self.timing.command.is_zero() && self.timing.pcie_bytes_per_second.is_none() {
            return refuse(String::from(
                "command_time is time on the link to the host, which has no limit; set pcie_bytes_per_second or leave out command_time",
            ));
        }
        Ok(())
    }

    fn validate_watermarks(&self) -> Result<(), ConfigError> {
        let (soft, hard) = (self.soft_blocks(), self.hard_blocks());
        let (what, least) = match self.collection.unit {
            CollectionUnit::Block => ("blocks of each die", 1),
            CollectionUnit::Line => ("lines", 2),
        };
        if hard < least {
            return refuse(format!(
                "the hard watermark ({}) leaves {hard} of {} {what}; collection needs at least {least}, so raise `hard`",
                self.collection.hard,
                self.geometry.blocks_per_die()
            ));
        }
        if soft <= hard {
            return refuse(format!(
                "the soft watermark ({soft} {what}) must be above the hard watermark ({hard}); raise `soft` or lower `hard`"
            ));
        }
        if self.collection.restore < self.collection.soft {
            return refuse(format!(
                "restore is {}; it must be at least the soft watermark of {}",
                self.collection.restore, self.collection.soft
            ));
        }
        if self.collection.min_invalid > Ratio::ONE {
            return refuse(format!(
                "min_invalid is {}; it must be at most 100%",
                self.collection.min_invalid
            ));
        }
        Ok(())
    }

    fn validate_scheduling(&self) -> Result<(), ConfigError> {
        let SchedulingConfig {
            read_priority, preemptive_collection, paced_writes, suspension, ..
        } = self.scheduling;
        if paced_writes && !(preemptive_collection && self.cells.is_some()) {
            return refuse(String::from(
                "paced_writes lets programs of many pages in between those of a collection; set preemptive_collection to true and describe the cells, or leave it out",
            ));
        }
        if preemptive_collection && self.collection.blocking != Blocking::Die {
            return refuse(String::from(
                "preemptive collection keeps only its die from the host, but blocking is wider; set blocking to die",
            ));
        }
        let needs_priority =
            suspension.is_some_and(|suspension| suspension.what == Suspendable::Everything);
        if suspension.is_some() && self.collection.blocking != Blocking::Die
            || needs_priority && !read_priority
        {
            return refuse(String::from(
                "suspension lets reads interrupt the die that serves them; set read_priority to true (or suspends to collection) and blocking to die",
            ));
        }
        Ok(())
    }

    fn validate_scrub(&self) -> Result<(), ConfigError> {
        let Some(ScrubConfig { after }) = self.scrub else { return Ok(()) };
        if !self.collection.copyback {
            return refuse(String::from(
                "scrubbing checks pages that were copied past error correction, but without copyback every copy passes it; set copyback to true or leave out scrub_after",
            ));
        }
        // A host that sends as soon as it is answered would find the die at work again.
        if after.is_zero() {
            return refuse(String::from(
                "scrubbing begins in no time, so that no die would ever be idle for the host; set scrub_after to at least 1ns",
            ));
        }
        Ok(())
    }

    fn validate_ranges(&self) -> Result<(), ConfigError> {
        let RangeConfig { count, placement } = self.ranges;
        let (what, parts) = match placement {
            RangePlacement::Channels => ("channels", self.geometry.channels),
            RangePlacement::Chips => ("chips_per_channel", self.geometry.chips_per_channel),
        };
        if count == 0 || !parts.is_multiple_of(count) {
            return refuse(format!(
                "lba_ranges is {count}; it must divide {what}, which is {parts}, so that every range has as many dies"
            ));
        }
        if count > 1 && self.collection.unit == CollectionUnit::Line {
            return refuse(String::from(
                "lba_ranges cannot be combined with lines, which reach over all dies; set collection_unit to block",
            ));
        }
        if self.allocation == Allocation::Static && self.cells.is_some() {
            return refuse(String::from(
                "static allocation programs one page at a time; set allocation to next-die, or leave out the cells",
            ));
        }
        if self.allocation == Allocation::Static && (self.write_buffer.is_none() || count > 1) {
            return refuse(String::from(
                "with static allocation pages wait for their dies in the write buffer; set write_buffer and leave out lba_ranges, or set allocation to next-die",
            ));
        }
        if count > 1 && self.write_buffer.is_some() {
            return refuse(String::from(
                "lba_ranges cannot be combined with a write buffer, which is flushed to all dies; leave out write_buffer",
            ));
        }
        Ok(())
    }

    /// At the hard watermark every block that is neither free nor open must be able to hold all
    /// logical pages and still have one invalid page somewhere: then collection always finds a
    /// victim, and a full drive never deadlocks.
    fn validate_room(&self) -> Result<(), ConfigError> {
        let g = &self.geometry;
        if self.over_provisioning >= Ratio::ONE {
            return refuse(format!(
                "over-provisioning of {} leaves the host nothing; lower it below 100%",
                self.over_provisioning
            ));
        }
        // One open block per die, and one more while dies drift apart within lines.
        let reserved = self.restore_blocks() + 2 + self.cache_blocks();
        let usable_blocks = g.blocks_per_die().saturating_sub(reserved);
        // A victim gives back less where the last pages that are moved are programmed with filler.
        let filler = self.cells.map_or(0, |cells| cells.unit_pages());
        let pages_per_block = u64::from(g.pages_per_block.saturating_sub(filler));
        let usable = u64::from(usable_blocks) * u64::from(g.dies()) * pages_per_block;
        let stored = match self.rain {
            Some(_) => self.stored_pages(),
            None if self.allocation == Allocation::Static => {
                let dies = u64::from(g.dies());
                self.logical_pages().div_ceil(dies) * dies
            }
            None => self.range_pages() * u64::from(self.ranges.count),
        };
        if stored >= usable {
            let needed = g.pages() - usable + 1;
            let percent = needed as f64 * 100.0 / g.pages() as f64;
            return refuse(format!(
                "the drive stores {} of {} pages, but collection keeps {reserved} of {} blocks per die free or open, which leaves it no invalid page to reclaim: raise over-provisioning above {percent:.1}% or lower the soft watermark",
                self.stored_pages(),
                g.pages(),
                g.blocks_per_die(),
            ));
        }
        Ok(())
    }
}

pub(crate) fn refuse(reason: String) -> Result<(), ConfigError> {
    Err(ConfigError(reason))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::presets;
    use alloc::string::ToString;

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
