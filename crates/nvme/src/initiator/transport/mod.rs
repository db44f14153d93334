//! One TCP connection, without the socket: PDUs, the commands in flight, and their data.

mod commands;
mod connection;
mod end;
mod outgoing;
mod terms;

pub use commands::{CommandData, Slot};
pub use connection::{Connection, TransportEvent};
pub use end::End;
pub use outgoing::{DataPiece, Output, OutputPdu};
pub use terms::{ENTRIES_MAX, Terms};
