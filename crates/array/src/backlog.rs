//! Writes and reads for parity that wait at the host, and not in a drive.
//!
//! A drive works on a limited number of commands at once. Writes that wait for room in its buffer
//! keep their places, and reads of the host wait behind them. So a drive gets a limited number of
//! blocks at a time. The others wait here, in the order of their coming, and reads of the host pass
//! them. Linux limits writes for the same reason (writeback throttling, Kyber).
//!
//! That holds for drives with a write buffer, which lose nothing: from the buffer they keep all
//! their dies busy. A drive without one is as busy as what it was sent, and is sent all at once. A
//! drive has shown a buffer when the quickest tenth of its writes took at most half as long as the
//! quickest tenth of its reads.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use nvme::{CommandId, Opcode};
use units::{DriveId, Duration};

/// Answers that show how quick a drive is.
const ENOUGH: u32 = 64;

/// What waits in a line of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Write,
    ParityRead,
}

/// The commands of one kind at one drive.
#[derive(Clone, Debug, Default)]
struct Line {
    waiting: VecDeque<(CommandId, u32)>,
    /// Blocks that the drive has.
    out_blocks: u32,
}

/// The latency that the quickest tenth of all answers stays below. It follows them: an answer below
/// takes it down by nine parts, and one above takes it up by one.
#[derive(Clone, Copy, Debug, Default)]
struct QuickestTenth {
    nanos: u64,
    answers: u32,
}

impl QuickestTenth {
    fn note(&mut self, latency: Duration) {
        let nanos = latency.as_nanos();
        let part = 1 + self.nanos / if self.answers < ENOUGH { 32 } else { 256 };
        self.nanos = match () {
            () if self.answers == 0 => nanos,
            () if nanos < self.nanos => self.nanos.saturating_sub(9 * part),
            () => self.nanos + part,
        };
        self.answers = self.answers.saturating_add(1);
    }

    /// The latency, once there were enough answers.
    fn nanos(&self) -> Option<u64> {
        (self.answers >= ENOUGH).then_some(self.nanos)
    }
}

/// What waits for one drive, and what its answers have shown.
#[derive(Clone, Debug, Default)]
struct Backlog {
    lines: [Line; 2],
    writes: QuickestTenth,
    reads: QuickestTenth,
    /// The drive has shown a write buffer. That it fills up does not take it away.
    has_buffer: bool,
}

impl Backlog {
    fn has_room(&self, kind: Kind, blocks: u32, most_blocks: u32) -> bool {
        let out = self.lines[kind as usize].out_blocks;
        out == 0 || out.saturating_add(blocks) <= most_blocks || !self.has_buffer
    }

    fn note(&mut self, opcode: Opcode, latency: Duration) {
        match opcode {
            Opcode::Read => self.reads.note(latency),
            Opcode::Write => self.writes.note(latency),
            Opcode::Deallocate => {}
        }
        if let (Some(write), Some(read)) = (self.writes.nanos(), self.reads.nanos()) {
            self.has_buffer |= write * 2 <= read;
        }
    }
}

/// What waits at the host for each drive.
#[derive(Clone, Debug)]
pub(crate) struct Backlogs {
    /// Blocks of a kind that a drive with a buffer has at most.
    most_blocks: u32,
    drives: Vec<Backlog>,
    /// Kinds of the commands that are out, by their ids.
    kinds: Vec<Option<Kind>>,
    waited: u64,
}

impl Backlogs {
    pub(crate) fn new(drives: u32, most_blocks: u32) -> Self {
        let drives = vec![Backlog::default(); drives as usize];
        Self { most_blocks, drives, kinds: Vec::new(), waited: 0 }
    }

    /// Commands that have had to wait since the start.
    pub(crate) fn waited(&self) -> u64 {
        self.waited
    }

    /// Takes a command for `drive`. Returns whether it has to wait.
    pub(crate) fn holds(&mut self, drive: DriveId, kind: Kind, id: CommandId, blocks: u32) -> bool {
        let backlog = &self.drives[drive.index()];
        if backlog.lines[kind as usize].waiting.is_empty()
            && backlog.has_room(kind, blocks, self.most_blocks)
        {
            self.begin(drive, kind, id, blocks);
            return false;
        }
        self.drives[drive.index()].lines[kind as usize].waiting.push_back((id, blocks));
        self.waited += 1;
        true
    }

    fn begin(&mut self, drive: DriveId, kind: Kind, id: CommandId, blocks: u32) {
        self.drives[drive.index()].lines[kind as usize].out_blocks += blocks;
        let index = id.0 as usize;
        if index >= self.kinds.len() {
            self.kinds.resize(index + 1, None);
        }
        self.kinds[index] = Some(kind);
    }

    /// The drive has answered a command. Returns its kind, if it is of one that may have to wait.
    pub(crate) fn answered(
        &mut self,
        drive: DriveId,
        id: CommandId,
        opcode: Opcode,
        blocks: u32,
        latency: Duration,
    ) -> Option<Kind> {
        let backlog = &mut self.drives[drive.index()];
        backlog.note(opcode, latency);
        let kind = self.kinds.get_mut(id.0 as usize)?.take()?;
        backlog.lines[kind as usize].out_blocks -= blocks;
        Some(kind)
    }

    /// The next command of a kind for which the drive has room; it goes out now.
    pub(crate) fn next(&mut self, drive: DriveId, kind: Kind) -> Option<CommandId> {
        let backlog = &mut self.drives[drive.index()];
        let &(id, blocks) = backlog.lines[kind as usize].waiting.front()?;
        if !backlog.has_room(kind, blocks, self.most_blocks) {
            return None;
        }
        backlog.lines[kind as usize].waiting.pop_front();
        self.begin(drive, kind, id, blocks);
        Some(id)
    }

    /// All that waits for a drive, which is gone: first writes, then reads, in the order of their
    /// coming. What is known of it is forgotten.
    pub(crate) fn abandon(&mut self, drive: DriveId) -> Vec<CommandId> {
        let backlog = &mut self.drives[drive.index()];
        let waiting = backlog.lines.iter_mut().flat_map(|line| line.waiting.drain(..));
        let waiting = waiting.map(|(id, _)| id).collect();
        let lines = core::mem::take(&mut backlog.lines);
        *backlog = Backlog { lines, ..Backlog::default() };
        waiting
    }

    /// Panics if something waits for a drive that has nothing to do.
    pub(crate) fn check_invariants(&self) {
        for line in self.drives.iter().flat_map(|backlog| &backlog.lines) {
            assert!(line.waiting.is_empty() || line.out_blocks > 0, "{line:?}");
        }
    }
}

#[cfg(test)]
mod tests;
