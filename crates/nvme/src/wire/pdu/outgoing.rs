//! A PDU to be sent by either side. It refers to its data and does not hold them.

use super::framing::{DIGEST_BYTES, Framing, PREFIX_BYTES_MAX};
use super::header::Header;

/// Data of a command to send, from its buffer. A host has to take them at once: the controller may
/// end the command before they are sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataPiece<Slot> {
    /// The command.
    pub slot: Slot,
    /// Offset in its buffer.
    pub offset_bytes: u32,
    /// Number of bytes.
    pub bytes: u32,
}

/// A PDU to send: the bytes before its data, the data, and their digest.
#[derive(Clone, Debug)]
pub struct OutputPdu<Slot> {
    prefix: [u8; PREFIX_BYTES_MAX],
    prefix_bytes: usize,
    framing: Framing,
    data: Option<DataPiece<Slot>>,
}

impl<Slot: Copy> OutputPdu<Slot> {
    pub(crate) fn new(framing: Framing, header: &Header, data: Option<DataPiece<Slot>>) -> Self {
        let mut prefix = [0; PREFIX_BYTES_MAX];
        let prefix_bytes = framing.write(header, &mut prefix);
        Self { prefix, prefix_bytes, framing, data }
    }

    /// Bytes before the data.
    #[must_use]
    pub fn prefix(&self) -> &[u8] {
        &self.prefix[..self.prefix_bytes]
    }

    /// Data that follow.
    #[must_use]
    pub const fn data(&self) -> Option<DataPiece<Slot>> {
        self.data
    }

    /// Digest that follows the data; `None` if the PDU has no data or the connection no data
    /// digests.
    #[must_use]
    pub fn data_digest(&self, data: &[u8]) -> Option<[u8; DIGEST_BYTES]> {
        self.data.filter(|_| self.framing.digests.data)?;
        self.framing.data_digest((self.framing.checksum)(0, data))
    }
}
