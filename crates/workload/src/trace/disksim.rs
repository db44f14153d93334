//! DiskSim's ASCII form and its relatives MSPS, SSDSim and MQSim: `time device sector sectors
//! flag`, separated by blanks, where flag 1 reads and 0 writes.
//!
//! The relatives differ in the unit of time: DiskSim has milliseconds and MQSim nanoseconds. Files
//! of SSDSim and MSPS have several units. The replayer of IODA's artifact counts bytes, not
//! sectors.

use super::fields;
use super::raw::{Parsed, RawRequest, Units};
use crate::Op;
use crate::error::LineProblem;

/// Reads one line of the relative that is called `format`.
pub(super) fn parse<'a>(
    line: &'a str,
    format: &'static str,
    units: &Units,
) -> Result<Parsed<'a>, LineProblem> {
    let mut columns = [""; 5];
    let mut found = 0;
    for word in line.split_ascii_whitespace() {
        if found < columns.len() {
            columns[found] = word;
        }
        found += 1;
    }
    if found != columns.len() {
        return Err(fields::columns_problem(line, found, format, "5"));
    }
    let [time, device, sector, sectors, flag] = columns;
    Ok(Parsed::Request(RawRequest {
        nanos: fields::time(time, units.time)?,
        op: match flag {
            "1" => Op::Read,
            "0" => Op::Write,
            _ => return Err(fields::operation(flag, "1 (read), 0 (write)")),
        },
        offset_bytes: units.sectors(fields::integer("start sector", sector)?),
        size_bytes: units.sectors(fields::integer("number of sectors", sectors)?),
        device,
        durable: false,
    }))
}
