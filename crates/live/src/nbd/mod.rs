//! The Network Block Device protocol, server and client.
//!
//! The [`Door`] is a thread that accepts clients and talks to them until they have chosen an
//! export; then a client is a [`Connection`], which goes to the thread that owns the array. The
//! protocol itself knows no sockets: [`handshake`] and the session inside of a connection turn
//! bytes into answers, so that they can be tested and fuzzed byte by byte.
//!
//! Source: `doc/proto.md` of the project NetworkBlockDevice, by whose section names the code says
//! why it does what it does.

pub mod client;
mod connection;
mod door;
pub mod fuzz;
mod guest;
pub mod handshake;
mod listener;
mod queue;
mod request;
mod session;
mod stream;
pub mod tls;
pub mod uri;
pub mod wire;

pub use connection::{Connection, Interest};
pub use door::{CLIENTS_MAX, Door, DoorError, HANDSHAKE_TIMEOUT, Listen, Tls};
pub use handshake::{Choice, Export};
pub use request::{Errno, Extent, Kind, LENGTH_BYTES_MAX, Request};
pub use session::{Counts, EXTENTS_MAX, HELD_BYTES_MAX, IN_FLIGHT_MAX};
pub use stream::Socket;
