//! Commands that the comparators and the policies of production systems send to the drives, checked
//! one by one against a scripted host.
#![allow(clippy::unwrap_used, reason = "tests stop")]

use crate::script::{Script, config, named, windows};
use ioda_array::policy::{
    About, Asked, Attempt, AttentiveSettings, DriveChanges, DriveProfile, Needs, Policy,
    PolicyKind, PolicySettings, View, WindowUse,
};
use ioda_array::{
    Action, AdaptiveConfig, Array, Config, Coordination, Layout, Level, RequestKind,
    SynchronizedConfig, TokenConfig, WindowConfig,
};
use nvme::{CollectionReport, CollectionRight, DriveStatus, PlFlag, Status};
use units::{DriveId, Duration, Instant, Lba};

// In stripe 0 of a RAID-5 of four, data is on drives 0, 1, 2 and parity on drive 3.
// In the log, R is a read with the flag, r a read without, W a write.

const READ: RequestKind = RequestKind::Read;

/// A host under whose policy each drive has answered 100 reads within 100 µs.
fn warm(level: Level, width: u32, policy: &str) -> Script {
    let mut s = Script::new(level, width, named(policy));
    for page in 0..100 * u64::from(width) {
        s.request(READ, page, 1);
        let drive = s.out[0].0.0;
        s.ok_after(drive, 100);
    }
    // Hedges of these reads were not needed; let their timers expire.
    s.now += Duration::from_millis(5);
    s.array.handle_deadline(s.now);
    s.collect();
    s.log.clear();
    s
}

#[test]
fn hedged_rebuilds_what_is_late_and_takes_what_comes_first() {
    let mut s = warm(Level::Raid5, 4, "hedged");
    s.request(READ, 0, 1);
    assert_eq!(s.array.next_deadline(), s.now + Duration::from_millis(2));
    s.compute();
    assert_eq!(s.log, "r0 r1 r2 r3 ");
    for drive in [1, 2, 3] {
        s.ok(drive);
    }
    s.compute();
    assert_eq!(s.log, "r0 r1 r2 r3 done ");
    s.ok(0);
    assert_eq!((s.array.counters().hedges, s.array.counters().hedges_won), (1, 1));
    assert_eq!(s.array.operations_in_flight(), 0);

    s.log.clear();
    s.request(READ, 0, 1);
    s.compute();
    s.ok(0);
    assert_eq!(s.log, "r0 r1 r2 r3 done ");
    assert_eq!((s.array.counters().hedges, s.array.counters().hedges_won), (2, 1));
}

#[test]
fn hedged_does_nothing_for_reads_that_are_in_time() {
    let mut s = warm(Level::Raid5, 4, "hedged");
    s.request(READ, 0, 1);
    s.ok_after(0, 1_999);
    s.compute();
    assert_eq!(s.log, "r0 done ");
    assert_eq!((s.array.counters().hedges, s.array.counters().hedges_denied), (0, 0));
}

#[test]
fn hedged_reads_of_a_write_are_hedged_too() {
    let mut s = warm(Level::Raid5, 8, "hedged");
    s.request(RequestKind::Write, 0, 1);
    s.ok(0);
    assert_eq!(s.log, "r0 r7 ");
    // The old parity is late: it is computed from the data.
    s.compute();
    assert_eq!(s.log, "r0 r7 r1 r2 r3 r4 r5 r6 ");
    for drive in 1..7 {
        s.ok(drive);
    }
    s.compute();
    assert!(s.log.ends_with("W0 W7 "), "{}", s.log);
}

#[test]
fn hedges_end_with_the_budget() {
    let mut s = warm(Level::Raid5, 4, "hedged");
    for row in 0..40 {
        s.request(READ, 3 * row, 1);
    }
    s.compute();
    let counters = s.array.counters();
    // Half of 128 reads is saved up at the start, and 20 are earned by 400 reads. A hedge of three
    // reads takes six of them.
    assert_eq!((counters.hedges, counters.hedges_denied), (14, 26));
}

#[test]
fn hedging_stops_where_reads_queue() {
    let mut s = warm(Level::Raid5, 4, "hedged");
    // The median read takes more than 1.5 times as long as the fastest did.
    for page in 0..2_000 {
        s.request(READ, page, 1);
        let drive = s.out[0].0.0;
        s.ok_after(drive, 160);
    }
    s.log.clear();
    s.request(READ, 0, 1);
    s.now += Duration::from_millis(3);
    s.array.handle_deadline(s.now);
    s.collect();
    assert_eq!(s.log, "r0 ");
    assert_eq!((s.array.counters().hedges, s.array.counters().hedges_denied), (0, 1));
}

#[test]
fn hedged_at_a_quantile_waits_until_it_knows_it() {
    let mut s = Script::new(Level::Raid5, 4, named("hedged-quantile"));
    s.request(READ, 0, 1);
    assert_eq!(s.array.next_deadline(), Instant::NEVER);
    s.ok_after(0, 100);
    for _ in 0..300 {
        s.request(READ, 0, 1);
        s.ok_after(0, 100);
    }
    s.request(READ, 0, 1);
    while s.out.len() == 1 {
        // Timers of earlier reads expire first.
        s.compute();
    }
    let sent = s.out[0].2;
    let waited = s.now.since(sent).as_nanos();
    assert!((100_000..=107_000).contains(&waited), "hedged after {waited} ns");
}

#[test]
fn late_answers_of_different_moments_are_not_computed_with() {
    // Stripe 0 of a RAID-6 of five: data on drives 1, 2, 3, P on 4, Q on 0.
    let mut s = warm(Level::Raid6, 5, "hedged");
    s.request(READ, 0, 2);
    let of_read: Vec<_> = s.out.drain(..).collect();
    // A write changes the stripe while both reads are in flight.
    s.request(RequestKind::Write, 0, 3);
    for drive in [1, 2, 3, 4, 0] {
        s.ok(drive);
    }
    s.out = of_read;
    s.log.clear();
    s.compute();
    assert_eq!(s.log, "", "one of the two could come back from before the write");
    assert_eq!(s.array.counters().hedges_denied, 1);
}

#[test]
fn one_of_two_that_is_late_is_hedged_with_what_has_come() {
    let mut s = warm(Level::Raid5, 4, "hedged");
    s.request(READ, 0, 2);
    s.ok(1);
    s.compute();
    assert_eq!(s.log, "r0 r1 r2 r3 ", "page 1 is known");
    assert_eq!((s.array.counters().hedges, s.array.counters().hedges_denied), (1, 0));
}

#[test]
fn a_late_answer_of_before_a_write_is_hedged_if_nothing_else_is_used() {
    let mut s = warm(Level::Raid5, 4, "hedged");
    s.request(READ, 0, 1);
    let of_read: Vec<_> = s.out.drain(..).collect();
    s.request(RequestKind::Write, 0, 3);
    (0..4).for_each(|drive| s.ok(drive));
    s.out = of_read;
    s.log.clear();
    s.compute();
    assert_eq!(s.log, "r1 r2 r3 ");
}

#[test]
fn what_is_reconstructed_already_is_not_hedged() {
    let mut s = warm(Level::Raid5, 4, "hedged");
    s.request(READ, 0, 1);
    s.answer(0, Status::Unrecovered, 0, Duration::ZERO);
    s.compute();
    assert_eq!(s.log, "r0 r1 r2 r3 ");
    assert_eq!((s.array.counters().hedges, s.array.counters().hedges_denied), (0, 0));
}

#[test]
fn reads_of_a_write_are_no_race() {
    let mut s = Script::new(Level::Raid5, 8, named("first-k"));
    s.request(RequestKind::Write, 0, 1);
    assert_eq!(s.log, "r0 r7 ");
}

#[test]
fn first_k_asks_one_more_than_suffice() {
    let mut s = Script::new(Level::Raid6, 5, named("first-k"));
    s.request(READ, 0, 1);
    assert_eq!(s.log, "r0 r1 r2 r3 ");
    for drive in [2, 3, 0] {
        s.ok(drive);
    }
    s.compute();
    assert_eq!(s.log, "r0 r1 r2 r3 done ");
    let settings = PolicySettings { spare_reads: 2, ..PolicySettings::default() };
    let mut s = Script::set(Level::Raid6, 5, named("first-k"), settings);
    s.request(READ, 0, 1);
    assert_eq!(s.log, "r0 r1 r2 r3 r4 ");
}

#[test]
fn a_drive_that_is_slower_than_its_peers_sits_out() {
    let mut s = Script::new(Level::Raid5, 4, named("sit-out"));
    let mut rounds = 0;
    while s.array.counters().avoided == 0 {
        // Stripe 0 has data on drives 0 to 2, stripe 1 has its first on drive 3.
        for (page, drive, micros) in [(0, 0, 80), (1, 1, 90), (2, 2, 900), (3, 3, 85)] {
            s.request(READ, page, 1);
            while let Some(&(sent_to, ..)) = s.out.first() {
                s.ok_after(sent_to.0, if sent_to.0 == drive { micros } else { 50 });
            }
        }
        rounds += 1;
        assert!(rounds < 100, "nobody ever sits out");
    }
    // A check every 10 ms, three in a row.
    assert!((20..=40).contains(&rounds), "{rounds} rounds");
    s.compute();
    s.log.clear();
    s.request(READ, 2, 1);
    assert_eq!(s.log, "r0 r1 r3 ", "drive 2 takes ten times as long as the others");
    for drive in [0, 1, 3] {
        s.ok(drive);
    }
    s.compute();
    s.now += Duration::from_secs(2);
    s.log.clear();
    s.request(READ, 2, 1);
    assert_eq!(s.log, "r2 ", "it is given another chance");
}

fn known_inside() -> PolicySettings {
    let profile = DriveProfile {
        read: Duration::from_micros(40),
        write: Duration::from_micros(200),
        dies: 8,
        collection: Duration::from_millis(50),
        pages_between_collections: 100,
        ..DriveProfile::default()
    };
    PolicySettings { profile, ..PolicySettings::default() }
}

#[test]
fn quiet_lets_reads_wait_a_little_where_a_reconstruction_would_wait_longer() {
    let mut s = Script::set(Level::Raid5, 4, named("quiet"), known_inside());
    // A reconstruction is quick while at most four pages are outstanding: half as many as a drive
    // has dies.
    for page in [1, 2, 1, 2, 1] {
        s.request(READ, page, 1);
    }
    assert_eq!(s.log, "R1 R2 R1 R2 R1 ");
    s.log.clear();
    s.request(READ, 0, 1);
    assert_eq!(s.log, "P0 ", "five pages are outstanding at the others");
    s.log.clear();
    s.request(READ, 2, 1);
    assert_eq!(s.log, "R2 ", "and at the others than drive 2 four");
    // A read that was failed fast nevertheless is reconstructed, by reads that wait a little as
    // well.
    s.log.clear();
    s.busy(0, 500);
    assert_eq!(s.log, "P1 P2 P3 ");
}

#[test]
fn mittos_takes_an_overdue_read_for_a_collection() {
    let mut s = Script::set(Level::Raid5, 4, named("mittos"), known_inside());
    s.request(READ, 0, 1);
    s.now += Duration::from_micros(1_001);
    s.log.clear();
    s.request(READ, 9, 1);
    assert_eq!(s.log, "r1 ", "another drive is no concern of it");
    s.ok(1);
    s.log.clear();
    s.request(READ, 0, 1);
    assert_eq!(s.log, "r1 r2 r3 ");
    // When a collection that began with the first read would be over, the drive is read again.
    s.now = Instant::ZERO + Duration::from_micros(49_500);
    s.ok(0);
    s.log.clear();
    s.request(READ, 3 * 4, 1);
    assert_eq!(s.log, "r0 ");
    let tallies = s.array.tallies();
    assert_eq!((tallies[0].count, tallies[3].count), (1, 1), "{tallies:?}");
}

#[test]
fn mittos_predicts_collections_by_what_it_writes() {
    let mut s = Script::set(Level::Raid5, 4, named("mittos"), known_inside());
    for stripe in 0..100 {
        s.request(RequestKind::Write, 3 * stripe, 3);
        for drive in 0..4 {
            s.ok(drive);
        }
    }
    s.log.clear();
    s.request(READ, 0, 1);
    // All four are predicted to collect. Only one can be reconstructed, and that is tried.
    assert_eq!(s.log, "r1 r2 r3 ");
}

#[test]
fn mittos_looks_at_some_of_what_it_rejects() {
    let mut s = Script::set(Level::Raid5, 4, named("mittos"), known_inside());
    s.request(READ, 0, 1);
    s.now += Duration::from_micros(1_001);
    for _ in 0..31 {
        s.request(READ, 0, 1);
        for drive in [1, 2, 3] {
            s.ok(drive);
        }
        s.compute();
    }
    s.log.clear();
    s.request(READ, 12, 1);
    assert_eq!(s.log, "r0 r1 r2 r3 ", "the 32nd is asked for as well as rebuilt");
    let other = s.out.remove(0);
    s.ok(0);
    assert!(s.log.ends_with("done "), "{}", s.log);
    s.out.push(other);
    let counts: Vec<u64> = s.array.tallies().iter().map(|tally| tally.count).collect();
    assert_eq!(counts, [32, 1, 1, 0], "it was fast: a needless rejection");
}

#[test]
fn mirrors_are_read_where_least_is_outstanding() {
    let mut s = Script::new(Level::Raid1, 2, named("least-outstanding"));
    s.request(READ, 0, 1);
    let first = s.out[0].0;
    s.request(READ, 0, 1);
    assert_ne!(s.out[1].0, first, "{}", s.log);
    s.ok(first.0);
    s.request(READ, 0, 1);
    assert_eq!(s.out[1].0, first, "{}", s.log);
}

#[test]
fn mirrors_are_read_where_answers_come_soonest() {
    let mut s = Script::new(Level::Raid1, 2, named("latency-weighted"));
    s.request(READ, 0, 1);
    let slow = s.out[0].0;
    s.ok_after(slow.0, 5_000);
    for _ in 0..20 {
        s.request(READ, 0, 1);
        assert_ne!(s.out[0].0, slow);
        s.ok_after(1 - slow.0, 50);
    }
    // A long queue at the fast drive takes longer than the slow drive's answer.
    for _ in 0..30 {
        s.request(READ, 0, 1);
    }
    assert!(s.out.iter().any(|(drive, ..)| *drive == slow), "{}", s.log);
}

#[test]
fn commodity_drives_hear_nothing_of_windows() {
    let mut s = Script::new(Level::Raid5, 4, named("iod3-commodity"));
    assert_eq!(s.array.poll_action(), None, "no drive was given a window");
    s.request(READ, 0, 1);
    assert_eq!(s.log, "r1 r2 r3 ", "at time 0 it would be drive 0's turn");
    let window = Duration::from_millis(50);
    assert!(s.array.set_window(s.now, window));
    assert_eq!(s.array.poll_action(), None, "nor of a change");
}

/// Harmonia with these drives absent.
fn harmonia(absent: u64) -> Array {
    let coordination = Coordination::Synchronized(SynchronizedConfig {
        lease: Duration::from_millis(100),
        period: Duration::from_millis(1),
        start: Instant::ZERO,
    });
    let config = config(Layout::new(Level::Raid5, 4, 1, 1000).unwrap(), named("harmonia"));
    let reconstruct_compute = Duration::ZERO;
    Array::new(Config { coordination, reconstruct_compute, absent, ..config })
}

#[test]
fn harmonia_lets_all_collect_as_soon_as_one_must() {
    let mut array = harmonia(0);
    let rights = |array: &mut Array| {
        let mut rights = Vec::new();
        while let Some(action) = array.poll_action() {
            if let Action::Permit { right: CollectionRight::Order { until }, .. } = action {
                rights.push(until);
            }
        }
        rights
    };
    assert_eq!(rights(&mut array), [Instant::ZERO; 4], "nobody may collect at first");
    let status = |must_collect| DriveStatus {
        headroom_pages: 10,
        due: true,
        must_collect,
        collecting: false,
    };
    let look = |array: &mut Array, millis, of_drive_2| {
        let now = Instant::ZERO + Duration::from_millis(millis);
        array.handle_deadline(now);
        while array.poll_action().is_some() {}
        for drive in 0..4 {
            array.handle_status(now, DriveId(drive), &status(drive == 2 && of_drive_2));
        }
    };
    look(&mut array, 1, false);
    assert_eq!(rights(&mut array), []);
    look(&mut array, 2, true);
    let until = Instant::ZERO + Duration::from_millis(102);
    assert_eq!(rights(&mut array), [until; 4]);
}

/// Every drive is asked except the absent one, for which the array answers.
#[test]
fn harmonia_does_not_wait_for_a_drive_that_is_absent() {
    let mut s = Script::of(harmonia(0b10));
    s.compute();
    assert_eq!(s.asked, [0, 2, 3].map(DriveId));
    s.permits.clear();
    for drive in [0, 2, 3] {
        let status = DriveStatus {
            headroom_pages: 10,
            due: true,
            must_collect: drive == 2,
            collecting: false,
        };
        s.array.handle_status(s.now, DriveId(drive), &status);
    }
    s.collect();
    assert_eq!(s.permits.len(), 4, "all may collect");
}

#[test]
fn what_drives_were_told_under_a_policy_is_void_under_the_next() {
    let mut s = Script::new(Level::Raid5, 4, named("base"));
    s.collect();
    assert_eq!(s.permits, [], "they may collect whenever they like");
    assert_eq!(s.array.next_deadline(), Instant::NEVER, "and no window ever opens");
    let windows = Coordination::Windows(windows());
    let told = |s: &mut Script, name: &str, coordination: Coordination| {
        s.array.set_policy(s.now, named(name), &PolicySettings::default(), coordination).unwrap();
        s.collect();
        let permits = std::mem::take(&mut s.permits);
        let always = permits.iter().filter(|(_, right)| *right == CollectionRight::Always).count();
        (permits.len(), always)
    };
    assert_eq!(told(&mut s, "ioda", windows), (4, 0));
    assert_eq!(told(&mut s, "base", windows), (4, 4), "a policy without windows has none");
    assert_eq!(told(&mut s, "ioda", Coordination::Free), (4, 4));
    assert_eq!(told(&mut s, "iod3-commodity", windows), (4, 4), "they do not hear of these");
    assert_eq!(told(&mut s, "ioda", windows), (4, 0));
    // A new drive gets the permit of the drive before it.
    s.array.fail_drive(s.now, DriveId(2));
    s.array.replace_drive(s.now, DriveId(2)).unwrap();
    s.collect();
    assert_eq!(s.permits.iter().map(|(drive, _)| *drive).collect::<Vec<_>>(), [DriveId(2)]);
}

#[test]
fn windows_are_set_where_there_are_some() {
    let longer = Duration::from_millis(200);
    for (name, has) in [("base", false), ("ioda", true)] {
        let mut s = Script::new(Level::Raid5, 4, named(name));
        assert_eq!(s.array.set_window(s.now, longer), has, "{name}");
    }
}

fn collects(s: &mut Script, drive: u8, collecting: bool) {
    let report = CollectionReport { collecting, ..CollectionReport::default() };
    s.array.handle_report(s.now, DriveId(drive), &report);
}

#[test]
fn gc_tolerate_goes_around_the_one_drive_of_a_stripe_that_says_that_it_collects() {
    let mut s = Script::new(Level::Raid5, 4, named("gc-tolerate"));
    collects(&mut s, 0, true);
    s.request(READ, 0, 1);
    assert_eq!(s.log, "r1 r2 r3 ");
    collects(&mut s, 2, true);
    s.request(READ, 0, 1);
    assert_eq!(s.log, "r1 r2 r3 r0 ", "another of the stripe collects as well");
    collects(&mut s, 2, false);
    collects(&mut s, 0, false);
    s.request(READ, 0, 1);
    assert_eq!(s.log, "r1 r2 r3 r0 r0 ");
}

/// A policy that avoids all drives.
const SHY: PolicyKind = PolicyKind::new(&About {
    name: "shy",
    label: "Shy",
    summary: "avoids all drives",
    source: "this test",
    drive_changes: DriveChanges::Nothing,
    windows: WindowUse::None,
    untimed: nvme::Untimed::Nothing,
    needs: Needs::Redundancy,
    build: &|_| Box::new(Shy),
});

struct Shy;

impl Policy for Shy {
    fn first_attempt(&mut self, _: Instant, _: DriveId, _: Lba, _: &View<'_>) -> Attempt {
        Attempt::Avoid
    }
}

#[test]
fn of_more_drives_to_avoid_than_parities_the_rest_is_read_at_once() {
    let mut s = Script::new(Level::Raid5, 4, SHY);
    s.request(READ, 0, 2);
    assert_eq!(s.log, "r1 r2 r3 ");
    assert!(s.out.iter().all(|(_, command, _)| command.pl == PlFlag::Off));
    assert_eq!((s.array.counters().avoided, s.array.counters().resubmitted), (1, 0));
    let mut s = Script::new(Level::Raid0, 4, SHY);
    s.request(READ, 0, 2);
    assert_eq!(s.log, "r0 r1 ");
    assert_eq!((s.array.counters().avoided, s.array.counters().resubmitted), (0, 0));
}

/// A policy that holds every request back and releases it at once.
const HESITANT: PolicyKind = PolicyKind::new(&About {
    name: "hesitant",
    label: "Hesitant",
    summary: "holds requests back for no time",
    source: "this test",
    drive_changes: DriveChanges::Nothing,
    windows: WindowUse::None,
    untimed: nvme::Untimed::Nothing,
    needs: Needs::Nothing,
    build: &|_| Box::new(Hesitant),
});

struct Hesitant;

impl Policy for Hesitant {
    fn admits(&mut self, _: Instant, _: &Asked) -> bool {
        false
    }

    fn releases(&mut self, _: Instant) -> bool {
        true
    }
}

#[test]
fn a_request_that_is_held_back_goes_on_as_soon_as_the_policy_lets_it() {
    let mut s = Script::new(Level::Raid0, 4, HESITANT);
    s.request(READ, 0, 2);
    assert_eq!((s.log.as_str(), s.array.counters().held_back), ("r0 r1 ", 1));
}

/// Busy members of reads decide the length of the windows.
#[test]
fn adaptive_windows_are_halved_when_a_stripe_has_too_many_busy_members() {
    let millis = Duration::from_millis;
    for (busy, is_shorter) in [(&[0][..], false), (&[0, 1], true)] {
        let adaptive = AdaptiveConfig {
            period: millis(50),
            increment: millis(10),
            shortest: millis(5),
            longest: millis(500),
        };
        let mut s = Script::new(Level::Raid5, 4, named("base"));
        let adaptive = Coordination::Adaptive(windows(), adaptive);
        let settings = PolicySettings::default();
        s.array.set_policy(s.now, named("ioda"), &settings, adaptive).unwrap();
        s.collect();
        s.request(READ, 0, 1);
        busy.iter().for_each(|&drive| s.busy(drive, 100));
        // The new length takes effect at the end of the turn after the next.
        while s.now < Instant::ZERO + millis(230) {
            s.compute();
        }
        let length = s.array.coordinator().busy_time_window().unwrap();
        assert_eq!(length < millis(100), is_shorter, "{length} after {busy:?}");
    }
}

/// Whatever the coordination decides, drives without windows get no permits.
#[test]
fn commodity_drives_hear_nothing_whatever_coordinates_them() {
    let (period, start) = (Duration::from_millis(1), Instant::ZERO);
    let windows = WindowConfig { busy_time_window: Duration::from_millis(20), ..windows() };
    let adaptive = AdaptiveConfig {
        period: Duration::from_millis(50),
        increment: Duration::from_millis(10),
        shortest: Duration::from_millis(5),
        longest: Duration::from_millis(500),
    };
    let lease = Duration::from_millis(5);
    let guard = Duration::ZERO;
    let token = TokenConfig { lease, period, busy_drives: 1, guard, start };
    for coordination in [
        Coordination::Windows(windows),
        Coordination::Adaptive(windows, adaptive),
        Coordination::Token(token),
        Coordination::Synchronized(SynchronizedConfig { lease, period, start }),
    ] {
        let layout = Layout::new(Level::Raid5, 4, 1, 1000).unwrap();
        let config = config(layout, named("iod3-commodity"));
        let reconstruct_compute = Duration::ZERO;
        let mut array = Array::new(Config { coordination, reconstruct_compute, ..config });
        let (mut now, mut asked, mut was_busy) = (Instant::ZERO, 0, false);
        for _ in 0..200 {
            now += period;
            array.handle_deadline(now);
            array.set_window(now, Duration::from_millis(20));
            while let Some(action) = array.poll_action() {
                match action {
                    Action::AskStatus { drive } => {
                        asked += 1;
                        let status = DriveStatus {
                            headroom_pages: 10 + u64::from(drive.0),
                            due: true,
                            must_collect: drive.0 == 2,
                            collecting: false,
                        };
                        array.handle_status(now, drive, &status);
                    }
                    other => panic!("{other:?} under {coordination:?}"),
                }
            }
            was_busy |=
                (0..4).any(|drive| array.coordinator().is_busy(DriveId(drive), Lba(0), now));
        }
        assert!(was_busy, "the array acts as if {coordination:?} were kept");
        let asks = matches!(coordination, Coordination::Token(_) | Coordination::Synchronized(_));
        assert_eq!(asked > 0, asks, "{coordination:?}");
    }
}

/// A host whose drives have a write buffer.
fn buffered(policy: &str) -> Script {
    let mut s = warm(Level::Raid5, 4, policy);
    s.request(RequestKind::Write, 0, 3);
    s.now += Duration::from_micros(10);
    for drive in 0..4 {
        s.ok(drive);
    }
    s.log.clear();
    s
}

/// Writes whole stripes: one page on each drive per stripe.
fn write_stripes(s: &mut Script, stripes: u64) {
    s.request(RequestKind::Write, 0, 3 * stripes);
}

/// Answers all commands.
fn finish(s: &mut Script) {
    while s.array.requests_in_flight() > 0 {
        match s.out.first() {
            Some(&(DriveId(drive), ..)) => s.ok(drive),
            None => s.compute(),
        }
    }
    s.array.check_invariants();
}

#[test]
fn attentive_lets_writes_wait_at_the_host_and_reads_pass_them() {
    let mut s = buffered("attentive");
    let most = AttentiveSettings::default().most_in_flight;
    write_stripes(&mut s, u64::from(most) + 16);
    let out = |s: &Script, drive| s.out.iter().filter(|out| out.0.0 == drive).count() as u32;
    assert_eq!((out(&s, 0), out(&s, 3)), (most, most));
    s.log.clear();
    s.request(READ, 600, 1);
    assert_eq!(s.log.len(), 3, "{}", s.log);
    finish(&mut s);
    let waited = s.array.tallies().iter().map(|tally| tally.count).sum::<u64>();
    assert_eq!(waited, 4 * 16);
}

#[test]
fn what_waits_at_the_host_for_a_drive_that_fails_is_over() {
    let mut s = buffered("attentive");
    write_stripes(&mut s, 100);
    s.array.fail_drive(s.now, DriveId(2));
    s.collect();
    finish(&mut s);
}

#[test]
fn reads_for_parity_that_wait_for_a_drive_that_fails_are_over() {
    let mut s = buffered("attentive");
    for stripe in 0..100 {
        s.request(RequestKind::Write, 3 * stripe, 1);
    }
    s.array.fail_drive(s.now, DriveId(2));
    s.collect();
    finish(&mut s);
}
