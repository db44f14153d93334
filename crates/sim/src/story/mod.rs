//! The life of one request: its steps, its waits, and the causes of the waits.
//!
//! A run repeats bit for bit, so nothing of it is stored: it is run again with a watcher. Until the
//! request arrives, only open work is kept (commands, collections, page operations in service).
//! After that its own steps are kept, and the work of the dies that it uses.

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

/// Result of the search for a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Explained {
    /// The request was found.
    Story(Box<Story>),
    /// The run has no such request.
    Absent {
        /// Number of requests of the run.
        requests: u64,
    },
}

/// Runs `plan` until request `number` (from 1) is done, and returns its life.
///
/// `faults` are as in [`crate::run_with_faults`]. `progress` is updated as requests complete.
///
/// # Errors
///
/// Errors of [`crate::run`].
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
