//! Replies that wait to be sent: bytes, first in, first out, in pieces of memory that are given back as soon
//! as they are sent.
//!
//! Small replies follow each other in one piece, so that one system call sends many. A large reply has a
//! piece of its own size: nothing is moved or copied to make room for it, and a client that does not
//! read has the server hold what it asked for and no more.

use std::collections::VecDeque;

/// Size of a piece, unless one reply is larger.
const PIECE_BYTES: usize = 128 << 10;

/// One piece of memory: sent up to `start`, filled up to `end`.
#[derive(Debug)]
struct Piece {
    memory: Vec<u8>,
    start: usize,
    end: usize,
}

/// A queue of replies.
#[derive(Debug, Default)]
pub(super) struct Output {
    /// None is empty, but for the only one, which is kept for the next reply.
    pieces: VecDeque<Piece>,
    /// Bytes filled in all pieces, sent or not.
    filled_bytes: usize,
}

impl Output {
    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.front().is_empty()
    }

    /// Bytes of memory that are in use for what waits: also what is sent of a piece that is not sent whole.
    pub(super) fn held_bytes(&self) -> u64 {
        self.filled_bytes as u64
    }

    /// What is to be sent next: all, unless there are several pieces.
    pub(super) fn front(&self) -> &[u8] {
        self.pieces.front().map_or(&[], |piece| &piece.memory[piece.start..piece.end])
    }

    /// Room for `count` more bytes, which count as waiting from now on, with anything in them.
    pub(super) fn append(&mut self, count: usize) -> &mut [u8] {
        let has_room = |piece: &Piece| piece.memory.len() - piece.end >= count;
        if !self.pieces.back().is_some_and(has_room) {
            if self.is_empty() {
                // What was kept is too small for this.
                self.pieces.clear();
            }
            // Zeros from the system are not touched before they are needed.
            let memory = vec![0; count.max(PIECE_BYTES)];
            self.pieces.push_back(Piece { memory, start: 0, end: 0 });
        }
        self.filled_bytes += count;
        let Some(piece) = self.pieces.back_mut() else { return &mut [] };
        let at = piece.end;
        piece.end += count;
        &mut piece.memory[at..at + count]
    }

    /// Appends a copy of `bytes`.
    pub(super) fn put(&mut self, bytes: &[u8]) {
        self.append(bytes.len()).copy_from_slice(bytes);
    }

    /// `count` bytes of [`Self::front`] have been sent.
    pub(super) fn sent(&mut self, count: usize) {
        let Some(piece) = self.pieces.front_mut() else { return };
        piece.start += count;
        debug_assert!(piece.start <= piece.end, "more is sent than there was");
        if piece.start < piece.end {
            return;
        }
        self.filled_bytes -= piece.end;
        (piece.start, piece.end) = (0, 0);
        let is_large = piece.memory.len() > PIECE_BYTES;
        if is_large || self.pieces.len() > 1 {
            self.pieces.pop_front();
        }
    }

    /// Takes all bytes and all memory away.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(testing::cases(256))]

        #[test]
        fn it_is_a_queue_that_holds_little_more_than_what_waits(
            steps in proptest::collection::vec((any::<bool>(), 0usize..300_000), 1..60),
        ) {
            let mut output = Output::default();
            let mut model: VecDeque<u8> = VecDeque::new();
            for (step, (append, count)) in steps.into_iter().enumerate() {
                if append {
                    output.append(count).fill(step as u8);
                    model.extend(std::iter::repeat_n(step as u8, count));
                } else {
                    let count = count.min(output.front().len());
                    output.sent(count);
                    model.drain(..count);
                }
                prop_assert_eq!(output.is_empty(), model.is_empty());
                let front = output.front();
                prop_assert!(front.iter().eq(model.iter().take(front.len())));
                let memory: usize = output.pieces.iter().map(|piece| piece.memory.len()).sum();
                let largest = 300_000;
                prop_assert!(output.held_bytes() >= model.len() as u64);
                prop_assert!(memory <= 2 * model.len() + 2 * largest, "{} for {}", memory, model.len());
                prop_assert!(output.held_bytes() <= memory as u64);
            }
            while !output.is_empty() {
                let front = output.front().to_vec();
                prop_assert!(front.iter().eq(model.drain(..front.len()).collect::<Vec<_>>().iter()));
                output.sent(front.len());
            }
            prop_assert!(model.is_empty());
            prop_assert_eq!(output.held_bytes(), 0);
        }
    }

    #[test]
    fn memory_of_a_burst_is_given_back_as_it_is_sent() {
        let mut output = Output::default();
        for _ in 0..8 {
            output.append(1 << 20);
        }
        assert_eq!((output.pieces.len(), output.held_bytes()), (8, 8 << 20));
        output.sent(1000);
        assert_eq!(
            output.held_bytes(),
            8 << 20,
            "the piece is there as long as one byte of it waits"
        );
        output.sent((1 << 20) - 1000);
        assert_eq!((output.pieces.len(), output.held_bytes()), (7, 7 << 20));
        while !output.is_empty() {
            output.sent(output.front().len());
        }
        assert!(output.pieces.is_empty());
        output.put(&[1; 100]);
        output.sent(100);
        assert_eq!(output.pieces.len(), 1, "kept for the next reply");
    }
}
