//! Parity within the drive: places of stripes, reads that do not wait, rotation of collections, the
//! order of eviction, and wear.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests stop and speak")]

use crate::common::{Host, any_rain_drive, worn_out};
use ioda_ssd::{Blocking, CollectionSpan, Config, Media, RainConfig, Rotation, Ssd, presets};
use nvme::{Cause, Command, CommandId, Completion, Opcode, PlFlag};
use proptest::prelude::*;
use units::{Duration, Instant, Lba, MIB, Ratio, Rng};

/// A drive like the paper's, with few and small blocks.
fn small(channels: u32, chips: u32, width: u32) -> Config {
    let mut config = presets::preset("ttflash").unwrap();
    config.geometry.channels = channels;
    config.geometry.chips_per_channel = chips;
    config.geometry.blocks_per_plane = 64;
    config.geometry.pages_per_block = 32;
    config.write_buffer.as_mut().unwrap().pages = 256;
    config.rain = Some(RainConfig::new(width));
    config
}

fn at(micros: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

fn send(drive: &mut Ssd, now: Instant, id: u32, opcode: Opcode, lba: u64, blocks: u32) {
    let id = CommandId(id);
    drive.handle_command(now, &Command { id, opcode, lba: Lba(lba), blocks, pl: PlFlag::Off });
}

/// Lets time pass until the command `id` completes.
fn completion_of(drive: &mut Ssd, id: u32) -> (Instant, Completion) {
    loop {
        while let Some(completed) = drive.poll_completion() {
            if completed.completion.id == CommandId(id) {
                return (completed.at, completed.completion);
            }
        }
        let due = drive.next_deadline();
        assert_ne!(due, Instant::NEVER, "the drive stopped with commands in flight");
        drive.handle_deadline(due);
    }
}

/// The plane group of a die: dies at the same place on the channels of a stripe.
fn group_of(config: &Config, die: u32) -> (u32, u32) {
    let chips = config.geometry.chips_per_channel;
    (die / chips / config.rain.unwrap().width, die % chips)
}

fn die_of(config: &Config, page: u32) -> u32 {
    page / (config.geometry.blocks_per_die() * config.geometry.pages_per_block)
}

/// Runs a host until only a collection is under way. Returns the time, and a logical page on its
/// die that has `slot` in its stripe.
fn stop_in_collection(drive: &mut Ssd, slot: u64) -> (Instant, Lba) {
    let config = drive.config().clone();
    let data = u64::from(config.rain.unwrap().width - 1);
    let mut host = Host::new(3, 8, 100);
    loop {
        host.run(drive, 50, |_, _| {});
        // Continue until only the collection is left, so that nothing else delays the read.
        let mut now = host.now;
        while drive.commands_in_flight() > 0 {
            now = drive.next_deadline();
            drive.handle_deadline(now);
            while drive.poll_completion().is_some() {}
        }
        host = Host::new(now.as_nanos(), 8, 100);
        host.now = now;
        let blocked = (0..drive.logical_blocks()).map(Lba).find(|&lba| {
            lba.0 % data == slot && !drive.is_buffered(lba) && drive.is_collecting_at(lba)
        });
        if let Some(lba) = blocked {
            return (now, lba);
        }
    }
}

#[test]
fn a_whole_stripe_is_read_with_its_parity_instead_of_the_blocked_page() {
    let mut drive = Ssd::new(small(4, 2, 4)).unwrap();
    drive.age(1);
    let (now, blocked) = stop_in_collection(&mut drive, 1);
    let timing = drive.config().timing;
    let before = *drive.counters();
    send(&mut drive, now, 900, Opcode::Read, blocked.0 - 1, 3);
    let (done, completion) = completion_of(&mut drive, 900);
    let after = *drive.counters();
    assert_eq!(after.rebuilt_pages - before.rebuilt_pages, 1);
    assert_eq!(after.rebuild_reads_pages - before.rebuild_reads_pages, 1, "only the parity");
    assert_eq!(after.host_reads_pages - before.host_reads_pages, 2);
    assert!(!completion.met_collection);
    assert_eq!(completion.delays.total(), done.since(now));
    assert_eq!(completion.delays.get(Cause::Rebuild), Duration::from_micros(3));
    // Programs of the flush may delay the read, the collection does not.
    assert!(done.since(now) < timing.program * 3, "{}", done.since(now));
}

#[test]
fn a_single_page_is_read_from_the_rest_of_its_stripe() {
    let mut drive = Ssd::new(small(4, 2, 4)).unwrap();
    drive.age(1);
    let (now, blocked) = stop_in_collection(&mut drive, 1);
    let before = *drive.counters();
    assert!(drive.busy_with(now, blocked).is_none());
    send(&mut drive, now, 900, Opcode::Read, blocked.0, 1);
    completion_of(&mut drive, 900);
    let after = *drive.counters();
    assert_eq!(after.rebuilt_pages - before.rebuilt_pages, 1);
    assert_eq!(after.rebuild_reads_pages - before.rebuild_reads_pages, 3, "N - R with R = 1");
}

#[test]
fn without_tolerance_the_page_is_awaited() {
    let mut config = small(4, 2, 4);
    config.rain.as_mut().unwrap().tolerant_reads = false;
    let mut drive = Ssd::new(config).unwrap();
    drive.age(1);
    let (now, blocked) = stop_in_collection(&mut drive, 1);
    assert!(drive.busy_with(now, blocked).is_some());
    send(&mut drive, now, 900, Opcode::Read, blocked.0 - 1, 3);
    let (_, completion) = completion_of(&mut drive, 900);
    assert_eq!(drive.counters().rebuilt_pages, 0);
    assert!(completion.met_collection);
}

/// Effects of a flush on flash, in order: logical pages that were programmed, and reads for parity.
fn flushed(drive: &mut Ssd) -> Vec<u32> {
    let mut media = Vec::new();
    drive.take_media(&mut media);
    let flushed = media.into_iter().filter_map(|media| match media {
        Media::Flushed { logical, .. } => Some(logical),
        _ => None,
    });
    flushed.collect()
}

#[test]
fn whole_stripes_leave_the_buffer_before_parts() {
    let mut config = small(4, 2, 4);
    let buffer = config.write_buffer.as_mut().unwrap();
    (buffer.pages, buffer.low) = (10, Ratio::from_percent(10));
    let mut drive = Ssd::new(config).unwrap();
    drive.record_media();
    // Parts of stripes 0 and 1 first, then all of stripe 2: 8 of 10 pages start a flush.
    for (id, (lba, blocks)) in [(0, 1), (3, 2), (6, 3), (12, 2)].into_iter().enumerate() {
        send(&mut drive, at(id as u64), id as u32, Opcode::Write, lba, blocks);
    }
    drive.handle_deadline(at(1_000_000));
    let order = flushed(&mut drive);
    assert_eq!(order[..5], [6, 7, 8, 3, 4], "the whole stripe, then parts on other dies");
    assert_eq!(drive.counters().parity_reads_pages, 0, "what was never written is not read");
    assert_eq!(drive.counters().parity_programs_pages, stripes(&order).len() as u64);
}

/// The stripes of these pages, with three pages per stripe.
fn stripes(pages: &[u32]) -> Vec<u32> {
    let mut stripes: Vec<u32> = pages.iter().map(|page| page / 3).collect();
    stripes.sort_unstable();
    stripes.dedup();
    stripes
}

#[test]
fn parity_is_updated_with_the_fewest_reads() {
    // Seven pages and their parity: read-modify-write is cheaper for one page, reconstruct-write
    // for six.
    for (written, reads) in [(1, 2), (3, 4), (4, 3), (6, 1), (7, 0)] {
        let mut config = small(8, 2, 8);
        let buffer = config.write_buffer.as_mut().unwrap();
        (buffer.pages, buffer.high, buffer.low) = (16, Ratio::from_percent(1), Ratio::ZERO);
        let mut drive = Ssd::new(config).unwrap();
        drive.age(1);
        send(&mut drive, at(0), 0, Opcode::Write, 14, written);
        drive.handle_deadline(at(1_000_000));
        assert_eq!(drive.counters().host_programs_pages, u64::from(written));
        assert_eq!(drive.counters().parity_reads_pages, reads, "{written} pages of a stripe");
        assert_eq!(drive.counters().parity_programs_pages, 1);
    }
}

/// Collections that began while an earlier one ran in their plane group.
fn overlaps(config: &Config, spans: &mut [CollectionSpan]) -> u64 {
    spans.sort_by_key(|span| (group_of(config, span.first_die), span.began));
    let mut overlaps = 0;
    for (index, span) in spans.iter().enumerate() {
        let group = group_of(config, span.first_die);
        overlaps +=
            u64::from(spans[..index].iter().any(|other| {
                group_of(config, other.first_die) == group && other.ended > span.began
            }));
    }
    overlaps
}

/// Runs random writes and returns the drive with its collections.
fn collect_much(rotation: Rotation, count: u64) -> (Ssd, Vec<CollectionSpan>) {
    let mut config = small(4, 2, 4);
    config.rain.as_mut().unwrap().rotation = rotation;
    // Little spare space, so that rotation is soon too slow.
    config.collection.hard = Ratio::from_percent(27);
    let mut drive = Ssd::new(config).unwrap();
    drive.age(2);
    drive.record_collections();
    Host::new(5, 32, 90).run(&mut drive, count, |_, _| {});
    let mut spans = Vec::new();
    drive.take_collections(&mut spans);
    (drive, spans)
}

#[test]
fn dies_of_a_group_take_turns_until_one_is_out_of_blocks() {
    let (drive, mut spans) = collect_much(Rotation::Off, 20_000);
    let free = overlaps(drive.config(), &mut spans);
    let (drive, mut spans) = collect_much(Rotation::On, 20_000);
    let rotating = overlaps(drive.config(), &mut spans);
    let breaches = drive.counters().rotation_breaches;
    assert!(breaches > 0 && rotating <= breaches, "{rotating} overlaps, {breaches} breaches");
    let (drive, mut spans) = collect_much(Rotation::Forced, 20_000);
    let forced = overlaps(drive.config(), &mut spans);
    println!("overlaps: {free} without turns, {rotating} with, {forced} if they are forced");
    assert!(rotating < free);
    assert_eq!((forced, drive.counters().rotation_breaches), (0, 0));
}

#[test]
fn dies_of_a_channel_take_turns_if_one_of_them_may_collect() {
    let most_at_once = |per_channel| {
        let mut config = small(4, 2, 4);
        config.rain = None;
        config.collection.per_channel = per_channel;
        let dies = config.geometry.dies() / config.geometry.channels;
        let mut drive = Ssd::new(config).unwrap();
        drive.age(2);
        drive.record_collections();
        Host::new(5, 32, 90).run(&mut drive, 20_000, |_, _| {});
        drive.check_invariants();
        let mut spans = Vec::new();
        drive.take_collections(&mut spans);
        assert!(spans.len() > 100, "{} collections", spans.len());
        let beside = |span: &CollectionSpan| {
            let runs = |other: &&CollectionSpan| {
                other.first_die / dies == span.first_die / dies
                    && other.began <= span.began
                    && other.ended > span.began
            };
            spans.iter().filter(runs).count()
        };
        spans.iter().map(beside).max()
    };
    assert_eq!(most_at_once(1), Some(1));
    assert!(most_at_once(0) > Some(1));
}

/// TTFLASH's Table 3 with the drive of its Table 1: the widest stripes with which all dies of a
/// group get their turns.
#[test]
fn stripes_may_be_as_wide_as_the_article_proves() {
    let config = presets::preset("ttflash").unwrap();
    let timing = config.timing;
    let page_bytes = f64::from(config.geometry.page_bytes);
    // (b) Write rate of a die: 4.5 MB/s.
    let bytes_per_second = page_bytes / (timing.program + timing.transfer).as_secs_f64();
    assert_eq!((bytes_per_second / 1e5).floor() / 10.0, 4.5);
    // (c to e) Time of copies in a second, if a quarter of the pages are valid. The paper counts in
    // MiB.
    let copies_seconds = |mib_per_second: f64| {
        let written_pages = mib_per_second * MIB as f64 / page_bytes;
        0.25 * written_pages * (timing.read + timing.program).as_secs_f64()
    };
    let (at_most, in_practice) = (copies_seconds(4.5), copies_seconds(0.7));
    assert_eq!((at_most * 1e3).round(), 242.0);
    // (f) The other dies have the rest of the second: N < 1 / T_gc.
    assert_eq!((1.0 / at_most).floor(), 4.0);
    // (h to j) The same with five drive writes per day of eight hours, 0.7 MB/s.
    let die_pages = config.geometry.blocks_per_die() * config.geometry.pages_per_block;
    let die_mib = f64::from(die_pages) * page_bytes / MIB as f64;
    assert_eq!((die_mib * 5.0 / (8.0 * 3600.0) * 10.0).round() / 10.0, 0.7);
    assert_eq!((in_practice * 1e3).round(), 38.0);
    assert_eq!((1.0 / in_practice).floor(), 26.0);
}

/// Most and fewest erases of a die, and of a plane group on average.
fn wear(drive: &Ssd) -> ((u32, u32), (u32, u32)) {
    let config = drive.config();
    let blocks = config.geometry.blocks_per_die() as usize;
    let dies: Vec<u32> =
        drive.erase_counts().chunks(blocks).map(|die| die.iter().sum::<u32>()).collect();
    let width = config.rain.unwrap().width;
    let mut groups = std::collections::BTreeMap::new();
    for (&erases, die) in dies.iter().zip(0..) {
        *groups.entry(group_of(config, die)).or_insert(0) += erases;
    }
    let spread = |counts: &mut dyn Iterator<Item = u32>| {
        counts.fold((0, u32::MAX), |(most, least), count| (most.max(count), least.min(count)))
    };
    (spread(&mut dies.into_iter()), spread(&mut groups.into_values().map(|sum| sum / width)))
}

#[test]
fn hot_pages_wear_all_dies_when_stripes_move() {
    // TTFLASH §7: one page of each stripe is written most, in the stripes of one group.
    let run = |wear_leveling| {
        let mut config = small(4, 4, 4);
        config.rain.as_mut().unwrap().wear_leveling = wear_leveling;
        config.write_buffer.as_mut().unwrap().pages = 32;
        let mut drive = Ssd::new(config).unwrap();
        drive.age(2);
        let mut rng = Rng::new(9);
        let stripes = drive.logical_blocks() / 3;
        let mut now = Instant::ZERO;
        for id in 0..60_000 {
            // Stripes of the first of four groups, and of these the ones with their parity on one
            // die.
            let stripe = rng.below(stripes / 16) * 16;
            send(&mut drive, now, id, Opcode::Write, stripe * 3 + 1, 1);
            completion_of(&mut drive, id);
            now = now.max(drive.next_deadline().min(now + Duration::from_millis(2)));
            now += Duration::from_micros(700);
            drive.handle_deadline(now);
        }
        (wear(&drive), drive)
    };
    let ((dies, groups), still) = run(None);
    let ((dies_leveled, groups_leveled), drive) = run(Some(16));
    println!(
        "erases of a die {dies:?} -> {dies_leveled:?}, of a group {groups:?} -> {groups_leveled:?}"
    );
    println!(
        "{} stripes moved, write amplification {:.2} -> {:.2}",
        drive.counters().moved_stripes,
        still.counters().write_amplification(),
        drive.counters().write_amplification()
    );
    assert_eq!((dies.1, groups.1), (0, 0), "without moving, some dies are never erased");
    assert!(drive.counters().moved_stripes > 0 && drive.moved_rain_stripes() > 0);
    let spread = |(most, least): (u32, u32)| most - least;
    assert!(spread(dies_leveled) * 2 < spread(dies));
    assert!(spread(groups_leveled) * 2 < spread(groups));
}

#[test]
fn drives_that_cannot_do_it_are_refused() {
    let refused = |change: fn(&mut Config)| {
        let mut config = small(8, 2, 8);
        change(&mut config);
        Ssd::new(config).unwrap_err().to_string()
    };
    assert!(refused(|c| c.rain.as_mut().unwrap().width = 3).contains("divide the 8 channels"));
    assert!(refused(|c| c.rain.as_mut().unwrap().width = 16).contains("between 3 and 8"));
    assert!(refused(|c| c.write_buffer = None).contains("set write_buffer"));
    assert!(refused(|c| c.write_buffer.as_mut().unwrap().pages = 15).contains("at least 16"));
    assert!(refused(|c| c.collection.blocking = Blocking::Channel).contains("blocking to die"));
    let copies = refused(|c| c.collection.blocking = Blocking::ChannelForCopies);
    assert!(copies.contains("blocking to die or channel"));
    assert!(refused(|c| c.ranges.count = 2).contains("lba_ranges"));
    assert!(refused(|c| c.rain.as_mut().unwrap().wear_leveling = Some(0)).contains("at least 1"));
    assert!(
        refused(|c| c.collection.unit = ioda_ssd::CollectionUnit::Line)
            .contains("collection_unit to block")
    );
}

proptest! {
    #![proptest_config(testing::cases(100))]

    /// Whatever the drive, every stripe has its pages on different dies of one group, and every
    /// broken rotation is counted.
    #[test]
    fn stripes_keep_their_places_and_dies_their_turns(
        config in any_rain_drive(),
        seed in 0u64..1000,
        windows in 0u64..3,
    ) {
        prop_assume!(config.validate().is_ok());
        let drive = worn_out(config, seed, windows);
        let config = drive.config();
        for stripe in 0..drive.rain_stripes() {
            let dies: Vec<u32> =
                drive.rain_stripe_pages(stripe).map(|page| die_of(config, page)).collect();
            for (index, &die) in dies.iter().enumerate() {
                prop_assert!(!dies[..index].contains(&die), "stripe {stripe}: {dies:?}");
                prop_assert_eq!(group_of(config, die), group_of(config, dies[0]));
            }
        }
    }

    #[test]
    fn turns_are_broken_only_where_that_is_counted(
        mut config in any_rain_drive(),
        seed in 0u64..1000,
    ) {
        config.collection.blocking = Blocking::Die;
        let rain = config.rain.as_mut().unwrap();
        rain.rotation = [Rotation::On, Rotation::Forced][seed as usize % 2];
        prop_assume!(config.validate().is_ok());
        let mut drive = Ssd::new(config).unwrap();
        drive.age(seed);
        drive.record_collections();
        let mut host = Host::new(seed, 1 + (seed % 20) as u32, 80);
        host.run(&mut drive, 1_500, |_, _| {});
        host.drain(&mut drive);
        let mut spans = Vec::new();
        drive.take_collections(&mut spans);
        let overlaps = overlaps(drive.config(), &mut spans);
        prop_assert!(overlaps <= drive.counters().rotation_breaches);
        if drive.config().rain.unwrap().rotation == Rotation::Forced {
            prop_assert_eq!(drive.counters().rotation_breaches, 0);
        }
    }

    /// If all other pages of the stripe are on dies that do not collect, a read waits for a
    /// collection no longer than a reconstruction takes at worst, with all additional channels
    /// busy.
    #[test]
    fn tolerant_reads_do_not_wait_for_collections(
        mut config in any_rain_drive(),
        seed in 0u64..1000,
    ) {
        config.collection.blocking = Blocking::Die;
        config.collection.copyback = true;
        config.scheduling = ioda_ssd::SchedulingConfig::FIRST_COME;
        let rain = config.rain.as_mut().unwrap();
        (rain.rotation, rain.tolerant_reads) = (Rotation::Forced, true);
        prop_assume!(config.validate().is_ok());
        let width = u64::from(config.rain.unwrap().width);
        let bound = (config.timing.read + config.timing.transfer) * (width - 1);
        let mut drive = Ssd::new(config).unwrap();
        drive.age(seed);
        let mut met = 0;
        let mut host = Host::new(seed, 1 + (seed % 20) as u32, 50);
        let mut late = None;
        host.run(&mut drive, 1_500, |_, completion| {
            let delays = &completion.delays;
            let wait = delays.get(Cause::BehindCollectionRead)
                + delays.get(Cause::BehindCollectionProgram)
                + delays.get(Cause::BehindCollectionErase);
            met += u64::from(completion.met_collection);
            // The read of a stripe that is being mapped waits for its die instead.
            if !completion.met_collection && wait > bound {
                late = Some(wait);
            }
        });
        prop_assert!(late.is_none(), "a read waited {late:?} for a collection, at most {bound}");
    }
}
