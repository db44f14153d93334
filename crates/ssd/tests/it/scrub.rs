//! Scrubbing: copies that bypassed error correction are checked in idle time, and only then.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests stop and speak")]

use crate::common::{Host, any_drive, any_rain_drive, worn_out};
use ioda_ssd::{
    CollectionUnit, Config, Counters, Media, PreemptionScope, PulseConfig, SchedulingConfig,
    ScrubConfig, Ssd, Suspendable, SuspensionConfig, presets,
};
use nvme::{Cause, Command, CommandId, Opcode, PlFlag, Status};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use units::{Duration, Instant, Lba, Rng};

/// Idle time after which the drives here scrub, unless a test sets another.
const AFTER: Duration = Duration::from_millis(1);
/// A time in which every drive here can check all copies.
const LONG: Duration = Duration::from_secs(10);

fn small(after: Option<Duration>) -> Config {
    let mut config = presets::preset("femu-artifact").unwrap();
    config.geometry.channels = 2;
    config.geometry.chips_per_channel = 2;
    config.geometry.blocks_per_plane = 64;
    config.geometry.pages_per_block = 32;
    config.timing.transfer = Duration::from_micros(60);
    config.collection.unit = CollectionUnit::Block;
    config.collection.copyback = true;
    config.scrub = after.map(|after| ScrubConfig { after });
    config
}

/// Follows the media of a drive with a plain list of copies. Fails if a page is checked twice, or
/// is not a copy.
#[derive(Default)]
struct Watch {
    media: Vec<Media>,
    unchecked: BTreeSet<u32>,
    checked: u64,
}

impl Watch {
    fn look(&mut self, drive: &mut Ssd) {
        drive.take_media(&mut self.media);
        let geometry = &drive.config().geometry;
        let die_of = |page| page / (geometry.blocks_per_die() * geometry.pages_per_block);
        for media in self.media.drain(..) {
            match media {
                // A page of a stripe that moves to other dies passes error correction on the way.
                Media::Copied { from, to } if die_of(from) != die_of(to) => {}
                Media::Copied { to, .. } => assert!(self.unchecked.insert(to), "{to} copied twice"),
                Media::Scrubbed { page } => {
                    assert!(self.unchecked.remove(&page), "{page} holds nothing to check");
                    self.checked += 1;
                }
                Media::Erased { first_page, pages } => {
                    self.unchecked.retain(|page| !(first_page..first_page + pages).contains(page));
                }
                _ => {}
            }
        }
    }

    /// Copies to check that are still the newest of their logical page.
    fn valid(&self, drive: &Ssd) -> usize {
        let pages = (0..drive.logical_blocks()).filter_map(|lba| drive.flash_page(Lba(lba)));
        pages.filter(|page| self.unchecked.contains(page)).count()
    }
}

#[test]
fn every_valid_copy_is_checked_once_in_idle_time() {
    // Longer than dies wait for each other while the host is busy.
    let after = Duration::from_millis(50);
    let mut drive = Ssd::new(small(Some(after))).unwrap();
    drive.age(1);
    drive.record_media();
    let mut watch = Watch::default();
    let mut host = Host::new(3, 8, 60);
    for round in 0..5 {
        host.run(&mut drive, 3_000, |_, _| {});
        host.drain(&mut drive);
        watch.look(&mut drive);
        let (to_check, before) = (watch.valid(&drive), watch.checked);
        assert!(to_check > 500, "{to_check} copies to check");
        // In the last round the drive has all the time it needs; before that, a moment.
        let idle = if round == 4 { LONG } else { after + Duration::from_millis(5) };
        host.now += idle;
        drive.handle_deadline(host.now);
        watch.look(&mut drive);
        let checked = watch.checked - before;
        assert!(checked > 100, "round {round}: {checked} checked");
        if round == 4 {
            assert_eq!(checked, to_check as u64);
            assert_eq!(drive.next_deadline(), Instant::NEVER, "nothing is left to do");
        } else {
            assert!(checked < to_check as u64, "an idle moment was enough for everything");
        }
    }
    assert_eq!(drive.counters().scrubbed_pages, watch.checked);
    drive.check_invariants();
}

#[test]
fn a_busy_drive_never_scrubs() {
    // Four dies and 32 commands in flight, with transfers: a die is idle at times, but never for
    // long.
    let run = |after| {
        let mut drive = Ssd::new(small(after)).unwrap();
        drive.age(1);
        let mut log = Vec::new();
        Host::new(8, 32, 40).run(&mut drive, 20_000, |at, completion| {
            log.push((at, completion.id, completion.delays));
        });
        (log, drive.counters().collections, drive.counters().scrubbed_pages)
    };
    let patient = run(Some(Duration::from_millis(20)));
    assert!(patient.1 > 100, "{} collections", patient.1);
    assert_eq!(patient.2, 0);
    assert!(patient == run(None), "waiting for idle time changes nothing");
    let (_, _, scrubbed) = run(Some(Duration::from_nanos(1)));
    assert!(scrubbed > 100, "an impatient drive finds moments: {scrubbed} pages");
}

/// A drive with one die that has copies to check and no other work, and the time of its first
/// check.
fn about_to_scrub() -> (Ssd, Instant) {
    let mut config = small(Some(AFTER));
    config.geometry.channels = 1;
    config.geometry.chips_per_channel = 1;
    let mut drive = Ssd::new(config).unwrap();
    drive.age(1);
    let mut host = Host::new(3, 4, 90);
    host.run(&mut drive, 2_000, |_, _| {});
    host.drain(&mut drive);
    // A collection may still be under way.
    while drive.counters().scrubbed_pages == 0 {
        host.now = drive.next_deadline();
        drive.handle_deadline(host.now);
    }
    (drive, host.now)
}

#[test]
fn what_arrives_waits_for_one_page_at_most() {
    let (drive, began) = about_to_scrub();
    let timing = drive.config().timing;
    let page = timing.read + timing.transfer;
    for into in [0, 1, 30, 40, 41, 70, 99, 100].map(Duration::from_micros) {
        for (opcode, service) in
            [(Opcode::Read, page), (Opcode::Write, timing.transfer + timing.program)]
        {
            let mut drive = drive.clone();
            let at = began + into;
            let command =
                Command { id: CommandId(7), opcode, lba: Lba(5), blocks: 1, pl: PlFlag::Off };
            drive.handle_deadline(at);
            let scrubbed = drive.counters().scrubbed_pages;
            drive.handle_command(at, &command);
            let completed = loop {
                drive.handle_deadline(drive.next_deadline());
                if let Some(completed) = drive.poll_completion() {
                    break completed;
                }
            };
            // The next page begins only after a whole page.
            let wait = if into == page { page } else { page - into };
            assert_eq!(completed.at.since(at), wait + service, "{opcode:?} at {into}");
            assert_eq!(drive.counters().scrubbed_pages, scrubbed + 1, "the host goes first");
            if opcode == Opcode::Read {
                let delays = completed.completion.delays;
                assert_eq!(delays.get(Cause::BehindCollectionRead), wait);
                assert_eq!(delays.total(), wait + service);
            }
        }
    }
}

#[test]
fn a_die_rests_again_after_each_command() {
    let (mut drive, began) = about_to_scrub();
    // Reads that arrive a little before the die would begin to check: it never does.
    let mut at = began;
    for id in 0..100 {
        let command = Command {
            id: CommandId(id),
            opcode: Opcode::Read,
            lba: Lba(5),
            blocks: 1,
            pl: PlFlag::Off,
        };
        drive.handle_command(at + Duration::from_micros(1), &command);
        at += AFTER;
    }
    let scrubbed = drive.counters().scrubbed_pages;
    assert_eq!(scrubbed, 2, "the first, and the one that the first read met");
    drive.handle_deadline(at + AFTER * 3);
    assert!(drive.counters().scrubbed_pages > scrubbed);
}

#[test]
fn drives_that_cannot_scrub_are_refused() {
    let refused = |change: fn(&mut Config)| {
        let mut config = small(Some(AFTER));
        change(&mut config);
        config.validate().unwrap_err().to_string()
    };
    assert!(refused(|config| config.collection.copyback = false).contains("set copyback to true"));
    let zero = refused(|config| config.scrub = Some(ScrubConfig { after: Duration::ZERO }));
    assert!(zero.contains("scrub_after to at least 1ns"), "{zero}");
}

#[derive(Clone, Copy)]
struct Load {
    seed: u64,
    start: Instant,
    /// Mean interval between commands.
    gap: Duration,
    write_percent: u64,
}

/// Sends commands at random intervals, then leaves the drive idle for a long time. Returns the
/// latencies of the reads, sorted.
fn reads_under_load(
    drive: &mut Ssd,
    load: Load,
    commands: u32,
    mut look: impl FnMut(&mut Ssd),
) -> Vec<Duration> {
    let mut rng = Rng::stream(load.seed, "load");
    let mut now = load.start;
    let mut arrived = BTreeMap::new();
    let mut reads = Vec::new();
    let mut receive = |drive: &mut Ssd, arrived: &mut BTreeMap<_, _>| {
        while let Some(completed) = drive.poll_completion() {
            let completion = completed.completion;
            assert_eq!(completion.status, Status::Success);
            let (at, opcode) = arrived.remove(&completion.id).expect("one answer for a command");
            if opcode == Opcode::Read {
                let latency = completed.at.since(at);
                assert_eq!(completion.delays.total(), latency, "the parts sum to the latency");
                reads.push(latency);
            }
        }
    };
    for id in 0..commands {
        now += Duration::from_nanos(rng.below(2 * load.gap.as_nanos()));
        let write = rng.below(100) < load.write_percent;
        let opcode = if write { Opcode::Write } else { Opcode::Read };
        let lba = Lba(rng.below(drive.logical_blocks()));
        let id = CommandId(id);
        arrived.insert(id, (now, opcode));
        drive.handle_command(now, &Command { id, opcode, lba, blocks: 1, pl: PlFlag::Off });
        receive(drive, &mut arrived);
        look(drive);
    }
    drive.handle_deadline(now + LONG);
    receive(drive, &mut arrived);
    look(drive);
    assert!(arrived.is_empty(), "{} commands without an answer", arrived.len());
    reads.sort_unstable();
    reads
}

/// The latencies of reads on 16 dies that are busy for a fifth of the time, at the 99th, 99.9th and
/// 99.99th percentile.
fn tail(scheduling: SchedulingConfig, after: Option<Duration>) -> [Duration; 3] {
    let mut config = small(after);
    config.geometry.channels = 4;
    config.geometry.chips_per_channel = 4;
    config.geometry.pages_per_block = 128;
    config.scheduling = scheduling;
    let mut drive = Ssd::new(config).unwrap();
    drive.age(1);
    let gap = Duration::from_micros(100);
    let load = Load { seed: 5, start: Instant::ZERO, gap, write_percent: 30 };
    let reads = reads_under_load(&mut drive, load, 400_000, |_| {});
    let percentiles = [99.0, 99.9, 99.99]
        .map(|percentile| reads[(reads.len() as f64 * percentile / 100.0) as usize]);
    let Counters { scrubbed_pages, collection_programs_pages: copies, .. } = *drive.counters();
    println!("after {after:?}: p99, p99.9, p99.99 {percentiles:?}, {scrubbed_pages} of {copies}");
    assert!(copies > 200_000);
    match after {
        None => assert_eq!(scrubbed_pages, 0),
        // The other copies were overwritten before their check.
        Some(_) => assert!(scrubbed_pages > copies * 99 / 100, "{scrubbed_pages} of {copies}"),
    }
    percentiles
}

#[test]
fn at_moderate_load_everything_is_checked_and_the_tail_stays() {
    let after = Some(Duration::from_millis(1));
    // Where reads wait for whole collections, one page more is not noticeable.
    let first_come = SchedulingConfig::FIRST_COME;
    for (without, with) in tail(first_come, None).into_iter().zip(tail(first_come, after)) {
        let ratio = with.as_nanos() as f64 / without.as_nanos() as f64;
        assert!((0.99..1.01).contains(&ratio), "{with} after {without}");
    }
    // Where they do not, it is noticeable, and at most one page.
    let suspension = SuspensionConfig {
        what: Suspendable::Everything,
        program: Duration::from_micros(10),
        erase: Duration::from_micros(100),
        most: 10,
        pulses: PulseConfig::NONE,
    };
    let in_turns = SchedulingConfig {
        read_priority: true,
        preemptive_collection: true,
        paced_writes: false,
        turns: None,
        in_order_when_full: false,
        preemption_scope: PreemptionScope::Die,
        suspension: Some(suspension),
    };
    let page = Duration::from_micros(40 + 60);
    for (without, with) in tail(in_turns, None).into_iter().zip(tail(in_turns, after)) {
        assert!(with > without && with < without + page, "{with} after {without}");
    }
}

/// Tiny drives that scrub, with and without parity of their own.
fn any_scrubbing_drive() -> impl Strategy<Value = Config> {
    (prop_oneof![any_drive(), any_rain_drive()], 1u64..3_000).prop_map(|(mut config, after)| {
        config.collection.copyback = true;
        config.scrub = Some(ScrubConfig { after: Duration::from_micros(after) });
        config
    })
}

proptest! {
    #![proptest_config(testing::cases(200))]

    /// Whatever the drive: commands complete and are explained, only copies are checked, none
    /// twice, and with enough idle time all of them.
    #[test]
    fn any_drive_checks_its_copies(
        config in any_scrubbing_drive(),
        seed in 0u64..1000,
        windows in 0u64..3,
        gap in 1u64..1_000,
    ) {
        prop_assume!(config.validate().is_ok());
        let mut drive = worn_out(config, seed, windows);
        // Copies that take no time are not checked.
        drive.set_untimed(nvme::Untimed::Nothing);
        let start = Instant::ZERO + LONG * 10;
        drive.handle_deadline(start);
        drive.record_media();
        drive.reset_counters();
        let mut watch = Watch::default();
        let load = Load { seed, start, gap: Duration::from_micros(gap), write_percent: 70 };
        let reads = reads_under_load(&mut drive, load, 1_000, |drive| watch.look(drive));
        prop_assert!(!reads.is_empty());
        prop_assume!(drive.counters().collection_programs_pages > 0);
        prop_assert_eq!(drive.counters().scrubbed_pages, watch.checked);
        prop_assert_eq!(watch.valid(&drive), 0, "copies were forgotten");
        drive.check_invariants();
    }
}
