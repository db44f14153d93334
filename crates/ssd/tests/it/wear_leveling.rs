//! Static wear leveling: cold data move to worn blocks, so that all blocks wear alike.

#![allow(clippy::unwrap_used, reason = "tests stop and speak")]

use crate::common::{any_drive, any_rain_drive, come_to_rest, worn_out};
use ioda_ssd::{Blocking, CollectionUnit, Config, Ssd, presets};
use nvme::{
    Cause, CollectionRight, Command, CommandId, Completion, Opcode, PlFlag, Status, Untimed,
};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::cell::Cell;
use units::{Duration, Instant, Lba, Ratio, Rng};

/// Most erases by which the least erased free block may be ahead.
const MOST: u32 = 6;

fn small(unit: CollectionUnit, blocking: Blocking, most: u32) -> Config {
    let mut config = presets::preset("femu-artifact").unwrap();
    config.geometry.channels = 2;
    config.geometry.chips_per_channel = 2;
    config.geometry.blocks_per_plane = 48;
    config.geometry.pages_per_block = 16;
    config.collection.unit = unit;
    config.collection.blocking = blocking;
    config.collection.static_wear_leveling = most;
    config
}

const KINDS: [(CollectionUnit, Blocking); 5] = [
    (CollectionUnit::Line, Blocking::Die),
    (CollectionUnit::Block, Blocking::Die),
    (CollectionUnit::Block, Blocking::Channel),
    (CollectionUnit::Block, Blocking::ChannelForCopies),
    (CollectionUnit::Block, Blocking::Controller),
];

/// Largest difference of erases between the most and the least erased block of a die, over all
/// dies. All dies erase lines equally often, up to the collection under way.
fn spread(drive: &Ssd) -> u32 {
    let blocks = drive.config().geometry.blocks_per_die() as usize;
    let of = |die: &[u32]| die.iter().max().unwrap() - die.iter().min().unwrap();
    drive.erase_counts().chunks(blocks).map(of).max().unwrap()
}

/// A page of the first eighth of the drive, which is overwritten all the time. The rest is written
/// once.
fn hot(rng: &mut Rng, drive: &Ssd) -> u64 {
    rng.below(drive.logical_blocks() / 8)
}

/// A host that keeps `depth` commands of one page in flight, nine of ten of them writes of hot
/// data.
struct Client {
    rng: Rng,
    now: Instant,
    depth: u32,
    pl: PlFlag,
}

impl Client {
    fn new(depth: u32, pl: PlFlag) -> Self {
        Self { rng: Rng::new(7), now: Instant::ZERO, depth, pl }
    }

    fn send(&mut self, drive: &mut Ssd, id: u32) {
        let (opcode, lba, pl) = match self.rng.below(10) {
            0 => (Opcode::Read, self.rng.below(drive.logical_blocks()), self.pl),
            _ => (Opcode::Write, hot(&mut self.rng, drive), PlFlag::Off),
        };
        let command = Command { id: CommandId(id), opcode, lba: Lba(lba), blocks: 1, pl };
        drive.handle_command(self.now, &command);
    }

    fn run(&mut self, drive: &mut Ssd, count: u64, mut see: impl FnMut(&Ssd, &Completion)) {
        (0..self.depth).for_each(|id| self.send(drive, id));
        let mut done = 0;
        while drive.commands_in_flight() > 0 {
            self.now = drive.next_deadline();
            drive.handle_deadline(self.now);
            while let Some(completed) = drive.poll_completion() {
                see(drive, &completed.completion);
                done += 1;
                if done < count {
                    self.send(drive, completed.completion.id.0);
                }
            }
        }
    }
}

/// Fills a drive in order.
fn filled(config: Config) -> Ssd {
    let mut drive = Ssd::new(config).unwrap();
    let pages: Vec<u32> = (0..drive.logical_blocks() as u32).collect();
    drive.overwrite(&pages);
    drive.reset_counters();
    drive
}

#[test]
fn blocks_wear_alike_where_some_data_are_cold() {
    for (unit, blocking) in KINDS {
        for most in [0, 1, MOST] {
            let mut drive = filled(small(unit, blocking, most));
            let count = drive.logical_blocks() * 25;
            let mut worst = 0;
            Client::new(3, PlFlag::Off).run(&mut drive, count, |drive, _| {
                worst = worst.max(spread(drive));
            });
            come_to_rest(&mut drive);
            let leveled = drive.counters().leveled_blocks;
            let text = format!("{unit:?} {blocking:?} {most}: {worst}, {leveled} leveled");
            if most == 0 {
                assert!(worst > 4 * MOST && leveled == 0, "{text}");
            } else {
                assert!(worst <= most + 2 && worst >= most && leveled > 20, "{text}");
            }
        }
    }
}

#[test]
fn collections_that_take_no_time_level_as_well() {
    for (unit, blocking) in KINDS {
        let mut drive = filled(small(unit, blocking, MOST));
        let mut rng = Rng::new(3);
        for _ in 0..drive.logical_blocks() * 25 / 64 {
            let pages: Vec<u32> = (0..64).map(|_| hot(&mut rng, &drive) as u32).collect();
            drive.overwrite(&pages);
            assert!(spread(&drive) <= MOST + 2, "{unit:?} {blocking:?}: {}", spread(&drive));
        }
        drive.check_invariants();
        assert!(drive.counters().leveled_blocks > 20 && spread(&drive) >= MOST);
    }
}

/// A swap moves all valid data of its victim, and nothing else: the target is full after one
/// collection.
#[test]
fn cold_data_move_to_the_most_worn_free_block() {
    let mut config = small(CollectionUnit::Block, Blocking::Die, 2);
    (config.geometry.channels, config.geometry.chips_per_channel) = (1, 1);
    let mut drive = filled(config);
    let mut rng = Rng::new(5);
    let pages_per_block = drive.config().geometry.pages_per_block;
    let places = |drive: &Ssd| -> Vec<u32> {
        let pages = (0..drive.logical_blocks()).map(Lba);
        pages.map(|lba| drive.flash_page(lba).unwrap()).collect()
    };
    let mut seen = 0;
    for _ in 0..drive.logical_blocks() * 20 {
        let (before, leveled) = (places(&drive), drive.counters().leveled_blocks);
        let erases = drive.erase_counts().to_vec();
        drive.overwrite(&[hot(&mut rng, &drive) as u32]);
        if drive.counters().leveled_blocks != leveled + 1 {
            continue;
        }
        let after = places(&drive);
        let first_cold = (drive.logical_blocks() / 8) as usize;
        // Ordinary collections may move cold data that lies beside hot data, but not from the
        // coldest block.
        let coldest = *erases.iter().min().unwrap();
        let moved: Vec<(u32, u32)> = before[first_cold..]
            .iter()
            .zip(&after[first_cold..])
            .map(|(from, to)| (from / pages_per_block, to / pages_per_block))
            .filter(|&(from, to)| from != to && erases[from as usize] == coldest)
            .collect();
        let Some(&(from, to)) = moved.first() else { continue };
        seen += 1;
        assert!(moved.iter().all(|&pair| pair == (from, to)), "{moved:?}");
        assert!(erases[to as usize] > coldest + 2, "{} and {coldest}", erases[to as usize]);
        assert_eq!(drive.erase_counts()[from as usize], coldest + 1);
        // The target is full after the swap: nothing is written to it any more.
        let held = after.iter().filter(|&&page| page / pages_per_block == to).count();
        assert_eq!(held, moved.len());
    }
    assert!(seen > 20, "{seen}");
}

#[test]
fn a_flagged_read_never_waits_for_a_swap_and_swaps_stay_in_windows() {
    for (unit, blocking) in KINDS {
        let mut drive = filled(small(unit, blocking, MOST));
        let schedule = crate::common::windows_of_60_ms();
        drive.set_right(Instant::ZERO, CollectionRight::Windows(schedule));
        drive.record_collections();
        let mut rng = Rng::new(9);
        let mut now = Instant::ZERO;
        let (mut failed, mut served) = (0, 0);
        for id in 0..40_000 {
            now += Duration::from_micros(5_000);
            while drive.next_deadline() <= now {
                drive.handle_deadline(drive.next_deadline());
            }
            let (opcode, lba, pl) = match id % 2 {
                0 => (Opcode::Write, hot(&mut rng, &drive), PlFlag::Off),
                _ => (Opcode::Read, rng.below(drive.logical_blocks()), PlFlag::Predictable),
            };
            let command = Command { id: CommandId(id), opcode, lba: Lba(lba), blocks: 1, pl };
            drive.handle_command(now, &command);
            while let Some(completed) = drive.poll_completion() {
                let Completion { status, delays, .. } = completed.completion;
                failed += u32::from(status == Status::FailedFast);
                if status == Status::Success && completed.completion.id.0 % 2 == 1 {
                    served += 1;
                    for cause in [
                        Cause::BehindCollectionRead,
                        Cause::BehindCollectionProgram,
                        Cause::BehindCollectionErase,
                    ] {
                        assert_eq!(delays.get(cause), Duration::ZERO, "{unit:?} {blocking:?}");
                    }
                }
            }
        }
        let mut spans = Vec::new();
        drive.take_collections(&mut spans);
        for span in &spans {
            let is_in = schedule.busy_until(span.began).is_some_and(|until| span.ended <= until);
            assert!(is_in && !span.violation, "{unit:?} {blocking:?}: {span:?}");
        }
        let leveled = drive.counters().leveled_blocks;
        assert_eq!(drive.counters().contract_violations, 0, "{unit:?} {blocking:?}");
        assert!(failed > 50 && served > 5_000 && leveled > 10, "{failed} {served} {leveled}");
        assert!(spread(&drive) <= MOST + 3, "{unit:?} {blocking:?}: {}", spread(&drive));
    }
}

#[test]
fn without_the_right_nothing_is_leveled_and_with_it_it_is_made_up_for() {
    let mut drive = filled(small(CollectionUnit::Block, Blocking::Die, 1));
    let never = CollectionRight::Lease { until: Instant::ZERO };
    drive.set_right(Instant::ZERO, never);
    // In the end writes have no room, and collections are forced.
    Client::new(8, PlFlag::Off).run(&mut drive, 30_000, |_, _| {});
    assert!(drive.counters().contract_violations > 100);
    assert_eq!(drive.counters().leveled_blocks, 0);
    // With the right to collect, the drive catches up.
    let before = spread(&drive);
    drive.set_right(Instant::ZERO + Duration::from_secs(1_000), CollectionRight::Always);
    let mut client = Client::new(3, PlFlag::Off);
    client.now = Instant::ZERO + Duration::from_secs(1_000);
    client.run(&mut drive, 60_000, |_, _| {});
    assert!(before > 10 && spread(&drive) <= 4, "{before} {}", spread(&drive));
}

#[test]
fn a_drive_goes_on_leveling_where_it_was() {
    for (unit, blocking) in KINDS {
        let mut before = filled(small(unit, blocking, 2));
        let mut client = Client::new(3, PlFlag::Off);
        client.run(&mut before, 20_000, |_, _| {});
        before.settle();
        let state = before.state().unwrap();
        let mut after = Ssd::restore(small(unit, blocking, 2), &state).unwrap();
        let leveled = before.counters().leveled_blocks;
        for drive in [&mut before, &mut after] {
            drive.set_untimed(Untimed::Collections);
            let mut client = Client::new(1, PlFlag::Off);
            client.now = Instant::ZERO + Duration::from_secs(1_000);
            client.run(drive, 20_000, |_, _| {});
            drive.settle();
            drive.check_invariants();
        }
        assert!(before.counters().leveled_blocks > leveled + 10, "{unit:?}");
        assert!(after.state().unwrap() == before.state().unwrap(), "{unit:?} {blocking:?}");
        // A drive that did not level wear before has its free blocks in another order.
        let mut config = small(unit, blocking, 0);
        let mut other = Ssd::restore(config.clone(), &state).unwrap();
        let mut rng = Rng::new(11);
        let pages: Vec<u32> = (0..5_000).map(|_| hot(&mut rng, &other) as u32).collect();
        other.overwrite(&pages);
        config.collection.static_wear_leveling = 2;
        let again = Ssd::restore(config, &other.state().unwrap()).unwrap();
        again.check_invariants();
    }
}

/// Drives of every kind that level wear as soon as they may, under hosts and rights of every kind:
/// their machines always agree, and they come to rest.
#[test]
fn machines_agree_while_wear_is_leveled() {
    let config = ProptestConfig { max_global_rejects: u32::MAX, ..testing::cases(64) };
    let drives = (prop_oneof![any_drive(), any_rain_drive()], 0u64..10_000, 0u64..4);
    let leveled = Cell::new(0);
    let outcome = TestRunner::new(config).run(&drives, |(mut config, seed, windows)| {
        config.collection.static_wear_leveling = 1;
        config.over_provisioning = Ratio::from_percent(60);
        prop_assume!(config.validate().is_ok());
        let mut drive = worn_out(config, seed, windows);
        let mut rng = Rng::stream(seed, "hot");
        let share = drive.logical_blocks().div_ceil(8);
        let mut now = Instant::ZERO + Duration::from_secs(100_000);
        for id in 0..1_000 {
            let lba = Lba(rng.below(share));
            let opcode = if rng.below(8) == 0 { Opcode::Read } else { Opcode::Write };
            let command = Command { id: CommandId(id), opcode, lba, blocks: 1, pl: PlFlag::Off };
            drive.handle_command(now, &command);
            now += Duration::from_micros(20 * rng.below(40));
            while drive.next_deadline() <= now {
                drive.handle_deadline(drive.next_deadline());
            }
            while drive.poll_completion().is_some() {}
            if id % 16 == 0 {
                drive.check_invariants();
            }
        }
        leveled.set(leveled.get() + drive.counters().leveled_blocks);
        come_to_rest(&mut drive);
        Ok(())
    });
    assert!(outcome.is_ok(), "{outcome:?}");
    assert!(leveled.get() > 100, "{}", leveled.get());
}
