//! The default text output of blkparse: `major,minor cpu sequence seconds pid action rwbs sector +
//! sectors [process]`.
//!
//! One kind of event counts as the request: issues, unless another is chosen or there are none. All
//! others are counted, as are tables of CPUs, devices and programs anywhere in the file.

use super::about::{About, Addressing, Columns, Reader};
use crate::Op;
use crate::error::LineProblem;
use crate::trace::SkipReason;
use crate::trace::TimeUnit;
use crate::trace::events::Chosen;
use crate::trace::raw::{Parsed, RawRequest, Units};
use crate::trace::{fields, messages};

/// The state of the reader.
#[derive(Clone, Debug)]
pub(in crate::trace) struct Blkparse {
    chosen: Chosen,
    /// Whether the last lines were part of a table.
    in_table: bool,
}

/// Meaning of an RWBS column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::trace) enum Rwbs {
    /// An operation that moves data.
    Data(Op),
    /// An operation that moves no data.
    Skip(SkipReason),
}

/// Known flags behind an operation: FUA (F), ahead (A), sync (S), meta (M), barrier (B), secure
/// erase (E), atomic (U) and two of older kernels.
const FLAGS: u32 = set_of(b"FASMBEUXN");

/// Set of `letters`, one bit for each of A to Z; other bytes are ignored.
const fn set_of(letters: &[u8]) -> u32 {
    let (mut set, mut at) = (0, 0);
    while at < letters.len() {
        if letters[at].is_ascii_uppercase() {
            set |= 1 << (letters[at] - b'A');
        }
        at += 1;
    }
    set
}

/// Reads an RWBS column: `R`, `W`, `RA`, `WS`, `WSM`, `RM`, `FWFS`, `D`, `N`, `ZR` and so on;
/// `None` for text that no kernel writes. Unknown flags of later kernels are accepted.
pub(in crate::trace) fn rwbs(text: &str) -> Option<Rwbs> {
    let letters = text.as_bytes();
    if letters.is_empty() || letters.len() > 12 || !letters.iter().all(u8::is_ascii_uppercase) {
        return None;
    }
    // A leading F is a flush ahead of the data, a later one is FUA; the data itself determines the
    // operation.
    let (is_flush, operation) = match letters {
        [b'F', operation @ ..] => (true, operation),
        operation => (false, operation),
    };
    Some(match operation {
        [b'Z', b'A', ..] => Rwbs::Data(Op::Write),
        [b'Z', ..] => Rwbs::Skip(SkipReason::Zone),
        _ if set_of(letters) & set_of(b"D") != 0 => Rwbs::Skip(SkipReason::Discard),
        [b'E', ..] if !is_flush => Rwbs::Skip(SkipReason::Discard),
        [b'R', ..] => Rwbs::Data(Op::Read),
        [b'W', ..] => Rwbs::Data(Op::Write),
        _ if is_flush => Rwbs::Skip(SkipReason::Flush),
        [b'N', ..] => Rwbs::Skip(SkipReason::NoData),
        _ => Rwbs::Skip(SkipReason::UnknownOperation),
    })
}

/// First unknown flag behind a read or a write, in a word that [`rwbs`] reads.
pub(in crate::trace) fn unknown_flag(text: &str) -> Option<char> {
    let flags = match text.as_bytes() {
        [b'F', b'Z', b'A', flags @ ..] | [b'Z', b'A', flags @ ..] => flags,
        [b'F', _, flags @ ..] => flags,
        [_, flags @ ..] => flags,
        [] => &[],
    };
    let is_known = |flag: &u8| set_of(&[*flag]) & FLAGS != 0;
    flags.iter().find(|flag| !is_known(flag)).map(|flag| char::from(*flag))
}

/// Whether a word is a write to stable storage, by the flags that [`rwbs`] reads: a flush ahead,
/// FUA, or a barrier of old kernels.
pub(in crate::trace) fn is_durable(text: &str) -> bool {
    let flags = match text.as_bytes() {
        [b'F', b'W', ..] | [b'F', b'Z', b'A', ..] => return true,
        [b'W', flags @ ..] | [b'Z', b'A', flags @ ..] => flags,
        _ => return false,
    };
    flags.iter().any(|flag| b"FB".contains(flag))
}

impl Blkparse {
    pub(in crate::trace) fn new(chosen: Chosen) -> Self {
        Self { chosen, in_table: false }
    }

    /// Reads one line.
    pub(in crate::trace) fn parse<'a>(
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
        self.in_table = false;
        let nanos = fields::time(time, units.time)?;
        let letter = letter_of(action);
        // A request that is put back into the queue will be issued again.
        let is_requeue = letter == 'R' && self.chosen.is_issue();
        match self.chosen.skipped(letter)? {
            Some(_) if is_requeue && plus == "+" => {}
            Some(reason) => return Ok(Parsed::Skip(reason)),
            None => {}
        }
        let op = match rwbs(flags) {
            Some(Rwbs::Data(op)) => op,
            Some(Rwbs::Skip(_)) if is_requeue => return Ok(Parsed::Skip(SkipReason::Event('R'))),
            Some(Rwbs::Skip(reason)) => return Ok(Parsed::Skip(reason)),
            None => return Err(fields::operation(flags, "an RWBS word such as R, WS, RA, D, FN")),
        };
        if plus != "+" {
            // A flush with the flag of a write has no sectors; a SCSI command has a byte count.
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
        let (sector, sectors) = (
            fields::integer("start sector", sector)?,
            fields::integer("number of sectors", sectors)?,
        );
        if sectors == 0 && flags.starts_with('F') {
            return Ok(Parsed::Skip(SkipReason::Flush));
        }
        // The kernel's sector number of requests without a sector.
        if sector == u64::MAX {
            let reason = if sectors == 0 { SkipReason::Flush } else { SkipReason::NoData };
            return Ok(Parsed::Skip(reason));
        }
        let (offset_bytes, size_bytes) = (units.sectors(sector), units.sectors(sectors));
        let durable = is_durable(flags);
        let request = RawRequest { nanos, op, offset_bytes, size_bytes, device, durable };
        Ok(match unknown_flag(flags) {
            _ if is_requeue => Parsed::Requeued(request),
            Some(flag) => Parsed::Flagged(request, flag),
            None => Parsed::Request(request),
        })
    }

    /// Reads a line that is no event: part of a table, a message, or a mistake.
    fn other_line<'a>(&mut self, line: &str, found: usize) -> Result<Parsed<'a>, LineProblem> {
        let is_row = self.in_table && line.starts_with(' ') && line.contains(':');
        let reason = match messages::certainly_no_request(line) {
            Some(reason) => Some(reason),
            None if is_row || messages::is_title_of_program(line) => Some(SkipReason::Summary),
            None => None,
        };
        self.in_table = reason == Some(SkipReason::Summary);
        let problem = || fields::columns_problem(line, found, "blkparse", "7 or more");
        reason.map(Parsed::Skip).ok_or_else(problem)
    }
}

/// Letter of an action; for an action of two letters, the first.
fn letter_of(action: &str) -> char {
    action.bytes().next().filter(u8::is_ascii).map_or('?', char::from)
}

/// Letters of the events among `lines`.
pub(in crate::trace) fn letters<'a>(lines: &'a [&str]) -> impl Iterator<Item = char> + 'a {
    lines.iter().filter_map(|line| {
        let mut words = line.split_ascii_whitespace();
        if !is_device(words.next()?) {
            return None;
        }
        let action = words.nth(4)?;
        (action.len() == 1).then(|| letter_of(action))
    })
}

/// Whether `word` looks like `8,16`.
pub(in crate::trace) fn is_device(word: &str) -> bool {
    let number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    word.split_once(',').is_some_and(|(major, minor)| number(major) && number(minor))
}

/// Properties of the format.
pub(super) const ABOUT: About = About {
    name: "blkparse",
    time_unit: Some(TimeUnit::Seconds),
    counted: Addressing::Sectors,
    reader: Reader::Stateful,
    columns: Some(Columns::new(has_shape, |_| None)),
};

fn has_shape(line: &str) -> bool {
    let words: Vec<&str> = line.split_ascii_whitespace().take(7).collect();
    words.len() == 7 && is_device(words[0])
}
