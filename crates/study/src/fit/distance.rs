//! The distance between a measured and a modelled curve.
//!
//! Errors are logarithms of ratios, so that half and double are equally far. Weights follow what
//! the drives are used for: reads count most, and all the more the more samples a percentile has.

use crate::fit::curve::{MeasuredCurve, PERCENTILES, Quantiles};
use crate::fit::model::ModelPoint;
use report::fit::BUFFERED_US;

/// Weights of the percentiles of reads.
const READ_WEIGHTS: [f64; PERCENTILES.len()] = [1.0, 1.0, 1.0, 1.0, 0.25, 0.0];
/// Weights of the percentiles of writes.
const WRITE_WEIGHTS: [f64; PERCENTILES.len()] = [0.5, 0.5, 0.5, 0.5, 0.1, 0.0];
/// Weight of the latencies of a saturated drive, where few hosts are for long.
const SATURATED_WEIGHT: f64 = 0.4;
/// Weight of the rate at saturation: a tenth too much is as bad as a percentile that is off by a
/// factor of 1.7.
const RATE_WEIGHT: f64 = 30.0;

/// Error of a latency from which on it is an outlier: a factor of 2.
const OUTLIER: f64 = core::f64::consts::LN_2;

/// A sum of weighted squares.
#[derive(Clone, Copy, Default, Debug)]
struct Squares {
    sum: f64,
    weight: f64,
}

impl Squares {
    fn add(&mut self, ratio: f64, weight: f64) {
        let error = ratio.ln();
        self.sum += weight * error * error;
        self.weight += weight;
    }

    /// The same for a latency, with the loss of Cauchy: a square while the error is small, and a
    /// logarithm of it where no drive of this kind comes near, so that it does not spoil the rest.
    fn add_latency(&mut self, ratio: f64, weight: f64) {
        let error = ratio.ln() / OUTLIER;
        self.sum += weight * OUTLIER * OUTLIER * (error * error).ln_1p();
        self.weight += weight;
    }
}

/// Ratio of a modelled to a measured write. Below [`BUFFERED_US`] all are alike.
fn write_ratio(measured: f64, modelled: f64) -> f64 {
    modelled.max(BUFFERED_US) / measured.max(BUFFERED_US)
}

fn add_quantiles(
    squares: &mut Squares,
    (measured, modelled): (&Quantiles, &Quantiles),
    (weights, scale): (&[f64; PERCENTILES.len()], f64),
    ratio: fn(f64, f64) -> f64,
) {
    for ((measured, modelled), weight) in measured.0.iter().zip(&modelled.0).zip(weights) {
        if let (Some(measured), Some(modelled)) = (measured, modelled) {
            squares.add_latency(ratio(*measured, *modelled), weight * scale);
        }
    }
}

/// Root of the weighted mean square of all errors, in natural logarithms: 0.22 is a factor of 1.25.
/// Errors above a factor of 2 count less than their square.
///
/// `points` are loads of the curve, in its order; loads that were not modelled do not count.
#[must_use]
pub fn distance(curve: &MeasuredCurve, points: &[ModelPoint], setting: Setting) -> f64 {
    let mut squares = Squares::default();
    for point in points {
        let same = |rate: f64| rate == point.offered_per_second;
        let Some(load) = curve.loads().iter().find(|load| same(load.writes_per_second)) else {
            continue;
        };
        let saturated = curve.is_saturated(load, setting.probe_writes_per_second);
        let scale = if saturated { SATURATED_WEIGHT } else { 1.0 };
        let reads = (&load.reads, &point.reads);
        add_quantiles(&mut squares, reads, (&READ_WEIGHTS, scale), |real, model| model / real);
        let writes = (&load.writes, &point.writes);
        add_quantiles(&mut squares, writes, (&WRITE_WEIGHTS, scale), write_ratio);
        if !saturated {
            let offered = point.offered_per_second + setting.probe_writes_per_second;
            // Arrivals at random: a few per cent fewer may have ended.
            let short = (point.writes_per_second / offered / 0.95).min(1.0);
            squares.add(short, RATE_WEIGHT);
        }
    }
    let saturation = curve.saturation(setting.in_flight, setting.probe_writes_per_second);
    if let (Some(estimate), Some(last)) = (saturation.estimate, points.last())
        && curve
            .loads()
            .last()
            .is_some_and(|load| load.writes_per_second == last.offered_per_second)
    {
        squares.add(last.writes_per_second / estimate, RATE_WEIGHT);
    }
    (squares.sum / squares.weight.max(1e-9)).sqrt()
}

/// How a curve was measured.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Setting {
    /// Writes per second of the probe.
    pub probe_writes_per_second: f64,
    /// Writes in flight of a saturated drive.
    pub in_flight: f64,
}

impl Setting {
    /// The published protocol: six writers of depth 64, and a probe of 10 thousand requests per
    /// second, half of them writes.
    pub const PUBLISHED: Self = Self { probe_writes_per_second: 5_000.0, in_flight: 384.0 };
}
