//! Where the bytes of drives are: in memory, in files, on block devices, on the network.
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
//! Files go through `io_uring` where the kernel offers it, else through a few threads; drives on
//! the network through sockets of their own ([`RemoteDrive`]).

mod allocated;
mod claim;
mod command;
mod discards;
mod disk;
mod fault;
mod headroom;
mod holder;
mod job;
mod location;
mod mapping;
mod memory;
mod prefill;
mod remote;
#[cfg(target_os = "linux")]
mod ring;
mod stored;
mod thread_pool;

pub use allocated::Allocated;
pub use command::{Ending, Finished, Work};
pub(crate) use disk::FILE_MODE;
pub use disk::{DATA_OFFSET_BYTES, Disk, DiskError, Head};
pub use fault::{Fault, FaultKind};
pub use headroom::headroom_bytes;
pub use holder::Holder;
pub use location::{DriveLocation, RemoteLocation};
pub(crate) use mapping::Region;
pub use memory::Memory;
pub use prefill::{PrefillProgress, PrefillState};
pub(crate) use remote::Finding;
pub use remote::{
    AddressError, ArrayPlace, Claimant, Claims, CoordinatedArray, DriveWindows, NVME_TCP_PORT,
    RemoteAddress, RemoteDrive, RemoteError, RemoteOptions,
};
pub use stored::{PlaceError, StoredDrive};

use crate::buffer::Buffer;
use crate::certainty::Certainty;
use crate::clock::Clock;
use crate::release::Releaser;
use discards::Discards;
use job::{Job, JobKind};
use nvme::CollectionRight;
use prefill::Prefill;
use remote::{Ended, Sockets};
#[cfg(target_os = "linux")]
use ring::Ring;
use std::collections::VecDeque;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use thread_pool::ThreadPool;
use units::DriveId;

/// How files are read and written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum IoMethod {
    /// Through `io_uring` if the kernel allows it, else by threads.
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
    /// On the network.
    Remote(Box<RemoteDrive>),
}

impl Backing {
    /// Size of the drive.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Memory(memory) => memory.bytes(),
            Self::Disk(disk) => disk.bytes(),
            Self::Remote(drive) => drive.bytes(),
        }
    }

    /// Which of its pages may hold data.
    #[must_use]
    pub fn allocated(&self) -> &Allocated {
        match self {
            Self::Memory(memory) => memory.allocated(),
            Self::Disk(disk) => disk.allocated(),
            Self::Remote(drive) => drive.allocated(),
        }
    }
}

/// Whether the drives on the network are this server's.
#[derive(Clone, Debug)]
pub enum ClaimStanding {
    /// They are.
    Held(Certainty),
    /// It is not certain at the moment: nothing may be answered.
    Lapsed,
    /// One is not, for good.
    Lost {
        /// The drive.
        drive: DriveId,
        /// Where it is.
        place: String,
        /// Why.
        why: String,
    },
}

#[derive(Debug)]
struct Slot {
    backing: Backing,
    /// Differs for every drive that was ever added.
    serial: u64,
    fault: Option<Fault>,
}

/// What executes commands on files.
#[derive(Debug)]
enum FileIo {
    /// No drive has needed one yet.
    Unused,
    #[cfg(target_os = "linux")]
    Ring(Box<Ring>),
    Threads(ThreadPool),
}

impl FileIo {
    fn submit(&mut self, job: Job) {
        match self {
            Self::Unused => unreachable!("`add` has made it with the first drive that is a file"),
            #[cfg(target_os = "linux")]
            Self::Ring(ring) => ring.submit(job),
            Self::Threads(pool) => pool.submit(job),
        }
    }
}

/// The bytes of all drives of an array.
#[derive(Debug)]
pub struct Storage {
    method: IoMethod,
    slots: Vec<Option<Slot>>,
    file_io: FileIo,
    /// Discards of files, by position.
    discards: Vec<Discards>,
    done: VecDeque<Finished>,
    serial: u64,
    /// Takes the memory of drives in memory, if it was asked for.
    prefill: Option<Prefill>,
    /// What drives on the network wake the thread by, once there is one.
    sockets: Option<Sockets>,
    /// Gives back memory of drives that were taken out; `None` where that may take its time.
    releaser: Option<Releaser>,
}

impl Storage {
    /// No drives yet.
    #[must_use]
    pub fn new(method: IoMethod) -> Self {
        Self {
            method,
            slots: Vec::new(),
            file_io: FileIo::Unused,
            discards: Vec::new(),
            done: VecDeque::new(),
            serial: 0,
            prefill: None,
            sockets: None,
            releaser: None,
        }
    }

    /// Has memory of drives that are taken out given back by another thread.
    pub(crate) fn set_releaser(&mut self, releaser: Releaser) {
        self.releaser = Some(releaser);
    }

    /// Adds a drive at its position. The one that was there is closed when its last command is
    /// done.
    ///
    /// # Errors
    ///
    /// If it is the first with a file, and neither `io_uring` nor threads can be had as
    /// [`IoMethod`] asks.
    pub fn add(&mut self, drive: DriveId, backing: Backing) -> io::Result<()> {
        if matches!(backing, Backing::Disk(_)) && matches!(self.file_io, FileIo::Unused) {
            self.file_io = new_file_io(self.method)?;
            if let (Some(sockets), Some(descriptor)) = (&self.sockets, self.file_fd()) {
                sockets.watch_files(descriptor)?;
            }
        }
        if let Backing::Remote(remote) = &backing {
            let sockets = match self.sockets.take() {
                Some(sockets) => sockets,
                None => Sockets::new(self.file_fd())?,
            };
            self.sockets.insert(sockets).watch(drive, remote.fd())?;
        }
        if self.slots.len() <= drive.index() {
            self.slots.resize_with(drive.index() + 1, || None);
            self.discards.resize_with(drive.index() + 1, Discards::default);
        }
        if let (Backing::Memory(memory), Some(prefill)) = (&backing, &self.prefill) {
            prefill.add(memory.populator());
        }
        self.remove(drive);
        self.serial += 1;
        self.slots[drive.index()] = Some(Slot { backing, serial: self.serial, fault: None });
        Ok(())
    }

    /// Takes a drive out; it is closed when its last command is done.
    pub fn remove(&mut self, drive: DriveId) {
        let slot = self.slots.get_mut(drive.index()).and_then(Option::take);
        match slot.map(|slot| slot.backing) {
            Some(Backing::Remote(mut remote)) => {
                remote.give_up();
                self.take_from(drive, &mut remote);
            }
            Some(Backing::Memory(mut memory)) => {
                if let Some(releaser) = &self.releaser {
                    releaser.give(move || memory.release());
                }
            }
            Some(Backing::Disk(_)) | None => {}
        }
    }

    /// Takes the memory of all drives in memory, present and later ones, from a thread in the
    /// background, so that first writes do not wait for it.
    ///
    /// # Errors
    ///
    /// If the system has no thread left.
    pub fn start_prefill(&mut self) -> io::Result<()> {
        if self.prefill.is_none() {
            let prefill = Prefill::start()?;
            for slot in self.slots.iter().flatten() {
                if let Backing::Memory(memory) = &slot.backing {
                    prefill.add(memory.populator());
                }
            }
            self.prefill = Some(prefill);
        }
        Ok(())
    }

    /// How far that is; `None` if it was not asked for. Costs a few loads per drive.
    #[must_use]
    pub fn prefill(&self) -> Option<PrefillProgress> {
        let prefill = self.prefill.as_ref()?;
        let (mut done_bytes, mut bytes) = (0, 0);
        for slot in self.slots.iter().flatten() {
            if let Backing::Memory(memory) = &slot.backing {
                done_bytes += memory.populated_bytes();
                bytes += memory.bytes();
            }
        }
        Some(PrefillProgress { done_bytes, bytes, state: prefill.state(done_bytes, bytes) })
    }

    /// How files are read and written: `io_uring` or `threads`; if there are none, `nvme/tcp` where
    /// a drive is on the network, else `memory`.
    #[must_use]
    pub fn io_method(&self) -> &'static str {
        match &self.file_io {
            FileIo::Unused if self.sockets.is_some() => "nvme/tcp",
            FileIo::Unused => "memory",
            #[cfg(target_os = "linux")]
            FileIo::Ring(_) => "io_uring",
            FileIo::Threads(_) => "threads",
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

    /// Whether a page of [`PAGE_BYTES`](crate::buffer::PAGE_BYTES) certainly reads as zeros.
    #[must_use]
    pub fn is_hole(&self, drive: DriveId, page: u64) -> bool {
        self.backing(drive).is_some_and(|backing| !backing.allocated().contains(page))
    }

    /// Makes commands of a drive fail from now on; `None` ends that. A drive in memory
    /// keeps to [`Storage::submit`] while it has a fault.
    pub fn inject(&mut self, drive: DriveId, fault: impl Into<Option<Fault>>) {
        if let Some(slot) = self.slots.get_mut(drive.index()).and_then(Option::as_mut) {
            slot.fault = fault.into();
        }
    }

    /// Takes a command. Errors of it are reported by [`Storage::poll`].
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
        if slot.fault.as_mut().is_some_and(|fault| fault.applies_to(&work)) {
            return self.finish(tag, drive, work.buffer(), Err(fault::medium_error()));
        }
        match &mut slot.backing {
            Backing::Memory(memory) => {
                let buffer = on_memory(memory, work);
                self.finish(tag, drive, buffer, Ok(()));
            }
            Backing::Disk(disk) => {
                let job = job(disk, tag, drive, slot.serial, work);
                if job.length_bytes == 0 && job.kind != JobKind::Sync {
                    return self.finish(tag, drive, job.buffer, Ok(()));
                }
                if job.kind != JobKind::Settle {
                    return self.file_io.submit(job);
                }
                let offset_bytes = job.offset_bytes - DATA_OFFSET_BYTES;
                if disk.allocated().is_hole(offset_bytes, job.length_bytes) {
                    return self.finish(tag, drive, None, Ok(()));
                }
                if let Some(job) = self.discards[drive.index()].add(job) {
                    self.file_io.submit(job);
                }
            }
            Backing::Remote(remote) => remote.submit(tag, work),
        }
    }

    /// Hands everything that was submitted to the kernel, in one call.
    ///
    /// # Errors
    ///
    /// If the kernel does not take it; what was submitted stays, and can be handed over later.
    pub fn kick(&mut self) -> io::Result<()> {
        for (_, remote) in remotes(&mut self.slots) {
            remote.kick()?;
        }
        match &mut self.file_io {
            #[cfg(target_os = "linux")]
            FileIo::Ring(ring) => ring.kick(),
            FileIo::Unused | FileIo::Threads(_) => Ok(()),
        }
    }

    /// Tells a drive on the network when it may collect, by `clock`, and of its array. Others are
    /// not told.
    pub fn permit(
        &mut self,
        clock: &Clock,
        drive: DriveId,
        right: CollectionRight,
        place: ArrayPlace,
    ) {
        let slot = self.slots.get_mut(drive.index()).and_then(Option::as_mut);
        if let Some(Slot { backing: Backing::Remote(remote), .. }) = slot {
            remote.permit(clock, right, place);
        }
    }

    /// The next command that is done. After `None`, [`Storage::fd`] becomes readable when to ask
    /// again.
    pub fn poll(&mut self) -> Option<Finished> {
        if let Some(finished) = self.done.pop_front().or_else(|| self.poll_sockets()) {
            return Some(finished);
        }
        let (job, result) = match &mut self.file_io {
            FileIo::Unused => None,
            #[cfg(target_os = "linux")]
            FileIo::Ring(ring) => ring.poll(),
            FileIo::Threads(pool) => pool.poll(),
        }?;
        if matches!(job.kind, JobKind::Punch | JobKind::Zero) {
            self.end_discard(&job, result);
            return self.done.pop_front();
        }
        let result = result.map(|()| Ending::Done);
        Some(Finished { tag: job.tag, drive: job.drive, buffer: job.buffer, result })
    }

    fn end_discard(&mut self, job: &Job, result: io::Result<()>) {
        let slot = self.slots.get_mut(job.drive.index()).and_then(Option::as_mut);
        if let Some(Slot { backing: Backing::Disk(disk), serial, .. }) = slot
            && result.is_ok()
            && *serial == job.serial
        {
            disk.allocated_mut().clear(job.offset_bytes - DATA_OFFSET_BYTES, job.length_bytes);
        }
        let discards = &mut self.discards[job.drive.index()];
        let (joined, next) = (discards.end(), discards.next());
        for other in joined {
            self.finish(other.tag, other.drive, None, again(&result));
        }
        self.finish(job.tag, job.drive, None, result);
        if let Some(next) = next {
            self.file_io.submit(next);
        }
    }

    /// Readable when something may be done; `None` while all drives are in memory.
    #[must_use]
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.sockets.as_ref().map(Sockets::fd).or_else(|| self.file_fd())
    }

    fn file_fd(&self) -> Option<BorrowedFd<'_>> {
        match &self.file_io {
            FileIo::Unused => None,
            #[cfg(target_os = "linux")]
            FileIo::Ring(ring) => Some(ring.fd()),
            FileIo::Threads(pool) => Some(pool.fd()),
        }
    }

    /// Commands that were submitted and not yet given back by [`Storage::poll`].
    #[must_use]
    pub fn in_flight(&self) -> usize {
        let in_files = match &self.file_io {
            FileIo::Unused => 0,
            #[cfg(target_os = "linux")]
            FileIo::Ring(ring) => ring.in_flight(),
            FileIo::Threads(pool) => pool.in_flight(),
        };
        let remote = self.slots.iter().flatten().map(|slot| match &slot.backing {
            Backing::Remote(remote) => remote.in_flight(),
            Backing::Memory(_) | Backing::Disk(_) => 0,
        });
        let waiting = self.discards.iter().map(Discards::waiting);
        in_files + waiting.sum::<usize>() + self.done.len() + remote.sum::<usize>()
    }

    /// Whether the claims of drives on the network are good at the moment: of all, or of `needed`.
    /// `None` if no drive is claimed.
    #[must_use]
    pub fn claims(&self, needed: usize) -> Option<ClaimStanding> {
        let (mut claimed, mut valid, mut all) = (0, 0, Certainty::ALWAYS);
        for (position, slot) in self.slots.iter().enumerate() {
            let Some(Slot { backing: Backing::Remote(remote), .. }) = slot else { continue };
            match remote.claim_standing() {
                Some(Err(why)) => {
                    let drive = DriveId(position as u8);
                    let (place, why) = (remote.address().to_string(), why.to_owned());
                    return Some(ClaimStanding::Lost { drive, place, why });
                }
                Some(Ok(certainty)) => {
                    claimed += 1;
                    if let Some(certainty) = certainty.filter(Certainty::holds) {
                        valid += 1;
                        all = all.and(certainty);
                    }
                }
                None => {}
            }
        }
        match claimed {
            0 => None,
            _ if valid >= needed.min(claimed) => Some(ClaimStanding::Held(all)),
            _ => Some(ClaimStanding::Lapsed),
        }
    }

    /// The clock of the machine has stood still for a while: nothing is known of how long claims
    /// are good.
    pub fn lapse_claims(&mut self) {
        remotes(&mut self.slots).for_each(|(_, remote)| remote.lapse_claim());
    }

    /// Begins to give all claims up.
    pub fn give_up_claims(&mut self) {
        remotes(&mut self.slots).for_each(|(_, remote)| remote.give_up_claim());
    }

    /// Whether nothing is left to give up.
    #[must_use]
    pub fn has_given_up_claims(&self) -> bool {
        let remote = |slot: &Slot| match &slot.backing {
            Backing::Remote(remote) => remote.has_given_up(),
            Backing::Memory(_) | Backing::Disk(_) => true,
        };
        self.slots.iter().flatten().all(remote)
    }

    /// What drives on the network have done.
    fn poll_sockets(&mut self) -> Option<Finished> {
        let sockets = self.sockets.as_mut()?;
        for (drive, remote) in remotes(&mut self.slots) {
            if sockets.is_ready(drive)
                && let Err(error) = remote.collect()
            {
                tracing::error!(drive = drive.0, %error, "a drive on the network cannot be reached");
                remote.give_up();
            }
            while let Some(ended) = remote.poll() {
                let Ended { tag, buffer, result } = ended;
                self.done.push_back(Finished { tag, drive, buffer, result });
            }
        }
        sockets.done();
        self.done.pop_front()
    }

    fn take_from(&mut self, drive: DriveId, remote: &mut RemoteDrive) {
        while let Some(Ended { tag, buffer, result }) = remote.poll() {
            self.done.push_back(Finished { tag, drive, buffer, result });
        }
    }

    fn finish(&mut self, tag: u64, drive: DriveId, buffer: Option<Buffer>, result: io::Result<()>) {
        let result = result.map(|()| Ending::Done);
        self.done.push_back(Finished { tag, drive, buffer, result });
    }
}

/// The drives on the network.
fn remotes(slots: &mut [Option<Slot>]) -> impl Iterator<Item = (DriveId, &mut RemoteDrive)> {
    let numbered = slots.iter_mut().enumerate();
    numbered.filter_map(|(position, slot)| match slot {
        Some(Slot { backing: Backing::Remote(remote), .. }) => {
            Some((DriveId(position as u8), &mut **remote))
        }
        _ => None,
    })
}

fn new_file_io(method: IoMethod) -> io::Result<FileIo> {
    #[cfg(target_os = "linux")]
    match method {
        IoMethod::Ring => return Ok(FileIo::Ring(Box::new(Ring::new()?))),
        IoMethod::Best => {
            if let Ok(ring) = Ring::new() {
                return Ok(FileIo::Ring(Box::new(ring)));
            }
        }
        IoMethod::Threads => {}
    }
    #[cfg(not(target_os = "linux"))]
    if method == IoMethod::Ring {
        return Err(io::ErrorKind::Unsupported.into());
    }
    Ok(FileIo::Threads(ThreadPool::new()?))
}

/// The same result for another command.
fn again(result: &io::Result<()>) -> io::Result<()> {
    match result {
        Ok(()) => Ok(()),
        Err(error) => Err(match error.raw_os_error() {
            Some(number) => io::Error::from_raw_os_error(number),
            None => io::Error::new(error.kind(), error.to_string()),
        }),
    }
}

fn on_memory(memory: &mut Memory, work: Work) -> Option<Buffer> {
    match work {
        Work::Read { offset_bytes, mut buffer, length_bytes, .. } => {
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
        Work::Read { offset_bytes, buffer, length_bytes, .. } => {
            (JobKind::Read, DATA_OFFSET_BYTES + offset_bytes, length_bytes as u64, Some(buffer))
        }
        Work::Write { offset_bytes, buffer, length_bytes } => {
            // From now on, because a write that fails may have written something.
            disk.allocated_mut().set(offset_bytes, length_bytes as u64);
            (JobKind::Write, DATA_OFFSET_BYTES + offset_bytes, length_bytes as u64, Some(buffer))
        }
        Work::WriteHead { offset_bytes, buffer, length_bytes } => {
            (JobKind::WriteStable, offset_bytes, length_bytes as u64, Some(buffer))
        }
        Work::Sync => (JobKind::Sync, 0, 0, None),
        Work::Discard { offset_bytes, length_bytes } => {
            (JobKind::Settle, DATA_OFFSET_BYTES + offset_bytes, length_bytes, None)
        }
    };
    let file = Arc::clone(if kind == JobKind::WriteStable { &disk.head_file } else { &disk.file });
    Job { tag, drive, serial, file, kind, offset_bytes, length_bytes, done_bytes: 0, buffer }
}
