//! IOD3: windows only (IODA §4.3, PL_Win without PL_IO; §4.4).
//!
//! Drives collect in turn, and the array never reads from the drive whose turn it is: every such
//! read is reconstructed from the others. Needs no flag. Costs a reconstruction for one read in N,
//! whether or not the page would have met the collection.

use crate::policy::{
    About, Attempt, DriveChanges, Hooks, Needs, ParityReads, Policy, PolicyKind, View, WindowUse,
};
use alloc::boxed::Box;
use nvme::{PlFlag, Untimed};
use units::{DriveId, Instant, Lba};

/// The policy.
pub(super) const IOD3: PolicyKind = PolicyKind::new(&About {
    name: "iod3",
    label: "IOD3",
    summary: "drives collect in turn; never read from the drive whose turn it is",
    source: "IODA §4.3",
    drive_changes: DriveChanges::Firmware("busy windows"),
    windows: WindowUse::Blind,
    untimed: Untimed::Nothing,
    needs: Needs::Redundancy,
    build: &|setup| Box::new(Iod3 { parity_reads: setup.settings.iod3_parity_reads }),
});

pub(super) struct Iod3 {
    pub(super) parity_reads: ParityReads,
}

impl Policy for Iod3 {
    fn hooks(&self) -> Hooks {
        Hooks::FIRST_ATTEMPT
    }

    fn sends_parity_reads(&self) -> bool {
        self.parity_reads == ParityReads::Wait
    }

    fn first_attempt(
        &mut self,
        now: Instant,
        drive: DriveId,
        lba: Lba,
        view: &View<'_>,
    ) -> Attempt {
        match view.coordinator.is_busy(drive, lba, now) {
            true => Attempt::Avoid,
            false => Attempt::Send(PlFlag::Off),
        }
    }
}
