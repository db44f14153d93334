//! Memory of rows that were checked and fit.

use super::disk::Block;
use super::model::Versions;
use super::place::Row;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Rows that were checked and fit, so that unchanged rows are not computed again.
#[derive(Debug, Default)]
pub(super) struct Memo(pub(super) BTreeMap<Row, Seen>);

/// A row whose members fit.
#[derive(Debug)]
pub(super) struct Seen {
    /// Content of each member.
    pub(super) blocks: Vec<Block>,
    /// Their checksums.
    pub(super) sums: Vec<u32>,
    /// Pages of the array in the row, with their versions.
    pub(super) pages: Vec<(u64, Versions)>,
}

impl Seen {
    /// Returns true if these are the remembered blocks, by identity and not by content.
    pub(super) fn is_of(&self, blocks: &[&Block]) -> bool {
        let same = |one: &Block, other: &Block| match (one, other) {
            (None, None) => true,
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            _ => false,
        };
        self.blocks.iter().zip(blocks).all(|(one, other)| same(one, other))
    }
}
