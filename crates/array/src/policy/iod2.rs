//! IOD2: flag, rebuild, and busy remaining time (IODA §4.2.2, PL_BRT).
//!
//! Reads for a rebuild carry the flag too, so that the array learns how busy every drive of the
//! stripe is. Of n failed sub-I/Os the n−k with the shortest busy remaining time are sent again
//! without the flag; the k busiest are rebuilt. Costs as IOD1; when all drives age at the same
//! pace their remaining times are alike and little is gained.

use super::{Attempt, Failure, Policy, least_busy};
use crate::coordinate::Coordinator;
use nvme::PlFlag;
use units::{DriveId, Instant, Lba};

pub(super) struct Iod2;

impl Policy for Iod2 {
    fn first_attempt(&self, _: Instant, _: DriveId, _: Lba, _: &Coordinator) -> Attempt {
        Attempt::Send(PlFlag::Predictable)
    }

    fn rebuild_flag(&self) -> PlFlag {
        PlFlag::Predictable
    }

    fn wait_for(&self, failures: &[Failure]) -> usize {
        least_busy(failures)
    }
}
