//! Base: wait for whatever is slow.
//!
//! Every read goes to the drive that holds the page, without a flag, and waits for collections
//! (IODA §6.1, "Base"). Costs no extra reads, but a long tail of latencies.

use crate::policy::{About, DriveChanges, Hooks, Needs, Policy, PolicyKind, WindowUse};
use alloc::boxed::Box;
use nvme::Untimed;

/// The policy.
pub(super) const BASE: PolicyKind = PolicyKind::new(&About {
    name: "base",
    label: "Base",
    summary: "wait for whatever is slow (Linux md)",
    source: "IODA §6.1; Linux md",
    drive_changes: DriveChanges::Nothing,
    windows: WindowUse::None,
    untimed: Untimed::Nothing,
    needs: Needs::Nothing,
    build: &|_| Box::new(Base),
});

struct Base;

impl Policy for Base {
    fn hooks(&self) -> Hooks {
        Hooks::NONE
    }
}
