//! Preconditioning: which pages are overwritten to bring a drive to steady state, and when it is
//! reached.

use crate::counters::Counters;
use units::{Ratio, Rng};

/// Most rounds for a drive that does not become stable.
const ROUNDS_MAX: u32 = 60;
/// Write amplification is stable when two rounds in a row differ by less than this.
const STABLE_WITHIN: f64 = 0.01;

/// Result of preconditioning.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Preconditioned {
    /// Rounds of random overwrites, each of a quarter of the logical pages.
    pub rounds: u32,
    /// Write amplification of the last round.
    pub write_amplification: f64,
    /// Whether write amplification was stable in the end.
    pub stable: bool,
}

/// Rounds of random overwrites until write amplification is stable.
pub(crate) struct Rounds {
    logical_pages: u64,
    rng: Rng,
    calm: u32,
    result: Preconditioned,
}

impl Rounds {
    /// Rounds for a drive that was filled once.
    pub(crate) fn new(logical_pages: u32, seed: u64) -> Self {
        Self {
            logical_pages: u64::from(logical_pages),
            rng: Rng::stream(seed, "precondition"),
            calm: 0,
            result: Preconditioned { rounds: 0, write_amplification: 1.0, stable: false },
        }
    }

    /// Whether another round is needed.
    pub(crate) fn go_on(&self) -> bool {
        self.result.rounds < ROUNDS_MAX && !self.result.stable
    }

    /// Logical pages to overwrite in the next round, in this order.
    pub(crate) fn next_round(&mut self) -> impl Iterator<Item = u32> + '_ {
        let pages = Ratio::from_percent(25).of(self.logical_pages).max(1);
        (0..pages).map(|_| self.rng.below(self.logical_pages) as u32)
    }

    /// Ends a round, whose totals are `counters`.
    pub(crate) fn end_round(&mut self, counters: &Counters) {
        let before = self.result.write_amplification;
        let after = counters.write_amplification();
        self.result.rounds += 1;
        self.result.write_amplification = after;
        let change = (after / before - 1.0).abs();
        self.calm = if change < STABLE_WITHIN { self.calm + 1 } else { 0 };
        // The first rounds of a fresh drive collect nothing: write amplification is stable, but the
        // drive is not in steady state.
        self.result.stable = self.calm >= 2 && counters.collections > 0;
    }

    /// Result of preconditioning.
    pub(crate) fn result(&self) -> Preconditioned {
        self.result
    }
}
