//! Alibaba block traces: `device,R|W,offset,length,microseconds`, bytes.

use super::blkparse::Rwbs;
use super::raw::{Parsed, RawRequest, Units};
use super::{SkipReason, fields, ops};
use crate::error::LineProblem;

/// Reads one line.
pub(super) fn parse<'a>(line: &'a str, units: &Units) -> Result<Parsed<'a>, LineProblem> {
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

/// Whether this is the header, which the published description has and the files do not.
pub(super) fn is_header(line: &str) -> bool {
    line.starts_with("device_id,opcode,offset,length")
}
