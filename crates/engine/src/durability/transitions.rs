//! Transitions of an array's records that appear in no output, counted so that tests can check that
//! they occur.

/// Transitions since the array was started.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Transitions {
    /// Halves of the journal whose batches no longer count, because a stable header says so.
    pub halves_retired: u64,
    /// Halves of the journal that got batches again after that.
    pub halves_refilled: u64,
    /// Batches of the journal that were withdrawn because a drive failed before they were stable.
    pub batches_withdrawn: u64,
}
