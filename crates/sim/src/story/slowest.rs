//! The slowest requests of a run, whose lives are worth reading.

use crate::driver::run_watched;
use crate::error::SimError;
use crate::faults::Fault;
use crate::plan::Plan;
use crate::progress::RunProgress;
use crate::watch::Watch;
use array::{Outcome, RequestKind};
use engine::Event;
use ssd::Ssd;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use units::{Duration, Instant, Unobserved};
use workload::{Arrival, Request};

/// The slowest requests so far. Of two with equal latency the earlier one stays.
struct Slowest {
    kind: RequestKind,
    count: usize,
    /// Outcomes, the fastest first.
    outcomes: BTreeMap<(Duration, Reverse<u64>), Outcome>,
}

impl Watch for Slowest {
    type Observe = Unobserved;

    fn event(&mut self, _: Instant, _: Event) {}

    fn completed(&mut self, outcome: &Outcome) {
        if outcome.kind != self.kind {
            return;
        }
        let latency = outcome.completed.since(outcome.arrived);
        self.outcomes.insert((latency, Reverse(outcome.request.0)), *outcome);
        if self.outcomes.len() > self.count {
            self.outcomes.pop_first();
        }
    }
}

/// Runs `plan` and returns its `count` slowest requests of one kind, the slowest first.
///
/// # Errors
///
/// Errors of [`crate::run`].
pub fn slowest<E>(
    plan: &Plan,
    drives: Vec<Ssd>,
    (arrival, requests): (Arrival, impl Iterator<Item = Result<Request, E>>),
    faults: Vec<(Instant, Fault)>,
    (kind, count): (RequestKind, usize),
    progress: &RunProgress,
) -> Result<Vec<Outcome>, SimError<E>> {
    let mut slowest = Slowest { kind, count, outcomes: BTreeMap::new() };
    run_watched(plan, drives, arrival, requests, faults, progress, &mut slowest)?;
    Ok(slowest.outcomes.into_values().rev().collect())
}
