//! Positions and units of the columns of a CSV, when they are settled.

use super::columns::{AddressUnit, OpWords};
use super::cut::{FreeText, cut_around};
use super::moments::Clock;
use crate::error::LineProblem;
use crate::trace::clock::Written;

/// Slots for the parts of a line; a column may fill several slots.
pub(super) const TIME: usize = 0;
pub(super) const OP: usize = 1;
pub(super) const OFFSET: usize = 2;
pub(super) const SIZE: usize = 3;
/// First and last column of the device; its name is the text from the first to the last.
pub(super) const DEVICE: usize = 4;
pub(super) const DEVICE_END: usize = 5;
/// Number of slots.
const SLOTS: usize = 6;
/// Names of the slots in messages.
pub(super) const NAMES: [&str; SLOTS] = ["time", "op", "offset", "size", "device", "device"];

/// Unit of a column of addresses or sizes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Address {
    pub(super) unit: AddressUnit,
    pub(super) hexadecimal: bool,
    /// Whether the only evidence for bytes is that all values seen are multiples of 512: a later
    /// value that is not contradicts it.
    pub(super) by_values: bool,
}

/// Meaning of the words of operations.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum OpMeaning {
    /// All known words.
    Known,
    /// These words only.
    Words(OpWords),
    /// A flag that is true for writes, or for reads.
    Flag { true_writes: bool },
}

/// Number of columns of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Width {
    /// Number of columns without empty ones at the end.
    pub(super) least: usize,
    /// Number of columns; all further ones must be empty.
    pub(super) most: usize,
}

impl Width {
    /// Whether a line may have these columns.
    pub(super) fn fits(self, row: &[&str]) -> bool {
        row.len() >= self.least && row.iter().skip(self.most).all(|text| text.is_empty())
    }

    /// Problem of a line with `found` columns.
    pub(super) fn problem(self, line: &str, found: usize) -> LineProblem {
        LineProblem::Width { found, needed: self.most, text: crate::error::excerpt(line) }
    }
}

/// Positions and units of the columns of a CSV.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::trace) struct Layout {
    pub(super) separator: char,
    /// Column that may contain blanks.
    pub(super) free: Option<FreeText>,
    /// Whether this is a table of biosnoop or a similar tool.
    pub(super) is_snoop: bool,
    /// Set of the slots that each column fills, one bit each.
    pub(super) holds: Vec<u8>,
    /// Number of columns; `None` if a map describes a file without a header, whose lines may have
    /// any further columns.
    pub(super) width: Option<Width>,
    /// Line with the names.
    pub(super) header: Option<String>,
    pub(super) clock: Clock,
    pub(super) op: OpMeaning,
    pub(super) offset: Address,
    pub(super) size: Address,
    /// Texts to type for the columns of offset and size.
    pub(super) typed: [String; 2],
}

impl Layout {
    /// Whether an address or a size counts sectors.
    pub(in crate::trace) fn counts_sectors(&self) -> bool {
        self.offset.unit == AddressUnit::Sectors || self.size.unit == AddressUnit::Sectors
    }

    /// Notation of the times.
    pub(in crate::trace) fn written(&self) -> Written {
        match self.clock {
            Clock::Number => Written::Number,
            Clock::Date { .. } => Written::Date,
            Clock::Day => Written::TimeOfDay,
        }
    }

    /// Parts of `line`, by slot; empty where a column is missing.
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
