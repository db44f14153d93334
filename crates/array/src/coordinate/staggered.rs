//! Windows in turn (IODA §4.3.1, Figure 2), and changing their length on a running array (§4.3.7).

use crate::coordinate::Notice;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use nvme::{ArrayDescription, CollectionRight, WindowSchedule};
use units::{DriveId, Duration, Instant, Lba};

/// Windows for the drives of an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowConfig {
    /// Length of the busy window.
    pub busy_time_window: Duration,
    /// Drives that may be busy at once: at most the number of parities.
    pub busy_drives: u32,
    /// Most by which any drive's clock is off.
    pub guard: Duration,
    /// When the first window opens.
    pub start: Instant,
    /// Ranges of logical blocks with windows of their own on each drive (IODA §7.4); 1 for none.
    pub ranges: u32,
    /// Logical blocks in a range.
    pub range_blocks: u64,
}

/// Windows in turn.
///
/// The `i`-th drive enters its window at `t + (i + c × N) × TW / k` for `c = 0, 1, 2, …`.
#[derive(Clone, Debug)]
pub struct StaggeredWindows {
    /// The schedule of the drive whose turn is the first.
    schedule: WindowSchedule,
    /// The drive whose turn is the first.
    first: u32,
    /// Of each drive, the end of a window that was open when the length changed.
    open_until: Vec<Instant>,
    ranges: u32,
    range_blocks: u64,
}

impl StaggeredWindows {
    pub(crate) fn new(config: &WindowConfig, width: u32, notices: &mut VecDeque<Notice>) -> Self {
        let turns = Self {
            schedule: WindowSchedule {
                array: ArrayDescription { width, parities: config.busy_drives },
                busy_time_window: config.busy_time_window,
                cycle_start: config.start,
                not_before: config.start,
                guard: config.guard,
            },
            first: 0,
            open_until: vec![Instant::ZERO; width as usize],
            ranges: config.ranges.max(1),
            range_blocks: config.range_blocks.max(1),
        };
        turns.permit(notices);
        turns
    }

    fn width(&self) -> u32 {
        self.schedule.array.width
    }

    /// The schedule of one drive.
    fn of(&self, drive: u32) -> WindowSchedule {
        let turns = (drive + self.width() - self.first) % self.width();
        self.schedule.delayed(turns)
    }

    fn permit(&self, notices: &mut VecDeque<Notice>) {
        for drive in 0..self.width() {
            let right = CollectionRight::Windows(self.of(drive));
            notices.push_back(Notice::Permit { drive: DriveId(drive as u8), right });
        }
    }

    pub(crate) fn busy_time_window(&self) -> Duration {
        self.schedule.busy_time_window
    }

    pub(crate) fn is_busy(&self, drive: DriveId, lba: Lba, now: Instant) -> bool {
        let range = (lba.0 / self.range_blocks).min(u64::from(self.ranges) - 1) as u32;
        let schedule = self.of(u32::from(drive.0)).delayed(range);
        schedule.window_at(now).is_some() || now < self.open_until[drive.index()]
    }

    /// Start and end of the window that is open, or of the next one.
    pub(crate) fn window(&self, drive: DriveId, now: Instant) -> (Instant, Instant) {
        let schedule = self.of(u32::from(drive.0));
        schedule.window_at(now).unwrap_or_else(|| {
            let start = schedule.next_busy_start(now);
            (start, start + schedule.busy_time_window)
        })
    }

    /// Length of a turn.
    pub(crate) fn turn(&self) -> Duration {
        self.schedule.turn()
    }

    /// StaggeredWindows that have begun.
    fn turns_begun(&self, now: Instant) -> u64 {
        if now < self.schedule.cycle_start {
            return 0;
        }
        now.since(self.schedule.cycle_start).as_nanos() / self.turn().as_nanos() + 1
    }

    /// The start of the next turn.
    pub(crate) fn next_turn(&self, now: Instant) -> Instant {
        self.schedule.cycle_start + self.turn() * self.turns_begun(now)
    }

    /// Whether every drive has had as many turns as any other when the next one begins.
    pub(crate) fn next_is_first_of_cycle(&self, now: Instant) -> bool {
        self.turns_begun(now).is_multiple_of(u64::from(self.width()))
    }

    /// Gives all windows a new length, beginning with the drive whose turn is next, when the
    /// windows that are open now are over. So no two lengths are ever in force at once, no
    /// collection is cut short, and nobody loses its turn.
    pub(crate) fn reconfigure(
        &mut self,
        now: Instant,
        busy_time_window: Duration,
        notices: &mut VecDeque<Notice>,
    ) {
        let mut start = now;
        for drive in 0..self.width() {
            let schedule = self.of(drive);
            for range in 0..self.ranges {
                if let Some((_, end)) = schedule.delayed(range).window_at(now) {
                    let open_until = &mut self.open_until[drive as usize];
                    *open_until = end.max(*open_until);
                }
            }
            start = start.max(self.open_until[drive as usize]);
        }
        self.first =
            ((u64::from(self.first) + self.turns_begun(now)) % u64::from(self.width())) as u32;
        self.schedule = WindowSchedule {
            busy_time_window,
            cycle_start: start,
            not_before: start,
            ..self.schedule
        };
        self.permit(notices);
    }
}
