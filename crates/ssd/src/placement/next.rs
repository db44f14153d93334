//! What is done next for pages that the host writes.

use crate::dies::Task;
use crate::ftl::Allocated;

/// What is done next for pages that the host writes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Next {
    /// This program is queued, at the place that it has got.
    Program { place: Allocated, task: Task },
    /// Whatever makes room for this range of logical blocks is collected: there is none.
    MakeRoom { range: u32 },
    /// Nothing, before something changes.
    Wait,
}
