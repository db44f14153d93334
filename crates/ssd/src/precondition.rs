//! Bringing a drive to steady state before anything is measured: which pages are overwritten, and
//! when that is enough.

use crate::counters::Counters;
use units::{Ratio, Rng};

/// Rounds after which a drive that will not settle is taken as it is.
const ROUNDS_MAX: u32 = 60;
/// Write amplification is stable when two rounds in a row differ by less than this.
const STABLE_WITHIN: f64 = 0.01;

/// How a drive was prepared.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Preconditioned {
    /// Rounds of random overwrites, each of a quarter of the logical pages.
    pub rounds: u32,
    /// Write amplification of the last round.
    pub write_amplification: f64,
    /// Whether it was stable in the end.
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
    /// For a drive that was filled once.
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

    /// The logical pages that are overwritten in the next round, in this order.
    pub(crate) fn next_round(&mut self) -> impl Iterator<Item = u32> + '_ {
        let pages = Ratio::from_percent(25).of(self.logical_pages).max(1);
        (0..pages).map(|_| self.rng.below(self.logical_pages) as u32)
    }

    /// A round is over, which these are the totals of.
    pub(crate) fn end_round(&mut self, counters: &Counters) {
        let before = self.result.write_amplification;
        let after = counters.write_amplification();
        self.result.rounds += 1;
        self.result.write_amplification = after;
        let change = (after / before - 1.0).abs();
        self.calm = if change < STABLE_WITHIN { self.calm + 1 } else { 0 };
        // The first rounds of a fresh drive collect nothing, which is calm but not steady.
        self.result.stable = self.calm >= 2 && counters.collections > 0;
    }

    /// How the drive was prepared.
    pub(crate) fn result(&self) -> Preconditioned {
        self.result
    }
}
