//! Hedged reads: what is late is rebuilt as well, and whichever comes first is taken.

use crate::engine::{Array, ReadOrWrite};
use crate::gather::Rebuild;
use crate::op::Phase;
use crate::policy::View;
use alloc::collections::BinaryHeap;
use core::cmp::Reverse;
use nvme::{Cause, Delays};
use units::Instant;

/// When stripe operations are late.
#[derive(Clone, Debug)]
pub(crate) struct Hedges {
    /// Time, serial number and slot of the operation. Operations that ended in time stay until their
    /// time comes.
    due: BinaryHeap<Reverse<(Instant, u64, u32)>>,
}

impl Hedges {
    pub(crate) const fn new() -> Self {
        Self { due: BinaryHeap::new() }
    }

    #[inline]
    pub(crate) fn next_deadline(&self) -> Instant {
        self.due.peek().map_or(Instant::NEVER, |Reverse((due, ..))| *due)
    }

    /// The next operation that is late at `now`: its slot and its serial number.
    #[inline]
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<(u32, u64)> {
        if self.next_deadline() > now {
            return None;
        }
        self.due.pop().map(|Reverse((_, serial, op))| (op, serial))
    }
}

impl Array {
    /// Asks the policy when an operation that has sent its reads is late.
    pub(crate) fn set_hedge(&mut self, now: Instant, op: u32) {
        if self.layout.parities() == 0 {
            return;
        }
        if let Some(after) = self.policy.hedge_after(now) {
            let serial = self.ops.get(op).serial;
            self.hedges.due.push(Reverse((now + after, serial, op)));
        }
    }

    /// An operation is late, unless it has ended: rebuild what is missing if that can be done and the
    /// policy lets it.
    pub(crate) fn hedge(&mut self, now: Instant, op: u32, serial: u64) {
        if self.ops.get(op).serial != serial {
            return;
        }
        let target = self.ops.get(op);
        let late = target.wanted & !target.have;
        // What is being rebuilt already needs no hedge.
        if target.phase != Phase::Gather || late == 0 || target.races || target.missing != 0 {
            return;
        }
        // Parity needs members of one moment. What a read knows from before a write is good enough for
        // the host, but not to compute with; reading it again would cost more than the wait is worth.
        let moved = target.kind == ReadOrWrite::Read
            && target.commits_seen != self.locks.commits(target.stripe)
            && target.have | (target.outstanding & !late) != 0;
        let hopeless = late.count_ones() > self.layout.parities()
            || moved
            || !matches!(self.may_rebuild(op), Rebuild::Read);
        let view = View { coordinator: &self.coordinator, queues: &self.queues };
        let members = self.layout.all_members().count_ones() - self.layout.parities();
        let target = self.ops.get(op);
        let reads = members - (target.have | target.outstanding & !late).count_ones().min(members);
        if hopeless || !self.policy.may_hedge(now, late, reads, &view) {
            self.counters.hedges_denied += 1;
            return;
        }
        self.counters.hedges += 1;
        let target = self.ops.get(op);
        let mut passed = Delays::ZERO;
        passed.add(Cause::LateAnswer, now.since(self.requests.get(target.request).arrived));
        let commits = self.locks.commits(target.stripe);
        let target = self.ops.get_mut(op);
        target.commits_seen = commits;
        target.races = true;
        target.hedge_reads = reads;
        target.missing = late;
        self.enter_lock(op);
        self.read_survivors(now, op, &passed);
        // Nothing to read: everything else is known already.
        self.go_on_if_known(now, op, passed);
    }
}
