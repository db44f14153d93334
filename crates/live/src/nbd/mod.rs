//! The Network Block Device protocol, server and client.
//!
//! The [`Acceptor`] is a thread that accepts clients and negotiates with them until they have
//! chosen an export; then a client is a [`Connection`], which is handed over to the thread that
//! owns the array. The protocol itself knows no sockets: [`handshake`] and the session inside of a
//! connection turn bytes into answers, so that they can be tested and fuzzed byte by byte.
//!
//! Source: `doc/proto.md` of the project NetworkBlockDevice, by whose section names the code says
//! why it does what it does.

mod acceptor;
pub mod client;
mod connection;
mod door;
pub mod fuzz;
pub mod fuzz_client;
pub mod handshake;
mod listener;
mod negotiated;
mod negotiation;
mod output;
mod permit;
mod queue;
mod request;
mod session;
mod stream;
pub mod tls;
pub mod uri;
pub mod wire;

pub use acceptor::{Acceptor, AcceptorError, HANDSHAKE_TIMEOUT, Tls};
pub use connection::{Connection, Interest};
pub use door::{NEGOTIATIONS_MAX, StrangerCounts};
pub use handshake::{Choice, Export};
pub use listener::{Listen, ListenError};
pub use negotiated::{Forbidden, Negotiated, error_name};
pub use output::UnsentReplies;
pub use permit::CLIENTS_MAX;
pub use request::{Errno, Extent, Kind, LENGTH_BYTES_MAX, Request};
pub use session::{Counts, EXTENTS_MAX, HELD_BYTES_MAX, IN_FLIGHT_MAX};
pub use stream::Socket;
