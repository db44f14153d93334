//! Requests of clients that are under way in the array.

use super::Token;
use crate::bytes::{ByteRequestKind, RequestSlot};
use alloc::vec::Vec;

/// A request that is not answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub(super) token: Token,
    pub(super) kind: ByteRequestKind,
    /// The answer waits for stable storage.
    pub(super) forced: bool,
}

impl Asked {
    pub(super) fn is_read(&self) -> bool {
        self.kind == ByteRequestKind::Read
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Requests {
    /// By their slot in the data plane.
    asked: Vec<Option<Asked>>,
    in_flight: u64,
    /// Those of which a part is done and more are to come.
    waiting: Vec<RequestSlot>,
}

impl Requests {
    pub(super) fn insert(&mut self, slot: RequestSlot, asked: Asked) {
        let index = slot.0 as usize;
        if self.asked.len() <= index {
            self.asked.resize(index + 1, None);
        }
        self.asked[index] = Some(asked);
        self.in_flight += 1;
    }

    pub(super) fn remove(&mut self, slot: RequestSlot) -> Option<Asked> {
        let asked = self.asked.get_mut(slot.0 as usize)?.take();
        self.in_flight -= u64::from(asked.is_some());
        asked
    }

    /// Nobody waits any more for what is under way.
    pub(super) fn take_all(&mut self) -> Vec<Token> {
        self.in_flight = 0;
        self.waiting.clear();
        self.asked.drain(..).flatten().map(|asked| asked.token).collect()
    }

    pub(super) fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// A part of the request is done; the next is begun later.
    pub(super) fn wait_for_next_part(&mut self, slot: RequestSlot) {
        self.waiting.push(slot);
    }

    pub(super) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    pub(super) fn take_waiting(&mut self) -> Vec<RequestSlot> {
        core::mem::take(&mut self.waiting)
    }
}
