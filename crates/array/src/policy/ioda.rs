//! IODA: flag and windows (IODA §4.4, PL_IO + PL_Win).
//!
//! Drives collect in turn, so at most k of a stripe are busy; reads carry the flag, so only those
//! that really meet a collection are reconstructed, and what the reconstruction reads is not busy. Should a
//! drive break the contract, the least busy of too many failures is waited for, as in IOD2 (§7.3).
//! Costs the extra reads of few reconstructions, and write amplification if windows are short.

use super::{
    About, Attempt, Failure, Hooks, Needs, Policy, PolicyKind, View, WindowUse, least_busy,
};
use alloc::boxed::Box;
use nvme::{PlFlag, Untimed};
use units::{DriveId, Instant, Lba};

/// The policy.
pub(super) const IODA: PolicyKind = PolicyKind::new(&About {
    name: "ioda",
    label: "IODA",
    summary: "drives collect in turn and fail busy reads fast, the host rebuilds them",
    source: "IODA §4.4",
    drive_changes: "the PL flag, busy remaining time and busy windows",
    windows: WindowUse::Seen,
    untimed: Untimed::Nothing,
    needs: Needs::Redundancy,
    build: |_| Box::new(Ioda),
});

struct Ioda;

impl Policy for Ioda {
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
