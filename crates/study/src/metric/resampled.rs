//! Metrics whose intervals can be computed: those of latencies and of the rate of requests.

use super::{Basis, Direction, Metric, Statistic};
use array::policy::QosClass;
use sim::{BlockLatencies, HostBlocks, Interval, NoInterval, Resampled, RunResult};

impl Metric {
    /// The number for one run as blocks of it are drawn, under the name `stream`; none if it is not
    /// one of latencies, or if the run kept none by blocks.
    pub fn resampled(
        self,
        result: &RunResult,
        stream: &str,
    ) -> Option<Result<Resampled, NoInterval>> {
        let blocks = result.blocks.as_ref()?;
        let latency = |of: &BlockLatencies, statistic| match statistic {
            Statistic::Percentile(percentile) => {
                Some(Resampled::latency(of, Some(percentile), blocks.seed, stream))
            }
            Statistic::OfSlowest(parts, percentile) => {
                let percentile = sim::percentile_of_each(parts, percentile);
                Some(Resampled::latency(of, Some(percentile), blocks.seed, stream))
            }
            Statistic::Mean => Some(Resampled::latency(of, None, blocks.seed, stream)),
            // The longest is one request.
            Statistic::Max => None,
        };
        match self {
            Self::Latency(direction, statistic) => latency(of(&blocks.all, direction), statistic),
            Self::OfClass(class, direction, statistic) => {
                let mut hosts = (0..).zip(&blocks.hosts);
                let (_, host) = hosts.find(|&(host, _)| QosClass::of_host(host) == class)?;
                latency(of(host, direction), statistic)
            }
            Self::Plain(metric) if metric.basis() == Basis::Latencies => {
                let both = [&blocks.all.read, &blocks.all.write];
                Some(Resampled::total(&both, blocks.seed, stream))
            }
            Self::Iops(direction) => {
                let of = of(&blocks.all, direction);
                Some(Resampled::rate(of, blocks.length, blocks.seed, stream))
            }
            _ => None,
        }
    }

    /// Where the number lies in one run with a confidence of 95 %; none if it cannot be said, or if
    /// the run kept no blocks.
    pub fn interval(self, result: &RunResult) -> Option<(f64, f64)> {
        let resampled = self.resampled(result, "requests")?.ok()?;
        let Interval { low, high } = resampled.interval(self.of(result)).ok()?;
        Some((low, high))
    }
}

fn of(host: &HostBlocks, direction: Direction) -> &BlockLatencies {
    match direction {
        Direction::Read => &host.read,
        Direction::Write => &host.write,
    }
}

/// How many times `to` `of` has of `metric`, as blocks of both are drawn: together if they had the
/// same requests. What has another `stream` is drawn on its own.
pub fn quotient(
    metric: Metric,
    of: &RunResult,
    to: &RunResult,
    stream: &str,
) -> Option<Result<Resampled, NoInterval>> {
    let are_paired = of.blocks.as_ref()?.are_paired_with(to.blocks.as_ref()?);
    let other = format!("{stream}, to");
    let to = metric.resampled(to, if are_paired { stream } else { &other })?;
    let of = metric.resampled(of, stream)?;
    Some(of.and_then(|of| Ok(of.over(&to?))))
}
