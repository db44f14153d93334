//! Requests of clients: from the connection to the volume, and the replies back.

use super::Server;
use super::clients::ClientId;
use super::extents::extents;
use super::hosts::Wanted;
use super::requests::{Asked, Asker, byte_request};
use crate::buffer::Buffer;
use crate::nbd::{Errno, Kind, Request};
use engine::volume::{Reply, Token};
use engine::{ByteRequest, ByteRequestKind};
use std::io;

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
        let asker = Asker::Client { client, cookie };
        match kind {
            // Zeros that must take up room are written like any other data.
            Kind::WriteZeroes { may_punch: false, fast: true } => {
                let why = "zeros that take up room are not faster than data";
                self.clients.reply(client, |connection| {
                    connection.reply_error(cookie, Errno::NotSupported, why);
                });
            }
            Kind::Read | Kind::Write | Kind::Trim | Kind::WriteZeroes { .. } => {
                let Some(kind) = byte_request(kind) else { return };
                let Request { offset_bytes, length_bytes, fua, data, .. } = request;
                let length_bytes = u64::from(length_bytes);
                self.begin_data(asker, ByteRequest { kind, offset_bytes, length_bytes, data }, fua);
            }
            Kind::Flush => self.begin_flush(asker),
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

    fn begin_flush(&mut self, asker: Asker) {
        self.measures.flushes += 1;
        let arrived = self.io.clock.now();
        let token = self.requests.insert(Asked { asker, kind: None, length_bytes: 0, arrived });
        let now = self.io.present();
        self.io.volume.handle_flush(now, token);
    }

    fn begin_data(&mut self, asker: Asker, request: ByteRequest<Buffer>, forced: bool) {
        let (kind, length_bytes) = (Some(request.kind), request.length_bytes);
        let arrived = self.io.clock.now();
        let token = self.requests.insert(Asked { asker, kind, length_bytes, arrived });
        let now = self.catch_up();
        self.io.volume.handle_request(now, token, request, forced);
        self.settle(now);
    }

    /// Takes the commands of NVMe/TCP hosts, and sends what they are answered. Returns whether any was.
    pub(super) fn serve_hosts(&mut self) -> io::Result<bool> {
        let mut any = false;
        let now = self.io.present();
        if let Some(hosts) = &mut self.hosts {
            hosts.handle_deadline(now);
        }
        while let Some(hosts) = &mut self.hosts {
            if let Some(wanted) = hosts.poll_wanted(now) {
                match wanted {
                    Wanted::Data { asker, request, forced } => {
                        self.begin_data(asker, request, forced);
                    }
                    Wanted::Flush(asker) => self.begin_flush(asker),
                }
                continue;
            }
            // What was sent may have made room for the next command.
            any |= hosts.settle(now, &mut self.waiter)?;
            if !hosts.has_work() {
                break;
            }
        }
        Ok(any)
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
        let asked = self.requests.remove(token);
        let latency = self.io.clock.now().since(asked.arrived);
        match reply {
            Reply::Data(_) => {
                self.measures.read.record(latency.as_nanos());
                self.measures.read_bytes += asked.length_bytes;
            }
            Reply::Done => {
                if asked.kind.is_some() {
                    self.measures.write.record(latency.as_nanos());
                }
                if asked.kind == Some(ByteRequestKind::Write) {
                    self.measures.written_bytes += asked.length_bytes;
                }
            }
            // What is refused counts where it is answered.
            Reply::Failed => self.measures.failed_requests += 1,
            Reply::Refused => {}
        }
        match (asked.asker, &mut self.hosts) {
            (Asker::Client { client, cookie }, _) => self.reply_client(client, cookie, reply),
            (Asker::Controller(controller), Some(hosts)) => hosts.handle_shut_down(controller),
            (Asker::Host(command), Some(hosts)) => match reply {
                Reply::Data(slot) => hosts.handle_data(command, self.io.volume.brought(slot)),
                Reply::Done => hosts.handle_done(command),
                Reply::Failed => hosts.handle_failed(command),
                Reply::Refused if self.io.volume.stopped().is_some() => {
                    self.measures.failed_requests += 1;
                    hosts.handle_stopped(command);
                }
                Reply::Refused => {}
            },
            (asker, None) => unreachable!("nobody could be {asker:?}"),
        }
        if let Reply::Data(slot) = reply {
            self.io.volume.end_read(slot);
        }
    }

    fn reply_client(&mut self, client: ClientId, cookie: u64, reply: Reply) {
        match reply {
            Reply::Refused => self.refuse(client, cookie),
            Reply::Failed => {
                let why = "more drives are missing than the array can do without";
                self.clients.reply(client, |connection| {
                    connection.reply_error(cookie, Errno::InputOutput, why);
                });
            }
            Reply::Data(slot) => {
                let data = self.io.volume.brought(slot);
                self.clients.reply(client, |connection| connection.reply_data(cookie, data));
            }
            Reply::Done => self.clients.reply(client, |connection| connection.reply_done(cookie)),
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
