//! Faults in a run: drives that fail, are replaced, or cannot read.

use nvme::{Command, CommandId, Opcode};
use std::collections::{BTreeSet, VecDeque};
use units::{DriveId, Duration, Instant};

/// Something that goes wrong, or is put right.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The drive fails and forgets everything.
    Fail(DriveId),
    /// A factory-new drive takes its place, as soon as the failed one has answered what is out.
    Replace(DriveId),
    /// From now on every so many reads the drive cannot do one; never again if it is 0.
    Unreadable {
        /// The drive.
        drive: DriveId,
        /// Reads from one that it cannot do to the next.
        every: u64,
    },
}

/// How long a drive that cannot be replaced yet is left alone.
const AGAIN: Duration = Duration::from_micros(50);

/// The faults that are to come, and the reads that they may meet.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    events: VecDeque<(Instant, Fault)>,
    /// Of each drive that cannot always read: reads from one that fails to the next, and so far.
    unreadable: Vec<(DriveId, u64, u64)>,
    reads: BTreeSet<CommandId>,
}

impl Faults {
    /// Faults in the order of their time.
    pub(crate) fn new(mut events: Vec<(Instant, Fault)>) -> Self {
        events.sort_by_key(|&(at, _)| at);
        Self { events: events.into(), ..Self::default() }
    }

    pub(crate) fn next(&self) -> Instant {
        self.events.front().map_or(Instant::NEVER, |&(at, _)| at)
    }

    pub(crate) fn take(&mut self) -> Option<Fault> {
        self.events.pop_front().map(|(_, fault)| fault)
    }

    /// The fault comes a little later than it was to.
    pub(crate) fn again(&mut self, now: Instant, fault: Fault) {
        self.events.push_front((now + AGAIN, fault));
        self.events.make_contiguous().sort_by_key(|&(at, _)| at);
    }

    pub(crate) fn set_unreadable(&mut self, drive: DriveId, every: u64) {
        self.unreadable.retain(|&(other, ..)| other != drive);
        if every > 0 {
            self.unreadable.push((drive, every, 0));
        }
    }

    /// A command goes to a drive.
    pub(crate) fn submit(&mut self, command: &Command) {
        if command.opcode == Opcode::Read && !self.unreadable.is_empty() {
            self.reads.insert(command.id);
        }
    }

    /// Whether the drive could not do what it answers.
    pub(crate) fn hits(&mut self, drive: DriveId, command: CommandId) -> bool {
        if !self.reads.remove(&command) {
            return false;
        }
        let mut drives = self.unreadable.iter_mut();
        let Some((_, every, reads)) = drives.find(|(other, ..)| *other == drive) else {
            return false;
        };
        *reads += 1;
        reads.is_multiple_of(*every)
    }
}
