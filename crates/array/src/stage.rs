//! What is staged: writes to drives that a fast memory of the host holds until they are drained.
//!
//! Staging is at the level of commands, after parity was computed: data and parity alike wait in the
//! stage for their drive, so a stripe is as consistent as without one. This file knows which pages
//! are held and in which order they leave; `staging.rs` decides what that means for commands.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use units::{DriveId, Duration, Instant, Lba};

/// Most pages of one drain command. A drive takes the pages of a command one by one, so this bounds
/// what one command holds up, and nothing else.
const MOST_BLOCKS: u32 = 16;

/// A fast memory of the host, such as NVRAM or an Optane drive, in front of the drives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StageConfig {
    /// Bytes that it holds; at least a page.
    pub capacity_bytes: u64,
    /// From a read to its answer, of any size.
    pub read_latency: Duration,
    /// From a write to its answer, of any size.
    pub write_latency: Duration,
    /// Largest command that is staged; larger ones go straight to the drive (PLM-light §III-C: 64 KiB).
    pub largest_write_bytes: u64,
    /// Most drain commands that a drive has at once; at least 1.
    pub drain_depth: u32,
}

/// What a stage has done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StageCounters {
    /// Pages written into it, those that replaced an older version included.
    pub staged_pages: u64,
    /// Pages among them that replaced a version which had not been drained.
    pub replaced_pages: u64,
    /// Most bytes that it held at once.
    pub peak_bytes: u64,
    /// Writes that waited for room in it.
    pub waits: u64,
    /// Pages written from it to drives.
    pub drained_pages: u64,
    /// Pages of reads that it answered.
    pub read_pages: u64,
    /// Pages of writes that were too large for it and went straight to their drive.
    pub bypassed_pages: u64,
}

impl StageCounters {
    /// Adds what another stage has done; of the peaks the higher one is kept.
    pub fn add(&mut self, other: &Self) {
        self.staged_pages += other.staged_pages;
        self.replaced_pages += other.replaced_pages;
        self.peak_bytes = self.peak_bytes.max(other.peak_bytes);
        self.waits += other.waits;
        self.drained_pages += other.drained_pages;
        self.read_pages += other.read_pages;
        self.bypassed_pages += other.bypassed_pages;
    }
}

/// A page that is held.
#[derive(Clone, Copy, Debug)]
struct Page {
    /// Grows with every write.
    version: u64,
    /// The version that is on its way to the drive; 0 for none.
    draining: u64,
    /// A larger write that went past the stage replaces it when it is done.
    superseded: bool,
}

/// What is held for one drive.
#[derive(Clone, Debug, Default)]
struct Held {
    pages: BTreeMap<u64, Page>,
    /// Pages in the order in which they leave. Each page that waits is in it at least once; what is
    /// in it and does not wait any more is passed over.
    order: VecDeque<u64>,
    /// Drain commands that are out.
    draining: u32,
}

/// The pages in the stage. See the head of this file.
#[derive(Clone, Debug)]
pub(crate) struct Stage {
    pub(crate) config: StageConfig,
    page_bytes: u64,
    capacity_pages: u64,
    drives: Vec<Held>,
    held_pages: u64,
    closed: bool,
    versions: u64,
    pub(crate) counters: StageCounters,
    /// Reads that it answers, by when; all take as long, so they stay in order.
    pub(crate) reads: VecDeque<(Instant, u32)>,
    /// Writes that it answers, by when.
    pub(crate) writes: VecDeque<(Instant, u32)>,
    /// Writes that wait for room, in the order of their coming, each a sub-I/O.
    pub(crate) waiting: VecDeque<u32>,
    /// Large writes that wait until an older version of their pages is drained.
    pub(crate) behind_drains: Vec<u32>,
    /// Drain commands that are out: sub-I/O and pages.
    pub(crate) drains: Vec<(u32, DriveId, Lba, u32)>,
    /// When to look again whether a drive may be drained.
    pub(crate) look_again: Instant,
}

impl Stage {
    /// An empty stage in front of `width` drives.
    pub(crate) fn new(config: StageConfig, width: u32, page_bytes: u64) -> Self {
        Self {
            config,
            page_bytes,
            capacity_pages: (config.capacity_bytes / page_bytes).max(1),
            drives: alloc::vec![Held::default(); width as usize],
            held_pages: 0,
            closed: false,
            versions: 0,
            counters: StageCounters::default(),
            reads: VecDeque::new(),
            writes: VecDeque::new(),
            waiting: VecDeque::new(),
            behind_drains: Vec::new(),
            drains: Vec::new(),
            look_again: Instant::NEVER,
        }
    }

    /// When it answers something, or wants to look at the drives again.
    pub(crate) fn next_deadline(&self) -> Instant {
        let due = |queue: &VecDeque<(Instant, u32)>| {
            queue.front().map_or(Instant::NEVER, |&(due, _)| due)
        };
        due(&self.reads).min(due(&self.writes)).min(self.look_again)
    }

    /// Whether a command of so many pages is staged, rather than sent to its drive.
    pub(crate) fn takes(&self, blocks: u32) -> bool {
        let pages = u64::from(blocks);
        !self.closed
            && pages <= self.capacity_pages
            && pages.saturating_mul(self.page_bytes) <= self.config.largest_write_bytes
    }

    /// Pages that are held for all drives.
    pub(crate) fn held_pages(&self) -> u64 {
        self.held_pages
    }

    /// Whether something waits to be drained to `drive`.
    pub(crate) fn may_drain(&self, drive: DriveId) -> bool {
        let held = &self.drives[drive.index()];
        !held.order.is_empty() && held.draining < self.config.drain_depth
    }

    /// Which of the pages from `lba` on are held, counted from the first.
    pub(crate) fn rows(&self, drive: DriveId, lba: Lba, blocks: u32) -> Vec<u32> {
        let pages = &self.drives[drive.index()].pages;
        pages
            .range(lba.0..lba.0 + u64::from(blocks))
            .map(|(page, _)| (page - lba.0) as u32)
            .collect()
    }

    /// Whether there is room for a write of these pages. Those that replace others need none.
    pub(crate) fn has_room(&self, drive: DriveId, lba: Lba, blocks: u32) -> bool {
        let pages = &self.drives[drive.index()].pages;
        let replaced = pages.range(lba.0..lba.0 + u64::from(blocks)).count() as u64;
        self.held_pages + u64::from(blocks) - replaced <= self.capacity_pages
    }

    /// Takes a write for which there is room.
    pub(crate) fn put(&mut self, drive: DriveId, lba: Lba, blocks: u32) {
        debug_assert!(self.has_room(drive, lba, blocks), "a write is put where there is room");
        self.versions += 1;
        let held = &mut self.drives[drive.index()];
        for page in lba.0..lba.0 + u64::from(blocks) {
            let new = Page { version: self.versions, draining: 0, superseded: false };
            if let Some(old) = held.pages.get_mut(&page) {
                debug_assert!(!old.superseded, "writes of one page take turns");
                old.version = self.versions;
                self.counters.replaced_pages += 1;
            } else {
                held.pages.insert(page, new);
                held.order.push_back(page);
                self.held_pages += 1;
            }
        }
        self.counters.staged_pages += u64::from(blocks);
        let held_bytes = self.held_pages * self.page_bytes;
        self.counters.peak_bytes = self.counters.peak_bytes.max(held_bytes);
    }

    /// The pages that are drained to `drive` next: the oldest, and those behind it on the drive that
    /// wait as well. Their drain begins.
    pub(crate) fn begin_drain(&mut self, drive: DriveId) -> Option<(Lba, u32)> {
        let held = &mut self.drives[drive.index()];
        if held.draining >= self.config.drain_depth {
            return None;
        }
        let begin = |page: Option<&mut Page>| match page {
            Some(page) if page.draining == 0 && !page.superseded => {
                page.draining = page.version;
                true
            }
            _ => false,
        };
        while let Some(first) = held.order.pop_front() {
            if !begin(held.pages.get_mut(&first)) {
                continue;
            }
            let mut blocks = 1;
            while blocks < MOST_BLOCKS && begin(held.pages.get_mut(&(first + u64::from(blocks)))) {
                blocks += 1;
            }
            held.draining += 1;
            self.counters.drained_pages += u64::from(blocks);
            return Some((Lba(first), blocks));
        }
        None
    }

    /// A drain is done: what was not written again meanwhile leaves. Returns the pages that left.
    pub(crate) fn end_drain(&mut self, drive: DriveId, lba: Lba, blocks: u32) -> Vec<Lba> {
        let held = &mut self.drives[drive.index()];
        held.draining -= 1;
        let mut left = Vec::new();
        for page in lba.0..lba.0 + u64::from(blocks) {
            let Some(state) = held.pages.get_mut(&page) else { continue };
            if state.version == state.draining {
                held.pages.remove(&page);
                left.push(Lba(page));
            } else {
                state.draining = 0;
                held.order.push_back(page);
            }
        }
        self.held_pages -= left.len() as u64;
        left
    }

    /// The drive is gone: nothing is held for it any more. Drains that are out still end. Returns the
    /// pages that left.
    pub(crate) fn abandon(&mut self, drive: DriveId) -> Vec<Lba> {
        let held = &mut self.drives[drive.index()];
        held.order.clear();
        let left: Vec<Lba> = core::mem::take(&mut held.pages).into_keys().map(Lba).collect();
        self.held_pages -= left.len() as u64;
        left
    }

    /// Lets all that is staged out, and nothing in, until told otherwise.
    pub(crate) fn set_closed(&mut self, closed: bool) {
        self.closed = closed;
    }

    /// Whether it takes nothing in.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Whether it holds nothing, and nobody waits for it.
    pub(crate) fn is_idle(&self) -> bool {
        self.held_pages == 0
            && self.drains.is_empty()
            && self.reads.is_empty()
            && self.writes.is_empty()
            && self.waiting.is_empty()
            && self.behind_drains.is_empty()
    }

    /// A write of these pages goes past the stage: what is held of them is not drained any more.
    pub(crate) fn supersede(&mut self, drive: DriveId, lba: Lba, blocks: u32) {
        let pages = &mut self.drives[drive.index()].pages;
        for (_, page) in pages.range_mut(lba.0..lba.0 + u64::from(blocks)) {
            page.superseded = true;
        }
        self.counters.bypassed_pages += u64::from(blocks);
    }

    /// Whether some of these pages are on their way to the drive. Two writes of one page at once
    /// could end in either order.
    pub(crate) fn is_draining(&self, drive: DriveId, lba: Lba, blocks: u32) -> bool {
        let pages = &self.drives[drive.index()].pages;
        pages.range(lba.0..lba.0 + u64::from(blocks)).any(|(_, page)| page.draining != 0)
    }

    /// The write that went past the stage is done: older versions leave. Returns the pages that left.
    pub(crate) fn end_supersede(&mut self, drive: DriveId, lba: Lba, blocks: u32) -> Vec<Lba> {
        let pages = &mut self.drives[drive.index()].pages;
        let range = lba.0..lba.0 + u64::from(blocks);
        let left: Vec<Lba> = pages.range(range).map(|(&page, _)| Lba(page)).collect();
        for page in &left {
            pages.remove(&page.0);
        }
        self.held_pages -= left.len() as u64;
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Rng;

    const DRIVE: DriveId = DriveId(0);

    fn stage(capacity_pages: u64) -> Stage {
        let config = StageConfig {
            capacity_bytes: capacity_pages * 4096,
            read_latency: Duration::from_micros(1),
            write_latency: Duration::from_micros(1),
            largest_write_bytes: 4 * 4096,
            drain_depth: 3,
        };
        Stage::new(config, 1, 4096)
    }

    #[test]
    fn what_is_written_again_while_it_is_drained_stays() {
        let mut stage = stage(8);
        stage.put(DRIVE, Lba(5), 3);
        assert_eq!(stage.begin_drain(DRIVE), Some((Lba(5), 3)));
        stage.put(DRIVE, Lba(6), 1);
        assert_eq!(stage.begin_drain(DRIVE), None, "never two writes of one page at once");
        assert_eq!(stage.end_drain(DRIVE, Lba(5), 3), [Lba(5), Lba(7)]);
        assert_eq!(stage.rows(DRIVE, Lba(4), 8), [2]);
        assert_eq!(stage.begin_drain(DRIVE), Some((Lba(6), 1)));
        assert_eq!(stage.end_drain(DRIVE, Lba(6), 1), [Lba(6)]);
        assert_eq!((stage.held_pages(), stage.counters.peak_bytes), (0, 3 * 4096));
    }

    #[test]
    fn what_a_large_write_replaces_is_not_drained() {
        let mut stage = stage(8);
        stage.put(DRIVE, Lba(1), 2);
        stage.supersede(DRIVE, Lba(0), 6);
        assert!(!stage.takes(6) && !stage.is_draining(DRIVE, Lba(0), 6));
        assert_eq!(stage.begin_drain(DRIVE), None);
        assert_eq!(stage.rows(DRIVE, Lba(0), 6), [1, 2], "until the large one is done");
        assert_eq!(stage.end_supersede(DRIVE, Lba(0), 6), [Lba(1), Lba(2)]);
        assert_eq!(stage.held_pages(), 0);
    }

    /// Against a model that knows of every page its newest value and what is on the drive.
    #[test]
    fn agrees_with_a_map_of_values() {
        let (mut replaced_in_all, mut full_in_all) = (0, 0);
        for seed in testing::seeds(0..400) {
            let mut rng = Rng::new(seed);
            let capacity = 1 + rng.below(20);
            let mut stage = stage(capacity);
            let (mut newest, mut flash, mut in_stage) =
                ([0u64; 24], [0u64; 24], BTreeMap::<u64, u64>::new());
            let mut drains: Vec<(Lba, u32, Vec<u64>)> = Vec::new();
            let mut large: Vec<(Lba, u32, u64)> = Vec::new();
            let (mut replaced, mut full) = (0, 0);
            for value in 1..400 {
                match rng.below(4) {
                    0 => {
                        let blocks = 1 + rng.below(8) as u32;
                        let lba = Lba(rng.below(24 - u64::from(blocks) + 1));
                        let range = lba.0..lba.0 + u64::from(blocks);
                        let meets = |&(other, length, _): &(Lba, u32, u64)| {
                            other.0 < range.end && range.start < other.0 + u64::from(length)
                        };
                        // Writes of one page take turns.
                        if large.iter().any(meets) {
                            continue;
                        }
                        if !stage.takes(blocks) {
                            if !stage.is_draining(DRIVE, lba, blocks) {
                                stage.supersede(DRIVE, lba, blocks);
                                large.push((lba, blocks, value));
                            }
                        } else if stage.has_room(DRIVE, lba, blocks) {
                            stage.put(DRIVE, lba, blocks);
                            for page in range {
                                newest[page as usize] = value;
                                replaced += u64::from(in_stage.insert(page, value).is_some());
                            }
                        } else {
                            full += 1;
                        }
                    }
                    1 => {
                        if let Some((lba, blocks)) = stage.begin_drain(DRIVE) {
                            let pages = lba.0..lba.0 + u64::from(blocks);
                            drains.push((lba, blocks, pages.map(|page| in_stage[&page]).collect()));
                        }
                    }
                    2 if !drains.is_empty() => {
                        let at = rng.below(drains.len() as u64) as usize;
                        let (lba, blocks, values) = drains.swap_remove(at);
                        for (page, value) in (lba.0..).zip(values) {
                            flash[page as usize] = value;
                        }
                        for page in stage.end_drain(DRIVE, lba, blocks) {
                            in_stage.remove(&page.0);
                        }
                    }
                    _ if !large.is_empty() => {
                        let at = rng.below(large.len() as u64) as usize;
                        let (lba, blocks, value) = large.swap_remove(at);
                        for page in lba.0..lba.0 + u64::from(blocks) {
                            flash[page as usize] = value;
                            newest[page as usize] = value;
                        }
                        for page in stage.end_supersede(DRIVE, lba, blocks) {
                            in_stage.remove(&page.0);
                        }
                    }
                    _ => {}
                }
                assert!(stage.held_pages() <= capacity);
                let rows = stage.rows(DRIVE, Lba(0), 24);
                assert_eq!(rows.len() as u64, stage.held_pages());
                for page in 0..24u32 {
                    let held = rows.contains(&page).then(|| in_stage[&u64::from(page)]);
                    let found = held.unwrap_or(flash[page as usize]);
                    assert_eq!(found, newest[page as usize], "seed {seed}, page {page}");
                }
            }
            assert_eq!(stage.counters.replaced_pages, replaced);
            replaced_in_all += replaced;
            full_in_all += full;
        }
        assert!(replaced_in_all > 500 && full_in_all > 500, "{replaced_in_all} {full_in_all}");
    }
}
