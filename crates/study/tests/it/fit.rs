//! A fit finds the parameters of a drive that was modelled.

use ioda_study::fit::{
    Effort, FitRequest, MeasuredCurve, Modelling, Parameter, Setting, fit, model_rates, to_csv,
};
use ioda_study::{Failure, Silent};
use ssd::Config;
use units::{Duration, Ratio};

/// A small drive of today: eight dies.
fn small() -> Config {
    let Some(mut drive) = ssd::presets::preset("pm9a3-960-unfitted") else {
        panic!("no such preset")
    };
    drive.geometry.chips_per_channel = 1;
    drive.geometry.blocks_per_plane = 160;
    drive.collection.hard = Ratio::from_percent(2);
    drive.collection.soft = Ratio::from_percent(5);
    drive.collection.restore = Ratio::from_percent(6);
    if let Some(buffer) = &mut drive.write_buffer {
        // Warming up fills the buffer several times.
        buffer.pages = 1_024;
    }
    drive
}

const RATES: [f64; 4] = [3_000.0, 10_000.0, 18_000.0, 45_000.0];

fn request(curve: MeasuredCurve, start: Config) -> FitRequest {
    FitRequest {
        curve,
        start,
        setting: Setting::PUBLISHED,
        modelling: Modelling { measured: Duration::from_millis(700), seed: 3, threads: 2 },
        effort: Effort { reads: 16, together: 12 },
    }
}

fn measured(drive: &Config) -> MeasuredCurve {
    let modelling = Modelling { measured: Duration::from_millis(1_500), seed: 8, threads: 2 };
    let curve = model_rates(drive, &RATES, modelling)
        .and_then(|points| MeasuredCurve::from_csv(&to_csv(&points)));
    curve.unwrap_or_else(|failure| panic!("{failure}"))
}

#[test]
fn the_parameters_of_a_modelled_drive_are_found() {
    let mut known = small();
    Parameter::ReadOverhead.set(&mut known, 45.0);
    Parameter::BufferLatency.set(&mut known, 9.0);
    Parameter::Program.set(&mut known, 1_300.0);
    Parameter::ProgramPulse.set(&mut known, 160.0);
    Parameter::SuspensionsApart.set(&mut known, 330.0);
    Parameter::Suspensions.set(&mut known, 2.0);
    let fitted = fit(&request(measured(&known), small()), &Silent).unwrap();
    assert!(fitted.distance < 0.25, "factor {:.2}: {fitted:?}", fitted.distance.exp());
    for interval in &fitted.parameters {
        let value = interval.parameter.get(&known).unwrap();
        assert!(interval.holds(value), "{interval:?} of {value}");
    }
}

#[test]
fn the_same_seed_fits_the_same_drive() {
    let curve = measured(&small());
    let hasty = || {
        let whole = request(curve.clone(), small());
        let modelling = Modelling { measured: Duration::from_millis(20), ..whole.modelling };
        let effort = Effort { reads: 2, together: 2 };
        fit(&FitRequest { modelling, effort, ..whole }, &Silent).unwrap()
    };
    let (one, other) = (hasty(), hasty());
    assert_eq!((one.drive, one.distance), (other.drive, other.distance));
}

#[test]
fn a_drive_without_the_parts_is_refused() {
    let refused = |drive: Config| -> Failure {
        fit(&request(measured(&small()), drive), &Silent).unwrap_err()
    };
    let error = refused(ssd::presets::preset("femu").unwrap()).to_string();
    assert!(error.contains("start from a drive of today"), "{error}");
}
