//! Commands that each policy sends to the drives, checked one by one against a scripted host.
#![allow(clippy::unwrap_used, reason = "tests stop")]

use crate::script::{PAGE, Script, named};
use ioda_array::policy::{ParityReads, PolicyKind, PolicySettings};
use ioda_array::{Level, Request, RequestId, RequestKind};
use units::{Duration, Instant};

// In stripe 0 of a RAID-5 of four, data is on drives 0, 1, 2 and parity on drive 3.
// In the log, R is a read with the flag, r a read without, W a write.

#[test]
fn base_waits() {
    let mut s = Script::new(Level::Raid5, 4, PolicyKind::BASE);
    s.request(RequestKind::Read, 0, 2);
    s.ok(0);
    s.ok(1);
    assert_eq!(s.log, "r0 r1 done ");
}

#[test]
fn iod1_rebuilds_without_the_flag() {
    let mut s = Script::new(Level::Raid5, 4, PolicyKind::IOD1);
    s.request(RequestKind::Read, 0, 1);
    s.busy(0, 500);
    for drive in [1, 2, 3] {
        s.ok(drive);
    }
    s.compute();
    assert_eq!(s.log, "R0 r1 r2 r3 done ");
    assert_eq!(s.array.counters().reconstructions, 1);
    assert_eq!(s.array.counters().reconstruct_read_pages, 3);
}

#[test]
fn iod1_waits_for_what_fails_last_when_too_many_fail() {
    let mut s = Script::new(Level::Raid5, 4, PolicyKind::IOD1);
    s.request(RequestKind::Read, 0, 2);
    s.busy(0, 100);
    s.busy(1, 900);
    // Drive 1 is read again without the flag, although it is the busier one.
    assert_eq!(s.log, "R0 R1 r2 r3 r1 ");
}

#[test]
fn iod2_waits_for_the_shortest_busy_remaining_time() {
    for (first, second, waited) in [(100, 900, "r0"), (900, 100, "r1")] {
        let mut s = Script::new(Level::Raid5, 4, PolicyKind::IOD2);
        s.request(RequestKind::Read, 0, 2);
        s.busy(0, first);
        s.busy(1, second);
        assert_eq!(s.log, format!("R0 R1 R2 R3 {waited} "));
        let waited = waited[1..].parse().unwrap();
        for drive in [2, 3, waited] {
            s.ok(drive);
        }
        s.compute();
        assert!(s.log.ends_with("done "));
    }
}

#[test]
fn iod2_learns_from_rebuild_reads_that_fail() {
    let mut s = Script::new(Level::Raid5, 4, PolicyKind::IOD2);
    s.request(RequestKind::Read, 0, 1);
    s.busy(0, 100);
    s.busy(2, 900);
    // Waiting for drive 0 itself is best, and then nothing needs to be reconstructed.
    assert_eq!(s.log, "R0 R1 R2 R3 r0 ");
    s.ok(0);
    assert!(s.log.ends_with("done "));
    for drive in [1, 3] {
        s.ok(drive);
    }
    assert_eq!(s.array.operations_in_flight(), 0);
    assert_eq!(s.array.counters().reconstructions, 0);
}

#[test]
fn iod3_never_reads_from_the_drive_whose_turn_it_is() {
    let mut s = Script::new(Level::Raid5, 4, PolicyKind::IOD3);
    s.request(RequestKind::Read, 0, 2);
    // At time 0 it is drive 0's turn.
    assert_eq!(s.log, "r1 r2 r3 ");
    for drive in [1, 2, 3] {
        s.ok(drive);
    }
    s.compute();
    assert!(s.log.ends_with("done "));
    s.log.clear();
    s.now = Instant::ZERO + Duration::from_millis(150);
    s.request(RequestKind::Read, 0, 1);
    assert_eq!(s.log, "r0 ", "at 150 ms it is drive 1's turn");
}

#[test]
fn reads_for_parity_of_iod3_go_around_or_wait() {
    for (parity_reads, log) in [
        // The old data of drive 0 is reconstructed from the other data and the parity.
        (ParityReads::Around, "r7 r1 r2 r3 r4 r5 r6 "),
        (ParityReads::Wait, "r0 r7 "),
    ] {
        let settings =
            PolicySettings { iod3_parity_reads: parity_reads, ..PolicySettings::default() };
        let mut s = Script::set(Level::Raid5, 8, PolicyKind::IOD3, settings);
        s.request(RequestKind::Write, 0, 1);
        assert_eq!(s.log, log, "{parity_reads:?}");
        s.log.clear();
        // Pages that the host wants are never read from the drive whose turn it is.
        s.request(RequestKind::Read, 7, 1);
        assert!(!s.log.contains("r0"), "{parity_reads:?}: {}", s.log);
    }
}

#[test]
fn ioda_sends_to_busy_drives_and_rebuilds_what_fails() {
    let mut s = Script::new(Level::Raid5, 4, PolicyKind::IODA);
    s.request(RequestKind::Read, 0, 2);
    s.busy(0, 100);
    for drive in [1, 2, 3] {
        s.ok(drive);
    }
    s.compute();
    assert_eq!(s.log, "R0 R1 R2 R3 done ");
}

#[test]
fn raid6_rebuilds_two_without_waiting() {
    // Stripe 0 of a RAID-6 of five: data on drives 1, 2, 3, P on 4, Q on 0.
    let mut s = Script::new(Level::Raid6, 5, PolicyKind::IODA);
    s.request(RequestKind::Read, 0, 3);
    s.busy(1, 100);
    assert_eq!(s.log, "R1 R2 R3 R0 ", "one parity is enough for one missing chunk");
    s.busy(2, 100);
    assert_eq!(s.log, "R1 R2 R3 R0 R4 ");
    for drive in [3, 0, 4] {
        s.ok(drive);
    }
    s.compute();
    assert!(s.log.ends_with("done "));
    assert_eq!(s.array.counters().resubmitted, 0);
}

#[test]
fn writes_read_whichever_is_less() {
    let cases = [
        // (level, width, pages, commands)
        (Level::Raid5, 4, 3, "W0 W1 W2 W3 "),
        (Level::Raid5, 4, 1, "r1 r2 "),
        (Level::Raid5, 4, 2, "r2 "),
        (Level::Raid5, 8, 1, "r0 r7 "),
        (Level::Raid4, 8, 2, "r0 r1 r7 "),
        (Level::Raid5, 8, 5, "r5 r6 "),
        (Level::Raid0, 4, 1, "W0 "),
        (Level::Raid6, 8, 1, "r0 r1 r7 "),
    ];
    for (level, width, pages, expected) in cases {
        let mut s = Script::new(level, width, PolicyKind::BASE);
        s.request(RequestKind::Write, 0, pages);
        assert_eq!(s.log, expected, "{level:?} of {width}, {pages} pages");
    }
}

#[test]
fn reads_for_parity_carry_the_flag_and_are_rebuilt() {
    // IODA §4.4, "Write Path".
    let mut s = Script::new(Level::Raid5, 8, PolicyKind::IODA);
    s.request(RequestKind::Write, 0, 1);
    assert_eq!(s.log, "R0 R7 ");
    s.busy(0, 100);
    assert_eq!(s.log, "R0 R7 R1 R2 R3 R4 R5 R6 ");
    for drive in [7, 1, 2, 3, 4, 5, 6] {
        s.ok(drive);
    }
    s.compute();
    assert!(s.log.ends_with("W0 W7 "));
    for drive in [0, 7] {
        s.ok(drive);
    }
    assert!(s.log.ends_with("done "));
}

#[test]
fn writes_of_one_stripe_take_turns() {
    let mut s = Script::new(Level::Raid5, 4, PolicyKind::BASE);
    s.request(RequestKind::Write, 0, 3);
    s.request(RequestKind::Write, 0, 3);
    assert_eq!(s.log, "W0 W1 W2 W3 ", "the second waits");
    for drive in [0, 1, 2, 3] {
        s.ok(drive);
    }
    assert_eq!(s.log, "W0 W1 W2 W3 done W0 W1 W2 W3 ");
}

#[test]
fn a_rebuild_takes_what_a_write_in_flight_holds() {
    let mut s = Script::new(Level::Raid5, 4, PolicyKind::IODA);
    s.request(RequestKind::Write, 0, 3);
    s.log.clear();
    s.out.clear();
    s.request(RequestKind::Read, 1, 1);
    s.busy(1, 100);
    assert_eq!(s.log, "R1 done ", "the new data of drive 1 is in memory");
    assert_eq!(s.array.counters().shared_with_write, 1);
}

#[test]
fn proactive_goes_on_with_the_first_that_suffice() {
    let mut s = Script::new(Level::Raid5, 4, named("proactive"));
    s.request(RequestKind::Read, 0, 1);
    for drive in [3, 1, 2] {
        s.ok(drive);
    }
    s.compute();
    assert_eq!(s.log, "r0 r1 r2 r3 done ");
    // The late answer delays nothing any more.
    s.ok(0);
    assert_eq!(
        (s.array.counters().reconstructions, s.array.counters().reconstruct_read_pages),
        (1, 3)
    );
    assert_eq!(s.array.operations_in_flight(), 0);

    // If the wanted pages come first, nothing is computed.
    s.log.clear();
    s.request(RequestKind::Read, 0, 2);
    for drive in [1, 0] {
        s.ok(drive);
    }
    assert_eq!(s.log, "r0 r1 r2 r3 done ");
    assert_eq!(s.array.counters().reconstructions, 1);
}

#[test]
fn proactive_waits_for_a_write_that_is_under_way() {
    let mut s = Script::new(Level::Raid5, 4, named("proactive"));
    s.request(RequestKind::Write, 0, 3);
    s.log.clear();
    // Data and parity of the stripe are being written: old and new do not match each other.
    s.request(RequestKind::Read, 0, 1);
    assert_eq!(s.log, "r0 ");
}

#[test]
fn pages_written_in_part_are_read_first() {
    let mut s = Script::new(Level::Raid5, 4, PolicyKind::BASE);
    let request = Request {
        id: RequestId(1),
        host: 0,
        kind: RequestKind::Write,
        offset_bytes: 512,
        size_bytes: 3 * PAGE - 512,
    };
    s.array.handle_request(s.now, &request);
    s.collect();
    assert_eq!(s.log, "r0 ", "a full stripe but for the first 512 bytes");
    s.ok(0);
    assert_eq!(s.log, "r0 W0 W1 W2 W3 ");
}

#[test]
fn policies_answer_to_their_names() {
    for kind in PolicyKind::ALL {
        let named = PolicyKind::ALL.iter().filter(|other| *other == kind).count();
        assert_eq!(named, 1, "{kind:?} is a name of its own");
        assert_eq!(PolicyKind::from_name(&kind.name().to_uppercase()), Some(*kind));
    }
    assert_eq!(PolicyKind::from_name("nothing"), None);
}

#[test]
fn a_write_waits_for_rebuilds_of_the_old_stripe_only() {
    let mut s = Script::new(Level::Raid5, 8, PolicyKind::IODA);
    // A reconstruction of drive 1 reads the stripe as it is.
    s.request(RequestKind::Read, 1, 1);
    s.busy(1, 100);
    assert_eq!(s.log, "R1 R0 R2 R3 R4 R5 R6 R7 ");
    let of_first: Vec<_> = s.out.drain(..).collect();
    // A write of drive 0 has its data and must wait.
    s.log.clear();
    s.request(RequestKind::Write, 0, 1);
    for drive in [0, 7] {
        s.ok(drive);
    }
    assert_eq!(s.log, "R0 R7 ");
    // A second reconstruction takes what the write holds (drives 0 and 7) and reads the rest.
    s.log.clear();
    s.request(RequestKind::Read, 2, 1);
    s.busy(2, 100);
    assert_eq!(s.log, "R2 R1 R3 R4 R5 R6 ");
    // Once the first is done the write goes on, although the second still reads.
    s.log.clear();
    let of_second = std::mem::replace(&mut s.out, of_first);
    for drive in [0, 2, 3, 4, 5, 6, 7] {
        s.ok(drive);
    }
    s.compute();
    assert_eq!(s.log, "done W0 W7 ");
    for drive in [0, 7] {
        s.ok(drive);
    }
    s.out = of_second;
    for drive in [1, 3, 4, 5, 6] {
        s.ok(drive);
    }
    s.compute();
    assert_eq!(s.log, "done W0 W7 done done ");
    assert_eq!(s.array.operations_in_flight(), 0);
}

/// A drive works in its window, so a write gets its parity from the other drives, if possible.
#[test]
fn quiet_reads_for_parity_where_no_window_is_open() {
    // The second read waits a little, because the first is outstanding.
    for (at_millis, told) in [(50, "R1 P2 "), (150, "R0 P3 "), (250, "R0 P3 "), (350, "R1 P2 ")] {
        let mut s = Script::new(Level::Raid5, 4, named("quiet"));
        s.now = Instant::ZERO + Duration::from_millis(at_millis);
        s.array.handle_deadline(s.now);
        s.collect();
        s.request(RequestKind::Write, 0, 1);
        assert_eq!(s.log.to_uppercase(), told, "after {at_millis} ms");
    }
}
