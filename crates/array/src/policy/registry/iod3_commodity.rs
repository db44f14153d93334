//! IOD3 on commodity drives: windows that the drives do not honour (IODA §6.3.3).
//!
//! The array never reads from the drive whose turn it is, as [`super::iod3`] does, but no drive is
//! told about windows: each collects when it is due. Costs IOD3's reconstructions, and helps only
//! by chance.

use super::iod3::Iod3;
use crate::policy::{About, DriveChanges, Needs, PolicyKind, WindowUse};
use alloc::boxed::Box;
use nvme::Untimed;

/// The policy.
pub(super) const IOD3_COMMODITY: PolicyKind = PolicyKind::new(&About {
    name: "iod3-commodity",
    label: "IOD3 commodity",
    summary: "as IOD3, but the drives know nothing of windows",
    source: "IODA §6.3.3",
    drive_changes: DriveChanges::Nothing,
    windows: WindowUse::Imagined,
    untimed: Untimed::Nothing,
    needs: Needs::Redundancy,
    build: &|setup| Box::new(Iod3 { parity_reads: setup.settings.iod3_parity_reads }),
});
