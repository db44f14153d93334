//! Whether the server that a block names lives.

use super::block::{Found, OwnerBlock, OwnerState};
use super::{Guard, Terms};
use crate::durability::Uuid;
use units::Instant;

/// Knowledge of a newcomer about the owner of a drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Nothing yet: the block is to be read, or to be read again.
    Unsure,
    /// There is none: nobody ever owned the drive, or the last owner has ended in order.
    Free,
    /// The block stands still: its server is gone, or stalled. `None` if it cannot be read.
    Still(Option<OwnerBlock>),
    /// The block moves.
    Moving(OwnerBlock),
}

/// Looks at the block of a drive that another server may own.
#[derive(Clone, Debug)]
pub struct Watch {
    me: Uuid,
    terms: Terms,
    guard: Guard,
    /// Another server has reserved the drive: it has an owner, whatever the block says.
    is_reserved: bool,
    /// What was found first, and when that was known.
    first: Option<(Found, Instant)>,
    last_read: Instant,
    verdict: Verdict,
}

impl Watch {
    /// A newcomer with these terms begins to look. With `is_reserved` another server has reserved
    /// the drive.
    #[must_use]
    pub const fn new(me: Uuid, terms: Terms, guard: Guard, is_reserved: bool) -> Self {
        let (first, last_read) = (None, Instant::ZERO);
        Self { me, terms, guard, is_reserved, first, last_read, verdict: Verdict::Unsure }
    }

    /// What is known.
    #[must_use]
    pub const fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// What was found first.
    #[must_use]
    pub fn found(&self) -> Option<Found> {
        self.first.map(|(found, _)| found)
    }

    /// When the block is to be read the next time; at once if it was not read yet.
    #[must_use]
    pub fn next_read(&self) -> Instant {
        match (self.verdict, self.first) {
            (Verdict::Unsure, None) => Instant::ZERO,
            (Verdict::Unsure, Some(_)) => self.last_read + self.terms.look(),
            _ => Instant::NEVER,
        }
    }

    /// The process of the owner is gone: it is not waited for.
    pub fn handle_owner_gone(&mut self) {
        if let (Verdict::Unsure, Some((found, _))) = (self.verdict, self.first) {
            self.verdict = Verdict::Still(found.owner().copied());
        }
    }

    /// The block was read. `asked` is when the read began.
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
                // Its owner has ended, or it cannot be read any more: no sign of life.
                _ => self.first = Some((found, now)),
            }
            return;
        }
        let patience = match found.owner() {
            // Who bids waits so long in silence.
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
