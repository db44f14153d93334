//! Hedged: a read that its drive has not answered in time is also reconstructed, and whichever
//! comes first is taken ("The Tail at Scale", 2013).
//!
//! A read is late after a fixed delay (HDFS's hedged reads), or when most reads would have been
//! answered (Cassandra's speculative retry at `99p`). Both hedge within a budget of tokens, as gRPC
//! throttles retries, and only while the drives have time: where most reads queue, as in an
//! overloaded array, more reads make everything slower. Needs nothing from the drives. Costs the
//! reads of reconstructions, at most the budgeted share of all reads, and the delay, before which
//! no read is helped. A fixed delay that is right for one load is too long or too short for
//! another.

use crate::policy::budget::Budget;
use crate::policy::quantile::RunningQuantiles;
use crate::policy::{
    About, Answered, Awaited, DriveChanges, HedgeSettings, Hooks, Needs, Policy, PolicyKind, View,
    WindowUse,
};
use alloc::boxed::Box;
use nvme::{Opcode, Untimed};
use units::{Duration, Instant, Ratio};

/// The policy with a fixed delay.
pub(super) const HEDGED: PolicyKind = PolicyKind::new(&About {
    name: "hedged",
    label: "Hedged",
    summary: "a read without an answer after a fixed delay is also reconstructed, within a budget",
    source: "HDFS hedged reads",
    drive_changes: DriveChanges::Nothing,
    windows: WindowUse::None,
    untimed: Untimed::Nothing,
    needs: Needs::Redundancy,
    build: &|setup| {
        let settings = &setup.settings.hedge;
        Box::new(Hedged::new(Some(settings.delay), settings))
    },
});

/// The policy whose delay is a running quantile.
pub(super) const HEDGED_QUANTILE: PolicyKind = PolicyKind::new(&About {
    name: "hedged-quantile",
    label: "Hedged p99",
    summary: "a read without an answer by the running p99 is also reconstructed, within a budget",
    source: "Cassandra speculative retry; gRPC retry throttling",
    drive_changes: DriveChanges::Nothing,
    windows: WindowUse::None,
    untimed: Untimed::Nothing,
    needs: Needs::Redundancy,
    build: &|setup| Box::new(Hedged::new(None, &setup.settings.hedge)),
});

/// Drives have time while the median read takes at most this many halves of the fastest tenth at
/// its fastest. For drives that serve one read after the other, that is a utilization of up to
/// about two thirds.
const QUEUEING_HALVES: u64 = 3;

struct Hedged {
    /// The delay; `None` if it is a quantile.
    fixed: Option<Duration>,
    /// Quantiles of the latencies: 10 %, 50 %, and the one at which reads are hedged.
    latencies: RunningQuantiles<3>,
    /// The lowest 10 % quantile so far.
    fastest: Duration,
    budget: Budget,
}

impl Hedged {
    fn new(fixed: Option<Duration>, settings: &HedgeSettings) -> Self {
        let (fast, median) = (Ratio::from_percent(10), Ratio::from_percent(50));
        let latencies = RunningQuantiles::new([fast, median, settings.quantile]);
        let budget = Budget::new(settings.budget);
        Self { fixed, latencies, fastest: Duration::MAX, budget }
    }

    /// Whether the drives could read more without delaying other reads.
    fn drives_have_time(&self) -> bool {
        let median = self.latencies.values().map(|[_, median, _]| median);
        median.is_some_and(|median| median * 2 <= self.fastest * QUEUEING_HALVES)
    }
}

impl Policy for Hedged {
    fn hooks(&self) -> Hooks {
        Hooks::HEDGE_AFTER | Hooks::ANSWERED
    }

    fn hedge_after(&mut self, _: Instant, _: &Awaited) -> Option<Duration> {
        let [_, _, quantile] = self.latencies.values()?;
        Some(self.fixed.unwrap_or(quantile))
    }

    fn may_hedge(&mut self, _: Instant, _: u64, reads: u32, _: &View<'_>) -> bool {
        self.drives_have_time() && self.budget.spend(reads)
    }

    fn hedge_ended(&mut self, reads: u32, won: bool) {
        if won {
            self.budget.won(reads);
        }
    }

    fn answered(&mut self, _: Instant, answer: &Answered) {
        if answer.command.opcode == Opcode::Read {
            self.budget.earn();
            self.latencies.add(answer.latency);
            if let Some([fast, ..]) = self.latencies.values() {
                self.fastest = self.fastest.min(fast);
            }
        }
    }
}
