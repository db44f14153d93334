//! Drives whose rebuild waits until that of another has ended.

use crate::faulty::{Host, PAGE};
use ioda_array::policy::{PolicyKind, PolicySettings};
use ioda_array::{Config, Coordination, DriveState, JobKind, Layout, Level};
use units::{DriveId, Duration, Rng};

fn host(seed: u64) -> Host {
    let pages = 60;
    let layout = Layout::striped(Level::Raid6, 5, 5, 2, pages);
    let config = Config {
        layout: layout.unwrap_or_else(|error| panic!("{error}")),
        page_bytes: PAGE as u32,
        policy: PolicyKind::BASE,
        policy_settings: PolicySettings::default(),
        coordination: Coordination::Free,
        reconstruct_compute: Duration::ZERO,
        data_actions: true,
        spare: 0..0,
        absent: 0,
        job_depth: 1,
        read_repair: true,
    };
    Host::new(config, pages, Rng::new(seed))
}

#[test]
fn a_drive_whose_rebuild_waits_for_its_turn_does_not_serve() {
    let both = [DriveId(1), DriveId(3)];
    for seed in testing::seeds(0..10) {
        let mut host = host(seed);
        for drive in both {
            host.engine.fail_drive(host.now, drive);
            host.act();
        }
        host.drain();
        for drive in both {
            assert!(host.replace(drive), "seed {seed}");
        }
        let mut waited = 0;
        while host.engine.array().job().is_some_and(|job| job.what == JobKind::Rebuild(both[0])) {
            for drive in both {
                let state = host.engine.array().drive_state(drive);
                let rebuilding = matches!(state, DriveState::Rebuilding { .. });
                assert!(rebuilding, "seed {seed}: drive {} is {state:?}", drive.0);
            }
            assert!(!host.engine.array().is_optimal(), "seed {seed}");
            waited += 1;
            host.step();
        }
        assert!(waited > 10, "seed {seed}");
        host.drain();
        for drive in both {
            assert_eq!(host.engine.array().drive_state(drive), DriveState::Serving, "seed {seed}");
        }
        host.check_all();
    }
}
