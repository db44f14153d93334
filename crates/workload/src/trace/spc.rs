//! SPC trace format: `ASU,LBA,bytes,r|w,seconds` and optional further columns. The address counts
//! sectors, the size counts bytes.

use super::fields;
use super::raw::{Parsed, RawRequest, Units};
use crate::error::LineProblem;

/// Reads one line. Columns beyond the fifth are the application's own and not used.
pub(super) fn parse<'a>(line: &'a str, units: &Units) -> Result<Parsed<'a>, LineProblem> {
    let mut columns = [""; 5];
    let mut found = 0;
    for part in line.split(',') {
        if found < columns.len() {
            columns[found] = part.trim();
        }
        found += 1;
    }
    if found < columns.len() {
        return Err(fields::columns_problem(line, found, "spc", "5 or more"));
    }
    let [unit, address, size, op, time] = columns;
    Ok(Parsed::Request(RawRequest {
        nanos: fields::time(time, units.time)?,
        op: fields::letter_op(op)?,
        offset_bytes: units.sectors(fields::integer("address", address)?),
        size_bytes: fields::integer("size", size)?.into(),
        device: unit,
        durable: false,
    }))
}
