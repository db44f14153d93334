//! Everything as JSON. Units stand at the end of the names; windows that do not exist are null.

use super::answer::{Answer, Judged};
use super::rotation::Rotating;
use super::simulated::Simulated;
use super::{curves, sentence};
use report::schema::Document;
use schemars::JsonSchema;
use serde::Serialize;
use ssd::{Printed, Reason, Verdict};
use study::settings::DriveSettings;
use units::Duration;

/// Windows on paper, as `ioda plan --json` writes them.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Plans {
    /// Version of the program.
    ioda_version: &'static str,
    /// One entry for each array.
    plans: Vec<Plan>,
}

impl Document for Plans {
    const SCHEMA: &'static str = "ioda.plan/1";
}

/// What is true of one array.
#[derive(Serialize, JsonSchema)]
struct Plan {
    /// Name of the drive.
    drive: String,
    /// Level of the array, such as `raid5`.
    raid: &'static str,
    /// Number of drives, `N_ssd`.
    drives: u32,
    /// Members of a stripe that can be reconstructed.
    parities: u32,
    /// Drives that may be busy at once, `k`.
    busy_drives: u32,
    /// What was asked of the clocks and windows.
    #[serde(flatten)]
    asked: Asked,
    /// The drive, spelt out as in a `[drive]` section.
    settings: DriveSettings,
    /// What follows from the settings.
    derived: Derived,
    /// The rows of the article's Table 2, with its rounding; null for drives that it does not have.
    printed_table: Option<PrintedTable>,
    /// The verdict about each load.
    loads: Vec<Load>,
    /// `TW_burst` by the article's formula: pairs of a number of drives and a window in
    /// milliseconds.
    tw_burst_ms_by_drives: Vec<(f64, f64)>,
    /// The longest window that is safe: pairs of a load in drive writes per day and a window in
    /// milliseconds.
    longest_window_ms_by_dwpd: Vec<(f64, f64)>,
}

/// Clocks and windows.
#[derive(Serialize, JsonSchema)]
struct Asked {
    /// Most by which the clock of any drive is off, in milliseconds.
    clock_skew_ms: f64,
    /// Time at both ends of each window in which nothing is collected, in milliseconds.
    guard_ms: f64,
    /// The window that is to be judged, in milliseconds; null if the best is looked for.
    window_asked_ms: Option<f64>,
}

/// What follows from the settings of a drive and its array.
#[derive(Serialize, JsonSchema)]
struct Derived {
    /// Space of the drive.
    #[serde(flatten)]
    space: Space,
    /// Collections of the drive.
    #[serde(flatten)]
    collections: Collections,
    /// Rates of the drive.
    #[serde(flatten)]
    rates: Rates,
    /// Windows of the array.
    #[serde(flatten)]
    windows: Windows,
    /// Collections of one die after the other; null of a drive whose dies take no turns.
    rotation: Option<RotationOfDies>,
}

/// Collections of one die after the other, by the formulas of TTFLASH (Table 3).
#[derive(Serialize, JsonSchema)]
struct RotationOfDies {
    /// Time of a second for which a plane collects that takes in all that it can program, in
    /// milliseconds.
    most_collecting_ms_per_second: f64,
    /// The widest stripe at that load, `N`.
    most_widest: u64,
    /// Time of a second for which a plane collects at the drive writes per day for which the drive
    /// is made, in milliseconds.
    rated_collecting_ms_per_second: f64,
    /// The widest stripe at that load, `N`.
    rated_widest: u64,
    /// Bytes of write buffer, at the least.
    least_buffer_bytes: f64,
}

/// Space of a drive.
#[derive(Serialize, JsonSchema)]
struct Space {
    /// Bytes of a block, `S_blk`.
    block_bytes: u64,
    /// Bytes of flash, `S_t`.
    flash_bytes: u64,
    /// Bytes of flash that the host does not see, `S_p`.
    over_provisioned_bytes: f64,
    /// Share of them that may fill in one cycle, from 0 to 1.
    usable_share: f64,
    /// Bytes that may fill in one cycle.
    usable_bytes: f64,
    /// Share of the flash between the watermarks, from 0 to 1.
    watermark_share: f64,
    /// Bytes between the watermarks.
    watermark_bytes: f64,
}

/// Collections of a drive.
#[derive(Serialize, JsonSchema)]
struct Collections {
    /// One collection by the article's formula, `T_gc`, in milliseconds.
    collection_ms: f64,
    /// One collection of a victim that is likely in the steady state, in milliseconds.
    collection_likely_ms: f64,
    /// One collection of the worst victim, in milliseconds.
    collection_worst_ms: f64,
    /// Bytes that one collection reclaims, `S_r`.
    reclaimed_bytes: f64,
    /// Bytes reclaimed for each second of collecting, `B_gc`.
    collection_bytes_per_second: f64,
    /// Share of valid pages in a victim in the steady state, from 0 to 1.
    steady_valid_ratio: f64,
    /// Write amplification of the drive in the steady state: pages of flash programmed per page
    /// written to it, under uniform random overwrites.
    steady_write_amplification: f64,
}

/// Rates of a drive.
#[derive(Serialize, JsonSchema)]
struct Rates {
    /// Drive writes per day of 8 hours for which the drive is made, `N_dwpd`.
    drive_writes_per_day: f64,
    /// The same in bytes per second, `B_norm`.
    normal_bytes_per_second: f64,
    /// Most that the drive takes in, in bytes per second, `B_burst`.
    burst_bytes_per_second: f64,
    /// Most that its dies can program, in bytes per second.
    program_bytes_per_second: f64,
}

/// Windows of an array by the formulas.
#[derive(Serialize, JsonSchema)]
struct Windows {
    /// Windows until each drive had one.
    windows_per_cycle: f64,
    /// `TW_norm` in milliseconds; null where the formula sets no bound.
    tw_norm_ms: Option<f64>,
    /// `TW_burst` in milliseconds; null where the formula sets no bound.
    tw_burst_ms: Option<f64>,
    /// The shortest window that makes sense, in milliseconds: one collection and the guards.
    shortest_window_ms: f64,
}

/// What the article's Table 2 prints of a drive. Its MB and GB are MiB and GiB.
#[derive(Serialize, JsonSchema)]
struct PrintedTable {
    /// `S_blk` in MiB.
    block_mib: f64,
    /// `S_t` in GiB.
    flash_gib: f64,
    /// `S_p` in GiB.
    over_provisioned_gib: f64,
    /// `T_gc` in milliseconds.
    collection_ms: f64,
    /// `S_r` in MiB.
    reclaimed_mib: f64,
    /// `B_gc` in MiB per second.
    collection_mib_per_second: f64,
    /// `B_norm` in MiB per second.
    normal_mib_per_second: f64,
    /// `B_burst` in MiB per second.
    burst_mib_per_second: f64,
    /// `TW_norm` in milliseconds; null where the formula sets no bound.
    tw_norm_ms: Option<f64>,
    /// `TW_burst` in milliseconds; null where the formula sets no bound.
    tw_burst_ms: Option<f64>,
}

/// The verdict about a load.
#[derive(Serialize, JsonSchema)]
struct Load {
    /// The load in words.
    load: String,
    /// Bytes written to each drive in a second.
    load_bytes_per_second: f64,
    /// The same in drive writes per day of 8 hours.
    drive_writes_per_day: f64,
    /// How many times as much as the flash can take in; null if it can take it in.
    times_beyond_flash: Option<f64>,
    /// The windows.
    #[serde(flatten)]
    windows: LoadWindows,
    /// What a simulated drive says.
    #[serde(flatten)]
    simulated: SimulatedWindow,
    /// Bytes per second that can be written for ever with the window; 0 if there is none.
    sustainable_bytes_per_second: f64,
    /// What the policy `quiet` takes, which does all work in windows.
    quiet: Quiet,
    /// `holds`, `burst` (for a while) or `fails`.
    verdict: &'static str,
    /// Why it fails: `no-window`, `too-short` or `too-long`; null if it does not.
    reason: Option<&'static str>,
    /// For how long a burst can be taken, in seconds; null if the verdict is not `burst`.
    burst_lasts_seconds: Option<f64>,
    /// What would help, one change at a time; null if nothing fails.
    advice: Option<Advice>,
    /// The verdict as a sentence.
    sentence: String,
}

/// What it takes to flush the write buffer in windows as well.
#[derive(Serialize, JsonSchema)]
struct Quiet {
    /// Bytes of write buffer that each drive needs; 0 if there is no window.
    buffer_bytes: f64,
    /// The share of each window that the flush takes; above 1 if it takes more than there is.
    flush_share: f64,
    /// Bytes per second that can be written for ever with the window; 0 if there is none.
    sustainable_bytes_per_second: f64,
    /// `holds`, `burst` (for a while) or `fails`.
    verdict: &'static str,
}

/// The windows for a load.
#[derive(Serialize, JsonSchema)]
struct LoadWindows {
    /// What the article's formula gives, in milliseconds; null where it sets no bound.
    article_window_ms: Option<f64>,
    /// The shortest window that makes sense, in milliseconds.
    shortest_window_ms: f64,
    /// The longest window that keeps the contract by the bound that always holds, guards included,
    /// in milliseconds.
    longest_window_ms: f64,
    /// The same where the load is what the flash can program; null if the load is less.
    longest_window_at_flash_ms: Option<f64>,
    /// The window that the verdict is about, in milliseconds; null if there is none.
    window_ms: Option<f64>,
}

/// The longest window that a simulated drive finds; all null without `--simulate`.
#[derive(Serialize, JsonSchema)]
struct SimulatedWindow {
    /// In milliseconds.
    simulated_window_ms: Option<f64>,
    /// As a multiple of the formula's.
    simulated_over_formula: Option<f64>,
    /// By which factor windows of the simulated drive are those of this one.
    simulated_scale: Option<f64>,
    /// How many times smaller the simulated drive is.
    simulated_divisor: Option<u32>,
}

/// What would help, one change at a time; each is null if it would not.
#[derive(Serialize, JsonSchema)]
struct Advice {
    /// So many drives.
    drives: Option<u32>,
    /// A load of so many bytes per second on each drive; 0 if no load would do.
    load_bytes_per_second: f64,
    /// Such a share of the over-provisioned space in one cycle, from 0 to 1.
    usable_share: Option<f64>,
    /// Such a share of the flash that the host does not see, from 0 to 1.
    over_provisioning: Option<f64>,
    /// So many drives that may be busy at once.
    busy_drives: Option<u32>,
}

/// The document.
pub(crate) fn of(answers: &[Answer]) -> Plans {
    Plans { ioda_version: env!("CARGO_PKG_VERSION"), plans: answers.iter().map(plan).collect() }
}

fn plan(answer: &Answer) -> Plan {
    let (question, config) = (&answer.question, answer.config());
    Plan {
        drive: config.name.clone(),
        raid: question.level.name(),
        drives: question.array.width,
        parities: question.parities,
        busy_drives: question.array.busy_drives(),
        asked: Asked {
            clock_skew_ms: question.clock_skew.as_millis_f64(),
            guard_ms: question.guard.as_millis_f64(),
            window_asked_ms: question.window.map(Duration::as_millis_f64),
        },
        settings: DriveSettings::full(config),
        derived: derived(answer),
        printed_table: answer.printed.as_ref().map(printed),
        loads: answer.judged.iter().map(|judged| load(answer, judged)).collect(),
        tw_burst_ms_by_drives: curves::by_width(answer).points,
        longest_window_ms_by_dwpd: curves::by_load(answer).points,
    }
}

fn derived(answer: &Answer) -> Derived {
    let (question, config) = (&answer.question, answer.config());
    let terms = config.window_parameters();
    let window = |load| terms.longest_window(question.array, load).map(Duration::as_millis_f64);
    let normal = config.normal_bytes_per_second();
    let burst = config.contract.burst_bytes_per_second;
    Derived {
        space: Space {
            block_bytes: config.block_bytes(),
            flash_bytes: config.geometry.raw_bytes(),
            over_provisioned_bytes: config.over_provisioned_bytes(),
            usable_share: config.contract.usable_share,
            usable_bytes: terms.usable_bytes(),
            watermark_share: config.watermark_share(),
            watermark_bytes: config.watermark_bytes(),
        },
        collections: Collections {
            collection_ms: config.unit_time(config.contract.valid_ratio).as_millis_f64(),
            collection_likely_ms: config.likely_unit_time().as_millis_f64(),
            collection_worst_ms: config.worst_unit_time().as_millis_f64(),
            reclaimed_bytes: config.reclaimed_bytes(),
            collection_bytes_per_second: config.collection_bytes_per_second(),
            steady_valid_ratio: config.steady_valid_ratio(),
            steady_write_amplification: config.steady_write_amplification(),
        },
        rates: Rates {
            drive_writes_per_day: config.contract.drive_writes_per_day,
            normal_bytes_per_second: normal,
            burst_bytes_per_second: burst,
            program_bytes_per_second: config.program_bytes_per_second(),
        },
        windows: Windows {
            windows_per_cycle: question.array.windows_per_cycle(),
            tw_norm_ms: window(normal),
            tw_burst_ms: window(burst),
            shortest_window_ms: config.shortest_window(question.guard).as_millis_f64(),
        },
        rotation: Rotating::of(config).map(|rotating| RotationOfDies {
            most_collecting_ms_per_second: rotating.most.collection_share() * 1e3,
            most_widest: rotating.most.widest(),
            rated_collecting_ms_per_second: rotating.rated.collection_share() * 1e3,
            rated_widest: rotating.rated.widest(),
            least_buffer_bytes: rotating.least_buffer_bytes,
        }),
    }
}

fn printed(table: &Printed) -> PrintedTable {
    PrintedTable {
        block_mib: table.block_mib,
        flash_gib: table.flash_gib,
        over_provisioned_gib: table.over_provisioned_gib,
        collection_ms: table.unit_time_ms,
        reclaimed_mib: table.reclaimed_mib,
        collection_mib_per_second: table.collection_mib_per_second,
        normal_mib_per_second: table.normal_mib_per_second,
        burst_mib_per_second: table.burst_mib_per_second,
        tw_norm_ms: table.normal_window_ms,
        tw_burst_ms: table.burst_window_ms,
    }
}

fn load(answer: &Answer, judged: &Judged) -> Load {
    let (outlook, advice) = (&judged.outlook, &judged.advice);
    let bytes_per_second = outlook.promise.load_bytes_per_second;
    let (verdict, reason, lasts) = parts(outlook.verdict);
    let found = judged.simulated.as_ref().and_then(Simulated::found);
    Load {
        load: judged.load.to_string(),
        load_bytes_per_second: bytes_per_second,
        drive_writes_per_day: bytes_per_second / answer.config().bytes_per_second(1.0),
        times_beyond_flash: outlook.beyond_flash,
        windows: LoadWindows {
            article_window_ms: outlook.article.map(Duration::as_millis_f64),
            shortest_window_ms: outlook.shortest.as_millis_f64(),
            longest_window_ms: outlook.longest.as_millis_f64(),
            longest_window_at_flash_ms: judged.at_flash.map(|at| at.longest.as_millis_f64()),
            window_ms: outlook.window.map(Duration::as_millis_f64),
        },
        simulated: SimulatedWindow {
            simulated_window_ms: found.map(|found| found.window.as_millis_f64()),
            simulated_over_formula: found.map(|found| found.over_formula),
            simulated_scale: found.map(|found| found.scale.factor),
            simulated_divisor: found.map(|found| found.scale.divisor),
        },
        sustainable_bytes_per_second: outlook.sustainable_bytes_per_second,
        quiet: Quiet {
            buffer_bytes: outlook.quiet.buffer_bytes,
            flush_share: outlook.quiet.flush_share,
            sustainable_bytes_per_second: outlook.quiet.sustainable_bytes_per_second,
            verdict: parts(outlook.quiet.verdict).0,
        },
        verdict,
        reason,
        burst_lasts_seconds: lasts,
        advice: reason.is_some().then_some(Advice {
            drives: advice.width,
            load_bytes_per_second: advice.load_bytes_per_second,
            usable_share: advice.usable_share,
            over_provisioning: advice.over_provisioning,
            busy_drives: advice.busy_drives,
        }),
        sentence: sentence::verdict(answer, judged),
    }
}

/// A verdict as a word, why it fails, and for how many seconds it lasts.
fn parts(verdict: Verdict) -> (&'static str, Option<&'static str>, Option<f64>) {
    match verdict {
        Verdict::Holds => ("holds", None, None),
        Verdict::Bursts { lasts } => ("burst", None, Some(lasts.as_secs_f64())),
        Verdict::Fails(reason) => ("fails", Some(name(reason)), None),
    }
}

/// The reason as a word.
fn name(reason: Reason) -> &'static str {
    match reason {
        Reason::NoWindow => "no-window",
        Reason::TooShort => "too-short",
        Reason::TooLong => "too-long",
    }
}
