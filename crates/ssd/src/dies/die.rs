//! A die: one queue, one operation at a time.

use crate::dies::interruption::Interruption;
use crate::dies::ledger::{Ledger, Spent};
use crate::dies::ops::{OpQueue, Task};
use crate::dies::times::Times;
use units::Duration;

/// Present work of a die.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// No operation. The deadline, if set, is the time at which the die begins to scrub.
    Idle,
    /// A step of an operation from the queue.
    Serving(Task, Step),
    /// A step of a collection's copy.
    Copying(Copy, Step),
    /// A step of reading pages that a collection moves, on all planes at once.
    Gathering(Step),
    /// A step of programming pages that a collection has gathered.
    Relocating(Step),
    /// Erasing the collected block.
    Erasing,
    /// Reads of single planes for the host.
    Reading,
    /// Interrupting the program or erase in [`Die::interruption`].
    Suspending,
    /// A step of reading the flash page to check it.
    Scrubbing(u32, Step),
    /// Kept from the host by a collection that works on another die, or has not begun.
    Held,
}

/// A step of a page operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// Sensing the page into the register.
    Sense,
    /// Waiting for the channel.
    WaitChannel,
    /// Moving the page.
    Transfer,
    /// Programming the register into the page.
    Program,
}

/// A page on its way to a new place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Copy {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) logical: u32,
}

/// A block being collected on this die.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    /// First flash page of the block.
    pub(crate) first_page: u32,
    /// Next flash page of the job.
    pub(crate) cursor: u32,
    /// Valid pages at the beginning; counted for paced writes only, else 0.
    pub(crate) valid: u32,
    /// First of the dies that this job keeps from the host, itself included.
    pub(crate) first_held: u32,
    /// Number of these dies.
    pub(crate) held: u32,
}

/// One die.
#[derive(Clone, Debug)]
pub(crate) struct Die {
    pub(super) state: State,
    /// Its channel.
    pub(super) channel: u32,
    pub(super) queue: OpQueue,
    /// Programs that are queued or running: of the host, or of the flush of the write buffer.
    pub(super) programs: u32,
    /// Wait of the read in service so far, by kind of work.
    pub(super) waited: Spent,
    /// The channel's ledger when the read in service began to wait for it.
    pub(super) channel_before: Spent,
    /// Collection that holds this die, or will hold it when its turn in the queue comes.
    pub(super) collection: Option<u32>,
    pub(super) job: Option<Job>,
    pub(super) ledger: Ledger,
    /// Die whose job keeps this die from the host, if it is another die, and the ledger of that die
    /// when the job began. From then on, this die spends its time as the other does.
    pub(super) follows: Option<(u32, Spent)>,
    pub(super) interruption: Interruption,
    /// Time of the operation in service to sense or program.
    pub(super) cells: Duration,
    /// Data moves that the operation in service has still to make.
    pub(super) transfers: u32,
    /// Blocks that wait for the next operation that erases several.
    pub(super) unerased: u32,
}

impl Die {
    pub(super) const fn new(channel: u32) -> Self {
        Self {
            state: State::Idle,
            channel,
            queue: OpQueue::new(),
            programs: 0,
            waited: Spent::ZERO,
            channel_before: Spent::ZERO,
            collection: None,
            job: None,
            ledger: Ledger::new(),
            follows: None,
            interruption: Interruption::NONE,
            cells: Duration::ZERO,
            transfers: 0,
            unerased: 0,
        }
    }

    /// Whether a collection that works on another die, or has not begun, keeps the die from the host.
    pub(crate) fn is_held(&self) -> bool {
        self.state == State::Held
    }

    /// Whether the die erases a block.
    pub(crate) fn is_erasing(&self) -> bool {
        self.state == State::Erasing
    }

    /// Whether no operation waits for the die.
    pub(crate) fn has_empty_queue(&self) -> bool {
        self.queue.front().is_none()
    }

    /// Whether an operation waits that queued up behind a collection.
    #[inline]
    pub(crate) fn is_held_up(&self) -> bool {
        self.queue.held_up > 0
    }

    /// Whether an operation waits or is suspended, or a collection holds the die or waits for it.
    #[inline]
    pub(super) fn has_more_work(&self) -> bool {
        self.queue.front().is_some()
            || self.collection.is_some()
            || self.job.is_some()
            || self.interruption.is_suspended()
    }

    /// Counts a block that is to be erased. Returns the duration of the erase: the time of all
    /// blocks that wait, or zero if the operation that erases them is still to come.
    pub(super) fn erase_block(&mut self, times: &Times) -> Duration {
        self.unerased += 1;
        match self.unerased < times.blocks_per_erase {
            true => Duration::ZERO,
            false => times.erase * u64::from(core::mem::take(&mut self.unerased)),
        }
    }

    /// Data moves that the operation in service has still to make; 0 for reads of the host.
    pub(super) fn moves_left(&self) -> u64 {
        let transfers = match self.state {
            State::Serving(task, Step::WaitChannel | Step::Transfer) if !task.is_read() => {
                self.transfers
            }
            State::Gathering(_) => self.transfers,
            State::Relocating(Step::WaitChannel | Step::Transfer) => self.transfers,
            _ => 0,
        };
        u64::from(transfers)
    }
}
