//! The drive's side of the window contract: the times and rates behind it, and the windows that the
//! drive advertises.

use crate::cells::CellConfig;
use crate::config::{Blocking, CollectionUnit, Config};
use crate::rain::Rotation;
use crate::sustained::fullest_of_round;
use crate::table2::{self, Printed};
use nvme::{Advertised, ArrayDescription, WindowParameters};
use units::Duration;

/// Seconds in the 8-hour day over which drive writes per day are spread (IODA Table 2).
pub const WRITING_DAY_SECONDS: f64 = 8.0 * 3600.0;

/// Most rows whose pages are split between two program units when a collection moves `valid_pages`.
fn split_rows(cells: &CellConfig, valid_pages: u64) -> u64 {
    valid_pages.saturating_sub(1) / u64::from(cells.unit_pages())
}

impl Config {
    /// `T_gc`: the time to collect one block with `valid` of its pages valid (IODA Table 2).
    #[must_use]
    pub fn collection_time(&self, valid_pages: u64) -> Duration {
        match &self.cells {
            None => self.copy_time() * valid_pages + self.timing.erase,
            Some(cells) => {
                let (read, program) = (cells.mean_read(), cells.mean_program());
                self.relocation_time(cells, read, program, valid_pages)
            }
        }
    }

    /// Time to collect a block of flash that programs many pages at a time. Valid pages are sensed
    /// by rows, cross the channel twice, and are programmed in units, the last one with filler.
    fn relocation_time(
        &self,
        cells: &CellConfig,
        read: Duration,
        program: Duration,
        valid_pages: u64,
    ) -> Duration {
        let units = valid_pages.div_ceil(u64::from(cells.unit_pages()));
        // A row is sensed again for the next unit if the current one is full before the end of the
        // row.
        let senses = (self.rows(cells) + split_rows(cells, valid_pages)).min(valid_pages);
        let moved = self.timing.transfer * self.relocated_pages(cells, valid_pages);
        read * senses + program * units + moved + self.timing.erase
    }

    /// Rows of a block.
    fn rows(&self, cells: &CellConfig) -> u64 {
        u64::from(self.geometry.pages_per_block / cells.row_pages())
    }

    /// Logical blocks that cross the channel to move `valid_pages`: out as whole flash pages, which
    /// may contain few valid blocks, and in as units, the last one with filler.
    fn relocated_pages(&self, cells: &CellConfig, valid_pages: u64) -> u64 {
        let flash_pages =
            self.rows(cells) * u64::from(cells.planes) + split_rows(cells, valid_pages);
        let out = flash_pages.min(valid_pages) * u64::from(cells.blocks_per_page);
        out.max(valid_pages) + valid_pages.next_multiple_of(u64::from(cells.unit_pages()))
    }

    /// Share of a block that its collection gives back when `valid_ratio` of its pages are valid:
    /// the invalid share, less the filler in the last program unit.
    fn given_back(&self, valid_ratio: f64) -> f64 {
        let Some(cells) = &self.cells else { return 1.0 - valid_ratio };
        let pages = f64::from(self.geometry.pages_per_block);
        let unit = f64::from(cells.unit_pages());
        (1.0 - libm::ceil(valid_ratio * pages / unit) * unit / pages).max(0.0)
    }

    /// Mean time to sense a page and move it out, over the page types.
    #[must_use]
    pub fn read_service(&self) -> Duration {
        let read = self.cells.map_or(self.timing.read, |cells| cells.mean_read());
        read + self.timing.transfer
    }

    /// Longest time to read a page on an idle drive, from the command to the answer.
    #[must_use]
    pub fn longest_read(&self) -> Duration {
        let sensing = self.cells.map_or(self.timing.read, |cells| cells.longest_read());
        let moved = self
            .timing
            .pcie_bytes_per_second
            .map_or(0.0, |rate| f64::from(self.geometry.page_bytes) * 1e9 / rate as f64);
        let moved = Duration::from_nanos(libm::ceil(moved) as u64);
        sensing + self.timing.transfer + self.timing.read_overhead + self.timing.command + moved
    }

    /// Mean time to move in and program one unit, over the page types.
    #[must_use]
    pub fn program_service(&self) -> Duration {
        match &self.cells {
            None => self.timing.program + self.timing.transfer,
            Some(cells) => {
                cells.mean_program() + self.timing.transfer * u64::from(cells.unit_pages())
            }
        }
    }

    /// The time to copy one page within its die: `t_r + t_w + 2 t_cpt`, or `t_r + t_w` where it
    /// does not leave the die.
    #[must_use]
    pub fn copy_time(&self) -> Duration {
        self.timing.read + self.timing.program + self.copy_transfer()
    }

    /// The time for which copying a page holds its channel: out through error correction and back
    /// in.
    pub(crate) fn copy_transfer(&self) -> Duration {
        if self.collection.copyback { Duration::ZERO } else { self.timing.transfer * 2 }
    }

    /// Bytes of a block, `S_blk`.
    #[must_use]
    pub fn block_bytes(&self) -> u64 {
        u64::from(self.geometry.page_bytes) * u64::from(self.geometry.pages_per_block)
    }

    /// `T_gc`: the time to collect one block with the share `valid_ratio` of its pages valid.
    #[must_use]
    pub fn unit_time(&self, valid_ratio: f64) -> Duration {
        if self.cells.is_some() {
            let valid = valid_ratio * f64::from(self.geometry.pages_per_block);
            return self.collection_time(libm::ceil(valid) as u64);
        }
        let valid = valid_ratio * f64::from(self.geometry.pages_per_block);
        let seconds = self.copy_time().as_secs_f64() * valid + self.timing.erase.as_secs_f64();
        Duration::from_nanos((seconds * 1e9) as u64)
    }

    /// Expected time of one collection. Its share of valid pages is the contract's or that of the
    /// steady state plus four standard deviations, whichever is more: the fullest of many victims
    /// decides whether a line fits into a window. At least the time that a drive reserves for a
    /// collection before it begins one.
    #[must_use]
    pub fn likely_unit_time(&self) -> Duration {
        let steady = self.steady_valid_ratio();
        let fullest = (steady + 4.0 * self.valid_deviation(steady)).min(0.99);
        let likely = self.contract.valid_ratio.max(fullest);
        self.unit_time(likely).max(self.foreseen_time(fullest_of_round(self, steady)))
    }

    /// Standard deviation of the share of valid pages in a block, for a mean of `valid_ratio`.
    pub(crate) fn valid_deviation(&self, valid_ratio: f64) -> f64 {
        let pages = f64::from(self.geometry.pages_per_block);
        libm::sqrt(valid_ratio * (1.0 - valid_ratio) / pages)
    }

    /// Time that a drive reserves for a collection before it begins: [`Config::unit_time`], or the
    /// bound that includes waits for the channel if that is longer.
    pub(crate) fn foreseen_time(&self, valid_ratio: f64) -> Duration {
        let valid = (valid_ratio * f64::from(self.geometry.pages_per_block)) as u32;
        self.unit_time(valid_ratio).max(self.collection_bound(valid))
    }

    /// The share of valid pages in the fuller victims of the steady state: a tenth more than
    /// [`Config::steady_valid_ratio`], because these decide how many collections fit into a window.
    #[must_use]
    pub fn full_valid_ratio(&self) -> f64 {
        (self.steady_valid_ratio() * 1.1).min(0.99)
    }

    /// Longest time of one collection: all pages but one valid, and each copy behind copies of the
    /// other dies of its channel, where these collect at the same time.
    #[must_use]
    pub fn worst_unit_time(&self) -> Duration {
        self.collection_bound(self.geometry.pages_per_block - 1)
    }

    /// `S_r`: bytes that one collection on every channel gives back (IODA Table 2).
    #[must_use]
    pub fn reclaimed_bytes(&self) -> f64 {
        let blocks = f64::from(self.blocks_at_once());
        self.given_back(self.contract.valid_ratio) * self.block_bytes() as f64 * blocks
    }

    /// Blocks collected at a time in the terms of the contract: one on every channel (IODA Table
    /// 2). For drives whose blocks span planes it is all dies of a line.
    fn blocks_at_once(&self) -> u32 {
        match (&self.cells, self.collection.unit) {
            (Some(_), CollectionUnit::Line) => self.geometry.dies(),
            _ => self.geometry.channels,
        }
    }

    /// `B_gc`: bytes per second that collection reclaims, one block per channel at a time
    /// (IODA Table 2).
    #[must_use]
    pub fn collection_bytes_per_second(&self) -> f64 {
        self.reclaimed_bytes() / self.unit_time(self.contract.valid_ratio).as_secs_f64()
    }

    /// Bytes per second at `drive_writes_per_day`, over a day of eight hours (IODA Table 2).
    #[must_use]
    pub fn bytes_per_second(&self, drive_writes_per_day: f64) -> f64 {
        drive_writes_per_day * self.logical_bytes() as f64 / WRITING_DAY_SECONDS
    }

    /// `B_norm`: bytes per second at the rated drive writes per day (IODA Table 2).
    #[must_use]
    pub fn normal_bytes_per_second(&self) -> f64 {
        self.bytes_per_second(self.contract.drive_writes_per_day)
    }

    /// Bytes per second that the flash itself can take in: every die programming all the time, no
    /// faster than channels and PCIe bring the pages. The paper's `B_burst` leaves the dies out,
    /// and exceeds this rate for five of its six drives.
    #[must_use]
    pub fn program_bytes_per_second(&self) -> f64 {
        let g = &self.geometry;
        let page = f64::from(g.page_bytes);
        // The register of a die is busy while its page comes in.
        let (at_once, program) = match &self.cells {
            None => (1, self.timing.program),
            Some(cells) => (u64::from(cells.unit_pages()), cells.mean_program()),
        };
        let per_unit = (program + self.timing.transfer * at_once).as_secs_f64();
        let dies = f64::from(g.dies()) * page * at_once as f64 / per_unit;
        let transfer = self.timing.transfer.as_secs_f64();
        let channels =
            if transfer > 0.0 { f64::from(g.channels) * page / transfer } else { f64::INFINITY };
        let pcie = self.timing.pcie_bytes_per_second.map_or(f64::INFINITY, |rate| rate as f64);
        dies.min(channels).min(pcie)
    }

    /// Bytes of `S_p` that can really fill up between two busy windows: from just above the level
    /// to which collection restores the drive, down to the hard watermark.
    #[must_use]
    pub fn watermark_bytes(&self) -> f64 {
        let blocks = self.restore_blocks() + 1 - self.hard_blocks();
        f64::from(blocks) * f64::from(self.geometry.dies()) * self.block_bytes() as f64
    }

    /// [`Config::watermark_bytes`] as a share of `S_p`.
    #[must_use]
    pub fn watermark_share(&self) -> f64 {
        self.watermark_bytes() / self.over_provisioned_bytes()
    }

    /// Bytes that the write buffer holds; 0 without one.
    #[must_use]
    pub fn write_buffer_bytes(&self) -> u64 {
        let pages = self.write_buffer.map_or(0, |buffer| buffer.pages);
        u64::from(pages) * u64::from(self.geometry.page_bytes)
    }

    /// `S_p`: bytes of flash that the host does not see.
    #[must_use]
    pub fn over_provisioned_bytes(&self) -> f64 {
        self.geometry.raw_bytes() as f64 - self.logical_bytes() as f64
    }

    /// The window parameters of this drive.
    #[must_use]
    pub fn window_parameters(&self) -> WindowParameters {
        WindowParameters {
            over_provisioned_bytes: self.over_provisioned_bytes(),
            collection_bytes_per_second: self.collection_bytes_per_second(),
            usable_share: self.contract.usable_share,
        }
    }

    /// The share of valid pages in a victim once the drive is in steady state under uniform random
    /// overwrites: what `R_v` of Table 2 stands for, computed from the watermarks.
    #[must_use]
    pub fn steady_valid_ratio(&self) -> f64 {
        self.valid_ratio_with(f64::from(self.restore_blocks()))
    }

    /// [`Config::steady_valid_ratio`] with `free_blocks` of each die (or lines) free.
    pub(crate) fn valid_ratio_with(&self, free_blocks: f64) -> f64 {
        let blocks = f64::from(self.geometry.blocks_per_die());
        // One block is open, and one is being collected.
        let in_use = (blocks - free_blocks - 2.0 - f64::from(self.cache_blocks())) / blocks;
        let utilization = self.stored_pages() as f64 / (self.geometry.pages() as f64 * in_use);
        crate::aged::victim_valid_share(utilization)
    }

    /// Bytes that the drive can reclaim in one busy window of length `window` in steady state, when
    /// victims have `valid_ratio` of their pages valid.
    #[must_use]
    pub fn reclaimed_bytes_per_window(&self, window: Duration, valid_ratio: f64) -> f64 {
        let collection = self.unit_time(valid_ratio).as_nanos().max(1);
        (window.as_nanos() / collection) as f64 * self.reclaimed_by_round(valid_ratio)
    }

    /// Bytes that one round of collections gives back: one on each die that can collect at the same
    /// time.
    pub(crate) fn reclaimed_by_round(&self, valid_ratio: f64) -> f64 {
        let dies_at_once = match self.collection.unit {
            CollectionUnit::Line => self.geometry.dies(),
            CollectionUnit::Block => {
                self.geometry.dies() / self.collection.blocking.held_dies(&self.geometry)
            }
        };
        let (dies_at_once, host_share) = match self.rain {
            None => (dies_at_once, 1.0),
            Some(rain) => {
                let width = rain.width;
                let groups = self.geometry.dies() / width;
                let rotates = rain.rotation != Rotation::Off;
                let dies_at_once = if rotates { dies_at_once.min(groups) } else { dies_at_once };
                // The rest of the space goes to parity, even if every stripe leaves the buffer as a
                // whole.
                (dies_at_once, f64::from(width - 1) / f64::from(width))
            }
        };
        let reclaimed = self.given_back(valid_ratio) * self.block_bytes() as f64 * host_share;
        f64::from(dies_at_once) * reclaimed
    }

    /// `TW_burst`: the busy window that keeps the contract at `B_burst` in this array; `None` if
    /// collection keeps up with the burst, so that every window is short enough.
    #[must_use]
    pub fn burst_window(&self, array: ArrayDescription) -> Option<Duration> {
        self.window_parameters().longest_window(array, self.contract.burst_bytes_per_second)
    }

    /// Table 2 for this drive, every row rounded to whole units and computed from the rounded rows
    /// above it.
    #[must_use]
    pub fn printed_table(&self, array: ArrayDescription) -> Printed {
        table2::printed(self, array)
    }

    /// Windows that the drive advertises for an array.
    #[must_use]
    pub fn advertise(&self, array: ArrayDescription) -> Advertised {
        Advertised { shortest: self.likely_unit_time(), longest: self.burst_window(array) }
    }

    /// Longest time of a collection of `valid` pages after its dies are held.
    pub(crate) fn collection_bound(&self, valid: u32) -> Duration {
        let transfer = self.copy_transfer();
        let holds_channel = self.collection.unit == CollectionUnit::Block
            && self.collection.blocking != Blocking::Die;
        let alone = holds_channel || transfer.is_zero();
        let erased_with_it = u64::from(self.timing.blocks_per_erase) - 1;
        let undisturbed = match &self.cells {
            None => self.collection_time(u64::from(valid)),
            Some(cells) => {
                let (read, program) = (cells.longest_read(), cells.longest_program());
                self.relocation_time(cells, read, program, valid.into())
            }
        };
        let undisturbed = undisturbed + self.timing.erase * erased_with_it;
        if alone {
            return undisturbed;
        }
        // Every other die of the channel may be ahead of each copy, moving a page twice.
        let others = u64::from(self.geometry.chips_per_channel) - 1;
        let moved = match &self.cells {
            None => transfer * u64::from(valid),
            Some(cells) => self.timing.transfer * self.relocated_pages(cells, valid.into()),
        };
        undisturbed + moved * others
    }
}
