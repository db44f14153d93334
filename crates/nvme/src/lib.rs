//! The conversation between a host and its drives.
//!
//! Knows: the commands and completions both halves speak, the five fields that IODA adds to the
//! predictable latency mode, and the one time-window formula (IODA §4.3, Figure 3 and Table 2).
//! [`wire`] has the encoding of all of it in NVMe and NVMe/TCP, [`target`] the answers of a drive,
//! and [`initiator`] the requests of a host. Does not know: how a drive keeps the contract (`ssd`),
//! how an array uses it (`array`), sockets (`live`).
//!
//! The five fields (IODA §4.4, "Interface and Control Flow") and where they are here:
//!
//! | field | here |
//! |---|---|
//! | arrayType (number of parities k) | [`ArrayDescription::parities`] |
//! | arrayWidth | [`ArrayDescription::width`] |
//! | busyTimeWindow | [`WindowSchedule::busy_time_window`] |
//! | PL flag, 2 bits | [`PlFlag`] |
//! | cycle start time | [`WindowSchedule::cycle_start`] |
//!
//! The policy `quiet` adds a bit, [`WindowScope`].
#![no_std]

extern crate alloc;

mod bound;
mod command;
mod delays;
pub mod initiator;
mod plm_light;
mod rotation;
mod scope;
mod status;
pub mod target;
mod untimed;
mod window;
pub mod wire;

pub use bound::{WindowParameters, buffered_bytes};
pub use command::{Blocked, Command, CommandId, Completion, Opcode, PlFlag, Status};
pub use delays::{Cause, Delays};
pub use plm_light::{QOS_CLASSES, WindowCounts, WindowTraffic};
pub use rotation::Rotation;
pub use scope::WindowScope;
pub use status::{Advertised, CollectionReport, DriveStatus};
pub use untimed::Untimed;
pub use window::{ArrayDescription, CollectionRight, WindowSchedule};

/// The example of the README is compiled and run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
