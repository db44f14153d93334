//! Whole arrays under torture: drawn histories, all short scripts, and their demands.
//!
//! `ioda torture` runs many more of both.
#![allow(clippy::unwrap_used, reason = "tests stop")]

use array::Level;
use ioda_sim::torture::{
    Access, ArrayState, Case, Counts, Coverage, Cutting, Demands, Event, Fault, History,
    HistoryStep, Transition, shrink, torture,
};
use testing::seeds;

const LEVELS: [Level; 5] = [Level::Raid1, Level::Raid4, Level::Raid5, Level::Raid6, Level::Raid10];

/// Demands on all arrays.
const PROMISED: Demands = Demands { write_hole: false };
/// A demand that RAID-4, 5 and 6 cannot meet if they journal only while drives are missing.
const WRITE_HOLE: Demands = Demands { write_hole: true };

#[test]
fn what_was_flushed_is_there_whatever_a_seed_draws() {
    let mut coverage = Coverage::default();
    let mut counts = Counts::default();
    for level in LEVELS {
        for seed in seeds(1..46).note(level.name()) {
            let history = History::draw(seed, Some(level), 200);
            let verdict = torture(&history, PROMISED, false);
            let shape = history.shape;
            assert_eq!(verdict.failure, None, "{shape}");
            coverage.add(&verdict.coverage);
            counts.add(&verdict.counts);
        }
    }
    if testing::is_repeat() {
        return;
    }
    assert!(counts.sectors > 100_000 && counts.cuts > 100 && counts.replayed > 100, "{counts:?}");
    assert!(counts.cut_creations > 30 && counts.cut_formats > 5, "{counts:?}");
    assert!(counts.resumed > 0 && counts.looks > 1000, "{counts:?}");
    let met = [
        (
            Event::Cut,
            &[
                ArrayState::Optimal,
                ArrayState::Resyncing,
                ArrayState::Degraded,
                ArrayState::Critical,
            ][..],
        ),
        (Event::Cut, &[ArrayState::Rebuilding, ArrayState::Draining, ArrayState::Opening]),
        (Event::Fault(Fault::Dies), &[ArrayState::Optimal, ArrayState::Critical]),
        (Event::Fault(Fault::WriteError), &[ArrayState::Optimal, ArrayState::Critical]),
        (Event::Fault(Fault::SyncError), &[ArrayState::Optimal, ArrayState::Critical]),
        (Event::Fault(Fault::ReadError), &[ArrayState::Optimal]),
        (
            Event::Fault(Fault::Slow),
            &[ArrayState::Optimal, ArrayState::Resyncing, ArrayState::Critical],
        ),
        (Event::Fault(Fault::Flip), &[ArrayState::Optimal]),
        (Event::Fault(Fault::LostWrite), &[ArrayState::Optimal]),
        (Event::Fault(Fault::Misdirected), &[ArrayState::Optimal]),
        (Event::Fault(Fault::Table), &[ArrayState::Optimal, ArrayState::Opening]),
        (Event::Fault(Fault::Garbage), &[ArrayState::Optimal, ArrayState::Opening]),
        (Event::Fault(Fault::Record), &[ArrayState::Opening]),
        (Event::Fault(Fault::Header), &[ArrayState::Opening]),
        (Event::Fault(Fault::Intent), &[ArrayState::Opening]),
        (Event::Fault(Fault::Superblock), &[ArrayState::Opening]),
        (Event::Fault(Fault::Superblocks), &[ArrayState::Opening]),
        (Event::Fault(Fault::Overwritten), &[ArrayState::Opening]),
        (Event::Fail, &[ArrayState::Optimal, ArrayState::Degraded]),
        (Event::Replace, &[ArrayState::Degraded, ArrayState::Critical, ArrayState::Rebuilding]),
        (
            Event::Policy,
            &[
                ArrayState::Optimal,
                ArrayState::Resyncing,
                ArrayState::Critical,
                ArrayState::Rebuilding,
            ],
        ),
        (Event::Shutdown, &[ArrayState::Optimal, ArrayState::Critical, ArrayState::Rebuilding]),
        (Event::Missing, &[ArrayState::Opening]),
        (Event::Stale, &[ArrayState::Opening]),
        (Event::Moved, &[ArrayState::Opening]),
    ];
    for (event, states) in met {
        for &state in states {
            let (event_name, state_name) = (event.name(), state.name());
            assert!(coverage.met(event, state) > 0, "{event_name} never met {state_name}");
        }
    }
}

/// Halves of the journal wrap, and blocks of checksums leave the cache, in more than half of all
/// histories. Every other internal transition occurs in some.
#[test]
fn arrays_go_through_their_transitions() {
    const HISTORIES: u64 = 150;
    let mut coverage = Coverage::default();
    for seed in seeds(1..HISTORIES + 1) {
        let verdict = torture(&History::draw(seed, None, 200), PROMISED, false);
        assert_eq!(verdict.failure, None);
        coverage.add(&verdict.coverage);
    }
    if testing::is_repeat() {
        return;
    }
    for transition in [Transition::HalfRetired, Transition::BlockEvicted] {
        let histories = coverage.made(transition).histories;
        assert!(5 * histories > 2 * HISTORIES, "{} in {histories}", transition.name());
    }
    // These transitions occur once in a few hundred histories.
    let rare = [Transition::OverwrittenLeftOut, Transition::OldLeftOut, Transition::RebuildResumed];
    let never = coverage.never_made(&LEVELS);
    let never: Vec<&str> = never
        .into_iter()
        .filter(|transition| !rare.contains(transition))
        .map(Transition::name)
        .collect();
    assert_eq!(never, [""; 0]);
}

#[test]
fn one_of_many_histories_is_long() {
    let long = (0..2000).filter(|seed| History::is_long(*seed, 200)).count();
    assert!((3..30).contains(&long), "{long}");
    assert!(!(0..2000).any(|seed| History::is_long(seed, 0)));
    assert!((0..10).all(|seed| History::is_long(seed, 1)));
}

#[test]
fn what_is_met_is_possible() {
    let everything = Coverage::default();
    for level in LEVELS {
        let possible = everything.never_met(&[level]);
        for seed in seeds(1..11).note(level.name()) {
            let met = torture(&History::draw(seed, Some(level), 200), PROMISED, false).coverage;
            for event in Event::ALL {
                for state in ArrayState::ALL {
                    let is_possible = possible.contains(&(event, state));
                    let (event_name, state_name) = (event.name(), state.name());
                    assert!(
                        met.met(event, state) == 0 || is_possible,
                        "{event_name} met {state_name}, which was not thought possible"
                    );
                }
            }
        }
    }
}

#[test]
fn a_history_is_the_same_every_time() {
    for seed in seeds(1..6) {
        let history = History::draw(seed, None, 150);
        assert_eq!(history, History::draw(seed, None, 150));
        let lived = [(); 2].map(|()| torture(&history, PROMISED, true));
        let [one, other] = &lived;
        assert_eq!(one.story, other.story);
        assert_eq!((one.counts, one.coverage), (other.counts, other.coverage));
        assert_eq!(one.failure, other.failure);
        assert!(one.story.len() > 150, "a step is a line at least");
        // Recording the story changes nothing.
        assert_eq!(torture(&history, PROMISED, false).counts, one.counts);
    }
}

/// The shortest script that meets the write hole: a stripe is half written when the power fails,
/// and a drive is missing afterwards.
fn write_hole() -> Case {
    let first = |case: &Case| torture(&case.history(), WRITE_HOLE, false).failure.is_some();
    let script = "raid5-degraded:write".parse::<Case>().unwrap().script;
    let cuts = (0..200).map(|after| (Cutting::Missing, after));
    let mut cases = cuts.map(|cut| Case { script: script.clone(), cut: Some(cut) });
    cases.find(first).unwrap_or_else(|| panic!("no cut of {script} meets the write hole"))
}

#[test]
fn losing_a_drive_in_the_moment_of_a_cut_is_not_promised_with_the_weaker_journal_alone() {
    let case = write_hole();
    let history = case.history();
    assert!(torture(&history, WRITE_HOLE, false).failure.is_some());
    assert_eq!(torture(&history, PROMISED, false).failure, None, "{case}");
    let mirrored: Case = case.to_string().replace("raid5-degraded", "raid1").parse().unwrap();
    assert_eq!(torture(&mirrored.history(), WRITE_HOLE, false).failure, None, "{mirrored}");
    let journalled: Case = case.to_string().replace("-degraded", "").parse().unwrap();
    for after in 0..100 {
        let case = Case { cut: Some((Cutting::Missing, after)), ..journalled.clone() };
        assert_eq!(torture(&case.history(), WRITE_HOLE, false).failure, None, "{case}");
    }
}

#[test]
fn a_failing_history_is_made_short_and_still_fails() {
    let mut history = write_hole().history();
    let failure = torture(&history, WRITE_HOLE, false).failure.unwrap();
    // Steps that are irrelevant to the failure.
    for sector in 0..20 {
        let read = HistoryStep::Client { access: Access::Read, sector, sectors: 1 };
        history.steps.insert(0, read);
        history.steps.push(read);
    }
    let mut tries = 0;
    let short = shrink(&history, WRITE_HOLE, |_| tries += 1);
    let failed = torture(&short, WRITE_HOLE, false).failure.unwrap();
    assert!(failed.is_like(&failure), "{failed} instead of {failure}");
    assert!(short.steps.len() < 10, "{:?}", short.steps);
    assert!(tries > 3 && short.steps.iter().any(|step| matches!(step, HistoryStep::Cut { .. })));
    // Every step is needed.
    for left_out in 0..short.steps.len() {
        let mut shorter = short.clone();
        shorter.steps.remove(left_out);
        let failed = torture(&shorter, WRITE_HOLE, false).failure;
        assert!(failed.is_none_or(|other| !other.is_like(&failure)), "{:?}", short.steps[left_out]);
    }
}

#[test]
fn every_cut_of_short_scripts_is_survived() {
    let texts = ["write", "write,fail,replace", "fail,write,restart", "write,policy,flush"];
    for level in LEVELS {
        for (number, text) in seeds(0..texts.len() as u64).note(level.name()).zip(texts) {
            // Half of the scripts of each level run on an array that journals only while drives are
            // missing.
            let suffix = if number % 2 == 1 { "-degraded" } else { "" };
            let case: Case = format!("{}{suffix}:{text}", level.name()).parse().unwrap();
            let mut cut = 0;
            for cutting in case.script.cuttings().filter(|cutting| (*cutting as u64) % 4 == number)
            {
                for after in 0.. {
                    let case = Case { cut: Some((cutting, after)), ..case.clone() };
                    let verdict = torture(&case.history(), PROMISED, false);
                    assert_eq!(verdict.failure, None, "{case}");
                    if verdict.counts.cuts == 0 {
                        break;
                    }
                    cut += 1;
                }
            }
            assert!(cut > 20, "{} was cut {cut} times", case.script);
        }
    }
}

#[test]
fn a_drive_that_dies_is_told_and_replaced() {
    let mut history = History::draw(3, Some(Level::Raid5), 0);
    let drive = units::DriveId(1);
    let write = Access::Write { forced: true };
    history.steps = vec![
        HistoryStep::Fault(drive, Fault::Dies),
        HistoryStep::Client { access: write, sector: 0, sectors: 64 },
        HistoryStep::Wait(units::Duration::from_millis(50)),
    ];
    let verdict = torture(&history, PROMISED, true);
    assert_eq!(verdict.failure, None);
    let story = verdict.story.join("\n");
    assert!(story.contains("drive 1 is given up"), "{story}");
    assert!(story.contains("Rebuild(DriveId(1)) has ended, 0 stripes left"), "{story}");
}
