//! The bound on the work of one turn of the loop, after which sockets are polled again.
//!
//! Parts of requests have a budget in the volume ([`PARTS`]); [`Turn`] bounds what comes and goes
//! over sockets. What is left over is handled in the next turns, in the order in which it came.

use crate::clock::Event;
use engine::volume::TurnBudget;
use std::collections::VecDeque;

/// Parts of requests that are begun: about a millisecond of work.
pub(super) const PARTS: TurnBudget = TurnBudget { bytes: 1 << 20, parts: 128 };
/// Bytes that are received and sent, with [`REQUEST_BYTES`] for each request.
const BYTES: u64 = 2 << 20;
/// Bytes that are received of one client.
pub(super) const CLIENT_BYTES: u64 = 256 << 10;
/// Bytes that count for a request, so that small ones are bounded in number.
pub(super) const REQUEST_BYTES: u64 = 4096;
/// Messages of other threads.
pub(super) const MESSAGES: u32 = 16;

/// See the module.
#[derive(Debug)]
pub(super) struct Turn {
    left_bytes: u64,
    /// What is ready and was not handled.
    pub(super) ready: VecDeque<Event>,
    /// Messages are left.
    pub(super) has_messages: bool,
}

impl Turn {
    pub(super) fn new() -> Self {
        Self { left_bytes: BYTES, ready: VecDeque::new(), has_messages: false }
    }

    /// Another turn begins.
    pub(super) fn begin(&mut self) {
        self.left_bytes = BYTES;
    }

    /// Counts `bytes` that were received or sent.
    pub(super) fn charge(&mut self, bytes: u64) {
        self.left_bytes = self.left_bytes.saturating_sub(bytes);
    }

    /// Whether everything else is for the next turn.
    pub(super) fn is_used_up(&self) -> bool {
        self.left_bytes == 0
    }

    /// Whether there is something to do before the thread waits.
    pub(super) fn has_work(&self) -> bool {
        self.has_messages || !self.ready.is_empty()
    }
}
