//! fio's I/O log. Version 2 is `file action [offset length]`; its only time is in `wait` lines,
//! whose microseconds add up. Version 3 is `timestamp file action [offset length]`.
//!
//! fio writes the timestamps of version 3 in microseconds since the start of the job (they come
//! from its `utime_since_now`), so that is the unit unless another is given.

use super::SkipReason;
use super::fields;
use super::parser::{Parsed, RawRequest, Units};
use crate::Op;
use crate::error::LineProblem;

/// The state of the reader.
#[derive(Clone, Debug)]
pub(super) struct FioIolog {
    version_3: bool,
    waited_nanos: u64,
}

/// The first line of a log of `version`.
pub(super) fn is_first_line(line: &str, version: char) -> bool {
    line.trim_end()
        .strip_prefix("fio version ")
        .and_then(|rest| rest.strip_suffix(" iolog"))
        .is_some_and(|number| number.chars().eq([version]))
}

impl FioIolog {
    pub(super) fn version_2() -> Self {
        Self { version_3: false, waited_nanos: 0 }
    }

    pub(super) fn version_3() -> Self {
        Self { version_3: true, waited_nanos: 0 }
    }

    /// Reads one line.
    pub(super) fn parse<'a>(
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
            "wait" if operands == 3 || operands == 4 => {
                let wait = fields::time(offset, units.time)?;
                self.waited_nanos = self.waited_nanos.saturating_add(wait);
                SkipReason::Wait
            }
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
}
