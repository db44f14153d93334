//! blkreplay: `seconds ; sector ; sectors ; op ; 0.0 ; 0.0` below a free text header.

use super::SkipReason;
use super::blkparse::{Rwbs, is_durable, rwbs, unknown_flag};
use super::fields;
use super::raw::{Parsed, RawRequest, Units};
use crate::error::LineProblem;

/// The state of the reader: whether the header is over.
#[derive(Clone, Debug, Default)]
pub(super) struct Blkreplay {
    started: bool,
}

impl Blkreplay {
    /// Reads one line. Everything above the first request is header; below it, nothing may be.
    pub(super) fn parse<'a>(
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

/// Whether the line is a request and no header.
pub(super) fn is_data(line: &str) -> bool {
    let mut parts = line.split(';');
    let time = parts.next().unwrap_or("").trim();
    time.starts_with(|c: char| c.is_ascii_digit())
        && time.bytes().all(|b| b.is_ascii_digit() || b == b'.')
        && parts.count() >= 3
}
