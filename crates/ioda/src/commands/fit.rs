//! `ioda fit`: a drive of one's own, from an afternoon's measurement.

use crate::exit::Code;
use crate::flags::JsonArgs;
use crate::output;
use crate::talk::Talk;
use clap::Args;
use report::fit::{FitReport, FittedParameter};
use ssd::Config;
use std::path::{Path, PathBuf};
use study::settings::{DataSheetSettings, DriveSettings};
use study::setup::drive_called;
use study::{Failure, files, fit};
use units::Duration;

pub(crate) const EXAMPLES: &str = "\
Examples:
  ioda fit --script --loads 10000,30000,50000,70000,80000 > measure.sh
      a script that measures a drive with fio in less than two hours; it destroys the drive's data and wants
      its device typed twice: sh measure.sh /dev/nvme1n1 /dev/nvme1n1
  ioda fit ioda-measured --like pm9a3-960
      the drive whose modelled curve is nearest to what the script measured; writes ioda-fit/drive.toml,
      fit.json and fit.html
  ioda fit ioda-measured --datasheet capacity=960GB,sequential_read=6500MB/s,sequential_write=1500MB/s,random_read=580000
      the same, from what the data sheet of the drive says
  ioda compare --drive ioda-fit/drive.toml
      the array of such drives
  ioda fit percentiles.csv --hold-out 30000,70000
      percentiles from elsewhere; two loads are kept from the fit and predicted
  ioda fit pm9a3-960
      the fit of a preset that was measured and published, made again
  ioda fit --curve 7450-960 --loads 10000,50000 > modelled.csv
      the percentiles of a modelled drive, as a file for `ioda fit`

RESULTS is a folder of fio's JSON files, a CSV file, or the name of a published measurement. The columns of the
CSV file are writes_per_second, achieved_per_second (optional), and read_p50 to read_p99.999 and write_p50 to
write_p99.999 in microseconds. A fit needs three loads or more, from a tenth of the drive's limit to a load that
saturates it. docs/fit.md is the tutorial.";

/// Drive that the search begins with where none is named.
const USUAL_START: &str = "pm9a3-960-unfitted";
/// Modelled seconds of each load.
const SECONDS: u64 = 1;
/// Length of the loads of the reported curve as a multiple of those of the search: enough reads for
/// p99.99.
const REPORTED: u64 = 10;

/// Options of `ioda fit`.
#[derive(Args, Clone, Debug)]
pub(crate) struct FitArgs {
    /// Folder of fio's JSON files, CSV file of percentiles, or a published measurement such as
    /// pm9a3-960
    #[arg(required_unless_present_any = ["script", "curve"], conflicts_with_all = ["script", "curve"])]
    results: Option<PathBuf>,
    /// Drive that the search begins with: a preset or a TOML file [default: for a published
    /// measurement the drive of its data sheet, else pm9a3-960-unfitted]
    #[arg(long, value_name = "DRIVE")]
    like: Option<String>,
    /// Data sheet of the drive that the search begins with, such as capacity=960GB; needed are
    /// capacity, sequential_read, sequential_write and random_read
    #[arg(long, value_name = "KEY=VALUE", value_delimiter = ',', conflicts_with = "like")]
    datasheet: Vec<String>,
    /// Loads that are kept from the fit and predicted, in writes per second, such as 30000,70000
    #[arg(long, value_name = "RATE", value_delimiter = ',')]
    hold_out: Vec<u32>,
    /// Seconds of each modelled load, 1 to 60
    #[arg(long, value_name = "SECONDS", default_value_t = SECONDS, value_parser = clap::value_parser!(u64).range(1..=60))]
    seconds: u64,
    /// Seed of arrivals and addresses, any whole number
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Folder of the fitted drive, the document and the page
    #[arg(long, value_name = "FOLDER", default_value = "ioda-fit")]
    output: PathBuf,
    /// Everything as JSON.
    #[command(flatten)]
    json: JsonArgs,
    /// Print a shell script that measures a drive with fio and destroys its data
    #[arg(long, requires = "loads", conflicts_with = "curve")]
    script: bool,
    /// Print the percentiles of a modelled drive as a CSV file: of a preset such as 7450-960, or of a
    /// TOML file
    #[arg(long, value_name = "DRIVE", requires = "loads")]
    curve: Option<String>,
    /// Loads of --script or --curve in writes per second, such as 10000,50000,80000
    #[arg(long, value_name = "RATE", value_delimiter = ',')]
    loads: Vec<u32>,
}

/// Fits a drive, or prints the script or the curve that was asked for.
pub(crate) fn run(args: &FitArgs, talk: Talk) -> Result<Code, Failure> {
    if args.script {
        output::print(&fit::script(&args.loads)?)?;
        return Ok(Code::Ok);
    }
    if let Some(drive) = &args.curve {
        let rates: Vec<f64> = args.loads.iter().copied().map(f64::from).collect();
        let points = fit::model_rates(&drive_called(drive)?.build()?, &rates, modelling(args))?;
        output::print(&fit::to_csv(&points))?;
        return Ok(Code::Ok);
    }
    let Some(results) = &args.results else {
        return Err(Failure::usage(
            "nothing to fit: name a folder, a file or a published measurement",
        ));
    };
    let (name, measured) = measurement(results)?;
    let (like, start) = start(args, &name)?;
    let is_held_out = |rate: f64| args.hold_out.iter().any(|held| f64::from(*held) == rate);
    if let Some(unknown) = args.hold_out.iter().find(|held| {
        !measured.loads().iter().any(|load| load.writes_per_second == f64::from(**held))
    }) {
        return Err(Failure::usage(format!(
            "--hold-out names the load {unknown}, which the measurement lacks; it has {}",
            measured.loads_in_words()
        )));
    }
    let known = |index: usize| !is_held_out(measured.loads()[index].writes_per_second);
    let request = fit::FitRequest {
        curve: measured.filtered(known)?,
        start,
        setting: fit::Setting::PUBLISHED,
        modelling: modelling(args),
        effort: fit::Effort::USUAL,
    };
    let mut fitted = fit::fit(&request, &talk)?;
    fitted.drive.name.clone_from(&name);
    let searched = request.modelling;
    let modelling = fit::Modelling { measured: searched.measured * REPORTED, ..searched };
    let points = fit::model_curve(&fitted.drive, &measured, modelling)?;
    let report = FitReport {
        drive: name,
        like,
        ioda_version: env!("CARGO_PKG_VERSION").to_owned(),
        command_line: command_line(),
        typical_factor: fitted.distance.exp(),
        evaluations: fitted.evaluations,
        curve: fit::compared(&measured, &points, request.setting, known),
        parameters: fitted.parameters.iter().map(|one| parameter(one, &request.start)).collect(),
    };
    write(args, &fitted.drive, &report, talk)?;
    output::show(args.json.path(), || report.clone(), || report::table::render_fit(&report))?;
    Ok(Code::Ok)
}

/// The drive that a fit of `name` begins with, and its description.
fn start(args: &FitArgs, name: &str) -> Result<(String, Config), Failure> {
    if !args.datasheet.is_empty() {
        let data_sheet = Some(DataSheetSettings::from_pairs(&args.datasheet)?);
        let settings = DriveSettings { data_sheet, ..DriveSettings::default() };
        return Ok((String::from("its data sheet"), settings.build()?));
    }
    if let (None, Some(unfitted)) = (&args.like, ssd::presets::unfitted(name)) {
        return Ok((format!("{name} as its data sheet makes it"), unfitted));
    }
    let preset = || ssd::presets::names().find(|preset| *preset == name);
    let like = args.like.as_deref().or_else(preset).unwrap_or(USUAL_START);
    Ok((like.to_owned(), drive_called(like)?.build()?))
}

fn command_line() -> String {
    std::env::args().collect::<Vec<_>>().join(" ")
}

fn modelling(args: &FitArgs) -> fit::Modelling {
    fit::Modelling {
        measured: Duration::from_secs(args.seconds),
        seed: args.seed,
        threads: sim::cores(),
    }
}

fn parameter(interval: &fit::ParameterInterval, start: &Config) -> FittedParameter {
    let fit::ParameterInterval { parameter, best, least, most } = *interval;
    FittedParameter {
        key: parameter.key().to_owned(),
        unit: parameter.unit().to_owned(),
        before: parameter.get(start).unwrap_or(0.0),
        best,
        least,
        most,
    }
}

/// The measurement in `results`, and its name.
fn measurement(results: &Path) -> Result<(String, fit::MeasuredCurve), Failure> {
    let name = results.file_stem().unwrap_or(results.as_os_str()).to_string_lossy().into_owned();
    if results.is_dir() {
        return Ok((name, fio_folder(results)?));
    }
    if !results.exists() {
        if let Some(curve) = fit::measured_curve(&results.to_string_lossy())? {
            return Ok((results.to_string_lossy().into_owned(), curve));
        }
        let known: Vec<&str> = fit::measured_drives().collect();
        return Err(Failure::usage(format!(
            "{} is no file, folder or published measurement; published are {}",
            results.display(),
            known.join(", ")
        )));
    }
    Ok((name, fit::MeasuredCurve::from_csv(&read(results)?)?))
}

fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path)
        .map_err(|error| Failure::data(format!("cannot read {}: {error}", path.display())))
}

/// The measurement of a folder of fio's JSON files.
fn fio_folder(folder: &Path) -> Result<fit::MeasuredCurve, Failure> {
    let unreadable =
        |error: std::io::Error| Failure::data(format!("cannot read {}: {error}", folder.display()));
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|ending| ending == "json") {
            paths.push(path);
        }
    }
    paths.sort();
    let loads =
        paths.iter().map(|path| fit::load_of_fio(&path.display().to_string(), &read(path)?));
    fit::MeasuredCurve::new(loads.collect::<Result<_, _>>()?)
}

fn write(args: &FitArgs, drive: &Config, report: &FitReport, talk: Talk) -> Result<(), Failure> {
    std::fs::create_dir_all(&args.output).map_err(|error| {
        Failure::internal(format!("cannot make the folder {}: {error}", args.output.display()))
    })?;
    let text = DriveSettings::full(drive).to_file()?;
    let path = args.output.join("drive.toml");
    let heading = format!(
        "# Fitted by `{}`, from {}; typical factor between model and measurement {:.2}.\n",
        report.command_line, report.like, report.typical_factor
    );
    files::write(&path, &(heading + &text))?;
    study::Watch::remark(&talk, &format!("wrote {}", path.display()));
    study::jobs::write(&args.output, "fit", report, report::html::render_fit(report), &talk)
}
