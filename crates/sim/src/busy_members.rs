//! Busy members of the stripes that are read: drives on which a reconstruction would wait, even if
//! the policy tries none.

use array::{Layout, Request};
use engine::Drive;
use ssd::BusyWith;
use units::{DriveId, Instant, Observe};

/// Stripe reads by the number of busy members, and by the number of collecting members.
///
/// The cost of a check grows with the width of the array. Beyond eight drives, only one in `width /
/// 8` stripe reads is checked.
#[derive(Clone, Debug)]
pub(crate) struct BusyMembers {
    busy: Vec<u64>,
    collecting: Vec<u64>,
    page_bytes: u64,
    /// Number of stripe reads until the next check.
    until_next: u32,
}

impl BusyMembers {
    pub(crate) fn new(width: usize, page_bytes: u64) -> Self {
        let none = vec![0; width + 1];
        Self { busy: none.clone(), collecting: none, page_bytes, until_next: 1 }
    }

    /// Counts the stripe reads of a request.
    pub(crate) fn look<O: Observe>(
        &mut self,
        now: Instant,
        layout: &Layout,
        drives: &[Drive<O>],
        request: &Request,
    ) {
        let first = request.offset_bytes / self.page_bytes;
        let end = (request.offset_bytes + request.size_bytes).div_ceil(self.page_bytes);
        for segment in layout.segments(first, end - first) {
            self.until_next -= 1;
            if self.until_next > 0 {
                continue;
            }
            self.until_next = layout.stripe_width().div_ceil(8);
            let mut members = layout.members(segment.stripe);
            let (mut busy, mut collecting) = (0, 0);
            while members != 0 {
                let drive = DriveId(members.trailing_zeros() as u8);
                members &= members - 1;
                let Some(ssd) =
                    drives[drive.index()].ssd().filter(|ssd| !ssd.has_nothing_to_tell())
                else {
                    continue;
                };
                let lba = layout.lba(segment.stripe, segment.first_row, drive);
                let work = ssd.busy_with(now, lba);
                busy += usize::from(work.is_some());
                collecting += usize::from(work == Some(BusyWith::Collection));
            }
            self.busy[busy] += 1;
            self.collecting[collecting] += 1;
        }
    }

    /// Both counts, each with an entry for 0 busy members up to the array's width.
    pub(crate) fn into_counts(self) -> (Vec<u64>, Vec<u64>) {
        (self.busy, self.collecting)
    }
}
