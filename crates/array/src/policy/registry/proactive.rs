//! Proactive: read the whole stripe every time, and take what comes first (IODA §5 and §6.2.1).
//!
//! Every read reads all members of its stripe at once, and goes on as soon as any `N − k` of them
//! have answered. Needs nothing from the drives. Costs the reads of the other members with every
//! read, which queue up in front of reads that are waited for.

use crate::policy::{About, DriveChanges, Hooks, Needs, Policy, PolicyKind, WindowUse};
use alloc::boxed::Box;
use nvme::Untimed;

/// The policy.
pub(super) const PROACTIVE: PolicyKind = PolicyKind::new(&About {
    name: "proactive",
    label: "Proactive",
    summary: "read whole stripes, go on with the members that answer first",
    source: "IODA §6.2.1",
    drive_changes: DriveChanges::Nothing,
    windows: WindowUse::None,
    untimed: Untimed::Nothing,
    needs: Needs::Redundancy,
    build: &|_| Box::new(Proactive),
});

struct Proactive;

impl Policy for Proactive {
    fn hooks(&self) -> Hooks {
        Hooks::SPARE_READS
    }

    fn spare_reads(&self) -> u32 {
        u32::MAX
    }
}
