//! Reasons for which a run ends early.

use crate::plan::PlanError;
use crate::verify::Mismatch;
use thiserror::Error;
use units::{Duration, Instant};

/// Simulated time without progress after which a run is ended.
pub(crate) const PATIENCE: Duration = Duration::from_secs(600);

/// Reason for which a run ended early.
#[derive(Debug, Error)]
pub enum SimError<E> {
    /// The plan is impossible.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The workload ended with an error.
    #[error(transparent)]
    Workload(E),
    /// A request does not fit the array.
    #[error(
        "request {number} touches bytes {offset_bytes}..{end_bytes}, but the array has {capacity_bytes} bytes; wrap or scale the workload, or use larger drives"
    )]
    OutOfRange {
        /// Number of the request, from 1.
        number: u64,
        /// Its first byte.
        offset_bytes: u64,
        /// The byte after its last.
        end_bytes: u64,
        /// Capacity of the array.
        capacity_bytes: u64,
    },
    /// A request is empty.
    #[error("request {number} has a size of zero; drop it or give it a size")]
    Empty {
        /// Number of the request, from 1.
        number: u64,
    },
    /// A request comes before the one ahead of it.
    #[error(
        "request {number} comes at {at:?}, before the request ahead of it at {before:?}; sort the workload by time"
    )]
    BackInTime {
        /// Number of the request, from 1.
        number: u64,
        /// Its time.
        at: Instant,
        /// The time of the request ahead of it.
        before: Instant,
    },
    /// Requests are in flight, but no event is due: a bug of the model.
    #[error(
        "{in_flight} requests made no progress for {PATIENCE} of simulated time; this is a bug: please report the command line and the seed {seed}"
    )]
    Stalled {
        /// Requests in flight.
        in_flight: usize,
        /// The seed.
        seed: u64,
    },
    /// Requests come faster than they are answered.
    #[error(
        "the array does not keep up: more than {most_waiting} requests waited at once, so the run was ended"
    )]
    Overloaded {
        /// Most requests that may wait.
        most_waiting: usize,
    },
    /// The run was interrupted ([`crate::Progress::interrupt`]).
    #[error("the run was interrupted; it has no result")]
    Interrupted,
    /// A verified run read a page with a wrong tag.
    #[error("verification failed: {mismatch}; repeat with seed {seed} and policy {policy}")]
    Mismatch {
        /// The wrong page.
        mismatch: Mismatch,
        /// The seed.
        seed: u64,
        /// The policy.
        policy: &'static str,
    },
}
