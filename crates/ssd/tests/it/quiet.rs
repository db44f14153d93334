//! A drive that does all its work in its windows: the reads that it fails, their busy remaining
//! times, and its behaviour when its buffer or its free space is too small for the load.

#![allow(clippy::unwrap_used, reason = "tests stop")]

use crate::common::Host;
use ioda_ssd::{
    CollectionUnit, Config, FlushRule, PreemptionScope, Promise, PulseConfig, SchedulingConfig,
    Ssd, Suspendable, SuspensionConfig, Verdict, WriteBufferConfig, presets,
};
use nvme::{
    ArrayDescription, CollectionRight, Command, CommandId, Completion, Opcode, PlFlag, Status,
    WindowSchedule, WindowScope,
};
use units::{Duration, Instant, Lba, Ratio, Rng};

/// A drive with `channels` channels and as many dies on each, where reads may interrupt a program
/// `suspensions` times.
fn config(channels: u32, suspensions: u32) -> Config {
    let mut config = presets::preset("femu-artifact").unwrap();
    config.geometry.channels = channels;
    config.geometry.chips_per_channel = channels;
    config.geometry.blocks_per_plane = 64;
    config.geometry.pages_per_block = 32;
    config.collection.unit = CollectionUnit::Block;
    config.scheduling = SchedulingConfig {
        read_priority: true,
        preemptive_collection: true,
        paced_writes: false,
        turns: None,
        in_order_when_full: false,
        preemption_scope: PreemptionScope::Die,
        suspension: (suspensions > 0).then_some(SuspensionConfig {
            what: Suspendable::Everything,
            program: micros(10),
            erase: micros(20),
            most: suspensions,
            pulses: PulseConfig::NONE,
        }),
    };
    config
}

/// Windows of `window_millis` milliseconds, of the first of four drives.
fn schedule(window_millis: u64) -> WindowSchedule {
    WindowSchedule {
        array: ArrayDescription { width: 4, parities: 1 },
        busy_time_window: Duration::from_millis(window_millis),
        cycle_start: Instant::ZERO,
        not_before: Instant::ZERO,
        guard: Duration::ZERO,
    }
}

/// A drive whose next busy window opens after a second.
fn before_its_window(config: Config, scope: WindowScope) -> Ssd {
    let mut drive = Ssd::new(config).unwrap();
    drive.set_window_scope(scope);
    let windows = schedule(1_000);
    drive.set_right(Instant::ZERO, CollectionRight::Windows(windows.delayed(1)));
    drive
}

const fn micros(count: u64) -> Duration {
    Duration::from_micros(count)
}

fn send(drive: &mut Ssd, now: Instant, id: u32, opcode: Opcode, lba: u64, pl: PlFlag) {
    drive.handle_command(now, &Command { id: CommandId(id), opcode, lba: Lba(lba), blocks: 1, pl });
}

/// Time and completion of a command.
fn completion_of(drive: &mut Ssd, id: u32) -> (Instant, Completion) {
    loop {
        drive.handle_deadline(drive.next_deadline());
        while let Some(completed) = drive.poll_completion() {
            if completed.completion.id == CommandId(id) {
                return (completed.at, completed.completion);
            }
        }
    }
}

/// Latencies and completions of reads that arrive 50, 100, 150 and so on µs after a program of 200
/// µs has begun on their die.
fn reads_under_a_program(suspensions: u32, pl: PlFlag, count: u32) -> Vec<(Duration, Completion)> {
    let mut drive = before_its_window(config(1, suspensions), WindowScope::AllWork);
    send(&mut drive, Instant::ZERO, 0, Opcode::Write, 0, PlFlag::Off);
    let reads = (1..=count).map(|read| {
        let arrives = Instant::ZERO + micros(50) * u64::from(read);
        while drive.next_deadline() < arrives {
            drive.handle_deadline(drive.next_deadline());
        }
        send(&mut drive, arrives, read, Opcode::Read, 7, pl);
        let (at, completion) = completion_of(&mut drive, read);
        drive.check_invariants();
        (at.since(arrives), completion)
    });
    reads.collect()
}

#[test]
fn a_flagged_read_is_told_how_long_it_takes_to_interrupt_a_program() {
    let read = |suspensions| reads_under_a_program(suspensions, PlFlag::Predictable, 1)[0].1;
    let (interrupted, waiting) = (read(3), read(0));
    assert_eq!((interrupted.status, waiting.status), (Status::FailedFast, Status::FailedFast));
    assert_eq!(interrupted.busy_remaining, micros(10));
    assert_eq!(waiting.busy_remaining, micros(150), "the rest of the program");
}

#[test]
fn a_patient_read_waits_for_an_interruption_and_not_for_a_program() {
    let (took, completion) = reads_under_a_program(3, PlFlag::Patient, 1)[0];
    assert_eq!(completion.status, Status::Success);
    assert_eq!(took, micros(10 + 40));
    let (took, completion) = reads_under_a_program(0, PlFlag::Patient, 1)[0];
    assert_eq!(completion.status, Status::FailedFast);
    assert_eq!(completion.busy_remaining, micros(150));
    assert_eq!(took, micros(1), "it is told at once");
}

#[test]
fn a_patient_read_fails_fast_when_a_program_cannot_be_interrupted_any_more() {
    let statuses: Vec<_> = reads_under_a_program(2, PlFlag::Patient, 3)
        .into_iter()
        .map(|(_, completion)| completion.status)
        .collect();
    assert_eq!(statuses, [Status::Success, Status::Success, Status::FailedFast]);
}

/// Latency and completion of a read without the flag that arrives `after` a buffer began to be
/// flushed to its die, whose programs are suspended between pulses. The read is the second of two
/// that arrive 30 µs apart.
fn read_beside_a_flush(config: &Config, after: Duration) -> (Duration, Completion) {
    let mut drive = before_its_window(config.clone(), WindowScope::AllWork);
    for page in 0..96 {
        send(&mut drive, Instant::ZERO, page, Opcode::Write, u64::from(page), PlFlag::Off);
    }
    let first = Instant::ZERO + after;
    let second = first + micros(30);
    for (read, arrives) in [(1_000, first), (1_001, second)] {
        while drive.next_deadline() < arrives {
            drive.handle_deadline(drive.next_deadline());
        }
        send(&mut drive, arrives, read, Opcode::Read, u64::from(read), PlFlag::Patient);
    }
    let (at, completion) = completion_of(&mut drive, 1_001);
    drive.check_invariants();
    (at.since(second), completion)
}

#[test]
fn a_patient_read_waits_no_longer_than_a_read_takes_for_data_and_for_the_end_of_a_pulse() {
    let mut config = presets::preset("pe8110-960").unwrap();
    config.geometry.channels = 1;
    config.geometry.chips_per_channel = 1;
    config.write_buffer.as_mut().unwrap().pages = 48;
    let read = config.longest_read();
    // The read waits for flash as long as a read takes, and for the other read.
    let most = read * 3;
    let (mut done, mut failed) = (0, 0);
    for after in (0..2_500).step_by(7) {
        let (took, completion) = read_beside_a_flush(&config, micros(after));
        match completion.status {
            Status::Success => done += 1,
            _ => failed += 1,
        }
        assert!(
            took <= most,
            "{after} µs after the beginning it took {took:?}, more than {most:?}"
        );
    }
    assert!(done > 20 && failed > 20, "{done} were read and {failed} failed");
}

#[test]
fn an_ordinary_read_is_never_failed() {
    for suspensions in [0, 1, 3] {
        for (_, completion) in reads_under_a_program(suspensions, PlFlag::Off, 3) {
            assert_eq!(completion.status, Status::Success);
        }
    }
}

/// Writes page by page. Returns the number of pages forced out of the buffer after each write.
fn forced_by_writes(scope: WindowScope, slots: u32, writes: u32) -> Vec<u64> {
    let mut config = config(4, 0);
    config.write_buffer =
        Some(WriteBufferConfig { flush: FlushRule::InWindow, ..WriteBufferConfig::new(slots) });
    let mut drive = before_its_window(config, scope);
    let forced = (0..writes).map(|write| {
        let now = Instant::ZERO + micros(20) * u64::from(write);
        while drive.next_deadline() < now {
            drive.handle_deadline(drive.next_deadline());
        }
        send(&mut drive, now, write, Opcode::Write, u64::from(write), PlFlag::Off);
        let (at, _) = completion_of(&mut drive, write);
        assert_eq!(at.since(now), micros(5), "no write waits for a slot");
        drive.check_invariants();
        drive.counters().forced_flushes_pages
    });
    forced.collect()
}

#[test]
fn a_buffer_that_runs_full_between_windows_is_emptied_before_writes_wait() {
    let forced = forced_by_writes(WindowScope::AllWork, 256, 1_000);
    assert_eq!(forced[223], 0, "up to seven eighths nothing leaves it");
    assert!(forced[255] > 0, "then some of it does");
    assert!(forced[999] >= 1_000 - 256, "{} at the end", forced[999]);
}

/// Counters of a drive without a window whose writes need more than its free space.
fn without_a_window(scope: WindowScope) -> (u64, u64) {
    let mut config = config(4, 3);
    config.write_buffer = Some(WriteBufferConfig::new(64));
    let mut drive = before_its_window(config, scope);
    drive.age(1);
    let mut host = Host::new(1, 4, 100);
    host.run(&mut drive, 4_000, |_, _| {});
    drive.check_invariants();
    let counters = drive.counters();
    (counters.stalled_writes_pages, counters.contract_violations)
}

#[test]
fn a_drive_that_runs_out_of_space_collects_before_writes_have_no_room() {
    let (stalls, violations) = without_a_window(WindowScope::AllWork);
    assert_eq!(stalls, 0);
    assert!(violations > 10, "{violations}: each is counted");
    let (stalls, _) = without_a_window(WindowScope::Collections);
    assert!(stalls > 0, "collections alone wait until there is no room");
}

#[test]
fn a_flush_in_windows_takes_from_what_they_can_give_back() {
    let config = presets::unfitted("7450-960").unwrap();
    let mut seen = 0;
    // In a window of 100 ms no collection fits beside the flush.
    for millis in 101..200 {
        let outlook = |load_bytes_per_second| {
            config.outlook(Promise {
                array: ArrayDescription { width: 4, parities: 1 },
                guard: Duration::ZERO,
                load_bytes_per_second,
                window: Some(Duration::from_millis(millis)),
            })
        };
        let some = outlook(20e6);
        assert_eq!((some.verdict, some.quiet.verdict), (Verdict::Holds, Verdict::Holds));
        let (alone, with_flush) =
            (some.sustainable_bytes_per_second, some.quiet.sustainable_bytes_per_second);
        assert!(with_flush <= alone && with_flush > 0.0, "{with_flush} of {alone}");
        // Three windows of the other drives, and the eighth of the buffer that is kept free.
        let cycle = 3.0 * millis as f64 / 1e3;
        assert!((some.quiet.buffer_bytes * 7.0 / 8.0 - 20e6 * cycle).abs() < 1.0);
        // The rest of a window after the last collection may be enough for the flush.
        if with_flush < alone * 0.999 {
            let between = outlook((with_flush + alone) / 2.0);
            assert_eq!(between.verdict, Verdict::Holds);
            let quiet = between.quiet;
            assert!(matches!(quiet.verdict, Verdict::Bursts { .. }), "{quiet:?}");
            seen += 1;
        }
    }
    assert!(seen > 20, "{seen}");
}

/// Write amplification of the last of three drive writes at random, on flash that is collected by
/// lines of blocks.
fn write_amplification_in_the_end(windows: bool) -> f64 {
    let mut config = presets::unfitted("7450-960").unwrap();
    config.geometry.pages_per_block = 384;
    config.over_provisioning = Ratio::from_percent(24);
    let mut drive = Ssd::new(config).unwrap();
    drive.age(1);
    if windows {
        drive.set_right(Instant::ZERO, CollectionRight::Windows(schedule(130)));
        drive.set_window_scope(WindowScope::AllWork);
    }
    let pages = drive.logical_blocks();
    let mut rng = Rng::new(3);
    let mut before = (0, 0);
    for write in 0..3 * pages / 6 {
        let now = Instant::ZERO + micros(740) * write;
        while drive.next_deadline() < now {
            drive.handle_deadline(drive.next_deadline());
            while drive.poll_completion().is_some() {}
        }
        let (id, lba) = (CommandId(write as u32), Lba(rng.below(pages - 6)));
        let pl = PlFlag::Off;
        drive.handle_command(now, &Command { id, opcode: Opcode::Write, lba, blocks: 6, pl });
        if write == 2 * pages / 6 {
            let counters = drive.counters();
            before = (counters.host_programs_pages, counters.collection_programs_pages);
        }
    }
    drive.check_invariants();
    let counters = drive.counters();
    assert_eq!(counters.contract_violations, 0);
    let host = counters.host_programs_pages - before.0;
    1.0 + (counters.collection_programs_pages - before.1) as f64 / host as f64
}

/// The dies share pages that are flushed in windows evenly. Otherwise lines of blocks over all dies
/// would have room where nothing is written.
#[test]
fn windows_cost_no_more_copies_than_collections_when_due_however_long_it_goes_on() {
    let (base, quiet) =
        (write_amplification_in_the_end(false), write_amplification_in_the_end(true));
    assert!(quiet < 1.04 * base, "{quiet} and {base}");
}
