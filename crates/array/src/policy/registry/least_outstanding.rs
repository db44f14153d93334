//! Least outstanding: of the copies of a mirror, read the one whose drive has least to do (SPDK's
//! raid1, NVMe multipath's `queue-depth`).
//!
//! Needs nothing from the drives. A collection shows only as a queue that does not shrink, and the
//! reads in that queue wait.

use crate::policy::{
    About, DriveChanges, Hooks, Needs, Policy, PolicyKind, View, WindowUse, members_of,
};
use alloc::boxed::Box;
use nvme::Untimed;
use units::{DriveId, Instant, Lba};

/// The policy.
pub(super) const LEAST_OUTSTANDING: PolicyKind = PolicyKind::new(&About {
    name: "least-outstanding",
    label: "Least outstanding",
    summary: "of the copies of a mirror, read the one whose drive has least to do",
    source: "SPDK raid1; NVMe multipath queue-depth",
    drive_changes: DriveChanges::Nothing,
    windows: WindowUse::None,
    untimed: Untimed::Nothing,
    needs: Needs::Mirrors,
    build: &|_| Box::new(LeastOutstanding),
});

struct LeastOutstanding;

impl Policy for LeastOutstanding {
    fn hooks(&self) -> Hooks {
        Hooks::NONE
    }

    fn choose_copy(
        &mut self,
        _: Instant,
        primary: DriveId,
        copies: u64,
        _: Lba,
        view: &View<'_>,
    ) -> DriveId {
        let load = |drive: DriveId| (view.queues.of(drive).blocks(), drive != primary);
        members_of(copies).min_by_key(|&drive| load(drive)).unwrap_or(primary)
    }
}
