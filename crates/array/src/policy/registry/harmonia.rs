//! Harmonia: all drives collect at the same time (IODA §5 and §6.2.2).
//!
//! As soon as one drive must collect, all of them do, so that delays come together rather than
//! often. Reads wait, as under [`super::base`]: with every member busy there is nothing to
//! reconstruct from. Needs drives that collect when they are ordered to. Improves the mean, not the
//! tail.

use crate::policy::{About, DriveChanges, Hooks, Needs, Policy, PolicyKind, WindowUse};
use alloc::boxed::Box;
use nvme::Untimed;

/// The policy.
pub(super) const HARMONIA: PolicyKind = PolicyKind::new(&About {
    name: "harmonia",
    label: "Harmonia",
    summary: "as soon as one drive must collect, all do; reads wait",
    source: "IODA §6.2.2",
    drive_changes: DriveChanges::Firmware("collection when the host orders it"),
    windows: WindowUse::Synchronized,
    untimed: Untimed::Nothing,
    needs: Needs::Nothing,
    build: &|_| Box::new(Harmonia),
});

struct Harmonia;

impl Policy for Harmonia {
    fn hooks(&self) -> Hooks {
        Hooks::NONE
    }
}
