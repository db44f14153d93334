//! The contract of the drive with its host: failing fast, windows, and never getting stuck.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests stop and speak")]

use crate::common::{Host, any_drive, worn_out};
use ioda_ssd::{Blocking, CollectionUnit, Config, Ssd, presets};
use nvme::{
    ArrayDescription, Cause, CollectionRight, Command, CommandId, Opcode, PlFlag, Status,
    WindowSchedule,
};
use proptest::prelude::*;
use units::{Duration, Instant, Lba};

fn small(unit: CollectionUnit, blocking: Blocking, transfer_micros: u64) -> Config {
    let mut config = presets::preset("femu-artifact").unwrap();
    config.geometry.channels = 2;
    config.geometry.chips_per_channel = 2;
    config.geometry.blocks_per_plane = 64;
    config.geometry.pages_per_block = 32;
    config.timing.transfer = Duration::from_micros(transfer_micros);
    config.collection.unit = unit;
    config.collection.blocking = blocking;
    config
}

/// Latency of one command on an otherwise idle drive.
fn alone(
    drive: &mut Ssd,
    now: Instant,
    opcode: Opcode,
    lba: u64,
    blocks: u32,
) -> (Duration, nvme::Completion) {
    let command = Command { id: CommandId(0), opcode, lba: Lba(lba), blocks, pl: PlFlag::Off };
    drive.handle_command(now, &command);
    loop {
        if let Some(completed) = drive.poll_completion() {
            return (completed.at.since(now), completed.completion);
        }
        drive.handle_deadline(drive.next_deadline());
    }
}

#[test]
fn an_idle_drive_takes_what_its_parts_take() {
    let mut drive = Ssd::new(presets::preset("femu").unwrap()).unwrap();
    let timing = drive.config().timing;
    let page_on_pcie = Duration::from_nanos(1_024);
    let (unmapped, _) = alone(&mut drive, Instant::ZERO, Opcode::Read, 5, 1);
    let later = Instant::ZERO + Duration::from_secs(1);
    let (write, _) = alone(&mut drive, later, Opcode::Write, 5, 1);
    let (mapped, completion) =
        alone(&mut drive, later + Duration::from_secs(1), Opcode::Read, 5, 1);
    assert_eq!(write, page_on_pcie + timing.transfer + timing.program);
    assert_eq!(mapped, timing.read + timing.transfer + page_on_pcie);
    assert_eq!(unmapped, mapped, "a page that was never written costs what a written one costs");
    assert_eq!(completion.delays.total(), mapped);
    assert_eq!(completion.delays.get(Cause::NandRead), timing.read);
}

#[test]
fn dies_work_in_parallel_and_channels_one_page_at_a_time() {
    // TTFLASH Table 1: 8 pages written over 8 channels take as long as one.
    let mut config = presets::preset("ttflash").unwrap();
    (config.rain, config.write_buffer) = (None, None);
    let mut drive = Ssd::new(config).unwrap();
    let timing = drive.config().timing;
    let (eight, _) = alone(&mut drive, Instant::ZERO, Opcode::Write, 0, 8);
    assert_eq!(eight, timing.transfer + timing.program);
    // The ninth shares a channel, but not a die, with the first.
    let later = Instant::ZERO + Duration::from_secs(1);
    let (sixteen, _) = alone(&mut drive, later, Opcode::Write, 8, 16);
    assert_eq!(sixteen, timing.transfer * 2 + timing.program);
}

#[test]
fn reads_fail_fast_only_where_they_would_meet_a_collection() {
    for blocking in [Blocking::Die, Blocking::Channel, Blocking::Controller] {
        let mut drive = Ssd::new(small(CollectionUnit::Block, blocking, 0)).unwrap();
        drive.precondition(1);
        let fail_fast = drive.config().timing.fail_fast;
        let mut host = Host::new(5, 8, 60);
        host.pl = PlFlag::Predictable;
        let (mut failed, mut served) = (0, 0);
        host.run(&mut drive, 30_000, |_, completion| match completion.status {
            Status::FailedFast => {
                failed += 1;
                assert!(completion.busy_remaining > Duration::ZERO);
                assert_eq!(completion.delays.total(), fail_fast);
            }
            Status::Success if completion.delays.get(Cause::NandRead) > Duration::ZERO => {
                served += 1;
                assert!(!completion.met_collection);
                for cause in [
                    Cause::BehindCollectionRead,
                    Cause::BehindCollectionProgram,
                    Cause::BehindCollectionErase,
                ] {
                    let behind = completion.delays.get(cause);
                    assert_eq!(behind, Duration::ZERO, "{blocking:?}: a flagged read waited");
                }
            }
            Status::Success => {}
            Status::Unrecovered => unreachable!("the model loses nothing"),
        });
        assert!(failed > 100 && served > 100, "{blocking:?}: {failed} failed, {served} served");
    }
}

#[test]
fn busy_remaining_time_is_when_the_read_could_be_served() {
    // One read at a time against a busy writer. The prediction must be exact up to commands that
    // arrive meanwhile (none do) and pages that the host invalidates (which only shortens the
    // wait).
    let mut drive = Ssd::new(small(CollectionUnit::Block, Blocking::Die, 0)).unwrap();
    drive.precondition(1);
    let mut checked = 0;
    let mut now = Instant::ZERO;
    for round in 0..3_000u64 {
        let lba = (round * 7_919) % drive.logical_blocks();
        let write = Command {
            id: CommandId(1),
            opcode: Opcode::Write,
            lba: Lba(lba),
            blocks: 1,
            pl: PlFlag::Off,
        };
        drive.handle_command(now, &write);
        let read_lba = Lba((round * 104_729) % drive.logical_blocks());
        if drive.busy_with(now, read_lba).is_some() {
            let read = |id, pl| Command {
                id: CommandId(id),
                opcode: Opcode::Read,
                lba: read_lba,
                blocks: 1,
                pl,
            };
            drive.handle_command(now, &read(2, PlFlag::Predictable));
            drive.handle_command(now, &read(3, PlFlag::Off));
            let mut predicted = None;
            loop {
                drive.handle_deadline(drive.next_deadline());
                let Some(completed) = drive.poll_completion() else { continue };
                match completed.completion.id {
                    CommandId(2) => predicted = Some(completed.completion.busy_remaining),
                    CommandId(3) => {
                        let waited = completed.at.since(now);
                        let expected = predicted.unwrap() + drive.config().timing.read;
                        assert!(waited <= expected, "{waited} but {expected} predicted");
                        assert!(waited + Duration::from_micros(300) > expected);
                        checked += 1;
                        now = completed.at;
                        break;
                    }
                    _ => {}
                }
            }
        }
        while drive.commands_in_flight() > 0 {
            drive.handle_deadline(drive.next_deadline());
            while let Some(completed) = drive.poll_completion() {
                now = now.max(completed.at);
            }
        }
    }
    assert!(checked > 20, "{checked} predictions checked");
}

fn in_busy_window(schedule: &WindowSchedule, began: Instant, ended: Instant) -> bool {
    schedule.busy_until(began).is_some_and(|until| ended <= until)
}

#[test]
fn collections_stay_within_the_busy_window() {
    for (unit, blocking, transfer) in [
        (CollectionUnit::Line, Blocking::Die, 0),
        (CollectionUnit::Block, Blocking::Die, 0),
        (CollectionUnit::Block, Blocking::Die, 5),
        (CollectionUnit::Block, Blocking::Channel, 20),
        (CollectionUnit::Block, Blocking::Controller, 20),
    ] {
        let mut drive = Ssd::new(small(unit, blocking, transfer)).unwrap();
        drive.precondition(1);
        let schedule = crate::common::windows_of_60_ms();
        drive.set_right(Instant::ZERO, CollectionRight::Windows(schedule));
        drive.record_collections();
        // Few enough writes for one window in four to keep up.
        let mut now = Instant::ZERO;
        let mut rng = units::Rng::new(9);
        let gap = Duration::from_micros(8_000);
        for id in 0..20_000 {
            now += gap;
            let lba = Lba(rng.below(drive.logical_blocks()));
            let opcode = if rng.below(2) == 0 { Opcode::Write } else { Opcode::Read };
            let command = Command { id: CommandId(id), opcode, lba, blocks: 1, pl: PlFlag::Off };
            drive.handle_command(now, &command);
            while drive.poll_completion().is_some() {}
        }
        let mut spans = Vec::new();
        drive.take_collections(&mut spans);
        let outside =
            spans.iter().filter(|span| !in_busy_window(&schedule, span.began, span.ended)).count();
        assert!(spans.len() > 20, "{unit:?} {blocking:?}: {} collections", spans.len());
        assert_eq!(outside, 0, "{unit:?} {blocking:?} {transfer}");
        assert_eq!(drive.counters().contract_violations, 0);
    }
}

#[test]
fn a_drive_that_must_collect_outside_its_window_says_so() {
    let mut drive = Ssd::new(small(CollectionUnit::Line, Blocking::Die, 0)).unwrap();
    drive.precondition(1);
    let schedule = WindowSchedule {
        busy_time_window: Duration::from_millis(60),
        array: ArrayDescription { width: 16, parities: 1 },
        guard: Duration::ZERO,
        not_before: Instant::ZERO,
        cycle_start: Instant::ZERO,
    };
    drive.set_right(Instant::ZERO, CollectionRight::Windows(schedule));
    drive.record_collections();
    let mut host = Host::new(6, 64, 100);
    host.run(&mut drive, 50_000, |_, _| {});
    let mut spans = Vec::new();
    drive.take_collections(&mut spans);
    let outside =
        spans.iter().filter(|span| !in_busy_window(&schedule, span.began, span.ended)).count();
    assert!(drive.counters().contract_violations > 0);
    assert!(outside > 0);
    assert!(
        spans
            .iter()
            .all(|span| span.violation || in_busy_window(&schedule, span.began, span.ended))
    );
}

#[test]
fn same_commands_same_completions() {
    let run = || {
        let mut drive = Ssd::new(small(CollectionUnit::Block, Blocking::Die, 5)).unwrap();
        drive.precondition(1);
        let mut log = Vec::new();
        Host::new(8, 32, 40).run(&mut drive, 20_000, |at, completion| {
            log.push((at, completion.id, completion.delays));
        });
        log
    };
    assert!(run() == run());
}

proptest! {
    #![proptest_config(testing::cases(400))]

    /// Whatever the drive: if it is not refused, it never gets stuck or panics, and its maps stay
    /// sound, even when it is full and all commands are writes.
    #[test]
    fn a_full_drive_never_gets_stuck(config in any_drive(), seed in 0u64..1000, windows in 0u64..3) {
        // Too many refusals fail the test, so that it cannot pass without a drive.
        prop_assume!(config.validate().is_ok());
        let drive = worn_out(config, seed, windows);
        prop_assert!(drive.counters().write_amplification() >= 1.0);
    }
}

#[test]
fn drives_compute_their_window_from_the_array() {
    let drive = Ssd::new(presets::preset("femu").unwrap()).unwrap();
    let four = drive.describe_array(ArrayDescription { width: 4, parities: 1 }).longest.unwrap();
    let eight = drive.describe_array(ArrayDescription { width: 8, parities: 1 }).longest.unwrap();
    assert!(eight < four, "a wider array needs shorter windows (IODA §4.3.5)");
}
