//! blkreplay: `seconds ; sector ; sectors ; op ; 0.0 ; 0.0` below a free text header.

use super::about::{About, Addressing, Cells, Columns, Reader};
use super::blkparse::{Rwbs, is_durable, rwbs, unknown_flag};
use crate::error::LineProblem;
use crate::trace::SkipReason;
use crate::trace::TimeUnit;
use crate::trace::fields;
use crate::trace::raw::{Parsed, RawRequest, Units};
use crate::trace::shape::{columns, is_decimal};

/// The state of the reader: whether the header is over.
#[derive(Clone, Debug, Default)]
pub(in crate::trace) struct Blkreplay {
    started: bool,
}

impl Blkreplay {
    /// Reads one line. All lines above the first request are header; below it, none may be.
    pub(in crate::trace) fn parse<'a>(
        &mut self,
        line: &'a str,
        units: &Units,
    ) -> Result<Parsed<'a>, LineProblem> {
        if !self.started && !is_data(line) {
            return Ok(Parsed::Skip(SkipReason::Header));
        }
        self.started = true;
        let [time, sector, sectors, flags, _delay, _duration] =
            fields::split(line, ';', "blkreplay", "6")?;
        let op = match rwbs(flags) {
            Some(Rwbs::Data(op)) => op,
            Some(Rwbs::Skip(reason)) => return Ok(Parsed::Skip(reason)),
            None => return Err(fields::operation(flags, "R, W and their blktrace flags")),
        };
        let request = RawRequest {
            nanos: fields::time(time, units.time)?,
            op,
            offset_bytes: units.sectors(fields::integer("start sector", sector)?),
            size_bytes: units.sectors(fields::integer("number of sectors", sectors)?),
            device: "",
            durable: is_durable(flags),
        };
        Ok(match unknown_flag(flags) {
            Some(flag) => Parsed::Flagged(request, flag),
            None => Parsed::Request(request),
        })
    }
}

/// Whether the line is a request and not a header.
pub(in crate::trace) fn is_data(line: &str) -> bool {
    let mut parts = line.split(';');
    let time = parts.next().unwrap_or("").trim();
    time.starts_with(|c: char| c.is_ascii_digit())
        && time.bytes().all(|b| b.is_ascii_digit() || b == b'.')
        && parts.count() >= 3
}

/// Properties of the format.
pub(super) const ABOUT: About = About {
    name: "blkreplay",
    time_unit: Some(TimeUnit::Seconds),
    counted: Addressing::Sectors,
    reader: Reader::Stateful,
    columns: Some(Columns {
        // Tables of this format have fractions where others have whole numbers.
        are_written: |_| true,
        ..Columns::new(has_shape, cells)
    }),
};

/// Whether a line has the shape of the format. Other tables with semicolons have whole numbers in
/// place of the delay and the duration.
fn has_shape(line: &str) -> bool {
    let fraction = |text: &str| text.contains('.') && is_decimal(text);
    matches!(columns(line, ';')[..], [time, _, _, _, delay, duration]
        if fraction(time) && fraction(delay) && fraction(duration))
        && is_data(line)
}

fn cells(line: &str) -> Option<Cells<'_>> {
    match columns(line, ';')[..] {
        [time, offset, size, op, _, _] => Some((time, String::new(), offset, size, op)),
        _ => None,
    }
}
