//! What a connection wants done.

use super::commands::Slot;
use crate::wire::pdu;

/// Data of a command to send, from its buffer.
pub type DataPiece = pdu::DataPiece<Slot>;

/// A PDU to send.
pub type OutputPdu = pdu::OutputPdu<Slot>;

/// What to do next.
#[derive(Clone, Debug)]
pub enum Output {
    /// Send this PDU.
    Send(OutputPdu),
    /// The command is answered. Its slot may be another command's from now on; its buffer is needed
    /// no longer than what was to be sent of it.
    Released(Slot),
    /// Send what is to be sent, then close. Nothing comes after it.
    Close,
}
