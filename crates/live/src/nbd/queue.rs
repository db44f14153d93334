//! Bytes that wait to be parsed or to be sent: first in, first out, in one piece of memory.

/// First allocation.
const FIRST_BYTES: usize = 64 << 10;
/// Up to this size memory is kept for the next burst, however rare bursts are.
const KEPT_BYTES: usize = 256 << 10;
/// From this size on memory is freed as soon as the queue is empty.
const LARGE_BYTES: usize = 16 << 20;
/// Memory doubles, up to steps of this size.
const STEP_BYTES_MAX: usize = 8 << 20;
/// After the queue was empty so many times, memory that was not needed in between is freed.
const EMPTIED_BEFORE_REVIEW: u32 = 64;

/// A queue of bytes. Memory that was used once stays initialised, so that nothing is zeroed for
/// bytes that are overwritten at once.
#[derive(Debug, Default)]
pub(super) struct Queue {
    memory: Vec<u8>,
    start: usize,
    end: usize,
    /// Longest that it was since the last review of its memory.
    peak: usize,
    emptied: u32,
}

impl Queue {
    /// Number of bytes that wait.
    pub(super) fn len(&self) -> usize {
        self.end - self.start
    }

    /// The bytes that wait.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.memory[self.start..self.end]
    }

    /// Room for `count` more bytes, which count as waiting from now on, with anything in them.
    pub(super) fn append(&mut self, count: usize) -> &mut [u8] {
        self.make_room(count);
        let at = self.end;
        self.end += count;
        self.peak = self.peak.max(self.len());
        &mut self.memory[at..at + count]
    }

    /// Appends a copy of `bytes`.
    pub(super) fn put(&mut self, bytes: &[u8]) {
        self.append(bytes.len()).copy_from_slice(bytes);
    }

    /// All room behind the bytes that wait, at least `least` bytes; see [`Self::filled`].
    pub(super) fn room(&mut self, least: usize) -> &mut [u8] {
        self.make_room(least);
        &mut self.memory[self.end..]
    }

    /// The first `count` bytes of the room have been filled.
    pub(super) fn filled(&mut self, count: usize) {
        self.end += count;
        debug_assert!(self.end <= self.memory.len());
        self.peak = self.peak.max(self.len());
    }

    /// Takes `count` bytes away at the front.
    pub(super) fn consume(&mut self, count: usize) {
        self.start += count;
        debug_assert!(self.start <= self.end);
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
            self.review_memory();
        }
    }

    fn make_room(&mut self, count: usize) {
        if self.memory.len() - self.end >= count {
            return;
        }
        // Moved only when a good part has left since: no byte is moved often, and little is wasted.
        if self.start >= self.len().div_ceil(4) {
            self.memory.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        let least = self.end + count;
        if self.memory.len() < least {
            let step = self.memory.len().min(STEP_BYTES_MAX);
            let length = least.max(FIRST_BYTES).max(self.memory.len() + step);
            if self.memory.is_empty() {
                // Fresh zeros from the system are not touched before they are needed.
                self.memory = vec![0; length];
            } else {
                self.memory.resize(length, 0);
            }
        }
    }

    /// Frees memory that was not needed for a while; called when the queue becomes empty.
    fn review_memory(&mut self) {
        self.emptied += 1;
        if self.emptied < EMPTIED_BEFORE_REVIEW && self.memory.len() < LARGE_BYTES {
            return;
        }
        let wasteful = self.memory.len() > KEPT_BYTES && self.peak < self.memory.len() / 4;
        if wasteful || self.memory.len() >= LARGE_BYTES {
            self.memory = Vec::new();
        }
        self.emptied = 0;
        self.peak = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #![proptest_config(testing::cases(256))]

        #[test]
        fn it_is_a_queue(steps in proptest::collection::vec((any::<bool>(), 0usize..200_000), 1..60)) {
            let mut queue = Queue::default();
            let mut model = VecDeque::new();
            let mut longest = 0;
            for (step, (append, count)) in steps.into_iter().enumerate() {
                if append {
                    let byte = step as u8;
                    if step % 2 == 0 {
                        queue.append(count).fill(byte);
                    } else {
                        queue.room(count)[..count].fill(byte);
                        queue.filled(count);
                    }
                    model.extend(std::iter::repeat_n(byte, count));
                } else {
                    let count = count.min(model.len());
                    queue.consume(count);
                    model.drain(..count);
                }
                prop_assert_eq!(queue.len(), model.len());
                prop_assert!(queue.bytes() == model.make_contiguous());
                longest = longest.max(queue.len());
                prop_assert!(queue.memory.len() <= 3 * longest.max(FIRST_BYTES));
            }
        }
    }

    #[test]
    fn memory_of_a_burst_is_given_back() {
        let mut queue = Queue::default();
        queue.append(LARGE_BYTES);
        queue.consume(queue.len());
        assert!(queue.memory.is_empty());
        queue.append(KEPT_BYTES * 2);
        queue.consume(queue.len());
        for _ in 0..2 * EMPTIED_BEFORE_REVIEW {
            queue.put(&[1; 100]);
            queue.consume(queue.len());
        }
        assert!(queue.memory.len() <= KEPT_BYTES);
    }
}
