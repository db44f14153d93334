//! Events for an observer. They explain for every command on which die it waited, how long and
//! behind which work; observing changes nothing in the drive.

use crate::common::{any_drive, any_rain_drive};
use ioda_ssd::{Completed, Config, Event, Origin, PageOperation, Ssd};
use nvme::{Cause, Command, CommandId, Completion, Opcode, PlFlag, Status};
use proptest::prelude::*;
use std::collections::BTreeMap;
use units::{Duration, Instant, Lba, Observe, Recorded, Rng, Unobserved};

/// Sends random commands of one or several pages to a drive of this kind. Returns the drive and all
/// completions.
fn run<O: Observe>(config: &Config, seed: u64) -> Option<(Ssd<O>, Vec<Completed>)> {
    let mut drive = Ssd::new(config.clone()).ok()?;
    drive.age(seed);
    let mut drive: Ssd<O> = drive.observed();
    let mut rng = Rng::stream(seed, "commands");
    let mut completions = Vec::new();
    let mut now = Instant::ZERO;
    for number in 0..600 {
        let opcode = if rng.below(10) < 4 { Opcode::Read } else { Opcode::Write };
        let blocks = 1 + rng.below(3.min(drive.logical_blocks())) as u32;
        let lba = Lba(rng.below(drive.logical_blocks() + 1 - u64::from(blocks)));
        let pl = if rng.below(2) == 0 { PlFlag::Predictable } else { PlFlag::Off };
        drive.handle_command(now, &Command { id: CommandId(number), opcode, lba, blocks, pl });
        drive.check_invariants();
        while drive.commands_in_flight() > 8 {
            now = drive.next_deadline();
            drive.handle_deadline(now);
            drive.check_invariants();
            completions.extend(std::iter::from_fn(|| drive.poll_completion()));
        }
    }
    while drive.commands_in_flight() > 0 {
        now = drive.next_deadline();
        drive.handle_deadline(now);
        completions.extend(std::iter::from_fn(|| drive.poll_completion()));
    }
    Some((drive, completions))
}

/// State of the dies as a reader of events sees it.
#[derive(Default)]
struct Reader {
    /// Operations that wait, by die.
    queued: Vec<(u32, PageOperation, Origin, Instant)>,
    /// The operation in service, by die.
    serving: BTreeMap<u32, (PageOperation, Origin, Instant)>,
    suspended: BTreeMap<u32, (PageOperation, Origin, Instant)>,
    accepted: BTreeMap<CommandId, Instant>,
    /// Times that pages of a command waited for their dies.
    waited: BTreeMap<CommandId, Vec<Duration>>,
    collections: BTreeMap<u32, bool>,
    completed: Vec<(CommandId, Status, Instant)>,
}

impl Reader {
    fn read(&mut self, at: Instant, event: Event) {
        match event {
            Event::Accepted { id, .. } => {
                assert!(self.accepted.insert(id, at).is_none());
            }
            Event::Queued { die, operation, origin, .. } => {
                self.queued.push((die, operation, origin, at));
            }
            Event::Began { die, operation, origin, .. } => {
                let mine = |&(other, what, whose, _): &(u32, PageOperation, Origin, Instant)| {
                    (other, what, whose) == (die, operation, origin)
                };
                if !matches!(origin, Origin::Collection { .. } | Origin::Scrub) {
                    let queued = self.queued.iter().position(mine).expect("it was queued");
                    let (.., since) = self.queued.remove(queued);
                    if let Origin::Command { id, .. } = origin {
                        self.waited.entry(id).or_default().push(at.since(since));
                    }
                }
                let before = self.serving.insert(die, (operation, origin, at));
                assert!(before.is_none(), "die {die} does two things at once: {before:?}");
            }
            Event::Ended { die, operation, origin } => {
                let (what, whose, _) = self.serving.remove(&die).expect("it has begun");
                assert_eq!((what, whose), (operation, origin));
            }
            Event::Suspended { die } => {
                let serving = self.serving.remove(&die).expect("it works");
                assert!(self.suspended.insert(die, serving).is_none());
            }
            Event::Resumed { die } => {
                let suspended = self.suspended.remove(&die).expect("it was suspended");
                assert!(self.serving.insert(die, suspended).is_none());
            }
            Event::CollectionRequested { collection, .. } => {
                assert!(self.collections.insert(collection, false).is_none());
            }
            Event::CollectionBegan { collection } => {
                assert_eq!(self.collections.insert(collection, true), Some(false));
            }
            Event::CollectionCancelled { collection } => {
                assert_eq!(self.collections.remove(&collection), Some(false));
            }
            Event::CollectionEnded { collection } => {
                assert_eq!(self.collections.remove(&collection), Some(true));
            }
            Event::Completed { id, status } => self.completed.push((id, status, at)),
            _ => {}
        }
    }
}

fn check(config: &Config, seed: u64) -> Result<(), TestCaseError> {
    let Some((mut drive, completions)) = run::<Recorded>(config, seed) else {
        return Err(TestCaseError::reject("impossible"));
    };
    let Some((unobserved, same)) = run::<Unobserved>(config, seed) else {
        return Err(TestCaseError::fail("an observer makes the drive possible"));
    };
    prop_assert_eq!(&completions, &same, "an observer changes nothing");
    prop_assert_eq!(drive.counters(), unobserved.counters());
    let mut reader = Reader::default();
    let mut last = Instant::ZERO;
    drive.drain_events(|at, event| {
        assert!(at >= last, "{event:?} at {at:?} after {last:?}");
        last = at;
        reader.read(at, event);
    });
    let told = completions.iter().map(|c| (c.completion.id, c.completion.status, c.at));
    let told: Vec<_> = told.collect();
    prop_assert_eq!(&reader.completed, &told);
    for Completed { at, completion } in completions {
        let Completion { id, status, delays, .. } = completion;
        let since = at.since(reader.accepted[&id]);
        // The delays of a write explain the arrival of its data, not the waits of its programs.
        if let Some(waits) = reader.waited.get(&id)
            && delays.get(Cause::NandRead) > Duration::ZERO
            && delays.get(Cause::Rebuild).is_zero()
        {
            prop_assert_eq!(since, delays.total());
            let behind = delays.behind_host() + delays.behind_collections();
            if config.timing.transfer.is_zero() {
                prop_assert!(waits.contains(&behind), "{:?} of {:?}", behind, waits);
            } else {
                // The wait for the channel comes on top.
                prop_assert!(waits.iter().any(|&wait| wait <= behind));
            }
        }
        prop_assert_eq!(status == Status::FailedFast, delays.get(Cause::FailFast) > Duration::ZERO);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn every_wait_can_be_told_from_events(config in any_drive(), seed in 0u64..1000) {
        check(&config, seed)?;
    }

    #[test]
    fn every_wait_can_be_told_from_events_with_rain(
        config in any_rain_drive(),
        seed in 0u64..1000,
    ) {
        check(&config, seed)?;
    }
}
