//! Counters of an array, and the outcomes of its requests.
#![allow(clippy::unwrap_used, reason = "tests stop")]

use crate::script::{Script, config, named};
use ioda_array::policy::{DriveProfile, PolicySettings};
use ioda_array::{Array, Layout, Level, RequestKind};
use nvme::{Blocked, Cause, CollectionReport, Status};
use units::{DriveId, Duration};

const READ: RequestKind = RequestKind::Read;
const WRITE: RequestKind = RequestKind::Write;

fn answer_all(s: &mut Script) {
    while let Some(&(drive, ..)) = s.out.first() {
        s.ok(drive.0);
    }
}

#[test]
fn pages_and_stripe_operations_are_counted_where_they_arise() {
    let mut s = Script::new(Level::Raid5, 5, named("base"));
    let none = s.array.counters().clone();
    // Twice, so that a counter that is set instead of increased is found.
    for times in 1..=2 {
        s.request(READ, 0, 5);
        answer_all(&mut s);
        s.request(WRITE, 0, 4);
        // It waits for the write before it.
        s.request(WRITE, 1, 1);
        answer_all(&mut s);
        s.request(WRITE, 0, 3);
        answer_all(&mut s);
        let mut expected = none.clone();
        expected.stripe_reads = 2 * times;
        expected.busy_sub_ios = vec![2 * times, 0, 0, 0, 0, 0];
        expected.host_read_pages = 5 * times;
        expected.host_written_pages = 8 * times;
        expected.drive_read_pages = (5 + 2 + 1) * times;
        expected.drive_written_pages = (5 + 2 + 4) * times;
        expected.lock_waits = times;
        expected.full_stripe_writes = times;
        expected.read_modify_writes = times;
        expected.reconstruct_writes = times;
        assert_eq!(*s.array.counters(), expected);
    }
}

#[test]
fn commands_are_counted_with_what_was_ahead_of_them() {
    let mut s = Script::new(Level::Raid5, 4, named("base"));
    (0..3).for_each(|_| s.request(READ, 1, 1));
    let queue = s.array.queues().of(DriveId(1));
    assert_eq!((queue.commands, queue.blocks(), queue.blocks_ahead), (3, 3, 1 + 2));
}

#[test]
fn what_busy_drives_cost_is_counted_and_told() {
    let mut s = Script::new(Level::Raid5, 4, named("ioda"));
    let none = s.array.counters().clone();
    for times in 1..=2 {
        // One fails fast and is reconstructed; no other request waits for the last one.
        s.request(READ, 0, 1);
        s.busy(0, 100);
        [1, 2, 3].into_iter().for_each(|drive| s.ok(drive));
        s.compute();
        let outcome = s.outcomes.pop().unwrap();
        assert_eq!(outcome.reconstructions, 1);
        // Two fail fast: one is sent again.
        s.request(READ, 0, 1);
        s.busy(0, 100);
        s.busy(1, 200);
        answer_all(&mut s);
        assert!(s.out.is_empty() && s.outcomes.len() == 1);
        s.outcomes.clear();
        let counters = s.array.counters();
        assert_eq!(counters.busy_sub_ios, [0, times, times, 0, 0]);
        assert_eq!((counters.fail_fasts, counters.resubmitted), (3 * times, times));
        assert_eq!((counters.reconstructions, counters.reconstruct_read_pages), (times, 6 * times));
        let others = (counters.hedges, counters.hedges_won, counters.unrecovered_reads);
        assert_eq!(others, (0, 0, 0), "nothing was hedged");
        assert_eq!(counters.failed_requests, none.failed_requests);
    }
}

#[test]
fn two_parts_that_were_reconstructed_are_two() {
    let mut s = Script::new(Level::Raid5, 4, named("ioda"));
    // Pages 0 and 4 are on drive 0, of stripes 0 and 1.
    s.request(READ, 0, 5);
    s.busy(0, 100);
    s.busy(0, 100);
    answer_all(&mut s);
    while s.outcomes.is_empty() {
        s.compute();
    }
    assert_eq!(s.outcomes[0].reconstructions, 2);
    assert_eq!(s.array.counters().reconstructions, 2);
}

#[test]
fn failures_are_counted_once_each() {
    let mut s = Script::new(Level::Raid0, 3, named("base"));
    for times in 1..=2 {
        s.request(READ, 0, 1);
        s.answer(0, Status::Unrecovered, 0, Duration::ZERO);
        s.request(READ, 0, 1);
        s.ok(0);
        let counters = s.array.counters();
        assert_eq!((counters.unrecovered_reads, counters.failed_requests), (times, times));
    }
    let mut s = Script::new(Level::Raid6, 5, named("base"));
    s.request(WRITE, 0, 3);
    for (times, drive) in [(1, 0), (2, 1)] {
        s.answer(drive, Status::Unrecovered, 0, Duration::ZERO);
        assert_eq!(s.array.counters().unrecovered_writes, times);
    }
}

#[test]
fn stripes_that_were_repaired_are_counted_and_those_that_needed_nothing_are_not() {
    let mut s = Script::new(Level::Raid5, 4, named("base"));
    s.array.resync(s.now, core::iter::once(0..3));
    s.collect();
    while s.array.job().is_some() {
        match s.out.first() {
            Some(&(drive, ..)) => s.ok(drive.0),
            None => s.compute(),
        }
    }
    assert_eq!(s.array.counters().repaired_stripes, 3);
    s.array.resync(s.now, core::iter::empty());
    s.collect();
    assert_eq!(s.array.counters().repaired_stripes, 3);
}

#[test]
fn an_outcome_says_that_collections_were_met() {
    let mut s = Script::new(Level::Raid5, 4, named("base"));
    s.request(READ, 0, 1);
    s.ok(0);
    assert_eq!(s.outcomes.pop().unwrap().blocked, Blocked::No);
    s.request(READ, 0, 1);
    s.ok_behind_collection(0);
    assert_ne!(s.outcomes.pop().unwrap().blocked, Blocked::No);
    assert_eq!(s.array.counters().busy_sub_ios, [1, 1, 0, 0, 0]);
}

/// For a reconstructed read, the time of the other reads counts as time of reconstruction.
#[test]
fn the_first_answers_of_a_race_that_reconstruct_count_as_that() {
    let mut s = Script::new(Level::Raid5, 4, named("first-k"));
    s.request(READ, 0, 1);
    assert_eq!(s.log, "r0 r1 r2 r3 ");
    [1, 2, 3].into_iter().for_each(|drive| s.ok_after(drive, 10));
    s.compute();
    let delays = s.outcomes.pop().unwrap().delays;
    assert_eq!(delays.get(Cause::NandRead), Duration::ZERO, "{delays:?}");
    assert_eq!(delays.get(Cause::Rebuild), Duration::from_micros(30 + 3));
}

#[test]
fn requests_are_in_flight_until_they_are_done() {
    let mut s = Script::new(Level::Raid5, 4, named("base"));
    for requests in 1..=3 {
        s.request(READ, 0, 2);
        let array = &s.array;
        assert_eq!(
            (array.requests_in_flight(), array.operations_in_flight()),
            (requests, requests)
        );
    }
    answer_all(&mut s);
    assert_eq!((s.array.requests_in_flight(), s.array.operations_in_flight()), (0, 0));
}

#[test]
fn which_policies_watch_drives() {
    for (name, watches) in [("base", false), ("gc-tolerate", true)] {
        let s = Script::new(Level::Raid5, 4, named(name));
        assert_eq!(s.array.watches_drives(), watches, "{name}");
    }
}

#[test]
fn what_a_policy_took_collections_to_last_is_told_on_average() {
    assert_eq!(Script::new(Level::Raid5, 5, named("base")).array.expected_collection(), None);
    let profile = DriveProfile {
        read: Duration::from_micros(40),
        write: Duration::from_micros(200),
        erase: Duration::from_millis(3),
        ..DriveProfile::default()
    };
    let settings = PolicySettings { profile, ..PolicySettings::default() };
    let mut s = Script::set(Level::Raid5, 5, named("degraded"), settings);
    assert_eq!(s.array.expected_collection(), None, "nothing has been collected");
    let (mut sum, erase) = (Duration::ZERO, profile.erase);
    // Each is expected to move as many pages as those before it: the first none, the next ten.
    for (collected_blocks, expected) in
        [(1, erase), (2, erase + (profile.read + profile.write) * 10)]
    {
        let moved_pages = 10 * collected_blocks;
        let report =
            CollectionReport { collected_blocks, moved_pages, ..CollectionReport::default() };
        s.array.handle_report(s.now, DriveId(2), &report);
        sum += expected;
        assert_eq!(s.array.expected_collection(), Some(sum / collected_blocks));
    }
}

/// The rows that a read computes with are being written in part, so it waits for the write.
#[test]
fn reads_that_wait_for_a_write_are_counted() {
    let config = config(Layout::new(Level::Raid5, 4, 2, 100).unwrap(), named("base"));
    let mut s = Script::of(Array::new(config));
    for times in 1..=2 {
        s.log.clear();
        s.request(WRITE, 0, 1);
        [1, 2].into_iter().for_each(|drive| s.ok(drive));
        s.request(READ, 2, 2);
        s.answer(1, Status::Unrecovered, 0, Duration::ZERO);
        assert_eq!(s.log, "r1 r2 W0 W3 r1 ");
        assert_eq!(s.array.counters().lock_waits, times);
        [0, 3, 0, 2, 3].into_iter().for_each(|drive| s.ok(drive));
        s.compute();
        assert_eq!(s.log, "r1 r2 W0 W3 r1 done r0 r2 r3 done ");
    }
}

/// The time before a read is sent again is part of its latency, whatever it waited for.
#[test]
fn a_read_that_is_sent_again_took_all_of_its_time() {
    let mut s = Script::new(Level::Raid5, 4, named("ioda"));
    let micros = Duration::from_micros;
    s.request(READ, 0, 1);
    s.answer(0, Status::FailedFast, 100, micros(10));
    s.answer(1, Status::FailedFast, 200, micros(5));
    s.ok_after(0, 100);
    let outcome = s.outcomes.pop().unwrap();
    assert_eq!(outcome.completed.since(outcome.arrived), micros(115));
    assert_eq!(outcome.delays.get(Cause::NandRead), micros(100));
    assert_eq!(outcome.delays.total(), micros(115));
}
