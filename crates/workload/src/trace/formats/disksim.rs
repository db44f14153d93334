//! DiskSim's ASCII form and its relatives MSPS, SSDSim and MQSim: `time device sector sectors
//! flag`, separated by blanks, where flag 1 reads and 0 writes.
//!
//! The relatives differ in the unit of time: DiskSim has milliseconds and MQSim nanoseconds. Files
//! of SSDSim and MSPS have several units. The replayer in IODA's artifact counts bytes, not
//! sectors.

use super::about::{About, Addressing, Cells, Columns, Reader};
use crate::Op;
use crate::error::LineProblem;
use crate::trace::TimeUnit;
use crate::trace::fields;
use crate::trace::raw::{Parsed, RawRequest, Units};
use crate::trace::shape::{is_decimal, is_flag, is_integer};

/// Reads one line of the relative with the name `format`.
pub(in crate::trace) fn parse<'a>(
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

/// DiskSim itself, whose shape the others also have.
pub(super) const DISKSIM: About = About {
    name: "disksim",
    time_unit: Some(TimeUnit::Milliseconds),
    counted: Addressing::Sectors,
    reader: Reader::Lines(|line, units| parse(line, "disksim", units)),
    columns: Some(Columns { has_shape: Some(has_shape), ..COLUMNS }),
};

/// MQSim.
pub(super) const MQSIM: About = About {
    name: "mqsim",
    time_unit: Some(TimeUnit::Nanoseconds),
    counted: Addressing::Sectors,
    reader: Reader::Lines(|line, units| parse(line, "mqsim", units)),
    columns: Some(COLUMNS),
};

/// SSDSim.
pub(super) const SSDSIM: About = About {
    name: "ssdsim",
    time_unit: None,
    counted: Addressing::Sectors,
    reader: Reader::Lines(|line, units| parse(line, "ssdsim", units)),
    columns: Some(COLUMNS),
};

/// MSPS.
pub(super) const MSPS: About = About {
    name: "msps",
    time_unit: None,
    counted: Addressing::Sectors,
    reader: Reader::Lines(|line, units| parse(line, "msps", units)),
    columns: Some(COLUMNS),
};

/// The columns of all four.
const COLUMNS: Columns = Columns {
    has_shape: None,
    device: Some("column 1"),
    devices_from_zero: true,
    reads: Some("a request reads where its flag is 1, as DiskSim, MQSim and SSDSim prescribe"),
    ..Columns::new(has_shape, cells)
};

fn has_shape(line: &str) -> bool {
    matches!(words(line, 12)[..], [time, device, sector, sectors, op]
        if is_decimal(time)
            && is_integer(device)
            && is_integer(sector)
            && is_integer(sectors)
            && is_flag(op))
}

fn cells(line: &str) -> Option<Cells<'_>> {
    match words(line, 6)[..] {
        [time, device, offset, size, op] => Some((time, device.to_owned(), offset, size, op)),
        _ => None,
    }
}

/// The first `most` words of a line.
fn words(line: &str, most: usize) -> Vec<&str> {
    line.split_ascii_whitespace().take(most).collect()
}
