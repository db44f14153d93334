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
mod notices;
mod pages;
mod plane;
mod request;
mod transfers;
mod verify;
mod waiting;
mod work;

pub use notices::Notice;
pub use request::{ByteRequest, ByteRequestKind, EndedSlice, Progress};
pub use work::{StorageWork, Work};

use crate::checksums::{ChecksumCounters, ChecksumSetup, Key};
use crate::durability::{
    Change, Durability, End, Handed, Intent, IoId, IoResult, Journal, MemberState, Output as Gate,
    Records, Sizes, Superblock, Transitions, WantedChange,
};
use crate::memory::Memory;
use crate::plane::Target;
use crate::planted::Planted;
use crate::token::Token;
use array::{FailReason, Happening, OpId, Outcome, Request};
use commands::Commands;
use core::ops::Range;
use notices::Notices;
use nvme::{Command, CommandId, Opcode};
use pages::{NewRows, Pages};
use request::Requests;
use transfers::{Purpose, Transfer, Transfers};
use units::{DriveId, Duration, Instant, Lba};
use verify::{Check, Compared, Held, TableEnded, Verifier};
use waiting::{Waited, Waiting, WaitingWrite};

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

/// The pages of an array that serves: a router between parts that own their state. See the head of
/// this file.
pub struct Bytes<M: Memory> {
    now: Instant,
    /// What clients have asked for.
    requests: Requests<M>,
    /// Which commands are out, and what the array hears of them.
    commands: Commands<M::Buffer>,
    /// Work of the storage that waits or is under way.
    transfers: Transfers<M::Buffer>,
    /// Writes that the array has yet to send.
    waiting: Waiting<M::Buffer>,
    /// Which pages are in memory.
    pages: Pages<M>,
    /// Whether data fit their checksums; `None` if they have none.
    verifier: Option<Verifier<M::Buffer>>,
    /// What must be on stable storage before what; `None` for an array that lives in memory and
    /// keeps no records.
    durability: Option<Durability<HeldWork<M>>>,
    /// What others are to be told.
    notices: Notices,
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
        let accepted_bytes = setup.map_or(Sizes::SERVED, |setup| setup.sizes).accepted_bytes;
        let planted = setup.map_or(Planted::NONE, |setup| setup.planted);
        let checksums = records.as_ref().and_then(|records| records.checksums.clone());
        Self {
            now: Instant::ZERO,
            requests: Requests::new(page_bytes, stripe_bytes),
            commands: Commands::new(),
            transfers: Transfers::new(),
            waiting: Waiting::new(),
            pages: Pages::new(memory, page_bytes as usize, width, accepted_bytes, planted),
            verifier: checksums.map(|setup| Verifier::new(setup, width)),
            durability: records.map(Durability::new),
            notices: Notices::default(),
        }
    }

    /// The bug that is planted.
    pub(crate) fn planted(&self) -> Planted {
        self.durability.as_ref().map_or(Planted::NONE, Durability::planted)
    }

    /// Bytes in a page of the array.
    #[must_use]
    pub fn page_bytes(&self) -> u64 {
        self.pages.page_bytes() as u64
    }

    /// Where buffers come from.
    pub fn memory(&mut self) -> &mut M {
        self.pages.memory()
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
        self.notices.mismatches()
    }

    /// A scrub begins: wrong parities are counted anew.
    pub fn reset_mismatches(&mut self) {
        self.notices.reset_mismatches();
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
        self.transfers.next_work()
    }

    /// The next thing that clients or people wait for.
    #[inline]
    pub fn poll_notice(&mut self) -> Option<Notice> {
        self.notices.next()
    }

    /// What was found marked at the start is repaired from now on. The marks may be taken back as
    /// soon as all sums that were in doubt there are known, and parity is resynced. `resyncs`: it
    /// will be, of which the plane will hear.
    pub fn begin_repairs(&mut self, resyncs: bool) {
        let Some((superblock, intent, _)) = self.records() else { return };
        if !intent.is_resyncing() {
            return;
        }
        let states = superblock.states.iter().enumerate();
        let serving = states.filter(|(_, state)| **state == MemberState::Serving);
        let serving = serving.map(|(drive, _)| DriveId(drive as u8)).collect();
        if let Some(verifier) = &mut self.verifier {
            verifier.begin_repairs(serving, resyncs);
            self.free_marks();
        }
    }

    /// Whether the page holds something that is not in its place yet.
    #[must_use]
    pub fn is_accepted(&self, drive: DriveId, lba: Lba) -> bool {
        self.pages.is_accepted(drive, lba)
    }

    /// Answers `answer` when all that was answered before would survive the power.
    pub fn flush(&mut self, now: Instant, answer: Token) {
        match &mut self.durability {
            Some(durability) => durability.handle_flush(now, answer),
            None => self.notices.add(Notice::Answer(answer)),
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
    pub fn answer(&mut self, answer: Token) {
        match &mut self.durability {
            Some(durability) => durability.handle_answer(answer),
            None => self.notices.add(Notice::Answer(answer)),
        }
    }

    /// Nothing is to be changed any more: the records say so. Comes back as [`Notice::Ended`].
    pub fn end(&mut self, now: Instant) {
        match &mut self.durability {
            Some(durability) => durability.handle_end(now),
            None => self.notices.add(Notice::Ended(End::Clean)),
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
        self.pages.check_invariants();
        if let Some(verifier) = &self.verifier {
            verifier.check_invariants();
        }
    }
}

/// The requests of clients.
impl<M: Memory> Bytes<M> {
    /// Takes a request of a client; [`Bytes::next_slice`] gives its first part.
    pub fn begin_request(&mut self, token: Token, request: ByteRequest<M::Buffer>) {
        self.requests.begin(self.pages.memory(), token, request);
    }

    /// The next part of a request for the array; `None` if none can begin now.
    pub fn next_slice(&mut self, token: Token) -> Option<Request> {
        self.requests.next_slice(token)
    }

    /// Whether [`Bytes::next_slice`] gives another part now.
    #[must_use]
    pub fn can_begin(&self, token: Token) -> bool {
        self.requests.can_begin(token)
    }

    /// A part of a request is done.
    pub fn end_slice(&mut self, outcome: &Outcome) -> EndedSlice {
        self.requests.end_slice(outcome)
    }

    /// What a read has brought.
    ///
    /// # Panics
    ///
    /// If the request is no read.
    #[must_use]
    pub fn brought(&self, token: Token) -> &[u8] {
        self.requests.brought(token)
    }

    /// Ends a read. Returns its buffer, and where in it the bytes are that were asked for.
    ///
    /// # Panics
    ///
    /// If the request is no read.
    pub fn take_brought(&mut self, token: Token) -> (M::Buffer, Range<usize>) {
        self.requests.take_brought(token)
    }

    /// A request is answered.
    pub fn end_request(&mut self, token: Token) {
        self.requests.end(self.pages.memory(), token);
    }
}

/// What the storage of drives has ended.
impl<M: Memory> Bytes<M> {
    /// The storage has ended something, with the buffer that it had.
    pub fn handle_storage(
        &mut self,
        now: Instant,
        tag: u32,
        result: IoResult,
        buffer: Option<M::Buffer>,
    ) {
        self.now = now;
        self.end_work(tag, result, buffer);
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
        self.transfers.end(tag);
        self.commands.failed_fast(now, id, busy_remaining);
        self.pages.give(buffer);
    }

    /// Something has ended at the storage. What it has brought is compared before it counts.
    fn end_work(&mut self, tag: u32, result: IoResult, buffer: Option<M::Buffer>) {
        let Transfer { purpose, check, .. } = self.transfers.get(tag);
        let Some(verifier) = &mut self.verifier else {
            return self.end_transfer(tag, result, buffer);
        };
        if let Purpose::Table(key, era) = purpose {
            self.end_table(key, era, result, buffer.as_ref());
            // The work is over, whatever came of it.
            return self.end_transfer(tag, IoResult::Done, buffer);
        }
        let is_done = result == IoResult::Done;
        verifier.end_change(tag, is_done);
        if let (Purpose::Recovery(era), Some(check), false) = (purpose, &check, is_done) {
            verifier.end_recovery(check, era, false);
            self.free_marks();
        }
        let is_wanted = is_done && purpose != Purpose::Nobody;
        match (check.filter(|_| is_wanted), buffer) {
            (Some(check), Some(buffer)) => self.compare(tag, purpose, &check, buffer),
            (_, buffer) => self.end_transfer(tag, result, buffer),
        }
    }

    /// Compares what a read has brought with its checksums.
    fn compare(&mut self, tag: u32, purpose: Purpose, check: &Check, buffer: M::Buffer) {
        let Some(verifier) = &mut self.verifier else { return };
        let recovery = match purpose {
            Purpose::Recovery(era) => Some(era),
            _ => None,
        };
        let compared = verifier.compare(self.pages.memory(), tag, check, recovery, buffer);
        if recovery.is_some() {
            self.free_marks();
        }
        match compared {
            Compared::Fits(buffer) => self.end_transfer(tag, IoResult::Done, Some(buffer)),
            Compared::Waits => {}
            Compared::Again(drive, work) => self.begin_unchanging(tag, drive, work),
            Compared::Wrong(drive, offset_bytes, buffer) => {
                let happening = Happening::ChecksumMismatch { drive, offset_bytes };
                self.notices.add(Notice::Happened(happening));
                self.end_transfer(tag, IoResult::Failed, Some(buffer));
            }
        }
    }

    /// A block of a table was read or written.
    fn end_table(&mut self, key: Key, era: u32, result: IoResult, buffer: Option<&M::Buffer>) {
        let Some(verifier) = &mut self.verifier else { return };
        let drive = DriveId(key.drive);
        match verifier.end_table(key, era, result, buffer.map(M::bytes)) {
            TableEnded::Nothing => {}
            TableEnded::Read(held) => {
                for Held { tag, buffer, .. } in held {
                    self.end_work(tag, IoResult::Done, Some(buffer));
                }
            }
            TableEnded::Written(syncs) => {
                for id in syncs {
                    self.record(drive, Work::Sync, id);
                }
            }
            TableEnded::Failed => self.fail_io(drive, FailReason::Checksums, result),
        }
    }

    /// Something has ended at the storage and, if it is a read, is right.
    fn end_transfer(&mut self, tag: u32, result: IoResult, buffer: Option<M::Buffer>) {
        let now = self.now;
        let Transfer { purpose, io, forced, .. } = self.transfers.end(tag);
        self.pages.end_change(tag);
        if let (Some(durability), Some(io)) = (&mut self.durability, io) {
            durability.handle_io_ended(now, io, result);
        }
        match purpose {
            // The array has stopped: what becomes of the command nobody knows before it starts
            // again.
            Purpose::Command(_) if result == IoResult::NoRoom && self.durability.is_some() => {}
            Purpose::Command(id) if forced && result == IoResult::Done => self.sync_after(id),
            Purpose::Forced(id) => self.end_forced(id, result),
            Purpose::Command(id) => {
                return self.end_storage(id, result != IoResult::Done, buffer);
            }
            Purpose::Cache
            | Purpose::Waiting(_)
            | Purpose::Record
            | Purpose::Nobody
            | Purpose::Table(..)
            | Purpose::Recovery(_) => {}
        }
        self.pages.give(buffer);
    }

    /// The write of a command has ended, whose end is told when it is on stable storage.
    fn sync_after(&mut self, id: CommandId) {
        let Some(drive) = self.commands.drive_of(id) else { return };
        let sync = self.transfer(drive, Work::Sync, Purpose::Forced(id));
        self.commands.goes_on(id, sync);
    }

    /// The sync has ended. If there was no room for what it was to write, the array has stopped.
    fn end_forced(&mut self, id: CommandId, result: IoResult) {
        let Some(drive) = self.commands.drive_of(id) else { return };
        self.fail_io(drive, FailReason::Sync, result);
        if result != IoResult::NoRoom || self.durability.is_none() {
            self.end_storage(id, result != IoResult::Done, None);
        }
    }

    /// Something that the records did not ask for has ended. If it has not succeeded they have to
    /// do without its drive.
    fn fail_io(&mut self, drive: DriveId, reason: FailReason, result: IoResult) {
        if let Some(durability) = &mut self.durability {
            durability.handle_io_failed(self.now, drive, reason, result);
        }
    }

    /// The storage of a command is done with it.
    fn end_storage(&mut self, id: CommandId, failed: bool, mut buffer: Option<M::Buffer>) {
        if let Some(rows) = self.commands.take_accepted(id) {
            if let Some(buffer) = &mut buffer {
                self.pages.overlay(rows, buffer);
            }
            self.commands.storage_ended(self.now, id, failed, buffer);
        }
    }

    /// Marks that were found at the start may be taken back, once all is done for that.
    fn free_marks(&mut self) {
        if self.verifier.as_mut().is_some_and(Verifier::free_marks)
            && let Some(durability) = &mut self.durability
        {
            durability.handle_parity_resynced(self.now);
        }
    }

    /// A drive was given up: what waits for its checksums waits for nothing.
    fn forget_checks(&mut self, drive: DriveId) {
        let Some(verifier) = &mut self.verifier else { return };
        for Held { tag, buffer, .. } in verifier.drive_gone(drive) {
            if let Transfer { purpose: Purpose::Recovery(era), check: Some(check), .. } =
                self.transfers.get(tag)
                && let Some(verifier) = &mut self.verifier
            {
                verifier.end_recovery(&check, era, false);
                self.free_marks();
            }
            self.end_transfer(tag, IoResult::Failed, Some(buffer));
        }
        self.free_marks();
    }
}

/// What the storage of drives is to do.
impl<M: Memory> Bytes<M> {
    /// Gives work to the storage that changes nothing.
    fn transfer(&mut self, drive: DriveId, work: Work<M::Buffer>, purpose: Purpose) -> u32 {
        let tag = self.transfers.book(purpose);
        self.begin_unchanging(tag, drive, work);
        tag
    }

    fn begin_unchanging(&mut self, tag: u32, drive: DriveId, work: Work<M::Buffer>) {
        if let Some(verifier) = &mut self.verifier {
            let check = verifier.begin_read(drive, &work);
            self.transfers.set_check(tag, check);
        }
        self.transfers.begin(tag, drive, work);
    }

    /// Gives work to the storage that changes data. The records do not hold it any more; the array
    /// may.
    fn begin_change(&mut self, tag: u32, drive: DriveId, work: Work<M::Buffer>) {
        if let Purpose::Waiting(id) = self.transfers.get(tag).purpose {
            return self.waiting.set(id, Waited::Released(work));
        }
        if let Some(verifier) = &mut self.verifier {
            verifier.begin_change(self.pages.memory(), tag, drive, &work);
        }
        self.transfers.begin(tag, drive, work);
    }

    /// Changes bytes of a drive, for a stripe operation `op` or a command that drains the write
    /// cache, as soon as the records allow it.
    fn change(
        &mut self,
        drive: DriveId,
        work: Work<M::Buffer>,
        op: Option<OpId>,
        mut purpose: Purpose,
    ) -> u32 {
        let tag = self.transfers.book(purpose);
        if let Purpose::Waiting(id) = purpose {
            self.waiting.add(id, drive, tag);
        }
        let bytes = changed_bytes(&work);
        let Some(durability) = &mut self.durability else {
            self.begin_change(tag, drive, work);
            return tag;
        };
        if let Work::Write { buffer, .. } = &work
            && durability.is_journalled(drive)
            && self.pages.accept(tag, drive, bytes.clone(), buffer)
        {
            if let Purpose::Waiting(id) = purpose {
                self.waiting.set(id, Waited::Accepted);
            }
            purpose = Purpose::Cache;
            self.transfers.set_purpose(tag, purpose);
        }
        let wanted = WantedChange {
            drive,
            offset_bytes: bytes.start,
            length_bytes: bytes.end - bytes.start,
            joins: op.and_then(|op| self.pages.write_of(op)),
            cached: purpose == Purpose::Cache,
            change: HeldWork { tag, work },
        };
        let Handed { id, write } = durability.handle_change(self.now, wanted);
        self.transfers.set_io(tag, id);
        if let Some(op) = op {
            self.pages.set_write(op, write);
        }
        tag
    }

    /// Does what the durability machine says.
    fn pass_gate(&mut self) {
        while let Some(output) = self.durability.as_mut().and_then(Durability::poll_output) {
            match output {
                Gate::WriteHead { id, drive, offset_bytes, bytes } => {
                    let work = Work::WriteHead { offset_bytes, bytes };
                    self.record(drive, work, id);
                }
                Gate::Sync { id, drive, settles } => {
                    let verifier = self.verifier.as_mut().filter(|_| settles);
                    if verifier.is_none_or(|verifier| verifier.settle(drive, id)) {
                        self.record(drive, Work::Sync, id);
                    }
                }
                Gate::Release { drive, change: HeldWork { tag, work }, .. } => {
                    self.begin_change(tag, drive, work);
                }
                Gate::Cancel { change, .. } => self.cancel(change),
                Gate::Answer { answer } => self.notices.add(Notice::Answer(answer)),
                Gate::Refuse { answer } => self.notices.add(Notice::Refuse(answer)),
                Gate::FailDrive { drive, reason } => self.notices.fail_drive(drive, reason),
                Gate::Stop { reason } => self.notices.add(Notice::Stop(reason)),
                Gate::Ended { end } => self.notices.add(Notice::Ended(end)),
            }
        }
    }

    /// Does what the records need.
    fn record(&mut self, drive: DriveId, work: Work<M::Buffer>, id: IoId) {
        let tag = self.transfer(drive, work, Purpose::Record);
        self.transfers.set_io(tag, id);
    }

    /// A change is not made: its drive has failed.
    fn cancel(&mut self, change: HeldWork<M>) {
        let HeldWork { tag, work } = change;
        match self.transfers.end(tag).purpose {
            Purpose::Command(id) => self.commands.storage_ended(self.now, id, true, None),
            Purpose::Waiting(id) => self.waiting.set(id, Waited::Cancelled),
            _ => {}
        }
        self.pages.end_change(tag);
        if let Work::Write { buffer, .. } = work {
            self.pages.give(Some(buffer));
        }
    }

    /// The array sends a write that has waited at the host.
    fn send_waiting(&mut self, drive: DriveId, id: CommandId, waited: WaitingWrite<M::Buffer>) {
        let WaitingWrite { tag, state, .. } = waited;
        match state {
            Waited::Held => self.transfers.set_purpose(tag, Purpose::Command(id)),
            Waited::Released(work) => {
                self.transfers.set_purpose(tag, Purpose::Command(id));
                self.begin_change(tag, drive, work);
            }
            Waited::Accepted => self.end_storage(id, false, None),
            Waited::Cancelled => self.end_storage(id, true, None),
        }
    }

    /// The array has given a drive up, and sends none of the writes that wait for it.
    fn forget_waiting(&mut self, drive: DriveId) {
        for WaitingWrite { tag, state, .. } in self.waiting.drive_gone(drive) {
            match state {
                // The records cancel it.
                Waited::Held => self.transfers.set_purpose(tag, Purpose::Nobody),
                Waited::Released(work) => self.cancel(HeldWork { tag, work }),
                Waited::Accepted | Waited::Cancelled => {}
            }
        }
    }

    /// Has blocks of checksum tables read and written.
    #[inline]
    fn serve_tables(&mut self) {
        while let Some(verifier) = &mut self.verifier
            && let Some((key, era, work)) = verifier.next_table_work(self.pages.memory())
        {
            let tag = self.transfers.book(Purpose::Table(key, era));
            self.transfers.begin(tag, DriveId(key.drive), work);
        }
    }

    /// Reads what is in doubt, a little at a time.
    #[inline]
    fn recover(&mut self) {
        while let Some(verifier) = &mut self.verifier
            && let Some((drive, era, work)) = verifier.next_recovery(self.pages.memory())
        {
            self.transfer(drive, work, Purpose::Recovery(era));
        }
    }

    /// Has the storage do what a command says.
    fn begin_transfer(&mut self, drive: DriveId, command: &Command, target: Option<Target>) -> u32 {
        let offset_bytes = self.pages.offset_bytes(command.lba);
        let length_bytes = command.blocks as usize * self.pages.page_bytes();
        let purpose = Purpose::Command(command.id);
        match (command.opcode, target) {
            (Opcode::Read, _) => {
                let buffer = self.pages.take(length_bytes);
                let work = Work::Read { offset_bytes, length_bytes, buffer, pl: command.pl };
                self.transfer(drive, work, purpose)
            }
            (Opcode::Write, Some(Target { op, member })) => {
                self.store(drive, offset_bytes, op, member, purpose)
            }
            (Opcode::Write, None) => {
                let buffer = self.pages.drained(drive, command, length_bytes);
                let work = Work::Write { offset_bytes, length_bytes, buffer };
                self.change(drive, work, None, purpose)
            }
            (Opcode::Deallocate, Some(Target { op, .. })) => {
                let length_bytes = length_bytes as u64;
                let work = Work::Discard { offset_bytes, length_bytes };
                self.change(drive, work, Some(op), purpose)
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
        let NewRows { buffer, length_bytes, forced } = self.pages.new_rows(op, member);
        let work = Work::Write { offset_bytes, length_bytes, buffer };
        let tag = self.change(drive, work, Some(op), purpose);
        self.transfers.set_forced(tag, forced);
        tag
    }
}

/// The bytes of its drive that work changes.
fn changed_bytes<B>(work: &Work<B>) -> Range<u64> {
    let (offset_bytes, length_bytes) = match work {
        Work::Write { offset_bytes, length_bytes, .. } => (*offset_bytes, *length_bytes as u64),
        Work::Discard { offset_bytes, length_bytes } => (*offset_bytes, *length_bytes),
        Work::Read { .. } | Work::WriteHead { .. } | Work::Sync => {
            unreachable!("reads, records and syncs change no data")
        }
    };
    offset_bytes..offset_bytes + length_bytes
}
