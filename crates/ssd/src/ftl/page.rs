//! An optional page number in four bytes: the maps of a drive hold millions of them.

/// An optional page number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PackedPage(u32);

impl PackedPage {
    /// No page. Drives have fewer pages than this number.
    pub(super) const NONE: Self = Self(u32::MAX);

    #[inline]
    pub(super) fn new(page: u32) -> Self {
        debug_assert_ne!(page, u32::MAX);
        Self(page)
    }

    #[inline]
    pub(super) fn get(self) -> Option<u32> {
        (self != Self::NONE).then_some(self.0)
    }
}
