//! A controller as its host sees it: from Connect to ready, and keeping it alive.

mod config;
mod error;
mod facts;
mod keep_alive;
mod machine;
mod questions;

pub use config::{ControllerConfig, QueuePlan};
pub use error::ControllerError;
pub use facts::DriveFacts;
pub use machine::{Controller, ControllerAction, WindowAnswer};
pub use questions::{Outgoing, Purpose, Submission};
pub(super) use questions::{admin, set};
