//! Where the columns of a CSV are and what they count, once that is settled.

use super::columns::{AddressUnit, OpWords};
use super::cut::{FreeText, cut_around};
use super::moments::Clock;
use crate::error::LineProblem;
use crate::trace::clock::Written;

/// What is taken from a line; a column may be several of them.
pub(super) const TIME: usize = 0;
pub(super) const OP: usize = 1;
pub(super) const OFFSET: usize = 2;
pub(super) const SIZE: usize = 3;
/// The first column that names the device, and the last: all between them are the name.
pub(super) const DEVICE: usize = 4;
pub(super) const DEVICE_END: usize = 5;
/// How many there are.
const SLOTS: usize = 6;
/// What messages call them.
pub(super) const NAMES: [&str; SLOTS] = ["time", "op", "offset", "size", "device", "device"];

/// What a column of addresses or sizes counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Address {
    pub(super) unit: AddressUnit,
    pub(super) hexadecimal: bool,
    /// Whether it counts bytes only because all values seen are multiples of 512: then one that is
    /// not takes the evidence away.
    pub(super) by_values: bool,
}

/// What the words of the operations mean.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum OpMeaning {
    /// All that are known.
    Known,
    /// These.
    Words(OpWords),
    /// Whether it is true that the request writes, or reads.
    Flag { true_writes: bool },
}

/// How many columns a line has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Width {
    /// Columns without the empty ones at the end.
    pub(super) least: usize,
    /// Columns; all beyond are empty.
    pub(super) most: usize,
}

impl Width {
    /// Whether a line may have these columns.
    pub(super) fn fits(self, row: &[&str]) -> bool {
        row.len() >= self.least && row.iter().skip(self.most).all(|text| text.is_empty())
    }

    /// What is wrong with a line of `found` columns.
    pub(super) fn problem(self, line: &str, found: usize) -> LineProblem {
        LineProblem::Width { found, needed: self.most, text: crate::error::excerpt(line) }
    }
}

/// Where the columns of a CSV are and what they count.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::trace) struct Layout {
    pub(super) separator: char,
    /// The column that may have blanks in it.
    pub(super) free: Option<FreeText>,
    /// Whether this is a table of biosnoop or a relative.
    pub(super) is_snoop: bool,
    /// For each column the set of what it holds, one bit each.
    pub(super) holds: Vec<u8>,
    /// None where a map describes a file without header, whose lines may have what they like behind
    /// the columns of the map.
    pub(super) width: Option<Width>,
    /// The line with the names.
    pub(super) header: Option<String>,
    pub(super) clock: Clock,
    pub(super) op: OpMeaning,
    pub(super) offset: Address,
    pub(super) size: Address,
    /// What is typed for the columns of offset and size.
    pub(super) typed: [String; 2],
}

impl Layout {
    /// Whether an address or a size counts sectors.
    pub(in crate::trace) fn counts_sectors(&self) -> bool {
        self.offset.unit == AddressUnit::Sectors || self.size.unit == AddressUnit::Sectors
    }

    /// How times are written.
    pub(in crate::trace) fn written(&self) -> Written {
        match self.clock {
            Clock::Number => Written::Number,
            Clock::Date { .. } => Written::Date,
            Clock::Day => Written::TimeOfDay,
        }
    }

    /// What the columns of `line` are, each with what it is; empty where a column is missing.
    pub(super) fn take<'a>(&self, line: &'a str) -> Result<[&'a str; SLOTS], LineProblem> {
        let mut slots = [""; SLOTS];
        let most = self.width.map_or(usize::MAX, |width| width.most);
        let mut too_many = false;
        let found = cut_around(line, self.separator, self.free, |index, text| {
            let mut holds = self.holds.get(index).copied().unwrap_or(0);
            while holds != 0 {
                slots[holds.trailing_zeros() as usize] = text;
                holds &= holds - 1;
            }
            too_many |= index >= most && !text.is_empty();
        })?;
        match self.width {
            Some(width) if too_many || found < width.least => Err(width.problem(line, found)),
            None if found < self.holds.len() => {
                Err(super::fields::columns_problem(line, found, "the column map", "more"))
            }
            _ => Ok(slots),
        }
    }
}
