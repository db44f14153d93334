//! Drives that cannot be built, to measure others against.

/// What a drive does in no time at all. No drive can; runs on such drives say what is left to gain.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Untimed {
    /// Nothing: an ordinary drive.
    #[default]
    Nothing,
    /// Collections (IODA §6.1, "Ideal"). Writes of the host keep their dies busy as ever.
    Collections,
    /// Everything that changes flash: programs of the host, collections, erases. Only reads are
    /// left to wait for.
    Writes,
}

impl Untimed {
    /// Whether collections take no time.
    #[must_use]
    pub const fn collects(self) -> bool {
        !matches!(self, Self::Nothing)
    }
}
