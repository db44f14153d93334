//! Comparison of the disks with the model, without the array: each row must be one that clients may
//! find, whichever drives are missing.
//!
//! An array may forget a sync, a mark or a record and still read right for long, until a crash and
//! a failed drive coincide. But its disks are wrong at once. So parity, copies and checksums of all
//! written rows are compared after each start, and whenever an array is idle.

use super::array::Bay;
use super::disk::{BLOCK_BYTES, Block, SECTOR_BYTES};
use super::failure::{Done, Failure};
use super::field::{add, inverse, scale, weight};
use super::memo::{Memo, Seen};
use super::model::{Model, Moment, PAGE_SECTORS, Versions, Wrong, versions_of};
use super::place::Row;
use array::{Layout, Role};
use engine::durability::{Geometry, HEAD_BYTES};
use std::collections::BTreeSet;
use std::ops::Range;
use units::DriveId;

/// A page of a drive.
type Page = [u8; BLOCK_BYTES];
/// Pages of both parities; `None` for those that are missing.
type Parities = [Option<Box<Page>>; 2];

/// Checksums in a sector of their table, behind its seal.
const SUMS_PER_SECTOR: u64 = 127;
/// Checksums in a block of their table.
const SUMS_PER_BLOCK: u64 = 1014;
/// CRC-32C of a block of zeros, with which the sums of tables are combined by exclusive-or.
const ZEROS_SUM: u32 = 0x98f9_4189;
/// Marker of a lost sum; a sum that equals it is stored as one less.
const LOST: u32 = u32::MAX;

/// A check of the disks.
pub(super) struct Look<'a> {
    pub(super) layout: &'a Layout,
    pub(super) geometry: &'a Geometry,
    pub(super) bays: &'a [Bay],
    /// Drives that are not trusted, as bits: their content is computed from the others.
    pub(super) blind: u64,
    /// Stripes that are to be resynced: their members need not fit.
    pub(super) torn: &'a [Range<u64>],
    /// Bytes of each drive that may have been written when a drive was lost without a journal.
    pub(super) holes: &'a [Range<u64>],
    /// Bytes of each drive with doubtful checksums; `None` if checksums are not compared.
    pub(super) doubtful: Option<&'a [Range<u64>]>,
    /// Condition of the check, by which the model decides.
    pub(super) moment: Moment,
}

/// A row under check.
struct Looked<'a> {
    row: Row,
    members: Vec<DriveId>,
    blocks: Vec<&'a Block>,
    /// True if its stripe need not fit: it is being resynced, or may be torn.
    is_torn: bool,
}

impl<'a> Look<'a> {
    /// Checks these rows: all in which anything was ever written.
    pub(super) fn check(&self, rows: &BTreeSet<Row>, model: &Model, memo: &mut Memo) -> Done {
        rows.iter().try_for_each(|row| self.check_row(*row, model, memo))
    }

    fn check_row(&self, row: Row, model: &Model, memo: &mut Memo) -> Done {
        let members: Vec<DriveId> = row.members(self.layout).collect();
        let blind = members.iter().filter(|member| self.is_blind(**member)).count() as u32;
        if blind > self.layout.parities() {
            return Ok(());
        }
        let blocks: Vec<&Block> = members.iter().map(|member| self.block(row, *member)).collect();
        let is_torn = self.torn.iter().any(|stripes| stripes.contains(&row.stripe))
            || blind > 0 && members.iter().any(|member| self.is_in(self.holes, row, *member));
        let looked = Looked { row, members, blocks, is_torn };
        if memo.0.get(&row).is_none_or(|seen| !seen.is_of(&looked.blocks)) {
            memo.0.remove(&row);
            if let Some(seen) = self.fitting(&looked) {
                memo.0.insert(row, seen);
            }
        }
        let Some(Seen { sums, pages, .. }) = memo.0.get(&row) else {
            return self.check_parts(&looked, model);
        };
        self.check_sums(&looked, |index| sums[index])?;
        for (page, versions) in pages {
            self.check_page(*page, versions, is_torn, model)?;
        }
        Ok(())
    }

    /// Returns the row if all its members fit each other, trusted or not.
    fn fitting(&self, looked: &Looked<'_>) -> Option<Seen> {
        let Looked { row, members, blocks, .. } = looked;
        let fits = if self.layout.level().is_mirrored() {
            blocks.windows(2).all(|pair| bytes_of(pair[0]) == bytes_of(pair[1]))
        } else if blocks.iter().all(|block| block.is_none()) {
            true
        } else {
            let (sums, _) = self.sums(looked, |_| false);
            sums.iter().flatten().all(|sum| is_zero(sum))
        };
        let pages = row.pages(self.layout).map(|(page, member)| {
            let at = members.iter().position(|other| *other == member).unwrap_or_default();
            (page, versions_at(page, blocks[at].as_deref()))
        });
        fits.then(|| Seen {
            blocks: blocks.iter().map(|block| (*block).clone()).collect(),
            sums: blocks.iter().map(|block| sum_of(block)).collect(),
            pages: pages.collect(),
        })
    }

    /// Checks a row whose members do not all fit: the trusted ones must fit, and the content
    /// computed from them must be allowed.
    fn check_parts(&self, looked: &Looked<'_>, model: &Model) -> Done {
        self.check_sums(looked, |index| sum_of(looked.blocks[index]))?;
        let known = looked.members.iter().zip(&looked.blocks);
        let mut known = known.filter(|(member, _)| !self.is_blind(**member)).peekable();
        let Row { stripe, row } = looked.row;
        let torn = Err(Failure::Torn { stripe, row });
        if self.layout.level().is_mirrored() {
            let page = self.layout.page(stripe, 0, row);
            let first = known.peek().map(|(_, block)| bytes_of(block));
            for (_, block) in known {
                let versions = versions_at(page, block.as_deref());
                self.check_page(page, &versions, looked.is_torn, model)?;
                if !looked.is_torn && first.is_some_and(|first| first != bytes_of(block)) {
                    return torn;
                }
            }
            return Ok(());
        }
        if looked.is_torn {
            for (page, member) in looked.row.pages(self.layout) {
                if !self.is_blind(member) {
                    let versions = versions_at(page, self.block(looked.row, member).as_deref());
                    self.check_page(page, &versions, false, model)?;
                }
            }
            return Ok(());
        }
        self.check_stripe(looked, model)
    }

    fn is_blind(&self, drive: DriveId) -> bool {
        self.blind >> drive.0 & 1 == 1
    }

    /// Returns true if a member's page of a row lies in one of these ranges of bytes.
    fn is_in(&self, ranges: &[Range<u64>], row: Row, member: DriveId) -> bool {
        let at = self.layout.lba(row.stripe, row.row, member).0 * BLOCK_BYTES as u64;
        ranges.iter().any(|range| range.contains(&at))
    }

    fn block(&self, row: Row, member: DriveId) -> &'a Block {
        let lba = self.layout.lba(row.stripe, row.row, member).0;
        self.bays[member.index()].disk.current(HEAD_BYTES / BLOCK_BYTES as u64 + lba)
    }

    /// Checks that a page of the array may have this content. In a torn stripe copies may differ.
    fn check_page(&self, page: u64, found: &Versions, is_torn: bool, model: &Model) -> Done {
        let is_copy = is_torn && self.layout.level().is_mirrored();
        let other_copies = self.moment.other_copies || is_copy;
        let moment = Moment { other_copies, ..self.moment };
        model.peek(page * PAGE_SECTORS, found, moment).map_err(Failure::from)
    }

    /// Computes both parities minus the sums of the data, without the members that are left out;
    /// `None` for missing parities. Also returns the data chunks that were left out, with their
    /// pages.
    fn sums(
        &self,
        looked: &Looked<'_>,
        left_out: impl Fn(DriveId) -> bool,
    ) -> (Parities, Vec<(u32, u64)>) {
        let (mut sums, mut missing) = ([None, None], Vec::new());
        let known = looked.members.iter().zip(&looked.blocks);
        for (member, block) in known.filter(|(member, _)| !left_out(**member)) {
            match self.layout.role(looked.row.stripe, *member) {
                Role::P => sums[0] = Some(Box::new(*bytes_of(block))),
                Role::Q => sums[1] = Some(Box::new(*bytes_of(block))),
                Role::Data(_) => {}
            }
        }
        for (page, member) in looked.row.pages(self.layout) {
            let chunk = looked.row.chunk(self.layout, member).unwrap_or_default();
            if left_out(member) {
                missing.push((chunk, page));
            } else if let Some(bytes) = self.block(looked.row, member) {
                for (sum, factor) in sums.iter_mut().zip([1, weight(chunk)]) {
                    sum.iter_mut().for_each(|sum| add(&mut sum[..], &bytes[..], factor));
                }
            }
        }
        (sums, missing)
    }

    /// Checks that all trusted members of a row fit, and that the content computed for the others
    /// is allowed.
    fn check_stripe(&self, looked: &Looked<'_>, model: &Model) -> Done {
        let Row { stripe, row } = looked.row;
        let torn = Err(Failure::Torn { stripe, row });
        for (page, member) in looked.row.pages(self.layout) {
            if !self.is_blind(member) {
                let versions = versions_at(page, self.block(looked.row, member).as_deref());
                self.check_page(page, &versions, false, model)?;
            }
        }
        let check = |page: u64, bytes: &Page| {
            self.check_page(page, &versions_at(page, Some(bytes)), false, model)
        };
        let (sums, missing) = self.sums(looked, |member| self.is_blind(member));
        match (&missing[..], sums) {
            ([], sums) if sums.iter().flatten().all(|sum| is_zero(sum)) => Ok(()),
            ([], _) => torn,
            ([(chunk, page)], [Some(first), second]) => {
                check(*page, &first)?;
                let Some(mut second) = second else { return Ok(()) };
                add(&mut second[..], &first[..], weight(*chunk));
                if is_zero(&second) { Ok(()) } else { torn }
            }
            ([(chunk, page)], [None, Some(mut second)]) => {
                scale(&mut second[..], inverse(weight(*chunk)));
                check(*page, &second)
            }
            ([(one, page), (other, other_page)], [Some(first), Some(mut second)]) => {
                // first = a + b and second = u × a + v × b, hence second + u × first = (u + v) × b.
                let (u, v) = (weight(*one), weight(*other));
                add(&mut second[..], &first[..], u);
                scale(&mut second[..], inverse(u ^ v));
                check(*other_page, &second)?;
                add(&mut second[..], &first[..], 1);
                check(*page, &second)
            }
            // Too few members are trusted.
            _ => Ok(()),
        }
    }

    /// Checks the checksums of the members' pages, except where they are in doubt.
    fn check_sums(&self, looked: &Looked<'_>, sum: impl Fn(usize) -> u32) -> Done {
        let Some(doubtful) = self.doubtful.filter(|_| self.geometry.checksums) else {
            return Ok(());
        };
        for (index, &member) in looked.members.iter().enumerate() {
            if self.is_blind(member) || self.is_in(doubtful, looked.row, member) {
                continue;
            }
            let Row { stripe, row } = looked.row;
            let lba = self.layout.lba(stripe, row, member).0;
            let table = (HEAD_BYTES + self.geometry.drive_bytes) / BLOCK_BYTES as u64;
            let (number, index_in_block) = (lba / SUMS_PER_BLOCK, lba % SUMS_PER_BLOCK);
            let (sector, place) =
                (index_in_block / SUMS_PER_SECTOR, index_in_block % SUMS_PER_SECTOR);
            let at = sector as usize * SECTOR_BYTES + 4 + 4 * place as usize;
            let sums = bytes_of(self.bays[member.index()].disk.current(table + number));
            let found = u32::from_le_bytes([sums[at], sums[at + 1], sums[at + 2], sums[at + 3]]);
            if found != sum(index) {
                return Err(Failure::Sum { drive: member.0, page: lba });
            }
        }
        Ok(())
    }
}

fn is_zero(page: &Page) -> bool {
    *page == ZEROS
}

const ZEROS: Page = [0; BLOCK_BYTES];

fn bytes_of(block: &Block) -> &Page {
    block.as_deref().unwrap_or(&ZEROS)
}

fn versions_at(page: u64, bytes: Option<&Page>) -> Versions {
    versions_of(page * PAGE_SECTORS, bytes.map(|bytes| &bytes[..]))
}

/// Checksum of a block in the form of the tables.
fn sum_of(block: &Block) -> u32 {
    let sum = block.as_ref().map_or(0, |bytes| crc32c::crc32c(&bytes[..]) ^ ZEROS_SUM);
    if sum == LOST { LOST - 1 } else { sum }
}

impl From<Wrong> for Failure {
    fn from(wrong: Wrong) -> Self {
        let Wrong { sector, found, allowed } = wrong;
        Self::WrongData { sector, found, allowed }
    }
}

#[cfg(test)]
mod tests {
    use super::super::disk::{Content, SimDisk, Write};
    use super::super::model::fill;
    use super::*;
    use array::Level;
    use engine::durability::Journalled;
    use std::sync::Arc;
    use units::Rng;

    const CHUNK_PAGES: u32 = 2;
    const DRIVE_PAGES: u64 = 24;

    /// An idle array, made with the layout and the arithmetic of the array.
    struct Rest {
        layout: Layout,
        geometry: Geometry,
        bays: Vec<Bay>,
        model: Model,
        rows: BTreeSet<Row>,
    }

    impl Rest {
        fn new(level: Level, width: u8, stripe_width: u8) -> Self {
            let layout = Layout::striped(
                level,
                u32::from(width),
                u32::from(stripe_width),
                CHUNK_PAGES,
                DRIVE_PAGES,
            );
            let layout = layout.unwrap_or_else(|error| panic!("{error}"));
            let drive_bytes = DRIVE_PAGES * BLOCK_BYTES as u64;
            let geometry = Geometry {
                level,
                width,
                stripe_width,
                chunk_bytes: u64::from(CHUNK_PAGES) * BLOCK_BYTES as u64,
                page_bytes: BLOCK_BYTES as u32,
                drive_bytes,
                journalled: Journalled::Always,
                checksums: false,
            };
            let bays = (0..width).map(|_| Bay::new(0, SimDisk::default(), 0..0)).collect();
            let model = Model::new(layout.capacity_pages() * PAGE_SECTORS);
            Self { layout, geometry, bays, model, rows: BTreeSet::new() }
        }

        fn put(&mut self, drive: DriveId, lba: u64, bytes: &[u8]) {
            let content = Content::Bytes(Arc::new(bytes.to_vec()));
            let offset_bytes = HEAD_BYTES + lba * BLOCK_BYTES as u64;
            let disk = &mut self.bays[drive.index()].disk;
            disk.begin(1, Write { offset_bytes, content, forced: true });
            disk.end(1);
        }

        fn write(&mut self, row: Row, version: u32) {
            let mut members: Vec<(DriveId, Vec<u8>)> = Vec::new();
            for (page, member) in row.pages(&self.layout) {
                let sectors = page * PAGE_SECTORS..(page + 1) * PAGE_SECTORS;
                let mut bytes = vec![0; BLOCK_BYTES];
                for (sector, into) in sectors.clone().zip(bytes.chunks_exact_mut(SECTOR_BYTES)) {
                    fill(version, sector, into);
                }
                let id = self.model.begin(sectors.clone(), version);
                self.model.end(sectors, id, true);
                members.push((member, bytes));
            }
            for member in row.members(&self.layout) {
                let role = self.layout.role(row.stripe, member);
                if let Role::Data(_) = role {
                    continue;
                }
                let mut parity = vec![0; BLOCK_BYTES];
                for (chunk, (_, bytes)) in (0..).zip(
                    members.iter().filter(|(other, _)| row.chunk(&self.layout, *other).is_some()),
                ) {
                    let factor = if role == Role::Q { array::gf::power(chunk) } else { 1 };
                    array::gf::multiply_add(&mut parity, bytes, factor);
                }
                members.push((member, parity));
            }
            for (member, bytes) in members {
                let lba = self.layout.lba(row.stripe, row.row, member).0;
                self.put(member, lba, &bytes);
            }
            self.rows.insert(row);
        }

        fn look(&self, blind: u64, memo: &mut Memo) -> Done {
            let look = Look {
                layout: &self.layout,
                geometry: &self.geometry,
                bays: &self.bays,
                blind,
                torn: &[],
                holes: &[],
                doubtful: None,
                moment: Moment { after_cut: false, other_copies: false },
            };
            look.check(&self.rows, &self.model, memo)
        }
    }

    #[test]
    fn what_fits_is_right_without_any_drives_that_can_be_missed_and_what_does_not_is_found() {
        for (level, width, stripe_width) in [
            (Level::Raid5, 4, 4),
            (Level::Raid5, 5, 3),
            (Level::Raid4, 3, 3),
            (Level::Raid6, 6, 6),
            (Level::Raid6, 6, 5),
            (Level::Raid1, 3, 3),
            (Level::Raid10, 4, 2),
        ] {
            let mut rest = Rest::new(level, width, stripe_width);
            let mut rng = Rng::new(u64::from(width));
            for version in 1..20 {
                let stripe = rng.below(rest.layout.stripes());
                rest.write(Row { stripe, row: rng.below(u64::from(CHUNK_PAGES)) as u32 }, version);
            }
            let sets: Vec<u64> =
                (0..1 << width).filter(|drives| rest.layout.can_miss(*drives)).collect();
            let mut memo = Memo::default();
            for &blind in &sets {
                assert_eq!(rest.look(blind, &mut memo), Ok(()), "{level:?} without {blind:b}");
                assert_eq!(rest.look(blind, &mut Memo::default()), Ok(()), "computed anew");
            }
            // One byte of one member is wrong: a check that does not trust it passes, and every
            // other check fails.
            let row = *rest.rows.first().unwrap_or_else(|| panic!("it was written"));
            for member in row.members(&rest.layout) {
                let lba = rest.layout.lba(row.stripe, row.row, member).0;
                let block = HEAD_BYTES / BLOCK_BYTES as u64 + lba;
                let right = *bytes_of(rest.bays[member.index()].disk.current(block));
                let mut wrong = right;
                wrong[rng.below(BLOCK_BYTES as u64) as usize] ^= 0x40;
                rest.put(member, lba, &wrong);
                let members = rest.layout.members(row.stripe);
                for &blind in &sets {
                    let looked = rest.look(blind, &mut memo);
                    let is_relied_on = blind >> member.0 & 1 == 0;
                    // Without redundancy to spare, a parity that is not needed cannot be compared.
                    let spare = rest.layout.parities() - (blind & members).count_ones();
                    let is_data = row.chunk(&rest.layout, member).is_some();
                    if !is_relied_on {
                        assert_eq!(looked, Ok(()), "{level:?}: {member:?} without {blind:b}");
                    } else if is_data || spare > 0 || level.is_mirrored() {
                        assert!(looked.is_err(), "{level:?}: {member:?} without {blind:b}");
                    }
                }
                rest.put(member, lba, &right);
                assert_eq!(rest.look(0, &mut memo), Ok(()));
            }
        }
    }
}
