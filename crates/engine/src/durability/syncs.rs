//! Rounds of syncs of all drives, and what each of them allows.
//!
//! A sync covers what has ended before it was asked for. A flush that is asked for
//! during a round is therefore covered by the next round, with all others that came meanwhile.

use super::intent::Quiet;
use super::output::{AnswerId, ChangeId};
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// What a round allows when it is over.
#[derive(Debug, Default)]
pub(super) struct Round {
    /// Flushes that may be answered.
    pub(super) flushes: Vec<AnswerId>,
    /// Regions that are clean if they were not marked meanwhile.
    pub(super) quiet: Option<Quiet>,
    /// Whether room in the journal is wanted, and once the round runs, the first batch of the half
    /// that may then be filled again.
    pub(super) wants_half: bool,
    pub(super) half: Option<u64>,
    /// The superblocks may be written.
    pub(super) recording: bool,
}

impl Round {
    fn is_empty(&self) -> bool {
        let Self { flushes, quiet, wants_half, half: _, recording } = self;
        flushes.is_empty() && quiet.is_none() && !wants_half && !recording
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct SyncRounds {
    running: Option<Round>,
    next: Round,
    /// Flushes, each with the first change that it need not wait for.
    flushes: VecDeque<(ChangeId, AnswerId)>,
}

impl SyncRounds {
    /// A flush is asked for. It covers the cached changes before `before`.
    pub(super) fn ask_flush(&mut self, before: ChangeId, answer: AnswerId) {
        self.flushes.push_back((before, answer));
    }

    /// Takes the flushes whose cached changes have all ended; `first_cached` is the oldest that has
    /// not.
    pub(super) fn take_covered(&mut self, first_cached: Option<ChangeId>) -> Vec<AnswerId> {
        let mut covered = Vec::new();
        while let Some(&(before, answer)) = self.flushes.front()
            && first_cached.is_none_or(|cached| cached >= before)
        {
            self.flushes.pop_front();
            covered.push(answer);
        }
        covered
    }

    /// What the next round is to allow.
    pub(super) fn next(&mut self) -> &mut Round {
        &mut self.next
    }

    /// Begins a round if one is wanted and none is under way. `first_cached` is the oldest cached
    /// change that has not ended, `half` the first batch of a half of the journal all of whose
    /// writes have.
    pub(super) fn begin(&mut self, first_cached: Option<ChangeId>, half: Option<u64>) -> bool {
        if self.running.is_some() {
            return false;
        }
        let covered = self.take_covered(first_cached);
        self.next.flushes.extend(covered);
        if self.next.is_empty() {
            return false;
        }
        self.running = Some(Round { half, ..core::mem::take(&mut self.next) });
        true
    }

    /// Asks for a round that makes room in the journal, unless one does already.
    pub(super) fn ask_half(&mut self) {
        if self.running.as_ref().is_none_or(|round| round.half.is_none()) {
            self.next.wants_half = true;
        }
    }

    /// All drives are synced.
    pub(super) fn end(&mut self) -> Round {
        self.running.take().unwrap_or_default()
    }

    /// All flushes that are not answered.
    pub(super) fn take_flushes(&mut self) -> Vec<AnswerId> {
        let rounds = self.running.as_mut().into_iter().chain([&mut self.next]);
        let mut flushes: Vec<AnswerId> =
            rounds.flat_map(|round| core::mem::take(&mut round.flushes)).collect();
        flushes.extend(self.flushes.drain(..).map(|(_, answer)| answer));
        flushes
    }

    /// Whether the round that is running allows more than answers to flushes.
    pub(super) fn settles(&self) -> bool {
        self.running
            .as_ref()
            .is_some_and(|round| round.quiet.is_some() || round.half.is_some() || round.recording)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.running.is_none() && self.next.is_empty() && self.flushes.is_empty()
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

    /// A wish, and whether its round settles what was written.
    type Wish = (fn(&mut SyncRounds), bool);

    const WISHES: [Wish; 4] = [
        (|syncs| syncs.next().flushes.push(AnswerId(7)), false),
        (|syncs| syncs.next().quiet = Some(quiet()), true),
        (SyncRounds::ask_half, true),
        (|syncs| syncs.next().recording = true, true),
    ];

    #[test]
    fn a_round_begins_for_any_wish_and_for_none_without() {
        let mut idle = SyncRounds::default();
        assert!(idle.is_empty() && !idle.begin(None, Some(1)) && !idle.is_running());
        assert!(!idle.settles());
        for (wish, settles) in WISHES {
            let mut syncs = SyncRounds::default();
            wish(&mut syncs);
            assert!(!syncs.is_empty() && !syncs.is_running() && !syncs.settles());
            let half = syncs.next().wants_half.then_some(1);
            assert!(syncs.begin(None, half) && syncs.is_running() && !syncs.is_empty());
            assert_eq!(syncs.settles(), settles);
            assert!(!syncs.begin(None, half), "one is under way");
            wish(&mut syncs);
            assert!(!syncs.begin(None, half), "one is under way");
            let round = syncs.end();
            assert_eq!(round.half, half);
            assert_eq!(syncs.is_empty(), half.is_some(), "one that makes room is enough");
        }
    }

    #[test]
    fn a_flush_waits_for_the_changes_before_it() {
        let mut syncs = SyncRounds::default();
        syncs.ask_flush(ChangeId(5), AnswerId(1));
        assert!(!syncs.is_empty());
        assert!(!syncs.begin(Some(ChangeId(4)), None), "it is not covered");
        syncs.ask_flush(ChangeId(6), AnswerId(2));
        assert!(syncs.begin(Some(ChangeId(5)), None));
        assert_eq!(syncs.end().flushes, [AnswerId(1)]);
        assert!(syncs.take_covered(Some(ChangeId(5))).is_empty() && !syncs.is_empty());
        assert_eq!(syncs.take_covered(None), [AnswerId(2)]);
        assert!(syncs.is_empty());
    }

    #[test]
    fn all_flushes_are_handed_over_wherever_they_wait() {
        let mut syncs = SyncRounds::default();
        syncs.ask_flush(ChangeId(0), AnswerId(1));
        assert!(syncs.begin(None, None));
        syncs.next().flushes.push(AnswerId(2));
        syncs.ask_flush(ChangeId(9), AnswerId(3));
        assert_eq!(syncs.take_flushes(), [AnswerId(1), AnswerId(2), AnswerId(3)]);
        assert!(syncs.take_flushes().is_empty());
    }
}
