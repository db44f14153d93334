//! Writes that wait at the host for their drives, while the records have them already.
//!
//! The durability machine gets all changes of a stripe operation together. It may release them long
//! before the array sends the last of them.

use super::work::Work;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use nvme::CommandId;
use units::DriveId;

/// How far the records are with a write that waits.
#[derive(Debug)]
pub(super) enum Waited<B> {
    /// They hold it.
    Held,
    /// It may go to its drive as soon as the array sends it.
    Released(Work<B>),
    /// It counts as written, because its pages were accepted.
    Accepted,
    /// It is never written: its drive has failed, of which the array has yet to hear.
    Cancelled,
}

/// A write that waits.
#[derive(Debug)]
pub(super) struct WaitingWrite<B> {
    drive: DriveId,
    pub(super) tag: u32,
    pub(super) state: Waited<B>,
}

/// See the module. By commands.
#[derive(Debug)]
pub(super) struct Waiting<B> {
    writes: BTreeMap<CommandId, WaitingWrite<B>>,
}

impl<B> Waiting<B> {
    pub(super) const fn new() -> Self {
        Self { writes: BTreeMap::new() }
    }

    /// A write begins to wait; its transfer has this tag.
    pub(super) fn add(&mut self, id: CommandId, drive: DriveId, tag: u32) {
        let before = self.writes.insert(id, WaitingWrite { drive, tag, state: Waited::Held });
        assert!(before.is_none(), "{id:?} waits already");
    }

    /// The records are further with a write.
    pub(super) fn set(&mut self, id: CommandId, state: Waited<B>) {
        if let Some(write) = self.writes.get_mut(&id) {
            write.state = state;
        }
    }

    /// The array sends a command. Returns what is known of it, if it is a write that waited.
    #[inline]
    pub(super) fn take(&mut self, id: CommandId) -> Option<WaitingWrite<B>> {
        self.writes.remove(&id)
    }

    /// The array has given a drive up, and sends none of these.
    pub(super) fn drive_gone(&mut self, drive: DriveId) -> Vec<WaitingWrite<B>> {
        let of_drive = self.writes.iter().filter(|(_, write)| write.drive == drive);
        let ids: Vec<CommandId> = of_drive.map(|(&id, _)| id).collect();
        ids.iter().filter_map(|id| self.writes.remove(id)).collect()
    }
}
