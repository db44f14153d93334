//! The write buffer: the pages in DRAM, those that wait for flash, and the commands that wait for
//! them.
//!
//! Knows: slots, versions, the order of flushing, the commands that DRAM answers. Does not know:
//! dies and windows. `buffered.rs`, and with RAIN `rain/flush.rs`, decide when and where pages are
//! flushed.
//!
//! A page has at most two versions in the buffer: the newest, and one that is being programmed. The
//! newer one joins the queue of the flush only when the older is on flash, so versions cannot
//! overtake each other on their way through different dies.

use crate::config::{FlushRule, WriteBufferConfig};
use crate::event::Event;
use crate::flash::{Flash, Rights};
use crate::link::HostLink;
use crate::media::Media;
use alloc::collections::VecDeque;
use hashbrown::HashMap;
use nvme::WindowScope;
use rustc_hash::FxBuildHasher;
use units::{Duration, Instant, Observe};

/// Part of all slots (one in eight) that flushes outside of busy windows keep free for writes. It
/// is small, because loads that fit do not need it.
pub(crate) const RESERVE_SHARE: u32 = 8;

/// A command that completes as soon as DRAM has been accessed.
#[derive(Clone, Copy, Debug)]
struct Answer {
    at: Instant,
    command: u32,
    /// Whether its data then leaves for the host.
    is_read: bool,
}

/// Result of a page's request for a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Admitted {
    /// Every slot is taken.
    No,
    /// The page has a slot of its own.
    New,
    /// The page replaces a version that was not flushed yet.
    Coalesced,
}

/// Versions of one logical page, at least one.
#[derive(Clone, Copy, Debug)]
struct Page {
    /// A version exists that no program has taken up.
    dirty: bool,
    /// A version is being programmed, or queued for it.
    flushing: bool,
}

/// The buffer of one drive.
#[derive(Clone, Debug)]
pub(crate) struct Buffer {
    config: WriteBufferConfig,
    /// Slots in use at which a full buffer takes in writes again.
    reopens: u32,
    /// The buffer was full and takes in nothing yet.
    closed: bool,
    /// Slots in use at which a free-running flush starts.
    high: u32,
    /// Dirty pages at which that flush stops.
    low: u32,
    pages: HashMap<u32, Page, FxBuildHasher>,
    /// Dirty pages that a program may take up, in the order in which they became dirty.
    order: VecDeque<u32>,
    /// Number of dirty pages that a program may take up, in `order` or, with RAIN, taken from there
    /// by stripe.
    ready: u32,
    /// Slots in use: versions that are dirty or being flushed.
    occupied: u32,
    /// Flush programs that are queued or running.
    flushing: u32,
    /// Pages of writes without a slot, as command and block.
    waiting: VecDeque<(u32, u32)>,
    /// Commands that DRAM answers, in order.
    answers: VecDeque<Answer>,
    /// A free-running flush has begun at the high mark and not reached the low mark.
    draining: bool,
    /// The flush found no room on flash.
    starved: bool,
    /// Most pages at once that were in slots or waited for one.
    peak: u32,
}

impl Buffer {
    pub(crate) fn new(config: WriteBufferConfig) -> Self {
        let share = |ratio: units::Ratio| ratio.of(u64::from(config.pages)) as u32;
        Self {
            config,
            reopens: share(config.reopens),
            closed: false,
            high: share(config.high).max(1),
            low: share(config.low),
            pages: HashMap::default(),
            order: VecDeque::new(),
            ready: 0,
            occupied: 0,
            flushing: 0,
            waiting: VecDeque::new(),
            answers: VecDeque::new(),
            draining: false,
            starved: false,
            peak: 0,
        }
    }

    /// Slots in use.
    pub(crate) fn occupied(&self) -> u32 {
        self.occupied
    }

    pub(crate) fn holds(&self, logical: u32) -> bool {
        self.pages.contains_key(&logical)
    }

    /// Puts the newest version of a page into the buffer, if there is a slot for it.
    fn admit(&mut self, logical: u32) -> Admitted {
        let before = self.pages.get(&logical).copied();
        if before.is_some_and(|page| page.dirty) {
            return Admitted::Coalesced;
        }
        self.closed &= self.occupied > self.reopens;
        if self.closed || self.occupied == self.config.pages {
            self.closed = self.reopens < self.config.pages;
            return Admitted::No;
        }
        self.occupied += 1;
        let flushing = before.is_some();
        self.pages.insert(logical, Page { dirty: true, flushing });
        if !flushing {
            self.push(logical);
        }
        Admitted::New
    }

    /// Capacity in pages.
    pub(crate) fn capacity(&self) -> u32 {
        self.config.pages
    }

    /// Sets the latency of the buffer.
    pub(crate) fn set_latency(&mut self, latency: Duration) {
        self.config.latency = latency;
    }

    /// Whether pages leave the buffer in busy windows only, except pages that writes force out.
    pub(crate) fn flushes_in_window(&self, rights: &Rights) -> bool {
        rights.scope() == WindowScope::AllWork || self.config.flush == FlushRule::InWindow
    }

    /// Most pages at once that were in slots or waited for one, since the start or the last
    /// [`Buffer::reset_peak`].
    pub(crate) fn peak(&self) -> u32 {
        self.peak
    }

    pub(crate) fn reset_peak(&mut self) {
        self.peak = self.occupied;
    }

    /// Flush programs that are queued or running.
    #[inline]
    pub(crate) fn flushing(&self) -> u32 {
        self.flushing
    }

    /// Records that the flush finds no room on flash. Returns whether that is new.
    pub(crate) fn starve(&mut self) -> bool {
        !core::mem::replace(&mut self.starved, true)
    }

    /// Time at which the buffer answers its next command.
    #[inline]
    pub(crate) fn next_answer(&self) -> Instant {
        self.answers.front().map_or(Instant::NEVER, |answer| answer.at)
    }

    /// Gives the first answer, which is due.
    pub(crate) fn end_answer(&mut self, now: Instant, link: &mut HostLink) {
        if let Some(Answer { command, is_read, .. }) = self.answers.pop_front() {
            link.end_answer(now, command, is_read);
        }
    }

    fn answer(&mut self, now: Instant, command: u32, is_read: bool, link: &mut HostLink) {
        // The latency is constant, except right after the drive was slower.
        let at = now + self.config.latency;
        let at = self.answers.back().map_or(at, |last| last.at.max(at));
        link.add_transfer(command, at.since(now));
        self.answers.push_back(Answer { at, command, is_read });
    }

    /// Serves block `block` of a read from the buffer. A command that also needs flash pages waits
    /// for those only.
    pub(crate) fn read<O: Observe>(
        &mut self,
        now: Instant,
        command: u32,
        block: u32,
        flash: &mut Flash<O>,
        link: &mut HostLink,
    ) {
        flash.counters_mut().buffer_reads_pages += 1;
        let (id, logical) = (link.id_of(command), link.page_of(command, block));
        flash.journal_mut().media(|| Media::FromBuffer { command: id, block, logical });
        if link.remaining_of(command) == 0 && block + 1 == link.blocks_of(command) {
            self.answer(now, command, true, link);
        }
    }

    /// Accepts the data of a write: its pages wait for slots, in order, and get the free ones.
    pub(crate) fn receive<O: Observe>(
        &mut self,
        now: Instant,
        command: u32,
        flash: &mut Flash<O>,
        link: &mut HostLink,
    ) {
        let blocks = 0..link.blocks_of(command);
        self.waiting.extend(blocks.map(|block| (command, block)));
        self.admit_waiting(now, flash, link);
    }

    /// Gives waiting pages slots until none is free.
    pub(crate) fn admit_waiting<O: Observe>(
        &mut self,
        now: Instant,
        flash: &mut Flash<O>,
        link: &mut HostLink,
    ) {
        while let Some(&(slot, block)) = self.waiting.front() {
            let (id, logical) = (link.id_of(slot), link.page_of(slot, block));
            match self.admit(logical) {
                Admitted::No => break,
                Admitted::New => {}
                Admitted::Coalesced => flash.counters_mut().coalesced_writes_pages += 1,
            }
            self.waiting.pop_front();
            flash.counters_mut().buffered_writes_pages += 1;
            flash.journal_mut().media(|| Media::Buffered { command: id, block, logical });
            flash.journal_mut().emit(now, || Event::Buffered { id, block });
            if link.end_page_in_dram(slot) {
                self.answer(now, slot, false, link);
            }
        }
        flash.set_full(!self.waiting.is_empty());
        self.peak = self.peak.max(self.occupied + self.waiting.len() as u32);
    }

    /// Whether a program may take up a dirty page.
    pub(crate) fn has_dirty(&self) -> bool {
        self.ready > 0
    }

    /// Dirty pages that a program may take up.
    pub(crate) fn ready(&self) -> u32 {
        self.ready
    }

    /// Starts or ends a free-running flush. Returns true if it takes the next page.
    pub(crate) fn drains(&mut self) -> bool {
        self.draining |= self.occupied >= self.high || self.closed;
        self.draining &= self.ready > self.low;
        self.draining
    }

    /// Number of pages that should be on their way to flash outside of busy windows. It is 0 while
    /// an eighth of the slots is free, grows with each slot that is taken, and is `most` when none
    /// is free.
    pub(crate) fn pressure(&self, most: u32) -> u32 {
        let reserve = (self.config.pages / RESERVE_SHARE).max(1);
        let taken = reserve.saturating_sub(self.config.pages - self.occupied);
        (u64::from(most) * u64::from(taken) / u64::from(reserve)) as u32
    }

    /// Whether more pages wait for a slot than programs in flight will free.
    pub(crate) fn lacks_slots(&self) -> bool {
        self.waiting.len() as u64 > u64::from(self.flushing)
    }

    /// Takes the oldest dirty page for a program.
    pub(crate) fn start_flush(&mut self) -> Option<u32> {
        let logical = self.order.pop_front()?;
        self.start_flush_of(logical);
        Some(logical)
    }

    /// Takes the next dirty page that is not sorted by die or stripe yet.
    pub(crate) fn take_new(&mut self) -> Option<u32> {
        self.order.pop_front()
    }

    fn push(&mut self, logical: u32) {
        self.order.push_back(logical);
        self.ready += 1;
    }

    /// Takes a dirty page that has left `order` for a program.
    pub(crate) fn start_flush_of(&mut self, logical: u32) {
        self.starved = false;
        self.ready -= 1;
        self.pages.insert(logical, Page { dirty: false, flushing: true });
        self.flushing += 1;
    }

    /// Ends the program of a page. Returns whether the buffer no longer holds the page.
    pub(crate) fn end_flush(&mut self, logical: u32) -> bool {
        self.flushing -= 1;
        self.occupied -= 1;
        match self.pages.get_mut(&logical) {
            Some(page) if page.dirty => {
                page.flushing = false;
                self.push(logical);
                false
            }
            _ => {
                self.pages.remove(&logical);
                true
            }
        }
    }

    /// The commands of the pages that wait for slots.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = u32> + '_ {
        self.waiting.iter().map(|&(command, _)| command)
    }

    /// The commands that DRAM answers.
    pub(crate) fn answered(&self) -> impl Iterator<Item = u32> + '_ {
        self.answers.iter().map(|answer| answer.command)
    }

    /// Checks that the counts agree with the pages.
    pub(crate) fn check_invariants(&self) {
        let count =
            |holds: fn(&Page) -> bool| self.pages.values().filter(|page| holds(page)).count();
        let (dirty, flushing) = (count(|page| page.dirty), count(|page| page.flushing));
        assert_eq!(self.occupied as usize, dirty + flushing, "slots in use");
        assert_eq!(self.flushing as usize, flushing, "programs in flight");
        let queued = count(|page| page.dirty && !page.flushing);
        assert_eq!(self.ready as usize, queued, "pages that may be flushed");
        assert!(self.occupied <= self.config.pages);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_waits_until_the_one_before_it_is_on_flash() {
        let mut buffer = Buffer::new(WriteBufferConfig::new(2));
        assert_eq!(buffer.admit(7), Admitted::New);
        assert_eq!(buffer.admit(7), Admitted::Coalesced);
        assert_eq!(buffer.start_flush(), Some(7));
        assert_eq!(buffer.admit(7), Admitted::New, "the flushed version keeps its slot");
        assert_eq!(buffer.admit(8), Admitted::No);
        assert_eq!(buffer.start_flush(), None, "the older version comes first");
        assert!(!buffer.end_flush(7));
        assert_eq!(buffer.admit(8), Admitted::New);
        buffer.check_invariants();
        assert_eq!(buffer.start_flush(), Some(7));
        assert!(buffer.end_flush(7) && !buffer.holds(7) && buffer.holds(8));
        buffer.check_invariants();
    }
}
