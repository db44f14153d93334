//! When a drive on the network may collect: what the array says by the clock of the host, told to
//! the drive by its own (`docs/ioda-on-the-wire.md`).

use nvme::initiator::{Controller, DriveClock, WindowAnswer};
use nvme::wire::ioda::{ArraySettings, WindowReport};
use nvme::{ArrayDescription, CollectionRight, WindowSchedule, WindowScope};
use units::{Duration, Instant};

/// How far the clocks of host and drive may drift apart: 20 ppm of either.
const DRIFT_PPM: u32 = 40;
/// How often the clock of the drive is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// So often it is looked at first, for the best of some looks.
const FIRST_LOOKS: u32 = 8;
/// So often it is looked at each time after that.
const LOOKS: u32 = 4;

/// The place of a drive in its array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArrayPlace {
    /// The array.
    pub array: ArrayDescription,
    /// The turn of the drive in a cycle, from 0.
    pub slot: u16,
    /// What is done in windows only.
    pub scope: WindowScope,
}

impl ArrayPlace {
    /// What a drive is told before windows are known: the magic word, and for which array it is to
    /// choose a window.
    fn settings(self) -> Option<ArraySettings> {
        Some(ArraySettings {
            parities: u8::try_from(self.array.parities).ok()?,
            width: u16::try_from(self.array.width).ok()?,
            slot: self.slot,
            scope: self.scope,
            cycle_start: Instant::ZERO,
            busy_time_window: None,
            guard: Duration::ZERO,
        })
    }
}

/// What a drive said of its windows, and how sure its clock is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DriveWindows {
    /// What it said.
    pub report: WindowReport,
    /// By how much its clock may be off by the next time that it is looked at.
    pub clock_bound: Duration,
}

/// The windows of one drive, over one life of its controller.
#[derive(Clone, Copy, Debug)]
pub(super) struct Windows {
    place: Option<ArrayPlace>,
    right: Option<CollectionRight>,
    /// The magic word is to be said.
    is_word_due: bool,
    /// What the drive was told last of when to collect is not what the array wants.
    is_right_due: bool,
    clock: Option<DriveClock>,
    /// By which clock the drive was told of its windows.
    told_by: Option<DriveClock>,
    report: Option<WindowReport>,
    looks: u32,
    next_look: Instant,
    /// Until then no event of the drive is told.
    quiet_until: Instant,
}

impl Windows {
    pub(super) const fn new() -> Self {
        Self {
            place: None,
            right: None,
            is_word_due: false,
            is_right_due: false,
            clock: None,
            told_by: None,
            report: None,
            looks: 0,
            next_look: Instant::NEVER,
            quiet_until: Instant::ZERO,
        }
    }

    /// The drive belongs to an array.
    pub(super) const fn set_place(&mut self, place: ArrayPlace) {
        self.place = Some(place);
        self.is_word_due = true;
    }

    /// The array lets the drive collect then, by the clock of the host.
    pub(super) const fn permit(&mut self, right: CollectionRight, place: ArrayPlace) {
        self.is_word_due |= self.place.is_none();
        (self.place, self.right) = (Some(place), Some(right));
        self.is_right_due = true;
    }

    /// What the drive said, once it was looked at often enough.
    pub(super) fn found(&self, now: Instant) -> Option<DriveWindows> {
        let (report, clock) = self.report.zip(self.clock)?;
        let (_, clock_bound) = clock.at(now + LOOK_EVERY);
        self.knows_clock().then_some(DriveWindows { report, clock_bound })
    }

    pub(super) const fn next_deadline(&self) -> Instant {
        self.next_look
    }

    /// Says and asks what is to be said and asked.
    pub(super) fn turn(&mut self, now: Instant, controller: &mut Controller) {
        let Some(place) = self.place.filter(|_| controller.is_ready()) else { return };
        if controller.facts().is_none_or(|facts| facts.ioda.is_none()) {
            return;
        }
        if self.next_look <= now {
            self.next_look = Instant::NEVER;
            controller.ask_windows(now);
        }
        if self.is_word_due {
            let said = place.settings().map(|settings| (false, settings));
            self.is_word_due = !say(now, controller, said);
        } else if self.is_right_due && self.knows_clock() {
            let said = match (self.right, self.clock) {
                (Some(CollectionRight::Windows(schedule)), Some(clock)) => {
                    let schedule = WindowSchedule {
                        cycle_start: clock.on_drive(schedule.cycle_start),
                        not_before: clock.on_drive(schedule.not_before),
                        ..schedule
                    };
                    ArraySettings::of(&schedule, place.scope).map(|settings| (true, settings))
                }
                // Tokens have no place on the wire: such a drive collects when it likes.
                _ => place.settings().map(|settings| (false, settings)),
            };
            self.is_right_due = !say(now, controller, said);
            if !self.is_right_due {
                self.told_by = self.clock;
            }
        }
    }

    /// Whether the clock of the drive was looked at often enough.
    const fn knows_clock(&self) -> bool {
        self.looks >= FIRST_LOOKS
    }

    /// Takes an answer of the drive.
    pub(super) fn answered(&mut self, now: Instant, answer: &WindowAnswer) {
        match answer {
            WindowAnswer::Set(status) => {
                if status.is_success() {
                    // The first answer is that to the word.
                    if self.looks == 0 {
                        self.next_look = now;
                    }
                } else {
                    tracing::warn!(
                        ?status,
                        "a drive refuses its windows: it collects when it likes"
                    );
                }
            }
            WindowAnswer::Log(log, Some(reading)) => {
                self.report = log.ioda;
                self.looks += 1;
                let has_jumped = match &mut self.clock {
                    Some(clock) => clock.observe(*reading),
                    None => {
                        self.clock = Some(DriveClock::new(*reading, DRIFT_PPM));
                        false
                    }
                };
                if has_jumped {
                    tracing::warn!("the clock of a drive has gone too far: it is told anew");
                }
                self.is_right_due |= self.right.is_some() && (has_jumped || self.has_drifted(now));
                let is_enough =
                    self.knows_clock() && (self.looks - FIRST_LOOKS).is_multiple_of(LOOKS);
                self.next_look = if is_enough { now + LOOK_EVERY } else { now };
            }
            WindowAnswer::Log(_, None) | WindowAnswer::NoLog(_) => {
                self.next_look = now + LOOK_EVERY;
            }
        }
    }

    /// Whether the windows that the drive was told of may leave their guards before the clock is
    /// looked at again.
    fn has_drifted(&self, now: Instant) -> bool {
        let (Some(CollectionRight::Windows(schedule)), Some(clock), Some(told_by)) =
            (self.right, self.clock, self.told_by)
        else {
            return false;
        };
        let (there, told) = (clock.on_drive(now), told_by.on_drive(now));
        let apart = there.since(told).max(told.since(there));
        let (_, bound) = clock.at(now + LOOK_EVERY);
        !apart.is_zero() && apart + bound > schedule.guard
    }

    /// A new life of the controller has forgotten everything.
    pub(super) const fn forget(&mut self) {
        (self.clock, self.told_by) = (None, None);
        (self.looks, self.next_look) = (0, Instant::NEVER);
        self.is_word_due = self.place.is_some();
        self.is_right_due = self.right.is_some();
    }

    /// The drive has told of an event: that it has collected outside of its window. However often
    /// it does, it is looked at, and people hear of it, once in a while.
    pub(super) fn happened(&mut self, now: Instant) {
        if self.place.is_some() && now >= self.quiet_until {
            tracing::warn!("a drive has collected outside of its window");
            (self.next_look, self.quiet_until) = (now, now + LOOK_EVERY);
        }
    }
}

/// Tells the drive; whether it was told, or cannot be.
fn say(now: Instant, controller: &mut Controller, said: Option<(bool, ArraySettings)>) -> bool {
    match said {
        Some((enable, settings)) => controller.set_windows(now, enable, settings),
        None => {
            tracing::warn!("the windows of this array cannot be told to a drive");
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nvme::initiator::ClockReading;
    use nvme::wire::WindowLog;
    use nvme::wire::ioda::CollectionActivity;

    fn at(micros: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(micros)
    }

    /// A look that takes 20 us, at a clock that is ahead by so much.
    fn look(windows: &mut Windows, micros: u64, ahead: u64) {
        let told = at(micros + 10 + ahead);
        let reading = ClockReading { asked: at(micros), answered: at(micros + 20), told };
        let report = WindowReport {
            array: ArrayDescription { width: 4, parities: 1 },
            slot: 0,
            scope: WindowScope::Collections,
            busy_time_window: Duration::from_millis(100),
            cycle_start: Instant::ZERO,
            guard: Duration::ZERO,
            now: told,
            advertised: nvme::Advertised { shortest: Duration::from_millis(5), longest: None },
            activity: CollectionActivity::default(),
        };
        let log = WindowLog { ioda: Some(report), ..WindowLog::default() };
        windows.answered(at(micros + 20), &WindowAnswer::Log(log, Some(reading)));
    }

    #[test]
    fn a_drive_is_told_anew_before_its_windows_leave_their_guards() {
        let array = ArrayDescription { width: 4, parities: 1 };
        let schedule = WindowSchedule {
            array,
            busy_time_window: Duration::from_millis(100),
            cycle_start: at(0),
            not_before: at(0),
            guard: Duration::from_micros(1000),
        };
        let mut windows = Windows::new();
        let place = ArrayPlace { array, slot: 0, scope: WindowScope::Collections };
        windows.permit(CollectionRight::Windows(schedule), place);
        assert!(windows.is_word_due && windows.is_right_due);
        for number in 0..u64::from(FIRST_LOOKS) {
            assert!(windows.found(at(100 * number)).is_none());
            look(&mut windows, 100 * number, 5_000_000);
        }
        let found = windows.found(at(1000)).unwrap();
        assert!(found.clock_bound >= Duration::from_micros(410), "{}", found.clock_bound);
        assert_eq!(windows.next_deadline(), at(720) + LOOK_EVERY);
        (windows.is_word_due, windows.is_right_due) = (false, false);
        windows.told_by = windows.clock;
        // 20 ppm of ten seconds, again and again: each look is as good as the first.
        let mut told = 0;
        for look_number in 1..=10 {
            look(&mut windows, 10_000_000 * look_number, 5_000_000 + 200 * look_number);
            if std::mem::take(&mut windows.is_right_due) {
                told += 1;
                windows.told_by = windows.clock;
            }
        }
        assert!((3..=5).contains(&told), "told {told} times");
        // A clock that begins anew.
        look(&mut windows, 110_000_000, 0);
        assert!(windows.is_right_due);
        windows.forget();
        assert!(windows.is_word_due && windows.is_right_due && windows.clock.is_none());
    }
}
