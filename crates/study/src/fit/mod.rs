//! Fits: a drive whose modelled curve is nearest to a measured one.
//!
//! A curve is a list of loads with percentiles of reads and writes. A fit begins with a drive of
//! the same kind, a preset or one made from a data sheet, and sets the parameters that curves
//! determine.

mod compared;
mod curve;
mod distance;
mod fio;
mod interval;
mod measured;
mod model;
mod parameter;
mod script;
mod search;

pub use compared::compared;
pub use curve::{MeasuredCurve, MeasuredLoad, PERCENTILES, Quantiles, Saturation};
pub use distance::{Setting, distance};
pub use fio::load_of_fio;
pub use interval::ParameterInterval;
pub use measured::{MEASURED_FILLS, MeasuredFills, measured_curve, measured_drives};
pub use model::{ModelPoint, Modelling, amplification_at, model_curve, model_rates, to_csv};
pub use parameter::Parameter;
pub use script::script;
pub use search::Effort;

use crate::failure::Failure;
use crate::watch::Watch;
use interval::Neighbourhood;
use search::Search;
use ssd::Config;

/// The request for a fit.
#[derive(Clone, Debug)]
pub struct FitRequest {
    /// The measured curve.
    pub curve: MeasuredCurve,
    /// The drive to begin with.
    pub start: Config,
    /// How the curve was measured.
    pub setting: Setting,
    /// How it is modelled.
    pub modelling: Modelling,
    /// How long the search takes.
    pub effort: Effort,
}

/// A drive that was fitted.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The drive.
    pub drive: Config,
    /// Root of the weighted mean square of all errors, in natural logarithms.
    pub distance: f64,
    /// Curves that were modelled on the way.
    pub evaluations: u64,
    /// Parameters that the fit has set, with their intervals.
    pub parameters: Vec<ParameterInterval>,
}

/// Fits a drive to a curve.
///
/// # Errors
///
/// If the drive to begin with cannot exist, or lacks the parts that a fit sets.
pub fn fit(request: &FitRequest, watch: &dyn Watch) -> Result<Fit, Failure> {
    let FitRequest { curve, start, setting, modelling, effort } = request;
    start.validate().map_err(Failure::usage)?;
    if let Some(missing) = Parameter::ALL.into_iter().find(|one| one.get(start).is_none()) {
        return Err(Failure::usage(format!(
            "{} has nothing that {} could set; start from a drive of today (`--like pm9a3-960`)",
            start.name,
            missing.key()
        )));
    }
    let most = effort.most_evaluations() + interval::most_evaluations(Parameter::ALL.len());
    let count = watch.count("fitting", most as usize);
    let found = Search::new(curve, start, (*setting, *modelling), &*count).run(*effort)?;
    let mut parameters = found.set;
    parameters.extend([Parameter::BufferLatency, Parameter::Suspensions]);
    if Parameter::EraseBlocks.get(&found.drive) > Some(0.0) {
        parameters.push(Parameter::EraseBlocks);
    }
    parameters.sort_unstable();
    let (drive, evaluations) = (found.drive, found.evaluations);
    let neighbourhood = Neighbourhood {
        curve,
        drive: &drive,
        setting: *setting,
        modelling: *modelling,
        count: &*count,
    };
    let distance = neighbourhood.distance_of(&drive, modelling.seed)?;
    let parameters = neighbourhood.intervals(&parameters, distance, &found.tried)?;
    Ok(Fit { drive, distance, evaluations, parameters })
}
