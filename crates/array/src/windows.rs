//! Which drive may be busy when.

use alloc::vec::Vec;
use nvme::WindowSchedule;
use units::{DriveId, Duration, Instant};

/// The busy windows of all drives of an array (IODA §4.3.1, Figure 2): the `i`-th drive enters its
/// window at `t + (i + c × N) × TW` for `c = 0, 1, 2, …`.
#[derive(Clone, Debug, Default)]
pub struct Windows {
    schedules: Vec<WindowSchedule>,
}

impl Windows {
    /// No windows: every drive may be busy whenever it likes.
    #[must_use]
    pub const fn none() -> Self {
        Self { schedules: Vec::new() }
    }

    /// Windows of `busy_time_window` for `width` drives in turn, beginning at `start`.
    #[must_use]
    pub fn in_turn(width: u32, busy_time_window: Duration, start: Instant) -> Self {
        let schedules = (0..width)
            .map(|slot| WindowSchedule {
                busy_time_window,
                windows_per_cycle: width,
                cycle_start: start + busy_time_window * u64::from(slot),
            })
            .collect();
        Self { schedules }
    }

    /// The schedule to program into `drive`, if there are windows.
    #[must_use]
    pub fn of(&self, drive: DriveId) -> Option<&WindowSchedule> {
        self.schedules.get(drive.index())
    }

    /// Whether `drive` is in its busy window.
    #[must_use]
    pub fn is_busy(&self, drive: DriveId, now: Instant) -> bool {
        self.of(drive).is_some_and(|schedule| schedule.busy_until(now).is_some())
    }
}
