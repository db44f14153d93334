//! All connections, each in a place that is used again after it has closed.

use super::connection::{ConnectionId, HostConnection};
use crate::clock::Interest;
use std::collections::{BTreeSet, VecDeque};
use units::Instant;

/// A place.
#[derive(Debug)]
pub(super) struct TableSlot {
    generation: u32,
    pub(super) connection: Option<Box<HostConnection>>,
    /// What it is watched for.
    pub(super) interest: Option<Interest>,
    /// Whether it is watched among strangers.
    pub(super) is_among_strangers: bool,
    is_dirty: bool,
    is_in_line: bool,
    deadline: Option<Instant>,
}

/// All connections.
#[derive(Debug, Default)]
pub(super) struct Table {
    places: Vec<TableSlot>,
    free: Vec<u32>,
    /// Those to look at before the thread waits, the first one first.
    dirty: VecDeque<u32>,
    /// Those that wait for memory, the first one first.
    line: VecDeque<ConnectionId>,
    deadlines: BTreeSet<(Instant, u32)>,
}

impl Table {
    /// Takes a connection in.
    pub(super) fn insert(&mut self, connection: Box<HostConnection>) -> ConnectionId {
        let index = self.free.pop().unwrap_or_else(|| {
            self.places.push(TableSlot {
                generation: 0,
                connection: None,
                interest: None,
                is_among_strangers: false,
                is_dirty: false,
                is_in_line: false,
                deadline: None,
            });
            self.places.len() as u32 - 1
        });
        let place = &mut self.places[index as usize];
        place.connection = Some(connection);
        ConnectionId { index, generation: place.generation }
    }

    /// Takes a connection out.
    pub(super) fn remove(&mut self, index: u32) -> Option<Box<HostConnection>> {
        self.set_deadline(index, None);
        let place = self.places.get_mut(index as usize)?;
        let connection = place.connection.take()?;
        place.generation = place.generation.wrapping_add(1);
        (place.interest, place.is_in_line) = (None, false);
        self.free.push(index);
        Some(connection)
    }

    /// Connections that there are.
    pub(super) fn count(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// The name of what is at a place.
    pub(super) fn id(&self, index: u32) -> Option<ConnectionId> {
        let place = self.places.get(index as usize)?;
        place.connection.as_ref()?;
        Some(ConnectionId { index, generation: place.generation })
    }

    /// The place of a connection, if it is still there.
    pub(super) fn place_mut(&mut self, index: u32) -> Option<&mut TableSlot> {
        self.places.get_mut(index as usize)
    }

    /// A connection, if it is still there.
    pub(super) fn get_mut(&mut self, id: ConnectionId) -> Option<&mut HostConnection> {
        let place = self.places.get_mut(id.index as usize)?;
        place.connection.as_deref_mut().filter(|_| place.generation == id.generation)
    }

    /// A connection, if it is still there.
    pub(super) fn get(&self, id: ConnectionId) -> Option<&HostConnection> {
        let place = self.places.get(id.index as usize)?;
        place.connection.as_deref().filter(|_| place.generation == id.generation)
    }

    /// All connections.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (ConnectionId, &mut HostConnection)> {
        let numbered = self.places.iter_mut().zip(0u32..);
        numbered.filter_map(|(place, index)| {
            let id = ConnectionId { index, generation: place.generation };
            Some((id, place.connection.as_deref_mut()?))
        })
    }

    /// Something about a connection has changed: it is looked at before the thread waits.
    pub(super) fn mark_dirty(&mut self, index: u32) {
        let Some(place) = self.places.get_mut(index as usize) else { return };
        if !std::mem::replace(&mut place.is_dirty, true) {
            self.dirty.push_back(index);
        }
    }

    /// Whether there is a place to look at.
    pub(super) fn has_dirty(&self) -> bool {
        !self.dirty.is_empty()
    }

    /// The next place to look at.
    pub(super) fn pop_dirty(&mut self) -> Option<u32> {
        let index = self.dirty.pop_front()?;
        self.places[index as usize].is_dirty = false;
        Some(index)
    }

    /// A connection waits for memory, unless it stands in line already.
    pub(super) fn join_line(&mut self, id: ConnectionId) {
        let Some(place) = self.places.get_mut(id.index as usize) else { return };
        if !std::mem::replace(&mut place.is_in_line, true) {
            self.line.push_back(id);
        }
    }

    /// Who is the first in line.
    pub(super) fn first_in_line(&mut self) -> Option<ConnectionId> {
        while let Some(&id) = self.line.front() {
            if self.get_mut(id).is_some() {
                return Some(id);
            }
            self.line.pop_front();
        }
        None
    }

    /// The first leaves the line.
    pub(super) fn leave_line(&mut self) {
        if let Some(id) = self.line.pop_front()
            && self.get_mut(id).is_some()
        {
            self.places[id.index as usize].is_in_line = false;
        }
    }

    /// By when something has to have happened at a connection.
    pub(super) fn set_deadline(&mut self, index: u32, deadline: Option<Instant>) {
        let Some(place) = self.places.get_mut(index as usize) else { return };
        if let Some(old) = std::mem::replace(&mut place.deadline, deadline) {
            self.deadlines.remove(&(old, index));
        }
        self.deadlines.extend(deadline.map(|deadline| (deadline, index)));
    }

    /// Brings the deadline of a connection forward, if it has a later one or none.
    pub(super) fn shorten_deadline(&mut self, index: u32, deadline: Instant) {
        let before = self.places.get(index as usize).and_then(|place| place.deadline);
        if before.is_none_or(|before| before > deadline) {
            self.set_deadline(index, Some(deadline));
        }
    }

    /// The first deadline.
    pub(super) fn next_deadline(&self) -> Instant {
        self.deadlines.first().map_or(Instant::NEVER, |(deadline, _)| *deadline)
    }

    /// The next connection whose deadline has come.
    pub(super) fn pop_expired(&mut self, now: Instant) -> Option<u32> {
        let (deadline, index) = *self.deadlines.first()?;
        if deadline > now {
            return None;
        }
        self.set_deadline(index, None);
        Some(index)
    }
}
