//! The data plane of [`Bytes`]: data actions of the array, and calls of the engine.

use super::Bytes;
use super::commands::Outstanding;
use super::transfers::Purpose;
use super::verify::Verifier;
use crate::durability::Durability;
use crate::memory::Memory;
use crate::model::Ssd;
use crate::plane::{DataPlane, Target};
use crate::planted::Bug;
use alloc::vec::Vec;
use array::{DataAction, FailReason, OpId, Slot, Term};
use nvme::{Command, Completion, Opcode};
use units::{DriveId, Instant, Observe};

impl<M: Memory> DataPlane for Bytes<M> {
    const CARRIES_DATA: bool = true;

    fn submit(
        &mut self,
        now: Instant,
        drive: DriveId,
        command: &Command,
        target: Option<Target>,
        model_answers: bool,
    ) {
        self.now = now;
        self.pages.forget_cached_read(command.id);
        if let Some(waited) = self.waiting.take(command.id) {
            let out = Outstanding::new(drive, command, now, model_answers, waited.tag, Vec::new());
            self.commands.insert(out);
            return self.send_waiting(drive, command.id, waited);
        }
        let pages = command.lba.0..command.lba.0 + u64::from(command.blocks);
        let rows = match command.opcode {
            Opcode::Read => self.pages.accepted_rows(drive, pages),
            Opcode::Write | Opcode::Deallocate => Vec::new(),
        };
        let transfer = self.begin_transfer(drive, command, target);
        let outstanding = Outstanding::new(drive, command, now, model_answers, transfer, rows);
        self.commands.insert(outstanding);
        if self.transfers.get(transfer).purpose == Purpose::Cache {
            self.end_storage(command.id, false, None);
        }
    }

    fn data(&mut self, action: DataAction) {
        match action {
            DataAction::Open { op, request, rows } => self.pages.open(op, request, rows),
            DataAction::Keep { op, command, member } => {
                let brought = self.commands.take_delivered(command);
                self.pages.keep(op, command, member, brought);
            }
            DataAction::Combine { op, target, terms } => {
                let lacks = terms.len() > 2 && self.planted().has(Bug::ParityLacksTerm);
                self.pages.combine(op, target, &terms[usize::from(lacks)..]);
            }
            DataAction::Merge { op, member, first_page } => {
                let request = self.requests.get(self.pages.request_of(op));
                self.pages.merge(op, member, |old, new| request.merge(first_page, old, new));
            }
            DataAction::Share { from, to, member, mut first_row } => {
                if first_row != 0 && self.planted().has(Bug::SharedFromFirstRow) {
                    first_row = 0;
                }
                self.pages.share(from, to, member, first_row);
            }
            DataAction::Deliver { op, member, first_page } => {
                let request = self.requests.get_mut(self.pages.request_of(op));
                request.take(first_page, self.pages.old_rows(op, member));
            }
            DataAction::Cache { op, member, drive, lba } => {
                // The storage gets the pages at once too, because the cache is memory and would not
                // survive the process. The drive model gets them when the cache is drained.
                self.pages.cache_rows(op, member, drive, lba);
                let offset_bytes = self.pages.offset_bytes(lba);
                self.store(drive, offset_bytes, op, member, Purpose::Cache);
            }
            DataAction::ReadCache { command, drive, lba, rows, .. } => {
                // The number may have belonged to a command whose data was never kept.
                let unwanted = self.commands.take_delivered(command);
                self.pages.give(unwanted);
                self.pages.note_cached_read(command, drive, lba, &rows);
            }
            DataAction::Uncache { drive, pages } => {
                self.pages.uncache(drive, &pages);
            }
            DataAction::Prepare { .. } if self.planted().has(Bug::WaitingWriteUnprepared) => {}
            DataAction::Prepare { op, member, drive, command } => {
                let offset_bytes = self.pages.offset_bytes(command.lba);
                self.store(drive, offset_bytes, op, member, Purpose::Waiting(command.id));
            }
            DataAction::Force { op } => self.pages.force(op),
            DataAction::Close { op } => self.pages.close(op),
        }
    }

    fn check(&mut self, op: OpId, target: Slot, terms: &[Term]) -> bool {
        let fits = self.pages.check(op, target, terms);
        self.notices.note_compared(fits);
        fits
    }

    fn compare(&mut self, op: OpId, member: u8, with: u8) -> bool {
        self.pages.compare(op, member, with)
    }

    fn follow<O: Observe>(&mut self, _: DriveId, _: &mut Ssd<O>) {}

    fn join(&mut self, now: Instant, completion: &mut Completion) -> bool {
        let joined = self.commands.model_answered(now, completion);
        if let Some(joined) = joined {
            *completion = joined;
        }
        joined.is_some()
    }

    fn wants_all_writes(&self) -> bool {
        self.durability.as_ref().is_some_and(Durability::is_draining)
            && !self.planted().has(Bug::WaitingWritesKept)
    }

    fn advance(&mut self) {
        if let Some(durability) = &mut self.durability {
            durability.advance();
        }
        self.pass_gate();
        self.recover();
        self.serve_tables();
    }

    fn poll_completion(&mut self) -> Option<Completion> {
        self.commands.next_ready()
    }

    fn poll_failed_drive(&mut self) -> Option<(DriveId, FailReason)> {
        self.notices.next_failed_drive()
    }

    fn deliver(&mut self, completion: &Completion) {
        let (transfer, unwanted) = self.commands.deliver(completion.id);
        if let Some(transfer) = transfer {
            self.transfers.set_purpose(transfer, Purpose::Nobody);
        }
        self.pages.give(unwanted);
    }

    fn drive_failed(&mut self, now: Instant, drive: DriveId) -> bool {
        self.now = now;
        self.pages.forget_drive(drive);
        self.commands.give_up(now, drive);
        self.forget_waiting(drive);
        if let Some(durability) = &mut self.durability {
            durability.handle_drive_failed(now, drive);
        }
        self.forget_checks(drive);
        true
    }

    fn drive_rebuilt(&mut self, now: Instant, drive: DriveId) {
        if let Some(durability) = &mut self.durability {
            durability.handle_drive_rebuilt(now, drive);
        }
    }

    fn rebuilt_before(&mut self, now: Instant, drive: DriveId, stripe: u64) {
        if let Some(durability) = &mut self.durability {
            durability.handle_rebuilt_before(now, drive, stripe);
        }
    }

    fn parity_resynced(&mut self, now: Instant) {
        self.now = now;
        if !self.verifier.as_mut().is_none_or(Verifier::note_resynced) {
            return self.free_marks();
        }
        if let Some(durability) = &mut self.durability {
            durability.handle_parity_resynced(now);
        }
    }

    fn drive_returned(&mut self, drive: DriveId) {
        if let Some(verifier) = &mut self.verifier {
            verifier.drive_returned(drive);
        }
        if let Some(durability) = &mut self.durability {
            durability.handle_drive_returned(self.now, drive);
        }
    }

    fn drive_replaced(&mut self, drive: DriveId) {
        if let Some(verifier) = &mut self.verifier {
            verifier.drive_replaced(drive);
        }
        if let Some(durability) = &mut self.durability {
            durability.handle_drive_replaced(self.now, drive);
        }
    }
}
