//! Injected media errors, for tests.

use super::command::Work;
use rustix::io::Errno;
use std::io;

/// Which commands of a drive end with an I/O error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaultKind {
    /// Reads.
    Reads,
    /// Writes and discards.
    Writes,
    /// Syncs.
    Syncs,
    /// Whatever it is.
    Everything,
}

/// A fault of a drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fault {
    /// What fails.
    pub kind: FaultKind,
    /// How many such commands succeed before.
    pub after: u64,
    /// How many fail then; `u64::MAX` for all that follow.
    pub count: u64,
}

impl Fault {
    /// Whether this command fails; counts it.
    pub(super) fn applies_to(&mut self, work: &Work) -> bool {
        let concerned = match self.kind {
            FaultKind::Reads => matches!(work, Work::Read { .. }),
            FaultKind::Writes => {
                matches!(work, Work::Write { .. } | Work::WriteHead { .. } | Work::Discard { .. })
            }
            FaultKind::Syncs => matches!(work, Work::Sync),
            FaultKind::Everything => true,
        };
        if !concerned || self.count == 0 {
            return false;
        }
        if self.after > 0 {
            self.after -= 1;
            return false;
        }
        if self.count != u64::MAX {
            self.count -= 1;
        }
        true
    }
}

/// The error of a medium that cannot be read or written.
pub(super) fn medium_error() -> io::Error {
    Errno::IO.into()
}
