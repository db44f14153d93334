//! Answers of the dies to operations and to the ends of steps.

use crate::dies::die::Copy;
use crate::dies::ops::Task;

/// Where an operation has gone that joined the queue of a die.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pushed {
    /// It queued up behind a collection, or behind what a collection held up.
    pub(crate) held_up: bool,
    /// It went in front of the writes that wait.
    pub(crate) overtook: bool,
    /// The die has nothing else to do, or a plane of it may take the operation up.
    pub(crate) idle: bool,
}

/// What a die has taken up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Taken {
    /// Nothing: its queue is empty.
    Nothing,
    /// A page operation, which has begun.
    Operation(Task),
    /// It is held for this collection from now on.
    Hold(u32),
}

/// What the end of a step on a die leads to. A die that is not said to go on waits to be told what
/// to do next.
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
    /// What it worked on is suspended.
    Suspended,
}
