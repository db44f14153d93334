//! Limit up to which deferred copies are applied: the current event.

use units::Instant;

/// The current event of a drive, and the next block that a deferred copy may open.
#[derive(Clone, Debug)]
pub(super) struct Horizon {
    now: Instant,
    /// The die whose step ends; `u32::MAX` for events behind all steps of that time.
    source: u32,
    /// Lower bound of the time at which a deferred copy opens a block.
    opens_at: Instant,
}

impl Horizon {
    pub(super) const fn new() -> Self {
        Self { now: Instant::ZERO, source: 0, opens_at: Instant::NEVER }
    }

    /// Sets the current event: the end of a step of die `source` at `now`.
    #[inline]
    pub(super) fn set(&mut self, now: Instant, source: u32) {
        (self.now, self.source) = (now, source);
    }

    /// Sets the current event to one before all steps at `now`, unless it is a later one.
    pub(super) fn advance_to(&mut self, now: Instant) {
        (self.now, self.source) = (self.now, self.source).max((now, 0));
    }

    /// Last end of a deferred copy of `die` that comes before the current event. Steps that end at
    /// the same time come in the order of their dies.
    #[inline]
    pub(super) fn until(&self, die: u32) -> Instant {
        if die < self.source {
            self.now
        } else {
            Instant::from_nanos(self.now.as_nanos().saturating_sub(1))
        }
    }

    /// A deferred copy opens a block at `at`, or later.
    pub(super) fn note_opening(&mut self, at: Instant) {
        self.opens_at = self.opens_at.min(at);
    }

    /// Forgets the openings that were noted.
    pub(super) fn forget_openings(&mut self) {
        self.opens_at = Instant::NEVER;
    }

    /// Whether a deferred copy may have opened a block by now.
    #[inline]
    pub(super) fn may_have_seen_an_opening(&self) -> bool {
        self.now >= self.opens_at
    }
}
