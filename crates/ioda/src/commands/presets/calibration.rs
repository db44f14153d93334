//! `ioda presets drives --calibration`: data sheets beside what the model makes of the drives.

use crate::exit::Code;
use crate::flags::JsonArgs;
use crate::output;
use crate::progress::{self, Show};
use report::fit::CurveReport;
use report::schema::Document;
use schemars::JsonSchema;
use serde::Serialize;
use sim::Calibration;
use ssd::Config;
use ssd::presets::{DataSheet, Figure, data_sheet, names, preset};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use study::Failure;
use study::fit::{self, MEASURED_FILLS, MeasuredCurve, Modelling, Setting};
use study::settings::drive_from;
use study::table;
use study::values::names::Unknown;
use units::Duration;

/// Random addresses of the measurement.
const SEED: u64 = 1;
/// Modelled time of each load of a published measurement: 6 reads lie above its 99.99th percentile.
const MODELLED: Modelling = Modelling { measured: Duration::from_secs(12), seed: SEED, threads: 1 };

/// Drives with data sheets, measured.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Calibrations {
    /// The drives.
    drives: Vec<Measured>,
}

impl Document for Calibrations {
    const SCHEMA: &'static str = "ioda.calibration/1";
}

/// One drive, measured.
#[derive(Serialize, JsonSchema)]
struct Measured {
    /// The name people type.
    name: String,
    /// Where its figures come from.
    source: String,
    /// Figures of the data sheet and of the model.
    figures: Vec<Compared>,
    /// Pages programmed per page written at random in steady state.
    write_amplification: f64,
    /// 99th percentile of random reads beside as many writes, 32 commands in flight, in
    /// microseconds.
    mixed_read_p99_us: f64,
    /// What the idle drive folds out of its cache of SLC blocks, in MB/s; null without such a
    /// cache.
    folding_mb_per_second: Option<f64>,
    /// Pages programmed per page written while a new drive with such a cache is filled in order.
    fill_write_amplification: Option<f64>,
    /// Whether parameters of the model were fitted to the published latencies. Without that, the
    /// model predicts them.
    is_fitted: bool,
    /// Published latencies under load beside those of the model; null if none were published.
    curve: Option<CurveReport>,
    /// Published write amplifications beside those of the model.
    fills: Vec<Fill>,
}

/// A part of a drive that was filled and then overwritten at random.
#[derive(Serialize, JsonSchema)]
struct Fill {
    /// The drive that was measured.
    product: &'static str,
    /// Share of the drive that was filled.
    share: f64,
    /// Measured pages programmed per page written.
    measured: f64,
    /// Pages that the model programs per page written. Nothing was fitted to these figures.
    model: f64,
}

/// One figure of the data sheet and of the model.
#[derive(Serialize, JsonSchema)]
struct Compared {
    /// What it is.
    figure: &'static str,
    /// Its unit.
    unit: &'static str,
    /// What the data sheet says; null if it was not at hand.
    data_sheet: Option<f64>,
    /// What the model does.
    model: f64,
    /// Whether a setting of the model was computed from the data sheet's figure.
    was_used: bool,
}

impl Compared {
    /// By how much the model is off, as a share of the data sheet's figure.
    fn error(&self) -> Option<f64> {
        self.data_sheet.map(|promised| self.model / promised - 1.0)
    }
}

fn compare(sheet: &DataSheet, model: &Calibration) -> Vec<Compared> {
    let row = |figure, unit, promised: Option<Figure>, model| Compared {
        figure,
        unit,
        data_sheet: promised.map(|figure| figure.value),
        model,
        was_used: promised.is_some_and(|figure| figure.was_used),
    };
    let mut rows = vec![
        row("sequential read", "MB/s", sheet.sequential_read, model.sequential_read / 1e6),
        row("sequential write", "MB/s", sheet.sequential_write, model.sequential_write / 1e6),
        row("random read", "IOPS", sheet.random_read, model.random_read),
        row("random write", "IOPS", sheet.random_write, model.random_write),
        row("read alone", "us", sheet.read_alone, model.read_alone.as_micros_f64()),
        row("write alone", "us", sheet.write_alone, model.write_alone.as_micros_f64()),
    ];
    if let Some(cache) = &model.cache {
        let sheet = &sheet.cache;
        let read_alone = cache.read_alone.as_micros_f64();
        rows.extend([
            row(
                "sequential write, cache full",
                "MB/s",
                sheet.write_behind,
                cache.write_behind / 1e6,
            ),
            row("sequential write, whole drive", "MB/s", sheet.fill, cache.fill / 1e6),
            row("random write in the cache", "IOPS", sheet.random_write, cache.random_write),
            row("read alone from the cache", "us", sheet.read_alone, read_alone),
        ]);
    }
    rows
}

/// A drive to measure.
struct Chosen {
    config: Config,
    /// Where its figures come from.
    source: String,
    /// The figures to compare with.
    sheet: DataSheet,
}

impl Chosen {
    /// The drive of today called `name`.
    fn preset(name: &str) -> Option<Self> {
        let source = ssd::presets::source(name).unwrap_or_default().to_owned();
        Some(Self { config: preset(name)?, source, sheet: data_sheet(name)? })
    }

    /// The drive in the configuration file at `path`.
    fn file(path: &Path) -> Result<Self, Failure> {
        let settings = drive_from(path)?;
        let config = settings.build()?;
        config.validate().map_err(Failure::usage)?;
        let shown = path.display();
        let (sheet, source) = match &settings.data_sheet {
            Some(sheet) => {
                (sheet.figures(None)?.figures(), format!("made from the data sheet in {shown}"))
            }
            None => (DataSheet::default(), format!("{shown}, which has no [drive.data_sheet]")),
        };
        Ok(Self { config, source, sheet })
    }
}

/// The drives to measure.
fn chosen(wanted: &[String]) -> Result<Vec<Chosen>, Failure> {
    let known = || names().filter(|name| data_sheet(name).is_some());
    if wanted.is_empty() {
        return Ok(known().filter_map(Chosen::preset).collect());
    }
    let one = |name: &String| match Chosen::preset(name) {
        Some(drive) => Ok(drive),
        None if name.ends_with(".toml") || Path::new(name).exists() => {
            Chosen::file(Path::new(name))
        }
        None => Err(Failure::usage(format!(
            "{}; nor is it a file",
            Unknown::new("drive with a data sheet", name, known())
        ))),
    };
    wanted.iter().map(one).collect()
}

fn measure(drive: &Chosen) -> Result<Measured, Failure> {
    let name = drive.config.name.clone();
    let model = sim::calibrate(&drive.config, SEED)
        .map_err(|error| Failure::internal(format!("drive {name} cannot work: {error}")))?;
    let measured = fit::measured_curve(&name)?;
    let curve = measured.map(|measured| curve(&drive.config, &measured)).transpose()?;
    Ok(Measured {
        is_fitted: ssd::presets::is_fitted(&name),
        curve,
        fills: fills(&drive.config)?,
        name,
        source: drive.source.clone(),
        figures: compare(&drive.sheet, &model),
        write_amplification: model.write_amplification,
        mixed_read_p99_us: model.mixed_read_p99.as_micros_f64(),
        folding_mb_per_second: model.cache.map(|cache| cache.folding / 1e6),
        fill_write_amplification: model.cache.map(|cache| cache.fill_amplification),
    })
}

/// A drive at the loads of its published measurement.
fn curve(config: &Config, measured: &MeasuredCurve) -> Result<CurveReport, Failure> {
    let points = fit::model_curve(config, measured, MODELLED)?;
    let is_fitted = ssd::presets::is_fitted(&config.name);
    Ok(fit::compared(measured, &points, Setting::PUBLISHED, |_| is_fitted))
}

/// A drive filled as far as in published measurements.
fn fills(config: &Config) -> Result<Vec<Fill>, Failure> {
    let mut fills = Vec::new();
    for measured in MEASURED_FILLS.iter().filter(|fills| fills.drive == config.name) {
        for &(share, amplification) in measured.points {
            let bytes = (measured.capacity_bytes as f64 * share) as u64;
            fills.push(Fill {
                product: measured.product,
                share,
                measured: amplification,
                model: fit::amplification_at(config, bytes, MODELLED)?,
            });
        }
    }
    Ok(fills)
}

/// Measures the drives on all cores.
fn measure_all(drives: &[Chosen]) -> Result<Vec<Measured>, Failure> {
    let done = AtomicU64::new(0);
    let work = || {
        let measured = sim::side_by_side(sim::cores(), drives.len(), |index| {
            let measured = measure(&drives[index]);
            done.fetch_add(1, Ordering::Relaxed);
            measured
        });
        measured.into_iter().collect()
    };
    let total = Some(drives.len() as u64);
    progress::counting_all(Show::new(false, false), "measuring:", "drives", total, &done, work)
}

/// Measures the drives called `names` or in files of these names, or all, and prints them.
pub(super) fn run(names: &[String], json: &JsonArgs) -> Result<Code, Failure> {
    let drives = measure_all(&chosen(names)?)?;
    let calibrations = Calibrations { drives };
    let text = text(&calibrations);
    output::show(json.path(), || calibrations, || text)?;
    Ok(Code::Ok)
}

fn text(calibrations: &Calibrations) -> String {
    let header = table::header(&["drive", "figure", "data sheet", "model", "off by", ""]);
    let mut rows = Vec::new();
    for drive in &calibrations.drives {
        for (index, compared) in drive.figures.iter().enumerate() {
            let name = if index == 0 { drive.name.clone() } else { String::new() };
            let number = |value: f64| format!("{value:.0} {}", compared.unit);
            let error =
                compared.error().map_or("-".into(), |error| format!("{:+.1}%", error * 100.0));
            rows.push(vec![
                name,
                compared.figure.to_owned(),
                compared.data_sheet.map_or("not at hand".into(), number),
                number(compared.model),
                error,
                if compared.was_used { "*".into() } else { String::new() },
            ]);
        }
        let of_cache = |figure, value: Option<String>| value.map(|value| (figure, value));
        let own = [
            Some(("write amplification", format!("{:.2}", drive.write_amplification))),
            Some(("read p99 beside writes", format!("{:.0} us", drive.mixed_read_p99_us))),
            of_cache(
                "folding when idle",
                drive.folding_mb_per_second.map(|rate| format!("{rate:.0} MB/s")),
            ),
            of_cache(
                "write amplification, whole drive",
                drive.fill_write_amplification.map(|value| format!("{value:.2}")),
            ),
        ];
        for (figure, value) in own.into_iter().flatten() {
            let empty = String::new;
            rows.push(vec![empty(), figure.to_owned(), empty(), value, empty(), empty()]);
        }
    }
    let sources: String = calibrations
        .drives
        .iter()
        .map(|drive| table::paragraph(&format!("{}: {}", drive.name, drive.source), 2))
        .collect();
    let curves: String = calibrations.drives.iter().map(latencies).collect();
    format!(
        "{}\n  * A setting of the model was computed from this figure, so that the comparison checks \
         arithmetic only.\n    Sequential commands have 128 KiB, random ones 4 KiB, {} and {} in \
         flight.\n{sources}{curves}",
        table::numbers_between(&header, &rows, 2, 1),
        sim::SEQUENTIAL_DEPTH,
        sim::CALIBRATION_DEPTH,
    )
}

/// Published figures of a drive beside those of the model; empty if none were published.
fn latencies(drive: &Measured) -> String {
    let mut text = String::new();
    if let Some(curve) = &drive.curve {
        let how = if drive.is_fitted { "fitted to them" } else { "predicted" };
        let name = &drive.name;
        text += &format!("\n{name}: published latencies and those of the model, {how}\n");
        text += &report::table::render_curve(curve);
    }
    for Fill { product, share, measured, model } in &drive.fills {
        let error = (model / measured - 1.0) * 100.0;
        text += &format!(
            "  write amplification of {product}, {:.0} % full: {measured:.2}, model {model:.2} ({error:+.0} %)\n",
            share * 100.0
        );
    }
    text
}
