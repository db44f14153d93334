//! Arrays with missing drives, command by command.
#![allow(clippy::unwrap_used, reason = "tests stop")]

use crate::script::{Script, config, fail, lost, named, told};
use ioda_array::policy::PolicySettings;
use ioda_array::{
    Array, CannotReplace, CannotSwitch, Config, Coordination, DriveState, JobKind, JobProgress,
    Layout, Level, RequestKind,
};
use units::{DriveId, Duration};

const READ: RequestKind = RequestKind::Read;
const WRITE: RequestKind = RequestKind::Write;

const DEALLOCATE: RequestKind = RequestKind::Deallocate;

/// RAID-5 on four drives: pages 0, 1, 2 of stripe 0 are on drives 0, 1, 2, and parity on drive 3.
fn raid5(policy: &str) -> Script {
    let mut s = Script::new(Level::Raid5, 4, named(policy));
    s.log.clear();
    s
}

#[test]
fn a_read_that_a_drive_cannot_do_is_rebuilt_and_not_sent_again() {
    let mut s = raid5("base");
    s.request(READ, 0, 1);
    lost(&mut s, 0);
    assert_eq!(told(&mut s), "r0 r1 r2 r3");
    [1, 2, 3].into_iter().for_each(|drive| s.ok(drive));
    s.compute();
    assert_eq!(told(&mut s), "done");
    assert_eq!((s.array.absent(), s.array.counters().unrecovered_reads), (0, 1));
    assert_eq!(s.array.operations_in_flight(), 0);
}

#[test]
fn a_read_fails_if_two_drives_cannot_do_it() {
    let mut s = raid5("base");
    s.request(READ, 0, 1);
    lost(&mut s, 0);
    s.ok(1);
    lost(&mut s, 2);
    assert_eq!(told(&mut s), "r0 r1 r2 r3 failed");
    s.ok(3);
    assert_eq!(s.array.operations_in_flight(), 0);
    s.request(READ, 0, 1);
    s.ok(0);
    assert_eq!(told(&mut s), "r0 done");
}

#[test]
fn the_drive_is_said_to_have_failed_before_the_write_that_goes_on_without_it() {
    let mut s = raid5("base");
    s.request(WRITE, 0, 3);
    [1, 2, 3].into_iter().for_each(|drive| s.ok(drive));
    lost(&mut s, 0);
    assert_eq!(told(&mut s), "W0 W1 W2 W3 gone0 done");
    assert_eq!(s.array.absent(), 1);
}

#[test]
fn nothing_is_sent_to_a_drive_that_failed() {
    let mut s = raid5("base");
    fail(&mut s, 0);
    fail(&mut s, 0);
    fail(&mut s, 77);
    assert_eq!(told(&mut s), "gone0");
    s.request(READ, 0, 1);
    assert_eq!(told(&mut s), "r1 r2 r3");
    [1, 2, 3].into_iter().for_each(|drive| s.ok(drive));
    s.compute();
    s.request(READ, 1, 1);
    s.ok(1);
    assert_eq!(told(&mut s), "done r1 done");
    // The whole chunk of the missing drive: parity is computed from the other chunks.
    s.request(WRITE, 0, 1);
    [1, 2].into_iter().for_each(|drive| s.ok(drive));
    s.ok(3);
    assert_eq!(told(&mut s), "r1 r2 W3 done");
    // A chunk beside it: parity comes from its old value, since the missing chunk cannot be read.
    s.request(WRITE, 1, 1);
    [1, 3].into_iter().for_each(|drive| s.ok(drive));
    [1, 3].into_iter().for_each(|drive| s.ok(drive));
    assert_eq!(told(&mut s), "r1 r3 W1 W3 done");
    // Parity of stripe 3 is missing: there is nothing to read.
    s.request(WRITE, 9, 1);
    s.ok(1);
    assert_eq!(told(&mut s), "W1 done");
}

#[test]
fn what_is_out_when_a_drive_fails_counts_for_nothing() {
    let mut s = raid5("base");
    s.request(READ, 0, 1);
    fail(&mut s, 0);
    let busy = s.array.replace_drive(s.now, DriveId(0)).unwrap_err();
    assert_eq!(busy, CannotReplace::StillBusy { drive: DriveId(0) });
    // Even if its answer is a success.
    s.ok(0);
    assert_eq!(told(&mut s), "r0 gone0 r1 r2 r3");
    let error = |array: &mut Array, drive| {
        array.replace_drive(units::Instant::from_nanos(9), DriveId(drive)).unwrap_err().to_string()
    };
    assert!(error(&mut s.array, 1).starts_with("drive 1 has not failed"));
    assert!(error(&mut s.array, 9).starts_with("there is no drive 9"));
}

#[test]
fn with_two_drives_missing_the_rest_is_read_and_nothing_written() {
    let mut s = raid5("ioda");
    fail(&mut s, 0);
    fail(&mut s, 1);
    s.request(READ, 2, 1);
    s.busy(2, 100);
    s.ok(2);
    assert_eq!(told(&mut s), "gone0 gone1 R2 r2 done");
    s.request(READ, 0, 3);
    s.request(WRITE, 2, 1);
    s.request(WRITE, 0, 3);
    s.request(READ, 0, 1);
    assert_eq!(told(&mut s), "failed failed failed failed");
    assert_eq!(s.array.operations_in_flight(), 0);
}

#[test]
fn a_survivor_that_fails_fast_is_waited_for_when_a_drive_is_missing() {
    let mut s = raid5("ioda");
    fail(&mut s, 0);
    s.request(READ, 0, 1);
    assert_eq!(told(&mut s), "gone0 R1 R2 R3");
    s.busy(1, 100);
    assert_eq!(told(&mut s), "r1");
    [2, 3, 1].into_iter().for_each(|drive| s.ok(drive));
    s.compute();
    assert_eq!(told(&mut s), "done");
}

#[test]
fn a_mirror_is_read_where_a_copy_is() {
    let mut s = Script::new(Level::Raid1, 2, named("base"));
    fail(&mut s, 0);
    s.log.clear();
    s.request(READ, 0, 2);
    assert_eq!(told(&mut s), "r1 r1");
    s.ok(1);
    s.ok(1);
    assert_eq!(s.array.counters().reconstructions, 0, "a copy that is there is simply read");
    s.request(WRITE, 0, 1);
    s.ok(1);
    assert_eq!(told(&mut s), "done W1 done");
}

#[test]
fn a_mirror_without_faults_is_read_at_its_datum() {
    let mut s = Script::new(Level::Raid10, 4, named("base"));
    // The data of stripes 0 and 2 are on drives 0 and 1, each beside the copy of the other.
    s.request(READ, 0, 1);
    s.request(READ, 2, 1);
    assert_eq!(told(&mut s), "r0 r1");
}

#[test]
fn a_write_under_which_too_many_drives_fail_is_reported_as_failed() {
    let mut s = raid5("base");
    s.request(WRITE, 0, 3);
    [0, 1].into_iter().for_each(|drive| lost(&mut s, drive));
    [2, 3].into_iter().for_each(|drive| s.ok(drive));
    assert_eq!(told(&mut s), "W0 W1 W2 W3 gone0 gone1 failed");
}

#[test]
fn deallocating_what_is_lost_changes_nothing_and_is_no_error() {
    let mut s = raid5("base");
    fail(&mut s, 0);
    fail(&mut s, 1);
    s.request(DEALLOCATE, 0, 3);
    assert_eq!(told(&mut s), "gone0 gone1 done");
}

#[test]
fn reads_of_a_rebuild_wait_for_busy_drives() {
    let mut s = raid5("ioda");
    fail(&mut s, 0);
    s.array.replace_drive(s.now, DriveId(0)).unwrap();
    s.collect();
    assert!(told(&mut s).starts_with("gone0 r1 r2 r3 r1"), "none with the flag");
}

#[test]
fn stripes_without_redundancy_fail_alone() {
    let mut s = Script::new(Level::Raid0, 3, named("base"));
    fail(&mut s, 1);
    s.log.clear();
    s.request(READ, 0, 1);
    s.ok(0);
    s.request(READ, 1, 1);
    s.request(WRITE, 1, 1);
    assert_eq!(told(&mut s), "r0 done failed failed");
}

fn small(level: Level, width: u32) -> Script {
    small_under("base", level, width)
}

fn small_under(policy: &str, level: Level, width: u32) -> Script {
    let layout = Layout::new(level, width, 1, 2).unwrap();
    let reconstruct_compute = Duration::ZERO;
    let config = config(layout, named(policy));
    let config = Config { reconstruct_compute, absent: 1, job_depth: 1, ..config };
    let mut s = Script::of(Array::new(config));
    s.collect();
    s
}

#[test]
fn a_drive_whose_rebuild_waits_for_its_turn_does_not_count_as_serving() {
    let mut s = small(Level::Raid6, 5);
    fail(&mut s, 1);
    let state = |s: &Script, drive: u8| s.array.drive_state(DriveId(drive));
    assert_eq!(
        [0, 1, 2].map(|drive| state(&s, drive)),
        [DriveState::Failed, DriveState::Failed, DriveState::Serving]
    );
    for drive in [0, 1] {
        s.array.replace_drive(s.now, DriveId(drive)).unwrap();
        s.collect();
    }
    assert_eq!(s.array.job().unwrap().what, JobKind::Rebuild(DriveId(0)));
    assert_eq!(state(&s, 1), DriveState::Rebuilding { stripes: 2 });
    // More drives fail than there are parities: nothing can be rebuilt.
    [2, 3, 4].into_iter().for_each(|drive| fail(&mut s, drive));
    [2, 3, 4].into_iter().for_each(|drive| lost(&mut s, drive));
    assert_eq!(state(&s, 0), DriveState::Incomplete { stripes: 2 });
}

#[test]
fn a_replaced_drive_is_written_stripe_by_stripe() {
    let mut s = small(Level::Raid5, 3);
    s.array.replace_drive(s.now, DriveId(0)).unwrap();
    s.collect();
    assert_eq!(told(&mut s), "r1 r2");
    let what = JobKind::Rebuild(DriveId(0));
    let restoring = JobProgress { what, done: 0, total: 2, lost: 0 };
    assert_eq!(s.array.job(), Some(restoring));
    // A write of that stripe waits, a read does not.
    s.request(WRITE, 0, 1);
    s.request(READ, 1, 1);
    assert_eq!(told(&mut s), "r1");
    [1, 2].into_iter().for_each(|drive| s.ok(drive));
    s.compute();
    s.ok(1);
    assert_eq!(told(&mut s), "W0 done");
    s.ok(0);
    // Now the write finds the stripe rebuilt; the next stripe is begun.
    assert_eq!(told(&mut s), "r1 r1 r2");
    let restoring = JobProgress { done: 1, ..restoring };
    assert_eq!(s.array.job(), Some(restoring));
    [1, 1, 2].into_iter().for_each(|drive| s.ok(drive));
    s.compute();
    assert_eq!(told(&mut s), "W0 W2 W0");
    [0, 0, 2].into_iter().for_each(|drive| s.ok(drive));
    assert_eq!(told(&mut s), "restored done");
    assert_eq!((s.array.job(), s.array.is_optimal()), (None, true));
}

#[test]
fn what_was_read_before_a_rebuild_wrote_is_as_good_as_after() {
    // Of stripe 0 the data is on drives 1, 2 and 3, P on drive 4 and Q on drive 0.
    let mut s = small_under("ioda", Level::Raid6, 5);
    s.array.replace_drive(s.now, DriveId(0)).unwrap();
    s.request(READ, 1, 2);
    assert_eq!(told(&mut s), "r1 r2 r3 R2 R3");
    [1, 2, 3].into_iter().for_each(|drive| s.ok(drive));
    s.compute();
    s.ok(3);
    s.ok(0);
    assert!(told(&mut s).starts_with("W0 r"), "stripe 0 is rebuilt, and stripe 1 begun");
    s.busy(2, 100);
    assert_eq!(told(&mut s), "R1 R4", "drive 3 has been read: a rebuild changes no data");
}

/// Stripes before a cursor are rebuilt, except those that a crash may have left different.
#[test]
fn a_rebuild_that_goes_on_writes_only_what_is_lacking() {
    let mut s = small(Level::Raid5, 3);
    s.array.resume_rebuild(s.now, DriveId(0), [1..2, 1..9]).unwrap();
    s.collect();
    assert_eq!(s.array.drive_state(DriveId(0)), DriveState::Rebuilding { stripes: 1 });
    assert_eq!(s.array.job().unwrap().total, 1);
    // Stripe 1 is reconstructed from the others, stripe 0 is read from the drive itself.
    assert_eq!(told(&mut s), "r1 r2");
    s.request(READ, 0, 1);
    assert_eq!(told(&mut s), "r0");
    s.ok(0);
    [1, 2].into_iter().for_each(|drive| s.ok(drive));
    s.compute();
    s.ok(0);
    assert_eq!(told(&mut s), "done W0 restored");
    assert_eq!((s.array.job(), s.array.is_optimal()), (None, true));
}

#[test]
fn stripes_that_cannot_be_restored_are_counted_and_the_others_are() {
    let mut s = small(Level::Raid5, 3);
    s.array.replace_drive(s.now, DriveId(0)).unwrap();
    s.collect();
    lost(&mut s, 1);
    s.ok(2);
    [1, 2].into_iter().for_each(|drive| s.ok(drive));
    s.compute();
    s.ok(0);
    assert_eq!(told(&mut s), "r1 r2 r1 r2 W0 not-restored");
    assert!(!s.array.is_optimal());
    // Stripe 0 is still reconstructed when it is read, stripe 1 is not.
    s.request(READ, 0, 1);
    assert_eq!(told(&mut s), "r1 r2");
}

#[test]
fn whole_rows_are_deallocated_on_every_drive_that_is_there() {
    let mut s = raid5("base");
    s.request(DEALLOCATE, 0, 3);
    assert_eq!(told(&mut s), "d0 d1 d2 d3");
    [1, 2, 3].into_iter().for_each(|drive| s.ok(drive));
    s.request(READ, 0, 1);
    s.ok(0);
    lost(&mut s, 0);
    // Reconstruction from rows that are half deallocated would give neither the old data nor zeros.
    assert_eq!(told(&mut s), "r0 done r1 r2 r3");
    s.request(DEALLOCATE, 1, 2);
    assert_eq!(told(&mut s), "done", "what is not a whole row stays");
    fail(&mut s, 2);
    s.request(DEALLOCATE, 3, 4);
    assert_eq!(told(&mut s), "gone2 d0 d1 d3", "pages 3, 4, 5 are stripe 1");
}

#[test]
fn the_policy_changes_when_nothing_is_under_way() {
    let mut s = raid5("base");
    s.request(READ, 0, 1);
    let to = |s: &mut Script, name| {
        let settings = PolicySettings::default();
        s.array.set_policy(s.now, named(name), &settings, Coordination::Free)
    };
    assert_eq!(to(&mut s, "ioda"), Err(CannotSwitch::Busy { operations: 1 }));
    s.ok(0);
    assert!(matches!(to(&mut s, "latency-weighted"), Err(CannotSwitch::Impossible { .. })));
    assert_eq!(to(&mut s, "ioda"), Ok(()));
    s.collect();
    s.request(READ, 0, 1);
    assert_eq!(told(&mut s), "r0 done R0");
}

#[test]
fn a_rebuild_waits_for_nobody_who_reads_other_copies() {
    let mut s = small_under("ioda", Level::Raid1, 3);
    s.array.replace_drive(s.now, DriveId(0)).unwrap();
    s.request(READ, 0, 1);
    assert_eq!(told(&mut s), "r1 R1");
    let rebuild = s.out.remove(0);
    s.busy(1, 100);
    assert_eq!(told(&mut s), "R2", "the read goes on with the last copy");
    s.out.push(rebuild);
    s.ok(1);
    s.compute();
    assert_eq!(told(&mut s), "W0");
}
