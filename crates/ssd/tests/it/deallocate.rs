//! Deallocation, against a plain set of pages; and the drive's report on its collections.

#![allow(clippy::unwrap_used, reason = "tests stop")]

use crate::common::any_drive;
use ioda_ssd::{Config, Ssd, presets};
use nvme::{Command, CommandId, Opcode, PlFlag};
use proptest::prelude::*;
use std::collections::BTreeSet;
use units::{Duration, Instant, Lba, Ratio, Rng};

/// Sends a command and lets time pass until it completes; a collection may still run then.
fn do_now(drive: &mut Ssd, now: &mut Instant, opcode: Opcode, lba: u64) {
    let (id, blocks, pl) = (CommandId(1), 1, PlFlag::Off);
    drive.handle_command(*now, &Command { id, opcode, lba: Lba(lba), blocks, pl });
    while drive.poll_completion().is_none() {
        let due = drive.next_deadline();
        assert_ne!(due, Instant::NEVER, "the drive stopped with a command in flight");
        *now = due;
        drive.handle_deadline(due);
    }
}

proptest! {
    #![proptest_config(testing::cases(60))]

    #[test]
    fn what_is_deallocated_is_nowhere_and_nothing_else(config in any_drive(), seed in any::<u64>()) {
        let Ok(mut drive) = Ssd::new(config) else {
            return Err(TestCaseError::reject("impossible"));
        };
        let keeps = drive.config().write_buffer.is_some();
        let mut rng = Rng::new(seed);
        let mut now = Instant::ZERO;
        let mut written = BTreeSet::new();
        let span = drive.logical_blocks();
        let mut forgotten = 0;
        for _ in 0..3 * span.min(3_000) {
            let lba = rng.below(span);
            if rng.below(3) == 0 {
                do_now(&mut drive, &mut now, Opcode::Deallocate, lba);
                forgotten += u64::from(written.remove(&lba));
            } else {
                do_now(&mut drive, &mut now, Opcode::Write, lba);
                written.insert(lba);
            }
        }
        if keeps {
            prop_assert_eq!(drive.counters().deallocated_pages, 0, "a hint that is not taken");
            return Ok(());
        }
        prop_assert_eq!(drive.counters().deallocated_pages, forgotten);
        for lba in 0..span {
            prop_assert_eq!(drive.flash_page(Lba(lba)).is_some(), written.contains(&lba));
        }
        drive.check_invariants();
    }
}

fn small() -> Config {
    let mut config = presets::preset("ssdsim-channel").unwrap();
    config.geometry.blocks_per_plane = 8;
    config.geometry.pages_per_block = 16;
    config.over_provisioning = Ratio::from_percent(60);
    config.collection.soft = Ratio::from_percent(20);
    config.collection.restore = Ratio::from_percent(20);
    config
}

#[test]
fn a_drive_announces_when_its_next_collection_begins() {
    let mut drive = Ssd::new(small()).unwrap();
    let mut now = Instant::ZERO;
    let mut rng = Rng::new(1);
    let mut begun = 0;
    let mut before = drive.collection_report();
    assert!(before.pages_before_next > 100, "a new drive has room");
    for _ in 0..20_000 {
        do_now(&mut drive, &mut now, Opcode::Write, rng.below(200));
        let collected = drive.collection_report().collected_blocks;
        let began = drive.collection_report().collecting || collected > before.collected_blocks;
        if !before.collecting && began {
            // The dies of a drive open blocks in turn; the first of them counts.
            assert!(before.pages_before_next < 4, "{before:?}");
            begun += 1;
        }
        if before.pages_before_next >= 4 && !before.collecting {
            assert!(!began, "{before:?}");
        }
        // Until nothing runs.
        while drive.collection_report().collecting {
            now = drive.next_deadline();
            drive.handle_deadline(now);
        }
        let after = drive.collection_report();
        assert!(after.moved_pages >= before.moved_pages);
        before = after;
    }
    assert!(begun > 100, "{begun} collections");
    assert!(before.collected_blocks > 100);
    let counters = drive.counters();
    let mean = Duration::from_nanos(counters.collecting_nanos / counters.collections);
    assert!(mean >= drive.config().timing.erase, "{mean}");
}

#[test]
fn deallocation_saves_copies() {
    let mut copies = Vec::new();
    for share in [0, 2] {
        let mut drive = Ssd::new(small()).unwrap();
        let mut now = Instant::ZERO;
        let mut rng = Rng::new(2);
        let span = drive.logical_blocks();
        for _ in 0..8 * span {
            let lba = rng.below(span);
            do_now(&mut drive, &mut now, Opcode::Write, lba);
            if rng.below(4) < share {
                do_now(&mut drive, &mut now, Opcode::Deallocate, rng.below(span));
            }
        }
        copies.push(drive.counters().collection_programs_pages);
    }
    assert!(copies[1] * 2 < copies[0], "{copies:?}");
}
