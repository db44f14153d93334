//! A channel: the bus that the dies of a column share.

use crate::dies::ledger::Ledger;
use alloc::collections::VecDeque;

/// One page moves at a time; dies that want to move one wait in the order of asking.
#[derive(Clone, Debug)]
pub(super) struct Channel {
    pub(super) busy: bool,
    pub(super) waiting: VecDeque<u32>,
    pub(super) ledger: Ledger,
}

impl Channel {
    pub(super) const fn new() -> Self {
        Self { busy: false, waiting: VecDeque::new(), ledger: Ledger::new() }
    }

    /// Turns on the channel if one more die asks for it.
    pub(super) fn turns(&self) -> u64 {
        self.waiting.len() as u64 + 1
    }
}
