//! Policies of an array under torture, and the windows of its drives.

use super::history::Shape;
use array::policy::{AttentiveSettings, PolicyKind, PolicySettings, PolicySetup, WindowUse};
use array::{AdaptiveConfig, Coordination, SynchronizedConfig, TokenConfig, WindowConfig};
use std::fmt;
use units::{Duration, Instant, Rng};

/// Time between two polls of the drives, if the host polls.
const PERIOD: Duration = Duration::from_millis(50);
/// Most blocks of writes in flight per drive, where the policy has a limit.
const MOST_IN_FLIGHT: u32 = 4;

/// Method that decides when drives collect, under a policy with turns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coordinated {
    /// The clock, with fixed windows.
    Windows,
    /// The clock, with windows whose length the host adapts.
    Adaptive,
    /// The host, with tokens.
    Tokens,
}

/// Initial policy of an array, and the turns of its drives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Play {
    /// The policy.
    pub policy: PolicyKind,
    /// Length of a busy window.
    pub window: Duration,
    /// Method of coordination.
    pub coordinated: Coordinated,
}

impl Play {
    /// Base: every drive collects when that is due, and reads wait for it.
    pub(super) const PLAIN: Self = Self {
        policy: PolicyKind::BASE,
        window: Duration::from_millis(5),
        coordinated: Coordinated::Windows,
    };

    /// Draws a policy for an array of this shape.
    pub(super) fn draw(shape: &Shape, rng: &mut Rng) -> Self {
        let possible = possible(shape);
        let coordinated = match rng.below(4) {
            0 => Coordinated::Adaptive,
            1 => Coordinated::Tokens,
            _ => Coordinated::Windows,
        };
        let window = Duration::from_micros(500 << rng.below(6));
        let (with_turns, others): (Vec<PolicyKind>, Vec<PolicyKind>) =
            possible.into_iter().partition(|policy| policy.uses_windows());
        // Most policies have no turns, but those with turns can go wrong in more ways.
        let policies = if rng.below(2) == 0 { with_turns } else { others };
        let policy = match rng.below(4) {
            0 => PolicyKind::BASE,
            _ => policies[rng.below(policies.len() as u64) as usize],
        };
        Self { policy, window, coordinated }
    }

    /// Settings and coordination of an array of this shape under a policy.
    pub(super) fn parts(
        &self,
        policy: PolicyKind,
        shape: &Shape,
    ) -> (PolicySettings, Coordination) {
        // The stripes are few and small: the limit makes writes wait at the host.
        let attentive =
            AttentiveSettings { most_in_flight: MOST_IN_FLIGHT, ..AttentiveSettings::default() };
        let settings = PolicySettings { attentive, ..PolicySettings::default() };
        (settings, self.coordination(policy, shape))
    }

    fn coordination(&self, policy: PolicyKind, shape: &Shape) -> Coordination {
        let start = Instant::ZERO;
        let busy_drives = shape.parities().max(1);
        let windows = WindowConfig {
            busy_time_window: self.window,
            busy_drives,
            reduced_window: self.window,
            gives_way: false,
            guard: Duration::ZERO,
            start,
            ranges: 1,
            range_blocks: u64::from(shape.drive_chunks * shape.chunk_pages),
        };
        let is_seen = matches!(policy.about().windows, WindowUse::Seen | WindowUse::Quiet);
        match (policy.about().windows, self.coordinated) {
            (WindowUse::None, _) => Coordination::Free,
            (WindowUse::Synchronized, _) => Coordination::Synchronized(SynchronizedConfig {
                lease: self.window,
                period: PERIOD,
                start,
            }),
            (_, Coordinated::Adaptive) if is_seen => Coordination::Adaptive(
                windows,
                AdaptiveConfig {
                    period: PERIOD,
                    increment: self.window,
                    shortest: self.window / 2,
                    longest: self.window * 16,
                },
            ),
            (_, Coordinated::Tokens) if is_seen => Coordination::Token(TokenConfig {
                lease: self.window * 2,
                period: PERIOD,
                busy_drives,
                guard: Duration::ZERO,
                start,
            }),
            _ => Coordination::Windows(windows),
        }
    }
}

impl fmt::Display for Play {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.policy.about().windows, self.coordinated) {
            _ if *self == Self::PLAIN => Ok(()),
            (WindowUse::None | WindowUse::Synchronized, _) => {
                write!(f, ", policy {}", self.policy.name())
            }
            (WindowUse::Seen | WindowUse::Quiet, Coordinated::Tokens) => {
                write!(f, ", policy {} by tokens", self.policy.name())
            }
            (WindowUse::Seen | WindowUse::Quiet, Coordinated::Adaptive) => {
                write!(f, ", policy {}, adapted windows of {}", self.policy.name(), self.window)
            }
            _ => write!(f, ", policy {}, windows of {}", self.policy.name(), self.window),
        }
    }
}

/// Policies under which an array of this shape can be served.
pub(super) fn possible(shape: &Shape) -> Vec<PolicyKind> {
    let settings = PolicySettings::default();
    let setup = PolicySetup {
        drives: u32::from(shape.width),
        parities: shape.parities(),
        reconstruct_compute: Duration::from_micros(1),
        settings: &settings,
    };
    // A write cache in front of the drives is only emulated, so durable arrays have none.
    let serves = |policy: &PolicyKind| {
        policy.is_possible(shape.level) && (policy.about().build)(&setup).write_cache().is_none()
    };
    PolicyKind::ALL.iter().copied().filter(serves).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use array::Level;

    #[test]
    fn every_policy_that_serves_is_drawn_with_its_windows() {
        let mut rng = Rng::new(7);
        for level in [Level::Raid1, Level::Raid5, Level::Raid6, Level::Raid10] {
            let shape = Shape::draw(Some(level), &mut rng);
            let plays: Vec<Play> = (0..1000).map(|_| Play::draw(&shape, &mut rng)).collect();
            let policies = possible(&shape);
            assert!(policies.len() > 15, "{policies:?}");
            for policy in policies {
                let its = || plays.iter().filter(|play| play.policy == policy);
                assert!(its().count() > 0, "{policy:?} of {level:?}");
                for play in its() {
                    let (_, coordination) = play.parts(policy, &shape);
                    let is_free = coordination == Coordination::Free;
                    assert_eq!(is_free, policy.about().windows == WindowUse::None, "{policy:?}");
                }
            }
        }
    }
}
