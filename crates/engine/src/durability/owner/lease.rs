//! Taking a drive, and keeping it.

use super::block::{Found, OwnerBlock, OwnerState};
use super::{Guard, Terms};
use units::Instant;

/// I/O of a lease on the block of its drive, one at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LeaseIo {
    /// Read it: [`Lease::handle_read`].
    Read,
    /// Write this, on stable storage when it is done: [`Lease::handle_written`].
    Write(OwnerBlock),
}

/// Whether the drive is the server's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// It wants to be: nothing may be written yet.
    Bidding,
    /// It is, until then.
    Held {
        /// When it is not any more, unless the block is written again.
        until: Instant,
    },
    /// It was, and perhaps is again soon; or it is being given up.
    Lapsed,
    /// Another server has it. `None` if the drive only says that.
    Lost(Option<OwnerBlock>),
    /// It was given up in order.
    Released,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// The block of a fenced drive is to be read: whether it has moved since it was watched.
    Compare {
        watched: Found,
    },
    /// It may have, before the drive kept its owner out: that one may answer clients until then.
    Outlast {
        until: Instant,
    },
    /// The block is to be read before a bid for a drive without owner.
    Look,
    /// A bid is to be written. With the start of the read that found no owner, if none was found.
    Bid {
        looked: Option<Instant>,
    },
    /// The bid stands until it is read again.
    Stand {
        until: Instant,
        look_at: Instant,
    },
    /// The block is to be read: a heartbeat of a bare drive begins so.
    Check,
    /// A heartbeat is to be written.
    Beat,
    /// The next heartbeat is later.
    Rest {
        next: Instant,
    },
    /// The block is to say that the drive is given up.
    GiveUp,
    Lost(Option<OwnerBlock>),
    Released,
}

/// One server and one drive.
#[derive(Debug)]
pub struct Lease {
    /// The block as it was written last, or is next.
    own: OwnerBlock,
    guard: Guard,
    /// The terms of all who may own the drive.
    against: Terms,
    state: State,
    /// When what is under way began.
    begun: Option<Instant>,
    /// Until when the drive is the server's; `None` before it is for the first time.
    until: Option<Instant>,
    /// The bid demands the drive, from this owner.
    demands: bool,
    is_ending: bool,
}

impl Lease {
    /// A server that begins to take a drive. `own` says who it is, `found` whose the drive was;
    /// with `demands` the owner has to stop, whether it lives or not, and is outlasted. A fenced
    /// drive is reserved for the server already.
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

    /// Whether the drive is the server's at `now`: only then may anything be sent or answered.
    #[must_use]
    pub fn is_valid(&self, now: Instant) -> bool {
        matches!(self.standing(now), Standing::Held { .. })
    }

    /// Whether the drive is the server's.
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

    /// Until when the drive is the server's, or was; `None` before it is for the first time.
    #[must_use]
    pub const fn until(&self) -> Option<Instant> {
        self.until
    }

    /// Ends what is left of the time: the clock of the server has stood still for a while.
    pub const fn lapse(&mut self) {
        if self.until.is_some() {
            self.until = Some(Instant::ZERO);
        }
        if let State::Rest { .. } = self.state {
            self.state = State::Rest { next: Instant::ZERO };
        }
    }

    /// When [`Self::poll`] wants to be called if nothing else happens.
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

    /// The next thing to do at `now`, if nothing is under way.
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
                // Whose the block is by now is not known: it stays.
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
            // The time has run out since the block was read.
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
                // Others may have the drive as soon as that is written, not when it is known.
                self.until = Some(Instant::ZERO);
                self.own.heartbeat += 1;
                self.own.state = OwnerState::Released;
                Some(LeaseIo::Write(self.own))
            }
            State::Lost(_) | State::Released => None,
        }
    }

    /// The read that was asked for is done.
    pub fn handle_read(&mut self, now: Instant, found: Found) {
        let Some(asked) = self.begun.take() else { return };
        let other = found.owner().filter(|owner| !owner.is_of(&self.own.owner));
        match self.state {
            // Nobody has waited whether the owner of a demanded drive moves.
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
                    // No server can own the drive as well, unless one of them keeps other times
                    // than it says.
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

    /// The block was read before a bid for a drive without owner.
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
            // A newcomer finds an owner, or an owner that has lapsed finds another one.
            Found::Owner(owner) => State::Lost(Some(*owner)),
            Found::Nothing | Found::Damaged => State::Lost(None),
        };
    }

    /// The block was read while a bid stands.
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
            // An earlier bid of its own was carried out late.
            Found::Owner(owner) if owner.is_of(&self.own.owner) => {
                self.state = State::Bid { looked: None };
            }
            // The owner has answered, and did not see the demand yet.
            Found::Owner(owner) if self.demands && owner.state == OwnerState::Held => {
                self.against = self.against.max(owner.terms);
                self.state = State::Bid { looked: None };
            }
            Found::Owner(owner) => self.state = State::Lost(Some(*owner)),
            Found::Nothing | Found::Damaged => self.state = State::Lost(None),
        }
    }

    /// The write that was asked for is done.
    pub fn handle_written(&mut self, now: Instant) {
        let Some(begun) = self.begun.take() else { return };
        match self.state {
            State::Bid { looked } => {
                let wait = match looked {
                    Some(looked) if now.since(looked) <= self.own.terms.gap() => {
                        self.own.terms.settling()
                    }
                    // Meanwhile another server may have become the owner.
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

    /// What was under way came to nothing, because the connection was lost: it is begun again over
    /// another one.
    pub fn handle_cut(&mut self) {
        if self.begun.take().is_none() || self.guard == Guard::Fenced {
            return;
        }
        self.state = match self.state {
            // Whether it was written is not known, and the next one differs from it.
            State::Beat if self.until.is_some() => State::Check,
            State::Bid { .. } => State::Bid { looked: None },
            // Whose the block is by now is not known: it stays.
            State::GiveUp => State::Released,
            state => state,
        };
    }

    /// The drive says that it is reserved for another server.
    pub fn handle_conflict(&mut self) {
        self.begun = None;
        if self.state != State::Released {
            self.state = State::Lost(None);
        }
    }

    /// The server ends in order: nothing of it is under way any more.
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

    /// Whether what is under way is a read.
    #[must_use]
    pub const fn is_reading(&self) -> bool {
        let reads = matches!(
            self.state,
            State::Compare { .. } | State::Look | State::Check | State::Stand { .. }
        );
        self.begun.is_some() && reads
    }

    /// Whether the drive is being given up.
    #[must_use]
    pub const fn is_ending(&self) -> bool {
        self.is_ending
    }

    /// The block as it was written last, or is next.
    #[must_use]
    pub const fn block(&self) -> &OwnerBlock {
        &self.own
    }
}
