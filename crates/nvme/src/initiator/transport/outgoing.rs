//! Outputs of a connection.

use super::commands::Slot;
use crate::wire::pdu;

/// Data of a command to send, from its buffer.
pub type DataPiece = pdu::DataPiece<Slot>;

/// A PDU to send.
pub type OutputPdu = pdu::OutputPdu<Slot>;

/// Next output of a connection.
#[derive(Clone, Debug)]
pub enum Output {
    /// Send this PDU.
    Send(OutputPdu),
    /// Send everything that is queued, then close. No output follows.
    Close,
}
