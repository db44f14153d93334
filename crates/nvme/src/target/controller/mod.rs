//! What belongs to an admin queue and its I/O queues.
//!
//! An [`Association`] is what a host and a controller have between them, whatever the controller is
//! for: registers, keep alive, events, which queues are connected. A [`Registry`] has those of a
//! subsystem and gives out new ones. A [`Subsystem`] is a drive: identity, logs, features, windows.
//! Of an array it also is what a coordinator of PLM-light talks to.

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
