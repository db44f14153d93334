//! Shape of the lines of a file: the format with that shape, and whether the columns can have the
//! contents of that format.

use super::csv::{addresses, times};
use super::formats::{Addressing, Columns, Dated};
use super::{Format, TimeUnit, fields};
use std::collections::HashSet;
use std::ops::Range;

/// Seconds since 1970 of plausible clocks: from 2000 until 2040.
const CLOCK_S: Range<u64> = 946_684_800..2_208_988_800;
/// Seconds since 1601 of plausible file times: the same years.
const FILE_TIMES_S: Range<u64> = 12_591_158_400..13_853_462_400;
/// Fewer lines than this say little about repeated values.
const FEW: usize = 20;
/// Length in bytes that most requests stay below.
const LONG_REQUEST: u64 = 2 << 20;
/// Number that a device of a few lines stays below.
const LARGE_DEVICE: u64 = 4_096;
/// Number that one of several devices stays below in formats that number them from 0.
const MANY_DEVICES: u64 = 256;

/// Format with the shape of one line.
pub(super) fn shape(line: &str) -> Option<Format> {
    Format::ALL.into_iter().find(|format| {
        let columns = format.about().columns.as_ref();
        columns.and_then(|columns| columns.has_shape).is_some_and(|has_shape| has_shape(line))
    })
}

/// First columns of a line, enough to distinguish formats by their number.
pub(super) fn columns(line: &str, separator: char) -> Vec<&str> {
    line.split(separator).take(12).collect()
}

/// Whether `text` is a whole number.
pub(super) fn is_integer(text: &str) -> bool {
    fields::integer("", text.trim()).is_ok()
}

/// Whether `text` is a number of zero or more.
pub(super) fn is_decimal(text: &str) -> bool {
    fields::time(text.trim(), TimeUnit::Nanoseconds).is_ok()
}

/// Whether `text` is an operation in letters.
pub(super) fn is_letter(text: &str) -> bool {
    fields::letter_op(text.trim()).is_ok()
}

/// Whether `text` is 0 or 1.
pub(super) fn is_flag(text: &str) -> bool {
    matches!(text.trim(), "0" | "1")
}

/// Whether `text` is a whole number that is a plausible date in `unit`; other columns hardly have
/// such numbers.
pub(super) fn is_clock(text: &str, unit: TimeUnit) -> bool {
    let per_second = TimeUnit::Seconds.nanos() / unit.nanos();
    fields::integer("", text.trim()).is_ok_and(|count| CLOCK_S.contains(&(count / per_second)))
}

/// Whether `text` counts from 1970 in any unit, and not from 1601 as file times do.
pub(super) fn is_clock_of_1970(text: &str) -> bool {
    let units =
        [TimeUnit::Seconds, TimeUnit::Milliseconds, TimeUnit::Microseconds, TimeUnit::Nanoseconds];
    units.into_iter().any(|unit| is_clock(text, unit))
}

/// Whether all times are plausible file times. A count in any other unit would span years.
pub(super) fn are_file_times(times: &[&str]) -> bool {
    times.iter().all(|text| {
        text.parse().is_ok_and(|ticks: u64| FILE_TIMES_S.contains(&(ticks / 10_000_000)))
    })
}

/// Columns of the lines that have the shape of a format, a line at each index.
#[derive(Default)]
pub(super) struct Rows<'a> {
    pub(super) times: Vec<&'a str>,
    pub(super) devices: Vec<String>,
    pub(super) offsets: Vec<u64>,
    pub(super) sizes: Vec<u64>,
    pub(super) ops: Vec<&'a str>,
    /// Numbers in the column behind those of the format, where it has numbers.
    further: Vec<u64>,
}

impl<'a> Rows<'a> {
    /// Rows of `format` whose addresses and sizes are numbers. Formats whose text names each number
    /// have none.
    pub(super) fn of(format: Format, lines: &[&'a str]) -> Self {
        let mut rows = Self::default();
        let Some(columns) = &format.about().columns else { return rows };
        for line in lines {
            let Some((time, device, offset, size, op)) = (columns.cells)(line) else { continue };
            let number = |text: &str| fields::integer("", text.trim()).ok();
            if let (Some(offset), Some(size)) = (number(offset), number(size)) {
                rows.times.push(time.trim());
                rows.devices.push(device);
                rows.offsets.push(offset);
                rows.sizes.push(size);
                rows.ops.push(op.trim());
                if format == Format::Spc {
                    rows.further.extend(line.split(',').nth(5).and_then(number));
                }
            }
        }
        rows
    }
}

/// Reason why the columns of `rows` cannot be those of `format`; `None` if they can.
pub(super) fn no_roles(format: Format, rows: &Rows<'_>) -> Option<String> {
    let columns = format.about().columns.as_ref()?;
    let label = columns.device?;
    let dated = match columns.dated {
        Dated::No => false,
        Dated::ByShape => true,
        Dated::IfDates => times::are_dates(&rows.times),
        Dated::IfFileTimes => are_file_times(&rows.times),
    };
    no_device(label, columns, dated, rows)
        .or_else(|| if dated { None } else { no_times(&rows.times) })
        .or_else(|| swapped(format, rows))
        .or_else(|| if format.is_like_disksim() { no_flag(rows) } else { None })
        .or_else(|| further(rows))
}

/// Reason why the column of devices has other contents. More lines are needed if times are dates,
/// as the format prescribes. A few lines are no reason if everything else fits MSR or SYSTOR.
fn no_device(label: &str, columns: &Columns, dated: bool, rows: &Rows<'_>) -> Option<String> {
    let is_sure = dated && columns.dated != Dated::ByShape;
    let count = rows.devices.len();
    let distinct = rows.devices.iter().collect::<HashSet<_>>().len();
    let numbers: Vec<u64> = rows.devices.iter().filter_map(|text| text.parse().ok()).collect();
    let grows =
        numbers.len() == count && distinct > 1 && numbers.windows(2).all(|pair| pair[0] <= pair[1]);
    let least = if dated { 8 } else { 3 };
    // Files that are sorted by device have many lines for each device.
    let often = !dated || distinct * 4 >= count;
    if count >= least && grows && often {
        return Some(format!(
            "{label}, which would be the device, grows with the lines as times and counters do"
        ));
    }
    let most = match count {
        0..FEW if is_sure => count,
        0..100 => (count * 3 / 4).max(1),
        _ if columns.many_devices => count * 3 / 4,
        _ => count / 2,
    };
    if distinct > most {
        return Some(format!(
            "{label}, which would be the device, has {distinct} values in {count} lines"
        ));
    }
    if !dated && distinct == count && numbers.iter().any(|number| *number >= LARGE_DEVICE) {
        return Some(format!(
            "{label}, which would be the device, has numbers as large as {}",
            numbers.iter().max().copied().unwrap_or(0)
        ));
    }
    if columns.devices_from_zero
        && distinct > 1
        && numbers.iter().any(|number| *number >= MANY_DEVICES)
    {
        return Some(format!(
            "{label}, which would be the device, has numbers as large as {}",
            numbers.iter().max().copied().unwrap_or(0)
        ));
    }
    let are_sizes = numbers.len() == count
        && distinct > 1
        && numbers.iter().all(|number| *number > 0 && number.is_multiple_of(8));
    (!dated && are_sizes).then(|| {
        format!("{label}, which would be the device, has multiples of 8 only, as sizes are")
    })
}

/// Reason why the times have other contents: most are earlier than a time before them.
fn no_times(times: &[&str]) -> Option<String> {
    let numbers: Vec<f64> = times.iter().filter_map(|text| text.parse().ok()).collect();
    let mut latest = f64::MIN;
    let mut late = 0;
    for number in &numbers {
        late += usize::from(*number < latest);
        latest = latest.max(*number);
    }
    (numbers.len() >= FEW && late * 2 > numbers.len())
        .then(|| format!("what would be the times goes back in {late} of {} lines", numbers.len()))
}

/// Reason why the addresses have other contents: the sizes look more like addresses. A few lines
/// are a reason only if requests would be longer than on most systems.
fn swapped(format: Format, rows: &Rows<'_>) -> Option<String> {
    let distinct = |values: &[u64]| values.iter().collect::<HashSet<_>>().len();
    let most = |values: &[u64]| values.iter().max().copied().unwrap_or(0);
    let (offsets, sizes) = (&rows.offsets, &rows.sizes);
    let in_sectors = format.about().counted == Addressing::Sectors;
    let long = if in_sectors { LONG_REQUEST / 512 } else { LONG_REQUEST };
    let more = if sizes.len() < FEW && most(sizes) > long {
        distinct(sizes) >= distinct(offsets)
    } else {
        distinct(sizes) > distinct(offsets)
    };
    (more && most(sizes) > most(offsets)).then(|| {
        format!(
            "what would be the size goes up to {}, and what would be the address to {}",
            most(sizes),
            most(offsets)
        )
    })
}

/// Reason why the addresses have other contents: a column behind those of the format reaches
/// further, as addresses do.
fn further(rows: &Rows<'_>) -> Option<String> {
    let is_whole = rows.further.len() == rows.offsets.len();
    (is_whole && addresses::are_swapped(&rows.offsets, &rows.further)).then(|| {
        format!(
            "what would be the address goes up to {}, and the column behind those of the format to {}",
            rows.offsets.iter().max().copied().unwrap_or(0),
            rows.further.iter().max().copied().unwrap_or(0)
        )
    })
}

/// Reason why the last column of DiskSim's order may not be the operation: the second column may be
/// the operation, and the last column a stream.
fn no_flag(rows: &Rows<'_>) -> Option<String> {
    let has = |text: &str| rows.devices.iter().any(|device| device == text);
    let only_flags = rows.devices.iter().all(|device| device == "0" || device == "1");
    let constant = rows.ops.windows(2).all(|pair| pair[0] == pair[1]);
    let is_open = only_flags && has("1") && (has("0") || constant);
    is_open.then(|| {
        "the operation may be column 1 as well as column 4, for both have nothing but 0 and 1"
            .to_owned()
    })
}
