//! The data plane of an array that serves: real pages, on storage that the driver brings.
//!
//! Bytes are at their logical addresses on each drive; a drive model gives timing only. A command
//! is answered when both its drive model and its storage have answered. A change of a drive's bytes
//! passes the [`Durability`] machine first, which brings to stable storage what must precede the
//! change.
//!
//! [`Bytes::poll_work`] returns the work for the storage, [`Bytes::poll_notice`] the answers to
//! clients and events for administrators.

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

/// A change of a drive's bytes that waits in the durability machine.
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

/// The data plane of an array that serves: a router between parts that own their state. See the
/// head of this file.
pub struct Bytes<M: Memory> {
    now: Instant,
    /// Requests of clients.
    requests: Requests<M>,
    /// Commands in flight and their completions.
    commands: Commands<M::Buffer>,
    /// Work of the storage that waits or is under way.
    transfers: Transfers<M::Buffer>,
    /// Writes that the array has yet to send.
    waiting: Waiting<M::Buffer>,
    /// Pages in memory.
    pages: Pages<M>,
    /// Comparison of data with checksums; `None` if there are no checksums.
    verifier: Option<Verifier<M::Buffer>>,
    /// Order of writes to stable storage; `None` for an array in memory, which keeps no records.
    durability: Option<Durability<HeldWork<M>>>,
    /// Outputs for clients, administrators and the array.
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

    /// Source of buffers.
    pub fn memory(&mut self) -> &mut M {
        self.pages.memory()
    }

    /// The records: superblock, write-intent record and journal; `None` for an array in memory.
    #[must_use]
    pub fn records(&self) -> Option<(&Superblock, &Intent, &Journal)> {
        let durability = self.durability.as_ref()?;
        Some((durability.superblock(), durability.intent(), durability.journal()))
    }

    /// Transitions of the records since the start; `None` for an array in memory.
    #[must_use]
    pub fn transitions(&self) -> Option<Transitions> {
        self.durability.as_ref().map(Durability::transitions)
    }

    /// Returns true if the records say that a drive has failed. True also for an array without
    /// records.
    #[must_use]
    pub fn is_failure_recorded(&self, drive: DriveId) -> bool {
        self.durability.as_ref().is_none_or(|durability| durability.is_failure_recorded(drive))
    }

    /// Generation that a clean shutdown will record, for state that belongs to it.
    #[must_use]
    pub fn end_generation(&self) -> Option<u64> {
        self.durability.as_ref().map(Durability::end_generation)
    }

    /// Number of comparisons that found wrong parity since [`Bytes::reset_mismatches`].
    #[must_use]
    pub fn mismatches(&self) -> u64 {
        self.notices.mismatches()
    }

    /// Resets the count of wrong parities when a scrub begins.
    pub fn reset_mismatches(&mut self) {
        self.notices.reset_mismatches();
    }

    /// Adds checksums to an array in memory. Call it before anything is read or written.
    pub fn set_checksums_in_memory(&mut self, width: usize) {
        self.verifier = Some(Verifier::new(ChecksumSetup::in_memory(), width));
    }

    /// Results of comparing data with checksums; `None` if there are no checksums.
    #[must_use]
    pub fn checksums(&self) -> Option<&ChecksumCounters> {
        self.verifier.as_ref().map(Verifier::counters)
    }

    /// Returns true if no checksum of a drive is in doubt, among those used so far. A crash or a
    /// torn table leaves checksums in doubt.
    #[must_use]
    pub fn is_verified(&self, drive: DriveId) -> bool {
        self.verifier.as_ref().is_some_and(|verifier| verifier.is_known(drive))
    }

    /// Returns true if no command is in flight, no record is being written, and nothing waits for
    /// either.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.commands.is_empty()
            && self.transfers.len()
                == self.verifier.as_ref().map_or(0, Verifier::recovering) as usize
            && self.durability.as_ref().is_none_or(Durability::is_idle)
    }

    /// Number of commands in flight.
    #[must_use]
    pub fn commands_in_flight(&self) -> usize {
        self.commands.len()
    }

    /// Time at which to call [`Bytes::handle_deadline`] if nothing else happens.
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

    /// Returns the next work for the storage.
    #[inline]
    pub fn poll_work(&mut self) -> Option<StorageWork<M::Buffer>> {
        self.transfers.next_work()
    }

    /// Returns the next notice for clients or administrators.
    #[inline]
    pub fn poll_notice(&mut self) -> Option<Notice> {
        self.notices.next()
    }

    /// Begins the repair of regions that were marked at the start. Their marks may be cleared when
    /// all their sums are known and parity is resynced. `resyncs` is true if a resync will run; its
    /// end reaches the plane.
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

    /// Returns true if the page has accepted data that is not in its place yet.
    #[must_use]
    pub fn is_accepted(&self, drive: DriveId, lba: Lba) -> bool {
        self.pages.is_accepted(drive, lba)
    }

    /// Gives [`Notice::Answer`] for `answer` when all that was answered before would survive a
    /// power cut.
    pub fn flush(&mut self, now: Instant, answer: Token) {
        match &mut self.durability {
            Some(durability) => durability.handle_flush(now, answer),
            None => self.notices.add(Notice::Answer(answer)),
        }
    }

    /// Returns true if a write may be answered as soon as it is done; otherwise [`Bytes::answer`]
    /// answers it later.
    #[must_use]
    pub fn answers_at_once(&self) -> bool {
        self.durability.as_ref().is_none_or(Durability::answers_at_once)
    }

    /// Answers a write that is done, as soon as the other drives have recorded every drive that
    /// lacks it.
    pub fn answer(&mut self, answer: Token) {
        match &mut self.durability {
            Some(durability) => durability.handle_answer(answer),
            None => self.notices.add(Notice::Answer(answer)),
        }
    }

    /// Ends all changes and records a clean shutdown. [`Notice::Ended`] follows.
    pub fn end(&mut self, now: Instant) {
        match &mut self.durability {
            Some(durability) => durability.handle_end(now),
            None => self.notices.add(Notice::Ended(End::Clean)),
        }
    }

    /// Checks the invariants that hold between any two steps.
    ///
    /// # Panics
    ///
    /// If an invariant does not hold: a bug.
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

/// Requests of clients.
impl<M: Memory> Bytes<M> {
    /// Takes a request of a client; [`Bytes::next_slice`] returns its first slice.
    pub fn begin_request(&mut self, token: Token, request: ByteRequest<M::Buffer>) {
        self.requests.begin(self.pages.memory(), token, request);
    }

    /// Returns the next slice of a request for the array; `None` if none can begin now.
    pub fn next_slice(&mut self, token: Token) -> Option<Request> {
        self.requests.next_slice(token)
    }

    /// Returns true if [`Bytes::next_slice`] would return a slice now.
    #[must_use]
    pub fn can_begin(&self, token: Token) -> bool {
        self.requests.can_begin(token)
    }

    /// Ends a slice of a request.
    pub fn end_slice(&mut self, outcome: &Outcome) -> EndedSlice {
        self.requests.end_slice(outcome)
    }

    /// Data of a read.
    ///
    /// # Panics
    ///
    /// If the request is no read.
    #[must_use]
    pub fn brought(&self, token: Token) -> &[u8] {
        self.requests.brought(token)
    }

    /// Ends a read. Returns its buffer, and the range of the requested bytes in it.
    ///
    /// # Panics
    ///
    /// If the request is no read.
    pub fn take_brought(&mut self, token: Token) -> (M::Buffer, Range<usize>) {
        self.requests.take_brought(token)
    }

    /// Ends a request that is answered.
    pub fn end_request(&mut self, token: Token) {
        self.requests.end(self.pages.memory(), token);
    }
}

/// Ends of storage work.
impl<M: Memory> Bytes<M> {
    /// Handles the end of storage work, which returns its buffer.
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

    /// Handles a flagged read that the storage failed fast. It would have waited for
    /// `busy_remaining`; zero means that the time is unknown. It has read no data. The driver keeps
    /// the buffer, and passes `None`, while something may still be written into it.
    pub fn handle_failed_fast(
        &mut self,
        now: Instant,
        tag: u32,
        busy_remaining: Duration,
        buffer: Option<M::Buffer>,
    ) {
        let Purpose::Command(id) = self.transfers.get(tag).purpose else {
            // Only array commands carry the flag; any other transfer is abandoned.
            return self.handle_storage(now, tag, IoResult::Failed, buffer);
        };
        self.now = now;
        self.transfers.end(tag);
        self.commands.failed_fast(now, id, busy_remaining);
        self.pages.give(buffer);
    }

    /// Ends storage work. Data of a read is compared before it counts.
    fn end_work(&mut self, tag: u32, result: IoResult, buffer: Option<M::Buffer>) {
        let Transfer { purpose, check, .. } = self.transfers.get(tag);
        let Some(verifier) = &mut self.verifier else {
            return self.end_transfer(tag, result, buffer);
        };
        if let Purpose::Table(key, era) = purpose {
            self.end_table(key, era, result, buffer.as_ref());
            // The work is over, whatever its result.
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

    /// Compares the data of a read with its checksums.
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

    /// Ends a read or a write of a block of a table.
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

    /// Ends storage work; the data of a read is right.
    fn end_transfer(&mut self, tag: u32, result: IoResult, buffer: Option<M::Buffer>) {
        let now = self.now;
        let Transfer { purpose, io, forced, .. } = self.transfers.end(tag);
        self.pages.end_change(tag);
        if let (Some(durability), Some(io)) = (&mut self.durability, io) {
            durability.handle_io_ended(now, io, result);
        }
        match purpose {
            // The array has stopped: the result of the command is unknown until it starts again.
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

    /// Syncs after the write of a forced command, before the command ends.
    fn sync_after(&mut self, id: CommandId) {
        let Some(drive) = self.commands.drive_of(id) else { return };
        let sync = self.transfer(drive, Work::Sync, Purpose::Forced(id));
        self.commands.goes_on(id, sync);
    }

    /// Ends the sync of a forced command. If the storage had no room, the array has stopped.
    fn end_forced(&mut self, id: CommandId, result: IoResult) {
        let Some(drive) = self.commands.drive_of(id) else { return };
        self.fail_io(drive, FailReason::Sync, result);
        if result != IoResult::NoRoom || self.durability.is_none() {
            self.end_storage(id, result != IoResult::Done, None);
        }
    }

    /// Passes the result of storage work that is not of the records to them. If it failed, they
    /// give up the drive.
    fn fail_io(&mut self, drive: DriveId, reason: FailReason, result: IoResult) {
        if let Some(durability) = &mut self.durability {
            durability.handle_io_failed(self.now, drive, reason, result);
        }
    }

    /// Ends the storage's work on a command.
    fn end_storage(&mut self, id: CommandId, failed: bool, mut buffer: Option<M::Buffer>) {
        if let Some(rows) = self.commands.take_accepted(id) {
            if let Some(buffer) = &mut buffer {
                self.pages.overlay(rows, buffer);
            }
            self.commands.storage_ended(self.now, id, failed, buffer);
        }
    }

    /// Clears the marks that were found at the start, once all is done for that.
    fn free_marks(&mut self) {
        if self.verifier.as_mut().is_some_and(Verifier::free_marks)
            && let Some(durability) = &mut self.durability
        {
            durability.handle_parity_resynced(self.now);
        }
    }

    /// Ends the checks that wait for the checksums of a failed drive.
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

/// Work for the storage of drives.
impl<M: Memory> Bytes<M> {
    /// Gives the storage work that changes nothing.
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

    /// Gives the storage work that changes data. The records have released it, but the array may
    /// still hold it back.
    fn begin_change(&mut self, tag: u32, drive: DriveId, work: Work<M::Buffer>) {
        if let Purpose::Waiting(id) = self.transfers.get(tag).purpose {
            return self.waiting.set(id, Waited::Released(work));
        }
        if let Some(verifier) = &mut self.verifier {
            verifier.begin_change(self.pages.memory(), tag, drive, &work);
        }
        self.transfers.begin(tag, drive, work);
    }

    /// Changes bytes of a drive as soon as the records allow it. `op` is the stripe operation, or
    /// `None` for a command that drains the write cache.
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

    /// Carries out the outputs of the durability machine.
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

    /// Begins storage work for the records.
    fn record(&mut self, drive: DriveId, work: Work<M::Buffer>, id: IoId) {
        let tag = self.transfer(drive, work, Purpose::Record);
        self.transfers.set_io(tag, id);
    }

    /// Cancels a change of a drive that has failed.
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

    /// Sends a write that has waited at the host.
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

    /// Drops the waiting writes of a failed drive.
    fn forget_waiting(&mut self, drive: DriveId) {
        for WaitingWrite { tag, state, .. } in self.waiting.drive_gone(drive) {
            match state {
                // The records cancel the write.
                Waited::Held => self.transfers.set_purpose(tag, Purpose::Nobody),
                Waited::Released(work) => self.cancel(HeldWork { tag, work }),
                Waited::Accepted | Waited::Cancelled => {}
            }
        }
    }

    /// Reads and writes blocks of checksum tables.
    #[inline]
    fn serve_tables(&mut self) {
        while let Some(verifier) = &mut self.verifier
            && let Some((key, era, work)) = verifier.next_table_work(self.pages.memory())
        {
            let tag = self.transfers.book(Purpose::Table(key, era));
            self.transfers.begin(tag, DriveId(key.drive), work);
        }
    }

    /// Reads blocks with doubtful sums, a few at a time.
    #[inline]
    fn recover(&mut self) {
        while let Some(verifier) = &mut self.verifier
            && let Some((drive, era, work)) = verifier.next_recovery(self.pages.memory())
        {
            self.transfer(drive, work, Purpose::Recovery(era));
        }
    }

    /// Begins the storage's work on a command.
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

/// Returns the bytes of its drive that work changes.
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
