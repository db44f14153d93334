//! Requests that were put back into their queue. Each is issued again, and counts once, at its last issue.

use super::order::Order;
use crate::error::LineProblem;
use crate::{Op, Request};
use std::collections::HashMap;

/// Requests that are remembered at most: no device has as many in its queues.
const MOST: usize = 1 << 20;

/// What a request is known by when it is issued again; it may have grown by then.
type Key = (u32, Op, u64);

/// What becomes of an issue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Issue {
    /// It is the first of its request.
    First,
    /// It takes the place of an earlier one, which is out of the order again.
    Replaces,
    /// The earlier one has left already, so this one is none.
    Repeats,
}

/// Requests that will be issued again.
#[derive(Default)]
pub(super) struct Requeues(HashMap<Key, u32>);

fn key(request: &Request) -> Key {
    (request.device, request.op, request.offset_bytes)
}

impl Requeues {
    /// Takes note of a request that was put back. `has_left` says whether requests have left the order: until then one
    /// that is not in it was issued before the trace began, and its next issue is the first.
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

    /// What an issue of `request` is, which comes into the order next.
    pub(super) fn issued(&mut self, request: &Request, order: &mut Order) -> Issue {
        if self.0.is_empty() {
            return Issue::First;
        }
        let key_of_it = key(request);
        match self.0.get_mut(&key_of_it) {
            None => return Issue::First,
            Some(1) => drop(self.0.remove(&key_of_it)),
            Some(count) => *count -= 1,
        }
        match order.take_back(|held| key(held) == key_of_it) {
            true => Issue::Replaces,
            false => Issue::Repeats,
        }
    }
}
