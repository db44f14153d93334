//! Where the pages of the array are: levels, chunks, parity rotation.

use core::fmt;
use units::{DriveId, Lba};

/// How redundancy is laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// Striping without redundancy.
    Raid0,
    /// One parity, always on the last drive.
    Raid4,
    /// One parity, rotating left-symmetrically.
    Raid5,
    /// Two parities P and Q, rotating left-symmetrically.
    Raid6,
}

impl Level {
    /// All levels.
    pub const ALL: [Self; 4] = [Self::Raid0, Self::Raid4, Self::Raid5, Self::Raid6];

    /// Number of parities, `k`.
    #[must_use]
    pub const fn parities(self) -> u32 {
        match self {
            Self::Raid0 => 0,
            Self::Raid4 | Self::Raid5 => 1,
            Self::Raid6 => 2,
        }
    }

    /// Fewest drives: one drive alone is a RAID-0, and needs no other name.
    #[must_use]
    pub const fn least_width(self) -> u32 {
        match self {
            Self::Raid0 => 1,
            Self::Raid4 | Self::Raid5 => WIDTH_MIN,
            Self::Raid6 => WIDTH_MIN + 1,
        }
    }

    /// The level as people write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Raid0 => "raid0",
            Self::Raid4 => "raid4",
            Self::Raid5 => "raid5",
            Self::Raid6 => "raid6",
        }
    }
}

/// What a member of a stripe holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The data chunk of this number within the stripe.
    Data(u32),
    /// The XOR of all data.
    P,
    /// The Reed-Solomon parity of all data.
    Q,
}

/// Smallest width of an array with parity.
const WIDTH_MIN: u32 = 3;
/// Largest width of an array; members of a stripe are kept as bits of a `u64`.
pub(crate) const WIDTH_MAX: u32 = 64;

/// Why a layout is impossible.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LayoutError {
    /// Too few or too many drives.
    Width {
        /// The level.
        level: Level,
        /// The width asked for.
        width: u32,
        /// The smallest possible.
        least: u32,
    },
    /// The chunk is empty, or larger than a drive.
    Chunk {
        /// Pages in a chunk.
        chunk_pages: u32,
        /// Pages of a drive.
        drive_pages: u64,
    },
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Width { level, width, least } => write!(
                f,
                "{} needs between {least} and {WIDTH_MAX} drives, not {width}",
                level.name()
            ),
            Self::Chunk { chunk_pages, drive_pages } => write!(
                f,
                "a chunk of {chunk_pages} pages does not fit a drive of {drive_pages} pages; choose between 1 page and the drive's size"
            ),
        }
    }
}

impl core::error::Error for LayoutError {}

/// The arrangement of an array over its drives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    level: Level,
    width: u32,
    chunk_pages: u32,
    stripes: u64,
}

/// The pages of one request that lie in one stripe and in the same rows of its chunks.
///
/// A row is one page of each member, the unit over which parity is computed. Splitting a request at
/// rows where the set of chunks changes makes every segment a full rectangle: chunks
/// `first_chunk … first_chunk + chunks` times rows `first_row … first_row + rows`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// The stripe.
    pub stripe: u64,
    /// First row within the chunk.
    pub first_row: u32,
    /// Number of rows.
    pub rows: u32,
    /// First data chunk.
    pub first_chunk: u32,
    /// Number of data chunks.
    pub chunks: u32,
}

impl Layout {
    /// An array of `width` drives of `drive_pages` pages each.
    ///
    /// # Errors
    ///
    /// If the level does not allow the width, or no chunk fits the drive.
    pub fn new(
        level: Level,
        width: u32,
        chunk_pages: u32,
        drive_pages: u64,
    ) -> Result<Self, LayoutError> {
        let least = level.least_width();
        if !(least..=WIDTH_MAX).contains(&width) {
            return Err(LayoutError::Width { level, width, least });
        }
        if chunk_pages == 0 || u64::from(chunk_pages) > drive_pages {
            return Err(LayoutError::Chunk { chunk_pages, drive_pages });
        }
        Ok(Self { level, width, chunk_pages, stripes: drive_pages / u64::from(chunk_pages) })
    }

    /// The level.
    #[must_use]
    pub const fn level(&self) -> Level {
        self.level
    }

    /// Number of drives.
    #[must_use]
    pub const fn width(&self) -> u32 {
        self.width
    }

    /// Number of parities, `k`.
    #[must_use]
    pub const fn parities(&self) -> u32 {
        self.level.parities()
    }

    /// Data chunks in a stripe.
    #[must_use]
    pub const fn data_chunks(&self) -> u32 {
        self.width - self.parities()
    }

    /// Pages in a chunk.
    #[must_use]
    pub const fn chunk_pages(&self) -> u32 {
        self.chunk_pages
    }

    /// Pages that the host can use.
    #[must_use]
    pub fn capacity_pages(&self) -> u64 {
        self.stripes * self.stripe_data_pages()
    }

    fn stripe_data_pages(&self) -> u64 {
        u64::from(self.data_chunks()) * u64::from(self.chunk_pages)
    }

    /// The drive that holds P in `stripe`; md's left-symmetric rotation.
    fn p_member(&self, stripe: u64) -> u32 {
        match self.level {
            Level::Raid0 | Level::Raid4 => self.width - 1,
            Level::Raid5 | Level::Raid6 => self.width - 1 - (stripe % u64::from(self.width)) as u32,
        }
    }

    /// The member that holds data chunk `chunk` of `stripe`.
    #[must_use]
    pub fn member_of(&self, stripe: u64, chunk: u32) -> DriveId {
        let member = match self.level {
            Level::Raid0 | Level::Raid4 => chunk,
            Level::Raid5 => (self.p_member(stripe) + 1 + chunk) % self.width,
            Level::Raid6 => (self.p_member(stripe) + 2 + chunk) % self.width,
        };
        DriveId(member as u8)
    }

    /// What `member` holds in `stripe`.
    #[must_use]
    pub fn role(&self, stripe: u64, member: DriveId) -> Role {
        let member = u32::from(member.0);
        let p = self.p_member(stripe);
        let after_p = (member + self.width - p) % self.width;
        match self.level {
            Level::Raid0 => Role::Data(member),
            Level::Raid4 if member == p => Role::P,
            Level::Raid4 => Role::Data(member),
            Level::Raid5 if after_p == 0 => Role::P,
            Level::Raid5 => Role::Data(after_p - 1),
            Level::Raid6 => match after_p {
                0 => Role::P,
                1 => Role::Q,
                _ => Role::Data(after_p - 2),
            },
        }
    }

    /// The parity members of `stripe` as bits.
    #[must_use]
    pub fn parity_mask(&self, stripe: u64) -> u64 {
        let p = self.p_member(stripe);
        match self.level {
            Level::Raid0 => 0,
            Level::Raid4 | Level::Raid5 => 1 << p,
            Level::Raid6 => (1 << p) | (1 << ((p + 1) % self.width)),
        }
    }

    /// All members as bits.
    #[must_use]
    pub fn all_members(&self) -> u64 {
        u64::MAX >> (64 - self.width)
    }

    /// The block on every drive that row `row` of `stripe` is.
    #[must_use]
    pub fn lba(&self, stripe: u64, row: u32) -> Lba {
        Lba(stripe * u64::from(self.chunk_pages) + u64::from(row))
    }

    /// The page of the array at row `row` of data chunk `chunk` of `stripe`.
    #[must_use]
    pub fn page(&self, stripe: u64, chunk: u32, row: u32) -> u64 {
        stripe * self.stripe_data_pages()
            + u64::from(chunk) * u64::from(self.chunk_pages)
            + u64::from(row)
    }

    /// Splits the pages `first .. first + pages` of the array into segments, in order of stripes.
    pub fn segments(&self, first: u64, pages: u64) -> impl Iterator<Item = Segment> + use<> {
        Segments { layout: *self, next: first, end: first + pages, pending: [None; 3] }
    }
}

struct Segments {
    layout: Layout,
    next: u64,
    end: u64,
    pending: [Option<Segment>; 3],
}

impl Segments {
    /// Cuts the pages `from .. to` of one stripe, counted within it, into rectangles.
    fn cut(&mut self, stripe: u64, from: u64, to: u64) {
        let chunk = u64::from(self.layout.chunk_pages);
        let (first_chunk, first_row) = ((from / chunk) as u32, (from % chunk) as u32);
        let last = to - 1;
        let (last_chunk, end_row) = ((last / chunk) as u32, (last % chunk) as u32 + 1);
        let chunk = self.layout.chunk_pages;
        // Rows where the set of chunks changes.
        let (low, high) = (first_row.min(end_row), first_row.max(end_row));
        for (slot, (begin, end)) in [(0, low), (low, high), (high, chunk)].into_iter().enumerate() {
            let starts_in = first_chunk + u32::from(begin < first_row);
            let ends_in = last_chunk + u32::from(begin < end_row);
            if begin < end && starts_in < ends_in {
                self.pending[slot] = Some(Segment {
                    stripe,
                    first_row: begin,
                    rows: end - begin,
                    first_chunk: starts_in,
                    chunks: ends_in - starts_in,
                });
            }
        }
    }
}

impl Iterator for Segments {
    type Item = Segment;

    #[inline]
    fn next(&mut self) -> Option<Segment> {
        loop {
            if let Some(segment) = self.pending.iter_mut().find_map(Option::take) {
                return Some(segment);
            }
            if self.next == self.end {
                return None;
            }
            let stripe_pages = self.layout.stripe_data_pages();
            let stripe = self.next / stripe_pages;
            let start = stripe * stripe_pages;
            let stop = self.end.min(start + stripe_pages);
            self.cut(stripe, self.next - start, stop - start);
            self.next = stop;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;

    #[test]
    fn raid5_is_left_symmetric() {
        let layout = Layout::new(Level::Raid5, 4, 1, 100).unwrap();
        let rows: Vec<Vec<Role>> = (0..4)
            .map(|stripe| (0..4).map(|m| layout.role(stripe, DriveId(m))).collect())
            .collect();
        let d = Role::Data;
        assert_eq!(rows[0], vec![d(0), d(1), d(2), Role::P]);
        assert_eq!(rows[1], vec![d(1), d(2), Role::P, d(0)]);
        assert_eq!(rows[2], vec![d(2), Role::P, d(0), d(1)]);
        assert_eq!(rows[3], vec![Role::P, d(0), d(1), d(2)]);
    }

    #[test]
    fn roles_and_members_agree_for_every_level_and_width() {
        for level in Level::ALL {
            for width in level.least_width()..=WIDTH_MAX {
                let layout = Layout::new(level, width, 2, 1000).unwrap();
                for stripe in 0..u64::from(2 * width) {
                    for chunk in 0..layout.data_chunks() {
                        let member = layout.member_of(stripe, chunk);
                        assert_eq!(layout.role(stripe, member), Role::Data(chunk));
                        assert_eq!(layout.parity_mask(stripe) >> member.0 & 1, 0);
                    }
                    assert_eq!(layout.parity_mask(stripe).count_ones(), level.parities());
                }
            }
        }
    }

    #[test]
    fn segments_cover_every_page_once() {
        for (level, width, chunk) in [
            (Level::Raid5, 4, 1),
            (Level::Raid6, 6, 8),
            (Level::Raid0, 3, 5),
            (Level::Raid0, 1, 400),
        ] {
            let layout = Layout::new(level, width, chunk, 400).unwrap();
            for first in 0..60 {
                for pages in 1..80 {
                    let mut seen: Vec<u64> = Vec::new();
                    for s in layout.segments(first, pages) {
                        assert!(s.rows > 0 && s.first_row + s.rows <= chunk);
                        for chunk in s.first_chunk..s.first_chunk + s.chunks {
                            for row in s.first_row..s.first_row + s.rows {
                                seen.push(layout.page(s.stripe, chunk, row));
                            }
                        }
                    }
                    seen.sort_unstable();
                    assert_eq!(seen, (first..first + pages).collect::<Vec<_>>());
                }
            }
        }
    }

    #[test]
    fn impossible_layouts_are_refused() {
        let error = Layout::new(Level::Raid6, 3, 1, 10).unwrap_err();
        assert_eq!(alloc::format!("{error}"), "raid6 needs between 4 and 64 drives, not 3");
        let error = Layout::new(Level::Raid0, 0, 1, 10).unwrap_err();
        assert_eq!(alloc::format!("{error}"), "raid0 needs between 1 and 64 drives, not 0");
        assert!(Layout::new(Level::Raid5, 65, 1, 10).is_err());
        assert!(Layout::new(Level::Raid5, 4, 0, 10).is_err());
        assert!(Layout::new(Level::Raid5, 4, 11, 10).is_err());
    }
}
