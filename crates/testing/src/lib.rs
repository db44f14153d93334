//! For tests only: which seeds a random test runs with, the line that repeats a failure, whether
//! programs that a test needs are installed, and pages in a browser.
//!
//! A random test that fails prints one line, the same in every crate, and nothing else is needed to
//! see the failure again:
//!
//! ```text
//! repeat with: IODA_SEED=17 cargo test -p ioda-array -- --exact faults::drives_fail
//! ```
//!
//! `IODA_SEED` chooses the one seed to run, `IODA_SEEDS` how many to run instead of the usual
//! number.
//!
//! This crate knows nothing of the others, so that every one of them, down to `units`, can use it
//! in its tests. It is a crate rather than a feature of `units` because it needs std, threads and
//! the environment, and rather than a file that others include because it would then be compiled
//! once for each of them.

#[cfg(feature = "browser")]
pub mod browser;
pub mod colour;
pub mod seed;
pub mod tools;

pub use seed::{Seed, Seeds, is_repeat, seed, seeds, setting};

#[cfg(feature = "proptest")]
pub use seed::cases;
