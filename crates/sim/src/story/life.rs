//! Record of a request's life so far.

use super::command::OwnCommand;
use super::operation::{Link, OwnOp, StoryStep};
use super::state::{OpenState, Work};
use array::{OpId, RequestId, RequestKind};
use nvme::CommandId;
use ssd::PageOperation;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use units::{DriveId, Duration, Instant};

/// Duration of page operations without any wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) sense: Duration,
    pub(super) transfer: Duration,
    pub(super) program: Duration,
}

impl Times {
    pub(super) fn of(&self, operation: PageOperation) -> Duration {
        match operation {
            PageOperation::Program => self.transfer + self.program,
            _ => self.sense + self.transfer,
        }
    }
}

/// A die that the request uses, followed since then.
#[derive(Clone, Debug)]
pub(super) struct Die {
    pub(super) drive: DriveId,
    pub(super) die: u32,
    /// Its past work, each with its end.
    pub(super) spans: Vec<(Work, Instant)>,
    pub(super) now: Option<Work>,
}

impl Die {
    /// Notes that the die changes its work at `at`, or continues it.
    pub(super) fn turn_to(&mut self, at: Instant, work: Option<Work>) {
        let same = |now: &Work, work: &Work| now.is_same(work);
        if let (Some(now), Some(work)) = (&self.now, &work)
            && same(now, work)
        {
            return;
        }
        if let Some(before) = self.now.take() {
            self.end(before, at);
        }
        self.now = work.map(|work| Work { since: at, ..work });
    }

    pub(super) fn end(&mut self, work: Work, at: Instant) {
        match self.spans.last_mut() {
            // Successive pages of the same work are one span.
            Some((last, until)) if last.is_same(&work) && *until == work.since => *until = at,
            _ if at > work.since => self.spans.push((work, at)),
            _ => {}
        }
    }
}

/// Life of the request so far.
#[derive(Clone, Debug)]
pub(super) struct Life {
    pub(super) id: RequestId,
    pub(super) kind: RequestKind,
    pub(super) offset_bytes: u64,
    pub(super) size_bytes: u64,
    pub(super) arrived: Instant,
    /// Time at which its first stripe operation began.
    pub(super) admitted: Instant,
    pub(super) ops: Vec<OwnOp>,
    pub(super) commands: Vec<OwnCommand>,
    pub(super) links: Vec<Link>,
    pub(super) steps: Vec<(Instant, StoryStep)>,
    pub(super) times: Times,
    pub(super) dies: Vec<Die>,
    /// Index of each die in the list.
    pub(super) die_numbers: BTreeMap<(DriveId, u32), usize>,
    /// Open operations and commands, with their indices.
    pub(super) open_ops: BTreeMap<OpId, usize>,
    pub(super) open_commands: BTreeMap<CommandId, usize>,
}

impl Life {
    /// Work of a die since the request came to it, each with its end.
    pub(super) fn work_on(
        &self,
        drive: DriveId,
        die: u32,
    ) -> impl Iterator<Item = (Work, Instant)> + '_ {
        let tracked = self.die_numbers.get(&(drive, die)).map(|&number| &self.dies[number]);
        tracked.into_iter().flat_map(|tracked| tracked.spans.iter().copied())
    }

    /// First byte and length of the request.
    pub(super) fn extent(&self) -> (u64, u64) {
        (self.offset_bytes, self.size_bytes)
    }

    pub(super) fn track(&mut self, state: &OpenState, drive: DriveId, die: u32) {
        let number = self.dies.len();
        if let Entry::Vacant(entry) = self.die_numbers.entry((drive, die)) {
            entry.insert(number);
            let now = state.work(drive, die);
            self.dies.push(Die { drive, die, spans: Vec::new(), now });
        }
    }

    pub(super) fn push(&mut self, at: Instant, step: StoryStep) {
        self.steps.push((at, step));
    }
}
