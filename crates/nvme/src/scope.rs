//! What the window contract covers.

/// The work that a drive does in its busy windows only, and of which it tells reads that would wait
/// for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WindowScope {
    /// Collections, and what they hold up (IODA §4.3). A write buffer is flushed as the drive is
    /// configured.
    #[default]
    Collections,
    /// Everything that changes flash: the flush of the write buffer as well, and a read with the
    /// flag is failed fast whatever program or erase it would wait for (`docs/quiet.md`).
    AllWork,
}
