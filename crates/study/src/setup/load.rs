//! How heavy and how long a workload is, before it is run.

use crate::failure::Failure;
use crate::values::rate::{DriveLoad, bandwidth};
use array::policy::PolicyKind;
use sim::{Plan, TimelineConfig};
use units::{Duration, Instant};
use workload::{PresetSource, RateProcess, Request, Source, Statistics, Synthetic};

/// Requests from which the load is taken.
const SAMPLE: usize = 200_000;
/// The share of what windows can restore that the automatic rate aims at.
const AIM: f64 = 0.9;
/// Windows in the recorded slice, and its limits.
const SLICE_WINDOWS: u64 = 20;
const SLICE_LEAST: Duration = Duration::from_millis(200);
const SLICE_MOST: Duration = Duration::from_secs(2);

/// How heavy and how long a workload is at its own rate.
pub(super) struct Measured {
    /// What is written to each drive; none if nothing is, or if the array sets the pace.
    load: Option<Load>,
    /// Requests, if known.
    pub requests: Option<u64>,
    /// Simulated time, if known.
    duration: Option<Duration>,
    /// Bytes that a request writes to each drive, on average.
    bytes_per_request: f64,
    /// The load per drive that is known of the original run, and how it is known.
    known: Option<Known>,
}

struct Known {
    bytes_per_second: f64,
    source: String,
}

/// What can be written to each drive in bytes per second.
#[derive(Clone, Copy)]
struct Windows {
    /// While windows restore free space.
    restored: f64,
    /// For ever.
    sustainable: f64,
}

struct Load {
    /// Bytes per second written to each drive, in the heaviest phase if there are phases.
    drive: f64,
    /// What windows can bear, if the array can have any.
    windows: Option<Windows>,
    /// From how many requests it is known.
    requests: usize,
}

/// Bytes that a request of `synthetic` writes to each drive of `plan`, on average.
pub(super) fn bytes_per_request(
    plan: &Plan,
    synthetic: &Synthetic,
    capacity: u64,
) -> Result<f64, Failure> {
    let even = Synthetic {
        iodepth: 1.into(),
        rate_iops: Some(1e6),
        rate_process: RateProcess::Linear,
        phases: Vec::new(),
        number_ios: Some(SAMPLE as u64),
        runtime: None,
        ..synthetic.clone()
    };
    let sample: Vec<Request> = Source::from(even).open(capacity)?.collect::<Result<_, _>>()?;
    let requests = (sample.len() as f64).max(1.0);
    Ok(plan.drive_bytes(sample.into_iter())? / requests)
}

/// Measures `source` on the array of `plan`. A trace is read for it.
pub(super) fn measure(plan: &Plan, source: &Source, capacity: u64) -> Result<Measured, Failure> {
    let mut workload = source.open(capacity)?;
    let (requests, duration) = length(source, workload.statistics());
    let windowed = Plan { policy: PolicyKind::IODA, ..plan.clone() };
    let windows = plan.level.is_redundant().then(|| Windows {
        restored: windowed.restored_bytes_per_second(),
        sustainable: windowed.sustainable_bytes_per_second(),
    });
    let sample: Vec<Request> = workload.by_ref().take(SAMPLE).collect::<Result<_, _>>()?;
    let sampled = sample.len();
    let length = sample.last().map_or(0.0, |last| last.at.since(Instant::ZERO).as_secs_f64());
    let sampled_bytes = plan.drive_bytes(sample.into_iter())?;
    let drive = match source {
        Source::Synthetic(synthetic) if !synthetic.phases.is_empty() => {
            let rates = synthetic.phases.iter().map(|phase| phase.rate_iops);
            bytes_per_request(plan, synthetic, capacity)? * rates.fold(0.0, f64::max)
        }
        _ if length > 0.0 => sampled_bytes / length,
        _ => 0.0,
    };
    let load = (drive > 0.0).then_some(Load { drive, windows, requests: sampled });
    let known = known(plan, source, drive);
    let bytes_per_request = sampled_bytes / (sampled as f64).max(1.0);
    Ok(Measured { load, requests, duration, bytes_per_request, known })
}

impl Measured {
    /// Whether the workload writes, as far as was seen.
    pub(super) fn writes(&self) -> bool {
        self.bytes_per_request > 0.0
    }

    /// How often the whole workload writes the logical bytes of each drive of `plan`, as far as
    /// that is known.
    pub(super) fn drive_writes(&self, plan: &Plan) -> f64 {
        let bytes = self.bytes_per_request * self.requests.unwrap_or(0) as f64;
        bytes / plan.drive.logical_bytes() as f64
    }

    /// The rate of the original run where its load is known, and no more than keeps the contract;
    /// at most 1, with a note about it.
    pub(super) fn automatic_rate(&self, notes: &mut Vec<String>) -> f64 {
        let Some(Load { drive, windows: Some(Windows { restored, .. }), .. }) = self.load else {
            return 1.0;
        };
        let windows = AIM * restored;
        let (aim, why) = match &self.known {
            // A window in which no collection fits bears no rate at all.
            Some(known) if known.bytes_per_second < windows || restored <= 0.0 => {
                let load = bandwidth(known.bytes_per_second);
                (
                    known.bytes_per_second,
                    format!("{}, which is {load} to each of these", known.source),
                )
            }
            _ if restored <= 0.0 => {
                self.warn(1.0, notes);
                return 1.0;
            }
            _ => {
                let reclaim = bandwidth(restored);
                (windows, format!("the drives can reclaim {reclaim} in their busy windows"))
            }
        };
        let rate = two_digits_down((aim / drive).min(1.0));
        self.warn(rate, notes);
        if rate < 1.0 {
            notes.push(format!(
                "re-rated to {rate} × the intensity of its table: that would write {} to each \
                 drive, but {why}; --rerate 1 keeps the table's",
                bandwidth(drive)
            ));
        }
        rate
    }

    /// The rate at which `load` is written to each drive of `plan`, with a note about it.
    pub(super) fn rate_to(
        &self,
        load: DriveLoad,
        plan: &Plan,
        notes: &mut Vec<String>,
    ) -> Result<f64, Failure> {
        let Some(Load { drive, requests, .. }) = self.load else {
            return Err(Failure::usage(format!(
                "--rerate is {load}, which is about writes, but the workload writes nothing in \
                 its first {SAMPLE} requests, or they take no time; give a factor instead"
            )));
        };
        let wanted = load.bytes_per_second(&plan.drive);
        let rate = six_digits(wanted / drive);
        let known = match self.requests {
            Some(all) if all <= requests as u64 => "it".to_owned(),
            _ => format!("its first {requests} requests"),
        };
        notes.push(format!(
            "re-rated to {rate} × its own intensity for {load}: {known} would write {} to each \
             drive, and now {}",
            bandwidth(drive),
            bandwidth(wanted)
        ));
        Ok(rate)
    }

    /// A note if the workload, so many times as fast, is more than the contract can bear.
    pub(super) fn warn(&self, rate: f64, notes: &mut Vec<String>) {
        let Some(Load { drive, windows: Some(Windows { sustainable, .. }), .. }) = self.load else {
            return;
        };
        if drive * rate > sustainable {
            notes.push(format!(
                "the load is more than busy windows can bear: it writes {} to each drive, and \
                 the drives can reclaim {} in their windows, so expect contract violations",
                bandwidth(drive * rate),
                bandwidth(sustainable)
            ));
        }
    }

    /// The length of the workload at `rate` times its own speed.
    pub(super) fn duration(&self, rate: f64) -> Option<Duration> {
        let scale =
            |duration: Duration| Duration::from_nanos((duration.as_nanos() as f64 / rate) as u64);
        self.duration.map(scale)
    }
}

/// What is known of the load of the original run. Requests of `source` write `drive` bytes per second
/// to each drive of `plan`.
fn known(plan: &Plan, source: &Source, drive: f64) -> Option<Known> {
    let Source::Preset(PresetSource { preset, rate, .. }) = source else { return None };
    let by_day = preset.drive_writes_per_day.map(|per_day| Known {
        bytes_per_second: plan.drive.bytes_per_second(f64::from(per_day)),
        source: format!("the paper's run made {per_day} drive writes per day (§6.3.6)"),
    });
    let by_interval = preset.ran_at_interval.map(|interval| Known {
        bytes_per_second: drive / rate * preset.mean_interval.as_secs_f64()
            / interval.as_secs_f64(),
        source: format!("the paper's run had a request every {interval} (Table 3)"),
    });
    by_day.or(by_interval)
}

/// Requests and length of `source`, as far as they are known.
fn length(source: &Source, statistics: Option<&Statistics>) -> (Option<u64>, Option<Duration>) {
    let nanos = |nanos: f64| Some(Duration::from_nanos(nanos as u64));
    match (source, statistics) {
        (Source::Preset(PresetSource { preset, requests, rate, .. }), _) => {
            let requests = requests.unwrap_or(preset.requests);
            let interval = preset.mean_interval.as_nanos() as f64 / rate;
            (Some(requests), nanos(interval * requests as f64))
        }
        (Source::Synthetic(synthetic), _) => {
            (synthetic.expected_requests(), synthetic.expected_length())
        }
        (Source::Trace(trace), Some(statistics)) => {
            let transform = &trace.transform;
            let cut = &transform.cut;
            let whole = statistics.span();
            let end = cut.to.map_or(whole, |to| to.min(whole));
            let span = end.saturating_sub(cut.from);
            // Requests are taken to come evenly; this is for progress and plots only.
            let share = span.as_secs_f64() / whole.as_secs_f64().max(1e-9);
            let in_span = (statistics.requests as f64 * share.min(1.0)) as u64;
            let in_span = in_span.max(1).saturating_sub(cut.skip);
            let taken = cut.take.map_or(in_span, |take| take.min(in_span));
            let kept = taken as f64 / in_span.max(1) as f64;
            let played = span.as_nanos() as f64 * kept * transform.repeat as f64;
            (Some(taken.saturating_mul(transform.repeat)), nanos(played / transform.speed))
        }
        (Source::Trace(_), None) => (None, None),
    }
}

/// The slice of a run to record read by read: about twenty windows, a quarter into it.
pub(super) fn slice(plan: &Plan, duration: Option<Duration>) -> TimelineConfig {
    let windowed = Plan { policy: PolicyKind::IODA, ..plan.clone() };
    let window = windowed.window().unwrap_or(SLICE_LEAST);
    let length = (window * SLICE_WINDOWS).clamp(SLICE_LEAST, SLICE_MOST);
    let start = duration.map_or(Duration::ZERO, |duration| duration / 4);
    TimelineConfig { start: Instant::ZERO + start, length }
}

/// `value`, rounded down to two significant digits.
fn two_digits_down(value: f64) -> f64 {
    if value >= 1.0 || value <= 0.0 {
        return value;
    }
    let places = 1 - value.log10().floor() as i32;
    let scale = 10_f64.powi(places);
    // The nearest number to 0.29 × 100 is below 29.
    (value * scale + 1e-9).floor() / scale
}

/// `value`, rounded to six significant digits: exact enough, and short enough to be read.
pub(super) fn six_digits(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_rounded() {
        assert_eq!(six_digits(1234.56789), 1234.57);
        assert_eq!(six_digits(0.000_123_456_7), 0.000_123_457);
        for (value, rounded) in [(0.1999, 0.19), (0.29, 0.29), (0.0456, 0.045), (1.0, 1.0)] {
            assert_eq!(two_digits_down(value), rounded);
        }
    }
}
