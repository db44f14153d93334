//! Commands and completions.

use crate::{Cause, Delays};
use units::{Duration, Lba};

/// The predictable-latency flag that a command and its completion carry (IODA §4.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum PlFlag {
    /// `00`: predictability off; the command waits as long as necessary.
    Off = 0b00,
    /// `01`: fail this command at once if it would queue behind a collection.
    Predictable = 0b01,
    /// `10`: fail this command at once if it would wait for longer than a read takes
    /// (`docs/quiet.md`; the paper leaves this value free).
    Patient = 0b10,
    /// `11`: in completions only; the command was failed because it met a collection.
    Failed = 0b11,
}

/// Operation of a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Opcode {
    /// Read logical blocks.
    Read,
    /// Write logical blocks.
    Write,
    /// Deallocate logical blocks (NVMe's Dataset Management, attribute Deallocate). A hint, as
    /// there: the data of a read before the next write is unspecified.
    Deallocate,
}

/// The host's identifier of a command in flight; a drive returns it unchanged.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CommandId(pub u32);

/// A command to one drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Command {
    /// The host's identifier of the command.
    pub id: CommandId,
    /// The operation.
    pub opcode: Opcode,
    /// First logical block.
    pub lba: Lba,
    /// Number of logical blocks, at least 1.
    pub blocks: u32,
    /// Whether to fail fast instead of waiting for a collection.
    pub pl: PlFlag,
}

/// Status of a command that has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// Done.
    Success,
    /// Failed at once because it would have waited for a collection ([`PlFlag::Failed`]).
    FailedFast,
    /// The drive could not do it: a read of pages that it has lost (NVMe's Unrecovered Read Error),
    /// or a write that it cannot store. The data of such a read is invalid.
    Unrecovered,
}

/// Effect of collections on a read that was served (TTFLASH §6.1 and Figure 7).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Blocked {
    /// The read waited for no collection.
    #[default]
    No,
    /// The read waited for I/O of the host that a collection had held up.
    Queue,
    /// The read waited for a collection itself.
    Collection,
}

/// A drive's answer to a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completion {
    /// The command that this completion answers.
    pub id: CommandId,
    /// Status of the command.
    pub status: Status,
    /// Busy remaining time: the time that the command would have waited (IODA §4.2.2). Zero unless
    /// the status is [`Status::FailedFast`].
    pub busy_remaining: Duration,
    /// Whether the command met a collection or buffer flush when it arrived, failed fast or not. A
    /// real drive does not report it for commands that wait; the model does, so that policies can
    /// be compared.
    pub met_collection: bool,
    /// True if a page of the command queued behind work that a collection had held up. Also true if
    /// the command waited for a slot while a collection held up a command with a slot.
    pub held_up: bool,
    /// Delays by cause; they sum to the command's latency.
    pub delays: Delays,
}

impl Completion {
    /// Effect of collections on the command. For a command of several pages the last page counts,
    /// because it determined the latency.
    #[inline]
    #[must_use]
    pub fn blocked(&self) -> Blocked {
        if !self.delays.behind_collections().is_zero() {
            Blocked::Collection
        } else if self.held_up
            && !(self.delays.behind_host() + self.delays.get(Cause::HeldBack)).is_zero()
        {
            Blocked::Queue
        } else {
            Blocked::No
        }
    }
}
