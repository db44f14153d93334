//! Mirrors whose copies a crash may have left different, command by command.
#![allow(clippy::unwrap_used, reason = "tests stop")]

use crate::script::{PAGE, Script, config, fail, lost, named, told};
use ioda_array::{Array, Config, Layout, Level, Request, RequestId, RequestKind};
use units::DriveId;

const READ: RequestKind = RequestKind::Read;
const WRITE: RequestKind = RequestKind::Write;

/// A mirror of `width` drives with chunks of two pages, its first stripe in doubt. The resync
/// waits, so that a client comes first.
fn mirror(width: u32, differ: bool) -> Script {
    let mut s = resyncing(width, differ);
    s.array.prepare_to_switch(s.now);
    s.array.resync(s.now, core::iter::once(0..1));
    s.collect();
    assert_eq!(told(&mut s), "");
    s
}

fn resyncing(width: u32, differ: bool) -> Script {
    let config = config(Layout::new(Level::Raid1, width, 2, 100).unwrap(), named("base"));
    let config = Config { job_depth: 1, read_repair: true, data_actions: true, ..config };
    Script { differ, ..Script::of(Array::new(config)) }
}

fn ok(s: &mut Script, drives: &[u8]) {
    drives.iter().for_each(|&drive| s.ok(drive));
}

/// Answers commands in order, until none is in flight.
fn settle(s: &mut Script) {
    while let Some(&(drive, ..)) = s.out.first() {
        s.ok(drive.0);
    }
}

fn write_half_a_page(s: &mut Script) {
    let (id, kind) = (RequestId(7), WRITE);
    let request = Request { id, host: 0, kind, offset_bytes: 0, size_bytes: PAGE / 2 };
    s.array.handle_request(s.now, &request);
    s.collect();
}

#[test]
fn a_read_is_answered_when_the_copies_are_equal_on_stable_storage() {
    let mut s = mirror(2, true);
    s.request(READ, 0, 1);
    assert_eq!(told(&mut s), "r0 r1", "both copies");
    ok(&mut s, &[0, 1]);
    assert_eq!(told(&mut s), "0=1 force W1", "the first is kept");
    s.ok(1);
    assert_eq!(told(&mut s), "r0");
    s.ok(0);
    assert_eq!(told(&mut s), "done");
    assert_eq!(s.array.operations_in_flight(), 0);
}

#[test]
fn a_copy_that_is_equal_is_not_written() {
    let mut s = mirror(3, false);
    s.request(READ, 0, 1);
    ok(&mut s, &[2, 1, 0]);
    assert_eq!(told(&mut s), "r0 r1 r2 0=1 0=2 r0");
    s.ok(0);
    assert_eq!(told(&mut s), "done");
}

/// A client that reads the second copy because the first cannot be read must read it after another
/// crash as well.
#[test]
fn the_first_copy_that_can_be_read_is_kept() {
    for broken in [&[0][..], &[0, 1]] {
        let mut s = mirror(3, true);
        s.request(READ, 0, 1);
        assert_eq!(told(&mut s), "r0 r1 r2");
        for drive in 0..3 {
            match broken.contains(&drive) {
                true => lost(&mut s, drive),
                false => s.ok(drive),
            }
        }
        s.compute();
        let expected = match broken.len() {
            1 => "1=2 force W0 W2",
            _ => "force W0 W1",
        };
        assert_eq!(told(&mut s), expected);
        let written: Vec<u8> = s.out.iter().map(|(drive, ..)| drive.0).collect();
        for drive in written {
            assert!(s.outcomes.is_empty(), "not before both are written");
            s.ok(drive);
        }
        settle(&mut s);
        assert!(told(&mut s).ends_with("r0 done"));
    }
}

/// As above, but the first copy fails again: any other copy is right.
#[test]
fn a_copy_that_fails_again_is_done_without() {
    let mut s = mirror(2, false);
    s.request(READ, 0, 1);
    ok(&mut s, &[0, 1]);
    assert_eq!(told(&mut s), "r0 r1 0=1 r0");
    lost(&mut s, 0);
    s.ok(1);
    s.compute();
    assert_eq!(told(&mut s), "r1 done");
}

#[test]
fn a_write_of_a_part_of_a_page_waits_and_one_of_whole_pages_does_not() {
    let mut s = mirror(2, true);
    s.request(WRITE, 0, 1);
    assert_eq!(told(&mut s), "W0 W1");
    ok(&mut s, &[0, 1]);
    assert_eq!(told(&mut s), "done");
    write_half_a_page(&mut s);
    ok(&mut s, &[0, 1]);
    assert_eq!(told(&mut s), "r0 r1 0=1 force W1");
    s.ok(1);
    assert_eq!(told(&mut s), "r0", "the rest of the page");
    ok(&mut s, &[0, 0, 1]);
    assert_eq!(told(&mut s), "W0 W1 done");
}

#[test]
fn a_row_without_any_copy_fails_and_others_are_read() {
    let mut s = mirror(2, false);
    s.request(READ, 0, 1);
    for drive in [0, 1, 0, 1] {
        lost(&mut s, drive);
    }
    assert_eq!(told(&mut s), "r0 r1 lost0 lost1 r0 r1 failed");
    s.request(READ, 1, 1);
    settle(&mut s);
    assert_eq!(told(&mut s), "r0 r1 0=1 r0 done");
}

#[test]
fn the_last_copy_is_read_at_once() {
    let mut s = mirror(2, true);
    fail(&mut s, 0);
    assert_eq!(told(&mut s), "gone0");
    s.request(READ, 0, 1);
    s.ok(1);
    assert_eq!(told(&mut s), "r1 done");
}

#[test]
fn a_drive_that_fails_meanwhile_is_not_waited_for() {
    let mut s = mirror(2, true);
    s.request(READ, 0, 1);
    ok(&mut s, &[0, 1]);
    assert_eq!(told(&mut s), "r0 r1 0=1 force W1");
    lost(&mut s, 1);
    s.ok(0);
    assert_eq!(told(&mut s), "gone1 r0 done");
}

#[test]
fn a_resync_makes_copies_equal_stripe_by_stripe() {
    for (differ, expected) in [(true, "r0 r1 0=1 force W1 restored"), (false, "r0 r1 0=1 restored")]
    {
        let mut s = resyncing(2, differ);
        s.array.resync(s.now, core::iter::once(0..1));
        s.collect();
        settle(&mut s);
        assert_eq!(told(&mut s), expected);
        assert_eq!(s.array.counters().repaired_stripes, u64::from(differ));
        assert!(s.array.is_optimal());
        s.request(READ, 0, 1);
        s.ok(0);
        assert_eq!(told(&mut s), "r0 done", "nothing is in doubt any more");
    }
}

/// Each copy of a chunk has an unreadable page. Row by row, both rows can be settled.
#[test]
fn a_chunk_of_which_no_copy_can_be_read_whole_is_settled_row_by_row() {
    let mut s = resyncing(2, true);
    s.array.resync(s.now, core::iter::once(0..1));
    s.collect();
    lost(&mut s, 0);
    lost(&mut s, 1);
    assert_eq!(told(&mut s), "r0 r1 r0 r1 r0 r1");
    // Page 0 of drive 0 and page 1 of drive 1.
    for broken in [0, 1] {
        let row = |(_, command, _): &&(DriveId, nvme::Command, _)| command.lba.0 == broken;
        assert_eq!(s.out.iter().filter(row).count(), 2);
    }
    lost(&mut s, 0);
    s.ok(1);
    s.ok(0);
    lost(&mut s, 1);
    while s.array.next_deadline() != units::Instant::NEVER {
        s.compute();
    }
    assert_eq!(told(&mut s), "force W0 force W1");
    s.differ = false;
    ok(&mut s, &[0, 1]);
    settle(&mut s);
    assert_eq!(told(&mut s), "repaired0 repaired1 r0 r1 0=1 restored");
    assert_eq!(s.array.operations_in_flight(), 0);
}

#[test]
fn a_resync_goes_on_without_a_drive_that_fails() {
    let mut s = resyncing(3, true);
    s.array.resync(s.now, core::iter::once(0..1));
    s.collect();
    ok(&mut s, &[0, 1]);
    assert_eq!(told(&mut s), "r0 r1 r2");
    fail(&mut s, 0);
    s.ok(2);
    assert_eq!(told(&mut s), "gone0 0=1 0=2 force W1 W2");
    ok(&mut s, &[1, 2]);
    assert_eq!(
        told(&mut s),
        "r1 r2",
        "what was written is on drives that are there, but it looks again"
    );
    s.differ = false;
    settle(&mut s);
    assert_eq!(told(&mut s), "1=2 restored");
}

#[test]
fn a_scrub_passes_over_copies_that_are_in_doubt() {
    let mut s = resyncing(2, true);
    s.array.resync(s.now, core::iter::once(0..1));
    s.collect();
    for _ in 0..2 {
        // First the chunk is read, then each of its rows.
        while let Some(&(drive, ..)) = s.out.first() {
            lost(&mut s, drive.0);
        }
    }
    assert!(told(&mut s).ends_with("not-restored"));
    s.array.scrub(s.now, true);
    s.collect();
    let read = told(&mut s);
    assert_eq!(s.out.iter().filter(|(_, command, _)| command.lba.0 < 2).count(), 0, "{read}");
}
