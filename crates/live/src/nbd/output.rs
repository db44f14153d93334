//! Replies that wait to be sent: bytes, first in, first out, in pieces of memory that are given
//! back as soon as they are sent.
//!
//! Small replies follow each other in one piece, so that one system call sends many. A large reply
//! has a piece of its own: nothing is moved or copied to make room for it, and a client that does
//! not read has the server hold what it asked for and no more. What a large read has brought is
//! sent from where it was read to.

use crate::buffer::Buffer;
use std::collections::VecDeque;
use std::ops::Range;

/// Size of a piece, unless one reply is larger.
const PIECE_BYTES: usize = 128 << 10;
/// Data from this size on are not copied.
const SHARED_BYTES_MIN: usize = PIECE_BYTES;

/// Where bytes to be sent are.
#[derive(Debug)]
enum BytesIn {
    Own(Vec<u8>),
    /// In what a read has brought.
    Read(Buffer),
}

/// One piece of memory: sent up to `start`, filled up to `end`.
#[derive(Debug)]
struct Piece {
    place: BytesIn,
    start: usize,
    end: usize,
    /// Bytes that count as held while any of them waits.
    held_bytes: usize,
}

impl Piece {
    fn memory(&self) -> &[u8] {
        match &self.place {
            BytesIn::Own(memory) => memory,
            BytesIn::Read(buffer) => buffer.bytes(),
        }
    }

    /// Room for more bytes behind those that are filled.
    fn room_bytes(&self) -> usize {
        match &self.place {
            BytesIn::Own(memory) => memory.len() - self.end,
            BytesIn::Read(_) => 0,
        }
    }
}

/// A queue of replies.
#[derive(Debug, Default)]
pub(super) struct Output {
    /// None is empty, but for the only one, which is kept for the next reply.
    pieces: VecDeque<Piece>,
    /// Bytes filled in all pieces, sent or not.
    filled_bytes: usize,
    /// What reads have brought, and is sent.
    spent: Vec<Buffer>,
}

/// Replies that are not sent, and will not be.
#[derive(Debug)]
pub struct UnsentReplies(#[allow(dead_code, reason = "it is there to be dropped")] Output);

impl Output {
    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.front().is_empty()
    }

    /// Bytes of memory that are in use for what waits: also what is sent of a piece that is not
    /// sent whole.
    pub(super) fn held_bytes(&self) -> u64 {
        self.filled_bytes as u64
    }

    /// What is to be sent next: all, unless there are several pieces.
    pub(super) fn front(&self) -> &[u8] {
        self.pieces.front().map_or(&[], |piece| &piece.memory()[piece.start..piece.end])
    }

    /// Room for `count` more bytes, which count as waiting from now on, with anything in them.
    pub(super) fn append(&mut self, count: usize) -> &mut [u8] {
        self.append_in(count, PIECE_BYTES)
    }

    /// As [`Output::append`], in a piece of at least `piece_bytes` if another one is needed.
    fn append_in(&mut self, count: usize, piece_bytes: usize) -> &mut [u8] {
        if self.pieces.back().is_none_or(|piece| piece.room_bytes() < count) {
            if self.is_empty() {
                // What was kept is too small for this.
                self.pieces.clear();
            }
            // Zeros from the system are not touched before they are needed.
            let place = BytesIn::Own(vec![0; count.max(piece_bytes)]);
            self.pieces.push_back(Piece { place, start: 0, end: 0, held_bytes: 0 });
        }
        self.filled_bytes += count;
        let Some(Piece { place: BytesIn::Own(memory), end, held_bytes, .. }) =
            self.pieces.back_mut()
        else {
            return &mut [];
        };
        let at = *end;
        *end += count;
        *held_bytes += count;
        &mut memory[at..at + count]
    }

    /// Appends a copy of `bytes`.
    pub(super) fn put(&mut self, bytes: &[u8]) {
        self.append(bytes.len()).copy_from_slice(bytes);
    }

    /// Appends `head` and what a read has brought.
    pub(super) fn put_read(&mut self, head: &[u8], buffer: Buffer, range: Range<usize>) {
        if range.len() < SHARED_BYTES_MIN {
            let into = self.append(head.len() + range.len());
            into[..head.len()].copy_from_slice(head);
            into[head.len()..].copy_from_slice(&buffer.bytes()[range]);
            self.spent.push(buffer);
            return;
        }
        self.append_in(head.len(), head.len()).copy_from_slice(head);
        let held_bytes = range.len();
        self.filled_bytes += held_bytes;
        let Range { start, end } = range;
        self.pieces.push_back(Piece { place: BytesIn::Read(buffer), start, end, held_bytes });
    }

    /// `count` bytes of [`Self::front`] have been sent.
    pub(super) fn sent(&mut self, count: usize) {
        let is_only = self.pieces.len() == 1;
        let Some(piece) = self.pieces.front_mut() else { return };
        piece.start += count;
        debug_assert!(piece.start <= piece.end, "more is sent than there was");
        if piece.start < piece.end {
            return;
        }
        self.filled_bytes -= std::mem::take(&mut piece.held_bytes);
        match &piece.place {
            BytesIn::Own(memory) if is_only && memory.len() == PIECE_BYTES => {
                (piece.start, piece.end) = (0, 0);
            }
            _ => {
                let sent = self.pieces.pop_front().map(|piece| piece.place);
                if let Some(BytesIn::Read(buffer)) = sent {
                    self.spent.push(buffer);
                }
            }
        }
    }

    /// What a read has brought is not needed.
    pub(super) fn spend(&mut self, buffer: Buffer) {
        self.spent.push(buffer);
    }

    /// The next buffer of a read that is not needed any more.
    pub(super) fn pop_spent(&mut self) -> Option<Buffer> {
        self.spent.pop()
    }

    /// Takes all bytes and all memory away.
    pub(super) fn take(&mut self) -> UnsentReplies {
        UnsentReplies(std::mem::take(self))
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
            steps in proptest::collection::vec((0u8..3, 0usize..300_000), 1..60),
        ) {
            let mut output = Output::default();
            let mut model: VecDeque<u8> = VecDeque::new();
            let (mut read, mut spent) = (0, 0);
            for (step, (what, count)) in steps.into_iter().enumerate() {
                if what == 0 {
                    output.append(count).fill(step as u8);
                    model.extend(std::iter::repeat_n(step as u8, count));
                } else if what == 1 {
                    let mut buffer = Buffer::zeroed(count + 100);
                    buffer.bytes_mut()[50..][..count].fill(step as u8);
                    output.put_read(b"head", buffer, 50..50 + count);
                    model.extend(b"head");
                    model.extend(std::iter::repeat_n(step as u8, count));
                    read += 1;
                } else {
                    let count = count.min(output.front().len());
                    output.sent(count);
                    model.drain(..count);
                }
                prop_assert_eq!(output.is_empty(), model.is_empty());
                let front = output.front();
                prop_assert!(front == &model.make_contiguous()[..front.len()]);
                while output.pop_spent().is_some() {
                    spent += 1;
                }
                let memory: usize = output.pieces.iter().map(|piece| piece.memory().len()).sum();
                let largest = 300_000;
                prop_assert!(output.held_bytes() >= model.len() as u64);
                prop_assert!(memory <= 2 * model.len() + 2 * largest, "{} for {}", memory, model.len());
                prop_assert!(output.held_bytes() <= memory as u64);
            }
            while !output.is_empty() {
                let front = output.front().to_vec();
                prop_assert!(front == model.drain(..front.len()).collect::<Vec<_>>());
                output.sent(front.len());
            }
            while output.pop_spent().is_some() {
                spent += 1;
            }
            prop_assert!(model.is_empty());
            prop_assert_eq!((output.held_bytes(), spent), (0, read));
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
