//! The initiator against targets: the one of this crate, random ones, hostile ones.
#![allow(clippy::unwrap_used, reason = "tests stop")]

mod coordinating;
mod fuzz;
mod hostile;
mod model;
mod pair;
mod reservation;
mod set_up;
