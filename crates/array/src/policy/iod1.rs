//! IOD1: predictable-latency flag and rebuild (IODA §4.2, PL_IO).
//!
//! Every read carries the flag. A sub-I/O that would meet a collection fails in about 1 µs and is
//! rebuilt from the rest of the stripe, read without the flag. At most k sub-I/Os of a stripe can
//! be rebuilt; of more, the ones that fail later are sent again without the flag and wait. Costs
//! the extra reads of rebuilds; helpless when several drives collect at once.

use super::{Attempt, Policy};
use crate::coordinate::Coordinator;
use nvme::PlFlag;
use units::{DriveId, Instant, Lba};

pub(super) struct Iod1;

impl Policy for Iod1 {
    fn first_attempt(&self, _: Instant, _: DriveId, _: Lba, _: &Coordinator) -> Attempt {
        Attempt::Send(PlFlag::Predictable)
    }
}
