//! The life of one request: what it did, what it waited for and what that stood behind.
//!
//! A run repeats bit for bit, so nothing of it is stored: it is run again while it is watched.
//! Until the request arrives, only what is open is kept (commands, collections, page operations in
//! service). From then on its own steps are kept, and what happens on the dies that it touches.

mod command;
mod life;
mod operation;
mod path;
mod recorder;
mod sentences;
mod slowest;
mod state;
mod told;
mod words;

pub use path::PathSums;
pub use slowest::slowest;
pub use told::{Activity, Lane, Segment, Sentence, Span, Story, StoryPlace};

use crate::driver::run_watched;
use crate::error::SimError;
use crate::faults::Fault;
use crate::plan::Plan;
use crate::progress::RunProgress;
use recorder::Recorder;
use ssd::Ssd;
use units::Instant;
use workload::{Arrival, Request};

/// What came of a search for a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Explained {
    /// It was found.
    Story(Box<Story>),
    /// There is no such request.
    Absent {
        /// Requests of the run.
        requests: u64,
    },
}

/// Runs `plan` until request `number` (from 1) is done, and tells its life.
///
/// `faults` come as in [`crate::run_with_faults`]. `progress` is counted up as requests complete.
///
/// # Errors
///
/// As [`crate::run`].
pub fn explain<E>(
    plan: &Plan,
    drives: Vec<Ssd>,
    (arrival, requests): (Arrival, impl Iterator<Item = Result<Request, E>>),
    faults: Vec<(Instant, Fault)>,
    number: u64,
    progress: &RunProgress,
) -> Result<Explained, SimError<E>> {
    let mut recorder = Recorder::new(plan, number)?;
    let result = run_watched(plan, drives, arrival, requests, faults, progress, &mut recorder)?;
    Ok(match recorder.into_story() {
        Some(story) => Explained::Story(Box::new(story)),
        None => Explained::Absent { requests: result.requests },
    })
}
