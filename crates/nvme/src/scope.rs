//! Work that the window contract covers.

/// Work that a drive does in its busy windows only, and for which reads with the flag fail fast.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WindowScope {
    /// Collections, and work that they hold up (IODA §4.3). A write buffer is flushed as the drive
    /// is configured.
    #[default]
    Collections,
    /// All changes of flash, including the flush of the write buffer. A read with the flag fails
    /// fast for any program or erase that it would wait for (`docs/quiet.md`).
    AllWork,
}
