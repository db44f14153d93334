//! The text that blkparse prints by default:
//! `major,minor cpu sequence seconds pid action rwbs sector + sectors [process]`.
//!
//! One kind of event is taken for requests: issues, unless another is chosen. All others are
//! counted, and so is the summary at the end.

use super::fields;
use super::parser::{Parsed, RawRequest, Units};
use super::{BlkparseEvent, SkipReason};
use crate::Op;
use crate::error::LineProblem;

/// The state of the reader.
#[derive(Clone, Debug)]
pub(super) struct Blkparse {
    event: BlkparseEvent,
    in_summary: bool,
}

/// What an RWBS column says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rwbs {
    /// Moves data.
    Data(Op),
    /// Moves none.
    Skip(SkipReason),
}

/// Reads an RWBS column: `R`, `W`, `RA`, `WS`, `WSM`, `RM`, `FWFS`, `D`, `N` and so on. Flags are
/// ahead (A), sync (S), meta (M), barrier (B), FUA (F behind the operation), secure erase (E).
pub(super) fn rwbs(text: &str) -> Option<Rwbs> {
    let expected = |b: u8| b"RWDNFASMBEX".contains(&b);
    if text.is_empty() || !text.bytes().all(expected) {
        return None;
    }
    if text.contains('D') {
        return Some(Rwbs::Skip(SkipReason::Discard));
    }
    // A leading F is a flush ahead of the data, a later one is FUA; the data itself decides.
    let operation = text.strip_prefix('F').unwrap_or(text);
    match operation.bytes().next() {
        Some(b'R') => Some(Rwbs::Data(Op::Read)),
        Some(b'W') => Some(Rwbs::Data(Op::Write)),
        Some(b'N') if text.starts_with('F') => Some(Rwbs::Skip(SkipReason::Flush)),
        Some(b'N') => Some(Rwbs::Skip(SkipReason::NoData)),
        _ if text.starts_with('F') => Some(Rwbs::Skip(SkipReason::Flush)),
        _ => None,
    }
}

impl Blkparse {
    pub(super) fn new(event: BlkparseEvent) -> Self {
        Self { event, in_summary: false }
    }

    /// Reads one line.
    pub(super) fn parse<'a>(
        &mut self,
        line: &'a str,
        units: &Units,
    ) -> Result<Parsed<'a>, LineProblem> {
        let mut columns = [""; 11];
        let mut found = 0;
        for word in line.split_ascii_whitespace() {
            if found < columns.len() {
                columns[found] = word;
            }
            found += 1;
        }
        let [device, _cpu, _sequence, time, _pid, action, flags, sector, plus, sectors, _] =
            columns;
        if !is_device(device) {
            return self.other_line(line, found);
        }
        if found < 7 {
            return Err(fields::columns_problem(line, found, "blkparse", "7 or more"));
        }
        let nanos = fields::time(time, units.time)?;
        let mut letters = action.chars();
        match (letters.next(), letters.next()) {
            (Some(letter), None) if letter == self.event.letter() => {}
            (letter, _) => return Ok(Parsed::Skip(SkipReason::Event(letter.unwrap_or('?')))),
        }
        let op = match rwbs(flags) {
            Some(Rwbs::Data(op)) => op,
            Some(Rwbs::Skip(reason)) => return Ok(Parsed::Skip(reason)),
            None => return Err(fields::operation(flags, "an RWBS word such as R, WS, RA, D, FN")),
        };
        if plus != "+" {
            // A flush that is flagged as a write has no sectors; a SCSI command has a byte count.
            let reason =
                if flags.starts_with('F') { SkipReason::Flush } else { SkipReason::NoData };
            return match found {
                7 => Ok(Parsed::Skip(reason)),
                _ if sector.starts_with('[') || plus.starts_with(['[', '(']) => {
                    Ok(Parsed::Skip(reason))
                }
                _ => Err(fields::columns_problem(line, found, "blkparse", "10 or more")),
            };
        }
        let offset_bytes = units.sectors(fields::integer("start sector", sector)?);
        let size_bytes = units.sectors(fields::integer("number of sectors", sectors)?);
        if size_bytes == 0 && flags.starts_with('F') {
            return Ok(Parsed::Skip(SkipReason::Flush));
        }
        Ok(Parsed::Request(RawRequest { nanos, op, offset_bytes, size_bytes, device }))
    }

    /// A line that is no event: part of the summary, or a mistake.
    fn other_line<'a>(&mut self, line: &str, found: usize) -> Result<Parsed<'a>, LineProblem> {
        if line.starts_with("Input file ") {
            return Ok(Parsed::Skip(SkipReason::Header));
        }
        if (line.starts_with("CPU") || line.starts_with("Total (")) && line.contains('(') {
            self.in_summary = true;
        }
        if self.in_summary {
            Ok(Parsed::Skip(SkipReason::Summary))
        } else {
            Err(fields::columns_problem(line, found, "blkparse", "7 or more"))
        }
    }
}

/// Whether `word` looks like `8,16`.
pub(super) fn is_device(word: &str) -> bool {
    let number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    word.split_once(',').is_some_and(|(major, minor)| number(major) && number(minor))
}
