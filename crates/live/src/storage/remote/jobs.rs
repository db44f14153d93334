//! Commands of the storage for a drive on the network: cut into what the drive takes at once, tried
//! again where it says so, and over when all parts are.

use super::super::command::{Ending, Work};
use super::super::disk::DATA_OFFSET_BYTES;
use crate::buffer::Buffer;
use nvme::PlFlag;
use nvme::initiator::{CommandData, DriveFacts};
use nvme::wire::ioda::FastFail;
use nvme::wire::{
    BlockCount, BlockRange, CommonFields, CompletionEntry, IoCommand, SglDescriptor, StatusCode,
    StatusField, SubmissionEntry, Transfer, WriteZeroes,
};
use std::collections::VecDeque;
use std::io;
use units::{Duration, Instant};

/// So often a part is sent again that the drive could not do at the moment.
const RETRIES: u8 = 5;
/// How long that is waited for if the drive does not say.
const RETRY_AFTER: Duration = Duration::from_millis(10);

/// What a job does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum TransferKind {
    Read(PlFlag),
    Write,
    /// A write that is on stable storage when it is done.
    WriteStable,
    Sync,
    /// The bytes become zero.
    Zero,
}

/// A part of a job, as one command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Piece {
    job: u32,
    /// Where it begins, from the start of the job.
    offset_bytes: u64,
    length_bytes: u64,
    retries: u8,
}

#[derive(Debug)]
struct DriveJob {
    tag: u64,
    kind: TransferKind,
    /// Where it begins on the namespace.
    start_bytes: u64,
    length_bytes: u64,
    /// Bytes that were cut into parts.
    cut_bytes: u64,
    /// Whether nothing is left to be cut. A sync is one part without bytes.
    is_cut: bool,
    /// Parts that are not over.
    out: u32,
    buffer: Option<Buffer>,
    error: Option<io::Error>,
    /// Some part failed fast: for how long it would have waited.
    busy_remaining: Option<Duration>,
    /// Of a sync, changes that were done when it was sent.
    covers: u64,
    /// It was answered before it was over, because it took long: nobody waits for it any more.
    is_answered: bool,
    /// Differs for every job.
    serial: u64,
}

/// A job that is over.
#[derive(Debug)]
pub(in crate::storage) struct Ended {
    pub(in crate::storage) tag: u64,
    pub(in crate::storage) buffer: Option<Buffer>,
    pub(in crate::storage) result: io::Result<Ending>,
}

/// All of them.
#[derive(Debug)]
pub(super) struct Jobs {
    /// By their number.
    jobs: Vec<Option<DriveJob>>,
    /// Numbers that are free.
    free: Vec<u32>,
    /// Jobs that are not cut to their end.
    waiting: VecDeque<u32>,
    /// Parts that are sent again, not before some time.
    again: VecDeque<(Instant, Piece)>,
    /// When jobs have taken too long, in the order in which they came.
    deadlines: VecDeque<(Instant, u32, u64)>,
    /// When reads that may fail fast are answered without their data.
    patience: VecDeque<(Instant, u32, u64)>,
    ended: VecDeque<Ended>,
    /// Jobs that were answered and are not over.
    answered: usize,
    /// Changes that were done, but for those that are stable when they are.
    changes: u64,
    /// How many of them a sync has covered.
    stable: u64,
    zeros: Vec<u8>,
    /// Jobs that were taken so far.
    serial: u64,
}

impl Jobs {
    pub(super) fn new() -> Self {
        Self {
            jobs: Vec::new(),
            free: Vec::new(),
            waiting: VecDeque::new(),
            again: VecDeque::new(),
            deadlines: VecDeque::new(),
            patience: VecDeque::new(),
            ended: VecDeque::new(),
            answered: 0,
            changes: 0,
            stable: 0,
            zeros: Vec::new(),
            serial: 0,
        }
    }

    /// Jobs that are not over, or not taken.
    pub(super) fn len(&self) -> usize {
        self.jobs.len() - self.free.len() - self.answered + self.ended.len()
    }

    /// Whether something is over that was not taken.
    pub(super) fn has_ended(&self) -> bool {
        !self.ended.is_empty()
    }

    pub(super) fn poll(&mut self) -> Option<Ended> {
        self.ended.pop_front()
    }

    /// Takes a command of the storage. It is to be over at `deadline`; a read that may fail fast is
    /// answered without its data at `patience`.
    pub(super) fn submit(&mut self, tag: u64, patience: Instant, deadline: Instant, work: Work) {
        let (kind, start_bytes, length_bytes, buffer) = match work {
            Work::Read { offset_bytes, buffer, length_bytes, pl } => {
                let start_bytes = DATA_OFFSET_BYTES + offset_bytes;
                (TransferKind::Read(pl), start_bytes, length_bytes as u64, Some(buffer))
            }
            Work::Write { offset_bytes, buffer, length_bytes } => (
                TransferKind::Write,
                DATA_OFFSET_BYTES + offset_bytes,
                length_bytes as u64,
                Some(buffer),
            ),
            Work::WriteHead { offset_bytes, buffer, length_bytes } => {
                (TransferKind::WriteStable, offset_bytes, length_bytes as u64, Some(buffer))
            }
            Work::Sync => (TransferKind::Sync, 0, 0, None),
            Work::Discard { offset_bytes, length_bytes } => {
                (TransferKind::Zero, DATA_OFFSET_BYTES + offset_bytes, length_bytes, None)
            }
        };
        let number = self.insert(tag, deadline, kind, start_bytes, length_bytes, buffer);
        if let (TransferKind::Read(PlFlag::Predictable | PlFlag::Patient), Some((number, serial))) =
            (kind, number)
        {
            self.patience.push_back((patience, number, serial));
        }
    }

    /// A read of the namespace, wherever it is.
    pub(super) fn read_at(
        &mut self,
        deadline: Instant,
        start_bytes: u64,
        length_bytes: u64,
        buffer: Buffer,
    ) {
        let kind = TransferKind::Read(PlFlag::Off);
        self.insert(0, deadline, kind, start_bytes, length_bytes, Some(buffer));
    }

    /// A write of the namespace, wherever it is.
    pub(super) fn write_at(&mut self, deadline: Instant, start_bytes: u64, buffer: Buffer) {
        self.insert(
            0,
            deadline,
            TransferKind::Write,
            start_bytes,
            buffer.len() as u64,
            Some(buffer),
        );
    }

    /// A command for which there is nothing to do.
    pub(super) fn end_now(&mut self, tag: u64) {
        self.ended.push_back(Ended { tag, buffer: None, result: Ok(Ending::Done) });
    }

    /// A command that is not begun.
    pub(super) fn refuse(&mut self, tag: u64, buffer: Option<Buffer>, error: io::Error) {
        self.ended.push_back(Ended { tag, buffer, result: Err(error) });
    }

    /// All jobs have time until then: what kept them was no fault of the drive.
    pub(super) fn postpone(&mut self, deadline: Instant) {
        self.deadlines.clear();
        let numbered = (0..).zip(&self.jobs);
        let there = numbered.filter_map(|(number, job)| Some((number, job.as_ref()?.serial)));
        self.deadlines.extend(there.map(|(number, serial)| (deadline, number, serial)));
    }

    fn insert(
        &mut self,
        tag: u64,
        deadline: Instant,
        kind: TransferKind,
        start_bytes: u64,
        length_bytes: u64,
        buffer: Option<Buffer>,
    ) -> Option<(u32, u64)> {
        if length_bytes == 0 && kind != TransferKind::Sync {
            self.ended.push_back(Ended { tag, buffer, result: Ok(Ending::Done) });
            return None;
        }
        self.serial += 1;
        let (cut_bytes, out, error, serial) = (0, 0, None, self.serial);
        let is_cut = false;
        let job = Some(DriveJob {
            tag,
            kind,
            start_bytes,
            length_bytes,
            cut_bytes,
            is_cut,
            out,
            buffer,
            error,
            busy_remaining: None,
            covers: 0,
            is_answered: false,
            serial,
        });
        let number = match self.free.pop() {
            Some(number) => {
                self.jobs[number as usize] = job;
                number
            }
            None => {
                self.jobs.push(job);
                (self.jobs.len() - 1) as u32
            }
        };
        self.waiting.push_back(number);
        self.deadlines.push_back((deadline, number, serial));
        Some((number, serial))
    }

    fn get(&self, number: u32) -> Option<&DriveJob> {
        self.jobs.get(number as usize)?.as_ref()
    }

    fn get_mut(&mut self, number: u32) -> Option<&mut DriveJob> {
        self.jobs.get_mut(number as usize)?.as_mut()
    }

    /// When a job has taken too long, a read is to be answered without its data, or a part is to be
    /// sent again.
    pub(super) fn next_deadline(&mut self, now: Instant) -> Instant {
        // What may be sent already waits for room, or for the drive.
        let later = self.again.iter().map(|(at, _)| *at).filter(|at| *at > now);
        let again = later.min().unwrap_or(Instant::NEVER);
        let late = first(&mut self.deadlines, &self.jobs);
        late.min(first(&mut self.patience, &self.jobs)).min(again)
    }

    /// Answers reads that may fail fast and have taken long. Their buffers stay until the drive has
    /// answered.
    pub(super) fn answer_late_reads(&mut self, now: Instant) {
        while first(&mut self.patience, &self.jobs) <= now {
            let Some((_, number, _)) = self.patience.pop_front() else { return };
            let Some(job) = self.get_mut(number) else { continue };
            job.is_answered = true;
            let tag = job.tag;
            let result = Ok(Ending::FailedFast { busy_remaining: Duration::ZERO });
            self.answered += 1;
            self.ended.push_back(Ended { tag, buffer: None, result });
        }
    }

    /// Whether a job has taken too long.
    pub(super) fn is_late(&mut self, now: Instant) -> bool {
        first(&mut self.deadlines, &self.jobs) <= now
    }

    /// The next command to send.
    pub(super) fn next_piece(
        &mut self,
        now: Instant,
        facts: &DriveFacts,
    ) -> Option<(Piece, SubmissionEntry, CommandData)> {
        let due = self.again.iter().position(|(at, _)| *at <= now);
        let piece = match due.and_then(|position| self.again.remove(position)) {
            Some((_, piece)) => piece,
            None => self.cut(facts)?,
        };
        let job = self.get(piece.job)?;
        let (entry, data) = command(job, &piece, facts);
        Some((piece, entry, data))
    }

    /// Cuts the next part off a job.
    fn cut(&mut self, facts: &DriveFacts) -> Option<Piece> {
        let number = *self.waiting.front()?;
        let changes = self.changes;
        let job = self.get_mut(number)?;
        job.covers = changes;
        let left = job.length_bytes - job.cut_bytes;
        let length_bytes = left.min(facts.transfer_max_bytes.into());
        let (offset_bytes, retries) = (job.cut_bytes, 0);
        job.cut_bytes += length_bytes;
        job.is_cut = job.cut_bytes == job.length_bytes;
        job.out += 1;
        let (is_cut, needs_zeros) =
            (job.is_cut, job.kind == TransferKind::Zero && !facts.write_zeroes);
        if is_cut {
            self.waiting.pop_front();
        }
        if needs_zeros && self.zeros.is_empty() {
            self.zeros = vec![0; facts.transfer_max_bytes as usize];
        }
        Some(Piece { job: number, offset_bytes, length_bytes, retries })
    }

    /// Data of a part that go to the drive.
    pub(super) fn data(&self, piece: &Piece, from: usize, bytes: usize) -> &[u8] {
        let at = piece.offset_bytes as usize + from;
        match self.get(piece.job).and_then(|job| job.buffer.as_ref()) {
            Some(buffer) => &buffer.bytes()[at..][..bytes],
            None => &self.zeros[..bytes],
        }
    }

    /// Data of a part have come.
    pub(super) fn fill(&mut self, piece: &Piece, at: usize, bytes: &[u8]) {
        let at = piece.offset_bytes as usize + at;
        if let Some(buffer) = self.get_mut(piece.job).and_then(|job| job.buffer.as_mut()) {
            buffer.bytes_mut()[at..][..bytes.len()].copy_from_slice(bytes);
        }
    }

    /// A part is over.
    pub(super) fn end_piece(
        &mut self,
        now: Instant,
        piece: Piece,
        completion: &CompletionEntry,
        facts: &DriveFacts,
    ) {
        let status = completion.status;
        if status.is_success() {
            match self.get(piece.job).map(|job| (job.kind, job.covers)) {
                Some((TransferKind::Write | TransferKind::Zero, _)) => self.changes += 1,
                Some((TransferKind::Sync, covers)) => self.stable = self.stable.max(covers),
                _ => {}
            }
            return self.over(piece.job, None);
        }
        let may_fail_fast = matches!(
            self.get(piece.job).map(|job| job.kind),
            Some(TransferKind::Read(PlFlag::Predictable | PlFlag::Patient))
        );
        let interrupted = (status.code() == Some(StatusCode::Interrupted))
            .then(|| named_delay(status, facts))
            .flatten();
        let failed_fast = FastFail::decode(completion).map(|failed| failed.busy_remaining());
        if let Some(busy_remaining) = failed_fast.or(interrupted).filter(|_| may_fail_fast) {
            if let Some(job) = self.get_mut(piece.job) {
                let longest = job.busy_remaining.unwrap_or(Duration::ZERO).max(busy_remaining);
                job.busy_remaining = Some(longest);
            }
            return self.over(piece.job, None);
        }
        if !status.is_for_good() && piece.retries < RETRIES {
            let at = now + named_delay(status, facts).unwrap_or(RETRY_AFTER);
            let retries = piece.retries + 1;
            return self.again.push_back((at, Piece { retries, ..piece }));
        }
        self.over(piece.job, Some(error_of(status)));
    }

    /// Whether a part changes what is on the drive.
    pub(super) fn is_change(&self, piece: &Piece) -> bool {
        let kind = self.get(piece.job).map(|job| job.kind);
        matches!(kind, Some(TransferKind::Write | TransferKind::WriteStable | TransferKind::Zero))
    }

    /// Whether something was written that a drive with a volatile cache may lose with its power.
    pub(super) const fn has_unstable(&self) -> bool {
        self.changes > self.stable
    }

    /// A part was not sent, or nobody knows what became of it: it is sent again.
    pub(super) fn lose_piece(&mut self, piece: Piece) {
        self.again.push_front((Instant::ZERO, piece));
    }

    fn over(&mut self, number: u32, error: Option<io::Error>) {
        let Some(job) = self.get_mut(number) else { return };
        job.out -= 1;
        if job.error.is_none() {
            job.error = error;
        }
        let (is_cut, has_failed) = (job.is_cut, job.error.is_some());
        if job.out > 0 || !is_cut && !has_failed {
            return;
        }
        if !is_cut {
            // The rest of what failed is not begun.
            self.waiting.retain(|&waiting| waiting != number);
        }
        if let Some(job) = self.jobs[number as usize].take() {
            self.free.push(number);
            if job.is_answered {
                self.answered -= 1;
                return;
            }
            let ending = match job.busy_remaining {
                Some(busy_remaining) => Ending::FailedFast { busy_remaining },
                None => Ending::Done,
            };
            let result = job.error.map_or(Ok(ending), Err);
            self.ended.push_back(Ended { tag: job.tag, buffer: job.buffer, result });
        }
    }

    /// Nothing of them will be done any more.
    pub(super) fn fail_all(&mut self, kind: io::ErrorKind, why: &str) {
        self.waiting.clear();
        self.again.clear();
        self.deadlines.clear();
        self.patience.clear();
        self.free.clear();
        self.answered = 0;
        for job in self.jobs.drain(..).flatten().filter(|job| !job.is_answered) {
            let result = Err(io::Error::new(kind, why));
            self.ended.push_back(Ended { tag: job.tag, buffer: job.buffer, result });
        }
    }
}

/// When the first of these jobs is due that is not over and not answered.
fn first(due: &mut VecDeque<(Instant, u32, u64)>, jobs: &[Option<DriveJob>]) -> Instant {
    while let Some(&(at, number, serial)) = due.front() {
        match jobs.get(number as usize) {
            Some(Some(job)) if job.serial == serial => return at,
            _ => due.pop_front(),
        };
    }
    Instant::NEVER
}

/// After which delay the drive wants to be asked again, if it names one.
fn named_delay(status: StatusField, facts: &DriveFacts) -> Option<Duration> {
    let number = usize::from(status.retry_delay()).checked_sub(1)?;
    facts.retry_delays.get(number).copied()
}

/// The command of a part.
fn command(job: &DriveJob, piece: &Piece, facts: &DriveFacts) -> (SubmissionEntry, CommandData) {
    let common = CommonFields { cid: 0, nsid: facts.nsid, data: SglDescriptor::NO_DATA };
    let blocks = (piece.length_bytes >> facts.block_shift) as u32;
    let lba = (job.start_bytes + piece.offset_bytes) >> facts.block_shift;
    let Some(blocks) = BlockCount::new(blocks) else {
        // Only a sync has none.
        return (IoCommand::Flush.encode(common), CommandData::None);
    };
    let range = BlockRange { lba, blocks };
    let bytes = piece.length_bytes as u32;
    let transfer = Transfer::new(range);
    let (command, data) = match job.kind {
        TransferKind::Read(pl) => {
            // Others do not know the flag, and need not see it.
            let pl = if facts.ioda.is_some() { pl } else { PlFlag::Off };
            (IoCommand::Read(Transfer { pl, ..transfer }), CommandData::ToHost { bytes })
        }
        TransferKind::Zero if facts.write_zeroes => {
            let (deallocate, force_unit_access, limited_retry) = (true, false, false);
            let zeroes = WriteZeroes { range, deallocate, force_unit_access, limited_retry };
            (IoCommand::WriteZeroes(zeroes), CommandData::None)
        }
        TransferKind::WriteStable => {
            let transfer = Transfer { force_unit_access: true, ..transfer };
            (IoCommand::Write(transfer), CommandData::ToController { bytes })
        }
        TransferKind::Write | TransferKind::Zero => {
            (IoCommand::Write(transfer), CommandData::ToController { bytes })
        }
        TransferKind::Sync => (IoCommand::Flush, CommandData::None),
    };
    (command.encode(common), data)
}

/// The error of the system that a status is like.
fn error_of(status: StatusField) -> io::Error {
    let kind = match status.code() {
        Some(StatusCode::CapacityExceeded) => io::ErrorKind::StorageFull,
        Some(StatusCode::WriteProtected) => io::ErrorKind::ReadOnlyFilesystem,
        _ => io::ErrorKind::Other,
    };
    let what = status.code().map_or("a status without a name", StatusCode::label);
    io::Error::new(kind, format!("the drive says {what} ({:#06x})", status.bits()))
}
