//! Busy windows whose length the host adapts (IODA §7.2): additive increase, multiplicative
//! decrease.
//!
//! After every period `P` the window grows by `I` if no stripe showed more than `k` busy sub-I/Os
//! in it, and is halved if one did. Long windows cause less write amplification; windows that are
//! too long show as busy sub-I/Os. The drives only have to fail reads fast. The host learns from
//! reads that carry the flag, so without reads it learns nothing.
//!
//! Our additions: a new length takes effect at the end of a turn (if shorter) or of a cycle (if
//! longer), so that collections are not cut short. Every length in force is halved only once.
//! Windows are never shorter than one collection (§4.3.2), because nothing could be collected in
//! them and halving would go on for ever. `docs/windows.md` has the results.

use super::staggered::StaggeredWindows;
use crate::coordinate::notice::Notice;
use alloc::collections::VecDeque;
use units::{Duration, Instant};

/// Settings of the adaptation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AdaptiveConfig {
    /// `P`: time between two decisions. The paper's example is 50 ms.
    pub period: Duration,
    /// `I`: the increment. The paper's example is 10 ms.
    pub increment: Duration,
    /// Minimum length: one collection.
    pub shortest: Duration,
    /// Maximum length.
    pub longest: Duration,
}

/// Maximum time by which drives are told of a new length ahead of the turn that gets it.
const LEAD: Duration = Duration::from_millis(1);

/// The state of the adaptation.
#[derive(Clone, Debug)]
pub struct Adaptive {
    config: AdaptiveConfig,
    wanted: Duration,
    too_many_busy: bool,
    next_decision: Instant,
    next_change: Instant,
}

impl Adaptive {
    pub(crate) fn new(config: &AdaptiveConfig, windows: &StaggeredWindows, start: Instant) -> Self {
        Self {
            config: *config,
            wanted: windows.busy_time_window(),
            too_many_busy: false,
            next_decision: start + config.period,
            next_change: change_after(windows, start),
        }
    }

    pub(crate) fn note_too_many_busy(&mut self) {
        self.too_many_busy = true;
    }

    /// Notes that turns begin at other times than before.
    pub(crate) fn windows_changed(&mut self, now: Instant, windows: &StaggeredWindows) {
        self.next_change = change_after(windows, now);
    }

    pub(crate) fn next_deadline(&self) -> Instant {
        self.next_decision.min(self.next_change)
    }

    pub(crate) fn handle_deadline(
        &mut self,
        now: Instant,
        windows: &mut StaggeredWindows,
        notices: &mut VecDeque<Notice>,
    ) {
        while self.next_decision <= now {
            self.decide(windows.busy_time_window());
            self.next_decision += self.config.period;
        }
        if self.next_change <= now {
            let shorter = self.wanted < windows.busy_time_window();
            let longer = self.wanted > windows.busy_time_window();
            if shorter || (longer && windows.next_is_first_of_cycle(now)) {
                windows.set_window(now, self.wanted.into(), notices);
            }
            self.next_change = change_after(windows, now);
        }
    }

    fn decide(&mut self, in_force: Duration) {
        let AdaptiveConfig { increment, shortest, longest, .. } = self.config;
        let too_many_busy = core::mem::take(&mut self.too_many_busy);
        // Observations before a shorter length is in force say nothing about it.
        if self.wanted < in_force {
            return;
        }
        self.wanted = match too_many_busy {
            true => (in_force / 2).max(shortest),
            false => (self.wanted + increment).min(longest),
        };
    }
}

/// Time of the decision about the turn after the next: a little ahead of it, so that no drive
/// begins a window that is about to change.
fn change_after(windows: &StaggeredWindows, now: Instant) -> Instant {
    let (next, turn) = (windows.next_turn(now), windows.turn());
    next + turn.saturating_sub(LEAD.min(turn / 4))
}
