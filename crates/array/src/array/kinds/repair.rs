//! Lost members of a stripe, or parity that may not match: computed and written.

use super::next::{At, Input, Next};

/// A stripe of a rebuild or a resync.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Repair {
    pub(crate) job: u32,
    /// Number of drive failures when it was planned.
    pub(crate) drive_failures: u32,
}

impl Repair {
    pub(crate) const fn of(job: u32) -> Self {
        Self { job, drive_failures: 0 }
    }

    pub(super) fn step(&mut self, input: Input, at: &At<'_>) -> Next {
        match input {
            Input::Turn => self.plan(at),
            Input::Known => self.commit(at),
            Input::Compared { .. } => Next::Wait,
        }
    }

    /// Reads the members that the others are computed from.
    fn plan(&mut self, at: &At<'_>) -> Next {
        if at.must_settle() {
            return Next::Settle;
        }
        let places = at.places;
        self.drive_failures = places.availability.drive_failures();
        let unreadable = places.unreadable(at.stripe);
        let wanted = unreadable - places.absent_members(at.stripe);
        if wanted.is_empty() {
            // A write or another job has repaired this stripe in the meantime.
            return Next::DONE;
        }
        // Of more members than needed, those in busy windows are not read.
        let to_spare = places.layout.parities().saturating_sub(unreadable.len());
        let in_windows = at.members_in_windows() - unreadable;
        let spared = in_windows.iter().take(to_spare as usize).collect();
        Next::Reconstruct { unreadable, spared, wanted }
    }

    /// Writes the members. If a drive has failed since they were read, the stripe begins again. No
    /// read uses these members before they are written.
    fn commit(&self, at: &At<'_>) -> Next {
        if self.drive_failures != at.places.availability.drive_failures() {
            return Next::DONE;
        }
        Next::Write(at.fetch.wanted() - at.places.absent_members(at.stripe))
    }
}
