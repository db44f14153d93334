//! Intervals of fitted parameters: the values that the curve does not tell from the best.
//!
//! The limit is the distance of the best drive and twice its standard deviation over other seeds: a
//! drive below it is as good as the best for all that the measurement says. One parameter is moved
//! at a time, while the others stay. An interval is widened to drives of the search below the limit:
//! there several parameters make up for each other.

use crate::failure::Failure;
use crate::fit::curve::MeasuredCurve;
use crate::fit::distance::{Setting, distance};
use crate::fit::model::{Modelling, model_curve};
use crate::fit::parameter::Parameter;
use crate::watch::Count;
use ssd::Config;

/// Factors from the best value outwards.
const FACTORS: [f64; 4] = [1.12, 1.3, 1.7, 3.0];
/// Other seeds of the best drive.
const SEEDS: u64 = 4;

/// Most curves that the best drive and the intervals of `parameters` model.
pub(super) fn most_evaluations(parameters: usize) -> u64 {
    1 + SEEDS + (parameters * 2 * FACTORS.len()) as u64
}

/// The interval of a parameter.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ParameterInterval {
    /// The parameter.
    pub parameter: Parameter,
    /// Its best value, in its unit.
    pub best: f64,
    /// Least value that the curve does not tell from the best; `None` if it leaves that side open.
    pub least: Option<f64>,
    /// Most value that the curve does not tell from the best; `None` if it leaves that side open.
    pub most: Option<f64>,
}

impl ParameterInterval {
    /// Moves the nearer end so that a value lies inside.
    fn widen(&mut self, value: f64) {
        self.least = self.least.map(|least| least.min(value));
        self.most = self.most.map(|most| most.max(value));
    }

    /// Whether a value lies inside.
    #[must_use]
    pub fn holds(&self, value: f64) -> bool {
        self.least.is_none_or(|least| value >= least) && self.most.is_none_or(|most| value <= most)
    }
}

/// The view of a fit that intervals need.
#[derive(Clone, Copy)]
pub(super) struct Neighbourhood<'a> {
    pub(super) curve: &'a MeasuredCurve,
    pub(super) drive: &'a Config,
    pub(super) setting: Setting,
    pub(super) modelling: Modelling,
    pub(super) count: &'a dyn Count,
}

impl Neighbourhood<'_> {
    /// The distance of a drive under one seed; infinite for a drive that cannot exist.
    pub(super) fn distance_of(&self, drive: &Config, seed: u64) -> Result<f64, Failure> {
        if drive.validate().is_err() {
            return Ok(f64::INFINITY);
        }
        self.count.begin("intervals");
        let modelling = Modelling { seed, ..self.modelling };
        let points = model_curve(drive, self.curve, modelling)?;
        self.count.end();
        Ok(distance(self.curve, &points, self.setting))
    }

    /// The distance up to which drives are as good as the best.
    fn limit(&self, best: f64) -> Result<f64, Failure> {
        let seeds = (1..=SEEDS).map(|other| self.modelling.seed + other);
        let others = seeds.map(|seed| self.distance_of(self.drive, seed));
        let others = others.collect::<Result<Vec<f64>, Failure>>()?;
        let squares: f64 = others.iter().map(|other| (other - best).powi(2)).sum();
        Ok(best + 2.0 * (squares / SEEDS as f64).sqrt())
    }

    /// The intervals of `parameters`; `best` is the distance of the drive, and `tried` has the drives
    /// of the search with their distances.
    pub(super) fn intervals(
        &self,
        parameters: &[Parameter],
        best: f64,
        tried: &[(f64, Config)],
    ) -> Result<Vec<ParameterInterval>, Failure> {
        let limit = self.limit(best)?;
        let alike = tried.iter().filter(|(distance, _)| *distance <= limit);
        let one = |parameter: &Parameter| {
            let mut interval = self.interval(*parameter, limit)?;
            for value in alike.clone().filter_map(|(_, drive)| parameter.get(drive)) {
                interval.widen(value);
            }
            Ok(interval)
        };
        parameters.iter().map(one).collect()
    }

    fn interval(&self, parameter: Parameter, limit: f64) -> Result<ParameterInterval, Failure> {
        let best = parameter.get(self.drive).unwrap_or(0.0);
        let least = self.end(parameter, best, limit, |factor| 1.0 / factor)?;
        let most = self.end(parameter, best, limit, |factor| factor)?;
        Ok(ParameterInterval { parameter, best, least, most })
    }

    /// The first value on one side that is worse than the limit; `None` if there is no such value.
    fn end(
        &self,
        parameter: Parameter,
        best: f64,
        limit: f64,
        side: fn(f64) -> f64,
    ) -> Result<Option<f64>, Failure> {
        for factor in FACTORS {
            let mut drive = self.drive.clone();
            parameter.set(&mut drive, best * side(factor));
            let value = parameter.get(&drive).unwrap_or(best);
            // Whole numbers may not have moved yet.
            if value != best && self.distance_of(&drive, self.modelling.seed)? > limit {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }
}
