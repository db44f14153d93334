//! Commands of the request that is explained, with all events that affected them.

use super::state::{Collection, Work};
use array::Why;
use nvme::{Opcode, PlFlag, Status};
use ssd::{Origin, PageOperation};
use units::{DriveId, Duration, Instant};

/// A page operation on its way through a die.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageStep {
    pub(super) die: u32,
    pub(super) operation: PageOperation,
    pub(super) origin: Origin,
    pub(super) queued: Instant,
    /// Work of the die at its arrival; `ahead` is the number of operations in the queue before it.
    pub(super) met: Option<Work>,
    pub(super) ahead: u32,
    pub(super) began: Option<Instant>,
    pub(super) ended: Option<Instant>,
    /// True if it had a program or an erase suspended.
    pub(super) suspended_another: bool,
    /// True if it preempted a collection.
    pub(super) preempted_collection: bool,
}

/// A fast failure.
#[derive(Clone, Copy, Debug)]
pub(super) struct FastFailure {
    /// Busy remaining time that the drive reported.
    pub(super) busy_remaining: Duration,
    /// The busy die, and the collection if it is known.
    pub(super) die: Option<(u32, Option<Collection>)>,
}

/// A command of the request.
#[derive(Clone, Debug)]
pub(super) struct OwnCommand {
    /// Index of its operation.
    pub(super) op: usize,
    pub(super) member: u8,
    pub(super) drive: DriveId,
    pub(super) opcode: Opcode,
    pub(super) why: Why,
    pub(super) pl: PlFlag,
    /// First logical block on the drive; `blocks` is the number of blocks.
    pub(super) lba: u64,
    pub(super) blocks: u32,
    pub(super) sent: Instant,
    /// True if the write cache took its data, or had the data that it reads.
    pub(super) cached: bool,
    /// True if it had to wait for free space.
    pub(super) stalled: bool,
    pub(super) failed_fast: Option<FastFailure>,
    pub(super) pages: Vec<PageStep>,
    pub(super) answered: Option<(Instant, Status)>,
}

impl OwnCommand {
    /// The page that was done last; `None` unless all known pages are done.
    pub(super) fn last_page(&self) -> Option<&PageStep> {
        self.pages.iter().filter(|page| page.ended.is_some()).max_by_key(|page| page.ended)
    }

    /// Unfinished page operation of `origin` on `die`.
    pub(super) fn page_mut(&mut self, die: u32, origin: Origin) -> Option<&mut PageStep> {
        let mut pages = self.pages.iter_mut();
        pages.find(|page| page.die == die && page.origin == origin && page.ended.is_none())
    }

    pub(super) fn is_for_others(&self) -> bool {
        matches!(self.why, Why::Reconstruct | Why::Hedge)
    }
}
