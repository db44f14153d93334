//! Uncertainty of a run's figures: its latencies by blocks of time, and intervals from resampling
//! the blocks.
//!
//! Percentiles and means of a run come from one sequence of requests. Requests that are near in
//! time are correlated, so they are resampled in blocks of arrival time ([`Blocks`]), not one by
//! one. Two runs of the same requests have the same blocks, which are drawn together. So influences
//! on both runs cancel in their quotient ([`Resampled`]). Blocks are recorded only if the plan asks
//! for them.

mod bootstrap;
mod latencies;
mod recorder;
#[cfg(test)]
mod tests;

pub use bootstrap::{NoInterval, Resampled};
pub use latencies::BlockLatencies;
pub use recorder::{Blocks, HostBlocks};
pub use statistics::Interval;

pub(crate) use recorder::BlockRecorder;

/// Most blocks of a run. Beyond that, two neighbours become one, so at least half as many remain.
pub(crate) const MOST_BLOCKS: usize = 48;
/// Fewest blocks that allow an interval.
pub const FEWEST_BLOCKS: usize = 20;
/// Fewest requests above a percentile that allow an interval of it.
pub const FEWEST_ABOVE: u64 = 100;
/// Fewest blocks with requests above a percentile that allow an interval of it. Few occurrences in
/// a run give no reliable frequency.
pub const FEWEST_BLOCKS_ABOVE: usize = 10;
/// Number of draws.
pub(crate) const RESAMPLES: usize = 1000;
