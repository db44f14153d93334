//! Free space of the drives over a run, and a test that it has settled.
//!
//! While free space still moves, drives are on the way to another state, so their latencies are not
//! those of a longer run. Only the mean over all drives is kept, by cells of simulated time.

use units::{Duration, Instant};

/// Most cells of a run; beyond that, two cells become one.
const MOST_CELLS: usize = 480;
/// Parts of a run, the first and the last of which are compared.
const PARTS: usize = 10;
/// Fewest cells of a run that allow a statement.
const FEWEST_CELLS: usize = 2 * PARTS;
/// Base 2 logarithm of the width of the first cells, in nanoseconds.
const FIRST_WIDTH_LOG2: u32 = 18;
/// Standard deviation of normal noise as a multiple of the median of its absolute values.
const SIGMAS_PER_MEDIAN: f64 = 1.4826;
/// Number of standard deviations within which a change is noise.
const SIGMAS: f64 = 3.0;

/// Mean free space in the first and the last tenth of a run.
#[derive(Clone, Copy, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FreeSpaceTrend {
    /// Share of the blocks that were free in the first tenth, the mean of all drives.
    pub first: f64,
    /// The same in the last tenth.
    pub last: f64,
    /// Difference of the two that may be chance.
    pub noise: f64,
}

impl FreeSpaceTrend {
    /// Returns true if free space differs by more than its noise.
    #[must_use]
    pub fn moves(&self) -> bool {
        (self.last - self.first).abs() > self.noise
    }

    /// The trend of free space in cells of equal length. `step` is the least change of a drive that
    /// can be seen.
    fn of(cells: &[f64], step: f64) -> Option<Self> {
        if cells.len() < FEWEST_CELLS {
            return None;
        }
        let part = |index: usize| {
            let (from, to) = (index * cells.len() / PARTS, (index + 1) * cells.len() / PARTS);
            cells[from..to].iter().sum::<f64>() / (to - from) as f64
        };
        let parts: [f64; PARTS] = std::array::from_fn(part);
        // Neighbours differ by noise, and by a small part of a trend.
        let mut changes: Vec<f64> =
            parts.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
        changes.sort_by(f64::total_cmp);
        let noise = SIGMAS * SIGMAS_PER_MEDIAN * changes[changes.len() / 2];
        Some(Self { first: parts[0], last: parts[PARTS - 1], noise: noise.max(step) })
    }
}

/// Sum and number of looks in one cell.
#[derive(Clone, Copy, Default, Debug)]
struct Cell {
    sum: f64,
    looks: u32,
}

/// Free space while a run goes on.
#[derive(Debug)]
pub(crate) struct FreeSpaceRecorder {
    width_log2: u32,
    cells: Vec<Cell>,
    next_look: Instant,
    /// Shares of the drives at the last look.
    before: Vec<f64>,
    /// Least change of one drive so far.
    step: f64,
}

impl FreeSpaceRecorder {
    pub(crate) fn new() -> Self {
        Self {
            width_log2: FIRST_WIDTH_LOG2,
            cells: Vec::new(),
            next_look: Instant::ZERO,
            before: Vec::new(),
            step: f64::INFINITY,
        }
    }

    /// Returns true if it is time to look.
    #[inline]
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        now >= self.next_look
    }

    /// Notes the shares of the drives' blocks that are free.
    pub(crate) fn look(&mut self, now: Instant, shares: &[f64]) {
        let nanos = now.since(Instant::ZERO).as_nanos();
        let place = loop {
            let place = (nanos >> self.width_log2) as usize;
            if place < MOST_CELLS {
                break place;
            }
            self.width_log2 += 1;
            let pair = |pair: &[Cell]| Cell {
                sum: pair.iter().map(|cell| cell.sum).sum(),
                looks: pair.iter().map(|cell| cell.looks).sum(),
            };
            self.cells = self.cells.chunks(2).map(pair).collect();
        };
        if place >= self.cells.len() {
            self.cells.resize(place + 1, Cell::default());
        }
        self.next_look =
            Instant::ZERO + Duration::from_nanos((place as u64 + 1) << self.width_log2);
        if shares.is_empty() {
            return;
        }
        self.cells[place].sum += shares.iter().sum::<f64>() / shares.len() as f64;
        self.cells[place].looks += 1;
        for (before, now) in self.before.iter().zip(shares).filter(|(before, now)| before != now) {
            self.step = self.step.min((now - before).abs());
        }
        self.before.clear();
        self.before.extend_from_slice(shares);
    }

    /// The trend; none of a run that is too short, or of drives that tell nothing.
    pub(crate) fn finish(self) -> Option<FreeSpaceTrend> {
        let mut cells = Vec::with_capacity(self.cells.len());
        for cell in self.cells {
            // Nothing happens in a cell without a look.
            let mean = match cell.looks {
                0 => *cells.last()?,
                looks => cell.sum / f64::from(looks),
            };
            cells.push(mean);
        }
        let step = if self.step.is_finite() { self.step } else { 0.0 };
        FreeSpaceTrend::of(&cells, step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: f64 = 1.0 / 1024.0;

    /// The trend of two drives with `share` of their blocks free at each of `looks`, a millisecond
    /// apart.
    fn trend(looks: u64, share: impl Fn(u64) -> f64) -> Option<FreeSpaceTrend> {
        let mut recorder = FreeSpaceRecorder::new();
        for look in 0..looks {
            let now = Instant::ZERO + Duration::from_millis(look);
            if recorder.is_due(now) {
                let share = (share(look) / BLOCK).round() * BLOCK;
                recorder.look(now, &[share, share]);
            }
        }
        recorder.finish()
    }

    /// Free space of a drive that writes and collects in turn.
    fn saw(look: u64) -> f64 {
        0.10 - 0.01 * (look % 37) as f64 / 37.0
    }

    #[test]
    fn what_rises_and_falls_has_settled() {
        for looks in [1_000, 30_000, 1_000_000] {
            let trend = trend(looks, saw).unwrap();
            assert!(!trend.moves(), "{looks}: {trend:?}");
            assert!((trend.first - 0.095).abs() < 0.002, "{looks}: {trend:?}");
        }
    }

    #[test]
    fn a_trend_and_a_late_fall_are_seen() {
        let looks = 50_000;
        let falls = trend(looks, |look| saw(look) - 0.02 * look as f64 / looks as f64).unwrap();
        assert!(falls.moves(), "{falls:?}");
        assert!((falls.first - falls.last - 0.018).abs() < 0.002, "{falls:?}");
        let late = trend(looks, |look| saw(look) - if look > looks / 2 { 0.01 } else { 0.0 });
        assert!(late.unwrap().moves(), "{late:?}");
    }

    #[test]
    fn one_block_is_no_trend() {
        let block = trend(10_000, |look| 0.1 - BLOCK * look as f64 / 10_000.0).unwrap();
        assert!(!block.moves(), "{block:?}");
        assert!(!trend(10_000, |_| 0.1).unwrap().moves());
    }

    #[test]
    fn a_short_run_says_nothing() {
        assert_eq!(trend(5, saw), None);
        let mut recorder = FreeSpaceRecorder::new();
        (0..100).for_each(|look| recorder.look(Instant::ZERO + Duration::from_millis(look), &[]));
        assert_eq!(recorder.finish(), None, "drives that tell nothing");
    }
}
