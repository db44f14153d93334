//! A data plane of eight bytes a page for remote drives that a test plays.

use super::{PAGE, Page};
use engine::{CachedPages, DataPlane, Heap, StripeMemory, Target};
use ioda_array::{DataAction, FailReason, OpId, Request, RequestId, Slot, Term};
use nvme::{Command, CommandId, Completion, Opcode};
use ssd::Ssd;
use std::collections::BTreeMap;
use units::{DriveId, Instant, Lba, Observe};

const PAGE_BYTES: usize = PAGE as usize;

/// The pages of all operations in progress.
pub(crate) struct Pages {
    memory: StripeMemory<Heap>,
    cache: CachedPages<Heap>,
    /// Data that writes carry, and data that reads have brought.
    commands: BTreeMap<CommandId, Vec<u8>>,
    delivered: Option<(CommandId, Vec<u8>)>,
    requests: BTreeMap<RequestId, (Request, Vec<u8>)>,
    wrong_parities: u64,
}

impl Pages {
    pub(crate) fn new(width: usize) -> Self {
        Self {
            memory: StripeMemory::new(Heap, PAGE_BYTES, width),
            cache: CachedPages::new(),
            commands: BTreeMap::new(),
            delivered: None,
            requests: BTreeMap::new(),
            wrong_parities: 0,
        }
    }

    pub(crate) fn begin_request(&mut self, request: Request, data: Vec<u8>) {
        self.requests.insert(request.id, (request, data));
    }

    /// Data that a request has read.
    pub(crate) fn end_request(&mut self, request: RequestId) -> Vec<u8> {
        self.requests.remove(&request).expect("in flight").1
    }

    /// Data that a command writes.
    pub(crate) fn written_by(&self, command: CommandId) -> &[u8] {
        &self.commands[&command]
    }

    /// Takes the data that a read has brought.
    pub(crate) fn bring(&mut self, command: CommandId, rows: Vec<u8>) {
        self.commands.insert(command, rows);
    }

    /// Content of a page in the write cache.
    pub(crate) fn cached(&self, drive: DriveId, lba: Lba) -> Option<Page> {
        self.cache.page(drive, lba).map(|page| page.try_into().expect("eight bytes"))
    }

    pub(crate) fn wrong_parities(&self) -> u64 {
        self.wrong_parities
    }

    fn keep(&mut self, op: OpId, command: CommandId, member: u8) {
        let brought = self.delivered.take_if(|(id, _)| *id == command);
        let mut rows = brought.map_or_else(Vec::new, |(_, rows)| rows);
        // Rows that were not brought show when they are used.
        rows.resize(self.memory.slot_bytes(op), 0xdd);
        self.cache.overlay(self.memory.memory(), command, &mut rows, PAGE_BYTES);
        self.memory.put(op, Slot { new: false, member }, rows);
    }

    fn merge(&mut self, op: OpId, member: u8, first_page: u64) {
        let (request, data) = &self.requests[&self.memory.request_of(op)];
        self.memory.merge(op, member, |old, new| {
            match old {
                Some(old) => new.copy_from_slice(old),
                None => new.fill(0xee),
            }
            for (at, byte) in (first_page * PAGE..).zip(new) {
                let index = at.checked_sub(request.offset_bytes);
                if let Some(written) = index.and_then(|index| data.get(index as usize)) {
                    *byte = *written;
                }
            }
        });
    }

    fn deliver_pages(&mut self, op: OpId, member: u8, first_page: u64) {
        let rows = self.memory.at(op, Slot { new: false, member });
        let (request, data) =
            self.requests.get_mut(&self.memory.request_of(op)).expect("in flight");
        for (at, byte) in (first_page * PAGE..).zip(rows) {
            let index = at.checked_sub(request.offset_bytes);
            if let Some(to) = index.and_then(|index| data.get_mut(index as usize)) {
                *to = *byte;
            }
        }
    }
}

impl DataPlane for Pages {
    const CARRIES_DATA: bool = true;

    fn submit(
        &mut self,
        _: Instant,
        drive: DriveId,
        command: &Command,
        target: Option<Target>,
        _: bool,
    ) {
        self.cache.forget_read(self.memory.memory(), command.id);
        if command.opcode != Opcode::Write {
            return;
        }
        let mut rows = vec![0; command.blocks as usize * PAGE_BYTES];
        match target {
            Some(Target { op, member }) => {
                rows.copy_from_slice(self.memory.at(op, Slot { new: true, member }));
            }
            None => self.cache.read(drive, command, &mut rows, PAGE_BYTES),
        }
        self.commands.insert(command.id, rows);
    }

    fn data(&mut self, action: DataAction) {
        match action {
            DataAction::Open { op, request, rows } => self.memory.open(op, request, rows),
            DataAction::Keep { op, command, member } => self.keep(op, command, member),
            DataAction::Combine { op, target, terms } => self.memory.combine(op, target, &terms),
            DataAction::Merge { op, member, first_page } => self.merge(op, member, first_page),
            DataAction::Share { from, to, member, first_row } => {
                self.memory.share(from, to, member, first_row);
            }
            DataAction::Deliver { op, member, first_page } => {
                self.deliver_pages(op, member, first_page);
            }
            DataAction::Cache { op, member, drive, lba } => {
                let rows = self.memory.at(op, Slot { new: true, member }).to_vec();
                self.cache.insert(self.memory.memory(), drive, lba, &rows, PAGE_BYTES);
            }
            DataAction::ReadCache { command, drive, lba, rows, .. } => {
                self.delivered.take_if(|(id, _)| *id == command);
                self.cache.note_read(self.memory.memory(), command, drive, lba, &rows);
            }
            DataAction::Uncache { drive, pages } => {
                self.cache.remove(self.memory.memory(), drive, &pages);
            }
            DataAction::Force { .. } | DataAction::Prepare { .. } => {}
            DataAction::Close { op } => self.memory.close(op),
        }
    }

    fn check(&mut self, op: OpId, target: Slot, terms: &[Term]) -> bool {
        let fits = self.memory.check(op, target, terms);
        self.wrong_parities += u64::from(!fits);
        fits
    }

    fn compare(&mut self, op: OpId, member: u8, with: u8) -> bool {
        self.memory.compare(op, member, with)
    }

    fn follow<O: Observe>(&mut self, _: DriveId, _: &mut Ssd<O>) {}

    fn join(&mut self, _: Instant, _: &mut Completion) -> bool {
        true
    }

    fn poll_completion(&mut self) -> Option<Completion> {
        None
    }

    fn poll_failed_drive(&mut self) -> Option<(DriveId, FailReason)> {
        None
    }

    fn deliver(&mut self, completion: &Completion) {
        self.delivered = self.commands.remove(&completion.id).map(|rows| (completion.id, rows));
    }

    fn drive_failed(&mut self, _: Instant, _: DriveId) -> bool {
        false
    }

    fn drive_replaced(&mut self, _: DriveId) {}
}
