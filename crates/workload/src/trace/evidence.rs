//! What the times, addresses and sizes of a format with fixed columns count: what the format
//! prescribes, as far as the values do not speak against it, and what the values alone tell where
//! nothing is prescribed.

use super::csv::times::{self, Verdict};
use super::csv::{AddressUnit, Sample, addresses};
use super::shape::{Rows, are_file_times};
use super::{Format, ReadOptions, TimeUnit};
use crate::error::{OptionError, TraceError, excerpt};
use addresses::SECTOR;

/// How a format is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Known {
    /// It was given.
    Given,
    /// A header or a text of its own says it.
    Text,
    /// The lines have its shape, as those of other files may.
    Shape,
}

/// What the numbers of a trace count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Counted {
    pub(super) time: TimeUnit,
    /// `None` where addresses and sizes are bytes.
    pub(super) sector_bytes: Option<u64>,
}

/// What is not known, and what is typed to say it.
#[derive(Default)]
struct Open {
    doubts: Vec<String>,
    typed: Vec<String>,
}

impl Open {
    fn add(&mut self, doubt: String, typed: String) {
        self.doubts.push(doubt);
        self.typed.push(typed);
    }
}

/// What the numbers of `sample` count, which is of `format`.
pub(super) fn counted(
    sample: &Sample<'_>,
    format: Format,
    known: Known,
    options: &ReadOptions,
    evidence: &mut Vec<String>,
) -> Result<Counted, TraceError> {
    let rows = Rows::of(format, sample.lines);
    let mut open = Open::default();
    let sector_bytes = sector(format, known, &rows, options, evidence, &mut open)?;
    let time = time(format, known, &rows, options, evidence, &mut open);
    if open.doubts.is_empty() {
        return Ok(Counted { time, sector_bytes });
    }
    // Who types the format of a file whose bytes were told by the values must say them as well.
    if sector_bytes.is_none() && format.is_like_disksim() {
        open.add(
            format!(
                "its addresses and sizes are bytes, where these formats have sectors{}",
                both_readings(&rows)
            ),
            "--sector-bytes 1".to_owned(),
        );
    }
    Err(TraceError::Undecided {
        name: sample.name.to_owned(),
        doubts: open.doubts.join("; "),
        advice: format!("type {}", open.typed.join(" and ")),
    })
}

/// The unit of the times; any if it is not known, which `open` then says.
fn time(
    format: Format,
    known: Known,
    rows: &Rows<'_>,
    options: &ReadOptions,
    evidence: &mut Vec<String>,
    open: &mut Open,
) -> TimeUnit {
    if let Some(unit) = options.time_unit {
        evidence.push(format!("the time unit {unit} was given"));
        return unit;
    }
    // The relatives of DiskSim have the same shape and other units.
    let prescribed = match known {
        Known::Shape if format.is_like_disksim() => None,
        _ => format.time_unit(),
    };
    let verdict = match (known, prescribed) {
        (Known::Given, Some(unit)) => {
            evidence.push(format!("{format} prescribes times in {unit}"));
            return unit;
        }
        // The text of these formats says what their numbers are.
        (_, Some(unit)) if rows.times.is_empty() => {
            evidence.push(format!("{format} prescribes times in {unit}"));
            return unit;
        }
        // Lines without times are reported when they are read.
        _ if rows.times.is_empty() => return TimeUnit::Nanoseconds,
        _ => times::unit_of(&rows.times),
    };
    match (prescribed, verdict) {
        (Some(unit), Verdict::Sure(found, why)) if found == unit => {
            evidence.push(format!("{format} prescribes times in {unit}, and {why}"));
            return unit;
        }
        (Some(unit), _) if writes_as_prescribed(format, &rows.times) => {
            evidence
                .push(format!("{format} prescribes times in {unit}, which these are written as"));
            return unit;
        }
        (None, Verdict::Sure(unit, why)) => {
            evidence.push(format!("the times are in {unit}: {why}"));
            return unit;
        }
        _ => {}
    }
    let units = open_units(format, rows);
    let first = rows.times.first().copied().unwrap_or("");
    let readings = readings(&rows.times, &units);
    let doubt = match prescribed {
        _ if format.is_like_disksim() => format!(
            "its columns are those of DiskSim, MQSim and SSDSim, whose times have different units \
             (the first is \"{}\"){readings}",
            excerpt(first)
        ),
        Some(unit) => format!(
            "{format} prescribes times in {unit}, but these may be others (the first is \
             \"{}\"){readings}",
            excerpt(first)
        ),
        None => format!(
            "the unit of the times is not said (the first is \"{}\"){readings}",
            excerpt(first)
        ),
    };
    let each: Vec<String> = units.iter().map(|unit| format!("--time-unit {unit}")).collect();
    let mut typed = each.join(" or ");
    if format.is_like_disksim() && known == Known::Shape {
        typed.push_str(" (--format disksim means ms, and --format mqsim ns)");
    }
    open.add(doubt, typed);
    prescribed.unwrap_or(TimeUnit::Nanoseconds)
}

/// The units that times may have.
fn open_units(format: Format, rows: &Rows<'_>) -> Vec<TimeUnit> {
    let mut units: Vec<TimeUnit> = match times::unit_of(&rows.times) {
        Verdict::Sure(unit, _) => vec![unit],
        Verdict::Open(readings) => readings.units.into_iter().map(|(unit, _)| unit).collect(),
    };
    units.extend(format.time_unit());
    units.sort_unstable();
    units.dedup();
    units
}

/// What times would mean in each of `units`, behind a colon.
fn readings(values: &[&str], units: &[TimeUnit]) -> String {
    let readings: Vec<String> = units.iter().map(|unit| times::reading(values, *unit)).collect();
    format!(": {}", readings.join(", "))
}

/// Whether times that may have several units are written as those of `format` always are.
fn writes_as_prescribed(format: Format, values: &[&str]) -> bool {
    let digits = |text: &&str| text.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    match format {
        Format::Msr => are_file_times(values),
        // Its tables have fractions where others have whole numbers.
        Format::Blkreplay => true,
        // Microseconds or finer; below a request a second, milliseconds would be as likely.
        Format::Spc => {
            let slow = times::rate(values, TimeUnit::Seconds).is_some_and(|rate| rate < 1.0);
            values.iter().all(|text| digits(text) >= 6) && !slow
        }
        _ => false,
    }
}

/// Bytes of a sector, `None` where addresses and sizes are bytes.
fn sector(
    format: Format,
    known: Known,
    rows: &Rows<'_>,
    options: &ReadOptions,
    evidence: &mut Vec<String>,
    open: &mut Open,
) -> Result<Option<u64>, TraceError> {
    if !format.counts_sectors() {
        if options.sector_bytes.is_some() {
            return Err(OptionError::Conflict {
                option: "sector size",
                reason: format!("the format {format} counts in bytes; leave it out"),
            }
            .into());
        }
        if known == Known::Shape && are_short(&rows.sizes) {
            open.add(sizes_doubt(format, &rows.sizes), bytes_or_columns(format));
        }
        return Ok(None);
    }
    if let Some(bytes) = options.sector_bytes {
        evidence.push(format!("the sector size of {bytes} B was given"));
        return Ok(Some(bytes));
    }
    let sizes_are_bytes = format == Format::Spc;
    if sizes_are_bytes && known == Known::Shape && are_short(&rows.sizes) {
        open.add(sizes_doubt(format, &rows.sizes), bytes_or_columns(format));
        return Ok(Some(SECTOR));
    }
    let bytes = why_bytes(rows, sizes_are_bytes);
    let by_shape = known == Known::Shape && format.is_like_disksim();
    match bytes {
        Some(why) if by_shape => {
            evidence.push(format!("addresses and sizes are in bytes: {why}"));
            return Ok(None);
        }
        Some(why) => {
            let what = if sizes_are_bytes { "addresses" } else { "addresses and sizes" };
            open.add(
                format!(
                    "{format} counts {what} in sectors, but here they may be bytes ({why}){}",
                    both_readings(rows)
                ),
                "--sector-bytes 1 or --sector-bytes 512".to_owned(),
            );
            return Ok(Some(SECTOR));
        }
        None if by_shape => match why_sectors(rows) {
            Some(why) => {
                evidence.push(format!("addresses and sizes are in sectors of {SECTOR} B: {why}"));
            }
            None if rows.sizes.is_empty() => {}
            None => open.add(
                format!("what its addresses and sizes count is not said{}", both_readings(rows)),
                "--sector-bytes 512 or --sector-bytes 1".to_owned(),
            ),
        },
        None => {
            evidence.push(format!("{format} counts in sectors of {SECTOR} B, as block layers do"))
        }
    }
    Ok(Some(SECTOR))
}

/// Why addresses and sizes are bytes, though the format counts sectors; only addresses where
/// `sizes_are_bytes` anyhow.
fn why_bytes(rows: &Rows<'_>, sizes_are_bytes: bool) -> Option<String> {
    let is_sector = |bytes: &u64| bytes.is_multiple_of(SECTOR);
    if !rows.offsets.iter().all(is_sector) || !rows.sizes.iter().all(is_sector) {
        return None;
    }
    let least = rows.sizes.iter().min().copied();
    let of_offsets = addresses::offsets_are_bytes(&rows.offsets, least);
    if sizes_are_bytes {
        return of_offsets;
    }
    let of_sizes = addresses::sizes_are_bytes(&rows.sizes)?;
    let of_offsets = of_offsets?;
    Some(format!("of the sizes {of_sizes}; of the addresses {of_offsets}"))
}

/// Why addresses and sizes are sectors: no block layer has requests of parts of a sector, and most
/// requests are whole pages of 4 KiB.
fn why_sectors(rows: &Rows<'_>) -> Option<String> {
    let count =
        |values: &[u64], of: u64| values.iter().filter(|value| value.is_multiple_of(of)).count();
    let (lines, whole) = (rows.sizes.len(), count(&rows.sizes, 8));
    let parts = count(&rows.sizes, SECTOR) < lines && count(&rows.offsets, SECTOR) < lines;
    let least = rows.sizes.iter().max()?;
    let short = *least <= (1 << 30) / SECTOR;
    (parts && short && whole * 10 >= lines * 9).then(|| {
        format!(
            "no bytes, because not all are multiples of {SECTOR}; {whole} of {lines} sizes are \
             multiples of 8, as pages of 4 KiB are"
        )
    })
}

/// Whether sizes that should be bytes look like sectors: most are shorter than one.
fn are_short(sizes: &[u64]) -> bool {
    let short = sizes.iter().filter(|size| **size < SECTOR).count();
    short * 2 > sizes.len()
}

fn bytes_or_columns(format: Format) -> String {
    format!("--format {format} if they are bytes, or their unit in --columns")
}

fn sizes_doubt(format: Format, sizes: &[u64]) -> String {
    let readings = addresses::readings(sizes, &[AddressUnit::Bytes, AddressUnit::Sectors], true);
    format!("{format} counts sizes in bytes, but most of these are below {SECTOR}{readings}")
}

/// What addresses and sizes mean in both units, behind a colon.
fn both_readings(rows: &Rows<'_>) -> String {
    let both = [AddressUnit::Bytes, AddressUnit::Sectors];
    let sizes = addresses::readings(&rows.sizes, &both, true);
    let offsets = addresses::readings(&rows.offsets, &both, false);
    format!("{sizes}{}", offsets.replacen(':', ",", 1))
}
