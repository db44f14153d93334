//! What a connection wants done.

use super::commands::Slot;
use crate::wire::pdu::{DIGEST_BYTES, Framing, Header, PREFIX_BYTES_MAX};

/// What to do next.
#[derive(Clone, Debug)]
pub enum Output {
    /// Send this PDU.
    Send(OutputPdu),
    /// Send what is to be sent, then close. Nothing comes after it.
    Close,
}

/// Data of a command to send, from its buffer. They are to be taken at once: the controller may end the
/// command before they are sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataPiece {
    /// The command.
    pub slot: Slot,
    /// Where in its buffer they begin.
    pub offset_bytes: u32,
    /// How many.
    pub bytes: u32,
}

/// A PDU to send: what comes before its data, then the data, then their digest.
#[derive(Clone, Debug)]
pub struct OutputPdu {
    prefix: [u8; PREFIX_BYTES_MAX],
    prefix_bytes: usize,
    framing: Framing,
    data: Option<DataPiece>,
}

impl OutputPdu {
    pub(super) fn new(framing: Framing, header: &Header, data: Option<DataPiece>) -> Self {
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
    pub const fn data(&self) -> Option<DataPiece> {
        self.data
    }

    /// What follows those data; none if the PDU has no data or the connection no digests of data.
    #[must_use]
    pub fn data_digest(&self, data: &[u8]) -> Option<[u8; DIGEST_BYTES]> {
        self.data.filter(|_| self.framing.digests.data)?;
        self.framing.data_digest((self.framing.checksum)(0, data))
    }
}
