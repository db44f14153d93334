//! Clients: what they ask, and what they are told.

use super::Engine;
use super::request::{ClientId, Pending};
use crate::buffer::PAGE_BYTES;
use crate::clock::Interest;
use crate::nbd::{Connection, Errno, Extent, Kind, Request};
use array::{Ended, Outcome, RequestId, RequestKind};
use units::{DriveId, Lba};

/// A connected client.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) connection: Box<Connection>,
    /// What the waiter looks at it for; nothing if it does not.
    interest: Option<Interest>,
    /// Whether it has something to send, or something about it has changed.
    stirred: bool,
}

/// All clients, each at a place that is used again when it has gone.
#[derive(Debug, Default)]
pub(super) struct Clients {
    places: Vec<(u32, Option<Client>)>,
    free: Vec<u32>,
    /// Those to look at before the thread waits.
    stirred: Vec<u32>,
    count: u64,
}

impl Clients {
    fn get_mut(&mut self, id: ClientId) -> Option<&mut Client> {
        let (generation, client) = self.places.get_mut(id.index as usize)?;
        if *generation == id.generation { client.as_mut() } else { None }
    }

    pub(super) fn at_mut(&mut self, index: u32) -> Option<&mut Client> {
        self.places.get_mut(index as usize)?.1.as_mut()
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    fn id(&self, index: u32) -> ClientId {
        ClientId { index, generation: self.places[index as usize].0 }
    }

    fn stir(&mut self, index: u32) {
        if let Some(client) = self.at_mut(index)
            && !client.stirred
        {
            client.stirred = true;
            self.stirred.push(index);
        }
    }
}

/// Of the waiter's tokens the first of a client.
pub(super) const FIRST_CLIENT: u64 = 16;

impl Engine {
    pub(super) fn admit_client(&mut self, connection: Box<Connection>) {
        let client = Client { connection, interest: None, stirred: false };
        let index = self.clients.free.pop().unwrap_or_else(|| {
            self.clients.places.push((0, None));
            self.clients.places.len() as u32 - 1
        });
        self.clients.places[index as usize].1 = Some(client);
        self.clients.count += 1;
        // The handshake may have brought the first requests along.
        self.hear(index, false, false);
    }

    /// A client's socket is ready.
    pub(super) fn hear(&mut self, index: u32, readable: bool, writable: bool) {
        let Some(client) = self.clients.at_mut(index) else { return };
        client.connection.handle_ready(readable, writable);
        let id = self.clients.id(index);
        self.clients.stir(index);
        // A receipt ends with the payload of a write. Behind it the next may be waiting already.
        for _ in 0..RECEIPTS_PER_TURN {
            let mut payloads = false;
            while let Some(client) = self.clients.at_mut(index) {
                let Some(request) = client.connection.poll_request(&mut self.operations.pool)
                else {
                    break;
                };
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
        if self.closing.is_some() || self.stopped.is_some() {
            self.measures.failed_requests += 1;
            self.tell(client, |connection| {
                let why = "the array does not take requests any more";
                connection.reply_error(request.cookie, Errno::Shutdown, why);
            });
            return;
        }
        if self.switching.is_some() {
            self.aside.push_back((client, request));
            return;
        }
        self.begin_request(client, request);
    }

    pub(super) fn begin_request(&mut self, client: ClientId, request: Request) {
        let cookie = request.cookie;
        match request.kind {
            // Zeros that must take up room are written like any other data.
            Kind::WriteZeroes { may_punch: false, fast: true } => {
                let why = "zeros that take up room are not faster than data";
                self.tell(client, |connection| {
                    connection.reply_error(cookie, Errno::NotSupported, why);
                });
            }
            Kind::Read | Kind::Write | Kind::Trim | Kind::WriteZeroes { .. } => {
                self.begin_transfer_request(client, request);
            }
            Kind::Flush => {
                self.measures.flushes += 1;
                self.flush_for(client, cookie);
            }
            Kind::BlockStatus { .. } => {
                let extents = self.extents(request.offset_bytes, request.length_bytes);
                self.tell(client, |connection| connection.reply_extents(cookie, &extents));
            }
            Kind::Cache => self.tell(client, |connection| connection.reply_done(cookie)),
        }
    }

    fn begin_transfer_request(&mut self, client: ClientId, request: Request) {
        let mut pending = Pending {
            client,
            cookie: request.cookie,
            kind: request.kind,
            offset_bytes: request.offset_bytes,
            length_bytes: request.length_bytes,
            fua: request.fua,
            arrived: self.clock.now(),
            data: request.data,
            next_bytes: request.offset_bytes,
            slice_bytes: request.offset_bytes,
            page_bytes: self.page_bytes,
            stripe_bytes: self.stripe_bytes,
            failed: false,
        };
        if pending.kind == Kind::Read {
            pending.data = Some(self.operations.pool.take(pending.span_bytes() as usize));
        }
        let slot = self.requests.insert(pending);
        self.begin_slice(slot);
    }

    /// Gives the array the next slice of a request.
    pub(super) fn begin_slice(&mut self, slot: u32) {
        let now = self.catch_up();
        let pending = self.requests.get_mut(slot);
        let Some((offset_bytes, size_bytes)) = pending.next_slice() else { return };
        let kind = match pending.kind {
            Kind::Read => RequestKind::Read,
            Kind::Trim => RequestKind::Deallocate,
            Kind::WriteZeroes { may_punch: true, .. } if pending.is_whole_stripes() => {
                RequestKind::Deallocate
            }
            _ => RequestKind::Write,
        };
        let request = array::Request {
            id: RequestId(u64::from(slot)),
            host: 0,
            kind,
            offset_bytes,
            size_bytes,
        };
        self.array.handle_request(now, &request);
        self.settle(now);
    }

    /// A slice of a request is done.
    pub(super) fn complete(&mut self, outcome: &Outcome) {
        let slot = outcome.request.0 as u32;
        if outcome.kind == RequestKind::Read {
            self.measures.record_causes(outcome);
        }
        let pending = self.requests.get_mut(slot);
        pending.failed |= outcome.ended == Ended::Failed;
        if pending.has_more() && !pending.failed {
            self.continued.push(slot);
            return;
        }
        self.answer_request(slot);
    }

    fn answer_request(&mut self, slot: u32) {
        let now = self.clock.now();
        let pending = self.requests.get(slot);
        let Pending { client, cookie, kind, arrived, failed, fua, .. } = *pending;
        let length_bytes = u64::from(pending.length_bytes);
        let latency = now.since(arrived);
        if failed {
            self.measures.failed_requests += 1;
            let why = "more drives are missing than the array can do without";
            self.tell(client, |connection| {
                connection.reply_error(cookie, Errno::InputOutput, why);
            });
            self.release_request(slot);
            return;
        }
        if kind == Kind::Read {
            self.measures.read.record(latency.as_nanos());
            self.measures.read_bytes += length_bytes;
            let pending = self.requests.get(slot);
            if let Some(client) = self.clients.get_mut(client) {
                client.connection.reply_data(cookie, pending.answer());
            }
            self.clients.stir(client.index);
            self.release_request(slot);
            return;
        }
        self.measures.write.record(latency.as_nanos());
        if kind == Kind::Write {
            self.measures.written_bytes += length_bytes;
        }
        self.release_request(slot);
        if fua {
            self.flush_for(client, cookie);
        } else {
            self.tell(client, |connection| connection.reply_done(cookie));
        }
    }

    fn release_request(&mut self, slot: u32) {
        if let Some(buffer) = self.requests.get_mut(slot).data.take() {
            self.operations.pool.give(buffer);
        }
        self.requests.release(slot);
    }

    /// Answers a request of a client, if it is still there.
    pub(super) fn tell(&mut self, id: ClientId, answer: impl FnOnce(&mut Connection)) {
        let Some(client) = self.clients.get_mut(id) else { return };
        answer(&mut client.connection);
        self.clients.stir(id.index);
    }

    /// Sends what is to be sent, hears what had to wait for room, and parts with clients that have
    /// gone.
    pub(super) fn send_answers(&mut self) {
        while let Some(index) = self.clients.stirred.pop() {
            self.answered_some = true;
            let Some(client) = self.clients.at_mut(index) else { continue };
            client.stirred = false;
            if let Err(error) = client.connection.flush_output() {
                tracing::debug!(%error, "a client takes no answers any more");
            }
            if client.connection.is_ready() {
                self.hear(index, false, false);
            }
            self.watch(index);
        }
    }

    /// Has the waiter look at a client for what it waits for.
    fn watch(&mut self, index: u32) {
        let Some(client) = self.clients.at_mut(index) else { return };
        if client.connection.is_finished() {
            self.part_with(index);
            return;
        }
        let wants = client.connection.wants();
        let interest = Interest { readable: wants.read, writable: wants.write };
        let wanted = (wants.read || wants.write).then_some(interest);
        if wanted == client.interest {
            return;
        }
        let token = FIRST_CLIENT + u64::from(index);
        let descriptor = client.connection.fd();
        let watched = match (client.interest, wanted) {
            (None, Some(interest)) => self.waiter.add(descriptor, token, interest),
            (Some(_), Some(interest)) => self.waiter.change(descriptor, token, interest),
            (Some(_), None) => self.waiter.remove(descriptor),
            (None, None) => Ok(()),
        };
        client.interest = wanted;
        if let Err(error) = watched {
            tracing::warn!(%error, "a client cannot be served any more");
            self.part_with(index);
        }
    }

    /// A client is gone. What it asked for goes on in the array, and nobody is told.
    fn part_with(&mut self, index: u32) {
        let (generation, client) = &mut self.clients.places[index as usize];
        *generation = generation.wrapping_add(1);
        if let Some(client) = client.take() {
            if client.interest.is_some()
                && let Err(error) = self.waiter.remove(client.connection.fd())
            {
                tracing::debug!(%error, "a client was not watched");
            }
            self.clients.count -= 1;
            self.clients.free.push(index);
        }
    }

    /// Which of the bytes may hold something: those whose page was never written, or was trimmed,
    /// are holes that read as zeros.
    fn extents(&self, offset_bytes: u64, length_bytes: u32) -> Vec<Extent> {
        let end = offset_bytes + u64::from(length_bytes);
        let mut extents: Vec<Extent> = Vec::new();
        let mut at = offset_bytes;
        let layout = *self.array.layout();
        while at < end {
            let page = at / self.page_bytes;
            let next = ((page + 1) * self.page_bytes).min(end);
            let hole = layout.segments(page, 1).all(|segment| {
                let member = layout.member_of(segment.stripe, segment.first_chunk);
                let (drive, lba) = self.array.locate(segment.stripe, segment.first_row, member);
                let bit = 1u64 << drive.0;
                self.array.absent() & bit == 0 && self.is_hole(drive, lba)
            });
            let length = (next - at) as u32;
            let full = extents.len() == MOST_EXTENTS;
            match extents.last_mut() {
                Some(last) if last.hole == hole => last.length_bytes += length,
                _ if full => break,
                _ => extents.push(Extent { length_bytes: length, hole, zero: hole }),
            }
            at = next;
        }
        extents
    }

    fn is_hole(&self, drive: DriveId, lba: Lba) -> bool {
        let pages = self.page_bytes / PAGE_BYTES as u64;
        let first = lba.0 * pages;
        (first..first + pages).all(|page| self.storage.is_hole(drive, page))
    }

    /// Lets go on what waits for another slice: those that wait now, so that slices which are done at
    /// once cannot keep the thread here.
    pub(super) fn continue_requests(&mut self) {
        for slot in std::mem::take(&mut self.continued) {
            self.begin_slice(slot);
        }
    }
}

/// Times that a client is received from in one turn of the loop, so that one who writes without pause
/// leaves turns to others.
const RECEIPTS_PER_TURN: usize = 16;
/// Most extents in one answer; the client asks again for the rest.
const MOST_EXTENTS: usize = 1024;
