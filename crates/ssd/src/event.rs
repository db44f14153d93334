//! Events inside a drive, for an observer: a closed list.
//!
//! The wait of a page operation lies between its [`Event::Queued`] and its [`Event::Began`]. It
//! waited behind the operations that ran on the same die in between, from the one in service when
//! it was queued.

use nvme::{CollectionRight, CommandId, Opcode, PlFlag, Status};
use units::{Duration, Instant, Lba};

/// Effect of a page operation on the flash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PageOperation {
    /// Senses a page and moves it out over the channel.
    Read,
    /// Takes a page in over the channel and programs it.
    Program,
    /// Reads a page and programs it elsewhere on its die.
    Copy,
    /// Erases a block.
    Erase,
}

/// Origin of a page operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// A command of the host.
    Command {
        /// The command.
        id: CommandId,
        /// Block within the command, from 0.
        block: u32,
    },
    /// A command of the host, one page of which is reconstructed from the rest of its RAIN stripe.
    Reconstruction {
        /// The command.
        id: CommandId,
    },
    /// The write buffer, which flushes a page.
    Flush {
        /// The logical page, or the number of a parity page.
        page: u32,
    },
    /// The write buffer, which flushes as many pages as the cells take in at a time.
    FlushUnit {
        /// The first flash page that they go to.
        flash_page: u32,
    },
    /// New parity of a RAIN stripe, which is computed from this page.
    Parity {
        /// The number of the page.
        page: u32,
    },
    /// A collection.
    Collection {
        /// Its number, as in [`Event::CollectionRequested`].
        collection: u32,
    },
    /// The check of copied pages in idle time.
    Scrub,
}

/// One thing that happened inside of a drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A command has arrived.
    Accepted {
        /// The command.
        id: CommandId,
        /// Its operation.
        opcode: Opcode,
        /// First logical block.
        lba: Lba,
        /// Logical blocks.
        blocks: u32,
        /// Whether it is to fail fast rather than wait for a collection.
        pl: PlFlag,
    },
    /// A command will fail fast.
    FailedFast {
        /// The command.
        id: CommandId,
        /// Busy remaining time in its completion.
        busy_remaining: Duration,
    },
    /// A page operation has joined the queue of its die.
    Queued {
        /// The die.
        die: u32,
        /// The operation.
        operation: PageOperation,
        /// Origin of the operation.
        origin: Origin,
        /// Whether it went in front of the writes that wait.
        overtakes: bool,
    },
    /// A die has taken up a page operation. It holds the die until [`Event::Ended`].
    Began {
        /// The die.
        die: u32,
        /// The channel of the die.
        channel: u32,
        /// The operation.
        operation: PageOperation,
        /// Origin of the operation.
        origin: Origin,
    },
    /// A page operation is done.
    Ended {
        /// The die.
        die: u32,
        /// The operation.
        operation: PageOperation,
        /// Origin of the operation.
        origin: Origin,
    },
    /// A program or an erase was interrupted for a read.
    Suspended {
        /// The die.
        die: u32,
    },
    /// The interrupted program or erase goes on.
    Resumed {
        /// The die.
        die: u32,
    },
    /// A collection lets the host go first on its die.
    Preempted {
        /// The die.
        die: u32,
        /// The collection.
        collection: u32,
    },
    /// A collection has asked for its dies: reads that arrive there from now on meet it.
    CollectionRequested {
        /// Its number, which is used again after its end.
        collection: u32,
        /// First die that it keeps from the host.
        first_die: u32,
        /// Number of dies that it keeps from the host.
        dies: u32,
        /// The victim: a block within its die, or a line.
        block: u32,
        /// Valid pages of the victim that have to be copied.
        valid_pages: u32,
        /// Time at which the collection must be over; [`Instant::NEVER`] for no limit.
        until: Instant,
        /// True if the collection starts although the window contract forbids it.
        violation: bool,
    },
    /// A collection has all its dies and begins to work.
    CollectionBegan {
        /// Its number.
        collection: u32,
    },
    /// A collection got its dies too late to be over in time, and gives them back untouched.
    CollectionCancelled {
        /// Its number.
        collection: u32,
    },
    /// A collection is over; its dies are free again.
    CollectionEnded {
        /// Its number.
        collection: u32,
    },
    /// The host has changed when the drive may collect.
    RightChanged {
        /// The new right.
        right: CollectionRight,
    },
    /// A busy window of a range of logical blocks has opened. Its end is known, so that there is no
    /// event for it.
    WindowOpened {
        /// The range.
        range: u32,
        /// The end of the window.
        until: Instant,
    },
    /// The write buffer has taken a page of a write.
    Buffered {
        /// The command.
        id: CommandId,
        /// Block within the command, from 0.
        block: u32,
    },
    /// A page of a write has to wait, because there is no room on flash or in the write buffer.
    Stalled {
        /// The command.
        id: CommandId,
        /// Block within the command, from 0.
        block: u32,
    },
    /// A command is done, and its completion waits for the host.
    Completed {
        /// The command.
        id: CommandId,
        /// Its status.
        status: Status,
    },
}
