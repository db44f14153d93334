//! Places where a read finds a page.

/// Place of a page that the host reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Location {
    /// Nowhere: the page was never written.
    Unwritten,
    /// In this flash page.
    Flash(u32),
    /// In the write buffer.
    Buffered,
    /// On a die that collects; the page is reconstructed from the rest of its stripe instead.
    Reconstructed,
}

impl Location {
    /// Location of a page that is not in the write buffer.
    #[inline]
    pub(crate) fn on_flash(page: Option<u32>) -> Self {
        page.map_or(Self::Unwritten, Self::Flash)
    }
}
