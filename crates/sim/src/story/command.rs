//! The commands of the request that is explained, with all that became of them.

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
    /// What the die was at work with when it came, and how many operations waited ahead of it.
    pub(super) met: Option<Work>,
    pub(super) ahead: u32,
    pub(super) began: Option<Instant>,
    pub(super) ended: Option<Instant>,
    /// It had a program or an erase suspended.
    pub(super) suspended_another: bool,
    /// It had a collection let it go first.
    pub(super) preempted_collection: bool,
}

/// A fast failure.
#[derive(Clone, Copy, Debug)]
pub(super) struct FastFailure {
    /// What the drive said: the time until it could serve the read.
    pub(super) busy_remaining: Duration,
    /// The die that was busy, and the collection, if it is known.
    pub(super) die: Option<(u32, Option<Collection>)>,
}

/// A command of the request.
#[derive(Clone, Debug)]
pub(super) struct OwnCommand {
    /// Its operation, as an index.
    pub(super) op: usize,
    pub(super) member: u8,
    pub(super) drive: DriveId,
    pub(super) opcode: Opcode,
    pub(super) why: Why,
    pub(super) pl: PlFlag,
    /// First logical block of the drive, and how many.
    pub(super) lba: u64,
    pub(super) blocks: u32,
    pub(super) sent: Instant,
    /// The write cache took it, or had what it reads.
    pub(super) cached: bool,
    /// It had to wait for free space.
    pub(super) stalled: bool,
    pub(super) failed_fast: Option<FastFailure>,
    pub(super) pages: Vec<PageStep>,
    pub(super) answered: Option<(Instant, Status)>,
}

impl OwnCommand {
    /// The page that was done last, if all that are known are done.
    pub(super) fn last_page(&self) -> Option<&PageStep> {
        self.pages.iter().filter(|page| page.ended.is_some()).max_by_key(|page| page.ended)
    }

    /// The page operation of `origin` on `die` that is not done.
    pub(super) fn page_mut(&mut self, die: u32, origin: Origin) -> Option<&mut PageStep> {
        let mut pages = self.pages.iter_mut();
        pages.find(|page| page.die == die && page.origin == origin && page.ended.is_none())
    }

    pub(super) fn is_for_others(&self) -> bool {
        matches!(self.why, Why::Reconstruct | Why::Hedge)
    }
}
