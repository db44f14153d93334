//! Changes and readings of data, for drivers that carry data.

use nvme::CommandId;

/// One change or reading of flash pages, by flash address, or of the write buffer, by logical page.
///
/// Listed in the order in which it takes effect, and only while
/// [`crate::Ssd::record_media`] is on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Media {
    /// The flash page `page` now leaves for the host as block `block` of the command; a page that
    /// was never written has no address.
    Sensed {
        /// The reading command.
        command: CommandId,
        /// Block within the command, from 0.
        block: u32,
        /// Flash address; `None` if never written.
        page: Option<u32>,
    },
    /// The flash page `page` now leaves its die to be added (by exclusive or) to block `block` of
    /// the command, which is zero at first; a page that was never written adds nothing.
    SensedPart {
        /// The reading command.
        command: CommandId,
        /// Block within the command, from 0.
        block: u32,
        /// Flash address; `None` if never written.
        page: Option<u32>,
    },
    /// Block `block` of the command's data is now in the flash page `page`.
    Programmed {
        /// The writing command.
        command: CommandId,
        /// Block within the command, from 0.
        block: u32,
        /// Flash address.
        page: u32,
    },
    /// Block `block` of the command's data is now in the write buffer as the newest of `logical`.
    Buffered {
        /// The writing command.
        command: CommandId,
        /// Block within the command, from 0.
        block: u32,
        /// Logical page.
        logical: u32,
    },
    /// The data of `logical` in the write buffer, as it is now, goes to the flash page `page`.
    /// Reads find it in the buffer until the program is done.
    Flushed {
        /// Logical page.
        logical: u32,
        /// Flash address.
        page: u32,
    },
    /// The write buffer no longer holds `logical`.
    Unbuffered {
        /// Logical page.
        logical: u32,
    },
    /// The data of `logical` in the write buffer now leaves for the host as block `block` of the
    /// command.
    FromBuffer {
        /// The reading command.
        command: CommandId,
        /// Block within the command, from 0.
        block: u32,
        /// Logical page.
        logical: u32,
    },
    /// The flash page `page`, which will hold parity, is zero now.
    Cleared {
        /// Flash address.
        page: u32,
    },
    /// One flash page was added (by exclusive or) to another, which will hold parity.
    Added {
        /// Source flash address.
        from: u32,
        /// Flash address of the parity.
        to: u32,
    },
    /// One flash page was copied to another, by a collection or with its stripe.
    Copied {
        /// Source flash address.
        from: u32,
        /// Destination flash address.
        to: u32,
    },
    /// The drive checked a flash page that was copied within its die: the page left for error
    /// correction, and goes no further.
    Scrubbed {
        /// Flash address.
        page: u32,
    },
    /// A block was erased.
    Erased {
        /// Its first flash address.
        first_page: u32,
        /// Its number of pages.
        pages: u32,
    },
}
