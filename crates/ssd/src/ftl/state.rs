//! State of the FTL's maps as numbers, every one of which is checked when it is read.

use crate::codec::{Reader, StateError, Writer};
use crate::config::{CollectionUnit, Config};
use crate::ftl::Ftl;
use crate::ftl::frontier::Frontier;
use crate::ftl::sensings::SENSINGS_MAX;
use alloc::vec;
use alloc::vec::Vec;

/// Limit of a block's erases in a valid state: far more than flash endures.
const ERASES_MAX: u32 = 1 << 30;

const fn contradiction(what: &'static str) -> StateError {
    StateError::Contradiction { what }
}

/// Reads a list of exactly `len` numbers, each below `limit`.
fn take_exactly(
    reader: &mut Reader<'_>,
    len: usize,
    limit: u32,
    what: &'static str,
) -> Result<Vec<u32>, StateError> {
    let list = reader.take_list(len, limit, what)?;
    if list.len() == len { Ok(list) } else { Err(contradiction(what)) }
}

impl Ftl {
    /// Writes the state that cannot be derived from other parts.
    pub(crate) fn write_state(&self, writer: &mut Writer) {
        writer.put_list(self.turns.positions().iter().copied());
        writer.put_list(self.erase_counts.iter().copied());
        writer.put_list(
            self.frontiers.iter().map(|frontier| frontier.block.map_or(0, |block| block + 1)),
        );
        writer.put_list(self.frontiers.iter().map(Frontier::left));
        if let Some(slc) = &self.slc {
            slc.write_state(self.space.slc_lines(), writer);
        }
        self.space.write_state(writer);
        // Page numbers plus one: 0 stands for a page that is not mapped.
        writer.put_list(self.map.places().map(|page| page.map_or(0, |page| page + 1)));
        let sensings = self.sensings.counts();
        if !sensings.is_empty() {
            writer.put_list(sensings.iter().copied());
        }
    }

    /// Reads the output of [`Ftl::write_state`], for a drive without RAIN.
    pub(crate) fn read_state(config: &Config, reader: &mut Reader<'_>) -> Result<Self, StateError> {
        let mut ftl = Self::new(config);
        let shape = ftl.shape;
        let dies = shape.dies as usize;
        let ranges = shape.ranges.count as usize;
        let turns = take_exactly(reader, ranges, shape.ranges.dies, "whose turn it is")?;
        ftl.turns.set_positions(turns);
        let blocks = ftl.erase_counts.len();
        ftl.erase_counts = take_exactly(reader, blocks, ERASES_MAX, "erasures of blocks")?;
        let open = take_exactly(reader, dies, shape.blocks_per_die + 1, "open blocks")?;
        let left = take_exactly(reader, dies, shape.pages_per_block + 1, "room in open blocks")?;
        for (die, (&open, &left)) in (0..shape.dies).zip(open.iter().zip(&left)) {
            let frontier = match open {
                0 if left == 0 => Frontier { next: 0, end: 0, block: None },
                0 => return Err(contradiction("room in a block that is not open")),
                _ if !left.is_multiple_of(shape.pages_per_program) => {
                    return Err(contradiction("room in an open block that ends inside a program"));
                }
                open => {
                    let end = shape.first_page(die, open - 1) + shape.pages_per_block;
                    Frontier { next: end - left, end, block: Some(open - 1) }
                }
            };
            ftl.frontiers[die as usize] = frontier;
        }
        let open: Vec<Option<u32>> = ftl.frontiers.iter().map(|frontier| frontier.block).collect();
        if let Some(slc) = &mut ftl.slc {
            slc.read_state(reader, &shape, &mut ftl.space)?;
        }
        let slc = ftl.slc.as_ref();
        let is_cached =
            |die, block| slc.is_some_and(|slc| slc.has(shape.unit_of_block(die, block)));
        ftl.space.read_state(reader, shape.blocks_per_die, &open, is_cached)?;
        if (0..shape.dies).any(|die| ftl.free(die) < shape.levels.hard) {
            return Err(contradiction("fewer blocks are free than collection needs"));
        }
        ftl.read_map(reader)?;
        // A drive that does not count sensings writes none and needs none.
        if !reader.bytes.is_empty() {
            let sensings = take_exactly(reader, blocks, SENSINGS_MAX, "sensings of blocks")?;
            ftl.sensings.set(sensings);
        }
        if ftl.leveling.is_some() {
            for die in 0..shape.dies {
                let pool = ftl.blocks_of_pool(die);
                ftl.space.sort_free(die, &ftl.erase_counts[pool]);
            }
        }
        ftl.find_candidates();
        Ok(ftl)
    }

    fn read_map(&mut self, reader: &mut Reader<'_>) -> Result<(), StateError> {
        let shape = self.shape;
        let logical_pages = shape.stored_pages as usize;
        let map = take_exactly(reader, logical_pages, shape.pages() + 1, "the map")?;
        let is_written = self.written_blocks();
        for (logical, page) in (0..).zip(map) {
            let Some(page) = page.checked_sub(1) else { continue };
            let die = shape.die_of(page);
            let frontier = self.frontiers[die as usize];
            let is_ahead = match &self.slc {
                Some(slc) if slc.has(shape.unit_of(page)) => !slc.may_hold(&shape, page),
                _ => (frontier.next..frontier.end).contains(&page),
            };
            if is_ahead || !is_written[(page / shape.pages_per_block) as usize] {
                return Err(contradiction("a page is where nothing was written"));
            }
            if shape.range_of_die(die) != shape.range_of(logical) {
                return Err(contradiction("a page is on a die of another range"));
            }
            if self.holds(page).is_some() {
                return Err(contradiction("two pages are in one place"));
            }
            self.map.insert(logical, page);
            self.valid.add(shape.unit_of(page), 1);
        }
        Ok(())
    }

    /// Blocks that hold data, or may: open and full blocks.
    fn written_blocks(&self) -> Vec<bool> {
        let shape = self.shape;
        let mut written = vec![true; (shape.dies * shape.blocks_per_die) as usize];
        for die in 0..shape.dies {
            let first = die * shape.blocks_per_die;
            self.space.for_each_unwritten(die, |block| written[(first + block) as usize] = false);
        }
        written
    }

    /// Makes the units that are full everywhere candidates for collection.
    fn find_candidates(&mut self) {
        let shape = self.shape;
        let written = self.written_blocks();
        for unit in 0..shape.units() {
            let is_full = match shape.unit {
                CollectionUnit::Block => {
                    let (die, block) = (unit / shape.blocks_per_die, unit % shape.blocks_per_die);
                    written[unit as usize] && self.frontiers[die as usize].block != Some(block)
                }
                CollectionUnit::Line => !self.space.is_opened(unit) && written[unit as usize],
            };
            if is_full && !self.slc.as_ref().is_some_and(|slc| slc.has(unit as usize)) {
                self.make_candidate(unit as usize);
            }
        }
    }
}
