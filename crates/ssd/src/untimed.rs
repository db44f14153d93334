//! Collection that takes no time: the ideal drive, and preparing drives.

use crate::config::CollectionUnit;
use crate::device::Ssd;
use crate::media::Media;
use alloc::vec::Vec;

impl Ssd {
    /// Collects on `die` until it is above the soft watermark, in no time.
    pub(crate) fn collect_instantly(&mut self, die: u32) {
        let shape = self.ftl.shape;
        // A block with programs in flight cannot be erased before they are done, and in no time
        // nothing gets done: such victims are passed over.
        let mut passed_over = Vec::new();
        while self.ftl.free(die) <= shape.soft {
            let Some(block) = self.ftl.victim(die, false) else { break };
            let dies = match shape.unit {
                CollectionUnit::Block => die..die + 1,
                CollectionUnit::Line => 0..shape.dies,
            };
            self.ftl.begin_collection(die, block);
            if self.ftl.has_pages_in_flight(die, block) {
                passed_over.push(block);
                continue;
            }
            for die in dies {
                let copied = self.collect_block(die, block);
                self.counters.collection_reads_pages += u64::from(copied);
                self.counters.collection_programs_pages += u64::from(copied);
                self.counters.erases += 1;
            }
            self.counters.collections += 1;
        }
        for block in passed_over {
            self.ftl.cancel_collection(die, block);
        }
    }

    /// Copies the valid pages of a block and erases it at once. Returns the pages copied.
    fn collect_block(&mut self, die: u32, block: u32) -> u32 {
        let pages = self.ftl.shape.pages_per_block;
        let first_page = self.ftl.shape.first_page(die, block);
        let mut cursor = first_page;
        let mut copied = 0;
        while let Some(from) = self.ftl.next_valid(cursor, first_page + pages) {
            let to = self.ftl.allocate_for_collection(die);
            self.ftl.commit_copy(self.ftl.holds(from), from, to);
            if let Some(media) = &mut self.media {
                media.push(Media::Copied { from, to });
            }
            cursor = from + 1;
            copied += 1;
        }
        if let Some(media) = &mut self.media {
            media.push(Media::Erased { first_page, pages });
        }
        self.note_erase(die, first_page);
        self.ftl.erase(die, block);
        self.count_wear(die);
        copied
    }
}
