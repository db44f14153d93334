//! Reads that do not wait for a collection: their pages are reconstructed from the rest of the
//! stripe (TTFLASH §4.3).

use crate::dies::Task;
use crate::flash::Flash;
use crate::link::HostLink;
use crate::media::Media;
use crate::placement::Location;
use crate::rain::config::RainConfig;
use crate::rain::layout::{set_of, slots};
use crate::rain::stripes::Stripes;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use nvme::{Cause, Delays};
use units::{Duration, Instant, Observe, Slab};

/// A page that is reconstructed from the rest of its stripe.
#[derive(Clone, Copy, Debug)]
struct Reconstruction {
    command: u32,
    block: u32,
    stripe: u32,
    /// Pages that have not been read yet.
    left: u32,
}

/// A page whose parts have all been read.
#[derive(Clone, Copy, Debug)]
struct Computing {
    at: Instant,
    command: u32,
    delays: Delays,
}

/// The reconstructions of a command, by stripe.
pub(crate) type ByStripe = Vec<(u32, u32)>;

/// The pages that a drive reconstructs.
#[derive(Clone, Debug)]
pub(crate) struct Reconstructions {
    /// Whether pages are reconstructed at all.
    tolerant_reads: bool,
    /// Whether they are reconstructed regardless of the cost.
    greedy_reads: bool,
    /// Time to compute a page from the rest of its stripe.
    xor: Duration,
    parts: Slab<Reconstruction>,
    /// Number of pages that are being reconstructed, by stripe.
    stripes: BTreeMap<u32, u32>,
    /// Pages whose parts have all been read; the time to compute each is constant.
    computing: VecDeque<Computing>,
}

impl Reconstructions {
    pub(crate) fn new(config: &RainConfig) -> Self {
        Self {
            tolerant_reads: config.tolerant_reads,
            greedy_reads: config.greedy_reads,
            xor: config.xor,
            parts: Slab::new(),
            stripes: BTreeMap::new(),
            computing: VecDeque::new(),
        }
    }

    /// Whether a page of this stripe is being reconstructed.
    pub(crate) fn uses(&self, stripe: u32) -> bool {
        self.stripes.contains_key(&stripe)
    }

    /// Marks those of `pages` that are reconstructed instead of read from their die; logical page
    /// `first` is the first of them. Returns whether any is.
    pub(crate) fn mark<O: Observe>(
        &self,
        now: Instant,
        first: u32,
        pages: &mut [Location],
        stripes: &Stripes,
        flash: &Flash<O>,
    ) -> bool {
        if !self.tolerant_reads {
            return false;
        }
        let mut any = false;
        let mut begin = 0;
        while begin < pages.len() {
            let (stripe, slot) = stripes.layout.slot_of(first + begin as u32);
            let end = pages.len().min(begin + (stripes.layout.data() - slot) as usize);
            let pages = &mut pages[begin..end];
            any |= self.mark_in_stripe(now, stripe, slot, pages, stripes, flash);
            begin = end;
        }
        any
    }

    /// [`Reconstructions::mark`] for the pages from `slot` on of one stripe.
    fn mark_in_stripe<O: Observe>(
        &self,
        now: Instant,
        stripe: u32,
        slot: u32,
        pages: &mut [Location],
        stripes: &Stripes,
        flash: &Flash<O>,
    ) -> bool {
        let on_flash = pages.iter().zip(slot..).filter(|&(&page, _)| page != Location::Buffered);
        let read = set_of(on_flash.map(|(_, slot)| slot));
        let blocked = stripes.slots_on_collecting_dies(stripe, read, flash);
        if blocked == 0 || !self.is_worth_it(now, stripe, read, blocked, stripes, flash) {
            return false;
        }
        pages[(blocked.trailing_zeros() - slot) as usize] = Location::Reconstructed;
        true
    }

    /// Returns true if it is faster to read the rest of the stripe than to wait for the page in the
    /// slot `blocked`. The command reads the slots `read` anyway.
    ///
    /// A read of the whole stripe reads the parity instead of the page. A shorter read makes
    /// additional reads, which delay others. Additional reads pay if the rest of the collection
    /// takes longer than `B × (t_r + t_transfer)`, where `B` of their channels are busy (TTFLASH
    /// §4.3).
    fn is_worth_it<O: Observe>(
        &self,
        now: Instant,
        stripe: u32,
        read: u64,
        blocked: u64,
        stripes: &Stripes,
        flash: &Flash<O>,
    ) -> bool {
        let layout = &stripes.layout;
        let all = stripes.order.all() | 1 << layout.data();
        let rest = all & !blocked;
        // One parity makes up for one page.
        if blocked.count_ones() > 1
            || stripes.slots_on_collecting_dies(stripe, rest, flash) != 0
            || stripes.waits_to_be_mapped(stripe).is_some()
        {
            return false;
        }
        let additional = rest & !read;
        if self.greedy_reads || additional.count_ones() <= 1 {
            return true;
        }
        let place = layout.place(stripe);
        let channels = slots(additional)
            .map(|slot| flash.dies().channel_of(layout.die_at(stripe, slot, place)));
        let busy_channels =
            channels.filter(|&channel| flash.dies().is_channel_busy(channel)).count();
        let die = layout.die_at(stripe, blocked.trailing_zeros(), place);
        flash.collection_left(now, die) > flash.dies().times().read_service * busy_channels as u64
    }

    /// Whether a read of this page alone would be reconstructed if its die collected.
    pub(crate) fn would_reconstruct<O: Observe>(
        &self,
        now: Instant,
        logical: u32,
        stripes: &Stripes,
        flash: &Flash<O>,
    ) -> bool {
        let (stripe, slot) = stripes.layout.slot_of(logical);
        self.tolerant_reads && self.is_worth_it(now, stripe, 1 << slot, 1 << slot, stripes, flash)
    }

    /// Begins to reconstruct the marked `pages` of a command. Returns the reconstructions by
    /// stripe.
    pub(crate) fn begin<O: Observe>(
        &mut self,
        now: Instant,
        command: u32,
        pages: &[Location],
        stripes: &Stripes,
        flash: &mut Flash<O>,
        link: &HostLink,
    ) -> ByStripe {
        let mut begun = Vec::new();
        for (&page, block) in pages.iter().zip(0..) {
            if page == Location::Reconstructed {
                begun.push(self.begin_page(now, command, block, pages, stripes, flash, link));
            }
        }
        begun
    }

    /// Reads the other pages of the stripe to reconstruct block `block` of a command. `pages` are
    /// the pages of the command; those that it reads anyway are used. Returns the stripe and the
    /// reconstruction.
    #[expect(clippy::too_many_arguments, reason = "the machines that one read passes through")]
    fn begin_page<O: Observe>(
        &mut self,
        now: Instant,
        command: u32,
        block: u32,
        pages: &[Location],
        stripes: &Stripes,
        flash: &mut Flash<O>,
        link: &HostLink,
    ) -> (u32, u32) {
        let first = link.page_of(command, 0);
        let layout = &stripes.layout;
        let (stripe, missing) = layout.slot_of(first + block);
        let left = layout.data();
        let number = self.parts.insert(Reconstruction { command, block, stripe, left });
        flash.journal_mut().name_reconstruction(number, link.id_of(command));
        *self.stripes.entry(stripe).or_insert(0) += 1;
        for slot in (0..=left).filter(|&slot| slot != missing) {
            let page = layout.page(stripe, slot);
            let in_command =
                page.checked_sub(first).and_then(|block| pages.get(block as usize).copied());
            if in_command.is_some_and(|page| page != Location::Buffered) {
                continue;
            }
            let task = Task::StripeRead { reconstruction: number, page };
            flash.enqueue(now, layout.die_of(page), task);
        }
        (stripe, number)
    }

    /// Counts a page that has been read for a reconstruction. Returns its stripe if none of its
    /// pages is being reconstructed any more.
    pub(crate) fn add<O: Observe>(
        &mut self,
        now: Instant,
        number: u32,
        page: u32,
        mut delays: Delays,
        flash: &mut Flash<O>,
        link: &HostLink,
    ) -> Option<u32> {
        let part = self.parts.get_mut(number);
        part.left -= 1;
        let Reconstruction { command, block, stripe, left } = *part;
        let flash_page = flash.ftl().lookup(page);
        flash.journal_mut().media(|| Media::SensedPart {
            command: link.id_of(command),
            block,
            page: flash_page,
        });
        if left > 0 {
            return None;
        }
        self.parts.release(number);
        let users = self.stripes.entry(stripe).or_insert(1);
        *users -= 1;
        let last = *users == 0;
        if last {
            self.stripes.remove(&stripe);
        }
        delays.add(Cause::Rebuild, self.xor);
        self.computing.push_back(Computing { at: now + self.xor, command, delays });
        flash.counters_mut().rebuilt_pages += 1;
        last.then_some(stripe)
    }

    /// Time at which the next page has been computed.
    #[inline]
    pub(crate) fn next_due(&self) -> Instant {
        self.computing.front().map_or(Instant::NEVER, |computing| computing.at)
    }

    /// Ends the computation of a page.
    pub(crate) fn end(&mut self, now: Instant, link: &mut HostLink) {
        if let Some(Computing { command, delays, .. }) = self.computing.pop_front() {
            link.end_read_page(now, command, || delays);
        }
    }

    /// Commands whose pages are reconstructed, once for each page. `read_for` are the
    /// reconstructions for which pages are being read.
    pub(crate) fn commands(&self, read_for: Vec<u32>) -> impl Iterator<Item = u32> {
        assert_eq!(read_for.len(), self.parts.len(), "reconstructions that nothing is read for");
        let parts = read_for.into_iter().map(|number| self.parts.get(number).command);
        parts.chain(self.computing.iter().map(|computing| computing.command))
    }

    /// Checks that the counts by stripe agree with the reconstructions.
    pub(crate) fn check_invariants(&self) {
        let begun: u32 = self.stripes.values().sum();
        assert_eq!(begun as usize, self.parts.len(), "pages that are being reconstructed");
        assert!(self.computing.iter().is_sorted_by_key(|computing| computing.at));
    }
}
