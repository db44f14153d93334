//! Drives that fail, on an array of real bytes: every level and policy, compared with a reference
//! that knows what each byte may hold.
//!
//! `IODA_SEED=n` runs one seed, `IODA_SEEDS=n` runs `n`; a failure prints the line that repeats it.
#![allow(clippy::unwrap_used, reason = "tests stop")]

use crate::faulty::{Faults, Host, PAGE};
use ioda_array::policy::{
    About, Attempt, Awaited, DriveChanges, HedgeSettings, Needs, Policy, PolicyKind,
    PolicySettings, SitOutSettings, View, WindowUse, WriteCacheSettings,
};
use ioda_array::{
    Config, Coordination, Layout, Level, Role, SynchronizedConfig, TokenConfig, WindowConfig,
};
use nvme::Untimed;
use units::{DriveId, Duration, Instant, Lba, Rng};

/// A policy that uses all that policies can do, at random.
const WILD: PolicyKind = PolicyKind::new(&About {
    name: "wild",
    label: "Wild",
    summary: "does everything at random",
    source: "this test",
    drive_changes: DriveChanges::Firmware("the PL flag"),
    windows: WindowUse::None,
    untimed: Untimed::Nothing,
    needs: Needs::Redundancy,
    build: &|_| Box::new(Wild(Rng::new(5))),
});

struct Wild(Rng);

impl Policy for Wild {
    fn first_attempt(&mut self, _: Instant, _: DriveId, _: Lba, _: &View<'_>) -> Attempt {
        use nvme::PlFlag::{Off, Predictable};
        let all = [
            Attempt::Avoid,
            Attempt::Send(Off),
            Attempt::Send(Predictable),
            Attempt::SendAndReconstruct,
        ];
        all[self.0.below(4) as usize]
    }

    fn choose_copy(
        &mut self,
        _: Instant,
        _: DriveId,
        copies: u64,
        _: Lba,
        _: &View<'_>,
    ) -> DriveId {
        let copies: Vec<u8> = (0..64).filter(|drive| copies >> drive & 1 == 1).collect();
        DriveId(copies[self.0.below(copies.len() as u64) as usize])
    }

    fn reconstruct_flag(&self) -> nvme::PlFlag {
        nvme::PlFlag::Predictable
    }

    fn spare_reads(&self) -> u32 {
        self.0.clone().below(2) as u32
    }

    fn hedge_after(&mut self, _: Instant, _: &Awaited) -> Option<Duration> {
        Some(Duration::from_nanos(self.0.below(1_000)))
    }

    fn place_update(&mut self, _: Instant, _: DriveId, free: u64, _: &View<'_>) -> Option<DriveId> {
        (self.0.below(3) == 0).then_some(DriveId(free.trailing_zeros() as u8))
    }

    fn relocates_chunks(&self) -> bool {
        true
    }
}

/// Spare blocks of every drive, outside the layout.
const SPARE: u64 = 4;

fn policies(level: Level) -> Vec<PolicyKind> {
    let all = PolicyKind::ALL.iter().copied().chain([WILD]);
    all.filter(|policy| policy.is_possible(level)).collect()
}

fn settings(rng: &mut Rng) -> PolicySettings {
    let nanos = |rng: &mut Rng, most| Duration::from_nanos(1 + rng.below(most));
    PolicySettings {
        hedge: HedgeSettings { delay: nanos(rng, 2_000), ..HedgeSettings::default() },
        spare_reads: 1 + rng.below(2) as u32,
        sit_out: SitOutSettings { interval: nanos(rng, 3_000), ..SitOutSettings::default() },
        objective: nanos(rng, 2_000),
        write_cache: WriteCacheSettings {
            capacity_bytes: Some(PAGE * (4 + rng.below(40))),
            read_latency: Some(nanos(rng, 20)),
            write_latency: Some(nanos(rng, 20)),
            largest_write_bytes: Some(PAGE * (1 + rng.below(3))),
            drain_depth: Some(1 + rng.below(3) as u32),
        },
        ..PolicySettings::default()
    }
}

fn coordination(policy: PolicyKind, rng: &mut Rng) -> Coordination {
    let period = Duration::from_nanos(2_000);
    let windows = WindowConfig {
        busy_time_window: Duration::from_nanos(1_000 + rng.below(20_000)),
        busy_drives: 1,
        reduced_window: Duration::from_nanos(1_000),
        gives_way: rng.below(2) == 0,
        guard: Duration::ZERO,
        start: Instant::ZERO,
        ranges: 1,
        range_blocks: 1_000,
    };
    match policy.about().windows {
        WindowUse::None => Coordination::Free,
        WindowUse::Synchronized => {
            let start = Instant::ZERO;
            Coordination::Synchronized(SynchronizedConfig { period, start, lease: period })
        }
        _ if rng.below(3) == 0 => Coordination::Token(TokenConfig {
            lease: period,
            period,
            busy_drives: 1,
            guard: Duration::ZERO,
            start: Instant::ZERO,
        }),
        _ => Coordination::Windows(windows),
    }
}

fn host(seed: u64, level: Level) -> Host {
    let mut rng = Rng::stream(seed, "array");
    let policies = policies(level);
    let policy = policies[(seed % policies.len() as u64) as usize];
    let more = rng.below(4) as u32;
    let width = level.least_width() + if level == Level::Raid10 { 2 * more } else { more };
    let narrow = level != Level::Raid10 && level != Level::Raid0 && rng.below(2) == 0;
    let stripe_width = match narrow {
        true => level.least_width() + rng.below(u64::from(more) + 1) as u32,
        false => level.usual_stripe_width(width),
    };
    let chunk_pages = 1 + rng.below(3) as u32;
    let layout_pages = u64::from(chunk_pages) * (3 + rng.below(8));
    let config = Config {
        layout: Layout::striped(level, width, stripe_width, chunk_pages, layout_pages).unwrap(),
        page_bytes: PAGE as u32,
        policy,
        policy_settings: settings(&mut rng),
        coordination: coordination(policy, &mut rng),
        reconstruct_compute: Duration::from_nanos(3 * rng.below(2)),
        data_actions: true,
        spare: layout_pages..layout_pages + SPARE,
        absent: 0,
        job_depth: 1 + rng.below(5) as u32,
        read_repair: Rng::stream(seed, "read repair").below(2) == 0,
    };
    Host::new(config, layout_pages + SPARE, rng)
}

/// `count` drives of the array, as bits.
fn some_drives(host: &mut Host, count: u32) -> u64 {
    let width = host.engine.array().layout().width();
    let mut chosen = 0u64;
    while chosen.count_ones() < count.min(width) {
        chosen |= 1 << host.rng.below(u64::from(width));
    }
    chosen
}

fn drives(mask: u64) -> impl Iterator<Item = DriveId> {
    (0..64).filter(move |drive| mask >> drive & 1 == 1).map(DriveId)
}

/// Has requests arrive, and drives fail and be replaced.
fn run(host: &mut Host, steps: u32, drives_that_fail: u64) {
    for _ in 0..steps {
        if host.in_flight() < 12 && host.rng.below(3) == 0 {
            host.request();
        }
        if drives_that_fail != 0 && host.rng.below(40) == 0 {
            let count = u64::from(drives_that_fail.count_ones());
            let drive = drives(drives_that_fail).nth(host.rng.below(count) as usize).unwrap();
            if host.gone >> drive.0 & 1 == 0 {
                host.engine.fail_drive(host.now, drive);
                host.act();
            } else if host.rng.below(2) == 0 {
                host.replace(drive);
            }
        }
        host.step();
    }
}

/// Ends all faults, and rebuilds all drives that have failed.
fn recover(host: &mut Host) {
    host.faults = Faults { drives: 0, unreadable: 0, unwritable: 0, ..host.faults };
    host.drain();
    for drive in drives(host.gone) {
        assert!(host.replace(drive));
    }
    host.drain();
}

/// Changes the policy once operations in progress have ended.
fn switch(host: &mut Host) {
    host.engine.prepare_to_switch(host.now);
    host.act();
    let policies = policies(host.engine.array().layout().level());
    let policy = policies[host.rng.below(policies.len() as u64) as usize];
    let settings = settings(&mut host.rng);
    let coordination = coordination(policy, &mut host.rng);
    for _ in 0..100_000 {
        if host.engine.set_policy(host.now, policy, &settings, coordination).is_ok() {
            host.act();
            return;
        }
        host.step();
    }
    panic!("no time to switch ever came");
}

/// Runs `test` with every seed and level.
fn every(count: u64, test: impl Fn(u64, Level)) {
    for level in Level::ALL {
        for seed in testing::seeds(0..count).note(format!("{level:?}")) {
            test(seed, level);
        }
    }
}

/// Runs `test` with every seed, on the levels that can miss a drive.
fn every_redundant(count: u64, test: impl Fn(u64, Level)) {
    every(count, |seed, level| {
        if level.is_redundant() {
            test(seed, level);
        }
    });
}

#[test]
fn as_many_drives_may_fail_as_there_are_parities() {
    let count = std::cell::Cell::new([0u64; 5]);
    every_redundant(150, |seed, level| {
        let mut host = host(seed, level);
        for _ in 0..3 {
            let parities = host.engine.array().layout().parities();
            let most = 1 + host.rng.below(u64::from(parities)) as u32;
            let faulty = some_drives(&mut host, most);
            host.faults = Faults {
                drives: faulty,
                unreadable: host.rng.below(30),
                unwritable: host.rng.below(2) * host.rng.below(10),
                busy: 30,
            };
            run(&mut host, 300, faulty);
            recover(&mut host);
            assert!(host.engine.array().is_optimal(), "seed {seed} {level:?}");
            host.check_all();
            if host.rng.below(2) == 0 {
                switch(&mut host);
            }
        }
        assert_eq!((host.failed, host.not_restored), (0, 0));
        let counters = host.engine.array().counters();
        let [a, b, c, d, e] = count.get();
        count.set([
            a + counters.reconstructions,
            b + counters.unrecovered_reads,
            c + counters.repaired_stripes,
            d + counters.unrecovered_writes,
            e + host.done,
        ]);
    });
    let [rebuilds, lost, restored, unwritable, done] = count.get();
    if !testing::is_repeat() {
        assert!(rebuilds > 10_000 && lost > 5_000 && restored > 2_000, "{:?}", count.get());
        assert!(unwritable > 100 && done > 50_000, "{:?}", count.get());
    }
}

#[test]
fn what_cannot_be_had_fails_and_is_never_wrong() {
    let count = std::cell::Cell::new([0u64; 3]);
    every(150, |seed, level| {
        let mut host = host(seed, level);
        host.may_fail = true;
        let width = host.engine.array().layout().width();
        let most = 1 + host.rng.below(u64::from(width)) as u32;
        let faulty = some_drives(&mut host, most);
        host.faults = Faults {
            drives: faulty,
            unreadable: host.rng.below(20),
            unwritable: host.rng.below(2) * host.rng.below(5),
            busy: 30,
        };
        run(&mut host, 800, faulty);
        host.faults.drives = 0;
        host.drain();
        let [a, b, c] = count.get();
        count.set([a + host.failed, b + host.done, c + host.not_restored]);
    });
    let [failed, done, not_restored] = count.get();
    if !testing::is_repeat() {
        assert!(failed > 10_000 && done > 50_000 && not_restored > 1_000, "{:?}", count.get());
    }
}

/// Makes parities wrong, as a crash may leave them. Returns their stripes.
fn spoil_parities(host: &mut Host) -> Vec<u64> {
    let layout = *host.engine.array().layout();
    let mut spoiled = Vec::new();
    for stripe in 0..layout.stripes() {
        if host.rng.below(3) > 0 {
            continue;
        }
        spoiled.push(stripe);
        for member in drives(layout.parity_mask(stripe)) {
            let (drive, lba) = host.engine.array().locate(stripe, 0, member);
            let garbage = host.rng.next_u64().to_le_bytes();
            host.drives[drive.index()][lba.0 as usize] = garbage;
        }
    }
    spoiled
}

#[test]
fn parity_that_a_crash_has_left_wrong_is_never_used_and_made_right() {
    let count = std::cell::Cell::new([0u64; 2]);
    every_redundant(100, |seed, level| {
        let mut host = host(seed, level);
        let spoiled = spoil_parities(&mut host);
        let ranges: Vec<_> = spoiled.iter().map(|&stripe| stripe..stripe + 1).collect();
        host.engine.resync(host.now, ranges);
        host.act();
        // The amount of work is known, unless it is done at once.
        let total = host.engine.array().job().map_or(0, |restoring| restoring.total);
        assert!(total == 0 || total == spoiled.len() as u64);
        // A read that cannot be served must not return data computed from wrong parity.
        host.may_fail = true;
        // On a mirror another copy replaces one that cannot be read. It is older or newer, but
        // never garbage as in this test.
        let unreadable = if level.is_mirrored() { 0 } else { 3 };
        host.faults = Faults { drives: u64::MAX, unreadable, unwritable: 0, busy: 30 };
        run(&mut host, 200, 0);
        host.faults.drives = 0;
        host.drain();
        let lost = host.not_restored;
        if lost == 0 {
            assert_eq!(host.restored, [None]);
            assert!(host.engine.array().is_optimal());
            host.check_all();
            host.engine.scrub(host.now, false);
            host.act();
            host.drain();
            assert_eq!(
                (host.engine.plane().wrong_parities(), host.scrubbed, host.skipped),
                (0, 1, 0)
            );
        }
        let [restored, ends] = count.get();
        count.set([restored + spoiled.len() as u64, ends + u64::from(lost == 0)]);
    });
    let [restored, ends] = count.get();
    if !testing::is_repeat() {
        assert!(restored > 1_000 && ends > 100, "{:?}", count.get());
    }
}

#[test]
fn a_drive_lost_during_a_resync_is_not_made_up_from_wrong_parity() {
    let count = std::cell::Cell::new([0u64; 2]);
    every(100, |seed, level| {
        // Any copy of a mirror is what a write in flight may have left.
        if !level.is_redundant() || level.is_mirrored() {
            return;
        }
        let mut host = host(seed, level);
        let spoiled = spoil_parities(&mut host);
        host.engine.resync(host.now, spoiled.iter().map(|&stripe| stripe..stripe + 1));
        host.act();
        host.may_fail = true;
        run(&mut host, 30, 0);
        let faulty = some_drives(&mut host, 1);
        run(&mut host, 300, faulty);
        host.drain();
        let [failed, lost] = count.get();
        count.set([failed + host.failed, lost + host.not_restored]);
    });
    let [failed, lost] = count.get();
    if !testing::is_repeat() {
        assert!(failed > 100 && lost > 10, "{:?}", count.get());
    }
}

#[test]
fn a_scrub_finds_each_wrong_parity_and_changes_nothing() {
    every_redundant(40, |seed, level| {
        let mut host = host(seed, level);
        run(&mut host, 100, 0);
        host.drain();
        let layout = *host.engine.array().layout();
        let spoiled = spoil_parities(&mut host).len() as u64;
        if host.engine.array().cached_pages() > 0 {
            // It would be drained meanwhile, over the spoiled parity.
            return;
        }
        let before = host.drives.clone();
        host.engine.scrub(host.now, false);
        host.act();
        let total = host.engine.array().job().map(|restoring| restoring.total);
        assert_eq!(total, Some(layout.stripes()));
        host.drain();
        assert_eq!(host.engine.plane().wrong_parities(), spoiled * u64::from(layout.parities()));
        assert!(host.drives == before, "a scrub has written");
    });
}

#[test]
fn an_array_may_begin_with_drives_missing() {
    every_redundant(60, |seed, level| {
        let mut host = host(seed, level);
        run(&mut host, 100, 0);
        let faulty = some_drives(&mut host, 1);
        for drive in drives(faulty) {
            host.engine.fail_drive(host.now, drive);
            host.act();
        }
        host.drain();
        if host.engine.array().cached_pages() > 0 || host.engine.array().map_bytes() > 0 {
            // Cached pages and places of relocated chunks are lost with the memory.
            return;
        }
        let (layout, absent) = (*host.engine.array().layout(), host.engine.array().absent());
        host.start_again(Config {
            layout,
            page_bytes: PAGE as u32,
            policy: policies(level)[0],
            policy_settings: PolicySettings::default(),
            coordination: Coordination::Free,
            reconstruct_compute: Duration::ZERO,
            data_actions: true,
            spare: 0..0,
            absent,
            job_depth: 2,
            read_repair: false,
        });
        assert_eq!(host.engine.array().absent(), faulty);
        run(&mut host, 100, faulty);
        recover(&mut host);
        host.check_all();
        assert_eq!(host.failed, 0);
    });
}

/// Damages pages, in each row no more than its stripe can miss. Returns their number.
fn damage(host: &mut Host, pages: u64) -> u64 {
    let layout = *host.engine.array().layout();
    let before = host.damaged.len();
    for _ in 0..pages {
        let stripe = host.rng.below(layout.stripes());
        let row = host.rng.below(u64::from(layout.chunk_pages())) as u32;
        let members = drives(layout.members(stripe));
        let places: Vec<(u8, u64)> = members
            .map(|member| {
                let (drive, lba) = host.engine.array().locate(stripe, row, member);
                (drive.0, lba.0)
            })
            .collect();
        let bad = places.iter().filter(|place| host.damaged.contains(place)).count();
        if bad < layout.parities() as usize {
            let at = host.rng.below(places.len() as u64) as usize;
            host.damaged.insert(places[at]);
        }
    }
    (host.damaged.len() - before) as u64
}

/// A host that has written, under a policy that neither caches writes nor relocates chunks: damaged
/// pages stay damaged until they are repaired.
fn repairing_host(seed: u64, level: Level) -> Host {
    let mut host = unwritten_host(seed, level);
    run(&mut host, 200, 0);
    host.drain();
    host
}

fn unwritten_host(seed: u64, level: Level) -> Host {
    let mut rng = Rng::stream(seed, "array");
    let more = rng.below(4) as u32;
    let width = level.least_width() + if level == Level::Raid10 { 2 * more } else { more };
    let chunk_pages = 1 + rng.below(4) as u32;
    let layout_pages = u64::from(chunk_pages) * (3 + rng.below(8));
    let stripe_width = level.usual_stripe_width(width);
    let layout = Layout::striped(level, width, stripe_width, chunk_pages, layout_pages).unwrap();
    host_of(layout, layout_pages, rng)
}

fn host_of(layout: Layout, layout_pages: u64, mut rng: Rng) -> Host {
    let policies = [PolicyKind::BASE, PolicyKind::IODA];
    let policy = policies[rng.below(2) as usize];
    let policy = if policy.is_possible(layout.level()) { policy } else { PolicyKind::BASE };
    let config = Config {
        layout,
        page_bytes: PAGE as u32,
        policy,
        policy_settings: settings(&mut rng),
        coordination: coordination(policy, &mut rng),
        reconstruct_compute: Duration::from_nanos(3),
        data_actions: true,
        spare: 0..0,
        absent: 0,
        job_depth: 1 + rng.below(5) as u32,
        read_repair: true,
    };
    Host::new(config, layout_pages, rng)
}

#[test]
fn damaged_pages_are_repaired_by_reads_and_scrubs() {
    let by_reads = std::cell::Cell::new(0);
    every_redundant(60, |seed, level| {
        let mut host = repairing_host(seed, level);
        let mut damaged = damage(&mut host, 60);
        for _ in 0..300 {
            if host.in_flight() < 12 {
                host.request();
            }
            host.step();
            if host.rng.below(20) == 0 && host.is_idle() {
                damaged += damage(&mut host, 2);
            }
        }
        host.drain();
        by_reads.set(by_reads.get() + host.repaired);
        host.engine.scrub(host.now, false);
        host.act();
        host.drain();
        assert_eq!((host.scrubbed, host.skipped, host.mismatched), (1, 0, 0), "seed {seed}");
        assert_eq!((host.failed, host.lost), (0, 0), "seed {seed} {level:?}");
        assert!(host.damaged.is_empty(), "seed {seed} {level:?}: {:?}", host.damaged);
        assert!(host.repaired <= damaged, "seed {seed}: once each, or by a write");
        assert_eq!(host.engine.array().read_repairs().rewritten, host.repaired);
        host.check_all();
    });
    assert!(by_reads.get() > 1_000 || testing::is_repeat(), "{by_reads:?}");
}

#[test]
fn a_scrub_does_not_outrun_its_repairs() {
    let pages = 8_000;
    let layout = Layout::striped(Level::Raid5, 3, 3, 4, pages).unwrap();
    let mut host = host_of(layout, pages, Rng::stream(testing::seed(1).get(), "array"));
    host.damaged.extend((0..pages).map(|lba| (0, lba)));
    host.engine.scrub(host.now, false);
    host.act();
    host.drain();
    assert_eq!(host.scrubbed, 1);
    assert_eq!(host.engine.array().read_repairs().passed_over, 0);
    assert!(host.damaged.is_empty(), "{} pages are left", host.damaged.len());
}

#[test]
fn damaged_pages_beyond_the_parities_are_lost_alone() {
    every_redundant(30, |seed, level| {
        let mut host = repairing_host(seed, level);
        host.may_fail = true;
        // One row that is beyond repair, and one page of another row of the same chunk.
        let layout = *host.engine.array().layout();
        let (stripe, rows) = (host.rng.below(layout.stripes()), layout.chunk_pages());
        let members: Vec<DriveId> = drives(layout.members(stripe)).collect();
        let lost = layout.parities() as usize + 1;
        for member in &members[..lost] {
            host.damaged.insert((member.0, layout.lba(stripe, 0, *member).0));
        }
        let other = (rows > 1).then(|| (members[0].0, layout.lba(stripe, 1, members[0]).0));
        host.damaged.extend(other);
        host.engine.scrub(host.now, false);
        host.act();
        host.drain();
        assert_eq!(host.skipped, 1, "seed {seed} {level:?}");
        assert_eq!(host.lost as usize, lost, "seed {seed} {level:?}");
        assert_eq!(host.damaged.len(), lost, "seed {seed} {level:?}: the other row is repaired");
        assert!(other.is_none_or(|place| !host.damaged.contains(&place)), "seed {seed} {level:?}");
    });
}

#[test]
fn parity_that_does_not_fit_is_reported_and_written_again_if_ordered() {
    every_redundant(30, |seed, level| {
        let mut host = repairing_host(seed, level);
        let layout = *host.engine.array().layout();
        let stripe = host.rng.below(layout.stripes());
        let mut members = drives(layout.members(stripe));
        let parity =
            members.find(|drive| !matches!(layout.role(stripe, *drive), Role::Data(_))).unwrap();
        let at = layout.lba(stripe, 0, parity).0 as usize;
        host.drives[parity.index()][at][3] ^= 0x40;
        for (rewrites, mismatched) in [(false, 1), (true, 2), (false, 2)] {
            host.engine.scrub(host.now, rewrites);
            host.act();
            host.drain();
            assert_eq!((host.mismatched, host.skipped), (mismatched, 0), "seed {seed} {level:?}");
        }
        host.check_all();
    });
}
