//! Course of collections: starts those that `due.rs` finds due, holds dies for them, ends them.

use crate::config::Blocking;
use crate::dies::{self, Copy, Job};
use crate::event::{Event, Origin, PageOperation};
use crate::flash::Flash;
use crate::flash::collection::{Collection, CollectionSpan, Leave};
use crate::flash::collector::Urgency;
use crate::flash::due::{Answer, Due, Request};
use crate::flash::idle::IdleTimer;
use crate::flash::journal::Journal;
use crate::flash::pace::Pace;
use crate::flash::relocator::Move;
use crate::ftl::Allocated;
use crate::media::Media;
use crate::rain::Rotation;
use crate::violation::{Violation, ViolationCause};
use alloc::vec::Vec;
use core::ops::Range;
use units::{Instant, Observe};

/// Result of an attempt to start a collection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Start {
    /// No collection can be started.
    No,
    /// The collection is put off: the flush of the write buffer goes first.
    PutOff,
    /// A collection was started.
    Yes,
}

/// A collection that is over. Its dies wait to be given their next operation.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    pub(crate) dies: Range<u32>,
    /// Scope that is free for the next collection; `None` while other parts of a line are still
    /// collected.
    pub(crate) scope: Option<usize>,
}

impl<O: Observe> Flash<O> {
    /// The view that decides which collection is due.
    #[inline]
    fn due(&self) -> Due<'_> {
        Due {
            ftl: &self.ftl,
            collector: &self.collector,
            waits: self.waits(),
            is_idle: self.idle.as_ref().is_some_and(IdleTimer::is_idle),
        }
    }

    /// Whether the drive would fold its cache if it had the right to collect.
    pub(crate) fn wants_to_fold(&self) -> bool {
        self.idle.is_some() && self.due().has_block_to_fold()
    }

    /// Whether a die with a victim has at most `level` free blocks (or lines).
    pub(crate) fn is_any_below(&self, level: u32) -> bool {
        self.due().is_any_below(level)
    }

    /// Free blocks (or lines) at which a die is due.
    #[inline]
    pub(crate) fn collect_at(&self) -> u32 {
        self.collector.collect_at(self.shape())
    }

    /// See [`Collector::collects_by_itself`].
    #[inline]
    pub(crate) fn collects_by_itself(&self) -> bool {
        self.collector.collects_by_itself()
    }

    /// Starts every collection that is due, or with force every collection that makes room.
    /// `flush_first` says that the flush of the write buffer goes before collections. Returns
    /// whether a collection was put off for it.
    pub(crate) fn collect_where_due(
        &mut self,
        now: Instant,
        urgency: Urgency,
        flush_first: bool,
    ) -> bool {
        if self.config.collection.untimed.collects() {
            return false;
        }
        let mut put_off = false;
        if let Some(turns) = self.collector.rotation() {
            for group in 0..turns.groups.count {
                put_off |= self.collect_in_group(now, group, urgency, flush_first);
            }
            return put_off;
        }
        for scope in 0..self.collector.scopes() {
            put_off |= self.start_in_scope(now, scope, urgency, flush_first) == Start::PutOff;
        }
        put_off
    }

    /// Makes room for writes to a range of logical blocks that has none, against the window
    /// contract if need be.
    pub(crate) fn make_room(&mut self, now: Instant, range: u32) {
        self.collect_where_due(now, Urgency::Forced { range }, false);
        // The host cannot use its turn.
        if self.pace.as_mut().is_some_and(Pace::end_turn_of_host) {
            self.go_on_everywhere(now);
        }
    }

    /// Starts the collection that is due in a scope, in turn with others if the drive rotates.
    /// Returns whether it was put off.
    pub(crate) fn collect_in_scope(
        &mut self,
        now: Instant,
        scope: usize,
        flush_first: bool,
    ) -> bool {
        match self.collector.rotation() {
            // Only dies take turns, so the scope is one.
            Some(turns) => {
                let group = turns.groups.of(scope as u32);
                self.collect_in_group(now, group, Urgency::Due, flush_first)
            }
            None => self.start_in_scope(now, scope, Urgency::Due, flush_first) == Start::PutOff,
        }
    }

    /// Starts the collections that are due in `scope`, or that waited for its channel, after one
    /// has ended there. Returns whether one was put off.
    pub(crate) fn collect_after(&mut self, now: Instant, scope: usize, flush_first: bool) -> bool {
        let mut put_off = false;
        for scope in self.collector.scopes_beside(scope) {
            put_off |= self.collect_in_scope(now, scope, flush_first);
        }
        put_off
    }

    /// Collects if the block that was opened for `place` was the last above the watermark, or the
    /// last that wear leveling counts as young. Returns whether a collection was put off.
    #[inline]
    pub(crate) fn collect_if_low(
        &mut self,
        now: Instant,
        place: Allocated,
        flush_first: bool,
    ) -> bool {
        if !place.opened_block
            || self.ftl.free(place.die) > self.collect_at()
                && self.ftl.cold_block(place.die).is_none()
        {
            return false;
        }
        if self.config.collection.untimed.collects() {
            self.collect_instantly(place.die);
            return false;
        }
        self.collect_in_scope(now, self.collector.scope_of(place.die), flush_first)
    }

    /// Collects on the neediest die of a group if no die of the group collects. A die that is out
    /// of free blocks may collect beside another, where the rotation may be broken for that.
    /// Returns whether a collection was put off.
    fn collect_in_group(
        &mut self,
        now: Instant,
        group: u32,
        urgency: Urgency,
        flush_first: bool,
    ) -> bool {
        let Some(turns) = self.collector.rotation() else { return false };
        let rotation = turns.rotation;
        let low = self.due().low_dies(turns.groups.dies(group));
        let mut put_off = false;
        for die in low {
            let taken = self.collector.collecting_in_group(group).is_some_and(|dies| dies > 0);
            let out_of_blocks = self.ftl.free(die) <= self.ftl.shape().levels.hard;
            if taken && !(out_of_blocks && rotation == Rotation::On) {
                continue;
            }
            let scope = self.collector.scope_of(die);
            match self.start_in_scope(now, scope, urgency, flush_first) {
                Start::No => {}
                Start::PutOff => put_off = true,
                Start::Yes => self.counters_mut().rotation_breaches += u64::from(taken),
            }
        }
        if self.ftl.levels_wear() && urgency == Urgency::Due {
            put_off |= self.level_in_group(now, group, flush_first);
        }
        put_off
    }

    /// Starts one collection of a group that levels wear, if none collects there. Returns whether
    /// one was put off.
    fn level_in_group(&mut self, now: Instant, group: u32, flush_first: bool) -> bool {
        let Some(turns) = self.collector.rotation() else { return false };
        let dies: Vec<u32> = turns.groups.dies(group).collect();
        for die in dies {
            if self.collector.collecting_in_group(group).is_some_and(|dies| dies > 0) {
                return false;
            }
            let scope = self.collector.scope_of(die);
            if self.ftl.cold_block(die).is_some()
                && self.start_in_scope(now, scope, Urgency::Due, flush_first) == Start::PutOff
            {
                return true;
            }
        }
        false
    }

    /// Starts the collection that is due in a scope.
    fn start_in_scope(
        &mut self,
        now: Instant,
        scope: usize,
        urgency: Urgency,
        flush_first: bool,
    ) -> Start {
        if self.collector.is_channel_full(scope) {
            return Start::No;
        }
        match self.due().in_scope(now, scope, urgency, flush_first) {
            Answer::Nothing => Start::No,
            Answer::PutOff => Start::PutOff,
            Answer::Start(request) => {
                self.hold_dies(now, request);
                Start::Yes
            }
        }
    }

    /// Starts folding where it is due. `flush_first` says that the flush of the write buffer goes
    /// before that.
    pub(crate) fn fold_where_due(&mut self, now: Instant, flush_first: bool) {
        if self.config.collection.untimed.collects() {
            self.fold_instantly();
            return;
        }
        for scope in 0..self.collector.scopes() {
            self.start_in_scope(now, scope, Urgency::Fold, flush_first);
        }
    }

    fn violated(&mut self, at: Instant, first_die: u32, cause: ViolationCause) {
        let free_blocks = self.ftl.free(first_die);
        let blocks = self.ftl.shape().blocks_per_die;
        self.journal.violated(Violation { at, cause, first_die, free_blocks, blocks });
    }

    /// Queues the holds of a collection on its dies.
    fn hold_dies(&mut self, now: Instant, request: Request) {
        let Request { die, block, until, leave, levels } = request;
        match leave {
            Leave::Granted => {}
            Leave::Taken => self.violated(now, die, ViolationCause::ShortOfSpace),
            Leave::Forced => self.violated(now, die, ViolationCause::NoRoom),
        }
        self.ftl.begin_collection(die, block);
        let levels = levels && self.ftl.begin_swap(die, block);
        if let Some(pace) = self.pace.as_mut().filter(|_| self.collector.makes_no_room() && !levels)
        {
            pace.restart();
        }
        // All parts exist before the first begins, because a part may end the line.
        for collection in self.collector.start(now, die, block, until, leave, levels) {
            self.emit_requested(now, collection);
            let Collection { first_die, dies, .. } = *self.collector.get(collection);
            for die in first_die..first_die + dies {
                self.dies.assign(die, collection);
                self.collector.take_die(die);
                if self.enqueue_hold(now, die, collection) {
                    // It was found to fit into its window at this very moment.
                    let cancelled = self.begin_collection(now, collection);
                    debug_assert!(cancelled.is_none(), "a collection that begins at once fits");
                }
            }
        }
    }

    fn emit_requested(&mut self, now: Instant, collection: u32) {
        let Collection { first_die, dies, victim_die, block, until, leave, .. } =
            *self.collector.get(collection);
        let workers = victim_die.map_or(first_die..first_die + dies, |die| die..die + 1);
        let ftl = &self.ftl;
        self.journal.emit(now, || Event::CollectionRequested {
            collection,
            first_die,
            dies,
            block,
            valid_pages: workers.map(|die| ftl.count_valid(die, block)).sum(),
            until,
            violation: leave != Leave::Granted,
        });
    }

    /// Begins a collection that has all its dies. A collection that can no longer be over in time
    /// is cancelled instead: its dies are returned, and wait to be given their next operation.
    pub(crate) fn begin_collection(&mut self, now: Instant, id: u32) -> Option<Range<u32>> {
        let Collection { first_die, dies, victim_die, block, until, leave, levels, .. } =
            *self.collector.get(id);
        if let Some(victim) = victim_die {
            let valid = self.ftl.count_valid(victim, block);
            let late = now + self.config.collection_bound(valid) > until;
            if late && leave == Leave::Granted && until != Instant::NEVER {
                self.journal.emit(now, || Event::CollectionCancelled { collection: id });
                self.ftl.cancel_collection(victim, block);
                self.collector.end(id);
                self.release_dies(first_die..first_die + dies);
                return Some(first_die..first_die + dies);
            }
        }
        self.journal.emit(now, || Event::CollectionBegan { collection: id });
        let workers = victim_die.map_or(first_die..first_die + dies, |die| die..die + 1);
        self.collector.begin(now, id, workers.len() as u32);
        // The dies of a line wait for their own work; other dies wait for the work of the victim's
        // die.
        let blocked = victim_die.is_some() && self.config.collection.blocking != Blocking::Die;
        for die in workers {
            let first_page = self.ftl.shape().first_page(die, block);
            let (first_held, held) = if blocked { (first_die, dies) } else { (die, 1) };
            let mut valid = 0;
            if let Some(pace) = self.pace.as_mut().filter(|_| !levels) {
                valid = self.ftl.count_valid(die, block);
                pace.begin(die, valid);
            }
            let job = Job { first_page, cursor: first_page, valid, first_held, held };
            self.dies.begin_job(now, die, job);
            self.step_job(now, die);
        }
        None
    }

    /// Ends a collection.
    pub(crate) fn end_collection(&mut self, now: Instant, id: u32) -> Ended {
        let Collection { first_die, dies, began, until, leave, .. } = *self.collector.get(id);
        // Contention that the bound did not foresee breaks the contract as well.
        let overran = leave == Leave::Granted && now > until;
        if overran {
            self.violated(now, first_die, ViolationCause::Overran);
        }
        let violation = leave != Leave::Granted || overran;
        self.journal.span(CollectionSpan { first_die, dies, began, ended: now, violation });
        self.journal.emit(now, || Event::CollectionEnded { collection: id });
        let scope = self.collector.end(id);
        if scope.is_some() {
            let counters = self.journal.counters_mut();
            counters.collections += 1;
            counters.collecting_nanos += now.since(began).as_nanos();
        }
        let dies = first_die..first_die + dies;
        self.release_dies(dies.clone());
        Ended { dies, scope }
    }

    fn release_dies(&mut self, dies: Range<u32>) {
        for die in dies {
            self.release_die(die);
        }
    }

    /// A collection gives a die back.
    pub(crate) fn release_die(&mut self, die: u32) {
        self.dies.release(die);
        self.collector.give_back_die(die);
    }

    /// Begins the next step of a collecting die: a copy, or the erase when no valid page is left.
    #[inline]
    pub(super) fn step_job(&mut self, now: Instant, die: u32) {
        let Some(collection) = self.dies.collection_on(die) else { return };
        let Some(&Job { first_page, cursor, .. }) = self.dies.job_on(die) else { return };
        let yields = self.waits().yields_to_host(now, die);
        if yields || self.waits_for_turn(now, die) {
            if yields {
                self.journal.emit(now, || Event::Preempted { die, collection });
            }
            self.dies.interrupt_job(die);
            let held = self.dispatch(now, die);
            debug_assert_eq!(held, None, "a die that collects is held already");
            return;
        }
        if self.relocator.is_some() {
            self.step_relocation(now, die, collection);
            return;
        }
        let end = first_page + self.ftl.shape().pages_per_block;
        let next = self.ftl.next_valid(cursor, end);
        let Some((from, logical)) = next else {
            self.dies.advance_job(die, end);
            self.begin_erase(now, die, collection);
            return;
        };
        // The entry will be changed when the copy is done; a cache miss then would stall for
        // longer.
        self.ftl.touch(logical);
        let to = self.ftl.allocate_for_collection(die);
        let copy = Copy { from, to, logical };
        if self.dies.may_defer_copies() {
            let left = self.ftl.count_valid_between(from + 1, end);
            if self.dies.begin_deferred(now, die, copy, left) {
                self.note_opening(die);
                return;
            }
        }
        self.dies.begin_copy(now, die, copy);
        self.emit_job_began(now, die, PageOperation::Copy);
    }

    /// Sets whether copies of collections are deferred from now on, if this drive allows it.
    pub(crate) fn set_deferred_copies(&mut self, on: bool) {
        let possible = !Journal::<O>::OBSERVED && dies::copies_can_be_deferred(&self.config);
        self.dies.set_deferred_copies(on && possible);
    }

    /// Sets the current event, which comes behind all steps of dies at `now`.
    #[inline]
    pub(crate) fn set_horizon(&mut self, now: Instant) {
        self.horizon.set(now, u32::MAX);
    }

    /// Applies the deferred copies of a die that come before the current event.
    #[inline]
    pub(crate) fn look_at(&mut self, die: u32) {
        if self.dies.deferring_dies().is_empty() {
            return;
        }
        let worker = self.dies.worker_of(die);
        let until = self.horizon.until(worker);
        self.catch_up_on(worker, until);
    }

    /// [`Self::look_at`] for all dies.
    #[cold]
    pub(crate) fn look_at_all(&mut self) {
        let dies = self.dies.deferring_dies().to_vec();
        for &die in &dies {
            self.catch_up_on(die, self.horizon.until(die));
        }
        self.horizon.forget_openings();
        for die in dies {
            self.note_opening(die);
        }
    }

    /// Applies the deferred copies of all dies that end before `now`; those that end at `now` too,
    /// if the drive has handled an event of that time.
    pub(crate) fn catch_up(&mut self, now: Instant) {
        if !self.dies.deferring_dies().is_empty() {
            self.horizon.advance_to(now);
            self.look_at_all();
        }
    }

    /// Notes when the deferred copies of a die open a block, which allocation on other dies sees.
    fn note_opening(&mut self, die: u32) {
        if self.dies.defers_copies_on(die) {
            let full = self.dies.time_of_copies(die, self.ftl.open_pages(die));
            self.horizon.note_opening(full);
        }
    }

    /// [`Self::place_for_host`] on a drive with deferred copies, which take pages of the same open
    /// blocks.
    pub(super) fn place_beside_deferred(&mut self, logical: u32) -> Option<Allocated> {
        if self.horizon.may_have_seen_an_opening() {
            self.look_at_all();
        }
        let range = self.shape().range_of(logical);
        for _ in 0..self.shape().ranges.dies {
            let die = self.ftl.turn(range);
            self.ftl.take_turn(range);
            self.look_at(die);
            if let Some(place) = self.ftl.allocate_for_host_on(die) {
                self.note_opening(die);
                return Some(place);
            }
        }
        None
    }

    /// Prepares a logical page for a move or a deallocation: a deferred copy may have moved it, or
    /// has one page less to move.
    #[inline]
    pub(super) fn look_at_page(&mut self, logical: u32) {
        if self.dies.deferring_dies().is_empty() {
            return;
        }
        let Some(page) = self.ftl.lookup(logical) else { return };
        let die = self.shape().die_of(page);
        self.look_at(die);
        if let (true, Some(page), Some(job)) =
            (self.dies.defers_copies_on(die), self.ftl.lookup(logical), self.dies.job_on(die))
        {
            let end = job.first_page + self.shape().pages_per_block;
            if (job.cursor..end).contains(&page) {
                let left = self.ftl.count_valid_between(job.cursor, end) - 1;
                self.dies.set_end_of_erase(die, left);
            }
        }
    }

    /// Applies the deferred copies of a die that end by `until`.
    pub(super) fn catch_up_on(&mut self, die: u32, until: Instant) {
        let Some(mut run) = self.dies.deferred_run(die, until) else { return };
        let Some(collection) = self.dies.collection_on(die) else { return };
        let block_end = run.first_page + self.ftl.shape().pages_per_block;
        loop {
            let Copy { from, to, logical } = run.copy;
            self.ftl.count_sensings(from, 1);
            self.ftl.commit_copy(logical, from, to);
            run.ended += 1;
            let Some((from, logical)) = self.ftl.next_valid(run.cursor, block_end) else { break };
            let to = self.ftl.allocate_for_collection(die);
            run.copy = Copy { from, to, logical };
            run.cursor = from + 1;
            run.end += run.length;
            if run.end > until {
                self.count_copies(run.ended);
                self.dies.go_on_deferred(die, &run);
                return;
            }
        }
        self.count_copies(run.ended);
        self.dies.end_deferred(die, &run);
        self.dies.advance_job(die, block_end);
        self.begin_erase(run.end, die, collection);
    }

    #[inline]
    fn count_copies(&mut self, copies: u32) {
        let counters = self.counters_mut();
        counters.collection_reads_pages += u64::from(copies);
        counters.collection_programs_pages += u64::from(copies);
    }

    fn begin_erase(&mut self, now: Instant, die: u32, collection: u32) {
        self.dies.begin_erase(now, die);
        self.emit_job_began(now, die, PageOperation::Erase);
        if self.config.collection.blocking == Blocking::ChannelForCopies {
            self.free_channel(now, die, collection);
        }
    }

    /// Begins the next step of a collecting die that moves many pages at a time: gathers or
    /// programs pages, or erases when no valid page is left.
    fn step_relocation(&mut self, now: Instant, die: u32, collection: u32) {
        let (Some(relocator), Some(job)) = (&mut self.relocator, self.dies.job_on(die)) else {
            return;
        };
        match relocator.next(die, job, &mut self.ftl) {
            Move::Gather { sense, transfers, cursor } => {
                self.dies.advance_job(die, cursor);
                self.dies.begin_gather(now, die, sense, transfers);
                self.emit_job_began(now, die, PageOperation::Read);
            }
            Move::Program { program, transfers } => {
                self.dies.begin_relocation(now, die, program, transfers);
                self.emit_job_began(now, die, PageOperation::Program);
            }
            Move::Erase => self.begin_erase(now, die, collection),
        }
    }

    /// Maps the pages that a collecting die has gathered to their new place.
    pub(super) fn end_relocation(&mut self, now: Instant, die: u32) {
        let Self { relocator, ftl, dies, pace, journal, collector, .. } = self;
        if let Some(relocator) = relocator {
            let collection = dies.collection_on(die).map(|id| collector.get(id));
            let gives_back = collection.is_some_and(|collection| !collection.levels);
            if let (Some(pace), Some(job), true) = (pace, dies.job_on(die), gives_back) {
                pace.moved(die, job.valid);
            }
            relocator.end_program(die, |Copy { from, to, logical }| {
                journal.media(|| Media::Copied { from, to });
                ftl.commit_copy(logical, from, to);
                let counters = journal.counters_mut();
                counters.collection_reads_pages += 1;
                counters.collection_programs_pages += 1;
                counters.folded_pages += u64::from(ftl.slc_at(from).is_some());
            });
        }
        self.emit_job_ended(now, die, PageOperation::Program);
        self.step_job(now, die);
    }

    /// Gives back all dies of a collection but the victim's, because an erase uses no other.
    fn free_channel(&mut self, now: Instant, victim: u32, collection: u32) {
        if self.collector.get(collection).victim_die.is_none() {
            // Each die of a line works for itself.
            return;
        }
        let dies = self.collector.keep_victim(collection, victim);
        self.dies.end_following(now, victim);
        for die in dies.filter(|&die| die != victim) {
            self.release_die(die);
            self.freed.push(die);
        }
    }

    #[inline]
    pub(super) fn end_copy(&mut self, now: Instant, die: u32, copy: Copy) {
        let Copy { from, to, logical } = copy;
        self.journal.media(|| Media::Copied { from, to });
        self.ftl.count_sensings(from, 1);
        self.ftl.commit_copy(logical, from, to);
        if let Some(unchecked) = &mut self.unchecked {
            unchecked.add(die, to);
        }
        let counters = self.counters_mut();
        counters.collection_reads_pages += 1;
        counters.collection_programs_pages += 1;
        self.emit_job_ended(now, die, PageOperation::Copy);
        self.step_job(now, die);
    }

    /// Ends a die's part of a collection, after its erase. Returns the collection if this was its
    /// last part.
    pub(super) fn end_job(&mut self, now: Instant, die: u32) -> Option<u32> {
        self.emit_job_ended(now, die, PageOperation::Erase);
        let (collection, job) = self.dies.end_job(now, die);
        self.erase(die, job.first_page);
        self.counters_mut().erases += 1;
        self.collector.end_job(collection).then_some(collection)
    }

    /// Erases a block of a die, all of whose pages are invalid.
    pub(crate) fn erase(&mut self, die: u32, first_page: u32) {
        let pages = self.ftl.shape().pages_per_block;
        self.journal.media(|| Media::Erased { first_page, pages });
        if let Some(unchecked) = &mut self.unchecked {
            unchecked.forget(die, first_page);
        }
        let block = first_page / pages % self.ftl.shape().blocks_per_die;
        let is_leveled = self.ftl.erase(die, block);
        self.counters_mut().leveled_blocks += u64::from(is_leveled);
    }

    #[inline]
    fn emit_job_began(&mut self, now: Instant, die: u32, operation: PageOperation) {
        if let Some(collection) = self.dies.collection_on(die) {
            self.emit_began(now, die, operation, Origin::Collection { collection });
        }
    }

    #[inline]
    pub(super) fn emit_job_ended(&mut self, now: Instant, die: u32, operation: PageOperation) {
        if let Some(collection) = self.dies.collection_on(die) {
            self.emit_ended(now, die, operation, Origin::Collection { collection });
        }
    }
}
