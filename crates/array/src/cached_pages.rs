//! The pages in a write cache: the ones held for each drive, and the order in which they leave.

use crate::cache_config::{WriteCacheConfig, WriteCacheCounters};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use units::{DriveId, Lba};

/// Maximum number of pages of one drain command. A drive takes the pages of a command one by one,
/// so this bounds only what one command holds up.
const MOST_BLOCKS: u32 = 16;

/// Maximum number of pages that wait for a drive before its rebuild pauses: enough to keep the
/// drive busy.
const REBUILD_PAGES: usize = 1024;

/// A page in the cache.
#[derive(Clone, Copy, Debug)]
struct Page {
    /// Version, which grows with every write.
    version: u64,
    /// The version that is being drained to the drive; 0 for none.
    draining: u64,
    /// Whether a large write that bypasses the cache replaces it on completion.
    superseded: bool,
}

/// Pages held for one drive.
#[derive(Clone, Debug, Default)]
struct Held {
    pages: BTreeMap<u64, Page>,
    /// Pages in the order in which they leave. Each page that waits is in it at least once; entries
    /// that do not wait any more are skipped.
    order: VecDeque<u64>,
    /// Drain commands in flight.
    draining: u32,
}

/// All pages in the cache.
#[derive(Clone, Debug)]
pub(crate) struct CachedPages {
    config: WriteCacheConfig,
    page_bytes: u64,
    capacity_pages: u64,
    drives: Vec<Held>,
    held_pages: u64,
    closed: bool,
    versions: u64,
    counters: WriteCacheCounters,
}

impl CachedPages {
    /// An empty cache in front of `width` drives.
    pub(crate) fn new(config: WriteCacheConfig, width: u32, page_bytes: u64) -> Self {
        Self {
            config,
            page_bytes,
            capacity_pages: (config.capacity_bytes / page_bytes).max(1),
            drives: alloc::vec![Held::default(); width as usize],
            held_pages: 0,
            closed: false,
            versions: 0,
            counters: WriteCacheCounters::default(),
        }
    }

    pub(crate) fn counters(&self) -> &WriteCacheCounters {
        &self.counters
    }

    /// Whether no page is held, and no drain is in flight.
    pub(crate) fn is_idle(&self) -> bool {
        self.held_pages == 0 && self.drives.iter().all(|held| held.draining == 0)
    }

    /// Counts the pages of a read that found all of them.
    pub(crate) fn note_read(&mut self, pages: u32) {
        self.counters.read_pages += u64::from(pages);
    }

    /// Counts a write that waits for room.
    pub(crate) fn note_wait(&mut self) {
        self.counters.waits += 1;
    }

    /// Panics if the number of pages held is not the one counted.
    pub(crate) fn check_invariants(&self) {
        let held: usize = self.drives.iter().map(|held| held.pages.len()).sum();
        assert_eq!(held as u64, self.held_pages);
    }

    /// Whether a command of `blocks` pages is cached, rather than sent to its drive. The request
    /// that it serves writes `requested_bytes`, to this drive and others; `None` for a command
    /// without a request, which counts by its own size.
    pub(crate) fn takes(&self, blocks: u32, requested_bytes: Option<u64>) -> bool {
        let pages = u64::from(blocks);
        let size_bytes = requested_bytes.unwrap_or(pages * self.page_bytes);
        !self.closed
            && pages <= self.capacity_pages
            && size_bytes <= self.config.largest_write_bytes
    }

    /// Number of pages held for all drives.
    pub(crate) fn held_pages(&self) -> u64 {
        self.held_pages
    }

    /// Whether another drain to `drive` may begin.
    pub(crate) fn may_drain(&self, drive: DriveId) -> bool {
        let held = &self.drives[drive.index()];
        !held.order.is_empty() && held.draining < self.config.drain_depth
    }

    /// Whether a rebuild fills the cache faster than the drive is drained.
    pub(crate) fn is_behind(&self, drive: DriveId) -> bool {
        let held = &self.drives[drive.index()];
        held.draining > 0 && held.pages.len() >= REBUILD_PAGES
    }

    /// Cached pages among `blocks` from `lba` on, as offsets from `lba`.
    pub(crate) fn rows(&self, drive: DriveId, lba: Lba, blocks: u32) -> Vec<u32> {
        let pages = &self.drives[drive.index()].pages;
        pages
            .range(lba.0..lba.0 + u64::from(blocks))
            .map(|(page, _)| (page - lba.0) as u32)
            .collect()
    }

    /// Whether there is room for a write of these pages. Pages that replace held ones need none.
    pub(crate) fn has_room(&self, drive: DriveId, lba: Lba, blocks: u32) -> bool {
        let pages = &self.drives[drive.index()].pages;
        let replaced = pages.range(lba.0..lba.0 + u64::from(blocks)).count() as u64;
        self.held_pages + u64::from(blocks) - replaced <= self.capacity_pages
    }

    /// Stores a write for which there is room.
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
        self.counters.cached_pages += u64::from(blocks);
        let held_bytes = self.held_pages * self.page_bytes;
        self.counters.peak_bytes = self.counters.peak_bytes.max(held_bytes);
    }

    /// Begins a drain to `drive`. Returns its pages: the oldest that waits, and those after it on
    /// the drive that wait as well.
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

    /// Ends a drain: removes pages that were not written again meanwhile, and returns them.
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

    /// Removes all pages of a drive that has failed, and returns them. Drains in flight still end.
    pub(crate) fn abandon(&mut self, drive: DriveId) -> Vec<Lba> {
        let held = &mut self.drives[drive.index()];
        held.order.clear();
        let left: Vec<Lba> = core::mem::take(&mut held.pages).into_keys().map(Lba).collect();
        self.held_pages -= left.len() as u64;
        left
    }

    /// Closes or opens the cache. A closed cache takes nothing in, and drains what it holds.
    pub(crate) fn set_closed(&mut self, closed: bool) {
        self.closed = closed;
    }

    /// Whether the cache takes nothing in.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Marks pages that a write past the cache is to replace; they are not drained any more.
    pub(crate) fn supersede(&mut self, drive: DriveId, lba: Lba, blocks: u32) {
        let pages = &mut self.drives[drive.index()].pages;
        for (_, page) in pages.range_mut(lba.0..lba.0 + u64::from(blocks)) {
            page.superseded = true;
        }
        self.counters.bypassed_pages += u64::from(blocks);
    }

    /// Whether some of these pages are being drained. Two writes of one page at once could end in
    /// either order.
    pub(crate) fn is_draining(&self, drive: DriveId, lba: Lba, blocks: u32) -> bool {
        let pages = &self.drives[drive.index()].pages;
        pages.range(lba.0..lba.0 + u64::from(blocks)).any(|(_, page)| page.draining != 0)
    }

    /// Ends a write past the cache: removes older versions of its pages, and returns these pages.
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
    use units::Duration;
    use units::Rng;

    const DRIVE: DriveId = DriveId(0);

    fn cache(capacity_pages: u64) -> CachedPages {
        let config = WriteCacheConfig {
            capacity_bytes: capacity_pages * 4096,
            read_latency: Duration::from_micros(1),
            write_latency: Duration::from_micros(1),
            largest_write_bytes: 4 * 4096,
            drain_depth: 3,
        };
        CachedPages::new(config, 1, 4096)
    }

    #[test]
    fn what_is_written_again_while_it_is_drained_stays() {
        let mut cache = cache(8);
        cache.put(DRIVE, Lba(5), 3);
        assert_eq!(cache.begin_drain(DRIVE), Some((Lba(5), 3)));
        cache.put(DRIVE, Lba(6), 1);
        assert_eq!(cache.begin_drain(DRIVE), None, "never two writes of one page at once");
        assert_eq!(cache.end_drain(DRIVE, Lba(5), 3), [Lba(5), Lba(7)]);
        assert_eq!(cache.rows(DRIVE, Lba(4), 8), [2]);
        assert_eq!(cache.begin_drain(DRIVE), Some((Lba(6), 1)));
        assert_eq!(cache.end_drain(DRIVE, Lba(6), 1), [Lba(6)]);
        assert_eq!((cache.held_pages(), cache.counters.peak_bytes), (0, 3 * 4096));
    }

    #[test]
    fn what_a_large_write_replaces_is_not_drained() {
        let mut cache = cache(8);
        cache.put(DRIVE, Lba(1), 2);
        cache.supersede(DRIVE, Lba(0), 6);
        assert!(!cache.takes(6, None) && !cache.is_draining(DRIVE, Lba(0), 6));
        assert_eq!(cache.begin_drain(DRIVE), None);
        assert_eq!(cache.rows(DRIVE, Lba(0), 6), [1, 2], "until the large one is done");
        assert_eq!(cache.end_supersede(DRIVE, Lba(0), 6), [Lba(1), Lba(2)]);
        assert_eq!(cache.held_pages(), 0);
    }

    #[test]
    fn a_command_counts_by_its_request_and_by_itself_where_there_is_none() {
        let cache = cache(8);
        assert!(cache.takes(4, None) && !cache.takes(5, None));
        assert!(cache.takes(1, Some(4 * 4096)) && !cache.takes(1, Some(4 * 4096 + 1)));
        // Four pages from any byte on touch five.
        assert!(
            cache.takes(5, Some(4 * 4096)) && !cache.takes(9, Some(4 * 4096)),
            "it has room for eight"
        );
    }

    /// Compares with a model that knows the newest value of every page, and the value on the drive.
    #[test]
    fn agrees_with_a_map_of_values() {
        let (mut replaced_in_all, mut full_in_all) = (0, 0);
        for seed in testing::seeds(0..400) {
            let mut rng = Rng::new(seed);
            let capacity = 1 + rng.below(20);
            let mut cache = cache(capacity);
            let (mut newest, mut flash, mut in_cache) =
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
                        if !cache.takes(blocks, None) {
                            if !cache.is_draining(DRIVE, lba, blocks) {
                                cache.supersede(DRIVE, lba, blocks);
                                large.push((lba, blocks, value));
                            }
                        } else if cache.has_room(DRIVE, lba, blocks) {
                            cache.put(DRIVE, lba, blocks);
                            for page in range {
                                newest[page as usize] = value;
                                replaced += u64::from(in_cache.insert(page, value).is_some());
                            }
                        } else {
                            full += 1;
                        }
                    }
                    1 => {
                        if let Some((lba, blocks)) = cache.begin_drain(DRIVE) {
                            let pages = lba.0..lba.0 + u64::from(blocks);
                            drains.push((lba, blocks, pages.map(|page| in_cache[&page]).collect()));
                        }
                    }
                    2 if !drains.is_empty() => {
                        let at = rng.below(drains.len() as u64) as usize;
                        let (lba, blocks, values) = drains.swap_remove(at);
                        for (page, value) in (lba.0..).zip(values) {
                            flash[page as usize] = value;
                        }
                        for page in cache.end_drain(DRIVE, lba, blocks) {
                            in_cache.remove(&page.0);
                        }
                    }
                    _ if !large.is_empty() => {
                        let at = rng.below(large.len() as u64) as usize;
                        let (lba, blocks, value) = large.swap_remove(at);
                        for page in lba.0..lba.0 + u64::from(blocks) {
                            flash[page as usize] = value;
                            newest[page as usize] = value;
                        }
                        for page in cache.end_supersede(DRIVE, lba, blocks) {
                            in_cache.remove(&page.0);
                        }
                    }
                    _ => {}
                }
                assert!(cache.held_pages() <= capacity);
                let rows = cache.rows(DRIVE, Lba(0), 24);
                assert_eq!(rows.len() as u64, cache.held_pages());
                for page in 0..24u32 {
                    let held = rows.contains(&page).then(|| in_cache[&u64::from(page)]);
                    let found = held.unwrap_or(flash[page as usize]);
                    assert_eq!(found, newest[page as usize], "seed {seed}, page {page}");
                }
            }
            assert_eq!(cache.counters.replaced_pages, replaced);
            replaced_in_all += replaced;
            full_in_all += full;
        }
        assert!(replaced_in_all > 500 && full_in_all > 500, "{replaced_in_all} {full_in_all}");
    }

    /// Two drives: each has its pages, and the limits are those of the configuration.
    #[test]
    fn drains_and_room_are_bounded_and_what_has_left_is_not_counted() {
        let config = WriteCacheConfig { drain_depth: 2, ..cache(1).config };
        let config = WriteCacheConfig { capacity_bytes: 60 * 4096, ..config };
        let mut cache = CachedPages::new(config, 2, 4096);
        let other = DriveId(1);
        assert!(cache.is_idle() && !cache.may_drain(DRIVE));
        for page in 0..20 {
            cache.put(DRIVE, Lba(page), 1);
        }
        cache.put(DRIVE, Lba(30), 1);
        cache.put(DRIVE, Lba(40), 1);
        cache.put(other, Lba(0), 4);
        assert!(!cache.is_idle() && cache.may_drain(DRIVE) && cache.may_drain(other));
        // Adjacent pages are drained together, up to a maximum.
        assert_eq!(cache.begin_drain(DRIVE), Some((Lba(0), MOST_BLOCKS)));
        assert_eq!(cache.begin_drain(DRIVE), Some((Lba(16), 4)));
        assert!(!cache.may_drain(DRIVE), "as many are out as may be");
        assert_eq!(cache.begin_drain(DRIVE), None);
        assert_eq!(cache.end_drain(DRIVE, Lba(16), 4).len(), 4);
        assert!(cache.may_drain(DRIVE));
        assert_eq!(cache.begin_drain(DRIVE), Some((Lba(30), 1)));
        assert_eq!(cache.end_drain(DRIVE, Lba(0), MOST_BLOCKS).len(), 16);
        assert_eq!(cache.begin_drain(DRIVE), Some((Lba(40), 1)));
        assert!(!cache.may_drain(DRIVE), "nothing waits, and all depth is used");
        assert_eq!(cache.counters().drained_pages, 22);
        // A drive that fails leaves the pages of the other.
        assert_eq!(cache.abandon(DRIVE), [Lba(30), Lba(40)]);
        assert_eq!(cache.held_pages(), 4);
        cache.check_invariants();
        assert_eq!(cache.begin_drain(other), Some((Lba(0), 4)));
        assert_eq!(cache.end_drain(other, Lba(0), 4).len(), 4);
        assert!(!cache.is_idle(), "two drains are out to the drive that failed");
        assert_eq!(cache.end_drain(DRIVE, Lba(30), 1), []);
        assert!(!cache.is_idle());
        assert_eq!(cache.end_drain(DRIVE, Lba(40), 1), []);
        assert!(cache.is_idle());
    }

    #[test]
    fn what_it_does_is_counted_and_a_closed_one_takes_nothing() {
        let mut cache = cache(4);
        for times in 1..=2 {
            cache.note_read(3);
            cache.note_wait();
            cache.put(DRIVE, Lba(0), 2);
            cache.put(DRIVE, Lba(0), 2);
            cache.supersede(DRIVE, Lba(0), 2);
            cache.end_supersede(DRIVE, Lba(0), 2);
            let counters = cache.counters();
            assert_eq!((counters.read_pages, counters.waits), (3 * times, times));
            assert_eq!((counters.cached_pages, counters.replaced_pages), (4 * times, 2 * times));
            assert_eq!((counters.bypassed_pages, counters.peak_bytes), (2 * times, 2 * 4096));
        }
        assert!(cache.takes(4, None) && !cache.is_closed());
        cache.set_closed(true);
        assert!(!cache.takes(1, None) && cache.is_closed());
    }

    #[test]
    fn what_is_replaced_needs_no_room_and_all_else_does() {
        let mut cache = cache(5);
        cache.put(DRIVE, Lba(1), 3);
        assert!(cache.has_room(DRIVE, Lba(10), 2) && !cache.has_room(DRIVE, Lba(10), 3));
        // Two of four are held.
        assert!(cache.has_room(DRIVE, Lba(2), 4) && !cache.has_room(DRIVE, Lba(4), 3));
        cache.put(DRIVE, Lba(2), 4);
        assert!(cache.has_room(DRIVE, Lba(1), 5) && !cache.has_room(DRIVE, Lba(0), 1));
    }
}
