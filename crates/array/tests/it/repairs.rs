//! Pages that a drive could not read, command by command.
#![allow(clippy::unwrap_used, reason = "tests stop")]

use crate::script::{Script, config, fail, lost, named, told};
use ioda_array::{Array, Config, Layout, Level, RequestKind};
use units::DriveId;

const READ: RequestKind = RequestKind::Read;
const WRITE: RequestKind = RequestKind::Write;

/// An array of `width` drives that repairs, with chunks of two pages: pages 0 and 1 are on drive 0.
fn script(level: Level, width: u32) -> Script {
    let config = config(Layout::new(level, width, 2, 100).unwrap(), named("base"));
    Script::of(Array::new(Config { job_depth: 1, read_repair: true, ..config }))
}

fn ok(s: &mut Script, drives: &[u8]) {
    drives.iter().for_each(|&drive| s.ok(drive));
}

#[test]
fn a_page_that_was_reconstructed_is_read_again_and_written_if_that_fails_again() {
    let mut s = script(Level::Raid5, 4);
    for is_readable in [true, false] {
        s.request(READ, 0, 1);
        lost(&mut s, 0);
        ok(&mut s, &[1, 2, 3]);
        assert_eq!(told(&mut s), "r0 r1 r2 r3");
        s.compute();
        assert_eq!(told(&mut s), "done");
        // Repairs begin when something else ends.
        s.request(READ, 4, 1);
        s.ok(2);
        assert_eq!(told(&mut s), "r2 done r0");
        if is_readable {
            s.ok(0);
            assert_eq!(told(&mut s), "", "nothing is to be written");
            continue;
        }
        lost(&mut s, 0);
        ok(&mut s, &[1, 2, 3]);
        s.compute();
        assert_eq!(told(&mut s), "r1 r2 r3 W0");
        s.ok(0);
        assert_eq!(told(&mut s), "repaired0");
    }
    let repairs = s.array.read_repairs();
    assert_eq!((repairs.readable, repairs.rewritten, repairs.lost), (1, 1, 0));
    assert_eq!(s.array.operations_in_flight(), 0);
}

#[test]
fn where_nothing_can_be_reconstructed_nothing_is_tried() {
    let mut s = script(Level::Raid0, 3);
    s.request(READ, 0, 1);
    lost(&mut s, 0);
    assert_eq!(told(&mut s), "r0 failed");
    assert_eq!(s.array.operations_in_flight(), 0);
}

/// A read of two rows around a missing drive meets media errors of too many other drives. Each row
/// alone can be reconstructed, and the read begins again.
#[test]
fn a_read_around_a_missing_drive_begins_again_when_its_rows_are_repaired() {
    for (level, width, missing, broken) in
        [(Level::Raid5, 4, 0, &[1][..]), (Level::Raid6, 5, 1, &[2, 3])]
    {
        let mut s = script(level, width);
        s.array.fail_drive(s.now, DriveId(missing));
        s.request(READ, 0, 2);
        for &drive in broken {
            lost(&mut s, drive);
        }
        // Reads in flight still have to be answered, and those sent instead.
        while let Some(&(drive, ..)) = s.out.first().filter(|(_, command, _)| command.blocks == 2) {
            s.ok(drive.0);
        }
        assert!(s.outcomes.is_empty(), "{level:?} {}", s.log);
        assert!(!s.out.is_empty() && s.out.iter().all(|(_, command, _)| command.blocks == 1));
        while let Some(&(drive, ..)) = s.out.first() {
            s.ok(drive.0);
        }
        s.compute();
        assert!(s.log.ends_with("done "), "{level:?} {}", s.log);
        assert_eq!(s.array.counters().failed_requests, 0);
    }
}

#[test]
fn scrubs_skip_what_they_cannot_compare() {
    for (level, width, absent, skipped) in
        [(Level::Raid0, 3, false, 0), (Level::Raid5, 4, false, 0), (Level::Raid5, 4, true, 50)]
    {
        let mut s = script(level, width);
        if absent {
            s.array.fail_drive(s.now, DriveId(1));
        }
        s.array.scrub(s.now, false);
        s.collect();
        let mut lost = 0;
        while let Some(job) = s.array.job() {
            lost = job.lost;
            assert_eq!(job.total, 50);
            match s.out.first() {
                Some(&(drive, ..)) => s.ok(drive.0),
                None => s.compute(),
            }
        }
        assert!(s.log.ends_with("scrubbed "), "{}", s.log);
        assert_eq!(s.skipped, skipped, "{level:?}, {lost}");
    }
}

#[test]
fn a_write_that_meets_media_errors_begins_again_with_its_turn() {
    let mut s = script(Level::Raid5, 4);
    // Two rows of one chunk: parity is computed from the other data.
    s.request(WRITE, 0, 2);
    assert_eq!(told(&mut s), "r1 r2");
    lost(&mut s, 1);
    assert_eq!(told(&mut s), "r0 r3");
    lost(&mut s, 0);
    ok(&mut s, &[2, 3]);
    assert_eq!(told(&mut s), "r0 r1 r0 r1", "row by row");
    ok(&mut s, &[0, 1, 0, 1]);
    assert_eq!(told(&mut s), "r1 r2", "from the beginning");
    ok(&mut s, &[1, 2]);
    assert_eq!(told(&mut s), "W0 W3");
}

/// A drive could not read a page once, and another drive of the stripe fails before the page is
/// written again. The page is read once more by its repair, and then by the operation that waits.
#[test]
fn a_page_that_a_drive_could_not_read_once_is_asked_for_again_before_a_request_fails() {
    // The parity of a new page on drive 0 is computed from the other data.
    for (kind, first, broken, gone) in [(READ, "r0", 0, 1), (WRITE, "r1 r2", 1, 0)] {
        for is_readable in [true, false] {
            let mut s = script(Level::Raid4, 4);
            s.request(kind, 0, 1);
            assert_eq!(told(&mut s), first);
            lost(&mut s, broken);
            fail(&mut s, gone);
            let (mut asked, mut rounds) = (0, 0);
            while s.outcomes.is_empty() {
                rounds += 1;
                assert!(rounds < 50, "it never ends: {}", s.log);
                match s.out.first() {
                    None => s.compute(),
                    Some(&(drive, ..)) if drive.0 == broken => {
                        asked += 1;
                        match is_readable {
                            true => s.ok(broken),
                            false => lost(&mut s, broken),
                        }
                    }
                    Some(&(drive, ..)) if drive.0 == gone => lost(&mut s, gone),
                    Some(&(drive, ..)) => s.ok(drive.0),
                }
            }
            let end = if is_readable { "done" } else { "failed" };
            assert!(told(&mut s).ends_with(end), "{kind:?}");
            assert_eq!(asked, 2, "by the repair, and then by the request");
            while let Some(&(drive, ..)) = s.out.first() {
                s.ok(drive.0);
            }
            assert_eq!(s.array.operations_in_flight(), 0);
        }
    }
}
