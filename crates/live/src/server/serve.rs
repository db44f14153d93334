//! Requests of clients: from the connection to the engine, and the replies back.

use super::Server;
use super::clients::ClientId;
use super::extents::extents;
use super::requests::{Asked, byte_request};
use crate::nbd::{Errno, Kind, Request};
use array::{Outcome, RequestKind};
use engine::{ByteRequest, Progress, RequestSlot};
use units::Instant;

/// Most receive calls for one client in one turn of the loop, so that a client that sends without pause
/// does not starve the others.
const RECEIPTS_PER_TURN: usize = 16;

impl Server {
    /// A client's socket is ready.
    pub(super) fn on_ready(&mut self, index: u32, readable: bool, writable: bool) {
        let Some(client) = self.clients.at_mut(index) else { return };
        client.connection.handle_ready(readable, writable);
        let id = self.clients.id(index);
        self.clients.mark_dirty(index);
        // A receipt ends with the payload of a write. Behind it the next may be waiting already.
        for _ in 0..RECEIPTS_PER_TURN {
            let mut payloads = false;
            while let Some(client) = self.clients.at_mut(index) {
                let pool = self.io.engine.plane_mut().memory().pool();
                let Some(request) = client.connection.poll_request(pool) else { break };
                payloads |= request.data.is_some();
                self.take_request(id, request);
            }
            match self.clients.at_mut(index) {
                Some(client) if payloads => client.connection.handle_ready(true, false),
                _ => break,
            }
        }
    }

    /// Begins a request, or puts it aside while none may begin.
    fn take_request(&mut self, client: ClientId, request: Request) {
        if self.admin.refuses_requests() {
            self.measures.failed_requests += 1;
            self.clients.reply(client, |connection| {
                let why = "the array does not take requests any more";
                connection.reply_error(request.cookie, Errno::Shutdown, why);
            });
            return;
        }
        if let Some(request) = self.admin.put_aside(client, request) {
            self.begin_request(client, request);
        }
    }

    pub(super) fn begin_request(&mut self, client: ClientId, request: Request) {
        let Request { cookie, kind, .. } = request;
        match kind {
            // Zeros that must take up room are written like any other data.
            Kind::WriteZeroes { may_punch: false, fast: true } => {
                let why = "zeros that take up room are not faster than data";
                self.clients.reply(client, |connection| {
                    connection.reply_error(cookie, Errno::NotSupported, why);
                });
            }
            Kind::Read | Kind::Write | Kind::Trim | Kind::WriteZeroes { .. } => {
                self.begin_data_request(client, request);
            }
            Kind::Flush => {
                self.measures.flushes += 1;
                self.flush_for(client, cookie);
            }
            Kind::BlockStatus { .. } => {
                let extents = extents(&self.io, request.offset_bytes, request.length_bytes);
                self.clients.reply(client, |connection| connection.reply_extents(cookie, &extents));
            }
            Kind::Cache => self.clients.reply(client, |connection| connection.reply_done(cookie)),
        }
    }

    fn begin_data_request(&mut self, client: ClientId, request: Request) {
        let Request { cookie, kind, offset_bytes, length_bytes, fua, data, .. } = request;
        let Some(byte_kind) = byte_request(kind) else { return };
        let length_bytes = u64::from(length_bytes);
        let arrived = self.io.clock.now();
        let request = ByteRequest { kind: byte_kind, offset_bytes, length_bytes, data };
        let slot = self.io.engine.plane_mut().begin_request(request);
        self.requests.insert(slot, Asked { client, cookie, kind, length_bytes, fua, arrived });
        self.begin_slice(slot);
    }

    /// Gives the array the next slice of a request.
    fn begin_slice(&mut self, slot: RequestSlot) {
        let now = self.catch_up();
        if let Some(request) = self.io.engine.plane_mut().next_slice(slot) {
            self.io.engine.handle_request(now, &request);
            self.settle(now);
        }
    }

    /// Lets go on what waits for another slice: those that wait now, so that slices which are done at
    /// once cannot keep the thread here.
    pub(super) fn continue_requests(&mut self) {
        for slot in self.requests.take_slices() {
            self.begin_slice(slot);
        }
    }

    /// A slice of a request is done.
    pub(super) fn complete(&mut self, outcome: &Outcome) {
        if outcome.kind == RequestKind::Read {
            self.measures.record_causes(outcome);
        }
        let (slot, progress) = self.io.engine.plane_mut().end_slice(outcome);
        if progress == Progress::More {
            self.requests.put_off_slice(slot);
            return;
        }
        if let Some(asked) = self.requests.remove(slot) {
            let now = self.io.clock.now();
            self.answer(now, slot, &asked, progress == Progress::Failed);
        }
        self.io.engine.plane_mut().end_request(slot);
    }

    fn answer(&mut self, now: Instant, slot: RequestSlot, asked: &Asked, failed: bool) {
        let Asked { client, cookie, kind, length_bytes, fua, arrived } = *asked;
        let latency = now.since(arrived);
        if failed {
            self.measures.failed_requests += 1;
            let why = "more drives are missing than the array can do without";
            self.clients.reply(client, |connection| {
                connection.reply_error(cookie, Errno::InputOutput, why);
            });
            return;
        }
        if kind == Kind::Read {
            self.measures.read.record(latency.as_nanos());
            self.measures.read_bytes += length_bytes;
            let data = self.io.engine.plane().brought(slot);
            self.clients.reply(client, |connection| connection.reply_data(cookie, data));
            return;
        }
        self.measures.write.record(latency.as_nanos());
        if kind == Kind::Write {
            self.measures.written_bytes += length_bytes;
        }
        if fua {
            self.flush_for(client, cookie);
        } else if self.io.engine.plane().answers_at_once() {
            self.clients.reply(client, |connection| connection.reply_done(cookie));
        } else {
            let answer = self.requests.hold_answer(client, cookie);
            self.io.engine.plane_mut().answer(answer);
        }
    }

    /// Answers `cookie` when all that was answered so far would survive the power.
    fn flush_for(&mut self, client: ClientId, cookie: u64) {
        let now = self.io.present();
        let answer = self.requests.hold_answer(client, cookie);
        self.io.engine.plane_mut().flush(now, answer);
    }

    /// Sends what is to be sent, receives what had to wait for room, and closes connections of clients
    /// that have gone. Returns whether any client got a reply.
    pub(super) fn send_answers(&mut self) -> bool {
        let mut any = false;
        while let Some(index) = self.clients.pop_dirty() {
            any = true;
            if self.clients.flush_output(index) {
                self.on_ready(index, false, false);
            }
            self.clients.watch(&mut self.waiter, index);
        }
        any
    }
}
