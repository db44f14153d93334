//! A lease: taking a drive, and keeping it.

use super::block::{Found, OwnerBlock, OwnerState};
use super::{Guard, Terms};
use units::Instant;

/// I/O of a lease on the block of its drive, one at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LeaseIo {
    /// Read the block; then [`Lease::handle_read`].
    Read,
    /// Write this block to stable storage; then [`Lease::handle_written`].
    Write(OwnerBlock),
}

/// Ownership of the drive, from the server's point of view.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// The server bids: nothing may be written yet.
    Bidding,
    /// The server owns the drive, for now.
    Held {
        /// End of the ownership, unless the block is written again.
        until: Instant,
    },
    /// The server owned the drive, and may own it again soon; or it is releasing the drive.
    Lapsed,
    /// Another server owns the drive. `None` if only the drive says so.
    Lost(Option<OwnerBlock>),
    /// The server has released the drive.
    Released,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// The block of a fenced drive must be read, to see if it has moved since it was watched.
    Compare {
        watched: Found,
    },
    /// The block may have moved before the drive locked its owner out: that owner may answer
    /// clients until then.
    Outlast {
        until: Instant,
    },
    /// The block must be read before a bid for a drive without owner.
    Look,
    /// A bid must be written. `looked` is the start of the read that found no owner; `None` if
    /// there was an owner.
    Bid {
        looked: Option<Instant>,
    },
    /// The bid stands until it is read again.
    Stand {
        until: Instant,
        look_at: Instant,
    },
    /// The block must be read: a heartbeat of a bare drive begins with that.
    Check,
    /// A heartbeat must be written.
    Beat,
    /// The next heartbeat is due later.
    Rest {
        next: Instant,
    },
    /// The block must be written as released.
    GiveUp,
    Lost(Option<OwnerBlock>),
    Released,
}

/// The lease of one server on one drive.
#[derive(Debug)]
pub struct Lease {
    /// The block as it was last written, or as it is about to be.
    own: OwnerBlock,
    guard: Guard,
    /// Longest terms of all servers that may own the drive.
    against: Terms,
    state: State,
    /// Start of the I/O under way.
    begun: Option<Instant>,
    /// End of the ownership; `None` before it begins for the first time.
    until: Option<Instant>,
    /// True if the bid demands the drive from its owner.
    demands: bool,
    is_ending: bool,
}

impl Lease {
    /// Begins to take a drive. `own` is the block of this server, `found` the block on the drive.
    /// With `demands` the owner has to stop even if it lives, and the server outlasts it. A fenced
    /// drive is already reserved for the server.
    #[must_use]
    pub fn new(own: OwnerBlock, guard: Guard, found: Found, demands: bool) -> Self {
        let (epoch, against) = match found.owner() {
            Some(owner) => (owner.epoch, own.terms.max(owner.terms)),
            None => (0, own.terms),
        };
        let is_free = match &found {
            Found::Nothing => true,
            Found::Damaged => false,
            Found::Owner(owner) => owner.state == OwnerState::Released || owner.is_of(&own.owner),
        };
        let demands = demands && !is_free;
        let state = match guard {
            Guard::Fenced => State::Compare { watched: found },
            Guard::Bare if is_free => State::Look,
            Guard::Bare => State::Bid { looked: None },
        };
        let own = OwnerBlock { epoch: epoch + 1, heartbeat: 0, state: OwnerState::Held, ..own };
        Self { own, guard, against, state, begun: None, until: None, demands, is_ending: false }
    }

    /// Returns true if the server owns the drive at `now`: only then may it send commands or
    /// answers.
    #[must_use]
    pub fn is_valid(&self, now: Instant) -> bool {
        matches!(self.standing(now), Standing::Held { .. })
    }

    /// Ownership at `now`.
    #[must_use]
    pub fn standing(&self, now: Instant) -> Standing {
        match (self.state, self.until) {
            (State::Lost(owner), _) => Standing::Lost(owner),
            (State::Released, _) => Standing::Released,
            (_, Some(until)) if now < until => Standing::Held { until },
            (_, Some(_)) => Standing::Lapsed,
            (_, None) => Standing::Bidding,
        }
    }

    /// End of the ownership, also of a past one; `None` before it begins for the first time.
    #[must_use]
    pub const fn until(&self) -> Option<Instant> {
        self.until
    }

    /// Ends the ownership now: the clock of the server has stood still for a while.
    pub const fn lapse(&mut self) {
        if self.until.is_some() {
            self.until = Some(Instant::ZERO);
        }
        if let State::Rest { .. } = self.state {
            self.state = State::Rest { next: Instant::ZERO };
        }
    }

    /// Time at which to call [`Self::poll`] if nothing else happens.
    #[must_use]
    pub fn next_deadline(&self) -> Instant {
        if self.begun.is_some() {
            return Instant::NEVER;
        }
        match self.state {
            State::Rest { next } => next,
            State::Outlast { until } => until,
            State::Stand { look_at, .. } => look_at,
            State::Lost(_) | State::Released => Instant::NEVER,
            _ => Instant::ZERO,
        }
    }

    /// Returns the next I/O at `now`, if none is under way.
    pub fn poll(&mut self, now: Instant) -> Option<LeaseIo> {
        if self.begun.is_some() || self.next_deadline() > now {
            return None;
        }
        let io = self.next(now)?;
        self.begun = Some(now);
        Some(io)
    }

    fn next(&mut self, now: Instant) -> Option<LeaseIo> {
        let has_lapsed = self.until.is_some_and(|until| now >= until);
        if self.is_ending && matches!(self.state, State::Rest { .. } | State::Check | State::Beat) {
            match self.guard == Guard::Bare && has_lapsed {
                // The block may be another server's by now: it stays.
                true => self.state = State::Released,
                false => self.state = State::GiveUp,
            }
        }
        match self.state {
            State::Rest { .. } => {
                self.state = match self.guard {
                    Guard::Fenced => State::Beat,
                    Guard::Bare if has_lapsed => State::Look,
                    Guard::Bare => State::Check,
                };
                self.next(now)
            }
            // The ownership has ended since the block was read.
            State::Beat if has_lapsed && self.guard == Guard::Bare => {
                self.state = State::Look;
                Some(LeaseIo::Read)
            }
            State::Compare { .. } | State::Look | State::Check | State::Stand { .. } => {
                Some(LeaseIo::Read)
            }
            State::Outlast { .. } => {
                self.state = State::Beat;
                self.next(now)
            }
            State::Bid { .. } => {
                self.own.heartbeat += 1;
                self.own.state = OwnerState::Bid { demands: self.demands };
                Some(LeaseIo::Write(self.own))
            }
            State::Beat => {
                self.own.heartbeat += 1;
                self.own.state = OwnerState::Held;
                Some(LeaseIo::Write(self.own))
            }
            State::GiveUp => {
                // Other servers may own the drive as soon as this is written, before the write
                // completes here.
                self.until = Some(Instant::ZERO);
                self.own.heartbeat += 1;
                self.own.state = OwnerState::Released;
                Some(LeaseIo::Write(self.own))
            }
            State::Lost(_) | State::Released => None,
        }
    }

    /// Handles the end of the read.
    pub fn handle_read(&mut self, now: Instant, found: Found) {
        let Some(asked) = self.begun.take() else { return };
        let other = found.owner().filter(|owner| !owner.is_of(&self.own.owner));
        match self.state {
            // Without a demand, the server has already waited for the owner to stand still.
            State::Compare { watched } if found == watched && !self.demands => {
                self.state = State::Beat;
            }
            State::Compare { .. } => {
                let terms = found.owner().map_or(self.against, |owner| owner.terms);
                let until = now + self.against.max(terms).patience(Guard::Fenced);
                self.state = State::Outlast { until };
            }
            State::Look => self.looked(asked, &found),
            State::Stand { until, .. } => self.stood(asked, now, until, &found),
            State::Check => {
                let is_valid = self.until.is_some_and(|until| now < until);
                self.state = match other.map(|owner| owner.state) {
                    // No other server can own the drive too, unless one of them keeps other times
                    // than its block says.
                    Some(OwnerState::Bid { demands: true } | OwnerState::Held) => {
                        State::Lost(other.copied())
                    }
                    _ if is_valid => State::Beat,
                    _ => State::Look,
                };
            }
            _ => {}
        }
    }

    /// Handles the block that was read before a bid for a drive without owner.
    fn looked(&mut self, asked: Instant, found: &Found) {
        let is_first = self.until.is_none();
        self.state = match found {
            Found::Owner(owner) if owner.is_of(&self.own.owner) => {
                State::Bid { looked: Some(asked) }
            }
            Found::Owner(owner) if is_first && owner.state == OwnerState::Released => {
                self.own.epoch = self.own.epoch.max(owner.epoch + 1);
                State::Bid { looked: Some(asked) }
            }
            Found::Nothing if is_first => State::Bid { looked: Some(asked) },
            // A newcomer finds an owner, or a lapsed owner finds another one.
            Found::Owner(owner) => State::Lost(Some(*owner)),
            Found::Nothing | Found::Damaged => State::Lost(None),
        };
    }

    /// Handles the block that was read while a bid stands.
    fn stood(&mut self, asked: Instant, now: Instant, until: Instant, found: &Found) {
        let look_at = now + self.own.terms.look();
        match found {
            Found::Owner(owner) if *owner == self.own => {
                self.state = match asked >= until {
                    true => {
                        self.until = Some(asked + self.own.terms.lease);
                        State::Beat
                    }
                    false => State::Stand { until, look_at: look_at.min(until) },
                };
            }
            // An earlier bid of this server was carried out late.
            Found::Owner(owner) if owner.is_of(&self.own.owner) => {
                self.state = State::Bid { looked: None };
            }
            // The owner has answered, and has not seen the demand yet.
            Found::Owner(owner) if self.demands && owner.state == OwnerState::Held => {
                self.against = self.against.max(owner.terms);
                self.state = State::Bid { looked: None };
            }
            Found::Owner(owner) => self.state = State::Lost(Some(*owner)),
            Found::Nothing | Found::Damaged => self.state = State::Lost(None),
        }
    }

    /// Handles the end of the write.
    pub fn handle_written(&mut self, now: Instant) {
        let Some(begun) = self.begun.take() else { return };
        match self.state {
            State::Bid { looked } => {
                let wait = match looked {
                    Some(looked) if now.since(looked) <= self.own.terms.gap() => {
                        self.own.terms.settling()
                    }
                    // Another server may have become the owner since.
                    _ => self.against.outlasting(),
                };
                let until = now + wait;
                let look_at = (now + self.own.terms.look()).min(until);
                self.state = State::Stand { until, look_at };
            }
            State::Beat => {
                let is_valid = self.until.is_none_or(|until| now < until);
                if is_valid || self.guard == Guard::Fenced {
                    let until = begun + self.own.terms.lease;
                    self.until = Some(self.until.map_or(until, |other| other.max(until)));
                }
                self.state = State::Rest { next: begun + self.own.terms.heartbeat() };
            }
            State::GiveUp => self.state = State::Released,
            _ => {}
        }
    }

    /// Handles a lost connection: the I/O under way is begun again over another one.
    pub fn handle_cut(&mut self) {
        if self.begun.take().is_none() || self.guard == Guard::Fenced {
            return;
        }
        self.state = match self.state {
            // The write may or may not have been carried out; the next one differs from it.
            State::Beat if self.until.is_some() => State::Check,
            State::Bid { .. } => State::Bid { looked: None },
            // The block may be another server's by now: it stays.
            State::GiveUp => State::Released,
            state => state,
        };
    }

    /// Handles a reservation conflict: the drive is reserved for another server.
    pub fn handle_conflict(&mut self) {
        self.begun = None;
        if self.state != State::Released {
            self.state = State::Lost(None);
        }
    }

    /// Releases the drive when the server ends; the server has no commands in flight any more.
    pub fn release(&mut self) {
        self.is_ending = true;
        match self.state {
            // A bid stays and is outlasted: the block may be another server's by now.
            State::Look | State::Bid { .. } | State::Stand { .. } | State::Compare { .. } => {
                self.state = State::Released;
            }
            State::Outlast { .. } => self.state = State::Released,
            State::Check | State::Beat | State::Rest { .. } if self.begun.is_none() => {
                self.state = State::Rest { next: Instant::ZERO };
            }
            _ => {}
        }
    }

    /// Returns true if the I/O under way is a read.
    #[must_use]
    pub const fn is_reading(&self) -> bool {
        let reads = matches!(
            self.state,
            State::Compare { .. } | State::Look | State::Check | State::Stand { .. }
        );
        self.begun.is_some() && reads
    }

    /// Returns true if the drive is being released.
    #[must_use]
    pub const fn is_ending(&self) -> bool {
        self.is_ending
    }

    /// The block as it was last written, or as it is about to be.
    #[must_use]
    pub const fn block(&self) -> &OwnerBlock {
        &self.own
    }
}
