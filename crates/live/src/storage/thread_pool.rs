//! Threads that read and write files where `io_uring` cannot be had.

use super::job::{Job, JobKind, Progress};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{FallocateFlags, fallocate, fdatasync};
use rustix::io::{Errno, ReadWriteFlags, pread, pwrite, pwritev2};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Enough to keep a few drives busy; more would only wait for the same processors.
const THREADS: usize = 8;

type Done = (Job, io::Result<()>);

/// A few threads, and the channels to them and back.
#[derive(Debug)]
pub(super) struct ThreadPool {
    /// `None` once the threads are to end.
    jobs: Option<Sender<Job>>,
    done: Receiver<Done>,
    /// An eventfd that is readable when jobs may be done.
    wake: Arc<OwnedFd>,
    threads: Vec<JoinHandle<()>>,
    in_flight: usize,
}

impl ThreadPool {
    pub(super) fn new() -> io::Result<Self> {
        let wake = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let (jobs, inbox) = channel();
        let (outbox, done) = channel();
        // Only the threads wait for each other here, never the one that owns the array.
        let inbox = Arc::new(Mutex::new(inbox));
        let mut pool = Self { jobs: Some(jobs), done, wake, threads: Vec::new(), in_flight: 0 };
        for number in 0..THREADS {
            let (inbox, outbox) = (Arc::clone(&inbox), outbox.clone());
            let wake = Arc::clone(&pool.wake);
            let thread = std::thread::Builder::new().name(format!("storage-{number}"));
            pool.threads.push(thread.spawn(move || work(&inbox, &outbox, &wake))?);
        }
        Ok(pool)
    }

    pub(super) fn submit(&mut self, job: Job) {
        self.in_flight += 1;
        if let Some(jobs) = &self.jobs {
            // The threads hold the other end until `jobs` is dropped.
            let sent = jobs.send(job);
            debug_assert!(sent.is_ok());
        }
    }

    pub(super) fn poll(&mut self) -> Option<Done> {
        let done = self.done.try_recv().ok().or_else(|| {
            // First the eventfd is reset, then asked again: what arrives in between sets it once
            // more.
            let mut count = [0; 8];
            let _ = rustix::io::read(&*self.wake, &mut count);
            self.done.try_recv().ok()
        })?;
        self.in_flight -= 1;
        Some(done)
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    pub(super) fn in_flight(&self) -> usize {
        self.in_flight
    }
}

impl Drop for ThreadPool {
    /// Waits for what is under way.
    fn drop(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn work(inbox: &Mutex<Receiver<Job>>, outbox: &Sender<Done>, wake: &OwnedFd) {
    loop {
        let next = inbox.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(mut job) = next else { return };
        let result = loop {
            let moved = step(&mut job);
            if let Progress::Over(result) = job.advance(moved) {
                break result;
            }
        };
        if outbox.send((job, result)).is_err() {
            return;
        }
        // A full counter means that it is readable already.
        let _ = rustix::io::write(wake, &1u64.to_ne_bytes());
    }
}

/// The next system call of a job.
fn step(job: &mut Job) -> Result<usize, Errno> {
    let file = Arc::clone(&job.file);
    let offset = job.next_offset();
    match job.kind {
        JobKind::Read => pread(&*file, job.next_room(), offset),
        JobKind::Write | JobKind::Zero => pwrite(&*file, job.next_bytes(), offset),
        JobKind::WriteStable => {
            let bytes = io::IoSlice::new(job.next_bytes());
            pwritev2(&*file, &[bytes], offset, ReadWriteFlags::DSYNC)
        }
        JobKind::Sync => fdatasync(&*file).map(|()| 0),
        // There is no safe call for a range, and the whole file would take too long.
        JobKind::Settle => Ok(0),
        JobKind::Punch => {
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            fallocate(&*file, flags, offset, job.length_bytes).map(|()| 0)
        }
    }
}
