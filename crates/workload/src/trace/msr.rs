//! MSR Cambridge: `filetime,host,disk,Read|Write,offset,size,response`, bytes and 100 ns ticks.

use super::blkparse::Rwbs;
use super::raw::{Parsed, RawRequest, Units};
use super::{fields, ops};
use crate::error::LineProblem;

/// Reads one line. A device is a host and a disk; the response time is not used, because it is
/// the one of the drives of 2007.
pub(super) fn parse<'a>(line: &'a str, units: &Units) -> Result<Parsed<'a>, LineProblem> {
    let [time, host, disk, op, offset, size, _response] = fields::split(line, ',', "msr", "7")?;
    let op = match ops::letter(op)? {
        Rwbs::Data(op) => op,
        Rwbs::Skip(reason) => return Ok(Parsed::Skip(reason)),
    };
    Ok(Parsed::Request(RawRequest {
        nanos: fields::time(time, units.time)?,
        op,
        offset_bytes: fields::integer("offset", offset)?.into(),
        size_bytes: fields::integer("size", size)?.into(),
        device: device(line, host, disk),
        durable: false,
    }))
}

/// `host,disk` as it stands in the line, so that nothing is allocated per line.
fn device<'a>(line: &'a str, host: &'a str, disk: &'a str) -> &'a str {
    let after_time = line.split_once(',').map_or("", |(_, rest)| rest);
    match after_time.match_indices(',').nth(1) {
        Some((end, _)) if !disk.is_empty() => &after_time[..end],
        _ => host,
    }
}
