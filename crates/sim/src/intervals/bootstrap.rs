//! Intervals by drawing blocks.

use super::{BlockLatencies, FEWEST_ABOVE, FEWEST_BLOCKS, RESAMPLES};
use statistics::Interval;
use thiserror::Error;
use units::{Duration, Rng};

/// Why there is no interval.
#[derive(Clone, Copy, PartialEq, Debug, Error)]
pub enum NoInterval {
    /// Too few blocks.
    #[error("fewer than {FEWEST_BLOCKS} blocks of the run have requests")]
    FewBlocks,
    /// Too few requests.
    #[error("fewer than {FEWEST_ABOVE} requests lie above p{percentile}")]
    FewAbove {
        /// The percentile.
        percentile: f64,
    },
    /// Enough requests, but near each other.
    #[error("the requests above p{percentile} lie in few blocks of the run")]
    Clustered {
        /// The percentile.
        percentile: f64,
    },
    /// A quotient without a value.
    #[error("some blocks have nothing to divide by")]
    Undefined,
}

/// A number of a run, computed from blocks that were drawn again and again.
#[derive(Clone, PartialEq, Debug)]
pub struct Resampled {
    /// The number of each draw.
    values: Vec<f64>,
    /// Blocks of the run.
    blocks: usize,
}

impl Resampled {
    /// `percentile` of a latency, or its mean if that is none, in nanoseconds. `stream` names the
    /// draws: what is resampled with the same seed, stream and number of blocks has the same blocks
    /// drawn.
    ///
    /// # Errors
    ///
    /// If the run has too little for it.
    pub fn latency(
        of: &BlockLatencies,
        percentile: Option<f64>,
        seed: u64,
        stream: &str,
    ) -> Result<Self, NoInterval> {
        of.check(percentile)?;
        Ok(Self::draw(of.blocks(), seed, stream, |weights| match percentile {
            Some(percentile) => of.weighed_percentile(percentile, weights),
            None => of.weighed_sum(weights) / of.weighed_count(weights) as f64,
        }))
    }

    /// The sum of all latencies.
    ///
    /// # Errors
    ///
    /// If the run has too little for it.
    pub fn total(of: &[&BlockLatencies], seed: u64, stream: &str) -> Result<Self, NoInterval> {
        let blocks = of.iter().map(|of| of.blocks()).min().unwrap_or(0);
        if of.iter().all(|of| of.check(None).is_err()) {
            return Err(NoInterval::FewBlocks);
        }
        Ok(Self::draw(blocks, seed, stream, |weights| {
            of.iter().map(|of| of.weighed_sum(weights)).sum()
        }))
    }

    /// Requests per second, of blocks that are so long.
    ///
    /// # Errors
    ///
    /// If the run has too little for it.
    pub fn rate(
        of: &BlockLatencies,
        length: Duration,
        seed: u64,
        stream: &str,
    ) -> Result<Self, NoInterval> {
        of.check(None)?;
        let seconds = of.blocks() as f64 * length.as_secs_f64();
        Ok(Self::draw(of.blocks(), seed, stream, |weights| {
            of.weighed_count(weights) as f64 / seconds
        }))
    }

    fn draw(blocks: usize, seed: u64, stream: &str, mut number: impl FnMut(&[u32]) -> f64) -> Self {
        let mut rng = Rng::stream(seed, stream);
        let mut weights = vec![0; blocks];
        let values = (0..RESAMPLES)
            .map(|_| {
                weights.fill(0);
                (0..blocks).for_each(|_| weights[rng.below(blocks as u64) as usize] += 1);
                number(&weights)
            })
            .collect();
        Self { values, blocks }
    }

    /// The quotient of two numbers, draw by draw.
    #[must_use]
    pub fn over(&self, other: &Self) -> Self {
        let values = self.values.iter().zip(&other.values);
        Self {
            values: values.map(|(of, to)| of / to).collect(),
            blocks: self.blocks.min(other.blocks),
        }
    }

    /// The mean of several numbers, draw by draw; none of none.
    #[must_use]
    pub fn mean(all: &[Self]) -> Option<Self> {
        let blocks = all.iter().map(|one| one.blocks).min()?;
        let mean =
            |draw: usize| all.iter().map(|one| one.values[draw]).sum::<f64>() / all.len() as f64;
        Some(Self { values: (0..RESAMPLES).map(mean).collect(), blocks })
    }

    /// The sum of several numbers, draw by draw; none of none.
    #[must_use]
    pub fn sum(all: &[Self]) -> Option<Self> {
        let mut sum = Self::mean(all)?;
        sum.values.iter_mut().for_each(|value| *value *= all.len() as f64);
        Some(sum)
    }

    /// The interval of a number that is `figure` in the run itself. It holds `figure`.
    ///
    /// # Errors
    ///
    /// If the number of some draw is not one.
    pub fn interval(&self, figure: f64) -> Result<Interval, NoInterval> {
        statistics::of_draws(&self.values, self.blocks, figure).ok_or(NoInterval::Undefined)
    }
}
