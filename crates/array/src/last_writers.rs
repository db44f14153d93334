//! The last writer of every row of a stripe: what a new writer has to wait for.

use crate::action::OpId;
use alloc::vec::Vec;

/// The last writer of some rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastWriter {
    pub(crate) first_row: u32,
    pub(crate) end_row: u32,
    pub(crate) op: OpId,
    /// Its ticket: the operation may have left, and its number been reused.
    pub(crate) ticket: u64,
}

/// The last writer of every row that has one.
#[derive(Clone, Debug, Default)]
pub(crate) enum LastWriters {
    /// No row has one.
    #[default]
    None,
    /// All rows that have a last writer have the same: always so where a chunk has one row.
    One(LastWriter),
    /// Runs of rows, in order.
    Many(Vec<LastWriter>),
}

impl LastWriters {
    /// Makes `new` the last writer of its rows. Calls `found` with each previous last writer of
    /// some of these rows, in row order.
    #[inline]
    pub(crate) fn replace(&mut self, new: LastWriter, mut found: impl FnMut(&LastWriter)) {
        match self {
            Self::None => *self = Self::One(new),
            Self::One(other)
                if new.first_row <= other.first_row && other.end_row <= new.end_row =>
            {
                found(other);
                *other = new;
            }
            Self::One(other) => {
                let mut runs = Vec::with_capacity(4);
                runs.push(*other);
                replace_in(&mut runs, new, found);
                *self = Self::Many(runs);
            }
            Self::Many(runs) => replace_in(runs, new, found),
        }
    }

    /// Forgets all writers.
    #[inline]
    pub(crate) fn clear(&mut self) {
        match self {
            Self::None => {}
            Self::One(_) => *self = Self::None,
            // The allocation is used again.
            Self::Many(runs) => runs.clear(),
        }
    }

    /// Panics if the runs overlap.
    pub(crate) fn check_invariants(&self) {
        let Self::Many(runs) = self else { return };
        let mut end = 0;
        for last in runs {
            assert!(end <= last.first_row && last.first_row < last.end_row);
            end = last.end_row;
        }
    }
}

fn replace_in(runs: &mut Vec<LastWriter>, new: LastWriter, mut found: impl FnMut(&LastWriter)) {
    let from = runs.partition_point(|other| other.end_row <= new.first_row);
    let mut to = from;
    let (mut before, mut after) = (None, None);
    while let Some(&other) = runs.get(to).filter(|other| other.first_row < new.end_row) {
        to += 1;
        found(&other);
        if other.first_row < new.first_row {
            before = Some(LastWriter { end_row: new.first_row, ..other });
        }
        if other.end_row > new.end_row {
            after = Some(LastWriter { first_row: new.end_row, ..other });
        }
    }
    runs.splice(from..to, [before, Some(new), after].into_iter().flatten());
}
