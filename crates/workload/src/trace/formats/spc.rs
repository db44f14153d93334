//! SPC trace format: `ASU,LBA,bytes,r|w,seconds` and optional further columns. The address counts
//! sectors, the size counts bytes.

use super::about::{About, Addressing, Cells, Columns, Reader};
use crate::error::LineProblem;
use crate::trace::TimeUnit;
use crate::trace::csv::times;
use crate::trace::fields;
use crate::trace::raw::{Parsed, RawRequest, Units};
use crate::trace::shape::{columns, is_decimal, is_integer, is_letter};

/// Reads one line. Columns beyond the fifth are application specific and not used.
pub(in crate::trace) fn parse<'a>(line: &'a str, units: &Units) -> Result<Parsed<'a>, LineProblem> {
    let mut columns = [""; 5];
    let mut found = 0;
    for part in line.split(',') {
        if found < columns.len() {
            columns[found] = part.trim();
        }
        found += 1;
    }
    if found < columns.len() {
        return Err(fields::columns_problem(line, found, "spc", "5 or more"));
    }
    let [unit, address, size, op, time] = columns;
    Ok(Parsed::Request(RawRequest {
        nanos: fields::time(time, units.time)?,
        op: fields::letter_op(op)?,
        offset_bytes: units.sectors(fields::integer("address", address)?),
        size_bytes: fields::integer("size", size)?.into(),
        device: unit,
        durable: false,
    }))
}

/// Properties of the format.
pub(super) const ABOUT: About = About {
    name: "spc",
    time_unit: Some(TimeUnit::Seconds),
    counted: Addressing::SectorsOfBytes,
    reader: Reader::Lines(parse),
    columns: Some(Columns {
        device: Some("column 0"),
        devices_from_zero: true,
        are_written,
        ..Columns::new(has_shape, cells)
    }),
};

fn has_shape(line: &str) -> bool {
    matches!(columns(line, ',')[..], [unit, address, size, op, time, ..]
        if is_integer(unit)
            && is_integer(address)
            && is_integer(size)
            && is_letter(op)
            && is_decimal(time))
}

fn cells(line: &str) -> Option<Cells<'_>> {
    match columns(line, ',')[..] {
        [device, offset, size, op, time, ..] => {
            Some((time, device.trim().to_owned(), offset, size, op))
        }
        _ => None,
    }
}

/// Whether times are in microseconds or finer. At less than one request per second, milliseconds
/// would be as likely.
fn are_written(values: &[&str]) -> bool {
    let digits = |text: &&str| text.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let slow = times::rate(values, TimeUnit::Seconds).is_some_and(|rate| rate < 1.0);
    values.iter().all(|text| digits(text) >= 6) && !slow
}
