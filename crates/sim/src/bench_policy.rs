//! Processor time per request of the array and its policy, without a drive model.

use crate::plan::{Plan, PlanError};
use array::policy::PolicyKind;
use array::{Request, RequestId, RequestKind};
use engine::{Drive, Engine, NoData, Output};
use nvme::{Blocked, Cause, CommandId, Completion, Delays, DriveStatus, Opcode, Status};
use std::collections::VecDeque;
use std::time::{Duration as WallTime, Instant as WallClock};
use units::{Duration, Instant, Rng};

/// Time between two requests: fast enough that about ten are under way at once, slow enough that
/// busy windows go round many times.
const INTERVAL: Duration = Duration::from_micros(10);
/// Time in which every drive answers every command.
const ANSWER: Duration = Duration::from_micros(100);
/// Status of drives that never collect.
const NEVER_FULL: DriveStatus =
    DriveStatus { headroom_pages: u64::MAX, due: false, must_collect: false, collecting: false };
/// Number of reads among ten requests.
const READS_OF_TEN: u64 = 7;

/// Processor time of one policy.
#[derive(Clone, Copy, Debug)]
pub struct PolicyTime {
    /// The policy.
    pub policy: PolicyKind,
    /// Nanoseconds of one core per request of the host: the best of all rounds.
    pub nanos_per_io: f64,
    /// Multiple of Base's time; `None` if Base was not measured.
    pub of_base: Option<f64>,
}

/// Measures the policies of `plans` in turns, `rounds` times each with `requests` requests. These
/// are single pages at random addresses, 70 % reads and 30 % writes. Drives answer every command
/// after 100 µs and fail none fast. The measurement covers the array, its policy and a small loop
/// that is the same for all. Reads are reconstructed only if a policy does so without a fast
/// failure.
///
/// # Errors
///
/// If a plan is impossible.
pub fn bench_policies(
    plans: &[Plan],
    requests: u64,
    rounds: u32,
) -> Result<Vec<PolicyTime>, PlanError> {
    let mut best = vec![WallTime::MAX; plans.len()];
    for _ in 0..rounds {
        for (best, plan) in best.iter_mut().zip(plans) {
            *best = (*best).min(bench(plan, requests)?);
        }
    }
    let nanos: Vec<f64> =
        best.iter().map(|time| time.as_secs_f64() * 1e9 / requests as f64).collect();
    let base = plans.iter().position(|plan| plan.policy == PolicyKind::BASE);
    let times = plans.iter().zip(&nanos).map(|(plan, &nanos_per_io)| PolicyTime {
        policy: plan.policy,
        nanos_per_io,
        of_base: base.map(|base| nanos_per_io / nanos[base]),
    });
    Ok(times.collect())
}

fn bench(plan: &Plan, requests: u64) -> Result<WallTime, PlanError> {
    let config = plan.array_config()?;
    let drives = (0..plan.width).map(|_| Drive::Remote).collect();
    let mut engine = Engine::new(config, drives, NoData);
    let page_bytes = u64::from(plan.drive.geometry.page_bytes);
    let pages = engine.array().capacity_bytes() / page_bytes;
    let mut rng = Rng::stream(plan.seed, "bench");
    // Commands and their answers, the next one first.
    let mut answers: VecDeque<(Instant, Completion)> = VecDeque::new();
    let mut sent = 0;
    let mut arrival = Instant::ZERO;
    let started = WallClock::now();
    while sent < requests || engine.array().requests_in_flight() > 0 {
        let due = answers.front().map_or(Instant::NEVER, |&(due, _)| due);
        let now = arrival.min(due).min(engine.next_deadline());
        if now == due
            && let Some((_, completion)) = answers.pop_front()
        {
            engine.handle_completion(completion);
        } else if now == arrival {
            let is_read = rng.below(10) < READS_OF_TEN;
            let kind = if is_read { RequestKind::Read } else { RequestKind::Write };
            let offset_bytes = rng.below(pages) * page_bytes;
            let id = RequestId(sent);
            let request = Request { id, host: 0, kind, offset_bytes, size_bytes: page_bytes };
            engine.handle_request(now, &request);
            sent += 1;
            arrival = if sent < requests { now + INTERVAL } else { Instant::NEVER };
        } else {
            engine.handle_deadline(now);
        }
        while let Some(output) = engine.poll_output(now) {
            match output {
                Output::Command { command, .. } => {
                    answers.push_back((now + ANSWER, answer(command.id, command.opcode)));
                }
                Output::AskStatus { drive } => engine.handle_status(now, drive, &NEVER_FULL),
                // No client waits for the data, and drives that never collect need no permit.
                _ => {}
            }
        }
    }
    Ok(started.elapsed())
}

fn answer(id: CommandId, opcode: Opcode) -> Completion {
    let mut delays = Delays::ZERO;
    if opcode == Opcode::Read {
        delays.add(Cause::NandRead, ANSWER);
    }
    let answer = Completion {
        id,
        status: Status::Success,
        busy_remaining: Duration::ZERO,
        met_collection: false,
        held_up: false,
        delays,
    };
    debug_assert_eq!(answer.blocked(), Blocked::No);
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Preparation;
    use crate::plan::small;

    fn plan(policy: PolicyKind) -> Plan {
        let reconstruct_compute = Duration::from_micros(3);
        Plan { reconstruct_compute, ..small(policy, Preparation::Fresh) }
    }

    #[test]
    fn every_policy_is_measured_against_base() {
        let plans: Vec<Plan> =
            PolicyKind::ALL.iter().map(|&policy| plan(PolicyKind::BASE).under(policy)).collect();
        let times = bench_policies(&plans, 2_000, 2).unwrap();
        assert_eq!(times.len(), plans.len());
        assert!(times.iter().all(|time| time.nanos_per_io > 0.0));
        assert_eq!(times[0].of_base, Some(1.0));
        let without = bench_policies(&plans[1..2], 100, 1).unwrap();
        assert_eq!(without[0].of_base, None);
    }
}
