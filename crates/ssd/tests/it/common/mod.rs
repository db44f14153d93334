//! Common parts of the drive's tests: a host that keeps a number of commands in flight.
#![allow(
    dead_code,
    unreachable_pub,
    missing_docs,
    clippy::unwrap_used,
    reason = "each test uses its part"
)]

use ioda_ssd::{
    Arbitration, Blocking, CollectionTrigger, CollectionUnit, Config, PreemptionScope, PulseConfig,
    QueueConfig, RainConfig, RangeConfig, RangePlacement, RetryConfig, Rotation, SchedulingConfig,
    ScrubConfig, Ssd, Suspendable, SuspensionConfig, WriteBufferConfig, presets,
};
use nvme::{
    ArrayDescription, CollectionRight, Command, CommandId, Completion, Opcode, PlFlag, Status,
    Untimed, WindowSchedule, WindowScope,
};
use proptest::prelude::*;
use units::{Duration, Instant, Lba, Ratio, Rng};

/// A host in a closed loop of single-page commands at random addresses.
pub struct Host {
    pub rng: Rng,
    pub write_percent: u64,
    pub pl: PlFlag,
    pub now: Instant,
    depth: u32,
    started: bool,
    steps: u64,
}

impl Host {
    pub fn new(seed: u64, depth: u32, write_percent: u64) -> Self {
        let rng = Rng::stream(seed, "host");
        Self {
            rng,
            write_percent,
            pl: PlFlag::Off,
            now: Instant::ZERO,
            depth,
            started: false,
            steps: 0,
        }
    }

    fn send(&mut self, drive: &mut Ssd, id: CommandId) {
        let write = self.rng.below(100) < self.write_percent;
        let opcode = if write { Opcode::Write } else { Opcode::Read };
        let lba = Lba(self.rng.below(drive.logical_blocks()));
        let pl = if write { PlFlag::Off } else { self.pl };
        let command = Command { id, opcode, lba, blocks: 1, pl };
        drive.handle_command_from(self.now, id.0 % 5, &command);
    }

    /// Checks the drive after every step. A larger drive is checked less often, because a check
    /// looks at every page: the cost per step is as on a small drive.
    fn check(&mut self, drive: &Ssd) {
        self.steps += 1;
        if self.steps.is_multiple_of(1 + drive.config().geometry.pages() / 64) {
            drive.check_invariants();
        }
    }

    /// Runs until `count` commands have succeeded. A read that fails fast is replaced.
    pub fn run(&mut self, drive: &mut Ssd, count: u64, mut seen: impl FnMut(Instant, &Completion)) {
        if !self.started {
            self.started = true;
            (0..self.depth).for_each(|id| self.send(drive, CommandId(id)));
        }
        let mut left = count;
        while left > 0 {
            let due = drive.next_deadline();
            assert_ne!(due, Instant::NEVER, "the drive stopped with commands in flight");
            self.now = due;
            drive.handle_deadline(due);
            while let Some(completed) = drive.poll_completion() {
                seen(completed.at, &completed.completion);
                left -= u64::from(completed.completion.status == Status::Success).min(left);
                self.send(drive, completed.completion.id);
            }
            self.check(drive);
        }
    }

    /// Waits for the commands in flight.
    pub fn drain(&mut self, drive: &mut Ssd) {
        while drive.commands_in_flight() > 0 {
            self.now = drive.next_deadline();
            drive.handle_deadline(self.now);
            while drive.poll_completion().is_some() {}
            self.check(drive);
        }
        self.started = false;
    }
}

/// Busy windows of 60 ms for the first of four drives, the first of them at 60 ms.
pub fn windows_of_60_ms() -> WindowSchedule {
    WindowSchedule {
        busy_time_window: Duration::from_millis(60),
        array: ArrayDescription { width: 4, parities: 1 },
        guard: Duration::ZERO,
        not_before: Instant::ZERO,
        cycle_start: Instant::ZERO + Duration::from_millis(60),
    }
}

/// Lets pages on their way to flash arrive there, so that the maps can be checked as well.
pub fn come_to_rest(drive: &mut Ssd) {
    for _ in 0..10_000 {
        if drive.next_deadline() != Instant::NEVER {
            drive.handle_deadline(drive.next_deadline());
        }
    }
    drive.check_invariants();
}

/// Tiny drives of every kind. Most of them are valid; the test has to assume it.
pub fn any_drive() -> impl Strategy<Value = Config> {
    (
        (1u32..5, 1u32..5, 1u32..3, 10u32..40, 1u32..20),
        (35u32..70, 5u32..20, 3u32..10, 0u32..6, 0u32..30),
        (0usize..2, 0usize..4, 0u64..3, 1u32..3, 0usize..2),
        (any::<bool>(), any::<bool>(), 0u32..4, any::<bool>(), 0u64..4, any::<bool>()),
    )
        .prop_map(
            |(geometry, shares, (unit, blocking, transfer, ranges, placement), scheduling)| {
                let (read_priority, preemptive_collection, most, copyback, scrub, waits) =
                    scheduling;
                let mut config = presets::preset("femu-artifact").unwrap();
                config.geometry.channels = geometry.0;
                config.geometry.chips_per_channel = geometry.1;
                config.geometry.planes_per_chip = geometry.2;
                config.geometry.blocks_per_plane = geometry.3 / geometry.2;
                config.geometry.pages_per_block = geometry.4;
                config.over_provisioning = Ratio::from_percent(shares.0);
                config.collection.hard = Ratio::from_percent(shares.1);
                config.collection.soft = Ratio::from_percent(shares.1 + shares.2);
                config.collection.restore = Ratio::from_percent(shares.1 + shares.2 + shares.3);
                config.collection.min_invalid = Ratio::from_percent(shares.4);
                config.collection.unit = [CollectionUnit::Block, CollectionUnit::Line][unit];
                config.collection.blocking = [
                    Blocking::Die,
                    Blocking::Channel,
                    Blocking::ChannelForCopies,
                    Blocking::Controller,
                ][blocking];
                if waits {
                    config.collection.trigger = CollectionTrigger::HostCommand;
                    config.queue = Some(QueueConfig {
                        depth: 1 + most,
                        arbitration: [
                            Arbitration::OneQueue,
                            Arbitration::RoundRobin,
                            Arbitration::Weighted { reads: 3, writes: 1 },
                            Arbitration::Submitters,
                        ][(shares.4 % 4) as usize],
                    });
                }
                config.timing.transfer = Duration::from_micros(10 * transfer);
                config.timing.blocks_per_erase = if geometry.4 % 4 == 0 { 3 } else { 1 };
                config.timing.write_command = Duration::from_micros(3 * scrub * transfer);
                config.ranges.placement =
                    [RangePlacement::Channels, RangePlacement::Chips][placement];
                if config.collection.blocking == Blocking::Die {
                    if config.collection.unit == CollectionUnit::Block {
                        config.collection.per_channel = shares.0 % 3;
                    }
                    let suspension = SuspensionConfig {
                        what: if waits { Suspendable::Collection } else { Suspendable::Everything },
                        program: Duration::from_micros(10),
                        erase: Duration::from_micros(100),
                        most,
                        pulses: PulseConfig {
                            program: Duration::from_micros(30 * scrub),
                            erase: Duration::from_micros(700 * transfer),
                            apart: Duration::from_micros(50 * u64::from(shares.3)),
                        },
                    };
                    config.scheduling = SchedulingConfig {
                        read_priority,
                        preemptive_collection,
                        paced_writes: false,
                        turns: None,
                        in_order_when_full: read_priority && shares.4 % 2 == 0,
                        preemption_scope: match most % 2 {
                            0 => PreemptionScope::Die,
                            _ => PreemptionScope::Channel,
                        },
                        suspension: ((read_priority || waits) && most > 0).then_some(suspension),
                    };
                }
                config.collection.copyback = copyback;
                config.collection.static_wear_leveling = shares.4 % 5;
                if most == 1 {
                    config.retry = Some(RetryConfig {
                        share: Ratio::ZERO,
                        wear_share: Ratio::ZERO,
                        rated_erases: 1,
                        worn_erases: 0,
                        age_share: Ratio::ZERO,
                        age_months: 0,
                        disturb_share: Ratio::from_percent(shares.4),
                        rated_reads: 20,
                        most: 7,
                    });
                }
                // From half the time of a page read to several page operations.
                let after = Duration::from_micros(20) * (scrub * scrub * scrub);
                config.scrub = (copyback && scrub > 0).then_some(ScrubConfig { after });
                let parts = [geometry.0, geometry.1][placement];
                if unit == 0 && parts.is_multiple_of(ranges) {
                    config.ranges.count = ranges;
                }
                config
            },
        )
}

/// Tiny drives with RAIN, most of them valid.
pub fn any_rain_drive() -> impl Strategy<Value = Config> {
    (any_drive(), 3u32..6, 1u32..3, 0u32..100, 0usize..3, any::<bool>(), 0u32..4).prop_map(
        |(mut config, width, sets, pages, rotation, tolerant_reads, erases)| {
            config.geometry.channels = width * sets;
            config.collection.unit = CollectionUnit::Block;
            config.ranges = RangeConfig::ONE;
            config.write_buffer = Some(WriteBufferConfig::new(2 * width + pages));
            if config.collection.blocking == Blocking::ChannelForCopies {
                config.collection.blocking = Blocking::Channel;
            }
            let rotates = config.collection.blocking == Blocking::Die;
            let rotation = [Rotation::Off, Rotation::On, Rotation::Forced][rotation];
            config.rain = Some(RainConfig {
                tolerant_reads,
                rotation: if rotates { rotation } else { Rotation::Off },
                wear_leveling: (erases > 0).then_some(erases),
                ..RainConfig::new(width)
            });
            config
        },
    )
}

/// A drive that a host has used for some time with random commands. It is prepared in one of three
/// ways, with or without windows and timed collections.
pub fn worn_out(config: Config, seed: u64, windows: u64) -> Ssd {
    let mut drive = Ssd::new(config).unwrap();
    if seed.is_multiple_of(3) {
        drive.precondition(seed);
    } else if seed % 3 == 1 {
        drive.age(seed);
    }
    drive.check_invariants();
    if windows > 0 {
        let schedule = WindowSchedule {
            array: ArrayDescription { width: 4, parities: 1 },
            busy_time_window: Duration::from_millis(windows * 7),
            cycle_start: Instant::ZERO,
            not_before: Instant::ZERO,
            guard: Duration::ZERO,
        };
        drive.set_right(Instant::ZERO, CollectionRight::Windows(schedule));
    }
    if seed % 7 > 3 {
        drive.set_window_scope(WindowScope::AllWork);
    }
    drive.set_untimed(match seed % 10 {
        0 => Untimed::Collections,
        5 => Untimed::Writes,
        _ => Untimed::Nothing,
    });
    let pages = drive.logical_blocks();
    let mut host = Host::new(seed, 1 + (seed % 50) as u32, 90);
    host.run(&mut drive, (3 * pages).min(4_000), |_, _| {});
    host.drain(&mut drive);
    drive.check_invariants();
    drive
}
