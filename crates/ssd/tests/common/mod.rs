//! What the tests of the drive have in common: a host that keeps a number of commands in flight.
#![allow(dead_code, unreachable_pub, missing_docs, reason = "each test uses its part")]

use nvme::{Command, CommandId, Completion, Opcode, PlFlag, Status};
use ssd::Ssd;
use units::{Instant, Lba, Rng};

/// A host in a closed loop of single-page commands at random addresses.
pub struct Host {
    pub rng: Rng,
    pub write_percent: u64,
    pub pl: PlFlag,
    pub now: Instant,
    depth: u32,
    started: bool,
}

impl Host {
    pub fn new(seed: u64, depth: u32, write_percent: u64) -> Self {
        let rng = Rng::stream(seed, "host");
        Self { rng, write_percent, pl: PlFlag::Off, now: Instant::ZERO, depth, started: false }
    }

    fn send(&mut self, drive: &mut Ssd, id: CommandId) {
        let write = self.rng.below(100) < self.write_percent;
        let opcode = if write { Opcode::Write } else { Opcode::Read };
        let lba = Lba(self.rng.below(drive.logical_blocks()));
        let pl = if write { PlFlag::Off } else { self.pl };
        drive.handle_command(self.now, &Command { id, opcode, lba, blocks: 1, pl });
    }

    /// Runs until `count` commands have succeeded. A read that fails fast is replaced.
    pub fn run(&mut self, drive: &mut Ssd, count: u64, mut seen: impl FnMut(Instant, &Completion)) {
        if !self.started {
            self.started = true;
            (0..self.depth).for_each(|id| self.send(drive, CommandId(id)));
        }
        let mut left = count;
        while left > 0 {
            let due = drive.next_deadline();
            assert_ne!(due, Instant::NEVER, "the drive stopped with commands in flight");
            self.now = due;
            drive.handle_deadline(due);
            while let Some(completed) = drive.poll_completion() {
                seen(completed.at, &completed.completion);
                left -= u64::from(completed.completion.status == Status::Success).min(left);
                self.send(drive, completed.completion.id);
            }
        }
    }

    /// Waits for what is in flight.
    pub fn drain(&mut self, drive: &mut Ssd) {
        while drive.commands_in_flight() > 0 {
            self.now = drive.next_deadline();
            drive.handle_deadline(self.now);
            while drive.poll_completion().is_some() {}
        }
        self.started = false;
    }
}
