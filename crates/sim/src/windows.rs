//! The part of a plan that says when drives may collect.

use array::policy::PolicyKind;
use array::{
    AdaptiveConfig, Coordination, Layout, SynchronizedConfig, TokenConfig, WindowChange,
    WindowConfig,
};
use engine::ClockOffset;
use nvme::{Advertised, ArrayDescription};
use thiserror::Error;
use units::{Duration, Instant};

/// Time between two polls of drives with synchronized collection: much less than a collection
/// takes.
const TOGETHER_LOOKS: Duration = Duration::from_millis(1);

/// Who decides when a drive may collect.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Coordinate {
    /// The clock: windows in turn of a fixed length (IODA §4.3).
    #[default]
    Windows,
    /// The clock, with a length that the host adapts (IODA §7.2).
    Adaptive {
        /// `P`.
        period: Duration,
        /// `I`.
        increment: Duration,
    },
    /// The host, by tokens.
    Token {
        /// How long a token is good for; none for twice the shortest window.
        lease: Option<Duration>,
        /// Time between two polls of the drives' status.
        period: Duration,
    },
}

/// When drives may collect.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WindowPlan {
    /// Busy time window, at the start if it changes; none to use what the drives advertise:
    /// TW_burst, or one collection where that is longer.
    pub busy_time_window: Option<Duration>,
    /// Who decides.
    pub coordinate: Coordinate,
    /// Drives that may be busy at once; none for the number of parities.
    pub busy_drives: Option<u32>,
    /// Most by which the clock of any drive is off. Drives whose windows follow each other are put
    /// at opposite ends of it, which is the worst case.
    pub clock_skew: Duration,
    /// Guard at both ends of each window; none for what the skew needs.
    pub guard: Option<Duration>,
    /// Later windows, each with its time from the start, in order of time.
    pub changes: Vec<(Duration, WindowChange)>,
}

/// Why windows are impossible.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WindowError {
    /// The window is too short to be one.
    #[error("a busy time window of zero leaves no time to collect; choose at least 1 µs")]
    Empty,
    /// Changes of the windows or tokens would be more frequent than commands of a drive.
    #[error(
        "{option} is {length}, shorter than the {least} in which a drive reads a page; choose {least} or more"
    )]
    Short {
        /// The option.
        option: &'static str,
        /// Its value.
        length: Duration,
        /// Time of a page read.
        least: Duration,
    },
    /// More drives would be busy than can be reconstructed.
    #[error(
        "busy_drives is {busy_drives}, but {level} can rebuild {parities} of a stripe; choose 1 to {parities}"
    )]
    BusyDrives {
        /// As asked.
        busy_drives: u32,
        /// The level.
        level: &'static str,
        /// Its parities.
        parities: u32,
    },
    /// Two drives would share a turn.
    #[error(
        "tw_changes has an array width of {width}, but the array has {drives} drives, which need a turn each; choose {drives} or more"
    )]
    Width {
        /// Turns of a cycle.
        width: u32,
        /// Drives of the array.
        drives: u32,
    },
    /// The guards leave nothing of the window.
    #[error(
        "the guard of {guard} at both ends leaves nothing of a busy time window of {window}; choose a window above {least} or a smaller guard"
    )]
    Guard {
        /// The guard.
        guard: Duration,
        /// The window.
        window: Duration,
        /// Twice the guard.
        least: Duration,
    },
    /// Only windows of a fixed length can be changed.
    #[error(
        "the busy time window cannot be changed during the run while the host adapts it or grants tokens; leave out the changes"
    )]
    Changes,
    /// Tokens are for drives without ranges.
    #[error(
        "tokens are granted to whole drives, but the drives have {ranges} LBA ranges; set lba_ranges to 1 or choose windows"
    )]
    TokenRanges {
        /// Their ranges.
        ranges: u32,
    },
    /// A step of the adaptation is empty.
    #[error("the adaptation period must be longer than zero")]
    Period,
}

/// Refuses lengths in which no drive could read a page. Their ends alone would keep a run busy.
fn check_length(
    option: &'static str,
    length: Duration,
    drive: &ssd::Config,
) -> Result<(), WindowError> {
    let least = drive.read_service();
    if length < least { Err(WindowError::Short { option, length, least }) } else { Ok(()) }
}

/// The window where collection keeps up with the burst, so that any length will do.
const ANY_WINDOW: Duration = Duration::from_secs(1);
/// Collections in a window that free space does not bound.
const UNBOUND_COLLECTIONS: u64 = 8;
/// The longest window that is adapted to: with more, the host could not react within a minute.
const LONGEST_ADAPTED: Duration = Duration::from_secs(20);

impl WindowPlan {
    /// Windows of one fixed length.
    #[must_use]
    pub fn fixed(busy_time_window: Duration) -> Self {
        Self { busy_time_window: Some(busy_time_window), ..Self::default() }
    }

    /// The windows under `policy`, which may have a length of its own.
    pub(crate) fn of(&self, policy: PolicyKind) -> Self {
        let busy_time_window = self.busy_time_window.or(policy.own_window());
        Self { busy_time_window, ..self.clone() }
    }

    /// The windows where free space does not bound their length: they hold several collections.
    /// What a window loses at its ends is then a small part of it.
    pub(crate) fn without_bound(self, drive: &ssd::Config) -> Self {
        if self.busy_time_window.is_some() || self.coordinate != Coordinate::Windows {
            return self;
        }
        let window = drive.likely_unit_time() * UNBOUND_COLLECTIONS + self.guard() * 2;
        Self { busy_time_window: Some(window), ..self }
    }

    /// Time at both ends of each window in which nothing may run.
    #[must_use]
    pub fn guard(&self) -> Duration {
        self.guard.unwrap_or(self.clock_skew)
    }

    pub(crate) fn validate(&self, drive: &ssd::Config, layout: &Layout) -> Result<(), WindowError> {
        let parities = layout.parities();
        if let Some(busy_drives) = self.busy_drives
            && !(1..=parities).contains(&busy_drives)
        {
            let level = layout.level().name();
            return Err(WindowError::BusyDrives { busy_drives, level, parities });
        }
        let drives = layout.width();
        let mut widths = self.changes.iter().filter_map(|(_, change)| change.array_width);
        if let Some(width) = widths.find(|&width| width < drives) {
            return Err(WindowError::Width { width, drives });
        }
        let lengths = self.changes.iter().map(|(_, change)| change.busy_time_window);
        for window in lengths.chain(self.busy_time_window) {
            if window.is_zero() {
                return Err(WindowError::Empty);
            }
            check_length("tw", window, drive)?;
            let (guard, least) = (self.guard(), self.guard() * 2);
            if window <= least && !guard.is_zero() {
                return Err(WindowError::Guard { guard, window, least });
            }
        }
        let ranges = drive.ranges.count;
        match self.coordinate {
            Coordinate::Windows => Ok(()),
            Coordinate::Token { .. } if ranges > 1 => Err(WindowError::TokenRanges { ranges }),
            _ if !self.changes.is_empty() => Err(WindowError::Changes),
            Coordinate::Adaptive { period, .. } | Coordinate::Token { period, .. } => {
                if period.is_zero() {
                    return Err(WindowError::Period);
                }
                let option = match self.coordinate {
                    Coordinate::Token { .. } => "look_every",
                    Coordinate::Adaptive { .. } | Coordinate::Windows => "adapt_every",
                };
                check_length(option, period, drive)?;
                match self.coordinate {
                    Coordinate::Token { lease: Some(lease), .. } => {
                        check_length("lease", lease, drive)
                    }
                    _ => Ok(()),
                }
            }
        }
    }

    /// The first window; none if tokens take its place.
    pub(crate) fn first_window(
        &self,
        drive: &ssd::Config,
        array: ArrayDescription,
    ) -> Option<Duration> {
        if let Coordinate::Token { .. } = self.coordinate {
            return None;
        }
        Some(self.busy_time_window.unwrap_or_else(|| self.advertised(drive, array)))
    }

    /// What the drives advertise: TW_burst. Where that cannot hold one collection no window keeps
    /// the promise at B_burst, and the shortest is taken in which every collection fits.
    pub(crate) fn advertised(&self, drive: &ssd::Config, array: ArrayDescription) -> Duration {
        let Advertised { shortest, longest } = drive.advertise(array);
        let (longest, guards) = (longest.unwrap_or(ANY_WINDOW), self.guard() * 2);
        match longest < shortest + guards {
            true => drive.worst_unit_time() + guards,
            false => longest,
        }
    }

    pub(crate) fn coordination(
        &self,
        drive: &ssd::Config,
        array: ArrayDescription,
    ) -> Coordination {
        // Clocks that are behind must be able to say when the first window opens.
        let start = Instant::ZERO + self.clock_skew;
        let shortest = drive.likely_unit_time() + self.guard() * 2;
        // With drives missing one may be busy at a time, or hardly more: as in an array with one
        // parity.
        let one = ArrayDescription { parities: 1, ..array };
        let windows = |busy_time_window| WindowConfig {
            busy_time_window,
            busy_drives: array.busy_drives(),
            reduced_window: self.first_window(drive, one).unwrap_or(busy_time_window),
            gives_way: drive.scheduling.read_priority
                && drive.scheduling.preemptive_collection
                && drive.scheduling.suspension.is_some(),
            guard: self.guard(),
            start,
            ranges: drive.ranges.count,
            range_blocks: drive.range_pages(),
        };
        let first = self.first_window(drive, array).unwrap_or(ANY_WINDOW);
        match self.coordinate {
            Coordinate::Windows => Coordination::Windows(windows(first)),
            Coordinate::Adaptive { period, increment } => Coordination::Adaptive(
                windows(first.max(shortest)),
                AdaptiveConfig { period, increment, shortest, longest: LONGEST_ADAPTED },
            ),
            Coordinate::Token { lease, period } => Coordination::Token(TokenConfig {
                lease: lease.unwrap_or(shortest * 2),
                period,
                busy_drives: array.busy_drives(),
                guard: self.guard(),
                start,
            }),
        }
    }

    /// All drives at once, for as long as it takes to collect once: with half of that in reserve
    /// for what the host has in the queues, and not enough for a second time.
    pub(crate) fn synchronized(&self, drive: &ssd::Config) -> Coordination {
        Coordination::Synchronized(SynchronizedConfig {
            lease: drive.likely_unit_time() * 3 / 2,
            period: TOGETHER_LOOKS,
            start: Instant::ZERO,
        })
    }

    /// How far the clock of a drive is off: ahead for half of the drives, behind for those whose
    /// windows begin when the windows of the others end.
    pub(crate) fn clock_offset(&self, drive: u32, busy_drives: u32) -> ClockOffset {
        match (drive / busy_drives).is_multiple_of(2) {
            true => ClockOffset::Ahead(self.clock_skew),
            false => ClockOffset::Behind(self.clock_skew),
        }
    }
}
