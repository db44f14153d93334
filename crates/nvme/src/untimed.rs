//! Work that takes no time, on ideal drives as yardsticks for others.

/// Work of a drive that takes no time. No real drive is like this; runs on such drives show what is
/// left to gain.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Untimed {
    /// Nothing: an ordinary drive.
    #[default]
    Nothing,
    /// Collections (IODA §6.1, "Ideal"). Writes of the host keep their dies busy as usual.
    Collections,
    /// All changes of flash: programs of the host, collections, erases. Reads wait for reads only.
    Writes,
}

impl Untimed {
    /// Whether collections take no time.
    #[must_use]
    pub const fn collects(self) -> bool {
        !matches!(self, Self::Nothing)
    }
}
