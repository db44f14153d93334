//! Bringing a drive to steady state before anything is measured.

use crate::device::Ssd;
use crate::ftl::Allocated;
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

impl Ssd {
    /// Fills the drive in order and overwrites it at random until write amplification is stable,
    /// all in no time. Counters start at zero afterwards.
    ///
    /// # Panics
    ///
    /// If commands are in flight.
    pub fn precondition(&mut self, seed: u64) -> Preconditioned {
        assert_eq!(self.commands_in_flight(), 0, "preconditioning a drive in use");
        let logical_pages = self.ftl.shape.logical_pages;
        // With RAIN the parity pages follow, one of each stripe.
        for page in 0..self.ftl.shape.stored_pages {
            self.write_page_untimed(page);
        }
        let mut rng = Rng::stream(seed, "precondition");
        let round = (Ratio::from_percent(25).of(u64::from(logical_pages))).max(1);
        let mut result = Preconditioned { rounds: 0, write_amplification: 1.0, stable: false };
        let mut calm_rounds = 0;
        while result.rounds < ROUNDS_MAX && !result.stable {
            self.reset_counters();
            for _ in 0..round {
                self.write_untimed(rng.below(u64::from(logical_pages)) as u32);
            }
            let before = result.write_amplification;
            result.write_amplification = self.counters.write_amplification();
            result.rounds += 1;
            let change = (result.write_amplification / before - 1.0).abs();
            calm_rounds = if change < STABLE_WITHIN { calm_rounds + 1 } else { 0 };
            // The first rounds of a fresh drive collect nothing, which is calm but not steady.
            result.stable = calm_rounds >= 2 && self.counters.collections > 0;
        }
        self.reset_counters();
        result
    }

    /// Writes a logical page, and with RAIN its parity, and collects as needed, in no time.
    fn write_untimed(&mut self, logical: u32) {
        self.write_page_untimed(logical);
        self.counters.host_programs_pages += 1;
        if let Some(rain) = &self.rain {
            let parity = rain.layout.parity_of(logical);
            self.write_page_untimed(parity);
            self.counters.parity_programs_pages += 1;
        }
    }

    fn write_page_untimed(&mut self, page: u32) {
        let Some(place) = self.place_untimed(page) else {
            // Every die is at the hard watermark: validation left each of them a victim somewhere.
            for die in 0..self.ftl.shape.dies {
                self.collect_instantly(die);
            }
            let place = self.place_untimed(page).expect("collection makes room by validation");
            self.ftl.commit_write(page, place.page);
            return;
        };
        self.ftl.commit_write(page, place.page);
        if place.opened_block && self.ftl.free(place.die) <= self.ftl.shape.soft {
            self.collect_instantly(place.die);
        }
    }

    fn place_untimed(&mut self, page: u32) -> Option<Allocated> {
        match &self.rain {
            None => self.ftl.allocate_for_host(page),
            Some(rain) => self.ftl.allocate_for_host_on(rain.layout.die_of(page)),
        }
    }
}
