//! Commands in flight, and the machines that decide about them: policy, permits, timers, cache.

use crate::action::{Action, DataAction};
use crate::backlog::{Backlogs, Kind};
use crate::commands::{CommandRecord, Commands, Purpose, ReadFlag};
use crate::coordinate::Notice;
use crate::counters::Counters;
use crate::event::{Event, Why};
use crate::learnt::Memory;
use crate::members::MemberSet;
use crate::outbox::Outbox;
use crate::permits::Permits;
use crate::policy::{Rules, Tally};
use crate::timers::Timers;
use crate::trust::{ReadAnswer, Trust, Verdict};
use crate::write_cache::{Drain, WriteCache};
use alloc::boxed::Box;
use alloc::vec::Vec;
use nvme::{CommandId, Opcode, PlFlag, Status};
use units::{DriveId, Duration, Instant, Lba, Observe};

/// The policy, the permits, and the commands in flight.
pub(super) struct Sending<O: Observe> {
    pub(super) rules: Rules,
    pub(super) permits: Permits,
    pub(super) commands: Commands,
    pub(super) timers: Timers,
    /// The write cache in front of the drives, if the policy has one.
    pub(super) cache: Option<Box<WriteCache>>,
    /// Commands that wait at the host for their drives, if the policy has any wait.
    pub(super) backlogs: Option<Box<Backlogs>>,
    /// Knowledge of the last policy that learnt anything.
    memory: Memory,
    pub(super) counters: Counters,
    pub(super) out: Outbox<O>,
}

impl<O: Observe> Sending<O> {
    /// Sending without commands in flight. `drives`: the number of drives, and the bytes of a page.
    pub(super) fn new(
        rules: Rules,
        permits: Permits,
        drives: (u32, u64),
        data_actions: bool,
    ) -> Self {
        let (width, _) = drives;
        let (cache, backlogs) = Self::waiting_places(&rules, drives);
        Self {
            rules,
            permits,
            commands: Commands::new(width),
            timers: Timers::new(),
            cache,
            backlogs,
            memory: Memory::default(),
            counters: Counters::new(width as usize),
            out: Outbox::new(data_actions),
        }
    }

    /// Changes the policy, with no command in flight.
    pub(super) fn set_rules(&mut self, rules: Rules, drives: (u32, u64)) {
        (self.cache, self.backlogs) = Self::waiting_places(&rules, drives);
        if let Some(memory) = self.rules.view().memory() {
            self.memory = memory;
        }
        self.rules = rules;
        self.rules.policy().remember(&self.memory);
        self.timers.forget_late();
    }

    /// Knowledge that policies have learnt.
    pub(super) fn memory(&self) -> Memory {
        self.rules.view().memory().unwrap_or_else(|| self.memory.clone())
    }

    /// Gives the policy, and those after it, knowledge learnt before.
    pub(super) fn remember(&mut self, memory: Memory) {
        self.memory = memory;
        self.rules.policy().remember(&self.memory);
    }

    /// Counters of the policy.
    pub(super) fn tallies(&self) -> Vec<Tally> {
        let mut tallies = self.rules.view().tallies();
        tallies.extend(self.rules.trust().into_iter().flat_map(Trust::tallies));
        if let Some(backlogs) = &self.backlogs {
            tallies.push(Tally::new("commands that waited at the host", backlogs.waited()));
        }
        tallies
    }

    /// The write cache and the backlogs for these rules, empty; `None` if the policy has none.
    fn waiting_places(
        rules: &Rules,
        (width, page_bytes): (u32, u64),
    ) -> (Option<Box<WriteCache>>, Option<Box<Backlogs>>) {
        let (cache, most_blocks) = (rules.view().write_cache(), rules.view().most_in_flight());
        (
            cache.map(|cache| Box::new(WriteCache::new(cache, width, page_bytes))),
            most_blocks.map(|most_blocks| Box::new(Backlogs::new(width, most_blocks))),
        )
    }

    /// Whether a command has to wait until its drive has fewer blocks in flight.
    #[inline]
    pub(super) fn waits_at_host(
        &mut self,
        now: Instant,
        id: CommandId,
        record: &CommandRecord,
        (pl, why): (PlFlag, Why),
    ) -> bool {
        let Some(backlogs) = &mut self.backlogs else { return false };
        let kind = match (record.opcode, pl, why) {
            (Opcode::Write, ..) => Kind::Write,
            (Opcode::Read, PlFlag::Off | PlFlag::Patient, Why::Parity) => Kind::ParityRead,
            _ => return false,
        };
        let waits = backlogs.holds(record.drive, kind, id, record.blocks);
        if let (true, &Purpose::Member { op, member, .. }) = (waits, &record.purpose) {
            self.commands.keep_flag(id, pl);
            let (drive, opcode) = (record.drive, record.opcode);
            self.out.emit_event(now, || Event::WaitsAtHost {
                command: id,
                op,
                drive,
                opcode,
                ahead_blocks: backlogs.waiting_blocks(drive, kind) - record.blocks,
            });
            if kind == Kind::Write {
                let command = record.command(id, pl);
                self.out.emit_data(|| DataAction::Prepare { op, member, drive, command });
            }
        }
        waits
    }

    /// Sends a command that has waited at the host.
    fn send_waiting(&mut self, now: Instant, id: CommandId) {
        let record = self.commands.sent_at(id, now);
        self.out.emit_event(now, || Event::LeftHost { command: id });
        self.send(now, id, &record, record.flag.pl);
    }

    /// Sends all writes that wait at the host. Returns whether there are any.
    pub(super) fn send_all_writes(&mut self, now: Instant) -> bool {
        let Some(backlogs) = &mut self.backlogs else { return false };
        let going = backlogs.let_writes_go();
        for &id in &going {
            self.send_waiting(now, id);
        }
        !going.is_empty()
    }

    /// Notes that a drive has answered a command, and sends commands that waited for it.
    #[inline]
    pub(super) fn follow_backlog(
        &mut self,
        now: Instant,
        answered: CommandId,
        record: &CommandRecord,
    ) {
        let Some(backlogs) = &mut self.backlogs else { return };
        let CommandRecord { drive, opcode, blocks, sent, .. } = *record;
        let kind = backlogs.answered(drive, answered, opcode, blocks, now.since(sent));
        let Some(kind) = kind else { return };
        while let Some(id) = self.backlogs.as_mut().and_then(|backlogs| backlogs.next(drive, kind))
        {
            self.send_waiting(now, id);
        }
    }

    /// Sends the drives the notices of the coordination.
    pub(super) fn emit_notices(&mut self, now: Instant) {
        while let Some(notice) = self.permits.poll_notice() {
            match notice {
                Notice::Permit { drive, right } => {
                    self.out.emit_event(now, || Event::Permitted { drive, right });
                    self.out.emit(Action::Permit { drive, right });
                }
                Notice::AskStatus { drive } => self.out.emit(Action::AskStatus { drive }),
            }
        }
    }

    /// Answers status requests of the coordination for absent drives.
    pub(super) fn answer_for_absent(&mut self, now: Instant, absent: MemberSet) {
        if absent.is_empty() {
            return;
        }
        let mut asked = MemberSet::EMPTY;
        self.out.retract(|action| match action {
            Action::AskStatus { drive } if absent.contains(drive.0) => {
                asked.insert(drive.0);
                true
            }
            _ => false,
        });
        for drive in asked {
            self.permits.answer_for_absent(now, DriveId(drive));
            self.emit_notices(now);
        }
    }

    /// Updates the time at which the array wants to be called.
    pub(super) fn refresh_deadline(&mut self) {
        let cache = self.cache.as_ref().map_or(Instant::NEVER, |cache| cache.next_deadline());
        let others = self.permits.next_deadline().min(self.rules.next_deadline()).min(cache);
        self.timers.refresh(others);
    }

    /// As [`Sending::refresh_deadline`], after an input that changes only the deadlines of the
    /// policy and of the write cache. All other deadlines are noted where they arise.
    #[inline]
    pub(super) fn end_input(&mut self) {
        if self.cache.is_some() || self.rules.has_deadline() {
            self.refresh_deadline();
        }
    }

    #[inline]
    pub(super) fn tell_dispatched(
        &mut self,
        now: Instant,
        command: CommandId,
        record: &CommandRecord,
        pl: PlFlag,
        why: Why,
    ) {
        let CommandRecord { purpose, drive, opcode, lba, blocks, .. } = *record;
        self.out.emit_event(now, || {
            let target = match purpose {
                Purpose::Member { op, member, .. } => Some((op, member)),
                Purpose::Drain => None,
            };
            Event::Dispatched { command, target, drive, opcode, lba, blocks, pl, why }
        });
    }

    /// Sends a command to its drive.
    #[inline(always)]
    pub(super) fn send(&mut self, now: Instant, id: CommandId, record: &CommandRecord, pl: PlFlag) {
        let CommandRecord { purpose, drive, opcode, blocks, .. } = *record;
        match opcode {
            Opcode::Read => self.counters.drive_read_pages += u64::from(blocks),
            Opcode::Write => self.counters.drive_written_pages += u64::from(blocks),
            Opcode::Deallocate => {}
        }
        if let Some(trust) = self.rules.trust_mut().filter(|_| opcode == Opcode::Read) {
            let flag = self.commands.note_flag(id, pl);
            trust.sent(now, drive, flag, blocks);
        }
        self.commands.sent_to_drive(record);
        if opcode != Opcode::Deallocate {
            self.rules.sent(now, || record.as_sent());
        }
        let command = record.command(id, pl);
        match purpose {
            Purpose::Member { op, member, .. } => self.out.submit(drive, command, op, member),
            Purpose::Drain => self.out.emit(Action::SubmitCached { drive, command }),
        }
        if opcode == Opcode::Read && self.cache.is_some() {
            self.emit_cached_rows(id, record);
        }
    }

    /// Emits the rows of a read that come from the write cache, as it is now.
    pub(super) fn emit_cached_rows(&mut self, command: CommandId, record: &CommandRecord) {
        let Some(cache) = &self.cache else { return };
        if !self.out.has_data_actions() {
            return;
        }
        let CommandRecord { drive, lba, blocks, .. } = *record;
        let rows = cache.rows(drive, lba, blocks);
        if !rows.is_empty() {
            self.out.emit_data(|| DataAction::ReadCache { command, drive, lba, blocks, rows });
        }
    }

    /// Notes that the write cache has taken a write.
    pub(super) fn write_cached(&mut self, now: Instant, id: CommandId) {
        self.cache_changed(now);
        let CommandRecord { purpose, drive, lba, .. } = *self.commands.get(id);
        if let Purpose::Member { op, member, .. } = purpose {
            self.out.emit_data(|| DataAction::Cache { op, member, drive, lba });
        }
    }

    pub(super) fn cache_changed(&mut self, now: Instant) {
        let held_pages = self.cached_pages();
        self.rules.policy().write_cache_changed(now, held_pages);
    }

    /// Drains the write cache to every drive that may be drained.
    pub(super) fn drain_cache(&mut self, now: Instant) {
        let Some(cache) = &mut self.cache else { return };
        cache.begin_draining();
        for drive in (0..self.commands.queues().all().len() as u8).map(DriveId) {
            while let Some(cache) = &mut self.cache
                && cache.may_drain(drive)
            {
                let view = self.permits.view(&self.commands, 1 << drive.0);
                let from = match cache.is_closed() {
                    true => now,
                    false => self.rules.policy().may_drain_from(now, drive, &view),
                };
                if from > now {
                    cache.drain_from(from);
                    break;
                }
                let Some(Drain { lba, blocks }) = cache.begin_drain(drive) else { break };
                let (purpose, opcode) = (Purpose::Drain, Opcode::Write);
                let (sent, flag) = (now, ReadFlag::NONE);
                let record = CommandRecord { purpose, drive, opcode, lba, blocks, sent, flag };
                let id = self.commands.insert(record);
                self.tell_dispatched(now, id, &record, PlFlag::Off, Why::Drain);
                self.send(now, id, &record, PlFlag::Off);
            }
        }
    }

    /// Ends a drain.
    pub(super) fn end_drain(&mut self, now: Instant, record: &CommandRecord) {
        let CommandRecord { drive, lba, blocks, .. } = *record;
        let Some(cache) = &mut self.cache else { return };
        let left = cache.end_drain(drive, Drain { lba, blocks });
        self.leave_cache(now, drive, left);
        // Large writes that waited until their pages were drained.
        let ready = self.cache.as_mut().map_or(Vec::new(), |cache| cache.take_behind_drains());
        for id in ready {
            let record = *self.commands.get(id);
            self.send(now, id, &record, PlFlag::Off);
        }
        self.drain_cache(now);
    }

    /// Ends a write past the write cache: removes the pages that it replaces.
    #[inline]
    pub(super) fn end_bypass(&mut self, now: Instant, record: &CommandRecord) {
        if self.cache.is_some() {
            self.end_bypass_of_cache(now, record);
        }
    }

    pub(super) fn end_bypass_of_cache(&mut self, now: Instant, record: &CommandRecord) {
        let Some(cache) = &mut self.cache else { return };
        let left = cache.end_bypass(record.drive, record.lba, record.blocks);
        if !left.is_empty() {
            self.leave_cache(now, record.drive, left);
        }
        self.drain_cache(now);
    }

    /// Notes that pages have left the write cache, and takes in writes that wait for room.
    pub(super) fn leave_cache(&mut self, now: Instant, drive: DriveId, left: Vec<Lba>) {
        self.cache_changed(now);
        self.out.emit_data(|| DataAction::Uncache { drive, pages: left });
        self.make_room_in_cache(now);
    }

    /// Takes in writes that wait for room, as far as there is room.
    pub(super) fn make_room_in_cache(&mut self, now: Instant) {
        while let Some(id) = self.cache.as_mut().and_then(|cache| cache.take_waiting(now)) {
            self.write_cached(now, id);
        }
    }

    /// Pages that the write cache holds.
    #[must_use]
    pub(super) fn cached_pages(&self) -> u64 {
        self.cache.as_ref().map_or(0, |cache| cache.held_pages())
    }

    /// Judges a drive by its answer to a read. Returns whether the array has begun, or ceased, to
    /// distrust a drive.
    #[inline]
    pub(super) fn judge(
        &mut self,
        now: Instant,
        record: &CommandRecord,
        status: Status,
        latency: Duration,
    ) -> bool {
        let Some(trust) = self.rules.trust_mut() else { return false };
        let CommandRecord { drive, blocks, flag, .. } = *record;
        trust.answered(now, &ReadAnswer { drive, blocks, flag, status, latency });
        trust.has_verdicts()
    }

    /// Reports which drives the array has begun, or ceased, to distrust; `incomplete` drives lack
    /// data.
    #[cold]
    pub(super) fn tell_verdicts(&mut self, now: Instant, incomplete: MemberSet, parities: u32) {
        let verdicts = self.rules.trust_mut().map_or(Vec::new(), Trust::take_verdicts);
        self.note_missing(now, incomplete, parities);
        for Verdict { drive, distrusted } in verdicts {
            self.out.emit_event(now, || match distrusted {
                true => Event::DriveDistrusted { drive },
                false => Event::DriveTrusted { drive },
            });
        }
    }

    /// Updates the drives that count as missing: a drive has failed or is distrusted, or a rebuild
    /// has ended. Fewer or more of the others may be busy at once then. A distrusted drive counts
    /// while a parity is left for the windows. With none left it can still be waited for, so it
    /// counts only where drives need no turns, because they give way to reads.
    pub(super) fn note_missing(&mut self, now: Instant, incomplete: MemberSet, parities: u32) {
        let with_distrusted = incomplete | self.rules.distrusted();
        let spare = if self.permits.can_do_without_turns() { 0 } else { 1 };
        let missing = match with_distrusted.len() + spare <= parities {
            true => with_distrusted,
            false => incomplete,
        };
        if self.permits.set_missing(now, missing) {
            self.emit_notices(now);
            self.refresh_deadline();
        }
    }
}
