//! Confidence intervals by resampling blocks.

use super::{BlockLatencies, FEWEST_ABOVE, FEWEST_BLOCKS, RESAMPLES};
use statistics::Interval;
use thiserror::Error;
use units::{Duration, Rng};

/// Reason for which there is no interval.
#[derive(Clone, Copy, PartialEq, Debug, Error)]
pub enum NoInterval {
    /// The run has too few blocks.
    #[error("fewer than {FEWEST_BLOCKS} blocks of the run have requests")]
    FewBlocks,
    /// Too few requests are above the percentile.
    #[error("fewer than {FEWEST_ABOVE} requests lie above p{percentile}")]
    FewAbove {
        /// The percentile.
        percentile: f64,
    },
    /// Enough requests are above the percentile, but in too few blocks.
    #[error("the requests above p{percentile} lie in few blocks of the run")]
    Clustered {
        /// The percentile.
        percentile: f64,
    },
    /// A quotient has no value.
    #[error("some blocks have nothing to divide by")]
    Undefined,
}

/// A statistic of a run, computed for many draws of its blocks.
#[derive(Clone, PartialEq, Debug)]
pub struct Resampled {
    /// Statistic of each draw.
    values: Vec<f64>,
    /// Number of blocks of the run.
    blocks: usize,
}

impl Resampled {
    /// Resamples `percentile` of a latency, or its mean if `percentile` is `None`, in nanoseconds.
    /// `stream` names the draws: the same seed, stream and number of blocks give the same draws.
    ///
    /// # Errors
    ///
    /// If the run has too little data for it.
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

    /// Resamples the sum of all latencies.
    ///
    /// # Errors
    ///
    /// If the run has too little data for it.
    pub fn total(of: &[&BlockLatencies], seed: u64, stream: &str) -> Result<Self, NoInterval> {
        let blocks = of.iter().map(|of| of.blocks()).min().unwrap_or(0);
        if of.iter().all(|of| of.check(None).is_err()) {
            return Err(NoInterval::FewBlocks);
        }
        Ok(Self::draw(blocks, seed, stream, |weights| {
            of.iter().map(|of| of.weighed_sum(weights)).sum()
        }))
    }

    /// Resamples the requests per second, for blocks of `length`.
    ///
    /// # Errors
    ///
    /// If the run has too little data for it.
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

    /// Quotient of two statistics, draw by draw.
    #[must_use]
    pub fn over(&self, other: &Self) -> Self {
        let values = self.values.iter().zip(&other.values);
        Self {
            values: values.map(|(of, to)| of / to).collect(),
            blocks: self.blocks.min(other.blocks),
        }
    }

    /// Mean of several statistics, draw by draw; `None` if there are none.
    #[must_use]
    pub fn mean(all: &[Self]) -> Option<Self> {
        let blocks = all.iter().map(|one| one.blocks).min()?;
        let mean =
            |draw: usize| all.iter().map(|one| one.values[draw]).sum::<f64>() / all.len() as f64;
        Some(Self { values: (0..RESAMPLES).map(mean).collect(), blocks })
    }

    /// Sum of several statistics, draw by draw; `None` if there are none.
    #[must_use]
    pub fn sum(all: &[Self]) -> Option<Self> {
        let mut sum = Self::mean(all)?;
        sum.values.iter_mut().for_each(|value| *value *= all.len() as f64);
        Some(sum)
    }

    /// Interval of a statistic whose value is `figure` in the run itself. It contains `figure`.
    ///
    /// # Errors
    ///
    /// If the statistic of some draw is not a number.
    pub fn interval(&self, figure: f64) -> Result<Interval, NoInterval> {
        statistics::of_draws(&self.values, self.blocks, figure).ok_or(NoInterval::Undefined)
    }
}
