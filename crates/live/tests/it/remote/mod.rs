//! Drives on the network: the storage over real sockets, against a drive that a thread of the test
//! plays.
#![allow(clippy::unwrap_used, reason = "tests stop")]

mod bytes;
mod claims;
pub(crate) mod target;
