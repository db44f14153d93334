//! Writes and reads for parity that wait at the host instead of in a drive.
//!
//! A drive works on a limited number of commands at once. Writes that wait for room in its buffer
//! occupy that number, and reads of the host wait behind them. So a drive gets a limited number of
//! blocks at a time. The others wait here, in order of arrival, and reads of the host pass them.
//! Linux limits writes for the same reason (writeback throttling, Kyber).
//!
//! The limit applies to drives with a write buffer, which lose little: the buffer keeps all their
//! dies busy. A drive without a buffer works only on the commands that it has, so it is sent all at
//! once. A write that takes less time than a flash program reveals a buffer.
//!
//! Drives do not wait for each other: each write of a stripe operation is sent when its drive has
//! room. The data plane knows all of them before
//! ([`DataAction::Prepare`](crate::DataAction::Prepare)).

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use nvme::{CommandId, Opcode};
use units::{DriveId, Duration};

/// Less time than any flash program takes: Z-NAND, the fastest kind, needs 100 µs (Cheong et al.,
/// ISSCC 2018).
const PROGRAM: Duration = Duration::from_micros(50);

/// Maximum multiple of the limit. A drive that does not keep up gets as many blocks as wait for it,
/// up to this multiple, to reach its full throughput.
const MOST_TIMES: u32 = 12;

/// Kinds of commands that wait in separate lines.
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
    /// Blocks in flight at the drive.
    out_blocks: u32,
}

impl Line {
    /// Removes all waiting commands, in order of arrival.
    fn clear(&mut self) -> VecDeque<(CommandId, u32)> {
        self.waiting_blocks = 0;
        core::mem::take(&mut self.waiting)
    }
}

/// Commands that wait for one drive.
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

/// Commands that wait at the host, by drive.
#[derive(Clone, Debug)]
pub(crate) struct Backlogs {
    /// Limit of blocks of one kind in flight at a drive with a buffer.
    most_blocks: u32,
    drives: Vec<Backlog>,
    /// Kinds of the commands in flight, by command id.
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

    /// Blocks of waiting writes, for all drives together; 0 without a backlog.
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

    /// Notes that the drive has answered a command. Returns its kind; `None` if it is not limited
    /// here.
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

    /// Removes the next command of a kind for which the drive has room, to be sent now.
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

    /// Removes all waiting writes, drive by drive in order of arrival, to be sent now.
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

    /// Removes all commands that wait for a failed drive: first writes, then reads, in order of
    /// arrival. Forgets what is known of the drive.
    pub(crate) fn abandon(&mut self, drive: DriveId) -> Vec<CommandId> {
        let backlog = &mut self.drives[drive.index()];
        backlog.has_buffer = false;
        backlog.lines.iter_mut().flat_map(Line::clear).map(|(id, _)| id).collect()
    }

    /// Panics if commands wait for a drive that has none in flight.
    pub(crate) fn check_invariants(&self) {
        for line in self.drives.iter().flat_map(|backlog| &backlog.lines) {
            assert!(line.waiting.is_empty() || line.out_blocks > 0, "{line:?}");
        }
    }
}

#[cfg(test)]
mod tests;
