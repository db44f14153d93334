//! Detection of a trace's format from its first lines, with the evidence.

use super::csv::{Found, Layout, Sample};
use super::evidence::{self, Counted, Known};
use super::formats::Parser;
use super::formats::vscsi::Version;
use super::formats::{alibaba, fio_iolog, systor};
use super::raw::{Parsed, Units};
use super::{Compression, Format, ReadOptions, TimeUnit};
use super::{csv, shape};
use crate::error::{OptionError, TraceError, excerpt};
use std::fmt;
use units::Duration;

/// The sector of every format that counts in sectors.
const SECTOR_BYTES: u64 = 512;

/// Format and units of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Detected {
    /// The format.
    pub format: Format,
    /// The unit of its times.
    pub time_unit: TimeUnit,
    /// Size of a sector if the format counts in sectors; `None` if it counts in bytes.
    pub sector_bytes: Option<u64>,
    /// Compression of the file.
    pub compression: Compression,
    /// Whether the first lines have whole seconds only, so that the order within a second is
    /// unknown.
    pub whole_second_clock: bool,
    /// Evidence, one sentence each.
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

/// Determines the properties of a file of records.
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

/// A format before its units are known.
enum What {
    /// The common form.
    Common,
    /// Columns in any other form.
    Columns(Box<Found>),
    /// A format with fixed columns.
    Fixed(Format, Known),
}

/// Format, columns and units of a file.
pub(super) struct Told {
    pub(super) detected: Detected,
    /// Layout of a CSV, unless it has the common form.
    pub(super) layout: Option<Layout>,
    /// Whether a part of a sector would contradict the evidence.
    pub(super) whole_sectors: bool,
}

/// Detects the format from the first lines of the file.
pub(super) fn detect(
    sample: &Sample<'_>,
    compression: Compression,
    options: &ReadOptions,
) -> Result<Told, TraceError> {
    let lines = sample.lines;
    let mut evidence = Vec::new();
    if compression != Compression::Plain {
        evidence.push(format!("the first bytes are those of {compression}"));
    }
    let what = match (options.format, &options.columns) {
        (given, Some(map)) => {
            evidence.push(match given {
                Some(format) => format!("the format {format} was given"),
                None => "a column map was given, so the format is csv".to_owned(),
            });
            let found = csv::by_map(sample, map, options, &mut evidence)?;
            What::Columns(Box::new(found.ok_or_else(|| unrecognised(sample))?))
        }
        (Some(Format::Csv), None) => {
            evidence.push("the format csv was given".to_owned());
            given_csv(sample, options, &mut evidence)?
        }
        (Some(format), None) => {
            evidence.push(format!("the format {format} was given"));
            What::Fixed(format, Known::Given)
        }
        (None, None) => find_format(sample, options, &mut evidence)?,
    };
    let (format, layout, counted) = match what {
        What::Fixed(format, known) => {
            let counted = evidence::counted(sample, format, known, options, &mut evidence)?;
            (format, None, counted)
        }
        What::Columns(found) => {
            let Found { layout, time_unit } = *found;
            let sector_bytes = sector_of_csv(layout.counts_sectors(), options, &mut evidence)?;
            // The evidence for the unit is part of that for its columns.
            (Format::Csv, Some(layout), Counted { time: time_unit, sector_bytes, by_values: false })
        }
        What::Common => {
            let sector_bytes = sector_of_csv(false, options, &mut evidence)?;
            let time = options.time_unit.unwrap_or(TimeUnit::Microseconds);
            evidence.push(match options.time_unit {
                Some(unit) => format!("the time unit {unit} was given"),
                None => format!("{} prescribes times in {time}", Format::Csv),
            });
            (Format::Csv, None, Counted { time, sector_bytes, by_values: false })
        }
    };
    let Counted { time: time_unit, sector_bytes, by_values: whole_sectors } = counted;
    let units = Units { time: TimeUnit::Nanoseconds, sector_bytes: SECTOR_BYTES };
    let times = sample_times(lines, format, layout.as_ref(), options, units);
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
    Ok(Told { detected, layout, whole_sectors })
}

/// Bytes of a sector of a CSV, if one of its columns counts sectors.
fn sector_of_csv(
    counts_sectors: bool,
    options: &ReadOptions,
    evidence: &mut Vec<String>,
) -> Result<Option<u64>, TraceError> {
    match (counts_sectors, options.sector_bytes) {
        (true, Some(bytes)) => {
            evidence.push(format!("the sector size of {bytes} B was given"));
            Ok(Some(bytes))
        }
        (true, None) => {
            evidence.push(format!("csv counts in sectors of {SECTOR_BYTES} B, as block layers do"));
            Ok(Some(SECTOR_BYTES))
        }
        (false, Some(_)) => Err(OptionError::Conflict {
            option: "sector size",
            reason: "the format csv counts in bytes; leave it out".to_owned(),
        }
        .into()),
        (false, None) => Ok(None),
    }
}

/// Columns of a file that the options declare to be a CSV.
fn given_csv(
    sample: &Sample<'_>,
    options: &ReadOptions,
    evidence: &mut Vec<String>,
) -> Result<What, TraceError> {
    let first = sample.lines.first().copied().unwrap_or("");
    if csv::is_common_header(first) {
        return Ok(What::Common);
    }
    let found = match csv::by_header(sample, options, evidence) {
        Some(found) => Some(found?),
        // A file with too few columns is refused when it is read.
        None => csv::by_position(sample, options, evidence).transpose()?,
    };
    Ok(found.map_or(What::Common, |found| What::Columns(Box::new(found))))
}

fn unrecognised(sample: &Sample<'_>) -> TraceError {
    let first = sample.lines.first().copied().unwrap_or("");
    TraceError::Unrecognised { name: sample.name.to_owned(), first: excerpt(first) }
}

fn find_format(
    sample: &Sample<'_>,
    options: &ReadOptions,
    evidence: &mut Vec<String>,
) -> Result<What, TraceError> {
    let lines = sample.lines;
    let first = lines.first().copied().unwrap_or("");
    let by_header = [
        (csv::is_common_header(first), What::Common),
        (systor::is_header(first), What::Fixed(Format::Systor, Known::Text)),
        (alibaba::is_header(first), What::Fixed(Format::Alibaba, Known::Text)),
        (fio_iolog::is_first_line(first, '2'), What::Fixed(Format::FioIologV2, Known::Text)),
        (fio_iolog::is_first_line(first, '3'), What::Fixed(Format::FioIologV3, Known::Text)),
    ];
    if let Some((_, what)) = by_header.into_iter().find(|(found, _)| *found) {
        let format = if let What::Fixed(format, _) = what { format } else { Format::Csv };
        evidence.push(format!("the first line \"{}\" is the header of {format}", excerpt(first)));
        return Ok(what);
    }
    let shapes: Vec<Format> = lines.iter().filter_map(|line| shape::shape(line)).collect();
    let votes = |format: Format| shapes.iter().filter(|shape| **shape == format).count();
    // These formats have text above the first request, which may be a row of names.
    let has_preamble = votes(Format::Blkparse) > 0
        || votes(Format::Blkreplay) > 0 && (first.contains("replay") || !csv::has_all_names(first));
    if !has_preamble && let Some(found) = csv::by_header(sample, options, evidence) {
        return Ok(What::Columns(Box::new(found?)));
    }
    // Because of the reversal, the first of equal formats wins.
    let winner = Format::ALL.into_iter().rev().max_by_key(|format| votes(*format));
    let winner = winner.filter(|format| votes(*format) > 0);
    let mut but = None;
    if let Some(format) = winner {
        match shape::no_roles(format, &shape::Rows::of(format, lines)) {
            None => {
                evidence.push(format!(
                    "{} of the first {} lines have the shape of {format}",
                    votes(format),
                    lines.len()
                ));
                let known = if format == Format::Blkparse { Known::Text } else { Known::Shape };
                return Ok(What::Fixed(format, known));
            }
            Some(reason) => {
                but = Some(format!(
                    "it has the shape of {format}, and --format {format} reads it as such, but \
                     {reason}"
                ));
            }
        }
    }
    match csv::without_header(sample, options, evidence) {
        Some(Ok(found)) => Ok(What::Columns(Box::new(found))),
        Some(Err(TraceError::Unclear { name, doubts, map })) => {
            let doubts = but.into_iter().chain([doubts]).collect::<Vec<_>>().join("; ");
            Err(TraceError::Unclear { name, doubts, map })
        }
        Some(Err(error)) => Err(error),
        None => Err(unrecognised(sample)),
    }
}

/// One time in the notation of the file.
struct SampleTime {
    /// Value in the file's own unit.
    value: f64,
    has_fraction: bool,
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

    /// Mean interval in the file's own unit; `None` with fewer than two requests, or if no time
    /// passes.
    fn mean_interval(&self) -> Option<f64> {
        let values = || self.0.iter().map(|time| time.value);
        let span = values().fold(f64::MIN, f64::max) - values().fold(f64::MAX, f64::min);
        (self.0.len() > 1 && span > 0.0).then(|| span / (self.0.len() - 1) as f64)
    }
}

/// Reads the times of the sample with a temporary parser, in millionths of the file's unit, so that
/// fractions survive. Lines that cannot be read are left for the real reading to report.
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
        // A time that is too large in millionths, such as a file time, is read in whole units.
        let parsed = match parser.parse(line, &in_millionths) {
            Ok(parsed) => Ok((parsed, 1_000_000)),
            Err(_) => parser.parse(line, &in_ones).map(|parsed| (parsed, 1)),
        };
        if let Ok((Parsed::Request(request), per_unit)) = parsed {
            times.push(SampleTime {
                value: request.nanos as f64 / per_unit as f64,
                has_fraction: request.nanos % per_unit != 0,
            });
        }
    }
    SampleTimes(times)
}
