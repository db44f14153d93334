//! How heavy and how long a workload is, before it is run.

use crate::exit::Failure;
use crate::metric::three_digits;
use array::policy::PolicyKind;
use sim::{Plan, TimelineConfig};
use units::{Duration, Instant};
use workload::{Request, Source, Statistics};

/// Requests from which the load is taken.
const SAMPLE: usize = 200_000;
/// The share of what windows can sustain that the automatic rate aims at.
const AIM: f64 = 0.9;
/// A day of drive writes per day (IODA Table 2).
const WRITING_DAY: Duration = Duration::from_secs(8 * 3600);
/// Windows in the recorded slice, and its limits.
const SLICE_WINDOWS: u64 = 20;
const SLICE_LEAST: Duration = Duration::from_millis(200);
const SLICE_MOST: Duration = Duration::from_secs(2);

/// How heavy and how long a workload is at its own rate.
pub(crate) struct Measured {
    /// Bytes per second written to each drive, and what windows allow; none where one of them
    /// says nothing.
    load: Option<Load>,
    /// Requests, if known.
    pub(crate) requests: Option<u64>,
    /// Simulated time, if known.
    duration: Option<Duration>,
    /// The load per drive that is known of the original run, and how it is known.
    known: Option<Known>,
}

struct Known {
    bytes_per_second: f64,
    source: String,
}

struct Load {
    drive: f64,
    sustainable: f64,
}

/// Measures `source` on the array of `plan`. A trace is read for it.
pub(crate) fn measure(plan: &Plan, source: &Source, capacity: u64) -> Result<Measured, Failure> {
    let mut workload = source.open(capacity)?;
    let (requests, duration) = length(source, workload.statistics());
    let mut load = None;
    if plan.level.parities() > 0 {
        let windowed = Plan { policy: PolicyKind::Ioda, ..plan.clone() };
        let sustainable = windowed.sustainable_bytes_per_second();
        let sample: Vec<Request> = workload.by_ref().take(SAMPLE).collect::<Result<_, _>>()?;
        let drive = windowed.drive_load_bytes_per_second(sample.into_iter())?;
        load = (drive > 0.0).then_some(Load { drive, sustainable });
    }
    Ok(Measured { load, requests, duration, known: known(plan, source) })
}

impl Measured {
    /// The rate of the original run where its load is known, and no more than keeps the contract;
    /// at most 1, with a note about it.
    pub(crate) fn automatic_rate(&self, notes: &mut Vec<String>) -> f64 {
        let Some(Load { drive, sustainable }) = self.load else { return 1.0 };
        if sustainable <= 0.0 {
            // A window in which no collection fits bears no rate at all.
            self.warn(1.0, notes);
            return 1.0;
        }
        let windows = AIM * sustainable;
        let (aim, why) = match &self.known {
            Some(known) if known.bytes_per_second < windows => {
                let load = bandwidth(known.bytes_per_second);
                (known.bytes_per_second, format!("{} wrote {load} to each drive", known.source))
            }
            _ => {
                let reclaim = bandwidth(sustainable);
                (windows, format!("the drives can reclaim {reclaim} in their busy windows"))
            }
        };
        let rate = two_digits_down((aim / drive).min(1.0));
        if rate < 1.0 {
            notes.push(format!(
                "re-rated to {rate} × the intensity of its table: that would write {} to each \
                 drive, but {why}; --rerate 1 keeps the table's",
                bandwidth(drive)
            ));
        }
        rate
    }

    /// A note if the workload, so many times as fast, is more than the contract can bear.
    pub(crate) fn warn(&self, rate: f64, notes: &mut Vec<String>) {
        let Some(Load { drive, sustainable }) = self.load else { return };
        if drive * rate > sustainable {
            notes.push(format!(
                "the load is more than busy windows can bear: it writes {} to each drive, and \
                 the drives can reclaim {} in their windows, so expect contract violations",
                bandwidth(drive * rate),
                bandwidth(sustainable)
            ));
        }
    }

    /// How long the workload is, so many times as fast.
    pub(crate) fn duration(&self, rate: f64) -> Option<Duration> {
        let scale =
            |duration: Duration| Duration::from_nanos((duration.as_nanos() as f64 / rate) as u64);
        self.duration.map(scale)
    }
}

/// What is known of the load of the original run.
fn known(plan: &Plan, source: &Source) -> Option<Known> {
    let Source::Preset { preset, .. } = source else { return None };
    let per_day = preset.drive_writes_per_day?;
    let day = WRITING_DAY.as_secs_f64();
    Some(Known {
        bytes_per_second: f64::from(per_day) * plan.drive.logical_bytes() as f64 / day,
        source: format!("the article's run, at {per_day} drive writes per day,"),
    })
}

/// Requests and length of `source`, as far as they are known.
fn length(source: &Source, statistics: Option<&Statistics>) -> (Option<u64>, Option<Duration>) {
    let nanos = |nanos: f64| Some(Duration::from_nanos(nanos as u64));
    match (source, statistics) {
        (Source::Preset { preset, requests, rate, .. }, _) => {
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
pub(crate) fn slice(plan: &Plan, duration: Option<Duration>) -> TimelineConfig {
    let windowed = Plan { policy: PolicyKind::Ioda, ..plan.clone() };
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

fn bandwidth(bytes_per_second: f64) -> String {
    format!("{} MB/s", three_digits(bytes_per_second / 1e6))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_rounded_down_to_two_digits() {
        for (value, rounded) in [(0.1999, 0.19), (0.29, 0.29), (0.0456, 0.045), (1.0, 1.0)] {
            assert_eq!(two_digits_down(value), rounded);
        }
    }
}
