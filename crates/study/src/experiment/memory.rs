//! Memory for drives that are simulated side by side.

use std::sync::{Condvar, Mutex, PoisonError};

/// Memory of the drives of one thread, in bytes: twice four drives of 16 GiB with pages of 4 KiB.
pub(super) const EACH_BYTES: u64 = 320 << 20;
/// The same for experiments that are run only when they are named: four fitted drives of 2 TB.
pub(super) const EACH_ON_REQUEST_BYTES: u64 = 1280 << 20;

/// The memory that runs side by side may take for their drives. A run that needs all of it, or more,
/// is made alone.
pub(super) struct Memory {
    each_bytes: u64,
    all_bytes: u64,
    free_bytes: Mutex<u64>,
    freed: Condvar,
}

/// A part of the memory, free again when it is dropped.
pub(super) struct Part<'a> {
    memory: &'a Memory,
    bytes: u64,
}

impl Memory {
    /// The memory of `threads` threads, `each_bytes` for each.
    pub(super) fn of(threads: usize, each_bytes: u64) -> Self {
        let all_bytes = each_bytes * threads as u64;
        Self { each_bytes, all_bytes, free_bytes: Mutex::new(all_bytes), freed: Condvar::new() }
    }

    /// Whether a run that needs `bytes` is too large to have another one beside it.
    pub(super) fn is_alone(&self, bytes: u64) -> bool {
        bytes + self.each_bytes > self.all_bytes
    }

    /// Takes `bytes`, or all of it if it has fewer; waits until they are free.
    pub(super) fn take(&self, bytes: u64) -> Part<'_> {
        let bytes = bytes.min(self.all_bytes);
        let mut free = self.free_bytes.lock().unwrap_or_else(PoisonError::into_inner);
        while *free < bytes {
            free = self.freed.wait(free).unwrap_or_else(PoisonError::into_inner);
        }
        *free -= bytes;
        Part { memory: self, bytes }
    }
}

impl Drop for Part<'_> {
    fn drop(&mut self) {
        *self.memory.free_bytes.lock().unwrap_or_else(PoisonError::into_inner) += self.bytes;
        self.memory.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    #[test]
    fn large_runs_are_alone() {
        let memory = Memory::of(2, EACH_BYTES);
        assert!(memory.is_alone(EACH_BYTES + 1) && !memory.is_alone(EACH_BYTES));
    }

    #[test]
    fn what_needs_all_of_it_is_alone() {
        let (memory, most) = (Memory::of(2, EACH_BYTES), AtomicUsize::new(0));
        let under_way = AtomicUsize::new(0);
        thread::scope(|scope| {
            for bytes in [EACH_BYTES, 1, 5 * EACH_BYTES, 2 * EACH_BYTES, EACH_BYTES] {
                let (memory, most, under_way) = (&memory, &most, &under_way);
                scope.spawn(move || {
                    let part = memory.take(bytes);
                    let now = 1 + under_way.fetch_add(1, Ordering::SeqCst);
                    most.fetch_max(now, Ordering::SeqCst);
                    assert!(bytes < 2 * EACH_BYTES || now == 1, "{bytes} beside others");
                    thread::yield_now();
                    under_way.fetch_sub(1, Ordering::SeqCst);
                    drop(part);
                });
            }
        });
        assert!(most.into_inner() >= 1);
        assert_eq!(memory.free_bytes.into_inner().unwrap(), 2 * EACH_BYTES);
    }
}
