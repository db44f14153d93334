//! Requests to a block device over NBD, each at the moment when the workload wants it.
//!
//! Latency counts from the intended moment, not from when the request was sent: a device that
//! stalls delays what comes after, and a generator that waited for it would hide that (the mistake
//! that Gil Tene calls coordinated omission).

mod errors;
mod generator;
mod permitted;
mod shown;

pub(crate) use generator::{LoadOptions, Loaded, load};
pub(crate) use permitted::{permit_all, takes_flushes, takes_fua};
pub(crate) use shown::run_of;
