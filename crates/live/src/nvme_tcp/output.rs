//! What waits to be sent over one connection: PDUs in order, the data among them not copied.

use super::command_buffer::CommandBuffer;
use crate::buffer::Buffer;
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::ops::Range;

/// Most pieces of one system call.
const SLICES_MAX: usize = 64;

/// A piece of what is to be sent.
#[derive(Debug)]
enum Piece {
    /// Headers and digests, one after the other.
    Bytes(Vec<u8>),
    /// Data of a command.
    Data(Buffer, Range<usize>),
    /// A buffer of which all is sent that was to be sent.
    Over(Box<CommandBuffer>),
}

impl Piece {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Data(buffer, range) => &buffer.bytes()[range.clone()],
            Self::Over(_) => &[],
        }
    }

    fn into_over(self) -> Option<CommandBuffer> {
        match self {
            Self::Over(buffer) => Some(*buffer),
            Self::Bytes(_) | Self::Data(..) => None,
        }
    }
}

/// What one call has sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) bytes: usize,
    /// Whether the socket took all that it was given.
    pub(super) all: bool,
}

/// A queue of what is to be sent.
#[derive(Debug, Default)]
pub(super) struct Output {
    pieces: VecDeque<Piece>,
    /// Bytes of the first piece that are sent.
    sent_bytes: usize,
    /// Bytes of headers and digests.
    header_bytes: usize,
    /// Buffers of which all is sent.
    over: Vec<CommandBuffer>,
}

impl Output {
    /// Whether nothing is to be sent.
    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Bytes of headers and digests in it: all of it that does not lie in buffers of commands.
    pub(super) const fn header_bytes(&self) -> usize {
        self.header_bytes
    }

    /// Appends headers or digests.
    pub(super) fn put(&mut self, bytes: &[u8]) {
        self.header_bytes += bytes.len();
        if let Some(Piece::Bytes(last)) = self.pieces.back_mut() {
            last.extend_from_slice(bytes);
        } else {
            self.pieces.push_back(Piece::Bytes(bytes.to_vec()));
        }
    }

    /// Appends data, at least one byte.
    pub(super) fn put_data(&mut self, buffer: Buffer, range: Range<usize>) {
        self.pieces.push_back(Piece::Data(buffer, range));
    }

    /// A buffer is needed no longer than what is in the queue now.
    pub(super) fn put_over(&mut self, buffer: CommandBuffer) {
        match self.is_empty() {
            true => self.over.push(buffer),
            false => self.pieces.push_back(Piece::Over(Box::new(buffer))),
        }
    }

    /// The next buffer that is needed no longer.
    pub(super) fn pop_over(&mut self) -> Option<CommandBuffer> {
        self.over.pop()
    }

    /// Everything is dropped, but for buffers, which are over.
    pub(super) fn discard(&mut self) {
        let (pieces, over) = (&mut self.pieces, &mut self.over);
        over.extend(pieces.drain(..).filter_map(Piece::into_over));
        (self.sent_bytes, self.header_bytes) = (0, 0);
    }

    /// Sends what `write` takes by one call, which says how many bytes that was, and is given at
    /// most a piece more than `most_bytes`.
    pub(super) fn send(
        &mut self,
        most_bytes: usize,
        write: impl FnOnce(&[IoSlice<'_>]) -> io::Result<usize>,
    ) -> io::Result<Sent> {
        let mut slices = [IoSlice::new(&[]); SLICES_MAX];
        let (mut count, mut offered) = (0, 0);
        let mut skipped = self.sent_bytes;
        for piece in &self.pieces {
            let bytes = &piece.bytes()[std::mem::take(&mut skipped)..];
            if bytes.is_empty() {
                continue;
            }
            if count == SLICES_MAX || offered >= most_bytes {
                break;
            }
            slices[count] = IoSlice::new(bytes);
            (count, offered) = (count + 1, offered + bytes.len());
        }
        if offered == 0 {
            return Ok(Sent { bytes: 0, all: true });
        }
        let bytes = write(&slices[..count])?;
        self.advance(bytes);
        Ok(Sent { bytes, all: bytes == offered })
    }

    /// So many bytes are sent.
    fn advance(&mut self, sent: usize) {
        let mut left = self.sent_bytes + sent;
        self.sent_bytes = 0;
        while let Some(piece) = self.pieces.front() {
            let length = piece.bytes().len();
            if left < length {
                self.sent_bytes = left;
                return;
            }
            left -= length;
            match self.pieces.pop_front() {
                Some(Piece::Bytes(bytes)) => self.header_bytes -= bytes.len(),
                Some(piece) => self.over.extend(piece.into_over()),
                None => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::command_buffer::Purpose;
    use super::*;
    use crate::buffer::{PAGE_BYTES, Pool};
    use proptest::prelude::*;

    fn buffer(pool: &mut Pool, fill: u8) -> CommandBuffer {
        let mut buffer = CommandBuffer::pages(pool, PAGE_BYTES, Purpose::Granted);
        buffer.bytes_mut().fill(fill);
        buffer
    }

    proptest! {
        #![proptest_config(testing::cases(128))]

        #[test]
        fn it_sends_in_order_whatever_the_socket_takes_and_gives_buffers_back_when_they_are_sent(
            steps in proptest::collection::vec((0u8..3, 0usize..PAGE_BYTES), 1..200),
        ) {
            let (mut output, mut pool) = (Output::default(), Pool::default());
            let (mut model, mut sent) = (Vec::new(), Vec::new());
            // Where in the stream each buffer has its end.
            let (mut ends, mut given) = (Vec::new(), 0usize);
            for (number, (kind, count)) in steps.into_iter().enumerate() {
                let fill = number as u8;
                match kind {
                    0 => {
                        let bytes = vec![fill; count % 60 + 1];
                        output.put(&bytes);
                        model.extend(bytes);
                    }
                    1 => {
                        let buffer = buffer(&mut pool, fill);
                        let start = count / 2;
                        output.put_data(buffer.share().unwrap(), start..count + 1);
                        model.extend(vec![fill; count + 1 - start]);
                        output.put_over(buffer);
                        ends.push(model.len());
                    }
                    _ => {
                        let result = output.send(PAGE_BYTES, |slices| {
                            let all: Vec<u8> = slices.iter().flat_map(|slice| slice.iter().copied()).collect();
                            let taken = all.len().min(count);
                            sent.extend_from_slice(&all[..taken]);
                            Ok(taken)
                        });
                        prop_assert!(result.is_ok());
                    }
                }
                while let Some(mut buffer) = output.pop_over() {
                    // There is no other handle to it.
                    buffer.bytes_mut()[0] = 0;
                    buffer.recycle(&mut pool);
                    given += 1;
                }
                prop_assert_eq!(&model[..sent.len()], &sent[..]);
                prop_assert_eq!(output.is_empty(), sent.len() == model.len());
                prop_assert_eq!(given, ends.iter().filter(|end| **end <= sent.len()).count());
            }
            output.discard();
            while output.pop_over().is_some() {
                given += 1;
            }
            prop_assert_eq!((given, output.header_bytes()), (ends.len(), 0));
        }
    }
}
