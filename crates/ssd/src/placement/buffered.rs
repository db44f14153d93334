//! Flushes of the write buffer: when its pages leave for flash, and where they go.
//!
//! Flushing is work in the background like collection, and the window contract can hold for both
//! (IODA §7.1): a drive that flushes in its busy window leaves its dies to reads at other times. In
//! that window the flush goes before collections: a full buffer would force pages out at the wrong
//! time, while collection can draw on free blocks.

use crate::config::{Allocation, Config, WriteBufferConfig};
use crate::dies::{self, Task};
use crate::flash::{Flash, Rights};
use crate::ftl::Allocated;
use crate::link::HostLink;
use crate::media::Media;
use crate::placement::Buffer;
use crate::placement::next::Next;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use nvme::{CollectionRight, Untimed, WindowScope};
use units::{Instant, Observe, Slab};

/// Most flush programs of one die at a time: one in service and the next. More would not flush any
/// faster, and would delay reads.
pub(crate) const FLUSHES_PER_DIE: u32 = 2;

/// The writes of a drive with a buffer and without parity of its own.
#[derive(Clone, Debug)]
pub(crate) struct Buffered {
    buffer: Buffer,
    /// Pages that one program takes in.
    pages_per_program: u32,
    /// Pages of each program of many pages, as logical page and flash page.
    units: Slab<Vec<(u32, u32)>>,
    /// Dirty pages that are bound to each die, in the order in which they became dirty; empty if
    /// pages may go to any die.
    bound: Vec<VecDeque<u32>>,
    /// A collection waits until the flush has queued its last page.
    collection_waits: bool,
}

impl Buffered {
    pub(crate) fn new(config: WriteBufferConfig, drive: &Config) -> Self {
        let dies = match drive.allocation {
            Allocation::NextDie => 0,
            Allocation::Static => drive.geometry.dies() as usize,
        };
        Self {
            buffer: Buffer::new(config),
            pages_per_program: drive.cells.map_or(1, |cells| cells.unit_pages()),
            units: Slab::new(),
            bound: vec![VecDeque::new(); dies],
            collection_waits: false,
        }
    }

    #[inline]
    pub(crate) fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    pub(crate) fn buffer_mut(&mut self) -> &mut Buffer {
        &mut self.buffer
    }

    /// Sorts new dirty pages by the dies that they are bound to.
    fn sort<O: Observe>(&mut self, flash: &Flash<O>) {
        if self.bound.is_empty() {
            return;
        }
        while let Some(page) = self.buffer.take_new() {
            if let Some(die) = flash.ftl().bound_die(page) {
                self.bound[die as usize].push_back(page);
            }
        }
    }

    /// Whether a dirty page may go to `die`.
    fn has_page_for(&self, die: u32) -> bool {
        self.bound.get(die as usize).is_none_or(|pages| !pages.is_empty())
    }

    /// Takes the oldest dirty page that may go to `die` for a program.
    fn take_page_for(&mut self, die: u32) -> Option<u32> {
        let Some(pages) = self.bound.get_mut(die as usize) else {
            return self.buffer.start_flush();
        };
        let page = pages.pop_front()?;
        self.buffer.start_flush_of(page);
        Some(page)
    }

    /// Returns true if a die that cannot take pages yet keeps its turn. Where all dies begin to
    /// flush at the same time, in a window or in no time, the first dies to end would otherwise
    /// always get the last pages. After some drive writes these dies held a tenth more than the
    /// others, and a line of blocks over all dies had room where nothing was written: write
    /// amplification rose from 3.3 to 8.
    fn keeps_turns<O: Observe>(&self, flash: &Flash<O>) -> bool {
        let rights = flash.rights();
        let has_windows = rights.right() != CollectionRight::Always;
        let begins_everywhere = flash.config().collection.untimed == Untimed::Writes
            || (has_windows && self.buffer.flushes_in_window(rights));
        self.bound.is_empty() && begins_everywhere
    }

    /// Allocates a place on the next die that suits, has room, and has a page that may go to it.
    /// Without enough pages for a whole program of an ordinary block, only the cache of SLC blocks
    /// has room.
    fn next_place<O: Observe>(
        &self,
        flash: &mut Flash<O>,
        is_whole: bool,
        suits: impl Fn(&Flash<O>, u32) -> bool,
    ) -> Option<Allocated> {
        let keeps_turns = self.keeps_turns(flash);
        flash.place_for_flush(is_whole, keeps_turns, |flash, die| {
            self.has_page_for(die) && suits(flash, die)
        })
    }

    /// Next step for dirty pages that the rule, the window and the dies allow.
    pub(super) fn next<O: Observe>(&mut self, now: Instant, flash: &mut Flash<O>) -> Next {
        if !self.buffer.has_dirty() {
            return Next::Wait;
        }
        // A program takes many pages. The last few wait until it can be filled, unless writes find
        // no slot.
        let (ready, urgent) = (self.buffer.ready(), self.buffer.lacks_slots());
        let is_whole = urgent || ready >= self.pages_per_program;
        if !is_whole && flash.ftl().slc_row_pages().is_none_or(|pages| ready < pages) {
            return Next::Wait;
        }
        self.sort(flash);
        let right = flash.rights().allowed_until(now, 0);
        let coordinated = self.buffer.flushes_in_window(flash.rights());
        let until = match right {
            _ if !coordinated => self.buffer.drains().then_some(Instant::NEVER),
            // A drive without windows has nothing to wait for.
            Some(Instant::NEVER) => self.buffer.drains().then_some(Instant::NEVER),
            right => right,
        };
        if let Some(until) = until
            && let Some(place) = self.next_place(flash, is_whole, |flash, die| {
                flash.suits_program(now, die, until, FLUSHES_PER_DIE)
            })
        {
            return self.flush_to(place, false, flash);
        }
        // Within a window, the end of the program shows whether it was in time.
        let forced = coordinated && right.is_none();
        if urgent {
            return self.make_way(now, forced, flash);
        }
        if is_whole && self.is_pressed(flash) {
            let place = self.next_place(flash, true, |flash, die| suits_at_all(now, die, flash));
            return place.map_or(Next::Wait, |place| self.flush_to(place, forced, flash));
        }
        Next::Wait
    }

    /// Returns true, once, if a collection that was put off begins now, because the flush has
    /// queued its last page.
    pub(super) fn take_waiting_collection(&mut self, now: Instant, rights: &Rights) -> bool {
        let begins = self.collection_waits && !self.goes_first(now, rights);
        self.collection_waits &= !begins;
        begins
    }

    /// Returns true if a drive that flushes in its windows has so few slots left that pages must
    /// leave outside of them. The fewer slots, the more dies are used. With none left, writes would
    /// wait for programs.
    fn is_pressed<O: Observe>(&self, flash: &Flash<O>) -> bool {
        let most = flash.dies().len() * FLUSHES_PER_DIE * self.pages_per_program;
        flash.rights().scope() == WindowScope::AllWork
            && self.buffer.flushing() < self.buffer.pressure(most)
    }

    /// Flushes a page to free a slot for writes, whatever is in front of it. If flash is full, room
    /// is made against the contract.
    fn make_way<O: Observe>(&mut self, now: Instant, forced: bool, flash: &mut Flash<O>) -> Next {
        let bounded = |flash: &Flash<O>, die: u32| flash.takes_program(die, FLUSHES_PER_DIE);
        let place = self
            .next_place(flash, true, |flash, die| suits_at_all(now, die, flash))
            .or_else(|| self.next_place(flash, true, bounded));
        if let Some(place) = place {
            return self.flush_to(place, forced, flash);
        }
        if !(0..flash.dies().len())
            .filter(|&die| self.has_page_for(die))
            .all(|die| bounded(flash, die))
        {
            // Dies with room may have their most programs; the end of a program comes back here.
            return Next::Wait;
        }
        if flash.collect_everywhere_instantly() {
            let place = self.next_place(flash, true, bounded);
            return place.map_or(Next::Wait, |place| self.flush_to(place, forced, flash));
        }
        flash.counters_mut().stalled_writes_pages += u64::from(self.buffer.starve());
        // A drive with a buffer has one range.
        Next::MakeRoom { range: 0 }
    }

    /// Programs the oldest dirty pages that may go to `place` there.
    fn flush_to<O: Observe>(
        &mut self,
        place: Allocated,
        forced: bool,
        flash: &mut Flash<O>,
    ) -> Next {
        let Allocated { page, die, .. } = place;
        // The cache of SLC blocks takes in another number of pages per program.
        let is_cached = flash.ftl().slc_at(page).is_some();
        let task = match flash.ftl().programmed_with(page) {
            1 if !is_cached => {
                let logical = self.take_page_for(die).expect("a die that suits has a page");
                flash.counters_mut().forced_flushes_pages += u64::from(forced);
                flash.journal_mut().media(|| Media::Flushed { logical, page });
                Task::Flush { logical, flash: page, forced }
            }
            unit_pages => {
                let logical = core::iter::from_fn(|| self.take_page_for(die));
                let unit: Vec<(u32, u32)> = logical.take(unit_pages as usize).zip(page..).collect();
                flash.counters_mut().forced_flushes_pages +=
                    if forced { unit.len() as u64 } else { 0 };
                for &(logical, page) in &unit {
                    flash.journal_mut().media(|| Media::Flushed { logical, page });
                }
                flash.fill_unit(die, page, unit.len() as u32);
                Task::FlushUnit { unit: self.units.insert(unit), page, forced }
            }
        };
        Next::Program { place, task }
    }

    /// Ends a flush program and frees its slot. The caller continues the die, then the flush.
    pub(crate) fn end_flush<O: Observe>(
        &mut self,
        now: Instant,
        (logical, page, forced): (u32, u32, bool),
        flash: &mut Flash<O>,
        link: &mut HostLink,
    ) {
        flash.commit_write(logical, page);
        let is_cached = flash.ftl().slc_at(page).is_some();
        let is_late = !forced && self.is_late(now, flash.rights());
        let counters = flash.counters_mut();
        counters.host_programs_pages += 1;
        counters.slc_programs_pages += u64::from(is_cached);
        counters.forced_flushes_pages += u64::from(is_late);
        if self.buffer.end_flush(logical) {
            flash.journal_mut().media(|| Media::Unbuffered { logical });
        }
        self.buffer.admit_waiting(now, flash, link);
    }

    /// [`Buffered::end_flush`] for many pages at a time.
    pub(crate) fn end_flush_unit<O: Observe>(
        &mut self,
        now: Instant,
        (unit, forced): (u32, bool),
        flash: &mut Flash<O>,
        link: &mut HostLink,
    ) {
        let pages = core::mem::take(self.units.get_mut(unit));
        self.units.release(unit);
        for (logical, page) in pages {
            self.end_flush(now, (logical, page, forced), flash, link);
        }
    }

    /// Flash pages that are targets of programs of many pages.
    pub(crate) fn pages_in_flight(&self) -> impl Iterator<Item = u32> + '_ {
        self.units.iter().flatten().map(|&(_, page)| page)
    }

    /// Whether a coordinated flush that ends now ran into the predictable window, because of
    /// contention that the bound did not foresee.
    fn is_late(&self, now: Instant, rights: &Rights) -> bool {
        // A window does not contain its end, but a program may end there.
        let before = Instant::from_nanos(now.as_nanos().saturating_sub(1));
        self.buffer.flushes_in_window(rights) && rights.allowed_until(before, 0).is_none()
    }

    /// Whether a collection that is not forced has to wait for a coordinated flush.
    pub(crate) fn goes_first(&self, now: Instant, rights: &Rights) -> bool {
        self.buffer.flushes_in_window(rights)
            && self.buffer.has_dirty()
            // A flush that finds no room needs the collection.
            && self.buffer.flushing() > 0
            && rights.allowed_until(now, 0).is_some_and(|until| until != Instant::NEVER)
    }

    /// Checks the counts of the buffer, and that its programs exist on the dies.
    pub(crate) fn check_invariants<O: Observe>(&self, flash: &Flash<O>) {
        self.buffer.check_invariants();
        let single = |&(_, task): &(u32, Task)| matches!(task, Task::Flush { .. });
        let flushes =
            dies::tasks(flash.dies()).filter(single).count() + self.pages_in_flight().count();
        assert_eq!(flushes, self.buffer.flushing() as usize, "flush programs");
    }

    /// Records that a collection waits until the flush has queued its last page.
    pub(crate) fn collection_waits(&mut self) {
        self.collection_waits = true;
    }
}

/// Whether a program on `die` would not wait for a collection, regardless of when it ends.
fn suits_at_all<O: Observe>(now: Instant, die: u32, flash: &Flash<O>) -> bool {
    flash.suits_program(now, die, Instant::NEVER, FLUSHES_PER_DIE)
}
