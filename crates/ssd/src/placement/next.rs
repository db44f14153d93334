//! The next step of a placement.

use crate::dies::Task;
use crate::ftl::Allocated;

/// The next step for pages that the host writes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Next {
    /// Queue this program at its place.
    Program { place: Allocated, task: Task },
    /// A range of logical blocks has no room: collections have to make some, against the window
    /// contract if need be.
    MakeRoom { range: u32 },
    /// Nothing, until something changes.
    Wait,
}
