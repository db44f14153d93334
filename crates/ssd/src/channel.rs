//! A channel: the bus that the dies of a column share.

use crate::ledger::Ledger;
use alloc::collections::VecDeque;

/// One page moves at a time; dies that want to move one wait in the order of asking.
#[derive(Clone, Debug)]
pub(crate) struct Channel {
    pub(crate) busy: bool,
    pub(crate) waiting: VecDeque<u32>,
    pub(crate) ledger: Ledger,
}

impl Channel {
    pub(crate) const fn new() -> Self {
        Self { busy: false, waiting: VecDeque::new(), ledger: Ledger::new() }
    }

    /// Dies that move pages in turn, if one more wants to.
    pub(crate) fn turns(&self) -> u64 {
        self.waiting.len() as u64 + 1
    }
}
