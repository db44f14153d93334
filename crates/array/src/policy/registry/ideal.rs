//! Ideal: what Base would be if collections took no time.
//!
//! Collections still happen and still amplify writes; only their delays are gone (IODA §6.1,
//! "Ideal"). Unattainable: the yardstick for the others.

use crate::policy::{About, DriveChanges, Hooks, Needs, Policy, PolicyKind, WindowUse};
use alloc::boxed::Box;
use nvme::Untimed;

/// The policy.
pub(super) const IDEAL: PolicyKind = PolicyKind::new(&About {
    name: "ideal",
    label: "Ideal",
    summary: "collections take no time",
    source: "IODA §6.1",
    drive_changes: DriveChanges::Impossible("collections that take no time"),
    windows: WindowUse::None,
    untimed: Untimed::Collections,
    needs: Needs::Nothing,
    build: &|_| Box::new(Ideal),
});

struct Ideal;

impl Policy for Ideal {
    fn hooks(&self) -> Hooks {
        Hooks::NONE
    }
}
