//! Hedged reads: what is late is rebuilt as well, and whichever comes first is taken.

use crate::engine::Array;
use crate::gather::Rebuild;
use crate::op::{OpKind, Phase};
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
        let target = self.ops.get(op);
        let late = target.wanted & !target.have;
        if target.serial != serial || target.phase != Phase::Gather || late == 0 {
            return;
        }
        // What is being rebuilt already needs no hedge.
        if target.races || target.missing != 0 {
            return;
        }
        let reads = self.reads_to_rebuild(op, late);
        let stripe = self.placement.drives(&self.layout, self.ops.get(op).stripe);
        let view = View { coordinator: &self.coordinator, queues: &self.queues, stripe };
        if !self.can_rebuild_beside(op, late) || !self.policy.may_hedge(now, late, reads, &view) {
            self.counters.hedges_denied += 1;
            return;
        }
        self.counters.hedges += 1;
        let target = self.ops.get_mut(op);
        target.hedge_reads = reads;
        let mut passed = Delays::ZERO;
        passed.add(Cause::LateAnswer, now.since(self.requests.get(target.request).admitted));
        self.rebuild_beside(now, op, late, passed);
    }

    /// Rebuilds at once what was sent only to see whether it comes first.
    pub(crate) fn rebuild_doubted(&mut self, now: Instant, op: u32, doubted: u64) {
        if self.ops.get(op).missing == 0 && self.can_rebuild_beside(op, doubted) {
            self.rebuild_beside(now, op, doubted, Delays::ZERO);
        }
    }

    /// How many reads it takes to rebuild the `late` members while they are still awaited.
    fn reads_to_rebuild(&self, op: u32, late: u64) -> u32 {
        let target = self.ops.get(op);
        let suffice = self.layout.data_chunks();
        let known = target.have | target.outstanding & !late;
        suffice.saturating_sub(known.count_ones())
    }

    fn can_rebuild_beside(&self, op: u32, late: u64) -> bool {
        let target = self.ops.get(op);
        // Parity needs members of one moment. What a read knows from before a write is good enough for
        // the host, but not to compute with; reading it again would cost more than the wait is worth.
        let moved = target.kind == OpKind::Read
            && target.commits_seen != self.locks.commits(target.stripe)
            && (target.have | target.outstanding & !late != 0 || late.count_ones() > 1);
        late.count_ones() <= self.layout.parities()
            && !moved
            && target.gone == 0
            && self.unreadable(target.stripe) == 0
            && matches!(self.may_rebuild(op), Rebuild::Read)
    }

    /// Reads what the `late` members can be computed from, and goes on with what comes first.
    fn rebuild_beside(&mut self, now: Instant, op: u32, late: u64, passed: Delays) {
        let commits = self.locks.commits(self.ops.get(op).stripe);
        let target = self.ops.get_mut(op);
        target.commits_seen = commits;
        target.races = true;
        target.missing = late;
        self.enter_lock(op);
        self.read_survivors(now, op, &passed);
        // Nothing to read if everything else is known already.
        self.go_on_if_known(now, op, passed);
    }
}
