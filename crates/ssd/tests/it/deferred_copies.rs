//! A drive with deferred copies answers like its clone that ends each copy at its own time.

use crate::common::{any_drive, worn_out};
use ioda_ssd::{Blocking, Config, PreemptionScope, Ssd};
use nvme::{Command, CommandId, Completion, Opcode, PlFlag};
use proptest::prelude::*;
use units::{Duration, Instant, Lba, Rng};

/// Handles everything that is due before `now`. Returns the completions with their times.
fn pass(drive: &mut Ssd, now: Instant) -> Vec<(Instant, Completion)> {
    while drive.next_deadline() < now {
        drive.handle_deadline(drive.next_deadline());
    }
    let completions = std::iter::from_fn(|| drive.poll_completion());
    completions.map(|completed| (completed.at, completed.completion)).collect()
}

/// A command on pages at random.
fn draw(rng: &mut Rng, drive: &Ssd, id: u64) -> Command {
    let blocks = 1 + rng.below(3) as u32;
    let opcode = match rng.below(20) {
        0 => Opcode::Deallocate,
        1..=6 => Opcode::Read,
        _ => Opcode::Write,
    };
    let pl = match (opcode, rng.below(3)) {
        (Opcode::Read, 0) => PlFlag::Predictable,
        (Opcode::Read, 1) => PlFlag::Patient,
        _ => PlFlag::Off,
    };
    let lba = Lba(rng.below(drive.logical_blocks() - u64::from(blocks)));
    Command { id: CommandId(id as u32), opcode, lba, blocks, pl }
}

/// Checks that all public answers of both drives agree.
fn compare(plain: &Ssd, deferred: &Ssd) {
    deferred.check_invariants();
    assert_eq!(plain.counters(), deferred.counters());
    assert_eq!(plain.status(), deferred.status());
    assert_eq!(plain.collection_report(), deferred.collection_report());
    assert_eq!(plain.erase_counts(), deferred.erase_counts());
    assert_eq!(plain.violations().len(), deferred.violations().len());
    for lba in (0..plain.logical_blocks()).map(Lba) {
        assert_eq!(plain.flash_page(lba), deferred.flash_page(lba), "{lba:?}");
    }
}

/// Checks that the completions agree, one by one.
fn same(plain: &[(Instant, Completion)], deferred: &[(Instant, Completion)]) {
    for (plain, deferred) in plain.iter().zip(deferred) {
        assert_eq!(plain, deferred);
    }
    assert_eq!(plain.len(), deferred.len());
}

/// Runs both drives with `commands` commands, at first about one at a time, and in bursts at the
/// end.
fn agree(mut plain: Ssd, seed: u64, commands: u64) {
    let mut rng = Rng::stream(seed, "deferred copies");
    let mut deferred = plain.clone();
    deferred.set_deferred_copies(true);
    // Later than everything that the drive has done before.
    let mut now = Instant::ZERO + Duration::from_millis(1_000_000);
    for id in 0..commands {
        // Whole tens of microseconds, so that many events coincide.
        now += Duration::from_micros(10) * rng.below(100 - 90 * id / commands);
        same(&pass(&mut plain, now), &pass(&mut deferred, now));
        if rng.below(20) == 0 {
            deferred.catch_up(now);
            compare(&plain, &deferred);
        }
        if rng.below(200) == 0 {
            deferred.catch_up(now);
            let factor = 1 + rng.below(3) as u32;
            plain.set_slowness(factor);
            deferred.set_slowness(factor);
        }
        let command = draw(&mut rng, &plain, id);
        plain.handle_command(now, &command);
        deferred.handle_command(now, &command);
    }
    let end = now + Duration::from_millis(10_000);
    same(&pass(&mut plain, end), &pass(&mut deferred, end));
    deferred.catch_up(end);
    compare(&plain, &deferred);
}

/// The drive without anything that can interrupt a collection, so that copies are deferred.
fn without_interruptions(mut config: Config) -> Config {
    config.scheduling.preemptive_collection = false;
    config.scheduling.preemption_scope = PreemptionScope::Die;
    config.scheduling.suspension = None;
    config.scrub = None;
    config.collection.copyback = true;
    if config.collection.blocking == Blocking::ChannelForCopies {
        config.collection.blocking = Blocking::Channel;
    }
    config
}

proptest! {
    #![proptest_config(ProptestConfig {
        max_global_rejects: u32::MAX,
        ..ProptestConfig::default()
    })]

    #[test]
    fn deferred_copies_show_in_no_answer(
        config in any_drive(),
        interrupted in prop::bool::weighted(0.2),
        seed in 0u64..10_000,
        windows in 0u64..4,
    ) {
        let config = if interrupted { config } else { without_interruptions(config) };
        prop_assume!(config.validate().is_ok());
        agree(worn_out(config, seed, windows), seed, 300);
    }
}
