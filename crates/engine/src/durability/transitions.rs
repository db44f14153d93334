//! Transitions of an array's records that no output tells, counted for tests that have to meet
//! them.

/// Transitions since the array was started.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Transitions {
    /// Halves of the journal whose batches count no longer, because a stable header says so.
    pub halves_retired: u64,
    /// Halves of the journal that got batches again after that.
    pub halves_refilled: u64,
    /// Batches of the journal that were withdrawn: a drive failed before they were stable.
    pub batches_withdrawn: u64,
}
