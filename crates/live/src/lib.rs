//! The real clock: the same drives and the same array that were measured in the simulator, with
//! real bytes, for real clients.
//!
//! Knows: the monotonic clock and how to wait for it exactly, where bytes are stored, the NBD
//! protocol, NVMe/TCP on sockets, how a running array is monitored and administered. Does not know:
//! what policies do inside, how drives decide when to collect, workloads, arguments.
//!
//! # Threads
//!
//! One thread owns the array, its drives, their storage and all connections past the handshake
//! ([`server`]); nothing on the path of an I/O takes a lock. The acceptor ([`nbd`]) accepts clients
//! and negotiates with them until they have chosen an export. [`operate`] serves the control
//! socket, the status page and the metrics. These reach the first thread by a
//! [`control::ArrayHandle`] only. A drive alone ([`drive`]) has one thread for everything, its
//! sockets as well ([`nvme_tcp`]). A fourth one takes memory for drives in memory in advance
//! ([`storage::Storage::start_prefill`]), a fifth gives large memory back.

pub mod allocator;
pub mod buffer;
mod certainty;
pub mod clock;
pub mod control;
mod crowd;
pub mod descriptors;
pub mod dhchap;
pub mod drive;
pub mod durable;

pub mod kernel;
pub mod learnt;
pub mod nbd;
pub mod nvme_tcp;
pub mod operate;
mod release;
mod secret_file;
mod seldom;
pub mod server;
pub mod storage;
mod unix_socket;

pub use certainty::Certainty;
pub use secret_file::{SecretFileError, read_secret_file};
pub use unix_socket::SocketAccess;

/// The example of the README is compiled and run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
