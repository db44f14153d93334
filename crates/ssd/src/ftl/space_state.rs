//! State of free blocks and open lines as numbers, every one of which is checked when it is read.

use crate::codec::{Reader, StateError, Writer};
use crate::ftl::space::{Lines, Sequence, Space};
use alloc::vec::Vec;

const BLOCKS: &str = "free and open blocks";

const fn contradiction(what: &'static str) -> StateError {
    StateError::Contradiction { what }
}

/// Reads a list of different blocks and marks them in `known`; none of them may be marked already.
pub(super) fn take_blocks(
    reader: &mut Reader<'_>,
    known: &mut [bool],
    what: &'static str,
) -> Result<Vec<u32>, StateError> {
    let blocks = reader.take_list(known.len(), known.len() as u32, what)?;
    for &block in &blocks {
        if core::mem::replace(&mut known[block as usize], true) {
            return Err(contradiction(what));
        }
    }
    Ok(blocks)
}

impl Space {
    /// Writes the state that cannot be derived from the open blocks of the dies.
    pub(super) fn write_state(&self, writer: &mut Writer) {
        match self {
            Self::Blocks(free) => {
                free.iter().for_each(|free| writer.put_list(free.iter().copied()));
            }
            Self::Lines(lines) => {
                writer.put_list(lines.free.iter().copied());
                lines.ordinary.write_state(writer);
            }
        }
    }

    /// Lines that are being filled with one bit in a cell; `None` if every die has blocks of its
    /// own.
    pub(super) fn slc_lines(&self) -> Option<&Sequence> {
        match self {
            Self::Blocks(_) => None,
            Self::Lines(lines) => Some(&lines.slc),
        }
    }

    /// Sets the lines that are being filled with one bit in a cell. `filled` gives the number of
    /// dies that have filled their block of a line.
    pub(super) fn set_slc_lines(&mut self, sequence: Sequence, filled: impl Fn(usize) -> u32) {
        if let Self::Lines(lines) = self {
            for (index, &line) in sequence.opened.iter().enumerate() {
                lines.left[line as usize] = filled(index);
            }
            lines.slc = sequence;
        }
    }

    /// Reads the output of [`Space::write_state`] into a space of the same kind. `open` is the open
    /// block of each die, if any; `is_cached` says whether a block of a die is in SLC mode.
    pub(super) fn read_state(
        &mut self,
        reader: &mut Reader<'_>,
        blocks_per_die: u32,
        open: &[Option<u32>],
        is_cached: impl Fn(u32, u32) -> bool,
    ) -> Result<(), StateError> {
        let cached = |die| (0..blocks_per_die).map(|block| is_cached(die, block)).collect();
        match self {
            Self::Blocks(free) => {
                for ((free, open), die) in free.iter_mut().zip(open).zip(0..) {
                    let mut known: Vec<bool> = cached(die);
                    if let Some(open) = open
                        && core::mem::replace(&mut known[*open as usize], true)
                    {
                        return Err(contradiction("a block that is open in two modes"));
                    }
                    *free = take_blocks(reader, &mut known, BLOCKS)?.into();
                }
                Ok(())
            }
            Self::Lines(lines) => lines.read_state(reader, cached(0), open),
        }
    }

    /// Calls `tell` with the blocks of `die` that it has not written since their erase.
    pub(super) fn for_each_unwritten(&self, die: u32, mut tell: impl FnMut(u32)) {
        match self {
            Self::Blocks(free) => free[die as usize].iter().for_each(|&block| tell(block)),
            Self::Lines(lines) => {
                lines.free.iter().for_each(|&block| tell(block));
                for sequence in [&lines.ordinary, &lines.slc] {
                    let ahead = sequence.opened.iter().skip(sequence.reached(die));
                    ahead.for_each(|&block| tell(block));
                }
            }
        }
    }

    /// Whether `line` is open: some die has not filled it.
    pub(super) fn is_opened(&self, line: u32) -> bool {
        match self {
            Self::Blocks(_) => false,
            Self::Lines(lines) => {
                lines.ordinary.opened.contains(&line) || lines.slc.opened.contains(&line)
            }
        }
    }
}

impl Sequence {
    pub(super) fn write_state(&self, writer: &mut Writer) {
        writer.put_list(self.opened.iter().copied());
        writer.put_list((0..self.position.len() as u32).map(|die| self.reached(die) as u32));
    }

    /// Reads the output of [`Sequence::write_state`] for `dies` dies, and marks the lines in
    /// `known`; none of them may be marked already.
    pub(super) fn read_state(
        reader: &mut Reader<'_>,
        dies: usize,
        known: &mut [bool],
    ) -> Result<Self, StateError> {
        let what = "open lines";
        let opened = take_blocks(reader, known, BLOCKS)?;
        let ahead = reader.take_list(dies, opened.len() as u32 + 1, what)?;
        // Some die has opened the furthest line.
        let furthest = ahead.iter().max().map_or(0, |&most| most as usize);
        if ahead.len() != dies || furthest != opened.len() {
            return Err(contradiction(what));
        }
        let position = ahead.into_iter().map(u64::from).collect();
        Ok(Self { opened: opened.into(), opened_base: 0, position })
    }

    /// Line that a die has reached; `None` before its first.
    pub(super) fn line_of(&self, die: u32) -> Option<u32> {
        let last = self.reached(die).checked_sub(1)?;
        self.opened.get(last).copied()
    }
}

impl Lines {
    /// Reads free and ordinary lines. `known` marks the lines that are neither.
    fn read_state(
        &mut self,
        reader: &mut Reader<'_>,
        mut known: Vec<bool>,
        open: &[Option<u32>],
    ) -> Result<(), StateError> {
        let what = "open lines";
        self.free = take_blocks(reader, &mut known, BLOCKS)?.into();
        self.ordinary = Sequence::read_state(reader, open.len(), &mut known)?;
        let sequence = &self.ordinary;
        for (&open, die) in open.iter().zip(0..) {
            if sequence.line_of(die) != open {
                return Err(contradiction(what));
            }
        }
        // A die that has opened the next line has filled the one before.
        let dies = 0..open.len() as u32;
        for (index, &line) in sequence.opened.iter().enumerate() {
            let filled = dies.clone().filter(|&die| sequence.reached(die) > index + 1).count();
            if filled == open.len() {
                return Err(contradiction(what));
            }
            self.left[line as usize] = filled as u32;
        }
        // A die that never opened a line has filled none: no other line can be full then.
        let has_full = known.contains(&false);
        if has_full && dies.clone().any(|die| sequence.reached(die) == 0) {
            return Err(contradiction(what));
        }
        Ok(())
    }
}
