//! Metrics of the reads that drives are sent, which are followed only if one of these is asked for.

use super::{Metric, Statistic, at_least, mean, queued, spread, with_members};
use sim::{RunResult, SubReads};

/// What is made of the latencies of drives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OfDrives {
    /// The longest.
    Worst,
    /// The mean of the others.
    Others,
    /// Their coefficient of variation.
    Spread,
    /// How they go with the blocks that are queued at a drive when it is sent a command: the
    /// correlation of ranks.
    QueueCorrelation,
}

impl OfDrives {
    const ALL: [Self; 4] = [Self::Worst, Self::Others, Self::Spread, Self::QueueCorrelation];

    /// How it is written.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Worst => "worst_drive",
            Self::Others => "other_drives",
            Self::Spread => "drives_cv",
            Self::QueueCorrelation => "queue_correlation",
        }
    }
}

/// What is made of the reads that stall, and of hedges: whether those were hedged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OfHedges {
    /// Reads that stalled, of all.
    Stalled,
    /// Reads that stalled, of those that were hedged.
    Precision,
    /// Reads that were hedged, of those that stalled.
    Recall,
}

impl OfHedges {
    const ALL: [Self; 3] = [Self::Stalled, Self::Precision, Self::Recall];

    /// How it is written.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Stalled => "stalled_reads",
            Self::Precision => "hedge_precision",
            Self::Recall => "hedge_recall",
        }
    }
}

/// How [`Metric::SlowedTogether`] is written.
pub(super) const TOGETHER: &str = "slowed_together";

/// How [`Metric::Returned`] begins.
pub(super) const RETURNED: &str = "returned";

/// More times as late as the median than this is slow.
const SLOW: f64 = 2.0;

impl Metric {
    /// Whether the reads of drives must be followed for it.
    pub fn needs_sub_reads(self) -> bool {
        matches!(
            self,
            Self::Slowdown(..)
                | Self::Slowed(_)
                | Self::SlowedTogether
                | Self::OfDrives(..)
                | Self::OfHedges(_)
                | Self::Returned(..)
        )
    }
}

/// The metric with this name, if it is one of these.
pub(super) fn parse(text: &str) -> Option<Metric> {
    let rank = |text: &str| text.parse().ok().filter(|rank| (1..=2).contains(rank));
    if text == TOGETHER {
        return Some(Metric::SlowedTogether);
    }
    if let Some(which) = OfHedges::ALL.into_iter().find(|which| which.word() == text) {
        return Some(Metric::OfHedges(which));
    }
    if let Some(text) = text.strip_prefix("slowed") {
        return rank(text).map(Metric::Slowed);
    }
    if let Some(text) = text.strip_prefix(RETURNED) {
        let (members, or_more) = at_least(text);
        return members.parse().ok().map(|members| Metric::Returned(members, or_more));
    }
    let (first, rest) = text.split_once('.')?;
    let slowdown = first.strip_prefix("slowdown").and_then(rank);
    let which = OfDrives::ALL.into_iter().find(|which| which.word() == first);
    if slowdown.is_none() && which.is_none() {
        return None;
    }
    let Ok(Metric::Latency(_, statistic)) = format!("read.{rest}").parse() else { return None };
    match (slowdown, which, statistic) {
        (Some(rank), _, Statistic::Percentile(percentile)) => {
            Some(Metric::Slowdown(rank, percentile))
        }
        (Some(_), ..) => None,
        (None, which, statistic) => Some(Metric::OfDrives(which?, statistic)),
    }
}

/// The number for one run, if its reads were followed.
pub(super) fn of(metric: Metric, result: &RunResult) -> Option<f64> {
    let reads: &SubReads = result.sub_reads.as_ref()?;
    match metric {
        Metric::Slowdown(rank, percentile) => Some(reads.slowdown(rank - 1, percentile)),
        Metric::Slowed(rank) => Some(reads.slowed_percent(rank - 1, SLOW)),
        Metric::SlowedTogether => {
            let [last, before] = [0, 1].map(|rank| reads.slowed_percent(rank, SLOW));
            Some(if last > 0.0 { 100.0 * before / last } else { 0.0 })
        }
        Metric::Returned(members, or_more) => {
            Some(with_members(&reads.returned_busy, members, or_more))
        }
        Metric::OfHedges(which) => Some(match which {
            OfHedges::Stalled => reads.stalled.stalled_percent(),
            OfHedges::Precision => reads.stalled.precision_percent(),
            OfHedges::Recall => reads.stalled.recall_percent(),
        }),
        Metric::OfDrives(which, statistic) => {
            let drives: Vec<f64> = reads.drives.iter().map(|drive| statistic.of(drive)).collect();
            Some(of_drives(which, &drives, &queued(result).collect::<Vec<_>>()))
        }
        _ => None,
    }
}

fn of_drives(which: OfDrives, drives: &[f64], queued: &[f64]) -> f64 {
    let worst = drives.iter().copied().fold(0.0, f64::max);
    match which {
        OfDrives::Worst => worst,
        OfDrives::Others => {
            let others = drives.len().saturating_sub(1).max(1);
            (drives.iter().sum::<f64>() - worst) / others as f64
        }
        OfDrives::Spread => spread(drives.iter().copied()),
        OfDrives::QueueCorrelation => correlation(&ranks(drives), &ranks(queued)),
    }
}

/// The rank of each number, the smallest first; equal ones share the mean of theirs.
fn ranks(numbers: &[f64]) -> Vec<f64> {
    let below = |number: f64| numbers.iter().filter(|&&other| other < number).count() as f64;
    let equal = |number: f64| numbers.iter().filter(|&&other| other == number).count() as f64;
    numbers.iter().map(|&number| below(number) + (equal(number) - 1.0) / 2.0).collect()
}

/// Pearson's correlation; 0 if one of them is the same throughout.
fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let mean_of = |numbers: &[f64]| mean(numbers.iter().copied());
    let (mean_a, mean_b) = (mean_of(a), mean_of(b));
    let product = |a: &[f64], b: &[f64], mean_a: f64, mean_b: f64| -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - mean_a) * (b - mean_b)).sum()
    };
    let deviations = product(a, a, mean_a, mean_a) * product(b, b, mean_b, mean_b);
    if deviations > 0.0 { product(a, b, mean_a, mean_b) / deviations.sqrt() } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drives_are_compared_with_each_other_and_with_their_queues() {
        let drives = [10.0, 40.0, 20.0, 30.0];
        let of = |which, queued: [f64; 4]| of_drives(which, &drives, &queued);
        assert_eq!(of(OfDrives::Worst, [0.0; 4]), 40.0);
        assert_eq!(of(OfDrives::Others, [0.0; 4]), 20.0);
        assert!((of(OfDrives::Spread, [0.0; 4]) - 5.0_f64.sqrt() / 5.0).abs() < 1e-9);
        assert_eq!(of(OfDrives::QueueCorrelation, [1.0, 9.0, 2.0, 3.0]), 1.0);
        assert_eq!(of(OfDrives::QueueCorrelation, [9.0, 1.0, 3.0, 2.0]), -1.0);
        assert_eq!(of(OfDrives::QueueCorrelation, [5.0; 4]), 0.0);
    }
}
