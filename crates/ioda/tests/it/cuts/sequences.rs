//! Sequences of failures and replacements with a cut at their worst moment.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

use super::random::shape as drawn;
use super::{Life, Shape};
use live::control::AdminCommand;
use std::time::Duration;
use units::Rng;

const DEPTH: usize = 12;

/// How often each sequence is gone through: twice, unless many cuts are asked for.
fn times() -> u64 {
    (testing::setting("IODA_CUTS", 8) / 10).max(2)
}

/// Goes through a sequence with different losses and moments.
fn each_time(shape: &Shape, sequence: impl Fn(&mut Life, u64)) {
    for number in testing::seeds(0..times()) {
        let Some(mut life) = Life::new(shape.clone(), number) else { return };
        life.start();
        life.load(DEPTH, 100);
        sequence(&mut life, number);
        life.start();
        life.settle();
        life.end_from_here();
    }
}

/// The same with the journal on while drives are missing, and always.
fn with_each_journal(level: &'static str, drives: u8, sequence: impl Fn(&mut Life, u64)) {
    for always in [false, true] {
        each_time(&Shape::new(level, drives, always), &sequence);
    }
}

/// A moment within the first fraction of a second, different for each number.
fn moment(number: u64) -> u64 {
    number * 37 % 300
}

#[test]
fn a_drive_fails_right_after_another_was_rebuilt() {
    with_each_journal("5", 4, |life, number| {
        life.fail(3);
        life.load(DEPTH, 60);
        life.replace(3);
        life.load_until_serving(DEPTH, 3);
        life.fail(0);
        life.cut_after(DEPTH, moment(number), number);
    });
}

#[test]
fn the_last_drive_that_may_fail_does_after_a_rebuild() {
    with_each_journal("6", 6, |life, number| {
        life.fail(5);
        life.fail(0);
        life.load(DEPTH, 60);
        life.replace(5);
        life.load_until_serving(DEPTH, 5);
        life.fail(1);
        life.cut_after(DEPTH, moment(number), number);
    });
}

/// From before the order reaches any file to long after the failure was written down.
#[test]
fn the_power_goes_while_a_failure_is_written_down() {
    let shapes =
        [("5", 4, false), ("5", 4, true), ("6", 5, false), ("10", 4, false), ("1", 2, false)];
    for (level, drives, always) in shapes {
        each_time(&Shape::new(level, drives, always), |life, number| {
            let order =
                AdminCommand::Fail { drive: (number % u64::from(drives)) as u8, force: false };
            life.cut_at_order(DEPTH, &order, number * 7 % 80, number);
        });
    }
}

/// Its partner does not come back: what was called serving has everything, and the superblocks say
/// so.
#[test]
fn a_mirror_that_is_called_rebuilt_is() {
    each_time(&Shape::new("10", 4, false), |life, number| {
        life.fail(1);
        life.load(DEPTH, 60);
        // As on a disk, a sync takes its time.
        life.files.slow_syncs(Duration::from_millis(30));
        life.replace(1);
        life.load_until_serving(DEPTH, 1);
        life.files.slow_syncs(Duration::ZERO);
        life.cut_after(DEPTH, 3 + moment(number), number);
        life.lose_drive(0);
    });
}

/// The same without that loss, in the moment in which it is called so.
#[test]
fn the_power_goes_when_a_mirror_is_rebuilt() {
    each_time(&Shape::new("10", 4, false), |life, number| {
        life.fail(1);
        life.load(DEPTH, 60);
        life.replace(1);
        life.load_until_serving(DEPTH, 1);
        life.cut_after(DEPTH, 0, number);
    });
}

#[test]
fn a_drive_is_lost_in_the_moment_of_the_crash() {
    for (level, drives) in [("5", 4), ("6", 5), ("4", 3)] {
        each_time(&Shape::new(level, drives, true), |life, number| {
            life.cut_after(DEPTH, moment(number), number);
            life.lose_drive((number % u64::from(drives)) as u8);
        });
    }
}

#[test]
fn two_drives_are_lost_in_the_moment_of_the_crash() {
    each_time(&Shape::new("6", 5, true), |life, number| {
        life.cut_after(DEPTH, moment(number), number);
        life.lose_drive((number % 5) as u8);
        life.lose_drive(((number + 2) % 5) as u8);
    });
}

/// The creation of an array is cut short at any of its changes and syncs, and repeated.
#[test]
fn an_array_that_was_answered_for_is_there() {
    for number in testing::seeds(0..times() * 6) {
        let mut random = Rng::new(number);
        let shape = drawn(&mut random, number);
        let Some(mut life) = Life::new(shape, number) else { return };
        life.files.cut_after(random.below(120), number);
        life.start_until_cut(number);
        life.start();
        life.load(DEPTH, 30);
        life.cut_after(DEPTH, 30, number);
        life.end();
    }
}
