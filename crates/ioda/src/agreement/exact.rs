//! Request by request: what an answer of the served array took, beside what the simulator says.
//!
//! Where time is virtual (`lab/`), programs compute in no time and wake up when they are due, so
//! the served array has to answer every single request when the simulated one does, but for what
//! the path to it costs.

use report::{Claim, ClaimKind};
use schemars::JsonSchema;
use serde::Serialize;
use sim::RequestColumns;
use std::sync::{Mutex, PoisonError};
use units::Duration;

/// What is claimed of every workload and policy.
pub(super) const STATEMENT: &str = "Where time is virtual, the served array answers every single request when the simulated \
     one does: all differences are the same, which is what the path costs, and no answer is late.";

/// Where latencies of simulated requests are gathered, run by run.
#[derive(Debug)]
pub(super) struct Gathered(Vec<Mutex<Vec<Duration>>>);

impl Gathered {
    pub(super) fn new(runs: usize) -> Self {
        Self((0..runs).map(|_| Mutex::default()).collect())
    }

    /// Takes requests of a run, in any order.
    pub(super) fn take(&self, run: usize, requests: &RequestColumns) {
        let mut latencies = self.0[run].lock().unwrap_or_else(PoisonError::into_inner);
        for (index, &number) in requests.number.iter().enumerate() {
            let position = number as usize - 1;
            if latencies.len() <= position {
                latencies.resize(position + 1, Duration::ZERO);
            }
            let took = requests.completed_ns[index] - requests.arrived_ns[index];
            latencies[position] = Duration::from_nanos(took);
        }
    }

    /// The latencies of each run, by request.
    pub(super) fn finish(self) -> Vec<Vec<Duration>> {
        let inner =
            |latencies: Mutex<_>| latencies.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.0.into_iter().map(inner).collect()
    }
}

/// One run, request by request. Times are in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Exact {
    /// Requests on both clocks.
    pub(crate) requests: u64,
    /// Requests whose answer took as much longer than the simulated one as that of most others.
    pub(crate) alike: u64,
    /// The smallest difference, served minus simulated: what the path costs.
    pub(crate) smallest_nanoseconds: i64,
    /// The largest.
    pub(crate) largest_nanoseconds: i64,
    /// The first request whose difference is not the smallest, counted from 1; none if all are
    /// alike.
    pub(crate) first: Option<u64>,
}

impl Exact {
    /// Compares what requests took on both clocks, in the order of the workload.
    pub(super) fn new(simulated: &[Duration], served: &[Duration]) -> Self {
        let pairs = || simulated.iter().zip(served);
        let difference = |(simulated, served): (&Duration, &Duration)| {
            served.as_nanos() as i64 - simulated.as_nanos() as i64
        };
        let smallest = pairs().map(difference).min().unwrap_or(0);
        let alike = pairs().filter(|&pair| difference(pair) == smallest).count();
        let first = pairs().position(|pair| difference(pair) != smallest);
        Self {
            requests: simulated.len().max(served.len()) as u64,
            alike: alike as u64,
            smallest_nanoseconds: smallest,
            largest_nanoseconds: pairs().map(difference).max().unwrap_or(0),
            first: first.map(|index| index as u64 + 1),
        }
    }

    /// What is claimed of the run called `name`.
    pub(super) fn claim(&self, id: String, lateness_nanoseconds: u64) -> Claim {
        let Self { requests, alike, smallest_nanoseconds, largest_nanoseconds, first } = *self;
        Claim {
            id,
            kind: ClaimKind::Ours,
            figure: String::from("live"),
            statement: STATEMENT.to_owned(),
            limit: String::from("ours: the simulator is the measure"),
            ours: format!(
                "{alike} of {requests} requests alike; differences {smallest_nanoseconds} to {largest_nanoseconds} ns"
            ),
            note: first.map_or_else(String::new, |first| {
                format!("the first that differs is request {first}")
            }),
            holds: requests > 0 && alike == requests && lateness_nanoseconds == 0,
            ..Claim::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_counted_and_a_missing_answer_is_one() {
        let simulated = [100, 200, 300].map(Duration::from_nanos);
        let alike = Exact::new(&simulated, &[105, 205, 305].map(Duration::from_nanos));
        assert_eq!((alike.alike, alike.smallest_nanoseconds, alike.first), (3, 5, None));
        assert!(alike.claim(String::new(), 0).holds && !alike.claim(String::new(), 1).holds);
        let one = Exact::new(&simulated, &[105, 205, 306].map(Duration::from_nanos));
        assert_eq!((one.alike, one.largest_nanoseconds, one.first), (2, 6, Some(3)));
        let missing = Exact::new(&simulated, &[105, 205].map(Duration::from_nanos));
        assert!(!one.claim(String::new(), 0).holds && !missing.claim(String::new(), 0).holds);
    }
}
