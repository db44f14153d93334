//! SYSTOR'17: `Timestamp,Response,IOType,LUN,Offset,Size`, seconds and bytes, below a header.
//!
//! Rows are written when requests complete, so they are not sorted by their timestamps.

use super::about::{About, Addressing, Cells, Columns, Dated, Reader};
use super::blkparse::Rwbs;
use crate::error::LineProblem;
use crate::trace::TimeUnit;
use crate::trace::raw::{Parsed, RawRequest, Units};
use crate::trace::shape::{columns, is_decimal, is_integer, is_letter};
use crate::trace::{SkipReason, fields, ops};

/// Reads one line. The response time is not used.
pub(in crate::trace) fn parse<'a>(line: &'a str, units: &Units) -> Result<Parsed<'a>, LineProblem> {
    if is_header(line) {
        return Ok(Parsed::Skip(SkipReason::Header));
    }
    let [time, _response, op, lun, offset, size] = fields::split(line, ',', "systor", "6")?;
    let op = match ops::letter(op)? {
        Rwbs::Data(op) => op,
        Rwbs::Skip(reason) => return Ok(Parsed::Skip(reason)),
    };
    Ok(Parsed::Request(RawRequest {
        nanos: fields::time(time, units.time)?,
        op,
        offset_bytes: fields::integer("offset", offset)?.into(),
        size_bytes: fields::integer("size", size)?.into(),
        device: lun,
        durable: false,
    }))
}

/// Whether this is the header, which also occurs inside files that were concatenated.
pub(in crate::trace) fn is_header(line: &str) -> bool {
    line.starts_with("Timestamp,Response,IOType")
}

/// Properties of the format.
pub(super) const ABOUT: About = About {
    name: "systor",
    time_unit: Some(TimeUnit::Seconds),
    counted: Addressing::Bytes,
    reader: Reader::Lines(parse),
    columns: Some(Columns {
        device: Some("column 3"),
        dated: Dated::IfDates,
        ..Columns::new(has_shape, cells)
    }),
};

fn has_shape(line: &str) -> bool {
    matches!(columns(line, ',')[..], [time, response, op, lun, offset, size]
        if is_decimal(time)
            && time.contains('.')
            && (is_decimal(response) || response.trim().is_empty())
            && is_letter(op)
            && is_integer(lun)
            && is_integer(offset)
            && is_integer(size))
}

fn cells(line: &str) -> Option<Cells<'_>> {
    match columns(line, ',')[..] {
        [time, _, op, device, offset, size] => {
            Some((time, device.trim().to_owned(), offset, size, op))
        }
        _ => None,
    }
}
