//! Doing what the array says: commands to drives, bytes from slot to slot, answers to clients.

use super::Engine;
use super::bytes::Purpose;
use super::commands::Outstanding;
use super::model::Model;
use crate::storage::Work;
use array::{Action, DataAction, OpId};
use nvme::{Command, CommandId, Completion, Opcode};
use units::{DriveId, Instant};

impl Engine {
    /// Does everything that the array wants done at `now`, and hands it what is answered at once.
    pub(super) fn settle(&mut self, now: Instant) {
        self.act(now);
        loop {
            if let Some(completion) = self.ready.pop_front() {
                self.answer(now, &completion);
                continue;
            }
            let Some(drive) = self.touched.pop() else { break };
            self.is_touched[drive] = false;
            self.collect_answers(now, drive);
        }
        let drives = self.models.len();
        self.sources.set(drives, self.array.next_deadline());
    }

    /// Hands the array the answer to a command. The array may use the command's number again at
    /// once, but what it keeps of the data it says first.
    fn answer(&mut self, now: Instant, completion: &Completion) {
        self.answered_command = self.commands.take(completion.id);
        if let Some(transfer) = self.answered_command.as_ref().and_then(|out| out.transfer) {
            self.transfers.get_mut(transfer).purpose = Purpose::Nobody;
        }
        self.array.handle_completion(now, completion);
        self.act(now);
        if let Some(buffer) = self.answered_command.take().and_then(|out| out.buffer) {
            self.operations.pool.give(buffer);
        }
    }

    fn act(&mut self, now: Instant) {
        while let Some(action) = self.array.poll_action() {
            match action {
                Action::Submit { drive, command, op, member } => {
                    self.submit(now, drive, &command, Some((op, member)));
                }
                Action::SubmitStaged { drive, command } => self.submit(now, drive, &command, None),
                Action::Permit { drive, right } => {
                    self.models[drive.index()].set_right(now, right);
                    self.touch(drive.index());
                }
                Action::AskStatus { drive } => {
                    let status = self.models[drive.index()].status();
                    self.array.handle_status(now, drive, &status);
                }
                Action::Data(action) => self.move_data(action),
                Action::Complete(outcome) => self.complete(&outcome),
                Action::DriveFailed { drive } => self.note_failure(drive),
                Action::Restored { drive } => self.note_restored(drive),
                Action::NotRestored { drive, stripes } => self.note_not_restored(drive, stripes),
                Action::Scrubbed { skipped } => self.note_scrubbed(skipped),
            }
        }
        self.write_records();
    }

    pub(super) fn touch(&mut self, drive: usize) {
        if !self.is_touched[drive] {
            self.is_touched[drive] = true;
            self.touched.push(drive);
        }
    }

    fn submit(
        &mut self,
        now: Instant,
        drive: DriveId,
        command: &Command,
        target: Option<(OpId, u8)>,
    ) {
        let position = drive.index();
        let emulated = self.models[position].is_emulated();
        self.commands.insert(Outstanding {
            drive,
            command: *command,
            sent: now,
            model_waits: emulated,
            transfer: None,
            failed: false,
            answered: false,
            answer: None,
            buffer: None,
        });
        let transfer = self.begin_transfer(drive, command, target);
        if let Some(outstanding) = self.commands.get_mut(command.id) {
            outstanding.transfer = transfer;
        }
        if emulated {
            self.models[position].handle_command(now, command);
            self.touch(position);
        } else if transfer.is_none() {
            self.join(now, command.id);
        }
    }

    /// Has the storage do what the command says; none if it was done at once, or is done when the
    /// data is wanted.
    fn begin_transfer(
        &mut self,
        drive: DriveId,
        command: &Command,
        target: Option<(OpId, u8)>,
    ) -> Option<u32> {
        let offset_bytes = self.offset_bytes(command.lba);
        let length_bytes = (u64::from(command.blocks) * self.page_bytes) as usize;
        let purpose = Purpose::Command(command.id);
        match (command.opcode, target) {
            // Memory is read when the model has answered, straight into its slot.
            (Opcode::Read, _) if self.storage.memory(drive).is_some() => None,
            (Opcode::Read, _) => {
                let buffer = self.operations.pool.take(length_bytes);
                let work = Work::Read { offset_bytes, length_bytes, buffer };
                Some(self.transfer(drive, work, purpose))
            }
            (Opcode::Write, None) => self.drain(drive, command),
            (Opcode::Write, Some((op, member))) => {
                self.store(drive, offset_bytes, op, member, purpose)
            }
            (Opcode::Deallocate, Some((op, _))) => {
                self.discard(drive, offset_bytes, length_bytes as u64, op, purpose)
            }
            (Opcode::Deallocate, None) => unreachable!("the stage drains writes only"),
        }
    }

    /// Takes what an emulated drive has answered.
    fn collect_answers(&mut self, now: Instant, drive: usize) {
        if let Model::Emulated(ssd) = &mut self.models[drive] {
            let mut answered = std::mem::take(&mut self.answered);
            while let Some(completed) = ssd.poll_completion() {
                answered.push(completed);
            }
            self.sources.set(drive, ssd.next_deadline());
            for completed in answered.drain(..) {
                // Not the array's present, which is the moment when the answer was due.
                let actual = self.clock.now();
                let late = actual.since(completed.at.min(actual));
                self.measures.lateness.record(late.as_nanos());
                let id = completed.completion.id;
                if let Some(outstanding) = self.commands.get_mut(id) {
                    outstanding.model_waits = false;
                    outstanding.answer = Some(completed.completion);
                    self.join(now, id);
                }
            }
            self.answered = answered;
        }
        if !self.reports.is_empty() {
            let report = self.models[drive].report();
            if report != self.reports[drive] {
                self.reports[drive] = report;
                self.array.handle_report(now, DriveId(drive as u8), &report);
            }
        }
    }

    /// Completes a command if nothing is missing any more.
    pub(super) fn join(&mut self, now: Instant, id: CommandId) {
        if let Some(completion) = self.commands.get_mut(id).and_then(|out| out.completion(now)) {
            self.ready.push_back(completion);
        }
    }

    fn move_data(&mut self, action: DataAction) {
        match action {
            DataAction::Open { op, request, rows } => {
                self.operations.open(op, request.map_or(u64::MAX, |request| request.0), rows);
            }
            DataAction::Keep { op, command, member } => self.keep(op, command, member),
            DataAction::Combine { op, target, terms } => {
                self.operations.combine(op, target, &terms)
            }
            DataAction::Check { op, target, terms } => {
                if !self.operations.check(op, target, &terms) {
                    self.scrub_mismatches += 1;
                }
            }
            DataAction::Merge { op, member, first_page } => {
                let request = self.operations.request_of(op) as u32;
                let pending = self.requests.get(request);
                self.operations.merge(op, member, first_page, pending);
            }
            DataAction::Share { from, to, member, first_row } => {
                self.operations.share(from, to, member, first_row);
            }
            DataAction::Deliver { op, member, first_page } => {
                let request = self.operations.request_of(op) as u32;
                let pending = self.requests.get_mut(request);
                self.operations.deliver(op, member, first_page, pending);
            }
            DataAction::Stage { op, member, drive, lba } => self.stage(op, member, drive, lba),
            DataAction::ReadStage { command, drive, lba, rows, .. } => {
                self.read_stage(command, drive, lba, &rows);
            }
            DataAction::Unstage { drive, pages } => self.unstage(drive, &pages),
            DataAction::Close { op } => self.operations.close(op),
        }
    }
}
