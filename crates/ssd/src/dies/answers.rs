//! Answers of the dies to operations and to the ends of steps.

use crate::dies::die::Copy;
use crate::dies::ops::Task;

/// Result of adding an operation to the queue of a die.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pushed {
    /// The operation queued up behind a collection, or behind operations that a collection held up.
    pub(crate) held_up: bool,
    /// The operation went in front of the writes that wait.
    pub(crate) overtook: bool,
    /// The die is idle, or one of its planes may take the operation up.
    pub(crate) idle: bool,
}

/// Work that a die has taken from its queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Taken {
    /// Nothing: the queue is empty.
    Nothing,
    /// A page operation, which has begun.
    Operation(Task),
    /// The hold of this collection: the die is kept for it from now on.
    Hold(u32),
}

/// Result of a step that ended on a die. Unless it continues, the die waits to be given its next
/// operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StepEnd {
    /// The die goes on with the next step.
    Continues,
    /// An operation from the queue is done.
    Finished(Task),
    /// A collection's copy is done.
    Copied(Copy),
    /// Pages that a collection moves have been read.
    Gathered,
    /// Pages that a collection gathered have been programmed.
    Relocated,
    /// A collection's erase is done.
    Erased,
    /// A flash page was read to check it.
    Scrubbed(u32),
    /// The die has been idle for long enough to scrub.
    Idle,
    /// The operation in service is suspended.
    Suspended,
}
