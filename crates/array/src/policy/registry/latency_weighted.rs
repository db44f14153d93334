//! Latency-weighted: of the copies of a mirror, read the one that is likely to answer first, by its
//! drive's queue and recent latency (the service-time selector of Linux multipath).
//!
//! Needs nothing from the drives. Avoids a slow drive until its mean has fallen. That a drive is
//! fast again shows only in the reads that the queues of the others push back to it.

use crate::fence::mean_with;
use crate::policy::{
    About, Answered, DriveChanges, Hooks, Needs, Policy, PolicyKind, PolicySetup, View, WindowUse,
    members_of,
};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use nvme::{Opcode, Untimed};
use units::{DriveId, Instant, Lba};

/// The policy.
pub(super) const LATENCY_WEIGHTED: PolicyKind = PolicyKind::new(&About {
    name: "latency-weighted",
    label: "Latency-weighted",
    summary: "of the copies of a mirror, read the one with the least queue times recent latency",
    source: "Linux multipath service-time",
    drive_changes: DriveChanges::Nothing,
    windows: WindowUse::None,
    untimed: Untimed::Nothing,
    needs: Needs::Mirrors,
    build: &|setup| Box::new(LatencyWeighted::new(setup)),
});

struct LatencyWeighted {
    /// Running mean of each drive's read latencies, in nanoseconds; 1 before the first.
    means_nanos: Vec<u64>,
}

impl LatencyWeighted {
    fn new(setup: &PolicySetup<'_>) -> Self {
        Self { means_nanos: vec![1; setup.drives as usize] }
    }
}

impl Policy for LatencyWeighted {
    fn hooks(&self) -> Hooks {
        Hooks::ANSWERED
    }

    fn choose_copy(
        &mut self,
        _: Instant,
        primary: DriveId,
        copies: u64,
        _: Lba,
        view: &View<'_>,
    ) -> DriveId {
        let wait = |drive: DriveId| {
            let ahead = u64::from(view.queues.of(drive).blocks()) + 1;
            (ahead.saturating_mul(self.means_nanos[drive.index()]), drive != primary)
        };
        members_of(copies).min_by_key(|&drive| wait(drive)).unwrap_or(primary)
    }

    fn answered(&mut self, _: Instant, answer: &Answered) {
        if answer.command.opcode == Opcode::Read {
            let mean = &mut self.means_nanos[answer.command.drive.index()];
            *mean = mean_with(*mean, answer.latency).max(1);
        }
    }
}
