//! A stripe on its way from the write buffer to flash (TTFLASH §4.5).
//!
//! All its new pages get their places at once, so that a flush that has begun never waits for
//! space. Dirty pages are programmed right away. The parity follows when what it is computed from
//! has been read: nothing for a whole stripe, else the old versions of the dirty pages and of the
//! parity, or the other pages, whichever is less and can be read without waiting for a collection.
//! A page whose die collects waits in RAM until that is over; the others do not wait for it.

use crate::buffer::Buffer;
use crate::device::Ssd;
use crate::flush::FLUSHES_PER_DIE;
use crate::ftl::{Allocated, NONE};
use crate::media::Media;
use crate::ops::{Op, OpKind};
use crate::rain::Rain;
use crate::rain::layout::{Place, set_of, slots};
use crate::rain::wear::Move;
use alloc::vec::Vec;
use units::Instant;

/// How the new parity of a stripe is computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Method {
    /// From the old parity and both versions of the dirty pages: read, modify, write.
    Modify,
    /// From all pages: those that are not dirty are read.
    Reconstruct,
}

/// A stripe that will be flushed next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chosen {
    pub(crate) stripe: u32,
    pub(crate) method: Method,
}

/// A stripe that is being flushed.
#[derive(Clone, Debug)]
pub(crate) struct StripeFlush {
    stripe: u32,
    /// Slots whose pages come from the buffer, as bits.
    dirty: u64,
    /// Slots whose pages are not changed but go to another place.
    moved: u64,
    /// Where the stripe will lie.
    target: Place,
    method: Method,
    /// The new places, by slot.
    pages: Vec<(u32, u32)>,
    reads_left: u32,
    programs_left: u32,
}

/// A stripe that has places for all its new pages.
struct Placed {
    flush: u32,
    /// Slots that are read for its parity, as bits.
    reads: u64,
    places: Vec<Allocated>,
}

/// A program that waits until its die is free of collections.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delayed {
    flush: u32,
    page: u32,
    flash: u32,
}

impl Rain {
    /// Sorts pages that have become dirty into their stripes.
    fn take_new(&mut self, buffer: &mut Buffer) {
        while let Some(page) = buffer.take_new() {
            self.order.push(&self.layout, page);
            let (stripe, _) = self.layout.slot_of(page);
            self.may_flush[self.layout.place(stripe).group as usize] = true;
        }
    }
}

impl Ssd {
    /// Flushes stripes as far as the rule and the dies allow.
    pub(crate) fn flush_stripes(&mut self, now: Instant) {
        loop {
            let (Some(buffer), Some(rain)) = (&mut self.buffer, &mut self.rain) else { return };
            rain.take_new(buffer);
            if !buffer.has_dirty() {
                return;
            }
            let urgent = buffer.lacks_slots();
            if !buffer.drains() && !urgent {
                return;
            }
            match self.next_stripe(urgent) {
                Some(chosen) => self.begin_stripe(now, chosen),
                None if urgent && !self.make_room(now) => return,
                None if !urgent => return,
                None => {}
            }
        }
    }

    /// The host waits, and no stripe can be flushed. If none is under way either, dies are out of
    /// space: collects against the contract. Returns whether it is worth trying again.
    fn make_room(&mut self, now: Instant) -> bool {
        let (Some(buffer), Some(rain)) = (&mut self.buffer, &self.rain) else { return false };
        if !rain.flushing.is_empty() {
            return false;
        }
        let waited = core::mem::replace(&mut buffer.starved, true);
        if self.collect_everywhere_instantly() {
            if let Some(rain) = &mut self.rain {
                rain.may_flush.fill(true);
            }
            return !waited;
        }
        self.counters.stalled_writes_pages += u64::from(!waited);
        self.collect_where_due(now, true);
        false
    }

    /// Flushes a stripe, perhaps to another place.
    fn begin_stripe(&mut self, now: Instant, chosen: Chosen) {
        let Some(rain) = &self.rain else { return };
        let Chosen { stripe, method } = chosen;
        let place = rain.layout.place(stripe);
        match self.level_wear(stripe, rain.order.dirty(stripe)) {
            Move::Stay => {
                let placed = self.place_stripe(stripe, method, place);
                self.run_flush(now, placed);
            }
            Move::Shift(turned) => {
                let placed = self.place_stripe(stripe, Method::Reconstruct, turned);
                self.run_flush(now, placed);
            }
            Move::Exchange { place: other, with } => {
                if let Some(rain) = &mut self.rain {
                    rain.exchanging += 2;
                }
                let back = Place { group: place.group, shift: 0 };
                let placed = self.place_stripe(stripe, Method::Reconstruct, other);
                let exchanged = self.place_stripe(with, Method::Reconstruct, back);
                self.run_flush(now, placed);
                self.run_flush(now, exchanged);
            }
        }
    }

    /// Gives all new pages of a stripe their places. Nothing starts before that is done for all of
    /// them, because a collection that starts could take what room there is.
    fn place_stripe(&mut self, stripe: u32, method: Method, target: Place) -> Placed {
        let rain = self.rain.as_mut().expect("stripes exist with RAIN only");
        let place = rain.layout.place(stripe);
        let dirty = rain.order.begin(stripe, place.group);
        let reads = self.read_slots(stripe, dirty, method);
        let rain = self.rain.as_mut().expect("stripes exist with RAIN only");
        // A stripe that moves takes its clean pages along.
        let moved = if target == place { 0 } else { reads };
        let parity = rain.layout.data();
        let written = dirty | moved | 1 << parity;
        let mut places = Vec::with_capacity(written.count_ones() as usize);
        let mut pages = Vec::with_capacity(written.count_ones() as usize);
        for slot in slots(written) {
            let die = rain.layout.die_at(stripe, slot, target);
            let place = self.ftl.allocate_for_host_on(die);
            let place = place.expect("a stripe is chosen if it has room");
            self.ftl.pin(place.page);
            places.push(place);
            pages.push((slot, place.page));
        }
        let flush = rain.flushes.insert(StripeFlush {
            stripe,
            dirty,
            moved,
            target,
            method,
            pages,
            reads_left: reads.count_ones(),
            programs_left: written.count_ones(),
        });
        rain.flushing.insert(stripe, flush);
        Placed { flush, reads, places }
    }

    fn run_flush(&mut self, now: Instant, placed: Placed) {
        let Placed { flush, reads, places } = placed;
        let Some(rain) = &self.rain else { return };
        let StripeFlush { stripe, dirty, .. } = *rain.flushes.get(flush);
        self.program_slots(now, flush, dirty);
        for place in places {
            self.collect_if_low(now, place);
        }
        for slot in slots(reads) {
            self.read_for_parity(now, flush, stripe, slot);
        }
        if reads == 0 {
            self.program_parity(now, flush);
        }
    }

    /// The slots of a stripe that must be read to compute its parity, as bits. Pages that were never
    /// written are zero and are not read.
    pub(crate) fn read_slots(&self, stripe: u32, dirty: u64, method: Method) -> u64 {
        let Some(rain) = &self.rain else { return 0 };
        let layout = &rain.layout;
        let is_written = |slot: &u32| self.ftl.lookup(layout.page(stripe, *slot)) != NONE;
        let wanted = match method {
            Method::Modify => dirty | 1 << layout.data(),
            Method::Reconstruct => rain.order.all() & !dirty,
        };
        set_of(slots(wanted).filter(is_written))
    }

    /// Programs these slots of a stripe: with their pages from the buffer if they are dirty, else
    /// with what was read.
    fn program_slots(&mut self, now: Instant, flush: u32, wanted: u64) {
        let Some(rain) = &self.rain else { return };
        let StripeFlush { stripe, dirty, ref pages, .. } = *rain.flushes.get(flush);
        let layout = &rain.layout;
        let programs: Vec<(bool, Delayed)> = pages
            .iter()
            .filter(|&&(slot, _)| wanted >> slot & 1 == 1)
            .map(|&(slot, flash)| {
                let page = layout.page(stripe, slot);
                (dirty >> slot & 1 == 1, Delayed { flush, page, flash })
            })
            .collect();
        for (is_dirty, program) in programs {
            let Delayed { page, flash, .. } = program;
            if is_dirty && let Some(buffer) = &mut self.buffer {
                buffer.start_flush_of(page);
                buffer.starved = false;
            }
            if let Some(media) = &mut self.media {
                media.push(match is_dirty {
                    true => Media::Flushed { logical: page, page: flash },
                    false => Media::Copied { from: self.ftl.lookup(page), to: flash },
                });
            }
            self.program_or_delay(now, self.ftl.shape.die_of(flash), program);
        }
    }

    fn read_for_parity(&mut self, now: Instant, flush: u32, stripe: u32, slot: u32) {
        let Some(rain) = &self.rain else { return };
        let page = rain.layout.page(stripe, slot);
        let flash = self.ftl.lookup(page);
        let op = Op::new(OpKind::FlushRead, flush, 0, page, flash);
        self.enqueue(now, self.ftl.shape.die_of(flash), op, self.read_service);
    }

    /// A page that parity is computed from has been read.
    pub(crate) fn end_flush_read(&mut self, now: Instant, die: u32) {
        let op = self.dies[die as usize].op;
        let flush = self.ops.get(op).owner;
        self.ops.release(op);
        self.counters.parity_reads_pages += 1;
        let Some(rain) = &mut self.rain else { return };
        let stripe_flush = rain.flushes.get_mut(flush);
        stripe_flush.reads_left -= 1;
        if stripe_flush.reads_left == 0 {
            self.program_parity(now, flush);
        }
        self.dispatch(now, die);
    }

    /// Everything that the parity is computed from is there.
    fn program_parity(&mut self, now: Instant, flush: u32) {
        let Some(rain) = &self.rain else { return };
        let moved = rain.flushes.get(flush).moved;
        self.program_slots(now, flush, moved);
        let Some(rain) = &self.rain else { return };
        let StripeFlush { stripe, dirty, method, ref pages, .. } = *rain.flushes.get(flush);
        let parity = rain.layout.data();
        let page = rain.layout.page(stripe, parity);
        let Some(&(_, flash)) = pages.iter().find(|&&(slot, _)| slot == parity) else { return };
        if self.media.is_some() {
            let old = self.read_slots(stripe, dirty, method) & !moved;
            let old = slots(old).map(|slot| self.ftl.lookup(rain.layout.page(stripe, slot)));
            let new = pages.iter().filter(|&&(slot, _)| slot != parity).map(|&(_, page)| page);
            let terms: Vec<u32> = new.chain(old).collect();
            if let Some(media) = &mut self.media {
                media.push(Media::Cleared { page: flash });
                media.extend(terms.into_iter().map(|from| Media::Added { from, to: flash }));
            }
        }
        let die = self.ftl.shape.die_of(flash);
        self.program_or_delay(now, die, Delayed { flush, page, flash });
    }

    /// Programs a page now, or when its die is free of collections.
    fn program_or_delay(&mut self, now: Instant, die: u32, program: Delayed) {
        if self.is_reached(die) && self.dies[die as usize].flushes < FLUSHES_PER_DIE {
            self.start_program(now, die, program);
        } else if let Some(rain) = &mut self.rain {
            rain.delayed[die as usize].push_back(program);
            self.may_flush_group(self.group_of(die));
        }
    }

    /// Lets programs go ahead that waited for a die.
    pub(crate) fn release_delayed(&mut self, now: Instant, die: u32) {
        while let Some(rain) = &mut self.rain {
            let target = &self.dies[die as usize];
            if target.collection.is_some() || target.flushes >= FLUSHES_PER_DIE {
                return;
            }
            let Some(program) = rain.delayed[die as usize].pop_front() else { return };
            self.start_program(now, die, program);
        }
    }

    fn start_program(&mut self, now: Instant, die: u32, program: Delayed) {
        self.dies[die as usize].flushes += 1;
        let Delayed { flush, page, flash } = program;
        let op = Op::new(OpKind::Flush, flush, 0, page, flash);
        self.enqueue(now, die, op, self.program_service);
    }

    /// A page of a stripe is programmed.
    pub(crate) fn end_stripe_program(&mut self, now: Instant, die: u32) {
        let op = self.dies[die as usize].op;
        let Op { owner: flush, logical, .. } = *self.ops.get(op);
        self.ops.release(op);
        self.dies[die as usize].flushes -= 1;
        if let Some(rain) = &mut self.rain {
            let stripe_flush = rain.flushes.get_mut(flush);
            let (_, slot) = rain.layout.slot_of(logical);
            let programs = match slot {
                _ if stripe_flush.dirty >> slot & 1 == 1 => &mut self.counters.host_programs_pages,
                parity if parity == rain.layout.data() => &mut self.counters.parity_programs_pages,
                _ => &mut self.counters.moved_pages,
            };
            *programs += 1;
            stripe_flush.programs_left -= 1;
            let stripe = stripe_flush.stripe;
            // A page of it that is being computed needs what is mapped now.
            if stripe_flush.programs_left == 0 && !rain.rebuilding.contains_key(&stripe) {
                self.map_stripe(now, flush);
            }
        }
        self.release_delayed(now, die);
        self.may_flush_group(self.group_of(die));
        self.dispatch(now, die);
        self.flush_stripes(now);
    }

    /// A page of a stripe was computed. If that was all that kept its flush from being mapped, it is
    /// mapped.
    pub(crate) fn map_if_programmed(&mut self, now: Instant, stripe: u32) {
        let Some(rain) = &self.rain else { return };
        let Some(&flush) = rain.flushing.get(&stripe) else { return };
        if rain.flushes.get(flush).programs_left == 0 {
            self.map_stripe(now, flush);
            self.flush_stripes(now);
        }
    }

    /// Whether a stripe waits to be mapped; its pages are not computed meanwhile, or it might wait
    /// for ever.
    pub(crate) fn waits_to_be_mapped(&self, stripe: u32) -> bool {
        let Some(rain) = &self.rain else { return false };
        let flush = rain.flushing.get(&stripe);
        flush.is_some_and(|&flush| rain.flushes.get(flush).programs_left == 0)
    }

    /// All pages of a stripe are programmed: the new ones replace the old ones.
    fn map_stripe(&mut self, now: Instant, flush: u32) {
        let (Some(buffer), Some(rain)) = (&mut self.buffer, &mut self.rain) else { return };
        let stripe_flush = rain.flushes.get_mut(flush);
        let StripeFlush { stripe, dirty, target, .. } = *stripe_flush;
        for (slot, flash) in core::mem::take(&mut stripe_flush.pages) {
            let page = rain.layout.page(stripe, slot);
            self.ftl.commit_write(page, flash);
            self.ftl.unpin(flash);
            if dirty >> slot & 1 == 1
                && buffer.end_flush(page)
                && let Some(media) = &mut self.media
            {
                media.push(Media::Unbuffered { logical: page });
            }
        }
        // Pages that were written again meanwhile.
        rain.take_new(buffer);
        rain.flushes.release(flush);
        rain.flushing.remove(&stripe);
        let before = rain.layout.place(stripe);
        if target != before {
            self.counters.moved_stripes += 1;
            rain.exchanging -= u32::from(target.group != before.group);
            rain.layout.set_place(stripe, target);
        }
        rain.order.end(&rain.layout, stripe);
        rain.may_flush[rain.layout.place(stripe).group as usize] = true;
        self.admit_waiting(now);
    }
}
