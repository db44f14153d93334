//! The real clock: the same drives and the same array that were measured in the simulator, with
//! real bytes, for real clients.
//!
//! Knows: the monotonic clock and how to wait for it exactly, where bytes are kept, what must be on
//! stable storage when, the NBD protocol, and how a running array is watched and ordered about.
//! Does not know: what policies do inside, how drives decide when to collect, workloads, arguments.
//!
//! # Threads
//!
//! One thread owns the array, its drives, their storage and all clients past the handshake
//! ([`engine`]); nothing on the path of an I/O takes a lock. The door ([`nbd`]) accepts clients and
//! talks to them until they have chosen an export. [`operate`] answers people and their monitors.
//! The others reach the first by a [`control::Line`] only.

pub mod buffer;
pub mod clock;
pub mod control;
pub mod durable;

pub mod kernel;
pub mod nbd;
pub mod operate;
pub mod server;
pub mod storage;
