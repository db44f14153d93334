//! The document of a fitted drive: measured and modelled latencies side by side, and parameters with
//! their intervals.

use crate::schema::Document;
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
    /// Writes per second that the drive takes in at most, as the measurement says; null if no load
    /// saturated the drive.
    pub measured_saturation_per_second: Option<f64>,
    /// Writes per second that the model takes in at the highest load.
    pub model_saturation_per_second: f64,
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
