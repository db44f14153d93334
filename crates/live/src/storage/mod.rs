//! Where the bytes of drives are: in memory, in files, on block devices.
//!
//! One [`Storage`] holds all drives of an array and belongs to the thread that owns the array. It
//! never waits: commands are [submitted](Storage::submit), handed to the kernel together
//! ([`Storage::kick`]) and collected when they are done ([`Storage::poll`]).
//!
//! # Contract
//!
//! * Commands of one drive that overlap and are in flight together have no order, as on any drive.
//! * [`Work::Sync`] covers the writes and discards that were finished before it was submitted.
//! * A discarded page reads as zeros.
//! * Every command that is submitted is finished once, with its buffer if it had one, also when
//!   its drive is taken out meanwhile.
//! * Memory is done at once, in `submit`; [`Storage::memory`] lets it be read and written without
//!   a command at all.
//!
//! Files go through `io_uring` where the kernel offers it, else through a few threads.

mod allocated;
mod disk;
mod fault;
mod job;
mod memory;
mod place;
mod pool;
#[cfg(target_os = "linux")]
mod ring;

pub use allocated::Allocated;
pub use disk::{DATA_OFFSET_BYTES, Disk, Head, PlaceError};
pub use fault::{Fault, FaultKind};
pub use memory::Memory;
pub use place::Place;

use crate::buffer::{Buffer, PAGE_BYTES};
use job::{Job, Kind};
use pool::Pool;
#[cfg(target_os = "linux")]
use ring::Ring;
use std::collections::VecDeque;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use units::DriveId;

/// Something to do on a drive. Offsets and lengths are in bytes, multiples of
/// [`PAGE_BYTES`], and count from the first byte of the drive.
#[derive(Debug)]
pub enum Work {
    /// Fill the first bytes of a buffer.
    Read {
        /// From where.
        offset_bytes: u64,
        /// What is filled; at least as long.
        buffer: Buffer,
        /// How many.
        length_bytes: usize,
    },
    /// Write the first bytes of a buffer.
    Write {
        /// Where to.
        offset_bytes: u64,
        /// What is written; at least as long.
        buffer: Buffer,
        /// How many.
        length_bytes: usize,
    },
    /// Write into the reserved head of the drive; on stable storage when it is done. On a drive in
    /// memory, which has no head, it is done at once.
    WriteHead {
        /// Where to, counted from the start of the file.
        offset_bytes: u64,
        /// What is written; at least as long.
        buffer: Buffer,
        /// How many.
        length_bytes: usize,
    },
    /// Bring what was written to stable storage.
    Sync,
    /// The bytes become zero, and their room is given back.
    Discard {
        /// From where.
        offset_bytes: u64,
        /// How many.
        length_bytes: u64,
    },
}

/// A command that is done.
#[derive(Debug)]
pub struct Finished {
    /// The number that it was submitted under.
    pub tag: u64,
    /// The drive.
    pub drive: DriveId,
    /// Its buffer; what it holds is meaningless after an error.
    pub buffer: Option<Buffer>,
    /// Whether it is done or failed.
    pub result: io::Result<()>,
}

/// How files are read and written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Way {
    /// Through `io_uring` if the kernel lets us, else by threads.
    #[default]
    Best,
    /// Through `io_uring`, or not at all.
    Ring,
    /// By threads.
    Threads,
}

/// The bytes of one drive.
#[derive(Debug)]
pub enum Backing {
    /// In memory.
    Memory(Memory),
    /// In a file or on a block device.
    Disk(Disk),
}

impl Backing {
    /// Size of the drive.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Memory(memory) => memory.bytes(),
            Self::Disk(disk) => disk.bytes(),
        }
    }

    /// Which of its pages may hold data.
    #[must_use]
    pub fn allocated(&self) -> &Allocated {
        match self {
            Self::Memory(memory) => memory.allocated(),
            Self::Disk(disk) => disk.allocated(),
        }
    }
}

#[derive(Debug)]
struct Slot {
    backing: Backing,
    /// Differs for everything that ever stood in this place.
    serial: u64,
    fault: Option<Fault>,
}

/// What carries jobs to files.
#[derive(Debug)]
enum Carrier {
    /// No drive has needed one yet.
    None,
    #[cfg(target_os = "linux")]
    Ring(Box<Ring>),
    Threads(Pool),
}

/// The bytes of all drives of an array.
#[derive(Debug)]
pub struct Storage {
    way: Way,
    slots: Vec<Option<Slot>>,
    carrier: Carrier,
    done: VecDeque<Finished>,
    serial: u64,
}

impl Storage {
    /// No drives yet.
    #[must_use]
    pub fn new(way: Way) -> Self {
        Self { way, slots: Vec::new(), carrier: Carrier::None, done: VecDeque::new(), serial: 0 }
    }

    /// Puts a drive in its place. What stood there is closed when its last command is done.
    ///
    /// # Errors
    ///
    /// If it is the first with a file, and neither `io_uring` nor threads can be had as
    /// [`Way`] asks.
    pub fn add(&mut self, drive: DriveId, backing: Backing) -> io::Result<()> {
        if matches!(backing, Backing::Disk(_)) && matches!(self.carrier, Carrier::None) {
            self.carrier = carrier(self.way)?;
        }
        if self.slots.len() <= drive.index() {
            self.slots.resize_with(drive.index() + 1, || None);
        }
        self.serial += 1;
        self.slots[drive.index()] = Some(Slot { backing, serial: self.serial, fault: None });
        Ok(())
    }

    /// Takes a drive out; it is closed when its last command is done.
    pub fn remove(&mut self, drive: DriveId) {
        if let Some(slot) = self.slots.get_mut(drive.index()) {
            *slot = None;
        }
    }

    /// How files are read and written: `io_uring`, `threads`, or `memory` if there are none.
    #[must_use]
    pub fn way(&self) -> &'static str {
        match &self.carrier {
            Carrier::None => "memory",
            #[cfg(target_os = "linux")]
            Carrier::Ring(_) => "io_uring",
            Carrier::Threads(_) => "threads",
        }
    }

    /// The bytes of a drive.
    #[must_use]
    pub fn backing(&self, drive: DriveId) -> Option<&Backing> {
        Some(&self.slots.get(drive.index())?.as_ref()?.backing)
    }

    /// The memory of a drive, to be read or written without a command: if it is in memory, and no
    /// fault was made on it.
    pub fn memory(&mut self, drive: DriveId) -> Option<&mut Memory> {
        match self.slots.get_mut(drive.index())?.as_mut()? {
            Slot { backing: Backing::Memory(memory), fault: None, .. } => Some(memory),
            _ => None,
        }
    }

    /// Whether a page of [`PAGE_BYTES`] certainly reads as zeros.
    #[must_use]
    pub fn is_hole(&self, drive: DriveId, page: u64) -> bool {
        self.backing(drive).is_some_and(|backing| !backing.allocated().contains(page))
    }

    /// Makes commands of a drive fail from now on; `None` makes it well again. A drive in memory
    /// keeps to [`Storage::submit`] while it has a fault.
    pub fn inject(&mut self, drive: DriveId, fault: impl Into<Option<Fault>>) {
        if let Some(slot) = self.slots.get_mut(drive.index()).and_then(Option::as_mut) {
            slot.fault = fault.into();
        }
    }

    /// Takes a command. Whatever is wrong with it is said by [`Storage::poll`].
    pub fn submit(&mut self, tag: u64, drive: DriveId, work: Work) {
        let slot = self.slots.get_mut(drive.index()).and_then(Option::as_mut);
        let Some(slot) = slot else {
            let error = io::Error::new(
                io::ErrorKind::NotConnected,
                format!("drive {} has no storage", drive.0),
            );
            return self.finish(tag, drive, work.buffer(), Err(error));
        };
        if let Err(error) = work.check(drive, slot.backing.bytes()) {
            return self.finish(tag, drive, work.buffer(), Err(error));
        }
        if slot.fault.as_mut().is_some_and(|fault| fault.strikes(&work)) {
            return self.finish(tag, drive, work.buffer(), Err(fault::medium_error()));
        }
        match &mut slot.backing {
            Backing::Memory(memory) => {
                let buffer = on_memory(memory, work);
                self.finish(tag, drive, buffer, Ok(()));
            }
            Backing::Disk(disk) => {
                let job = job(disk, tag, drive, slot.serial, work);
                if job.length_bytes == 0 && job.kind != Kind::Sync {
                    return self.finish(tag, drive, job.buffer, Ok(()));
                }
                match &mut self.carrier {
                    Carrier::None => unreachable!("the first drive with a file got a carrier"),
                    #[cfg(target_os = "linux")]
                    Carrier::Ring(ring) => ring.submit(job),
                    Carrier::Threads(pool) => pool.submit(job),
                }
            }
        }
    }

    /// Hands everything that was submitted to the kernel, in one call.
    ///
    /// # Errors
    ///
    /// If the kernel does not take it; what was submitted stays, and can be handed over later.
    pub fn kick(&mut self) -> io::Result<()> {
        match &mut self.carrier {
            #[cfg(target_os = "linux")]
            Carrier::Ring(ring) => ring.kick(),
            Carrier::None | Carrier::Threads(_) => Ok(()),
        }
    }

    /// The next command that is done. After `None`, [`Storage::fd`] tells when to ask again.
    pub fn poll(&mut self) -> Option<Finished> {
        if let Some(finished) = self.done.pop_front() {
            return Some(finished);
        }
        let (job, result) = match &mut self.carrier {
            Carrier::None => None,
            #[cfg(target_os = "linux")]
            Carrier::Ring(ring) => ring.poll(),
            Carrier::Threads(pool) => pool.poll(),
        }?;
        let discards = matches!(job.kind, Kind::Punch | Kind::Zero);
        let slot = self.slots.get_mut(job.drive.index()).and_then(Option::as_mut);
        if let Some(Slot { backing: Backing::Disk(disk), serial, .. }) = slot
            && discards
            && result.is_ok()
            && *serial == job.serial
        {
            disk.allocated_mut().clear(job.offset_bytes - DATA_OFFSET_BYTES, job.length_bytes);
        }
        let buffer = if discards { None } else { job.buffer };
        Some(Finished { tag: job.tag, drive: job.drive, buffer, result })
    }

    /// Readable when something may be done; `None` while all drives are in memory.
    #[must_use]
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        match &self.carrier {
            Carrier::None => None,
            #[cfg(target_os = "linux")]
            Carrier::Ring(ring) => Some(ring.fd()),
            Carrier::Threads(pool) => Some(pool.fd()),
        }
    }

    /// Commands that were submitted and not yet given back by [`Storage::poll`].
    #[must_use]
    pub fn in_flight(&self) -> usize {
        let carried = match &self.carrier {
            Carrier::None => 0,
            #[cfg(target_os = "linux")]
            Carrier::Ring(ring) => ring.in_flight(),
            Carrier::Threads(pool) => pool.in_flight(),
        };
        carried + self.done.len()
    }

    fn finish(&mut self, tag: u64, drive: DriveId, buffer: Option<Buffer>, result: io::Result<()>) {
        self.done.push_back(Finished { tag, drive, buffer, result });
    }
}

impl Work {
    fn buffer(self) -> Option<Buffer> {
        match self {
            Self::Read { buffer, .. }
            | Self::Write { buffer, .. }
            | Self::WriteHead { buffer, .. } => Some(buffer),
            Self::Sync | Self::Discard { .. } => None,
        }
    }

    fn check(&self, drive: DriveId, drive_bytes: u64) -> io::Result<()> {
        let (offset, length, room) = match self {
            Self::Read { offset_bytes, buffer, length_bytes }
            | Self::Write { offset_bytes, buffer, length_bytes } => {
                (*offset_bytes, *length_bytes as u64, Some((drive_bytes, buffer.len())))
            }
            Self::WriteHead { offset_bytes, buffer, length_bytes } => {
                (*offset_bytes, *length_bytes as u64, Some((DATA_OFFSET_BYTES, buffer.len())))
            }
            Self::Sync => return Ok(()),
            Self::Discard { offset_bytes, length_bytes } => (*offset_bytes, *length_bytes, None),
        };
        let (end, buffer_bytes) = room.unwrap_or((drive_bytes, usize::MAX));
        let whole = |bytes: u64| bytes.is_multiple_of(PAGE_BYTES as u64);
        let fits = offset.checked_add(length).is_some_and(|last| last <= end);
        if whole(offset) && whole(length) && fits && length <= buffer_bytes as u64 {
            return Ok(());
        }
        Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!(
                "drive {}: {length} bytes at {offset} with a buffer of {buffer_bytes} are not whole pages of {PAGE_BYTES} bytes within its {end} bytes",
                drive.0
            ),
        ))
    }
}

fn carrier(way: Way) -> io::Result<Carrier> {
    #[cfg(target_os = "linux")]
    match way {
        Way::Ring => return Ok(Carrier::Ring(Box::new(Ring::new()?))),
        Way::Best => {
            if let Ok(ring) = Ring::new() {
                return Ok(Carrier::Ring(Box::new(ring)));
            }
        }
        Way::Threads => {}
    }
    #[cfg(not(target_os = "linux"))]
    if way == Way::Ring {
        return Err(io::ErrorKind::Unsupported.into());
    }
    Ok(Carrier::Threads(Pool::new()?))
}

fn on_memory(memory: &mut Memory, work: Work) -> Option<Buffer> {
    match work {
        Work::Read { offset_bytes, mut buffer, length_bytes } => {
            memory.read(offset_bytes, &mut buffer.bytes_mut()[..length_bytes]);
            Some(buffer)
        }
        Work::Write { offset_bytes, buffer, length_bytes } => {
            memory.write(offset_bytes, &buffer.bytes()[..length_bytes]);
            Some(buffer)
        }
        Work::WriteHead { buffer, .. } => Some(buffer),
        Work::Sync => None,
        Work::Discard { offset_bytes, length_bytes } => {
            memory.discard(offset_bytes, length_bytes);
            None
        }
    }
}

fn job(disk: &mut Disk, tag: u64, drive: DriveId, serial: u64, work: Work) -> Job {
    let (kind, offset_bytes, length_bytes, buffer) = match work {
        Work::Read { offset_bytes, buffer, length_bytes } => {
            (Kind::Read, DATA_OFFSET_BYTES + offset_bytes, length_bytes as u64, Some(buffer))
        }
        Work::Write { offset_bytes, buffer, length_bytes } => {
            // From now on, because a write that fails may have written something.
            disk.allocated_mut().set(offset_bytes, length_bytes as u64);
            (Kind::Write, DATA_OFFSET_BYTES + offset_bytes, length_bytes as u64, Some(buffer))
        }
        Work::WriteHead { offset_bytes, buffer, length_bytes } => {
            (Kind::WriteStable, offset_bytes, length_bytes as u64, Some(buffer))
        }
        Work::Sync => (Kind::Sync, 0, 0, None),
        Work::Discard { offset_bytes, length_bytes } => {
            (Kind::Punch, DATA_OFFSET_BYTES + offset_bytes, length_bytes, None)
        }
    };
    let file = Arc::clone(&disk.file);
    Job { tag, drive, serial, file, kind, offset_bytes, length_bytes, done_bytes: 0, buffer }
}
