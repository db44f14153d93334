//! How late the best possible waiting is on this machine: below this floor no answer can be on
//! time.

use super::waiter::{Clock, Spin, Waiter, processor_time};
use hdrhistogram::Histogram;
use std::sync::atomic::{AtomicU64, Ordering};
use units::{Duration, Instant};

/// A method to wait for a moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitMethod {
    /// Sleeps until the moment, as exactly as the kernel can.
    Sleep,
    /// Sleeps and then spins, as an array that is served does.
    Hybrid(Spin),
    /// Polls the clock and the descriptors without a pause.
    Spin,
}

/// What one method to wait came to.
#[derive(Clone, Debug)]
pub struct TimerFloor {
    /// The method.
    pub method: WaitMethod,
    /// By how many nanoseconds it came back after the moment.
    pub late_nanoseconds: Histogram<u64>,
    /// By how many at most, exact.
    pub late_max_nanoseconds: u64,
    /// Share of a core that it used, 0 to 1.
    pub processor_share: f64,
    /// For how long it was measured.
    pub measured: Duration,
    /// Time before the moment at which it woke up to spin, at the end.
    pub margin: Duration,
}

/// Shortest and longest time between two moments.
const BETWEEN_NANOSECONDS: std::ops::RangeInclusive<u64> = 100_000..=200_000;
/// Ways take turns of this length, so that a disturbance hits all of them.
const TURN: Duration = Duration::from_millis(250);

/// Waits in all `methods` in turns, for `each` in every method: one moment after the other, 100 to
/// 200 us apart by a sequence that is always the same. `milliseconds` counts the time that all have
/// taken.
///
/// # Errors
///
/// If the system has no file descriptor left.
pub fn measure(
    methods: &[WaitMethod],
    each: Duration,
    milliseconds: &AtomicU64,
) -> std::io::Result<Vec<TimerFloor>> {
    let clock = Clock::new();
    let mut rng = units::Rng::stream(1, "timer");
    let mut measured = Vec::new();
    for &method in methods {
        let spin = match method {
            WaitMethod::Sleep => Spin::Fixed(Duration::ZERO),
            WaitMethod::Hybrid(spin) => spin,
            WaitMethod::Spin => Spin::Fixed(Duration::MAX),
        };
        let floor = TimerFloor {
            method,
            // The longest stall that is told apart is an hour, at three digits.
            late_nanoseconds: Histogram::new_with_bounds(1, 3_600_000_000_000, 3)
                .map_err(std::io::Error::other)?,
            late_max_nanoseconds: 0,
            processor_share: 0.0,
            measured: Duration::ZERO,
            margin: Duration::ZERO,
        };
        measured.push((floor, Waiter::new(spin)?, Duration::ZERO));
    }
    while measured.iter().any(|(floor, ..)| floor.measured < each) {
        for (floor, waiter, used) in &mut measured {
            let before = floor.measured;
            turn(&clock, waiter, floor, used, &mut rng)?;
            let spent = floor.measured.saturating_sub(before).as_nanos() / 1_000_000;
            milliseconds.fetch_add(spent, Ordering::Relaxed);
        }
    }
    Ok(measured
        .into_iter()
        .map(|(mut floor, waiter, used)| {
            floor.processor_share = used.as_secs_f64() / floor.measured.as_secs_f64();
            floor.margin = waiter.margin();
            floor
        })
        .collect())
}

fn turn(
    clock: &Clock,
    waiter: &mut Waiter,
    floor: &mut TimerFloor,
    used: &mut Duration,
    rng: &mut units::Rng,
) -> std::io::Result<()> {
    let mut events = Vec::new();
    let (began, busy) = (clock.now(), processor_time());
    let mut now = began;
    while now.since(began) < TURN {
        let spread = BETWEEN_NANOSECONDS.end() - BETWEEN_NANOSECONDS.start();
        let after = BETWEEN_NANOSECONDS.start() + rng.below(spread + 1);
        let due = Instant::from_nanos(now.as_nanos() + after);
        now = waiter.wait(clock, due, floor.method != WaitMethod::Sleep, &mut events)?;
        let late = now.since(due).as_nanos();
        floor.late_nanoseconds.saturating_record(late.max(1));
        floor.late_max_nanoseconds = floor.late_max_nanoseconds.max(late);
    }
    *used += processor_time().saturating_sub(busy);
    floor.measured += now.since(began);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_is_measured() {
        let methods = [WaitMethod::Sleep, WaitMethod::Hybrid(Spin::Adaptive), WaitMethod::Spin];
        let milliseconds = AtomicU64::new(0);
        let floors = measure(&methods, Duration::from_millis(1), &milliseconds).unwrap();
        assert!(milliseconds.into_inner() >= methods.len() as u64 * 250);
        for (floor, method) in floors.iter().zip(methods) {
            assert_eq!(floor.method, method);
            assert!(floor.measured >= TURN && !floor.late_nanoseconds.is_empty());
            assert!(floor.processor_share > 0.0 && floor.processor_share < 1.1, "{floor:?}");
        }
        let used = |at: usize| floors[at].processor_share;
        assert!(used(0) < used(2), "sleeping uses less than spinning: {floors:?}");
    }
}
