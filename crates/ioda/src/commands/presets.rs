//! `ioda presets`.

mod calibration;
mod metrics;

pub(crate) use calibration::Calibrations;

use crate::exit::Code;
use crate::flags::JsonArgs;
use crate::output;
use array::policy::{About, Needs, PolicyKind};
use clap::{Args, ValueEnum};
use metrics::MetricEntry;
use nvme::ArrayDescription;
use report::schema::Document;
use schemars::JsonSchema;
use serde::Serialize;
use ssd::Config;
use study::Failure;
use study::settings::DriveSettings;
use study::table;
use units::{Bytes, Duration};

pub(crate) const EXAMPLES: &str = "\
Examples:
  ioda presets
  ioda presets drives --drives 8
      with the busy window of each drive in an array of eight
  ioda presets drives --toml femu > my-drive.toml
      a file to change and to use with `ioda compare --drive my-drive.toml`
  ioda presets drives --calibration
      data sheets of the drives of today and what the model makes of them; takes a few minutes
  ioda presets drives --calibration=my-drive.toml
      the same of a drive made from a data sheet ([drive.data_sheet])
  ioda presets workloads --json
  ioda presets policies
      every policy with the paper or product it is from and what it needs of the drives
  ioda presets metrics
      the words of --assert and --metric, with units";

/// What to list.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Listing {
    /// Drive models
    Drives,
    /// Workloads
    Workloads,
    /// Policies
    Policies,
    /// Metrics of assertions, sweeps and experiments
    Metrics,
}

/// Options of `ioda presets`.
#[derive(Args, Debug)]
pub(crate) struct PresetsArgs {
    /// What to list [default: everything]
    kind: Option<Listing>,
    /// Everything as JSON.
    #[command(flatten)]
    json: JsonArgs,
    /// Print one drive as a configuration file (see `ioda presets drives`)
    #[arg(long, value_name = "NAME", conflicts_with = "json")]
    toml: Option<String>,
    /// Measure the drives of today as data sheets are, and print both side by side; with names such
    /// as 7450-960 or files such as my-drive.toml, those drives
    #[arg(long, value_name = "NAME|FILE", num_args = 0.., value_delimiter = ',', require_equals = true,
        conflicts_with = "toml")]
    calibration: Option<Vec<String>>,
    /// Width of the array for which busy windows are computed, 3 to 64
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(3..=64))]
    drives: u32,
}

/// Prints the lists.
pub(crate) fn run(args: &PresetsArgs) -> Result<Code, Failure> {
    if let Some(names) = &args.calibration {
        if args.kind.is_some_and(|kind| kind != Listing::Drives) {
            return Err(Failure::usage(
                "--calibration is about drives; write `ioda presets drives`",
            ));
        }
        return calibration::run(names, &args.json);
    }
    match &args.toml {
        Some(name) => output::print(&drive_toml(name)?)?,
        None => output::show(args.json.path(), || document(args), || tables(args))?,
    }
    Ok(Code::Ok)
}

fn wants(args: &PresetsArgs, kind: Listing) -> bool {
    args.kind.is_none_or(|wanted| wanted == kind)
}

fn drives() -> impl Iterator<Item = Config> {
    ssd::presets::names().filter_map(ssd::presets::preset)
}

fn source(config: &Config) -> &'static str {
    ssd::presets::source(&config.name).unwrap_or_default()
}

fn window(config: &Config, args: &PresetsArgs) -> Option<Duration> {
    config.whole().burst_window(ArrayDescription { width: args.drives, parities: 1 })
}

fn drive_toml(name: &str) -> Result<String, Failure> {
    let config = DriveSettings::preset(name).build()?;
    let text = DriveSettings::full(&config).to_file()?;
    let part = match config.geometry.scaled_down {
        1 => String::new(),
        parts => format!(
            "# Blocks have 1/{parts} of the pages of the real drive and are erased in 1/{parts} of the time, so that the\n\
             # drive has 1/{parts} of the capacity. `ioda plan` judges the real drive.\n"
        ),
    };
    Ok(format!("# {}\n{part}{text}", source(&config)))
}

fn tables(args: &PresetsArgs) -> String {
    let mut sections = Vec::new();
    if wants(args, Listing::Drives) {
        sections.push(drive_table(args));
    }
    if wants(args, Listing::Workloads) {
        sections.push(workload_table());
    }
    if wants(args, Listing::Policies) {
        sections.push(policy_list());
    }
    if wants(args, Listing::Metrics) {
        sections.push(metrics::list());
    }
    sections.join("\n")
}

fn drive_table(args: &PresetsArgs) -> String {
    let configs: Vec<Config> = drives().collect();
    let mut header = vec![String::from("drive")];
    header.extend(configs.iter().map(|config| config.name.clone()));
    type Field = (&'static str, fn(&Config) -> String);
    let fields: [Field; 18] = [
        ("of the real drive", |c| match c.geometry.scaled_down {
            1 => String::from("all"),
            parts => format!("1/{parts}"),
        }),
        ("fitted to latencies", |c| {
            let is_fitted = ssd::presets::is_fitted(&c.name);
            (if is_fitted { "yes" } else { "no" }).to_owned()
        }),
        ("exposed", |c| Bytes(c.logical_bytes()).to_string()),
        ("flash", |c| Bytes(c.geometry.raw_bytes()).to_string()),
        ("channels", |c| c.geometry.channels.to_string()),
        ("chips each", |c| c.geometry.chips_per_channel.to_string()),
        ("planes each", |c| c.geometry.planes_per_chip.to_string()),
        ("blocks each", |c| c.geometry.blocks_per_plane.to_string()),
        ("pages each", |c| c.geometry.pages_per_block.to_string()),
        ("page", |c| Bytes(u64::from(c.geometry.page_bytes)).to_string()),
        ("read t_r", |c| c.timing.read.to_string()),
        ("program t_w", |c| c.timing.program.to_string()),
        ("erase t_e", |c| c.timing.erase.to_string()),
        ("transfer t_cpt", |c| c.timing.transfer.to_string()),
        ("PCIe GB/s", |c| {
            let pcie = c.timing.pcie_bytes_per_second;
            pcie.map_or("-".into(), |bytes| format!("{}", bytes / 1_000_000_000))
        }),
        ("over-prov. R_p", |c| study::values::quantity::exact_percent(c.over_provisioning)),
        ("collects", |c| study::values::words::Unit(c.collection.unit).to_string()),
        ("and blocks", |c| study::values::words::Blocks(c.collection.blocking).to_string()),
    ];
    let mut rows: Vec<Vec<String>> = fields
        .iter()
        .map(|(name, show)| {
            std::iter::once((*name).to_owned()).chain(configs.iter().map(show)).collect()
        })
        .collect();
    let windows = configs
        .iter()
        .map(|config| window(config, args).map_or("any".into(), |window| window.to_string()));
    let name = format!("real TW_burst, {} drives", args.drives);
    rows.push(std::iter::once(name).chain(windows).collect());
    let sources: String = configs
        .iter()
        .map(|config| format!("  {:<13} {}\n", config.name, source(config)))
        .collect();
    format!("{}\n{sources}", table::numbers(&header, &rows))
}

fn workload_table() -> String {
    let header = table::header(&[
        "workload",
        "requests",
        "reads",
        "mean read",
        "mean write",
        "largest",
        "interval",
        "written",
        "what it is",
    ]);
    let rows: Vec<Vec<String>> = workload::presets()
        .iter()
        .map(|preset| {
            vec![
                preset.name.to_owned(),
                preset.requests.to_string(),
                preset.read_share.to_string(),
                Bytes(preset.mean_read_bytes).to_string(),
                Bytes(preset.mean_write_bytes).to_string(),
                Bytes(preset.max_bytes).to_string(),
                preset.mean_interval.to_string(),
                Bytes(preset.written_bytes).to_string(),
                preset.description.to_owned(),
            ]
        })
        .collect();
    format!(
        "{}\n  Means, mix, sizes and intervals are those of IODA's Table 3; arrivals, skew and \
         footprint are ours.\n",
        table::numbers_between(&header, &rows, 1, 1)
    )
}

/// Two lines for each policy: a table of so many words would have narrow columns.
fn policy_list() -> String {
    let describe = |policy: &PolicyKind| {
        let About { name, label, summary, source, drive_changes, needs, .. } = *policy.about();
        let array = needed_array(needs);
        let details = format!(
            "{label} in figures; from {source}; needs of the drives: {drive_changes}; of the array: \
             {array}"
        );
        format!(
            "{}{}",
            table::paragraph(&format!("{name}: {summary}"), 2),
            table::paragraph(&details, 4)
        )
    };
    format!("policies\n{}", PolicyKind::ALL.iter().map(describe).collect::<String>())
}

/// What a policy needs of the array, in a word or two.
fn needed_array(needs: Needs) -> &'static str {
    match needs {
        Needs::Nothing => "any level",
        Needs::Redundancy => "parity or mirrors",
        Needs::Mirrors => "mirrors",
    }
}

/// Drives, workloads, policies and metrics, as `ioda presets --json` writes them.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Presets {
    /// The drives; absent if other presets are asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    drives: Option<Vec<DrivePreset>>,
    /// The workloads; absent if other presets are asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    workloads: Option<Vec<WorkloadPreset>>,
    /// The policies; absent if other presets are asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    policies: Option<Vec<Policy>>,
    /// The metrics of one word; absent if other presets are asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    metrics: Option<Vec<MetricEntry>>,
}

impl Document for Presets {
    const SCHEMA: &'static str = "ioda.presets/1";
}

/// A drive.
#[derive(Serialize, JsonSchema)]
struct DrivePreset {
    /// The name people type.
    name: String,
    /// Where it comes from.
    source: &'static str,
    /// Whether parameters were fitted to published latencies of the drive.
    fitted: bool,
    /// Bytes that the host sees.
    exposed_bytes: u64,
    /// Bytes of flash.
    flash_bytes: u64,
    /// Factor by which the real drive is larger; its blocks have as many times the pages.
    scaled_down: u32,
    /// The drive, spelt out as in a `[drive]` section.
    settings: DriveSettings,
    /// Width of the array for which the window is computed.
    drives: u32,
    /// Busy window that the drive advertises in that array, in milliseconds; null if any will do.
    tw_burst_ms: Option<f64>,
}

/// A workload.
#[derive(Serialize, JsonSchema)]
struct WorkloadPreset {
    /// The name people type.
    name: &'static str,
    /// What it is.
    description: &'static str,
    /// Number of requests.
    requests: u64,
    /// Share of reads among the requests, from 0 to 1.
    read_share: f64,
    /// Mean size of a read in bytes.
    mean_read_bytes: u64,
    /// Mean size of a write in bytes.
    mean_write_bytes: u64,
    /// Size of the largest request in bytes.
    max_bytes: u64,
    /// Mean time between two requests in microseconds.
    mean_interval_us: f64,
    /// Bytes written by the whole workload.
    written_bytes: u64,
}

/// A policy.
#[derive(Serialize, JsonSchema)]
struct Policy {
    /// The name people type, such as `ioda`.
    name: &'static str,
    /// The name in figures, such as `IODA`.
    label: &'static str,
    /// What it does, in a line.
    summary: &'static str,
    /// Where it comes from: a section of an article, or a product.
    source: &'static str,
    /// What it needs of the drives beyond what any drive can do.
    drive_changes: String,
    /// What it needs of the array, in words.
    array: &'static str,
    /// Whether drives collect in windows under it.
    uses_windows: bool,
}

fn document(args: &PresetsArgs) -> Presets {
    Presets {
        drives: wants(args, Listing::Drives)
            .then(|| drives().map(|config| drive_document(&config, args)).collect()),
        workloads: wants(args, Listing::Workloads)
            .then(|| workload::presets().iter().map(workload_document).collect()),
        policies: wants(args, Listing::Policies)
            .then(|| PolicyKind::ALL.iter().map(|&policy| policy_document(policy)).collect()),
        metrics: wants(args, Listing::Metrics).then(metrics::entries),
    }
}

fn drive_document(config: &Config, args: &PresetsArgs) -> DrivePreset {
    DrivePreset {
        name: config.name.clone(),
        source: source(config),
        fitted: ssd::presets::is_fitted(&config.name),
        exposed_bytes: config.logical_bytes(),
        flash_bytes: config.geometry.raw_bytes(),
        scaled_down: config.geometry.scaled_down,
        settings: DriveSettings::full(config),
        drives: args.drives,
        tw_burst_ms: window(config, args).map(Duration::as_millis_f64),
    }
}

fn workload_document(preset: &workload::Preset) -> WorkloadPreset {
    WorkloadPreset {
        name: preset.name,
        description: preset.description,
        requests: preset.requests,
        read_share: preset.read_share.as_f64(),
        mean_read_bytes: preset.mean_read_bytes,
        mean_write_bytes: preset.mean_write_bytes,
        max_bytes: preset.max_bytes,
        mean_interval_us: preset.mean_interval.as_micros_f64(),
        written_bytes: preset.written_bytes,
    }
}

fn policy_document(policy: PolicyKind) -> Policy {
    let about = policy.about();
    Policy {
        name: about.name,
        label: about.label,
        summary: about.summary,
        source: about.source,
        drive_changes: about.drive_changes.to_string(),
        array: needed_array(about.needs),
        uses_windows: policy.uses_windows(),
    }
}
