//! Shortening of a failing history.

use super::history::{History, HistoryStep};
use super::{Demands, torture};

/// Most histories to try.
const TRIES: u32 = 4000;

/// Returns the shortest history found that fails in the same way. Steps are left out as long as it
/// still fails. `tried` gets the number of steps left after each try.
#[must_use]
pub fn shrink(history: &History, demands: Demands, tried: impl FnMut(usize)) -> History {
    let Some(failure) = torture(history, demands, false).failure else { return history.clone() };
    let fails = |shorter: &History| {
        torture(shorter, demands, false).failure.is_some_and(|other| failure.is_like(&other))
    };
    shrink_while(history, fails, tried)
}

/// Returns the shortest history found for which `fails` is true; it must be true for `history`.
#[must_use]
pub fn shrink_while(
    history: &History,
    mut fails: impl FnMut(&History) -> bool,
    mut tried: impl FnMut(usize),
) -> History {
    let mut shortest = history.clone();
    let mut tries = 0;
    let mut run = shortest.steps.len() / 2;
    while run > 0 && tries < TRIES {
        let mut at = 0;
        let mut removed = false;
        while at < shortest.steps.len() && tries < TRIES {
            let end = (at + run).min(shortest.steps.len());
            let mut steps: Vec<HistoryStep> = shortest.steps[..at].to_vec();
            steps.extend_from_slice(&shortest.steps[end..]);
            let shorter = History { steps, ..shortest.clone() };
            tries += 1;
            if fails(&shorter) {
                shortest = shorter;
                removed = true;
            } else {
                at += run;
            }
            tried(shortest.steps.len());
        }
        if !removed || run > 1 {
            run /= 2;
        }
    }
    shortest
}
