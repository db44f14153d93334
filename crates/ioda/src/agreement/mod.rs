//! Comparison of the simulator with the real clock: the same plan simulated, and served on the real
//! clock and loaded over NBD.
//!
//! The simulated array and the served one are the same state machines on the same prepared drives
//! with the same requests. What differs is real: a thread that may wake up late, bytes that are
//! moved, a socket, a client. Where time is virtual none of that takes any, and both are compared
//! request by request.

mod compare;
mod exact;
mod serve;
mod show;

pub(crate) use compare::{Compared, Pair, claims};
pub(crate) use show::tables;

use crate::progress;
use crate::serving;
use crate::talk::Talk;
use array::policy::PolicyKind;
use exact::Gathered;
use live::clock::Spin;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serve::Served;
use sim::{Listeners, Plan, Progress, RunResult};
use std::ops::ControlFlow;
use study::Failure;
use study::settings::{self, Settings, WorkloadSettings};
use study::setup::Setup;
use study::values::quantity::{PolicyName, Text};
use study::values::words::Wait;
use units::Duration;
use workload::{Source, WorkloadError};

/// How it is asked for.
pub(crate) const NAME: &str = "live";

/// Requests of each workload, and blocks in each plane, for a smoke.
const QUICK_REQUESTS: u64 = 1_000;
const QUICK_BLOCKS: u32 = 48;

/// What is compared.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Cases {
    /// The array, the drives, and the policies under which each workload runs.
    setup: Settings,
    /// Policies that run besides where servers block, which is for virtual time: there single
    /// requests are compared, which more policies make harder, while percentiles of a real clock
    /// have enough of two.
    blocking_policy: Vec<Text<PolicyName>>,
    workloads: Vec<Case>,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Case {
    /// How it is called in tables and claims.
    label: String,
    settings: WorkloadSettings,
}

/// One workload, simulated and served under every policy.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Workload {
    /// How it is called in tables and claims.
    pub(crate) name: String,
    /// What it is, in one line.
    pub(crate) description: String,
    /// Requests per second of simulated time.
    pub(crate) requests_per_second: f64,
    /// Busy windows of all drives in turn take so long; none if no policy has windows.
    pub(crate) cycle_nanoseconds: Option<u64>,
    /// One for each policy.
    pub(crate) runs: Vec<Pair>,
}

/// The workloads and policies as they are built in.
fn cases() -> Result<Cases, Failure> {
    settings::parse(include_str!("live.toml"), "live.toml")
}

/// What a list of experiments says of this one.
pub(crate) fn listed() -> Result<String, Failure> {
    let cases = cases()?;
    let labels: Vec<&str> = cases.workloads.iter().map(|case| case.label.as_str()).collect();
    Ok(format!(
        "{NAME}: the simulator against the array on the real clock; only if it is named\n  \
         workloads: {}\n  each: {}\n  order: {}\n",
        labels.join(", "),
        compare::STATEMENT,
        compare::ORDER
    ))
}

/// Simulates and serves every workload with `requests` requests, or as many as it has. The array is
/// served by the calling thread.
///
/// # Errors
///
/// If a run fails, on either clock.
pub(crate) fn run(
    requests: Option<u64>,
    seed: Option<Text<u64>>,
    quick: bool,
    threads: Option<usize>,
    wait: Option<Text<Wait>>,
    talk: Talk,
) -> Result<Vec<Workload>, Failure> {
    let Cases { mut setup, blocking_policy, workloads } = cases()?;
    if wait.as_ref().is_some_and(|wait| wait.value.0 == Spin::Never) {
        setup.run.policy.extend(blocking_policy);
    }
    let requests = requests.or(quick.then_some(QUICK_REQUESTS));
    let run_case = |case: Case| {
        let mut settings = Settings { workload: case.settings, ..setup.clone() };
        let workload = &mut settings.workload;
        if let Some(requests) = requests {
            let is_synthetic = workload.number_ios.is_some();
            let count =
                if is_synthetic { &mut workload.number_ios } else { &mut workload.requests };
            *count = Some(requests);
        }
        if quick {
            // The footprint must fit smaller drives.
            workload.size = None;
            settings.drive.blocks_per_plane = Some(QUICK_BLOCKS);
        }
        settings.run.threads = threads;
        settings.serve.wait = wait.clone();
        settings.run.seed = seed.clone().or(settings.run.seed);
        compare_clocks(&settings, case.label, talk)
    };
    workloads.into_iter().map(run_case).collect()
}

/// `settings` with one policy only.
fn under(settings: &Settings, policy: PolicyKind) -> Settings {
    let mut settings = settings.clone();
    settings.run.policy.retain(|text| text.value.0 == policy);
    settings
}

/// Runs one workload on both clocks.
fn compare_clocks(settings: &Settings, name: String, talk: Talk) -> Result<Workload, Failure> {
    // The plans are those that are served, so that nothing can differ.
    let Setup { source, threads, requests, plans, .. } = Setup::new(settings, &[], &talk)?;
    let policies: Vec<PolicyKind> = plans.iter().map(|plan| plan.policy).collect();
    let mut plans = Vec::new();
    for &policy in &policies {
        plans.push(serving::build(&under(settings, policy), None)?.plan);
    }
    let first = plans.first().ok_or_else(|| Failure::internal("there is no policy to compare"))?;
    let capacity_bytes = first.capacity_bytes()?;
    let seed = first.seed;
    let cycle = plans.iter().find_map(|plan| Some(plan.window()? * u64::from(plan.width)));
    let description = source.open(capacity_bytes)?.description().to_owned();
    let (simulated, each) = simulate(&plans, &source, threads, requests, &name, talk)?;
    let mut runs = Vec::new();
    for ((policy, result), each) in policies.iter().zip(&simulated).zip(&each) {
        let title = format!("{name} live under {}", policy.label());
        let workload = source.open(capacity_bytes)?;
        let served: Served =
            serve::serve(&under(settings, *policy), workload, seed, requests, &title, talk)?;
        runs.push(Pair::new(*policy, result, each, &served));
    }
    let requests_per_second = simulated.first().map_or(0.0, |result| {
        result.requests as f64 / result.simulated.as_secs_f64().max(f64::MIN_POSITIVE)
    });
    let cycle_nanoseconds = cycle.map(Duration::as_nanos);
    Ok(Workload { name, description, requests_per_second, cycle_nanoseconds, runs })
}

/// The results of all plans, and what each of their requests took.
fn simulate(
    plans: &[Plan],
    source: &Source,
    threads: usize,
    requests: Option<u64>,
    name: &str,
    talk: Talk,
) -> Result<(Vec<RunResult>, Vec<Vec<Duration>>), Failure> {
    let capacity_bytes = plans.first().map_or(Ok(0), Plan::capacity_bytes)?;
    let open = || -> Result<_, WorkloadError> {
        let workload = source.open(capacity_bytes)?;
        Ok((workload.arrival(), workload))
    };
    let progress = Progress::new(plans.len());
    let each = Gathered::new(plans.len());
    let gather = |run, columns| {
        each.take(run, &columns);
        ControlFlow::Continue(())
    };
    let listeners = Listeners { requests: Some(&gather), ..Listeners::default() };
    let work = || sim::run_all_watched(plans, threads, open, &[], &progress, listeners);
    let title = format!("{name} simulated:");
    let results = progress::during(talk.progress, &title, plans, requests, &progress, work)?;
    Ok((results, each.finish()))
}
