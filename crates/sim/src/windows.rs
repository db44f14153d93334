//! The windows of a plan: when drives may collect.

use array::policy::PolicyKind;
use array::{
    AdaptiveConfig, Coordination, Layout, SynchronizedConfig, TokenConfig, WindowChange,
    WindowConfig,
};
use engine::ClockOffset;
use nvme::{Advertised, ArrayDescription};
use thiserror::Error;
use units::{Duration, Instant};

/// Time between two polls of drives with synchronized collection: much less than the duration of a
/// collection.
const TOGETHER_LOOKS: Duration = Duration::from_millis(1);

/// Method that decides when a drive may collect.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Coordinate {
    /// By the clock: staggered windows of a fixed length (IODA §4.3).
    #[default]
    Windows,
    /// By the clock, with windows whose length the host adapts (IODA §7.2).
    Adaptive {
        /// Period of the adaptation, `P`.
        period: Duration,
        /// Increment of the adaptation, `I`.
        increment: Duration,
    },
    /// By the host, with tokens.
    Token {
        /// Lifetime of a token; `None` for twice the shortest window.
        lease: Option<Duration>,
        /// Time between two polls of the drives' status.
        period: Duration,
    },
}

/// Windows in which drives may collect.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WindowPlan {
    /// Busy time window at the start; `None` for the one that the drives advertise: TW_burst, or
    /// one collection where that is longer.
    pub busy_time_window: Option<Duration>,
    /// Method of coordination.
    pub coordinate: Coordinate,
    /// Number of drives that may be busy at once; `None` for the number of parities.
    pub busy_drives: Option<u32>,
    /// Largest offset of a drive's clock. Drives with successive windows get opposite offsets,
    /// which is the worst case.
    pub clock_skew: Duration,
    /// Guard at both ends of each window; `None` for the guard that the skew needs.
    pub guard: Option<Duration>,
    /// Later changes of the windows, each with its time from the start, in order of time.
    pub changes: Vec<(Duration, WindowChange)>,
}

/// Reason for which windows are impossible.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WindowError {
    /// The window is too short.
    #[error("a busy time window of zero leaves no time to collect; choose at least 1 µs")]
    Empty,
    /// The interval of window changes or token polls is shorter than a page read.
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
    /// More drives would be busy than a stripe can miss.
    #[error(
        "busy_drives is {busy_drives}, but {level} can rebuild {parities} of a stripe; choose 1 to {parities}"
    )]
    BusyDrives {
        /// Requested number of busy drives.
        busy_drives: u32,
        /// The level.
        level: &'static str,
        /// Parities of the level.
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
    /// The guards leave no time in the window.
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
    /// Windows that are adapted, or replaced by tokens, cannot be changed.
    #[error(
        "the busy time window cannot be changed during the run while the host adapts it or grants tokens; leave out the changes"
    )]
    Changes,
    /// Tokens need drives without LBA ranges.
    #[error(
        "tokens are granted to whole drives, but the drives have {ranges} LBA ranges; set lba_ranges to 1 or choose windows"
    )]
    TokenRanges {
        /// Number of LBA ranges.
        ranges: u32,
    },
    /// The period or the increment of the adaptation is zero.
    #[error("the adaptation period must be longer than zero")]
    Period,
}

/// Refuses lengths shorter than a page read. Their number of ends alone would slow a run down.
fn check_length(
    option: &'static str,
    length: Duration,
    drive: &ssd::Config,
) -> Result<(), WindowError> {
    let least = drive.read_service();
    if length < least { Err(WindowError::Short { option, length, least }) } else { Ok(()) }
}

/// Window where collection keeps up with the burst, so that any length is possible.
const ANY_WINDOW: Duration = Duration::from_secs(1);
/// Number of collections in a window that free space does not bound.
const UNBOUND_COLLECTIONS: u64 = 8;
/// Longest adapted window: with a longer one the host could not react within a minute.
const LONGEST_ADAPTED: Duration = Duration::from_secs(20);

impl WindowPlan {
    /// Windows of one fixed length.
    #[must_use]
    pub fn fixed(busy_time_window: Duration) -> Self {
        Self { busy_time_window: Some(busy_time_window), ..Self::default() }
    }

    /// Windows under `policy`, which may prescribe its own length.
    pub(crate) fn of(&self, policy: PolicyKind) -> Self {
        let busy_time_window = self.busy_time_window.or(policy.own_window());
        Self { busy_time_window, ..self.clone() }
    }

    /// Windows if free space does not bound their length: they hold several collections. The loss
    /// at the ends of a window is then a small part of it.
    pub(crate) fn without_bound(self, drive: &ssd::Config) -> Self {
        if self.busy_time_window.is_some() || self.coordinate != Coordinate::Windows {
            return self;
        }
        let window = drive.likely_unit_time() * UNBOUND_COLLECTIONS + self.guard() * 2;
        Self { busy_time_window: Some(window), ..self }
    }

    /// Guard: time at both ends of each window in which nothing may run.
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

    /// First window; `None` with tokens.
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

    /// Window that the drives advertise: TW_burst. If that cannot hold one collection, no window
    /// satisfies the contract at B_burst. Then it is the shortest window in which every collection
    /// fits.
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
        // Clocks that are behind must be able to represent the start of the first window.
        let start = Instant::ZERO + self.clock_skew;
        let shortest = drive.likely_unit_time() + self.guard() * 2;
        // With drives missing, one drive may be busy at a time, or hardly more: as in an array with
        // one parity.
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

    /// Windows of all drives at once, each long enough for one collection. Half a collection is
    /// added for I/O of the host in the queues, which is not enough for a second collection.
    pub(crate) fn synchronized(&self, drive: &ssd::Config) -> Coordination {
        Coordination::Synchronized(SynchronizedConfig {
            lease: drive.likely_unit_time() * 3 / 2,
            period: TOGETHER_LOOKS,
            start: Instant::ZERO,
        })
    }

    /// Offset of a drive's clock: ahead for half of the drives, behind for those whose windows
    /// begin when the windows of the others end.
    pub(crate) fn clock_offset(&self, drive: u32, busy_drives: u32) -> ClockOffset {
        match (drive / busy_drives).is_multiple_of(2) {
            true => ClockOffset::Ahead(self.clock_skew),
            false => ClockOffset::Behind(self.clock_skew),
        }
    }
}
