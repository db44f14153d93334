//! Read latencies of runs as multiples of those of others, with intervals.

use crate::describe::convert;
use crate::metric::{self, Direction, Metric, Statistic};
use array::policy::PolicyKind;
use report::{Comparison, LatencyRatio};
use sim::{PERCENTILES, RunResult};

/// Adds the ratios to the runs of `comparison`, which are those of `results`, if these kept blocks.
pub fn add(comparison: &mut Comparison, results: &[RunResult]) {
    if results.iter().any(|result| result.blocks.is_none()) {
        return;
    }
    let usual = [PolicyKind::IDEAL, PolicyKind::BASE];
    let usual =
        usual.iter().filter_map(|&policy| results.iter().find(|result| result.policy == policy));
    let mut others: Vec<&RunResult> = usual.collect();
    if others.is_empty() {
        others.extend(results.first());
    }
    for (run, result) in comparison.runs.iter_mut().zip(results) {
        let to = others.iter().filter(|other| other.policy != result.policy);
        run.ratios = to.flat_map(|other| ratios(result, other)).collect();
    }
}

/// How many times as long reads of `of` take as those of `to`, by percentile and on average.
fn ratios(of: &RunResult, to: &RunResult) -> Vec<LatencyRatio> {
    let percentiles = PERCENTILES.into_iter().map(Statistic::Percentile);
    let ratio = |statistic| {
        let metric = Metric::Latency(Direction::Read, statistic);
        let ratio = metric.of(of) / metric.of(to);
        let resampled = metric::quotient(metric, of, to, "requests")?;
        let interval = resampled.and_then(|quotients| quotients.interval(ratio));
        let percentile = match statistic {
            Statistic::Percentile(percentile) => Some(percentile),
            Statistic::OfSlowest(..) | Statistic::Mean | Statistic::Max => None,
        };
        let (interval, why_not) = convert::interval(interval);
        let to = to.policy.label().to_owned();
        // Documents have finite numbers only.
        ratio.is_finite().then_some(LatencyRatio { to, percentile, ratio, interval, why_not })
    };
    percentiles.chain([Statistic::Mean]).filter_map(ratio).collect()
}
