//! Requests that the policy holds back before anything of them is sent.

use crate::engine::Array;
use crate::request::Request;
use alloc::collections::{BTreeMap, VecDeque};
use units::Instant;

/// What is held back, by host and in the order of its coming.
#[derive(Clone, Debug, Default)]
pub(crate) struct HeldBack {
    hosts: BTreeMap<u8, VecDeque<(Instant, Request)>>,
    requests: usize,
}

impl HeldBack {
    /// Requests that are held back.
    pub(crate) fn len(&self) -> usize {
        self.requests
    }

    pub(crate) fn push(&mut self, arrived: Instant, request: Request) {
        self.hosts.entry(request.host).or_default().push_back((arrived, request));
        self.requests += 1;
    }

    /// The first of the first host that has any.
    fn pop(&mut self) -> Option<(Instant, Request)> {
        let next = self.hosts.values_mut().find_map(VecDeque::pop_front)?;
        self.requests -= 1;
        Some(next)
    }
}

impl Array {
    /// The policy may have changed its mind: lets requests go that it holds back no longer, and looks
    /// at what is staged.
    pub(crate) fn follow_policy(&mut self, now: Instant) {
        while self.held_back.len() > 0 && self.policy.releases() {
            if let Some((arrived, request)) = self.held_back.pop() {
                self.admit(now, arrived, &request);
            }
        }
        self.drain(now);
    }
}
