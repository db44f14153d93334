//! Hedged: what a drive has not answered in time is rebuilt as well, and whichever comes first is
//! taken ("The Tail at Scale", 2013).
//!
//! Two ways to say what is late: after a fixed delay (HDFS's hedged reads), or when most reads would
//! have been answered (Cassandra's speculative retry at `99p`). Both within a budget of tokens, as
//! gRPC throttles retries. Needs nothing from the drives. Costs the reads of rebuilds, at most the
//! budgeted share of all reads, and the delay itself, before which no read is helped; a fixed delay
//! that is right for one load is too long or too short for another.

use super::budget::Budget;
use super::quantile::RunningQuantile;
use super::{About, Answered, Needs, Policy, PolicyKind, View, WindowUse};
use alloc::boxed::Box;
use nvme::Opcode;
use units::{Duration, Instant, Ratio};

/// After a fixed delay.
pub(super) const HEDGED: PolicyKind = PolicyKind::new(&About {
    name: "hedged",
    label: "Hedged",
    summary: "what is not answered after a fixed delay is rebuilt as well, within a budget",
    source: "HDFS hedged reads",
    drive_changes: "nothing",
    windows: WindowUse::None,
    collects_instantly: false,
    needs: Needs::Redundancy,
    build: |setup| {
        let settings = &setup.settings.hedge;
        Box::new(Hedged::new(Delay::Fixed(settings.delay), settings))
    },
});

/// At a running quantile.
pub(super) const HEDGED_QUANTILE: PolicyKind = PolicyKind::new(&About {
    name: "hedged-quantile",
    label: "Hedged p99",
    summary: "what is not answered by the running p99 of all reads is rebuilt as well, within a budget",
    source: "Cassandra speculative retry; gRPC retry throttling",
    drive_changes: "nothing",
    windows: WindowUse::None,
    collects_instantly: false,
    needs: Needs::Redundancy,
    build: |setup| {
        let settings = &setup.settings.hedge;
        let latencies = RunningQuantile::new(settings.quantile);
        Box::new(Hedged::new(Delay::Quantile(latencies), settings))
    },
});

/// When reads are hedged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HedgeSettings {
    /// After so long without an answer, under `hedged`. HDFS's 500 ms are for disks; this is longer
    /// than reads take on flash that is not collecting.
    pub delay: Duration,
    /// Later than this share of recent reads, under `hedged-quantile`.
    pub quantile: Ratio,
    /// Most reads that hedges send, as a share of all reads.
    pub budget: Ratio,
}

impl Default for HedgeSettings {
    fn default() -> Self {
        Self {
            delay: Duration::from_millis(2),
            quantile: Ratio::from_percent(99),
            budget: Ratio::from_percent(5),
        }
    }
}

enum Delay {
    Fixed(Duration),
    Quantile(RunningQuantile),
}

struct Hedged {
    delay: Delay,
    budget: Budget,
}

impl Hedged {
    fn new(delay: Delay, settings: &HedgeSettings) -> Self {
        Self { delay, budget: Budget::new(settings.budget) }
    }
}

impl Policy for Hedged {
    fn hedge_after(&mut self, _: Instant) -> Option<Duration> {
        match &self.delay {
            Delay::Fixed(delay) => Some(*delay),
            Delay::Quantile(latencies) => latencies.value(),
        }
    }

    fn may_hedge(&mut self, _: Instant, _: u64, reads: u32, _: &View<'_>) -> bool {
        self.budget.spend(reads)
    }

    fn hedge_ended(&mut self, reads: u32, won: bool) {
        if won {
            self.budget.won(reads);
        }
    }

    fn answered(&mut self, _: Instant, answer: &Answered) {
        if answer.command.opcode != Opcode::Read {
            return;
        }
        self.budget.earn();
        if let Delay::Quantile(latencies) = &mut self.delay {
            latencies.add(answer.latency);
        }
    }
}
