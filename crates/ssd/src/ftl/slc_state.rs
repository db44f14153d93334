//! State of the blocks in SLC mode as numbers, every one of which is checked when it is read.

use crate::codec::{Reader, StateError, Writer};
use crate::ftl::frontier::Frontier;
use crate::ftl::shape::Shape;
use crate::ftl::slc::SlcBlocks;
use crate::ftl::space::{Sequence, Space};
use crate::ftl::space_state::take_blocks;
use alloc::vec;
use alloc::vec::Vec;

const WHAT: &str = "blocks of the cache";

fn contradiction() -> StateError {
    StateError::Contradiction { what: WHAT }
}

impl SlcBlocks {
    /// Writes the state that cannot be derived from other parts. `lines` are the lines that are
    /// being filled.
    pub(super) fn write_state(&self, lines: Option<&Sequence>, writer: &mut Writer) {
        self.full.iter().for_each(|full| writer.put_list(full.iter().copied()));
        let open = self.frontiers.iter();
        writer.put_list(open.map(|frontier| frontier.block.map_or(0, |block| block + 1)));
        writer.put_list(self.frontiers.iter().map(Frontier::left));
        if let Some(lines) = lines {
            lines.write_state(writer);
        }
    }

    /// Reads what [`SlcBlocks::write_state`] wrote.
    pub(super) fn read_state(
        &mut self,
        reader: &mut Reader<'_>,
        shape: &Shape,
        space: &mut Space,
    ) -> Result<(), StateError> {
        let blocks = shape.blocks_per_die;
        let (dies, pools) = (shape.dies as usize, self.full.len());
        let mut known = vec![vec![false; blocks as usize]; pools];
        for (full, known) in self.full.iter_mut().zip(&mut known) {
            *full = take_blocks(reader, known, WHAT)?.into();
        }
        let open = reader.take_list(dies, blocks + 1, WHAT)?;
        let left = reader.take_list(dies, self.pages_per_block + 1, WHAT)?;
        if open.len() != dies || left.len() != dies {
            return Err(contradiction());
        }
        for (die, (&open, &left)) in (0..shape.dies).zip(open.iter().zip(&left)) {
            self.frontiers[die as usize] = match open {
                0 if left == 0 => Frontier::NONE,
                open if open > 0 && left > 0 && left.is_multiple_of(self.row_pages) => {
                    let end = shape.first_page(die, open - 1) + self.pages_per_block;
                    Frontier { next: end - left, end, block: Some(open - 1) }
                }
                _ => return Err(contradiction()),
            };
        }
        if space.slc_lines().is_some() {
            let lines = Sequence::read_state(reader, dies, &mut known[0])?;
            self.read_lines(lines, space)?;
        } else {
            for (frontier, known) in self.frontiers.iter().zip(&mut known) {
                if let Some(block) = frontier.block
                    && core::mem::replace(&mut known[block as usize], true)
                {
                    return Err(contradiction());
                }
            }
        }
        let units: Vec<bool> = known.into_iter().flatten().collect();
        if self.set_modes(units) { Ok(()) } else { Err(contradiction()) }
    }

    fn read_lines(&self, lines: Sequence, space: &mut Space) -> Result<(), StateError> {
        let dies = 0..self.frontiers.len() as u32;
        // A die is in the line that it has reached, or has filled it.
        let is_open = |die: u32| self.frontiers[die as usize].block.is_some();
        for die in dies.clone() {
            let block = self.frontiers[die as usize].block;
            if block.is_some() && block != lines.line_of(die) {
                return Err(contradiction());
            }
        }
        let reached: Vec<usize> = dies.clone().map(|die| lines.reached(die)).collect();
        let filled = |index: usize| {
            let done = |die: &u32| reached[*die as usize] > index + usize::from(is_open(*die));
            dies.clone().filter(done).count() as u32
        };
        if (0..lines.opened.len()).any(|index| filled(index) == dies.end) {
            return Err(contradiction());
        }
        space.set_slc_lines(lines, filled);
        Ok(())
    }

    /// Whether a page of a block in SLC mode may hold data.
    pub(super) fn may_hold(&self, shape: &Shape, page: u32) -> bool {
        let frontier = &self.frontiers[shape.die_of(page) as usize];
        page % shape.pages_per_block < self.pages_per_block
            && !(frontier.next..frontier.end).contains(&page)
    }
}
