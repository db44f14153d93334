//! Policies: when to wait, when to rebuild.
//!
//! A policy answers a few questions about reads; everything else is the same for all of them.
//! Reads that a write needs for its parity are reads like any other (IODA §4.4, "Write Path").

mod base;
mod ideal;
mod iod1;
mod iod2;
mod iod3;
mod ioda;
mod proactive;

use crate::coordinate::Coordinator;
use nvme::PlFlag;
use units::{DriveId, Duration, Instant, Lba};

/// What to do about a sub-I/O before anything is known about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Attempt {
    /// Send it with this flag.
    Send(PlFlag),
    /// Do not send it; rebuild it from the other members.
    Avoid,
}

/// A sub-I/O that its drive failed fast.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The drive.
    pub drive: DriveId,
    /// How long it would have taken.
    pub busy_remaining: Duration,
}

/// What the array asks its policy.
pub trait Policy {
    /// What to do about the first read of pages that are wanted from `drive`, the first at `lba`.
    fn first_attempt(
        &self,
        now: Instant,
        drive: DriveId,
        lba: Lba,
        coordinator: &Coordinator,
    ) -> Attempt;

    /// How reads are flagged that serve only to rebuild others.
    fn rebuild_flag(&self) -> PlFlag {
        PlFlag::Off
    }

    /// Which of more failures than there are parities to send again and wait for: an index into
    /// `failures`, which is in the order of failing.
    fn wait_for(&self, failures: &[Failure]) -> usize {
        failures.len() - 1
    }

    /// Whether a read of the host asks all members of its stripe at once, and goes on with the first
    /// that suffice.
    fn races(&self) -> bool {
        false
    }

    /// Whether the drives are given busy windows.
    fn uses_windows(&self) -> bool {
        false
    }

    /// Whether the drives collect in no time.
    fn collects_instantly(&self) -> bool {
        false
    }
}

/// The policies by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PolicyKind {
    /// Wait for whatever is slow.
    Base,
    /// PL flag and rebuild.
    Iod1,
    /// PL flag, rebuild, and busy remaining time.
    Iod2,
    /// Windows only.
    Iod3,
    /// PL flag and windows.
    Ioda,
    /// Collections take no time.
    Ideal,
    /// Read whole stripes and take what comes first.
    Proactive,
}

impl PolicyKind {
    /// IODA, its parts, and the two between which they are measured (IODA §6.1), in the order of the
    /// article's figures.
    pub const IODA_PARTS: [Self; 6] =
        [Self::Base, Self::Iod1, Self::Iod2, Self::Iod3, Self::Ioda, Self::Ideal];

    /// All policies.
    pub const ALL: [Self; 7] =
        [Self::Base, Self::Iod1, Self::Iod2, Self::Iod3, Self::Ioda, Self::Ideal, Self::Proactive];

    /// The name people type.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::Iod1 => "iod1",
            Self::Iod2 => "iod2",
            Self::Iod3 => "iod3",
            Self::Ioda => "ioda",
            Self::Ideal => "ideal",
            Self::Proactive => "proactive",
        }
    }

    /// The name in figures.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Base => "Base",
            Self::Iod1 => "IOD1",
            Self::Iod2 => "IOD2",
            Self::Iod3 => "IOD3",
            Self::Ioda => "IODA",
            Self::Ideal => "Ideal",
            Self::Proactive => "Proactive",
        }
    }

    /// What the policy does, in a line.
    #[must_use]
    pub const fn summary(self) -> &'static str {
        match self {
            Self::Base => "wait for whatever is slow",
            Self::Iod1 => "drives fail busy reads fast, the host rebuilds them",
            Self::Iod2 => "as IOD1; of too many failures, wait for the least busy drives",
            Self::Iod3 => "drives collect in turn; never read from the drive whose turn it is",
            Self::Ioda => "drives collect in turn and fail busy reads fast, the host rebuilds them",
            Self::Ideal => "collections take no time",
            Self::Proactive => "read whole stripes, go on with the members that answer first",
        }
    }

    /// The policy called `name`, in upper or lower case.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name().eq_ignore_ascii_case(name))
    }

    /// Whether it uses windows but never learns from a drive whether they hold: windows cannot be
    /// adapted by what it sees.
    #[must_use]
    pub fn is_blind(self) -> bool {
        self.rules().uses_windows() && self.rules().rebuild_flag() == PlFlag::Off
    }

    /// The rules.
    #[must_use]
    pub fn rules(self) -> &'static dyn Policy {
        match self {
            Self::Base => &base::Base,
            Self::Iod1 => &iod1::Iod1,
            Self::Iod2 => &iod2::Iod2,
            Self::Iod3 => &iod3::Iod3,
            Self::Ioda => &ioda::Ioda,
            Self::Ideal => &ideal::Ideal,
            Self::Proactive => &proactive::Proactive,
        }
    }
}

/// Index of the failure with the shortest busy remaining time (IODA §4.2.2); the earliest of equals.
fn least_busy(failures: &[Failure]) -> usize {
    let mut best = 0;
    for (index, failure) in failures.iter().enumerate() {
        if failure.busy_remaining < failures[best].busy_remaining {
            best = index;
        }
    }
    best
}
