//! Time of a die or a channel by kind of work, to explain waits.

use nvme::{Cause, Delays};
use units::{Duration, Instant};

/// Kind of work that occupies a die or a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Work {
    HostRead,
    HostWrite,
    /// Also the check in idle time of pages that a collection copied.
    CollectionRead,
    CollectionProgram,
    CollectionErase,
}

const KINDS: usize = 5;

const CAUSES: [Cause; KINDS] = [
    Cause::BehindHostReads,
    Cause::BehindHostWrites,
    Cause::BehindCollectionRead,
    Cause::BehindCollectionProgram,
    Cause::BehindCollectionErase,
];

/// Nanoseconds spent on each kind of work up to some instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Spent([u64; KINDS]);

impl Spent {
    /// Nothing yet.
    pub(super) const ZERO: Self = Self([0; KINDS]);

    #[inline]
    fn add(&mut self, work: Work, length: u64, lead: Duration) {
        let read = length.min(lead.as_nanos());
        self.0[Work::CollectionRead as usize] += read;
        self.0[work as usize] += length - read;
    }

    /// Adds what was spent between two readings of a ledger.
    #[inline]
    pub(super) fn add_between(&mut self, before: &Self, after: &Self) {
        for ((sum, before), after) in self.0.iter_mut().zip(&before.0).zip(&after.0) {
            *sum += after - before;
        }
    }

    /// These times as delays of a command that waited for them, by cause.
    #[inline]
    pub(super) fn as_delays(&self) -> Delays {
        let mut delays = Delays::ZERO;
        for (cause, &nanos) in CAUSES.into_iter().zip(&self.0) {
            delays.add(cause, Duration::from_nanos(nanos));
        }
        delays
    }
}

/// Cumulative time by kind of work.
///
/// The difference of two readings explains a wait from one to the other. A resource with a queue is
/// never without work, so the parts sum to the wait.
#[derive(Clone, Debug)]
pub(super) struct Ledger {
    spent: Spent,
    current: Option<Work>,
    since: Instant,
    /// Start of the current work that counts as [`Work::CollectionRead`]: a copy that does not use
    /// the channel is booked as one piece.
    lead: Duration,
}

impl Ledger {
    pub(super) const fn new() -> Self {
        Self { spent: Spent::ZERO, current: None, since: Instant::ZERO, lead: Duration::ZERO }
    }

    /// Current work.
    pub(super) fn current(&self) -> Option<Work> {
        self.current
    }

    /// Adds the time that another ledger spent between two readings, the later of them at `now`,
    /// and continues with `work`. This ledger stood still in between.
    pub(super) fn catch_up(&mut self, now: Instant, before: &Spent, after: &Spent, work: Work) {
        self.spent.add_between(before, after);
        self.switch(now, Some(work));
    }

    /// Switches to other work, or to none, at `now`.
    #[inline]
    pub(super) fn switch(&mut self, now: Instant, work: Option<Work>) {
        self.switch_with_lead(now, work, Duration::ZERO);
    }

    /// Switches to `work`, the first `lead` of which counts as a collection's read.
    #[inline]
    pub(super) fn switch_with_lead(&mut self, now: Instant, work: Option<Work>, lead: Duration) {
        if let Some(current) = self.current {
            self.spent.add(current, now.since(self.since).as_nanos(), self.lead);
        }
        self.current = work;
        self.since = now;
        self.lead = lead;
    }

    /// Books `times` repetitions of the current work, each of duration `length`. The work
    /// continues.
    #[inline]
    pub(super) fn repeat(&mut self, times: u32, length: Duration) {
        if let (1.., Some(current)) = (times, self.current) {
            let lead = length.min(self.lead) * u64::from(times);
            self.spent.add(current, (length * u64::from(times)).as_nanos(), lead);
            self.since += length * u64::from(times);
        }
    }

    /// Time spent by kind up to the last switch.
    #[inline]
    pub(super) fn spent(&self) -> &Spent {
        &self.spent
    }

    /// Time spent by kind up to `now`.
    #[inline]
    pub(super) fn read(&self, now: Instant) -> Spent {
        let mut spent = self.spent;
        if let Some(current) = self.current {
            spent.add(current, now.since(self.since).as_nanos(), self.lead);
        }
        spent
    }
}
