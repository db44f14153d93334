//! Requests of clients: from the connection to the volume, and the replies back.

use super::Server;
use super::clients::ClientId;
use super::counts;
use super::extents::extents;
use super::hosts::Wanted;
use super::requests::{Asked, Asker, byte_request};
use super::turn::{CLIENT_BYTES, REQUEST_BYTES};
use crate::buffer::Buffer;
use crate::nbd::{Errno, Kind, Request};
use engine::Token;
use engine::volume::Reply;
use engine::{ByteRequest, ByteRequestKind, Origin};
use std::io;

/// Bytes that count for a page of which it is looked up whether it is a hole.
const PAGE_LOOK_BYTES: u64 = 64;
/// Bytes that count for the room that a read takes at most: of more, pages come as they are filled.
const ROOM_BYTES_MAX: u64 = 1 << 20;
/// Origins of hosts are above those of NBD clients.
const HOSTS: u32 = 1 << 31;

impl Server {
    /// A client's socket is ready.
    pub(super) fn on_ready(&mut self, index: u32, readable: bool, writable: bool) {
        let Some(client) = self.clients.at_mut(index) else { return };
        let before = client.connection.counts().received_bytes;
        client.connection.handle_ready(readable, writable);
        let id = self.clients.id(index);
        self.clients.mark_dirty(index);
        // A receipt ends with the payload of a write. Behind it the next may be waiting already.
        loop {
            let mut payloads = false;
            // What is left in the buffer of the client makes it dirty, and is for the next turn.
            while !self.turn.is_used_up() {
                let pool = self.io.volume.memory().pool();
                let Some(request) = self.clients.poll_request(index, pool) else { break };
                payloads |= request.data.is_some();
                // Room for what is read is taken now.
                let room = if request.kind == Kind::Read { request.length_bytes.into() } else { 0 };
                self.turn.charge(room.clamp(REQUEST_BYTES, ROOM_BYTES_MAX));
                self.begin_request(id, request);
            }
            let Some(client) = self.clients.at_mut(index) else { return };
            let received = client.connection.counts().received_bytes - before;
            if !payloads || received >= CLIENT_BYTES || self.turn.is_used_up() {
                return self.turn.charge(received);
            }
            client.connection.handle_ready(true, false);
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
                let (host, length_bytes) = (0, u64::from(length_bytes));
                let request = ByteRequest { host, kind, offset_bytes, length_bytes, data };
                self.begin_data(asker, request, fua);
            }
            Kind::Flush => self.begin_flush(asker),
            Kind::BlockStatus { .. } => {
                let (extents, pages) =
                    extents(&self.io, request.offset_bytes, request.length_bytes);
                self.turn.charge(pages * PAGE_LOOK_BYTES);
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
        let origin = self.origin(asker);
        let now = self.catch_up();
        self.io.volume.handle_request_of(now, origin, token, request, forced);
        self.settle(now);
    }

    /// Whose turn a request is a part of.
    fn origin(&self, asker: Asker) -> Origin {
        match (asker, &self.hosts) {
            (Asker::Client { client, .. }, _) => Origin(client.index()),
            (Asker::Host(command), Some(hosts)) => Origin(HOSTS | hosts.connection_of(command)),
            (Asker::Host(_), None) | (Asker::Controller(_), _) => Origin(HOSTS),
        }
    }

    /// Takes the commands of NVMe/TCP hosts, and sends what they are answered. Returns whether any
    /// was.
    pub(super) fn serve_hosts(&mut self) -> io::Result<bool> {
        let mut any = false;
        let now = self.io.present();
        if let Some(hosts) = &mut self.hosts {
            hosts.handle_deadline(now);
            hosts.tell_traffic(&mut self.io);
        }
        while let Some(hosts) = &mut self.hosts {
            if let Some(wanted) = hosts.poll_wanted(now) {
                self.turn.charge(REQUEST_BYTES);
                match wanted {
                    Wanted::Data { asker, request, forced } => {
                        self.begin_data(asker, request, forced);
                    }
                    Wanted::Flush(asker) => self.begin_flush(asker),
                    Wanted::Counts(counts) => counts::set(&mut self.io, &counts),
                }
                continue;
            }
            let certainty = self.claims.certainty;
            let (answered, sent) = hosts.settle(now, certainty, &mut self.waiter)?;
            any |= answered;
            self.turn.charge(sent);
            // What was sent may have made room for the next command.
            if !hosts.has_commands() || self.turn.is_used_up() || !certainty.holds() {
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
            Reply::Data => {
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
            (Asker::Client { client, cookie }, _) => {
                return self.reply_client(client, cookie, token, reply);
            }
            (Asker::Controller(controller), Some(hosts)) => hosts.handle_shut_down(controller),
            (Asker::Host(command), Some(hosts)) => match reply {
                Reply::Data => hosts.handle_data(command, self.io.volume.brought(token)),
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
        if reply == Reply::Data {
            self.io.volume.end_read(token);
        }
    }

    fn reply_client(&mut self, client: ClientId, cookie: u64, token: Token, reply: Reply) {
        match reply {
            Reply::Refused => self.refuse(client, cookie),
            Reply::Failed => {
                let why = "more drives are missing than the array can do without";
                self.clients.reply(client, |connection| {
                    connection.reply_error(cookie, Errno::InputOutput, why);
                });
            }
            Reply::Data => {
                let (buffer, range) = self.io.volume.take_read(token);
                let mut buffer = Some(buffer);
                self.clients.reply(client, |connection| {
                    if let Some(buffer) = buffer.take() {
                        connection.reply_read(cookie, buffer, range);
                    }
                });
                // The client may be gone.
                let pool = self.io.volume.memory().pool();
                buffer.into_iter().for_each(|buffer| pool.give(buffer));
            }
            Reply::Done => self.clients.reply(client, |connection| connection.reply_done(cookie)),
        }
    }

    /// Sends what is to be sent, receives what had to wait for room, and closes connections of
    /// clients that have gone, each client once. Ends when the drives are not this server's for
    /// certain. Returns whether any client got a reply.
    pub(super) fn send_answers(&mut self) -> bool {
        let mut any = false;
        for _ in 0..self.clients.dirty_count() {
            if self.turn.is_used_up() || !self.claims.certainty.holds() {
                break;
            }
            let Some(index) = self.clients.pop_dirty() else { break };
            any = true;
            let sent = self.clients.flush_output(index, self.io.volume.memory().pool());
            self.turn.charge(sent);
            if self.clients.is_ready(index) {
                self.on_ready(index, false, false);
            }
            self.clients.watch(&mut self.waiter, index);
        }
        any
    }
}
