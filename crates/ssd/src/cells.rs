//! Cells that store several bits, in blocks that reach over several planes.
//!
//! Knows: the page of the cells and the plane of each place in a block, and the times to sense and
//! program it. Does not know: the contents of pages.
//!
//! Flash of today programs far more than a logical block at a time: a page on every plane, or all
//! the pages that share those cells (*one shot*). Such an amount is called a *program unit* here.
//! Places in a block are counted in the order of programming: the logical blocks of a flash page,
//! then the planes, then the pages that share cells, then the next cells.

use crate::slc_config::SlcCacheConfig;
use units::Duration;

/// Most pages that can share cells: four bits in a cell.
pub const PAGE_TYPES_MAX: usize = 4;

/// Most planes over which a block can reach.
pub(crate) const PLANES_MAX: u32 = 16;

/// Times of one page of the cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PageTime {
    /// Time to sense the page, on any number of planes.
    pub read: Duration,
    /// Time to program the page, on all planes.
    pub program: Duration,
}

/// The flash of a drive that programs many logical blocks at a time.
///
/// The geometry counts logical blocks: `page_bytes` is the size of one, and `pages_per_block` is
/// their number in a block, on all its planes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CellConfig {
    /// Times of the pages that share cells, lower page first. Only the first `bits` entries are
    /// used.
    pub page_types: [PageTime; PAGE_TYPES_MAX],
    /// Bits in a cell: 1 to 4.
    pub bits: u32,
    /// Logical blocks in a flash page.
    pub blocks_per_page: u32,
    /// Planes over which a block reaches; they are programmed and erased together.
    pub planes: u32,
    /// All pages that share cells are programmed at once, in the time of all of them.
    pub one_shot: bool,
    /// Groups of planes that sense and send pages independently of each other: 1 if the die reads
    /// as a whole, the number of planes if each plane reads by itself.
    pub read_groups: u32,
    /// Cache of blocks that are first programmed with one bit in a cell; `None` without such a
    /// cache.
    pub slc: Option<SlcCacheConfig>,
}

impl CellConfig {
    /// Times of the pages that share cells, lower page first.
    #[must_use]
    pub fn types(&self) -> &[PageTime] {
        &self.page_types[..(self.bits as usize).clamp(1, PAGE_TYPES_MAX)]
    }

    /// Logical blocks that one sensing on all planes gives.
    #[must_use]
    pub fn row_pages(&self) -> u32 {
        self.blocks_per_page * self.planes
    }

    /// Logical blocks that are programmed at a time.
    #[must_use]
    pub fn unit_pages(&self) -> u32 {
        if self.one_shot { self.row_pages() * self.bits } else { self.row_pages() }
    }

    /// The page type of a place in a block.
    fn type_of(&self, offset: u32) -> &PageTime {
        let types = self.types();
        &types[(offset / self.row_pages()) as usize % types.len()]
    }

    /// The group of planes that reads a place in a block.
    #[must_use]
    pub(crate) fn read_group_of(&self, offset: u32) -> u32 {
        offset / self.blocks_per_page % self.planes % self.read_groups
    }

    /// Time to sense the flash page of a place in a block.
    #[must_use]
    pub(crate) fn read_time(&self, offset: u32) -> Duration {
        self.type_of(offset).read
    }

    /// Time to program the unit of a place in a block.
    #[must_use]
    pub(crate) fn program_time(&self, offset: u32) -> Duration {
        if self.one_shot { self.program_of_all() } else { self.type_of(offset).program }
    }

    fn program_of_all(&self) -> Duration {
        self.types().iter().fold(Duration::ZERO, |sum, page| sum + page.program)
    }

    /// Mean time to sense a page, over the page types.
    #[must_use]
    pub fn mean_read(&self) -> Duration {
        let sum = self.types().iter().fold(Duration::ZERO, |sum, page| sum + page.read);
        sum / self.types().len() as u64
    }

    /// Longest time to sense a page.
    #[must_use]
    pub fn longest_read(&self) -> Duration {
        self.types().iter().map(|page| page.read).max().unwrap_or_default()
    }

    /// Mean time to program a unit.
    #[must_use]
    pub fn mean_program(&self) -> Duration {
        let all = self.program_of_all();
        if self.one_shot { all } else { all / self.types().len() as u64 }
    }

    /// Longest time to program a unit.
    #[must_use]
    pub fn longest_program(&self) -> Duration {
        let longest = self.types().iter().map(|page| page.program).max().unwrap_or_default();
        if self.one_shot { self.program_of_all() } else { longest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tlc(one_shot: bool) -> CellConfig {
        let time = |read, program| PageTime {
            read: Duration::from_micros(read),
            program: Duration::from_micros(program),
        };
        CellConfig {
            page_types: [time(40, 400), time(50, 600), time(60, 800), PageTime::default()],
            bits: 3,
            blocks_per_page: 4,
            planes: 2,
            one_shot,
            read_groups: 2,
            slc: None,
        }
    }

    #[test]
    fn places_go_through_the_page_then_the_planes_then_the_types() {
        let cells = tlc(false);
        assert_eq!((cells.row_pages(), cells.unit_pages()), (8, 8));
        assert_eq!([0, 3, 4, 7, 8].map(|offset| cells.read_group_of(offset)), [0, 0, 1, 1, 0]);
        let reads = [0, 7, 8, 16, 24].map(|offset| cells.read_time(offset).as_micros_f64());
        assert_eq!(reads, [40.0, 40.0, 50.0, 60.0, 40.0]);
        assert_eq!(cells.program_time(8), Duration::from_micros(600));
        assert_eq!(cells.mean_program(), Duration::from_micros(600));
    }

    #[test]
    fn one_shot_programs_all_types_at_once() {
        let cells = tlc(true);
        assert_eq!(cells.unit_pages(), 24);
        assert_eq!(cells.program_time(0), Duration::from_micros(1800));
        assert_eq!(cells.longest_program(), Duration::from_micros(1800));
        assert_eq!(cells.mean_read(), Duration::from_micros(50));
    }
}
