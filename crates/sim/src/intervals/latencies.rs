//! Latencies of one kind of request, block by block.

use super::{FEWEST_ABOVE, FEWEST_BLOCKS, FEWEST_BLOCKS_ABOVE, NoInterval};
use units::Duration;

/// Steps per doubling of latency: latencies in one step differ by at most 0.4 %.
const STEPS_LOG2: u32 = 8;
const STEPS: usize = 1 << STEPS_LOG2;
/// Base 2 logarithm of the nanoseconds, a quarter of a microsecond, below which latencies are not
/// distinguished.
const SHORTEST_LOG2: u32 = STEPS_LOG2;

/// Number of the step of a latency.
fn step(nanos: u64) -> usize {
    let nanos = nanos.max(1 << SHORTEST_LOG2);
    let doubling = 63 - nanos.leading_zeros();
    let within = (nanos >> (doubling - STEPS_LOG2)) as usize - STEPS;
    (doubling - SHORTEST_LOG2) as usize * STEPS + within
}

/// Latency at the start of a step.
fn start_nanos(step: usize) -> f64 {
    let doubling = (step / STEPS) as i32 + (SHORTEST_LOG2 - STEPS_LOG2) as i32;
    (STEPS + step % STEPS) as f64 * f64::from(doubling).exp2()
}

/// One block while it is recorded.
#[derive(Clone, Debug, Default)]
pub(super) struct Cell {
    /// Requests by step, up to the last step with any.
    counts: Vec<u32>,
    sum_nanos: u128,
}

impl Cell {
    #[inline]
    pub(super) fn record(&mut self, latency: Duration) {
        let step = step(latency.as_nanos());
        if step >= self.counts.len() {
            self.counts.resize(step + 1, 0);
        }
        self.counts[step] += 1;
        self.sum_nanos += u128::from(latency.as_nanos());
    }

    pub(super) fn add(&mut self, other: &Self) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (sum, count) in self.counts.iter_mut().zip(&other.counts) {
            *sum += count;
        }
        self.sum_nanos += other.sum_nanos;
    }
}

/// Latencies of one kind of request, block by block.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BlockLatencies {
    /// Steps with requests in any block, by the latencies at their start and end.
    steps: Vec<(f64, f64)>,
    /// For each block: the number of requests up to the end of each step.
    blocks: Vec<Vec<u32>>,
    /// For each block: the sum of its latencies.
    sums_nanos: Vec<f64>,
}

impl BlockLatencies {
    /// Compacts the recorded blocks.
    pub(super) fn new(cells: &[Cell]) -> Self {
        let longest = cells.iter().map(|cell| cell.counts.len()).max().unwrap_or(0);
        let count = |cell: &Cell, step: usize| cell.counts.get(step).copied().unwrap_or(0);
        let is_used = |&step: &usize| cells.iter().any(|cell| count(cell, step) > 0);
        let used: Vec<usize> = (0..longest).filter(is_used).collect();
        let up_to = |cell: &Cell| {
            let mut sum = 0;
            used.iter()
                .map(|&step| {
                    sum += count(cell, step);
                    sum
                })
                .collect()
        };
        Self {
            steps: used.iter().map(|&step| (start_nanos(step), start_nanos(step + 1))).collect(),
            blocks: cells.iter().map(up_to).collect(),
            sums_nanos: cells.iter().map(|cell| cell.sum_nanos as f64).collect(),
        }
    }

    /// Blocks of several runs, one run after the other.
    pub(super) fn together(all: &[&Self]) -> Self {
        let mut steps: Vec<(f64, f64)> =
            all.iter().flat_map(|one| one.steps.iter().copied()).collect();
        steps.sort_by(|a, b| a.0.total_cmp(&b.0));
        steps.dedup();
        let of_run = |one: &&Self| {
            // For each step: the number of the run's own steps that end there or before.
            let own: Vec<usize> = steps
                .iter()
                .map(|&(start, _)| one.steps.partition_point(|&(own, _)| own <= start))
                .collect();
            let block = |block: &Vec<u32>| {
                own.iter().map(|&own| own.checked_sub(1).map_or(0, |last| block[last])).collect()
            };
            one.blocks.iter().map(block).collect::<Vec<Vec<u32>>>()
        };
        let blocks = all.iter().flat_map(of_run).collect();
        let sums_nanos = all.iter().flat_map(|one| one.sums_nanos.iter().copied()).collect();
        Self { steps, blocks, sums_nanos }
    }

    /// Number of blocks.
    #[must_use]
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Number of requests of a block.
    fn count(&self, block: usize) -> u64 {
        self.blocks[block].last().copied().map_or(0, u64::from)
    }

    /// Returns true if `other` has as many requests in every block: then it very likely had the
    /// same requests.
    pub(super) fn has_the_counts_of(&self, other: &Self) -> bool {
        self.blocks() == other.blocks()
            && (0..self.blocks()).all(|block| self.count(block) == other.count(block))
    }

    /// Number of requests, if block `n` is taken `weights[n]` times.
    pub(super) fn weighed_count(&self, weights: &[u32]) -> u64 {
        let counts = weights.iter().enumerate();
        counts.map(|(block, &weight)| u64::from(weight) * self.count(block)).sum()
    }

    /// Sum of latencies in nanoseconds, if block `n` is taken `weights[n]` times.
    pub(super) fn weighed_sum(&self, weights: &[u32]) -> f64 {
        weights.iter().zip(&self.sums_nanos).map(|(&weight, sum)| f64::from(weight) * sum).sum()
    }

    /// Latency in nanoseconds that `percentile` per cent of the requests do not exceed, if block
    /// `n` is taken `weights[n]` times; NaN without requests.
    pub(super) fn weighed_percentile(&self, percentile: f64, weights: &[u32]) -> f64 {
        let all = self.weighed_count(weights);
        if all == 0 {
            return f64::NAN;
        }
        let drawn: Vec<(u64, &[u32])> = weights
            .iter()
            .zip(&self.blocks)
            .filter(|(weight, _)| **weight > 0)
            .map(|(&weight, block)| (u64::from(weight), block.as_slice()))
            .collect();
        let up_to = |step: usize| -> u64 {
            drawn.iter().map(|(weight, block)| weight * u64::from(block[step])).sum()
        };
        let rank = (all as f64 * percentile / 100.0).max(1.0);
        let (mut low, mut high) = (0, self.steps.len() - 1);
        while low < high {
            let middle = usize::midpoint(low, high);
            if up_to(middle) as f64 >= rank { high = middle } else { low = middle + 1 }
        }
        // Interpolates within a step as if its requests were spread evenly, to hide the steps.
        let before = if low == 0 { 0 } else { up_to(low - 1) };
        let share = (rank - before as f64) / (up_to(low) - before).max(1) as f64;
        let (start, end) = self.steps[low];
        start + (end - start) * share.clamp(0.0, 1.0)
    }

    /// Checks that there is enough data for a percentile, or for the mean if `percentile` is
    /// `None`.
    pub(super) fn check(&self, percentile: Option<f64>) -> Result<(), NoInterval> {
        let filled = (0..self.blocks()).filter(|&block| self.count(block) > 0).count();
        if filled < FEWEST_BLOCKS {
            return Err(NoInterval::FewBlocks);
        }
        let Some(percentile) = percentile else { return Ok(()) };
        let once = vec![1; self.blocks()];
        let all = self.weighed_count(&once) as f64;
        // 500 000 × 0.0001 must be 50, not 49.999….
        if (all * (1.0 - percentile / 100.0) + 1e-6) < FEWEST_ABOVE as f64 {
            return Err(NoInterval::FewAbove { percentile });
        }
        // Requests at least as slow as the percentile: a distribution may end in one step.
        let value = self.weighed_percentile(percentile, &once);
        let below = self.steps.iter().position(|&(_, end)| end >= value).unwrap_or(0);
        let has_some = |block: &&Vec<u32>| match below {
            0 => true,
            _ => block.last() > block.get(below - 1),
        };
        if self.blocks.iter().filter(has_some).count() < FEWEST_BLOCKS_ABOVE {
            return Err(NoInterval::Clustered { percentile });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(micros: &[u64]) -> Cell {
        let mut cell = Cell::default();
        micros.iter().for_each(|&us| cell.record(Duration::from_micros(us)));
        cell
    }

    #[test]
    fn a_step_is_at_most_a_256th_wide_and_has_its_latencies() {
        for nanos in [1, 255, 256, 257, 511, 512, 1_000, 99_999, 123_456_789, 1 << 41] {
            let step = step(nanos);
            let (start, end) = (start_nanos(step), start_nanos(step + 1));
            let nanos = nanos.max(256) as f64;
            assert!(start <= nanos && nanos < end, "{nanos}: {start} to {end}");
            assert!(end - start <= start / 256.0, "{start} to {end}");
        }
    }

    #[test]
    fn percentiles_and_means_are_those_of_the_blocks_that_are_drawn() {
        let blocks = BlockLatencies::new(&[cell(&[100; 99]), cell(&[]), cell(&[500])]);
        assert_eq!(blocks.weighed_count(&[1, 5, 1]), 100);
        assert_eq!(blocks.weighed_sum(&[2, 0, 1]), 2.0 * 99.0 * 1e5 + 5e5);
        let is_about = |value: f64, us: f64| (value / us / 1e3 - 1.0).abs() < 0.004;
        assert!(is_about(blocks.weighed_percentile(99.0, &[1, 1, 1]), 100.0));
        assert!(is_about(blocks.weighed_percentile(99.5, &[1, 1, 1]), 500.0));
        assert!(is_about(blocks.weighed_percentile(50.0, &[0, 0, 1]), 500.0));
        assert!(blocks.weighed_percentile(50.0, &[0, 3, 0]).is_nan());
    }

    #[test]
    fn blocks_of_two_runs_are_those_of_both() {
        let all = [cell(&[100, 700]), cell(&[300]), cell(&[200, 300, 900])];
        let whole = BlockLatencies::new(&all);
        let parts = [BlockLatencies::new(&all[..1]), BlockLatencies::new(&all[1..])];
        let joined = BlockLatencies::together(&[&parts[0], &parts[1]]);
        assert_eq!((joined.blocks(), &joined.steps), (3, &whole.steps));
        assert_eq!((joined.blocks, joined.sums_nanos), (whole.blocks, whole.sums_nanos));
    }
}
