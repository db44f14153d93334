//! First k of n: read more members of the stripe than suffice, and take the first that do (Ceph's
//! `fast_read`).
//!
//! As [`super::proactive`], with a number of spare reads that can be set; with one parity and one
//! spare read it is the same. Needs nothing from the drives. A read of one chunk costs as many
//! reads as there are data chunks, plus the spare ones.

use crate::policy::{About, DriveChanges, Hooks, Needs, Policy, PolicyKind, WindowUse};
use alloc::boxed::Box;
use nvme::Untimed;

/// The policy.
pub(super) const FIRST_K: PolicyKind = PolicyKind::new(&About {
    name: "first-k",
    label: "First k",
    summary: "read one member more than suffices, go on with the first that do",
    source: "Ceph fast_read",
    drive_changes: DriveChanges::Nothing,
    windows: WindowUse::None,
    untimed: Untimed::Nothing,
    needs: Needs::Redundancy,
    build: &|setup| Box::new(FirstK { spare_reads: setup.settings.spare_reads }),
});

struct FirstK {
    spare_reads: u32,
}

impl Policy for FirstK {
    fn hooks(&self) -> Hooks {
        Hooks::SPARE_READS
    }

    fn spare_reads(&self) -> u32 {
        self.spare_reads
    }
}
