//! Times at which a drive may collect: windows in turn, with guards for clocks that disagree.

use units::{Duration, Instant};

/// Description of an array for a drive (fields arrayType and arrayWidth).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArrayDescription {
    /// Number of drives, `N_ssd`.
    pub width: u32,
    /// Number of parities `k`: 1 in RAID-4 and RAID-5, 2 in RAID-6. As many drives may be busy at
    /// once, because `k` pages of a stripe can be reconstructed.
    pub parities: u32,
}

impl ArrayDescription {
    /// Number of drives that may be busy at once: `k`, and one without parity.
    #[must_use]
    pub fn busy_drives(&self) -> u32 {
        self.parities.max(1)
    }

    /// Windows in a cycle, `N / k`: each drive is busy for this part of the time.
    #[must_use]
    pub fn windows_per_cycle(&self) -> f64 {
        f64::from(self.width) / f64::from(self.busy_drives())
    }
}

/// Schedule of a drive's busy windows (fields busyTimeWindow and cycle start; IODA §4.3.1, Figure
/// 2).
///
/// From `cycle_start` on, the drive is busy for one window and predictable for the rest of the
/// cycle, over and over. The host gives each drive a cycle start one *turn* later than the one
/// before. A turn is `TW / k`, so at most `k` windows overlap at any time; with one parity a turn
/// is a window, as in the paper. `docs/windows.md` derives this.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowSchedule {
    /// The array.
    pub array: ArrayDescription,
    /// Length of the busy window, TW. Not zero.
    pub busy_time_window: Duration,
    /// Start of this drive's first busy window, on its own clock.
    pub cycle_start: Instant,
    /// Time from which the schedule is in effect: none of its windows opens earlier.
    pub not_before: Instant,
    /// Time at both ends of each window in which nothing may run. If no clock of the array is off
    /// by more than this, no more windows overlap than should.
    pub guard: Duration,
}

impl WindowSchedule {
    /// Time from the start of one drive's window to the start of the next drive's: `TW / k`.
    #[must_use]
    pub fn turn(&self) -> Duration {
        let drives = u64::from(self.array.busy_drives());
        // Rounded up: a turn too short by a nanosecond would let one window too many overlap.
        Duration::from_nanos(self.busy_time_window.as_nanos().div_ceil(drives))
    }

    /// Length of a full cycle: a turn for every drive.
    #[must_use]
    pub fn cycle(&self) -> Duration {
        self.turn() * u64::from(self.array.width)
    }

    /// The same schedule `turns` turns later, for a range of logical blocks. The turn of a range
    /// begins when that of the range before it is over (IODA §7.4, Table 5).
    #[must_use]
    pub fn delayed(mut self, turns: u32) -> Self {
        self.cycle_start += self.turn() * u64::from(turns % self.array.width);
        // A range whose turn comes in this cycle need not wait for the next cycle.
        if self.cycle_start >= self.not_before + self.cycle() {
            let start = self.cycle_start.as_nanos() - self.cycle().as_nanos();
            self.cycle_start = Instant::from_nanos(start);
        }
        self
    }

    /// Start and end of the whole busy window that `now` is in, guards included.
    #[must_use]
    pub fn window_at(&self, now: Instant) -> Option<(Instant, Instant)> {
        if now < self.cycle_start {
            return None;
        }
        let since = now.since(self.cycle_start).as_nanos();
        let into_cycle = since % self.cycle().as_nanos();
        (into_cycle < self.busy_time_window.as_nanos()).then(|| {
            let start = self.cycle_start + Duration::from_nanos(since - into_cycle);
            (start, start + self.busy_time_window)
        })
    }

    /// Time at which a collection that runs at `now` must be over; `None` if `now` is in a
    /// predictable window or a guard.
    #[must_use]
    pub fn busy_until(&self, now: Instant) -> Option<Instant> {
        let (start, end) = self.window_at(now)?;
        let guard = self.guard.as_nanos();
        let end = Instant::from_nanos(end.as_nanos().saturating_sub(guard));
        (now >= start + self.guard && now < end).then_some(end)
    }

    /// First time later than `now` at which a busy window opens and its first guard is over.
    #[must_use]
    pub fn next_busy_start(&self, now: Instant) -> Instant {
        let first = self.cycle_start + self.guard;
        if now < first {
            return first;
        }
        let since = now.since(first).as_nanos();
        let cycles = since / self.cycle().as_nanos() + 1;
        first + self.cycle() * cycles
    }
}

/// Right to collect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CollectionRight {
    /// At any time, when a collection is due.
    Always,
    /// In the busy windows of a schedule.
    Windows(WindowSchedule),
    /// Until a given time: a token that the host hands out (not in the paper).
    Lease {
        /// Time at which every collection must be over; if it is past, none may start.
        until: Instant,
    },
    /// Until a given time, and even if no collection is due: an order of the host (Harmonia).
    Order {
        /// Time at which every collection must be over; if it is past, none may start.
        until: Instant,
    },
}

impl CollectionRight {
    /// Time at which a collection that starts at `now` must be over; `None` if none may start.
    /// `turns` is the number of turns by which the range of logical blocks is later than the first.
    #[must_use]
    pub fn until(&self, now: Instant, turns: u32) -> Option<Instant> {
        match self {
            Self::Always => Some(Instant::NEVER),
            Self::Windows(schedule) => schedule.delayed(turns).busy_until(now),
            Self::Lease { until } | Self::Order { until } => (now < *until).then_some(*until),
        }
    }

    /// The first time later than `now` at which this right begins by itself.
    #[must_use]
    pub fn next_start(&self, now: Instant, turns: u32) -> Instant {
        match self {
            Self::Windows(schedule) => schedule.delayed(turns).next_busy_start(now),
            Self::Always | Self::Lease { .. } | Self::Order { .. } => Instant::NEVER,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(slot: u64, width: u32, parities: u32) -> WindowSchedule {
        let schedule = WindowSchedule {
            array: ArrayDescription { width, parities },
            busy_time_window: Duration::from_millis(100),
            cycle_start: Instant::ZERO,
            not_before: Instant::ZERO,
            guard: Duration::ZERO,
        };
        WindowSchedule { cycle_start: Instant::ZERO + schedule.turn() * slot, ..schedule }
    }

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn as_many_drives_are_busy_as_there_are_parities() {
        for (width, parities) in [(4, 1), (3, 1), (4, 2), (5, 2), (7, 2), (9, 3), (64, 2)] {
            let warm = 100 * 64;
            for millis in warm..warm + 2_000 {
                let busy = (0..u64::from(width))
                    .filter(|&d| schedule(d, width, parities).busy_until(at(millis)).is_some())
                    .count();
                assert_eq!(busy, parities as usize, "{width} drives at {millis} ms");
            }
        }
    }

    #[test]
    fn window_edges_belong_to_the_window_that_starts() {
        let first = schedule(0, 4, 1);
        assert_eq!(first.busy_until(at(0)), Some(at(100)));
        assert_eq!(first.busy_until(at(99)), Some(at(100)));
        assert_eq!(first.busy_until(at(100)), None);
        assert_eq!(first.next_busy_start(at(0)), at(400));
        assert_eq!(first.next_busy_start(at(399)), at(400));
        assert_eq!(schedule(2, 4, 1).next_busy_start(at(0)), at(200));
    }

    #[test]
    fn guards_keep_drives_apart_whose_clocks_disagree() {
        let skew = Duration::from_millis(7);
        let true_time = 1_000..3_000;
        for (width, parities) in [(4, 1), (6, 2)] {
            let guarded = |slot| WindowSchedule { guard: skew, ..schedule(slot, width, parities) };
            let busy = |millis: u64, guarded: &dyn Fn(u64) -> WindowSchedule| {
                // The clock of a drive whose window ends is slow, that of a drive whose window
                // begins is fast.
                let behind = |slot: u64| (slot / u64::from(parities)).is_multiple_of(2);
                let clock = |slot| if behind(slot) { millis - 7 } else { millis + 7 };
                (0..u64::from(width))
                    .filter(|&slot| guarded(slot).busy_until(at(clock(slot))).is_some())
                    .count()
            };
            let most = true_time.clone().map(|millis| busy(millis, &guarded)).max();
            assert_eq!(most, Some(parities as usize), "with the guard");
            let bare = |slot| schedule(slot, width, parities);
            let most = true_time.clone().map(|millis| busy(millis, &bare)).max();
            assert!(most > Some(parities as usize), "without it windows overlap");
        }
    }

    #[test]
    fn a_window_shorter_than_its_guards_never_opens() {
        let closed = WindowSchedule { guard: Duration::from_millis(50), ..schedule(0, 4, 1) };
        assert!((0..1_000).all(|millis| closed.busy_until(at(millis)).is_none()));
    }

    #[test]
    fn ranges_of_blocks_take_turns_on_each_drive() {
        // Table 5: in every turn each range is busy on one drive, and each drive in one range.
        for turn in 8..24_u64 {
            let mut seen = [false; 8];
            for drive in 0..8 {
                let right = CollectionRight::Windows(schedule(drive, 8, 1));
                let open: Vec<u32> = (0..8)
                    .filter(|&range| right.until(at(turn * 100 + 50), range).is_some())
                    .collect();
                assert_eq!(open.len(), 1);
                assert!(!core::mem::replace(&mut seen[open[0] as usize], true));
            }
        }
    }

    use alloc::vec::Vec;
    extern crate alloc;
}
