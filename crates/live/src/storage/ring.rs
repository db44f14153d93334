//! Files through `io_uring`: any number of commands for one system call.

use super::job::{Job, JobKind, Progress};
use io_uring::{IoUring, Probe, opcode, squeue, types};
use rustix::fs::FallocateFlags;
use rustix::io::{Errno, ReadWriteFlags};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Commands that the kernel has at most. It is also the size of the submission queue, and half of
/// that of the completion queue, so neither can overflow.
const ENTRIES: usize = 256;

/// `SYNC_FILE_RANGE_WAIT_BEFORE`, `_WRITE` and `_WAIT_AFTER` of `linux/fs.h`: what is dirty is
/// written when the call ends.
const SETTLE: u32 = 1 | 2 | 4;

/// A ring and the commands that the kernel has.
pub(super) struct Ring {
    ring: IoUring,
    /// By the number that the kernel knows them under. What it reads and writes belongs to them, so
    /// they stay here until it is done with them.
    jobs: Vec<Option<Job>>,
    free: Vec<u32>,
    /// Waiting until the kernel has fewer.
    waiting: VecDeque<Job>,
    /// Holes that the kernel is to punch.
    punches: usize,
}

impl Ring {
    /// # Errors
    ///
    /// If the kernel has no `io_uring`, forbids it, or is too old for what is needed.
    pub(super) fn new() -> io::Result<Self> {
        let ring = new_ring()?;
        let mut probe = Probe::new();
        ring.submitter().register_probe(&mut probe)?;
        let needed = [
            opcode::Read::CODE,
            opcode::Write::CODE,
            opcode::Fsync::CODE,
            opcode::SyncFileRange::CODE,
            opcode::Fallocate::CODE,
        ];
        if needed.iter().any(|&code| !probe.is_supported(code)) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let mut jobs = Vec::new();
        jobs.resize_with(ENTRIES, || None);
        let free = (0..ENTRIES as u32).rev().collect();
        Ok(Self { ring, jobs, free, waiting: VecDeque::new(), punches: 0 })
    }

    pub(super) fn submit(&mut self, job: Job) {
        match self.free.pop() {
            Some(slot) => {
                self.jobs[slot as usize] = Some(job);
                self.push(slot);
            }
            None => self.waiting.push_back(job),
        }
    }

    pub(super) fn kick(&mut self) -> io::Result<()> {
        if self.ring.submission().is_empty() {
            return Ok(());
        }
        self.enter()
    }

    /// Hands over what is queued, and lets the kernel report what its workers have done.
    fn enter(&mut self) -> io::Result<()> {
        match self.ring.submit() {
            Ok(_) => Ok(()),
            Err(error) if is_transient(&error) => Ok(()),
            Err(error) => Err(error),
        }
    }

    pub(super) fn poll(&mut self) -> Option<(Job, io::Result<()>)> {
        loop {
            if let Some(over) = self.reap() {
                return Some(over);
            }
            // Commands that waited, or need another step, are queued by now; some are done at once.
            let queue = self.ring.submission();
            if queue.is_empty() && !queue.taskrun() {
                return None;
            }
            drop(queue);
            // If the kernel does not take them now, a later call of `kick` or `poll` hands them
            // over.
            let taken = self.enter();
            if taken.is_err() || self.ring.completion().is_empty() {
                return None;
            }
        }
    }

    /// The next command that is over, out of what the kernel has reported.
    fn reap(&mut self) -> Option<(Job, io::Result<()>)> {
        loop {
            let entry = self.ring.completion().next()?;
            let slot = entry.user_data() as u32;
            let Some(job) = &mut self.jobs[slot as usize] else { continue };
            let result = entry.result();
            let moved = match usize::try_from(result) {
                Ok(moved) => Ok(moved),
                Err(_) => Err(Errno::from_raw_os_error(-result)),
            };
            self.punches -= usize::from(job.kind == JobKind::Punch);
            match job.advance(moved) {
                Progress::Again => self.push(slot),
                Progress::Over(result) => {
                    let job = self.jobs[slot as usize].take()?;
                    self.free.push(slot);
                    if let Some(next) = self.waiting.pop_front() {
                        self.submit(next);
                    }
                    return Some((job, result));
                }
            }
        }
    }

    #[allow(unsafe_code)]
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the ring owns this descriptor and closes it when it is dropped, which the borrow
        // of `self` forbids while the result lives.
        unsafe { BorrowedFd::borrow_raw(self.ring.as_raw_fd()) }
    }

    pub(super) fn in_flight(&self) -> usize {
        self.in_kernel() + self.waiting.len()
    }

    fn in_kernel(&self) -> usize {
        ENTRIES - self.free.len()
    }

    /// Queues the next step of the job in a slot.
    #[allow(unsafe_code)]
    fn push(&mut self, slot: u32) {
        let Some(job) = &mut self.jobs[slot as usize] else { return };
        self.punches += usize::from(job.kind == JobKind::Punch);
        let mut entry = entry(job).user_data(u64::from(slot));
        if job.kind == JobKind::Read && self.punches > 0 {
            // The kernel would try it in this thread, which would wait for the punch to unlock the
            // file.
            entry = entry.flags(squeue::Flags::ASYNC);
        }
        // SAFETY: the descriptor and the memory that the entry names belong to the job: its `File`
        // is open, and its buffer is on the heap and long enough (`next_bytes` and `next_room` have
        // cut it); other handles to what is written only read it, and what is filled has none. The
        // job stays in its slot, untouched by anything but `reap`, until the kernel has reported
        // this entry; `drop` waits for that too, and where it cannot, it leaks the job.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        // Each slot has at most one entry, and there are as many entries as slots.
        debug_assert!(pushed.is_ok());
    }
}

impl Drop for Ring {
    /// Waits until the kernel uses no memory of the jobs any more.
    fn drop(&mut self) {
        while self.in_kernel() > 0 {
            let mut progress = false;
            while let Some(entry) = self.ring.completion().next() {
                let slot = entry.user_data() as u32;
                if self.jobs[slot as usize].take().is_some() {
                    self.free.push(slot);
                }
                progress = true;
            }
            if progress {
                continue;
            }
            match self.ring.submit_and_wait(1) {
                Ok(_) => {}
                Err(error) if is_transient(&error) => {}
                Err(_) => {
                    // The kernel may write into these buffers at any time from now on.
                    std::mem::forget(std::mem::take(&mut self.jobs));
                    return;
                }
            }
        }
    }
}

impl std::fmt::Debug for Ring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Ring({} in the kernel, {} waiting)", self.in_kernel(), self.waiting.len())
    }
}

/// A ring whose completions do not interrupt this thread: it asks often enough. Kernels before
/// Linux 5.19 know no other.
fn new_ring() -> io::Result<IoUring> {
    let mut quiet = IoUring::builder();
    quiet.setup_coop_taskrun().setup_taskrun_flag();
    quiet.build(ENTRIES as u32).or_else(|_| IoUring::new(ENTRIES as u32))
}

/// Whether the kernel is to be asked again.
fn is_transient(error: &io::Error) -> bool {
    let transient = [Errno::INTR, Errno::AGAIN, Errno::BUSY].map(Errno::raw_os_error);
    error.raw_os_error().is_some_and(|number| transient.contains(&number))
}

/// The next step of a job as the kernel wants it.
fn entry(job: &mut Job) -> squeue::Entry {
    let file = types::Fd(job.file.as_raw_fd());
    let offset = job.next_offset();
    let kind = job.kind;
    if kind == JobKind::Sync {
        return opcode::Fsync::new(file).flags(types::FsyncFlags::DATASYNC).build();
    }
    if kind == JobKind::Settle {
        // What is longer is left to the punch.
        let length = u32::try_from(job.length_bytes).unwrap_or(u32::MAX);
        return opcode::SyncFileRange::new(file, length).offset(offset).flags(SETTLE).build();
    }
    if kind == JobKind::Punch {
        let mode = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        return opcode::Fallocate::new(file, job.length_bytes)
            .offset(offset)
            .mode(mode.bits().cast_signed())
            .build();
    }
    if kind == JobKind::Read {
        let room = job.next_room();
        let (start, length) = (room.as_mut_ptr(), room.len() as u32);
        return opcode::Read::new(file, start, length).offset(offset).build();
    }
    let bytes = job.next_bytes();
    let (start, length) = (bytes.as_ptr(), bytes.len() as u32);
    match kind {
        JobKind::WriteStable => opcode::Write::new(file, start, length)
            .offset(offset)
            .rw_flags(ReadWriteFlags::DSYNC.bits().cast_signed())
            .build(),
        _ => opcode::Write::new(file, start, length).offset(offset).build(),
    }
}
