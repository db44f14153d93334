//! The lives of requests agree with their run's report, and runs that differ are distinguished.
#![allow(clippy::unwrap_used, reason = "tests stop")]

use crate::common;
use array::policy::PolicyKind;
use array::{Level, RequestKind};
use ioda_sim::{
    Compared, Explained, Fault, PathSums, Plan, RunProgress, Side, Story, explain,
    first_difference, prepare_drives, slowest,
};
use std::convert::Infallible;
use units::{DriveId, Duration, Instant, Rng};
use workload::{Arrival, Op, Request};

const REQUESTS: u64 = 1200;

/// Four small drives that collect all the time.
fn plan(policy: &str) -> Plan {
    let mut drive = ssd::presets::preset("femu-artifact").unwrap();
    drive.geometry.channels = 2;
    drive.geometry.chips_per_channel = 2;
    drive.geometry.blocks_per_plane = 64;
    drive.geometry.pages_per_block = 32;
    let policy = *PolicyKind::ALL.iter().find(|kind| kind.name() == policy).unwrap();
    let chunk_bytes = 4 * u64::from(drive.geometry.page_bytes);
    Plan { chunk_bytes, ..common::plan(drive, Level::Raid5, 4, policy) }
}

type Workload = (Arrival, std::vec::IntoIter<Result<Request, Infallible>>);

/// Reads and writes of a small part of the array, so that they conflict.
fn workload(seed: u64) -> Workload {
    let mut rng = Rng::stream(seed, "story");
    let mut at = Instant::ZERO;
    let requests = (0..REQUESTS).map(|_| {
        at += Duration::from_nanos(rng.below(120_000));
        let op = if rng.below(2) == 0 { Op::Write } else { Op::Read };
        let offset_bytes = rng.below(512) * 4096;
        let size_bytes = (1 + rng.below(6)) * 4096;
        Ok(Request {
            at,
            op,
            offset_bytes,
            size_bytes,
            device: 0,
            durable: false,
            after_flush: false,
        })
    });
    (Arrival::Open, requests.collect::<Vec<_>>().into_iter())
}

fn faults(rebuild: bool) -> Vec<(Instant, Fault)> {
    let at = |millis| Instant::ZERO + Duration::from_millis(millis);
    let both = [(at(10), Fault::Fail(DriveId(2))), (at(20), Fault::Replace(DriveId(2)))];
    if rebuild { both.to_vec() } else { Vec::new() }
}

fn story(plan: &Plan, number: u64, rebuild: bool) -> Story {
    let drives = prepare_drives(plan).unwrap();
    let (faults, progress) = (faults(rebuild), RunProgress::default());
    match explain(plan, drives, workload(1), faults, number, &progress).unwrap() {
        Explained::Story(story) => *story,
        Explained::Absent { .. } => panic!("request {number} is there"),
    }
}

/// Checks properties of every life, on a drive whose pages all take the same time.
fn check(story: &Story) {
    check_chain(story);
    check_delays(story);
}

/// Checks that the path of a life has no gap and no unknown activity.
fn check_chain(story: &Story) {
    let name = format!("request {} under {}", story.number, story.policy.name());
    let mut at = story.arrived;
    for segment in &story.path {
        assert_eq!(segment.from, at, "{name}: the chain has a gap: {:#?}", story.path);
        at = segment.until;
    }
    assert_eq!(at, story.completed, "{name}");
    assert!(story.sentences.is_sorted_by_key(|told| told.at), "{name}: {:#?}", story.sentences);
    let unknown = story.path.iter().find(|segment| segment.activity == ioda_sim::Activity::Other);
    assert_eq!(unknown, None, "{name}: {:#?}", story.path);
}

/// Checks that the parts of a read are the delays that the run reports.
fn check_delays(story: &Story) {
    let name = format!("request {} under {}", story.number, story.policy.name());
    let latency = story.completed.since(story.arrived);
    if story.kind != RequestKind::Read {
        return;
    }
    assert_eq!(story.delays.total(), latency, "{name}");
    let (mine, run) = (PathSums::of(&story.path), PathSums::reported(&story.delays));
    let exact = |sums: &PathSums| {
        (sums.service, sums.fail_fast, sums.stripe_lock, sums.late_answer, sums.held_back)
    };
    assert_eq!(exact(&mine), exact(&run), "{name}: {:#?}", story.path);
    // The run counts a wait for the channel as a wait for the data that the channel moved.
    let more = |run: Duration, mine: Duration| run.as_nanos().checked_sub(mine.as_nanos());
    let channel = [
        more(run.behind_host, mine.behind_host),
        more(run.behind_collections, mine.behind_collections),
    ];
    let channel: Option<u64> = channel.into_iter().sum();
    assert_eq!(channel, Some(mine.channel.as_nanos()), "{name}: {mine:#?} {run:#?}");
}

#[test]
fn the_parts_of_a_life_are_the_delays_that_the_run_reports() {
    for (policy, rebuild) in [
        ("base", false),
        ("iod1", false),
        ("iod2", true),
        ("ioda", false),
        ("ioda", true),
        ("hedged", false),
        ("first-k", false),
        ("ioda-nvm", false),
    ] {
        let plan = plan(policy);
        for number in (1..=REQUESTS).step_by(29) {
            check(&story(&plan, number, rebuild));
        }
        // Attribution is hardest for slow requests.
        let drives = prepare_drives(&plan).unwrap();
        let (wanted, progress) = ((RequestKind::Read, 12), RunProgress::default());
        let slow = slowest(&plan, drives, workload(1), faults(rebuild), wanted, &progress);
        let slow = slow.unwrap();
        assert!(slow.is_sorted_by_key(|one| std::cmp::Reverse(one.completed.since(one.arrived))));
        for outcome in slow {
            let story = story(&plan, outcome.request.0, rebuild);
            assert_eq!((story.completed, story.delays), (outcome.completed, outcome.delays));
            check(&story);
        }
    }
}

#[test]
fn a_command_that_waits_at_the_host_is_told() {
    let drive = common::quarter(ssd::presets::preset("wd-960").unwrap());
    let policy = PolicyKind::from_name("attentive").unwrap();
    let mut plan = Plan { chunk_bytes: 4096, ..common::plan(drive, Level::Raid5, 4, policy) };
    plan.policy_settings.attentive.most_in_flight = 2;
    let waits = |story: &Story| {
        let mut path = story.path.iter();
        path.any(|segment| segment.activity == ioda_sim::Activity::AtHost)
    };
    let mut told = 0;
    for number in (1..=REQUESTS).step_by(17) {
        let story = story(&plan, number, false);
        check_chain(&story);
        if waits(&story) {
            told += 1;
            let mut sentences = story.sentences.iter();
            assert!(sentences.any(|told| told.text.contains("waits at the host")), "{story:#?}");
        }
    }
    assert!(told > 0, "no request waits at the host");
}

#[test]
fn a_request_that_does_not_exist_is_not_explained() {
    let plan = plan("ioda");
    let (drives, progress) = (prepare_drives(&plan).unwrap(), RunProgress::default());
    let explained = explain(&plan, drives, workload(1), Vec::new(), REQUESTS + 1, &progress);
    assert_eq!(explained.unwrap(), Explained::Absent { requests: REQUESTS });
}

#[test]
fn the_first_event_that_differs_is_found() {
    let side = |seed| Side {
        plan: plan("ioda"),
        workload: move || Ok::<_, Infallible>(workload(seed)),
        faults: Vec::new(),
    };
    let same = first_difference(&side(1), &side(1)).unwrap();
    assert!(matches!(same, Compared::Same { events } if events > 10 * REQUESTS), "{same:?}");
    let Compared::Differ(difference) = first_difference(&side(1), &side(2)).unwrap() else {
        panic!("different workloads do not agree");
    };
    assert_ne!(difference.first, difference.second);
    assert!(difference.to_string().contains("then the runs differ"), "{difference}");
}
