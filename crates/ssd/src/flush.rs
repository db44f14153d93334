//! The write buffer in time: writes enter it, reads are served from it, and pages leave it for flash.
//!
//! Flushing is work in the background like collection, and the window contract can hold for both
//! (IODA §7.1): a drive that flushes in its busy window leaves its dies to reads in the others. In
//! that window the flush comes first and collections after it, because a full buffer would force
//! pages out at the wrong time, while collection has a store of free blocks to live on.

use crate::buffer::{Admitted, Answer};
use crate::config::FlushRule;
use crate::device::{Completed, Ssd};
use crate::ftl::Allocated;
use crate::media::Media;
use crate::ops::{Op, OpKind};
use crate::serve::succeeded;
use nvme::Cause;
use units::{Duration, Instant, Lba};

/// Flush programs that one die has at a time: one to work on and one to go on with. More would not
/// flush any faster, and reads would find them in their way.
pub(crate) const FLUSHES_PER_DIE: u32 = 2;

/// In the place of a flash page while a read is accepted: the page is in the buffer. No drive has as
/// many flash pages.
pub(crate) const BUFFERED: u32 = u32::MAX - 1;

/// Owner of a flush program that the rule allowed.
const IN_ORDER: u32 = 0;
/// Owner of a flush program outside of the busy window.
const FORCED: u32 = 1;

impl Ssd {
    /// Pages in the write buffer, dirty or on their way to flash; 0 without a buffer.
    #[must_use]
    pub fn buffered_pages(&self) -> u32 {
        self.buffer.as_ref().map_or(0, |buffer| buffer.occupied())
    }

    /// Whether the write buffer holds the newest data of `lba`.
    #[must_use]
    pub fn is_buffered(&self, lba: Lba) -> bool {
        self.buffer.as_ref().is_some_and(|buffer| buffer.holds(lba.0 as u32))
    }

    /// Marks those of the `pages` from logical page `first` on that are in the buffer. Returns how
    /// many there are.
    pub(crate) fn mark_buffered(&self, first: u32, pages: &mut [u32]) -> u32 {
        let Some(buffer) = &self.buffer else { return 0 };
        let mut marked = 0;
        for (page, logical) in pages.iter_mut().zip(first..) {
            if buffer.holds(logical) {
                *page = BUFFERED;
                marked += 1;
            }
        }
        marked
    }

    /// Block `block` of a read is served from the buffer. A command that needs flash pages as well
    /// waits for those only.
    pub(crate) fn read_buffered(&mut self, now: Instant, command: u32, block: u32) {
        self.counters.buffer_reads_pages += 1;
        let in_flight = self.commands.get(command);
        if let Some(media) = &mut self.media {
            let (id, logical) = (in_flight.id, in_flight.first_logical + block);
            media.push(Media::FromBuffer { command: id, block, logical });
        }
        if in_flight.remaining == 0 && block + 1 == in_flight.blocks {
            self.answer_from_buffer(now, command, true);
        }
    }

    fn answer_from_buffer(&mut self, now: Instant, command: u32, read: bool) {
        let Some(buffer) = &mut self.buffer else { return };
        let latency = buffer.config.latency;
        self.commands.get_mut(command).before_flash.add(Cause::Transfer, latency);
        buffer.answers.push_back(Answer { at: now + latency, command, read });
    }

    /// When the buffer answers its next command.
    #[inline]
    pub(crate) fn next_answer(&self) -> Instant {
        let Some(buffer) = &self.buffer else { return Instant::NEVER };
        buffer.answers.front().map_or(Instant::NEVER, |answer| answer.at)
    }

    /// The first answer is due.
    pub(crate) fn end_answer(&mut self, now: Instant) {
        let Some(buffer) = &mut self.buffer else { return };
        let Some(Answer { command, read, .. }) = buffer.answers.pop_front() else { return };
        let done = self.commands.get(command).clone();
        self.commands.release(command);
        let completion = succeeded(&done, done.before_flash);
        if read {
            self.send_data(now, completion, done.blocks);
        } else {
            self.completed.push_back(Completed { at: now, completion });
        }
    }

    /// The data of a write has arrived: its pages take slots, or wait for them in order.
    pub(crate) fn buffer_write(&mut self, now: Instant, command: u32) {
        let blocks = self.commands.get(command).blocks;
        if let Some(buffer) = &mut self.buffer {
            buffer.waiting.extend((0..blocks).map(|block| (command, block)));
        }
        self.admit_waiting(now);
        self.flush(now);
    }

    pub(crate) fn admit_waiting(&mut self, now: Instant) {
        while let Some(buffer) = &mut self.buffer {
            let Some(&(slot, block)) = buffer.waiting.front() else { return };
            let command = self.commands.get_mut(slot);
            let (id, logical) = (command.id, command.first_logical + block);
            match buffer.admit(logical) {
                Admitted::No => return,
                Admitted::New => {}
                Admitted::Coalesced => self.counters.coalesced_writes_pages += 1,
            }
            buffer.waiting.pop_front();
            self.counters.buffered_writes_pages += 1;
            if let Some(media) = &mut self.media {
                media.push(Media::Buffered { command: id, block, logical });
            }
            command.remaining -= 1;
            if command.remaining == 0 {
                self.answer_from_buffer(now, slot, false);
            }
        }
    }

    /// Queues flush programs as far as the rule, the window and the dies allow.
    #[inline]
    pub(crate) fn flush(&mut self, now: Instant) {
        if self.rain.is_some() {
            self.flush_stripes(now);
        } else if self.buffer.is_some() {
            while self.flush_next(now) {}
            self.collect_after_flush(now);
        }
    }

    /// Queues the program of one page; false if none is due or there is no place for it.
    fn flush_next(&mut self, now: Instant) -> bool {
        let right = self.allowed_until(now, 0);
        let Some(buffer) = &mut self.buffer else { return false };
        if !buffer.has_dirty() {
            return false;
        }
        let coordinated = buffer.config.flush == FlushRule::InWindow;
        let until = match right {
            _ if !coordinated => buffer.drains().then_some(Instant::NEVER),
            // A drive that nobody has told of windows has nothing to wait for.
            Some(Instant::NEVER) => buffer.drains().then_some(Instant::NEVER),
            right => right,
        };
        let urgent = buffer.lacks_slots();
        if let Some(until) = until
            && let Some(place) =
                self.place_for_flush(|drive, die| drive.suits_flush(now, die, until))
        {
            self.flush_to(now, place, IN_ORDER);
            return true;
        }
        if !urgent {
            return false;
        }
        let Some(place) = self.place_for_urgent_flush(now) else { return false };
        let forced = coordinated && right != Some(Instant::NEVER);
        self.flush_to(now, place, if forced { FORCED } else { IN_ORDER });
        true
    }

    /// A place on the next die that suits and has room.
    fn place_for_flush(&mut self, suits: impl Fn(&Self, u32) -> bool) -> Option<Allocated> {
        for _ in 0..self.ftl.shape.dies {
            let die = self.ftl.take_turn(0);
            if suits(self, die)
                && let Some(place) = self.ftl.allocate_for_host_on(die)
            {
                return Some(place);
            }
        }
        None
    }

    /// Whether a flush program on `die` would not wait for a collection, and be over at `until`.
    fn suits_flush(&self, now: Instant, die: u32, until: Instant) -> bool {
        let target = &self.dies[die as usize];
        if target.collection.is_some() || target.flushes >= FLUSHES_PER_DIE {
            return false;
        }
        until == Instant::NEVER
            || now + self.committed_work(now, die) + self.flush_bound(die) <= until
    }

    /// The longest a flush program can take once its turn has come, and what those ahead of it may
    /// lose to other dies of their channel.
    fn flush_bound(&self, die: u32) -> Duration {
        let others = u64::from(self.ftl.shape.chips_per_channel) - 1;
        let shortest = self.read_service.min(self.program_service).as_nanos();
        let ahead = self.dies[die as usize].queue.work.as_nanos() / shortest + 1;
        // A collection's copy moves its page twice.
        self.program_service + self.config.timing.transfer * 2 * others * (ahead + 1)
    }

    /// A place for a page that must make way for writes, whatever is in front of it. If flash is
    /// full, collects against the contract.
    fn place_for_urgent_flush(&mut self, now: Instant) -> Option<Allocated> {
        let bounded = |drive: &Self, die: u32| drive.dies[die as usize].flushes < FLUSHES_PER_DIE;
        let place = self
            .place_for_flush(|drive, die| drive.suits_flush(now, die, Instant::NEVER))
            .or_else(|| self.place_for_flush(bounded));
        if place.is_some() {
            return place;
        }
        if !self.dies.iter().all(|die| die.flushes < FLUSHES_PER_DIE) {
            // Dies with room may be at their bound; the end of a program comes back here.
            return None;
        }
        if self.collect_everywhere_instantly() {
            return self.place_for_flush(bounded);
        }
        if let Some(buffer) = &mut self.buffer {
            self.counters.stalled_writes_pages += u64::from(!buffer.starved);
            buffer.starved = true;
        }
        self.collect_where_due(now, true);
        None
    }

    /// The oldest dirty page goes to `place`.
    fn flush_to(&mut self, now: Instant, place: Allocated, owner: u32) {
        let Some(buffer) = &mut self.buffer else { return };
        let Some(logical) = buffer.start_flush() else { return };
        buffer.starved = false;
        self.counters.forced_flushes_pages += u64::from(owner == FORCED);
        if let Some(media) = &mut self.media {
            media.push(Media::Flushed { logical, page: place.page });
        }
        self.dies[place.die as usize].flushes += 1;
        let op = Op::new(OpKind::Flush, owner, 0, logical, place.page);
        self.enqueue(now, place.die, op, self.program_service);
        self.collect_if_low(now, place);
    }

    /// A flush program is done: its slot is free.
    pub(crate) fn end_flush(&mut self, now: Instant, die: u32) {
        let op = self.dies[die as usize].op;
        let Op { owner, logical, flash, .. } = *self.ops.get(op);
        self.ops.release(op);
        self.dies[die as usize].flushes -= 1;
        self.ftl.commit_write(logical, flash);
        self.counters.host_programs_pages += 1;
        self.counters.forced_flushes_pages += u64::from(owner != FORCED && self.is_late(now));
        if let Some(buffer) = &mut self.buffer
            && buffer.end_flush(logical)
            && let Some(media) = &mut self.media
        {
            media.push(Media::Unbuffered { logical });
        }
        self.admit_waiting(now);
        self.dispatch(now, die);
        self.flush(now);
    }

    /// Whether a coordinated flush that ends now ran into the predictable window, by contention that
    /// the bound did not foresee.
    fn is_late(&self, now: Instant) -> bool {
        let coordinated =
            self.buffer.as_ref().is_some_and(|buffer| buffer.config.flush == FlushRule::InWindow);
        // A window does not contain its end, but a program may end there.
        let before = Instant::from_nanos(now.as_nanos() - 1);
        coordinated && self.allowed_until(before, 0).is_none()
    }

    /// Whether a collection that is not forced has to let a coordinated flush go first.
    pub(crate) fn flush_goes_first(&mut self, now: Instant) -> bool {
        let right = self.allowed_until(now, 0);
        let Some(buffer) = &mut self.buffer else { return false };
        let first = buffer.config.flush == FlushRule::InWindow
            && right.is_some_and(|until| until != Instant::NEVER)
            && buffer.has_dirty()
            // A flush that finds no room needs the collection.
            && buffer.flushing > 0;
        buffer.collection_waits |= first;
        first
    }

    fn collect_after_flush(&mut self, now: Instant) {
        let waits = self.buffer.as_ref().is_some_and(|buffer| buffer.collection_waits);
        if !waits || self.flush_goes_first(now) {
            return;
        }
        if let Some(buffer) = &mut self.buffer {
            buffer.collection_waits = false;
        }
        self.collect_where_due(now, false);
    }

    /// Whether dirty pages wait for a window.
    pub(crate) fn waits_to_flush(&self) -> bool {
        self.buffer
            .as_ref()
            .is_some_and(|buffer| buffer.config.flush == FlushRule::InWindow && buffer.has_dirty())
    }

    /// Whether no flush program is queued or running.
    #[inline]
    pub(crate) fn flushes_nothing(&self) -> bool {
        self.buffer.as_ref().is_none_or(|buffer| buffer.flushing == 0)
    }
}
