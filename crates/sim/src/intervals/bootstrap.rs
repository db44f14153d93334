//! Intervals by drawing blocks.

use super::{BlockLatencies, FEWEST_ABOVE, FEWEST_BLOCKS, RESAMPLES};
use thiserror::Error;
use units::{Duration, Rng};

/// The share of intervals that should hold the true value.
const CONFIDENCE: f64 = 0.95;

/// Where a number lies with a confidence of 95 %.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

impl Interval {
    /// Whether `value` lies in it.
    #[must_use]
    pub fn contains(self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

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
        if !figure.is_finite() || self.values.iter().any(|value| !value.is_finite()) {
            return Err(NoInterval::Undefined);
        }
        let mut values = self.values.clone();
        values.sort_by(f64::total_cmp);
        let beyond = (RESAMPLES as f64 * (1.0 - CONFIDENCE) / 2.0) as usize;
        let (low, high) = (values[beyond], values[RESAMPLES - 1 - beyond]);
        let (low, high) = (low.min(figure), high.max(figure));
        // Few blocks lie nearer to each other than what they are drawn from.
        let wider = wider(self.blocks);
        let stretched = |end: f64| match figure > 0.0 && end > 0.0 {
            true => figure * (end / figure).powf(wider),
            false => figure + (end - figure) * wider,
        };
        Ok(Interval { low: stretched(low), high: stretched(high) })
    }
}

/// By how much ends lie farther away than the draws say: as Student's distribution is wider than
/// the normal one, and as the deviation of `n` blocks among themselves is smaller than that of what
/// they are drawn from.
fn wider(blocks: usize) -> f64 {
    let free = blocks.saturating_sub(1).max(1) as f64;
    // Cornish and Fisher's expansion of the quantile of 97.5 %; 0.1 % off at 20 blocks.
    let student = 1.959_964 + 2.372_271 / free + 2.822_5 / (free * free);
    student / 1.959_964 * (blocks as f64 / free).sqrt()
}
