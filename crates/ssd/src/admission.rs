//! Command slots of a drive: the most commands in service at once, and the order in which waiting
//! commands get a free slot.
//!
//! NVMe controllers and SSDSim (`queue_length`) have a fixed number of slots. A host may give reads
//! and writes submission queues of their own (Linux: `nvme.write_queues`), between which the
//! controller arbitrates (NVMe Base 2.0, §3.4.4).

use crate::config::{Arbitration, QueueConfig};
use crate::link::Waited;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use nvme::{Command, Opcode};
use units::Instant;

/// A command that waits for a slot.
#[derive(Clone, Debug)]
struct Waiting {
    arrived: Instant,
    command: Command,
    held_up: bool,
}

/// The slots of a drive, and the commands that wait for one.
#[derive(Clone, Debug)]
pub(crate) struct Admission {
    slots: usize,
    in_service: usize,
    /// Submission queues with their commands: one for all, one each for reads and writes, or one
    /// for each submitter.
    queues: Vec<VecDeque<Waiting>>,
    /// Commands in all these queues.
    waiting: usize,
    arbitration: Arbitration,
    /// Queue whose turn it is, and number of commands that it may still send in this turn.
    turn: (usize, u32),
}

impl Admission {
    /// Returns an admission with `config.depth` slots, all of them free.
    pub(crate) fn new(config: QueueConfig) -> Self {
        Self {
            slots: config.depth as usize,
            in_service: 0,
            queues: vec![VecDeque::new(); 2],
            waiting: 0,
            arbitration: config.arbitration,
            turn: (0, config.arbitration.weights()[0]),
        }
    }

    /// The queue for a command of a submitter.
    fn queue_of(&self, submitter: u32, command: &Command) -> usize {
        match (self.arbitration, command.opcode) {
            (Arbitration::Submitters, _) => submitter as usize,
            (Arbitration::OneQueue, _) | (_, Opcode::Read) => 0,
            _ => 1,
        }
    }

    /// Returns the queue that sends the next command: the queue whose turn it is, or the next that
    /// is not empty. Needs a queue with a command.
    fn take_turn(&mut self) -> usize {
        let (before, left) = self.turn;
        let queues = self.queues.len();
        let goes_on = left > 0 && !self.queues[before].is_empty();
        let queue = match goes_on {
            true => before,
            false => (1..=queues)
                .map(|step| (before + step) % queues)
                .find(|&queue| !self.queues[queue].is_empty())
                .unwrap_or(before),
        };
        let weight = self.arbitration.weights().get(queue).copied().unwrap_or(1);
        let left = if queue == before { left } else { weight };
        self.turn = (queue, left.saturating_sub(1));
        queue
    }

    /// Takes a command of a submitter. `held_up` says whether a collection holds up a command that
    /// has a slot. Returns whether the new command begins at once.
    pub(crate) fn arrive(
        &mut self,
        now: Instant,
        submitter: u32,
        command: &Command,
        held_up: bool,
    ) -> bool {
        let begins = self.in_service < self.slots;
        if begins {
            self.in_service += 1;
        } else {
            let queue = self.queue_of(submitter, command);
            if queue >= self.queues.len() {
                self.queues.resize_with(queue + 1, VecDeque::new);
            }
            self.queues[queue].push_back(Waiting { arrived: now, command: *command, held_up });
            self.waiting += 1;
        }
        begins
    }

    /// Frees the slots of `commands` commands that have ended.
    pub(crate) fn end(&mut self, commands: usize) {
        self.in_service -= commands;
    }

    /// Gives a free slot to the next command. Returns the command and how long it waited; `None` if
    /// no slot is free or no command waits.
    pub(crate) fn begin_next(&mut self, now: Instant) -> Option<(Command, Waited)> {
        if self.in_service == self.slots || self.waiting == 0 {
            return None;
        }
        let queue = self.take_turn();
        let Waiting { arrived, command, held_up } = self.queues[queue].pop_front()?;
        self.waiting -= 1;
        self.in_service += 1;
        Some((command, Waited { time: now.since(arrived), held_up }))
    }

    /// Commands that wait for a slot.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Checks that commands wait only if no slot is free. `in_service` is the number of commands in
    /// the drive.
    pub(crate) fn check_invariants(&self, in_service: usize) {
        assert_eq!(self.in_service, in_service, "slots that are taken");
        assert!(self.waiting == 0 || self.in_service == self.slots, "a slot that idles");
        let waiting: usize = self.queues.iter().map(VecDeque::len).sum();
        assert_eq!(self.waiting, waiting, "commands in queues");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;
    use nvme::{CommandId, PlFlag};
    use units::Lba;

    /// Order in which twelve commands begin, w for a write and r for a read; the first six are
    /// writes.
    fn order(arbitration: Arbitration) -> String {
        let mut admission = Admission::new(QueueConfig { depth: 1, arbitration });
        for id in 0..13 {
            let opcode = if id <= 6 { Opcode::Write } else { Opcode::Read };
            let (id, lba, pl) = (CommandId(id), Lba(0), PlFlag::Off);
            let command = Command { id, opcode, lba, blocks: 1, pl };
            admission.arrive(Instant::ZERO, id.0 / 3, &command, false);
        }
        let mut order = String::new();
        for _ in 0..12 {
            admission.end(1);
            let (command, _) = admission.begin_next(Instant::ZERO).unwrap_or_else(|| panic!());
            order.push(if command.opcode == Opcode::Read { 'r' } else { 'w' });
        }
        admission.check_invariants(1);
        order
    }

    #[test]
    fn queues_take_turns_by_their_weights() {
        assert_eq!(order(Arbitration::OneQueue), "wwwwwwrrrrrr");
        assert_eq!(order(Arbitration::RoundRobin), "rwrwrwrwrwrw");
        assert_eq!(order(Arbitration::Weighted { reads: 4, writes: 1 }), "rrrrwrrwwwww");
        // Submitters have three commands each: writes, then reads from the seventh on.
        assert_eq!(order(Arbitration::Submitters), "wwwrrwwrrwrr");
    }
}
