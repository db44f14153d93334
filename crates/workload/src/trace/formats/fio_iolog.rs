//! fio's I/O log. Version 2 is `file action [offset length]`; its only time is in `wait` lines.
//! Version 3 is `timestamp file action [offset length]`.
//!
//! In every release of fio, `wait N` of version 2 lasts until N milliseconds have passed since fio
//! started. The manual of fio says that it lasts N microseconds. The given unit selects the
//! reading: ms that of the program, us that of the manual. Without a unit it is that of the
//! program, unless the values contradict.
//!
//! fio writes the timestamps of version 3 in microseconds since the start of the job (they come
//! from its `utime_since_now`), and replays them in this unit. It is the default.

use super::about::{About, Addressing, Reader};
use crate::Op;
use crate::error::{LineProblem, OptionError};
use crate::trace::fields;
use crate::trace::raw::{Parsed, RawRequest, Units};
use crate::trace::{SkipReason, TimeUnit};
use units::Duration;

/// The state of the reader.
#[derive(Clone, Debug)]
pub(in crate::trace) struct FioIolog {
    version_3: bool,
    waits: Waits,
    /// Current time, from the waits so far.
    waited_nanos: u64,
    /// Number in the last wait.
    last_wait: u64,
}

/// Meaning of a wait in version 2.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Waits {
    /// Until that time since the start; a wait that does not grow is a contradiction.
    Until,
    /// Until that time since the start, by the given unit; a wait whose time has passed has no
    /// effect.
    UntilAsSaid,
    /// For that time, after the wait before.
    For,
}

/// Whether a line is the first line of a log of `version`.
pub(in crate::trace) fn is_first_line(line: &str, version: char) -> bool {
    line.trim_end()
        .strip_prefix("fio version ")
        .and_then(|rest| rest.strip_suffix(" iolog"))
        .is_some_and(|number| number.chars().eq([version]))
}

impl FioIolog {
    /// Reader of version 2 with waits in the given unit.
    pub(in crate::trace) fn version_2(given: Option<TimeUnit>) -> Self {
        let waits = match given {
            None => Waits::Until,
            Some(TimeUnit::Milliseconds) => Waits::UntilAsSaid,
            Some(_) => Waits::For,
        };
        Self { version_3: false, waits, waited_nanos: 0, last_wait: 0 }
    }

    pub(in crate::trace) fn version_3() -> Self {
        Self { version_3: true, waits: Waits::UntilAsSaid, waited_nanos: 0, last_wait: 0 }
    }

    /// Reads one line.
    pub(in crate::trace) fn parse<'a>(
        &mut self,
        line: &'a str,
        units: &Units,
    ) -> Result<Parsed<'a>, LineProblem> {
        if is_first_line(line, if self.version_3 { '3' } else { '2' }) {
            return Ok(Parsed::Skip(SkipReason::Header));
        }
        let (format, needed) =
            if self.version_3 { ("fio-iolog-v3", "3 or 5") } else { ("fio-iolog-v2", "2 or 4") };
        let mut words = line.split_ascii_whitespace();
        let timestamp = if self.version_3 { words.next() } else { None };
        let mut columns = [""; 4];
        let mut found = usize::from(timestamp.is_some());
        for (index, word) in words.enumerate() {
            if let Some(column) = columns.get_mut(index) {
                *column = word;
            }
            found += 1;
        }
        let [file, action, offset, length] = columns;
        let nanos = match timestamp {
            Some(text) => fields::time(text, units.time)?,
            None => self.waited_nanos,
        };
        let operands = found - usize::from(timestamp.is_some());
        let skip = match action {
            "add" | "open" | "close" if operands == 2 => SkipReason::FileAction,
            "wait" if operands == 3 || operands == 4 => self.wait(offset, units)?,
            "sync" | "datasync" | "sync_file_range" | "syncfs" if operands >= 2 => {
                SkipReason::Flush
            }
            "trim" if operands == 4 => SkipReason::Discard,
            "read" | "write" if operands == 4 => {
                return Ok(Parsed::Request(RawRequest {
                    nanos,
                    op: if action == "read" { Op::Read } else { Op::Write },
                    offset_bytes: fields::integer("offset", offset)?.into(),
                    size_bytes: fields::integer("length", length)?.into(),
                    device: file,
                    durable: false,
                }));
            }
            "add" | "open" | "close" | "wait" | "sync" | "datasync" | "sync_file_range"
            | "syncfs" | "trim" | "read" | "write" | "" => {
                return Err(fields::columns_problem(line, found, format, needed));
            }
            _ => {
                return Err(fields::operation(
                    action,
                    "read, write, trim, wait, sync, datasync, sync_file_range, syncfs, add, \
                     open, close",
                ));
            }
        };
        Ok(Parsed::Skip(skip))
    }

    /// Moves the clock by a wait.
    fn wait(&mut self, text: &str, units: &Units) -> Result<SkipReason, LineProblem> {
        let nanos = fields::time(text, units.time)?;
        let milliseconds = nanos / units.time.nanos();
        let before = std::mem::replace(&mut self.last_wait, milliseconds);
        Ok(match self.waits {
            Waits::For => {
                self.waited_nanos = self.waited_nanos.saturating_add(nanos);
                SkipReason::Wait
            }
            Waits::Until if nanos < self.waited_nanos => {
                return Err(LineProblem::WaitBack { wait: milliseconds, before });
            }
            _ if nanos < self.waited_nanos => SkipReason::PassedWait,
            _ => {
                self.waited_nanos = nanos;
                SkipReason::Wait
            }
        })
    }
}

/// Numbers in the waits among `lines`.
fn waits(lines: &[&str]) -> Vec<u64> {
    let wait = |line: &&str| {
        let mut words = line.split_ascii_whitespace().skip(1);
        (words.next()? == "wait").then_some(words.next()?.parse().ok()?)
    };
    lines.iter().filter_map(wait).collect()
}

/// Refuses a unit that waits of version 2 never have.
pub(in crate::trace) fn check_unit(given: Option<TimeUnit>) -> Result<(), OptionError> {
    match given {
        None | Some(TimeUnit::Milliseconds | TimeUnit::Microseconds) => Ok(()),
        Some(unit) => Err(OptionError::Conflict {
            option: "time unit",
            reason: format!(
                "waits of fio-iolog-v2 are never in {unit}; say ms (until that time since the start, as fio \
                 does) or us (for that time, as its manual says)"
            ),
        }),
    }
}

/// Meaning of the waits in a log of version 2, if there are any; the error says why neither meaning
/// is certain.
pub(in crate::trace) fn meaning_of_waits(
    lines: &[&str],
    given: Option<TimeUnit>,
) -> Result<Option<String>, String> {
    let waits = waits(lines);
    let (Some(first), Some(longest)) = (waits.first(), waits.iter().max()) else { return Ok(None) };
    match given {
        None => {}
        Some(TimeUnit::Milliseconds) => {
            return Ok(Some(
                "a wait lasts until that time since the start, as in fio's program; one that has passed is none"
                    .to_owned(),
            ));
        }
        Some(_) => {
            return Ok(Some(
                "a wait lasts for that time after the one before, as fio's manual says".to_owned(),
            ));
        }
    }
    let back = waits.windows(2).filter(|pair| pair[1] < pair[0]).count();
    let alike = waits.len() > 1 && *first > 0 && waits.iter().all(|wait| wait == first);
    if back == 0 && !alike {
        return Ok(Some(
            "a wait lasts until that time in ms since the start, as in the program of every fio, though its manual \
             says us that add up; for those give the time unit us"
                .to_owned(),
        ));
    }
    let why = if alike {
        format!("all its waits are {first}")
    } else {
        format!("{back} of its first {} waits are shorter than the one before", waits.len())
    };
    let sum = waits.iter().fold(0_u64, |sum, wait| sum.saturating_add(*wait));
    let span = |count: u64, unit: TimeUnit| {
        Duration::from_nanos(count.saturating_mul(unit.nanos())).to_string()
    };
    Err(format!(
        "{why}, so it is not sure what they mean: as times in ms since the start, which is what fio does, these lines \
         last {}, and such waits are none; as us that add up, which is what fio's manual says, they last {}; say it \
         with --time-unit ms or --time-unit us",
        span(*longest, TimeUnit::Milliseconds),
        span(sum, TimeUnit::Microseconds),
    ))
}

/// Version 2.
pub(super) const VERSION_2: About = About {
    name: "fio-iolog-v2",
    time_unit: Some(TimeUnit::Milliseconds),
    counted: Addressing::Bytes,
    reader: Reader::Stateful,
    columns: None,
};

/// Version 3.
pub(super) const VERSION_3: About = About {
    name: "fio-iolog-v3",
    time_unit: Some(TimeUnit::Microseconds),
    counted: Addressing::Bytes,
    reader: Reader::Stateful,
    columns: None,
};
