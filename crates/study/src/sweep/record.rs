//! What is kept of a run of a sweep: every standard metric, so that others can be shown later.

use crate::describe::{self, convert};
use crate::jobs::{self, Ended, Kept};
use crate::metric::{FEWEST_SAMPLES, Metric, Unit};
use report::sweep::{Measured, Outcome, SCHEMA};
use serde::{Deserialize, Serialize};
use sim::{Plan, RunResult};
use workload::Source;

/// Nanoseconds in a microsecond, the unit of the document.
const NANOS_PER_MICRO: f64 = 1e3;

/// What came of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// What the run is, for a reader of the file.
    title: String,
    /// What came of it.
    pub outcome: Outcome,
}

impl Kept for Record {
    const SCHEMA: u32 = SCHEMA;
    const OF: &'static str = "sweep";

    fn is_final(&self) -> bool {
        matches!(self.outcome, Outcome::Measured(_) | Outcome::Overloaded(_))
    }
}

/// What a run of a sweep is about.
#[derive(Clone, PartialEq, Debug)]
pub struct Subject {
    /// The point in words.
    pub point: String,
}

impl jobs::Subject for Subject {
    type Record = Record;
    const COMMAND: &'static str = "sweep";
    // More than ever wait for windows, and few enough that a point beyond what the drives can bear
    // ends.
    const MOST_WAITING: usize = 250_000;

    fn title(&self, plan: &Plan) -> String {
        format!("{} under {}, seed {}", self.point, plan.policy.label(), plan.seed)
    }

    fn record(&self, job: &jobs::Job<Self>, ended: &Ended) -> Record {
        let outcome = match ended {
            Ended::Measured(result) => Outcome::Measured(measured(result)),
            Ended::Overloaded(why) => Outcome::Overloaded(why.clone()),
            Ended::Failed(failure) => Outcome::Failed(failure.to_string()),
        };
        Record { title: title(job), outcome }
    }
}

/// A run in words that do not depend on what else is asked: different questions may share it.
fn title(job: &jobs::Job<Subject>) -> String {
    let plan = &job.plan;
    let workload = match &job.source {
        Source::Preset(source) => {
            format!("{}, {} times as fast", source.preset.name, source.rate)
        }
        Source::Synthetic(_) => "synthetic".to_owned(),
        // Where its file lies is of the machine.
        Source::Trace(_) => "a trace".to_owned(),
    };
    // An array without a capacity was not run, and the outcome says why.
    let array = describe::array(std::slice::from_ref(plan)).unwrap_or_default();
    format!("{workload}, under {}, seed {}, on {array}", plan.policy.label(), plan.seed)
}

/// Every standard metric of a run.
fn measured(result: &RunResult) -> Measured {
    let mut measured =
        Measured { result_hash: convert::result_hash(result), ..Measured::default() };
    for metric in Metric::standard() {
        if metric.is_of_nothing(result) {
            continue;
        }
        let scale = match metric.unit() {
            Unit::Time => NANOS_PER_MICRO,
            Unit::Percent | Unit::Number => 1.0,
        };
        let value = metric.of(result) / scale;
        let interval = metric.interval(result).map(|(low, high)| (low / scale, high / scale));
        if let Some(interval) = interval {
            measured.intervals.insert(metric.to_string(), interval);
        }
        measured.metrics.insert(metric.to_string(), value);
        if metric.samples_beyond(result).is_some_and(|samples| samples < FEWEST_SAMPLES) {
            measured.few_samples.insert(metric.to_string());
        }
    }
    measured
}
