//! The stripes of a drive: their places, those that wait in the write buffer, and those on their
//! way to flash.

use crate::config::Config;
use crate::flash::Flash;
use crate::ftl::Ftl;
use crate::rain::layout::{Layout, Place, set_of, slots};
use crate::rain::order::StripeOrder;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec;
use alloc::vec::Vec;
use units::{Observe, Slab};

/// Method that computes the new parity of a stripe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Method {
    /// Read-modify-write: from the old parity and both versions of the dirty pages.
    Modify,
    /// Reconstruct-write: from all pages; those that are not dirty are read.
    Reconstruct,
}

/// A stripe that is being flushed.
#[derive(Clone, Debug)]
pub(crate) struct StripeFlush {
    pub(crate) stripe: u32,
    /// Slots whose pages come from the buffer, as bits.
    pub(crate) dirty: u64,
    /// Slots whose pages do not change but go to another place.
    pub(crate) moved: u64,
    /// New place of the stripe.
    pub(crate) target: Place,
    pub(crate) method: Method,
    /// New flash pages, by slot.
    pub(crate) pages: Vec<(u32, u32)>,
    pub(crate) reads_left: u32,
    pub(crate) programs_left: u32,
}

/// A program of a stripe with its target. It begins now, or when collections no longer hold its
/// die.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Program {
    pub(crate) flush: u32,
    pub(crate) page: u32,
    pub(crate) flash: u32,
}

/// The stripes of one drive.
#[derive(Clone, Debug)]
pub(crate) struct Stripes {
    pub(crate) layout: Layout,
    /// Stripes with dirty pages in the write buffer.
    pub(crate) order: StripeOrder,
    flushes: Slab<StripeFlush>,
    /// Stripes that are being flushed, and their flush.
    flushing: BTreeMap<u32, u32>,
    /// Programs of each die that are queued or running.
    programs: Vec<u32>,
    /// Programs of each die that wait until no collection holds it.
    delayed: Vec<VecDeque<Program>>,
}

impl Stripes {
    pub(crate) fn new(config: &Config, width: u32) -> Self {
        let layout = Layout::new(config, width);
        let dies = config.geometry.dies() as usize;
        Self {
            order: StripeOrder::new(layout.groups.count, layout.data()),
            layout,
            flushes: Slab::new(),
            flushing: BTreeMap::new(),
            programs: vec![0; dies],
            delayed: vec![VecDeque::new(); dies],
        }
    }

    /// Begins a flush of a stripe. Returns its number.
    pub(crate) fn begin_flush(&mut self, flush: StripeFlush) -> u32 {
        let stripe = flush.stripe;
        let number = self.flushes.insert(flush);
        self.flushing.insert(stripe, number);
        number
    }

    pub(crate) fn flush(&self, flush: u32) -> &StripeFlush {
        self.flushes.get(flush)
    }

    pub(crate) fn flush_mut(&mut self, flush: u32) -> &mut StripeFlush {
        self.flushes.get_mut(flush)
    }

    /// Ends a flush. Returns its stripe.
    pub(crate) fn end_flush(&mut self, flush: u32) -> u32 {
        let stripe = self.flushes.get(flush).stripe;
        self.flushes.release(flush);
        self.flushing.remove(&stripe);
        stripe
    }

    /// Whether no stripe is being flushed.
    pub(crate) fn is_quiet(&self) -> bool {
        self.flushing.is_empty()
    }

    pub(crate) fn is_flushing(&self, stripe: u32) -> bool {
        self.flushing.contains_key(&stripe)
    }

    /// Flush of `stripe`, if its pages are all programmed but not mapped; else `None`. Such pages
    /// are not reconstructed, or the flush might wait for ever.
    pub(crate) fn waits_to_be_mapped(&self, stripe: u32) -> Option<u32> {
        let &flush = self.flushing.get(&stripe)?;
        (self.flush(flush).programs_left == 0).then_some(flush)
    }

    /// Programs of a die that are queued or running.
    pub(crate) fn programs(&self, die: u32) -> u32 {
        self.programs[die as usize]
    }

    /// Counts a program that is queued on a die.
    pub(crate) fn begin_program(&mut self, die: u32) {
        self.programs[die as usize] += 1;
    }

    /// Counts a program that is done.
    pub(crate) fn end_program(&mut self, die: u32) {
        self.programs[die as usize] -= 1;
    }

    /// Programs that wait until no collection holds a die.
    pub(crate) fn delayed(&self, die: u32) -> usize {
        self.delayed[die as usize].len()
    }

    /// Makes a program wait until no collection holds its die.
    pub(crate) fn delay(&mut self, die: u32, program: Program) {
        self.delayed[die as usize].push_back(program);
    }

    /// Takes the next program that has waited for a die.
    pub(crate) fn take_delayed(&mut self, die: u32) -> Option<Program> {
        self.delayed[die as usize].pop_front()
    }

    /// Whether a program on `die` would wait neither for a collection nor for programs that do.
    pub(crate) fn is_reached<O: Observe>(&self, die: u32, flash: &Flash<O>) -> bool {
        !flash.dies().is_collecting(die) && self.delayed(die) == 0
    }

    /// Slots of a stripe that must be read to compute its parity, as bits. Pages that were never
    /// written are zero and are not read.
    pub(crate) fn read_slots(&self, stripe: u32, dirty: u64, method: Method, ftl: &Ftl) -> u64 {
        let is_written = |slot: &u32| ftl.lookup(self.layout.page(stripe, *slot)).is_some();
        let wanted = match method {
            Method::Modify => dirty | 1 << self.layout.data(),
            Method::Reconstruct => self.order.all() & !dirty,
        };
        set_of(slots(wanted).filter(is_written))
    }

    /// Slots among `of` whose die collects, as bits.
    pub(crate) fn slots_on_collecting_dies<O: Observe>(
        &self,
        stripe: u32,
        of: u64,
        flash: &Flash<O>,
    ) -> u64 {
        let row = self.layout.row(stripe, self.layout.place(stripe));
        set_of(slots(of).filter(|&slot| flash.dies().is_collecting(row.die(slot))))
    }

    /// Flash pages that are allocated and not mapped yet.
    pub(crate) fn pages_in_flight(&self) -> impl Iterator<Item = u32> + '_ {
        let flushes = self.flushing.values().map(|&flush| self.flush(flush));
        flushes.flat_map(|flush| flush.pages.iter().map(|&(_, flash)| flash))
    }
}
