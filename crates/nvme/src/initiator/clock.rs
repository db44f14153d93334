//! The clock of a drive, as a host estimates it (`docs/ioda-on-the-wire.md`, "Which clock").

use units::{Duration, Instant};

/// One reading of the clock of a drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClockReading {
    /// The host's time before it asked.
    pub asked: Instant,
    /// The host's time after the answer.
    pub answered: Instant,
    /// The clock in the drive's answer; the drive read it at some moment between the two.
    pub told: Instant,
}

impl ClockReading {
    /// Largest error of the middle between question and answer.
    #[must_use]
    pub const fn uncertainty(&self) -> Duration {
        let round_trip = self.answered.since(self.asked).as_nanos();
        Duration::from_nanos(round_trip.div_ceil(2))
    }

    fn middle(&self) -> Instant {
        self.asked + Duration::from_nanos(self.answered.since(self.asked).as_nanos() / 2)
    }
}

/// Estimate of the clock of a drive: the best of several readings, and the bound of the drift
/// between two clocks.
///
/// A reading is known up to its uncertainty. At a later moment the error is at most that
/// uncertainty and the drift since, for a clock that drifts at most `drift_ppm` from the host's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DriveClock {
    reading: ClockReading,
    drift_ppm: u32,
}

impl DriveClock {
    /// A clock with one reading. `drift_ppm` bounds the drift of both clocks together.
    #[must_use]
    pub const fn new(reading: ClockReading, drift_ppm: u32) -> Self {
        Self { reading, drift_ppm }
    }

    /// Takes another reading. It is kept if its uncertainty is at most that of the present
    /// estimate, which grows with time. Returns whether the clock has jumped beyond the bound: then
    /// the new reading is kept, and settings in the drive's time have to be sent again.
    pub fn observe(&mut self, reading: ClockReading) -> bool {
        let (expected, bound) = self.at(reading.middle());
        let apart = expected.since(reading.told).max(reading.told.since(expected));
        let has_jumped = apart > bound + reading.uncertainty();
        if has_jumped || reading.uncertainty() <= bound {
            self.reading = reading;
        }
        has_jumped
    }

    /// The drive's clock at `host`, a time of the host, and the largest error of that.
    #[must_use]
    pub fn at(&self, host: Instant) -> (Instant, Duration) {
        let middle = self.reading.middle();
        let age = host.since(middle).max(middle.since(host));
        let drift = u128::from(age.as_nanos()) * u128::from(self.drift_ppm) / 1_000_000;
        let drift = Duration::from_nanos(u64::try_from(drift).unwrap_or(u64::MAX));
        (self.on_drive(host), self.reading.uncertainty() + drift)
    }

    /// The time of the drive at a time of the host. Times before its clock began are zero.
    #[must_use]
    pub fn on_drive(&self, host: Instant) -> Instant {
        let middle = self.reading.middle();
        let told = self.reading.told;
        match host >= middle {
            true => told + host.since(middle),
            false => {
                let back = middle.since(host).as_nanos();
                Instant::from_nanos(told.as_nanos().saturating_sub(back))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(micros)
    }

    fn reading(asked: u64, answered: u64, told: u64) -> ClockReading {
        ClockReading { asked: at(asked), answered: at(answered), told: at(told) }
    }

    #[test]
    fn a_clock_is_known_to_half_a_round_trip_and_the_drift_since() {
        let clock = DriveClock::new(reading(1000, 1100, 500), 40);
        assert_eq!(clock.at(at(1050)), (at(500), Duration::from_micros(50)));
        let (told, bound) = clock.at(at(1_001_050));
        assert_eq!((told, bound), (at(1_000_500), Duration::from_micros(50 + 40)));
        assert_eq!(clock.on_drive(at(950)), at(400));
        assert_eq!(clock.on_drive(at(0)), at(0), "before its clock began");
    }

    #[test]
    fn the_best_reading_counts_until_it_is_too_old() {
        let mut clock = DriveClock::new(reading(1000, 1010, 500), 40);
        assert!(!clock.observe(reading(2000, 2100, 1560)));
        assert_eq!(clock.at(at(1005)).1, Duration::from_micros(5), "the worse one is not kept");
        assert!(!clock.observe(reading(10_000_000, 10_000_100, 9_999_560)));
        assert_eq!(clock.at(at(10_000_050)).1, Duration::from_micros(50), "the old one was worse");
    }

    #[test]
    fn a_clock_that_went_further_than_it_may_is_noticed() {
        let mut clock = DriveClock::new(reading(1000, 1010, 500), 40);
        assert!(!clock.observe(reading(2000, 2010, 1509)));
        assert!(clock.observe(reading(3000, 3010, 2600)));
        assert_eq!(clock.at(at(3005)).0, at(2600), "the new one counts");
    }

    #[test]
    fn the_bound_holds_for_every_clock_that_drifts_no_more() {
        for seed in testing::seeds(0..200) {
            let mut rng = units::Rng::stream(seed, "clock");
            let ppm = rng.below(40) as i128 - 20;
            let offset = rng.below(1 << 40) as i128;
            let drive = |host: Instant| {
                let host = i128::from(host.as_nanos());
                Instant::from_nanos((host + offset + host * ppm / 1_000_000) as u64)
            };
            let look = |rng: &mut units::Rng, now: Instant| {
                let there = now + Duration::from_nanos(rng.below(300_000));
                let answered = there + Duration::from_nanos(rng.below(300_000));
                ClockReading { asked: now, answered, told: drive(there) }
            };
            let mut now = at(rng.below(1 << 30));
            let first = look(&mut rng, now);
            let mut clock = DriveClock::new(first, 21);
            for _ in 0..30 {
                now += Duration::from_nanos(rng.below(60_000_000_000));
                let (told, bound) = clock.at(now);
                let truth = drive(now);
                let apart = told.since(truth).max(truth.since(told));
                assert!(apart <= bound + Duration::from_nanos(2), "{apart} is beyond {bound}");
                assert!(!clock.observe(look(&mut rng, now)), "no clock has jumped");
            }
        }
    }
}
