//! The bound that a simulation finds, beside the one of the formula: `--simulate`.
//!
//! One drive at rest under a burst of one cycle ([`sim::burst`]), in windows that are tried until
//! the longest is known to 2 %. Large drives get fewer blocks per plane: every window shrinks with
//! the space between the watermarks, so what is found is multiplied by the ratio of the two
//! spaces. That is not quite the ratio of the blocks, because watermarks are whole blocks.

use super::answer::{Answer, Judged};
use crate::progress::{self, Show};
use sim::{AtRest, Burst, longest_simulated_window};
use ssd::Config;
use study::Failure;
use study::metric::three_digits;
use units::Duration;

/// Fewest blocks that a plane of a scaled drive keeps, and fewest between its watermarks.
const LEAST_BLOCKS: u32 = 128;
const LEAST_BETWEEN: u32 = 3;
/// The largest divisor.
const MOST_SCALED: u32 = 1 << 10;
/// Most pages that one try may write.
const MOST_PAGES: f64 = 30e6;
/// Windows are tried up to so many times what is expected.
const TRIED: f64 = 1.4;
/// Of the state of the drive and of the addresses.
const SEED: u64 = 1;

/// What became of the simulation of one load.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Simulated {
    /// The longest window that keeps the contract.
    Found(Found),
    /// One try would write so many pages, more than anybody waits for.
    TooMuch(f64),
    /// Guards leave no window to begin with.
    NoWindow,
}

/// The longest window that a simulation finds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    /// For the whole drive.
    pub(crate) window: Duration,
    /// The same over the bound of the formula.
    pub(crate) over_formula: f64,
    /// How the drive was scaled.
    pub(crate) scale: Scale,
    /// Whether the scaled windows are shorter than one collection, but those of the drive are not.
    pub(crate) loses_collections: bool,
}

/// How a drive was made smaller.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Scale {
    /// Blocks of each plane are divided by this.
    pub(crate) divisor: u32,
    /// Pages of each block are divided by this.
    pub(crate) parts: u32,
    /// What windows of the smaller drive are multiplied by.
    pub(crate) factor: f64,
}

/// The smallest drive that still behaves like `part`, and how to come back from there to `whole`.
fn scaled(part: &Config, whole: &Config) -> (Config, Scale) {
    let smaller = |divisor: u32| {
        let mut small = part.clone();
        small.geometry.blocks_per_plane /= divisor;
        small.contract.usable_share = small.watermark_share();
        let factor = whole.watermark_bytes() / small.watermark_bytes();
        (small, Scale { divisor, parts: part.geometry.scaled_down, factor })
    };
    let works = |small: &Config| {
        small.geometry.blocks_per_plane >= LEAST_BLOCKS
            && small.restore_blocks() >= small.hard_blocks() + LEAST_BETWEEN
            && small.validate().is_ok()
    };
    let divisors = std::iter::successors(Some(MOST_SCALED), |divisor| Some(divisor / 2));
    divisors
        .take_while(|divisor| *divisor > 1)
        .filter(|divisor| part.geometry.blocks_per_plane / divisor >= LEAST_BLOCKS)
        .map(smaller)
        .find(|(small, _)| works(small))
        .unwrap_or_else(|| smaller(1))
}

/// Simulates every load of every answer.
pub(crate) fn simulate(answers: &mut [Answer], show: Show) -> Result<(), Failure> {
    let loads = answers.iter().map(|answer| answer.judged.len()).sum();
    let mut steps = progress::Steps::new(show, "simulating bursts", loads);
    for answer in answers {
        let (drive, scale) = scaled(&answer.question.simulated, answer.config());
        let mut at_rest = None;
        for index in 0..answer.judged.len() {
            steps.next(&format!("{} under {}", drive.name, answer.judged[index].load));
            let burst = burst(answer, &answer.judged[index], &drive, scale);
            let found = match problem(&burst, &answer.judged[index]) {
                Some(problem) => problem,
                None => {
                    let at_rest = match &mut at_rest {
                        Some(at_rest) => at_rest,
                        none => none.insert(AtRest::new(&drive, SEED)?),
                    };
                    found(answer, &answer.judged[index], at_rest, &burst, scale)
                }
            };
            answer.judged[index].simulated = Some(found);
        }
    }
    Ok(())
}

fn times(duration: Duration, by: f64) -> Duration {
    Duration::from_nanos((duration.as_nanos() as f64 * by) as u64)
}

/// A burst of one cycle on the scaled drive in windows of its bound.
fn burst(answer: &Answer, judged: &Judged, drive: &Config, scale: Scale) -> Burst {
    Burst {
        drive: drive.clone(),
        array: answer.question.array,
        busy_time_window: times(judged.outlook.longest, 1.0 / scale.factor),
        guard: times(answer.question.guard, 1.0 / scale.factor),
        bytes_per_second: judged.outlook.promise.load_bytes_per_second,
        cycles: 1,
        seed: SEED,
    }
}

/// Why a burst cannot be simulated, if so.
fn problem(burst: &Burst, judged: &Judged) -> Option<Simulated> {
    let window = burst.busy_time_window.as_secs_f64();
    if window <= 0.0 {
        return Some(Simulated::NoWindow);
    }
    // A load beyond the flash may fill the space the more slowly, and windows be longer for it.
    let longer = TRIED * judged.outlook.beyond_flash.unwrap_or(1.0);
    let cycle = window * longer * burst.array.windows_per_cycle();
    let page = f64::from(burst.drive.geometry.page_bytes);
    let pages = burst.bytes_per_second * cycle / page;
    (pages > MOST_PAGES).then_some(Simulated::TooMuch(pages))
}

fn found(
    answer: &Answer,
    judged: &Judged,
    at_rest: &AtRest,
    burst: &Burst,
    scale: Scale,
) -> Simulated {
    let small = longest_simulated_window(at_rest, burst);
    let window = times(small, scale.factor);
    let collection = answer.config().likely_unit_time();
    Simulated::Found(Found {
        window,
        over_formula: window.as_secs_f64() / judged.outlook.longest.as_secs_f64(),
        scale,
        loses_collections: small < collection && window >= collection,
    })
}

impl Simulated {
    /// In a sentence.
    pub(crate) fn sentence(&self) -> String {
        match self {
            Self::NoWindow => {
                "Not simulated: the guards alone use up the space, so there is no window to try."
                    .to_owned()
            }
            Self::TooMuch(pages) => format!(
                "Not simulated: one try of this burst would write {:.0} million pages, more than \
                 {:.0} million; lower --load.",
                pages / 1e6,
                MOST_PAGES / 1e6
            ),
            Self::Found(found) => format!(
                "Simulated, {}, windows of up to {} keep the contract for a cycle: the bound is \
                 {}.{}",
                found.scale.words(),
                found.window,
                found.distance(),
                match found.loses_collections {
                    true =>
                        " No collection fits into a window of the smaller drive, so the whole \
                             one does better.",
                    false => "",
                }
            ),
        }
    }

    /// What was found, if anything.
    pub(crate) fn found(&self) -> Option<&Found> {
        match self {
            Self::Found(found) => Some(found),
            Self::TooMuch(_) | Self::NoWindow => None,
        }
    }
}

impl Found {
    /// How far the formula is from it.
    fn distance(&self) -> String {
        let share = 1.0 - 1.0 / self.over_formula;
        match share.abs() * 100.0 {
            percent if percent < 0.5 => "the same".to_owned(),
            percent => {
                let side = if share > 0.0 { "below" } else { "above" };
                format!("{percent:.0} % {side}")
            }
        }
    }
}

impl Scale {
    /// How it was scaled, in words.
    pub(crate) fn words(self) -> String {
        let blocks = match self.divisor {
            1 => String::from("all of its blocks"),
            divisor => format!("1/{divisor} of the blocks"),
        };
        let pages = match self.parts {
            1 => String::new(),
            parts => format!(" and 1/{parts} of their pages"),
        };
        let times = match (self.divisor, self.parts) {
            (1, 1) => String::new(),
            _ => format!(
                ", times {} for the space between the watermarks",
                three_digits(self.factor)
            ),
        };
        format!("with {blocks}{pages}{times}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scaled_drives_keep_their_blocks_and_watermarks() {
        for (name, divisor) in [("sim", 16), ("femu", 2), ("970", 16), ("p4600", 32)] {
            let config = ssd::presets::preset(name).unwrap();
            let (small, scale) = scaled(&config, &config);
            assert_eq!(scale.divisor, divisor, "{name}");
            assert!(small.geometry.blocks_per_plane >= LEAST_BLOCKS);
            assert!(small.restore_blocks() - small.hard_blocks() >= LEAST_BETWEEN);
            let bytes = small.window_parameters().usable_bytes() * scale.factor;
            assert!((bytes / config.watermark_bytes() - 1.0).abs() < 1e-9, "{name}");
        }
        let mut tiny = ssd::presets::preset("femu").unwrap();
        tiny.geometry.blocks_per_plane = 64;
        assert_eq!(scaled(&tiny, &tiny).1, Scale { divisor: 1, parts: 1, factor: 1.0 });
        let part = ssd::presets::preset("7450-3840").unwrap();
        let (small, scale) = scaled(&part, &part.whole());
        assert_eq!(scale.parts, 16);
        let factor = part.whole().watermark_bytes() / small.watermark_bytes();
        assert_eq!(scale.factor, factor);
    }

    #[test]
    fn bounds_are_compared_in_words() {
        let distance = |over_formula| {
            let scale = Scale { divisor: 1, parts: 1, factor: 1.0 };
            let window = Duration::from_millis(1);
            Found { window, over_formula, scale, loses_collections: false }.distance()
        };
        assert_eq!(distance(1.25), "20 % below");
        assert_eq!(distance(0.8), "25 % above");
        assert_eq!(distance(1.001), "the same");
    }
}
