//! Which bytes of the array may hold something.

use super::array_io::ArrayIo;
use crate::buffer::PAGE_BYTES;
use crate::nbd::Extent;
use units::{DriveId, Lba};

/// Most extents in one answer; the client asks again for the rest.
const EXTENTS_MAX: usize = 1024;
/// Most pages that are looked up for one answer, a millisecond of work; the client asks again for
/// the rest.
const PAGES_MAX: u64 = 16 << 10;

/// Which of the bytes may hold something: those whose page was never written, or was trimmed, are
/// holes that read as zeros. Also returns how many pages were looked up.
pub(super) fn extents(io: &ArrayIo, offset_bytes: u64, length_bytes: u32) -> (Vec<Extent>, u64) {
    let array = io.engine().array();
    let layout = *array.layout();
    let page_bytes = io.page_bytes();
    let most = (offset_bytes / page_bytes + PAGES_MAX) * page_bytes;
    let end = (offset_bytes + u64::from(length_bytes)).min(most);
    let mut extents: Vec<Extent> = Vec::new();
    let mut at = offset_bytes;
    while at < end {
        let page = at / page_bytes;
        let next = ((page + 1) * page_bytes).min(end);
        let hole = layout.segments(page, 1).all(|segment| {
            let member = layout.member_of(segment.stripe, segment.first_chunk);
            let (drive, lba) = array.locate(segment.stripe, segment.first_row, member);
            array.absent() >> drive.0 & 1 == 0 && is_hole(io, drive, lba, page_bytes)
        });
        let length = (next - at) as u32;
        let full = extents.len() == EXTENTS_MAX;
        match extents.last_mut() {
            Some(last) if last.hole == hole => last.length_bytes += length,
            _ if full => break,
            _ => extents.push(Extent { length_bytes: length, hole, zero: hole }),
        }
        at = next;
    }
    (extents, at.div_ceil(page_bytes) - offset_bytes / page_bytes)
}

fn is_hole(io: &ArrayIo, drive: DriveId, lba: Lba, page_bytes: u64) -> bool {
    if io.engine().plane().is_accepted(drive, lba) {
        return false;
    }
    let pages = page_bytes / PAGE_BYTES as u64;
    let first = lba.0 * pages;
    (first..first + pages).all(|page| io.storage.is_hole(drive, page))
}
