//! The data plane of an array that serves: real pages, on storage that the driver brings.
//!
//! Bytes are at their logical addresses on each drive; a drive model gives timing only. A command
//! is answered when both its drive model and its storage have answered. A change of a drive's bytes
//! passes the [`Durability`] machine first, which knows what must be on stable storage before it.
//!
//! What the storage is to do comes out of [`Bytes::poll_work`], and [`Bytes::poll_notice`] says
//! what clients and people wait for.

mod accepted;
mod commands;
mod request;
mod verify;
mod work;

pub use request::{ByteRequest, ByteRequestKind, EndedSlice, Progress, RequestSlot};
pub use work::{StorageWork, Work};

use crate::cached_pages::CachedPages;
use crate::checksums::{ChecksumCounters, ChecksumSetup, Key};
use crate::durability::{
    AnswerId, Change, ChangeId, Durability, End, Intent, IoId, IoResult, Journal, OperationId,
    Output as Gate, Records, Sizes, StopReason, Superblock, Transitions, WantedChange,
};
use crate::memory::Memory;
use crate::model::Ssd;
use crate::plane::{DataPlane, Target};
use crate::planted::{Bug, Planted};
use crate::stripe_memory::StripeMemory;
use accepted::Accepted;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use array::{DataAction, FailReason, Happening, OpId, Slot, Term};
use commands::{Commands, Outstanding};
use nvme::{Command, CommandId, Completion, Opcode};
use request::Requests;
use units::{DriveId, Duration, Instant, Lba, Observe, Slab};
use verify::{Check, Verifier};

/// What the driver is told beside the outputs of the engine.
#[derive(Debug)]
pub enum Notice {
    /// A client may be answered.
    Answer(AnswerId),
    /// A client waits in vain: the array has stopped.
    Refuse(AnswerId),
    /// The array must take no requests any more.
    Stop(StopReason),
    /// Something has happened.
    Happened(Happening),
    /// The clean shutdown is over.
    Ended(End),
}

/// For whom the storage does something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Purpose {
    /// A command of the array.
    Command(CommandId),
    /// The sync after a write of the array that is forced.
    Forced(CommandId),
    /// Pages that are in memory, and count as written: of the write cache, or accepted.
    Cache,
    /// A block of a table of checksums; of the drive that was in the place then.
    Table(Key, u32),
    /// What is in doubt is read so that its checksums are known; of the drive that was in the place
    /// then.
    Recovery(u32),
    /// A record of the durability machine.
    Record(IoId),
    /// Nobody any more: the command was failed fast, or its drive was given up.
    Nobody,
}

/// Something that the storage has yet to end.
#[derive(Clone, Copy, Debug)]
struct Transfer {
    purpose: Purpose,
    /// Set once the durability machine has let a change go.
    change: Option<ChangeId>,
    /// What is read, to be compared with its checksums.
    check: Option<Check>,
    /// The drive is synced before the end of the write is told.
    forced: bool,
}

/// A change of a drive's bytes that waits for the durability machine.
struct HeldWork<M: Memory> {
    tag: u32,
    work: Work<M::Buffer>,
}

impl<M: Memory> Change for HeldWork<M> {
    fn data(&self) -> Option<&[u8]> {
        match &self.work {
            Work::Write { length_bytes, buffer, .. } => Some(&M::bytes(buffer)[..*length_bytes]),
            Work::Discard { .. } => None,
            Work::Read { .. } | Work::WriteHead { .. } | Work::Sync => {
                unreachable!("only changes are held")
            }
        }
    }
}

/// The pages of an array that serves. See the head of this file.
pub struct Bytes<M: Memory> {
    memory: StripeMemory<M>,
    cache: CachedPages<M>,
    accepted: Accepted<M>,
    requests: Requests<M>,
    commands: Commands<M::Buffer>,
    /// What the command has brought that the array is hearing of.
    delivered: Option<Outstanding<M::Buffer>>,
    ready: VecDeque<Completion>,
    transfers: Slab<Transfer>,
    works: VecDeque<StorageWork<M::Buffer>>,
    /// None for an array that lives in memory and keeps no records.
    durability: Option<Durability<HeldWork<M>>>,
    notices: VecDeque<Notice>,
    /// Drives that the array must give up.
    failed: VecDeque<(DriveId, FailReason)>,
    /// Parities that were compared and found wrong.
    mismatches: u64,
    /// None if data have no checksums.
    verifier: Option<Verifier<M::Buffer>>,
    now: Instant,
}

impl<M: Memory> Bytes<M> {
    /// The data plane of an array of `width` drives with stripes of `stripe_bytes` of data.
    #[must_use]
    pub fn new(
        memory: M,
        page_bytes: u64,
        stripe_bytes: u64,
        width: usize,
        records: Option<Records>,
    ) -> Self {
        let setup = records.as_ref().map(|records| records.setup);
        let sizes = setup.map_or(Sizes::SERVED, |setup| setup.sizes);
        let planted = setup.map_or(Planted::NONE, |setup| setup.planted);
        Self {
            memory: StripeMemory::new(memory, page_bytes as usize, width),
            cache: CachedPages::new(),
            accepted: Accepted::new(page_bytes as usize, sizes.accepted_bytes, planted),
            requests: Requests::new(page_bytes, stripe_bytes),
            commands: Commands::new(),
            delivered: None,
            ready: VecDeque::new(),
            transfers: Slab::new(),
            works: VecDeque::new(),
            verifier: records
                .as_ref()
                .and_then(|records| records.checksums.clone())
                .map(|setup| Verifier::new(setup, width)),
            durability: records.map(Durability::new),
            notices: VecDeque::new(),
            failed: VecDeque::new(),
            mismatches: 0,
            now: Instant::ZERO,
        }
    }

    /// The bug that is planted.
    pub(crate) fn planted(&self) -> Planted {
        self.durability.as_ref().map_or(Planted::NONE, Durability::planted)
    }

    /// Bytes in a page of the array.
    #[must_use]
    pub fn page_bytes(&self) -> u64 {
        self.memory.page_bytes() as u64
    }

    /// Where buffers come from.
    pub fn memory(&mut self) -> &mut M {
        self.memory.memory()
    }

    /// What the records say: superblock, write-intent record and journal. None of an array in
    /// memory.
    #[must_use]
    pub fn records(&self) -> Option<(&Superblock, &Intent, &Journal)> {
        let durability = self.durability.as_ref()?;
        Some((durability.superblock(), durability.intent(), durability.journal()))
    }

    /// Transitions of the records since the start; none of an array in memory.
    #[must_use]
    pub fn transitions(&self) -> Option<Transitions> {
        self.durability.as_ref().map(Durability::transitions)
    }

    /// Whether the records, if there are any, say that a drive has failed.
    #[must_use]
    pub fn is_failure_recorded(&self, drive: DriveId) -> bool {
        self.durability.as_ref().is_none_or(|durability| durability.is_failure_recorded(drive))
    }

    /// The generation that a clean shutdown will record, for what is bound to it.
    #[must_use]
    pub fn end_generation(&self) -> Option<u64> {
        self.durability.as_ref().map(Durability::end_generation)
    }

    /// Parities that were compared and found wrong since [`Bytes::reset_mismatches`].
    #[must_use]
    pub fn mismatches(&self) -> u64 {
        self.mismatches
    }

    /// A scrub begins: wrong parities are counted anew.
    pub fn reset_mismatches(&mut self) {
        self.mismatches = 0;
    }

    /// Gives the data of an array in memory checksums. To be called before anything is read or
    /// written.
    pub fn set_checksums_in_memory(&mut self, width: usize) {
        self.verifier = Some(Verifier::new(ChecksumSetup::in_memory(), width));
    }

    /// What was found when data were compared with their checksums; none if they have none.
    #[must_use]
    pub fn checksums(&self) -> Option<&ChecksumCounters> {
        self.verifier.as_ref().map(Verifier::counters)
    }

    /// Whether the checksums of all data of a drive are known, as far as they have been needed so
    /// far: what a crash or a torn table has left in doubt is not.
    #[must_use]
    pub fn is_verified(&self, drive: DriveId) -> bool {
        self.verifier.as_ref().is_some_and(|verifier| verifier.is_known(drive))
    }

    /// Whether no command is out, no record is being written, and nothing waits for either.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.commands.is_empty()
            && self.transfers.len()
                == self.verifier.as_ref().map_or(0, Verifier::recovering) as usize
            && self.durability.as_ref().is_none_or(Durability::is_idle)
    }

    /// Commands that are out.
    #[must_use]
    pub fn commands_in_flight(&self) -> usize {
        self.commands.len()
    }

    /// When [`Bytes::handle_deadline`] is to be called if nothing else happens.
    #[must_use]
    pub fn next_deadline(&self) -> Instant {
        self.durability.as_ref().map_or(Instant::NEVER, Durability::next_deadline)
    }

    /// Lets time pass for the records.
    pub fn handle_deadline(&mut self, now: Instant) {
        self.now = now;
        if let Some(durability) = &mut self.durability {
            durability.handle_deadline(now);
        }
    }

    /// The next thing for the storage to do.
    #[inline]
    pub fn poll_work(&mut self) -> Option<StorageWork<M::Buffer>> {
        self.works.pop_front()
    }

    /// The next thing that clients or people wait for.
    #[inline]
    pub fn poll_notice(&mut self) -> Option<Notice> {
        self.notices.pop_front()
    }

    /// The storage has ended something, with the buffer that it had.
    pub fn handle_storage(
        &mut self,
        now: Instant,
        tag: u32,
        result: IoResult,
        buffer: Option<M::Buffer>,
    ) {
        self.now = now;
        let Transfer { purpose, check, .. } = *self.transfers.get(tag);
        let verified = self.verify_ended(tag, purpose, check, result, buffer);
        if let Some((result, buffer)) = verified {
            self.end_transfer(tag, result, buffer);
        }
    }

    /// The storage has failed a read fast, as its flag lets it: it would have had to wait for so
    /// long, or nobody knows for how long if that is zero. It has brought nothing; whoever does the
    /// work keeps the buffer as long as something may still be written into it.
    pub fn handle_failed_fast(
        &mut self,
        now: Instant,
        tag: u32,
        busy_remaining: Duration,
        buffer: Option<M::Buffer>,
    ) {
        let Purpose::Command(id) = self.transfers.get(tag).purpose else {
            // Nobody else lets a read fail fast; who does not wait for it any more does not mind.
            return self.handle_storage(now, tag, IoResult::Failed, buffer);
        };
        self.now = now;
        self.transfers.release(tag);
        if let Some(command) = self.commands.get_mut(id) {
            command.failed_fast(now, busy_remaining);
            self.ready.extend(command.completion(now));
        }
        if let Some(buffer) = buffer {
            self.memory.memory().give(buffer);
        }
    }

    /// Something has ended at the storage and, if it is a read, is right.
    fn end_transfer(&mut self, tag: u32, result: IoResult, buffer: Option<M::Buffer>) {
        let now = self.now;
        let Transfer { purpose, change, forced, .. } = *self.transfers.get(tag);
        self.transfers.release(tag);
        self.accepted.remove(self.memory.memory(), tag);
        if let (Some(durability), Some(change)) = (&mut self.durability, change) {
            durability.handle_change_ended(now, change, result);
        }
        match purpose {
            // The array has stopped: what becomes of the command nobody knows before it starts
            // again.
            Purpose::Command(_) if result == IoResult::NoRoom && self.durability.is_some() => {}
            Purpose::Command(id) if forced && result == IoResult::Done => self.sync_after(id),
            Purpose::Forced(id) => self.end_forced(id, result),
            Purpose::Command(id) => {
                self.end_storage(id, result != IoResult::Done, buffer);
                return;
            }
            Purpose::Record(id) => {
                if let Some(durability) = &mut self.durability {
                    durability.handle_io_ended(now, id, result);
                }
            }
            Purpose::Cache | Purpose::Nobody | Purpose::Table(..) | Purpose::Recovery(_) => {}
        }
        if let Some(buffer) = buffer {
            self.memory.memory().give(buffer);
        }
    }

    /// The write of a command has ended, whose end is told when it is on stable storage.
    fn sync_after(&mut self, id: CommandId) {
        let Some(drive) = self.commands.get_mut(id).map(|command| command.drive()) else { return };
        let sync = self.transfer(drive, Work::Sync, Purpose::Forced(id));
        if let Some(command) = self.commands.get_mut(id) {
            command.goes_on(sync);
        }
    }

    /// The sync has ended. If there was no room for what it was to write, the array has stopped.
    fn end_forced(&mut self, id: CommandId, result: IoResult) {
        let Some(drive) = self.commands.get_mut(id).map(|command| command.drive()) else { return };
        if let Some(durability) = &mut self.durability {
            durability.handle_io_failed(self.now, drive, FailReason::Sync, result);
        }
        if result != IoResult::NoRoom || self.durability.is_none() {
            self.end_storage(id, result != IoResult::Done, None);
        }
    }

    /// The storage of a command is done with it.
    fn end_storage(&mut self, id: CommandId, failed: bool, mut buffer: Option<M::Buffer>) {
        let page_bytes = self.memory.page_bytes();
        if let Some(command) = self.commands.get_mut(id) {
            let rows = command.take_accepted();
            if let Some(buffer) = &mut buffer {
                accepted::overlay(self.memory.memory(), rows, buffer, page_bytes);
            }
            command.storage_ended(failed, buffer);
            self.ready.extend(command.completion(self.now));
        }
    }

    /// Whether the page holds something that is not in its place yet.
    #[must_use]
    pub fn is_accepted(&self, drive: DriveId, lba: Lba) -> bool {
        self.accepted.holds_any(drive, lba.0..lba.0 + 1)
    }

    /// Answers `answer` when all that was answered before would survive the power.
    pub fn flush(&mut self, now: Instant, answer: AnswerId) {
        match &mut self.durability {
            Some(durability) => durability.handle_flush(now, answer),
            None => self.notices.push_back(Notice::Answer(answer)),
        }
    }

    /// Whether a write that is done may be answered at once. If not, [`Bytes::answer`] does it in
    /// time.
    #[must_use]
    pub fn answers_at_once(&self) -> bool {
        self.durability.as_ref().is_none_or(Durability::answers_at_once)
    }

    /// A write is done: it is answered when the other drives know of every drive that does not have
    /// it.
    pub fn answer(&mut self, answer: AnswerId) {
        match &mut self.durability {
            Some(durability) => durability.handle_answer(answer),
            None => self.notices.push_back(Notice::Answer(answer)),
        }
    }

    /// Nothing is to be changed any more: the records say so. Comes back as [`Notice::Ended`].
    pub fn end(&mut self, now: Instant) {
        match &mut self.durability {
            Some(durability) => durability.handle_end(now),
            None => self.notices.push_back(Notice::Ended(End::Clean)),
        }
    }

    /// Checks what holds between any two steps.
    ///
    /// # Panics
    ///
    /// If it does not hold: a bug.
    pub fn check_invariants(&self) {
        if let Some(durability) = &self.durability {
            durability.check_invariants();
        }
        self.accepted.check_invariants();
        if let Some(verifier) = &self.verifier {
            verifier.check_invariants();
        }
    }

    fn offset_bytes(&self, lba: Lba) -> u64 {
        lba.0 * self.memory.page_bytes() as u64
    }

    /// A number for something that the storage will do.
    fn book(&mut self, purpose: Purpose) -> u32 {
        self.transfers.insert(Transfer { purpose, change: None, check: None, forced: false })
    }

    /// Gives work to the storage that changes nothing.
    fn transfer(&mut self, drive: DriveId, work: Work<M::Buffer>, purpose: Purpose) -> u32 {
        let tag = self.book(purpose);
        self.begin_check(tag, drive, &work);
        self.works.push_back(StorageWork { tag, drive, work });
        tag
    }

    /// Changes bytes of a drive as a part of the stripe operation with this serial number, as soon
    /// as the records allow it.
    fn change(
        &mut self,
        drive: DriveId,
        work: Work<M::Buffer>,
        operation: u64,
        mut purpose: Purpose,
    ) -> u32 {
        let tag = self.book(purpose);
        if let Work::Write { offset_bytes, length_bytes, buffer } = &work
            && let Some(durability) = &self.durability
            && durability.is_journalled(drive)
            && self.accepted.has_room(*length_bytes as u64)
        {
            let page_bytes = self.memory.page_bytes() as u64;
            let first = offset_bytes / page_bytes;
            let pages = first..first + *length_bytes as u64 / page_bytes;
            self.accepted.insert(self.memory.memory(), tag, drive, pages, buffer);
            purpose = Purpose::Cache;
            self.transfers.get_mut(tag).purpose = purpose;
        }
        let (offset_bytes, length_bytes) = match &work {
            Work::Write { offset_bytes, length_bytes, .. } => (*offset_bytes, *length_bytes as u64),
            Work::Discard { offset_bytes, length_bytes } => (*offset_bytes, *length_bytes),
            Work::Read { .. } | Work::WriteHead { .. } | Work::Sync => {
                unreachable!("reads, records and syncs change no data")
            }
        };
        match &mut self.durability {
            None => {
                self.begin_summing(tag, drive, &work);
                self.works.push_back(StorageWork { tag, drive, work });
            }
            Some(durability) => {
                let wanted = WantedChange {
                    drive,
                    offset_bytes,
                    length_bytes,
                    operation: OperationId(operation),
                    cached: purpose == Purpose::Cache,
                    change: HeldWork { tag, work },
                };
                let id = durability.handle_change(self.now, wanted);
                self.transfers.get_mut(tag).change = Some(id);
            }
        }
        tag
    }

    /// Does what the durability machine says.
    fn pass_gate(&mut self) {
        while let Some(output) = self.durability.as_mut().and_then(Durability::poll_output) {
            match output {
                Gate::WriteHead { id, drive, offset_bytes, bytes } => {
                    let work = Work::WriteHead { offset_bytes, bytes };
                    self.transfer(drive, work, Purpose::Record(id));
                }
                Gate::Sync { id, drive, settles } => {
                    if !settles || self.is_settled(drive, id) {
                        self.transfer(drive, Work::Sync, Purpose::Record(id));
                    }
                }
                Gate::Release { drive, change: HeldWork { tag, work }, .. } => {
                    self.begin_summing(tag, drive, &work);
                    self.works.push_back(StorageWork { tag, drive, work });
                }
                Gate::Cancel { change: HeldWork { tag, work }, .. } => {
                    if let Purpose::Command(id) = self.transfers.get(tag).purpose
                        && let Some(command) = self.commands.get_mut(id)
                    {
                        command.storage_ended(true, None);
                        self.ready.extend(command.completion(self.now));
                    }
                    self.transfers.release(tag);
                    self.accepted.remove(self.memory.memory(), tag);
                    if let Work::Write { buffer, .. } = work {
                        self.memory.memory().give(buffer);
                    }
                }
                Gate::Answer { answer } => self.notices.push_back(Notice::Answer(answer)),
                Gate::Refuse { answer } => self.notices.push_back(Notice::Refuse(answer)),
                Gate::FailDrive { drive, reason } => self.failed.push_back((drive, reason)),
                Gate::Stop { reason } => self.notices.push_back(Notice::Stop(reason)),
                Gate::Ended { end } => self.notices.push_back(Notice::Ended(end)),
            }
        }
    }

    /// Has the storage do what a command says.
    fn begin_transfer(&mut self, drive: DriveId, command: &Command, target: Option<Target>) -> u32 {
        let offset_bytes = self.offset_bytes(command.lba);
        let length_bytes = command.blocks as usize * self.memory.page_bytes();
        let purpose = Purpose::Command(command.id);
        match (command.opcode, target) {
            (Opcode::Read, _) => {
                let buffer = self.memory.memory().take(length_bytes);
                let work = Work::Read { offset_bytes, length_bytes, buffer, pl: command.pl };
                self.transfer(drive, work, purpose)
            }
            (Opcode::Write, Some(Target { op, member })) => {
                self.store(drive, offset_bytes, op, member, purpose)
            }
            (Opcode::Write, None) => {
                let mut buffer = self.memory.memory().take(length_bytes);
                let into = &mut M::bytes_mut(&mut buffer)[..length_bytes];
                self.cache.read(drive, command, into, self.memory.page_bytes());
                let work = Work::Write { offset_bytes, length_bytes, buffer };
                let operation = self.memory.next_serial();
                self.change(drive, work, operation, purpose)
            }
            (Opcode::Deallocate, Some(Target { op, .. })) => {
                let length_bytes = length_bytes as u64;
                let work = Work::Discard { offset_bytes, length_bytes };
                self.change(drive, work, self.memory.serial_of(op), purpose)
            }
            (Opcode::Deallocate, None) => unreachable!("the write cache drains writes only"),
        }
    }

    /// Writes the new rows of a member to its drive.
    fn store(
        &mut self,
        drive: DriveId,
        offset_bytes: u64,
        op: OpId,
        member: u8,
        purpose: Purpose,
    ) -> u32 {
        let length_bytes = self.memory.slot_bytes(op);
        let buffer = self.memory.share_buffer(op, Slot { new: true, member });
        let work = Work::Write { offset_bytes, length_bytes, buffer };
        let tag = self.change(drive, work, self.memory.serial_of(op), purpose);
        self.transfers.get_mut(tag).forced = self.memory.is_forced(op);
        tag
    }

    /// The new rows of a member go into the write cache, and at once to where they belong, because
    /// the cache is memory and would not survive the process. The drive model hears of them when
    /// the cache is drained.
    fn cache_rows(&mut self, op: OpId, member: u8, drive: DriveId, lba: Lba) {
        let page_bytes = self.memory.page_bytes();
        let rows = self.memory.share_buffer(op, Slot { new: true, member });
        let bytes = &M::bytes(&rows)[..self.memory.slot_bytes(op)];
        self.cache.insert(self.memory.memory(), drive, lba, bytes, page_bytes);
        self.memory.memory().give(rows);
        self.store(drive, self.offset_bytes(lba), op, member, Purpose::Cache);
    }

    /// Gives back what a command has brought that the array did not keep.
    fn drop_delivered_if(&mut self, is_stale: impl Fn(&Outstanding<M::Buffer>) -> bool) {
        let stale = self.delivered.take_if(|delivered| is_stale(delivered));
        if let Some(buffer) = stale.and_then(Outstanding::into_buffer) {
            self.memory.memory().give(buffer);
        }
    }

    /// What a read has brought becomes the old rows of its member, with what was cached over it.
    fn keep(&mut self, op: OpId, command: CommandId, member: u8) {
        let page_bytes = self.memory.page_bytes();
        let delivered = self.delivered.take_if(|delivered| delivered.id() == command);
        let brought = delivered.and_then(Outstanding::into_buffer);
        let mut rows = brought.unwrap_or_else(|| self.memory.blank(op));
        self.cache.overlay(self.memory.memory(), command, M::bytes_mut(&mut rows), page_bytes);
        self.memory.put(op, Slot { new: false, member }, rows);
    }
}

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
        self.cache.forget_read(self.memory.memory(), command.id);
        let pages = command.lba.0..command.lba.0 + u64::from(command.blocks);
        let rows = match command.opcode {
            Opcode::Read => self.accepted.snapshot(self.memory.memory(), drive, pages),
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
            DataAction::Open { op, request, rows } => self.memory.open(op, request, rows),
            DataAction::Keep { op, command, member } => self.keep(op, command, member),
            DataAction::Combine { op, target, terms } => {
                let lacks = terms.len() > 2 && self.planted().has(Bug::ParityLacksTerm);
                self.memory.combine(op, target, &terms[usize::from(lacks)..]);
            }
            DataAction::Merge { op, member, first_page } => {
                let request = self.requests.get(self.memory.request_of(op));
                self.memory.merge(op, member, |old, new| request.merge(first_page, old, new));
            }
            DataAction::Share { from, to, member, mut first_row } => {
                if first_row != 0 && self.planted().has(Bug::SharedFromFirstRow) {
                    first_row = 0;
                }
                self.memory.share(from, to, member, first_row);
            }
            DataAction::Deliver { op, member, first_page } => {
                let request = self.requests.get_mut(self.memory.request_of(op));
                request.take(first_page, self.memory.at(op, Slot { new: false, member }));
            }
            DataAction::Cache { op, member, drive, lba } => {
                self.cache_rows(op, member, drive, lba);
            }
            DataAction::ReadCache { command, drive, lba, rows, .. } => {
                // The number may be that of a command whose data nobody kept.
                self.drop_delivered_if(|delivered| delivered.id() == command);
                self.cache.note_read(self.memory.memory(), command, drive, lba, &rows);
            }
            DataAction::Uncache { drive, pages } => {
                self.cache.remove(self.memory.memory(), drive, &pages);
            }
            DataAction::Force { op } => self.memory.force(op),
            DataAction::Close { op } => self.memory.close(op),
        }
    }

    fn check(&mut self, op: OpId, target: Slot, terms: &[Term]) -> bool {
        let fits = self.memory.check(op, target, terms);
        self.mismatches += u64::from(!fits);
        fits
    }

    fn compare(&mut self, op: OpId, member: u8, with: u8) -> bool {
        self.memory.compare(op, member, with)
    }

    fn follow<O: Observe>(&mut self, _: DriveId, _: &mut Ssd<O>) {}

    fn join(&mut self, now: Instant, completion: &mut Completion) -> bool {
        let Some(command) = self.commands.get_mut(completion.id) else { return false };
        command.model_answered(*completion);
        let joined = command.completion(now);
        if let Some(joined) = joined {
            *completion = joined;
        }
        joined.is_some()
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
        self.ready.pop_front()
    }

    fn poll_failed_drive(&mut self) -> Option<(DriveId, FailReason)> {
        self.failed.pop_front()
    }

    fn deliver(&mut self, completion: &Completion) {
        let command = self.commands.take(completion.id);
        if let Some(transfer) = command.as_ref().and_then(Outstanding::transfer) {
            self.transfers.get_mut(transfer).purpose = Purpose::Nobody;
        }
        self.drop_delivered_if(|_| true);
        self.delivered = command;
    }

    fn drive_failed(&mut self, now: Instant, drive: DriveId) -> bool {
        self.now = now;
        self.accepted.forget_drive(self.memory.memory(), drive);
        for command in self.commands.of(drive) {
            command.give_up();
            self.ready.extend(command.completion(now));
        }
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
        if self.note_resynced()
            && let Some(durability) = &mut self.durability
        {
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
