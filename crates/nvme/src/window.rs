//! The time-window contract: one formula and one schedule, used by drives, hosts and planners.

use units::{Duration, Instant};

/// What the host tells a drive about its array (fields arrayType and arrayWidth).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArrayDescription {
    /// Number of drives, `N_ssd`.
    pub width: u32,
    /// Number of parities `k`: 1 in RAID-4 and RAID-5, 2 in RAID-6.
    pub parities: u32,
}

/// When a drive may be busy (fields busyTimeWindow and cycle start; IODA §4.3.1, Figure 2).
///
/// From `cycle_start` on, the drive is busy for one window and predictable for the rest of the
/// cycle, over and over. The host gives each drive a cycle start one window later than the one
/// before, so at most one drive is in its busy window at any time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowSchedule {
    /// Length of the busy window, TW. Not zero.
    pub busy_time_window: Duration,
    /// Windows in a cycle: the array's width.
    pub windows_per_cycle: u32,
    /// Start of this drive's first busy window.
    pub cycle_start: Instant,
}

impl WindowSchedule {
    /// Length of a full cycle.
    #[must_use]
    pub fn cycle(&self) -> Duration {
        self.busy_time_window * u64::from(self.windows_per_cycle)
    }

    /// The end of the busy window that `now` is in, or none if `now` is in a predictable window.
    #[must_use]
    pub fn busy_until(&self, now: Instant) -> Option<Instant> {
        if now < self.cycle_start {
            return None;
        }
        let since = now.since(self.cycle_start).as_nanos();
        let into_cycle = since % self.cycle().as_nanos();
        let left = self.busy_time_window.as_nanos().checked_sub(into_cycle)?;
        (left > 0).then(|| now + Duration::from_nanos(left))
    }

    /// The first start of a busy window later than `now`.
    #[must_use]
    pub fn next_busy_start(&self, now: Instant) -> Instant {
        if now < self.cycle_start {
            return self.cycle_start;
        }
        let since = now.since(self.cycle_start).as_nanos();
        let cycles = since / self.cycle().as_nanos() + 1;
        self.cycle_start + self.cycle() * cycles
    }
}

/// The parameters of the formula that depend on the drive (IODA Table 2).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WindowParameters {
    /// `S_p`: over-provisioned space in bytes.
    pub over_provisioned_bytes: f64,
    /// `B_gc`: bytes per second that collection reclaims.
    pub collection_bytes_per_second: f64,
    /// The share of `S_p` that may fill in one cycle. Every value of the article's Table 2 equals
    /// 0.05 times its printed formula; the part of `S_p` between two watermarks is the natural
    /// reading. 1.0 gives the bare bound.
    pub usable_share: f64,
}

/// The longest busy window that keeps the contract under `write_bytes_per_second` on each drive:
/// `usable_share × S_p / (N_ssd × B − B_gc)` (IODA §4.3.2 and Figure 3).
///
/// None if collection keeps up with the load in one window of the cycle, so that no window is too
/// long.
#[must_use]
pub fn longest_window(
    parameters: &WindowParameters,
    array: ArrayDescription,
    write_bytes_per_second: f64,
) -> Option<Duration> {
    let net_load =
        f64::from(array.width) * write_bytes_per_second - parameters.collection_bytes_per_second;
    if net_load <= 0.0 {
        return None;
    }
    let seconds = parameters.usable_share * parameters.over_provisioned_bytes / net_load;
    Some(Duration::from_nanos((seconds * 1e9) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(slot: u64) -> WindowSchedule {
        WindowSchedule {
            busy_time_window: Duration::from_millis(100),
            windows_per_cycle: 4,
            cycle_start: Instant::ZERO + Duration::from_millis(100) * slot,
        }
    }

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn exactly_one_drive_is_busy_at_any_time() {
        for millis in 300..2_000 {
            let busy = (0..4).filter(|&d| schedule(d).busy_until(at(millis)).is_some()).count();
            assert_eq!(busy, 1, "at {millis} ms");
        }
    }

    #[test]
    fn window_edges_belong_to_the_window_that_starts() {
        let first = schedule(0);
        assert_eq!(first.busy_until(at(0)), Some(at(100)));
        assert_eq!(first.busy_until(at(99)), Some(at(100)));
        assert_eq!(first.busy_until(at(100)), None);
        assert_eq!(first.next_busy_start(at(0)), at(400));
        assert_eq!(first.next_busy_start(at(399)), at(400));
        assert_eq!(schedule(2).next_busy_start(at(0)), at(200));
    }
}
