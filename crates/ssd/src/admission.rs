//! How many commands a drive works on at a time. Those beyond wait for a slot, in the order of arrival:
//! NVMe controllers and SSDSim (`queue_length`) have a fixed number of slots.

use alloc::collections::VecDeque;
use nvme::Command;
use units::{Duration, Instant};

/// The slots of a drive, and the commands that wait for one.
#[derive(Clone, Debug)]
pub(crate) struct Admission {
    slots: usize,
    in_service: usize,
    waiting: VecDeque<(Instant, Command)>,
}

impl Admission {
    /// So many slots, all of them free.
    pub(crate) fn new(slots: u32) -> Self {
        Self { slots: slots as usize, in_service: 0, waiting: VecDeque::new() }
    }

    /// A command arrives. Returns whether it begins at once.
    pub(crate) fn arrive(&mut self, now: Instant, command: &Command) -> bool {
        let begins = self.in_service < self.slots;
        if begins {
            self.in_service += 1;
        } else {
            self.waiting.push_back((now, *command));
        }
        begins
    }

    /// So many commands have ended.
    pub(crate) fn end(&mut self, commands: usize) {
        self.in_service -= commands;
    }

    /// The next command that begins, if a slot is free, and for how long it has waited.
    pub(crate) fn begin_next(&mut self, now: Instant) -> Option<(Command, Duration)> {
        if self.in_service == self.slots {
            return None;
        }
        let (arrived, command) = self.waiting.pop_front()?;
        self.in_service += 1;
        Some((command, now.since(arrived)))
    }

    /// Commands that have not begun.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Checks that a command waits only if no slot is free, `in_service` being in the drive.
    pub(crate) fn check_invariants(&self, in_service: usize) {
        assert_eq!(self.in_service, in_service, "slots that are taken");
        assert!(self.waiting.is_empty() || self.in_service == self.slots, "a slot that idles");
    }
}
