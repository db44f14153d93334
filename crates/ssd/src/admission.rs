//! How many commands a drive works on at a time, and which of those that wait for a slot comes
//! next.
//!
//! NVMe controllers and SSDSim (`queue_length`) have a fixed number of slots. A host may give reads
//! and writes submission queues of their own (Linux: `nvme.write_queues`), between which the
//! controller arbitrates (NVMe Base 2.0, §3.4.4).

use crate::config::{Arbitration, QueueConfig};
use crate::link::Waited;
use alloc::collections::VecDeque;
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
    /// Commands of each submission queue: of all, or of reads and of writes.
    waiting: [VecDeque<Waiting>; 2],
    arbitration: Arbitration,
    /// The queue whose turn it is, and how many commands it may still send in it.
    turn: (usize, u32),
}

impl Admission {
    /// So many slots, all of them free.
    pub(crate) fn new(config: QueueConfig) -> Self {
        Self {
            slots: config.depth as usize,
            in_service: 0,
            waiting: [VecDeque::new(), VecDeque::new()],
            arbitration: config.arbitration,
            turn: (0, config.arbitration.weights()[0]),
        }
    }

    fn queue_of(&self, command: &Command) -> usize {
        match (self.arbitration, command.opcode) {
            (Arbitration::OneQueue, _) | (_, Opcode::Read) => 0,
            _ => 1,
        }
    }

    /// The queue that sends the next command: the one whose turn it is, unless it is empty.
    fn take_turn(&mut self) -> usize {
        let (queue, left) = self.turn;
        let other = 1 - queue;
        let goes_on =
            (left > 0 && !self.waiting[queue].is_empty()) || self.waiting[other].is_empty();
        let (queue, left) =
            if goes_on { (queue, left) } else { (other, self.arbitration.weights()[other]) };
        self.turn = (queue, left.saturating_sub(1));
        queue
    }

    /// A command arrives; `held_up` says whether a collection holds up one of those that have the
    /// slots. Returns whether it begins at once.
    pub(crate) fn arrive(&mut self, now: Instant, command: &Command, held_up: bool) -> bool {
        let begins = self.in_service < self.slots;
        if begins {
            self.in_service += 1;
        } else {
            let queue = self.queue_of(command);
            self.waiting[queue].push_back(Waiting { arrived: now, command: *command, held_up });
        }
        begins
    }

    /// So many commands have ended.
    pub(crate) fn end(&mut self, commands: usize) {
        self.in_service -= commands;
    }

    /// The next command that begins, if a slot is free, and how it has waited.
    pub(crate) fn begin_next(&mut self, now: Instant) -> Option<(Command, Waited)> {
        if self.in_service == self.slots || self.waiting() == 0 {
            return None;
        }
        let queue = self.take_turn();
        let Waiting { arrived, command, held_up } = self.waiting[queue].pop_front()?;
        self.in_service += 1;
        Some((command, Waited { time: now.since(arrived), held_up }))
    }

    /// Commands that have not begun.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.iter().map(VecDeque::len).sum()
    }

    /// Checks that a command waits only if no slot is free, `in_service` being in the drive.
    pub(crate) fn check_invariants(&self, in_service: usize) {
        assert_eq!(self.in_service, in_service, "slots that are taken");
        assert!(self.waiting() == 0 || self.in_service == self.slots, "a slot that idles");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;
    use nvme::{CommandId, PlFlag};
    use units::Lba;

    /// The order in which twelve commands begin, of which the first six are writes: w or r.
    fn order(arbitration: Arbitration) -> String {
        let mut admission = Admission::new(QueueConfig { depth: 1, arbitration });
        for id in 0..13 {
            let opcode = if id <= 6 { Opcode::Write } else { Opcode::Read };
            let (id, lba, pl) = (CommandId(id), Lba(0), PlFlag::Off);
            admission.arrive(Instant::ZERO, &Command { id, opcode, lba, blocks: 1, pl }, false);
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
    }
}
