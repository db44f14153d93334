//! Placement of the array's pages: levels, chunks, parity rotation, stripes narrower than the
//! array.

use crate::members::MemberSet;
use core::fmt;
use units::{DriveId, Lba};

/// RAID level: how redundancy is laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// Striping without redundancy.
    Raid0,
    /// Mirrors: one data chunk and a copy of it on every other member of its stripe; which member
    /// has the data chunk rotates as the parity of RAID-5 does.
    Raid1,
    /// One parity, always on the last member of the stripe.
    Raid4,
    /// One parity, rotating left-symmetrically.
    Raid5,
    /// Two parities P and Q, rotating left-symmetrically.
    Raid6,
    /// Stripes of two mirrored chunks over an even number of drives.
    Raid10,
}

impl Level {
    /// All levels.
    pub const ALL: [Self; 6] =
        [Self::Raid0, Self::Raid1, Self::Raid4, Self::Raid5, Self::Raid6, Self::Raid10];

    /// Number of members that a stripe of `stripe_width` members can miss, `k`: its parities, or
    /// the copies of its data chunk.
    #[must_use]
    pub const fn parities(self, stripe_width: u32) -> u32 {
        match self {
            Self::Raid0 => 0,
            Self::Raid1 | Self::Raid10 => stripe_width.saturating_sub(1),
            Self::Raid4 | Self::Raid5 => 1,
            Self::Raid6 => 2,
        }
    }

    /// Whether anything can be reconstructed.
    #[must_use]
    pub const fn is_redundant(self) -> bool {
        !matches!(self, Self::Raid0)
    }

    /// Whether the other members of a stripe are copies of its data.
    #[must_use]
    pub const fn is_mirrored(self) -> bool {
        matches!(self, Self::Raid1 | Self::Raid10)
    }

    /// Minimum number of drives. Only RAID-0 can have a single drive.
    #[must_use]
    pub const fn least_width(self) -> u32 {
        match self {
            Self::Raid0 => 1,
            Self::Raid1 => MIRROR_MIN,
            Self::Raid4 | Self::Raid5 => WIDTH_MIN,
            Self::Raid6 => WIDTH_MIN + 1,
            Self::Raid10 => 2 * MIRROR_MIN,
        }
    }

    /// Minimum number of members of a stripe.
    const fn least_stripe_width(self) -> u32 {
        match self {
            Self::Raid10 => MIRROR_MIN,
            _ => self.least_width(),
        }
    }

    /// Default number of members of a stripe on an array of `width` drives: two in RAID-10, all
    /// drives elsewhere.
    #[must_use]
    pub const fn usual_stripe_width(self, width: u32) -> u32 {
        match self {
            Self::Raid10 => MIRROR_MIN,
            _ => width,
        }
    }

    /// Name of the level, such as `raid5`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Raid0 => "raid0",
            Self::Raid1 => "raid1",
            Self::Raid4 => "raid4",
            Self::Raid5 => "raid5",
            Self::Raid6 => "raid6",
            Self::Raid10 => "raid10",
        }
    }
}

/// Content of a member of a stripe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The data chunk of this number within the stripe.
    Data(u32),
    /// The XOR of all data. In a mirror, which has one data chunk, it is a copy.
    P,
    /// The Reed-Solomon parity of all data.
    Q,
}

/// Minimum width of an array with parity.
const WIDTH_MIN: u32 = 3;
/// Minimum number of members of a mirror.
const MIRROR_MIN: u32 = 2;
/// Maximum width of an array: members of a stripe are kept as bits of a `u64`.
pub(crate) const WIDTH_MAX: u32 = 64;

/// Reason why a layout is impossible.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
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
    /// Stripes of two members over an odd number of drives.
    Odd {
        /// The level.
        level: Level,
        /// The width asked for.
        width: u32,
    },
    /// Too few or too many members in a stripe.
    StripeWidth {
        /// The level.
        level: Level,
        /// Members of a stripe.
        stripe_width: u32,
        /// The smallest possible.
        least: u32,
        /// The largest possible.
        most: u32,
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
            Self::Odd { level, width } => write!(
                f,
                "{} needs an even number of drives, not {width}; add one, or choose raid1 with narrow stripes",
                level.name()
            ),
            Self::StripeWidth { level, stripe_width, least, most } if least == most => write!(
                f,
                "the stripes of {} have {least} members, not {stripe_width}",
                level.name()
            ),
            Self::StripeWidth { level, stripe_width, least, most } => write!(
                f,
                "a stripe of {} has between {least} and {most} members on this array, not {stripe_width}",
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
///
/// Stripes may be narrower than the array (the channels of Sha et al., "Degraded mode-benefited I/O
/// scheduling", §3.2). The chunks of all stripes are then dealt to the drives in turn: chunk `q`,
/// counted from the first of stripe 0, is on drive `q % width`, the `q / width`-th there. So a
/// stripe lies on neighbouring drives (the last and the first are neighbours), and its chunks may
/// have different addresses on their drives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    level: Level,
    width: u32,
    stripe_width: u32,
    chunk_pages: u32,
    stripes: u64,
    /// Number of stripes after which the same drives are members again; 1 if all drives always are.
    stripes_per_period: u32,
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
    /// An array of `width` drives of `drive_pages` pages each, with the default stripe width of the
    /// level.
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
        Self::striped(level, width, level.usual_stripe_width(width), chunk_pages, drive_pages)
    }

    /// An array of `width` drives of `drive_pages` pages each, with stripes of `stripe_width`
    /// members.
    ///
    /// # Errors
    ///
    /// If the level does not allow the width or the stripe width, or no chunk fits the drive.
    pub fn striped(
        level: Level,
        width: u32,
        stripe_width: u32,
        chunk_pages: u32,
        drive_pages: u64,
    ) -> Result<Self, LayoutError> {
        let least = level.least_width();
        if !(least..=WIDTH_MAX).contains(&width) {
            return Err(LayoutError::Width { level, width, least });
        }
        if level == Level::Raid10 && !width.is_multiple_of(MIRROR_MIN) {
            return Err(LayoutError::Odd { level, width });
        }
        let least = level.least_stripe_width();
        let most = if level == Level::Raid10 { MIRROR_MIN } else { width };
        if !(least..=most).contains(&stripe_width) {
            return Err(LayoutError::StripeWidth { level, stripe_width, least, most });
        }
        if chunk_pages == 0 || u64::from(chunk_pages) > drive_pages {
            return Err(LayoutError::Chunk { chunk_pages, drive_pages });
        }
        let chunks = u64::from(width) * (drive_pages / u64::from(chunk_pages));
        let stripes = chunks / u64::from(stripe_width);
        let stripes_per_period = width / greatest_common_divisor(width, stripe_width);
        Ok(Self { level, width, stripe_width, chunk_pages, stripes, stripes_per_period })
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

    /// Members of a stripe: at most the number of drives.
    #[must_use]
    pub const fn stripe_width(&self) -> u32 {
        self.stripe_width
    }

    /// Number of parities of a stripe, `k`; of mirrors, the number of copies.
    #[must_use]
    pub const fn parities(&self) -> u32 {
        self.level.parities(self.stripe_width)
    }

    /// Data chunks in a stripe.
    #[must_use]
    pub const fn data_chunks(&self) -> u32 {
        self.stripe_width - self.parities()
    }

    /// Pages in a chunk.
    #[must_use]
    pub const fn chunk_pages(&self) -> u32 {
        self.chunk_pages
    }

    /// Number of stripes.
    #[must_use]
    pub const fn stripes(&self) -> u64 {
        self.stripes
    }

    /// Pages that the host can use.
    #[must_use]
    pub fn capacity_pages(&self) -> u64 {
        self.stripes * self.stripe_data_pages()
    }

    fn stripe_data_pages(&self) -> u64 {
        u64::from(self.data_chunks()) * u64::from(self.chunk_pages)
    }

    /// Number of stripes after which all chunks are on the same drives again.
    #[must_use]
    pub fn stripes_per_cycle(&self) -> u64 {
        u64::from(self.stripes_per_period) * u64::from(self.stripe_width)
    }

    /// The drive at position 0 of `stripe`.
    #[inline]
    fn first_drive(&self, stripe: u64) -> u32 {
        match self.stripes_per_period {
            1 => 0,
            _ => (stripe * u64::from(self.stripe_width) % u64::from(self.width)) as u32,
        }
    }

    /// The drive at `position` of `stripe`.
    #[inline]
    fn drive_at(&self, stripe: u64, position: u32) -> DriveId {
        let drive = self.first_drive(stripe) + position;
        DriveId(if drive < self.width { drive } else { drive - self.width } as u8)
    }

    /// The position of `member` in `stripe`; at least the stripe's width if it is not a member.
    #[inline]
    fn position_of(&self, stripe: u64, member: DriveId) -> u32 {
        let (drive, first) = (u32::from(member.0), self.first_drive(stripe));
        if drive >= first { drive - first } else { drive + self.width - first }
    }

    /// The position of P, or of the first copy of a mirror, in `stripe`: md's left-symmetric
    /// rotation. It advances when the same drives are members again, so that all drives have
    /// equally many parities.
    #[inline]
    fn p_position(&self, stripe: u64) -> u32 {
        let last = self.stripe_width - 1;
        match self.level {
            Level::Raid0 | Level::Raid4 => last,
            Level::Raid1 | Level::Raid5 | Level::Raid6 | Level::Raid10 => {
                let period = match self.stripes_per_period {
                    1 => stripe,
                    stripes => stripe / u64::from(stripes),
                };
                last - (period % u64::from(self.stripe_width)) as u32
            }
        }
    }

    /// The member that holds data chunk `chunk` of `stripe`.
    #[must_use]
    pub fn member_of(&self, stripe: u64, chunk: u32) -> DriveId {
        let position = match self.level {
            Level::Raid0 | Level::Raid4 => chunk,
            Level::Raid1 | Level::Raid5 | Level::Raid10 => {
                (self.p_position(stripe) + 1 + chunk) % self.stripe_width
            }
            Level::Raid6 => (self.p_position(stripe) + 2 + chunk) % self.stripe_width,
        };
        self.drive_at(stripe, position)
    }

    /// The members that hold these data chunks of `stripe`.
    #[inline]
    pub(crate) fn data_set(&self, stripe: u64, first_chunk: u32, chunks: u32) -> MemberSet {
        if chunks == 1 {
            return MemberSet::of(self.member_of(stripe, first_chunk).0);
        }
        (first_chunk..first_chunk + chunks).map(|chunk| self.member_of(stripe, chunk).0).collect()
    }

    /// The content of `member` in `stripe`, of which it must be a member.
    #[must_use]
    pub fn role(&self, stripe: u64, member: DriveId) -> Role {
        let position = self.position_of(stripe, member);
        debug_assert!(position < self.stripe_width, "{member:?} is no member of stripe {stripe}");
        let p = self.p_position(stripe);
        let after_p = (position + self.stripe_width - p) % self.stripe_width;
        match self.level {
            Level::Raid0 => Role::Data(position),
            Level::Raid1 | Level::Raid10 if after_p == 1 => Role::Data(0),
            Level::Raid1 | Level::Raid10 => Role::P,
            Level::Raid4 if position == p => Role::P,
            Level::Raid4 => Role::Data(position),
            Level::Raid5 if after_p == 0 => Role::P,
            Level::Raid5 => Role::Data(after_p - 1),
            Level::Raid6 => match after_p {
                0 => Role::P,
                1 => Role::Q,
                _ => Role::Data(after_p - 2),
            },
        }
    }

    /// The members of `stripe` that hold parity or copies, as bits.
    #[inline]
    #[must_use]
    pub fn parity_mask(&self, stripe: u64) -> u64 {
        let p = self.p_position(stripe);
        let bit = |position| 1 << self.drive_at(stripe, position).0;
        match self.level {
            Level::Raid0 => 0,
            Level::Raid1 | Level::Raid10 => {
                self.members(stripe) & !bit((p + 1) % self.stripe_width)
            }
            Level::Raid4 | Level::Raid5 => bit(p),
            Level::Raid6 => bit(p) | bit((p + 1) % self.stripe_width),
        }
    }

    /// The drives of the array.
    pub(crate) fn drives(&self) -> MemberSet {
        MemberSet::from_bits(u64::MAX >> (64 - self.width))
    }

    /// The members of `stripe`.
    #[inline]
    pub(crate) fn member_set(&self, stripe: u64) -> MemberSet {
        MemberSet::from_bits(self.members(stripe))
    }

    /// The members of `stripe` that hold parity or copies.
    #[inline]
    pub(crate) fn parity_set(&self, stripe: u64) -> MemberSet {
        MemberSet::from_bits(self.parity_mask(stripe))
    }

    /// The members of `stripe` as bits: drives of the array.
    #[inline]
    #[must_use]
    pub fn members(&self, stripe: u64) -> u64 {
        if self.stripes_per_period == 1 {
            return self.drives().bits();
        }
        let first = self.first_drive(stripe);
        let from_first = (u64::MAX >> (64 - self.stripe_width)) << first;
        // Members past the last drive are the first drives. At least one drive is no member here,
        // so the stripe has fewer than 64 and no shift is too long.
        let past_the_last = (first + self.stripe_width).saturating_sub(self.width);
        (from_first | ((1 << past_the_last) - 1)) & self.drives().bits()
    }

    /// Whether every stripe still has its data without these drives, given as bits.
    #[must_use]
    pub fn can_miss(&self, drives: u64) -> bool {
        self.drives_to_spare(drives).is_some()
    }

    /// Number of drives that may be missing besides `drives` (as bits), whichever they are; `None`
    /// if `drives` are too many already.
    #[must_use]
    pub fn drives_to_spare(&self, drives: u64) -> Option<u32> {
        // Stripes are dealt in turn, so their members repeat.
        let period = u64::from(self.width).min(self.stripes);
        let missing = (0..period).map(|stripe| (self.members(stripe) & drives).count_ones());
        self.parities().checked_sub(missing.max().unwrap_or(0))
    }

    /// The block of `member` that holds row `row` of `stripe`.
    #[inline]
    #[must_use]
    pub fn lba(&self, stripe: u64, row: u32, member: DriveId) -> Lba {
        let chunk = match self.stripes_per_period {
            1 => stripe,
            _ => {
                let position = u64::from(self.position_of(stripe, member));
                (stripe * u64::from(self.stripe_width) + position) / u64::from(self.width)
            }
        };
        Lba(chunk * u64::from(self.chunk_pages) + u64::from(row))
    }

    /// The stripe and the row that a block of `member` holds; `None` past the last stripe.
    #[must_use]
    pub fn row_of(&self, member: DriveId, block: Lba) -> Option<(u64, u32)> {
        let chunk_pages = u64::from(self.chunk_pages);
        let chunk = block.0 / chunk_pages * u64::from(self.width) + u64::from(member.0);
        let stripe = chunk / u64::from(self.stripe_width);
        (stripe < self.stripes).then_some((stripe, (block.0 % chunk_pages) as u32))
    }

    /// The page of the array at row `row` of data chunk `chunk` of `stripe`.
    #[must_use]
    pub fn page(&self, stripe: u64, chunk: u32, row: u32) -> u64 {
        stripe * self.stripe_data_pages()
            + u64::from(chunk) * u64::from(self.chunk_pages)
            + u64::from(row)
    }

    /// Page `page` of the array, as a segment.
    #[inline]
    pub(crate) fn segment_of(&self, page: u64) -> Segment {
        let stripe_pages = self.stripe_data_pages();
        let stripe = page / stripe_pages;
        let in_stripe = (page - stripe * stripe_pages) as u32;
        let first_chunk = in_stripe / self.chunk_pages;
        let first_row = in_stripe - first_chunk * self.chunk_pages;
        Segment { stripe, first_row, rows: 1, first_chunk, chunks: 1 }
    }

    /// Splits the pages `first .. first + pages` of the array into segments, in order of stripes.
    pub fn segments(&self, first: u64, pages: u64) -> impl Iterator<Item = Segment> + use<> {
        Segments { layout: *self, next: first, end: first + pages, pending: [None; 3] }
    }
}

/// Euclid's algorithm, for numbers above zero.
const fn greatest_common_divisor(mut a: u32, mut b: u32) -> u32 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
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
            let has_rows = self.layout.chunk_pages > 1;
            if has_rows && let Some(segment) = self.pending.iter_mut().find_map(Option::take) {
                return Some(segment);
            }
            if self.next == self.end {
                return None;
            }
            let stripe_pages = self.layout.stripe_data_pages();
            let stripe = self.next / stripe_pages;
            let start = stripe * stripe_pages;
            let stop = self.end.min(start + stripe_pages);
            let (from, to) = (self.next - start, stop - start);
            self.next = stop;
            if self.layout.chunk_pages == 1 {
                let (first_chunk, chunks) = (from as u32, (to - from) as u32);
                return Some(Segment { stripe, first_row: 0, rows: 1, first_chunk, chunks });
            }
            self.cut(stripe, from, to);
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
    fn what_has_parities_or_copies_is_redundant() {
        for level in Level::ALL {
            assert_eq!(level.is_redundant(), level.parities(4) > 0, "{level:?}");
        }
    }

    #[test]
    fn mirrors_rotate_and_copy() {
        let layout = Layout::new(Level::Raid10, 4, 1, 100).unwrap();
        let row = |stripe| [0, 1, 2, 3].map(|drive| layout.members(stripe) >> drive & 1 == 1);
        assert_eq!(row(0), [true, true, false, false]);
        assert_eq!(row(1), [false, false, true, true]);
        let roles = |stripe, first| [first, first + 1].map(|d| layout.role(stripe, DriveId(d)));
        let d = Role::Data(0);
        assert_eq!([roles(0, 0), roles(1, 2)], [[d, Role::P], [d, Role::P]]);
        assert_eq!([roles(2, 0), roles(3, 2)], [[Role::P, d], [Role::P, d]]);
        let layout = Layout::new(Level::Raid1, 3, 1, 100).unwrap();
        assert_eq!((layout.data_chunks(), layout.parities(), layout.capacity_pages()), (1, 2, 100));
        assert_eq!(layout.parity_mask(0), 0b110);
    }

    /// Every level, on up to 17 drives and on 64, with stripes of every width up to 8 and the
    /// widest.
    fn layouts() -> impl Iterator<Item = Layout> {
        let widths = (1..=17).chain([63, WIDTH_MAX]);
        widths.flat_map(|width| {
            let stripe_widths = (1..=8).chain(width.saturating_sub(1).max(9)..=width);
            stripe_widths.flat_map(move |stripe_width| {
                Level::ALL.into_iter().filter_map(move |level| {
                    Layout::striped(level, width, stripe_width, 2, 41).ok()
                })
            })
        })
    }

    #[test]
    fn roles_and_members_agree_for_every_level_and_width() {
        let mut narrow = 0;
        for layout in layouts() {
            narrow += u32::from(layout.stripe_width() < layout.width());
            for stripe in 0..layout.stripes() {
                let members = layout.members(stripe);
                assert_eq!(members.count_ones(), layout.stripe_width(), "{layout:?}");
                let mut data = 0u64;
                for chunk in 0..layout.data_chunks() {
                    let member = layout.member_of(stripe, chunk);
                    assert_eq!(layout.role(stripe, member), Role::Data(chunk));
                    data |= 1 << member.0;
                }
                assert_eq!(data.count_ones(), layout.data_chunks());
                assert_eq!(layout.parity_mask(stripe), members & !data, "{layout:?}");
            }
        }
        assert!(narrow > 100, "{narrow} narrow layouts");
    }

    /// Against the naive way: chunks are dealt to the drives one after the other.
    #[test]
    fn every_chunk_has_one_place_and_drives_are_filled_evenly() {
        for layout in layouts() {
            let width = layout.width() as usize;
            let mut dealt = 0;
            let mut on_drive = vec![0; width];
            let mut parities = vec![0; width];
            for stripe in 0..layout.stripes() {
                let mut members: Vec<u8> = Vec::new();
                for _ in 0..layout.stripe_width() {
                    let drive = dealt % width;
                    dealt += 1;
                    members.push(drive as u8);
                    let expected = on_drive[drive] * u64::from(layout.chunk_pages()) + 1;
                    assert_eq!(layout.lba(stripe, 1, DriveId(drive as u8)), Lba(expected));
                    on_drive[drive] += 1;
                }
                let mask = members.iter().fold(0, |mask, member| mask | 1 << member);
                assert_eq!(layout.members(stripe), mask, "{layout:?} stripe {stripe}");
                for (drive, parities) in parities.iter_mut().enumerate() {
                    *parities += layout.parity_mask(stripe) >> drive & 1;
                }
            }
            assert!(on_drive.iter().all(|&chunks| chunks <= 20), "more than the drive has");
            let (most, least) = (parities.iter().max().unwrap(), parities.iter().min().unwrap());
            let turns = layout.stripe_width().min(layout.width()) as u64;
            let rotates = !matches!(layout.level(), Level::Raid0 | Level::Raid4);
            assert!(!rotates || most - least <= turns, "{layout:?}: {parities:?}");
        }
    }

    #[test]
    fn segments_cover_every_page_once() {
        for (level, width, stripe_width, chunk) in [
            (Level::Raid5, 4, 4, 1),
            (Level::Raid6, 6, 6, 8),
            (Level::Raid0, 3, 3, 5),
            (Level::Raid0, 1, 1, 400),
            (Level::Raid5, 7, 4, 3),
            (Level::Raid1, 4, 4, 9),
            (Level::Raid10, 4, 2, 3),
        ] {
            let layout = Layout::striped(level, width, stripe_width, chunk, 400).unwrap();
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
    fn every_block_of_a_member_has_its_row() {
        for (level, width, stripe_width, chunk) in
            [(Level::Raid5, 4, 4, 3), (Level::Raid5, 7, 3, 2), (Level::Raid6, 6, 5, 1)]
        {
            let layout = Layout::striped(level, width, stripe_width, chunk, 41).unwrap();
            let mut found = 0;
            for (member, block) in
                (0..width).flat_map(|drive| (0..41).map(move |block| (drive as u8, block)))
            {
                let Some((stripe, row)) = layout.row_of(DriveId(member), Lba(block)) else {
                    continue;
                };
                found += 1;
                assert!(layout.members(stripe) >> member & 1 == 1);
                assert_eq!(layout.lba(stripe, row, DriveId(member)), Lba(block));
            }
            assert_eq!(found, layout.stripes() * u64::from(stripe_width * chunk));
        }
    }

    #[test]
    fn impossible_layouts_are_refused() {
        let error = Layout::new(Level::Raid6, 3, 1, 10).unwrap_err();
        assert_eq!(alloc::format!("{error}"), "raid6 needs between 4 and 64 drives, not 3");
        let error = Layout::new(Level::Raid0, 0, 1, 10).unwrap_err();
        assert_eq!(alloc::format!("{error}"), "raid0 needs between 1 and 64 drives, not 0");
        let error = Layout::new(Level::Raid10, 7, 1, 10).unwrap_err();
        assert!(
            alloc::format!("{error}").starts_with("raid10 needs an even number of drives, not 7")
        );
        let error = Layout::striped(Level::Raid10, 8, 4, 1, 10).unwrap_err();
        assert_eq!(alloc::format!("{error}"), "the stripes of raid10 have 2 members, not 4");
        let error = Layout::striped(Level::Raid5, 8, 9, 1, 10).unwrap_err();
        assert_eq!(
            alloc::format!("{error}"),
            "a stripe of raid5 has between 3 and 8 members on this array, not 9"
        );
        assert!(Layout::new(Level::Raid5, 65, 1, 10).is_err());
        assert!(Layout::new(Level::Raid5, 4, 0, 10).is_err());
        assert!(Layout::new(Level::Raid5, 4, 11, 10).is_err());
    }

    #[test]
    fn what_an_array_can_miss_is_what_its_poorest_stripe_can() {
        // Stripes of three on six drives: drives 0 to 2, and 3 to 5.
        let layout = Layout::striped(Level::Raid5, 6, 3, 1, 100).unwrap();
        for (missing, spare) in
            [(0, Some(1)), (0b1, Some(0)), (0b1001, Some(0)), (0b11, None), (0b111_111, None)]
        {
            assert_eq!(layout.drives_to_spare(missing), spare, "{missing:b}");
            assert_eq!(layout.can_miss(missing), spare.is_some(), "{missing:b}");
        }
        let layout = Layout::new(Level::Raid6, 5, 1, 100).unwrap();
        let spare = [0, 0b1, 0b11, 0b111].map(|missing| layout.drives_to_spare(missing));
        assert_eq!(spare, [Some(2), Some(1), Some(0), None]);
        let layout = Layout::new(Level::Raid0, 3, 1, 100).unwrap();
        assert!(layout.can_miss(0) && !layout.can_miss(0b100));
    }
}
