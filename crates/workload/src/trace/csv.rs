//! Plain CSV: the common form, or the columns of a map.

use super::SkipReason;
use super::columns::{AddressUnit, Column, ColumnMap};
use super::fields;
use super::parser::{Parsed, RawRequest, Units};
use crate::Op;
use crate::error::{LineProblem, excerpt};

/// The header of the common form; a fifth column `dev` may follow.
pub(super) const COMMON_HEADER: &str = "t_us,op,offset_bytes,size_bytes";

/// Whether this is the header of the common form.
pub(super) fn is_common_header(line: &str) -> bool {
    let line = line.trim_end();
    line == COMMON_HEADER || line.strip_prefix(COMMON_HEADER) == Some(",dev")
}

/// The state of the reader.
#[derive(Clone, Debug)]
pub(super) struct Csv {
    map: Option<ColumnMap>,
    places: Places,
    first_line: bool,
}

/// Where the columns are, once the header has been seen.
#[derive(Clone, Copy, Debug)]
struct Places {
    time: usize,
    op: usize,
    offset: usize,
    size: usize,
    device: Option<usize>,
}

impl Csv {
    pub(super) fn new(map: Option<&ColumnMap>) -> Self {
        let places = Places { time: 0, op: 1, offset: 2, size: 3, device: None };
        Self { map: map.cloned(), places, first_line: true }
    }

    /// Reads one line.
    pub(super) fn parse<'a>(
        &mut self,
        line: &'a str,
        units: &Units,
    ) -> Result<Parsed<'a>, LineProblem> {
        let first = std::mem::replace(&mut self.first_line, false);
        let Self { map, places, .. } = self;
        match map {
            None if is_common_header(line) => Ok(Parsed::Skip(SkipReason::Header)),
            None => read_common(line, units),
            Some(map) => {
                if first {
                    let (resolved, has_header) = places_in(map, line, units)?;
                    *places = resolved;
                    if has_header {
                        return Ok(Parsed::Skip(SkipReason::Header));
                    }
                }
                let addresses = [map.offset_unit, map.size_unit];
                read_mapped(line, map.separator, *places, map.op_words.as_ref(), units, addresses)
            }
        }
    }
}

/// The column at `place`, without blanks around it.
fn column(line: &str, separator: char, place: usize) -> Option<&str> {
    if separator == ' ' {
        line.split_ascii_whitespace().nth(place)
    } else {
        line.split(separator).nth(place).map(str::trim)
    }
}

/// Finds the columns of `map` by means of the first line, and whether that line is a header.
fn places_in(map: &ColumnMap, line: &str, units: &Units) -> Result<(Places, bool), LineProblem> {
    let mut by_name = false;
    let mut find = |wanted: &Column| match wanted {
        Column::Position(position) => Ok(*position),
        Column::Name(name) => {
            by_name = true;
            let same = |index: &usize| column(line, map.separator, *index) == Some(name.as_str());
            let columns = line.split(map.separator).count();
            (0..columns).find(same).ok_or_else(|| LineProblem::NoSuchColumn {
                column: excerpt(name),
                header: excerpt(line),
            })
        }
    };
    let places = Places {
        time: find(&map.time)?,
        op: find(&map.op)?,
        offset: find(&map.offset)?,
        size: find(&map.size)?,
        device: map.device.as_ref().map(find).transpose()?,
    };
    // Without names, a first line whose every number is a word must be a header.
    let is_number = |place: usize| {
        column(line, map.separator, place).is_none_or(|text| fields::time(text, units.time).is_ok())
    };
    let no_numbers =
        !is_number(places.time) && !is_number(places.offset) && !is_number(places.size);
    Ok((places, by_name || no_numbers))
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
    let [time, op, offset, size, device] = columns;
    Ok(Parsed::Request(RawRequest {
        nanos: fields::time(time, units.time)?,
        op: fields::letter_op(op)?,
        offset_bytes: fields::integer_or_float("offset", offset)?.into(),
        size_bytes: fields::integer_or_float("size", size)?.into(),
        device,
    }))
}

/// Reads a line by the places of a column map.
fn read_mapped<'a>(
    line: &'a str,
    separator: char,
    places: Places,
    op_words: Option<&(String, String)>,
    units: &Units,
    [offset_unit, size_unit]: [AddressUnit; 2],
) -> Result<Parsed<'a>, LineProblem> {
    let get = |place| {
        column(line, separator, place).ok_or_else(|| {
            let found = line.split(separator).count();
            fields::columns_problem(line, found, "the column map", "more")
        })
    };
    let op_text = get(places.op)?;
    let op = match op_words {
        None => fields::letter_op(op_text)?,
        Some((read, _)) if op_text == read => Op::Read,
        Some((_, write)) if op_text == write => Op::Write,
        Some(_) => {
            return Err(fields::operation(op_text, "the two words of op in the column map"));
        }
    };
    let bytes = |count: u64, unit| match unit {
        AddressUnit::Bytes => u128::from(count),
        AddressUnit::Sectors => units.sectors(count),
    };
    let offset = fields::integer_or_float("offset", get(places.offset)?)?;
    let size = fields::integer_or_float("size", get(places.size)?)?;
    Ok(Parsed::Request(RawRequest {
        nanos: fields::time(get(places.time)?, units.time)?,
        op,
        offset_bytes: bytes(offset, offset_unit),
        size_bytes: bytes(size, size_unit),
        device: places.device.and_then(|place| column(line, separator, place)).unwrap_or(""),
    }))
}
