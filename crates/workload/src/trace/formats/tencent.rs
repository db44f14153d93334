//! Tencent CBS: `seconds,sector,sectors,0|1,volume`, where 0 reads and 1 writes, unlike in DiskSim.
//! The clock has whole seconds only.

use super::about::{About, Addressing, Cells, Columns, Dated, Reader};
use crate::Op;
use crate::error::LineProblem;
use crate::trace::TimeUnit;
use crate::trace::fields;
use crate::trace::raw::{Parsed, RawRequest, Units};
use crate::trace::shape::{columns, is_clock, is_flag, is_integer};

/// Reads one line.
pub(in crate::trace) fn parse<'a>(line: &'a str, units: &Units) -> Result<Parsed<'a>, LineProblem> {
    let [time, sector, sectors, op, volume] = fields::split(line, ',', "tencent", "5")?;
    Ok(Parsed::Request(RawRequest {
        nanos: fields::time(time, units.time)?,
        op: match op {
            "0" => Op::Read,
            "1" => Op::Write,
            _ => return Err(fields::operation(op, "0 (read), 1 (write)")),
        },
        offset_bytes: units.sectors(fields::integer("start sector", sector)?),
        size_bytes: units.sectors(fields::integer("number of sectors", sectors)?),
        device: volume,
        durable: false,
    }))
}

/// Properties of the format.
pub(super) const ABOUT: About = About {
    name: "tencent",
    time_unit: Some(TimeUnit::Seconds),
    counted: Addressing::Sectors,
    reader: Reader::Lines(parse),
    columns: Some(Columns {
        device: Some("column 4"),
        dated: Dated::ByShape,
        reads: Some("a request reads where its flag is 0, as tencent prescribes"),
        ..Columns::new(has_shape, cells)
    }),
};

fn has_shape(line: &str) -> bool {
    matches!(columns(line, ',')[..], [time, sector, sectors, op, volume]
        if is_clock(time, TimeUnit::Seconds)
            && is_integer(sector)
            && is_integer(sectors)
            && is_flag(op)
            && is_integer(volume))
}

fn cells(line: &str) -> Option<Cells<'_>> {
    match columns(line, ',')[..] {
        [time, offset, size, op, device] => {
            Some((time, device.trim().to_owned(), offset, size, op))
        }
        _ => None,
    }
}
