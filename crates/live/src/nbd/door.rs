//! Places of clients in the handshake, and what is said of those that lose theirs.

use crate::control::StrangerStatus;
use crate::crowd::{Crowd, Member, Room, Source};
use crate::seldom::Seldom;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Most clients in the handshake at once. For one more a client is disconnected: of the source with
/// the most, the one that has made no step for the longest time.
pub const NEGOTIATIONS_MAX: usize = 2048;

/// For how long a client is not disconnected for another after a step: a round trip on a slow
/// network.
const GRACE: Duration = Duration::from_millis(250);
/// For how long nothing more is logged of clients that lost their places.
const LOG_PAUSE: Duration = Duration::from_secs(10);

/// How many clients were disconnected before they had chosen an export. Copies count together.
#[derive(Clone, Debug, Default)]
pub struct StrangerCounts(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    evicted: AtomicU64,
    late: AtomicU64,
    refused: AtomicU64,
}

impl StrangerCounts {
    /// The counts at present.
    #[must_use]
    pub fn status(&self) -> StrangerStatus {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let Counts { evicted, late, refused } = &*self.0;
        StrangerStatus { evicted: of(evicted), late: of(late), refused: of(refused) }
    }
}

/// The places, and who is in them by the index of its negotiation.
#[derive(Debug)]
pub(super) struct Door {
    crowd: Crowd<Instant>,
    counts: StrangerCounts,
    logged: StrangerStatus,
    /// When something may be logged again.
    log_at: Option<Instant>,
    complaints: Seldom<Instant>,
}

impl Door {
    /// Empty places; `counts` is told of those that lose theirs.
    pub(super) fn new(counts: StrangerCounts) -> Self {
        let crowd = Crowd::new(NEGOTIATIONS_MAX);
        let logged = StrangerStatus::default();
        Self { crowd, counts, logged, log_at: None, complaints: Seldom::default() }
    }

    /// Until when no client can be accepted, because all in the handshake made a step just now.
    pub(super) fn closed_until(&self, now: Instant) -> Option<Instant> {
        let Room::Instead(member) = self.crowd.room() else { return None };
        let opens = member.since + GRACE;
        (opens > now).then_some(opens)
    }

    /// The client that is to be disconnected before another one comes.
    pub(super) fn surplus(&self) -> Option<usize> {
        let Room::Instead(member) = self.crowd.room() else { return None };
        Some(member.number as usize)
    }

    /// The client that is to be disconnected when the system lacks what a new one needs.
    pub(super) fn dispensable(&self, now: Instant) -> Option<usize> {
        let oldest = self.crowd.oldest_of_most()?;
        (oldest.since + GRACE <= now).then_some(oldest.number as usize)
    }

    /// A client comes.
    pub(super) fn enter(&mut self, now: Instant, index: usize, source: Source) {
        self.crowd.join(Member { number: index as u32, source, since: now });
    }

    /// A client has made a step that each makes once.
    pub(super) fn step(&mut self, now: Instant, index: usize) {
        self.crowd.step(now, index as u32);
    }

    /// Whether something about all clients may be logged, which is seldom.
    pub(super) fn may_complain(&mut self, now: Instant) -> bool {
        self.complaints.may(now, LOG_PAUSE)
    }

    /// A client has chosen, or is gone.
    pub(super) fn leave(&mut self, index: usize) {
        self.crowd.leave(index as u32);
    }

    /// A client was disconnected for another one.
    pub(super) fn count_evicted(&self) {
        self.counts.0.evicted.fetch_add(1, Ordering::Relaxed);
    }

    /// A client took too long.
    pub(super) fn count_late(&self) {
        self.counts.0.late.fetch_add(1, Ordering::Relaxed);
    }

    /// A client had chosen, and there was no place for its source.
    pub(super) fn count_refused(&self) {
        self.counts.0.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether something is to be logged.
    pub(super) fn has_news(&self) -> bool {
        self.counts.status() != self.logged
    }

    /// Says how many clients lost their places: one line for all since the last one.
    pub(super) fn log(&mut self, now: Instant) {
        if !self.has_news() || self.log_at.is_some_and(|at| now < at) {
            return;
        }
        let status = self.counts.status();
        let StrangerStatus { evicted, late, refused } = status.since(&self.logged);
        tracing::warn!(
            evicted,
            late,
            refused,
            "NBD clients in the handshake were evicted for newer ones, were too late, or were refused because their \
             address has too many clients"
        );
        self.logged = status;
        self.log_at = Some(now + LOG_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_makes_steps_keeps_its_place_and_silent_ones_end() {
        let mut door = Door::new(StrangerCounts::default());
        let begin = Instant::now();
        let at = |milliseconds| begin + Duration::from_millis(milliseconds);
        for index in 0..NEGOTIATIONS_MAX {
            assert_eq!(door.surplus(), None);
            door.enter(at(0), index, Source::Local);
        }
        assert_eq!(door.closed_until(at(100)), Some(at(0) + GRACE));
        door.step(at(200), 0);
        assert_eq!((door.closed_until(at(260)), door.surplus()), (None, Some(1)));
        door.leave(1);
        assert_eq!((door.surplus(), door.dispensable(at(260))), (None, Some(2)));
        assert_eq!(door.dispensable(at(100)), None, "it has its grace");
    }

    #[test]
    fn what_anyone_can_cause_is_said_seldom() {
        let mut door = Door::new(StrangerCounts::default());
        let now = Instant::now();
        assert!(door.may_complain(now) && !door.may_complain(now));
        assert!(door.may_complain(now + LOG_PAUSE));
    }
}
