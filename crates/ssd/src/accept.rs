//! Commands arrive: failing fast, or becoming page operations.

use crate::command::InFlight;
use crate::device::{Completed, Ssd};
use crate::die::State;
use crate::flush::BUFFERED;
use crate::ftl::{Allocated, NONE};
use crate::ops::{Op, OpKind};
use crate::rain::COMPUTED;
use alloc::vec::Vec;
use nvme::{Cause, Command, Completion, Delays, PlFlag, Status};
use units::{Duration, Instant, Lba};

impl Ssd {
    /// The die that serves a read; a page that was never written costs what a written one costs.
    #[inline]
    pub(crate) fn die_for_read(&self, logical: u32, page: u32) -> u32 {
        if page == NONE {
            if let Some(rain) = &self.rain {
                return rain.layout.die_of(logical);
            }
            let chance = logical.wrapping_mul(0x9e37_79b1);
            if self.ftl.shape.ranges == 1 {
                return chance % self.ftl.shape.dies;
            }
            let dies = self.ftl.dies_of_range(self.ftl.shape.range_of(logical));
            return dies[chance as usize % dies.len()];
        }
        self.ftl.shape.die_of(page)
    }

    /// Whether a read that arrives now on `die` would wait for a collection or buffer flush, or for
    /// work that a collection held up.
    ///
    /// The second half matters: when a collection ends, the writes that queued up behind it still
    /// stand in the way, and a read among them is as late because of the collection as one before.
    /// In the predictable window the promise is not to *start* anything, so what little is left of
    /// a queue there is served as it comes.
    #[inline]
    pub(crate) fn meets_collection(&self, now: Instant, die: u32) -> bool {
        let target = &self.dies[die as usize];
        // With RAIN, pages leave the buffer at any time; there is no promise about that.
        if target.collection.is_some() || (target.flushes > 0 && self.rain.is_none()) {
            return true;
        }
        target.queue.held_up > 0
            && !self.config.scheduling.read_priority
            && self.allowed_until(now, self.range_of_die(die)).is_some()
    }

    pub(crate) fn accept_read(&mut self, now: Instant, command: &Command) {
        let first = command.lba.0 as u32;
        let mut pages = core::mem::take(&mut self.scratch);
        pages.clear();
        pages.extend((first..first + command.blocks).map(|logical| self.ftl.lookup(logical)));
        let buffered = match self.buffer {
            None => 0,
            Some(_) => self.mark_buffered(first, &mut pages),
        };
        let mut met = false;
        let mut computed = false;
        if !self.quiet() {
            met = self.any_meets_collection(now, first, &pages);
            if met && self.mark_computed(now, first, &mut pages) {
                computed = true;
                met = self.any_meets_collection(now, first, &pages);
            }
        }
        if met && command.pl == PlFlag::Predictable {
            self.fail_fast(now, command, &pages);
        } else {
            let slot = self.commands.insert(InFlight {
                id: command.id,
                first_logical: first,
                blocks: command.blocks,
                remaining: command.blocks - buffered,
                met_collection: met,
                held_up: false,
                before_flash: Delays::ZERO,
                arrived: now,
            });
            let rebuilds =
                if computed { self.begin_rebuilds(now, slot, &pages) } else { Vec::new() };
            for (block, &page) in (0..command.blocks).zip(&pages) {
                if page == BUFFERED {
                    self.read_buffered(now, slot, block);
                    continue;
                }
                if page == COMPUTED {
                    continue;
                }
                let logical = first + block;
                let die = self.die_for_read(logical, page);
                let rebuild = self.rebuild_of(&rebuilds, logical);
                let mut op = Op::new(OpKind::Read, slot, block, logical, rebuild);
                op.before = self.dies[die as usize].ledger.read(now);
                self.enqueue(now, die, op, self.read_service);
            }
        }
        self.scratch = pages;
    }

    /// Whether one of the `pages` from logical page `first` on would wait for a collection.
    fn any_meets_collection(&self, now: Instant, first: u32, pages: &[u32]) -> bool {
        pages.iter().zip(first..).any(|(&page, logical)| {
            page != BUFFERED
                && page != COMPUTED
                && self.meets_collection(now, self.die_for_read(logical, page))
        })
    }

    #[cold]
    fn fail_fast(&mut self, now: Instant, command: &Command, pages: &[u32]) {
        let mut busy_remaining = Duration::ZERO;
        for (&page, logical) in pages.iter().zip(command.lba.0 as u32..) {
            if page == BUFFERED || page == COMPUTED {
                continue;
            }
            let die = self.die_for_read(logical, page);
            if self.meets_collection(now, die) {
                busy_remaining = busy_remaining.max(self.busy_remaining(now, die));
            }
        }
        let mut delays = Delays::ZERO;
        delays.add(Cause::FailFast, self.config.timing.fail_fast);
        self.counters.fail_fasts += 1;
        self.failing.push_back(Completed {
            at: now + self.config.timing.fail_fast,
            completion: Completion {
                id: command.id,
                status: Status::FailedFast,
                busy_remaining,
                met_collection: true,
                held_up: false,
                delays,
            },
        });
    }

    /// Time until a read that arrives now on `die` could be served (IODA §4.2.2): the rest of the
    /// current step, of the collection, and of the work in the queue.
    fn busy_remaining(&self, now: Instant, die: u32) -> Duration {
        self.collection_left(now, die) + self.dies[die as usize].queue.work
    }

    /// What is left of the current step of a die and of its collection.
    pub(crate) fn collection_left(&self, now: Instant, die: u32) -> Duration {
        let mut left = self.step_left(now, die) + self.suspended_left(die);
        if let Some(collection) = self.dies[die as usize].collection {
            let collection = self.collections.get(collection);
            let worker = collection.victim_die.unwrap_or(die);
            if worker != die {
                left += self.step_left(now, worker);
            }
            match self.dies[worker as usize].job {
                // The erase is the current step.
                Some(_) if self.dies[worker as usize].state == State::Erasing => {}
                Some(job) => {
                    let end = job.first_page + self.ftl.shape.pages_per_block;
                    let valid = self.ftl.count_valid_between(job.cursor, end);
                    left += self.config.collection_time(u64::from(valid));
                }
                None if collection.holds_pending > 0 => {
                    let valid = self.ftl.count_valid(worker, collection.block);
                    left += self.config.collection_time(u64::from(valid));
                }
                None => {}
            }
        }
        left
    }

    pub(crate) fn accept_write(&mut self, now: Instant, command: &Command) {
        let slot = self.commands.insert(InFlight {
            id: command.id,
            first_logical: command.lba.0 as u32,
            blocks: command.blocks,
            remaining: command.blocks,
            met_collection: false,
            held_up: false,
            before_flash: Delays::ZERO,
            arrived: now,
        });
        match self.link_time(command.blocks) {
            None => self.begin_write(now, slot),
            Some(crossing) => {
                self.arriving_until = self.arriving_until.max(now) + crossing;
                self.arriving.push_back((self.arriving_until, slot));
            }
        }
    }

    /// Takes the hint that logical pages hold nothing. It takes the drive no time: a look at its map.
    pub(crate) fn accept_deallocate(&mut self, now: Instant, command: &Command) {
        self.forget(command.lba, command.blocks);
        self.completed.push_back(Completed {
            at: now,
            completion: Completion {
                id: command.id,
                status: Status::Success,
                busy_remaining: Duration::ZERO,
                met_collection: false,
                held_up: false,
                delays: Delays::ZERO,
            },
        });
    }

    /// Forgets `blocks` logical pages from `first` on, of which no write may be in flight: it would
    /// bring them back. A drive with a write buffer, or RAIN, keeps what it has, as it may: versions of
    /// the pages may be on their way to flash or part of a parity.
    pub fn forget(&mut self, first: Lba, blocks: u32) {
        if self.buffer.is_some() {
            return;
        }
        for logical in first.0 as u32..first.0 as u32 + blocks {
            self.counters.deallocated_pages += u64::from(self.ftl.forget(logical));
        }
    }

    /// Time for `blocks` to cross PCIe, none if it is not a limit.
    pub(crate) fn link_time(&self, blocks: u32) -> Option<Duration> {
        let rate = self.config.timing.pcie_bytes_per_second?;
        let bytes = u64::from(blocks) * u64::from(self.config.geometry.page_bytes);
        Some(Duration::from_nanos((u128::from(bytes) * 1_000_000_000 / u128::from(rate)) as u64))
    }

    pub(crate) fn begin_write(&mut self, now: Instant, slot: u32) {
        let command = self.commands.get_mut(slot);
        let waited = now.since(command.arrived);
        command.before_flash.add(Cause::Transfer, waited);
        let blocks = command.blocks;
        if self.buffer.is_some() {
            self.buffer_write(now, slot);
            return;
        }
        for block in 0..blocks {
            if !self.stalled.is_empty() || !self.write_page(now, slot, block) {
                self.counters.stalled_writes_pages += 1;
                self.stalled.push_back((slot, block));
            }
        }
        if !self.stalled.is_empty() {
            self.relieve(now);
        }
    }

    /// Finds a place for one page of a write and queues it; false if there is none.
    #[inline]
    pub(crate) fn write_page(&mut self, now: Instant, slot: u32, block: u32) -> bool {
        let logical = self.commands.get(slot).first_logical + block;
        let Some(place) = self.ftl.allocate_for_host(logical) else { return false };
        let command = self.commands.get_mut(slot);
        command.met_collection |= self.dies[place.die as usize].collection.is_some();
        let op = Op::new(OpKind::Program, slot, block, logical, place.page);
        self.enqueue(now, place.die, op, self.program_service);
        self.collect_if_low(now, place);
        true
    }

    /// Collects if the block that was opened for `place` was the last above the watermark.
    #[inline]
    pub(crate) fn collect_if_low(&mut self, now: Instant, place: Allocated) {
        if place.opened_block && self.ftl.free(place.die) <= self.collect_at() {
            if self.config.collection.instant {
                self.collect_instantly(place.die);
            } else {
                self.collect_in_scope(now, self.scope_of(place.die), false);
            }
        }
    }

    #[inline]
    pub(crate) fn enqueue(&mut self, now: Instant, die: u32, mut op: Op, service: Duration) {
        let overtakes = self.overtakes(die, op.kind);
        let target = &mut self.dies[die as usize];
        // What queues up behind I/O that a collection held up is held up by it as well.
        let behind = target.collection.is_some() || (target.queue.held_up > 0 && !overtakes);
        op.held_up = op.kind != OpKind::Hold && behind;
        self.held_up += u32::from(op.held_up);
        if op.held_up && op.kind == OpKind::Read {
            self.commands.get_mut(op.owner).held_up = true;
        }
        let op = self.ops.insert(op);
        if overtakes {
            target.queue.push_read(&mut self.ops, op, service);
            self.suspend(now, die);
        } else {
            target.queue.push_back(&mut self.ops, op, service);
        }
        if self.dies[die as usize].state == State::Idle {
            self.dispatch(now, die);
        }
    }
}
