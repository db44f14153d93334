//! Coordination: which drive may collect when, so that no stripe has more busy members than it has
//! parities.
//!
//! Three ways serve this end: windows in turn by the drives' clocks (IODA §4.3), the same with a
//! length that the host adapts (§7.2), and tokens that the host grants to the drives that need them
//! most (not in the paper). A fourth serves the opposite end, for comparison: all drives at once.

mod adaptive;
mod notice;
mod staggered;
mod status_poller;
mod synchronized;
mod tokens;

pub use adaptive::AdaptiveConfig;
pub use staggered::{WindowChange, WindowConfig};
pub use synchronized::SynchronizedConfig;
pub use tokens::TokenConfig;

pub(crate) use notice::{Missing, Notice};

use adaptive::Adaptive;
use alloc::collections::VecDeque;
use nvme::DriveStatus;
use staggered::StaggeredWindows;
use synchronized::Synchronized;
use tokens::Tokens;
use units::{DriveId, Duration, Instant, Lba};

/// Coordination of the drives' collections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coordination {
    /// None: drives collect when it is due.
    Free,
    /// In windows in turn, of a length that only [`crate::Array::set_window`] changes.
    Windows(WindowConfig),
    /// In windows in turn whose length grows until it is too long, and is halved then.
    Adaptive(WindowConfig, AdaptiveConfig),
    /// By tokens that the host grants.
    Token(TokenConfig),
    /// All at the same time.
    Synchronized(SynchronizedConfig),
}

impl Coordination {
    /// The same coordination, beginning at `now`.
    pub(crate) const fn starting_at(self, now: Instant) -> Self {
        match self {
            Self::Free => Self::Free,
            Self::Windows(config) => Self::Windows(WindowConfig { start: now, ..config }),
            Self::Adaptive(config, adaptive) => {
                Self::Adaptive(WindowConfig { start: now, ..config }, adaptive)
            }
            Self::Token(config) => Self::Token(TokenConfig { start: now, ..config }),
            Self::Synchronized(config) => {
                Self::Synchronized(SynchronizedConfig { start: now, ..config })
            }
        }
    }
}

/// The state of a coordination.
#[derive(Clone, Debug)]
pub enum Coordinator {
    /// No coordination.
    Free,
    /// Staggered windows.
    Windows(StaggeredWindows),
    /// Staggered windows of adapted length.
    Adaptive(StaggeredWindows, Adaptive),
    /// Tokens.
    Token(Tokens),
    /// All at the same time.
    Synchronized(Synchronized),
}

impl Coordinator {
    /// Begins to coordinate `width` drives; the permits of the drives go to `notices`.
    pub(crate) fn new(
        coordination: &Coordination,
        width: u32,
        missing: Missing,
        notices: &mut VecDeque<Notice>,
    ) -> Self {
        match coordination {
            Coordination::Free => Self::Free,
            Coordination::Windows(config) => {
                Self::Windows(StaggeredWindows::new(config, width, missing, notices))
            }
            Coordination::Adaptive(config, adaptive) => {
                let windows = StaggeredWindows::new(config, width, missing, notices);
                let adaptive = Adaptive::new(adaptive, &windows, config.start);
                Self::Adaptive(windows, adaptive)
            }
            Coordination::Token(config) => {
                Self::Token(Tokens::new(config, width, missing, notices))
            }
            Coordination::Synchronized(config) => {
                Self::Synchronized(Synchronized::new(config, width, notices))
            }
        }
    }

    /// Whether `drive` may collect at `now` what a read of `lba` could meet.
    #[must_use]
    pub fn is_busy(&self, drive: DriveId, lba: Lba, now: Instant) -> bool {
        match self {
            Self::Free => false,
            Self::Windows(windows) | Self::Adaptive(windows, _) => windows.is_busy(drive, lba, now),
            Self::Token(tokens) => tokens.is_busy(drive, now),
            Self::Synchronized(synchronized) => synchronized.is_busy(now),
        }
    }

    /// Start and end of the busy window of `drive` that is open at `now`, or else of its next one.
    /// For a drive with several ranges of logical blocks it is the window of the first. `None`
    /// where the clock does not determine a drive's window: without coordination, with tokens, with
    /// synchronized collection, and for a drive that has failed or is being rebuilt.
    #[must_use]
    pub fn window(&self, drive: DriveId, now: Instant) -> Option<(Instant, Instant)> {
        match self {
            Self::Windows(windows) | Self::Adaptive(windows, _) => windows.window(drive, now),
            Self::Free | Self::Token(_) | Self::Synchronized(_) => None,
        }
    }

    /// Length of the busy windows; `None` without windows.
    #[must_use]
    pub fn busy_time_window(&self) -> Option<Duration> {
        match self {
            Self::Windows(windows) | Self::Adaptive(windows, _) => Some(windows.busy_time_window()),
            Self::Free | Self::Token(_) | Self::Synchronized(_) => None,
        }
    }

    /// Number of drives that may be busy at once; fewer while others are missing. `None` where
    /// drives take no turns.
    #[must_use]
    pub fn busy_drives(&self) -> Option<u32> {
        match self {
            Self::Windows(windows) | Self::Adaptive(windows, _) => Some(windows.busy_drives()),
            Self::Token(tokens) => Some(tokens.busy_drives()),
            Self::Free | Self::Synchronized(_) => None,
        }
    }

    /// Whether drives need no turns once stripes can miss no further member.
    pub(crate) fn can_do_without_turns(&self) -> bool {
        match self {
            Self::Windows(windows) | Self::Adaptive(windows, _) => windows.gives_way(),
            Self::Free | Self::Token(_) | Self::Synchronized(_) => false,
        }
    }

    /// Updates the missing drives.
    pub(crate) fn set_missing(
        &mut self,
        now: Instant,
        missing: Missing,
        notices: &mut VecDeque<Notice>,
    ) {
        match self {
            Self::Windows(windows) => windows.set_missing(now, missing, notices),
            Self::Adaptive(windows, adaptive) => {
                windows.set_missing(now, missing, notices);
                adaptive.windows_changed(now, windows);
            }
            Self::Token(tokens) => tokens.set_missing(now, missing, notices),
            Self::Free | Self::Synchronized(_) => {}
        }
    }

    pub(crate) fn next_deadline(&self) -> Instant {
        match self {
            Self::Free | Self::Windows(_) => Instant::NEVER,
            Self::Adaptive(_, adaptive) => adaptive.next_deadline(),
            Self::Token(tokens) => tokens.next_deadline(),
            Self::Synchronized(synchronized) => synchronized.next_deadline(),
        }
    }

    pub(crate) fn handle_deadline(&mut self, now: Instant, notices: &mut VecDeque<Notice>) {
        match self {
            Self::Free | Self::Windows(_) => {}
            Self::Adaptive(windows, adaptive) => adaptive.handle_deadline(now, windows, notices),
            Self::Token(tokens) => tokens.handle_deadline(now, notices),
            Self::Synchronized(synchronized) => synchronized.handle_deadline(now, notices),
        }
    }

    /// A stripe had more busy members than parities.
    pub(crate) fn note_too_many_busy(&mut self) {
        if let Self::Adaptive(_, adaptive) = self {
            adaptive.note_too_many_busy();
        }
    }

    /// Changes the length of the busy windows. Returns `false`, and changes nothing, without
    /// windows or while their length is adapted.
    pub(crate) fn set_window(
        &mut self,
        now: Instant,
        change: WindowChange,
        notices: &mut VecDeque<Notice>,
    ) -> bool {
        match self {
            Self::Windows(windows) => {
                windows.set_window(now, change, notices);
                true
            }
            Self::Free | Self::Adaptive(..) | Self::Token(_) | Self::Synchronized(_) => false,
        }
    }

    pub(crate) fn handle_status(
        &mut self,
        now: Instant,
        drive: DriveId,
        status: &DriveStatus,
        notices: &mut VecDeque<Notice>,
    ) {
        match self {
            Self::Token(tokens) => tokens.handle_status(now, drive, status, notices),
            Self::Synchronized(synchronized) => {
                synchronized.handle_status(now, drive, status, notices)
            }
            Self::Free | Self::Windows(_) | Self::Adaptive(..) => {}
        }
    }
}
