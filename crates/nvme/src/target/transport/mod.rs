//! One TCP connection as the target sees it.

mod commands;
mod connection;
mod outgoing;
mod pointer;
mod terms;

pub use commands::{Answer, Slot};
pub use connection::{Connection, TransportEvent};
pub use outgoing::{DataPiece, Output, OutputPdu};
pub use pointer::CommandData;
pub use terms::{QueueTerms, Terms};
