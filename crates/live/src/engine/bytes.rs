//! Bytes between slots and storage, and through the stage.

use super::Engine;
use crate::buffer::Buffer;
use crate::storage::{Finished, Work};
use array::{OpId, Slot};
use nvme::{Command, CommandId};
use std::collections::HashMap;
use units::{DriveId, Instant, Lba};

/// For whom the storage does something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Purpose {
    /// A command of the array.
    Command(CommandId),
    /// A flush that clients wait for.
    Flush,
    /// A block of the write-intent record.
    Intent(u32),
    /// A record of the journal.
    Journal(u64),
    /// That the records of the journal count no longer.
    JournalEnd,
    /// A round after which records may be taken back.
    Tidy,
    /// Staged pages, written where they belong as soon as they are staged.
    Stage,
    /// Nobody any more: the command was failed fast, or its drive was given up.
    Nobody,
}

/// Something that the storage has yet to end.
#[derive(Debug)]
pub(super) struct Transfer {
    pub(super) purpose: Purpose,
    pub(super) drive: DriveId,
}

/// Pages in front of the drives, by drive and logical block: only where the storage is not memory.
pub(super) type Staged = HashMap<(u8, u64), Buffer>;

impl Engine {
    pub(super) fn offset_bytes(&self, lba: Lba) -> u64 {
        lba.0 * self.page_bytes
    }

    /// A number for something that the storage of `drive` will do.
    pub(super) fn book_transfer(&mut self, drive: DriveId, purpose: Purpose) -> u32 {
        self.stage_writes += u64::from(purpose == Purpose::Stage);
        self.transfers.insert(Transfer { purpose, drive })
    }

    /// Gives work to the storage of `drive`.
    pub(super) fn transfer(&mut self, drive: DriveId, work: Work, purpose: Purpose) -> u32 {
        let slot = self.book_transfer(drive, purpose);
        self.storage.submit(u64::from(slot), drive, work);
        slot
    }

    /// Writes the new rows of a member to its drive; none if that is done at once.
    pub(super) fn store(
        &mut self,
        drive: DriveId,
        offset_bytes: u64,
        op: OpId,
        member: u8,
        purpose: Purpose,
    ) -> Option<u32> {
        let slot = Slot { new: true, member };
        if let Some(memory) = self.storage.memory(drive) {
            memory.write(offset_bytes, self.operations.at(op, slot));
            return None;
        }
        let length_bytes = self.operations.slot_bytes(op);
        let mut buffer = self.operations.pool.take(length_bytes);
        buffer.bytes_mut()[..length_bytes].copy_from_slice(self.operations.at(op, slot));
        let work = Work::Write { offset_bytes, length_bytes, buffer };
        let range = (offset_bytes, length_bytes as u64);
        let serial = self.operations.serial_of(op);
        Some(self.change(drive, range, work, serial, purpose))
    }

    /// Makes the blocks zeros, and free where the storage can; none if that is done at once.
    pub(super) fn discard(
        &mut self,
        drive: DriveId,
        offset_bytes: u64,
        length_bytes: u64,
        op: OpId,
        purpose: Purpose,
    ) -> Option<u32> {
        if let Some(memory) = self.storage.memory(drive) {
            memory.discard(offset_bytes, length_bytes);
            return None;
        }
        let work = Work::Discard { offset_bytes, length_bytes };
        let serial = self.operations.serial_of(op);
        Some(self.change(drive, (offset_bytes, length_bytes), work, serial, purpose))
    }

    /// A read of the array was answered and its data is wanted.
    pub(super) fn keep(&mut self, op: OpId, command: CommandId, member: u8) {
        let length_bytes = self.operations.slot_bytes(op);
        let answered = self.answered_command.take_if(|out| out.command.id == command);
        let mut buffer = match answered {
            None => self.operations.blank(op),
            Some(out) => match (out.buffer, self.storage.memory(out.drive)) {
                (Some(buffer), _) => buffer,
                (None, Some(memory)) => {
                    let mut buffer = self.operations.blank(op);
                    let offset_bytes = out.command.lba.0 * self.page_bytes;
                    memory.read(offset_bytes, &mut buffer.bytes_mut()[..length_bytes]);
                    buffer
                }
                (None, None) => unreachable!("a read that succeeded has brought its data"),
            },
        };
        if let Some(rows) = self.from_stage.remove(&command) {
            let page_bytes = self.page_bytes as usize;
            for (row, page) in rows {
                let start = row as usize * page_bytes;
                buffer.bytes_mut()[start..start + page_bytes]
                    .copy_from_slice(&page.bytes()[..page_bytes]);
                self.operations.pool.give(page);
            }
        }
        self.operations.keep(op, Slot { new: false, member }, buffer);
    }

    /// The new rows of a member go into the stage, and at once to where they belong, because the
    /// stage is memory and would not survive the process. The emulated drive hears of them when the
    /// stage is drained.
    pub(super) fn stage(&mut self, op: OpId, member: u8, drive: DriveId, lba: Lba) {
        let page_bytes = self.page_bytes as usize;
        let offset_bytes = self.offset_bytes(lba);
        let rows = self.operations.slot_bytes(op) / page_bytes;
        for row in 0..rows {
            let mut page = self.operations.pool.take(page_bytes);
            let from = self.operations.at(op, Slot { new: true, member });
            page.bytes_mut()[..page_bytes]
                .copy_from_slice(&from[row * page_bytes..(row + 1) * page_bytes]);
            if let Some(before) = self.staged.insert((drive.0, lba.0 + row as u64), page) {
                self.operations.pool.give(before);
            }
        }
        self.store(drive, offset_bytes, op, member, Purpose::Stage);
    }

    /// Writes pages where they belong while they leave the stage; none if they are there.
    pub(super) fn drain(&mut self, drive: DriveId, command: &Command) -> Option<u32> {
        self.storage.memory(drive).is_none().then(|| {
            let page_bytes = self.page_bytes as usize;
            let length_bytes = command.blocks as usize * page_bytes;
            let mut buffer = self.operations.pool.take(length_bytes);
            let pages = buffer.bytes_mut().chunks_exact_mut(page_bytes);
            for (lba, into) in (command.lba.0..).zip(pages).take(command.blocks as usize) {
                let Some(page) = self.staged.get(&(drive.0, lba)) else {
                    unreachable!("the array drains only what it has staged")
                };
                into.copy_from_slice(&page.bytes()[..page_bytes]);
            }
            let offset_bytes = self.offset_bytes(command.lba);
            let work = Work::Write { offset_bytes, length_bytes, buffer };
            let range = (offset_bytes, length_bytes as u64);
            let serial = self.operations.next_serial();
            self.change(drive, range, work, serial, Purpose::Command(command.id))
        })
    }

    /// Remembers what the stage holds now of a read.
    pub(super) fn read_stage(
        &mut self,
        command: CommandId,
        drive: DriveId,
        lba: Lba,
        rows: &[u32],
    ) {
        let mut pages = Vec::with_capacity(rows.len());
        for &row in rows {
            let Some(page) = self.staged.get(&(drive.0, lba.0 + u64::from(row))) else {
                unreachable!("the array reads from the stage only what it has put there")
            };
            let mut copy = self.operations.pool.take(page.len());
            copy.bytes_mut().copy_from_slice(page.bytes());
            pages.push((row, copy));
        }
        self.from_stage.insert(command, pages);
    }

    /// Pages leave the stage.
    pub(super) fn unstage(&mut self, drive: DriveId, pages: &[Lba]) {
        for page in pages {
            if let Some(buffer) = self.staged.remove(&(drive.0, page.0)) {
                self.operations.pool.give(buffer);
            }
        }
    }

    /// Takes what the storage has ended.
    pub(super) fn collect_transfers(&mut self, now: Instant) {
        while let Some(finished) = self.finished_early.pop_front().or_else(|| self.storage.poll()) {
            let slot = finished.tag as u32;
            let Transfer { purpose, drive } = *self.transfers.get(slot);
            self.transfers.release(slot);
            self.end_change(slot);
            if let Err(error) = &finished.result {
                self.errors[drive.index()] += 1;
                tracing::warn!(drive = drive.0, %error, "a drive could not do a command");
            }
            self.end_transfer(now, purpose, drive, finished);
        }
        self.follow_changes();
    }

    fn end_transfer(&mut self, now: Instant, purpose: Purpose, drive: DriveId, finished: Finished) {
        let Finished { buffer, result, .. } = finished;
        // What was written and cannot be made to last is lost: so is the drive. A drive that does not
        // take records is no better. Commands tell the array themselves.
        if !matches!(purpose, Purpose::Command(_) | Purpose::Nobody) {
            self.give_up_if(now, drive, result.is_err());
        }
        match purpose {
            Purpose::Command(id) => {
                if let Some(outstanding) = self.commands.get_mut(id) {
                    outstanding.transfer = None;
                    outstanding.failed = result.is_err();
                    outstanding.buffer = buffer;
                    let now = self.step(now);
                    self.join(now, id);
                    self.settle(now);
                }
                return;
            }
            Purpose::Stage => {
                self.stage_writes -= 1;
                self.go_on_with_flushes();
            }
            Purpose::Flush => self.end_sync(),
            Purpose::Intent(block) => self.end_intent(block),
            Purpose::Journal(sequence) => self.end_journal(sequence),
            Purpose::JournalEnd => self.end_journal_end(),
            Purpose::Tidy => self.end_tidy(),
            Purpose::Nobody => {}
        }
        if let Some(buffer) = buffer {
            self.operations.pool.give(buffer);
        }
    }

    fn give_up_if(&mut self, now: Instant, drive: DriveId, failed: bool) {
        if failed && self.failed >> drive.0 & 1 == 0 {
            let now = self.step(now);
            self.array.fail_drive(now, drive);
            self.settle(now);
        }
    }
}
