//! A measured and a modelled curve as a document.

use crate::fit::curve::{MeasuredCurve, PERCENTILES, Quantiles};
use crate::fit::distance::Setting;
use crate::fit::model::ModelPoint;
use report::fit::{BUFFERED_US, ComparedLoad, ComparedPercentile, CurveReport, PercentileError};

fn percentiles(measured: &Quantiles, modelled: &Quantiles) -> Vec<ComparedPercentile> {
    let pairs = PERCENTILES.iter().zip(measured.0.iter().zip(&modelled.0));
    pairs
        .map(|(&percentile, (&measured_us, &model_us))| ComparedPercentile {
            percentile,
            measured_us,
            model_us,
        })
        .collect()
}

/// The loads of a curve beside those of a model, of which `fitted` says by its index whether the
/// fit knew it. `points` has one point per load.
#[must_use]
pub fn compared(
    curve: &MeasuredCurve,
    points: &[ModelPoint],
    setting: Setting,
    fitted: impl Fn(usize) -> bool,
) -> CurveReport {
    let probe = setting.probe_writes_per_second;
    let pairs = curve.loads().iter().zip(points).enumerate();
    let loads: Vec<ComparedLoad> = pairs
        .map(|(index, (load, point))| ComparedLoad {
            writes_per_second: load.writes_per_second,
            saturated: curve.is_saturated(load, probe),
            fitted: fitted(index),
            model_write_amplification: point.write_amplification,
            reads: percentiles(&load.reads, &point.reads),
            writes: percentiles(&load.writes, &point.writes),
        })
        .collect();
    CurveReport {
        read_errors: PercentileError::of(&loads, |load| &load.reads, 0.0),
        write_errors: PercentileError::of(&loads, |load| &load.writes, BUFFERED_US),
        loads,
        measured_saturation_per_second: curve.saturation(setting.in_flight, probe).estimate,
        model_saturation_per_second: points.last().map_or(0.0, |point| point.writes_per_second),
    }
}
