//! How many members of a stripe that is read would meet a collection: what a reconstruction would
//! find, whether or not the policy tries one.

use array::{Layout, Request};
use engine::Drive;
use units::{DriveId, Instant, Observe};

/// Stripe reads by the number of busy members.
///
/// Looking costs as much as the array is wide, so of wide arrays only every so many stripe reads are
/// looked at; up to eight drives it is all of them.
#[derive(Clone, Debug)]
pub(crate) struct BusyMembers {
    counts: Vec<u64>,
    page_bytes: u64,
    /// Stripe reads until one is looked at again.
    until_next: u32,
}

impl BusyMembers {
    pub(crate) fn new(width: usize, page_bytes: u64) -> Self {
        Self { counts: vec![0; width + 1], page_bytes, until_next: 1 }
    }

    /// A read comes.
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
            let mut busy = 0;
            while members != 0 {
                let drive = DriveId(members.trailing_zeros() as u8);
                members &= members - 1;
                let Some(ssd) =
                    drives[drive.index()].ssd().filter(|ssd| !ssd.has_nothing_to_tell())
                else {
                    continue;
                };
                let lba = layout.lba(segment.stripe, segment.first_row, drive);
                busy += usize::from(ssd.would_meet_collection(now, lba));
            }
            self.counts[busy] += 1;
        }
    }

    /// Index 0 to the array's width.
    pub(crate) fn into_counts(self) -> Vec<u64> {
        self.counts
    }
}
