//! Map of the columns of a CSV, as it is typed.

use super::cut::{SEPARATORS, separator_name};
use crate::error::OptionError;
use crate::trace::TimeUnit;
use std::fmt;
use std::str::FromStr;
use units::{KIB, MIB};

const EXPECTED: &str = "a column map of the form time=COLUMN:UNIT,op=COLUMN:WORD/WORD,\
                        offset=COLUMN:UNIT,size=COLUMN:UNIT,device=COLUMN,separator=NAME (columns \
                        by the name in the header or by position from 0; times in s, ms, us, \
                        100ns or ns; addresses in bytes, sectors, KiB, MiB or a number of bytes, \
                        and :hex behind it for hexadecimal; op=rw:0/1 says that 0 reads and 1 \
                        writes, and any further words are skipped; separator=comma, semicolon, \
                        tab, pipe or space)";

/// Placeholder in a proposed map for an unknown column.
pub(super) const COLUMN: &str = "COLUMN";
/// Placeholder in a proposed map for an unknown unit.
pub(super) const UNIT: &str = "UNIT";
/// Placeholder in a proposed map for unknown words of operations.
pub(super) const WORDS: &str = "WORD/WORD";

/// More columns than a line can have, because it would be too long.
const MOST_COLUMNS: usize = 1 << 16;

/// A column, by position or by name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Column {
    /// From 0.
    Position(usize),
    /// As in the header.
    Name(String),
}

/// Unit of an address or a size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::trace) enum AddressUnit {
    Bytes,
    Sectors,
    /// Units of this many bytes.
    Each(u64),
}

impl AddressUnit {
    /// Bytes in one unit, with the usual sectors.
    pub(super) const fn bytes(self) -> u64 {
        match self {
            Self::Bytes => 1,
            Self::Sectors => super::addresses::SECTOR,
            Self::Each(bytes) => bytes,
        }
    }
}

impl fmt::Display for AddressUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Bytes => f.write_str("bytes"),
            Self::Sectors => f.write_str("sectors"),
            Self::Each(KIB) => f.write_str("KiB"),
            Self::Each(MIB) => f.write_str("MiB"),
            Self::Each(bytes) => write!(f, "{bytes}"),
        }
    }
}

/// A column of addresses or sizes in a map.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct AddressColumn {
    pub(super) column: Column,
    /// Unit in the map; `None` leaves it to the header or the values.
    pub(super) unit: Option<AddressUnit>,
    pub(super) hexadecimal: bool,
}

/// The words of a column of operations.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct OpWords {
    pub(super) read: String,
    pub(super) write: String,
    /// Words of lines that are skipped and counted.
    pub(super) skip: Vec<String>,
}

/// Meaning of the columns of a CSV, written as
/// `time=timestamp:us,op=rw:0/1,offset=lba:sectors,size=bytes:bytes,device=disk`.
///
/// A column is a position from 0 or the name in the header. A unit that is left out must follow
/// from the header or the values, or the trace is refused. `op=1:0/1` says that `0` reads and `1`
/// writes, and `op=1:0/1/2` that lines with `2` are to be skipped; without it all known words for
/// reads, writes, trims and flushes are read. `separator=` is `comma`, `semicolon`, `tab`, `pipe`
/// or `space`; without it the separator is detected. `device` may be left out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ColumnMap {
    pub(super) time: Column,
    pub(super) time_unit: Option<TimeUnit>,
    pub(super) op: Column,
    pub(super) op_words: Option<OpWords>,
    pub(super) offset: AddressColumn,
    pub(super) size: AddressColumn,
    pub(super) device: Option<Column>,
    pub(super) separator: Option<char>,
}

fn wrong(text: &str) -> OptionError {
    OptionError::NotUnderstood { option: "column map", value: text.to_owned(), expected: EXPECTED }
}

/// Refuses a part of a map in which a placeholder is left.
fn placeholder(part: &str) -> Option<OptionError> {
    let (key, value) = part.split_once('=')?;
    let (stands, instead) = value.split(':').find_map(|word| match (word, key) {
        (COLUMN, _) => Some((COLUMN, "the name of the column, or its position from 0")),
        (UNIT, "time") => Some((UNIT, "s, ms, us, 100ns or ns")),
        (UNIT, _) => Some((UNIT, "bytes, sectors, KiB, MiB or a number of bytes")),
        (WORDS, _) => Some((WORDS, "the word that reads and the word that writes, such as R/W")),
        _ => None,
    })?;
    Some(OptionError::Placeholder { part: part.to_owned(), placeholder: stands, instead })
}

/// Parses `offset:sectors:hex`, the part behind the equals sign.
fn address(column: Column, details: &[&str]) -> Option<AddressColumn> {
    let (mut unit, mut hexadecimal) = (None, false);
    for detail in details {
        if *detail == "hex" && !hexadecimal {
            hexadecimal = true;
        } else if unit.is_none() {
            unit = Some(match detail.to_ascii_lowercase().as_str() {
                "bytes" => AddressUnit::Bytes,
                "sectors" => AddressUnit::Sectors,
                "kib" | "kb" => AddressUnit::Each(KIB),
                "mib" | "mb" => AddressUnit::Each(MIB),
                number => match number.parse() {
                    Ok(1) => AddressUnit::Bytes,
                    Ok(bytes @ 2..=MIB) => AddressUnit::Each(bytes),
                    _ => return None,
                },
            });
        } else {
            return None;
        }
    }
    Some(AddressColumn { column, unit, hexadecimal })
}

fn op_words(detail: &str) -> Option<OpWords> {
    let mut words = detail.split('/').map(str::to_owned);
    let (read, write) = (words.next()?, words.next()?);
    // One word cannot mean both read and write.
    (read != write).then(|| OpWords { read, write, skip: words.collect() })
}

impl FromStr for ColumnMap {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        let wrong = || wrong(text);
        let (mut time, mut op, mut offset, mut size, mut device) = (None, None, None, None, None);
        let mut separator = None;
        for part in text.split(',') {
            let (key, value) = part.trim().split_once('=').ok_or_else(wrong)?;
            if let Some(left) = placeholder(part.trim()) {
                return Err(left);
            }
            let mut details: Vec<&str> = value.split(':').collect();
            let name = details.remove(0);
            if name.is_empty() {
                return Err(wrong());
            }
            let column = match name.parse() {
                Ok(position) if position < MOST_COLUMNS => Column::Position(position),
                Ok(_) => return Err(wrong()),
                Err(_) => Column::Name(name.to_owned()),
            };
            let given_twice = match (key, &details[..]) {
                ("time", []) => time.replace((column, None)).is_some(),
                ("time", [unit]) => {
                    let unit = unit.parse().map_err(|_| wrong())?;
                    time.replace((column, Some(unit))).is_some()
                }
                ("op", []) => op.replace((column, None)).is_some(),
                ("op", [words]) => {
                    let words = op_words(words).ok_or_else(wrong)?;
                    op.replace((column, Some(words))).is_some()
                }
                ("offset", details) => {
                    offset.replace(address(column, details).ok_or_else(wrong)?).is_some()
                }
                ("size", details) => {
                    size.replace(address(column, details).ok_or_else(wrong)?).is_some()
                }
                ("device" | "dev", []) => device.replace(column).is_some(),
                ("separator", []) => {
                    let known = SEPARATORS.iter().find(|(_, known)| *known == name);
                    separator.replace(known.ok_or_else(wrong)?.0).is_some()
                }
                _ => return Err(wrong()),
            };
            if given_twice {
                return Err(wrong());
            }
        }
        let (time, time_unit) = time.ok_or_else(wrong)?;
        let (op, op_words) = op.ok_or_else(wrong)?;
        Ok(Self {
            time,
            time_unit,
            op,
            op_words,
            offset: offset.ok_or_else(wrong)?,
            size: size.ok_or_else(wrong)?,
            device,
            separator,
        })
    }
}

/// A map for the command line, with the known columns of a trace and placeholders for the rest. A
/// map with placeholders is refused.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Suggestion {
    pub(super) parts: Vec<String>,
}

impl Suggestion {
    /// Adds `key=column:details`.
    pub(super) fn add(&mut self, key: &str, column: &str, details: &[String]) {
        let mut part = format!("{key}={column}");
        for detail in details {
            part.push(':');
            part.push_str(detail);
        }
        self.parts.push(part);
    }

    /// Replaces the part of `key` by placeholders.
    pub(super) fn forget(&mut self, key: &str) {
        for part in &mut self.parts {
            if part.split_once('=').is_some_and(|(known, _)| known == key) {
                *part = format!("{key}={COLUMN}:{UNIT}");
            }
        }
    }

    /// Adds the separator, unless it is a comma.
    pub(super) fn separator(&mut self, separator: char) {
        if separator != ',' {
            self.parts.push(format!("separator={}", separator_name(separator)));
        }
    }
}

impl fmt::Display for Suggestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let map = self.parts.join(",");
        let open: Vec<&str> = [COLUMN, UNIT, WORDS]
            .into_iter()
            .filter(|stands| self.parts.iter().any(|part| holds(part, stands)))
            .collect();
        f.write_str("say it")?;
        if !open.is_empty() {
            write!(f, ", with {} filled in", open.join(" and "))?;
        }
        f.write_str(": --columns ")?;
        let plain = |c: char| c.is_ascii_alphanumeric() || "_=:,./-".contains(c);
        // Other characters might have a meaning in a shell.
        if map.chars().all(plain) { f.write_str(&map) } else { write!(f, "'{map}'") }
    }
}

/// Whether `part` of a map has `word` behind its equals sign or a colon.
fn holds(part: &str, word: &str) -> bool {
    part.split_once('=').is_some_and(|(_, value)| value.split(':').any(|one| one == word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_that_was_left_is_refused() {
        let refused = |map: &str| map.parse::<ColumnMap>().unwrap_err().to_string();
        assert_eq!(
            refused("time=COLUMN:us,op=1,offset=2:bytes,size=3:bytes"),
            "the column map has COLUMN in \"time=COLUMN:us\", where the name of the column, or its \
             position from 0 belongs"
        );
        assert_eq!(
            refused("time=0:UNIT,op=1,offset=2:bytes,size=3:bytes"),
            "the column map has UNIT in \"time=0:UNIT\", where s, ms, us, 100ns or ns belongs"
        );
        for map in [
            "time=0:us,op=1:WORD/WORD,offset=2:bytes,size=3:bytes",
            "time=0:us,op=COLUMN,offset=2:bytes,size=3:bytes",
            "time=0:us,op=1,offset=2:UNIT:hex,size=3:bytes",
            "time=0:us,op=1,offset=2:bytes,size=3:UNIT",
            "time=0:us,op=1,offset=2:bytes,size=3:bytes,device=COLUMN",
        ] {
            assert!(refused(map).starts_with("the column map has "), "{map}");
        }
        assert!(
            refused("time=0:us,op=1:R/R,offset=2:bytes,size=3:bytes")
                .contains("is not a column map")
        );
    }
}
