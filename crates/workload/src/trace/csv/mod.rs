//! Plain CSV: the common form, or columns by the header, the values or a map.

pub(super) mod addresses;
mod columns;
mod cut;
mod draft;
mod header;
mod layout;
mod moments;
mod settle;
mod snoops;
pub(super) mod times;

pub(super) use columns::AddressUnit;
pub use columns::ColumnMap;
pub(super) use draft::{Sample, by_header, by_map, by_position, has_all_names, without_header};
pub(super) use layout::Layout;
pub(super) use settle::Found;

use super::SkipReason;
use super::formats::blkparse::Rwbs;
use super::raw::{Parsed, RawRequest, Units};
use super::{fields, ops};
use crate::Op;
use crate::error::{LineProblem, excerpt};
use layout::{DEVICE, DEVICE_END, NAMES, OFFSET, OP, OpMeaning, SIZE, TIME};
use moments::Clock;

/// The header of the common form; a fifth column `dev` may follow.
pub(super) const COMMON_HEADER: &str = "t_us,op,offset_bytes,size_bytes";

/// Known words for operations, as messages list them.
const KNOWN_OPS: &str = "R, W, Read, Write, Read10, Write(16), WS, RA, TRIM, DISCARD, UNMAP, FLUSH, \
                         SYNC and the like; where the words are others, --columns says which read \
                         and write, such as op=COLUMN:0/1";

/// Half a day, in nanoseconds.
const HALF_A_DAY: u64 = 43_200_000_000_000;

/// Whether this is the header of the common form.
pub(super) fn is_common_header(line: &str) -> bool {
    let line = line.trim_end();
    line == COMMON_HEADER || line.strip_prefix(COMMON_HEADER) == Some(",dev")
}

/// The state of the reader.
#[derive(Clone, Debug)]
pub(super) struct Csv {
    /// `None` for the common form.
    layout: Option<Layout>,
    /// Last time of day, if times have no date.
    last_in_day: u64,
}

impl Csv {
    pub(super) fn new(layout: Option<&Layout>) -> Self {
        Self { layout: layout.cloned(), last_in_day: 0 }
    }

    /// Reads one line.
    pub(super) fn parse<'a>(
        &mut self,
        line: &'a str,
        units: &Units,
    ) -> Result<Parsed<'a>, LineProblem> {
        match &self.layout {
            None if is_common_header(line) => Ok(Parsed::Skip(SkipReason::Header)),
            None => read_common(line, units),
            Some(layout) => {
                // Headers, also in files that were concatenated, cannot be read as requests.
                let parsed = read(layout, line, units)
                    .or_else(|problem| no_request(layout, line).ok_or(problem))?;
                if layout.clock == Clock::Day
                    && let Parsed::Request(request) | Parsed::Flagged(request, _) = parsed
                {
                    // Half a day in the unit of the caller, which may be another for a sample.
                    let half = HALF_A_DAY / 1_000_000_000 * units.time.nanos();
                    if request.nanos.saturating_add(half) < self.last_in_day {
                        return Err(LineProblem::Midnight);
                    }
                    self.last_in_day = request.nanos;
                }
                Ok(parsed)
            }
        }
    }
}

/// Reason to skip a line that cannot be read; `None` without one.
fn no_request<'a>(layout: &Layout, line: &str) -> Option<Parsed<'a>> {
    if layout.header.as_deref() == Some(line) {
        return Some(Parsed::Skip(SkipReason::Header));
    }
    let mut filled = false;
    cut::cut(line, layout.separator, |_, text| filled |= !text.is_empty()).ok()?;
    // Spreadsheets write rows of separators only.
    (!filled).then_some(Parsed::Skip(SkipReason::Blank))
}

/// Reads a line of the common form in one pass.
fn read_common<'a>(line: &'a str, units: &Units) -> Result<Parsed<'a>, LineProblem> {
    let mut columns = [""; 5];
    let mut found = 0;
    for part in line.split(',') {
        if found < columns.len() {
            columns[found] = part.trim();
        }
        found += 1;
    }
    if found != 4 && found != 5 {
        return Err(fields::columns_problem(line, found, "csv", "4 or 5"));
    }
    let [time, word, offset, size, device] = columns;
    let op = match fields::letter_op(word) {
        Ok(op) => op,
        Err(problem) => match ops::word(word) {
            Some(Rwbs::Data(op)) => op,
            Some(Rwbs::Skip(reason)) => return Ok(Parsed::Skip(reason)),
            None => return Err(problem),
        },
    };
    Ok(Parsed::Request(RawRequest {
        nanos: fields::time(time, units.time)?,
        op,
        offset_bytes: fields::integer_or_float("offset", offset)?.into(),
        size_bytes: fields::integer_or_float("size", size)?.into(),
        device,
        durable: ops::is_durable(word),
    }))
}

/// Reads a line by its layout.
fn read<'a>(layout: &Layout, line: &'a str, units: &Units) -> Result<Parsed<'a>, LineProblem> {
    let slots = layout.take(line)?;
    let (op, flag) = match operation(slots[OP], &layout.op)? {
        (Rwbs::Data(op), flag) => (op, flag),
        (Rwbs::Skip(reason), _) => return Ok(Parsed::Skip(reason)),
    };
    if layout.is_snoop
        && let Some(reason) = snoops::without_data(slots[OFFSET], slots[SIZE])
    {
        return Ok(Parsed::Skip(reason));
    }
    let nanos = match layout.clock {
        Clock::Number => fields::time(slots[TIME], units.time)?,
        clock => time_of_clock(slots[TIME], clock, units)?,
    };
    let request = RawRequest {
        nanos,
        op,
        offset_bytes: address(layout, &slots, OFFSET, units)?,
        size_bytes: address(layout, &slots, SIZE, units)?,
        device: between(line, slots[DEVICE], slots[DEVICE_END]),
        durable: ops::is_durable(slots[OP]),
    };
    Ok(match flag {
        Some(flag) => Parsed::Flagged(request, flag),
        None => Parsed::Request(request),
    })
}

/// Text from the beginning of `first` to the end of `last`, which are parts of `line`.
fn between<'a>(line: &'a str, first: &'a str, last: &'a str) -> &'a str {
    let place = |part: &str| (part.as_ptr() as usize).checked_sub(line.as_ptr() as usize);
    match (place(first), place(last)) {
        (Some(start), Some(end)) if !last.is_empty() => {
            line.get(start..end + last.len()).unwrap_or(first)
        }
        _ => first,
    }
}

/// Meaning of the word for an operation, and an unknown flag in it.
fn operation(text: &str, meaning: &OpMeaning) -> Result<(Rwbs, Option<char>), LineProblem> {
    let said = match meaning {
        OpMeaning::Known => {
            return ops::word_and_flag(text).ok_or_else(|| fields::operation(text, KNOWN_OPS));
        }
        OpMeaning::Words(words) => {
            if text == words.read {
                Ok(Rwbs::Data(Op::Read))
            } else if text == words.write {
                Ok(Rwbs::Data(Op::Write))
            } else if words.skip.iter().any(|word| word == text) {
                Ok(Rwbs::Skip(SkipReason::Unwanted))
            } else {
                Err(fields::operation(text, "the words of op in the column map"))
            }
        }
        OpMeaning::Flag { true_writes } => {
            let is = |words: [&str; 4]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
            match (is(["1", "true", "yes", "t"]), is(["0", "false", "no", "f"])) {
                (true, _) if *true_writes => Ok(Rwbs::Data(Op::Write)),
                (_, true) if !*true_writes => Ok(Rwbs::Data(Op::Write)),
                (false, false) => Err(fields::operation(text, "0, 1, true, false, yes, no")),
                _ => Ok(Rwbs::Data(Op::Read)),
            }
        }
    };
    said.map(|said| (said, None))
}

/// A time that is a date or a time of day. All times of a file have one notation: if only some had
/// a zone, these could be hours off.
fn time_of_clock(text: &str, clock: Clock, units: &Units) -> Result<u64, LineProblem> {
    let expected = match clock {
        Clock::Date { zoned: true } => "a date with a zone such as 2023-01-15T12:34:56.789Z",
        Clock::Date { zoned: false } => "a date without a zone such as 2023-01-15T12:34:56.789",
        _ => "a time of day such as 12:34:56.789",
    };
    moments::moment(text)
        .filter(|moment| moment.clock == clock)
        .and_then(|moment| moment.nanos(units.time))
        .ok_or_else(|| fields::not_a_number("time", text, expected))
}

/// A column of addresses or sizes in bytes.
fn address(
    layout: &Layout,
    slots: &[&str],
    slot: usize,
    units: &Units,
) -> Result<u128, LineProblem> {
    let address = if slot == OFFSET { layout.offset } else { layout.size };
    let (column, text) = (NAMES[slot], slots[slot]);
    let number = addresses::number(column, text, address.hexadecimal)?;
    if address.by_values && !number.is_multiple_of(addresses::SECTOR) {
        let typed = layout.typed[usize::from(slot == SIZE)].as_str().into();
        return Err(LineProblem::Doubtful { column, text: excerpt(text), typed });
    }
    Ok(match address.unit {
        AddressUnit::Bytes => number.into(),
        AddressUnit::Sectors => units.sectors(number),
        AddressUnit::Each(bytes) => u128::from(number) * u128::from(bytes),
    })
}
