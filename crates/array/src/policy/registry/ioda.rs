//! IODA: flag and windows (IODA §4.4, PL_IO + PL_Win).
//!
//! Drives collect in turn, so at most k members of a stripe are busy. Reads carry the flag, so only
//! those that really meet a collection are reconstructed, and the reads of a reconstruction meet
//! none. If a drive breaks the contract and too many reads fail, the host waits for the least busy
//! drive (§7.3). So the host's rules are those of IOD2; only the times of collections differ. Costs
//! the extra reads of few reconstructions, and write amplification if windows are short.

use super::iod2::Iod2;
use crate::policy::{About, DriveChanges, Needs, PolicyKind, WindowUse};
use alloc::boxed::Box;
use nvme::Untimed;

/// The policy.
pub(super) const IODA: PolicyKind = PolicyKind::new(&About {
    name: "ioda",
    label: "IODA",
    summary: "drives collect in turn and fail busy reads fast, the host reconstructs them",
    source: "IODA §4.4",
    drive_changes: DriveChanges::Firmware("the PL flag, busy remaining time and busy windows"),
    windows: WindowUse::Seen,
    untimed: Untimed::Nothing,
    needs: Needs::Redundancy,
    build: &|_| Box::new(Iod2),
});
