//! Writes that wait at the host for their drives, and are already in the durability machine.
//!
//! The durability machine gets all changes of a stripe operation together. It may release a change
//! long before the array sends it.

use super::work::Work;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use nvme::CommandId;
use units::DriveId;

/// State of a waiting write in the durability machine.
#[derive(Debug)]
pub(super) enum Waited<B> {
    /// The machine holds the write.
    Held,
    /// The machine has released the write: it goes to its drive when the array sends it.
    Released(Work<B>),
    /// The write counts as done, because its pages were accepted.
    Accepted,
    /// The write was cancelled: its drive has failed, and the array does not know that yet.
    Cancelled,
}

/// A write that waits.
#[derive(Debug)]
pub(super) struct WaitingWrite<B> {
    drive: DriveId,
    pub(super) tag: u32,
    pub(super) state: Waited<B>,
}

/// Waiting writes, by their commands.
#[derive(Debug)]
pub(super) struct Waiting<B> {
    writes: BTreeMap<CommandId, WaitingWrite<B>>,
}

impl<B> Waiting<B> {
    pub(super) const fn new() -> Self {
        Self { writes: BTreeMap::new() }
    }

    /// Adds a waiting write; `tag` is its transfer.
    pub(super) fn add(&mut self, id: CommandId, drive: DriveId, tag: u32) {
        let before = self.writes.insert(id, WaitingWrite { drive, tag, state: Waited::Held });
        assert!(before.is_none(), "{id:?} waits already");
    }

    /// Sets the state of a write.
    pub(super) fn set(&mut self, id: CommandId, state: Waited<B>) {
        if let Some(write) = self.writes.get_mut(&id) {
            write.state = state;
        }
    }

    /// Takes a waiting write that the array sends; `None` if the command is none.
    #[inline]
    pub(super) fn take(&mut self, id: CommandId) -> Option<WaitingWrite<B>> {
        self.writes.remove(&id)
    }

    /// Takes the waiting writes of a failed drive.
    pub(super) fn drive_gone(&mut self, drive: DriveId) -> Vec<WaitingWrite<B>> {
        let of_drive = self.writes.iter().filter(|(_, write)| write.drive == drive);
        let ids: Vec<CommandId> = of_drive.map(|(&id, _)| id).collect();
        ids.iter().filter_map(|id| self.writes.remove(id)).collect()
    }
}
