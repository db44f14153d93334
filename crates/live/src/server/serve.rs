//! Requests of clients: from the connection to the volume, and the replies back.

use super::Server;
use super::clients::ClientId;
use super::extents::extents;
use super::requests::{Asked, byte_request};
use crate::nbd::{Errno, Kind, Request};
use engine::ByteRequest;
use engine::volume::{Reply, Token};

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
            loop {
                let pool = self.io.volume.memory().pool();
                let Some(request) = self.clients.poll_request(index, pool) else { break };
                payloads |= request.data.is_some();
                self.begin_request(id, request);
            }
            match self.clients.at_mut(index) {
                Some(client) if payloads => client.connection.handle_ready(true, false),
                _ => break,
            }
        }
    }

    fn begin_request(&mut self, client: ClientId, request: Request) {
        if self.io.volume.refuses_requests() {
            self.refuse(client, request.cookie);
            return;
        }
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
                let token = self.name(client, &request);
                let now = self.io.present();
                self.io.volume.handle_flush(now, token);
            }
            Kind::BlockStatus { .. } => {
                let extents = extents(&self.io, request.offset_bytes, request.length_bytes);
                self.clients.reply(client, |connection| connection.reply_extents(cookie, &extents));
            }
            Kind::Cache => self.clients.reply(client, |connection| connection.reply_done(cookie)),
        }
    }

    fn refuse(&mut self, client: ClientId, cookie: u64) {
        self.measures.failed_requests += 1;
        self.clients.reply(client, |connection| {
            let why = "the array does not take requests any more";
            connection.reply_error(cookie, Errno::Shutdown, why);
        });
    }

    /// The name of a request for the volume.
    fn name(&mut self, client: ClientId, request: &Request) -> Token {
        let Request { cookie, kind, length_bytes, .. } = *request;
        let (length_bytes, arrived) = (u64::from(length_bytes), self.io.clock.now());
        self.requests.insert(Asked { client, cookie, kind, length_bytes, arrived })
    }

    fn begin_data_request(&mut self, client: ClientId, request: Request) {
        let Some(kind) = byte_request(request.kind) else { return };
        let token = self.name(client, &request);
        let Request { offset_bytes, length_bytes, fua, data, .. } = request;
        let length_bytes = u64::from(length_bytes);
        let request = ByteRequest { kind, offset_bytes, length_bytes, data };
        let now = self.catch_up();
        self.io.volume.handle_request(now, token, request, fua);
        self.settle(now);
    }

    /// Lets requests go on with their next parts.
    pub(super) fn continue_requests(&mut self) {
        if self.io.volume.has_parts() {
            let now = self.catch_up();
            self.io.volume.continue_requests(now);
            self.settle(now);
        }
    }

    /// The volume answers a client.
    pub(super) fn reply(&mut self, token: Token, reply: Reply) {
        let Asked { client, cookie, kind, length_bytes, arrived } = self.requests.remove(token);
        let latency = self.io.clock.now().since(arrived);
        match reply {
            Reply::Refused => self.refuse(client, cookie),
            Reply::Failed => {
                self.measures.failed_requests += 1;
                let why = "more drives are missing than the array can do without";
                self.clients.reply(client, |connection| {
                    connection.reply_error(cookie, Errno::InputOutput, why);
                });
            }
            Reply::Data(slot) => {
                self.measures.read.record(latency.as_nanos());
                self.measures.read_bytes += length_bytes;
                let data = self.io.volume.brought(slot);
                self.clients.reply(client, |connection| connection.reply_data(cookie, data));
                self.io.volume.end_read(slot);
            }
            Reply::Done => {
                if kind != Kind::Flush {
                    self.measures.write.record(latency.as_nanos());
                }
                if kind == Kind::Write {
                    self.measures.written_bytes += length_bytes;
                }
                self.clients.reply(client, |connection| connection.reply_done(cookie));
            }
        }
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
