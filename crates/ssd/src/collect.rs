//! Collection in time: when one is started, which dies it waits for, how it ends.

use crate::collection::{Collection, CollectionSpan, Leave};
use crate::collector::{Start, Urgency};
use crate::config::{Blocking, CollectionTrigger, CollectionUnit};
use crate::die::{Job, State};
use crate::event::Event;
use crate::flash::Flash;
use crate::ftl::{Allocated, Worth};
use crate::plane_groups::GroupTurns;
use crate::rain::Rotation;
use crate::slc::IdleTimer;
use crate::violation::{Violation, ViolationCause};
use alloc::vec::Vec;
use core::ops::Range;
use nvme::{CollectionRight, WindowScope};
use units::{Instant, Observe};

/// What a collection that is over leaves to be done: its dies wait to be given their next
/// operation.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    pub(crate) dies: Range<u32>,
    /// The scope that is free for the next collection; none while other parts of a line go on.
    pub(crate) scope: Option<usize>,
}

impl<O: Observe> Flash<O> {
    /// Free blocks at which a die is due: with windows more, because what is free when the window
    /// ends must last until the next (IODA §4.3.1, rule 1).
    #[inline]
    pub(crate) fn collect_at(&self) -> u32 {
        match self.collector.rights.right() {
            CollectionRight::Always => self.ftl.shape.levels.soft,
            CollectionRight::Windows(_) | CollectionRight::Lease { .. } => {
                self.ftl.shape.levels.restore
            }
            CollectionRight::Order { .. } => self.config.geometry.blocks_per_die(),
        }
    }

    /// How much a victim must give. With windows anything: a line that is left alone in one window
    /// is missing until the next, and space that runs out between them breaks the contract.
    pub(crate) fn worth(&self) -> Worth {
        match self.collector.rights.right() {
            CollectionRight::Windows(_) | CollectionRight::Lease { .. } => Worth::Anything,
            CollectionRight::Always | CollectionRight::Order { .. } => Worth::Enough,
        }
    }

    /// Whether the drive looks by itself whether a collection is due. A host that says until when
    /// the drive may collect has said it by that, and may hold its commands back until it has been
    /// done.
    pub(crate) fn collects_by_itself(&self) -> bool {
        let right = self.collector.rights.right();
        self.config.collection.trigger == CollectionTrigger::FreeSpace
            || matches!(right, CollectionRight::Lease { .. } | CollectionRight::Order { .. })
    }

    /// Starts every collection that is due, or with force whatever makes room. `flush_first` says
    /// that the flush of the write buffer goes before collections. Returns whether one was put off
    /// for it.
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
        if let Some(turns) = self.rotation() {
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

    /// Starts the collection that is due in a scope, in turn with others if the drive rotates.
    /// Returns whether it was put off.
    pub(crate) fn collect_in_scope(
        &mut self,
        now: Instant,
        scope: usize,
        flush_first: bool,
    ) -> bool {
        match self.rotation() {
            // Only dies take turns, so the scope is one.
            Some(turns) => {
                let group = turns.groups.of(scope as u32);
                self.collect_in_group(now, group, Urgency::Due, flush_first)
            }
            None => self.start_in_scope(now, scope, Urgency::Due, flush_first) == Start::PutOff,
        }
    }

    /// Collects if the block that was opened for `place` was the last above the watermark. Returns
    /// whether that was put off.
    #[inline]
    pub(crate) fn collect_if_low(
        &mut self,
        now: Instant,
        place: Allocated,
        flush_first: bool,
    ) -> bool {
        if !place.opened_block || self.ftl.free(place.die) > self.collect_at() {
            return false;
        }
        if self.config.collection.untimed.collects() {
            self.collect_instantly(place.die);
            return false;
        }
        self.collect_in_scope(now, self.collector.scope_of(place.die), flush_first)
    }

    /// The plane groups, if the dies of each take turns in collecting (TTFLASH §4.4).
    #[inline]
    fn rotation(&self) -> Option<&GroupTurns> {
        self.collector.turns.as_ref().filter(|turns| turns.rotation != Rotation::Off)
    }

    /// Collects on the neediest die of a group if none collects there, and on those that are out of
    /// free blocks if that breaks the rotation only.
    fn collect_in_group(
        &mut self,
        now: Instant,
        group: u32,
        urgency: Urgency,
        flush_first: bool,
    ) -> bool {
        let Some(turns) = self.rotation() else { return false };
        let rotation = turns.rotation;
        let collect_at = self.collect_at();
        let dies = turns.groups.dies(group);
        let mut due: Vec<u32> = dies.filter(|&die| self.ftl.free(die) <= collect_at).collect();
        due.sort_by_key(|&die| self.ftl.free(die));
        let mut put_off = false;
        for die in due {
            let collecting = self.rotation().map_or(0, |turns| turns.collecting(group));
            let taken = collecting > 0;
            let out_of_blocks = self.ftl.free(die) <= self.ftl.shape.levels.hard;
            if taken && !(out_of_blocks && rotation == Rotation::On) {
                continue;
            }
            let scope = self.collector.scope_of(die);
            match self.start_in_scope(now, scope, urgency, flush_first) {
                Start::No => {}
                Start::PutOff => put_off = true,
                Start::Yes => self.journal.counters.rotation_breaches += u64::from(taken),
            }
        }
        put_off
    }

    fn start_in_scope(
        &mut self,
        now: Instant,
        scope: usize,
        urgency: Urgency,
        flush_first: bool,
    ) -> Start {
        if self.collector.is_busy(scope) {
            return Start::No;
        }
        if flush_first && !urgency.is_forced() {
            return Start::PutOff;
        }
        let victim = match urgency {
            Urgency::Fold => self.block_to_fold(scope),
            Urgency::Due => self.neediest_victim(now, scope, urgency),
            // Host writes that have no room may be waiting for the cache.
            Urgency::Forced { .. } if self.ftl.waits_for_slc() => {
                self.block_to_fold(scope).or_else(|| self.neediest_victim(now, scope, urgency))
            }
            Urgency::Forced { .. } => self.neediest_victim(now, scope, urgency),
        };
        let Some((die, block)) = victim else { return Start::No };
        let range = self.ftl.shape.range_of_die(die);
        let until = self.collector.rights.allowed_until(now, range);
        let fits = until.is_some_and(|until| self.fits(now, until, die, block));
        let leave = match urgency {
            _ if fits => Leave::Granted,
            Urgency::Forced { .. } => Leave::Forced,
            Urgency::Due if self.is_short_of_space(die) => Leave::Taken,
            Urgency::Due | Urgency::Fold => return Start::No,
        };
        let until = until.filter(|_| leave != Leave::Taken).unwrap_or(Instant::NEVER);
        self.hold_dies(now, die, block, until, leave);
        Start::Yes
    }

    /// Whether a drive that keeps all its work in windows collects outside of them as well, as
    /// gently as it can: if it waited for the hard watermark, its collections could give way to
    /// nobody.
    fn is_short_of_space(&self, die: u32) -> bool {
        let levels = &self.ftl.shape.levels;
        let short = levels.hard + ((levels.soft - levels.hard) / 4).max(1);
        self.collector.rights.scope == WindowScope::AllWork && self.ftl.free(die) <= short
    }

    /// Of the dies of a scope whose part of the cache has to be folded, the one with the least free
    /// space, and the block to fold.
    fn block_to_fold(&self, scope: usize) -> Option<(u32, u32)> {
        let is_idle = self.idle.as_ref().is_some_and(IdleTimer::is_idle);
        let dies = self.collector.candidates(scope);
        let dies = dies.filter(|&die| is_idle || self.ftl.is_slc_low(die));
        let blocks = dies.filter_map(|die| Some((die, self.ftl.slc_to_fold(die)?)));
        blocks.min_by_key(|&(die, _)| self.ftl.free(die))
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

    /// Whether the drive would fold if it had the right to collect.
    pub(crate) fn wants_to_fold(&self) -> bool {
        let mut scopes = 0..self.collector.scopes();
        self.idle.is_some() && scopes.any(|scope| self.block_to_fold(scope).is_some())
    }

    /// Whether a die may be collected now as far as windows go: its range has its turn, or host
    /// writes to this very range have no room.
    fn may_collect(&self, now: Instant, die: u32, urgency: Urgency) -> bool {
        let shape = &self.ftl.shape;
        let range = shape.range_of_die(die);
        shape.ranges.count == 1
            || urgency == Urgency::Forced { range }
            || self.collector.rights.allowed_until(now, range).is_some()
    }

    /// Of the dies of a scope that are low on free blocks, may be collected and have a victim,
    /// the one with the least free space, and its victim.
    fn neediest_victim(&self, now: Instant, scope: usize, urgency: Urgency) -> Option<(u32, u32)> {
        let mut least = self.collect_at() + 1;
        let mut neediest = None;
        let worth = if urgency.is_forced() { Worth::Anything } else { self.worth() };
        for die in self.collector.candidates(scope) {
            let free = self.ftl.free(die);
            if free >= least || !self.may_collect(now, die, urgency) {
                continue;
            }
            if let Some(block) = self.ftl.victim(die, worth) {
                least = free;
                neediest = Some((die, block));
            }
        }
        neediest
    }

    /// When a die has collected a block with so many valid pages in the worst case, after what it
    /// has to do.
    pub(crate) fn collected_at(&self, now: Instant, die: u32, valid: u32) -> Instant {
        now + self.dies.committed_work(now, die) + self.config.collection_bound(valid)
    }

    /// Whether a collection that is asked for now is over at `until` in the worst case.
    fn fits(&self, now: Instant, until: Instant, die: u32, block: u32) -> bool {
        if until == Instant::NEVER {
            return true;
        }
        let ends = |die: u32, valid: u32| self.collected_at(now, die, valid);
        match self.ftl.shape.unit {
            CollectionUnit::Line => (0..self.ftl.shape.dies)
                .all(|die| ends(die, self.ftl.count_valid(die, block)) <= until),
            CollectionUnit::Block => {
                let valid = self.ftl.count_valid(die, block);
                let (first, dies) = self.collector.held_dies(die);
                (first..first + dies).all(|held| ends(held, valid) <= until)
            }
        }
    }

    fn violated(&mut self, at: Instant, first_die: u32, cause: ViolationCause) {
        let free_blocks = self.ftl.free(first_die);
        let blocks = self.ftl.shape.blocks_per_die;
        self.journal.violated(Violation { at, cause, first_die, free_blocks, blocks });
    }

    /// Queues the holds of a collection on its dies.
    fn hold_dies(&mut self, now: Instant, die: u32, block: u32, until: Instant, leave: Leave) {
        match leave {
            Leave::Granted => {}
            Leave::Taken => self.violated(now, die, ViolationCause::ShortOfSpace),
            Leave::Forced => self.violated(now, die, ViolationCause::NoRoom),
        }
        self.ftl.begin_collection(die, block);
        if let Some(pace) = self.pace.as_mut().filter(|_| self.collector.is_idle()) {
            pace.restart();
        }
        // All parts exist before the first begins, because a part may end the line.
        for collection in self.collector.start(now, die, block, until, leave) {
            self.emit_requested(now, collection);
            let Collection { first_die, dies, .. } = *self.collector.get(collection);
            for die in first_die..first_die + dies {
                self.dies.assign(die, collection);
                if let Some(turns) = &mut self.collector.turns {
                    turns.take(die);
                }
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

    /// All dies of the collection have come to it. If that took so long that it would not be over
    /// in time, it is cancelled instead: its dies wait to be given their next operation.
    pub(crate) fn begin_collection(&mut self, now: Instant, id: u32) -> Option<Range<u32>> {
        let Collection { first_die, dies, victim_die, block, until, leave, .. } =
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
        // What dies of a line wait for is their own work; other dies wait for that of the victim's.
        let blocked = victim_die.is_some() && self.config.collection.blocking != Blocking::Die;
        for die in workers {
            let first_page = self.ftl.shape.first_page(die, block);
            let (first_held, held) = if blocked { (first_die, dies) } else { (die, 1) };
            let mut valid = 0;
            if let Some(pace) = &mut self.pace {
                valid = self.ftl.count_valid(die, block);
                pace.begin(die, valid);
            }
            let job = Job { first_page, cursor: first_page, valid, first_held, held };
            self.dies.begin_job(now, die, job);
            self.step_job(now, die);
        }
        None
    }

    /// A collection is over.
    pub(crate) fn end_collection(&mut self, now: Instant, id: u32) -> Ended {
        let Collection { first_die, dies, began, until, leave, .. } = *self.collector.get(id);
        // Contention that the bound did not foresee would break the contract as well.
        let overran = leave == Leave::Granted && now > until;
        if overran {
            self.violated(now, first_die, ViolationCause::Overran);
        }
        let violation = leave != Leave::Granted || overran;
        self.journal.span(CollectionSpan { first_die, dies, began, ended: now, violation });
        self.journal.emit(now, || Event::CollectionEnded { collection: id });
        let scope = self.collector.end(id);
        if scope.is_some() {
            self.journal.counters.collections += 1;
            self.journal.counters.collecting_nanos += now.since(began).as_nanos();
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
        if let Some(turns) = &mut self.collector.turns {
            turns.give_back(die);
        }
    }

    /// Whether a die waits to be given its next operation.
    pub(crate) fn is_idle(&self, die: u32) -> bool {
        self.dies.die(die).state == State::Idle
    }
}
