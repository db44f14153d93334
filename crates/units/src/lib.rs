//! Types that all crates share: nanosecond time, sizes, ratios, identifiers, a seeded random
//! generator, a checksum, a tournament of deadlines, numbered slots, and observers of events.
//!
//! Knows: arithmetic on time and space. Does not know: drives, arrays, traces, clocks. There is
//! no way to *read* a clock here; an [`Instant`] is always handed in.
#![no_std]

extern crate alloc;

mod crc32c;
mod deadlines;
mod observe;
mod ratio;
mod rng;
mod slab;
mod space;
mod time;

pub use crc32c::{crc32c, crc32c_append};
pub use deadlines::Deadlines;
pub use observe::{EventLog, NoEvents, Observe, Recorded, Ring, TRACED_EVENTS, Traced, Unobserved};
pub use ratio::Ratio;
pub use rng::Rng;
pub use slab::Slab;
pub use space::{Bytes, DriveId, GIB, KIB, Lba, MIB};
pub use time::{Duration, Instant};

/// The example of the README is compiled and run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
