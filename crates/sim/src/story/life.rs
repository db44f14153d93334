//! What is kept of the life of a request, as far as it has come.

use super::command::OwnCommand;
use super::operation::{Link, OwnOp, StoryStep};
use super::state::{OpenState, Work};
use array::{OpId, RequestId, RequestKind};
use nvme::CommandId;
use ssd::PageOperation;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use units::{DriveId, Duration, Instant};

/// How long page operations take that nothing stands in the way of.
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

/// A die that the request touches, since it does.
#[derive(Clone, Debug)]
pub(super) struct Die {
    pub(super) drive: DriveId,
    pub(super) die: u32,
    /// What it did, and until when.
    pub(super) spans: Vec<(Work, Instant)>,
    pub(super) now: Option<Work>,
}

impl Die {
    /// From `at` on the die does something else, or the same.
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
            // One page after another of the same.
            Some((last, until)) if last.is_same(&work) && *until == work.since => *until = at,
            _ if at > work.since => self.spans.push((work, at)),
            _ => {}
        }
    }
}

/// The life of the request as far as it has come.
#[derive(Clone, Debug)]
pub(super) struct Life {
    pub(super) id: RequestId,
    pub(super) kind: RequestKind,
    pub(super) offset_bytes: u64,
    pub(super) size_bytes: u64,
    pub(super) arrived: Instant,
    /// When its first stripe operation began.
    pub(super) admitted: Instant,
    pub(super) ops: Vec<OwnOp>,
    pub(super) commands: Vec<OwnCommand>,
    pub(super) links: Vec<Link>,
    pub(super) steps: Vec<(Instant, StoryStep)>,
    pub(super) times: Times,
    pub(super) dies: Vec<Die>,
    /// Where each of them is in the list.
    pub(super) die_numbers: BTreeMap<(DriveId, u32), usize>,
    /// Operations and commands that are open, with their indices.
    pub(super) open_ops: BTreeMap<OpId, usize>,
    pub(super) open_commands: BTreeMap<CommandId, usize>,
}

impl Life {
    /// What a die did since the request came to it, and until when.
    pub(super) fn work_on(
        &self,
        drive: DriveId,
        die: u32,
    ) -> impl Iterator<Item = (Work, Instant)> + '_ {
        let tracked = self.die_numbers.get(&(drive, die)).map(|&number| &self.dies[number]);
        tracked.into_iter().flat_map(|tracked| tracked.spans.iter().copied())
    }

    /// Its first byte, and its length.
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
