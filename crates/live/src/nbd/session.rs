//! The transmission phase without a socket: bytes of a client in, requests out; replies in, bytes
//! for the client out.

use super::output::{Output, UnsentReplies};
use super::queue::Queue;
use super::request::{Errno, Extent, Kind, Request, Terms, Verdict, judge};
use super::wire::{self, CHUNK_BYTES, REQUEST_BYTES, RequestHeader, SIMPLE_REPLY_BYTES};
use crate::buffer::{Buffer, Pool};
use std::io::IoSliceMut;
use std::ops::Range;

/// Most requests of one client in flight. Further ones stay in its socket.
pub const IN_FLIGHT_MAX: usize = 1024;
/// Data of requests in flight and replies that are not sent, of one client, in bytes. Further
/// requests stay in the client's socket. A single request is always accepted.
pub const HELD_BYTES_MAX: u64 = 64 << 20;
/// Most extents in one reply, which the protocol allows to be shorter than what was asked for.
pub const EXTENTS_MAX: usize = 4096;
/// Longest sentence in the reply to a failed request, in bytes.
const MESSAGE_BYTES_MAX: usize = 1024;
/// Bytes that are received at once, besides the payload of a write.
const RECEIVE_BYTES: usize = 32 << 10;
/// Bytes of the payload of a write that are received at once.
const RECEIVE_PAYLOAD_BYTES: usize = 256 << 10;

/// What one client has done since it connected. Only grows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Bytes that came from it after the handshake.
    pub received_bytes: u64,
    /// Bytes that were sent to it, from the answer that ended the handshake on.
    pub sent_bytes: u64,
    /// Requests that were handed to the array.
    pub requests: u64,
    /// Requests that were refused at once, because they make no sense.
    pub refused: u64,
}

/// A request in flight.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// The client's.
    cookie: u64,
    offset_bytes: u64,
    length_bytes: u32,
    kind: Kind,
    /// Counts up with every use, so that an old cookie is not taken for a new one.
    round: u32,
    used: bool,
}

#[derive(Debug)]
enum Expected {
    /// The next bytes are a request.
    Header,
    /// The next bytes are the payload of a write.
    Payload { request: Box<Request>, buffer: Buffer, filled: usize },
    /// The next bytes are the payload of a write that was refused.
    Drain { cookie: u64, left: u64, errno: Errno, message: &'static str },
}

/// One client after the handshake.
#[derive(Debug)]
pub(super) struct Session {
    terms: Terms,
    input: Queue,
    state: Expected,
    slots: Vec<Slot>,
    free: Vec<u32>,
    output: Output,
    /// Data of requests in flight and of the write that is being received.
    held_bytes: u64,
    /// Bytes that may be held in addition, whatever is let go meanwhile.
    room_bytes: u64,
    /// Whether requests of the client are still accepted.
    accepting: bool,
    /// Whether the last byte of the client has been received.
    ended: bool,
    /// Whether the client takes no replies any more.
    discards_replies: bool,
    /// Replies that it did not take.
    unsent: Option<UnsentReplies>,
    counts: Counts,
}

impl Session {
    /// A session that begins with bytes of the client that arrived with the end of the handshake,
    /// and bytes of the handshake that are still to be sent.
    pub(super) fn new(terms: Terms, received: &[u8], unsent: &[u8]) -> Self {
        let mut session = Self {
            terms,
            input: Queue::default(),
            state: Expected::Header,
            slots: Vec::new(),
            free: Vec::new(),
            output: Output::default(),
            held_bytes: 0,
            room_bytes: u64::MAX,
            accepting: true,
            ended: false,
            discards_replies: false,
            unsent: None,
            counts: Counts { received_bytes: received.len() as u64, ..Counts::default() },
        };
        session.input.put(received);
        session.output.put(unsent);
        session
    }

    pub(super) fn counts(&self) -> Counts {
        self.counts
    }

    pub(super) fn in_flight(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Data of requests in flight and replies that are not sent, in bytes.
    pub(super) fn held_bytes(&self) -> u64 {
        self.held_bytes + self.output.held_bytes()
    }

    /// Whether there is nothing left to do.
    pub(super) fn is_finished(&self) -> bool {
        !self.accepting && self.in_flight() == 0 && self.output.is_empty()
    }

    /// Whether bytes of the client should be received.
    pub(super) fn wants_bytes(&self) -> bool {
        self.accepting && !self.ended && self.input.len() < REQUEST_BYTES
    }

    /// Whether [`Self::poll_request`] would get on without more bytes.
    pub(super) fn is_ready(&self) -> bool {
        if !self.accepting {
            return false;
        }
        match &self.state {
            Expected::Header => match self.input.bytes().first_chunk() {
                Some(bytes) => RequestHeader::parse(bytes).is_none_or(|header| {
                    self.fits(&header) && self.charge_of(&header) <= self.room_bytes
                }),
                None => false,
            },
            Expected::Payload { request, filled, .. } => {
                self.input.len() > 0 || *filled == request.length_bytes as usize
            }
            Expected::Drain { .. } => self.input.len() > 0,
        }
    }

    /// Where the next bytes of the client go: first what is missing of a write, then the rest.
    pub(super) fn receive_buffers(&mut self) -> [IoSliceMut<'_>; 2] {
        match &mut self.state {
            Expected::Payload { request, buffer, filled } if self.input.len() == 0 => {
                let length = request.length_bytes as usize;
                let end = length.min(*filled + RECEIVE_PAYLOAD_BYTES);
                // What follows the payload is for the next call if the payload is too long for this
                // one.
                let rest = match end == length {
                    true => self.input.room(RECEIVE_BYTES),
                    false => &mut [],
                };
                [IoSliceMut::new(&mut buffer.bytes_mut()[*filled..end]), IoSliceMut::new(rest)]
            }
            _ => [IoSliceMut::new(&mut []), IoSliceMut::new(self.input.room(RECEIVE_BYTES))],
        }
    }

    /// `count` bytes of the client have been put into [`Self::receive_buffers`].
    pub(super) fn received(&mut self, mut count: usize) {
        self.counts.received_bytes += count as u64;
        if let Expected::Payload { request, filled, .. } = &mut self.state
            && self.input.len() == 0
        {
            let payload = count.min(request.length_bytes as usize - *filled);
            *filled += payload;
            count -= payload;
        }
        self.input.filled(count);
    }

    /// The client has sent its last byte. Requests that have arrived whole are carried out.
    pub(super) fn end_input(&mut self) {
        self.ended = true;
        self.stop_if_ended();
    }

    /// Whether the limits on one client have room for one more request.
    fn fits(&self, header: &RequestHeader) -> bool {
        let held = self.held_bytes();
        let data = self.charge_of(header);
        self.in_flight() < IN_FLIGHT_MAX && (held == 0 || held + data < HELD_BYTES_MAX)
    }

    fn charge_of(&self, header: &RequestHeader) -> u64 {
        match judge(header, &self.terms) {
            Verdict::Accepted(kind) => charge(kind, header.length_bytes),
            Verdict::Refused(..) => MESSAGE_BYTES_MAX as u64,
            Verdict::Disconnect => 0,
        }
    }

    /// From now on requests are accepted as long as they need no more than this.
    pub(super) fn set_room(&mut self, room_bytes: u64) {
        self.room_bytes = room_bytes;
    }

    /// If a request waits for nothing but [more room](Self::set_room): how much it needs, in bytes.
    pub(super) fn wanted_room(&self) -> Option<u64> {
        let header = match (&self.state, self.input.bytes().first_chunk()) {
            (Expected::Header, Some(bytes)) if self.accepting => RequestHeader::parse(bytes),
            _ => None,
        };
        let header = header.filter(|header| self.fits(header))?;
        Some(self.charge_of(&header)).filter(|wanted| *wanted > self.room_bytes)
    }

    /// The next request that has arrived whole. `None` until more bytes come, replies are given or
    /// replies are sent. Requests that make no sense are answered here.
    pub(super) fn poll_request(&mut self, pool: &mut Pool) -> Option<Request> {
        while self.is_ready() {
            let request = match std::mem::replace(&mut self.state, Expected::Header) {
                Expected::Header => self.take_header(pool),
                Expected::Payload { request, buffer, filled } => {
                    self.take_payload(request, buffer, filled)
                }
                Expected::Drain { cookie, left, errno, message } => {
                    let drained = left.min(self.input.len() as u64);
                    self.input.consume(drained as usize);
                    self.drain(cookie, left - drained, errno, message);
                    None
                }
            };
            if let Some(mut request) = request {
                request.cookie = self.take_slot(&request);
                self.counts.requests += 1;
                return Some(request);
            }
        }
        self.stop_if_ended();
        None
    }

    fn take_header(&mut self, pool: &mut Pool) -> Option<Request> {
        let header = RequestHeader::parse(self.input.bytes().first_chunk()?);
        let Some(header) = header else {
            // It is not known where the next request begins.
            self.stop_accepting();
            return None;
        };
        self.input.consume(REQUEST_BYTES);
        self.room_bytes = self.room_bytes.saturating_sub(self.charge_of(&header));
        match judge(&header, &self.terms) {
            Verdict::Accepted(Kind::Read | Kind::BlockStatus { .. }) if self.discards_replies => {
                None
            }
            Verdict::Accepted(kind) => {
                let request = Request {
                    cookie: header.cookie,
                    kind,
                    offset_bytes: header.offset_bytes,
                    length_bytes: header.length_bytes,
                    fua: header.flags & wire::command_flag::FUA != 0,
                    data: None,
                };
                self.held_bytes += charge(kind, request.length_bytes);
                if kind != Kind::Write {
                    return Some(request);
                }
                let buffer = pool.take(request.length_bytes as usize);
                self.take_payload(Box::new(request), buffer, 0)
            }
            Verdict::Refused(errno, message) => {
                let payload = header.command == wire::command::WRITE;
                let left = if payload { u64::from(header.length_bytes) } else { 0 };
                self.drain(header.cookie, left, errno, message);
                None
            }
            Verdict::Disconnect => {
                self.stop_accepting();
                None
            }
        }
    }

    fn take_payload(
        &mut self,
        mut request: Box<Request>,
        mut buffer: Buffer,
        mut filled: usize,
    ) -> Option<Request> {
        let length = request.length_bytes as usize;
        let count = (length - filled).min(self.input.len());
        buffer.bytes_mut()[filled..filled + count].copy_from_slice(&self.input.bytes()[..count]);
        self.input.consume(count);
        filled += count;
        if filled < length {
            self.state = Expected::Payload { request, buffer, filled };
            return None;
        }
        request.data = Some(buffer);
        Some(*request)
    }

    /// Discards the payload of a refused write as it arrives, and answers at its end.
    fn drain(&mut self, cookie: u64, left: u64, errno: Errno, message: &'static str) {
        if left == 0 {
            self.counts.refused += 1;
            self.put_error(cookie, errno, message);
        } else {
            self.state = Expected::Drain { cookie, left, errno, message };
        }
    }

    /// Stops when the client has sent its last byte and no complete request is left.
    fn stop_if_ended(&mut self) {
        let incomplete = match &self.state {
            Expected::Header => self.input.len() < REQUEST_BYTES,
            Expected::Payload { .. } | Expected::Drain { .. } => !self.is_ready(),
        };
        if self.ended && self.accepting && incomplete {
            self.stop_accepting();
        }
    }

    /// What was received of a write stays until the session is dropped: where that is done, it may
    /// take its time.
    fn stop_accepting(&mut self) {
        if !std::mem::replace(&mut self.accepting, false) {
            return;
        }
        if let Expected::Payload { request, .. } = &self.state {
            self.held_bytes -= charge(request.kind, request.length_bytes);
        }
        self.input = Queue::default();
    }

    /// Takes a slot for a request until it is answered; gives the cookie for it.
    fn take_slot(&mut self, request: &Request) -> u64 {
        let Request { cookie, kind, offset_bytes, length_bytes, .. } = *request;
        let slot = Slot { cookie, offset_bytes, length_bytes, kind, round: 0, used: true };
        let Some(index) = self.free.pop() else {
            self.slots.push(slot);
            return self.slots.len() as u64 - 1;
        };
        let old = &mut self.slots[index as usize];
        *old = Slot { round: old.round.wrapping_add(1), ..slot };
        u64::from(old.round) << 32 | u64::from(index)
    }

    /// Takes a request out of those in flight. `None`, and a panic in tests, if it is not in
    /// flight.
    fn release_slot(&mut self, cookie: u64) -> Option<Slot> {
        let index = cookie as u32;
        let slot = self.slots.get_mut(index as usize);
        let slot = slot.filter(|slot| slot.used && u64::from(slot.round) == cookie >> 32);
        debug_assert!(slot.is_some(), "request {cookie:#x} is not in flight");
        let slot = slot?;
        slot.used = false;
        let slot = *slot;
        self.free.push(index);
        self.held_bytes -= charge(slot.kind, slot.length_bytes);
        Some(slot)
    }

    /// Answers a request that gives no data: it is done.
    pub(super) fn reply_done(&mut self, cookie: u64) {
        let Some(slot) = self.release_slot(cookie) else { return };
        match slot.kind {
            Kind::Read | Kind::BlockStatus { .. } => {
                debug_assert!(false, "{:?} needs a reply with data", slot.kind);
                self.put_error(slot.cookie, Errno::InputOutput, "there is no data");
            }
            // Allowed also when structured replies were chosen (section "Structured replies").
            _ => self.output.put(&wire::simple_reply(0, slot.cookie)),
        }
    }

    /// Answers any request: it failed, and one sentence why.
    pub(super) fn reply_error(&mut self, cookie: u64, errno: Errno, message: &str) {
        if let Some(slot) = self.release_slot(cookie) {
            self.put_error(slot.cookie, errno, message);
        }
    }

    /// Answers a read; the data are to be put into what is returned, as long as was asked for.
    pub(super) fn read_reply(&mut self, cookie: u64) -> &mut [u8] {
        let Some(slot) = self.release_slot(cookie) else { return &mut [] };
        if slot.kind != Kind::Read {
            debug_assert!(false, "{:?} is not a read", slot.kind);
            self.put_error(slot.cookie, Errno::InputOutput, "the request was not a read");
            return &mut [];
        }
        let length = slot.length_bytes as usize;
        if self.terms.structured {
            let payload = slot.length_bytes + 8;
            let front = wire::last_chunk(wire::chunk::OFFSET_DATA, slot.cookie, payload);
            let reply = self.output.append(CHUNK_BYTES + 8 + length);
            reply[..CHUNK_BYTES].copy_from_slice(&front);
            reply[CHUNK_BYTES..CHUNK_BYTES + 8].copy_from_slice(&slot.offset_bytes.to_be_bytes());
            &mut reply[CHUNK_BYTES + 8..]
        } else {
            let reply = self.output.append(SIMPLE_REPLY_BYTES + length);
            reply[..SIMPLE_REPLY_BYTES].copy_from_slice(&wire::simple_reply(0, slot.cookie));
            &mut reply[SIMPLE_REPLY_BYTES..]
        }
    }

    /// Answers a read with what was read: the bytes of `buffer` at `range`, as long as was asked
    /// for.
    pub(super) fn reply_read(&mut self, cookie: u64, buffer: Buffer, range: Range<usize>) {
        let Some(slot) = self.release_slot(cookie) else { return };
        if slot.kind != Kind::Read || range.len() != slot.length_bytes as usize {
            debug_assert!(false, "{slot:?} is not answered by {} bytes", range.len());
            self.put_error(slot.cookie, Errno::InputOutput, "the request was not such a read");
            return;
        }
        if self.discards_replies {
            self.output.spend(buffer);
        } else if self.terms.structured {
            let mut head = [0; CHUNK_BYTES + 8];
            let payload = slot.length_bytes + 8;
            let front = wire::last_chunk(wire::chunk::OFFSET_DATA, slot.cookie, payload);
            head[..CHUNK_BYTES].copy_from_slice(&front);
            head[CHUNK_BYTES..].copy_from_slice(&slot.offset_bytes.to_be_bytes());
            self.output.put_read(&head, buffer, range);
        } else {
            self.output.put_read(&wire::simple_reply(0, slot.cookie), buffer, range);
        }
    }

    /// The next buffer of a read that was sent.
    pub(super) fn pop_spent(&mut self) -> Option<Buffer> {
        self.output.pop_spent()
    }

    /// Answers a block status. Equal neighbours are joined; what goes past the request is cut off.
    pub(super) fn reply_extents(&mut self, cookie: u64, extents: &[Extent]) {
        let Some(slot) = self.release_slot(cookie) else { return };
        let Kind::BlockStatus { one } = slot.kind else {
            debug_assert!(false, "{:?} is not a block status", slot.kind);
            self.put_error(slot.cookie, Errno::InputOutput, "the request was not a block status");
            return;
        };
        let mut left = slot.length_bytes;
        let mut joined: Vec<(u32, u32)> = Vec::new();
        for extent in extents {
            let length = extent.length_bytes.min(left);
            let hole = if extent.hole { wire::extent_flag::HOLE } else { 0 };
            let zero = if extent.zero { wire::extent_flag::ZERO } else { 0 };
            let full = joined.len() == if one { 1 } else { EXTENTS_MAX };
            match joined.last_mut() {
                _ if length == 0 => continue,
                Some(last) if last.1 == hole | zero => last.0 += length,
                Some(_) if full => break,
                _ => joined.push((length, hole | zero)),
            }
            left -= length;
        }
        if joined.is_empty() {
            // "Data" is always a right answer (section "Request types").
            joined.push((slot.length_bytes, 0));
        }
        let payload = 4 + 8 * u32::try_from(joined.len()).expect("at most EXTENTS_MAX extents");
        let kind = wire::chunk::BLOCK_STATUS;
        self.output.put(&wire::last_chunk(kind, slot.cookie, payload));
        self.output.put(&wire::ALLOCATION_ID.to_be_bytes());
        for (length, flags) in joined {
            self.output.put(&length.to_be_bytes());
            self.output.put(&flags.to_be_bytes());
        }
    }

    fn put_error(&mut self, cookie: u64, errno: Errno, message: &str) {
        if !self.terms.structured {
            self.output.put(&wire::simple_reply(errno.code(), cookie));
            return;
        }
        // Cut between characters, so that it stays readable.
        let mut end = message.len().min(MESSAGE_BYTES_MAX);
        while !message.is_char_boundary(end) {
            end -= 1;
        }
        let message = &message[..end];
        let length = u16::try_from(message.len()).expect("at most MESSAGE_BYTES_MAX");
        let payload = 6 + u32::from(length);
        self.output.put(&wire::last_chunk(wire::chunk::ERROR, cookie, payload));
        self.output.put(&errno.code().to_be_bytes());
        self.output.put(&length.to_be_bytes());
        self.output.put(message.as_bytes());
    }

    /// What is to be sent to the client next; empty only if nothing is left.
    pub(super) fn unsent(&self) -> &[u8] {
        self.output.front()
    }

    /// The first `count` bytes of [`Self::unsent`] are on their way.
    pub(super) fn sent(&mut self, count: usize) {
        self.counts.sent_bytes += count as u64;
        self.output.sent(count);
    }

    /// The client takes no replies any more: discards those that wait, and later ones. Writes that
    /// it sent before its last byte are still carried out, because it may have asked to disconnect
    /// and closed its socket without waiting.
    pub(super) fn discard_replies(&mut self) {
        self.discards_replies = true;
        if !self.output.is_empty() {
            self.unsent = Some(self.output.take());
        }
    }

    /// Replies that the client does not take, to be dropped where that may take its time.
    pub(super) fn take_unsent(&mut self) -> Option<UnsentReplies> {
        self.unsent.take()
    }
}

/// Bytes by which a request in flight counts towards [`HELD_BYTES_MAX`].
fn charge(kind: Kind, length_bytes: u32) -> u64 {
    match kind {
        Kind::Read | Kind::Write => u64::from(length_bytes),
        Kind::BlockStatus { .. } => 8 * EXTENTS_MAX as u64,
        Kind::Flush | Kind::Trim | Kind::WriteZeroes { .. } | Kind::Cache => {
            MESSAGE_BYTES_MAX as u64
        }
    }
}

#[cfg(test)]
mod tests;
