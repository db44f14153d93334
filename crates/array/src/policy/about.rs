//! Description of a policy: its names, its needs, and how it is made for an array.

use super::{Policy, PolicySettings};
use crate::layout::Level;
use alloc::boxed::Box;
use core::fmt;
use nvme::{Untimed, WindowScope};
use units::Duration;

/// Use of busy windows by a policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WindowUse {
    /// Drives collect when it is due.
    None,
    /// Drives collect in turn, and the array relies on that without checking.
    Blind,
    /// As [`WindowUse::Blind`], and drives are written in their turn only. The policy has its own
    /// length of a turn, unless another is asked for.
    Roles {
        /// Length of a turn.
        turn: Duration,
    },
    /// Drives collect in turn, and reads carry the flag, so that the array notices if they do not.
    Seen,
    /// As [`WindowUse::Seen`], and drives do all work that changes flash in turn.
    Quiet,
    /// The array acts as if drives collected in turn, but the drives are not told.
    Imagined,
    /// All drives collect at the same time.
    Synchronized,
}

impl WindowUse {
    /// Work that drives do only in their windows.
    #[must_use]
    pub const fn scope(self) -> WindowScope {
        match self {
            Self::Quiet => WindowScope::AllWork,
            _ => WindowScope::Collections,
        }
    }
}

/// Requirements of a policy on drives, beyond what any drive can do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DriveChanges {
    /// Any drive will do.
    Nothing,
    /// Any drive whose internals the host knows.
    KnownInside,
    /// Optional commands that drives on sale have.
    Usual(&'static str),
    /// Firmware that no drive on sale has.
    Firmware(&'static str),
    /// Flash operations that take no time.
    Impossible(&'static str),
}

impl DriveChanges {
    /// The parts of the firmware that no drive on sale has.
    #[must_use]
    pub const fn firmware(self) -> Option<&'static str> {
        match self {
            Self::Firmware(parts) => Some(parts),
            _ => None,
        }
    }
}

impl fmt::Display for DriveChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("nothing"),
            Self::KnownInside => f.write_str("nothing, but they must be known inside"),
            Self::Usual(parts) | Self::Firmware(parts) => f.write_str(parts),
            Self::Impossible(parts) => write!(f, "{parts}, which no drive has"),
        }
    }
}

/// Requirements of a policy on the array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Needs {
    /// Any level.
    Nothing,
    /// A level with redundancy, from which reads can be reconstructed.
    Redundancy,
    /// A level of mirrors.
    Mirrors,
}

/// Makes the rules of a policy for one array. A closure may hold more than a function, such as a
/// program in another language that answers.
pub type Build = dyn Fn(&PolicySetup<'_>) -> Box<dyn Policy> + Sync;

/// Everything about a policy that does not change while it runs.
pub struct About {
    /// The name people type.
    pub name: &'static str,
    /// The name in figures.
    pub label: &'static str,
    /// Its rule, in one line.
    pub summary: &'static str,
    /// Its origin: a section of a paper, or a product.
    pub source: &'static str,
    /// Its requirements on drives, beyond ordinary ones.
    pub drive_changes: DriveChanges,
    /// Its use of busy windows.
    pub windows: WindowUse,
    /// Drive operations that take no time under it, which no drive can do.
    pub untimed: Untimed,
    /// Its requirements on the array.
    pub needs: Needs,
    /// Makes its rules for one array.
    pub build: &'static Build,
}

impl fmt::Debug for About {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("About").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The array that a policy is made for.
#[derive(Clone, Copy, Debug)]
pub struct PolicySetup<'a> {
    /// Number of drives.
    pub drives: u32,
    /// Number of members of a stripe that can be reconstructed at once.
    pub parities: u32,
    /// Time to compute a reconstructed page.
    pub reconstruct_compute: Duration,
    /// Settings of policies.
    pub settings: &'a PolicySettings,
}

/// A policy by name: a handle that is copied and compared.
#[derive(Clone, Copy)]
pub struct PolicyKind(&'static About);

impl PolicyKind {
    /// The policy that `about` describes.
    #[must_use]
    pub const fn new(about: &'static About) -> Self {
        Self(about)
    }

    /// Its description.
    #[must_use]
    pub const fn about(self) -> &'static About {
        self.0
    }

    /// The name people type.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.0.name
    }

    /// The name in figures.
    #[must_use]
    pub const fn label(self) -> &'static str {
        self.0.label
    }

    /// The rule of the policy, in one line.
    #[must_use]
    pub const fn summary(self) -> &'static str {
        self.0.summary
    }

    /// Whether drives are given busy windows, or the array acts as if they were.
    #[must_use]
    pub const fn uses_windows(self) -> bool {
        matches!(
            self.0.windows,
            WindowUse::Blind
                | WindowUse::Roles { .. }
                | WindowUse::Seen
                | WindowUse::Quiet
                | WindowUse::Imagined
        )
    }

    /// Whether it uses windows but never learns from a drive whether they hold. Such windows cannot
    /// be adapted.
    #[must_use]
    pub const fn is_blind(self) -> bool {
        self.uses_windows() && !matches!(self.0.windows, WindowUse::Seen | WindowUse::Quiet)
    }

    /// The default length of the busy windows, if the policy has one of its own.
    #[must_use]
    pub const fn own_window(self) -> Option<Duration> {
        match self.0.windows {
            WindowUse::Roles { turn } => Some(turn),
            _ => None,
        }
    }

    /// Whether it can run an array of this level.
    #[must_use]
    pub const fn is_possible(self, level: Level) -> bool {
        match self.0.needs {
            Needs::Nothing => true,
            Needs::Redundancy => level.is_redundant(),
            Needs::Mirrors => level.is_mirrored(),
        }
    }
}

// Names are unique, and the address of a constant is not.
impl PartialEq for PolicyKind {
    fn eq(&self, other: &Self) -> bool {
        self.0.name == other.0.name
    }
}

impl Eq for PolicyKind {}

impl fmt::Debug for PolicyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name)
    }
}
