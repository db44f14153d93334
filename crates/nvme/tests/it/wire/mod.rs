//! The bytes of NVMe and NVMe/TCP against tables of every field's offset, and against hostile
//! streams.
#![allow(clippy::unwrap_used, reason = "tests stop")]

mod commands;
mod damage;
mod fuzz;
mod layout;
mod pdu;
mod plm_light;
mod reader;
mod reservations;
mod structures;
mod values;
