//! How heavy and how long a workload is, before it is run.

use crate::exit::Failure;
use array::policy::PolicyKind;
use sim::{Plan, TimelineConfig};
use units::{Duration, Instant};
use workload::{Arrival, Request, Source};

/// Requests from which the load is taken.
const SAMPLE: usize = 200_000;
/// The share of what windows can sustain that the automatic rate aims at.
const AIM: f64 = 0.9;
/// Windows in the recorded slice, and its limits.
const SLICE_WINDOWS: u64 = 8;
const SLICE_LEAST: Duration = Duration::from_millis(200);
const SLICE_MOST: Duration = Duration::from_secs(2);

/// What a workload writes to each drive and what windows allow, in bytes per second.
struct Load {
    drive: f64,
    sustainable: f64,
}

/// The load of `source`, if drives with windows could bound it.
fn load(plan: &Plan, source: &Source, capacity: u64) -> Result<Option<Load>, Failure> {
    if plan.level.parities() == 0 {
        return Ok(None);
    }
    let windowed = Plan { policy: PolicyKind::Ioda, ..plan.clone() };
    let sustainable = windowed.sustainable_bytes_per_second();
    let sample: Vec<Request> = source.open(capacity)?.take(SAMPLE).collect::<Result<_, _>>()?;
    let drive = windowed.drive_load_bytes_per_second(sample.into_iter())?;
    Ok((sustainable > 0.0 && drive > 0.0).then_some(Load { drive, sustainable }))
}

/// The rate at which `source` keeps the contract, at most 1, and a note about it.
pub(crate) fn automatic_rate(
    plan: &Plan,
    source: &Source,
    capacity: u64,
    notes: &mut Vec<String>,
) -> Result<f64, Failure> {
    let Some(Load { drive, sustainable }) = load(plan, source, capacity)? else { return Ok(1.0) };
    let rate = two_digits_down((AIM * sustainable / drive).min(1.0));
    if rate < 1.0 {
        notes.push(format!(
            "re-rated to {rate} × the original intensity: it writes {} to each drive, and the \
             drives can reclaim {} in their busy windows; --rerate 1 keeps the original",
            bandwidth(drive),
            bandwidth(sustainable)
        ));
    }
    Ok(rate)
}

/// A note if `source` is more than the contract can bear.
pub(crate) fn warn(
    plan: &Plan,
    source: &Source,
    capacity: u64,
    notes: &mut Vec<String>,
) -> Result<(), Failure> {
    let Some(Load { drive, sustainable }) = load(plan, source, capacity)? else { return Ok(()) };
    if drive > sustainable {
        notes.push(format!(
            "the load is more than busy windows can bear: it writes {} to each drive, and the \
             drives can reclaim {} in their windows, so expect contract violations",
            bandwidth(drive),
            bandwidth(sustainable)
        ));
    }
    Ok(())
}

/// How long a workload is.
pub(crate) struct Length {
    /// Requests, if known.
    pub(crate) requests: Option<u64>,
    /// Simulated time, if known.
    pub(crate) duration: Option<Duration>,
}

/// How long `source` will be. A trace is read for it.
pub(crate) fn length(source: &Source, capacity: u64) -> Result<Length, Failure> {
    Ok(match source {
        Source::Preset { preset, requests, rate, .. } => {
            let requests = requests.unwrap_or(preset.requests);
            let nanos = preset.mean_interval.as_nanos() as f64 / rate * requests as f64;
            Length { requests: Some(requests), duration: Some(Duration::from_nanos(nanos as u64)) }
        }
        Source::Synthetic(synthetic) => {
            let bytes = synthetic.bs.read.min(synthetic.bs.write).max(1);
            let by_size = synthetic.runtime.is_none().then(|| synthetic.size / bytes);
            let by_time = synthetic.runtime.zip(synthetic.rate_iops);
            let by_time = by_time.map(|(time, rate)| (time.as_secs_f64() * rate) as u64);
            let requests = match (synthetic.number_ios, by_time) {
                (Some(count), Some(in_time)) => Some(count.min(in_time)),
                (count, in_time) => count.or(in_time).or(by_size),
            };
            let duration = match (synthetic.arrival(), synthetic.rate_iops, requests) {
                (Arrival::Open, Some(rate), Some(requests)) => {
                    Some(Duration::from_nanos((requests as f64 / rate * 1e9) as u64))
                }
                _ => None,
            };
            Length { requests, duration }
        }
        Source::Trace(trace) => {
            let workload = source.open(capacity)?;
            let Some(statistics) = workload.statistics() else {
                return Ok(Length { requests: None, duration: None });
            };
            let transform = &trace.transform;
            let cut = &transform.cut;
            let end = cut.to.map_or(statistics.span(), |to| to.min(statistics.span()));
            let span = end.saturating_sub(cut.from);
            let share = span.as_secs_f64() / statistics.span().as_secs_f64().max(1e-9);
            let in_span = ((statistics.requests as f64 * share) as u64).saturating_sub(cut.skip);
            let taken = cut.take.map_or(in_span, |take| take.min(in_span));
            let kept = taken as f64 / (in_span.max(1)) as f64;
            let nanos = span.as_nanos() as f64 * kept * transform.repeat as f64 / transform.speed;
            Length {
                requests: Some(taken.saturating_mul(transform.repeat)),
                duration: Some(Duration::from_nanos(nanos as u64)),
            }
        }
    })
}

/// The slice of a run to record read by read: about eight windows, a quarter into it.
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
    format!("{:.0} MB/s", bytes_per_second / 1e6)
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
