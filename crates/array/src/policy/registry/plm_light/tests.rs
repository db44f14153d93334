//! The policy against itself: with its coordinator beside it, behind messages that take time, and
//! as another host.

use super::*;
use nvme::wire::plm_light::{CountsData, TrafficLog};
use units::Rng;

fn policy(settings: PlmLightSettings) -> PlmLight {
    let settings = crate::policy::PolicySettings {
        plm_light: settings,
        ..crate::policy::PolicySettings::default()
    };
    let (drives, parities, reconstruct_compute) = (2, 0, Duration::ZERO);
    PlmLight::new(&PolicySetup { drives, parities, reconstruct_compute, settings: &settings })
}

/// Plays random requests of three hosts for some hundred windows, some of them large writes.
/// Returns for each request the end of its window, and whether it was admitted. `talk` is called
/// after each step.
fn play(policy: &mut PlmLight, seed: u64, mut talk: impl FnMut(&mut PlmLight)) -> Vec<(u64, bool)> {
    let mut rng = Rng::new(seed);
    let (mut now, mut told) = (Instant::ZERO, Vec::new());
    for _ in 0..20_000 {
        now += Duration::from_nanos(rng.below(40_000));
        while policy.next_deadline() <= now {
            policy.handle_deadline(policy.next_deadline());
            talk(policy);
        }
        let (host, is_read) = (rng.below(3) as u8, rng.below(3) > 0);
        let kind = if is_read { RequestKind::Read } else { RequestKind::Write };
        // Bursts of one host, so that estimates differ from window to window.
        let host = if rng.below(4) == 0 { (now.as_nanos() >> 22) as u8 % 3 } else { host };
        let size_bytes = 4096 + rng.below(100) * 1024;
        let admitted = policy.admits(now, &Asked { host, kind, size_bytes });
        talk(policy);
        told.push((policy.next_deadline().as_nanos(), admitted));
    }
    told
}

#[test]
fn messages_that_fit_between_two_windows_cost_nothing() {
    let (mut same, mut held_back) = (0, 0);
    for seed in testing::seeds(0..10) {
        let with = |message| {
            let settings = PlmLightSettings { message, ..PlmLightSettings::default() };
            play(&mut policy(settings), seed, |_| {})
        };
        let at_once = with(Duration::ZERO);
        held_back += at_once.iter().filter(|(_, admitted)| !admitted).count();
        // The shortest time between two windows is 100 µs.
        assert_eq!(with(Duration::from_micros(50)), at_once);
        same += u32::from(with(Duration::from_micros(51)) == at_once);
    }
    assert!(testing::is_repeat() || (same == 0 && held_back > 1000), "{same}, {held_back}");
}

#[test]
fn a_remote_coordinator_counts_out_as_one_of_its_own() {
    let mut set = 0;
    for seed in testing::seeds(0..10) {
        let own = play(&mut policy(PlmLightSettings::default()), seed, |_| {});
        let coordinator = CoordinatorPlace::Remote;
        let settings = PlmLightSettings { coordinator, ..PlmLightSettings::default() };
        let mut plmlc = Plmlc::new(settings.allocation);
        let mut remote = policy(settings);
        // Each message is encoded and decoded.
        let told = play(&mut remote, seed, |policy| {
            while let Some(traffic) = policy.poll_traffic() {
                let log = TrafficLog {
                    generation: 1,
                    length: policy.coordinated_window(),
                    answered: None,
                    windows: Vec::from([traffic]),
                };
                let read = TrafficLog::decode(&log.encode()).unwrap();
                assert_eq!(read, log);
                let counts = plmlc.handle_traffic(&read.windows[0]);
                let data = CountsData { generation: read.generation, counts };
                let data = CountsData::decode(&data.encode()).unwrap();
                assert!(policy.set_counts(&data.counts));
                set += 1;
            }
        });
        assert!(told == own, "seed {seed}");
        assert_eq!(remote.coordinator(), Some(CoordinatorState::Heard));
    }
    assert!(set > 100, "{set}");
}

#[test]
fn without_a_coordinator_there_is_no_limit() {
    let coordinator = CoordinatorPlace::Remote;
    let settings = PlmLightSettings { coordinator, ..PlmLightSettings::default() };
    let mut policy = policy(settings);
    let mut now = Instant::ZERO;
    let mut pass = |policy: &mut PlmLight, windows: u64| {
        let mut ended = 0;
        while ended < windows {
            now = policy.next_deadline();
            policy.handle_deadline(now);
            while policy.poll_traffic().is_some() {
                ended += 1;
            }
        }
        // Passes into the next deterministic window.
        while policy.releases(now) {
            now = policy.next_deadline();
            policy.handle_deadline(now);
        }
        now
    };
    let admitted = |policy: &mut PlmLight, now| {
        let asked = Asked { host: 0, kind: RequestKind::Read, size_bytes: 4096 };
        (0..100).filter(|_| policy.admits(now, &asked)).count()
    };
    let now = pass(&mut policy, 3);
    assert_eq!(admitted(&mut policy, now), 100);
    assert_eq!(policy.coordinator(), Some(CoordinatorState::Awaited));

    let counts = WindowCounts { window: 3, reads: [7, 0, 0], writes: 5 };
    assert!(!policy.set_counts(&WindowCounts { window: 4, ..counts }), "it has not ended");
    assert!(policy.set_counts(&counts));
    assert_eq!(admitted(&mut policy, now), 100, "they are for windows that begin later");
    let now = pass(&mut policy, 1);
    assert_eq!(admitted(&mut policy, now), 7);
    // The coordinator is gone: counts hold for a while, and then there is no limit.
    let now = pass(&mut policy, 998);
    assert_eq!(
        (admitted(&mut policy, now), policy.coordinator()),
        (7, Some(CoordinatorState::Heard))
    );
    let now = pass(&mut policy, 1);
    assert_eq!(policy.coordinator(), Some(CoordinatorState::Silent));
    assert_eq!(admitted(&mut policy, now), 100);
    // It is back.
    assert!(policy.set_counts(&WindowCounts { window: 1003, ..counts }));
    let now = pass(&mut policy, 1);
    assert_eq!(
        (admitted(&mut policy, now), policy.coordinator()),
        (7, Some(CoordinatorState::Heard))
    );
    let counted: Vec<u64> = policy.tallies().iter().map(|tally| tally.count).collect();
    assert_eq!(counted, [1004, 2, 1, 3 * 93]);
}

#[test]
fn traffic_that_no_driver_takes_is_not_kept_without_end() {
    let coordinator = CoordinatorPlace::Remote;
    let mut policy = policy(PlmLightSettings { coordinator, ..PlmLightSettings::default() });
    for _ in 0..1_000 {
        policy.handle_deadline(policy.next_deadline());
    }
    let mut taken = Vec::new();
    while let Some(traffic) = policy.poll_traffic() {
        taken.push(traffic.window);
    }
    assert_eq!(taken.len(), 64);
    assert_eq!(taken.last(), Some(&500));
}
