//! A drive as the host knows it when it decides about a read: commands that are out, and reads that
//! have been answered.

use crate::policy::{Answered, Sent};
use alloc::boxed::Box;
use nvme::Opcode;
use units::Lba;

/// Reads of a drive of which it is remembered how long the queue was when they were sent. Two that
/// are out with the same remainder of their first blocks share a place; the later one has it, and
/// the other is no history.
const REMEMBERED: usize = 1024;

/// A read that has been answered.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Past {
    /// Blocks that were out with it when it was sent, its own included.
    pub(super) queue_blocks: u32,
    /// Time to its answer, in whole microseconds.
    pub(super) latency_micros: u32,
    /// Its blocks.
    pub(super) blocks: u32,
}

/// The last `N` reads of a drive that were answered, and what is out there.
pub(super) struct History<const N: usize> {
    /// Newest first.
    past: [Past; N],
    known: usize,
    out_blocks: u32,
    /// First block of a read that is out and blocks out with it, by the remainder of the former.
    sent: Box<[(Lba, u32)]>,
}

impl<const N: usize> History<N> {
    /// Nothing is out, and nothing was answered.
    pub(super) fn new() -> Self {
        Self {
            past: [Past::default(); N],
            known: 0,
            out_blocks: 0,
            sent: alloc::vec![(Lba(u64::MAX), 0); REMEMBERED].into_boxed_slice(),
        }
    }

    /// The last reads, newest first; `None` while there are fewer.
    pub(super) fn last(&self) -> Option<&[Past; N]> {
        (self.known == N).then_some(&self.past)
    }

    /// Blocks that are out.
    pub(super) const fn out_blocks(&self) -> u32 {
        self.out_blocks
    }

    /// A command goes out to the drive.
    pub(super) fn sent(&mut self, command: &Sent) {
        if command.opcode == Opcode::Deallocate {
            return;
        }
        self.out_blocks += command.blocks;
        if command.opcode == Opcode::Read {
            self.sent[place(command.lba)] = (command.lba, self.out_blocks);
        }
    }

    /// The drive has answered.
    pub(super) fn answered(&mut self, answer: &Answered) {
        let command = &answer.command;
        if command.opcode == Opcode::Deallocate {
            return;
        }
        self.out_blocks -= command.blocks;
        let (lba, queue_blocks) = self.sent[place(command.lba)];
        if command.opcode != Opcode::Read || lba != command.lba {
            return;
        }
        let latency_micros = answer.latency.as_nanos() / 1000;
        self.past.rotate_right(1);
        self.past[0] = Past {
            queue_blocks,
            latency_micros: u32::try_from(latency_micros).unwrap_or(u32::MAX),
            blocks: command.blocks,
        };
        self.known = (self.known + 1).min(N);
    }
}

const fn place(lba: Lba) -> usize {
    lba.0 as usize % REMEMBERED
}
