//! The commands in flight of a connection, and their names on the wire.

use super::terms::{ENTRIES_MAX, SLOT_BITS};
use crate::wire::SubmissionEntry;
use alloc::vec::Vec;

/// The place of a command in flight. The driver knows a command and its buffer by it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Slot(u16);

impl Slot {
    /// Its number: less than the commands that may be in flight.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The data of a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommandData {
    /// It has none.
    None,
    /// The controller takes them from the command's buffer.
    ToController {
        /// How many, at least one.
        bytes: u32,
    },
    /// They come into the command's buffer: all of them, if the command succeeds.
    ToHost {
        /// How many, at least one.
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

/// Data that the controller has asked for, and that are not all sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    /// TTAG of the R2T.
    pub(super) transfer_tag: u16,
    /// Where they end in the buffer of the command.
    pub(super) end: u32,
}

/// A command.
#[derive(Clone, Copy, Debug)]
pub(super) struct InFlight {
    pub(super) entry: SubmissionEntry,
    pub(super) data: CommandData,
    pub(super) is_in_capsule: bool,
    pub(super) is_sent: bool,
    /// Bytes of its data that were sent, or have come.
    pub(super) moved: u32,
    pub(super) asked: Option<Asked>,
    /// Whether every digest of its data was right so far.
    pub(super) is_sound: bool,
}

impl InFlight {
    /// Whether something of it is to be sent.
    pub(super) const fn is_ready(&self) -> bool {
        !self.is_sent || self.asked.is_some()
    }

    /// Whether all of its data were sent or have come.
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
    /// Differs from command to command, so that an answer to an earlier one is not taken for one to
    /// this.
    generation: u16,
}

/// All of them.
#[derive(Debug)]
pub(super) struct Commands {
    places: Vec<Place>,
    /// Slots that are free; the last is taken first.
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

    /// Most memory of a table for so many.
    pub(super) const fn held_bytes_max(commands: usize) -> usize {
        commands * (size_of::<Place>() + size_of::<Slot>())
    }

    /// Memory of the table.
    pub(super) fn held_bytes(&self) -> usize {
        self.places.capacity() * size_of::<Place>() + self.free.capacity() * size_of::<Slot>()
    }

    /// Takes a command in, which gets its CID; none if no slot is free.
    pub(super) fn insert(&mut self, mut command: InFlight) -> Option<Slot> {
        let slot = self.free.pop()?;
        let place = &mut self.places[slot.index()];
        assert!(place.command.is_none(), "{slot:?} is free, and has a command");
        place.generation = place.generation.wrapping_add(1);
        command.entry.common.cid = place.generation << SLOT_BITS | slot.0;
        place.command = Some(command);
        Some(slot)
    }

    /// The command that a CID names, if it is in flight and was sent.
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

    /// Commands that there is room for.
    pub(super) fn capacity(&self) -> usize {
        self.places.len()
    }

    /// Every command, with its slot.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Slot, &InFlight)> {
        let numbered = self.places.iter().enumerate();
        numbered.filter_map(|(number, place)| Some((Slot(number as u16), place.command.as_ref()?)))
    }
}
