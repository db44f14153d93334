//! What the stage means for commands: writes wait in it for their drive, reads find what waits.
//!
//! A stage is in front of the drives, behind parity. Two rules keep reads and drives right:
//!
//! * A read takes what is staged when it is sent, whatever is drained until it is answered; what was
//!   not staged then is on the drive, or is being written, and a read beside a write may return
//!   either.
//! * Of one page only one write is at a drive at a time. Writes of the host take turns on a stripe
//!   anyway; what remains is a drain against the write that follows it.

use crate::action::{Action, DataAction, OpId};
use crate::engine::Array;
use crate::op::{OpKind, SubIo};
use crate::placement::Place;
use crate::policy::{Sent, View};
use nvme::{Blocked, Cause, Command, CommandId, Completion, Delays, Opcode, PlFlag, Status};
use units::{DriveId, Duration, Instant, Lba};

/// The stripe operation of a drain: none.
const NO_OPERATION: u32 = u32::MAX;

impl Array {
    /// Whether all rows of `op` on `member` are staged, so that no drive is needed to read them.
    pub(crate) fn is_staged(&self, op: u32, member: u8) -> bool {
        let Some(stage) = &self.stage else { return false };
        let target = self.ops.get(op);
        let Place { drive, block } =
            self.placement.locate(&self.layout, target.stripe, target.first_row, member);
        stage.rows(drive, block, target.rows).len() as u32 == target.rows
    }

    /// Lets the stage have a command before its drive does. Returns whether it needs no drive, or not
    /// now.
    pub(crate) fn stage_command(&mut self, now: Instant, slot: u32, command: &Sent) -> bool {
        let is_host_deallocation = command.opcode == Opcode::Deallocate
            && self.ops.get(self.sub_ios.get(slot).op).kind == OpKind::Deallocate;
        let Some(stage) = &mut self.stage else { return false };
        let Sent { drive, opcode, lba, blocks } = *command;
        match opcode {
            Opcode::Read => {
                let rows = stage.rows(drive, lba, blocks).len() as u32;
                if rows < blocks {
                    return false;
                }
                stage.counters.read_pages += u64::from(rows);
                stage.reads.push_back((now + stage.config.read_latency, slot));
                self.say_staged(slot, command);
                true
            }
            // A block that a chunk has left: nothing of it is staged.
            Opcode::Deallocate if !is_host_deallocation => false,
            // Deallocating replaces what is staged, as a write does that is too large for it.
            Opcode::Write | Opcode::Deallocate
                if opcode == Opcode::Deallocate || !stage.takes(blocks) =>
            {
                stage.supersede(drive, lba, blocks);
                let waits = stage.is_draining(drive, lba, blocks);
                if waits {
                    stage.behind_drains.push(slot);
                }
                waits
            }
            Opcode::Write | Opcode::Deallocate => {
                if stage.waiting.is_empty() && stage.has_room(drive, lba, blocks) {
                    self.put(now, slot, command);
                    self.drain(now);
                } else {
                    stage.counters.waits += 1;
                    stage.waiting.push_back(slot);
                }
                true
            }
        }
    }

    /// Tells which rows of a read come from the stage, as it is now.
    pub(crate) fn say_staged(&mut self, slot: u32, command: &Sent) {
        let Some(stage) = &self.stage else { return };
        let Sent { drive, lba, blocks, .. } = *command;
        if self.data_actions {
            let rows = stage.rows(drive, lba, blocks);
            if !rows.is_empty() {
                let command = CommandId(slot);
                self.data(DataAction::ReadStage { command, drive, lba, blocks, rows });
            }
        }
    }

    /// Stages a write for which there is room.
    fn put(&mut self, now: Instant, slot: u32, command: &Sent) {
        let Some(stage) = &mut self.stage else { return };
        let Sent { drive, lba, blocks, .. } = *command;
        stage.put(drive, lba, blocks);
        stage.writes.push_back((now + stage.config.write_latency, slot));
        self.policy.stage_changed(now, stage.held_pages());
        if self.data_actions {
            let SubIo { op, member, .. } = *self.sub_ios.get(slot);
            self.data(DataAction::Stage { op: OpId(op), member, drive, lba });
        }
    }

    /// Answers what the stage has had for long enough, and looks whether drives may be drained.
    pub(crate) fn handle_stage_deadline(&mut self, now: Instant) {
        loop {
            let Some(stage) = &mut self.stage else { return };
            let due = |queue: &alloc::collections::VecDeque<(Instant, u32)>| {
                queue.front().is_some_and(|&(due, _)| due <= now)
            };
            let (answer, latency) = if due(&stage.writes) {
                (stage.writes.pop_front(), stage.config.write_latency)
            } else if due(&stage.reads) {
                (stage.reads.pop_front(), stage.config.read_latency)
            } else {
                break;
            };
            if let Some((due, slot)) = answer {
                self.answer_from_stage(due, slot, latency);
            }
        }
        self.drain(now);
    }

    fn answer_from_stage(&mut self, now: Instant, slot: u32, latency: Duration) {
        let sub_io = *self.sub_ios.get(slot);
        self.sub_ios.release(slot);
        let mut delays = Delays::ZERO;
        delays.add(Cause::Transfer, latency);
        let completion = Completion {
            id: CommandId(slot),
            status: Status::Success,
            busy_remaining: Duration::ZERO,
            met_collection: false,
            held_up: false,
            delays,
        };
        debug_assert_eq!(completion.blocked(), Blocked::No);
        self.take_answer(now, &sub_io, &completion);
    }

    /// Sends what waits to every drive that may be drained.
    pub(crate) fn drain(&mut self, now: Instant) {
        let Some(stage) = &mut self.stage else { return };
        stage.look_again = Instant::NEVER;
        for drive in (0..self.layout.width()).map(|drive| DriveId(drive as u8)) {
            while let Some(stage) = &mut self.stage
                && stage.may_drain(drive)
            {
                let stripe = 1 << drive.0;
                let view = View { coordinator: &self.coordinator, queues: &self.queues, stripe };
                let from = match stage.is_closed() {
                    true => now,
                    false => self.policy.drains_from(now, drive, &view),
                };
                if from > now {
                    stage.look_again = stage.look_again.min(from);
                    break;
                }
                let Some((lba, blocks)) = stage.begin_drain(drive) else { break };
                self.send_drain(now, drive, lba, blocks);
            }
        }
    }

    fn send_drain(&mut self, now: Instant, drive: DriveId, lba: Lba, blocks: u32) {
        let sub_io = SubIo {
            op: NO_OPERATION,
            member: drive.0,
            opcode: Opcode::Write,
            place: Place { drive, block: lba },
            for_rebuild: false,
            round: 0,
            sent: now,
        };
        let slot = self.sub_ios.insert(sub_io);
        if let Some(stage) = &mut self.stage {
            stage.drains.push((slot, drive, lba, blocks));
        }
        self.counters.drive_written_pages += u64::from(blocks);
        self.queues.add(drive, Opcode::Write, blocks);
        self.policy.sent(now, &Sent { drive, opcode: Opcode::Write, lba, blocks });
        let id = CommandId(slot);
        let command = Command { id, opcode: Opcode::Write, lba, blocks, pl: PlFlag::Off };
        self.actions.push_back(Action::SubmitStaged { drive, command });
    }

    /// The pages of a drain, if this answer is of one; it is over then.
    pub(crate) fn take_drain(&mut self, slot: u32) -> Option<Sent> {
        let drains = &mut self.stage.as_mut()?.drains;
        let at = drains.iter().position(|&(drain, ..)| drain == slot)?;
        let (_, drive, lba, blocks) = drains.swap_remove(at);
        Some(Sent { drive, opcode: Opcode::Write, lba, blocks })
    }

    /// A drain is done.
    pub(crate) fn end_drain(&mut self, now: Instant, drained: &Sent) {
        let Some(stage) = &mut self.stage else { return };
        let left = stage.end_drain(drained.drive, drained.lba, drained.blocks);
        self.leave_stage(now, drained.drive, left);
        self.send_behind_drains(now);
        self.drain(now);
    }

    /// A drive has done a write that went past the stage: what it replaces leaves.
    pub(crate) fn end_bypass(&mut self, now: Instant, written: &Sent) {
        let Some(stage) = &mut self.stage else { return };
        let left = stage.end_supersede(written.drive, written.lba, written.blocks);
        if !left.is_empty() {
            self.leave_stage(now, written.drive, left);
        }
        self.drain(now);
    }

    /// Pages have left the stage.
    fn leave_stage(&mut self, now: Instant, drive: DriveId, left: alloc::vec::Vec<Lba>) {
        let Some(stage) = &self.stage else { return };
        self.policy.stage_changed(now, stage.held_pages());
        if self.data_actions {
            self.data(DataAction::Unstage { drive, pages: left });
        }
        self.make_room_in_stage(now);
    }

    /// Takes in writes that wait for room, as far as there is some.
    pub(crate) fn make_room_in_stage(&mut self, now: Instant) {
        while let Some(&slot) = self.stage.as_ref().and_then(|stage| stage.waiting.front()) {
            let command = self.command_of(self.sub_ios.get(slot));
            let Some(stage) = &mut self.stage else { return };
            if !stage.has_room(command.drive, command.lba, command.blocks) {
                return;
            }
            stage.waiting.pop_front();
            self.put(now, slot, &command);
        }
    }

    /// Sends large writes that waited until their pages were drained.
    fn send_behind_drains(&mut self, now: Instant) {
        let Some(stage) = &mut self.stage else { return };
        for slot in core::mem::take(&mut stage.behind_drains) {
            let command = self.command_of(self.sub_ios.get(slot));
            let Some(stage) = &mut self.stage else { return };
            if stage.is_draining(command.drive, command.lba, command.blocks) {
                stage.behind_drains.push(slot);
            } else {
                self.send(now, slot, &command, PlFlag::Off);
            }
        }
    }
}
