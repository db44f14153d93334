//! Cells of several bits: program units, the time of each page, and planes that read on their own.

#![allow(clippy::unwrap_used, reason = "tests stop")]

use crate::common::{any_drive, come_to_rest, worn_out};
use ioda_ssd::{
    Blocking, CellConfig, CollectionUnit, Config, FlushRule, PageTime, PreemptionScope,
    PulseConfig, RangeConfig, SchedulingConfig, Ssd, Suspendable, SuspensionConfig, TurnConfig,
    WriteBufferConfig, presets,
};
use nvme::{Command, CommandId, Opcode, PlFlag};
use proptest::prelude::*;
use units::{Duration, Instant, Lba, Ratio};

pub(crate) fn page(read: u64, program: u64) -> PageTime {
    PageTime { read: Duration::from_micros(read), program: Duration::from_micros(program) }
}

/// Three bits in a cell, flash pages of two logical blocks, two planes: units of 12.
pub(crate) fn tlc(one_shot: bool, independent: bool) -> CellConfig {
    CellConfig {
        page_types: [page(40, 400), page(60, 600), page(80, 800), PageTime::default()],
        bits: 3,
        blocks_per_page: 2,
        planes: 2,
        one_shot,
        read_groups: if independent { 2 } else { 1 },
        slc: None,
    }
}

/// One channel with one die, without a limit on PCIe; a logical block takes 10 µs on the channel.
pub(crate) fn one_die(cells: CellConfig) -> Config {
    let mut config = presets::preset("femu-artifact").unwrap();
    config.geometry.channels = 1;
    config.geometry.chips_per_channel = 1;
    config.geometry.blocks_per_plane = 64;
    config.geometry.pages_per_block = 48;
    config.timing.transfer = Duration::from_micros(10);
    config.timing.pcie_bytes_per_second = None;
    config.over_provisioning = Ratio::from_percent(60);
    config.cells = Some(cells);
    config.scheduling.read_priority = true;
    config.write_buffer = Some(WriteBufferConfig {
        high: Ratio::from_percent(1),
        low: Ratio::ZERO,
        ..WriteBufferConfig::new(48)
    });
    config
}

pub(crate) fn send(drive: &mut Ssd, now: Instant, id: u64, opcode: Opcode, lba: u64, blocks: u32) {
    let id = CommandId(id as u32);
    drive.handle_command(now, &Command { id, opcode, lba: Lba(lba), blocks, pl: PlFlag::Off });
}

/// Runs the drive until it is at rest. Returns the commands that completed, with their times.
pub(crate) fn finish(drive: &mut Ssd) -> Vec<(u64, Instant)> {
    let mut done = Vec::new();
    loop {
        drive.check_invariants();
        while let Some(completed) = drive.poll_completion() {
            done.push((u64::from(completed.completion.id.0), completed.at));
        }
        match drive.next_deadline() {
            Instant::NEVER => return done,
            due => drive.handle_deadline(due),
        }
    }
}

/// Writes a block of 48 pages in order, so that logical page `n` is at place `n`.
fn written(cells: CellConfig) -> (Ssd, Instant) {
    let mut drive = Ssd::new(one_die(cells)).unwrap();
    send(&mut drive, Instant::ZERO, 0, Opcode::Write, 0, 48);
    let _answered = finish(&mut drive);
    let first = drive.flash_page(Lba(0)).unwrap();
    for lba in 0..48 {
        assert_eq!(drive.flash_page(Lba(lba)), Some(first + lba as u32));
    }
    assert_eq!(drive.buffered_pages(), 0);
    (drive, Instant::from_nanos(1_000_000_000))
}

fn read_alone(drive: &mut Ssd, now: Instant, lba: u64) -> f64 {
    send(drive, now, lba, Opcode::Read, lba, 1);
    finish(drive)[0].1.since(now).as_micros_f64()
}

#[test]
fn each_page_type_takes_its_own_time_to_read() {
    for independent in [false, true] {
        let (mut drive, mut now) = written(tlc(true, independent));
        for (lba, expected) in [(0, 50.0), (3, 50.0), (4, 70.0), (11, 90.0), (12, 50.0)] {
            assert_eq!(read_alone(&mut drive, now, lba), expected, "page {lba}");
            now += Duration::from_millis(1);
        }
    }
}

#[test]
fn a_unit_is_programmed_in_the_time_of_its_pages() {
    // 12 pages arrive over the channel, 10 µs each, and three types take 1.8 ms together.
    let mut drive = Ssd::new(one_die(tlc(true, false))).unwrap();
    send(&mut drive, Instant::ZERO, 0, Opcode::Write, 0, 12);
    let mut last = Instant::ZERO;
    while drive.next_deadline() != Instant::NEVER {
        last = drive.next_deadline();
        drive.handle_deadline(last);
    }
    assert_eq!(last.since(Instant::ZERO).as_micros_f64(), 120.0 + 1800.0);
    assert_eq!(drive.counters().host_programs_pages, 12);
    // Type by type a unit is 4 pages, and each takes its own time.
    let mut drive = Ssd::new(one_die(tlc(false, false))).unwrap();
    send(&mut drive, Instant::ZERO, 0, Opcode::Write, 0, 12);
    while drive.next_deadline() != Instant::NEVER {
        last = drive.next_deadline();
        drive.handle_deadline(last);
    }
    assert_eq!(last.since(Instant::ZERO).as_micros_f64(), 3.0 * 40.0 + 400.0 + 600.0 + 800.0);
}

#[test]
fn the_last_few_pages_wait_in_the_buffer_for_company() {
    let mut drive = Ssd::new(one_die(tlc(true, false))).unwrap();
    send(&mut drive, Instant::ZERO, 0, Opcode::Write, 0, 17);
    let _answered = finish(&mut drive);
    assert_eq!((drive.counters().host_programs_pages, drive.buffered_pages()), (12, 5));
}

#[test]
fn planes_that_read_on_their_own_overlap() {
    let both = |independent| {
        let (mut drive, now) = written(tlc(true, independent));
        // Places 0 and 2 are the lower pages of two planes.
        send(&mut drive, now, 0, Opcode::Read, 0, 1);
        send(&mut drive, now, 2, Opcode::Read, 2, 1);
        let done = finish(&mut drive);
        done.into_iter().map(|(_, at)| at.since(now).as_micros_f64()).collect::<Vec<f64>>()
    };
    assert_eq!(both(false), [50.0, 100.0]);
    assert_eq!(both(true), [50.0, 60.0], "the second waits for the channel only");
}

#[test]
fn a_page_in_the_register_is_not_sensed_again() {
    let (mut drive, now) = written(tlc(true, true));
    send(&mut drive, now, 0, Opcode::Read, 0, 2);
    assert_eq!(finish(&mut drive)[0].1.since(now).as_micros_f64(), 60.0);
    // A program takes the register for itself.
    send(&mut drive, now + Duration::from_millis(1), 1, Opcode::Write, 0, 12);
    let _answered = finish(&mut drive);
    let later = now + Duration::from_millis(10);
    assert_eq!(read_alone(&mut drive, later, 13), 50.0);
    assert_eq!(read_alone(&mut drive, later + Duration::from_millis(1), 12), 10.0);
}

#[test]
fn a_plane_that_reads_keeps_only_its_own_reads_waiting() {
    let (mut drive, now) = written(tlc(true, true));
    // Two reads of plane 0, then one of plane 1, which overtakes the second.
    for lba in [0, 12, 14] {
        send(&mut drive, now, lba, Opcode::Read, lba, 1);
    }
    let done: Vec<u64> = finish(&mut drive).into_iter().map(|(id, _)| id).collect();
    assert_eq!(done, [0, 14, 12]);
}

#[test]
fn impossible_cells_are_refused() {
    let refused = |change: fn(&mut Config)| {
        let mut config = one_die(tlc(true, true));
        config.validate().unwrap();
        change(&mut config);
        config.validate().unwrap_err().to_string()
    };
    assert!(refused(|c| c.geometry.pages_per_block = 50).contains("a multiple of the 12"));
    assert!(refused(|c| c.write_buffer = None).contains("set write_buffer to at least 24"));
    assert!(refused(|c| c.cells.as_mut().unwrap().bits = 5).contains("1 to 4"));
    assert!(refused(|c| c.cells.as_mut().unwrap().planes = 0).contains("cells.planes is 0"));
    assert!(refused(|c| c.collection.copyback = true).contains("copyback"));
    assert!(refused(|c| c.scheduling.paced_writes = true).contains("preemptive_collection"));
}

pub(crate) fn any_drive_with_cells() -> impl Strategy<Value = Config> {
    let cells = (1u32..5, 1u32..4, 1u32..4, any::<bool>(), any::<bool>(), 1u32..4);
    let buffer = (2u32..6, 0usize..2, 1u32..101, 0u32..100, any::<bool>());
    (any_drive(), cells, buffer).prop_map(
        |(mut config, (bits, per_page, planes, one_shot, independent, units), buffer)| {
            let cells = CellConfig {
                page_types: [page(20, 100), page(30, 200), page(40, 300), page(50, 400)],
                bits,
                blocks_per_page: per_page,
                planes,
                one_shot,
                read_groups: if independent { planes } else { 1 },
                slc: None,
            };
            let (slots, rule, high, low, paced) = buffer;
            config.cells = Some(cells);
            config.geometry.planes_per_chip = 1;
            config.geometry.blocks_per_plane = 24;
            config.geometry.pages_per_block = cells.unit_pages() * (units + 2);
            config.ranges = RangeConfig::ONE;
            config.collection.copyback = false;
            config.scrub = None;
            config.scheduling.paced_writes = paced
                && config.scheduling.preemptive_collection
                && config.collection.blocking == Blocking::Die;
            if config.scheduling.paced_writes && low % 3 > 0 {
                let most_pages = cells.unit_pages() * (slots % 5);
                let least_pages = most_pages.min(1 + slots * 7 % 40);
                config.scheduling.turns =
                    (most_pages > 0).then_some(TurnConfig { most_pages, least_pages });
            }
            config.write_buffer = Some(WriteBufferConfig {
                flush: [FlushRule::WhenFull, FlushRule::InWindow][rule],
                reopens: Ratio::from_percent(if low % 2 == 0 { 100 } else { high.max(1) }),
                high: Ratio::from_percent(high),
                low: Ratio::from_parts_per_million(high * 100 * low),
                ..WriteBufferConfig::new(cells.unit_pages() * slots)
            });
            config
        },
    )
}

proptest! {
    #![proptest_config(testing::cases(300))]

    #[test]
    fn a_full_drive_with_cells_never_gets_stuck(
        config in any_drive_with_cells(),
        seed in 0u64..1000,
        windows in 0u64..3,
    ) {
        prop_assume!(config.validate().is_ok());
        let mut drive = worn_out(config, seed, windows);
        come_to_rest(&mut drive);
    }
}

/// A configuration like drives of today: superblocks, reads first, suspension, paced writes.
pub(crate) fn modern() -> Config {
    let mut config = one_die(tlc(true, true));
    config.geometry.channels = 2;
    config.geometry.chips_per_channel = 2;
    config.geometry.pages_per_block = 240;
    config.write_buffer.as_mut().unwrap().pages = 384;
    config.over_provisioning = Ratio::from_percent(40);
    config.collection.unit = CollectionUnit::Line;
    config.collection.blocking = Blocking::Die;
    config.collection.soft = Ratio::from_percent(10);
    config.collection.restore = Ratio::from_percent(10);
    config.collection.hard = Ratio::from_percent(5);
    config.scheduling = SchedulingConfig {
        preemption_scope: PreemptionScope::Die,
        read_priority: true,
        preemptive_collection: true,
        paced_writes: true,
        turns: None,
        in_order_when_full: false,
        suspension: Some(SuspensionConfig {
            what: Suspendable::Everything,
            program: Duration::from_micros(20),
            erase: Duration::from_micros(20),
            most: 8,
            pulses: PulseConfig::NONE,
        }),
    };
    config
}

/// With paced writes, a drive that is written at its full speed hardly ever runs out of room, and
/// writes do not wait for whole collections.
#[test]
fn paced_writes_keep_free_space_where_it_is() {
    let run = |paced| {
        let mut config = modern();
        config.scheduling.paced_writes = paced;
        let mut drive = Ssd::new(config).unwrap();
        drive.age(1);
        let mut host = crate::common::Host::new(2, 32, 100);
        let mut last = Instant::ZERO;
        let mut longest = Duration::ZERO;
        host.run(&mut drive, 60_000, |at, _| {
            longest = longest.max(at.since(last));
            last = at;
        });
        let counters = drive.counters();
        assert!(counters.collections > 20, "{}", counters.collections);
        let amplification = counters.write_amplification();
        let expected = drive.config().steady_write_amplification();
        assert!((0.7..1.6).contains(&(amplification / expected)), "{amplification} of {expected}");
        (counters.stalled_writes_pages, longest)
    };
    let (paced, alternating) = (run(true), run(false));
    assert!(paced.0 < 20, "{paced:?}");
    assert!(paced.1 * 3 < alternating.1 * 2, "{paced:?} and {alternating:?}");
}

/// With turns of many pages a write waits for a whole turn of collections, and free space stays
/// constant. A host whose writes always wait shortens turns that can be shorter.
#[test]
fn turns_of_collections_stall_writes_and_lose_no_space() {
    let run = |most_pages: u32, least_pages: u32| {
        let mut config = modern();
        config.scheduling.turns =
            (most_pages > 0).then_some(TurnConfig { most_pages, least_pages });
        let unit = config.cells.unwrap().longest_program();
        let lines = f64::from(config.geometry.blocks_per_plane);
        let mut drive = Ssd::new(config).unwrap();
        drive.age(1);
        let mut host = crate::common::Host::new(2, 32, 100);
        let (mut last, mut longest) = (Instant::ZERO, Duration::ZERO);
        let mut fewest = lines;
        for _ in 0..100 {
            host.run(&mut drive, 600, |at, _| {
                longest = longest.max(at.since(last));
                last = at;
            });
            fewest = fewest.min(lines * drive.free_share());
            drive.check_invariants();
        }
        assert!(drive.counters().collections > 20 && fewest > 2.5, "{fewest} lines");
        longest.as_secs_f64() / unit.as_secs_f64()
    };
    let (finely, in_turns, shrinking) = (run(0, 0), run(8 * 24, 8 * 24), run(8 * 24, 24));
    assert!(in_turns > 6.0 && in_turns > 1.5 * finely, "{finely} and {in_turns} programs");
    // Writes always wait, so turns soon have one program of each die.
    assert!(shrinking < 0.8 * in_turns, "{shrinking} and {in_turns} programs");
}

/// A buffer that was full takes in nothing until it has room for many pages: writes wait longer,
/// and then many are accepted at once.
#[test]
fn a_full_buffer_reopens_at_its_mark() {
    let run = |percent| {
        let mut config = modern();
        config.write_buffer.as_mut().unwrap().reopens = Ratio::from_percent(percent);
        let mut drive = Ssd::new(config).unwrap();
        drive.age(1);
        let mut host = crate::common::Host::new(2, 256, 100);
        let mut batches = 0;
        let mut last = Instant::ZERO;
        host.run(&mut drive, 4_000, |at, _| {
            batches += u32::from(at != last);
            last = at;
        });
        drive.check_invariants();
        batches
    };
    let (at_once, late) = (run(100), run(40));
    assert!(at_once > 4 * late, "{at_once} and {late} batches");
}

/// A drive that collects without a pause, because the host uses each page given back at once, must
/// not lose a little space with every collection. It would end at the level where collections give
/// way to nothing.
#[test]
fn paced_writes_do_not_wear_down_free_space() {
    for percent in [20, 40] {
        let mut config = modern();
        config.over_provisioning = Ratio::from_percent(percent);
        config.collection.min_invalid = Ratio::ZERO;
        config.collection.soft = Ratio::from_percent(9);
        config.collection.hard = Ratio::from_percent(4);
        let lines = f64::from(config.geometry.blocks_per_plane);
        let mut drive = Ssd::new(config).unwrap();
        drive.age(1);
        let mut host = crate::common::Host::new(2, 32, 100);
        // The drive collects at five free lines and gives way above two; one is being filled,
        // another collected.
        let fewest = (0..400).fold(lines, |fewest, _| {
            host.run(&mut drive, 200, |_, _| {});
            fewest.min(lines * drive.free_share())
        });
        let collections = drive.counters().collections;
        assert!(collections > 100 && fewest > 2.5, "{percent} %: {fewest} after {collections}");
    }
}
