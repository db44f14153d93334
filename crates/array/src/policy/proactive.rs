//! Proactive: read the whole stripe every time, and take what comes first (IODA §5 and §6.2.1).
//!
//! Every read asks all members of its stripe at once and goes on as soon as any `N − k` of them have
//! answered, whatever the others do. Needs nothing from the drives. Costs the reads of the other
//! members with every read, which queue up in front of reads that somebody waits for.

use super::{Attempt, Policy};
use crate::coordinate::Coordinator;
use nvme::PlFlag;
use units::{DriveId, Instant, Lba};

pub(super) struct Proactive;

impl Policy for Proactive {
    fn first_attempt(&self, _: Instant, _: DriveId, _: Lba, _: &Coordinator) -> Attempt {
        Attempt::Send(PlFlag::Off)
    }

    fn races(&self) -> bool {
        true
    }
}
