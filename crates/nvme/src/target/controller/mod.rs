//! Controllers: an admin queue with its I/O queues.
//!
//! An [`Association`] is the common state of a host and a controller of any kind: registers, keep
//! alive, events, connected queues. A [`Registry`] holds the associations of a subsystem and
//! creates new ones. A [`Subsystem`] is a drive: identity, logs, features, windows. For an array it
//! is also the peer of PLM-light's coordinator.

mod association;
mod config;
mod drive;
mod events;
mod hosts;
mod identity;
mod keep_alive;
mod logs;
mod registers;
mod registry;
mod subsystem;
mod timestamp;
mod traffic;
mod windows;

pub(super) use association::Association;
pub use config::{Namespace, SubsystemConfig};
pub use drive::{Action, AdminAnswer, DriveReport, ReservationAnswer, WindowOrder};
pub use hosts::HostList;
pub(super) use identity::{Firmware, copy_identity, fabrics_controller};
pub(super) use logs::put_page;
pub use registry::Queue;
pub(super) use registry::{Registry, RegistryLimits};
pub use subsystem::{AdminRequest, Subsystem};
