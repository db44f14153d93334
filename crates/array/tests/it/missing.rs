//! Permits of the other drives while some have failed or are being rebuilt, and the reads of a
//! rebuild.

use crate::script::{Script, config, fail, told, windows};
use ioda_array::policy::PolicyKind;
use ioda_array::{
    Array, Config, Contract, Coordination, Layout, Level, RequestKind, TokenConfig, WindowConfig,
};
use nvme::{CollectionRight, DriveStatus};
use units::{DriveId, Duration, Instant};

fn named(name: &str) -> PolicyKind {
    PolicyKind::from_name(name).unwrap_or_else(|| panic!("no policy {name}"))
}

/// Three stripes of one row.
fn script(level: Level, width: u32, policy: &str, coordination: Coordination) -> Script {
    let layout = Layout::new(level, width, 1, 3).unwrap_or_else(|error| panic!("{error}"));
    let config = config(layout, named(policy));
    Script::of(Array::new(Config { coordination, job_depth: 1, ..config }))
}

/// Two windows at a time, and shorter ones while only one may be open.
fn two_at_a_time() -> Coordination {
    let reduced_window = Duration::from_millis(70);
    Coordination::Windows(WindowConfig { busy_drives: 2, reduced_window, ..windows() })
}

/// Drives that were given windows, each with the number of drives that may be busy at once, and
/// drives that may always collect.
fn permits(s: &mut Script) -> (Vec<(u8, u32)>, Vec<u8>) {
    let (mut turns, mut always) = (Vec::new(), Vec::new());
    for (drive, right) in std::mem::take(&mut s.permits) {
        match right {
            CollectionRight::Windows(schedule) => {
                turns.push((drive.0, schedule.array.busy_drives()));
            }
            CollectionRight::Always => always.push(drive.0),
            other => panic!("{other:?}"),
        }
    }
    (turns, always)
}

fn replace(s: &mut Script, drive: u8) {
    s.array.replace_drive(s.now, DriveId(drive)).unwrap_or_else(|error| panic!("{error}"));
    s.collect();
}

/// Answers all commands until none is in flight and no job is left.
fn finish(s: &mut Script) {
    loop {
        if let Some(&(drive, ..)) = s.out.first() {
            s.ok(drive.0);
        } else if s.array.job().is_some() {
            s.compute();
        } else {
            return;
        }
    }
}

#[test]
fn the_others_are_told_when_a_drive_fails_and_when_it_is_rebuilt() {
    for policy in ["ioda", "iod3", "quiet"] {
        let mut s = script(Level::Raid6, 6, policy, two_at_a_time());
        s.collect();
        let all = |at_once| (0..6).map(|drive| (drive, at_once)).collect::<Vec<_>>();
        assert_eq!(permits(&mut s), (all(2), vec![]));
        assert_eq!(s.array.contract(), Contract::Whole { busy_drives: 2 });
        fail(&mut s, 2);
        let mut others = all(1);
        others.remove(2);
        assert_eq!(permits(&mut s), (others, vec![]), "{policy}");
        assert_eq!(s.array.contract(), Contract::Reduced { busy_drives: 1 });
        replace(&mut s, 2);
        assert_eq!(permits(&mut s), (vec![], vec![2]), "nobody counts on the new one");
        assert_eq!(s.array.contract(), Contract::Reduced { busy_drives: 1 });
        finish(&mut s);
        assert_eq!(permits(&mut s), (all(2), vec![]), "{policy}");
        assert_eq!(s.array.contract(), Contract::Whole { busy_drives: 2 });
    }
}

#[test]
fn where_nothing_is_left_drives_take_turns_one_by_one_and_nothing_is_promised() {
    let suspended = Contract::Suspended { busy_drives: 1 };
    let mut s = script(Level::Raid5, 4, "quiet", Coordination::Windows(windows()));
    s.collect();
    permits(&mut s);
    fail(&mut s, 1);
    assert_eq!(permits(&mut s), (vec![], vec![]), "they go on as they did");
    assert_eq!(s.array.contract(), suspended);
    replace(&mut s, 1);
    assert_eq!(permits(&mut s), (vec![], vec![1]));
    finish(&mut s);
    assert_eq!(permits(&mut s).0.len(), 4, "the new one takes turns, and the others make way");
    assert_eq!(s.array.contract(), Contract::Whole { busy_drives: 1 });
    // Two missing drives, on a level with two parities.
    let mut s = script(Level::Raid6, 6, "quiet", two_at_a_time());
    fail(&mut s, 1);
    fail(&mut s, 4);
    assert_eq!(s.array.contract(), suspended);
    // No windows, no contract.
    let mut s = script(Level::Raid6, 6, "base", two_at_a_time());
    fail(&mut s, 1);
    assert_eq!(s.array.contract(), Contract::None);
}

/// With one parity, none is left beside a drive that is not read. Where reads interrupt the other
/// drives, these go without turns then: a collection that has to end with its window does not give
/// way.
#[test]
fn whom_the_array_distrusts_counts_as_gone_where_the_others_give_way() {
    for gives_way in [false, true] {
        let layout = Layout::new(Level::Raid5, 4, 1, 100).unwrap_or_else(|error| panic!("{error}"));
        let mut config = config(layout, named("quiet"));
        config.coordination = Coordination::Windows(WindowConfig { gives_way, ..windows() });
        let profile = &mut config.policy_settings.profile;
        profile.buffers_a_cycle = true;
        (profile.read, profile.longest_read) =
            (Duration::from_micros(50), Duration::from_micros(100));
        let mut s = Script::of(Array::new(config));
        s.collect();
        permits(&mut s);
        for page in 0..60 {
            if s.array.distrusted_since(DriveId(0)).is_some() {
                break;
            }
            s.request(RequestKind::Read, page, 1);
            while let Some(&(drive, ..)) = s.out.first() {
                s.ok_after(drive.0, if drive == DriveId(0) { 10_000 } else { 0 });
            }
        }
        assert!(s.array.distrusted_since(DriveId(0)).is_some(), "{}", s.log);
        let told = permits(&mut s);
        match gives_way {
            true => {
                assert_eq!(told, (vec![], vec![1, 2, 3]));
                assert_eq!(s.array.contract(), Contract::Suspended { busy_drives: 3 });
            }
            false => {
                assert_eq!(told, (vec![], vec![]), "who is slow can be waited for");
                assert_eq!(s.array.contract(), Contract::Whole { busy_drives: 1 });
            }
        }
    }
}

#[test]
fn an_array_that_begins_without_a_drive_begins_with_fewer_turns_at_once() {
    let layout = Layout::new(Level::Raid6, 6, 1, 3).unwrap_or_else(|error| panic!("{error}"));
    let config = config(layout, named("quiet"));
    let config = Config { coordination: two_at_a_time(), absent: 0b100, ..config };
    let mut s = Script::of(Array::new(config));
    s.collect();
    assert_eq!(permits(&mut s).0, [(0, 1), (1, 1), (3, 1), (4, 1), (5, 1)]);
    assert_eq!(s.array.contract(), Contract::Reduced { busy_drives: 1 });
}

#[test]
fn tokens_are_fewer_while_a_drive_is_missing() {
    let period = Duration::from_millis(1);
    let token = TokenConfig {
        lease: Duration::from_millis(10),
        period,
        busy_drives: 2,
        guard: Duration::ZERO,
        start: Instant::ZERO,
    };
    let mut s = script(Level::Raid6, 6, "ioda", Coordination::Token(token));
    let granted = |s: &mut Script| {
        s.now = s.array.next_deadline();
        s.array.handle_deadline(s.now);
        s.collect();
        for drive in std::mem::take(&mut s.asked) {
            let status = DriveStatus {
                headroom_pages: u64::from(drive.0),
                due: true,
                must_collect: false,
                collecting: false,
            };
            s.array.handle_status(s.now, drive, &status);
            s.collect();
        }
        let now = s.now;
        std::mem::take(&mut s.permits)
            .into_iter()
            .filter(|(_, right)| matches!(right, CollectionRight::Lease { until } if *until > now))
            .map(|(drive, _)| drive.0)
            .collect::<Vec<_>>()
    };
    s.collect();
    s.permits.clear();
    assert_eq!(granted(&mut s), [0, 1]);
    fail(&mut s, 0);
    assert_eq!(s.array.contract(), Contract::Reduced { busy_drives: 1 });
    assert_eq!(granted(&mut s), [1], "one is extended, and none is granted to another");
}

#[test]
fn a_rebuild_does_not_read_from_the_drive_in_its_window_if_others_suffice() {
    let at = |s: &mut Script, millis| s.now = Instant::ZERO + Duration::from_millis(millis);
    let mut s = script(Level::Raid6, 5, "ioda", Coordination::Windows(windows()));
    fail(&mut s, 3);
    told(&mut s);
    // The window of drive 0 is open, later that of drive 1.
    replace(&mut s, 3);
    assert_eq!(told(&mut s), "r1 r2 r4");
    at(&mut s, 150);
    for drive in [1, 2, 4] {
        s.ok(drive);
    }
    s.compute();
    assert_eq!(told(&mut s), "W3");
    s.ok(3);
    assert_eq!(told(&mut s), "r0 r2 r4");
    // Without a drive to spare it is read.
    let mut s = script(Level::Raid5, 4, "ioda", Coordination::Windows(windows()));
    fail(&mut s, 3);
    told(&mut s);
    replace(&mut s, 3);
    assert_eq!(told(&mut s), "r0 r1 r2");
    // While another drive has failed, there is none to spare either.
    let mut s = script(Level::Raid6, 5, "ioda", Coordination::Windows(windows()));
    fail(&mut s, 3);
    fail(&mut s, 4);
    told(&mut s);
    replace(&mut s, 3);
    assert_eq!(told(&mut s), "r0 r1 r2");
}
