//! Moves of pages by a collection where the cells take in many at a time. It gathers valid pages
//! row by row, and programs them when they fill a unit or no valid page is left.
//!
//! Knows: the pages that each die has gathered, and their new place. Does not know: when a die may
//! work for its collection.

use crate::cells::CellConfig;
use crate::config::Config;
use crate::dies::{Copy, Job};
use crate::ftl::Ftl;
use alloc::vec;
use alloc::vec::Vec;
use units::Duration;

/// Next step of a collecting die.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Move {
    /// Senses valid pages of a row and sends them out.
    Gather { sense: Duration, transfers: u32, cursor: u32 },
    /// Programs the gathered pages.
    Program { program: Duration, transfers: u32 },
    /// Erases the block: no valid page is left.
    Erase,
}

/// Pages that one die has gathered.
#[derive(Clone, Debug, Default)]
struct Gathered {
    /// Flash pages and the logical pages that they held when they were read.
    pages: Vec<(u32, u32)>,
    /// First flash page that they are programmed to; `None` before the program begins.
    to: Option<u32>,
}

/// The pages that collections of one drive move.
#[derive(Clone, Debug)]
pub(crate) struct Relocator {
    cells: CellConfig,
    gathered: Vec<Gathered>,
}

impl Relocator {
    pub(crate) fn new(config: &Config) -> Option<Self> {
        let dies = config.geometry.dies() as usize;
        config.cells.map(|cells| Self { cells, gathered: vec![Gathered::default(); dies] })
    }

    /// Sets the times of pages.
    pub(crate) fn set_cells(&mut self, cells: CellConfig) {
        self.cells = cells;
    }

    /// Pages that a die has gathered and that are not in their new place.
    pub(crate) fn gathered(&self, die: u32) -> u32 {
        self.gathered[die as usize].pages.len() as u32
    }

    /// Next step of the collection on a die.
    pub(crate) fn next(&mut self, die: u32, job: &Job, ftl: &mut Ftl) -> Move {
        let gathered = &mut self.gathered[die as usize];
        let unit = self.cells.unit_pages();
        let end = job.first_page + ftl.shape().pages_per_block;
        let first = ftl.next_valid(job.cursor, end);
        let is_full = gathered.pages.len() as u32 == unit;
        match first {
            Some((page, _)) if !is_full => {
                let row = self.cells.row_pages();
                let offset = page - job.first_page;
                let row_end = (job.first_page + offset / row * row + row).min(end);
                let before = gathered.pages.len();
                let mut cursor = page;
                while gathered.pages.len() < unit as usize
                    && let Some((page, logical)) = ftl.next_valid(cursor, row_end)
                {
                    // The entry will be changed when the move is done; a cache miss then would
                    // stall for longer.
                    ftl.touch(logical);
                    gathered.pages.push((page, logical));
                    cursor = page + 1;
                }
                if gathered.pages.len() < unit as usize {
                    cursor = row_end;
                }
                let read = (gathered.pages.len() - before) as u32;
                let transfers = read.div_ceil(self.cells.blocks_per_page);
                let ordinary = || self.cells.read_time(offset);
                ftl.count_sensings(page, 1);
                let sense = ftl.slc_at(page).map_or_else(ordinary, |slc| slc.page.read);
                Move::Gather { sense, transfers, cursor }
            }
            None if gathered.pages.is_empty() => Move::Erase,
            _ => {
                let count = gathered.pages.len() as u32;
                let to = ftl.allocate_for_collection(die);
                ftl.fill_unit(die, to, count);
                gathered.to = Some(to);
                let offset = to % ftl.shape().pages_per_block;
                // The rest of the unit is filler, which crosses the channel as well.
                let transfers = unit / self.cells.blocks_per_page;
                Move::Program { program: self.cells.program_time(offset), transfers }
            }
        }
    }

    /// Ends the program of the pages that a die gathered. Passes each of them to `moved`.
    pub(crate) fn end_program(&mut self, die: u32, mut moved: impl FnMut(Copy)) {
        let gathered = &mut self.gathered[die as usize];
        let Some(first) = gathered.to.take() else { return };
        for ((from, logical), to) in gathered.pages.drain(..).zip(first..) {
            moved(Copy { from, to, logical });
        }
    }

    /// Flash pages that are allocated for programs under way.
    pub(crate) fn pages_in_flight(&self) -> impl Iterator<Item = u32> + '_ {
        self.gathered.iter().flat_map(|gathered| {
            let count = gathered.pages.len() as u32;
            gathered.to.into_iter().flat_map(move |first| first..first + count)
        })
    }
}
