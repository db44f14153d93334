//! IOD1: predictable-latency flag and reconstruction (IODA §4.2, PL_IO).
//!
//! Every read carries the flag. A sub-I/O that would meet a collection fails in about 1 µs and is
//! reconstructed from the rest of the stripe, read without the flag. At most k sub-I/Os of a stripe
//! can be reconstructed; if more fail, those that fail later are sent again without the flag and
//! wait. Costs the extra reads of reconstructions; does not help when several drives collect at
//! once.

use crate::policy::{
    About, Attempt, DriveChanges, Hooks, Needs, Policy, PolicyKind, View, WindowUse,
};
use alloc::boxed::Box;
use nvme::{PlFlag, Untimed};
use units::{DriveId, Instant, Lba};

/// The policy.
pub(super) const IOD1: PolicyKind = PolicyKind::new(&About {
    name: "iod1",
    label: "IOD1",
    summary: "drives fail busy reads fast, the host reconstructs them",
    source: "IODA §4.2",
    drive_changes: DriveChanges::Firmware("the PL flag"),
    windows: WindowUse::None,
    untimed: Untimed::Nothing,
    needs: Needs::Redundancy,
    build: &|_| Box::new(Iod1),
});

struct Iod1;

impl Policy for Iod1 {
    fn hooks(&self) -> Hooks {
        Hooks::FIRST_ATTEMPT
    }

    fn first_attempt(&mut self, _: Instant, _: DriveId, _: Lba, _: &View<'_>) -> Attempt {
        Attempt::Send(PlFlag::Predictable)
    }
}
