//! MSR Cambridge: `filetime,host,disk,Read|Write,offset,size,response`, bytes and 100 ns ticks.

use super::about::{About, Addressing, Cells, Columns, Dated, Reader};
use super::blkparse::Rwbs;
use crate::error::LineProblem;
use crate::trace::TimeUnit;
use crate::trace::raw::{Parsed, RawRequest, Units};
use crate::trace::shape::{are_file_times, columns, is_clock_of_1970, is_integer, is_letter};
use crate::trace::{fields, ops};

/// Reads one line. A device is a host and a disk. The response time is not used, because it belongs
/// to the drives of 2007.
pub(in crate::trace) fn parse<'a>(line: &'a str, units: &Units) -> Result<Parsed<'a>, LineProblem> {
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

/// `host,disk` as in the line, so that nothing is allocated per line.
fn device<'a>(line: &'a str, host: &'a str, disk: &'a str) -> &'a str {
    let after_time = line.split_once(',').map_or("", |(_, rest)| rest);
    match after_time.match_indices(',').nth(1) {
        Some((end, _)) if !disk.is_empty() => &after_time[..end],
        _ => host,
    }
}

/// Properties of the format.
pub(super) const ABOUT: About = About {
    name: "msr",
    time_unit: Some(TimeUnit::HundredNanoseconds),
    counted: Addressing::Bytes,
    reader: Reader::Lines(parse),
    columns: Some(Columns {
        device: Some("columns 1 and 2"),
        dated: Dated::IfFileTimes,
        are_written: are_file_times,
        ..Columns::new(has_shape, cells)
    }),
};

fn has_shape(line: &str) -> bool {
    matches!(columns(line, ',')[..], [time, _, _, op, offset, size, _]
        if is_integer(time)
            && !is_clock_of_1970(time)
            && is_letter(op)
            && is_integer(offset)
            && is_integer(size))
}

fn cells(line: &str) -> Option<Cells<'_>> {
    match columns(line, ',')[..] {
        [time, host, disk, op, offset, size, _] => {
            Some((time, format!("{},{}", host.trim(), disk.trim()), offset, size, op))
        }
        _ => None,
    }
}
