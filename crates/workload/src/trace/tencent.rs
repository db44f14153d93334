//! Tencent CBS: `seconds,sector,sectors,0|1,volume`, where 0 reads and 1 writes: the other way
//! round than DiskSim. The clock has whole seconds only.

use super::fields;
use super::raw::{Parsed, RawRequest, Units};
use crate::Op;
use crate::error::LineProblem;

/// Reads one line.
pub(super) fn parse<'a>(line: &'a str, units: &Units) -> Result<Parsed<'a>, LineProblem> {
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
