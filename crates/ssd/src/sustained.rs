//! Rate at which a drive can be written for ever with a window: it gives back in one window of each
//! cycle what is written in the cycle.
//!
//! Free space settles where both balance. With less free space more blocks are in use, so victims
//! hold fewer valid pages, take less time and give more back ([`Config::valid_ratio_with`]). A load
//! is sustained for ever if the balance comes before free space is down to the hard watermark.

use crate::config::{CollectionUnit, Config};
use nvme::ArrayDescription;
use units::Duration;

/// Blocks of a die (or lines) above the hard watermark that remain at the end of a cycle: one is
/// opened for copies, and dies are not in step.
const KEPT_BLOCKS: f64 = 2.0;
/// Number of halvings of the range in the search for the rate: to one part in a million.
const HALVINGS: u32 = 20;

/// Drives of an array that take turns in their windows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turns<'a> {
    pub(crate) drive: &'a Config,
    pub(crate) array: ArrayDescription,
    pub(crate) window: Duration,
    pub(crate) guard: Duration,
    /// Drives flush their write buffers in windows.
    pub(crate) flushes: bool,
}

impl Turns<'_> {
    /// Highest rate in bytes per second that is no more than windows give back at that rate.
    pub(crate) fn sustained(self) -> f64 {
        let (mut least, mut most) = (0.0, self.given_back_per_second(0.0));
        for _ in 0..HALVINGS {
            let middle = (least + most) / 2.0;
            if self.given_back_per_second(middle) >= middle {
                least = middle;
            } else {
                most = middle;
            }
        }
        least
    }

    /// Bytes per second that windows give back while `load` is written, with the least free space
    /// that may be.
    fn given_back_per_second(self, load: f64) -> f64 {
        let drive = self.drive;
        let cycle = self.window.as_secs_f64() * self.array.windows_per_cycle();
        let open = self.window.saturating_sub(self.guard * 2).as_secs_f64();
        let written = load * cycle;
        let flush = if self.flushes { written / drive.program_bytes_per_second() } else { 0.0 };
        let Some(valid) = valid_ratio_at_the_end(drive, written) else { return 0.0 };
        let left = open - flush - last_round_seconds(drive, valid);
        let more = libm::floor(left / round_seconds(drive, valid) + 1e-9);
        let rounds = if left < 0.0 { 0.0 } else { 1.0 + more };
        rounds * drive.reclaimed_by_round(valid) / cycle
    }

    /// Window with the highest rate, from `shortest` to the window of `self`. Guards cost a smaller
    /// share of a long window. But more is written in its cycle, so free space is higher and
    /// victims are fuller.
    pub(crate) fn best_window(self, shortest: Duration) -> Duration {
        let longest = self.window;
        let rate = |rounds: u64| {
            let window = self.window_of_rounds(rounds).clamp(shortest, longest);
            (window, Turns { window, ..self }.sustained())
        };
        let open = longest.saturating_sub(self.guard * 2).as_secs_f64();
        let emptiest = valid_ratio_at_the_end(self.drive, 0.0).unwrap_or(1.0);
        let (mut least, mut most) = (1, (open / round_seconds(self.drive, emptiest)) as u64);
        while most > least + 2 {
            let third = (most - least) / 3;
            if rate(least + third).1 < rate(most - third).1 {
                least += third.max(1);
            } else {
                most -= third.max(1);
            }
        }
        let candidates = (least..=most).map(rate).chain([(longest, self.sustained())]);
        let best =
            |best: (Duration, f64), one: (Duration, f64)| if one.1 > best.1 { one } else { best };
        candidates.reduce(best).map_or(longest, |(window, _)| window)
    }

    /// The shortest window for `rounds` collections on each die, while the host writes what these
    /// give back.
    fn window_of_rounds(self, rounds: u64) -> Duration {
        let (drive, count) = (self.drive, rounds as f64);
        let (mut least, mut most) = (0.0, 1.0);
        // The valid share of victims at which they give back as much as is written.
        for _ in 0..HALVINGS {
            let valid = (least + most) / 2.0;
            let kept = valid_ratio_at_the_end(drive, count * drive.reclaimed_by_round(valid));
            if kept.is_some_and(|kept| kept < valid) {
                most = valid;
            } else {
                least = valid;
            }
        }
        let seconds = (count - 1.0) * round_seconds(drive, most) + last_round_seconds(drive, most);
        Duration::from_nanos((seconds * 1e9) as u64 + 1) + self.guard * 2
    }
}

/// Share of valid pages in victims with the least free space that may be, while `written` bytes
/// come in each cycle. `None` without room for them.
fn valid_ratio_at_the_end(drive: &Config, written: f64) -> Option<f64> {
    let blocks = written / (f64::from(drive.geometry.dies()) * drive.block_bytes() as f64);
    let (least, most) = (f64::from(drive.hard_blocks()), f64::from(drive.restore_blocks()));
    let free = (least + KEPT_BLOCKS + blocks / 2.0).min(most);
    (blocks <= most + 1.0 - least).then(|| drive.valid_ratio_with(free))
}

/// Share of valid pages of the fullest block in a round of collections with the mean `valid`. The
/// largest of `n` normal deviations is about `√(2 ln n)` standard deviations.
pub(crate) fn fullest_of_round(drive: &Config, valid: f64) -> f64 {
    match drive.collection.unit {
        CollectionUnit::Block => valid,
        CollectionUnit::Line => {
            let deviation = drive.valid_deviation(valid);
            let dies = f64::from(drive.geometry.dies());
            (valid + libm::sqrt(2.0 * libm::log(dies)) * deviation).min(0.99)
        }
    }
}

/// Time of one collection on all dies that collect at once; the dies of a line wait for the fullest
/// block.
fn round_seconds(drive: &Config, valid: f64) -> f64 {
    drive.unit_time(fullest_of_round(drive, valid)).as_secs_f64().max(1e-9)
}

/// Time that must be left of a window for a collection to begin.
fn last_round_seconds(drive: &Config, valid: f64) -> f64 {
    drive.foreseen_time(fullest_of_round(drive, valid)).as_secs_f64().max(1e-9)
}
