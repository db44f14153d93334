//! Commands in flight, by drive.

use alloc::vec;
use alloc::vec::Vec;
use nvme::Opcode;
use units::DriveId;

/// Blocks that each drive was asked to read or write and has not answered yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Queues {
    drives: Vec<Queue>,
}

/// Blocks in flight at one drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Queue {
    /// Blocks to be read.
    pub read_blocks: u32,
    /// Blocks to be written.
    pub write_blocks: u32,
    /// Commands sent since the start.
    pub commands: u64,
    /// Sum over all commands of the blocks in flight when the command was sent.
    pub blocks_ahead: u64,
}

impl Queue {
    /// All blocks in flight.
    #[must_use]
    pub const fn blocks(&self) -> u32 {
        self.read_blocks + self.write_blocks
    }

    #[inline]
    fn side(&mut self, opcode: Opcode) -> &mut u32 {
        match opcode {
            Opcode::Read => &mut self.read_blocks,
            Opcode::Write => &mut self.write_blocks,
            Opcode::Deallocate => unreachable!("a command without work queues for nothing"),
        }
    }
}

impl Queues {
    /// Empty queues of `drives` drives.
    #[must_use]
    pub fn new(drives: u32) -> Self {
        Self { drives: vec![Queue::default(); drives as usize] }
    }

    /// The queue of `drive`.
    #[must_use]
    pub fn of(&self, drive: DriveId) -> Queue {
        self.drives[drive.index()]
    }

    /// The queues of all drives, in order.
    #[must_use]
    pub fn all(&self) -> &[Queue] {
        &self.drives
    }

    #[inline]
    pub(crate) fn add(&mut self, drive: DriveId, opcode: Opcode, blocks: u32) {
        let queue = &mut self.drives[drive.index()];
        queue.blocks_ahead += u64::from(queue.blocks());
        queue.commands += 1;
        *queue.side(opcode) += blocks;
    }

    #[inline]
    pub(crate) fn remove(&mut self, drive: DriveId, opcode: Opcode, blocks: u32) {
        *self.drives[drive.index()].side(opcode) -= blocks;
    }
}
