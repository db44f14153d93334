//! A budget of extra reads.

use units::Ratio;

/// Parts of a token; a token pays for one read.
const READ: u64 = 10_000;
/// Reads that the budget can save up: enough for the hedges of one moment, but not of a second.
pub(super) const SAVED_READS: u64 = 128;

/// Tokens that reads earn and hedges cost (the shape of gRPC's retry throttling). Over any stretch
/// of time hedges send at most a given share of all reads, plus what was saved up. A hedge costs
/// twice its reads, and gets half of that back if it wins. A hedge that loses was of no use,
/// probably because the other drives are as slow. So hedging is halved where it does not help, as
/// in an overloaded array.
#[derive(Clone, Debug)]
pub(super) struct Budget {
    /// Parts of a token that a read earns.
    earned: u64,
    parts: u64,
}

impl Budget {
    /// A budget of `share` of all reads; begins half full.
    pub(super) fn new(share: Ratio) -> Self {
        Self { earned: share.of(READ), parts: SAVED_READS * READ / 2 }
    }

    /// Reads that are saved up, rounded down.
    pub(super) const fn saved_reads(&self) -> u64 {
        self.parts / READ
    }

    /// Earns the share of one answered read.
    pub(super) fn earn(&mut self) {
        self.save(self.earned);
    }

    /// Spends the tokens of `reads` reads. Returns `false` if there are too few.
    pub(super) fn spend(&mut self, reads: u32) -> bool {
        let cost = 2 * u64::from(reads) * READ;
        if self.parts < cost {
            return false;
        }
        self.parts -= cost;
        true
    }

    /// Gives back half the cost of a hedge of `reads` reads that came first.
    pub(super) fn won(&mut self, reads: u32) {
        self.save(u64::from(reads) * READ);
    }

    fn save(&mut self, parts: u64) {
        self.parts = (self.parts + parts).min(SAVED_READS * READ);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(won: bool) -> u64 {
        let mut budget = Budget::new(Ratio::from_percent(5));
        let mut spent = 0;
        for _ in 0..100_000 {
            budget.earn();
            if budget.spend(3) {
                spent += 3;
                if won {
                    budget.won(3);
                }
            }
        }
        spent
    }

    #[test]
    fn hedges_send_no_more_than_their_share() {
        assert!((5_000..=5_000 + SAVED_READS).contains(&spent(true)), "{}", spent(true));
    }

    #[test]
    fn hedges_that_lose_send_half_of_it() {
        assert!((2_500..=2_500 + SAVED_READS).contains(&spent(false)), "{}", spent(false));
    }
}
