//! Places of connections by what they may do, and what is said of those that lose theirs. No clock
//! and no socket is here.
//!
//! A connection *enters* until it names a subsystem with its Connect, and then *authenticates*
//! where hosts have to. Each of these stages and discovery have places of their own, so a crowd in
//! one stage takes nothing from those in another one.
//!
//! A newcomer to a stage ends the member that has made no step for the longest time, once that is
//! as long as the stage's grace. While all members made a step since, newcomers wait in the order
//! in which they came. A host that makes each step within the grace so gets in whatever strangers
//! do: it never loses a place, and it waits for those before it alone.

use crate::control::StrangerStatus;
use crate::crowd::{Crowd, Member, Room, Source};
use units::{Duration, Instant};

/// Most connections whose queues are in use, if memory suffices for their shares.
pub const CONNECTIONS_MAX: usize = 1024;

/// Most controllers that a subsystem needs: one for each queue in use or authenticating.
pub const CONTROLLERS_MAX: u16 = (CONNECTIONS_MAX + ENTERING_MAX) as u16;

/// Most places for connections that enter, and for those that authenticate. Thousands of strangers
/// have room, so that they are not ended and do not come again.
const ENTERING_MAX: usize = 3072;
/// Most places for discovery.
const DISCOVERING_MAX: usize = 1280;
/// Least places for discovery.
const DISCOVERING_MIN: usize = 4;

/// Parts of the memory of shares of which one is for entering and authenticating connections, and
/// one for discovery.
const STRANGERS_PART: u64 = 3;
const DISCOVERING_PART: u64 = 32;

/// For how long a connection that enters or discovers does not end for another after a step: a
/// round trip on a slow network.
const GRACE: Duration = Duration::from_millis(250);
/// The same for one that authenticates: its host computes powers between its steps.
const AUTHENTICATING_GRACE: Duration = Duration::from_millis(500);
/// Time between two connections that are accepted while more wait, so that a crowd that comes again
/// and again takes a bounded part of a processor, here and in the network of the kernel.
const PACE: Duration = Duration::from_nanos(1_000_000_000 / 4_096);
/// By how much connections may be ahead of the pace, as the queues of a host are that come at once.
const BURST: Duration = Duration::from_millis(64);
/// For how long nothing more is logged of connections that lost their places.
const LOG_PAUSE: Duration = Duration::from_secs(10);

/// What a connection may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// Nothing but to connect.
    Entering,
    /// Nothing but to authenticate.
    Authenticating,
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

/// Memory that a connection needs in each stage, whatever others hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shares {
    pub(super) entering_bytes: u64,
    /// Zero where hosts do not authenticate.
    pub(super) authenticating_bytes: u64,
    pub(super) discovering_bytes: u64,
    pub(super) serving_bytes: u64,
}

/// All places.
#[derive(Debug)]
pub(super) struct Admission {
    entering: Crowd<Instant>,
    authenticating: Crowd<Instant>,
    discovering: Crowd<Instant>,
    serving: usize,
    serving_max: usize,
    shares: Shares,
    /// When all that were accepted would have been at the pace.
    paced: Instant,
    status: StrangerStatus,
    /// What was logged of it.
    logged: StrangerStatus,
    /// When it may be logged again.
    log_at: Instant,
}

impl Admission {
    /// As many places as so much memory has shares for.
    pub(super) fn new(memory_bytes: u64, shares: Shares) -> Self {
        let for_one = shares.entering_bytes + shares.authenticating_bytes;
        let entering = (memory_bytes / STRANGERS_PART / for_one) as usize;
        let entering = entering.clamp(1, ENTERING_MAX);
        let discovering = (memory_bytes / DISCOVERING_PART / shares.discovering_bytes) as usize;
        let mut admission = Self {
            entering: Crowd::new(entering),
            authenticating: Crowd::new(entering),
            discovering: Crowd::new(discovering.clamp(DISCOVERING_MIN, DISCOVERING_MAX)),
            serving: 0,
            serving_max: 0,
            shares,
            paced: Instant::ZERO,
            status: StrangerStatus::default(),
            logged: StrangerStatus::default(),
            log_at: Instant::ZERO,
        };
        let serving = memory_bytes.saturating_sub(admission.shares_bytes()) / shares.serving_bytes;
        admission.serving_max = (serving as usize).clamp(1, CONNECTIONS_MAX);
        admission
    }

    /// Memory that the shares of all places take.
    pub(super) const fn shares_bytes(&self) -> u64 {
        let Shares { entering_bytes, authenticating_bytes, discovering_bytes, serving_bytes } =
            self.shares;
        self.entering.places() as u64 * entering_bytes
            + self.authenticating.places() as u64 * authenticating_bytes
            + self.discovering.places() as u64 * discovering_bytes
            + self.serving_max as u64 * serving_bytes
    }

    /// Most connections of discovery at a time, and the one that comes while another one goes.
    pub(super) fn discovery_controllers_max(&self) -> u16 {
        self.discovering.places() as u16 + 1
    }

    /// Whether no other queue can come into use.
    pub(super) const fn is_full(&self) -> bool {
        self.serving >= self.serving_max
    }

    /// When a connection can come into a stage at the earliest; [`Instant::NEVER`] while only steps
    /// of others or ends of connections can make room.
    pub(super) fn opens(&self, stage: Stage) -> Instant {
        let Some((crowd, grace)) = self.crowd(stage) else { return Instant::ZERO };
        let with_place = match crowd.room() {
            Room::Free => Instant::ZERO,
            Room::Instead(member) => member.since + grace,
            Room::None => Instant::NEVER,
        };
        match stage {
            Stage::Entering => with_place.max(self.with_pace()),
            _ => with_place,
        }
    }

    /// When the pace lets another connection in.
    const fn with_pace(&self) -> Instant {
        Instant::from_nanos(self.paced.as_nanos().saturating_sub(BURST.as_nanos()))
    }

    /// A connection was accepted. Returns the one that ends for it.
    #[must_use]
    pub(super) fn accept(&mut self, now: Instant, number: u32, source: Source) -> Option<u32> {
        self.paced = self.paced.max(now) + PACE;
        self.join(now, number, source, Stage::Entering)
    }

    /// A connection goes from a stage to another one. Returns the one that ends for it.
    #[must_use]
    pub(super) fn promote(
        &mut self,
        now: Instant,
        number: u32,
        source: Source,
        (from, to): (Stage, Stage),
    ) -> Option<u32> {
        self.leave(number, from);
        self.join(now, number, source, to)
    }

    fn join(&mut self, now: Instant, number: u32, source: Source, stage: Stage) -> Option<u32> {
        let Some(crowd) = self.crowd_mut(stage) else {
            self.serving += 1;
            return None;
        };
        let room = crowd.room();
        crowd.join(Member { number, source, since: now });
        let Room::Instead(member) = room else { return None };
        Some(self.evict(member))
    }

    /// The system lacks what a newcomer needs: an entering connection that has had its grace ends.
    #[must_use]
    pub(super) fn give_way(&mut self, now: Instant) -> Option<u32> {
        let oldest = self.entering.oldest_of_most()?;
        (oldest.since + GRACE <= now).then(|| self.evict(oldest))
    }

    fn evict(&mut self, member: Member<Instant>) -> u32 {
        tracing::debug!(source = %member.source, "a connection ends for a new one");
        self.note(Loss::Evicted);
        member.number
    }

    /// A connection has made its next step.
    pub(super) fn step(&mut self, now: Instant, number: u32, stage: Stage) {
        if let Some(crowd) = self.crowd_mut(stage) {
            crowd.step(now, number);
        }
    }

    /// A connection waits for a power or for a place: that is none of its own time.
    pub(super) fn hold(&mut self, number: u32, stage: Stage) {
        if let Some(crowd) = self.crowd_mut(stage) {
            crowd.hold(number);
        }
    }

    /// A connection is no more.
    pub(super) fn leave(&mut self, number: u32, stage: Stage) {
        match self.crowd_mut(stage) {
            Some(crowd) => crowd.leave(number),
            None => self.serving -= 1,
        }
    }

    const fn crowd(&self, stage: Stage) -> Option<(&Crowd<Instant>, Duration)> {
        match stage {
            Stage::Entering => Some((&self.entering, GRACE)),
            Stage::Authenticating => Some((&self.authenticating, AUTHENTICATING_GRACE)),
            Stage::Discovering => Some((&self.discovering, GRACE)),
            Stage::Serving => None,
        }
    }

    const fn crowd_mut(&mut self, stage: Stage) -> Option<&mut Crowd<Instant>> {
        match stage {
            Stage::Entering => Some(&mut self.entering),
            Stage::Authenticating => Some(&mut self.authenticating),
            Stage::Discovering => Some(&mut self.discovering),
            Stage::Serving => None,
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
mod tests;
