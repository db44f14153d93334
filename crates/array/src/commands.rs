//! The commands that are out: what each was sent for, and what is queued at every drive.

use crate::action::OpId;
use crate::drive_queues::Queues;
use crate::policy::Sent;
use nvme::{Command, CommandId, Opcode, PlFlag};
use units::{DriveId, Instant, Lba, Slab};

/// What a command is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    /// A member of a stripe operation. Of a read, the round of its fetch, and whether it serves
    /// only to reconstruct others.
    Member { op: OpId, member: u8, round: u8, for_others: bool },
    /// Pages that leave the write cache.
    Drain,
}

/// A command that is out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommandRecord {
    pub(crate) purpose: Purpose,
    pub(crate) drive: DriveId,
    pub(crate) opcode: Opcode,
    pub(crate) lba: Lba,
    pub(crate) blocks: u32,
    pub(crate) sent: Instant,
    /// Of a read, as its drive got it: only if somebody judges drives.
    pub(crate) flag: ReadFlag,
}

/// Blocks out at a drive up to which what is in front of a read can be counted.
const CALM_BLOCKS: u32 = 32;

/// How a read has gone out to its drive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadFlag {
    pub(crate) pl: PlFlag,
    /// Blocks that were to be read from the drive before it; `u8::MAX` if they are too many to be
    /// counted.
    pub(crate) ahead: u8,
}

impl ReadFlag {
    /// Of what has not gone out yet.
    pub(crate) const NONE: Self = Self { pl: PlFlag::Off, ahead: 0 };
}

impl CommandRecord {
    /// What a policy sees of it.
    #[inline]
    pub(crate) fn as_sent(&self) -> Sent {
        let Self { drive, opcode, lba, blocks, .. } = *self;
        Sent { drive, opcode, lba, blocks }
    }

    /// What its drive is sent.
    #[inline]
    pub(crate) fn command(&self, id: CommandId, pl: PlFlag) -> Command {
        let Self { opcode, lba, blocks, .. } = *self;
        Command { id, opcode, lba, blocks, pl }
    }
}

/// All commands that are out.
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

    /// A command is answered.
    #[inline]
    pub(crate) fn take(&mut self, id: CommandId) -> CommandRecord {
        self.records.release(id.0);
        *self.records.get(id.0)
    }

    /// A command that had to wait goes out now.
    pub(crate) fn sent_at(&mut self, id: CommandId, now: Instant) -> CommandRecord {
        let record = self.records.get_mut(id.0);
        record.sent = now;
        *record
    }

    /// Remembers how a command that waits at the host is to go out.
    pub(crate) fn keep_flag(&mut self, id: CommandId, pl: PlFlag) {
        self.records.get_mut(id.0).flag = ReadFlag { pl, ahead: 0 };
    }

    /// Remembers how a read is about to go out.
    pub(crate) fn note_flag(&mut self, id: CommandId, pl: PlFlag) -> ReadFlag {
        let record = self.records.get_mut(id.0);
        let queue = self.queues.of(record.drive);
        let ahead = match queue.read_blocks {
            // Reads that wait for each other meet all that a saturated drive does meanwhile.
            1.. if queue.blocks() > CALM_BLOCKS => u8::MAX,
            reads => u8::try_from(reads).unwrap_or(u8::MAX),
        };
        record.flag = ReadFlag { pl, ahead };
        record.flag
    }

    /// A command goes out to its drive. Deallocations are no work, and queue for nothing.
    #[inline]
    pub(crate) fn sent_to_drive(&mut self, record: &CommandRecord) {
        if record.opcode != Opcode::Deallocate {
            self.queues.add(record.drive, record.opcode, record.blocks);
        }
    }

    /// Its drive has answered.
    #[inline]
    pub(crate) fn answered_by_drive(&mut self, record: &CommandRecord) {
        if record.opcode != Opcode::Deallocate {
            self.queues.remove(record.drive, record.opcode, record.blocks);
        }
    }

    /// What is queued at every drive.
    #[inline]
    pub(crate) fn queues(&self) -> &Queues {
        &self.queues
    }

    /// Panics if more is queued at the drives than is out.
    pub(crate) fn check_invariants(&self) {
        if self.records.is_empty() {
            assert!(self.queues.all().iter().all(|queue| queue.blocks() == 0));
        }
    }
}
