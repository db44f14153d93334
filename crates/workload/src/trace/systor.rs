//! SYSTOR'17: `Timestamp,Response,IOType,LUN,Offset,Size`, seconds and bytes, below a header.
//!
//! The rows are written when a request completes, so they are not sorted by their timestamps.

use super::blkparse::Rwbs;
use super::raw::{Parsed, RawRequest, Units};
use super::{SkipReason, fields, ops};
use crate::error::LineProblem;

/// Reads one line. The response time is not used.
pub(super) fn parse<'a>(line: &'a str, units: &Units) -> Result<Parsed<'a>, LineProblem> {
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

/// Whether this is the header, which also stands inside files that were joined.
pub(super) fn is_header(line: &str) -> bool {
    line.starts_with("Timestamp,Response,IOType")
}
