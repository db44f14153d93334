//! Reservations of a namespace: which hosts may use it (NVM Express 1.4, section 8.8).
//!
//! A [`Reservations`] is a machine without clock and without commands in flight. It returns the
//! status of a command, the notices to hosts, and the hosts whose commands have to end before it is
//! answered. A registrant is identified by the 128-bit host identifier of Connect, so all
//! controllers of a host are one registrant.
//!
//! With [`Persistence::Possible`], the driver saves the [`ReservationState`] before it answers a
//! command that changes it.

mod access;
mod machine;
mod notices;
mod state;

pub use access::Access;
pub use machine::{Effect, Reservations};
pub(super) use notices::Notices;
pub use state::{Held, HostId, Persistence, REGISTRANTS_MAX, Registrant, ReservationState};
