//! A modelled curve: a drive under the loads of a measured one.

use crate::failure::Failure;
use crate::fit::curve::{MeasuredCurve, PERCENTILES, Quantiles};
use sim::{CurveLoad, LatencySummary, LoadedDrive, side_by_side};
use ssd::{Config, Ssd};
use units::{Duration, Ratio};

/// Fewest samples above a percentile that is compared: a second of the probe has five reads above
/// p99.9 on average.
const FEWEST_ABOVE: f64 = 3.0;
/// Share of a drive that is overwritten before all measurements: a fiftieth. Drives are in the
/// steady state of random writes before; a tenth gives the same percentiles.
const WARM_UP_SHARE: u64 = 50;
/// Most writes of that.
const WARM_UP_MOST: u64 = 400_000;
/// Share of these writes that come once more at each load, but at least a buffer of writes.
const WARM_UP_AGAIN: u64 = 6;
/// Share of the buffer that a load leaves full if the buffer fills: a saturated drive is measured
/// with its buffer full.
const FILLING_SHARE: f64 = 1.0 / 32.0;
/// Most buffers of writes that fill it.
const FILLING_BUFFERS: u32 = 4;

/// How curves are modelled.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Modelling {
    /// Length of the measurement of each load.
    pub measured: Duration,
    /// Seed of arrivals and addresses.
    pub seed: u64,
    /// Loads that are modelled side by side.
    pub threads: usize,
}

/// A drive at one load.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ModelPoint {
    /// Writes per second that were offered, those of the probe not included.
    pub offered_per_second: f64,
    /// Writes per second that ended, those of the probe included.
    pub writes_per_second: f64,
    /// Pages programmed per page written.
    pub write_amplification: f64,
    /// Latencies of reads.
    pub reads: Quantiles,
    /// Latencies of writes.
    pub writes: Quantiles,
}

fn quantiles(latencies: &LatencySummary) -> Quantiles {
    let mut quantiles = Quantiles::default();
    for (percentile, quantile) in PERCENTILES.iter().zip(&mut quantiles.0) {
        let above = latencies.count() as f64 * (1.0 - percentile / 100.0);
        *quantile =
            (above >= FEWEST_ABOVE).then(|| latencies.percentile(*percentile).as_micros_f64());
    }
    quantiles
}

/// Models `config` at each load of a curve, in their order.
///
/// # Errors
///
/// If the drive cannot exist.
pub fn model_curve(
    config: &Config,
    curve: &MeasuredCurve,
    modelling: Modelling,
) -> Result<Vec<ModelPoint>, Failure> {
    let rates: Vec<f64> = curve.loads().iter().map(|load| load.writes_per_second).collect();
    model_rates(config, &rates, modelling)
}

/// Modelled loads as a table that [`MeasuredCurve::from_csv`] reads.
#[must_use]
pub fn to_csv(points: &[ModelPoint]) -> String {
    let mut text = String::from("writes_per_second,achieved_per_second");
    for what in ["read", "write"] {
        for percentile in PERCENTILES {
            text += &format!(",{what}_p{percentile}");
        }
    }
    text.push('\n');
    for point in points {
        text += &format!("{},{:.0}", point.offered_per_second, point.writes_per_second);
        for latency in point.reads.0.iter().chain(&point.writes.0) {
            text += &latency.map_or(String::from(","), |latency| format!(",{latency:.1}"));
        }
        text.push('\n');
    }
    text
}

/// Writes per second while write amplification is modelled: a load far from saturation.
const FILL_RATE: f64 = 30_000.0;

/// Pages programmed per page written at random to `bytes` of a drive, which holds nothing else.
///
/// # Errors
///
/// If the drive has too little flash for these bytes.
pub fn amplification_at(config: &Config, bytes: u64, modelling: Modelling) -> Result<f64, Failure> {
    let mut filled = config.clone();
    let share = bytes as f64 / config.whole().geometry.raw_bytes() as f64;
    filled.over_provisioning = Ratio::from_f64(1.0 - share);
    let points = model_rates(&filled, &[FILL_RATE], modelling)?;
    Ok(points.first().map_or(0.0, |point| point.write_amplification))
}

/// Models `config` at each of `rates` writes per second.
///
/// # Errors
///
/// If the drive cannot exist.
pub fn model_rates(
    config: &Config,
    rates: &[f64],
    modelling: Modelling,
) -> Result<Vec<ModelPoint>, Failure> {
    let mut aged = Ssd::new(config.clone()).map_err(Failure::usage)?;
    let Some(lowest) = rates.iter().copied().reduce(f64::min) else { return Ok(Vec::new()) };
    aged.age(modelling.seed);
    let buffer_pages = config.write_buffer.map_or(0, |buffer| u64::from(buffer.pages));
    let warm_up_writes = (aged.logical_blocks() / WARM_UP_SHARE).min(WARM_UP_MOST);
    let again = (warm_up_writes / WARM_UP_AGAIN).max(buffer_pages);
    let mut warm = LoadedDrive::new(aged, CurveLoad::new(lowest, modelling.seed));
    warm.warm_up(warm_up_writes);
    // The highest load takes longest, so it begins first.
    let highest_first = |number: usize| rates[rates.len() - 1 - number];
    let mut points = side_by_side(modelling.threads, rates.len(), |number| {
        let offered_per_second = highest_first(number);
        let mut drive = warm.clone();
        drive.set_rate(offered_per_second);
        drive.warm_up(again);
        for _ in 0..FILLING_BUFFERS {
            if drive.buffered_share() > FILLING_SHARE {
                drive.warm_up(buffer_pages);
            }
        }
        let point = drive.measure(modelling.measured);
        ModelPoint {
            offered_per_second,
            writes_per_second: point.writes_per_second,
            write_amplification: point.write_amplification,
            reads: quantiles(&point.reads),
            writes: quantiles(&point.writes),
        }
    });
    points.reverse();
    Ok(points)
}
