//! Tables of requests of Linux's block layer, as biosnoop of bcc and similar tools print them:
//! `TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)`.
//!
//! Blanks separate columns, and also occur in names of programs. Column `T` is the operation. A
//! flush has no sector and no bytes. The time is that of the completion.

use super::cut::FreeText;
use super::draft::Table;
use super::header;
use crate::Op;
use crate::trace::formats::blkparse::Rwbs;
use crate::trace::{SkipReason, TimeUnit, ops};

/// Names of columns with program names, which may contain blanks.
const PROGRAMS: [&str; 8] =
    ["comm", "command", "process", "program", "task", "application", "processname", "procname"];
/// The kernel's sector number of requests without a sector, as tools print it.
const NO_SECTOR: [&str; 2] = ["18446744073709551615", "-1"];

fn names_of<'a>(names: &'a [&str]) -> impl Iterator<Item = String> + 'a {
    names.iter().map(|name| header::words(name).concat())
}

/// Column that may contain blanks although they separate columns.
pub(super) fn free_text(names: &[&str], separator: char) -> Option<FreeText> {
    let mut found = names_of(names)
        .enumerate()
        .filter(|(_, name)| PROGRAMS.contains(&name.as_str()))
        .map(|(place, _)| place);
    let place = found.next().filter(|_| separator == ' ')?;
    found.next().is_none().then_some(FreeText { place, width: names.len() })
}

/// Whether `names` are the columns of biosnoop or a similar tool.
pub(super) fn is_snoop(names: &[&str]) -> bool {
    let all: Vec<String> = names_of(names).collect();
    ["comm", "pid", "t", "sector", "bytes"].iter().all(|name| all.iter().any(|one| one == name))
}

/// Unit of times if such a tool does not name it: it prints seconds with six decimals.
pub(super) fn time_unit(names: &[&str], values: &[&str]) -> Option<TimeUnit> {
    let is_micro = |text: &&str| {
        text.split_once('.').is_some_and(|(whole, fraction)| {
            fraction.len() == 6 && [whole, fraction].iter().all(|part| is_digits(part))
        })
    };
    (is_snoop(names) && values.iter().all(is_micro)).then_some(TimeUnit::Seconds)
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// Reason to skip a line of such a table that moves no data of a user; `None` for a request.
pub(super) fn without_data(sector: &str, bytes: &str) -> Option<SkipReason> {
    match (NO_SECTOR.contains(&sector), bytes) {
        (_, "0") => Some(SkipReason::Flush),
        // A command of a program to the drive itself.
        (true, _) => Some(SkipReason::NoData),
        (false, _) => None,
    }
}

/// Whether all values of a column are operations, so that it is not a time, whatever its name.
pub(super) fn are_operations(table: &Table<'_>, column: usize) -> bool {
    let is = |text: &&str| {
        text.starts_with(|first: char| first.is_ascii_alphabetic()) && ops::word(text).is_some()
    };
    table.values.get(column).is_some_and(|values| !values.is_empty() && values.iter().all(is))
}

/// Columns with operations, by their values, if no name says so. A column `T` may have reads only;
/// any other needs both reads and writes, because its letters could have another meaning.
pub(super) fn operations(table: &Table<'_>) -> Vec<usize> {
    let is_t = |column: &usize| header::words(table.names[*column]).concat() == "t";
    let both = |column: &usize| {
        let has = |op: Op| {
            let values = table.values[*column].iter();
            values.clone().any(|text| ops::word(text) == Some(Rwbs::Data(op)))
        };
        has(Op::Read) && has(Op::Write)
    };
    let all = (0..table.names.len()).filter(|column| are_operations(table, *column));
    let (named, others): (Vec<usize>, Vec<usize>) = all.partition(is_t);
    if !named.is_empty() {
        return named;
    }
    let unnamed = |column: &usize| header::role(table.names[*column]).is_none();
    others.into_iter().filter(unnamed).filter(both).collect()
}
