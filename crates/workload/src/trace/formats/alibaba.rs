//! Alibaba block traces: `device,R|W,offset,length,microseconds`, bytes.

use super::about::{About, Addressing, Cells, Columns, Dated, Reader};
use super::blkparse::Rwbs;
use crate::error::LineProblem;
use crate::trace::TimeUnit;
use crate::trace::raw::{Parsed, RawRequest, Units};
use crate::trace::shape::{columns, is_clock, is_integer, is_letter};
use crate::trace::{SkipReason, fields, ops};

/// Reads one line.
pub(in crate::trace) fn parse<'a>(line: &'a str, units: &Units) -> Result<Parsed<'a>, LineProblem> {
    if is_header(line) {
        return Ok(Parsed::Skip(SkipReason::Header));
    }
    let [device, op, offset, length, time] = fields::split(line, ',', "alibaba", "5")?;
    let op = match ops::letter(op)? {
        Rwbs::Data(op) => op,
        Rwbs::Skip(reason) => return Ok(Parsed::Skip(reason)),
    };
    Ok(Parsed::Request(RawRequest {
        nanos: fields::time(time, units.time)?,
        op,
        offset_bytes: fields::integer("offset", offset)?.into(),
        size_bytes: fields::integer("length", length)?.into(),
        device,
        durable: false,
    }))
}

/// Whether this is the header, which is in the published description but not in the files.
pub(in crate::trace) fn is_header(line: &str) -> bool {
    line.starts_with("device_id,opcode,offset,length")
}

/// Properties of the format.
pub(super) const ABOUT: About = About {
    name: "alibaba",
    time_unit: Some(TimeUnit::Microseconds),
    counted: Addressing::Bytes,
    reader: Reader::Lines(parse),
    columns: Some(Columns {
        device: Some("column 0"),
        many_devices: true,
        dated: Dated::ByShape,
        ..Columns::new(has_shape, cells)
    }),
};

fn has_shape(line: &str) -> bool {
    matches!(columns(line, ',')[..], [_, op, offset, length, time]
        if is_letter(op)
            && is_integer(offset)
            && is_integer(length)
            && is_clock(time, TimeUnit::Microseconds))
}

fn cells(line: &str) -> Option<Cells<'_>> {
    match columns(line, ',')[..] {
        [device, op, offset, size, time] => {
            Some((time, device.trim().to_owned(), offset, size, op))
        }
        _ => None,
    }
}
