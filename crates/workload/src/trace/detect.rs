//! What a trace is, told from its first lines, with the evidence.

use super::csv::{Found, Layout, Sample};
use super::parser::{Parsed, Parser, Units};
use super::vscsi::Version;
use super::{Compression, Format, ReadOptions, TimeUnit};
use super::{alibaba, blkparse, blkreplay, csv, fields, fio_iolog, systor};
use crate::error::{OptionError, TraceError, excerpt};
use std::fmt;
use std::ops::Range;
use units::Duration;

/// The sector of every format that counts in sectors.
const SECTOR_BYTES: u64 = 512;
/// Seconds since 1970 that clocks of traces show: from 2000 until 2040.
const CLOCK_S: Range<u64> = 946_684_800..2_208_988_800;

/// What a trace was found to be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Detected {
    /// The format.
    pub format: Format,
    /// The unit of its times.
    pub time_unit: TimeUnit,
    /// The size of a sector where the format counts in sectors; none where it counts in bytes.
    pub sector_bytes: Option<u64>,
    /// How the file is compressed.
    pub compression: Compression,
    /// Whether the first lines have whole seconds only, so that order within a second is lost.
    pub whole_second_clock: bool,
    /// Why, one sentence each.
    pub evidence: Vec<String>,
}

impl fmt::Display for Detected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "format {}, times in {}", self.format, self.time_unit)?;
        match self.sector_bytes {
            Some(bytes) => write!(f, ", sectors of {bytes} B")?,
            None => write!(f, ", addresses in bytes")?,
        }
        write!(f, ", {}", self.compression)?;
        self.evidence.iter().try_for_each(|reason| write!(f, "\n  - {reason}"))
    }
}

/// Decides what a file of records is.
pub(super) fn detect_records(
    version: Version,
    compression: Compression,
    options: &ReadOptions,
) -> Detected {
    let mut evidence = Vec::new();
    if compression != Compression::Plain {
        evidence.push(format!("the first bytes are those of {compression}"));
    }
    if let Some(format) = options.format {
        evidence.push(format!("the format {format} was given"));
    }
    evidence.push(format!(
        "the first records are of {} bytes and of version {} of vscsi",
        version.record_bytes(),
        version.number()
    ));
    let sector_bytes = options.sector_bytes.unwrap_or(SECTOR_BYTES);
    evidence.push(match options.sector_bytes {
        Some(bytes) => format!("the sector size of {bytes} B was given"),
        None => format!("vscsi counts addresses in sectors of {SECTOR_BYTES} B and sizes in bytes"),
    });
    let time_unit = options.time_unit.unwrap_or(TimeUnit::Microseconds);
    evidence.push(match options.time_unit {
        Some(unit) => format!("the time unit {unit} was given"),
        None => format!("vscsi prescribes times in {time_unit}"),
    });
    Detected {
        format: Format::Vscsi,
        time_unit,
        sector_bytes: Some(sector_bytes),
        compression,
        whole_second_clock: false,
        evidence,
    }
}

/// Decides from the first lines of the file; of a CSV with the layout that it has, unless that is the
/// common form.
pub(super) fn detect(
    sample: &Sample<'_>,
    compression: Compression,
    options: &ReadOptions,
) -> Result<(Detected, Option<Layout>), TraceError> {
    let lines = sample.lines;
    let mut evidence = Vec::new();
    if compression != Compression::Plain {
        evidence.push(format!("the first bytes are those of {compression}"));
    }
    let (format, found) = match (options.format, &options.columns) {
        (given, Some(map)) => {
            evidence.push(match given {
                Some(format) => format!("the format {format} was given"),
                None => "a column map was given, so the format is csv".to_owned(),
            });
            let found = csv::by_map(sample, map, options, &mut evidence)?;
            (Format::Csv, Some(found.ok_or_else(|| unrecognised(sample))?))
        }
        (Some(Format::Csv), None) => {
            evidence.push("the format csv was given".to_owned());
            (Format::Csv, given_csv(sample, options, &mut evidence)?)
        }
        (Some(format), None) => {
            evidence.push(format!("the format {format} was given"));
            (format, None)
        }
        (None, None) => find_format(sample, options, &mut evidence)?,
    };
    let (layout, unit_of_layout) = match found {
        Some(Found { layout, time_unit }) => (Some(layout), Some(time_unit)),
        None => (None, None),
    };
    let counts_sectors = match &layout {
        Some(layout) => layout.counts_sectors(),
        None => format.counts_sectors(),
    };
    let sector_bytes = match (counts_sectors, options.sector_bytes) {
        (true, Some(bytes)) => {
            evidence.push(format!("the sector size of {bytes} B was given"));
            Some(bytes)
        }
        (true, None) => {
            evidence.push(format!(
                "{format} counts in sectors of {SECTOR_BYTES} B, as block layers do"
            ));
            Some(SECTOR_BYTES)
        }
        (false, Some(_)) => {
            return Err(OptionError::Conflict {
                option: "sector size",
                reason: format!("the format {format} counts in bytes; leave it out"),
            }
            .into());
        }
        (false, None) => None,
    };
    let units = Units { time: TimeUnit::Nanoseconds, sector_bytes: SECTOR_BYTES };
    let times = sample_times(lines, format, layout.as_ref(), options, units);
    let time_unit = match (options.time_unit, unit_of_layout, format.time_unit()) {
        // Its evidence stands with that of its columns.
        (_, Some(unit), _) => unit,
        (Some(unit), ..) => {
            evidence.push(format!("the time unit {unit} was given"));
            unit
        }
        (None, None, Some(unit)) => {
            evidence.push(format!("{format} prescribes times in {unit}"));
            unit
        }
        (None, None, None) => find_time_unit(&times, &mut evidence),
    };
    let seconds = time_unit == TimeUnit::Seconds;
    let whole_second_clock = seconds && times.len() > 1 && times.iter().all(|t| !t.has_fraction);
    if whole_second_clock {
        evidence.push("all times are whole seconds, so the order within a second is lost".into());
    }
    if let Some(mean) = times.mean_interval() {
        let nanos = mean * time_unit.nanos() as f64;
        evidence.push(format!(
            "mean interval of the first {} requests: {}",
            times.len(),
            Duration::from_nanos(nanos as u64)
        ));
    }
    let detected =
        Detected { format, time_unit, sector_bytes, compression, whole_second_clock, evidence };
    Ok((detected, layout))
}

/// What a CSV has for columns that was said to be one.
fn given_csv(
    sample: &Sample<'_>,
    options: &ReadOptions,
    evidence: &mut Vec<String>,
) -> Result<Option<Found>, TraceError> {
    let first = sample.lines.first().copied().unwrap_or("");
    if csv::is_common_header(first) {
        return Ok(None);
    }
    if let Some(found) = csv::by_header(sample, options, evidence) {
        return found.map(Some);
    }
    // What has too few columns is refused when it is read.
    csv::by_position(sample, options, evidence).transpose()
}

fn unrecognised(sample: &Sample<'_>) -> TraceError {
    let first = sample.lines.first().copied().unwrap_or("");
    TraceError::Unrecognised { name: sample.name.to_owned(), first: excerpt(first) }
}

fn find_format(
    sample: &Sample<'_>,
    options: &ReadOptions,
    evidence: &mut Vec<String>,
) -> Result<(Format, Option<Found>), TraceError> {
    let lines = sample.lines;
    let first = lines.first().copied().unwrap_or("");
    let by_header = [
        (csv::is_common_header(first), Format::Csv),
        (systor::is_header(first), Format::Systor),
        (alibaba::is_header(first), Format::Alibaba),
        (fio_iolog::is_first_line(first, '2'), Format::FioIologV2),
        (fio_iolog::is_first_line(first, '3'), Format::FioIologV3),
    ];
    if let Some((_, format)) = by_header.into_iter().find(|(found, _)| *found) {
        evidence.push(format!("the first line \"{}\" is the header of {format}", excerpt(first)));
        return Ok((format, None));
    }
    let mut shapes: Vec<Format> = lines.iter().filter_map(|line| shape(line)).collect();
    if counts_lines(lines) {
        // The number of a line is no unit of storage.
        shapes.retain(|shape| *shape != Format::Spc);
    }
    let votes = |format: Format| shapes.iter().filter(|shape| **shape == format).count();
    // These have text of their own above the first request, which may be a row of names.
    let has_preamble = votes(Format::Blkparse) > 0
        || votes(Format::Blkreplay) > 0 && (first.contains("replay") || !csv::has_all_names(first));
    if !has_preamble && let Some(found) = csv::by_header(sample, options, evidence) {
        return Ok((Format::Csv, Some(found?)));
    }
    // The reversal makes the first of equals win.
    let winner = Format::ALL.into_iter().rev().max_by_key(|format| votes(*format));
    match winner {
        Some(format) if votes(format) > 0 => {
            evidence.push(format!(
                "{} of the first {} lines have the shape of {format}",
                votes(format),
                lines.len()
            ));
            Ok((format, None))
        }
        _ => match csv::without_header(sample, options, evidence) {
            Some(found) => Ok((Format::Csv, Some(found?))),
            None => Err(unrecognised(sample)),
        },
    }
}

/// Whether the first column counts the lines, as an index does.
fn counts_lines(lines: &[&str]) -> bool {
    let number = |line: &str| fields::integer("", line.split(',').next().unwrap_or("").trim()).ok();
    lines.len() > 2
        && lines
            .windows(2)
            .all(|pair| number(pair[0]).is_some_and(|a| number(pair[1]) == a.checked_add(1)))
}

/// The format whose shape one line has.
fn shape(line: &str) -> Option<Format> {
    let integer = |text: &str| fields::integer("", text.trim()).is_ok();
    let decimal = |text: &str| fields::time(text.trim(), TimeUnit::Nanoseconds).is_ok();
    let letter = |text: &str| fields::letter_op(text.trim()).is_ok();
    let flag = |text: &str| matches!(text.trim(), "0" | "1");
    let words: Vec<&str> = line.split_ascii_whitespace().take(12).collect();
    if words.first().is_some_and(|word| blkparse::is_device(word)) && words.len() >= 7 {
        return Some(Format::Blkparse);
    }
    if blkreplay::is_data(line) && line.split(';').count() == 6 {
        return Some(Format::Blkreplay);
    }
    if let [time, device, sector, sectors, op] = words[..]
        && decimal(time)
        && integer(device)
        && integer(sector)
        && integer(sectors)
        && flag(op)
    {
        return Some(Format::DiskSim);
    }
    let columns: Vec<&str> = line.split(',').take(12).collect();
    match columns[..] {
        [time, _, _, op, offset, size, _]
            if integer(time)
                && !is_clock_of_1970(time)
                && letter(op)
                && integer(offset)
                && integer(size) =>
        {
            Some(Format::Msr)
        }
        [time, response, op, lun, offset, size]
            if decimal(time)
                && time.contains('.')
                && (decimal(response) || response.trim().is_empty())
                && letter(op)
                && integer(lun)
                && integer(offset)
                && integer(size) =>
        {
            Some(Format::Systor)
        }
        [_, op, offset, length, time]
            if letter(op)
                && integer(offset)
                && integer(length)
                && is_clock(time, TimeUnit::Microseconds) =>
        {
            Some(Format::Alibaba)
        }
        [unit, address, size, op, time, ..]
            if integer(unit)
                && integer(address)
                && integer(size)
                && letter(op)
                && decimal(time) =>
        {
            Some(Format::Spc)
        }
        [time, sector, sectors, op, volume]
            if is_clock(time, TimeUnit::Seconds)
                && integer(sector)
                && integer(sectors)
                && flag(op)
                && integer(volume) =>
        {
            Some(Format::Tencent)
        }
        _ => None,
    }
}

/// Whether `text` is a whole number that is a date of our time in `unit`: another column in the same
/// place would hardly be.
fn is_clock(text: &str, unit: TimeUnit) -> bool {
    let per_second = TimeUnit::Seconds.nanos() / unit.nanos();
    fields::integer("", text.trim()).is_ok_and(|count| CLOCK_S.contains(&(count / per_second)))
}

/// Whether `text` counts from 1970 in any unit, and not from 1601 as file times do.
fn is_clock_of_1970(text: &str) -> bool {
    let units =
        [TimeUnit::Seconds, TimeUnit::Milliseconds, TimeUnit::Microseconds, TimeUnit::Nanoseconds];
    units.into_iter().any(|unit| is_clock(text, unit))
}

/// One time as it stands in the file.
struct SampleTime {
    /// In the file's own unit.
    value: f64,
    has_fraction: bool,
    /// Whether there are more than three digits behind the point.
    is_fine: bool,
}

/// The times of the first requests.
struct SampleTimes(Vec<SampleTime>);

impl SampleTimes {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn iter(&self) -> impl Iterator<Item = &SampleTime> {
        self.0.iter()
    }

    /// In the file's own unit; none if there are fewer than two requests or no time passes.
    fn mean_interval(&self) -> Option<f64> {
        let values = || self.0.iter().map(|time| time.value);
        let span = values().fold(f64::MIN, f64::max) - values().fold(f64::MAX, f64::min);
        (self.0.len() > 1 && span > 0.0).then(|| span / (self.0.len() - 1) as f64)
    }
}

/// Reads the sample with a throwaway parser, taking times in millionths of the file's unit, so
/// that fractions survive; lines that cannot be read are left for the real reading to report.
fn sample_times(
    lines: &[&str],
    format: Format,
    layout: Option<&Layout>,
    options: &ReadOptions,
    units: Units,
) -> SampleTimes {
    let in_millionths = Units { time: TimeUnit::Milliseconds, ..units };
    let in_ones = Units { time: TimeUnit::Nanoseconds, ..units };
    let mut parser = Parser::new(format, layout, options);
    let mut times = Vec::new();
    for line in lines {
        // A time that is too large in millionths, such as a file time, is taken without them.
        let parsed = match parser.parse(line, &in_millionths) {
            Ok(parsed) => Ok((parsed, 1_000_000)),
            Err(_) => parser.parse(line, &in_ones).map(|parsed| (parsed, 1)),
        };
        if let Ok((Parsed::Request(request), per_unit)) = parsed {
            times.push(SampleTime {
                value: request.nanos as f64 / per_unit as f64,
                has_fraction: request.nanos % per_unit != 0,
                is_fine: request.nanos % per_unit % 1_000 != 0,
            });
        }
    }
    SampleTimes(times)
}

/// Chooses between s, ms, µs and ns where the format leaves it open. DiskSim writes milliseconds
/// with a fraction; its descendants write whole µs or ns. The mean interval decides: block traces
/// have one between some µs and some ms, so the unit that brings it nearest to 1 ms (on a
/// logarithmic scale) wins, unless all times are multiples of 1000, which is a µs clock written
/// in ns.
fn find_time_unit(times: &SampleTimes, evidence: &mut Vec<String>) -> TimeUnit {
    let has_fraction = times.iter().any(|time| time.has_fraction);
    let Some(mean) = times.mean_interval() else {
        evidence.push(
            "the first requests have no two different times, so milliseconds are assumed as in \
             DiskSim; give the time unit if that is wrong"
                .to_owned(),
        );
        return TimeUnit::Milliseconds;
    };
    let is_fine = times.iter().any(|time| time.is_fine);
    let multiples = |of: f64| times.iter().all(|time| time.value % of == 0.0);
    if !has_fraction && times.len() >= 20 && multiples(1_000.0) {
        evidence.push(
            "all times are whole multiples of 1000, which is a clock of microseconds written in \
             nanoseconds; give the time unit if that is wrong"
                .to_owned(),
        );
        return TimeUnit::Nanoseconds;
    }
    let candidates: &[TimeUnit] = if has_fraction {
        &[TimeUnit::Milliseconds, TimeUnit::Seconds, TimeUnit::Microseconds]
    } else {
        &[TimeUnit::Microseconds, TimeUnit::Nanoseconds, TimeUnit::Milliseconds]
    };
    let mut best = (candidates[0], f64::MAX);
    for (rank, unit) in candidates.iter().enumerate() {
        let interval_ms = mean * unit.nanos() as f64 / 1e6;
        // The order of the candidates is their likelihood: one decade for each step down, and
        // two more for seconds with a clock of milliseconds, which is coarser than any tracer's.
        let coarse = *unit == TimeUnit::Seconds && !is_fine;
        let distance =
            libm::log10(interval_ms).abs() + rank as f64 + if coarse { 2.0 } else { 0.0 };
        if distance < best.1 {
            best = (*unit, distance);
        }
    }
    let (unit, _) = best;
    let digits = if has_fraction { "have a fraction" } else { "are whole numbers" };
    let interval = Duration::from_nanos((mean * unit.nanos() as f64) as u64);
    evidence.push(format!(
        "times {digits} with a mean step of {mean:.3}: in {unit} that is {interval}, nearest to \
         the intervals that block traces have; give the time unit if that is wrong"
    ));
    unit
}
