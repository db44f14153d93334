//! Requests that were put back into their queue: each is issued again, and both issues count as
//! requests.

use super::order::Order;
use crate::error::LineProblem;
use crate::{Op, Request};
use std::collections::HashMap;

/// Most requests that are remembered: no device has as many in its queues.
const MOST: usize = 1 << 20;

/// Key of a request, for the next issue; its size may have grown by then.
type Key = (u32, Op, u64);

/// Requests that will be issued again.
#[derive(Default)]
pub(super) struct Requeues(HashMap<Key, u32>);

fn key(request: &Request) -> Key {
    (request.device, request.op, request.offset_bytes)
}

impl Requeues {
    /// Records a request that was put back. `has_left` says whether requests have left the order.
    /// Before that, a request that is not in the order was issued before the trace began, and its
    /// next issue is the first.
    pub(super) fn put_back(
        &mut self,
        request: &Request,
        order: &Order,
        has_left: bool,
    ) -> Result<(), LineProblem> {
        if !has_left && !order.holds(|held| key(held) == key(request)) {
            return Ok(());
        }
        if self.0.len() == MOST && !self.0.contains_key(&key(request)) {
            return Err(LineProblem::ManyRequeues { limit: MOST });
        }
        *self.0.entry(key(request)).or_default() += 1;
        Ok(())
    }

    /// Forgets one record of `request`, which is issued again now. Returns false if there was none.
    pub(super) fn issued_again(&mut self, request: &Request) -> bool {
        if self.0.is_empty() {
            return false;
        }
        match self.0.get_mut(&key(request)) {
            None => return false,
            Some(1) => drop(self.0.remove(&key(request))),
            Some(count) => *count -= 1,
        }
        true
    }
}
