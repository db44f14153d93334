//! Connected clients, each in a slot that is used again after it has disconnected.

use super::client_memory::{ClientMemory, Line, Ticket, shares};
use crate::buffer::Pool;
use crate::clock::{Interest, Waiter};
use crate::nbd::{Connection, Request, StrangerCounts};
use crate::release::Releaser;
use std::collections::VecDeque;

/// Which client asked: its slot, and how often that was used before, so that an answer never goes
/// to the next client of the same slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ClientId {
    index: u32,
    generation: u32,
}

impl ClientId {
    /// The number of its slot.
    pub(super) const fn index(self) -> u32 {
        self.index
    }
}

/// A connected client.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) connection: Box<Connection>,
    /// The events that the waiter polls it for; none if it is not polled.
    interest: Option<Interest>,
    /// Whether it has something to send, or something about it has changed.
    dirty: bool,
    /// What it held when that was last looked at.
    held_bytes: u64,
    /// Its place in line, if it waits for room in the memory of all clients.
    ticket: Option<Ticket>,
}

/// All clients.
#[derive(Debug)]
pub(super) struct Clients {
    slots: Vec<(u32, Option<Client>)>,
    free: Vec<u32>,
    /// Those to look at before the thread waits, the first one first.
    dirty: VecDeque<u32>,
    count: u64,
    memory: ClientMemory,
    /// Those with a request for which memory has no room.
    line: Line,
    /// Counts of those that never came so far.
    pub(super) strangers: StrangerCounts,
    releaser: Releaser,
}

/// Of the waiter's tokens the first of a client.
pub(super) const FIRST_CLIENT: u64 = 16;

impl Clients {
    /// Nobody yet, and a bound on what all will hold.
    pub(super) fn new(memory: ClientMemory, releaser: Releaser) -> Self {
        let (slots, free, dirty) = (Vec::new(), Vec::new(), VecDeque::new());
        Self {
            slots,
            free,
            dirty,
            count: 0,
            memory,
            line: Line::default(),
            strangers: StrangerCounts::default(),
            releaser,
        }
    }

    /// Takes a client in and returns its slot.
    pub(super) fn insert(&mut self, connection: Box<Connection>) -> u32 {
        let client =
            Client { connection, interest: None, dirty: false, held_bytes: 0, ticket: None };
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push((0, None));
            self.slots.len() as u32 - 1
        });
        self.slots[index as usize].1 = Some(client);
        self.count += 1;
        index
    }

    pub(super) fn at_mut(&mut self, index: u32) -> Option<&mut Client> {
        self.slots.get_mut(index as usize)?.1.as_mut()
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// The name of the client at a slot.
    pub(super) fn id(&self, index: u32) -> ClientId {
        ClientId { index, generation: self.slots[index as usize].0 }
    }

    /// Something about a client has changed: it is looked at before the thread waits.
    pub(super) fn mark_dirty(&mut self, index: u32) {
        if let Some(client) = self.at_mut(index)
            && !client.dirty
        {
            client.dirty = true;
            self.dirty.push_back(index);
        }
    }

    /// Whether a client is to be looked at before the thread waits.
    pub(super) fn has_dirty(&self) -> bool {
        !self.dirty.is_empty()
    }

    /// Number of clients that are due.
    pub(super) fn dirty_count(&self) -> usize {
        self.dirty.len()
    }

    /// The next client to look at.
    pub(super) fn pop_dirty(&mut self) -> Option<u32> {
        self.dirty.pop_front()
    }

    /// The next request of a client, if memory has room for it.
    pub(super) fn poll_request(&mut self, index: u32, pool: &mut Pool) -> Option<Request> {
        self.grant_room(index);
        let request = self.at_mut(index)?.connection.poll_request(pool)?;
        // It has had its turn. For more it stands in line again.
        self.leave_line(index);
        Some(request)
    }

    /// Tells a client how much it may take.
    fn grant_room(&mut self, index: u32) {
        let room = self.room_bytes(index);
        let Some((_, Some(client))) = self.slots.get_mut(index as usize) else { return };
        client.connection.set_room(room);
    }

    /// What a client may take now, after what it holds has been counted anew.
    fn room_bytes(&mut self, index: u32) -> u64 {
        let Some((_, Some(client))) = self.slots.get_mut(index as usize) else { return 0 };
        let held = client.connection.held_bytes();
        let before = std::mem::replace(&mut client.held_bytes, held);
        self.memory.change(before, held);
        if held < before {
            self.wake_first();
        }
        let is_first = self.line.first().is_none_or(|first| first == index);
        self.memory.room_bytes(held, shares(self.count), is_first)
    }

    /// Memory may have been freed: the first in line is looked at, if what it waits for fits.
    fn wake_first(&mut self) {
        let Some(index) = self.line.first() else { return };
        let Some(client) = self.at_mut(index) else { return };
        let (wanted, held) = (client.connection.wanted_room(), client.held_bytes);
        if wanted
            .is_none_or(|wanted| wanted <= self.memory.room_bytes(held, shares(self.count), true))
        {
            self.mark_dirty(index);
        }
    }

    /// A client stands in line from now on, unless it does already.
    fn join_line(&mut self, index: u32) {
        let Some((_, Some(client))) = self.slots.get_mut(index as usize) else { return };
        if client.ticket.is_none() {
            client.ticket = Some(self.line.join(index));
        }
    }

    /// A client does not wait any more. It is the turn of whoever is the first now.
    fn leave_line(&mut self, index: u32) {
        if let Some(ticket) = self.at_mut(index).and_then(|client| client.ticket.take()) {
            self.line.leave(ticket);
            self.wake_first();
        }
    }

    /// Answers a client, if it is still there.
    pub(super) fn reply(&mut self, id: ClientId, answer: impl FnOnce(&mut Connection)) {
        let Some((generation, Some(client))) = self.slots.get_mut(id.index as usize) else {
            return;
        };
        if *generation == id.generation {
            answer(&mut client.connection);
            self.mark_dirty(id.index);
        }
    }

    /// Sends what is to be sent to a client. Returns how many bytes that were.
    pub(super) fn flush_output(&mut self, index: u32, pool: &mut Pool) -> u64 {
        let Some((_, Some(client))) = self.slots.get_mut(index as usize) else { return 0 };
        client.dirty = false;
        if client.interest.is_none() {
            client.connection.notice_hang_up();
        }
        let before = client.connection.counts().sent_bytes;
        if let Err(error) = client.connection.flush_output() {
            tracing::debug!(%error, "a client takes no answers any more");
        }
        while let Some(buffer) = client.connection.pop_spent() {
            pool.give(buffer);
        }
        if let Some(unsent) = client.connection.take_unsent() {
            self.releaser.give(move || drop(unsent));
        }
        let sent = client.connection.counts().sent_bytes - before;
        if client.connection.has_more_to_send() {
            self.mark_dirty(index);
        }
        self.grant_room(index);
        sent
    }

    /// Whether a client has sent requests that can be begun now.
    pub(super) fn is_ready(&mut self, index: u32) -> bool {
        self.at_mut(index).is_some_and(|client| client.connection.is_ready())
    }

    /// Has the waiter look at a client for what it waits for, or closes it if it is finished.
    pub(super) fn watch(&mut self, waiter: &mut Waiter, index: u32) {
        let Some(client) = self.at_mut(index) else { return };
        if client.connection.is_finished() {
            self.close(waiter, index);
            return;
        }
        match client.connection.wanted_room() {
            Some(_) => self.join_line(index),
            None => self.leave_line(index),
        }
        let Some(client) = self.at_mut(index) else { return };
        let wants = client.connection.wants();
        let interest = Interest { readable: wants.read, writable: wants.write };
        let wanted = (wants.read || wants.write).then_some(interest);
        if wanted == client.interest {
            return;
        }
        let token = FIRST_CLIENT + u64::from(index);
        let descriptor = client.connection.fd();
        let watched = match (client.interest, wanted) {
            (None, Some(interest)) => waiter.add(descriptor, token, interest),
            (Some(_), Some(interest)) => waiter.change(descriptor, token, interest),
            (Some(_), None) => waiter.remove(descriptor),
            (None, None) => Ok(()),
        };
        client.interest = wanted;
        if let Err(error) = watched {
            tracing::warn!(%error, "a client cannot be served any more");
            self.close(waiter, index);
        }
    }

    /// A client has disconnected. Its requests go on in the array, and their answers are dropped.
    fn close(&mut self, waiter: &mut Waiter, index: u32) {
        self.leave_line(index);
        let (generation, client) = &mut self.slots[index as usize];
        *generation = generation.wrapping_add(1);
        let Some(client) = client.take() else { return };
        if client.interest.is_some()
            && let Err(error) = waiter.remove(client.connection.fd())
        {
            tracing::debug!(%error, "a client was not watched");
        }
        self.free.push(index);
        self.memory.change(client.held_bytes, 0);
        let before = shares(self.count);
        self.count -= 1;
        if shares(self.count) == before {
            self.wake_first();
        } else {
            // Each share has become larger, so any of them may go on.
            let all: Vec<u32> = self.line.all().collect();
            all.into_iter().for_each(|index| self.mark_dirty(index));
        }
        let connection = client.connection;
        self.releaser.give(move || drop(connection));
    }
}
