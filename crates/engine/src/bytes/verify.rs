//! Data on their way to and from storage, and their checksums.
//!
//! What a read has brought is compared before the array hears of it; what does not fit is a read
//! that failed. What is written is summed when it goes to its drive: below the write gate, so that
//! the order of sums is that of the data.

use super::{Bytes, Purpose, StorageWork, Transfer, Work};
use crate::checksums::{
    ChecksumCounters, ChecksumSetup, Checksums, Key, SUMMED_BYTES, Stamp, TableIo, Verdict, crc32c,
};
use crate::durability::{IoId, IoResult, MemberState};
use crate::memory::Memory;
use crate::planted::Bug;
use alloc::vec;
use alloc::vec::Vec;
use array::{FailReason, Happening};
use core::ops::Range;
use nvme::PlFlag;
use units::DriveId;

/// What a read is to be compared with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Check {
    drive: DriveId,
    offset_bytes: u64,
    length_bytes: usize,
    since: Stamp,
}

/// A read that has ended and waits for its checksums.
#[derive(Debug)]
struct Held<B> {
    tag: u32,
    drive: DriveId,
    buffer: B,
}

/// The checksums of an array, and what waits for them.
#[derive(Debug)]
pub(super) struct Verifier<B> {
    sums: Checksums,
    /// The sum of a block of zeros.
    zero_sum: u32,
    held: Vec<Held<B>>,
    /// Syncs that wait until changed checksums of their drive are written.
    syncs: Vec<(DriveId, IoId)>,
    /// How many drives have been in each place before.
    eras: Vec<u32>,
    /// Reads that are out so that sums are known.
    recovering: u32,
    /// Of marks that were found at the start, what has yet to be done before they may be taken
    /// back.
    marks: Marks,
}

/// See [`Verifier`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Marks {
    /// Nothing.
    Free,
    /// Sums are to be known, and parity to be resynced unless that is done.
    Held { resynced: bool },
}

/// Reads at a time so that sums are known.
const RECOVERY_DEPTH: u32 = 4;
/// Blocks of such a read.
const RECOVERY_BLOCKS: u64 = 64;

impl<B> Verifier<B> {
    pub(super) fn new(setup: ChecksumSetup, width: usize) -> Self {
        Self {
            sums: Checksums::new(setup),
            zero_sum: crc32c(&[0; SUMMED_BYTES]),
            held: Vec::new(),
            syncs: Vec::new(),
            eras: vec![0; width],
            recovering: 0,
            marks: Marks::Free,
        }
    }

    pub(super) fn counters(&self) -> &ChecksumCounters {
        self.sums.counters()
    }

    pub(super) fn drive_replaced(&mut self, drive: DriveId) {
        self.sums.drive_replaced(drive);
    }

    pub(super) fn drive_returned(&mut self, drive: DriveId) {
        self.sums.drive_returned(drive);
    }

    /// Reads that are out so that sums are known: nobody else waits for them.
    pub(super) fn recovering(&self) -> u32 {
        self.recovering
    }

    pub(super) fn is_known(&self, drive: DriveId) -> bool {
        self.sums.is_known(drive)
    }

    pub(super) fn check_invariants(&self) {
        self.sums.check_invariants();
    }
}

fn blocks(offset_bytes: u64, length_bytes: u64) -> Range<u64> {
    let block = SUMMED_BYTES as u64;
    offset_bytes / block..(offset_bytes + length_bytes) / block
}

impl<M: Memory> Bytes<M> {
    /// A read begins.
    #[inline]
    pub(super) fn begin_check(&mut self, tag: u32, drive: DriveId, work: &Work<M::Buffer>) {
        if let Some(verifier) = &mut self.verifier
            && let Work::Read { offset_bytes, length_bytes, .. } = *work
        {
            let since = verifier.sums.begin_read(drive, blocks(offset_bytes, length_bytes as u64));
            let check = Check { drive, offset_bytes, length_bytes, since };
            self.transfers.get_mut(tag).check = Some(check);
        }
    }

    /// A change of data goes to its drive.
    #[inline]
    pub(super) fn begin_summing(&mut self, tag: u32, drive: DriveId, work: &Work<M::Buffer>) {
        let Some(verifier) = &mut self.verifier else { return };
        let zero_sum = verifier.zero_sum;
        let memory = self.memory.memory();
        let (blocks, sums) = match work {
            Work::Write { offset_bytes, length_bytes, buffer } => {
                let data = M::bytes(buffer)[..*length_bytes].chunks_exact(SUMMED_BYTES);
                let sums = data.map(|block| memory.checksum(block) ^ zero_sum).collect();
                (blocks(*offset_bytes, *length_bytes as u64), Some(sums))
            }
            Work::Discard { .. } if verifier.sums.planted().has(Bug::TrimSumsForgotten) => return,
            Work::Discard { offset_bytes, length_bytes } => {
                (blocks(*offset_bytes, *length_bytes), None)
            }
            Work::Read { .. } | Work::WriteHead { .. } | Work::Sync => return,
        };
        verifier.sums.begin_change(tag, drive, blocks, sums);
    }

    /// Something has ended at the storage. Gives it back, as it counts for the array, unless it is
    /// to wait or to be repeated.
    pub(super) fn verify_ended(
        &mut self,
        tag: u32,
        purpose: Purpose,
        check: Option<Check>,
        result: IoResult,
        buffer: Option<M::Buffer>,
    ) -> Option<(IoResult, Option<M::Buffer>)> {
        let Some(verifier) = &mut self.verifier else { return Some((result, buffer)) };
        if let Purpose::Table(key, era) = purpose {
            if verifier.eras[usize::from(key.drive)] == era {
                self.end_table_io(key, result, buffer.as_ref());
            }
            // The work is over, whatever came of it.
            return Some((IoResult::Done, buffer));
        }
        verifier.sums.end_change(tag, result == IoResult::Done);
        if let Purpose::Recovery(era) = purpose
            && result != IoResult::Done
        {
            self.end_recovery(check, era, false);
            return Some((result, buffer));
        }
        let is_wanted = !matches!(purpose, Purpose::Nobody) && result == IoResult::Done;
        match (check.filter(|_| is_wanted), buffer) {
            (Some(check), Some(buffer)) => self.verify(tag, check, buffer),
            (_, buffer) => Some((result, buffer)),
        }
    }

    /// Compares what a read has brought with its checksums.
    fn verify(
        &mut self,
        tag: u32,
        check: Check,
        buffer: M::Buffer,
    ) -> Option<(IoResult, Option<M::Buffer>)> {
        let Check { drive, offset_bytes, length_bytes, since } = check;
        let verifier = self.verifier.as_mut()?;
        let (memory, zero_sum) = (self.memory.memory(), verifier.zero_sum);
        let sum = |block: &[u8]| memory.checksum(block) ^ zero_sum;
        let data = &M::bytes(&buffer)[..length_bytes];
        let first = offset_bytes / SUMMED_BYTES as u64;
        let verdict = if length_bytes == SUMMED_BYTES {
            verifier.sums.verify(drive, first, &[sum(data)], since)
        } else {
            let found: Vec<u32> = data.chunks_exact(SUMMED_BYTES).map(sum).collect();
            verifier.sums.verify(drive, first, &found, since)
        };
        match verdict {
            Verdict::Fits => {
                if let Purpose::Recovery(era) = self.transfers.get(tag).purpose {
                    self.end_recovery(Some(check), era, true);
                }
                Some((IoResult::Done, Some(buffer)))
            }
            Verdict::Wrong(_) if verifier.sums.planted().has(Bug::MismatchServed) => {
                Some((IoResult::Done, Some(buffer)))
            }
            Verdict::Waits => {
                verifier.held.push(Held { tag, drive, buffer });
                None
            }
            Verdict::Again => {
                let work = Work::Read { offset_bytes, length_bytes, buffer, pl: PlFlag::Off };
                self.begin_check(tag, drive, &work);
                self.works.push_back(StorageWork { tag, drive, work });
                None
            }
            Verdict::Wrong(block) => {
                if let Purpose::Recovery(era) = self.transfers.get(tag).purpose {
                    // What is known to be wrong is known.
                    self.end_recovery(Some(check), era, true);
                }
                let offset_bytes = block * SUMMED_BYTES as u64;
                let happening = Happening::ChecksumMismatch { drive, offset_bytes };
                self.notices.push_back(super::Notice::Happened(happening));
                Some((IoResult::Failed, Some(buffer)))
            }
        }
    }

    /// A block of a table was read or written.
    fn end_table_io(&mut self, key: Key, result: IoResult, buffer: Option<&M::Buffer>) {
        let Some(verifier) = &mut self.verifier else { return };
        let drive = DriveId(key.drive);
        if let Some(buffer) = buffer.filter(|_| verifier.sums.is_fetching(key)) {
            if result != IoResult::Done && verifier.sums.read_again(key) {
                return;
            }
            let block = &M::bytes(buffer)[..SUMMED_BYTES];
            verifier.sums.table_read(key, Some(block).filter(|_| result == IoResult::Done));
            let is_its = |held: &mut Held<M::Buffer>| held.drive == drive;
            let held: Vec<_> = verifier.held.extract_if(.., is_its).collect();
            for Held { tag, buffer, .. } in held {
                let Transfer { purpose, check, .. } = *self.transfers.get(tag);
                let result = IoResult::Done;
                if let Some((result, buffer)) =
                    self.verify_ended(tag, purpose, check, result, Some(buffer))
                {
                    self.end_transfer(tag, result, buffer);
                }
            }
        } else if result == IoResult::Done {
            if verifier.sums.table_written(key) {
                self.sync_settled(drive);
            }
        } else if let Some(durability) = &mut self.durability {
            durability.handle_io_failed(self.now, drive, FailReason::Checksums, result);
        }
    }

    /// All checksums of a drive are written for which syncs have waited.
    fn sync_settled(&mut self, drive: DriveId) {
        let Some(verifier) = &mut self.verifier else { return };
        let ready: Vec<_> = verifier.syncs.extract_if(.., |(other, _)| *other == drive).collect();
        for (drive, id) in ready {
            self.transfer(drive, Work::Sync, Purpose::Record(id));
        }
    }

    /// A drive is to be synced, checksums included. Returns whether that can be done at once.
    pub(super) fn is_settled(&mut self, drive: DriveId, id: IoId) -> bool {
        let Some(verifier) = &mut self.verifier else { return true };
        let is_settled = verifier.sums.settle(drive);
        if !is_settled {
            verifier.syncs.push((drive, id));
        }
        is_settled
    }

    /// Has blocks of tables read and written.
    #[inline]
    pub(super) fn serve_tables(&mut self) {
        while let Some(verifier) = &mut self.verifier
            && let Some(io) = verifier.sums.poll_io()
        {
            let length_bytes = SUMMED_BYTES;
            let mut buffer = self.memory.memory().take(length_bytes);
            let (key, work) = match io {
                TableIo::Read(key) => {
                    let offset_bytes = verifier.sums.offset_bytes(key);
                    (key, Work::Read { offset_bytes, length_bytes, buffer, pl: PlFlag::Off })
                }
                TableIo::Write(key, sums) => {
                    let block = &mut M::bytes_mut(&mut buffer)[..length_bytes];
                    verifier.sums.encode(key, &sums, block);
                    let offset_bytes = verifier.sums.offset_bytes(key);
                    (key, Work::Write { offset_bytes, length_bytes, buffer })
                }
            };
            let drive = DriveId(key.drive);
            let era = verifier.eras[drive.index()];
            let tag = self.book(Purpose::Table(key, era));
            self.works.push_back(StorageWork { tag, drive, work });
        }
    }

    /// Reads what is in doubt, a little at a time.
    #[inline]
    pub(super) fn recover(&mut self) {
        while let Some(verifier) = &mut self.verifier
            && verifier.recovering < RECOVERY_DEPTH
            && let Some((drive, blocks)) = verifier.sums.next_to_recover(RECOVERY_BLOCKS)
        {
            verifier.recovering += 1;
            let era = verifier.eras[drive.index()];
            let offset_bytes = blocks.start * SUMMED_BYTES as u64;
            let length_bytes = (blocks.end - blocks.start) as usize * SUMMED_BYTES;
            let buffer = self.memory.memory().take(length_bytes);
            let work = Work::Read { offset_bytes, length_bytes, buffer, pl: PlFlag::Off };
            self.transfer(drive, work, Purpose::Recovery(era));
        }
    }

    /// A read is over that was to make sums known.
    fn end_recovery(&mut self, check: Option<Check>, era: u32, read: bool) {
        let (Some(verifier), Some(check)) = (&mut self.verifier, check) else { return };
        verifier.recovering -= 1;
        let Check { drive, offset_bytes, length_bytes, .. } = check;
        if verifier.eras[drive.index()] == era {
            let blocks = blocks(offset_bytes, length_bytes as u64);
            verifier.sums.recovered(drive, blocks, read);
        }
        self.free_marks();
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
        let serving: Vec<_> = serving.map(|(drive, _)| DriveId(drive as u8)).collect();
        let Some(verifier) = &mut self.verifier else { return };
        if !verifier.sums.planted().has(Bug::DoubtsNotRead) {
            serving.into_iter().for_each(|drive| verifier.sums.recover(drive));
        }
        verifier.marks = Marks::Held { resynced: !resyncs };
        self.free_marks();
    }

    /// Parity is resynced. Returns whether marks may be taken back.
    pub(super) fn note_resynced(&mut self) -> bool {
        let Some(verifier) = &mut self.verifier else { return true };
        if verifier.marks == Marks::Free {
            return true;
        }
        verifier.marks = Marks::Held { resynced: true };
        self.free_marks();
        false
    }

    fn free_marks(&mut self) {
        let Some(verifier) = &mut self.verifier else { return };
        let is_recovered = verifier.sums.is_recovered() && verifier.recovering == 0;
        if is_recovered && verifier.marks == (Marks::Held { resynced: true }) {
            verifier.marks = Marks::Free;
            if let Some(durability) = &mut self.durability {
                durability.handle_parity_resynced(self.now);
            }
        }
    }

    /// A drive was given up: what waits for its checksums waits for nothing.
    pub(super) fn forget_checks(&mut self, drive: DriveId) {
        let Some(verifier) = &mut self.verifier else { return };
        verifier.eras[drive.index()] += 1;
        verifier.sums.drive_gone(drive);
        verifier.syncs.retain(|(other, _)| *other != drive);
        let is_its = |held: &mut Held<M::Buffer>| held.drive == drive;
        let held: Vec<_> = verifier.held.extract_if(.., is_its).collect();
        for Held { tag, buffer, .. } in held {
            if let Transfer { purpose: Purpose::Recovery(era), check, .. } =
                *self.transfers.get(tag)
            {
                self.end_recovery(check, era, false);
            }
            self.end_transfer(tag, IoResult::Failed, Some(buffer));
        }
        self.free_marks();
    }
}
