//! Bringing a drive to steady state before anything is measured.

use crate::counters::Counters;
use crate::flash::Flash;
use crate::ftl::Ftl;
use crate::rain::Layout;
use units::{Observe, Ratio, Rng};

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

/// The die that a page is bound to, if it is bound to one.
fn bound_die(ftl: &Ftl, layout: Option<&Layout>, page: u32) -> Option<u32> {
    match layout {
        Some(layout) => Some(layout.die_of(page)),
        None => ftl.bound_die(page),
    }
}

/// Writes a logical page, and with RAIN its parity, in no time.
pub(crate) fn overwrite<O: Observe>(flash: &mut Flash<O>, layout: Option<&Layout>, page: u32) {
    let die = bound_die(&flash.ftl, layout, page);
    flash.write_untimed(page, die);
    flash.journal.counters.host_programs_pages += 1;
    if let Some(layout) = layout {
        let parity = layout.parity_of(page);
        let die = bound_die(&flash.ftl, Some(layout), parity);
        flash.write_untimed(parity, die);
        flash.journal.counters.parity_programs_pages += 1;
    }
}

/// Fills a drive in order and overwrites it at random until write amplification is stable, all in
/// no time. `layout` says where pages lie on a drive with RAIN.
pub(crate) fn precondition<O: Observe>(
    flash: &mut Flash<O>,
    layout: Option<&Layout>,
    seed: u64,
) -> Preconditioned {
    let logical_pages = u64::from(flash.ftl.shape.logical_pages);
    // With RAIN the parity pages follow, one of each stripe.
    for page in 0..flash.ftl.shape.stored_pages {
        let die = bound_die(&flash.ftl, layout, page);
        flash.write_untimed(page, die);
    }
    let mut rng = Rng::stream(seed, "precondition");
    let round = Ratio::from_percent(25).of(logical_pages).max(1);
    let mut result = Preconditioned { rounds: 0, write_amplification: 1.0, stable: false };
    let mut calm_rounds = 0;
    while result.rounds < ROUNDS_MAX && !result.stable {
        flash.journal.counters = Counters::default();
        for _ in 0..round {
            overwrite(flash, layout, rng.below(logical_pages) as u32);
        }
        let before = result.write_amplification;
        result.write_amplification = flash.journal.counters.write_amplification();
        result.rounds += 1;
        let change = (result.write_amplification / before - 1.0).abs();
        calm_rounds = if change < STABLE_WITHIN { calm_rounds + 1 } else { 0 };
        // The first rounds of a fresh drive collect nothing, which is calm but not steady.
        result.stable = calm_rounds >= 2 && flash.journal.counters.collections > 0;
    }
    (0..flash.ftl.shape.dies).for_each(|die| flash.ftl.align(die));
    result
}
