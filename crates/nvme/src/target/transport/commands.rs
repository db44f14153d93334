//! The commands in flight of a connection, at most as many as its queue has entries.

use super::pointer::CommandData;
use crate::wire::{CompletionEntry, StatusField};
use alloc::vec::Vec;

/// Slot of a command in flight, by which the driver identifies a command and its buffer. It is also
/// the tag of R2Ts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Slot(u16);

impl Slot {
    /// Its number, below the entries of the queue.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The slot with a number.
    pub(in crate::target) const fn new(number: u16) -> Self {
        Self(number)
    }

    pub(super) const fn tag(self) -> u16 {
        self.0
    }
}

/// Answer to a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The status.
    pub status: StatusField,
    /// DW0 in the lower half, DW1 in the upper half.
    pub result: u64,
    /// Bytes to send from the start of the command's buffer; none for a failed command.
    pub data_bytes: u32,
}

impl Answer {
    /// An answer with a status only.
    #[must_use]
    pub const fn new(status: StatusField) -> Self {
        Self { status, result: 0, data_bytes: 0 }
    }

    /// Success with a result.
    #[must_use]
    pub const fn with_result(result: u64) -> Self {
        Self { status: StatusField::SUCCESS, result, data_bytes: 0 }
    }

    /// Success with data.
    #[must_use]
    pub const fn with_data(data_bytes: u32) -> Self {
        Self { status: StatusField::SUCCESS, result: 0, data_bytes }
    }

    pub(super) const fn entry(&self, cid: u16, sq_head: u16) -> CompletionEntry {
        CompletionEntry { result: self.result, sq_head, sq_id: 0, cid, status: self.status }
    }
}

/// Next step of a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// The driver has to provide a buffer, or the answer.
    AtDriver,
    /// The R2T has to be sent.
    ToAsk,
    /// Data are being received.
    Receiving {
        received: u32,
        /// Whether all digests were right so far.
        sound: bool,
        /// The answer, if it is known already. The data are still received, and dropped.
        answer: Option<Answer>,
    },
    /// The answer is being sent: its data from `sent` on, then the completion.
    Answering { answer: Answer, sent: u32 },
}

/// A command in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct InFlight {
    pub(super) cid: u16,
    pub(super) data: CommandData,
    /// Whether the driver knows the command.
    pub(super) is_known: bool,
    pub(super) stage: Stage,
}

/// Table of commands in flight.
#[derive(Debug)]
pub(super) struct Commands {
    slots: Vec<Option<InFlight>>,
    /// Free slots; the last is taken first.
    free: Vec<Slot>,
}

impl Commands {
    pub(super) fn new(entries: u16) -> Self {
        let mut commands = Self { slots: Vec::new(), free: Vec::new() };
        commands.grow(entries);
        commands
    }

    /// Makes room for `entries` commands.
    pub(super) fn grow(&mut self, entries: u16) {
        let now = self.slots.len() as u16;
        self.slots.reserve_exact(usize::from(entries.saturating_sub(now)));
        self.free.reserve_exact(usize::from(entries).saturating_sub(self.free.len()));
        for number in (now..entries).rev() {
            self.slots.push(None);
            self.free.push(Slot(number));
        }
    }

    /// Memory of the table in bytes.
    pub(super) fn held_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Option<InFlight>>()
            + self.free.capacity() * size_of::<Slot>()
    }

    /// Most memory of a table for `entries` commands, in bytes.
    pub(super) const fn held_bytes_max(entries: usize) -> usize {
        entries * (size_of::<Option<InFlight>>() + size_of::<Slot>())
    }

    /// Whether a command with this CID is in flight. Queues are short enough for a search.
    pub(super) fn has_cid(&self, cid: u16) -> bool {
        self.slots.iter().flatten().any(|command| command.cid == cid)
    }

    /// Inserts a command; `None` if the queue is full.
    pub(super) fn insert(&mut self, command: InFlight) -> Option<Slot> {
        let slot = self.free.pop()?;
        let before = self.slots[slot.index()].replace(command);
        assert!(before.is_none(), "{slot:?} is free, and has a command");
        Some(slot)
    }

    pub(super) fn get(&self, slot: Slot) -> Option<&InFlight> {
        self.slots.get(slot.index())?.as_ref()
    }

    pub(super) fn get_mut(&mut self, slot: Slot) -> Option<&mut InFlight> {
        self.slots.get_mut(slot.index())?.as_mut()
    }

    /// Frees the slot of a command in flight.
    pub(super) fn remove(&mut self, slot: Slot) {
        let command = self.slots[slot.index()].take();
        assert!(command.is_some(), "the command of {slot:?} ends, and is not in flight");
        self.free.push(slot);
    }

    /// Commands in flight.
    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Every command, with its slot.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Slot, &InFlight)> {
        let numbered = self.slots.iter().enumerate();
        numbered.filter_map(|(number, command)| Some((Slot(number as u16), command.as_ref()?)))
    }
}
