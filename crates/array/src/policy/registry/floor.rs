//! Floor: the waits that remain if changing flash takes no time.
//!
//! The same requests at the same times, on drives whose programs, erases and collections end at
//! once: reads wait only for reads, and a write only for the reads that its parity needs. Ideal
//! still waits for the host's own writes. A policy that hides those as well can be faster than
//! Ideal, and Floor shows how much faster it can still become.

use crate::policy::{About, DriveChanges, Hooks, Needs, Policy, PolicyKind, WindowUse};
use alloc::boxed::Box;
use nvme::Untimed;

/// The policy.
pub(super) const FLOOR: PolicyKind = PolicyKind::new(&About {
    name: "floor",
    label: "Floor",
    summary: "programs, erases and collections take no time; reads wait for reads only",
    source: "ours",
    drive_changes: DriveChanges::Impossible("programs, erases and collections that take no time"),
    windows: WindowUse::None,
    untimed: Untimed::Writes,
    needs: Needs::Nothing,
    build: &|_| Box::new(Floor),
});

struct Floor;

impl Policy for Floor {
    fn hooks(&self) -> Hooks {
        Hooks::NONE
    }
}
