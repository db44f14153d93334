//! Commands that are not completed: the purpose of each, and the queue of every drive.

use crate::action::OpId;
use crate::drive_queues::Queues;
use crate::policy::Sent;
use nvme::{Command, CommandId, Opcode, PlFlag};
use units::{DriveId, Instant, Lba, Slab};

/// Purpose of a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    /// A member of a stripe operation. For a read: `round` of its fetch, and whether it serves only
    /// to reconstruct other members.
    Member { op: OpId, member: u8, round: u8, for_others: bool },
    /// A drain of pages from the write cache.
    Drain,
}

/// A command that is not completed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommandRecord {
    pub(crate) purpose: Purpose,
    pub(crate) drive: DriveId,
    pub(crate) opcode: Opcode,
    pub(crate) lba: Lba,
    pub(crate) blocks: u32,
    pub(crate) sent: Instant,
    /// Flag of a read and reads ahead of it, as sent to its drive; only set if drives are judged.
    pub(crate) flag: ReadFlag,
}

/// Maximum number of blocks in flight at a drive for which the reads ahead are counted.
const CALM_BLOCKS: u32 = 32;

/// Flag and queue of a read when it was sent to its drive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadFlag {
    pub(crate) pl: PlFlag,
    /// Blocks to be read from the drive ahead of it; `u8::MAX` if the queue is too deep to count.
    pub(crate) ahead: u8,
}

impl ReadFlag {
    /// Value before the command is sent.
    pub(crate) const NONE: Self = Self { pl: PlFlag::Off, ahead: 0 };
}

impl CommandRecord {
    /// The command as a policy sees it.
    #[inline]
    pub(crate) fn as_sent(&self) -> Sent {
        let Self { drive, opcode, lba, blocks, .. } = *self;
        Sent { drive, opcode, lba, blocks }
    }

    /// The command as its drive gets it.
    #[inline]
    pub(crate) fn command(&self, id: CommandId, pl: PlFlag) -> Command {
        let Self { opcode, lba, blocks, .. } = *self;
        Command { id, opcode, lba, blocks, pl }
    }
}

/// All commands that are not completed.
#[derive(Clone, Debug)]
pub(crate) struct Commands {
    records: Slab<CommandRecord>,
    queues: Queues,
}

impl Commands {
    pub(crate) fn new(width: u32) -> Self {
        Self { records: Slab::new(), queues: Queues::new(width) }
    }

    #[inline]
    pub(crate) fn insert(&mut self, record: CommandRecord) -> CommandId {
        CommandId(self.records.insert(record))
    }

    #[inline]
    pub(crate) fn get(&self, id: CommandId) -> &CommandRecord {
        self.records.get(id.0)
    }

    /// Removes a completed command.
    #[inline]
    pub(crate) fn take(&mut self, id: CommandId) -> CommandRecord {
        self.records.release(id.0);
        *self.records.get(id.0)
    }

    /// Notes the time when a command that had to wait is sent.
    pub(crate) fn sent_at(&mut self, id: CommandId, now: Instant) -> CommandRecord {
        let record = self.records.get_mut(id.0);
        record.sent = now;
        *record
    }

    /// Remembers the flag of a command that waits at the host.
    pub(crate) fn keep_flag(&mut self, id: CommandId, pl: PlFlag) {
        self.records.get_mut(id.0).flag = ReadFlag { pl, ahead: 0 };
    }

    /// Remembers the flag and the queue of a read that is about to be sent.
    pub(crate) fn note_flag(&mut self, id: CommandId, pl: PlFlag) -> ReadFlag {
        let record = self.records.get_mut(id.0);
        let queue = self.queues.of(record.drive);
        let ahead = match queue.read_blocks {
            // In a saturated drive a queued read also waits for all that the drive does meanwhile.
            1.. if queue.blocks() > CALM_BLOCKS => u8::MAX,
            reads => u8::try_from(reads).unwrap_or(u8::MAX),
        };
        record.flag = ReadFlag { pl, ahead };
        record.flag
    }

    /// Counts a command sent to its drive. Deallocations do no work and are not counted.
    #[inline]
    pub(crate) fn sent_to_drive(&mut self, record: &CommandRecord) {
        if record.opcode != Opcode::Deallocate {
            self.queues.add(record.drive, record.opcode, record.blocks);
        }
    }

    /// Removes an answered command from its drive's queue.
    #[inline]
    pub(crate) fn answered_by_drive(&mut self, record: &CommandRecord) {
        if record.opcode != Opcode::Deallocate {
            self.queues.remove(record.drive, record.opcode, record.blocks);
        }
    }

    /// Blocks queued at every drive.
    #[inline]
    pub(crate) fn queues(&self) -> &Queues {
        &self.queues
    }

    /// Panics if a drive has queued blocks although no command is in flight.
    pub(crate) fn check_invariants(&self) {
        if self.records.is_empty() {
            assert!(self.queues.all().iter().all(|queue| queue.blocks() == 0));
        }
    }
}
