//! What a trace is, told from its first lines, with the evidence.

use super::parser::{Parsed, Parser, Units};
use super::{Compression, Format, ReadOptions, TimeUnit};
use super::{alibaba, blkparse, blkreplay, csv, fields, fio_iolog, systor};
use crate::error::{OptionError, TraceError, excerpt};
use std::fmt;
use units::Duration;

/// The sector of every format that counts in sectors.
const SECTOR_BYTES: u64 = 512;

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

/// Decides from `lines`, the first ones of the file, blank lines and comments left out.
pub(super) fn detect(
    name: &str,
    lines: &[&str],
    compression: Compression,
    options: &ReadOptions,
) -> Result<Detected, TraceError> {
    let mut evidence = Vec::new();
    if compression != Compression::Plain {
        evidence.push(format!("the first bytes are those of {compression}"));
    }
    let format = match (options.format, &options.columns) {
        (Some(format), _) => {
            evidence.push(format!("the format {format} was given"));
            format
        }
        (None, Some(_)) => {
            evidence.push("a column map was given, so the format is csv".to_owned());
            Format::Csv
        }
        (None, None) => find_format(name, lines, &mut evidence)?,
    };
    let counts_sectors = match &options.columns {
        Some(map) => map.counts_sectors(),
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
    let times = sample_times(lines, format, options, units);
    let time_unit = match (options.time_unit, &options.columns, format.time_unit()) {
        (Some(unit), ..) => {
            evidence.push(format!("the time unit {unit} was given"));
            unit
        }
        (None, Some(map), _) => {
            evidence.push(format!("the column map gives times in {}", map.time_unit));
            map.time_unit
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
    Ok(Detected { format, time_unit, sector_bytes, compression, whole_second_clock, evidence })
}

fn find_format(
    name: &str,
    lines: &[&str],
    evidence: &mut Vec<String>,
) -> Result<Format, TraceError> {
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
        return Ok(format);
    }
    let shapes: Vec<Format> = lines.iter().filter_map(|line| shape(line)).collect();
    let votes = |format: Format| shapes.iter().filter(|shape| **shape == format).count();
    // The reversal makes the first of equals win.
    let winner = Format::ALL.into_iter().rev().max_by_key(|format| votes(*format));
    match winner {
        Some(format) if votes(format) > 0 => {
            evidence.push(format!(
                "{} of the first {} lines have the shape of {format}",
                votes(format),
                lines.len()
            ));
            Ok(format)
        }
        _ => Err(TraceError::Unrecognised { name: name.to_owned(), first: excerpt(first) }),
    }
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
    if blkreplay::is_data(line) {
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
            if integer(time) && letter(op) && integer(offset) && integer(size) =>
        {
            Some(Format::Msr)
        }
        [time, _, op, _, offset, size]
            if decimal(time) && letter(op) && integer(offset) && integer(size) =>
        {
            Some(Format::Systor)
        }
        [_, op, offset, length, time]
            if letter(op) && integer(offset) && integer(length) && integer(time) =>
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
            if integer(time)
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
    options: &ReadOptions,
    units: Units,
) -> SampleTimes {
    let in_millionths = Units { time: TimeUnit::Milliseconds, ..units };
    let in_ones = Units { time: TimeUnit::Nanoseconds, ..units };
    let mut parser = Parser::new(format, options);
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
