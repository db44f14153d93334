//! Writes that relocate a chunk to another drive, command by command.
#![allow(clippy::unwrap_used, reason = "tests stop")]

use crate::script::{PAGE, Script, config, named};
use ioda_array::policy::{
    About, DriveChanges, Needs, Policy, PolicyKind, PolicySettings, View, WindowUse,
};
use ioda_array::{Array, Config, Coordination, Layout, Level, Request, RequestId, RequestKind};
use nvme::{Opcode, Untimed};
use units::{DriveId, Instant, Lba};

/// Relocates every written page to the first drive with room.
const AWAY: PolicyKind = PolicyKind::new(&About {
    name: "away",
    label: "Away",
    summary: "moves all that is written",
    source: "this test",
    drive_changes: DriveChanges::Usual("deallocation"),
    windows: WindowUse::None,
    untimed: Untimed::Nothing,
    needs: Needs::Redundancy,
    build: &|_| Box::new(Away),
});

struct Away;

impl Policy for Away {
    fn place_update(&mut self, _: Instant, _: DriveId, free: u64, _: &View<'_>) -> Option<DriveId> {
        Some(DriveId(free.trailing_zeros() as u8))
    }

    fn relocates_chunks(&self) -> bool {
        true
    }
}

/// Six drives in stripes of three, with four spare blocks from 1000 on. Page 0 is on drive 0, page
/// 1 on drive 1 and their parity on drive 2.
fn script() -> Script {
    script_of(Layout::striped(Level::Raid5, 6, 3, 1, 1000).unwrap(), 1000)
}

/// As `script`, with another layout, and spare blocks from `blocks` on.
fn script_of(layout: Layout, blocks: u64) -> Script {
    script_under(AWAY, layout, blocks)
}

fn script_under(policy: PolicyKind, layout: Layout, blocks: u64) -> Script {
    let spare = blocks..blocks + 4;
    Script::of(Array::new(Config { spare, job_depth: 1, ..config(layout, policy) }))
}

fn block_of(s: &Script, drive: u8, opcode: Opcode) -> Lba {
    let sent = s.out.iter().find(|(d, command, _)| d.0 == drive && command.opcode == opcode);
    sent.unwrap().1.lba
}

#[test]
fn a_page_moves_and_comes_back() {
    let mut s = script();
    s.request(RequestKind::Write, 0, 1);
    assert_eq!(s.log, "r1 ", "neither the old page nor the old parity is needed");
    s.ok(1);
    assert_eq!(s.log, "r1 W3 W2 ");
    assert_eq!(block_of(&s, 3, Opcode::Write), Lba(1000));
    assert_eq!(block_of(&s, 2, Opcode::Write), Lba(0));
    s.request(RequestKind::Read, 0, 1);
    assert_eq!(s.log, "r1 W3 W2 done ", "from the memory of the write");
    s.ok(3);
    s.ok(2);
    assert_eq!(s.log, "r1 W3 W2 done d0 done ");
    assert_eq!(block_of(&s, 0, Opcode::Deallocate), Lba(0));
    s.ok(0);
    assert_eq!(s.array.locate(0, 0, DriveId(0)), (DriveId(3), Lba(1000)));
    s.log.clear();
    s.request(RequestKind::Read, 0, 2);
    assert_eq!(s.log, "r3 r1 ", "one command for each member, wherever it is");
    s.ok(3);
    s.ok(1);
    s.log.clear();
    s.request(RequestKind::Write, 0, 1);
    s.ok(1);
    s.ok(0);
    s.ok(2);
    s.ok(3);
    assert_eq!(s.log, "r1 W0 W2 d3 done ");
    assert_eq!(s.array.locate(0, 0, DriveId(0)), (DriveId(0), Lba(0)), "home again");
    assert_eq!((s.array.counters().relocated_chunks, s.array.operations_in_flight()), (2, 0));
}

/// A spare block holds one page. A chunk of two pages would need two adjacent ones.
#[test]
fn longer_chunks_stay_where_they_are() {
    let layout = |pages| Layout::striped(Level::Raid5, 6, 3, pages, 1000).unwrap();
    for (pages, told) in [(1, "r1 W3 W2 "), (2, "r1 W0 W2 ")] {
        let mut s = script_of(layout(pages), 1000);
        s.request(RequestKind::Write, 0, 1);
        s.ok(1);
        assert_eq!(s.log, told, "chunks of {pages}");
        // The same holds under a policy that is set later.
        let spare = 1000..1004;
        let base = config(layout(pages), named("base"));
        let mut s = Script::of(Array::new(Config { spare, ..base }));
        let settings = PolicySettings::default();
        s.array.set_policy(s.now, AWAY, &settings, Coordination::Free).unwrap();
        s.request(RequestKind::Write, 0, 1);
        s.ok(1);
        assert_eq!(s.log, told, "chunks of {pages}");
    }
}

#[test]
fn a_move_waits_for_reads_of_the_old_place_only() {
    let mut s = script();
    s.request(RequestKind::Read, 0, 1);
    // Page 5 is on the same drive, in another stripe.
    s.request(RequestKind::Read, 5, 1);
    s.request(RequestKind::Write, 0, 1);
    assert_eq!(s.log, "r0 r0 r1 ");
    s.ok(1);
    assert_eq!(s.log, "r0 r0 r1 ", "the first read is still out");
    s.ok(0);
    assert_eq!(s.log, "r0 r0 r1 done W3 W2 ");
}

#[test]
fn a_page_that_is_written_in_part_is_rebuilt_first() {
    let mut s = script();
    let half = Request {
        id: RequestId(1),
        host: 0,
        kind: RequestKind::Write,
        offset_bytes: 0,
        size_bytes: PAGE / 2,
    };
    s.array.handle_request(s.now, &half);
    s.collect();
    assert_eq!(s.log, "r1 r2 ");
    s.ok(1);
    s.ok(2);
    s.compute();
    assert_eq!(s.log, "r1 r2 W3 W2 ");
}

/// Writes more than can be relocated. Returns the number of writes sent to drives.
fn fill(s: &mut Script) -> usize {
    let mut writes = 0;
    // Every other stripe is on the drives 0, 1 and 2.
    for stripe in (0..24).step_by(2) {
        s.request(RequestKind::Write, 2 * stripe, 2);
        writes += s.log.matches('W').count();
        while let Some(&(drive, ..)) = s.out.first() {
            s.ok(drive.0);
        }
        assert!(s.log.ends_with("done "), "{}", s.log);
        s.log.clear();
    }
    writes
}

#[test]
fn pages_stay_where_they_are_when_no_drive_has_room() {
    let mut s = script();
    assert_eq!(fill(&mut s), 36, "two pages and a parity each time");
    assert_eq!(s.array.counters().relocated_chunks, 12, "four to each of the drives 3, 4 and 5");
}

/// The drive that a chunk is relocated to fails, and is replaced before the write has ended.
#[test]
fn a_rebuild_waits_for_a_write_that_brings_a_chunk_to_its_drive() {
    let mut s = script_of(Layout::striped(Level::Raid5, 6, 3, 1, 4).unwrap(), 4);
    s.request(RequestKind::Write, 0, 1);
    s.ok(1);
    assert_eq!(s.log, "r1 W3 W2 ");
    s.array.fail_drive(s.now, DriveId(3));
    s.ok(3);
    s.array.replace_drive(s.now, DriveId(3)).unwrap();
    s.collect();
    assert_eq!(s.log, "r1 W3 W2 gone3 ", "stripe 0 is the write's");
    s.ok(2);
    assert_eq!(s.log, "r1 W3 W2 gone3 d0 done r1 r2 ", "and has a chunk on drive 3 now");
    [1, 2].into_iter().for_each(|drive| s.ok(drive));
    s.compute();
    assert_eq!(block_of(&s, 3, Opcode::Write), Lba(4));
}

#[test]
fn copies_of_a_mirror_stay_where_they_are() {
    let mut s = script_of(Layout::striped(Level::Raid10, 4, 2, 1, 1000).unwrap(), 1000);
    s.request(RequestKind::Write, 0, 1);
    assert_eq!(s.log, "W0 W1 ");
}

#[test]
fn of_two_pages_that_are_written_in_part_one_moves() {
    let mut s = script();
    let halves = Request {
        id: RequestId(1),
        host: 0,
        kind: RequestKind::Write,
        offset_bytes: PAGE / 2,
        size_bytes: PAGE,
    };
    s.array.handle_request(s.now, &halves);
    s.collect();
    assert_eq!(s.log, "r1 r2 ", "what is moved is computed from the other");
    [1, 2].into_iter().for_each(|drive| s.ok(drive));
    s.compute();
    assert_eq!(s.log, "r1 r2 W3 W1 W2 ");
}

#[test]
fn a_read_beside_a_write_that_moves_nothing_asks_the_drive() {
    let layout = Layout::striped(Level::Raid5, 3, 3, 1, 1000).unwrap();
    let mut s = script_of(layout, 1000);
    // There is no drive outside the stripe.
    s.request(RequestKind::Write, 0, 2);
    s.request(RequestKind::Read, 0, 1);
    assert_eq!(s.log, "W0 W1 W2 r0 ");
    assert_eq!(s.array.counters().shared_with_write, 0);
}

/// Chunks relocated before a change of policy stay where they are; a change to this policy
/// relocates further ones.
#[test]
fn chunks_move_after_a_change_of_policy_as_well() {
    let mut s = script();
    let settings = PolicySettings::default();
    let to = |s: &mut Script, policy| {
        s.array.set_policy(s.now, policy, &settings, Coordination::Free).unwrap();
        s.collect();
        s.log.clear();
    };
    let write = |s: &mut Script, log: &str| {
        s.request(RequestKind::Write, 0, 2);
        assert_eq!(s.log, log);
        while let Some(&(drive, ..)) = s.out.first() {
            s.ok(drive.0);
        }
    };
    to(&mut s, PolicyKind::BASE);
    write(&mut s, "W0 W1 W2 ");
    to(&mut s, AWAY);
    write(&mut s, "W3 W4 W2 ");
    to(&mut s, PolicyKind::BASE);
    write(&mut s, "W3 W4 W2 ");
    to(&mut s, AWAY);
    assert_eq!(s.array.locate(0, 0, DriveId(0)), (DriveId(3), Lba(1000)), "the map is kept");
}

#[test]
fn an_array_that_began_under_another_policy_has_the_same_room() {
    let layout = Layout::striped(Level::Raid5, 6, 3, 1, 1000).unwrap();
    let mut s = script_under(PolicyKind::BASE, layout, 1000);
    assert_eq!(s.array.map_bytes(), 0);
    let settings = PolicySettings::default();
    s.array.set_policy(s.now, AWAY, &settings, Coordination::Free).unwrap();
    s.collect();
    fill(&mut s);
    assert_eq!(s.array.counters().relocated_chunks, 12, "four to each of the drives 3, 4 and 5");
    // Twelve entries of 16 bytes, and the free blocks that the chunks have left.
    assert!(s.array.map_bytes() >= 12 * 16, "{}", s.array.map_bytes());
}
