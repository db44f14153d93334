//! Cost of a request to the array while many others wait.

use crate::plan::{Plan, PlanError};
use array::{Request, RequestId, RequestKind};
use engine::{Drive, Engine, NoData, Output};
use nvme::{CommandId, Completion, Delays, Status};
use std::collections::VecDeque;
use std::time::Instant as WallClock;
use units::{Duration, Instant, Rng};

/// Time in which every drive answers every command.
const ANSWER: Duration = Duration::from_micros(100);

/// Measures the nanoseconds of one core for a write of one page, while about `waiting` writes are
/// under way. Writes come `waiting` at a time, each time when all are done, up to `requests` in
/// all. They go to random pages of the first `stripes` stripes, or of all stripes. Drives answer
/// after 100 µs.
///
/// # Errors
///
/// If the plan is impossible.
pub fn bench_waiting(
    plan: &Plan,
    waiting: u64,
    stripes: Option<u64>,
    requests: u64,
) -> Result<f64, PlanError> {
    let config = plan.array_config()?;
    let page_bytes = u64::from(plan.drive.geometry.page_bytes);
    let chunk_pages = plan.chunk_bytes / page_bytes;
    let stripe_pages = u64::from(plan.stripe_width() - plan.parities()) * chunk_pages;
    let drives = (0..plan.width).map(|_| Drive::Remote).collect();
    let mut engine = Engine::new(config, drives, NoData);
    let all = engine.array().capacity_bytes() / page_bytes;
    let pages = stripes.map_or(all, |stripes| all.min(stripes * stripe_pages));
    let mut rng = Rng::stream(plan.seed, "bench");
    // Commands and their answers, the next one first.
    let mut answers: VecDeque<(Instant, CommandId)> = VecDeque::new();
    let mut now = Instant::ZERO;
    let mut sent = 0;
    let started = WallClock::now();
    while sent < requests {
        for _ in 0..waiting {
            let offset_bytes = rng.below(pages) * page_bytes;
            let (id, kind) = (RequestId(sent), RequestKind::Write);
            let request = Request { id, host: 0, kind, offset_bytes, size_bytes: page_bytes };
            engine.handle_request(now, &request);
            collect(&mut engine, now, &mut answers);
            sent += 1;
        }
        while engine.array().requests_in_flight() > 0 {
            let due = answers.front().map_or(Instant::NEVER, |&(due, _)| due);
            now = due.min(engine.next_deadline());
            match answers.front() {
                Some(&(due, id)) if due == now => {
                    answers.pop_front();
                    engine.handle_completion(done(id));
                }
                _ => engine.handle_deadline(now),
            }
            collect(&mut engine, now, &mut answers);
        }
    }
    Ok(started.elapsed().as_secs_f64() * 1e9 / sent as f64)
}

/// Takes the commands of the engine for its drives.
fn collect(
    engine: &mut Engine<NoData>,
    now: Instant,
    answers: &mut VecDeque<(Instant, CommandId)>,
) {
    while let Some(output) = engine.poll_output(now) {
        if let Output::Command { command, .. } = output {
            answers.push_back((now + ANSWER, command.id));
        }
    }
}

fn done(id: CommandId) -> Completion {
    Completion {
        id,
        status: Status::Success,
        busy_remaining: Duration::ZERO,
        met_collection: false,
        held_up: false,
        delays: Delays::ZERO,
    }
}
