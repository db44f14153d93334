//! Table 2 with the rows that it lacks.

use super::answer::{Answer, Judged};
use super::rotation::Rotating;
use super::sentence::word;
use super::simulated::{Found, Simulated};
use ssd::{Config, Printed};
use study::metric::three_digits;
use study::table;
use units::{Duration, GIB, MIB};

/// A row: its name, and what it says about an array.
type Row = (&'static str, fn(&Answer) -> String);

fn mib(bytes: f64) -> String {
    three_digits(bytes / MIB as f64)
}

fn gib(bytes: f64) -> String {
    three_digits(bytes / GIB as f64)
}

fn millis(duration: Duration) -> String {
    three_digits(duration.as_millis_f64())
}

/// A window in ms, or `any` where the formula sets no bound.
fn window(window: Option<Duration>) -> String {
    window.map_or_else(|| "any".to_owned(), millis)
}

/// `value`, which is shown as `text`, and what the article printed if that is another number.
fn beside(
    answer: &Answer,
    text: String,
    value: f64,
    printed: fn(&Printed) -> Option<f64>,
) -> String {
    match answer.printed.as_ref().and_then(printed) {
        Some(printed) if printed != value.round() => format!("{text} [{printed}]"),
        _ => text,
    }
}

fn article(
    answer: &Answer,
    load: fn(&Config) -> f64,
    printed: fn(&Printed) -> Option<f64>,
) -> String {
    let config = answer.config();
    let window = config.window_parameters().longest_window(answer.question.array, load(config));
    let value = window.map_or(f64::NAN, Duration::as_millis_f64);
    beside(answer, self::window(window), value, printed)
}

const DRIVE_ROWS: [Row; 21] = [
    ("S_blk MiB", |a| mib(a.config().block_bytes() as f64)),
    ("S_t GiB", |a| gib(a.config().geometry.raw_bytes() as f64)),
    ("S_p GiB", |a| {
        let bytes = a.config().over_provisioned_bytes();
        beside(a, gib(bytes), bytes / GIB as f64, |p| Some(p.over_provisioned_gib))
    }),
    ("  usable share of S_p", |a| format!("{:.1}%", a.config().contract.usable_share * 100.0)),
    ("  usable GiB", |a| gib(a.config().window_parameters().usable_bytes())),
    ("  between watermarks GiB", |a| gib(a.config().watermark_bytes())),
    ("T_gc ms", |a| millis(a.config().unit_time(a.config().contract.valid_ratio))),
    ("  T_gc likely, steady state", |a| millis(a.config().likely_unit_time())),
    ("  T_gc worst, one invalid", |a| millis(a.config().worst_unit_time())),
    ("S_r MiB", |a| {
        let bytes = a.config().reclaimed_bytes();
        beside(a, mib(bytes), bytes / MIB as f64, |p| Some(p.reclaimed_mib))
    }),
    ("B_gc MiB/s", |a| {
        let rate = a.config().collection_bytes_per_second();
        beside(a, mib(rate), rate / MIB as f64, |p| Some(p.collection_mib_per_second))
    }),
    ("write amplification", |a| format!("{:.2}", a.config().steady_write_amplification())),
    ("N_dwpd", |a| format!("{}", a.config().contract.drive_writes_per_day)),
    ("B_norm MiB/s", |a| {
        let rate = a.config().normal_bytes_per_second();
        beside(a, mib(rate), rate / MIB as f64, |p| Some(p.normal_mib_per_second))
    }),
    ("B_burst MiB/s", |a| mib(a.config().contract.burst_bytes_per_second)),
    ("  dies can program MiB/s", |a| mib(a.config().program_bytes_per_second())),
    ("N_ssd", |a| a.question.array.width.to_string()),
    ("  busy at once, k", |a| a.question.array.busy_drives().to_string()),
    ("TW_norm ms", |a| article(a, Config::normal_bytes_per_second, |p| p.normal_window_ms)),
    ("TW_burst ms", |a| {
        article(a, |config| config.contract.burst_bytes_per_second, |p| p.burst_window_ms)
    }),
    ("shortest window ms", |a| millis(a.config().shortest_window(a.question.guard))),
];

type RotationRow = (&'static str, fn(&Rotating) -> String);

/// Rows of drives with RAIN whose dies take turns (TTFLASH, Table 3).
const ROTATION_ROWS: [RotationRow; 5] = [
    ("rotation: T_gc/s ms, at most", |r| three_digits(r.most.collection_share() * 1e3)),
    ("  widest N, at most", |r| r.most.widest().to_string()),
    ("rotation: T_gc/s ms at N_dwpd", |r| three_digits(r.rated.collection_share() * 1e3)),
    ("  widest N at N_dwpd", |r| r.rated.widest().to_string()),
    ("  least write buffer MiB", |r| mib(r.least_buffer_bytes)),
];

type LoadRow = (&'static str, fn(&Judged) -> String);

const LOAD_ROWS: [LoadRow; 9] = [
    ("longest window ms", |j| millis(j.outlook.longest)),
    (SIMULATED, |j| found(j, |found| millis(found.window))),
    (SIMULATED_OVER_BOUND, |j| found(j, |found| format!("{:.2}", found.over_formula))),
    ("  judged window ms", |j| j.outlook.window.map_or_else(|| "-".to_owned(), millis)),
    ("  sustained MiB/s", |j| mib(j.outlook.sustainable_bytes_per_second)),
    ("verdict", |j| word(j.outlook.verdict)),
    ("  quiet: buffer MiB", |j| mib(j.outlook.quiet.buffer_bytes)),
    ("  quiet: sustained MiB/s", |j| mib(j.outlook.quiet.sustainable_bytes_per_second)),
    ("  quiet: verdict", |j| word(j.outlook.quiet.verdict)),
];

/// Rows that are there only if something was simulated.
const SIMULATED: &str = "  simulated ms";
const SIMULATED_OVER_BOUND: &str = "  simulated / longest";

fn found(judged: &Judged, show: fn(&Found) -> String) -> String {
    judged.simulated.as_ref().and_then(Simulated::found).map_or_else(|| "-".to_owned(), show)
}

fn is_simulated(answers: &[Answer]) -> bool {
    answers.iter().flat_map(|answer| &answer.judged).any(|judged| judged.simulated.is_some())
}

/// Header and rows: a row's name, then one cell per array.
pub(crate) fn cells(answers: &[Answer]) -> (Vec<String>, Vec<Vec<String>>) {
    let mut header = vec!["per drive".to_owned()];
    header.extend(answers.iter().map(|answer| answer.config().name.clone()));
    let mut rows: Vec<Vec<String>> = DRIVE_ROWS
        .iter()
        .map(|(name, show)| {
            std::iter::once((*name).to_owned()).chain(answers.iter().map(show)).collect()
        })
        .collect();
    let rotating: Vec<Option<Rotating>> =
        answers.iter().map(|answer| Rotating::of(answer.config())).collect();
    if rotating.iter().any(Option::is_some) {
        rows.extend(ROTATION_ROWS.iter().map(|(name, show)| {
            let cell = |one: &Option<Rotating>| one.as_ref().map_or_else(|| "-".to_owned(), show);
            std::iter::once((*name).to_owned()).chain(rotating.iter().map(cell)).collect()
        }));
    }
    // Every array is asked about the same loads.
    let loads = answers.iter().map(|answer| answer.judged.len()).min().unwrap_or(0);
    for index in 0..loads {
        let judged = || answers.iter().map(move |answer| &answer.judged[index]);
        let mut title = vec![format!("under {}", answers[0].judged[index].load)];
        title.extend(
            judged().map(|j| format!("{}/s", size(j.outlook.promise.load_bytes_per_second))),
        );
        rows.push(title);
        let wanted = |(name, _): &&LoadRow| {
            is_simulated(answers) || ![SIMULATED, SIMULATED_OVER_BOUND].contains(name)
        };
        rows.extend(LOAD_ROWS.iter().filter(wanted).map(|(name, show)| {
            std::iter::once(format!("  {name}")).chain(judged().map(show)).collect()
        }));
    }
    (header, rows)
}

fn size(bytes: f64) -> String {
    format!("{} MiB", mib(bytes))
}

/// The table for the terminal.
pub(crate) fn render(answers: &[Answer]) -> String {
    let (header, rows) = cells(answers);
    table::numbers(&header, &rows)
}

/// What the rows mean.
pub(crate) fn legend(answers: &[Answer]) -> Vec<&'static str> {
    let mut lines = vec![
        "TW_norm and TW_burst are the article's formula, unrounded and without guards. The longest \
         window is the bound that also holds where collection outruns the load, with victims as \
         full as in steady state and guards included; the shortest is one likely collection and \
         two guards.",
        "Write amplification is of one drive in the steady state: pages of flash programmed per page that \
         is written to it.",
        "Sustained are the uniform random writes that windows of the length that is judged give back \
         for ever, when free space is down to the hard watermark. Skewed writes may be less. What \
         holds for a burst only would hold for ever with a load below that, fewer drives, more of \
         them busy at once, or more spare space, with which victims hold less valid data.",
        "Quiet is the same where the write buffer is flushed in windows as well (docs/quiet.md): the \
         buffer that a drive needs for the window that is judged, and less for a shorter one.",
    ];
    if is_simulated(answers) {
        lines.push(
            "Simulated is the longest window, to 2 %, in which one drive at rest bears a burst of \
             a cycle. Such a drive has what lies between its watermarks, so that is its usable \
             share here.",
        );
    }
    let differs = |answer: &Answer| DRIVE_ROWS.iter().any(|(_, show)| show(answer).contains('['));
    if answers.iter().any(differs) {
        lines.push(
            "[n] is what the article prints: its table goes on with rows that are rounded to whole \
             units.",
        );
    }
    lines
}
