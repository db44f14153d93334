//! IOD2: flag, reconstruction, and busy remaining time (IODA §4.2.2, PL_BRT).
//!
//! Reads for a reconstruction carry the flag too, so that the array learns how busy every drive of
//! the stripe is. Of n failed sub-I/Os the n−k with the shortest busy remaining time are sent again
//! without the flag; the k busiest are reconstructed. Costs as IOD1; when all drives age at the
//! same pace their remaining times are alike and little is gained.

use crate::policy::{
    About, Attempt, DriveChanges, Failure, Hooks, Needs, Policy, PolicyKind, View, WindowUse,
    least_busy,
};
use alloc::boxed::Box;
use nvme::{PlFlag, Untimed};
use units::{DriveId, Instant, Lba};

/// The policy.
pub(super) const IOD2: PolicyKind = PolicyKind::new(&About {
    name: "iod2",
    label: "IOD2",
    summary: "as IOD1; of too many failures, wait for the least busy drives",
    source: "IODA §4.2.2",
    drive_changes: DriveChanges::Firmware("the PL flag and busy remaining time"),
    windows: WindowUse::None,
    untimed: Untimed::Nothing,
    needs: Needs::Redundancy,
    build: &|_| Box::new(Iod2),
});

/// The rules, which IODA has as well.
pub(super) struct Iod2;

impl Policy for Iod2 {
    fn hooks(&self) -> Hooks {
        Hooks::FIRST_ATTEMPT
    }

    fn first_attempt(&mut self, _: Instant, _: DriveId, _: Lba, _: &View<'_>) -> Attempt {
        Attempt::Send(PlFlag::Predictable)
    }

    fn reconstruct_flag(&self) -> PlFlag {
        PlFlag::Predictable
    }

    fn wait_for(&self, failures: &[Failure]) -> usize {
        least_busy(failures)
    }
}
