//! The document of a fitted drive: measured and modelled latencies side by side, and parameters with
//! their intervals.

use crate::schema::Document;
use crate::survey::median;
use schemars::JsonSchema;
use serde::Serialize;

/// A drive that was fitted to a measurement.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct FitReport {
    /// Name of the drive.
    pub drive: String,
    /// Drive that the fit began with.
    pub like: String,
    /// Version of the program.
    pub ioda_version: String,
    /// The command as it was typed.
    pub command_line: String,
    /// Typical factor between model and measurement: e to the root of the weighted mean square of
    /// logarithmic errors.
    pub typical_factor: f64,
    /// Curves that were modelled.
    pub evaluations: u64,
    /// Measured and modelled loads, in ascending order.
    pub curve: CurveReport,
    /// Parameters that were set.
    pub parameters: Vec<FittedParameter>,
}

impl Document for FitReport {
    const SCHEMA: &'static str = "ioda.fit/1";
}

/// A measured and a modelled curve.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct CurveReport {
    /// Loads in ascending order.
    pub loads: Vec<ComparedLoad>,
    /// Errors of the percentiles of reads, from p50 to p99.999.
    pub read_errors: Vec<PercentileError>,
    /// The same of writes. Two latencies below 50 microseconds count as equal.
    pub write_errors: Vec<PercentileError>,
    /// Writes per second that the drive takes in at most, as the measurement says; null if no load
    /// saturated the drive, or latencies do not give the rate.
    pub measured_saturation_per_second: Option<f64>,
    /// Writes per second that the model takes in at the highest load.
    pub model_saturation_per_second: f64,
}

/// Errors of a percentile: the larger of model and measurement divided by the smaller.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, JsonSchema)]
pub struct PercentileError {
    /// The percentile, such as 99.9.
    pub percentile: f64,
    /// Median over the loads that did not saturate the drive; null if none has the percentile.
    pub median_below_saturation: Option<f64>,
    /// Largest error of all loads; null if none has the percentile.
    pub largest: Option<f64>,
}

/// Latency of a write in microseconds below which no host notices a difference: the write buffer
/// has it.
pub const BUFFERED_US: f64 = 50.0;

impl PercentileError {
    /// The errors of each percentile. Latencies below `least_us` count as `least_us`.
    #[must_use]
    pub fn of(
        loads: &[ComparedLoad],
        latencies: fn(&ComparedLoad) -> &[ComparedPercentile],
        least_us: f64,
    ) -> Vec<Self> {
        let first = loads.first().map_or(&[][..], latencies);
        let one = |(index, first): (usize, &ComparedPercentile)| {
            let error = |load: &ComparedLoad| latencies(load).get(index)?.error(least_us);
            let below = loads.iter().filter(|load| !load.saturated).filter_map(error);
            let mut below: Vec<f64> = below.collect();
            below.sort_by(f64::total_cmp);
            Self {
                percentile: first.percentile,
                median_below_saturation: median(&below),
                largest: loads.iter().filter_map(error).max_by(f64::total_cmp),
            }
        };
        first.iter().enumerate().map(one).collect()
    }
}

/// One load.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct ComparedLoad {
    /// Writes per second that were offered.
    pub writes_per_second: f64,
    /// Whether the measured drive was saturated.
    pub saturated: bool,
    /// Whether the fit knew this load; false for a load that is predicted.
    pub fitted: bool,
    /// Pages that the model programs per page written.
    pub model_write_amplification: f64,
    /// Latencies of reads.
    pub reads: Vec<ComparedPercentile>,
    /// Latencies of writes.
    pub writes: Vec<ComparedPercentile>,
}

/// One percentile.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, JsonSchema)]
pub struct ComparedPercentile {
    /// The percentile, such as 99.9.
    pub percentile: f64,
    /// Measured latency in microseconds; null if it is not known.
    pub measured_us: Option<f64>,
    /// Modelled latency in microseconds; null if it has too few samples.
    pub model_us: Option<f64>,
}

impl ComparedPercentile {
    /// The larger latency divided by the smaller; `None` if one of both is not known. A latency below
    /// `least_us` counts as `least_us`.
    #[must_use]
    pub fn error(&self, least_us: f64) -> Option<f64> {
        let ratio = self.model_us?.max(least_us) / self.measured_us?.max(least_us);
        Some(ratio.max(ratio.recip()))
    }

    /// Modelled divided by measured latency; `None` if one of both is not known.
    #[must_use]
    pub fn ratio(&self) -> Option<f64> {
        Some(self.model_us? / self.measured_us?)
    }
}

/// One parameter.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct FittedParameter {
    /// Its key in `[drive]`.
    pub key: String,
    /// Unit of its values; empty for a number.
    pub unit: String,
    /// Value of the drive that the fit began with.
    pub before: f64,
    /// Fitted value.
    pub best: f64,
    /// Least value that the measurement does not tell from the best; null if that side is open.
    pub least: Option<f64>,
    /// Most value that the measurement does not tell from the best; null if that side is open.
    pub most: Option<f64>,
}

impl FittedParameter {
    /// Whether the measurement pins the parameter down on both sides.
    #[must_use]
    pub fn is_pinned(&self) -> bool {
        self.least.is_some() && self.most.is_some()
    }

    /// The interval in words.
    #[must_use]
    pub fn interval(&self) -> String {
        let number = |value: f64| crate::format::three_digits(value);
        match (self.least, self.most) {
            (Some(least), Some(most)) => format!("{} to {}", number(least), number(most)),
            (Some(least), None) => format!("at least {}", number(least)),
            (None, Some(most)) => format!("at most {}", number(most)),
            (None, None) => "open".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_medians_below_saturation_and_the_largest_of_all() {
        let load = |saturated, measured, model| ComparedLoad {
            writes_per_second: 1.0,
            saturated,
            fitted: true,
            model_write_amplification: 1.0,
            reads: vec![ComparedPercentile {
                percentile: 50.0,
                measured_us: Some(measured),
                model_us: model,
            }],
            writes: Vec::new(),
        };
        let loads = [
            load(false, 100.0, Some(80.0)),
            load(false, 10.0, Some(40.0)),
            load(false, 100.0, None),
            load(true, 100.0, Some(600.0)),
        ];
        let errors = PercentileError::of(&loads, |load| &load.reads, 50.0);
        assert_eq!(errors.len(), 1);
        assert_eq!(errors[0].median_below_saturation, Some(f64::midpoint(1.0, 1.25)));
        assert_eq!(errors[0].largest, Some(6.0));
        assert!(PercentileError::of(&loads, |load| &load.writes, 50.0).is_empty());
        assert_eq!(median(&[]), None);
    }
}
