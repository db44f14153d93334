//! The bytes of NVMe and NVMe/TCP against tables of where every field is, and against streams that nobody
//! should send.
#![allow(clippy::unwrap_used, reason = "tests stop")]

mod commands;
mod layout;
mod structures;
mod values;
