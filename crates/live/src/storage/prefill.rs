//! A thread that takes the memory of drives in memory before clients write to it, so that their
//! first writes do not wait for pages.

use super::headroom::headroom_bytes;
use super::mapping::{HUGE_PAGE_BYTES, Populator};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Instant;

/// Memory is taken in pieces of a huge page, for which the kernel needs some hundred microseconds;
/// the thread pauses and can be stopped in between. After so many pieces it is checked how much
/// memory is left.
const PIECES_PER_CHECK: u32 = 32;
/// Priority of the thread: on a busy processor it gets about a tenth. With the lowest (19) it would
/// get a seventieth, so that a busy array would wait minutes for its memory, and the thread could
/// be off the processor for long while it holds the lock of the address space.
const NICE: i32 = 10;

/// How far a prefill is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PrefillProgress {
    /// Bytes whose memory is taken.
    pub done_bytes: u64,
    /// Bytes of all drives in memory.
    pub bytes: u64,
    /// Whether it goes on.
    pub state: PrefillState,
}

/// Whether a prefill goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PrefillState {
    /// Memory is being taken.
    Running,
    /// All memory is taken.
    Done,
    /// Stopped, because little memory is left or the kernel had none: what is missing is taken when
    /// it is written.
    OutOfMemory,
    /// The kernel cannot do it; Linux 5.14 can.
    Unsupported,
}

/// What the thread and its owner share.
#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    out_of_memory: AtomicBool,
    unsupported: AtomicBool,
}

/// The thread; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct Prefill {
    shared: Arc<Shared>,
    /// `None` once the thread is to end.
    drives: Option<Sender<Populator>>,
    thread: Option<JoinHandle<()>>,
}

impl Prefill {
    /// # Errors
    ///
    /// If the system has no thread left.
    pub(super) fn start() -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let (drives, inbox) = channel();
        let worker = Worker { shared: Arc::clone(&shared), inbox, queue: VecDeque::new() };
        let thread = std::thread::Builder::new().name("prefill".into());
        let thread = thread.spawn(move || worker.run())?;
        Ok(Self { shared, drives: Some(drives), thread: Some(thread) })
    }

    /// Takes the memory of one more drive.
    pub(super) fn add(&self, populator: Populator) {
        if let Some(drives) = &self.drives {
            // The receiver is dropped after an early end.
            let _ = drives.send(populator);
        }
    }

    /// Whether it goes on, when `done_bytes` of `bytes` are taken.
    pub(super) fn state(&self, done_bytes: u64, bytes: u64) -> PrefillState {
        if done_bytes >= bytes {
            PrefillState::Done
        } else if self.shared.unsupported.load(Ordering::Relaxed) {
            PrefillState::Unsupported
        } else if self.shared.out_of_memory.load(Ordering::Relaxed) {
            PrefillState::OutOfMemory
        } else {
            PrefillState::Running
        }
    }
}

impl Drop for Prefill {
    /// Waits for the piece that is under way.
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.drives = None;
        if let Some(thread) = self.thread.take() {
            // It may be pausing.
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

#[derive(Debug)]
struct Worker {
    shared: Arc<Shared>,
    inbox: Receiver<Populator>,
    /// Drives whose memory is being taken, in turns: clients write to all of them alike.
    queue: VecDeque<Populator>,
}

impl Worker {
    fn run(mut self) {
        // Of this thread only. Without the right to it, the pauses alone have to do.
        let _ = rustix::process::setpriority_process(None, NICE);
        let mut pieces = 0u32;
        loop {
            let next = match self.queue.is_empty() {
                true => self.inbox.recv().ok(),
                false => self.inbox.try_recv().ok(),
            };
            self.queue.extend(next);
            let Some(mut drive) = self.queue.pop_front() else { return };
            if self.shared.stop.load(Ordering::Relaxed) {
                return;
            }
            if pieces.is_multiple_of(PIECES_PER_CHECK) && !has_room() {
                return self.give_up(Errno::NOMEM);
            }
            pieces = pieces.wrapping_add(1);
            let begun = Instant::now();
            match drive.populate() {
                Ok(true) => self.queue.push_back(drive),
                Ok(false) => {}
                Err(error) => return self.give_up(error),
            }
            // As long again: at most half of a processor, and memory's locks are free in between.
            std::thread::park_timeout(begun.elapsed());
        }
    }

    fn give_up(self, error: Errno) {
        if error == Errno::INVAL {
            tracing::warn!("memory is not taken in advance: the kernel is older than Linux 5.14");
            self.shared.unsupported.store(true, Ordering::Relaxed);
        } else {
            tracing::warn!(
                %error,
                "memory is no longer taken in advance, because little is left: the rest is taken when \
                 it is written"
            );
            self.shared.out_of_memory.store(true, Ordering::Relaxed);
        }
    }
}

/// Whether there is memory for the pieces until the next check.
fn has_room() -> bool {
    let wanted = u64::from(PIECES_PER_CHECK) * HUGE_PAGE_BYTES as u64;
    headroom_bytes().is_none_or(|bytes| bytes >= wanted)
}
