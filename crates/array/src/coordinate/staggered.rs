//! Windows in turn (IODA §4.3.1, Figure 2). A running array may change their length (§4.3.7) and
//! the width of the cycle (§4.4). While drives are missing, fewer drives may be busy at once.
//!
//! A drive that has failed or is being rebuilt counts as busy all the time, so fewer of the others
//! may be busy at once. The papers do not cover this case. `docs/quiet.md` describes the contract
//! then.

use crate::coordinate::notice::{Missing, Notice};
use crate::members::MemberSet;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use nvme::{ArrayDescription, CollectionRight, WindowSchedule};
use units::{DriveId, Duration, Instant, Lba};

/// Settings of staggered windows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowConfig {
    /// Length of the busy window.
    pub busy_time_window: Duration,
    /// Drives that may be busy at once: at most the number of parities.
    pub busy_drives: u32,
    /// Length of the busy window while fewer drives may be busy at once, because others are
    /// missing: a length for one drive at a time.
    pub reduced_window: Duration,
    /// Whether drives let a read interrupt any operation, unless that would carry it past the end
    /// of a window. With as many drives missing as there are parities, no contract is possible.
    /// Then such drives take no turns: reads wait less for several that give way than for one that
    /// does not.
    pub gives_way: bool,
    /// Maximum error of any drive's clock.
    pub guard: Duration,
    /// Time when the first window opens.
    pub start: Instant,
    /// Ranges of logical blocks with windows of their own on each drive (IODA §7.4); 1 for none.
    pub ranges: u32,
    /// Logical blocks in a range.
    pub range_blocks: u64,
}

/// New windows of a running array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowChange {
    /// Length of the busy window.
    pub busy_time_window: Duration,
    /// Turns of a cycle, at least one for each drive (arrayWidth, IODA §4.4). Turns beyond the
    /// drives belong to no drive. `None` if the number of turns stays.
    pub array_width: Option<u32>,
}

impl From<Duration> for WindowChange {
    /// A new length, with as many turns as before.
    fn from(busy_time_window: Duration) -> Self {
        Self { busy_time_window, array_width: None }
    }
}

/// Windows in turn.
///
/// The `i`-th drive enters its window at `t + (i + c × N) × TW / k` for `c = 0, 1, 2, …`.
#[derive(Clone, Debug)]
pub struct StaggeredWindows {
    /// The schedule of the drive with the first turn.
    schedule: WindowSchedule,
    /// Drives of the array. A cycle has at least as many turns; in the others no drive is busy.
    drives: u32,
    /// The drive with the first turn.
    first: u32,
    /// For each drive, the end of a window that was open when the schedule changed.
    open_until: Vec<Instant>,
    /// Drives that count as busy all the time: they have failed, or are being rebuilt.
    missing: MemberSet,
    /// Whether drives give way to reads where no window ends, and whether they take no turns now.
    gives_way: bool,
    is_free: bool,
    /// Drives that may be busy at once if none is missing, and the window length then.
    whole: (u32, Duration),
    /// Window length while fewer may be busy at once.
    reduced: Duration,
    ranges: u32,
    range_blocks: u64,
}

impl StaggeredWindows {
    pub(crate) fn new(
        config: &WindowConfig,
        width: u32,
        missing: Missing,
        notices: &mut VecDeque<Notice>,
    ) -> Self {
        let mut turns = Self {
            schedule: WindowSchedule {
                array: ArrayDescription { width, parities: config.busy_drives },
                busy_time_window: config.busy_time_window,
                cycle_start: config.start,
                not_before: config.start,
                guard: config.guard,
            },
            drives: width,
            first: 0,
            open_until: vec![Instant::ZERO; width as usize],
            missing: missing.drives,
            gives_way: config.gives_way,
            is_free: config.gives_way && missing.is_without_parity(),
            whole: (config.busy_drives, config.busy_time_window),
            reduced: config.reduced_window,
            ranges: config.ranges.max(1),
            range_blocks: config.range_blocks.max(1),
        };
        (turns.schedule.array.parities, turns.schedule.busy_time_window) = turns.turns(missing);
        turns.permit(notices);
        turns
    }

    /// Number of drives that may be busy at once with these `missing`, and the window length.
    fn turns(&self, missing: Missing) -> (u32, Duration) {
        let (busy_drives, window) = self.whole;
        match missing.busy_drives(busy_drives) {
            fewer if fewer < busy_drives => (fewer, self.reduced),
            all => (all, window),
        }
    }

    /// Number of turns of a cycle.
    fn cycle_turns(&self) -> u32 {
        self.schedule.array.width
    }

    /// The schedule of one drive.
    fn of(&self, drive: u32) -> WindowSchedule {
        let turns = (drive + self.cycle_turns() - self.first) % self.cycle_turns();
        self.schedule.delayed(turns)
    }

    /// Sends the drives their permits; missing drives get none.
    fn permit(&self, notices: &mut VecDeque<Notice>) {
        for drive in (0..self.drives).filter(|&drive| !self.is_missing(drive)) {
            let right = match self.is_free {
                true => CollectionRight::Always,
                false => CollectionRight::Windows(self.of(drive)),
            };
            notices.push_back(Notice::Permit { drive: DriveId(drive as u8), right });
        }
    }

    pub(crate) fn busy_time_window(&self) -> Duration {
        self.schedule.busy_time_window
    }

    /// Drives that may be busy at once now.
    pub(crate) fn busy_drives(&self) -> u32 {
        match self.is_free {
            true => self.drives - self.missing.len(),
            false => self.schedule.array.busy_drives(),
        }
    }

    fn is_missing(&self, drive: u32) -> bool {
        self.missing.contains(drive as u8)
    }

    pub(crate) fn is_busy(&self, drive: DriveId, lba: Lba, now: Instant) -> bool {
        if self.is_missing(drive.0.into()) {
            return true;
        }
        if self.is_free {
            return false;
        }
        let range = (lba.0 / self.range_blocks).min(u64::from(self.ranges) - 1) as u32;
        let schedule = self.of(u32::from(drive.0)).delayed(range);
        schedule.window_at(now).is_some() || now < self.open_until[drive.index()]
    }

    /// Start and end of the window that is open, or of the next one; `None` for a missing drive, or
    /// without turns.
    pub(crate) fn window(&self, drive: DriveId, now: Instant) -> Option<(Instant, Instant)> {
        if self.is_missing(drive.0.into()) || self.is_free {
            return None;
        }
        let schedule = self.of(u32::from(drive.0));
        Some(schedule.window_at(now).unwrap_or_else(|| {
            let start = schedule.next_busy_start(now);
            (start, start + schedule.busy_time_window)
        }))
    }

    /// Length of a turn.
    pub(crate) fn turn(&self) -> Duration {
        self.schedule.turn()
    }

    /// Number of turns that have begun.
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

    /// Whether all drives have had equally many turns when the next one begins.
    pub(crate) fn next_is_first_of_cycle(&self, now: Instant) -> bool {
        self.turns_begun(now).is_multiple_of(u64::from(self.cycle_turns()))
    }

    /// Gives all windows a new length, and the cycle a new width if the change has one; see
    /// [`StaggeredWindows::begin_again`].
    ///
    /// # Panics
    ///
    /// If a cycle would have fewer turns than the array has drives.
    pub(crate) fn set_window(
        &mut self,
        now: Instant,
        change: WindowChange,
        notices: &mut VecDeque<Notice>,
    ) {
        let WindowChange { busy_time_window, array_width } = change;
        let width = array_width.unwrap_or(self.cycle_turns());
        assert!(width >= self.drives, "{width} turns for {} drives", self.drives);
        // A length that is set applies whatever drives are missing.
        (self.whole.1, self.reduced) = (busy_time_window, busy_time_window);
        let array = ArrayDescription { width, parities: self.schedule.array.busy_drives() };
        self.begin_again(now, array, busy_time_window, notices);
    }

    /// Whether drives interrupt their work for a read, so that they need no turns where stripes can
    /// miss nothing.
    pub(crate) const fn gives_way(&self) -> bool {
        self.gives_way
    }

    /// Updates the missing drives.
    pub(crate) fn set_missing(
        &mut self,
        now: Instant,
        missing: Missing,
        notices: &mut VecDeque<Notice>,
    ) {
        let was_free = self.is_free;
        self.is_free = self.gives_way && missing.is_without_parity();
        let all: MemberSet = (0..self.drives as u8).collect();
        // Without turns all drives collected at any time.
        let back = match was_free && !self.is_free {
            true => all - missing.drives,
            false => self.missing - missing.drives,
        };
        self.missing = missing.drives;
        // A drive that comes back collected at any time, and may still be collecting.
        for drive in back {
            let open_until = &mut self.open_until[usize::from(drive)];
            *open_until = (now + self.schedule.busy_time_window).max(*open_until);
        }
        let turns = self.turns(missing);
        let changed = turns.0 != self.schedule.array.busy_drives() || was_free != self.is_free;
        if !back.is_empty() || changed {
            let (parities, busy_time_window) = turns;
            let array = ArrayDescription { parities, ..self.schedule.array };
            self.begin_again(now, array, busy_time_window, notices);
        }
    }

    /// Starts a schedule with another window length, cycle width or number of drives that may be
    /// busy at once. It starts when the windows that are open now have ended, with the drive whose
    /// turn is next. So no two schedules are in force at once, no collection is cut short, and each
    /// drive keeps its turn.
    fn begin_again(
        &mut self,
        now: Instant,
        array: ArrayDescription,
        busy_time_window: Duration,
        notices: &mut VecDeque<Notice>,
    ) {
        let start = self.finish_windows(now);
        self.first = self.next_drive(now);
        self.schedule = WindowSchedule {
            array,
            busy_time_window,
            cycle_start: start,
            not_before: start,
            ..self.schedule
        };
        self.permit(notices);
    }

    /// The drive that has the next turn; the first drive, if the next turn belongs to no drive.
    fn next_drive(&self, now: Instant) -> u32 {
        let turn = u64::from(self.first) + self.turns_begun(now);
        match (turn % u64::from(self.cycle_turns())) as u32 {
            drive if drive < self.drives => drive,
            _ => 0,
        }
    }

    /// Notes when the windows that are open now end. Returns the latest end.
    fn finish_windows(&mut self, now: Instant) -> Instant {
        let mut start = now;
        let missing = self.missing;
        for drive in (0..self.drives).filter(|&drive| !missing.contains(drive as u8)) {
            let schedule = self.of(drive);
            for range in 0..self.ranges {
                if let Some((_, end)) = schedule.delayed(range).window_at(now) {
                    let open_until = &mut self.open_until[drive as usize];
                    *open_until = end.max(*open_until);
                }
            }
            start = start.max(self.open_until[drive as usize]);
        }
        start
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Rng;

    const MILLI: Duration = Duration::from_millis(1);

    /// Drives that keep their permits, each by a clock that is off by as much as the guard.
    struct Drives {
        rights: Vec<Option<WindowSchedule>>,
        open_until: Vec<Instant>,
        skew: Duration,
    }

    impl Drives {
        fn new(width: u32, skew: Duration) -> Self {
            let rights = vec![None; width as usize];
            Self { rights, open_until: vec![Instant::ZERO; width as usize], skew }
        }

        /// Drives take the notices; a window that is open stays open.
        fn take(&mut self, now: Instant, notices: &mut VecDeque<Notice>) {
            while let Some(notice) = notices.pop_front() {
                let Notice::Permit { drive, right: CollectionRight::Windows(schedule) } = notice
                else {
                    panic!("{notice:?} of windows");
                };
                let index = drive.index();
                let open = self.rights[index].and_then(|right| right.busy_until(now));
                if let Some(until) = open {
                    self.open_until[index] = until.max(self.open_until[index]);
                }
                let ahead = index.is_multiple_of(2);
                let shifted = |at: Instant| match ahead {
                    true => at + self.skew,
                    false => {
                        Instant::from_nanos(at.as_nanos().saturating_sub(self.skew.as_nanos()))
                    }
                };
                self.rights[index] = Some(WindowSchedule {
                    cycle_start: shifted(schedule.cycle_start),
                    not_before: shifted(schedule.not_before),
                    ..schedule
                });
            }
        }

        /// Replaces a drive; the new one has no permit yet.
        fn replace(&mut self, drive: u8) {
            self.rights[usize::from(drive)] = None;
            self.open_until[usize::from(drive)] = Instant::ZERO;
        }

        fn is_busy(&self, drive: u8, now: Instant) -> bool {
            let index = usize::from(drive);
            let in_window = self.rights[index].is_some_and(|right| right.busy_until(now).is_some());
            in_window || now < self.open_until[index]
        }
    }

    fn missing(drives: MemberSet, parities: u32) -> Missing {
        Missing { drives, parities_left: parities.saturating_sub(drives.len()) }
    }

    #[test]
    fn no_window_opens_when_it_would_be_one_too_many_whatever_fails_and_returns() {
        for seed in testing::seeds(0..200) {
            let mut rng = Rng::stream(seed, "missing drives");
            let parities = 1 + rng.below(3) as u32;
            let width = parities + 2 + rng.below(6) as u32;
            let guard = MILLI * rng.below(4);
            let window = MILLI * (20 + rng.below(60));
            let config = WindowConfig {
                busy_time_window: window,
                busy_drives: 1 + rng.below(parities.into()) as u32,
                reduced_window: MILLI * (20 + rng.below(60)),
                gives_way: false,
                guard,
                start: Instant::ZERO + guard,
                ranges: 1,
                range_blocks: 1,
            };
            let mut gone = MemberSet::EMPTY;
            let mut notices = VecDeque::new();
            let mut windows =
                StaggeredWindows::new(&config, width, missing(gone, parities), &mut notices);
            let mut drives = Drives::new(width, guard);
            let mut now = Instant::ZERO;
            drives.take(now, &mut notices);
            let (mut busy, mut seen) = (MemberSet::EMPTY, MemberSet::EMPTY);
            // Drives that have come back and may still be collecting, and the end of that time.
            let mut back: Vec<(u8, Instant)> = Vec::new();
            let mut last_event = now;
            let mut next_event = now + MILLI * rng.below(500);
            for _ in 0..6_000 {
                now += MILLI;
                if now >= next_event {
                    // An open window stays open, even if the drive waits for its guard.
                    let is_open = |drive| windows.is_busy(DriveId(drive), Lba(0), now);
                    busy |= (0..width as u8).filter(|&drive| is_open(drive)).collect::<MemberSet>();
                    let drive = rng.below(width.into()) as u8;
                    match rng.below(7) {
                        0 => {
                            let length = MILLI * (20 + rng.below(60));
                            windows.set_window(now, length.into(), &mut notices);
                        }
                        1 => {
                            let turns = width + rng.below(4) as u32;
                            let busy_time_window = MILLI * (20 + rng.below(60));
                            let array_width = Some(turns);
                            let change = WindowChange { busy_time_window, array_width };
                            windows.set_window(now, change, &mut notices);
                        }
                        _ if gone.contains(drive) => {
                            gone.remove(drive);
                            back.push((drive, now + windows.busy_time_window()));
                            windows.set_missing(now, missing(gone, parities), &mut notices);
                        }
                        _ => {
                            gone.insert(drive);
                            drives.replace(drive);
                            windows.set_missing(now, missing(gone, parities), &mut notices);
                        }
                    }
                    drives.take(now, &mut notices);
                    // Now and then long enough for every drive to have a turn.
                    let most = if rng.below(4) == 0 { 2_000 } else { 60 };
                    next_event = now + MILLI * rng.below(most);
                    (seen, last_event) = (MemberSet::EMPTY, now);
                }
                let counts = |drive: &u8| !gone.contains(*drive);
                let working = back.iter().filter(|&&(drive, until)| counts(&drive) && now < until);
                let finishing: MemberSet = working.map(|&(drive, _)| drive).collect();
                let open: MemberSet = (0..width as u8)
                    .filter(counts)
                    .filter(|&drive| drives.is_busy(drive, now))
                    .collect();
                let most = missing(gone, parities).busy_drives(config.busy_drives);
                assert_eq!(windows.busy_drives(), most);
                if !(open - busy).is_empty() {
                    let all = open | finishing;
                    assert!(all.len() <= most, "seed {seed} at {now:?}: {all:?}, at most {most}");
                }
                for drive in open {
                    assert!(windows.is_busy(DriveId(drive), Lba(0), now), "the host knows");
                }
                for drive in gone {
                    assert!(windows.is_busy(DriveId(drive), Lba(0), now));
                    assert_eq!(windows.window(DriveId(drive), now), None);
                }
                (busy, seen) = (open, seen | open);
                let settled = last_event.max(windows.schedule.not_before);
                if now + MILLI >= next_event && now > settled + windows.schedule.cycle() * 2 {
                    let all: MemberSet = (0..width as u8).filter(counts).collect();
                    assert_eq!(seen, all, "seed {seed} at {now:?}: everyone has a turn");
                }
            }
        }
    }

    #[test]
    fn fewer_take_turns_while_drives_are_missing_and_the_order_stays() {
        let config = WindowConfig {
            busy_time_window: MILLI * 100,
            busy_drives: 2,
            reduced_window: MILLI * 70,
            gives_way: false,
            guard: Duration::ZERO,
            start: Instant::ZERO,
            ranges: 1,
            range_blocks: 1,
        };
        let none = missing(MemberSet::EMPTY, 2);
        let mut notices = VecDeque::new();
        let mut windows = StaggeredWindows::new(&config, 6, none, &mut notices);
        notices.clear();
        let at = |millis: u64| Instant::ZERO + MILLI * millis;
        let busy = |windows: &StaggeredWindows, millis| -> Vec<u8> {
            let is_busy = |&drive: &u8| windows.is_busy(DriveId(drive), Lba(0), at(millis));
            (0..6).filter(is_busy).collect()
        };
        assert_eq!((windows.busy_drives(), busy(&windows, 60)), (2, vec![0, 1]));
        windows.set_missing(at(60), missing(MemberSet::of(3), 2), &mut notices);
        assert_eq!(notices.len(), 5, "the one that is missing is not told");
        assert_eq!((windows.busy_drives(), windows.busy_time_window()), (1, MILLI * 70));
        // The windows that were open end as they would have: at 100 and 150 ms.
        assert_eq!(busy(&windows, 99), [0, 1, 3]);
        assert_eq!(busy(&windows, 149), [1, 3]);
        // Then the drives whose turn was next have theirs, one by one, 70 ms each.
        assert_eq!(busy(&windows, 151), [2, 3]);
        assert_eq!(busy(&windows, 221), [3]);
        assert_eq!(busy(&windows, 291), [3, 4]);
        assert_eq!(busy(&windows, 361), [3, 5]);
        assert_eq!(busy(&windows, 431), [0, 3]);
        // A second missing drive changes nothing: one at a time is the minimum.
        notices.clear();
        windows.set_missing(at(435), missing(MemberSet::from_bits(0b11_000), 2), &mut notices);
        assert!(notices.is_empty() && windows.busy_drives() == 1);
        // When both are back, two at a time are busy again, once the first have ended what they
        // began.
        windows.set_missing(at(440), none, &mut notices);
        assert_eq!((notices.len(), windows.busy_drives()), (6, 2));
        assert_eq!(busy(&windows, 509), [3, 4], "drive 0 had its turn until 501 ms");
        assert_eq!(busy(&windows, 511), [1]);
        assert_eq!(busy(&windows, 561), [1, 2]);
    }

    #[test]
    fn one_of_two_parities_kept_in_reserve_is_enough() {
        let config = WindowConfig {
            busy_time_window: MILLI * 100,
            busy_drives: 1,
            reduced_window: MILLI * 70,
            gives_way: false,
            guard: Duration::ZERO,
            start: Instant::ZERO,
            ranges: 1,
            range_blocks: 1,
        };
        let mut notices = VecDeque::new();
        let none = missing(MemberSet::EMPTY, 2);
        let mut windows = StaggeredWindows::new(&config, 6, none, &mut notices);
        notices.clear();
        windows.set_missing(Instant::ZERO + MILLI, missing(MemberSet::of(3), 2), &mut notices);
        assert!(notices.is_empty(), "the others go on as they did");
        assert_eq!(windows.busy_time_window(), MILLI * 100);
    }

    #[test]
    fn drives_that_give_way_take_no_turns_where_nothing_is_left_to_promise() {
        let config = WindowConfig {
            busy_time_window: MILLI * 100,
            busy_drives: 1,
            reduced_window: MILLI * 100,
            gives_way: true,
            guard: Duration::ZERO,
            start: Instant::ZERO,
            ranges: 1,
            range_blocks: 1,
        };
        let at = |millis: u64| Instant::ZERO + MILLI * millis;
        let mut notices = VecDeque::new();
        let whole = missing(MemberSet::EMPTY, 1);
        let mut windows = StaggeredWindows::new(&config, 4, whole, &mut notices);
        notices.clear();
        windows.set_missing(at(130), missing(MemberSet::of(0), 1), &mut notices);
        let told: Vec<Notice> = notices.drain(..).collect();
        let always =
            |drive| Notice::Permit { drive: DriveId(drive), right: CollectionRight::Always };
        assert_eq!(told, [1, 2, 3].map(always));
        assert_eq!(windows.busy_drives(), 3);
        let is_busy = |windows: &StaggeredWindows, drive, millis| {
            windows.is_busy(DriveId(drive), Lba(0), at(millis))
        };
        assert!(is_busy(&windows, 0, 400) && (1..4).all(|drive| !is_busy(&windows, drive, 400)));
        assert_eq!(windows.window(DriveId(1), at(400)), None);
        // When the drive is back, so are the turns, once all have had the time to end what they
        // began.
        windows.set_missing(at(500), whole, &mut notices);
        assert_eq!((notices.len(), windows.busy_drives()), (4, 1));
        assert!((0..4).all(|drive| is_busy(&windows, drive, 599)));
        let busy: Vec<u8> = (0..4).filter(|&drive| is_busy(&windows, drive, 601)).collect();
        assert_eq!(busy.len(), 1);
    }
}
