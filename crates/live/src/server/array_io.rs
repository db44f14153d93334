//! The volume and its storage on the real clock.
//!
//! Emulated drives and the array act at the times that they have computed, even if the thread gets
//! to it a little later: the array is given the due time of every completion, so one late wake-up
//! does not make the next completion late. The difference is recorded as lateness. Requests of
//! clients and completions of real storage have the time at which they arrive.

use super::memory::PageMemory;
use crate::buffer::Buffer;
use crate::clock::Clock;
use crate::control::{DriveTraffic, Recorder};
use crate::storage::{self, ArrayPlace, Ending, Finished, Storage};
use engine::durability::IoResult;
use engine::volume::Output;
use engine::{Bytes, Engine, StorageWork, Volume, Work};
use nvme::{ArrayDescription, CollectionRight};
use std::collections::VecDeque;
use std::io;
use units::{DriveId, Instant, Traced};

/// One array and the bytes of its drives.
pub(super) struct ArrayIo {
    pub(super) clock: Clock,
    pub(super) volume: Volume<PageMemory, Traced>,
    pub(super) storage: Storage,
    page_bytes: u64,
    /// The array's present: it never goes back.
    now: Instant,
    /// What the rest of the server has to know, in order.
    outputs: VecDeque<Output>,
    /// Commands that the storage of each drive could not do.
    pub(super) errors: Vec<u64>,
    /// Errors that are not logged yet, by drive.
    untold: Vec<StorageErrors>,
    /// What went over to and from the storage of each drive.
    pub(super) traffic: Vec<DriveTraffic>,
    /// How late answers of drive models were.
    pub(super) lateness: Recorder,
}

/// Commands that the storage of a drive could not do.
#[derive(Debug)]
pub(super) struct StorageErrors {
    pub(super) drive: DriveId,
    pub(super) count: u64,
    /// What the last one said.
    pub(super) last: String,
}

impl DriveTraffic {
    fn count(&mut self, work: &Work<Buffer>) {
        match work {
            Work::Read { length_bytes, .. } => self.read_bytes += *length_bytes as u64,
            Work::Write { length_bytes, .. } => self.written_bytes += *length_bytes as u64,
            Work::WriteHead { bytes, .. } => self.record_bytes += bytes.len() as u64,
            Work::Discard { .. } | Work::Sync => {}
        }
    }
}

impl ArrayIo {
    pub(super) fn new(engine: Engine<Bytes<PageMemory>, Traced>, storage: Storage) -> Self {
        let errors = vec![0; engine.drives().len()];
        let page_bytes = engine.plane().page_bytes();
        Self {
            clock: Clock::new(),
            volume: Volume::new(engine),
            storage,
            page_bytes,
            now: Instant::ZERO,
            outputs: VecDeque::new(),
            traffic: vec![DriveTraffic::default(); errors.len()],
            errors,
            untold: Vec::new(),
            lateness: Recorder::default(),
        }
    }

    /// The engine of the volume.
    pub(super) fn engine(&self) -> &Engine<Bytes<PageMemory>, Traced> {
        self.volume.engine()
    }

    /// What has happened since it was asked last, in order.
    pub(super) fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// The array's present if the clock says `now`.
    fn step(&mut self, now: Instant) -> Instant {
        self.now = self.now.max(now);
        self.now
    }

    /// Lets drives and array do all that is due, in order and at the moments when it was due.
    /// Returns the present.
    pub(super) fn catch_up(&mut self) -> Instant {
        let now = self.clock.now();
        while self.volume.next_deadline() <= now {
            let due = self.step(self.volume.next_deadline());
            let before = self.engine().model_completions();
            self.volume.handle_deadline(due);
            self.settle(due);
            let answers = self.engine().model_completions() - before;
            if answers > 0 {
                let actual = self.clock.now();
                let late = actual.since(due.min(actual)).as_nanos();
                (0..answers).for_each(|_| self.lateness.record(late));
            }
        }
        self.step(now)
    }

    /// Does everything that the volume wants done at `now`, and notes what others have to know.
    pub(super) fn settle(&mut self, now: Instant) {
        loop {
            while let Some(output) = self.volume.poll_output(now) {
                self.outputs.push_back(output);
            }
            let mut worked = false;
            while let Some(StorageWork { tag, drive, work }) = self.volume.poll_work() {
                self.traffic[drive.index()].count(&work);
                self.storage.submit(u64::from(tag), drive, on_storage(work));
                worked = true;
            }
            // Memory has done what it was given already.
            worked |= self.collect(now);
            if !worked {
                return;
            }
        }
    }

    /// Takes what the storage has ended. Returns whether there was anything.
    fn collect(&mut self, now: Instant) -> bool {
        let mut any = false;
        while let Some(Finished { tag, drive, buffer, result }) = self.storage.poll() {
            any = true;
            if let Err(error) = &result {
                self.errors[drive.index()] += 1;
                self.note_error(drive, error);
            }
            let result = match result {
                Ok(Ending::Done) => IoResult::Done,
                Ok(Ending::FailedFast { busy_remaining }) => {
                    self.volume.handle_failed_fast(now, tag as u32, busy_remaining, buffer);
                    continue;
                }
                Err(error) if is_no_room(&error) => IoResult::NoRoom,
                Err(_) => IoResult::Failed,
            };
            self.volume.handle_storage(now, tag as u32, result, buffer);
        }
        any
    }

    fn note_error(&mut self, drive: DriveId, error: &io::Error) {
        let last = error.to_string();
        match self.untold.iter_mut().find(|untold| untold.drive == drive) {
            Some(untold) => (untold.count, untold.last) = (untold.count + 1, last),
            None => self.untold.push(StorageErrors { drive, count: 1, last }),
        }
    }

    /// The errors of a drive that were not taken yet.
    pub(super) fn take_errors(&mut self) -> Option<StorageErrors> {
        self.untold.pop()
    }

    /// Takes what the storage has ended by now, and goes on with it.
    pub(super) fn collect_storage(&mut self, now: Instant) {
        let now = self.step(now);
        self.collect(now);
        self.settle(now);
    }

    /// A drive may collect at other times than before.
    pub(super) fn permit(&mut self, drive: DriveId, right: CollectionRight) {
        let layout = self.engine().array().layout();
        let array = ArrayDescription { width: layout.width(), parities: layout.parities() };
        let scope = self.engine().policy().about().windows.scope();
        let place = ArrayPlace { array, slot: drive.0.into(), scope };
        self.storage.permit(&self.clock, drive, right, place);
    }

    /// The array's present.
    pub(super) fn present(&self) -> Instant {
        self.now
    }

    /// Hands everything that was submitted to the kernel.
    pub(super) fn kick(&mut self) -> io::Result<()> {
        self.storage.kick()
    }

    /// Bytes in a page of the array.
    pub(super) fn page_bytes(&self) -> u64 {
        self.page_bytes
    }

    /// The drives, by position.
    pub(super) fn drives(&self) -> impl Iterator<Item = DriveId> + use<> {
        (0..self.engine().drives().len() as u8).map(DriveId)
    }
}

fn on_storage(work: Work<Buffer>) -> storage::Work {
    match work {
        Work::Read { offset_bytes, length_bytes, buffer, pl } => {
            storage::Work::Read { offset_bytes, length_bytes, buffer, pl }
        }
        Work::Write { offset_bytes, length_bytes, buffer } => {
            storage::Work::Write { offset_bytes, length_bytes, buffer }
        }
        Work::Discard { offset_bytes, length_bytes } => {
            storage::Work::Discard { offset_bytes, length_bytes }
        }
        Work::WriteHead { offset_bytes, bytes } => {
            let length_bytes = bytes.len();
            let mut buffer = Buffer::zeroed(length_bytes);
            buffer.bytes_mut()[..length_bytes].copy_from_slice(&bytes);
            storage::Work::WriteHead { offset_bytes, buffer, length_bytes }
        }
        Work::Sync => storage::Work::Sync,
    }
}

/// Whether the file system below a drive is full, or the quota of its owner is used up: no fault of
/// the drive.
fn is_no_room(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}
