//! From the life of a request to the document that is shown.

use array::{Ended, Outcome, RequestKind};
use nvme::{Cause, Delays};
use report::schema::Document;
use report::story::{Activity, Lane, Part, Sentence, Span, Story};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use study::Failure;
use study::describe;
use study::setup::Setup;
use study::table;
use units::{Bytes, Duration, Instant};

/// The document of a story.
pub(super) fn of(story: &sim::Story, setup: &Setup) -> Result<Story, Failure> {
    let since = |at: Instant| {
        let nanos = at.as_nanos() as f64 - story.arrived.as_nanos() as f64;
        nanos / 1e3
    };
    let verb = match story.kind {
        RequestKind::Read => "read",
        RequestKind::Write => "write",
        RequestKind::Deallocate => "deallocation",
    };
    let failed = if story.ended == Ended::Failed { ", which failed" } else { "" };
    let plan = setup.plan();
    let fact = |name: &str, value: String| (name.to_owned(), value);
    let lane = |lane: &sim::Lane| Lane {
        name: match lane.place {
            sim::StoryPlace::Host => "host".to_owned(),
            sim::StoryPlace::Drive(drive) => format!("drive {}", drive.0),
            sim::StoryPlace::Die(_, die) => format!("die {die}"),
        },
        nested: matches!(lane.place, sim::StoryPlace::Die(..)),
        spans: lane
            .spans
            .iter()
            .map(|span| Span {
                from_us: since(span.from),
                until_us: since(span.until),
                activity: activity(span.activity),
                label: span.label.clone(),
            })
            .collect(),
    };
    Ok(Story {
        title: format!(
            "request {} under {}: a {verb} of {}{failed}",
            story.number,
            story.policy.label(),
            Bytes(story.size_bytes)
        ),
        policy: story.policy.name().to_owned(),
        label: story.policy.label().to_owned(),
        facts: vec![
            fact("workload", setup.source.open(plan.capacity_bytes()?)?.description().to_owned()),
            fact("array", describe::array(&setup.plans)?),
            fact("drive", describe::drive(plan)),
            fact("seed", plan.seed.to_string()),
            fact("arrives", format!("{} after the start of the run", time(story.arrived))),
        ],
        latency_us: since(story.completed),
        chain: story
            .path
            .iter()
            .map(|segment| Part {
                name: segment.words(),
                us: micros(segment.until.since(segment.from)),
            })
            .collect(),
        causes: causes(&story.delays)
            // Of others than reads the run does not count all.
            .filter(|_| story.kind == RequestKind::Read)
            .map(|(cause, length)| Part { name: cause.label().to_owned(), us: micros(length) })
            .collect(),
        lanes: story.lanes.iter().map(lane).collect(),
        dies_left_out: story.dies_left_out,
        sentences: story
            .sentences
            .iter()
            .map(|told| Sentence { at_us: since(told.at), text: told.text.clone() })
            .collect(),
    })
}

fn micros(length: Duration) -> f64 {
    length.as_nanos() as f64 / 1e3
}

fn time(at: Instant) -> String {
    format!("{:.6} s", at.as_nanos() as f64 / 1e9)
}

/// The parts that are not zero.
fn causes(delays: &Delays) -> impl Iterator<Item = (Cause, Duration)> + '_ {
    let all = Cause::ALL.into_iter().map(|cause| (cause, delays.get(cause)));
    all.filter(|(_, length)| !length.is_zero())
}

/// A table of slow requests.
pub(super) fn slowest(outcomes: &[Outcome], writes: bool, setup: &Setup) -> String {
    let row = |outcome: &Outcome| {
        let latency = outcome.completed.since(outcome.arrived);
        let mut causes: Vec<_> = causes(&outcome.delays).collect();
        causes.sort_by_key(|&(_, length)| std::cmp::Reverse(length));
        let causes = causes.iter().take(2).map(|&(cause, length)| {
            format!("{} {}", cause.label(), report::story::time(micros(length)))
        });
        let mut row = vec![
            outcome.request.0.to_string(),
            time(outcome.arrived),
            report::story::time(micros(latency)),
        ];
        if !writes {
            row.push(causes.collect::<Vec<_>>().join(", "));
        }
        row
    };
    let rows: Vec<Vec<String>> = outcomes.iter().map(row).collect();
    let header: &[&str] = match writes {
        true => &["request", "arrives", "takes"],
        false => &["request", "arrives", "takes", "most of it"],
    };
    let kind = if writes { "writes" } else { "reads" };
    format!(
        "The slowest {kind} under {}; `--request N` tells the life of one.\n{}",
        setup.plan().policy.label(),
        table::numbers_between(&table::header(header), &rows, 0, usize::from(!writes))
    )
}

/// The slowest requests of a run, as `ioda explain --worst N --json` writes them.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Slowest {
    /// Name of the policy as people type it, such as `ioda`.
    policy: String,
    /// Name of the policy in figures, such as `IODA`.
    label: String,
    /// The requests, the slowest first.
    requests: Vec<SlowRequest>,
}

impl Document for Slowest {
    const SCHEMA: &'static str = "ioda.slowest/1";
}

/// A slow request.
#[derive(Serialize, JsonSchema)]
struct SlowRequest {
    /// Its number, counted from 1; `--request N` tells its life.
    request: u64,
    /// When it came, in microseconds from the start of the run.
    arrived_us: f64,
    /// How long it took, in microseconds.
    latency_us: f64,
    /// The parts of the latency that are not zero, in microseconds by cause.
    causes_us: BTreeMap<String, f64>,
}

/// The same as a document.
pub(super) fn slowest_document(outcomes: &[Outcome], setup: &Setup) -> Slowest {
    let policy = setup.plan().policy;
    let request = |outcome: &Outcome| SlowRequest {
        request: outcome.request.0,
        arrived_us: outcome.arrived.as_nanos() as f64 / 1e3,
        latency_us: micros(outcome.completed.since(outcome.arrived)),
        causes_us: causes(&outcome.delays)
            .map(|(cause, length)| (cause.label().to_owned(), micros(length)))
            .collect(),
    };
    Slowest {
        policy: policy.name().to_owned(),
        label: policy.label().to_owned(),
        requests: outcomes.iter().map(request).collect(),
    }
}

/// The same word of the document.
fn activity(activity: sim::Activity) -> Activity {
    use sim::Activity as A;
    match activity {
        A::OwnRead => Activity::OwnRead,
        A::OwnReconstructRead => Activity::OwnReconstructRead,
        A::OwnProgram => Activity::OwnProgram,
        A::OtherRead => Activity::OtherRead,
        A::OtherProgram => Activity::OtherProgram,
        A::Job => Activity::Job,
        A::Flush => Activity::Flush,
        A::CollectionCopy => Activity::CollectionCopy,
        A::CollectionErase => Activity::CollectionErase,
        A::Check => Activity::Check,
        A::Suspension => Activity::Suspension,
        A::InDrive => Activity::InDrive,
        A::Channel => Activity::Channel,
        A::FailFast => Activity::FailFast,
        A::Compute => Activity::Compute,
        A::LockWait => Activity::LockWait,
        A::LateAnswer => Activity::LateAnswer,
        A::HeldBack => Activity::HeldBack,
        A::AtHost => Activity::AtHost,
        A::WriteCache => Activity::WriteCache,
        A::Stalled => Activity::Stalled,
        A::Window => Activity::Window,
        A::Other => Activity::Other,
    }
}
