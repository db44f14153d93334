//! Places of connections by what they may do, and what is said of those that lose theirs.
//!
//! A connection *enters* until its queue may be used: where hosts have to authenticate, until it has. Entering and
//! discovery have places of their own, so whoever never gets further takes nothing from hosts that are served.

use crate::control::StrangerStatus;
use crate::crowd::{Crowd, Member, Source};
use units::{Duration, Instant};

/// Most connections whose queues are in use, if memory suffices for their shares.
pub const CONNECTIONS_MAX: usize = 1024;

/// Parts of all places of which one is for entering connections.
const ENTERING_PART: usize = 16;
/// Least and most places for entering connections.
const ENTERING_MIN: usize = 16;
const ENTERING_MAX: usize = 256;
/// Places for entering connections for each one of discovery.
const ENTERING_PER_DISCOVERY: usize = 4;

/// For how long a new connection does not end for another: a handshake takes a few exchanges of messages.
const GRACE: Duration = Duration::from_millis(100);
/// For how long nothing more is logged of connections that lost their places.
const LOG_PAUSE: Duration = Duration::from_secs(10);

/// What a connection may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// Nothing but to connect and to authenticate.
    Entering,
    /// To ask for subsystems.
    Discovering,
    /// To use its queue.
    Serving,
}

/// Why a connection lost its place, or got none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Loss {
    /// Another one came while all places were taken.
    Evicted,
    /// Its time was over.
    Late,
    /// Its host may not connect, or all places for hosts are taken.
    Refused,
}

/// All places.
#[derive(Debug)]
pub(super) struct Admission {
    entering: Crowd<Instant>,
    discovering: Crowd<Instant>,
    serving: usize,
    serving_max: usize,
    status: StrangerStatus,
    /// What was logged of it.
    logged: StrangerStatus,
    /// When it may be logged again.
    log_at: Instant,
}

impl Admission {
    /// Places for as many connections as have shares of memory.
    pub(super) fn new(shares: usize) -> Self {
        let entering = (shares / ENTERING_PART).clamp(ENTERING_MIN, ENTERING_MAX);
        let discovering = entering / ENTERING_PER_DISCOVERY;
        let serving_max = shares.saturating_sub(entering + discovering);
        Self {
            entering: Crowd::new(entering),
            discovering: Crowd::new(discovering),
            serving: 0,
            serving_max: serving_max.clamp(1, CONNECTIONS_MAX),
            status: StrangerStatus::default(),
            logged: StrangerStatus::default(),
            log_at: Instant::ZERO,
        }
    }

    /// Most connections at a time.
    pub(super) fn places(&self) -> usize {
        self.entering.places() + self.discovering.places() + self.serving_max
    }

    /// Most connections of discovery at a time, and the one that comes while the oldest goes.
    pub(super) fn discovery_controllers_max(&self) -> u16 {
        self.discovering.places() as u16 + 1
    }

    /// Whether no other queue can come into use.
    pub(super) const fn is_full(&self) -> bool {
        self.serving >= self.serving_max
    }

    /// When a connection can be accepted at the earliest.
    pub(super) fn accepts_from(&self) -> Instant {
        self.entering.surplus().map_or(Instant::ZERO, |oldest| oldest.since + GRACE)
    }

    /// A connection was accepted. Returns the one that ends for it.
    #[must_use]
    pub(super) fn accept(&mut self, now: Instant, number: u32, source: Source) -> Option<u32> {
        let surplus = self.entering.surplus();
        self.entering.join(Member { number, source, since: now });
        self.evict(surplus)
    }

    /// An entering connection may do something else from now on. Returns the one that ends for it.
    #[must_use]
    pub(super) fn promote(
        &mut self,
        now: Instant,
        number: u32,
        source: Source,
        stage: Stage,
    ) -> Option<u32> {
        self.entering.leave(number);
        match stage {
            Stage::Entering => self.accept(now, number, source),
            Stage::Serving => {
                self.serving += 1;
                None
            }
            Stage::Discovering => {
                let surplus = self.discovering.surplus();
                self.discovering.join(Member { number, source, since: now });
                self.evict(surplus)
            }
        }
    }

    fn evict(&mut self, surplus: Option<Member<Instant>>) -> Option<u32> {
        let Member { number, source, .. } = surplus?;
        tracing::debug!(%source, "a connection ends for a new one");
        self.note(Loss::Evicted);
        Some(number)
    }

    /// A connection is no more.
    pub(super) fn leave(&mut self, number: u32, stage: Stage) {
        match stage {
            Stage::Entering => self.entering.leave(number),
            Stage::Discovering => self.discovering.leave(number),
            Stage::Serving => self.serving -= 1,
        }
    }

    /// A connection lost its place, or got none.
    pub(super) const fn note(&mut self, loss: Loss) {
        match loss {
            Loss::Evicted => self.status.evicted += 1,
            Loss::Late => self.status.late += 1,
            Loss::Refused => self.status.refused += 1,
        }
    }

    /// How many lost theirs.
    pub(super) const fn status(&self) -> StrangerStatus {
        self.status
    }

    /// When [`Self::log`] wants to be called.
    pub(super) fn next_deadline(&self) -> Instant {
        if self.status == self.logged { Instant::NEVER } else { self.log_at }
    }

    /// Says how many connections lost their places: one line for all since the last one.
    pub(super) fn log(&mut self, now: Instant) {
        if self.next_deadline() > now {
            return;
        }
        let StrangerStatus { evicted, late, refused } = self.status.since(&self.logged);
        tracing::warn!(
            evicted,
            late,
            refused,
            "connections over NVMe/TCP were evicted for newer ones, were too late with their handshake or their next \
             question, or were refused"
        );
        self.logged = self.status;
        self.log_at = now + LOG_PAUSE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(milliseconds)
    }

    #[test]
    fn who_enters_ends_for_newcomers_after_a_grace_and_who_is_served_never() {
        let mut admission = Admission::new(200);
        let entering = admission.entering.places() as u32;
        assert_eq!(admission.places(), 200);
        for number in 0..entering {
            assert_eq!(admission.accepts_from(), Instant::ZERO);
            assert_eq!(admission.accept(at(5), number, Source::Local), None);
        }
        assert_eq!(admission.accepts_from(), at(5) + GRACE);
        assert_eq!(admission.promote(at(6), 0, Source::Local, Stage::Serving), None);
        assert_eq!(admission.accept(at(6), entering, Source::Local), None);
        assert_eq!(admission.accept(at(200), entering + 1, Source::Local), Some(1));
        assert_eq!(admission.status().evicted, 1);
    }

    #[test]
    fn discovery_has_few_places_and_the_oldest_goes() {
        let mut admission = Admission::new(200);
        let places = admission.discovering.places() as u32;
        for number in 0..places + 3 {
            let _ = admission.accept(at(0), number, Source::Local);
            let evicted = admission.promote(at(0), number, Source::Local, Stage::Discovering);
            assert_eq!(evicted, number.checked_sub(places));
            evicted.into_iter().for_each(|number| admission.leave(number, Stage::Discovering));
        }
        assert!(!admission.is_full());
    }

    #[test]
    fn many_losses_are_one_line_and_the_next_comes_after_a_pause() {
        let mut admission = Admission::new(200);
        assert_eq!(admission.next_deadline(), Instant::NEVER);
        admission.note(Loss::Late);
        assert_eq!(admission.next_deadline(), Instant::ZERO);
        admission.log(at(1));
        assert_eq!(admission.next_deadline(), Instant::NEVER);
        admission.note(Loss::Refused);
        admission.note(Loss::Refused);
        assert_eq!(admission.next_deadline(), at(1) + LOG_PAUSE);
        admission.log(at(2));
        assert_eq!(admission.next_deadline(), at(1) + LOG_PAUSE, "too early");
    }
}
