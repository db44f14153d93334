//! A PDU that is to be sent, the same for both sides. It names the data that it carries and does
//! not hold them.

use super::framing::{DIGEST_BYTES, Framing, PREFIX_BYTES_MAX};
use super::header::Header;

/// Data of a command to send, from its buffer. A host is to take them at once: the controller may
/// end the command before they are sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataPiece<Slot> {
    /// The command.
    pub slot: Slot,
    /// Where in its buffer they begin.
    pub offset_bytes: u32,
    /// How many.
    pub bytes: u32,
}

/// A PDU to send: what comes before its data, then the data, then their digest.
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

    /// Everything before the data.
    #[must_use]
    pub fn prefix(&self) -> &[u8] {
        &self.prefix[..self.prefix_bytes]
    }

    /// Which data follow.
    #[must_use]
    pub const fn data(&self) -> Option<DataPiece<Slot>> {
        self.data
    }

    /// What follows those data; none if the PDU has no data or the connection no digests of data.
    #[must_use]
    pub fn data_digest(&self, data: &[u8]) -> Option<[u8; DIGEST_BYTES]> {
        self.data.filter(|_| self.framing.digests.data)?;
        self.framing.data_digest((self.framing.checksum)(0, data))
    }
}
