//! Rounds of syncs of all drives, and their consequences.
//!
//! A sync covers I/O that ended before it was asked for. So a request for a sync during a round is
//! served by the next round, with all others that came since.

use super::intent::Quiet;
use crate::token::Token;
use alloc::vec::Vec;

/// Consequences of a round when it is over.
#[derive(Debug)]
pub(super) struct Round {
    /// Flushes to answer.
    pub(super) flushes: Vec<Token>,
    /// Regions that become clean if they were not marked since.
    pub(super) quiet: Option<Quiet>,
    /// First batch of the half of the journal that may then be filled again.
    pub(super) half: Option<u64>,
    /// True if the superblocks may be written.
    pub(super) recording: bool,
    /// True if nothing was left to resync when the round began: it covers all writes of the resync.
    pub(super) covers_resync: bool,
}

/// Reasons for the next round, beside flushes.
#[derive(Debug, Default)]
struct Wanted {
    quiet: Option<Quiet>,
    half: bool,
    recording: bool,
}

/// The running round, and the reasons for the next one.
#[derive(Debug, Default)]
pub(super) struct SyncRounds {
    running: Option<Round>,
    next: Wanted,
}

impl SyncRounds {
    /// Asks for a round after which these regions are clean.
    pub(super) fn ask_quiet(&mut self, quiet: Quiet) {
        self.next.quiet = Some(quiet);
    }

    /// Asks for a round that makes room in the journal, unless one does already.
    pub(super) fn ask_half(&mut self) {
        if self.running.as_ref().is_none_or(|round| round.half.is_none()) {
            self.next.half = true;
        }
    }

    /// Asks for a round after which the superblocks may be written.
    pub(super) fn ask_recording(&mut self) {
        self.next.recording = true;
    }

    /// Returns true if a round was asked for since the last began.
    pub(super) fn is_wanted(&self) -> bool {
        let Wanted { quiet, half, recording } = &self.next;
        quiet.is_some() || *half || *recording
    }

    /// Begins a round for these flushes and all that was asked for. `half` is the first batch of a
    /// half of the journal all of whose writes have ended. No round is under way.
    pub(super) fn begin(&mut self, flushes: Vec<Token>, half: Option<u64>, covers_resync: bool) {
        assert!(self.running.is_none(), "a round of syncs begins beside another");
        let Wanted { quiet, recording, .. } = core::mem::take(&mut self.next);
        self.running = Some(Round { flushes, quiet, half, recording, covers_resync });
    }

    /// Ends the round: all drives are synced.
    pub(super) fn end(&mut self) -> Round {
        self.running.take().expect("a round of syncs has ended that was under way")
    }

    /// Takes the flushes that the round would answer.
    pub(super) fn take_flushes(&mut self) -> Vec<Token> {
        let running = self.running.as_mut();
        running.map_or(Vec::new(), |round| core::mem::take(&mut round.flushes))
    }

    /// Returns true if the running round allows more than answers to flushes.
    pub(super) fn settles(&self) -> bool {
        self.running
            .as_ref()
            .is_some_and(|round| round.quiet.is_some() || round.half.is_some() || round.recording)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.running.is_none() && !self.is_wanted()
    }

    pub(super) fn is_running(&self) -> bool {
        self.running.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::super::intent::Intent;
    use super::super::uuid::Uuid;
    use super::*;
    use units::{Duration, Instant};

    fn quiet() -> Quiet {
        let intent = Intent::new(Uuid([1; 16]), 1 << 30, 1 << 20, Duration::from_secs(5));
        intent.quiet(Instant::ZERO)
    }

    /// A request for a round, and true if it is for room in the journal.
    type Wish = (fn(&mut SyncRounds), bool);

    const WISHES: [Wish; 3] = [
        (|syncs| syncs.ask_quiet(quiet()), false),
        (SyncRounds::ask_half, true),
        (SyncRounds::ask_recording, false),
    ];

    #[test]
    fn a_round_is_wanted_for_any_wish_and_takes_it() {
        let idle = SyncRounds::default();
        assert!(idle.is_empty() && !idle.is_wanted() && !idle.is_running() && !idle.settles());
        for (wish, is_half) in WISHES {
            let mut syncs = SyncRounds::default();
            wish(&mut syncs);
            assert!(syncs.is_wanted() && !syncs.is_empty());
            assert!(!syncs.is_running() && !syncs.settles());
            let half = is_half.then_some(1);
            syncs.begin(Vec::new(), half, true);
            assert!(syncs.is_running() && !syncs.is_wanted() && !syncs.is_empty());
            assert!(syncs.settles());
            wish(&mut syncs);
            let round = syncs.end();
            assert_eq!((round.half, round.covers_resync), (half, true));
            assert_eq!(syncs.is_empty(), is_half, "one that makes room is enough");
        }
    }

    #[test]
    fn a_round_for_flushes_settles_nothing() {
        let mut syncs = SyncRounds::default();
        syncs.begin([Token(7)].into(), None, false);
        assert!(syncs.is_running() && !syncs.settles());
        assert_eq!(syncs.end().flushes, [Token(7)]);
        assert!(syncs.is_empty());
    }

    #[test]
    fn the_flushes_of_a_round_that_never_ends_are_handed_over() {
        let mut syncs = SyncRounds::default();
        assert!(syncs.take_flushes().is_empty());
        syncs.begin([Token(1)].into(), None, true);
        assert_eq!(syncs.take_flushes(), [Token(1)]);
        assert!(syncs.is_running() && syncs.take_flushes().is_empty());
    }
}
