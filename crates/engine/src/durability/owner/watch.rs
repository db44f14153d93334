//! A watch: does the server that a block names live?

use super::block::{Found, OwnerBlock, OwnerState};
use super::{Guard, Terms};
use crate::durability::Uuid;
use units::Instant;

/// Conclusion of a newcomer about the owner of a drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// No conclusion yet: the block must be read, or read again.
    Unsure,
    /// The drive has no owner: it never had one, or the last has released it.
    Free,
    /// The block stands still: its server is dead or stalled. `None` if the block cannot be read.
    Still(Option<OwnerBlock>),
    /// The block moves: its server lives.
    Moving(OwnerBlock),
}

/// Watches the block of a drive that another server may own.
#[derive(Clone, Debug)]
pub struct Watch {
    me: Uuid,
    terms: Terms,
    guard: Guard,
    /// True if another server has reserved the drive: it has an owner, whatever the block says.
    is_reserved: bool,
    /// First block found, and the time at which it was known.
    first: Option<(Found, Instant)>,
    last_read: Instant,
    verdict: Verdict,
}

impl Watch {
    /// Begins to watch for a newcomer with these terms. `is_reserved` is true if another server has
    /// reserved the drive.
    #[must_use]
    pub const fn new(me: Uuid, terms: Terms, guard: Guard, is_reserved: bool) -> Self {
        let (first, last_read) = (None, Instant::ZERO);
        Self { me, terms, guard, is_reserved, first, last_read, verdict: Verdict::Unsure }
    }

    /// The conclusion so far.
    #[must_use]
    pub const fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// First block found.
    #[must_use]
    pub fn found(&self) -> Option<Found> {
        self.first.map(|(found, _)| found)
    }

    /// Time of the next read of the block; zero if it was not read yet.
    #[must_use]
    pub fn next_read(&self) -> Instant {
        match (self.verdict, self.first) {
            (Verdict::Unsure, None) => Instant::ZERO,
            (Verdict::Unsure, Some(_)) => self.last_read + self.terms.look(),
            _ => Instant::NEVER,
        }
    }

    /// Ends the wait for an owner whose process is dead.
    pub fn handle_owner_gone(&mut self) {
        if let (Verdict::Unsure, Some((found, _))) = (self.verdict, self.first) {
            self.verdict = Verdict::Still(found.owner().copied());
        }
    }

    /// Handles a read of the block that began at `asked`.
    pub fn handle_read(&mut self, asked: Instant, now: Instant, found: Found) {
        self.last_read = now;
        if self.verdict != Verdict::Unsure {
            return;
        }
        let is_free = match &found {
            _ if self.is_reserved => false,
            Found::Nothing => true,
            Found::Damaged => false,
            Found::Owner(owner) => owner.state == OwnerState::Released || owner.is_of(&self.me),
        };
        if is_free {
            self.verdict = Verdict::Free;
            self.first.get_or_insert((found, now));
            return;
        }
        let Some((first, since)) = self.first else {
            self.first = Some((found, now));
            return;
        };
        if first != found {
            match found {
                Found::Owner(owner) if owner.state != OwnerState::Released => {
                    self.verdict = Verdict::Moving(owner);
                }
                // The owner has released the drive, or the block became unreadable: no sign of
                // life.
                _ => self.first = Some((found, now)),
            }
            return;
        }
        let patience = match found.owner() {
            // A bidder may be silent for this long.
            Some(OwnerBlock { state: OwnerState::Bid { .. }, terms, .. }) => {
                terms.outlasting() + terms.lease
            }
            Some(owner) => owner.terms.patience(self.guard),
            None => self.terms.patience(self.guard),
        };
        if asked >= since + patience {
            self.verdict = Verdict::Still(found.owner().copied());
        }
    }
}
