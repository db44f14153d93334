//! Units of the times, addresses and sizes of a format with fixed columns.
//!
//! The format prescribes them unless the values contradict. Without a prescribed unit, the values
//! must exclude all units but one.

use super::csv::times::{self, Verdict};
use super::csv::{AddressUnit, Sample, addresses};
use super::formats::Addressing;
use super::shape::Rows;
use super::{Format, ReadOptions, TimeUnit};
use crate::error::{OptionError, TraceError, excerpt};
use addresses::SECTOR;

/// Fewer lines than this do not distinguish sectors from larger units.
const FEW: usize = 20;

/// Evidence for a format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Known {
    /// The options give the format.
    Given,
    /// A header or the text of the lines shows it.
    Text,
    /// The lines have the shape of the format, which other files may have too.
    Shape,
}

/// Units of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Counted {
    pub(super) time: TimeUnit,
    /// Bytes of a sector; `None` if addresses and sizes are bytes.
    pub(super) sector_bytes: Option<u64>,
    /// Bytes were inferred from multiples of 512, so a later value that is no multiple contradicts
    /// this.
    pub(super) by_values: bool,
}

/// Doubts, each with the option that resolves it.
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

/// Units of `sample`, which has the format `format`.
pub(super) fn counted(
    sample: &Sample<'_>,
    format: Format,
    known: Known,
    options: &ReadOptions,
    evidence: &mut Vec<String>,
) -> Result<Counted, TraceError> {
    let rows = Rows::of(format, sample.lines);
    let mut open = Open::default();
    let columns = format.about().columns.as_ref();
    evidence.extend(columns.and_then(|columns| columns.reads).map(str::to_owned));
    let sector_bytes = sector(format, known, &rows, options, evidence, &mut open)?;
    let time = time(format, known, &rows, options, evidence, &mut open);
    if format.is_like_disksim() && known == Known::Shape {
        flags(time, &rows, options, &mut open);
    }
    if open.doubts.is_empty() {
        let by_values = format.counts_sectors() && sector_bytes.is_none();
        return Ok(Counted { time, sector_bytes, by_values });
    }
    // Giving the format means sectors, so bytes have to be given in addition.
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

/// Adds a doubt about the value of the flag for reads. It follows from the unit of times: no
/// relative of DiskSim has seconds or dates.
fn flags(time: TimeUnit, rows: &Rows<'_>, options: &ReadOptions, open: &mut Open) {
    let share = |flag: &str| {
        let count = rows.ops.iter().filter(|op| **op == flag).count();
        format!("{} % reads", count * 100 / rows.ops.len().max(1))
    };
    if !open.doubts.is_empty() {
        open.doubts.push(format!("a request reads where its flag is 1: {}", share("1")));
    } else if options.time_unit.is_none()
        && (time == TimeUnit::Seconds || times::are_dates(&rows.times))
    {
        open.add(
            format!(
                "in the columns of DiskSim, MQSim and SSDSim 1 reads, but none of these has such \
                 times (the first is \"{}\"): if 1 reads it has {}, if 0 reads {}",
                excerpt(rows.times.first().copied().unwrap_or("")),
                share("1"),
                share("0")
            ),
            format!(
                "--format disksim --time-unit {time} if 1 reads, or describe the columns with \
                 --columns"
            ),
        );
    }
}

/// Unit of the times. An unknown unit adds a doubt to `open`, and the result has no meaning.
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
        (Known::Given, Some(unit)) if !is_other(&rows.times, unit) => {
            evidence.push(format!("{format} prescribes times in {unit}"));
            return unit;
        }
        // The text of these formats says what their numbers mean.
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
        (Some(unit), _) if known != Known::Given && writes_as_prescribed(format, &rows.times) => {
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
        None if format.is_like_disksim() => format!(
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

/// Whether times are dates in another unit than `unit`, or impossible in it.
fn is_other(values: &[&str], unit: TimeUnit) -> bool {
    let is_date = || {
        times::are_dates(values)
            && matches!(times::unit_of(values), Verdict::Sure(found, _) if found != unit)
    };
    !values.is_empty() && (times::contradicts(values, unit).is_some() || is_date())
}

/// Units that times may have.
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

/// Request rates of times in each of `units`, behind a colon.
fn readings(values: &[&str], units: &[TimeUnit]) -> String {
    let readings: Vec<String> = units.iter().map(|unit| times::reading(values, *unit)).collect();
    format!(": {}", readings.join(", "))
}

/// Times are written as `format` always writes them, though their unit alone is not sure.
fn writes_as_prescribed(format: Format, values: &[&str]) -> bool {
    format.about().columns.as_ref().is_some_and(|columns| (columns.are_written)(values))
}

/// Bytes of a sector; `None` if addresses and sizes are bytes.
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
        } else if known != Known::Given && addresses::are_parts(&rows.offsets, &rows.sizes) {
            let both = [AddressUnit::Bytes, AddressUnit::Sectors];
            let readings = addresses::readings(&rows.offsets, &both, false);
            open.add(
                format!(
                    "{format} counts addresses in bytes, but most of these are no multiples of \
                     {SECTOR}, as all sizes are{readings}"
                ),
                bytes_or_columns(format),
            );
        }
        return Ok(None);
    }
    if let Some(bytes) = options.sector_bytes {
        evidence.push(format!("the sector size of {bytes} B was given"));
        return Ok(Some(bytes));
    }
    let sizes_are_bytes = format.about().counted == Addressing::SectorsOfBytes;
    let whole = || rows.sizes.iter().all(|size| size.is_multiple_of(SECTOR));
    if sizes_are_bytes && known == Known::Shape && (are_short(&rows.sizes) || !whole()) {
        open.add(sizes_doubt(format, &rows.sizes), bytes_or_columns(format));
        return Ok(Some(SECTOR));
    }
    let by_shape = known == Known::Shape && format.is_like_disksim();
    let bytes = why_bytes(rows, sizes_are_bytes, by_shape);
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
        None => match no_sectors(rows, sizes_are_bytes).filter(|_| known == Known::Shape) {
            Some(why) => open.add(
                format!(
                    "{format} counts in sectors of {SECTOR} B, but {why}{}",
                    both_readings(rows)
                ),
                format!("--sector-bytes {SECTOR} or --sector-bytes 4096 or --sector-bytes 1024"),
            ),
            None => evidence
                .push(format!("{format} counts in sectors of {SECTOR} B, as block layers do")),
        },
    }
    Ok(Some(SECTOR))
}

/// Evidence that addresses and sizes are bytes, although the format counts sectors. With
/// `sizes_are_bytes`, the format already has sizes in bytes, and they are not examined. Evidence
/// from sizes alone is a doubt only, unless `sure`.
fn why_bytes(rows: &Rows<'_>, sizes_are_bytes: bool, sure: bool) -> Option<String> {
    let is_sector = |bytes: &u64| bytes.is_multiple_of(SECTOR);
    if !rows.offsets.iter().all(is_sector) || !rows.sizes.iter().all(is_sector) {
        return None;
    }
    let least = rows.sizes.iter().min().copied();
    let of_offsets = addresses::offsets_are_bytes(&rows.offsets, least);
    if sizes_are_bytes {
        let anywhere = rows.offsets.iter().any(|offset| *offset > 0);
        let all = || anywhere.then(|| format!("all are multiples of {SECTOR}"));
        return of_offsets.or_else(all);
    }
    let of_sizes = addresses::sizes_are_bytes(&rows.sizes)?;
    match of_offsets {
        Some(of_offsets) => Some(format!("of the sizes {of_sizes}; of the addresses {of_offsets}")),
        None => (!sure).then(|| format!("of the sizes {of_sizes}")),
    }
}

/// Evidence that addresses and sizes are sectors. Bytes would be whole sectors, but these are not,
/// and most requests are whole pages of 4 KiB. Addresses that are multiples of 4, but not of 8,
/// would be pages in KiB.
fn why_sectors(rows: &Rows<'_>) -> Option<String> {
    let count =
        |values: &[u64], of: u64| values.iter().filter(|value| value.is_multiple_of(of)).count();
    let (sizes, offsets) = (&rows.sizes, &rows.offsets);
    let (lines, whole) = (sizes.len(), count(sizes, 8));
    let parts = count(sizes, SECTOR) < lines && count(offsets, SECTOR) < lines;
    let kib = count(offsets, 4) == lines && count(offsets, 8) < lines;
    let short = *sizes.iter().max()? <= (1 << 30) / SECTOR;
    (lines >= FEW && parts && short && !kib && whole * 10 >= lines * 9).then(|| {
        format!(
            "no bytes, because not all are multiples of {SECTOR}; {whole} of {lines} sizes are \
             multiples of 8, as pages of 4 KiB are"
        )
    })
}

/// Evidence that the unit is larger than a sector: requests of whole pages begin anywhere between
/// pages, or hardly any request is whole pages. With `sizes_are_bytes`, sizes are in bytes.
fn no_sectors(rows: &Rows<'_>, sizes_are_bytes: bool) -> Option<String> {
    let (lines, in_page) = (rows.sizes.len(), 8);
    let page = if sizes_are_bytes { in_page * SECTOR } else { in_page };
    let whole = rows.sizes.iter().filter(|size| size.is_multiple_of(page)).count();
    if lines < FEW {
        return None;
    }
    let all = |values: &[u64], of: u64| values.iter().all(|value| value.is_multiple_of(of));
    let halves = all(&rows.sizes, 4) && all(&rows.offsets, 4) && whole * 10 < lines * 9;
    if !sizes_are_bytes && (whole * 2 < lines || halves) {
        return Some(format!("only {whole} of {lines} sizes are then whole pages of 4 KiB"));
    }
    // A partition shifts all of them by the same amount.
    let mut shifts = [0_usize; 8];
    rows.offsets.iter().for_each(|offset| shifts[(offset % in_page) as usize] += 1);
    let alike = shifts.into_iter().max().unwrap_or(0);
    (whole * 10 >= lines * 9 && alike * 4 < lines * 3).then(|| {
        format!(
            "{whole} of {lines} requests are then whole pages of 4 KiB that begin at all places \
             between them"
        )
    })
}

/// Whether most sizes are below a sector, so that they are hardly bytes.
fn are_short(sizes: &[u64]) -> bool {
    let short = sizes.iter().filter(|size| **size < SECTOR).count();
    short * 2 > sizes.len()
}

fn bytes_or_columns(format: Format) -> String {
    format!("--format {format} if they are bytes, or their unit in --columns")
}

fn sizes_doubt(format: Format, sizes: &[u64]) -> String {
    let readings = addresses::readings(sizes, &[AddressUnit::Bytes, AddressUnit::Sectors], true);
    format!("{format} counts sizes in bytes, but these are no whole sectors of {SECTOR}{readings}")
}

/// Mean size and last address in bytes and in sectors, behind a colon.
fn both_readings(rows: &Rows<'_>) -> String {
    let both = [AddressUnit::Bytes, AddressUnit::Sectors];
    let sizes = addresses::readings(&rows.sizes, &both, true);
    let offsets = addresses::readings(&rows.offsets, &both, false);
    format!("{sizes}{}", offsets.replacen(':', ",", 1))
}
