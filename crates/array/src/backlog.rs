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

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use nvme::{CommandId, Opcode};
use units::{DriveId, Duration};

/// Less than any flash takes for a program: Z-NAND, the fastest kind, needs 100 µs (Cheong et al.,
/// ISSCC 2018).
const PROGRAM: Duration = Duration::from_micros(50);

/// Waiting blocks for each of which a drive gets one more: a drive that does not keep up has to work
/// at its best.
const WAITING_EACH: u32 = 4;
/// Multiple of the limit that a drive gets at most. Queues of drives on sale hold more commands.
const MOST_TIMES: u32 = 4;

/// What has a limit of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Write,
    ParityRead,
}

/// A command that waits, or is about to.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    drive: DriveId,
    id: CommandId,
    blocks: u32,
}

/// The commands of one kind at one drive, in blocks.
#[derive(Clone, Copy, Debug, Default)]
struct Load {
    waiting: u32,
    /// The drive has them.
    out: u32,
}

/// What one drive has, and what waits for it.
#[derive(Clone, Debug, Default)]
struct Backlog {
    loads: [Load; 2],
    parity_reads: VecDeque<(CommandId, u32)>,
    /// The drive has shown a write buffer.
    has_buffer: bool,
}

impl Backlog {
    /// Blocks of a kind that the drive has at most.
    fn limit_blocks(&self, kind: Kind, most_blocks: u32) -> u32 {
        let waiting = self.loads[kind as usize].waiting;
        (waiting / WAITING_EACH).clamp(most_blocks, most_blocks.saturating_mul(MOST_TIMES))
    }

    fn has_room(&self, kind: Kind, blocks: u32, most_blocks: u32) -> bool {
        let out = self.loads[kind as usize].out;
        let limit = self.limit_blocks(kind, most_blocks);
        out == 0 || out.saturating_add(blocks) <= limit || !self.has_buffer
    }
}

/// What waits at the host for each drive.
///
/// Writes of a stripe operation go out together: the journal takes what comes together as one change
/// of the stripe, and a crash finds all of it or nothing. They wait in one line for all drives, until
/// the drives of the first operation have room on average: one that lags a little does not hold up
/// all others.
#[derive(Clone, Debug)]
pub(crate) struct Backlogs {
    /// Blocks of a kind that a drive with a buffer has at most.
    most_blocks: u32,
    drives: Vec<Backlog>,
    /// Writes of an operation that has not named all of them.
    gathered: Vec<Waiting>,
    /// Writes that wait, operation by operation.
    writes: VecDeque<Vec<Waiting>>,
    /// Writes that go out now.
    going: VecDeque<CommandId>,
    /// Kinds of the commands that are out, by their ids.
    kinds: Vec<Option<Kind>>,
    waited: u64,
}

impl Backlogs {
    pub(crate) fn new(drives: u32, most_blocks: u32) -> Self {
        Self {
            most_blocks,
            drives: vec![Backlog::default(); drives as usize],
            gathered: Vec::new(),
            writes: VecDeque::new(),
            going: VecDeque::new(),
            kinds: Vec::new(),
            waited: 0,
        }
    }

    /// Commands that have had to wait since the start.
    pub(crate) fn waited(&self) -> u64 {
        self.waited
    }

    /// Takes a read for parity. Returns whether it has to wait.
    pub(crate) fn holds_read(&mut self, drive: DriveId, id: CommandId, blocks: u32) -> bool {
        let (kind, backlog) = (Kind::ParityRead, &mut self.drives[drive.index()]);
        if backlog.parity_reads.is_empty() && backlog.has_room(kind, blocks, self.most_blocks) {
            self.begin(kind, Waiting { drive, id, blocks });
            return false;
        }
        backlog.parity_reads.push_back((id, blocks));
        backlog.loads[kind as usize].waiting += blocks;
        self.waited += 1;
        true
    }

    /// Takes a write of the operation whose writes [`Backlogs::end_gathering`] ends.
    pub(crate) fn gather(&mut self, drive: DriveId, id: CommandId, blocks: u32) {
        self.gathered.push(Waiting { drive, id, blocks });
    }

    /// The operation has no more writes: they go out now, or wait.
    pub(crate) fn end_gathering(&mut self) {
        if self.writes.is_empty() && self.have_room(&self.gathered) {
            for index in 0..self.gathered.len() {
                self.let_go(self.gathered[index]);
            }
            return self.gathered.clear();
        }
        for write in &self.gathered {
            self.drives[write.drive.index()].loads[Kind::Write as usize].waiting += write.blocks;
            self.waited += 1;
        }
        self.writes.push_back(core::mem::take(&mut self.gathered));
    }

    /// The next write that goes out now.
    pub(crate) fn next_write(&mut self) -> Option<CommandId> {
        if self.going.is_empty() {
            self.writes.front().filter(|writes| self.have_room(writes))?;
            for write in self.writes.pop_front()? {
                let load = &mut self.drives[write.drive.index()].loads[Kind::Write as usize];
                load.waiting -= write.blocks;
                self.let_go(write);
            }
        }
        self.going.pop_front()
    }

    /// Whether the drives of these writes have room for them, on average and none far beyond its own.
    fn have_room(&self, writes: &[Waiting]) -> bool {
        let (mut wanted, mut limit) = (0_u32, 0_u32);
        for write in writes {
            let backlog = &self.drives[write.drive.index()];
            let out = backlog.loads[Kind::Write as usize].out;
            if out == 0 || !backlog.has_buffer {
                continue;
            }
            if out.saturating_add(write.blocks) > self.most_blocks.saturating_mul(MOST_TIMES) {
                return false;
            }
            wanted = wanted.saturating_add(out).saturating_add(write.blocks);
            limit = limit.saturating_add(backlog.limit_blocks(Kind::Write, self.most_blocks));
        }
        wanted <= limit
    }

    fn let_go(&mut self, write: Waiting) {
        self.begin(Kind::Write, write);
        self.going.push_back(write.id);
    }

    fn begin(&mut self, kind: Kind, command: Waiting) {
        self.drives[command.drive.index()].loads[kind as usize].out += command.blocks;
        let index = command.id.0 as usize;
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
        backlog.loads[kind as usize].out -= blocks;
        Some(kind)
    }

    /// The next read for parity for which the drive has room; it goes out now.
    pub(crate) fn next_read(&mut self, drive: DriveId) -> Option<CommandId> {
        let (kind, backlog) = (Kind::ParityRead, &mut self.drives[drive.index()]);
        let &(id, blocks) = backlog.parity_reads.front()?;
        if !backlog.has_room(kind, blocks, self.most_blocks) {
            return None;
        }
        backlog.parity_reads.pop_front();
        backlog.loads[kind as usize].waiting -= blocks;
        self.begin(kind, Waiting { drive, id, blocks });
        Some(id)
    }

    /// All that waits for a drive, which is gone: first writes, then reads, in the order of their
    /// coming. What is known of it is forgotten. Writes that waited with them may go out now.
    pub(crate) fn abandon(&mut self, drive: DriveId) -> Vec<CommandId> {
        let mut abandoned = Vec::new();
        for writes in &mut self.writes {
            let gone = writes.extract_if(.., |write| write.drive == drive);
            abandoned.extend(gone.map(|write| write.id));
        }
        self.writes.retain(|writes| !writes.is_empty());
        let backlog = &mut self.drives[drive.index()];
        backlog.has_buffer = false;
        for load in &mut backlog.loads {
            load.waiting = 0;
        }
        abandoned.extend(backlog.parity_reads.drain(..).map(|(id, _)| id));
        abandoned
    }

    /// Panics if something waits, and nothing that is out can end that.
    pub(crate) fn check_invariants(&self) {
        assert!(self.gathered.is_empty() && self.going.is_empty(), "{self:?}");
        for backlog in &self.drives {
            let reads = backlog.loads[Kind::ParityRead as usize];
            assert!(backlog.parity_reads.is_empty() || reads.out > 0, "{backlog:?}");
        }
        assert!(self.writes.front().is_none_or(|writes| !self.have_room(writes)), "{self:?}");
    }
}

#[cfg(test)]
mod tests;
