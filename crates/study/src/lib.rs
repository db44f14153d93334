//! Studies of flash arrays: what is run, under which settings, and what came of it.
//!
//! Knows: settings and their words, set-ups, one table of metrics, one kind of job, one pool, one
//! store of results; comparisons, sweeps, surveys, experiments and the laboratory as descriptions
//! of runs. Does not know: command lines, terminals, sockets. How a drive, an array or a simulation
//! works is the business of the rooms below, which are called, never copied.
//!
//! A study says what happens through [`Watch`] and ends early with a [`Failure`].

pub mod assertion;
pub mod compare;
pub mod describe;
pub mod experiment;
mod failure;
pub mod files;
pub mod fit;
pub mod jobs;
pub mod metric;
pub mod requests_out;
pub mod settings;
pub mod setup;
pub mod simulate;
pub mod survey;
pub mod sweep;
pub mod table;
pub mod values;
mod watch;

pub use failure::{Cause, Failure};
pub use watch::{Count, Silent, Watch};

/// Compiles and runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
