//! What may overtake what on a die: reads before writes, the host before a collection, and a read
//! in the middle of a program or an erase.
//!
//! *Preemptive collection* lets the host in between the page operations of a collection, until the
//! drive is at the hard watermark (TTFLASH §6.2; IODA §6.2.4). *Suspension* interrupts a program or an
//! erase for a read and goes on with it afterwards, at a cost for each time and with a limit for
//! each operation, so that it ends (IODA §6.2.5). Both give way where they would carry a
//! collection past the end of its window.

use crate::config::SuspensionConfig;
use crate::device::Ssd;
use crate::die::{State, Step};
use crate::ledger::Work;
use crate::ops::OpKind;
use units::{Duration, Instant};

/// A program or an erase that was interrupted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Suspended {
    state: State,
    /// What is left of it, resuming included.
    pub(crate) left: Duration,
    work: Option<Work>,
    /// The host operation, if it is one.
    op: u32,
}

impl Ssd {
    /// Whether a read that arrives now goes to the front of the queue of its die. A collection that
    /// waits for the die is not overtaken: the host was told when it would be over.
    #[inline]
    pub(crate) fn overtakes(&self, die: u32, kind: OpKind) -> bool {
        let target = &self.dies[die as usize];
        self.config.scheduling.read_priority
            && kind.is_host_read()
            && (target.collection.is_none() || target.job.is_some())
    }

    /// Whether the collection on `die` lets the next host operation go first.
    #[inline]
    pub(crate) fn yields_to_host(&self, now: Instant, die: u32) -> bool {
        if !self.config.scheduling.preemptive_collection {
            return false;
        }
        let Some(next) = self.dies[die as usize].queue.front() else { return false };
        let service = self.service_of(self.ops.get(next).kind);
        self.has_time_for(now, die, service)
    }

    /// Whether the collection on `die`, if there is one, may be held up for so long.
    fn has_time_for(&self, now: Instant, die: u32, length: Duration) -> bool {
        if self.ftl.free(die) <= self.ftl.shape.hard {
            return false;
        }
        let target = &self.dies[die as usize];
        let Some(collection) = target.collection else { return true };
        let collection = self.collections.get(collection);
        if collection.violation {
            return false;
        }
        let Some(job) = target.job else { return false };
        if collection.until == Instant::NEVER {
            return true;
        }
        let end = job.first_page + self.ftl.shape.pages_per_block;
        // The copy under way counts as well: its page stays valid until it is done.
        let valid = self.ftl.count_valid_between(job.cursor, end) + 1;
        let rest = self.step_left(now, die) + self.config.collection_bound(valid);
        now + length + rest <= collection.until
    }

    /// What is left of a suspended operation.
    pub(crate) fn suspended_left(&self, die: u32) -> Duration {
        self.dies[die as usize].suspended.map_or(Duration::ZERO, |suspended| suspended.left)
    }

    /// Interrupts the program or erase on `die` for a read that has just arrived.
    pub(crate) fn suspend(&mut self, now: Instant, die: u32) {
        let Some(SuspensionConfig { program, erase, most }) = self.config.scheduling.suspension
        else {
            return;
        };
        let target = &self.dies[die as usize];
        let cost = match target.state {
            State::Serving(Step::Program) | State::Copying(Step::Program) => program,
            State::Erasing => erase,
            _ => return,
        };
        let left = self.step_left(now, die);
        // Nothing is gained from interrupting what is over sooner.
        if target.suspensions >= most || left <= cost {
            return;
        }
        if !self.has_time_for(now, die, cost * 2 + self.read_service) {
            return;
        }
        let target = &mut self.dies[die as usize];
        target.suspensions += 1;
        target.suspended = Some(Suspended {
            state: target.state,
            left: left + cost,
            work: target.ledger.current(),
            op: target.op,
        });
        target.state = State::Suspending;
        self.counters.suspensions += 1;
        self.deadlines.set(die as usize, now + cost);
    }

    /// Goes on with what was suspended, if no read is in front of the queue and something was.
    /// Returns whether it did.
    pub(crate) fn resume(&mut self, now: Instant, die: u32) -> bool {
        let Some(suspended) = self.dies[die as usize].suspended else { return false };
        let next = self.dies[die as usize].queue.front();
        let is_read = next.is_some_and(|next| self.ops.get(next).kind.is_host_read());
        if is_read && self.has_time_for(now, die, self.read_service + suspended.left) {
            return false;
        }
        let target = &mut self.dies[die as usize];
        target.suspended = None;
        target.state = suspended.state;
        target.op = suspended.op;
        target.ledger.switch(now, suspended.work);
        self.deadlines.set(die as usize, now + suspended.left);
        true
    }
}
