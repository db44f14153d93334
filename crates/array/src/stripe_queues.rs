//! The order of operations on the same rows of a stripe: the turns of writers, and the operations
//! that wait for others.
//!
//! *Writers* are all operations that change a stripe, or need it unchanged from beginning to end.
//! They take turns: a writer has its turn when every earlier writer with rows in common has left.
//! *Readers* enter only if they compute with members of the stripe, or if chunks may be relocated.
//! A writer with its new data complete waits until no reader *pins* its rows. A reader that finds
//! such a writer waits, or takes the new data from its memory.
//!
//! Nothing here is searched: for every row only the last writer is stored, and a new writer depends
//! on the last writers of its rows. Those depend on the writers before them, and a writer leaves
//! only after its turn, so waiting for the last one is waiting for all. Each operation has a list
//! of its waiters. The router takes the operations that can go on, in order of entering.

use crate::action::OpId;
use crate::last_writers::{LastWriter, LastWriters};
use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;
use units::Slab;

/// End of a list.
const NONE: u32 = u32::MAX;
/// Number of groups of stripes whose commits are counted together.
const COMMIT_GROUPS: usize = 1 << 12;

/// State of an operation in the queue of its stripe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// In no queue.
    Away,
    /// A writer that waits for `behind` earlier ones.
    WaitsForTurn { behind: u32 },
    /// A writer that has its turn, and changes nothing yet.
    HasTurn,
    /// A writer that changes the stripe as soon as no reader pins its rows, or does so already.
    Changes(Change),
    /// A reader.
    Reads(Reading),
    /// A reader that waits for a writer.
    WaitsForWrite,
}

/// A writer that changes its rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Change {
    /// Readers that pin its rows.
    pins: u32,
    /// Whether it waits until no reader does.
    waits: bool,
    /// Whether it relocates chunks, so that every reader pins its rows.
    relocates: bool,
    /// Whether its new data is complete in memory.
    has_data: bool,
}

/// A reader that is at work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Reading {
    /// Whether it computes with members of the stripe, so that they must not change.
    computes: bool,
    /// Ticket of the write whose new data it uses, and which need not wait for it; 0 for none.
    shares: u64,
}

/// An operation in the queues.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Number in order of entering, from 1.
    ticket: u64,
    /// Its queue.
    queue: u32,
    first_row: u32,
    end_row: u32,
    /// The first of its waiters.
    waiters: u32,
    /// Its neighbours among the readers, or among the writers that change their rows.
    before: u32,
    after: u32,
    state: State,
}

const AWAY: Entry = Entry {
    ticket: 0,
    queue: NONE,
    first_row: 0,
    end_row: 0,
    waiters: NONE,
    before: NONE,
    after: NONE,
    state: State::Away,
};

/// One operation that waits for another.
#[derive(Clone, Copy, Debug)]
struct Waiter {
    op: OpId,
    /// Its ticket: an operation may leave before the one that it waits for.
    ticket: u64,
    next: u32,
}

/// Operations linked by their entries, in order of arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct List {
    first: u32,
    last: u32,
}

impl List {
    const EMPTY: Self = Self { first: NONE, last: NONE };

    fn is_empty(self) -> bool {
        self.first == NONE
    }

    fn push(&mut self, entries: &mut [Entry], op: OpId) {
        let before = core::mem::replace(&mut self.last, op.0);
        match before {
            NONE => self.first = op.0,
            _ => entries[before as usize].after = op.0,
        }
        let entry = &mut entries[op.0 as usize];
        (entry.before, entry.after) = (before, NONE);
    }

    /// Removes an operation with these neighbours.
    fn remove(&mut self, entries: &mut [Entry], before: u32, after: u32) {
        match before {
            NONE => self.first = after,
            _ => entries[before as usize].after = after,
        }
        match after {
            NONE => self.last = before,
            _ => entries[after as usize].before = before,
        }
    }

    fn iter(self, entries: &[Entry]) -> impl Iterator<Item = OpId> {
        let some = |at: u32| (at != NONE).then_some(OpId(at));
        core::iter::successors(some(self.first), move |op| some(entries[op.0 as usize].after))
    }
}

/// The operations on one stripe.
#[derive(Clone, Debug)]
struct Queue {
    stripe: u64,
    /// The next queue with the same hash.
    next: u32,
    /// Number of operations in it.
    len: u32,
    last_writers: LastWriters,
    /// Writers that change their rows. They have no row in common.
    changing: List,
    readers: List,
    /// Number of its operations that waited and may go on.
    ready: u32,
}

/// Whether a read may compute with the members of some rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Access {
    /// Yes: no writer changes them.
    Free,
    /// Yes, with the new data of this write, which is complete in memory.
    Share(OpId),
    /// Only after this writer has left.
    Wait(OpId),
}

/// The queues of all stripes with operations.
#[derive(Clone, Debug)]
pub(crate) struct StripeQueues {
    entries: Vec<Entry>,
    queues: Vec<Queue>,
    /// Queues without operations, kept with their memory for reuse.
    free: Vec<u32>,
    waiters: Slab<Waiter>,
    /// Operations that waited and may go on, by queue and ticket: seldom more than one.
    ready: BTreeSet<(u32, u64, OpId)>,
    /// The first queue of each hash; the number of hashes is a power of two.
    heads: Vec<u32>,
    tickets: u64,
    commits: Vec<u32>,
}

fn hash(stripe: u64) -> u64 {
    // Fibonacci hashing: neighbouring stripes spread over the table.
    stripe.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl StripeQueues {
    pub(crate) fn new() -> Self {
        Self {
            entries: Vec::new(),
            queues: Vec::new(),
            free: Vec::new(),
            waiters: Slab::new(),
            ready: BTreeSet::new(),
            heads: vec![NONE; 64],
            tickets: 0,
            commits: vec![0; COMMIT_GROUPS],
        }
    }

    fn entry(&self, op: OpId) -> &Entry {
        self.entries.get(op.0 as usize).unwrap_or(&AWAY)
    }

    /// Stripes with operations, in any order.
    pub(crate) fn at_work(&self) -> impl Iterator<Item = u64> + '_ {
        self.queues.iter().filter(|queue| queue.len > 0).map(|queue| queue.stripe)
    }

    /// Number of beginnings and ends of commits in the group of stripes that `stripe` belongs to.
    /// While it is unchanged, so is the stripe. Sharing the count costs a needless read now and
    /// then, and saves a record for every stripe that was ever written.
    #[inline]
    pub(crate) fn commits(&self, stripe: u64) -> u32 {
        self.commits[(hash(stripe) >> 52) as usize % COMMIT_GROUPS]
    }

    /// Counts the beginning or the end of a commit.
    #[inline]
    pub(crate) fn note_commit(&mut self, stripe: u64) {
        let commits = &mut self.commits[(hash(stripe) >> 52) as usize % COMMIT_GROUPS];
        *commits = commits.wrapping_add(1);
    }

    fn head(&self, stripe: u64) -> usize {
        (hash(stripe) >> (64 - self.heads.len().trailing_zeros())) as usize
    }

    fn find(&self, stripe: u64) -> Option<u32> {
        let mut at = self.heads[self.head(stripe)];
        while at != NONE {
            let queue = &self.queues[at as usize];
            if queue.stripe == stripe {
                return Some(at);
            }
            at = queue.next;
        }
        None
    }

    /// The queue of `stripe`, which is made if missing.
    fn find_or_make(&mut self, stripe: u64) -> u32 {
        if let Some(queue) = self.find(stripe) {
            return queue;
        }
        let at = self.free.pop().unwrap_or_else(|| {
            self.queues.push(Queue {
                stripe: 0,
                next: NONE,
                len: 0,
                last_writers: LastWriters::default(),
                changing: List::EMPTY,
                readers: List::EMPTY,
                ready: 0,
            });
            (self.queues.len() - 1) as u32
        });
        if self.queues.len() > self.heads.len() {
            self.grow();
        }
        let head = self.head(stripe);
        let next = core::mem::replace(&mut self.heads[head], at);
        let queue = &mut self.queues[at as usize];
        (queue.stripe, queue.next) = (stripe, next);
        at
    }

    #[cold]
    fn grow(&mut self) {
        let in_use: Vec<u32> = self.heads.iter().flat_map(|&head| self.chain(head)).collect();
        self.heads = vec![NONE; self.heads.len() * 2];
        for at in in_use {
            let head = self.head(self.queues[at as usize].stripe);
            self.queues[at as usize].next = core::mem::replace(&mut self.heads[head], at);
        }
    }

    /// All queues from `first` on with the same hash.
    fn chain(&self, first: u32) -> impl Iterator<Item = u32> {
        let some = |at: u32| (at != NONE).then_some(at);
        core::iter::successors(some(first), move |&at| some(self.queues[at as usize].next))
    }

    fn enter(&mut self, op: OpId, stripe: u64, rows: &Range<u32>, state: State) -> u32 {
        debug_assert!(!self.is_in(op), "an operation enters once");
        let queue = self.find_or_make(stripe);
        self.tickets += 1;
        let index = op.0 as usize;
        if self.entries.len() <= index {
            self.entries.resize(index + 1, AWAY);
        }
        self.entries[index] = Entry {
            ticket: self.tickets,
            queue,
            first_row: rows.start,
            end_row: rows.end,
            state,
            ..AWAY
        };
        self.queues[queue as usize].len += 1;
        queue
    }

    /// Enters a writer of `rows` of `stripe`. Returns the last of the writers that it has to wait
    /// for; `None` if it has its turn.
    pub(crate) fn enter_writer(&mut self, op: OpId, stripe: u64, rows: Range<u32>) -> Option<OpId> {
        let at = self.enter(op, stripe, &rows, State::HasTurn);
        let queue = &mut self.queues[at as usize];
        let ticket = self.tickets;
        let new = LastWriter { first_row: rows.start, end_row: rows.end, op, ticket };
        let (mut behind, mut last) = (0, None);
        queue.last_writers.replace(new, |other| {
            let entry = &mut self.entries[other.op.0 as usize];
            if entry.ticket == other.ticket {
                // One writer may be the last of several runs of rows.
                let first = entry.waiters;
                let is_known = first != NONE && self.waiters.get(first).ticket == ticket;
                if !is_known {
                    entry.waiters = self.waiters.insert(Waiter { op, ticket, next: first });
                    behind += 1;
                    last = Some(other.op);
                }
            }
        });
        if behind > 0 {
            self.entries[op.0 as usize].state = State::WaitsForTurn { behind };
        }
        last
    }

    /// Enters a reader of `rows` of `stripe`, which pins them if it `computes`.
    pub(crate) fn enter_reader(&mut self, op: OpId, stripe: u64, rows: Range<u32>, computes: bool) {
        if self.is_in(op) {
            if computes {
                self.change_reading(op, |reading| reading.computes = true);
            }
            return;
        }
        let at = self.enter(op, stripe, &rows, State::WaitsForWrite);
        self.begin_reading(op, at, Reading { computes, shares: 0 });
    }

    fn begin_reading(&mut self, op: OpId, at: u32, reading: Reading) {
        self.queues[at as usize].readers.push(&mut self.entries, op);
        self.set_state(op, State::Reads(reading));
    }

    /// Whether an operation is in a queue.
    pub(crate) fn is_in(&self, op: OpId) -> bool {
        self.entry(op).state != State::Away
    }

    /// Whether a writer has its turn.
    #[cfg(test)]
    fn has_turn(&self, op: OpId) -> bool {
        matches!(self.entry(op).state, State::HasTurn | State::Changes(_))
    }

    /// Whether a reader pins the rows of a writer that changes them.
    fn pins(&self, reader: &Entry, writer: &Entry) -> bool {
        let (State::Reads(reading), State::Changes(change)) = (reader.state, writer.state) else {
            return false;
        };
        (reading.computes || change.relocates)
            && reading.shares != writer.ticket
            && reader.first_row < writer.end_row
            && writer.first_row < reader.end_row
    }

    /// Sets the state of a reader, and updates the pins of the writers.
    fn set_state(&mut self, op: OpId, state: State) {
        let before = self.entries[op.0 as usize];
        self.entries[op.0 as usize].state = state;
        let mut at = self.queues[before.queue as usize].changing.first;
        while at != NONE {
            let (writer, entry) = (OpId(at), self.entries[at as usize]);
            at = entry.after;
            let (did, does) =
                (self.pins(&before, &entry), self.pins(&self.entries[op.0 as usize], &entry));
            let State::Changes(change) = &mut self.entries[writer.0 as usize].state else {
                continue;
            };
            change.pins = change.pins + u32::from(does) - u32::from(did);
            if did && change.waits && change.pins == 0 {
                self.note_ready(entry.queue, entry.ticket, writer);
            }
        }
    }

    fn note_ready(&mut self, at: u32, ticket: u64, op: OpId) {
        let is_new = self.ready.insert((at, ticket, op));
        self.queues[at as usize].ready += u32::from(is_new);
    }

    fn change_reading(&mut self, op: OpId, change: impl FnOnce(&mut Reading)) {
        if let State::Reads(mut reading) = self.entry(op).state {
            change(&mut reading);
            self.set_state(op, State::Reads(reading));
        }
    }

    /// Has a reader use the new data of `write` from now on, or with `None` the data on the drives.
    pub(crate) fn share(&mut self, op: OpId, write: Option<OpId>) {
        let shares = write.map_or(0, |write| self.entry(write).ticket);
        self.change_reading(op, |reading| reading.shares = shares);
    }

    /// Has a reader (in the queue or not) wait for `write`.
    pub(crate) fn wait_for_write(&mut self, op: OpId, stripe: u64, rows: Range<u32>, write: OpId) {
        self.enter_reader(op, stripe, rows, true);
        if let State::Reads(_) = self.entry(op).state {
            self.stop_reading(op, State::WaitsForWrite);
        }
        let ticket = self.entry(op).ticket;
        let next = self.entry(write).waiters;
        self.entries[write.0 as usize].waiters = self.waiters.insert(Waiter { op, ticket, next });
    }

    fn stop_reading(&mut self, op: OpId, state: State) {
        self.set_state(op, state);
        let Entry { queue, before, after, .. } = self.entries[op.0 as usize];
        self.queues[queue as usize].readers.remove(&mut self.entries, before, after);
    }

    /// Resumes a reader that waited for a write.
    pub(crate) fn read_on(&mut self, op: OpId) {
        let at = self.entry(op).queue;
        self.begin_reading(op, at, Reading { computes: true, shares: 0 });
    }

    /// Lets a writer change its rows. Returns `true` if no reader pins them; otherwise it waits.
    pub(crate) fn begin_change(&mut self, op: OpId, relocates: bool, has_data: bool) -> bool {
        let entry = &mut self.entries[op.0 as usize];
        debug_assert_eq!(entry.state, State::HasTurn, "a writer changes its rows in its turn");
        entry.state = State::Changes(Change { pins: 0, waits: false, relocates, has_data });
        let (entry, queue) = (*entry, &mut self.queues[entry.queue as usize]);
        queue.changing.push(&mut self.entries, op);
        if queue.readers.is_empty() {
            return true;
        }
        let readers = self.queues[entry.queue as usize].readers.iter(&self.entries);
        let pinning = readers.filter(|reader| self.pins(self.entry(*reader), &entry)).count();
        if let State::Changes(change) = &mut self.entries[op.0 as usize].state {
            change.pins = pinning as u32;
            change.waits = pinning > 0;
        }
        pinning == 0
    }

    /// Whether a reader may compute with the members of `rows` of `stripe`.
    pub(crate) fn access(&self, stripe: u64, rows: Range<u32>) -> Access {
        let Some(at) = self.find(stripe) else { return Access::Free };
        let mut access = Access::Free;
        for op in self.queues[at as usize].changing.iter(&self.entries) {
            let writer = self.entry(op);
            let State::Changes(change) = writer.state else { continue };
            if writer.first_row >= rows.end || rows.start >= writer.end_row {
                continue;
            }
            let covers = writer.first_row <= rows.start && rows.end <= writer.end_row;
            if !covers || !change.has_data {
                return Access::Wait(op);
            }
            access = Access::Share(op);
        }
        access
    }

    /// The writer that is relocating chunks of `rows`, if any.
    pub(crate) fn relocating(&self, stripe: u64, rows: Range<u32>) -> Option<OpId> {
        let queue = &self.queues[self.find(stripe)? as usize];
        queue.changing.iter(&self.entries).find(|&op| {
            let writer = self.entry(op);
            writer.first_row < rows.end
                && rows.start < writer.end_row
                && matches!(writer.state, State::Changes(change) if change.relocates)
        })
    }

    /// The first row that a writer works on.
    pub(crate) fn first_row(&self, op: OpId) -> u32 {
        self.entry(op).first_row
    }

    /// Removes an operation; its waiters may be ready now. Returns whether any operation of the
    /// stripe is.
    pub(crate) fn leave(&mut self, op: OpId) -> bool {
        if let State::Reads(_) = self.entry(op).state {
            self.stop_reading(op, State::Away);
        }
        let entry = core::mem::replace(&mut self.entries[op.0 as usize], AWAY);
        let mut at = entry.waiters;
        while at != NONE {
            let waiter = *self.waiters.get(at);
            self.waiters.release(at);
            at = waiter.next;
            let other = &mut self.entries[waiter.op.0 as usize];
            if other.ticket != waiter.ticket {
                continue;
            }
            let is_ready = match &mut other.state {
                State::WaitsForTurn { behind } => {
                    *behind -= 1;
                    *behind == 0
                }
                _ => true,
            };
            if is_ready {
                self.note_ready(entry.queue, waiter.ticket, waiter.op);
            }
        }
        let queue = &mut self.queues[entry.queue as usize];
        if matches!(entry.state, State::Changes(_)) {
            queue.changing.remove(&mut self.entries, entry.before, entry.after);
        }
        queue.len -= 1;
        if queue.len == 0 {
            self.drop_queue(entry.queue);
            return false;
        }
        queue.ready > 0
    }

    fn drop_queue(&mut self, at: u32) {
        let queue = &mut self.queues[at as usize];
        queue.last_writers.clear();
        if core::mem::take(&mut queue.ready) > 0 {
            self.ready.retain(|&(queue, ..)| queue != at);
        }
        let queue = &self.queues[at as usize];
        let (stripe, next) = (queue.stripe, queue.next);
        let head = self.head(stripe);
        if self.heads[head] == at {
            self.heads[head] = next;
        } else {
            let mut before = self.heads[head];
            while self.queues[before as usize].next != at {
                before = self.queues[before as usize].next;
            }
            self.queues[before as usize].next = next;
        }
        self.free.push(at);
    }

    /// The next operation on `stripe` after `ticket` that waited and can go on now, and its own
    /// ticket. It is a writer that gets its turn now, a writer whose rows no reader pins any more,
    /// or a reader whose write has left.
    pub(crate) fn next_ready(&mut self, stripe: u64, ticket: u64) -> Option<(u64, OpId)> {
        let at = self.find(stripe)?;
        loop {
            if self.queues[at as usize].ready == 0 {
                return None;
            }
            let next = self.ready.range((at, ticket + 1, OpId(0))..).next().copied();
            let (_, its_ticket, op) = next.filter(|&(queue, ..)| queue == at)?;
            self.ready.remove(&(at, its_ticket, op));
            self.queues[at as usize].ready -= 1;
            let entry = &mut self.entries[op.0 as usize];
            let can_go_on = match entry.state {
                _ if entry.ticket != its_ticket => false,
                State::WaitsForTurn { behind } => {
                    entry.state = State::HasTurn;
                    behind == 0
                }
                State::Changes(ref mut change) => {
                    let was_waiting = change.waits && change.pins == 0;
                    change.waits &= !was_waiting;
                    was_waiting
                }
                State::WaitsForWrite => true,
                State::Away | State::HasTurn | State::Reads(_) => false,
            };
            if can_go_on {
                return Some((its_ticket, op));
            }
        }
    }

    /// Panics if a count differs from a fresh count.
    pub(crate) fn check_invariants(&self) {
        let (mut entries, mut ready) = (0, 0);
        let heads = self.heads.iter().flat_map(|&head| self.chain(head));
        for at in heads {
            let queue = &self.queues[at as usize];
            let of_queue = |op: &OpId| self.entry(*op).queue == at && self.is_in(*op);
            assert!(queue.len > 0, "an empty queue of stripe {}", queue.stripe);
            let readers = || queue.readers.iter(&self.entries);
            let changing = || queue.changing.iter(&self.entries);
            assert!(readers().all(|op| of_queue(&op)) && changing().all(|op| of_queue(&op)));
            for (list, last) in
                [(readers().last(), queue.readers), (changing().last(), queue.changing)]
            {
                assert_eq!(list.map_or(NONE, |op| op.0), last.last, "the last of a list");
            }
            entries += queue.len as usize;
            ready += queue.ready as usize;
            queue.last_writers.check_invariants();
            for op in readers() {
                assert!(
                    matches!(self.entry(op).state, State::Reads(_)),
                    "{op:?} is among the readers and does not read"
                );
            }
            for op in changing() {
                let writer = self.entry(op);
                let State::Changes(change) = writer.state else {
                    panic!("{op:?} is among the writers that change the stripe and does not")
                };
                let pins = readers().filter(|reader| self.pins(self.entry(*reader), writer));
                assert_eq!(change.pins as usize, pins.count(), "pins of {op:?}");
            }
        }
        let in_queues = self.entries.iter().filter(|entry| entry.state != State::Away).count();
        assert_eq!(entries, in_queues, "operations in queues");
        assert_eq!(ready, self.ready.len(), "operations that may go on");
    }
}

#[cfg(test)]
mod tests;
