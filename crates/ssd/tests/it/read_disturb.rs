//! Read disturb: sensings of a block since its erase make reads there fail.

#![allow(clippy::unwrap_used, reason = "tests stop and speak")]

use ioda_ssd::{Config, RetryConfig, Ssd, presets};
use nvme::{Command, CommandId, Opcode, PlFlag};
use units::{Duration, Instant, Lba, Ratio, Rng};

/// Settings with which every sensing of a block fails after `rated_reads` sensings, up to the most
/// repetitions.
fn disturbed(rated_reads: u32) -> RetryConfig {
    RetryConfig {
        share: Ratio::ZERO,
        wear_share: Ratio::ZERO,
        rated_erases: 1,
        worn_erases: 0,
        age_share: Ratio::ZERO,
        age_months: 0,
        disturb_share: Ratio::ONE,
        rated_reads,
        most: 7,
    }
}

/// One die with 32 blocks of 16 pages.
fn config(retry: Option<RetryConfig>) -> Config {
    let mut config = presets::preset("femu").unwrap();
    config.geometry.channels = 1;
    config.geometry.chips_per_channel = 1;
    config.geometry.blocks_per_plane = 32;
    config.geometry.pages_per_block = 16;
    config.over_provisioning = Ratio::from_percent(45);
    config.collection.hard = Ratio::from_percent(6);
    config.collection.soft = Ratio::from_percent(13);
    config.collection.restore = Ratio::from_percent(13);
    config.retry = retry;
    config
}

/// Sends a command of one page and waits for it. Returns its latency.
fn run(drive: &mut Ssd, now: &mut Instant, opcode: Opcode, lba: u64) -> Duration {
    let (id, pl) = (CommandId(0), PlFlag::Off);
    drive.handle_command(*now, &Command { id, opcode, lba: Lba(lba), blocks: 1, pl });
    loop {
        if let Some(completed) = drive.poll_completion() {
            let took = completed.at.since(*now);
            *now = completed.at;
            return took;
        }
        drive.handle_deadline(drive.next_deadline());
    }
}

fn block_of(drive: &Ssd, lba: u64) -> usize {
    (drive.flash_page(Lba(lba)).unwrap() / drive.config().geometry.pages_per_block) as usize
}

#[test]
fn a_block_that_is_read_fails_until_it_is_erased() {
    let mut drive = Ssd::new(config(Some(disturbed(1)))).unwrap();
    let timing = drive.config().timing;
    let mut now = Instant::ZERO;
    let pages = drive.logical_blocks();
    (0..pages).for_each(|lba| _ = run(&mut drive, &mut now, Opcode::Write, lba));
    let block = block_of(&drive, 0);
    assert_eq!(drive.sensing_counts()[block], 0, "a program is no sensing");
    let once = run(&mut drive, &mut now, Opcode::Read, 0);
    assert_eq!((drive.counters().read_retries, drive.sensing_counts()[block]), (0, 1));
    // After the first sensing every sensing fails, at each of the seven levels, which count too.
    let again = run(&mut drive, &mut now, Opcode::Read, 1);
    assert_eq!(again, once + timing.read * 7, "page 1 is in the block of page 0");
    assert_eq!((drive.counters().read_retries, drive.sensing_counts()[block]), (7, 1 + 8));
    let other = pages - 1;
    assert_ne!(block_of(&drive, other), block);
    assert_eq!(run(&mut drive, &mut now, Opcode::Read, other), once, "another block");
    // The page is overwritten until the block is erased, which ends the disturbance.
    let erases = drive.erase_counts()[block];
    let mut rng = Rng::new(1);
    while drive.erase_counts()[block] == erases {
        run(&mut drive, &mut now, Opcode::Write, rng.below(pages));
    }
    assert_eq!(drive.sensing_counts()[block], 0);
    let reads = drive.counters().collection_reads_pages;
    assert!(reads > 0, "no page had to be copied");
    let retries = drive.counters().read_retries;
    while block_of(&drive, 0) != block {
        run(&mut drive, &mut now, Opcode::Write, 0);
    }
    while drive.commands_in_flight() > 0 {
        drive.handle_deadline(drive.next_deadline());
    }
    assert_eq!(drive.sensing_counts()[block], 0, "the block was filled with new data only");
    run(&mut drive, &mut now, Opcode::Read, 0);
    assert_eq!((drive.counters().read_retries, drive.sensing_counts()[block]), (retries, 1));
}

#[test]
fn copies_of_collections_are_sensings_of_their_victims() {
    let mut drive = Ssd::new(config(Some(disturbed(1_000_000)))).unwrap();
    let mut now = Instant::ZERO;
    let pages = drive.logical_blocks();
    let mut rng = Rng::new(2);
    let (mut seen, mut most) = (0, 0);
    for id in 0..20 * pages as u32 {
        let lba = Lba(rng.below(pages));
        let (id, opcode, pl) = (CommandId(id), Opcode::Write, PlFlag::Off);
        drive.handle_command(now, &Command { id, opcode, lba, blocks: 1, pl });
        while drive.commands_in_flight() > 0 {
            let before = drive.counters().collection_reads_pages;
            now = drive.next_deadline();
            drive.handle_deadline(now);
            while drive.poll_completion().is_some() {}
            // There are no host reads: only the victim under way has been sensed, once for each of
            // its valid pages.
            let counts = drive.sensing_counts().iter().copied();
            let sensed: Vec<u32> = counts.filter(|&count| count > 0).collect();
            assert!(sensed.len() <= 1, "{sensed:?}");
            seen += drive.counters().collection_reads_pages - before;
            most = most.max(sensed.first().copied().unwrap_or(0));
        }
    }
    assert!(seen > 100 && most > 1 && most <= 16, "{seen} {most}");
}

/// Reading one block again and again makes it fail more and more often, and does not affect other
/// blocks.
#[test]
fn a_hammered_block_fails_more_often_than_its_neighbours() {
    let mut drive = Ssd::new(config(Some(disturbed(100_000)))).unwrap();
    let mut now = Instant::ZERO;
    let pages = drive.logical_blocks();
    (0..pages).for_each(|lba| _ = run(&mut drive, &mut now, Opcode::Write, lba));
    let mut hammer = |drive: &mut Ssd, lba: u64| {
        let before = drive.counters().read_retries;
        (0..10_000).for_each(|_| _ = run(drive, &mut now, Opcode::Read, lba));
        drive.counters().read_retries - before
    };
    let [first, second, third] = [0; 3].map(|lba| hammer(&mut drive, lba));
    // After n reads the block was sensed c times, where c - c^2 / 200,000 = n: 10,557 times, then
    // 22,540 and 36,754.
    assert!((450..670).contains(&first), "{first}");
    assert!((1_800..2_170).contains(&second), "{second}");
    assert!((3_900..4_530).contains(&third), "{third}");
    let neighbour = hammer(&mut drive, pages - 1);
    assert!((450..670).contains(&neighbour), "{neighbour}");
}

#[test]
fn a_drive_without_read_disturb_counts_nothing_and_answers_as_one_whose_reads_add_nothing() {
    let steady = RetryConfig { share: Ratio::from_percent(5), ..disturbed(u32::MAX) };
    // A share so small that it changes no draw of this run.
    let counted = RetryConfig { disturb_share: Ratio::from_parts_per_million(1), ..steady };
    let off = RetryConfig { disturb_share: Ratio::ZERO, ..steady };
    let answers = |retry| {
        let mut drive = Ssd::new(config(Some(retry))).unwrap();
        drive.precondition(3);
        let (mut now, mut rng) = (Instant::ZERO, Rng::new(3));
        let pages = drive.logical_blocks();
        let times: Vec<Duration> = (0..5_000)
            .map(|_| {
                let opcode = if rng.below(3) == 0 { Opcode::Write } else { Opcode::Read };
                run(&mut drive, &mut now, opcode, rng.below(pages))
            })
            .collect();
        (times, *drive.counters(), drive.sensing_counts().iter().map(|&n| u64::from(n)).sum())
    };
    let (without, with) = (answers(off), answers(counted));
    assert_eq!((&without.0, without.1), (&with.0, with.1));
    assert!(without.1.read_retries > 100, "{}", without.1.read_retries);
    let sensed: u64 = with.2;
    assert_eq!(without.2, 0);
    assert!(sensed > 100, "{sensed}");
    assert!(Ssd::new(config(None)).unwrap().sensing_counts().is_empty());
}

#[test]
fn sensings_are_part_of_the_state_of_a_drive() {
    let mut drive = Ssd::new(config(Some(disturbed(100)))).unwrap();
    let mut now = Instant::ZERO;
    (0..drive.logical_blocks()).for_each(|lba| _ = run(&mut drive, &mut now, Opcode::Write, lba));
    (0..40).for_each(|_| _ = run(&mut drive, &mut now, Opcode::Read, 20));
    let counts = drive.sensing_counts().to_vec();
    assert!(counts.iter().sum::<u32>() >= 40);
    drive.settle();
    let state = drive.state().unwrap();
    let again = Ssd::restore(config(Some(disturbed(100))), &state).unwrap();
    assert_eq!(again.sensing_counts(), counts);
    assert_eq!(drive.clone().sensing_counts(), counts);
    // A drive that counts nothing accepts the state as well, and writes a state without counts.
    let without = Ssd::restore(config(None), &state).unwrap();
    let old = without.state().unwrap();
    assert_eq!(old.len() + 4 * (counts.len() + 1), state.len());
    let begun = Ssd::restore(config(Some(disturbed(100))), &old).unwrap();
    assert_eq!(begun.sensing_counts(), vec![0; counts.len()]);
}
