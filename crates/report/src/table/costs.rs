//! What a policy met and what it cost.

use super::by_policy;
use crate::costs::{self, Cell};
use crate::document::{busy_members_shown, flushes_make_busy, percent, percent_from};
use crate::{Run, format};

/// Stripe reads by the number of busy members.
pub(super) fn busy(runs: &[Run]) -> String {
    let mut rows: Vec<_> = (1..=busy_members_shown(runs))
        .map(|busy| {
            let cells = runs.iter().map(|run| share(&run.busy_sub_ios_per_stripe_read, busy));
            (format!("{busy} busy"), cells.collect())
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    // Without flushes members that are busy collect.
    if flushes_make_busy(runs) {
        let several =
            |run: &Run| format::percent(percent_from(&run.collecting_sub_ios_per_stripe_read, 2));
        rows.push(("2+ collect".to_owned(), runs.iter().map(several).collect()));
    }
    by_policy("Stripe reads by the number of busy members", runs, rows)
}

fn share(counts: &[u64], busy: usize) -> String {
    counts.get(busy).map_or("-".to_owned(), |&n| format::percent(percent(n, counts.iter().sum())))
}

/// Extra work, wear and throughput.
pub(super) fn render(runs: &[Run]) -> String {
    if runs.is_empty() {
        return String::new();
    }
    let violations: (&str, Cell) = ("contract violations", |run| contract(run.contract_violations));
    let rows = costs::rows(runs)
        .into_iter()
        .chain([violations])
        .map(|(name, cell)| (name.to_owned(), runs.iter().map(cell).collect()))
        .collect();
    by_policy("Throughput and cost", runs, rows)
}

/// A number that must not be overlooked.
fn contract(violations: u64) -> String {
    if violations == 0 { "0".to_owned() } else { format!("! {}", format::count(violations)) }
}
