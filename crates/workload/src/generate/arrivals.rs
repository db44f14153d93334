//! Times of requests.

use super::phases::Phase;
use super::words::{IoDepth, RateProcess};
use units::{Duration, Instant, Rng};

/// Rule for the time of the next request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrival {
    /// Open loop: each request has its time, whether or not the array keeps up.
    Open,
    /// Closed loop: a request is issued as soon as fewer than `iodepth` are under way. The times of
    /// the requests are zero and have no meaning.
    Closed {
        /// Requests under way at once.
        iodepth: IoDepth,
        /// Time for which requests are issued, which only the driver can measure. `None` for no
        /// limit.
        runtime: Option<Duration>,
    },
}

/// Distribution of the gap from one request to the next. Means are in nanoseconds.
#[derive(Clone, Debug)]
pub(super) enum Gaps {
    /// No time passes: closed loop.
    None,
    /// A constant gap.
    Fixed { mean: f64 },
    /// Exponential: independent arrivals.
    Poisson { mean: f64 },
    /// Bursts: a geometric number of requests, with exponential gaps inside and between bursts.
    Bursts { inside: f64, between: f64, ends_bound: u64 },
    /// Rates that change.
    Phases(Phases),
}

/// Position of a clock in its phases. It is measured in mean requests instead of time, so that the
/// length of a gap that ends in a later phase follows from the rates of both phases.
#[derive(Clone, Debug)]
pub(super) struct Phases {
    process: RateProcess,
    rest: std::vec::IntoIter<Phase>,
    current: Option<Phase>,
    /// Start of the current phase in nanoseconds.
    began: u64,
    /// Requests of the current phase so far, on average.
    position: f64,
}

impl Phases {
    /// Skips phases that are over. Returns the time of the next request, or the end of the last
    /// phase if no phase is left.
    fn now(&mut self) -> u64 {
        while let Some(phase) = self.current {
            let requests = phase.mean_requests();
            if self.position < requests {
                return self.began + (self.position / phase.rate_iops * 1e9) as u64;
            }
            self.position -= requests;
            self.began = self.began.saturating_add(phase.length.as_nanos());
            self.current = self.rest.next();
        }
        self.began
    }

    fn advance(&mut self, rng: &mut Rng) {
        self.position += match self.process {
            RateProcess::Linear => 1.0,
            RateProcess::Poisson => exponential(rng, 1.0),
        };
    }
}

impl Gaps {
    /// Bursts of `mean_burst` requests on average (at least 1). Gaps inside a burst are
    /// `inside_ratio` (0 to 1) of the mean interval. The gaps between bursts are longer in return,
    /// so that the mean of all gaps is `mean`.
    pub(super) fn bursts(mean: f64, mean_burst: f64, inside_ratio: f64) -> Self {
        let burst = mean_burst.max(1.0);
        let inside = mean * inside_ratio.clamp(0.0, 1.0);
        // Of the `burst` gaps of a burst, all but one are inside.
        let between = burst * mean - (burst - 1.0) * inside;
        // A geometric number of requests: after each, the burst ends with this probability.
        let ends_bound = (2f64.powi(64) / burst) as u64;
        Self::Bursts { inside, between, ends_bound }
    }

    /// The rates of `phases`, one after the other.
    pub(super) fn phases(phases: Vec<Phase>, process: RateProcess) -> Self {
        let mut rest = phases.into_iter();
        let current = rest.next();
        Self::Phases(Phases { process, rest, current, began: 0, position: 0.0 })
    }
}

/// The clock of an open-loop generator.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    gaps: Gaps,
    rng: Rng,
    /// Whole nanoseconds, and the fraction that is carried on so that no mean drifts.
    now: u64,
    fraction: f64,
}

impl Clock {
    pub(super) fn new(gaps: Gaps, rng: Rng) -> Self {
        Self { gaps, rng, now: 0, fraction: 0.0 }
    }

    /// Returns the time of this request, then advances to the next.
    #[inline]
    pub(super) fn tick(&mut self) -> Instant {
        let now = Instant::from_nanos(self.now);
        let gap = match &mut self.gaps {
            Gaps::None => return now,
            Gaps::Fixed { mean } => *mean,
            Gaps::Poisson { mean } => exponential(&mut self.rng, *mean),
            Gaps::Bursts { inside, between, ends_bound } => {
                let ends = self.rng.next_u64() <= *ends_bound;
                exponential(&mut self.rng, if ends { *between } else { *inside })
            }
            Gaps::Phases(phases) => {
                let now = phases.now();
                phases.advance(&mut self.rng);
                return Instant::from_nanos(now);
            }
        };
        self.fraction += gap;
        let whole = self.fraction as u64;
        self.fraction -= whole as f64;
        self.now = self.now.saturating_add(whole);
        now
    }
}

#[inline]
fn exponential(rng: &mut Rng, mean: f64) -> f64 {
    // One minus a draw below one is never zero, so the logarithm is finite.
    -mean * libm::log(1.0 - rng.unit_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_gap(gaps: Gaps) -> f64 {
        let mut clock = Clock::new(gaps, Rng::new(4));
        let draws = 1_000_000;
        let mut last = Instant::ZERO;
        for _ in 0..=draws {
            last = clock.tick();
        }
        last.as_nanos() as f64 / f64::from(draws)
    }

    #[test]
    fn means_are_kept() {
        assert_eq!(mean_gap(Gaps::Fixed { mean: 1_000.5 }), 1_000.5);
        assert!((mean_gap(Gaps::Poisson { mean: 72_000.0 }) / 72_000.0 - 1.0).abs() < 0.01);
        assert!((mean_gap(Gaps::bursts(72_000.0, 16.0, 0.1)) / 72_000.0 - 1.0).abs() < 0.02);
        assert!((mean_gap(Gaps::bursts(5_000.0, 1.0, 0.1)) / 5_000.0 - 1.0).abs() < 0.02);
    }
}
