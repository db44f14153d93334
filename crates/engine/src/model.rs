//! The drive model, or its stand-in.

#[cfg(feature = "model")]
pub use ssd::Ssd;
#[cfg(feature = "model")]
pub(crate) use ssd::{Completed, Event as DriveEvent};

#[cfg(not(feature = "model"))]
#[path = "no_model.rs"]
mod stand_in;

#[cfg(not(feature = "model"))]
pub use stand_in::Ssd;
#[cfg(not(feature = "model"))]
pub(crate) use stand_in::{Completed, DriveEvent};
