//! The page where a die writes next.

/// The page where a die writes next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frontier {
    pub(super) next: u32,
    pub(super) end: u32,
    /// Open block within the die; `None` before the first.
    pub(super) block: Option<u32>,
}

impl Frontier {
    /// No block is open.
    pub(super) const NONE: Self = Self { next: 0, end: 0, block: None };

    /// Pages that are left in the open block.
    pub(super) fn left(&self) -> u32 {
        self.end - self.next
    }
}
