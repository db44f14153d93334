//! Why slow reads were slow.

use super::by_policy;
use crate::{Run, format};

/// Causes below this share of the latency under every policy are left out.
const SMALLEST_SHARE_PERCENT: f64 = 0.5;

/// The split by cause at p99 and p99.9.
pub(super) fn render(runs: &[Run]) -> String {
    let tables: Vec<String> = [99.0, 99.9].into_iter().filter_map(|p| at(runs, p)).collect();
    tables.join("\n")
}

fn at(runs: &[Run], percentile: f64) -> Option<String> {
    let splits: Vec<_> = runs.iter().map(|run| run.cause_split(percentile)).collect();
    let first = splits.iter().flatten().next()?;
    let share = |split: &Option<&crate::CauseSplit>, cause: &str| {
        let split = (*split).filter(|split| split.latency_us > 0.0)?;
        let part: f64 =
            split.parts_us.iter().filter(|(name, _)| name == cause).map(|(_, us)| us).sum();
        Some(100.0 * part / split.latency_us)
    };
    let mut rows = vec![(
        "latency".to_owned(),
        splits
            .iter()
            .map(|split| split.map_or("-".to_owned(), |split| format::latency(split.latency_us)))
            .collect(),
    )];
    for (cause, _) in &first.parts_us {
        let shares: Vec<Option<f64>> = splits.iter().map(|split| share(split, cause)).collect();
        if shares.iter().flatten().any(|&share| share >= SMALLEST_SHARE_PERCENT) {
            let cells = shares.into_iter().map(|s| s.map_or("-".to_owned(), rounded)).collect();
            rows.push((cause.clone(), cells));
        }
    }
    let title = format!("Why a {} read was slow", format::percentile(percentile));
    Some(by_policy(&title, runs, rows))
}

/// Whole percents: the causes of one read differ by far more than a fraction of a percent.
fn rounded(percent: f64) -> String {
    if percent == 0.0 {
        "0".to_owned()
    } else if percent < 1.0 {
        "<1 %".to_owned()
    } else {
        format!("{percent:.0} %")
    }
}
