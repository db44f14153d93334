//! Overtaking on a die: reads, the host before a collection, suspension.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests stop and speak")]

use crate::common::{Host, any_drive};
use ioda_ssd::{
    Arbitration, Blocking, CollectionTrigger, CollectionUnit, Config, Event, PageOperation,
    PreemptionScope, PulseConfig, QueueConfig, SchedulingConfig, Ssd, Suspendable,
    SuspensionConfig, WriteBufferConfig, presets,
};
use nvme::{
    ArrayDescription, Blocked, Cause, CollectionRight, Command, CommandId, Opcode, PlFlag,
    WindowSchedule,
};
use proptest::prelude::*;
use units::{Duration, Instant, Lba, Ratio, Recorded, Rng};

const SUSPENSION: SuspensionConfig = SuspensionConfig {
    what: Suspendable::Everything,
    program: Duration::from_micros(10),
    erase: Duration::from_micros(100),
    most: 3,
    pulses: PulseConfig::NONE,
};

fn small(scheduling: SchedulingConfig) -> Config {
    let mut config = presets::preset("femu-artifact").unwrap();
    config.geometry.channels = 1;
    config.geometry.chips_per_channel = 1;
    config.geometry.blocks_per_plane = 64;
    config.geometry.pages_per_block = 32;
    config.collection.unit = CollectionUnit::Block;
    config.scheduling = scheduling;
    config
}

fn with(read_priority: bool, preemptive: bool, suspension: bool) -> SchedulingConfig {
    SchedulingConfig {
        read_priority,
        preemptive_collection: preemptive,
        paced_writes: false,
        turns: None,
        in_order_when_full: false,
        preemption_scope: PreemptionScope::Die,
        suspension: suspension.then_some(SUSPENSION),
    }
}

fn send(drive: &mut Ssd, now: Instant, id: u32, opcode: Opcode) {
    let command =
        Command { id: CommandId(id), opcode, lba: Lba(u64::from(id)), blocks: 1, pl: PlFlag::Off };
    drive.handle_command(now, &command);
}

/// Time at which the command `id` completes.
fn completion_of(drive: &mut Ssd, id: u32) -> Instant {
    loop {
        drive.handle_deadline(drive.next_deadline());
        while let Some(completed) = drive.poll_completion() {
            if completed.completion.id == CommandId(id) {
                return completed.at;
            }
        }
    }
}

/// Latency of a read that arrives 50 µs after five writes.
fn read_among_writes(scheduling: SchedulingConfig) -> (Duration, Ssd) {
    let mut drive = Ssd::new(small(scheduling)).unwrap();
    (0..5).for_each(|id| send(&mut drive, Instant::ZERO, id, Opcode::Write));
    let arrived = Instant::ZERO + Duration::from_micros(50);
    send(&mut drive, arrived, 9, Opcode::Read);
    let done = completion_of(&mut drive, 9);
    (done.since(arrived), drive)
}

#[test]
fn reads_overtake_writes_and_interrupt_them() {
    let (first_come, _) = read_among_writes(with(false, false, false));
    assert_eq!(first_come, Duration::from_micros(5 * 200 - 50 + 40));
    let (overtaking, _) = read_among_writes(with(true, false, false));
    assert_eq!(overtaking, Duration::from_micros(150 + 40), "the rest of one program");
    let (suspending, mut drive) = read_among_writes(with(true, false, true));
    assert_eq!(suspending, Duration::from_micros(10 + 40), "only the suspension");
    // The interrupted program is late by the read and both costs.
    assert_eq!(
        completion_of(&mut drive, 0),
        Instant::ZERO + Duration::from_micros(200 + 10 + 40 + 10)
    );
    assert_eq!(drive.counters().suspensions, 1);
}

#[test]
fn a_program_is_suspended_at_the_end_of_a_pulse() {
    let suspending = |pulses| SchedulingConfig {
        suspension: Some(SuspensionConfig { pulses, ..SUSPENSION }),
        ..with(true, false, true)
    };
    let micros = Duration::from_micros;
    // Four pulses of 50 us; the read comes at the end of the first, or 10 us before it.
    let pulses = PulseConfig { program: micros(50), ..PulseConfig::NONE };
    assert_eq!(read_among_writes(suspending(pulses)).0, micros(10 + 40));
    let pulses = PulseConfig { program: micros(70), ..PulseConfig::NONE };
    // Pulses are counted back from the end: they end at 60, 130 and 200 us.
    assert_eq!(read_among_writes(suspending(pulses)).0, micros(10 + 10 + 40));
    // A pulse that is as long as the program leaves nothing to suspend.
    let pulses = PulseConfig { program: micros(200), ..PulseConfig::NONE };
    let (late, drive) = read_among_writes(suspending(pulses));
    assert_eq!((late, drive.counters().suspensions), (micros(150 + 40), 0));
}

#[test]
fn a_die_goes_on_for_a_while_between_two_suspensions() {
    let second_read = |apart| {
        let pulses = PulseConfig { apart: Duration::from_micros(apart), ..PulseConfig::NONE };
        let suspension = Some(SuspensionConfig { pulses, ..SUSPENSION });
        let mut drive =
            Ssd::new(small(SchedulingConfig { suspension, ..with(true, false, true) })).unwrap();
        send(&mut drive, Instant::ZERO, 0, Opcode::Write);
        let arrive = |drive: &mut Ssd, id, micros| {
            let at = Instant::ZERO + Duration::from_micros(micros);
            send(drive, at, id, Opcode::Read);
            completion_of(drive, id).since(at)
        };
        let first = arrive(&mut drive, 8, 50);
        assert_eq!(first, Duration::from_micros(10 + 40), "nothing was suspended before");
        arrive(&mut drive, 9, 105)
    };
    // The program continues at 100 us, and takes 10 us to resume.
    assert_eq!(second_read(0), Duration::from_micros(10 + 40));
    assert_eq!(second_read(60), Duration::from_micros(55 + 10 + 40));
}

#[test]
fn if_only_collections_are_suspended_the_host_is_served_in_order() {
    let of_collections =
        SuspensionConfig { what: Suspendable::Collection, most: 1_000, ..SUSPENSION };
    let scheduling =
        SchedulingConfig { suspension: Some(of_collections), ..with(false, true, false) };
    let (in_order, drive) = read_among_writes(scheduling);
    assert_eq!(in_order, Duration::from_micros(5 * 200 - 50 + 40));
    assert_eq!(drive.counters().suspensions, 0);
    let (preempted, _) = slowest_read(with(false, true, false));
    let (suspended, drive) = slowest_read(scheduling);
    assert!(drive.counters().suspensions > 100);
    // A read waits for earlier commands, a write and reads, and for a suspension; never for an
    // erase.
    assert!(preempted >= Duration::from_millis(1), "{preempted}: it met an erase");
    assert!(suspended <= Duration::from_micros(240 + 100 + 200 + 3 * 40), "{suspended}");
}

#[test]
fn a_collection_may_stand_back_for_its_whole_channel() {
    for (scope, stands_back) in [(PreemptionScope::Die, false), (PreemptionScope::Channel, true)] {
        let (mut drive, now) = due(Blocking::Die, CollectionTrigger::FreeSpace, |config| {
            config.scheduling =
                SchedulingConfig { preemption_scope: scope, ..with(false, true, false) };
            config.collection.hard = Ratio::from_percent(2);
        });
        // Reads of the die that does not collect; one of them is always in service.
        let mut collecting = drive.clone();
        collecting.set_right(now, CollectionRight::Always);
        let mut pages: Vec<Lba> = (0..drive.logical_blocks()).map(Lba).collect();
        pages.retain(|&lba| !collecting.is_collecting_at(lba));
        for (id, &lba) in (0..400).zip(&pages) {
            let command = Command {
                id: CommandId(id),
                opcode: Opcode::Read,
                lba,
                blocks: 1,
                pl: PlFlag::Off,
            };
            drive.handle_command(now, &command);
        }
        drive.set_right(now, CollectionRight::Always);
        let busy = now + Duration::from_micros(60) * 390;
        while drive.next_deadline() < busy {
            drive.handle_deadline(drive.next_deadline());
            drive.check_invariants();
        }
        let copied = drive.counters().collection_programs_pages;
        assert_eq!(copied == 0, stands_back, "{scope:?}: {copied} pages");
        // After the reads, the collection continues.
        while drive.counters().erases == 0 {
            drive.handle_deadline(drive.next_deadline());
        }
        drive.check_invariants();
        assert!(drive.poll_completion().is_some(), "{scope:?}");
    }
}

/// A drive with two chips on a channel after long use: collections are due, and not allowed yet.
fn due(
    blocking: Blocking,
    trigger: CollectionTrigger,
    change: impl FnOnce(&mut Config),
) -> (Ssd, Instant) {
    let mut config = small(SchedulingConfig::FIRST_COME);
    config.geometry.chips_per_channel = 2;
    change(&mut config);
    config.timing.transfer = Duration::from_micros(20);
    (config.collection.blocking, config.collection.trigger) = (blocking, trigger);
    let mut drive = Ssd::new(config).unwrap();
    drive.age(1);
    drive.set_right(Instant::ZERO, CollectionRight::Lease { until: Instant::ZERO });
    let mut host = Host::new(1, 1, 100);
    while !drive.status().must_collect {
        host.run(&mut drive, 1, |_, _| {});
    }
    host.drain(&mut drive);
    (drive, host.now)
}

#[test]
fn an_erase_that_needs_no_channel_holds_its_die_only() {
    for (blocking, all) in [(Blocking::Channel, true), (Blocking::ChannelForCopies, false)] {
        let (drive, now) = due(blocking, CollectionTrigger::FreeSpace, |_| {});
        let mut drive = drive.observed::<Recorded>();
        drive.set_right(now, CollectionRight::Always);
        let held = |drive: &Ssd<Recorded>| {
            let held = (0..drive.logical_blocks()).filter(|&lba| drive.is_collecting_at(Lba(lba)));
            held.count() as u64
        };
        assert_eq!(held(&drive), drive.logical_blocks(), "both dies while pages are copied");
        let mut erases = false;
        while !erases {
            drive.handle_deadline(drive.next_deadline());
            drive.check_invariants();
            drive.drain_events(|_, event| {
                erases |= matches!(event, Event::Began { operation: PageOperation::Erase, .. });
            });
        }
        let held = held(&drive);
        assert!(held > 0, "the die that erases");
        assert_eq!(held == drive.logical_blocks(), all, "{blocking:?}");
    }
}

/// Duration of each erase of a die that is overwritten at random, with one operation for
/// `blocks_per_erase` blocks.
fn lengths_of_erases(blocks_per_erase: u32) -> Vec<Duration> {
    let mut config = small(with(false, false, false));
    config.timing.blocks_per_erase = blocks_per_erase;
    let mut drive = Ssd::new(config).unwrap().observed::<Recorded>();
    drive.age(3);
    let mut rng = Rng::stream(5, "writes");
    let (mut lengths, mut began) = (Vec::new(), Instant::ZERO);
    let mut now = Instant::ZERO;
    for id in 0..2_000 {
        let lba = Lba(rng.below(drive.logical_blocks()));
        let (opcode, pl) = (Opcode::Write, PlFlag::Off);
        drive.handle_command(now, &Command { id: CommandId(id), opcode, lba, blocks: 1, pl });
        while drive.poll_completion().is_none() {
            now = drive.next_deadline();
            drive.handle_deadline(now);
            drive.drain_events(|at, event| match event {
                Event::Began { operation: PageOperation::Erase, .. } => began = at,
                Event::Ended { operation: PageOperation::Erase, .. } => {
                    lengths.push(at.since(began));
                }
                _ => {}
            });
        }
    }
    lengths
}

#[test]
fn one_operation_erases_several_blocks_in_the_time_of_all() {
    let each = lengths_of_erases(1);
    let erase = each[0];
    assert!(erase > Duration::ZERO && each.iter().all(|length| *length == erase));
    let together = lengths_of_erases(4);
    assert!(together.len() > 20, "{} erases", together.len());
    for (number, length) in (1..).zip(&together) {
        let expected = if number % 4 == 0 { erase * 4 } else { Duration::ZERO };
        assert_eq!(*length, expected, "erase {number}");
    }
}

#[test]
fn a_drive_that_collects_with_commands_only_waits_for_one() {
    for (trigger, at_once) in
        [(CollectionTrigger::FreeSpace, true), (CollectionTrigger::HostCommand, false)]
    {
        let (mut drive, now) = due(Blocking::Die, trigger, |_| {});
        let schedule = WindowSchedule {
            array: ArrayDescription { width: 2, parities: 1 },
            busy_time_window: Duration::from_secs(1),
            cycle_start: now + Duration::from_millis(1),
            not_before: now,
            guard: Duration::ZERO,
        };
        drive.set_right(now, CollectionRight::Windows(schedule));
        let open = now + Duration::from_millis(2);
        drive.handle_deadline(open);
        assert_eq!(drive.status().collecting, at_once, "{trigger:?}: the window is open");
        send(&mut drive, open, 3, Opcode::Read);
        assert!(drive.status().collecting, "{trigger:?}");
        drive.check_invariants();
    }
}

#[test]
fn commands_beyond_the_depth_of_the_queue_wait_for_a_slot() {
    let mut config = small(SchedulingConfig::FIRST_COME);
    config.geometry.chips_per_channel = 4;
    config.queue = Some(QueueConfig { depth: 2, arbitration: Arbitration::OneQueue });
    let mut drive = Ssd::new(config.clone()).unwrap();
    // Four pages on four dies, which are read in parallel.
    (0..4).for_each(|id| send(&mut drive, Instant::ZERO, id, Opcode::Write));
    (0..4).for_each(|id| _ = completion_of(&mut drive, id));
    let start = Instant::ZERO + Duration::from_millis(10);
    (0..4).for_each(|id| send(&mut drive, start, id, Opcode::Read));
    let mut ends = Vec::new();
    while drive.commands_in_flight() > 0 {
        drive.check_invariants();
        drive.handle_deadline(drive.next_deadline());
        while let Some(completed) = drive.poll_completion() {
            let waited = completed.completion.delays.get(Cause::HeldBack);
            let total = completed.completion.delays.total();
            assert_eq!(total, completed.at.since(start));
            ends.push((
                completed.completion.id.0,
                total.as_nanos() / 1_000,
                waited.as_nanos() / 1_000,
            ));
        }
    }
    assert_eq!(ends, [(0, 40, 0), (1, 40, 0), (2, 80, 40), (3, 80, 40)]);
    config.queue = Some(QueueConfig { depth: 0, arbitration: Arbitration::OneQueue });
    assert!(Ssd::new(config).unwrap_err().to_string().contains("queue_depth is 0"));
}

#[test]
fn submitters_take_turns_for_slots() {
    let mut config = small(SchedulingConfig::FIRST_COME);
    config.queue = Some(QueueConfig { depth: 1, arbitration: Arbitration::Submitters });
    let mut drive = Ssd::new(config).unwrap();
    // Three reads of submitter 0 arrive before two of submitter 9.
    for (id, submitter) in [(0, 0), (1, 0), (2, 0), (3, 9), (4, 9)] {
        let (id, pl) = (CommandId(id), PlFlag::Off);
        let command = Command { id, opcode: Opcode::Read, lba: Lba(0), blocks: 1, pl };
        drive.handle_command_from(Instant::ZERO, submitter, &command);
    }
    let mut order = Vec::new();
    while drive.commands_in_flight() > 0 {
        drive.check_invariants();
        drive.handle_deadline(drive.next_deadline());
        while let Some(completed) = drive.poll_completion() {
            order.push(completed.completion.id.0);
        }
    }
    assert_eq!(order, [0, 1, 3, 2, 4]);
}

#[test]
fn firmware_takes_in_writes_one_after_the_other() {
    let mut config = small(SchedulingConfig::FIRST_COME);
    config.write_buffer = Some(WriteBufferConfig::new(16));
    config.timing.write_command = Duration::from_micros(7);
    let latency = config.write_buffer.unwrap().latency.as_nanos();
    let mut drive = Ssd::new(config).unwrap();
    (0..3).for_each(|id| send(&mut drive, Instant::ZERO, id, Opcode::Write));
    send(&mut drive, Instant::ZERO, 3, Opcode::Read);
    let mut written = Vec::new();
    while drive.commands_in_flight() > 0 {
        drive.handle_deadline(drive.next_deadline());
        while let Some(completed) = drive.poll_completion() {
            if completed.completion.id.0 < 3 {
                written.push((completed.at.as_nanos() - latency) / 1_000);
            }
        }
    }
    assert_eq!(written, [7, 14, 21]);
}

#[test]
fn what_waits_for_a_slot_that_a_collection_holds_up_is_blocked() {
    let (mut drive, now) = due(Blocking::Die, CollectionTrigger::FreeSpace, |config| {
        config.queue = Some(QueueConfig { depth: 1, arbitration: Arbitration::OneQueue });
    });
    drive.set_right(now, CollectionRight::Always);
    let find = |drive: &Ssd, collecting: bool| {
        let mut pages = (0..drive.logical_blocks()).map(Lba);
        pages.find(|&lba| drive.is_collecting_at(lba) == collecting).unwrap()
    };
    let reads = [find(&drive, true), find(&drive, false)];
    for (id, lba) in (0..).zip(reads) {
        let command =
            Command { id: CommandId(id), opcode: Opcode::Read, lba, blocks: 1, pl: PlFlag::Off };
        drive.handle_command(now, &command);
    }
    let mut blocked = Vec::new();
    while drive.commands_in_flight() > 0 {
        drive.handle_deadline(drive.next_deadline());
        while let Some(completed) = drive.poll_completion() {
            blocked.push(completed.completion.blocked());
        }
    }
    assert_eq!(blocked, [Blocked::Collection, Blocked::Queue]);
}

#[test]
fn reads_that_come_in_order_stay_in_order() {
    let mut drive = Ssd::new(small(with(true, false, false))).unwrap();
    (0..3).for_each(|id| send(&mut drive, Instant::ZERO, id, Opcode::Write));
    (10..14).for_each(|id| send(&mut drive, Instant::ZERO, id, Opcode::Read));
    let ends: Vec<Instant> = (10..14).map(|id| completion_of(&mut drive, id)).collect();
    let expected = (1..5).map(|n| Instant::ZERO + Duration::from_micros(200 + 40 * n));
    assert!(ends.into_iter().eq(expected));
}

/// Commands at even intervals of 500 µs, one in four a write, on a drive that collects. Returns the
/// slowest read.
fn slowest_read(scheduling: SchedulingConfig) -> (Duration, Ssd) {
    let mut drive = Ssd::new(small(scheduling)).unwrap();
    drive.age(3);
    let mut rng = Rng::new(5);
    let mut slowest = Duration::ZERO;
    for id in 0..8_000 {
        let now = Instant::ZERO + Duration::from_micros(500) * u64::from(id);
        let opcode = if id % 4 == 0 { Opcode::Write } else { Opcode::Read };
        let lba = Lba(rng.below(drive.logical_blocks()));
        let command = Command { id: CommandId(id), opcode, lba, blocks: 1, pl: PlFlag::Off };
        drive.handle_command(now, &command);
        while let Some(completed) = drive.poll_completion() {
            slowest = slowest.max(completed.completion.delays.total());
        }
    }
    (slowest, drive)
}

#[test]
fn a_preempted_collection_costs_a_read_one_page_operation() {
    let (blocked, drive) = slowest_read(with(true, false, false));
    assert!(drive.counters().collections > 20);
    let collection = drive.config().unit_time(0.3);
    assert!(blocked > collection, "{blocked}: a read waited for a whole collection");
    let (preempted, drive) = slowest_read(with(true, true, false));
    assert!(drive.counters().collections > 20);
    let erase = drive.config().timing.erase;
    // Several reads may arrive during an erase; the last of them waits for the others.
    assert!(preempted <= erase + Duration::from_micros(40 * 4), "{preempted}: at most the erase");
    let (suspended, drive) = slowest_read(with(true, true, true));
    assert!(drive.counters().suspensions > 100);
    // After three suspensions an erase is not interrupted again, so the bound is not the
    // suspension.
    assert!(suspended < preempted, "{suspended} against {preempted}");
}

#[test]
fn at_the_hard_watermark_nothing_gives_way() {
    // A host that writes in parallel keeps the drive at its hard watermark.
    let mut drive = Ssd::new(small(with(true, true, true))).unwrap();
    drive.age(3);
    let mut host = Host::new(7, 64, 95);
    let mut slowest = Duration::ZERO;
    host.run(&mut drive, 20_000, |_, completion| {
        slowest = slowest.max(completion.delays.total());
    });
    assert!(drive.counters().stalled_writes_pages > 100);
    let collection = drive.config().unit_time(0.4);
    assert!(slowest > collection, "{slowest}: a read waited for a whole collection");
}

#[test]
fn no_operation_is_suspended_more_often_than_allowed() {
    let mut drive = Ssd::new(small(with(true, false, true))).unwrap();
    send(&mut drive, Instant::ZERO, 0, Opcode::Write);
    // A read every 60 µs, as long as one read takes: without a limit the program would never end.
    let mut done = None;
    for id in 1..200 {
        let now = Instant::ZERO + Duration::from_micros(60) * u64::from(id);
        drive.handle_deadline(now);
        while let Some(completed) = drive.poll_completion() {
            if completed.completion.id == CommandId(0) {
                done = Some(completed.at);
            }
        }
        send(&mut drive, now, id, Opcode::Read);
    }
    assert_eq!(drive.counters().suspensions, 3);
    assert_eq!(done.unwrap(), Instant::ZERO + Duration::from_micros(200 + 3 * (10 + 40 + 10)));
}

#[test]
fn drives_that_cannot_do_it_are_refused() {
    let mut config = small(with(false, true, false));
    config.collection.blocking = ioda_ssd::Blocking::Channel;
    assert!(config.validate().unwrap_err().to_string().contains("set blocking to die"));
    let config = small(with(false, false, true));
    assert!(config.validate().unwrap_err().to_string().contains("read_priority"));
}

#[test]
fn copyback_leaves_the_channel_to_the_other_dies() {
    // TTFLASH Figure 3: effect of a collection on one die on reads of the other dies of its
    // channel.
    let waits = |blocking, copyback| {
        let mut config = small(with(false, false, false));
        config.geometry.chips_per_channel = 8;
        config.timing.transfer = Duration::from_micros(100);
        config.collection.blocking = blocking;
        config.collection.copyback = copyback;
        let mut drive = Ssd::new(config).unwrap();
        drive.age(3);
        let mut host = Host::new(7, 1, 20);
        // Waits for collections of all reads, and of reads that met collections only on the
        // channel.
        let (mut all, mut channel) = (Duration::ZERO, Duration::ZERO);
        host.run(&mut drive, 20_000, |_, completion| {
            let delays = &completion.delays;
            let (read, program, erase) = (
                delays.get(Cause::BehindCollectionRead),
                delays.get(Cause::BehindCollectionProgram),
                delays.get(Cause::BehindCollectionErase),
            );
            all += read + program + erase;
            if program.is_zero() && erase.is_zero() {
                channel += read;
            }
        });
        println!("{blocking:?}, copyback {copyback}: {all}, on the channel {channel}");
        (all, channel)
    };
    let (_, held) = waits(ioda_ssd::Blocking::Channel, false);
    let (die_blocking, shared) = waits(ioda_ssd::Blocking::Die, false);
    let (plane_blocking, alone) = waits(ioda_ssd::Blocking::Die, true);
    assert!(held.is_zero(), "whoever waits, waits for the collection itself");
    assert!(shared > Duration::from_millis(50), "copies on the channel delay other dies: {shared}");
    assert!(alone.is_zero(), "copies within the die do not: {alone}");
    assert!(plane_blocking < die_blocking, "and they are over sooner");
}

proptest! {
    #![proptest_config(testing::cases(100))]

    /// Above the hard watermark, a collection that gives way delays a read that arrives alone by
    /// one of its copies or by the erase. With suspension, only the interruption is left of that
    /// delay.
    #[test]
    fn a_collection_that_gives_way_costs_one_step(mut config in any_drive(), seed in 0u64..1000) {
        config.collection.blocking = ioda_ssd::Blocking::Die;
        config.collection.unit = CollectionUnit::Block;
        config.scrub = None;
        // With one die, its free blocks are those of the drive.
        (config.geometry.channels, config.geometry.chips_per_channel) = (1, 1);
        config.ranges.count = 1;
        config.scheduling.preemptive_collection = true;
        // No limit of suspensions, so that no operation is exempt because of earlier reads.
        config.scheduling.suspension = config
            .scheduling
            .suspension
            .filter(|_| seed.is_multiple_of(2))
            .map(|suspension| SuspensionConfig { most: 1_000, ..suspension });
        prop_assume!(config.validate().is_ok());
        let timing = config.timing;
        let pages_per_block = u64::from(config.geometry.pages_per_block);
        // A copy that has begun to sense is not interrupted before it programs.
        let copy = timing.read + timing.transfer * 2 + timing.program;
        let bound = match config.scheduling.suspension {
            None => copy.max(timing.erase * u64::from(timing.blocks_per_erase)),
            Some(SuspensionConfig { erase, pulses, .. }) => {
                copy.max(erase * 2 + pulses.erase + pulses.apart)
            }
        };
        let mut drive = Ssd::new(config).unwrap();
        drive.age(seed);
        let mut rng = Rng::new(seed);
        let mut now = Instant::ZERO;
        for id in 0..600 {
            let opcode = if rng.below(3) == 0 { Opcode::Write } else { Opcode::Read };
            let lba = Lba(rng.below(drive.logical_blocks()));
            // The collection may open a block for its copies while the read waits. If it is the
            // last, the drive is then at the hard watermark.
            let above_hard = drive.status().headroom_pages > pages_per_block;
            let command = Command { id: CommandId(id), opcode, lba, blocks: 1, pl: PlFlag::Off };
            drive.handle_command(now, &command);
            let mut done = None;
            while done.is_none() {
                drive.handle_deadline(drive.next_deadline());
                while let Some(completed) = drive.poll_completion() {
                    done = Some(completed);
                }
            }
            let delays = done.unwrap().completion.delays;
            let wait = delays.get(Cause::BehindCollectionRead)
                + delays.get(Cause::BehindCollectionProgram)
                + delays.get(Cause::BehindCollectionErase);
            if above_hard && opcode == Opcode::Read {
                prop_assert!(wait <= bound, "{wait}, at most {bound}");
            }
            now = done.unwrap().at + Duration::from_micros(rng.below(3_000));
        }
    }
}
