//! Free blocks and open lines as numbers, and back with every number checked.

use crate::codec::{Reader, StateError, Writer};
use crate::space::{Lines, Space};
use alloc::vec;
use alloc::vec::Vec;

const fn contradiction(what: &'static str) -> StateError {
    StateError::Contradiction { what }
}

/// A list of different blocks that marks them as known; none may be known already.
fn take_blocks(reader: &mut Reader<'_>, known: &mut [bool]) -> Result<Vec<u32>, StateError> {
    let what = "free and open blocks";
    let blocks = reader.take_list(known.len(), known.len() as u32, what)?;
    for &block in &blocks {
        if core::mem::replace(&mut known[block as usize], true) {
            return Err(contradiction(what));
        }
    }
    Ok(blocks)
}

impl Space {
    /// Writes what cannot be derived from the open blocks of the dies.
    pub(crate) fn write_state(&self, writer: &mut Writer) {
        match self {
            Self::Blocks(free) => {
                free.iter().for_each(|free| writer.put_list(free.iter().copied()));
            }
            Self::Lines(lines) => {
                writer.put_list(lines.free.iter().copied());
                writer.put_list(lines.opened.iter().copied());
                let ahead = |&position: &u64| (position - lines.opened_base) as u32;
                writer.put_list(lines.position.iter().map(ahead));
            }
        }
    }

    /// Reads what [`Space::write_state`] wrote into a space of the same kind. `open` is the open block
    /// of each die, if it has one.
    pub(crate) fn read_state(
        &mut self,
        reader: &mut Reader<'_>,
        blocks_per_die: u32,
        open: &[Option<u32>],
    ) -> Result<(), StateError> {
        match self {
            Self::Blocks(free) => {
                for (free, open) in free.iter_mut().zip(open) {
                    let mut known = vec![false; blocks_per_die as usize];
                    if let Some(open) = open {
                        known[*open as usize] = true;
                    }
                    *free = take_blocks(reader, &mut known)?.into();
                }
                Ok(())
            }
            Self::Lines(lines) => lines.read_state(reader, blocks_per_die, open),
        }
    }

    /// Calls `tell` with the blocks of `die` that it has written nothing to since they were erased.
    pub(crate) fn for_each_unwritten(&self, die: u32, mut tell: impl FnMut(u32)) {
        match self {
            Self::Blocks(free) => free[die as usize].iter().for_each(|&block| tell(block)),
            Self::Lines(lines) => {
                let ahead = (lines.position[die as usize] - lines.opened_base) as usize;
                lines.free.iter().chain(lines.opened.iter().skip(ahead)).for_each(|&b| tell(b));
            }
        }
    }

    /// Whether `line` is one that some die has not filled.
    pub(crate) fn is_opened(&self, line: u32) -> bool {
        match self {
            Self::Blocks(_) => false,
            Self::Lines(lines) => lines.opened.contains(&line),
        }
    }
}

impl Lines {
    fn read_state(
        &mut self,
        reader: &mut Reader<'_>,
        blocks_per_die: u32,
        open: &[Option<u32>],
    ) -> Result<(), StateError> {
        let what = "open lines";
        let mut known = vec![false; blocks_per_die as usize];
        self.free = take_blocks(reader, &mut known)?.into();
        self.opened = take_blocks(reader, &mut known)?.into();
        let lines = self.opened.len();
        let ahead = reader.take_list(open.len(), lines as u32 + 1, what)?;
        // The line that is furthest has been opened by somebody.
        let furthest = ahead.iter().max().map_or(0, |&most| most as usize);
        if ahead.len() != open.len() || furthest != lines {
            return Err(contradiction(what));
        }
        for (&ahead, &open) in ahead.iter().zip(open) {
            let line = match ahead {
                0 => None,
                ahead => Some(self.opened[ahead as usize - 1]),
            };
            if line != open {
                return Err(contradiction(what));
            }
        }
        // A die that has opened the next line has filled the one before.
        for (index, &line) in self.opened.iter().enumerate() {
            let filled = ahead.iter().filter(|&&ahead| ahead as usize > index + 1).count();
            if filled == open.len() {
                return Err(contradiction(what));
            }
            self.left[line as usize] = filled as u32;
        }
        // A die that never opened a line has filled none: no other line can be full then.
        let full = blocks_per_die as usize - self.free.len() - lines;
        if full > 0 && ahead.contains(&0) {
            return Err(contradiction(what));
        }
        self.opened_base = 0;
        self.position = ahead.into_iter().map(u64::from).collect();
        Ok(())
    }
}
