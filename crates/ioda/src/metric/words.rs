//! The words of metrics that are one word, and the metrics that are kept of every run.

use super::{Direction, Metric, Statistic, of_class, summary};
use array::policy::QosClass;
use sim::{PERCENTILES, RunResult};

/// Every metric that is one word.
pub(super) const PLAIN: [(&str, Metric); 52] = [
    ("violations", Metric::Violations),
    ("waf", Metric::Waf),
    ("collections", Metric::Collections),
    ("capacity_gib", Metric::Capacity),
    ("blocked", Metric::Blocked),
    ("collection_blocked", Metric::CollectionBlocked),
    ("queue_blocked", Metric::QueueBlocked),
    ("erases", Metric::Erases),
    ("suspensions", Metric::Suspensions),
    ("host_programs", Metric::HostPrograms),
    ("parity_programs", Metric::ParityPrograms),
    ("collection_programs", Metric::CollectionPrograms),
    ("rebuilt_pages", Metric::RebuiltPages),
    ("rebuild_reads", Metric::RebuildReads),
    ("rotation_breaches", Metric::Breaches),
    ("moved_stripes", Metric::MovedStripes),
    ("scrubbed_pages", Metric::Scrubbed),
    ("slc_pages", Metric::SlcPages),
    ("folded_pages", Metric::Folded),
    ("free_blocks", Metric::Free),
    ("least_free_blocks", Metric::LeastFree),
    ("stalled", Metric::Stalled),
    ("rebuilds", Metric::Rebuilds),
    ("extra_reads", Metric::ExtraReads),
    ("fail_fasts", Metric::FailFasts),
    ("forced_flushes", Metric::ForcedFlushes),
    ("window", Metric::Window),
    ("window_changes", Metric::WindowChanges),
    ("permits", Metric::Permits),
    ("device_reads", Metric::DeviceReads),
    ("hedges", Metric::Hedges),
    ("total_latency", Metric::TotalLatency),
    ("collection_time", Metric::CollectionTime),
    ("expected_collection", Metric::ExpectedCollection),
    ("collection_estimate", Metric::CollectionEstimate),
    ("collections_cv", Metric::CollectionsSpread),
    ("drive_commands", Metric::DriveCommands),
    ("drive_commands_cv", Metric::CommandsSpread),
    ("queued_blocks", Metric::Queued),
    ("queued_blocks_cv", Metric::QueuedSpread),
    ("degraded_reads", Metric::DegradedReads),
    ("degraded_updates", Metric::DegradedUpdates),
    ("map_bytes", Metric::MapBytes),
    ("model_evaluations", Metric::Evaluations),
    ("overloads", Metric::Overloads),
    ("host_buffer_peak_mib", Metric::WriteCachePeak),
    ("held_back", Metric::HeldBack),
    ("drive_buffer_peak_mib", Metric::BufferPeak),
    ("stage_waits", Metric::WriteCacheWaits),
    ("stage_reads", Metric::WriteCacheReads),
    ("drained_pages", Metric::DrainedPages),
    ("staged", Metric::Staged),
];
/// Most members of a stripe of which it is kept how often so many were busy.
const BUSY: usize = 4;

impl Metric {
    /// The word of a metric that is one.
    pub(super) fn word(self) -> &'static str {
        PLAIN.iter().find(|&&(_, metric)| metric == self).map_or("", |&(word, _)| word)
    }

    /// The metrics that are worth keeping of any run: all that have a word, and latencies at the
    /// usual percentiles.
    pub(crate) fn standard() -> Vec<Self> {
        let percentiles = PERCENTILES.map(Statistic::Percentile);
        let statistics = || percentiles.into_iter().chain([Statistic::Mean, Statistic::Max]);
        let mut all = Vec::new();
        for direction in [Direction::Read, Direction::Write] {
            all.extend(statistics().map(|statistic| Self::Latency(direction, statistic)));
            all.extend([Self::Iops(direction), Self::Bandwidth(direction), Self::Count(direction)]);
            for class in QosClass::ALL {
                let of_class = |statistic| Self::OfClass(class, direction, statistic);
                all.extend(statistics().map(of_class));
            }
            all.extend(statistics().map(|statistic| Self::RankedClasses(direction, statistic)));
        }
        all.extend(PLAIN.map(|(_, metric)| metric));
        for members in 1..=BUSY {
            all.extend([Self::Busy(members, false), Self::Busy(members, true)]);
        }
        all
    }

    /// Whether it is a latency of requests that `result` has none of.
    pub(crate) fn is_of_nothing(self, result: &RunResult) -> bool {
        let has = |class, direction| {
            of_class(result, class, direction).is_some_and(|summary| summary.count() > 0)
        };
        match self {
            Self::Latency(direction, _) => summary(result, direction).count() == 0,
            Self::OfClass(class, direction, _) => !has(class, direction),
            Self::RankedClasses(direction, _) => {
                !QosClass::ALL.into_iter().all(|class| has(class, direction))
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::UnknownMetric;
    use std::collections::BTreeSet;

    #[test]
    fn every_word_that_the_refusal_lists_is_standard() {
        let standard: BTreeSet<String> =
            Metric::standard().iter().map(ToString::to_string).collect();
        assert_eq!(standard.len(), Metric::standard().len(), "each has a name of its own");
        let refusal = UnknownMetric(String::new()).to_string();
        let words = refusal.split([' ', ',']).filter(|word| word.parse::<Metric>().is_ok());
        let mut count = 0;
        for word in words {
            assert!(standard.contains(word), "{word}");
            count += 1;
        }
        assert!(count > 40, "{count} words in {refusal}");
        for name in &standard {
            assert_eq!(
                name.parse::<Metric>().map(|metric| metric.to_string()).ok().as_ref(),
                Some(name)
            );
        }
    }
}
