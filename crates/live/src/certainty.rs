//! Until when an array may answer clients, because its drives are its own for certain.

use crate::clock::Clock;
use units::Instant;

/// Until when drives are this server's for certain. It is looked at immediately before each send: a
/// process may have been stopped for any time since it looked last.
#[derive(Clone, Copy, Debug)]
pub struct Certainty(Option<(Clock, Instant)>);

impl Certainty {
    /// Drives that no other server can take.
    pub const ALWAYS: Self = Self(None);

    /// Drives that another server may have at `until`, by the clock.
    #[must_use]
    pub const fn until(clock: Clock, until: Instant) -> Self {
        Self(Some((clock, until)))
    }

    /// Whether the drives are this server's now. Costs a comparison, and a reading of the clock
    /// where drives are claimed.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.0.is_none_or(|(clock, until)| clock.now() < until)
    }

    /// Whether both hold.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self.0, other.0) {
            (None, _) => other,
            (_, None) => self,
            (Some((clock, one)), Some((clocks, two))) => {
                Self::until(clock, one.min(clock.at(&clocks, two)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Duration;

    #[test]
    fn the_earlier_end_counts_and_a_reached_one_does_not_hold() {
        let (clock, later) = (Clock::new(), Clock::new());
        let hour = Duration::from_secs(3600);
        let long = Certainty::until(later, later.now() + hour);
        assert!(Certainty::ALWAYS.holds() && long.holds() && long.and(Certainty::ALWAYS).holds());
        let over = Certainty::until(clock, clock.now());
        assert!(!over.holds() && !over.and(long).holds() && !long.and(over).holds());
        assert!(!Certainty::ALWAYS.and(over).holds());
    }
}
