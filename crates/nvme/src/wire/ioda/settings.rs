//! Settings of a drive's array and turn, from the host.

use super::{put_head, scope_bit, scope_of, version};
use crate::wire::field::{get_u16, get_u64, put_u16, put_u64};
use crate::{ArrayDescription, WindowSchedule, WindowScope};
use core::fmt;
use units::{Duration, Instant};

/// Bytes of the block.
pub const SETTINGS_BYTES: usize = 48;

const PARITIES: usize = 6;
// Flags: bit 0 is the scope of the window, the others must be zero.
const FLAGS: usize = 7;
const WIDTH: usize = 8;
const SLOT: usize = 10;
const CYCLE_START: usize = 16;
const BUSY_TIME_WINDOW: usize = 24;
const GUARD: usize = 32;

/// arrayType, arrayWidth, cycle start and the scope of the window. Also the values that IODA leaves
/// open: the turn of the drive, the length of windows if the host chooses it, and the guards.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArraySettings {
    /// arrayType, `k`: parities of the array. Less than the width.
    pub parities: u8,
    /// arrayWidth, `N`: drives of the array.
    pub width: u16,
    /// `i`: number of turns from the start of the cycle to the window of this drive. Less than the
    /// width. The paper names two pieces of information where three are needed; this is the third.
    pub slot: u16,
    /// Work that is done in windows only.
    pub scope: WindowScope,
    /// `t`: start of the first cycle, the same for all drives but **on the clock of this drive**,
    /// which is in [`WindowReport::now`](super::WindowReport::now).
    pub cycle_start: Instant,
    /// TW if the host chooses it; `None` if the drive does (IODA §4.3.2).
    pub busy_time_window: Option<Duration>,
    /// Time at both ends of each window in which nothing may run (`docs/windows.md`).
    pub guard: Duration,
}

/// Reason why a block is refused. All are [`InvalidField`](crate::wire::StatusCode::InvalidField).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SettingsError {
    /// Unknown version.
    Version(u16),
    /// Flags that have no meaning in this version.
    Flags(u8),
    /// As many parities as drives, or more.
    Parities(u8),
    /// A turn outside of the cycle of the array.
    Slot(u16),
    /// A window that is not longer than its guards.
    Guard(Duration),
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => write!(f, "version {version} of the block is not known"),
            Self::Flags(flags) => write!(f, "flags {flags:#04x} are not known"),
            Self::Parities(parities) => write!(f, "{parities} parities leave no drive for data"),
            Self::Slot(slot) => write!(f, "there is no turn {slot} in a cycle of the array"),
            Self::Guard(guard) => write!(f, "two guards of {guard} leave nothing of the window"),
        }
    }
}

impl ArraySettings {
    /// Settings that give a drive this schedule. `None` if a number does not fit, or if the first
    /// window of the schedule is not a whole number of turns after it takes effect.
    #[must_use]
    pub fn of(schedule: &WindowSchedule, scope: WindowScope) -> Option<Self> {
        let late = schedule.cycle_start.since(schedule.not_before).as_nanos();
        let slot = late.checked_div(schedule.turn().as_nanos())?;
        let settings = Self {
            parities: u8::try_from(schedule.array.parities).ok()?,
            width: u16::try_from(schedule.array.width).ok()?,
            slot: u16::try_from(slot).ok()?,
            scope,
            cycle_start: schedule.not_before,
            busy_time_window: Some(schedule.busy_time_window),
            guard: schedule.guard,
        };
        let is_same = settings.schedule(schedule.busy_time_window) == *schedule;
        (is_same && settings.check().is_ok()).then_some(settings)
    }

    /// The array.
    #[must_use]
    pub fn array(&self) -> ArrayDescription {
        ArrayDescription { width: self.width.into(), parities: self.parities.into() }
    }

    /// Schedule of the drive with windows of this length: that of the settings, or the drive's own.
    /// Its first window opens `i` turns after `t` (IODA §4.3.1).
    #[must_use]
    pub fn schedule(&self, busy_time_window: Duration) -> WindowSchedule {
        let first = WindowSchedule {
            array: self.array(),
            busy_time_window,
            cycle_start: self.cycle_start,
            not_before: self.cycle_start,
            guard: self.guard,
        };
        let cycle_start = first.cycle_start + first.turn() * u64::from(self.slot);
        WindowSchedule { cycle_start, ..first }
    }

    fn check(&self) -> Result<(), SettingsError> {
        if u16::from(self.parities) >= self.width {
            return Err(SettingsError::Parities(self.parities));
        }
        if self.slot >= self.width {
            return Err(SettingsError::Slot(self.slot));
        }
        let is_filled = |window| self.guard * 2 >= window;
        if self.busy_time_window.is_some_and(is_filled) {
            return Err(SettingsError::Guard(self.guard));
        }
        Ok(())
    }

    /// Reads the block; `None` without the magic word.
    ///
    /// # Errors
    ///
    /// If the magic word is there and the settings are not valid.
    pub fn decode(block: &[u8; SETTINGS_BYTES]) -> Result<Option<Self>, SettingsError> {
        match version(block) {
            None => return Ok(None),
            Some(super::VERSION) => {}
            Some(other) => return Err(SettingsError::Version(other)),
        }
        if block[FLAGS] > 1 {
            return Err(SettingsError::Flags(block[FLAGS]));
        }
        let window = Duration::from_nanos(get_u64(block, BUSY_TIME_WINDOW));
        let settings = Self {
            parities: block[PARITIES],
            width: get_u16(block, WIDTH),
            slot: get_u16(block, SLOT),
            scope: scope_of(block[FLAGS] == 1),
            cycle_start: Instant::from_nanos(get_u64(block, CYCLE_START)),
            busy_time_window: (!window.is_zero()).then_some(window),
            guard: Duration::from_nanos(get_u64(block, GUARD)),
        };
        settings.check().map(|()| Some(settings))
    }

    /// Writes the block.
    #[must_use]
    pub fn encode(&self) -> [u8; SETTINGS_BYTES] {
        let mut block = [0; SETTINGS_BYTES];
        put_head(&mut block);
        block[PARITIES] = self.parities;
        block[FLAGS] = scope_bit(self.scope);
        put_u16(&mut block, WIDTH, self.width);
        put_u16(&mut block, SLOT, self.slot);
        put_u64(&mut block, CYCLE_START, self.cycle_start.as_nanos());
        let window = self.busy_time_window.unwrap_or(Duration::ZERO);
        put_u64(&mut block, BUSY_TIME_WINDOW, window.as_nanos());
        put_u64(&mut block, GUARD, self.guard.as_nanos());
        block
    }
}
