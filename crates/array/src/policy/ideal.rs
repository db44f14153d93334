//! Ideal: what Base would be if collections took no time.
//!
//! Collections still happen and still amplify writes; only their delays are gone (IODA §6.1,
//! "Ideal"). Not a policy that anyone can have, but the line that the others are measured against.

use super::{Attempt, Policy};
use crate::coordinate::Coordinator;
use nvme::PlFlag;
use units::{DriveId, Instant, Lba};

pub(super) struct Ideal;

impl Policy for Ideal {
    fn first_attempt(&self, _: Instant, _: DriveId, _: Lba, _: &Coordinator) -> Attempt {
        Attempt::Send(PlFlag::Off)
    }

    fn collects_instantly(&self) -> bool {
        true
    }
}
