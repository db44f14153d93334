//! A drive over NVMe/TCP on real sockets.
#![allow(clippy::unwrap_used, reason = "a test")]

mod basics;
mod beside;
mod certainty;
pub(crate) mod host;
mod hostile;
mod hosts;
mod reservations;
mod served;
mod strangers;
mod windows;
