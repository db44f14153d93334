//! IODA: flag and windows (IODA §4.4, PL_IO + PL_Win).
//!
//! Drives collect in turn, so at most k of a stripe are busy; reads carry the flag, so only those
//! that really meet a collection are rebuilt, and what the rebuild reads is not busy. Should a
//! drive break the contract, the least busy of too many failures is waited for, as in IOD2 (§7.3).
//! Costs the extra reads of few rebuilds, and write amplification if windows are short.

use super::{Attempt, Failure, Policy, least_busy};
use crate::coordinate::Coordinator;
use nvme::PlFlag;
use units::{DriveId, Instant, Lba};

pub(super) struct Ioda;

impl Policy for Ioda {
    fn first_attempt(&self, _: Instant, _: DriveId, _: Lba, _: &Coordinator) -> Attempt {
        Attempt::Send(PlFlag::Predictable)
    }

    fn rebuild_flag(&self) -> PlFlag {
        PlFlag::Predictable
    }

    fn wait_for(&self, failures: &[Failure]) -> usize {
        least_busy(failures)
    }

    fn uses_windows(&self) -> bool {
        true
    }
}
