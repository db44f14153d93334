//! The initiator against targets: our own, random and hostile ones.
#![allow(clippy::unwrap_used, reason = "tests stop")]

mod coordinating;
mod fuzz;
mod hostile;
mod model;
mod pair;
mod reservation;
mod set_up;
