//! The write buffer: its answers, its flushes, and that it never gets stuck.

#![allow(clippy::unwrap_used, reason = "tests stop")]

use crate::common::{Host, any_drive, come_to_rest, worn_out};
use ioda_ssd::{
    Allocation, Blocking, CollectionUnit, Config, FlushRule, Ssd, WriteBufferConfig, presets,
};
use nvme::{Cause, CollectionRight, Command, CommandId, Completion, Opcode, PlFlag, Status};
use proptest::prelude::*;
use units::{Duration, Instant, Lba, Ratio, Rng};

fn small(buffer: WriteBufferConfig) -> Config {
    let mut config = presets::preset("femu-artifact").unwrap();
    config.geometry.channels = 2;
    config.geometry.chips_per_channel = 2;
    config.geometry.blocks_per_plane = 64;
    config.geometry.pages_per_block = 32;
    config.write_buffer = Some(buffer);
    config
}

fn coordinated(pages: u32) -> WriteBufferConfig {
    WriteBufferConfig { flush: FlushRule::InWindow, ..WriteBufferConfig::new(pages) }
}

fn at(micros: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

fn send(drive: &mut Ssd, now: Instant, id: u64, opcode: Opcode, lba: u64, blocks: u32) {
    let id = CommandId(id as u32);
    drive.handle_command(now, &Command { id, opcode, lba: Lba(lba), blocks, pl: PlFlag::Off });
}

/// Lets time pass until the next completion.
fn next(drive: &mut Ssd) -> (Instant, Completion) {
    loop {
        if let Some(completed) = drive.poll_completion() {
            return (completed.at, completed.completion);
        }
        let due = drive.next_deadline();
        assert_ne!(due, Instant::NEVER, "the drive stopped with commands in flight");
        drive.handle_deadline(due);
    }
}

#[test]
fn a_write_is_acknowledged_and_a_read_answered_from_dram() {
    let mut config = small(WriteBufferConfig::new(16));
    config.timing.pcie_bytes_per_second = Some(4_096_000_000);
    let mut drive = Ssd::new(config).unwrap();
    let (latency, page_on_pcie) = (Duration::from_micros(5), Duration::from_micros(1));
    send(&mut drive, at(0), 1, Opcode::Write, 8, 2);
    assert_eq!(next(&mut drive).0, at(0) + page_on_pcie * 2 + latency);
    assert_eq!(drive.buffered_pages(), 2);
    assert!(drive.is_buffered(Lba(9)) && !drive.is_buffered(Lba(10)));
    assert_eq!(drive.counters().host_programs_pages, 0);

    send(&mut drive, at(100), 2, Opcode::Read, 8, 2);
    let (answered, completion) = next(&mut drive);
    assert_eq!(answered, at(100) + latency + page_on_pcie * 2);
    assert_eq!(completion.delays.get(Cause::Transfer), answered.since(at(100)));
    assert_eq!(completion.delays.total(), answered.since(at(100)));
    assert_eq!(drive.counters().buffer_reads_pages, 2);

    // A read with one page on flash waits for that page.
    send(&mut drive, at(200), 3, Opcode::Read, 9, 2);
    let (answered, completion) = next(&mut drive);
    assert_eq!(answered, at(200) + drive.config().timing.read + page_on_pcie * 2);
    assert_eq!(completion.delays.total(), answered.since(at(200)));
    assert_eq!(drive.commands_in_flight(), 0);
    drive.check_invariants();
}

#[test]
fn overwrites_in_the_buffer_never_reach_flash() {
    let mut drive = Ssd::new(small(WriteBufferConfig::new(16))).unwrap();
    for round in 0..1_000 {
        send(&mut drive, at(round * 10), round, Opcode::Write, round % 8, 1);
        next(&mut drive);
    }
    assert_eq!(drive.counters().host_programs_pages, 0, "8 pages are below the high mark");
    assert_eq!(drive.counters().coalesced_writes_pages, 992);
    assert_eq!(drive.counters().buffered_writes_pages, 1_000);
    for lba in 8..13 {
        send(&mut drive, at(20_000), lba, Opcode::Write, lba, 1);
    }
    while drive.next_deadline() != Instant::NEVER {
        drive.handle_deadline(drive.next_deadline());
    }
    assert_eq!(drive.buffered_pages(), 3, "flushed from 12 of 16 (80 %) to 3 (20 %)");
    assert_eq!(drive.counters().host_programs_pages, 10);
    assert!(!drive.is_buffered(Lba(0)) && drive.is_buffered(Lba(12)), "oldest first");
    drive.check_invariants();
}

#[test]
fn a_full_buffer_makes_writes_wait_for_programs() {
    let mut drive = Ssd::new(small(WriteBufferConfig::new(4))).unwrap();
    let program = drive.config().timing.program;
    // Longer than the buffer: the last four pages enter when the first four are on flash.
    send(&mut drive, at(0), 1, Opcode::Write, 0, 8);
    assert_eq!(next(&mut drive).0, at(5) + program);
    // The four pages of the write that are in the buffer now go to four dies at once.
    send(&mut drive, at(5) + program, 2, Opcode::Write, 100, 1);
    let (answered, _) = next(&mut drive);
    assert_eq!(answered, at(5) + program * 2);
}

#[test]
fn flagged_reads_fail_fast_where_they_would_meet_a_flush() {
    let buffer = WriteBufferConfig { low: Ratio::ZERO, ..WriteBufferConfig::new(64) };
    let mut drive = Ssd::new(small(buffer)).unwrap();
    let mut host = Host::new(5, 8, 50);
    host.pl = PlFlag::Predictable;
    let (mut failed, mut served) = (0, 0);
    host.run(&mut drive, 5_000, |_, completion| match completion.status {
        Status::FailedFast => {
            failed += 1;
            assert!(completion.met_collection);
            assert!(completion.busy_remaining > Duration::ZERO);
        }
        Status::Success => {
            served += u32::from(completion.delays.get(Cause::NandRead) > Duration::ZERO);
            assert_eq!(completion.delays.get(Cause::BehindHostWrites), Duration::ZERO);
        }
        Status::Unrecovered => unreachable!("the model loses nothing"),
    });
    assert_eq!(drive.counters().collections, 0, "only flushes are in the way here");
    assert!(failed > 100 && served > 20, "{failed} failed, {served} served");
}

/// Writes and reads at random, one of each in every `gap`, on a drive with a 60 ms window out of
/// every four. Returns the drive, and the number of reads that met a flush in the predictable
/// window.
fn under_windows(mut config: Config, gap: Duration, transfer: u64) -> (Ssd, u32) {
    config.timing.transfer = Duration::from_micros(transfer);
    let mut drive = Ssd::new(config).unwrap();
    drive.precondition(1);
    let schedule = crate::common::windows_of_60_ms();
    drive.set_right(Instant::ZERO, CollectionRight::Windows(schedule));
    let mut rng = Rng::new(9);
    let mut now = Instant::ZERO;
    let mut met = 0;
    for id in 0..20_000 {
        now += gap;
        let lba = rng.below(drive.logical_blocks());
        send(&mut drive, now, id, Opcode::Write, lba, 1);
        // A program that the write started is still running now.
        let soon = now + Duration::from_micros(50);
        drive.handle_deadline(soon);
        let lba = rng.below(drive.logical_blocks());
        let predictable = schedule.busy_until(soon).is_none();
        met += u32::from(predictable && drive.busy_with(soon, Lba(lba)).is_some());
        send(&mut drive, soon, id, Opcode::Read, lba, 1);
        while drive.poll_completion().is_some() {}
    }
    (drive, met)
}

#[test]
fn a_coordinated_flush_stays_within_the_busy_window() {
    for (unit, blocking, transfer) in [
        (CollectionUnit::Line, Blocking::Die, 0),
        (CollectionUnit::Block, Blocking::Die, 5),
        (CollectionUnit::Block, Blocking::Channel, 20),
        (CollectionUnit::Block, Blocking::Controller, 20),
    ] {
        let gap = Duration::from_micros(8_000);
        let blocked = |buffer| {
            let mut config = small(buffer);
            config.collection.unit = unit;
            config.collection.blocking = blocking;
            config
        };
        let (drive, met) = under_windows(blocked(coordinated(256)), gap, transfer);
        let counters = drive.counters();
        assert!(counters.host_programs_pages > 10_000 && counters.collections > 20);
        assert_eq!(counters.forced_flushes_pages, 0, "{unit:?} {blocking:?}");
        assert_eq!(counters.contract_violations, 0, "{unit:?} {blocking:?}");
        assert_eq!(met, 0, "{unit:?} {blocking:?}: reads in the predictable window met work");
        // Without coordination, reads meet flushes there.
        let (_, met) = under_windows(blocked(WriteBufferConfig::new(256)), gap, transfer);
        assert!(met > 20, "{unit:?} {blocking:?}: {met} met");
    }
}

#[test]
fn a_buffer_that_is_too_small_for_a_cycle_says_so() {
    let (drive, met) = under_windows(small(coordinated(16)), Duration::from_micros(8_000), 0);
    let forced = drive.counters().forced_flushes_pages;
    assert!(forced > 1_000, "{forced} forced");
    assert!(met > 100, "{met} met");
}

fn any_drive_with_a_buffer() -> impl Strategy<Value = Config> {
    (any_drive(), (1u32..80, 0usize..2, 1u64..100, 1u32..101, 0u32..100)).prop_map(
        |(mut config, (slots, rule, latency, high, low))| {
            config.ranges.count = 1;
            config.write_buffer = Some(WriteBufferConfig {
                pages: slots,
                latency: Duration::from_micros(latency),
                flush: [FlushRule::WhenFull, FlushRule::InWindow][rule],
                high: Ratio::from_percent(high),
                low: Ratio::from_parts_per_million(high * 100 * low),
                reopens: Ratio::from_percent(if low % 2 == 0 { 100 } else { high }),
            });
            config
        },
    )
}

#[test]
fn with_static_allocation_every_page_stays_on_its_die() {
    let mut config = small(WriteBufferConfig::new(64));
    config.allocation = Allocation::Static;
    config.collection.unit = CollectionUnit::Block;
    let pages_per_die = config.geometry.pages() / u64::from(config.geometry.dies());
    // One die of each channel, then the next of each.
    let order = [0, 2, 1, 3];
    let check = |drive: &Ssd, when: &str| {
        for lba in 0..drive.logical_blocks() {
            if let Some(page) = drive.flash_page(Lba(lba)) {
                let die = u64::from(page) / pages_per_die;
                assert_eq!(die, order[lba as usize % 4], "{when}: page {lba}");
            }
        }
    };
    for prepare in [Ssd::age, |drive: &mut Ssd, seed| _ = drive.precondition(seed)] {
        let mut drive = Ssd::new(config.clone()).unwrap();
        prepare(&mut drive, 3);
        check(&drive, "prepared");
        drive.check_invariants();
        let mut host = Host::new(5, 16, 90);
        host.run(&mut drive, 6_000, |_, _| {});
        host.drain(&mut drive);
        assert!(drive.counters().collections > 10 && drive.counters().host_programs_pages > 1_000);
        check(&drive, "written to");
    }
    config.write_buffer = None;
    assert!(Ssd::new(config).unwrap_err().to_string().contains("set write_buffer"));
}

proptest! {
    #![proptest_config(testing::cases(400))]

    /// Whatever the drive and its buffer: if the drive is not refused, it never gets stuck or
    /// panics, and its maps stay sound, even when it is full and all commands are writes.
    #[test]
    fn a_full_drive_with_a_buffer_never_gets_stuck(
        config in any_drive_with_a_buffer(),
        seed in 0u64..1000,
        windows in 0u64..3,
    ) {
        // Too many refusals fail the test, so that it cannot pass without a drive.
        prop_assume!(config.validate().is_ok());
        let mut drive = worn_out(config, seed, windows);
        come_to_rest(&mut drive);
    }
}
