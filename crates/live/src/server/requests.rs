//! Requests of clients from their coming to their answer.

use super::clients::ClientId;
use crate::nbd::Kind;
use engine::durability::AnswerId;
use engine::{ByteRequestKind, RequestSlot};
use units::{Instant, Slab};

/// A request that is not answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub(super) client: ClientId,
    pub(super) cookie: u64,
    pub(super) kind: Kind,
    pub(super) length_bytes: u64,
    /// The answer waits for stable storage.
    pub(super) fua: bool,
    pub(super) arrived: Instant,
}

/// Requests under way in the array, and answers that wait for stable storage.
#[derive(Debug, Default)]
pub(super) struct Requests {
    /// By their slot in the engine.
    asked: Vec<Option<Asked>>,
    under_way: u64,
    /// Those of which a slice is done and more are to come.
    slices: Vec<RequestSlot>,
    answers: Slab<(ClientId, u64)>,
}

impl Requests {
    pub(super) fn insert(&mut self, slot: RequestSlot, asked: Asked) {
        let index = slot.0 as usize;
        if self.asked.len() <= index {
            self.asked.resize(index + 1, None);
        }
        self.asked[index] = Some(asked);
        self.under_way += 1;
    }

    pub(super) fn remove(&mut self, slot: RequestSlot) -> Option<Asked> {
        let asked = self.asked.get_mut(slot.0 as usize)?.take();
        self.under_way -= u64::from(asked.is_some());
        asked
    }

    /// Requests that the array has not done.
    pub(super) fn under_way(&self) -> u64 {
        self.under_way
    }

    /// A slice of the request is done, and the next is begun in the next turn.
    pub(super) fn put_off_slice(&mut self, slot: RequestSlot) {
        self.slices.push(slot);
    }

    /// Whether requests wait for their next slice.
    pub(super) fn has_slices(&self) -> bool {
        !self.slices.is_empty()
    }

    /// The requests that wait for their next slice.
    pub(super) fn take_slices(&mut self) -> Vec<RequestSlot> {
        std::mem::take(&mut self.slices)
    }

    /// A name for an answer that has to wait.
    pub(super) fn hold_answer(&mut self, client: ClientId, cookie: u64) -> AnswerId {
        AnswerId(u64::from(self.answers.insert((client, cookie))))
    }

    /// Whom the answer is for.
    pub(super) fn release_answer(&mut self, answer: AnswerId) -> (ClientId, u64) {
        let slot = answer.0 as u32;
        self.answers.release(slot);
        *self.answers.get(slot)
    }
}

/// What the engine is asked for a request of these kinds; none for one that is not about data.
pub(super) fn byte_request(kind: Kind) -> Option<ByteRequestKind> {
    match kind {
        Kind::Read => Some(ByteRequestKind::Read),
        Kind::Write => Some(ByteRequestKind::Write),
        Kind::Trim => Some(ByteRequestKind::Deallocate),
        Kind::WriteZeroes { may_punch, .. } => {
            Some(ByteRequestKind::Zeroes { may_deallocate: may_punch })
        }
        Kind::Flush | Kind::BlockStatus { .. } | Kind::Cache => None,
    }
}
