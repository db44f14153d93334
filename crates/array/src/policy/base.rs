//! Base: wait for whatever is slow.
//!
//! Every read goes to the drive that holds the page, without a flag, and waits for collections
//! (IODA §6.1, "Base"). Costs nothing extra; pays with its tail.

use super::{Attempt, Policy};
use crate::coordinate::Coordinator;
use nvme::PlFlag;
use units::{DriveId, Instant, Lba};

pub(super) struct Base;

impl Policy for Base {
    fn first_attempt(&self, _: Instant, _: DriveId, _: Lba, _: &Coordinator) -> Attempt {
        Attempt::Send(PlFlag::Off)
    }
}
