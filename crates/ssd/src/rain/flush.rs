//! Flushes of stripes from the write buffer to flash (TTFLASH §4.5).
//!
//! All new pages of a stripe get their places at once, so that a flush that has begun never waits
//! for space. Dirty pages are programmed right away. The parity follows when its inputs have been
//! read: none for a whole stripe, else the old versions of the dirty pages and of the parity, or
//! the other pages. The flush reads the fewer of these that need not wait for a collection. A page
//! whose die collects waits in RAM for the end of the collection; the others do not wait for it.

use crate::dies::Task;
use crate::flash::Flash;
use crate::ftl::Allocated;
use crate::link::HostLink;
use crate::media::Media;
use crate::placement::FLUSHES_PER_DIE;
use crate::rain::Striped;
use crate::rain::choose::Chosen;
use crate::rain::layout::{Place, slots};
use crate::rain::stripes::{Method, Program, StripeFlush};
use crate::rain::wear::Move;
use alloc::vec::Vec;
use units::{Instant, Observe};

/// A stripe that has places for all its new pages.
struct Placed {
    flush: u32,
    /// Slots that are read for its parity, as bits.
    reads: u64,
    places: Vec<Allocated>,
}

impl Striped {
    /// Flushes the stripes that the rule and the dies allow.
    pub(crate) fn flush<O: Observe>(&mut self, now: Instant, flash: &mut Flash<O>) {
        loop {
            self.take_new();
            if !self.buffer.has_dirty() {
                return;
            }
            let urgent = self.buffer.lacks_slots();
            if !self.buffer.drains() && !urgent {
                return;
            }
            flash.take_changed_groups(|group| self.chooser.look_at(group as u32));
            match self.chooser.next(urgent, &self.stripes, flash) {
                Some(chosen) => self.begin_stripe(now, chosen, flash),
                None if urgent && !self.make_room(now, flash) => return,
                None if !urgent => return,
                None => {}
            }
        }
    }

    /// Sorts pages that have become dirty into their stripes.
    fn take_new(&mut self) {
        while let Some(page) = self.buffer.take_new() {
            self.stripes.order.push(&self.stripes.layout, page);
            let (stripe, _) = self.stripes.layout.slot_of(page);
            self.chooser.look_at(self.stripes.layout.place(stripe).group);
        }
    }

    /// Makes room when writes of the host wait and no stripe can be flushed. If no flush is under
    /// way either, dies are out of space: collects against the contract. Returns whether to try
    /// again.
    fn make_room<O: Observe>(&mut self, now: Instant, flash: &mut Flash<O>) -> bool {
        if !self.stripes.is_quiet() {
            return false;
        }
        let is_new = self.buffer.starve();
        if flash.collect_everywhere_instantly() {
            self.chooser.look_everywhere();
            return is_new;
        }
        flash.counters_mut().stalled_writes_pages += u64::from(is_new);
        // A drive with a buffer has one range.
        flash.make_room(now, 0);
        false
    }

    /// Begins to flush a stripe, to another place if wear leveling moves it.
    fn begin_stripe<O: Observe>(&mut self, now: Instant, chosen: Chosen, flash: &mut Flash<O>) {
        let Chosen { stripe, method } = chosen;
        let place = self.stripes.layout.place(stripe);
        match self.wear.plan(stripe, &self.stripes, flash) {
            Move::Stay => {
                let placed = self.place_stripe(stripe, method, place, flash);
                self.run_flush(now, placed, flash);
            }
            Move::Shift(turned) => {
                let placed = self.place_stripe(stripe, Method::Reconstruct, turned, flash);
                self.run_flush(now, placed, flash);
            }
            Move::Exchange { place: other, with } => {
                let back = Place { group: place.group, shift: 0 };
                let placed = self.place_stripe(stripe, Method::Reconstruct, other, flash);
                let exchanged = self.place_stripe(with, Method::Reconstruct, back, flash);
                self.run_flush(now, placed, flash);
                self.run_flush(now, exchanged, flash);
            }
        }
    }

    /// Allocates places for all new pages of a stripe. No operation starts before all have places,
    /// because a collection that starts could take the room.
    fn place_stripe<O: Observe>(
        &mut self,
        stripe: u32,
        method: Method,
        target: Place,
        flash: &mut Flash<O>,
    ) -> Placed {
        let place = self.stripes.layout.place(stripe);
        let dirty = self.stripes.order.begin(stripe, place.group);
        let reads = self.stripes.read_slots(stripe, dirty, method, flash.ftl());
        // A stripe that moves takes its clean pages with it.
        let moved = if target == place { 0 } else { reads };
        let written = dirty | moved | 1 << self.stripes.layout.data();
        let mut places = Vec::with_capacity(written.count_ones() as usize);
        let mut pages = Vec::with_capacity(written.count_ones() as usize);
        for slot in slots(written) {
            let die = self.stripes.layout.die_at(stripe, slot, target);
            let place = flash.place_for_stripe(die);
            let place = place.expect("a stripe is chosen if it has room");
            places.push(place);
            pages.push((slot, place.page));
        }
        let flush = self.stripes.begin_flush(StripeFlush {
            stripe,
            dirty,
            moved,
            target,
            method,
            pages,
            reads_left: reads.count_ones(),
            programs_left: written.count_ones(),
        });
        Placed { flush, reads, places }
    }

    fn run_flush<O: Observe>(&mut self, now: Instant, placed: Placed, flash: &mut Flash<O>) {
        let Placed { flush, reads, places } = placed;
        let StripeFlush { stripe, dirty, .. } = *self.stripes.flush(flush);
        self.program_slots(now, flush, dirty, flash);
        for place in places {
            flash.collect_if_low(now, place, false);
        }
        for slot in slots(reads) {
            let page = self.stripes.layout.page(stripe, slot);
            // Only pages that were written are read.
            if let Some(at) = flash.ftl().lookup(page) {
                let die = flash.shape().die_of(at);
                flash.enqueue(now, die, Task::ParityRead { flush, page });
            }
        }
        if reads == 0 {
            self.program_parity(now, flush, flash);
        }
    }

    /// Programs these slots of a stripe: dirty pages from the buffer, others from the data that was
    /// read.
    fn program_slots<O: Observe>(
        &mut self,
        now: Instant,
        number: u32,
        wanted: u64,
        flash: &mut Flash<O>,
    ) {
        let flush = self.stripes.flush(number);
        let programs: Vec<(bool, Program)> = flush
            .pages
            .iter()
            .filter(|&&(slot, _)| wanted >> slot & 1 == 1)
            .map(|&(slot, at)| {
                let page = self.stripes.layout.page(flush.stripe, slot);
                (flush.dirty >> slot & 1 == 1, Program { flush: number, page, flash: at })
            })
            .collect();
        for (is_dirty, program) in programs {
            let Program { page, flash: to, .. } = program;
            if is_dirty {
                self.buffer.start_flush_of(page);
                flash.journal_mut().media(|| Media::Flushed { logical: page, page: to });
            } else if let Some(from) = flash.ftl().lookup(page) {
                flash.journal_mut().media(|| Media::Copied { from, to });
            }
            self.program_or_delay(now, program, flash);
        }
    }

    /// Counts a page that has been read to compute parity.
    pub(super) fn end_parity_read<O: Observe>(
        &mut self,
        now: Instant,
        flush: u32,
        flash: &mut Flash<O>,
    ) {
        flash.counters_mut().parity_reads_pages += 1;
        let stripe_flush = self.stripes.flush_mut(flush);
        stripe_flush.reads_left -= 1;
        if stripe_flush.reads_left == 0 {
            self.program_parity(now, flush, flash);
        }
    }

    /// Programs the parity, whose inputs are all there.
    fn program_parity<O: Observe>(&mut self, now: Instant, number: u32, flash: &mut Flash<O>) {
        let moved = self.stripes.flush(number).moved;
        self.program_slots(now, number, moved, flash);
        let layout = &self.stripes.layout;
        let StripeFlush { stripe, dirty, method, ref pages, .. } = *self.stripes.flush(number);
        let parity = layout.data();
        let Some(&(_, to)) = pages.iter().find(|&&(slot, _)| slot == parity) else { return };
        if flash.journal().carries_data() {
            let old = self.stripes.read_slots(stripe, dirty, method, flash.ftl()) & !moved;
            let old = slots(old).filter_map(|slot| flash.ftl().lookup(layout.page(stripe, slot)));
            let new = pages.iter().filter(|&&(slot, _)| slot != parity).map(|&(_, page)| page);
            let terms: Vec<u32> = new.chain(old).collect();
            flash.journal_mut().media(|| Media::Cleared { page: to });
            for from in terms {
                flash.journal_mut().media(|| Media::Added { from, to });
            }
        }
        let page = layout.page(stripe, parity);
        self.program_or_delay(now, Program { flush: number, page, flash: to }, flash);
    }

    /// Programs a page now, or when collections no longer hold its die.
    fn program_or_delay<O: Observe>(
        &mut self,
        now: Instant,
        program: Program,
        flash: &mut Flash<O>,
    ) {
        let die = flash.shape().die_of(program.flash);
        if self.stripes.is_reached(die, flash) && self.stripes.programs(die) < FLUSHES_PER_DIE {
            self.start_program(now, die, program, flash);
        } else {
            self.stripes.delay(die, program);
            self.chooser.look_at(self.stripes.layout.groups.of(die));
        }
    }

    /// Starts programs that waited for a die.
    pub(crate) fn release_delayed<O: Observe>(
        &mut self,
        now: Instant,
        die: u32,
        flash: &mut Flash<O>,
    ) {
        while !flash.dies().is_collecting(die)
            && self.stripes.programs(die) < FLUSHES_PER_DIE
            && let Some(program) = self.stripes.take_delayed(die)
        {
            self.start_program(now, die, program, flash);
        }
    }

    fn start_program<O: Observe>(
        &mut self,
        now: Instant,
        die: u32,
        program: Program,
        flash: &mut Flash<O>,
    ) {
        self.stripes.begin_program(die);
        let Program { flush, page, flash: to } = program;
        flash.enqueue(now, die, Task::StripeProgram { flush, page, flash: to });
    }

    /// Ends the program of a page of a stripe. The caller continues the die, then the flush.
    pub(super) fn end_program<O: Observe>(
        &mut self,
        now: Instant,
        die: u32,
        (flush, page): (u32, u32),
        flash: &mut Flash<O>,
        link: &mut HostLink,
    ) {
        self.stripes.end_program(die);
        let (_, slot) = self.stripes.layout.slot_of(page);
        let parity = self.stripes.layout.data();
        let stripe_flush = self.stripes.flush_mut(flush);
        let counters = flash.counters_mut();
        let programs = match slot {
            _ if stripe_flush.dirty >> slot & 1 == 1 => &mut counters.host_programs_pages,
            slot if slot == parity => &mut counters.parity_programs_pages,
            _ => &mut counters.moved_pages,
        };
        *programs += 1;
        stripe_flush.programs_left -= 1;
        // A reconstruction of a page of this stripe needs the old mapping.
        if stripe_flush.programs_left == 0 {
            let stripe = stripe_flush.stripe;
            if !self.reconstructions.uses(stripe) {
                self.map_stripe(now, flush, flash, link);
            }
        }
        self.release_delayed(now, die, flash);
        self.chooser.look_at(self.stripes.layout.groups.of(die));
    }

    /// Maps the flush of a stripe whose last reconstruction has ended, if all its pages are
    /// programmed.
    pub(super) fn map_if_programmed<O: Observe>(
        &mut self,
        now: Instant,
        stripe: u32,
        flash: &mut Flash<O>,
        link: &mut HostLink,
    ) {
        if let Some(flush) = self.stripes.waits_to_be_mapped(stripe) {
            self.map_stripe(now, flush, flash, link);
            self.flush(now, flash);
        }
    }

    /// Maps the new pages of a stripe, all of which are programmed, in place of the old ones.
    fn map_stripe<O: Observe>(
        &mut self,
        now: Instant,
        flush: u32,
        flash: &mut Flash<O>,
        link: &mut HostLink,
    ) {
        let stripe_flush = self.stripes.flush_mut(flush);
        let StripeFlush { stripe, dirty, target, .. } = *stripe_flush;
        for (slot, at) in core::mem::take(&mut stripe_flush.pages) {
            let page = self.stripes.layout.page(stripe, slot);
            flash.commit_stripe_page(page, at);
            if dirty >> slot & 1 == 1 && self.buffer.end_flush(page) {
                flash.journal_mut().media(|| Media::Unbuffered { logical: page });
            }
        }
        // Pages that were written again during the flush.
        self.take_new();
        self.stripes.end_flush(flush);
        let before = self.stripes.layout.place(stripe);
        if target != before {
            flash.counters_mut().moved_stripes += 1;
            if target.group != before.group {
                self.wear.end_exchange();
            }
            self.stripes.layout.set_place(stripe, target);
        }
        self.stripes.order.end(&self.stripes.layout, stripe);
        self.chooser.look_at(target.group);
        self.buffer.admit_waiting(now, flash, link);
    }
}
