//! What a die or a channel spent its time on, so that waiting can be explained.

use nvme::{Cause, Delays};
use units::{Duration, Instant};

/// What occupies a die or a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Work {
    HostRead,
    HostWrite,
    /// Also the checking in idle time of what a collection copied.
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

    /// A wait for all of this, by cause.
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
/// The difference of two readings says what a command that waited from one to the other waited
/// for; because a resource with a queue is never without work, the parts sum to the wait.
#[derive(Clone, Debug)]
pub(super) struct Ledger {
    spent: Spent,
    current: Option<Work>,
    since: Instant,
    /// The first part of the current work that counts as [`Work::CollectionRead`]: a copy that
    /// never meets the channel is booked whole.
    lead: Duration,
}

impl Ledger {
    pub(super) const fn new() -> Self {
        Self { spent: Spent::ZERO, current: None, since: Instant::ZERO, lead: Duration::ZERO }
    }

    /// What it is spent on now.
    pub(super) fn current(&self) -> Option<Work> {
        self.current
    }

    /// Takes over what another ledger spent between two readings, the later of them at `now`, and
    /// goes on with `work`. This ledger was at rest meanwhile.
    pub(super) fn catch_up(&mut self, now: Instant, before: &Spent, after: &Spent, work: Work) {
        self.spent.add_between(before, after);
        self.switch(now, Some(work));
    }

    /// Turns to other work (or none) at `now`.
    #[inline]
    pub(super) fn switch(&mut self, now: Instant, work: Option<Work>) {
        self.switch_with_lead(now, work, Duration::ZERO);
    }

    /// Turns to `work`, the first `lead` of which is a collection's read.
    #[inline]
    pub(super) fn switch_with_lead(&mut self, now: Instant, work: Option<Work>, lead: Duration) {
        if let Some(current) = self.current {
            self.spent.add(current, now.since(self.since).as_nanos(), self.lead);
        }
        self.current = work;
        self.since = now;
        self.lead = lead;
    }

    /// The current work was done `times` times, each of which took `length`, and goes on.
    #[inline]
    pub(super) fn repeat(&mut self, times: u32, length: Duration) {
        if let (1.., Some(current)) = (times, self.current) {
            let lead = length.min(self.lead) * u64::from(times);
            self.spent.add(current, (length * u64::from(times)).as_nanos(), lead);
            self.since += length * u64::from(times);
        }
    }

    /// Time spent by kind up to the last switch: all of it, if that was just now.
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
