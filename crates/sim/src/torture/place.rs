//! Mapping of a drive's blocks to rows of stripes.

use array::{Layout, Role};
use units::{DriveId, Lba};

/// A row of a stripe.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Row {
    pub(super) stripe: u64,
    pub(super) row: u32,
}

impl Row {
    /// Row with this page of the array.
    pub(super) fn of_page(layout: &Layout, page: u64) -> Self {
        let chunk_pages = u64::from(layout.chunk_pages());
        let stripe_pages = u64::from(layout.data_chunks()) * chunk_pages;
        Self { stripe: page / stripe_pages, row: (page % chunk_pages) as u32 }
    }

    /// Row with page `lba` of a drive; `None` behind the last stripe.
    pub(super) fn of_drive(layout: &Layout, drive: DriveId, lba: u64) -> Option<Self> {
        let chunk_pages = u64::from(layout.chunk_pages());
        let (width, members) = (u64::from(layout.width()), u64::from(layout.stripe_width()));
        // Stripes are placed in rotation, so those with a chunk of this number are neighbours.
        let first = (lba / chunk_pages * width / members).saturating_sub(1);
        let last = ((lba / chunk_pages + 1) * width).div_ceil(members) + 1;
        let row = (lba % chunk_pages) as u32;
        (first..last.min(layout.stripes()))
            .filter(|&stripe| layout.members(stripe) >> drive.0 & 1 == 1)
            .find(|&stripe| layout.lba(stripe, row, drive) == Lba(lba))
            .map(|stripe| Self { stripe, row })
    }

    /// Members of the row.
    pub(super) fn members(self, layout: &Layout) -> impl Iterator<Item = DriveId> + use<> {
        let members = layout.members(self.stripe);
        (0..layout.width() as u8).filter(move |drive| members >> drive & 1 == 1).map(DriveId)
    }

    /// Pages of the array in the row, each with its member.
    pub(super) fn pages(self, layout: &Layout) -> impl Iterator<Item = (u64, DriveId)> + use<> {
        let (layout, Self { stripe, row }) = (*layout, self);
        (0..layout.data_chunks())
            .map(move |chunk| (layout.page(stripe, chunk, row), layout.member_of(stripe, chunk)))
    }

    /// Number of the data chunk of a member; `None` if it has a parity or a copy.
    pub(super) fn chunk(self, layout: &Layout, member: DriveId) -> Option<u32> {
        match layout.role(self.stripe, member) {
            Role::Data(chunk) => Some(chunk),
            Role::P | Role::Q => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use array::Level;
    use std::collections::BTreeMap;

    #[test]
    fn every_page_of_every_drive_is_in_the_row_that_the_layout_puts_there() {
        for (level, width, members) in [
            (Level::Raid5, 4, 4),
            (Level::Raid5, 5, 3),
            (Level::Raid6, 6, 5),
            (Level::Raid1, 3, 3),
            (Level::Raid10, 6, 2),
        ] {
            let layout =
                Layout::striped(level, width, members, 4, 4 * 60).unwrap_or_else(|_| panic!());
            let mut rows = BTreeMap::new();
            for stripe in 0..layout.stripes() {
                for row in 0..4 {
                    let at = Row { stripe, row };
                    assert_eq!(at.members(&layout).count() as u32, members);
                    for (page, drive) in at.pages(&layout) {
                        assert_eq!(Row::of_page(&layout, page), at);
                        assert!(at.chunk(&layout, drive).is_some());
                    }
                    for drive in at.members(&layout) {
                        rows.insert((drive, layout.lba(stripe, row, drive).0), at);
                    }
                }
            }
            for drive in (0..width as u8).map(DriveId) {
                for lba in 0..4 * 60 {
                    let expected = rows.get(&(drive, lba)).copied();
                    assert_eq!(Row::of_drive(&layout, drive, lba), expected, "{drive:?} {lba}");
                }
            }
        }
    }
}
