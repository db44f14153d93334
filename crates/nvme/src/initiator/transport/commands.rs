//! Commands in flight of a connection, and their identifiers on the wire.

use super::terms::{ENTRIES_MAX, SLOT_BITS};
use crate::wire::SubmissionEntry;
use alloc::vec::Vec;

/// Slot of a command in flight, by which the driver identifies a command and its buffer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Slot(u16);

impl Slot {
    /// Its number, below the most commands in flight.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The data of a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommandData {
    /// No data.
    None,
    /// Data that the controller takes from the command's buffer.
    ToController {
        /// Number of bytes, at least one.
        bytes: u32,
    },
    /// Data that come into the command's buffer: all of them, if the command succeeds.
    ToHost {
        /// Number of bytes, at least one.
        bytes: u32,
    },
}

impl CommandData {
    /// Bytes that come into the command's buffer.
    pub(super) const fn to_host_bytes(self) -> u32 {
        match self {
            Self::ToHost { bytes } => bytes,
            Self::None | Self::ToController { .. } => 0,
        }
    }
}

/// Data that the controller has requested and that are not all sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    /// TTAG of the R2T.
    pub(super) transfer_tag: u16,
    /// End of these data in the buffer of the command.
    pub(super) end: u32,
}

/// A command in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct InFlight {
    pub(super) entry: SubmissionEntry,
    pub(super) data: CommandData,
    pub(super) is_in_capsule: bool,
    pub(super) is_sent: bool,
    /// Bytes of its data that were sent or received.
    pub(super) moved: u32,
    pub(super) asked: Option<Asked>,
    /// Whether all digests of its data were right so far.
    pub(super) is_sound: bool,
}

impl InFlight {
    /// Whether the command has something to send.
    pub(super) const fn is_ready(&self) -> bool {
        !self.is_sent || self.asked.is_some()
    }

    /// Whether all of its data were sent or received.
    pub(super) const fn is_moved(&self) -> bool {
        match self.data {
            CommandData::None => true,
            CommandData::ToController { bytes } | CommandData::ToHost { bytes } => {
                self.moved == bytes
            }
        }
    }
}

#[derive(Debug)]
struct Place {
    command: Option<InFlight>,
    /// Differs from command to command, so that an answer to an earlier command in this slot is not
    /// taken for an answer to this one.
    generation: u16,
}

/// Table of commands in flight.
#[derive(Debug)]
pub(super) struct Commands {
    places: Vec<Place>,
    /// Free slots; the last is taken first.
    free: Vec<Slot>,
}

impl Commands {
    pub(super) fn new(commands: u16) -> Self {
        let commands = commands.clamp(1, ENTRIES_MAX);
        let place = || Place { command: None, generation: 0 };
        let mut places = Vec::with_capacity(commands.into());
        places.resize_with(commands.into(), place);
        Self { places, free: (0..commands).rev().map(Slot).collect() }
    }

    /// Most memory of a table for `commands` commands, in bytes.
    pub(super) const fn held_bytes_max(commands: usize) -> usize {
        commands * (size_of::<Place>() + size_of::<Slot>())
    }

    /// Memory of the table in bytes.
    pub(super) fn held_bytes(&self) -> usize {
        self.places.capacity() * size_of::<Place>() + self.free.capacity() * size_of::<Slot>()
    }

    /// Inserts a command and sets its CID; `None` if no slot is free.
    pub(super) fn insert(&mut self, mut command: InFlight) -> Option<Slot> {
        let slot = self.free.pop()?;
        let place = &mut self.places[slot.index()];
        assert!(place.command.is_none(), "{slot:?} is free, and has a command");
        place.generation = place.generation.wrapping_add(1);
        command.entry.common.cid = place.generation << SLOT_BITS | slot.0;
        place.command = Some(command);
        Some(slot)
    }

    /// Command with this CID, if it is in flight and was sent.
    pub(super) fn named(&self, cid: u16) -> Option<(Slot, &InFlight)> {
        let slot = Slot(cid & (ENTRIES_MAX - 1));
        let command = self.get(slot)?;
        (command.is_sent && command.entry.common.cid == cid).then_some((slot, command))
    }

    pub(super) fn get(&self, slot: Slot) -> Option<&InFlight> {
        self.places.get(slot.index())?.command.as_ref()
    }

    pub(super) fn get_mut(&mut self, slot: Slot) -> Option<&mut InFlight> {
        self.places.get_mut(slot.index())?.command.as_mut()
    }

    /// Frees the slot of a command in flight.
    pub(super) fn remove(&mut self, slot: Slot) {
        let command = self.places[slot.index()].command.take();
        assert!(command.is_some(), "the command of {slot:?} ends, and is not in flight");
        self.free.push(slot);
    }

    /// Commands in flight.
    pub(super) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Most commands in flight.
    pub(super) fn capacity(&self) -> usize {
        self.places.len()
    }

    /// Every command, with its slot.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Slot, &InFlight)> {
        let numbered = self.places.iter().enumerate();
        numbered.filter_map(|(number, place)| Some((Slot(number as u16), place.command.as_ref()?)))
    }
}
