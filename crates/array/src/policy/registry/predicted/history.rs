//! History of a drive as the host knows it when it decides about a read: commands in flight, and
//! reads that were answered.

use crate::policy::{Answered, Sent};
use alloc::boxed::Box;
use nvme::Opcode;
use units::Lba;

/// Number of reads in flight of a drive whose queue length is remembered. Two reads whose first
/// blocks have the same remainder share a place; the later one has it, and the other is no history.
const REMEMBERED: usize = 1024;

/// A read that was answered.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Past {
    /// Blocks in flight when it was sent, its own included.
    pub(super) queue_blocks: u32,
    /// Time to its answer, in whole microseconds.
    pub(super) latency_micros: u32,
    /// Number of its blocks.
    pub(super) blocks: u32,
}

/// The last `N` answered reads of a drive, and its reads in flight.
pub(super) struct History<const N: usize> {
    /// Newest first.
    past: [Past; N],
    known: usize,
    out_blocks: u32,
    /// First block of a read in flight and blocks in flight when it was sent, by the remainder of
    /// the first block.
    sent: Box<[(Lba, u32)]>,
}

impl<const N: usize> History<N> {
    /// A drive with nothing in flight and nothing answered.
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

    /// Blocks in flight.
    pub(super) const fn out_blocks(&self) -> u32 {
        self.out_blocks
    }

    /// Notes a command that is sent to the drive.
    pub(super) fn sent(&mut self, command: &Sent) {
        if command.opcode == Opcode::Deallocate {
            return;
        }
        self.out_blocks += command.blocks;
        if command.opcode == Opcode::Read {
            self.sent[place(command.lba)] = (command.lba, self.out_blocks);
        }
    }

    /// Takes an answer of the drive.
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
