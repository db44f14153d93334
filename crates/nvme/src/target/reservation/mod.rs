//! Reservations of a namespace: which hosts may use it (NVM Express 1.4, section 8.8).
//!
//! A [`Reservations`] is a machine without clock and without commands in flight. It says how a
//! command ends, which hosts are told, and whose commands have to end before it is answered.
//! Registrants are named by the host identifier of Connect, 128 bits, so all controllers of a host
//! are one registrant.
//!
//! A subsystem with [`Persistence::Possible`] has its driver keep the [`ReservationState`] before a
//! command is answered that changes it.

mod access;
mod machine;
mod notices;
mod state;

pub use access::Access;
pub use machine::{Effect, Reservations};
pub(super) use notices::Notices;
pub use state::{Held, HostId, Persistence, REGISTRANTS_MAX, Registrant, ReservationState};
