//! Where a page is found.

/// Where a page is that the host reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Location {
    /// Nowhere: it was never written.
    Unwritten,
    /// In this flash page.
    Flash(u32),
    /// In the write buffer.
    Buffered,
    /// On a die that collects; it is reconstructed from the rest of its stripe instead.
    Reconstructed,
}

impl Location {
    /// Of a page that is not in the write buffer.
    #[inline]
    pub(crate) fn on_flash(page: Option<u32>) -> Self {
        page.map_or(Self::Unwritten, Self::Flash)
    }
}
