//! Dies at work: taking up operations, and what the end of each step leads to.

use crate::command::InFlight;
use crate::device::{Completed, Ssd};
use crate::die::{State, Step};
use crate::ledger::{Work, explain_wait};
use crate::media::Media;
use crate::ops::{Op, OpKind};
use crate::rain::NO_REBUILD;
use nvme::{Cause, Completion, Delays, Status};
use units::{Duration, Instant};

impl Ssd {
    /// What is left of the current step of a die; nothing if it waits or is idle.
    pub(crate) fn step_left(&self, now: Instant, die: u32) -> Duration {
        match self.deadlines.get(die as usize) {
            _ if self.dies[die as usize].state == State::Idle => Duration::ZERO,
            Instant::NEVER => Duration::ZERO,
            due => due.since(now),
        }
    }

    pub(crate) fn service_of(&self, kind: OpKind) -> Duration {
        match kind {
            OpKind::Read | OpKind::RebuildRead | OpKind::FlushRead => self.read_service,
            OpKind::Program | OpKind::Flush => self.program_service,
            OpKind::Hold => Duration::ZERO,
        }
    }

    /// Gives an idle die its next operation: of its collection if it is held, else the first of
    /// its queue.
    #[inline]
    pub(crate) fn dispatch(&mut self, now: Instant, die: u32) {
        let index = die as usize;
        if self.dies[index].suspended.is_some() {
            if self.resume(now, die) {
                return;
            }
        } else if self.dies[index].job.is_some() && !self.yields_to_host(now, die) {
            self.step_job(now, die);
            return;
        }
        let Some(op) = self.dies[index].queue.front() else {
            self.rest(now, die);
            return;
        };
        let (kind, held_up, before, owner) = {
            let op = self.ops.get(op);
            (op.kind, op.held_up, op.before, op.owner)
        };
        let service = self.service_of(kind);
        let target = &mut self.dies[index];
        target.queue.pop_front(&self.ops, service);
        self.held_up -= u32::from(held_up);
        target.op = op;
        match kind {
            OpKind::Read | OpKind::RebuildRead => {
                target.delays = Delays::ZERO;
                explain_wait(&mut target.delays, &before, &target.ledger.read(now));
                target.ledger.switch(now, Some(Work::HostRead));
                target.state = State::Serving(Step::Sense);
                self.deadlines.set(index, now + self.config.timing.read);
            }
            OpKind::FlushRead => {
                target.ledger.switch(now, Some(Work::HostWrite));
                target.state = State::Serving(Step::Sense);
                self.deadlines.set(index, now + self.config.timing.read);
            }
            OpKind::Program | OpKind::Flush => {
                target.ledger.switch(now, Some(Work::HostWrite));
                if self.config.timing.transfer.is_zero() {
                    target.state = State::Serving(Step::Program);
                    self.deadlines.set(index, now + self.config.timing.program);
                } else {
                    self.request_channel(now, die);
                }
            }
            OpKind::Hold => {
                self.ops.release(op);
                target.state = State::Held;
                target.ledger.switch(now, Some(Work::CollectionRead));
                self.deadlines.set(index, Instant::NEVER);
                let collection = self.collections.get_mut(owner);
                collection.holds_pending -= 1;
                if collection.holds_pending == 0 {
                    self.begin_collection(now, owner);
                }
            }
        }
    }

    /// The current step of a die is over.
    #[inline]
    pub(crate) fn end_step(&mut self, now: Instant, die: u32) {
        if self.config.scheduling.suspension.is_some()
            && self.dies[die as usize].suspended.is_none()
        {
            self.dies[die as usize].suspensions = 0;
        }
        match self.dies[die as usize].state {
            State::Suspending => self.dispatch(now, die),
            State::Serving(step) => self.end_host_step(now, die, step),
            State::Copying(step) => self.end_copy_step(now, die, step),
            State::Erasing => self.end_job(now, die),
            State::Scrubbing(step) => self.end_scrub_step(now, die, step),
            State::Idle => self.scrub(now, die),
            State::Held => unreachable!("die {die} has a deadline but no work"),
        }
    }

    fn end_host_step(&mut self, now: Instant, die: u32, step: Step) {
        let kind = self.ops.get(self.dies[die as usize].op).kind;
        match (kind, step) {
            (kind, Step::Sense) => {
                let target = &mut self.dies[die as usize];
                target.delays.add(Cause::NandRead, self.config.timing.read);
                if !self.config.timing.transfer.is_zero() {
                    self.request_channel(now, die);
                } else if kind == OpKind::Read {
                    self.end_read(now, die);
                } else {
                    self.end_inner_read(now, die, kind);
                }
            }
            (OpKind::Program | OpKind::Flush, Step::Transfer) => {
                self.release_channel(now, die);
                self.dies[die as usize].state = State::Serving(Step::Program);
                self.deadlines.set(die as usize, now + self.config.timing.program);
            }
            (kind, Step::Transfer) => {
                let transfer = self.config.timing.transfer;
                self.dies[die as usize].delays.add(Cause::Transfer, transfer);
                self.release_channel(now, die);
                if kind == OpKind::Read {
                    self.end_read(now, die);
                } else {
                    self.end_inner_read(now, die, kind);
                }
            }
            (OpKind::Flush, _) if self.rain.is_some() => self.end_stripe_program(now, die),
            (OpKind::Flush, _) => self.end_flush(now, die),
            (_, _) => self.end_program(now, die),
        }
    }

    /// A page that the drive needs itself has left its die.
    fn end_inner_read(&mut self, now: Instant, die: u32, kind: OpKind) {
        match kind {
            OpKind::RebuildRead => self.end_rebuild_read(now, die),
            _ => self.end_flush_read(now, die),
        }
    }

    fn end_read(&mut self, now: Instant, die: u32) {
        let target = &self.dies[die as usize];
        let (delays, op) = (target.delays, target.op);
        let Op { owner, block, logical, flash: rebuild, .. } = *self.ops.get(op);
        self.ops.release(op);
        self.counters.host_reads_pages += 1;
        let id = self.commands.get(owner).id;
        if rebuild != NO_REBUILD {
            self.add_to_rebuild(now, rebuild, logical, delays);
        }
        if let Some(command) = self.end_page(owner) {
            self.send_data(now, succeeded(&command, delays), command.blocks);
        }
        if let Some(media) = &mut self.media {
            // Collection may have moved the page while the read waited, so look it up now.
            let page = self.ftl.mapped(logical);
            media.push(Media::Sensed { command: id, block, page });
        }
        self.dispatch(now, die);
    }

    /// One page of a command is done. Returns the command if it was the last.
    #[inline]
    pub(crate) fn end_page(&mut self, command: u32) -> Option<InFlight> {
        let in_flight = self.commands.get_mut(command);
        in_flight.remaining -= 1;
        if in_flight.remaining > 0 {
            return None;
        }
        let done = in_flight.clone();
        self.commands.release(command);
        Some(done)
    }

    pub(crate) fn send_data(&mut self, now: Instant, mut completion: Completion, blocks: u32) {
        match self.link_time(blocks) {
            None => self.completed.push_back(Completed { at: now, completion }),
            Some(crossing) => {
                self.leaving_until = self.leaving_until.max(now) + crossing;
                completion.delays.add(Cause::Transfer, self.leaving_until.since(now));
                self.leaving.push_back(Completed { at: self.leaving_until, completion });
            }
        }
    }

    fn end_program(&mut self, now: Instant, die: u32) {
        let op = self.dies[die as usize].op;
        let Op { owner, block, logical, flash, .. } = *self.ops.get(op);
        self.ops.release(op);
        self.ftl.commit_write(logical, flash);
        self.counters.host_programs_pages += 1;
        let id = self.commands.get(owner).id;
        if let Some(media) = &mut self.media {
            media.push(Media::Programmed { command: id, block, page: flash });
        }
        if let Some(command) = self.end_page(owner) {
            let completion = succeeded(&command, command.before_flash);
            self.completed.push_back(Completed { at: now, completion });
        }
        self.dispatch(now, die);
        // An overwrite may have made the first page invalid that a collection can reclaim.
        if !self.stalled.is_empty() && self.collections.is_empty() {
            self.relieve(now);
        }
    }
}

pub(crate) fn succeeded(command: &InFlight, delays: Delays) -> Completion {
    Completion {
        id: command.id,
        status: Status::Success,
        busy_remaining: Duration::ZERO,
        met_collection: command.met_collection,
        held_up: command.held_up,
        delays,
    }
}
