//! How sure the numbers of a run are: its latencies by blocks of time, and intervals from
//! resampling the blocks.
//!
//! Percentiles and means of a run come from one sequence of requests. Requests that are near in
//! time are alike, so they are not resampled one by one but in blocks of arrival time ([`Blocks`]).
//! Two runs of the same requests have the same blocks, which are drawn together: what befalls both
//! cancels in their quotient ([`Resampled`]). Nothing of it is recorded unless the plan asks for
//! it.

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

/// Most blocks of a run; when there would be more, neighbours become one, so that there are at
/// least half of it.
pub(crate) const MOST_BLOCKS: usize = 48;
/// With fewer blocks than this nothing is said.
pub const FEWEST_BLOCKS: usize = 20;
/// With fewer requests than this above a percentile nothing is said of it.
pub const FEWEST_ABOVE: u64 = 100;
/// The requests above a percentile must be spread over so many blocks: what happened a few times in
/// a run says little about how often it happens.
pub const FEWEST_BLOCKS_ABOVE: usize = 10;
/// How often the blocks are drawn.
pub(crate) const RESAMPLES: usize = 1000;
