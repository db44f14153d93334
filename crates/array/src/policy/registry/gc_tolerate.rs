//! GC-tolerant reads: reconstruct pages on a channel that collects (Sha et al., TODAES 2022, §4.1,
//! "GC-tolerate Read", after TTFLASH).
//!
//! A read is reconstructed if its channel collects and no other channel of its stripe does. Queues
//! do not count, and updates stay where they are. Needs drives that report their collections. Costs
//! the reads of reconstructions.

use crate::policy::{
    About, Attempt, DriveChanges, Hooks, Needs, Policy, PolicyKind, PolicySetup, Tally, View,
    WindowUse, members_of,
};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use nvme::{CollectionReport, PlFlag, Untimed};
use units::{DriveId, Instant, Lba};

/// The policy.
pub(super) const GC_TOLERATE: PolicyKind = PolicyKind::new(&About {
    name: "gc-tolerate",
    label: "GC-tolerate",
    summary: "reconstruct reads of drives that announce a collection",
    source: "Sha et al., TODAES 2022, §4.1",
    drive_changes: DriveChanges::Firmware("announcing collections"),
    windows: WindowUse::None,
    untimed: Untimed::Nothing,
    needs: Needs::Redundancy,
    build: &|setup| Box::new(GcTolerate::new(setup)),
});

struct GcTolerate {
    collecting: Vec<bool>,
    reads: u64,
}

impl GcTolerate {
    fn new(setup: &PolicySetup<'_>) -> Self {
        Self { collecting: vec![false; setup.drives as usize], reads: 0 }
    }
}

impl Policy for GcTolerate {
    fn hooks(&self) -> Hooks {
        Hooks::FIRST_ATTEMPT
    }

    fn first_attempt(&mut self, _: Instant, drive: DriveId, _: Lba, view: &View<'_>) -> Attempt {
        let others = members_of(view.stripe & !(1 << drive.0));
        let collects = |drive: DriveId| self.collecting[drive.index()];
        if !collects(drive) || others.into_iter().any(collects) {
            return Attempt::Send(PlFlag::Off);
        }
        self.reads += 1;
        Attempt::Avoid
    }

    fn watches_drives(&self) -> bool {
        true
    }

    fn handle_report(&mut self, _: Instant, drive: DriveId, report: &CollectionReport) {
        self.collecting[drive.index()] = report.collecting;
    }

    fn tallies(&self) -> Vec<Tally> {
        vec![Tally::new("degraded reads", self.reads)]
    }
}
