//! Garbage collection in time: when it starts, which dies it holds, how it ends.

use crate::collection::{Collection, CollectionSpan};
use crate::config::{Blocking, CollectionUnit};
use crate::device::Ssd;
use crate::die::{Copy, Job, State, Step};
use crate::ftl::NONE;
use crate::ledger::Work;
use crate::media::Media;
use crate::ops::{Op, OpKind};
use alloc::vec::Vec;
use nvme::CollectionRight;
use units::{Duration, Instant};

impl Ssd {
    /// The part of the drive in which one collection runs at a time.
    pub(crate) fn scope_of(&self, die: u32) -> usize {
        match (self.config.collection.unit, self.config.collection.blocking) {
            (CollectionUnit::Line, _) | (_, Blocking::Controller) => 0,
            (_, Blocking::Channel) => self.channel_of(die),
            (_, Blocking::Die) => die as usize,
        }
    }

    /// The range of logical blocks that a die holds.
    pub(crate) fn range_of_die(&self, die: u32) -> u32 {
        self.ftl.shape.range_of_die(die)
    }

    /// Free blocks at which a die is due: with windows more, because what is free when the window
    /// ends must last until the next (IODA §4.3.1, rule 1).
    #[inline]
    pub(crate) fn collect_at(&self) -> u32 {
        match self.right {
            CollectionRight::Always => self.ftl.shape.soft,
            CollectionRight::Windows(_) | CollectionRight::Lease { .. } => self.ftl.shape.restore,
            CollectionRight::Order { .. } => self.config.geometry.blocks_per_die(),
        }
    }

    /// Starts every collection that is due. With `forced`, host writes have no room and the window
    /// contract gives way.
    pub(crate) fn collect_where_due(&mut self, now: Instant, forced: bool) {
        if self.config.collection.instant {
            return;
        }
        if let Some(groups) = self.rotating_groups() {
            for group in 0..groups {
                self.collect_in_group(now, group, forced);
            }
            return;
        }
        for scope in 0..self.scope_busy.len() {
            self.collect_in_scope_now(now, scope, forced);
        }
    }

    /// Starts the collection that is due in a scope, if its dies need not take turns with others.
    pub(crate) fn collect_in_scope(&mut self, now: Instant, scope: usize, forced: bool) {
        match self.rotating_groups() {
            // Only dies take turns, so the scope is one.
            Some(_) => self.collect_in_group(now, self.group_of(scope as u32), forced),
            None => {
                self.collect_in_scope_now(now, scope, forced);
            }
        }
    }

    /// Starts the collection that is due in a scope. Returns whether there was one.
    pub(crate) fn collect_in_scope_now(
        &mut self,
        now: Instant,
        scope: usize,
        forced: bool,
    ) -> bool {
        if self.scope_busy[scope] || (!forced && self.flush_goes_first(now)) {
            return false;
        }
        let Some((die, block)) = self.neediest_victim(now, scope, forced) else { return false };
        let until = self.allowed_until(now, self.range_of_die(die));
        let fits = until.is_some_and(|until| self.fits(now, until, die, block));
        if !fits && !forced {
            return false;
        }
        self.hold_dies(now, scope, die, block, until.unwrap_or(Instant::NEVER), !fits);
        true
    }

    /// Whether a die may be collected now as far as windows go: its range has its turn, or host
    /// writes to this very range have no room.
    fn may_collect(&self, now: Instant, die: u32, forced: bool) -> bool {
        let shape = &self.ftl.shape;
        let range = shape.range_of_die(die);
        if shape.ranges == 1 {
            return true;
        }
        let stalled = || {
            let (command, block) = self.stalled.front()?;
            Some(shape.range_of(self.commands.get(*command).first_logical + block))
        };
        self.allowed_until(now, range).is_some() || (forced && stalled() == Some(range))
    }

    /// Of the dies of a scope that are low on free blocks, may be collected and have a victim,
    /// the one with the least free space, and its victim.
    fn neediest_victim(&self, now: Instant, scope: usize, forced: bool) -> Option<(u32, u32)> {
        let shape = &self.ftl.shape;
        let dies = shape.dies / self.scope_busy.len() as u32;
        let first = scope as u32 * dies;
        let mut least = self.collect_at() + 1;
        let mut neediest = None;
        // All dies of a line have the same free space and the same victim.
        let tried = if shape.unit == CollectionUnit::Line { 1 } else { dies };
        for die in first..first + tried {
            let free = self.ftl.free(die);
            if free >= least || !self.may_collect(now, die, forced) {
                continue;
            }
            if let Some(block) = self.ftl.victim(die, forced) {
                least = free;
                neediest = Some((die, block));
            }
        }
        neediest
    }

    /// Whether a collection that is asked for now is over at `until` in the worst case.
    fn fits(&self, now: Instant, until: Instant, die: u32, block: u32) -> bool {
        if until == Instant::NEVER {
            return true;
        }
        let ends = |die: u32, valid: u32| {
            now + self.committed_work(now, die) + self.config.collection_bound(valid)
        };
        match self.ftl.shape.unit {
            CollectionUnit::Line => (0..self.ftl.shape.dies)
                .all(|die| ends(die, self.ftl.count_valid(die, block)) <= until),
            CollectionUnit::Block => {
                let valid = self.ftl.count_valid(die, block);
                let (first, dies) = self.held_dies(die);
                (first..first + dies).all(|held| ends(held, valid) <= until)
            }
        }
    }

    /// The longest that the host operations of a die can take, the one in service and the waiting,
    /// unless other dies of its channel stand in their way.
    pub(crate) fn committed_work(&self, now: Instant, die: u32) -> Duration {
        let worker = &self.dies[die as usize];
        // A step that ends may be followed by another of the same operation.
        let rest = match worker.state {
            State::Idle | State::Held => Duration::ZERO,
            _ if self.config.timing.transfer.is_zero() => Duration::ZERO,
            State::Scrubbing(_) => self.config.timing.transfer,
            _ => self.program_service,
        };
        self.step_left(now, die) + self.suspended_left(die) + rest + worker.queue.work
    }

    /// First die and number of dies that a collection on `die` keeps from the host.
    fn held_dies(&self, die: u32) -> (u32, u32) {
        let chips = self.ftl.shape.chips_per_channel;
        match self.config.collection.blocking {
            Blocking::Die => (die, 1),
            Blocking::Channel => (die / chips * chips, chips),
            Blocking::Controller => (0, self.ftl.shape.dies),
        }
    }

    /// Queues the holds of a collection on its dies.
    fn hold_dies(
        &mut self,
        now: Instant,
        scope: usize,
        die: u32,
        block: u32,
        until: Instant,
        violation: bool,
    ) {
        self.scope_busy[scope] = true;
        self.counters.contract_violations += u64::from(violation);
        self.ftl.begin_collection(die, block);
        let line = self.ftl.shape.unit == CollectionUnit::Line;
        let victim_die = (!line).then_some(die);
        let mut next = if line { 0 } else { die };
        let end = if line { self.ftl.shape.dies } else { die + 1 };
        let mut started = Vec::new();
        while next < end {
            let (first_die, dies) = self.held_dies(next);
            started.push(self.collections.insert(Collection {
                first_die,
                dies,
                victim_die,
                block,
                holds_pending: dies,
                jobs_active: 0,
                until,
                violation,
                began: now,
            }));
            next = first_die + dies;
        }
        if line {
            self.line_parts_left = started.len() as u32;
        }
        // All parts exist before the first begins, because a part may end the line.
        for collection in started {
            let Collection { first_die, dies, .. } = *self.collections.get(collection);
            for die in first_die..first_die + dies {
                self.dies[die as usize].collection = Some(collection);
                self.count_collecting(die, true);
                let hold = Op::new(OpKind::Hold, collection, 0, NONE, NONE);
                self.enqueue(now, die, hold, Duration::ZERO);
            }
        }
    }

    /// All dies of the collection have come to it.
    pub(crate) fn begin_collection(&mut self, now: Instant, id: u32) {
        let collection = self.collections.get_mut(id);
        collection.began = now;
        let Collection { first_die, dies, victim_die, block, until, violation, .. } = *collection;
        if let Some(victim) = victim_die {
            let valid = self.ftl.count_valid(victim, block);
            let late = now + self.config.collection_bound(valid) > until;
            if late && !violation && until != Instant::NEVER {
                self.ftl.cancel_collection(victim, block);
                let scope = self.scope_of(victim);
                self.scope_busy[scope] = false;
                self.release_dies(now, id);
                if !self.stalled.is_empty() {
                    self.relieve(now);
                }
                return;
            }
        }
        let (first_worker, workers) = victim_die.map_or((first_die, dies), |die| (die, 1));
        self.collections.get_mut(id).jobs_active = workers;
        for die in first_worker..first_worker + workers {
            let first_page = self.ftl.shape.first_page(die, block);
            self.dies[die as usize].job = Some(Job { first_page, cursor: first_page });
            self.step_job(now, die);
        }
    }

    /// The next copy of a collecting die, or the erase when nothing valid is left.
    #[inline]
    pub(crate) fn step_job(&mut self, now: Instant, die: u32) {
        let index = die as usize;
        if self.yields_to_host(now, die) {
            self.dies[index].state = State::Idle;
            self.dispatch(now, die);
            return;
        }
        let Some(job) = &mut self.dies[index].job else { return };
        let end = job.first_page + self.ftl.shape.pages_per_block;
        let timing = &self.config.timing;
        let Some(from) = self.ftl.next_valid(job.cursor, end) else {
            job.cursor = end;
            self.dies[index].state = State::Erasing;
            self.account(now, die, Work::CollectionErase, Duration::ZERO);
            self.deadlines.set(index, now + self.config.timing.erase);
            return;
        };
        job.cursor = from + 1;
        let logical = self.ftl.holds(from);
        // It will be changed when the copy is done; a cache miss then would stall for longer.
        self.ftl.touch(logical);
        let to = self.ftl.allocate_for_collection(die);
        self.dies[index].copy = Copy { from, to, logical };
        if self.config.copy_transfer().is_zero() {
            // Nothing can come between sensing and programming: book both as one step.
            self.dies[index].state = State::Copying(Step::Program);
            let (read, length) = (timing.read, timing.read + timing.program);
            self.account(now, die, Work::CollectionProgram, read);
            self.deadlines.set(index, now + length);
        } else {
            self.dies[index].state = State::Copying(Step::Sense);
            let read = timing.read;
            self.account(now, die, Work::CollectionRead, Duration::ZERO);
            self.deadlines.set(index, now + read);
        }
    }

    /// Notes what a collecting die does, on its own ledger and on those of the dies that it keeps
    /// from the host meanwhile.
    #[inline]
    fn account(&mut self, now: Instant, die: u32, work: Work, lead: Duration) {
        self.dies[die as usize].ledger.switch_with_lead(now, Some(work), lead);
        if self.config.collection.blocking == Blocking::Die {
            return;
        }
        let Some(collection) = self.dies[die as usize].collection else { return };
        let Collection { first_die, dies, victim_die, .. } = *self.collections.get(collection);
        if victim_die.is_some() {
            for held in (first_die..first_die + dies).filter(|&held| held != die) {
                self.dies[held as usize].ledger.switch_with_lead(now, Some(work), lead);
            }
        }
    }

    pub(crate) fn end_copy_step(&mut self, now: Instant, die: u32, step: Step) {
        match step {
            Step::Sense => self.request_channel(now, die),
            Step::Transfer => {
                self.release_channel(now, die);
                self.dies[die as usize].state = State::Copying(Step::Program);
                self.account(now, die, Work::CollectionProgram, Duration::ZERO);
                self.deadlines.set(die as usize, now + self.config.timing.program);
            }
            _ => {
                let Copy { from, to, logical } = self.dies[die as usize].copy;
                if let Some(media) = &mut self.media {
                    media.push(Media::Copied { from, to });
                }
                self.ftl.commit_copy(logical, from, to);
                self.note_copy(die, to);
                self.counters.collection_reads_pages += 1;
                self.counters.collection_programs_pages += 1;
                self.step_job(now, die);
            }
        }
    }

    /// The erase that ends a die's part of a collection is done.
    pub(crate) fn end_job(&mut self, now: Instant, die: u32) {
        let target = &mut self.dies[die as usize];
        let (Some(id), Some(job)) = (target.collection, target.job.take()) else {
            unreachable!("die {die} erased a block outside a collection")
        };
        target.state = State::Held;
        target.ledger.switch(now, Some(Work::CollectionErase));
        self.deadlines.set(die as usize, Instant::NEVER);
        let pages = self.ftl.shape.pages_per_block;
        let block = (job.first_page / pages) % self.ftl.shape.blocks_per_die;
        if let Some(media) = &mut self.media {
            media.push(Media::Erased { first_page: job.first_page, pages });
        }
        self.note_erase(die, job.first_page);
        self.ftl.erase(die, block);
        self.count_wear(die);
        self.counters.erases += 1;
        let collection = self.collections.get_mut(id);
        collection.jobs_active -= 1;
        if collection.jobs_active == 0 {
            self.end_collection(now, id, die);
        }
    }

    fn end_collection(&mut self, now: Instant, id: u32, die: u32) {
        let Collection { first_die, dies, began, until, violation, .. } = *self.collections.get(id);
        // Contention that the bound did not foresee would break the contract as well.
        let overran = !violation && now > until;
        self.counters.contract_violations += u64::from(overran);
        if let Some(spans) = &mut self.spans {
            let violation = violation || overran;
            spans.push(CollectionSpan { first_die, dies, began, ended: now, violation });
        }
        let scope = self.scope_of(die);
        let whole_unit_done = match self.ftl.shape.unit {
            CollectionUnit::Block => true,
            CollectionUnit::Line => {
                self.line_parts_left -= 1;
                self.line_parts_left == 0
            }
        };
        if whole_unit_done {
            self.counters.collections += 1;
            self.counters.collecting_nanos += now.since(began).as_nanos();
            self.scope_busy[scope] = false;
        }
        self.release_dies(now, id);
        self.flush(now);
        if whole_unit_done {
            self.collect_in_scope(now, scope, false);
            if !self.stalled.is_empty() {
                self.relieve(now);
            }
        }
    }

    /// Gives the dies of a collection back to the host.
    fn release_dies(&mut self, now: Instant, id: u32) {
        let Collection { first_die, dies, .. } = *self.collections.get(id);
        self.collections.release(id);
        for die in first_die..first_die + dies {
            self.dies[die as usize].collection = None;
            self.dies[die as usize].state = State::Idle;
            self.count_collecting(die, false);
        }
        if self.rain.is_some() {
            for die in first_die..first_die + dies {
                self.release_delayed(now, die);
            }
        }
        for die in first_die..first_die + dies {
            if self.dies[die as usize].state == State::Idle {
                self.dispatch(now, die);
            }
        }
    }

    /// Finds room for stalled writes, collecting against the contract if there is no other way.
    pub(crate) fn relieve(&mut self, now: Instant) {
        while let Some(&(command, block)) = self.stalled.front() {
            let placed = self.write_page(now, command, block)
                || (self.collect_everywhere_instantly() && self.write_page(now, command, block));
            if !placed {
                self.collect_where_due(now, true);
                return;
            }
            self.stalled.pop_front();
        }
    }

    /// Collects on every die if collections take no time. Returns whether they do.
    pub(crate) fn collect_everywhere_instantly(&mut self) -> bool {
        if self.config.collection.instant {
            for die in 0..self.ftl.shape.dies {
                self.collect_instantly(die);
            }
        }
        self.config.collection.instant
    }
}
