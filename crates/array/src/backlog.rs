//! Writes and reads for parity that wait at the host, and not in a drive.
//!
//! A drive works on a limited number of commands at once. Writes that wait for room in its buffer
//! keep their places, and reads of the host wait behind them. So a drive gets a limited number of
//! blocks at a time. The others wait here, in the order of their coming, and reads of the host pass
//! them. Linux limits writes for the same reason (writeback throttling, Kyber).
//!
//! That holds for drives with a write buffer, which lose little: from the buffer they keep all
//! their dies busy. A drive without one is as busy as what it was sent, and is sent all at once. A
//! write that takes less time than flash needs for a program has shown a buffer.
//!
//! A drive does not wait for another: writes of one stripe operation go out when each has its turn.
//! The data plane knows all of them before ([`DataAction::Prepare`](crate::DataAction::Prepare)).

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use nvme::{CommandId, Opcode};
use units::{DriveId, Duration};

/// Less than any flash takes for a program: Z-NAND, the fastest kind, needs 100 µs (Cheong et al.,
/// ISSCC 2018).
const PROGRAM: Duration = Duration::from_micros(50);

/// Multiple of the limit that a drive gets at most: one that does not keep up has to work at its best,
/// and gets as much as waits for it.
const MOST_TIMES: u32 = 12;

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
    waiting_blocks: u32,
    /// Blocks that the drive has.
    out_blocks: u32,
}

impl Line {
    /// All that waits, in the order of its coming; nothing waits any more.
    fn clear(&mut self) -> VecDeque<(CommandId, u32)> {
        self.waiting_blocks = 0;
        core::mem::take(&mut self.waiting)
    }
}

/// What waits for one drive.
#[derive(Clone, Debug, Default)]
struct Backlog {
    lines: [Line; 2],
    /// The drive has shown a write buffer.
    has_buffer: bool,
}

impl Backlog {
    fn has_room(&self, kind: Kind, blocks: u32, most_blocks: u32) -> bool {
        let line = &self.lines[kind as usize];
        let most_blocks =
            line.waiting_blocks.clamp(most_blocks, most_blocks.saturating_mul(MOST_TIMES));
        let out = line.out_blocks;
        out == 0 || out.saturating_add(blocks) <= most_blocks || !self.has_buffer
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

    /// Blocks of writes that wait, for all drives together; 0 where nothing waits at the host.
    pub(crate) fn writes_waiting_blocks(backlogs: Option<&Self>) -> u64 {
        let drives = backlogs.into_iter().flat_map(|backlogs| &backlogs.drives);
        drives.map(|drive| u64::from(drive.lines[Kind::Write as usize].waiting_blocks)).sum()
    }

    /// Blocks of a kind that wait for `drive`.
    pub(crate) fn waiting_blocks(&self, drive: DriveId, kind: Kind) -> u32 {
        self.drives[drive.index()].lines[kind as usize].waiting_blocks
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
        let line = &mut self.drives[drive.index()].lines[kind as usize];
        line.waiting.push_back((id, blocks));
        line.waiting_blocks = line.waiting_blocks.saturating_add(blocks);
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
        backlog.has_buffer |= opcode == Opcode::Write && latency < PROGRAM;
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
        let line = &mut backlog.lines[kind as usize];
        line.waiting.pop_front();
        line.waiting_blocks = line.waiting_blocks.saturating_sub(blocks);
        self.begin(drive, kind, id, blocks);
        Some(id)
    }

    /// All writes that wait, drive by drive in the order of their coming; they go out now.
    pub(crate) fn let_writes_go(&mut self) -> Vec<CommandId> {
        let mut going = Vec::new();
        for drive in (0..).map(DriveId).take(self.drives.len()) {
            for (id, blocks) in self.drives[drive.index()].lines[Kind::Write as usize].clear() {
                self.begin(drive, Kind::Write, id, blocks);
                going.push(id);
            }
        }
        going
    }

    /// All that waits for a drive, which is gone: first writes, then reads, in the order of their
    /// coming. What is known of it is forgotten.
    pub(crate) fn abandon(&mut self, drive: DriveId) -> Vec<CommandId> {
        let backlog = &mut self.drives[drive.index()];
        backlog.has_buffer = false;
        backlog.lines.iter_mut().flat_map(Line::clear).map(|(id, _)| id).collect()
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
