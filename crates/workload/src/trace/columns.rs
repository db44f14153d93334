//! Which columns of a plain CSV mean what.

use super::TimeUnit;
use crate::error::OptionError;
use std::str::FromStr;

const EXPECTED: &str = "a column map such as time=0:us,op=1,offset=2:bytes,size=3:sectors,device=4 \
                        (columns by position from 0 or by header name; times in s, ms, us, 100ns \
                        or ns; addresses in bytes or sectors; op=1:0/1 names the words that read \
                        and write; separator=comma, semicolon, tab or space)";

/// A column, by position or by name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Column {
    /// From 0.
    Position(usize),
    /// As in the header.
    Name(String),
}

/// What an address or a size counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AddressUnit {
    Bytes,
    Sectors,
}

/// Which columns of a plain CSV mean what, written as
/// `time=0:us,op=1,offset=2:bytes,size=3:sectors,device=4`.
///
/// A column is a position from 0 or the name in the header. The unit of time is µs and the unit
/// of addresses is bytes unless said. `op=1:0/1` says that `0` reads and `1` writes; without it
/// the words are `R`, `W`, `Read`, `Write`. `separator=` is `comma`, `semicolon`, `tab` or
/// `space`. `device` may be left out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ColumnMap {
    pub(super) time: Column,
    pub(super) time_unit: TimeUnit,
    pub(super) op: Column,
    pub(super) op_words: Option<(String, String)>,
    pub(super) offset: Column,
    pub(super) offset_unit: AddressUnit,
    pub(super) size: Column,
    pub(super) size_unit: AddressUnit,
    pub(super) device: Option<Column>,
    pub(super) separator: char,
}

impl ColumnMap {
    /// Whether an address or a size counts sectors.
    pub(super) fn counts_sectors(&self) -> bool {
        self.offset_unit == AddressUnit::Sectors || self.size_unit == AddressUnit::Sectors
    }
}

impl FromStr for ColumnMap {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        let wrong = || OptionError::NotUnderstood {
            option: "column map",
            value: text.to_owned(),
            expected: EXPECTED,
        };
        let (mut time, mut op, mut offset, mut size, mut device) = (None, None, None, None, None);
        let mut time_unit = TimeUnit::Microseconds;
        let mut op_words = None;
        let mut offset_unit = AddressUnit::Bytes;
        let mut size_unit = AddressUnit::Bytes;
        let mut separator = ',';
        for part in text.split(',') {
            let (key, value) = part.trim().split_once('=').ok_or_else(wrong)?;
            let (name, detail) = match value.split_once(':') {
                Some((name, detail)) => (name, Some(detail)),
                None => (value, None),
            };
            if name.is_empty() {
                return Err(wrong());
            }
            let column = match name.parse() {
                Ok(position) => Column::Position(position),
                Err(_) => Column::Name(name.to_owned()),
            };
            let address_unit = || match detail {
                None | Some("bytes") => Ok(AddressUnit::Bytes),
                Some("sectors") => Ok(AddressUnit::Sectors),
                Some(_) => Err(wrong()),
            };
            match key {
                "time" => {
                    time = Some(column);
                    if let Some(unit) = detail {
                        time_unit = unit.parse().map_err(|_| wrong())?;
                    }
                }
                "op" => {
                    op = Some(column);
                    if let Some(words) = detail {
                        let (read, write) = words.split_once('/').ok_or_else(wrong)?;
                        op_words = Some((read.to_owned(), write.to_owned()));
                    }
                }
                "offset" => {
                    offset = Some(column);
                    offset_unit = address_unit()?;
                }
                "size" => {
                    size = Some(column);
                    size_unit = address_unit()?;
                }
                "device" | "dev" if detail.is_none() => device = Some(column),
                "separator" => {
                    separator = match value {
                        "comma" => ',',
                        "semicolon" => ';',
                        "tab" => '\t',
                        "space" => ' ',
                        _ => return Err(wrong()),
                    }
                }
                _ => return Err(wrong()),
            }
        }
        Ok(Self {
            time: time.ok_or_else(wrong)?,
            time_unit,
            op: op.ok_or_else(wrong)?,
            op_words,
            offset: offset.ok_or_else(wrong)?,
            offset_unit,
            size: size.ok_or_else(wrong)?,
            size_unit,
            device,
            separator,
        })
    }
}
