//! Pages that drives could not read and parities that did not fit: what is told and counted of them.

use crate::control::{DamagedPage, IntegrityStatus};
use array::{MemberSet, PageRepair, RepairCounters};
use engine::checksums::ChecksumCounters;
use std::collections::VecDeque;
use units::DriveId;

/// Damaged pages that a status lists.
const LISTED_MAX: usize = 16;
/// Events of one kind that are logged one by one; those that follow are only counted.
const LOGGED_MAX: u64 = 100;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Integrity {
    listed: VecDeque<DamagedPage>,
    repairs: u64,
    wrong: u64,
    mismatches: u64,
}

impl Integrity {
    /// What was read does not fit its checksum.
    pub(super) fn note_checksum(&mut self, drive: DriveId, offset_bytes: u64) {
        self.wrong += 1;
        if self.wrong <= LOGGED_MAX {
            let drive = drive.0;
            tracing::warn!(drive, offset_bytes, "a drive returned data with a wrong checksum");
        }
    }

    /// A page that a drive could not read was repaired, or could not be.
    pub(super) fn note_repair(&mut self, repair: PageRepair, page_bytes: u64) {
        let PageRepair { drive: DriveId(drive), lba, repaired } = repair;
        let offset_bytes = lba.0 * page_bytes;
        if self.listed.len() == LISTED_MAX {
            self.listed.pop_front();
        }
        self.listed.push_back(DamagedPage { drive, offset_bytes, repaired });
        self.repairs += 1;
        match repaired {
            true if self.repairs > LOGGED_MAX => {}
            true => tracing::warn!(drive, offset_bytes, "a damaged page was repaired"),
            false => tracing::error!(drive, offset_bytes, "a damaged page cannot be repaired"),
        }
        if self.repairs == LOGGED_MAX {
            tracing::warn!("many pages are damaged: the status counts those that are repaired");
        }
    }

    /// A scrub found parities that do not fit.
    pub(super) fn note_mismatch(&mut self, stripe: u64, members: MemberSet) {
        self.mismatches += 1;
        if self.mismatches <= LOGGED_MAX {
            let drives: Vec<u8> = members.iter().collect();
            tracing::warn!(stripe, ?drives, "parity on these drives does not fit the data");
        }
    }

    /// A scrub begins: its mismatches are logged one by one again.
    pub(super) fn scrub_begun(&mut self) {
        self.mismatches = 0;
    }

    pub(super) fn status(
        &self,
        repairs: &RepairCounters,
        checksums: Option<&ChecksumCounters>,
    ) -> IntegrityStatus {
        let counted = checksums.copied().unwrap_or_default();
        IntegrityStatus {
            checksums: checksums.is_some(),
            verified_blocks: counted.verified,
            mismatched_blocks: counted.mismatched,
            accepted_blocks: counted.accepted,
            repaired_pages: repairs.rewritten,
            lost_pages: repairs.lost,
            damaged_pages: self.listed.iter().cloned().collect(),
        }
    }
}
