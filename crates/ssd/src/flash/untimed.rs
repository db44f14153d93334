//! Collections that take no time: for ideal drives, and to prepare drives.

use crate::aged::AgedBlock;
use crate::config::CollectionUnit;
use crate::flash::Flash;
use crate::ftl::{BlockImage, Ftl, Placements, Worth};
use crate::media::Media;
use alloc::vec::Vec;
use units::Observe;

/// A block (or line) to collect in no time.
#[derive(Clone, Copy, Debug)]
struct Victim {
    block: u32,
    /// The data of the victim are cold, and move to a worn block.
    levels: bool,
}

impl Victim {
    /// A victim that gives room back.
    fn of(block: u32) -> Self {
        Self { block, levels: false }
    }
}

impl<O: Observe> Flash<O> {
    /// Collects on `die` until it is above the soft watermark, and levels its wear, in no time.
    pub(crate) fn collect_instantly(&mut self, die: u32) {
        self.collect_all_instantly(die, |ftl| {
            if let Some(block) = ftl.cold_block(die) {
                return Some(Victim { block, levels: true });
            }
            let is_due = ftl.free(die) <= ftl.shape().levels.soft;
            is_due.then(|| ftl.victim(die, Worth::Enough)).flatten().map(Victim::of)
        });
    }

    /// Collects for each die in no time until `restore` blocks are free. Any victim that gives room
    /// back will do.
    pub(crate) fn restore_instantly(&mut self) {
        for die in 0..self.ftl.shape().dies {
            self.collect_all_instantly(die, |ftl| {
                let is_due = ftl.free(die) <= ftl.shape().levels.restore;
                is_due.then(|| ftl.victim(die, Worth::Anything)).flatten().map(Victim::of)
            });
        }
    }

    /// Folds what is in the cache of SLC blocks, in no time.
    pub(crate) fn fold_instantly(&mut self) {
        for die in 0..self.ftl.shape().dies {
            self.collect_all_instantly(die, |ftl| ftl.slc_to_fold(die).map(Victim::of));
        }
    }

    /// Collects for `die` the victims that `next` names, in no time.
    fn collect_all_instantly(&mut self, die: u32, next: impl Fn(&Ftl) -> Option<Victim>) {
        let shape = *self.ftl.shape();
        // A block with programs in flight cannot be erased before they end, and no time passes
        // here: such victims are passed over.
        let mut passed_over = Vec::new();
        while let Some(Victim { block, levels }) = next(&self.ftl) {
            let dies = match shape.unit {
                CollectionUnit::Block => die..die + 1,
                CollectionUnit::Line => 0..shape.dies,
            };
            self.ftl.begin_collection(die, block);
            if self.ftl.has_pages_in_flight(die, block) {
                passed_over.push(block);
                continue;
            }
            if levels {
                self.ftl.begin_swap(die, block);
            }
            for die in dies {
                let copied = self.collect_block(die, block);
                self.ftl.align(die);
                let counters = self.journal.counters_mut();
                counters.collection_reads_pages += u64::from(copied);
                counters.collection_programs_pages += u64::from(copied);
                counters.erases += 1;
            }
            self.counters_mut().collections += 1;
        }
        for block in passed_over {
            self.ftl.cancel_collection(die, block);
        }
    }

    /// Collects on every die if collections take no time. Returns whether they do.
    pub(crate) fn collect_everywhere_instantly(&mut self) -> bool {
        if self.config.collection.untimed.collects() {
            for die in 0..self.ftl.shape().dies {
                self.collect_instantly(die);
            }
            if self.ftl.waits_for_slc() {
                self.fold_instantly();
            }
        }
        self.config.collection.untimed.collects()
    }

    /// Copies the valid pages of a block and erases it at once. Returns the pages copied.
    fn collect_block(&mut self, die: u32, block: u32) -> u32 {
        let first_page = self.ftl.shape().first_page(die, block);
        let end = first_page + self.ftl.shape().pages_per_block;
        let mut cursor = first_page;
        let mut copied = 0;
        let is_cached = self.ftl.slc_at(first_page).is_some();
        while let Some((from, logical)) = self.ftl.next_valid(cursor, end) {
            let to = self.ftl.allocate_for_collection(die);
            self.ftl.commit_copy(logical, from, to);
            self.journal.media(|| Media::Copied { from, to });
            cursor = from + 1;
            copied += 1;
        }
        self.counters_mut().folded_pages += if is_cached { u64::from(copied) } else { 0 };
        self.erase(die, first_page);
        copied
    }

    /// Programs a block of a factory-new drive before its first command: see [`Ftl::place_block`].
    pub(crate) fn place_block(
        &mut self,
        block: AgedBlock,
        image: &BlockImage,
        placements: &mut Placements,
    ) {
        self.ftl.place_block(block.die, block.pages, image, placements);
    }

    /// See [`Ftl::enter`].
    pub(crate) fn enter(&mut self, placements: &Placements) {
        self.ftl.enter(placements);
    }

    /// Advances each die to the first page of a program: pages that were placed one by one are
    /// followed by filler.
    pub(crate) fn align(&mut self) {
        (0..self.shape().dies).for_each(|die| self.ftl.align(die));
    }

    /// Writes a page in no time, to `die` if it is bound to one or else to any, and collects as
    /// needed.
    pub(crate) fn write_untimed(&mut self, page: u32, die: Option<u32>) {
        let Some(place) = self.ftl.allocate_on(page, die) else {
            // Every die is at the hard watermark: validation made sure that each has a victim.
            for die in 0..self.ftl.shape().dies {
                self.collect_instantly(die);
            }
            let place =
                self.ftl.allocate_on(page, die).expect("collection makes room by validation");
            self.ftl.commit_write(page, place.page);
            return;
        };
        self.ftl.commit_write(page, place.page);
        let die = place.die;
        if place.opened_block
            && (self.ftl.free(die) <= self.ftl.shape().levels.soft
                || self.ftl.cold_block(die).is_some())
        {
            self.collect_instantly(die);
        }
    }
}
