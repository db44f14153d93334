//! The time-window formula: how long a busy window may be (IODA §4.3.2, Figure 3, Table 2).
//!
//! This is its only implementation; drives, simulations and the planner call it. `docs/windows.md`
//! derives the parts that are not in the paper: several busy drives at once, guards, and the second
//! bound.

use crate::window::ArrayDescription;
use units::Duration;

/// The terms of the formula that depend on the drive.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WindowParameters {
    /// `S_p`: over-provisioned space in bytes.
    pub over_provisioned_bytes: f64,
    /// The share of `S_p` that may fill in one cycle. Every value of the paper's Table 2 equals
    /// 0.05 times its printed formula; the part of `S_p` between two watermarks is the natural
    /// reading. 1.0 gives the bare bound.
    pub usable_share: f64,
    /// `B_gc`: bytes per second that collection reclaims.
    pub collection_bytes_per_second: f64,
}

impl WindowParameters {
    /// Bytes that may fill between two busy windows.
    #[must_use]
    pub fn usable_bytes(&self) -> f64 {
        self.usable_share * self.over_provisioned_bytes
    }

    /// The paper's bound under `write_bytes_per_second` on each drive: `usable × S_p / ((N_ssd / k)
    /// × B − B_gc)` (IODA §4.3.2; `k` is 1 there).
    ///
    /// `None` if collection keeps up with the load in one window of the cycle, so that the formula
    /// sets no bound. [`WindowParameters::safe_window`] still sets one then.
    #[must_use]
    pub fn longest_window(
        &self,
        array: ArrayDescription,
        write_bytes_per_second: f64,
    ) -> Option<Duration> {
        let load = array.windows_per_cycle() * write_bytes_per_second;
        let net_load = load - self.collection_bytes_per_second;
        (net_load > 0.0).then(|| seconds(self.usable_bytes() / net_load))
    }

    /// Bound that also holds where the paper's is too long, with guards of `guard` at both ends of
    /// each window.
    ///
    /// Collection gives space back at the end of a cycle, and the space must last until then. So
    /// `B_gc` counts for no more than is written in that time:
    /// `usable × S_p / ((N_ssd / k − 1) × B + max(0, B − B_gc))`. It equals the paper's bound wherever
    /// `B ≥ B_gc`. Zero if the guards alone are too long.
    #[must_use]
    pub fn safe_window(
        &self,
        array: ArrayDescription,
        write_bytes_per_second: f64,
        guard: Duration,
    ) -> Duration {
        let (load, collection) = (write_bytes_per_second, self.collection_bytes_per_second);
        let windows = array.windows_per_cycle();
        let guards = 2.0 * guard.as_secs_f64();
        // At the end of the predictable window and of the guard behind it.
        let before = (self.usable_bytes() - guards * load) / ((windows - 1.0) * load);
        // At the end of the busy window.
        let net_load = windows * load - collection;
        let after = match net_load > 0.0 {
            true => (self.usable_bytes() - guards * collection) / net_load,
            false => f64::INFINITY,
        };
        seconds(before.min(after).max(0.0))
    }

    /// Usable bytes with which windows of this length keep the contract: the inverse of
    /// [`WindowParameters::safe_window`]. It does not compare them with the bytes of this drive.
    #[must_use]
    pub fn needed_bytes(
        &self,
        array: ArrayDescription,
        write_bytes_per_second: f64,
        guard: Duration,
        window: Duration,
    ) -> f64 {
        let (load, collection) = (write_bytes_per_second, self.collection_bytes_per_second);
        let (window, guards) = (window.as_secs_f64(), 2.0 * guard.as_secs_f64());
        let windows = array.windows_per_cycle();
        let before = ((windows - 1.0) * window + guards) * load;
        let after = (windows * load - collection) * window + guards * collection;
        before.max(after)
    }

    /// Highest load under which windows of this length keep the contract for one cycle: the same
    /// bound, solved for the load. Zero if no load does.
    #[must_use]
    pub fn highest_load(&self, array: ArrayDescription, guard: Duration, window: Duration) -> f64 {
        let collection = self.collection_bytes_per_second;
        let (window, guards) = (window.as_secs_f64(), 2.0 * guard.as_secs_f64());
        let windows = array.windows_per_cycle();
        let before = self.usable_bytes() / ((windows - 1.0) * window + guards);
        let after = (self.usable_bytes() + collection * (window - guards)) / (windows * window);
        before.min(after).max(0.0)
    }
}

/// Bytes of a write buffer that fill between two busy windows of a drive, if the buffer is flushed
/// in these windows only: `B × ((N_ssd / k − 1) × TW + 2σ)` (`docs/quiet.md`).
#[must_use]
pub fn buffered_bytes(
    array: ArrayDescription,
    write_bytes_per_second: f64,
    guard: Duration,
    window: Duration,
) -> f64 {
    let closed = (array.windows_per_cycle() - 1.0) * window.as_secs_f64();
    write_bytes_per_second * (closed + 2.0 * guard.as_secs_f64())
}

/// A duration from seconds, limited to the longest that a [`Duration`] holds.
fn seconds(seconds: f64) -> Duration {
    Duration::from_nanos((seconds * 1e9) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: f64 = (1u64 << 30) as f64;

    fn femu() -> WindowParameters {
        WindowParameters {
            over_provisioned_bytes: 4.0 * GIB,
            usable_share: 0.05,
            collection_bytes_per_second: 40e6,
        }
    }

    #[test]
    fn the_safe_bound_is_the_articles_when_the_load_is_high() {
        let array = ArrayDescription { width: 4, parities: 1 };
        for load in [40e6, 100e6, 536e6] {
            let article = femu().longest_window(array, load).unwrap();
            let safe = femu().safe_window(array, load, Duration::ZERO);
            assert!((article.as_secs_f64() / safe.as_secs_f64() - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn the_articles_bound_is_too_long_when_collection_outruns_the_load() {
        let array = ArrayDescription { width: 4, parities: 1 };
        let load = 17e6;
        let article = femu().longest_window(array, load).unwrap();
        let safe = femu().safe_window(array, load, Duration::ZERO);
        let filled = 3.0 * article.as_secs_f64() * load;
        assert!(filled > femu().usable_bytes(), "the space is full before the window comes");
        assert!(3.0 * safe.as_secs_f64() * load <= femu().usable_bytes() * 1.000_001);
        // Even where the paper sets no bound at all, the space still fills.
        assert_eq!(femu().longest_window(array, 9e6), None);
        assert!(femu().safe_window(array, 9e6, Duration::ZERO) < Duration::from_secs(9));
    }

    #[test]
    fn more_parities_mean_longer_windows_and_guards_shorter_ones() {
        let window = |parities, guard| {
            femu().safe_window(ArrayDescription { width: 8, parities }, 100e6, guard)
        };
        let (one, two) = (window(1, Duration::ZERO), window(2, Duration::ZERO));
        assert!(two > one * 2, "N/k × B − B_gc falls by more than half");
        assert!(window(1, Duration::from_millis(10)) < one);
        assert_eq!(window(1, Duration::from_secs(60)), Duration::ZERO);
    }

    #[test]
    fn a_buffer_fills_as_long_as_the_windows_of_the_others_are_open() {
        let buffer = |parities, guard| {
            let array = ArrayDescription { width: 8, parities };
            buffered_bytes(array, 100e6, Duration::from_millis(guard), Duration::from_millis(130))
        };
        assert!((buffer(1, 0) - 7.0 * 13e6).abs() < 1.0);
        assert!((buffer(2, 0) - 3.0 * 13e6).abs() < 1.0, "two drives at a time");
        assert!((buffer(1, 5) - 7.0 * 13e6 - 1e6).abs() < 1.0, "and the guards");
    }

    #[test]
    fn the_bound_can_be_solved_for_space_and_for_load() {
        let array = ArrayDescription { width: 6, parities: 1 };
        for (load, guard) in [(17e6, 0), (17e6, 5), (100e6, 0), (536e6, 3)] {
            let guard = Duration::from_millis(guard);
            let window = femu().safe_window(array, load, guard);
            let needed = femu().needed_bytes(array, load, guard, window);
            assert!((needed / femu().usable_bytes() - 1.0).abs() < 1e-6, "{load}: {needed}");
            let highest = femu().highest_load(array, guard, window);
            assert!((highest / load - 1.0).abs() < 1e-6, "{load}: {highest}");
        }
    }
}
