//! Tests of the block against damage, and of the machines one step at a time. Tests with many
//! servers at once are in `engine/tests/it/owner.rs`.
#![allow(clippy::unwrap_used, reason = "a test")]

use super::super::block::{BLOCK_BYTES, seal};
use super::*;
use crate::durability::Uuid;
use units::{Instant, Rng};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + ms(millis)
}

const TERMS: Terms =
    Terms { lease: Duration::from_millis(1600), in_flight: Duration::from_millis(1000) };

fn block(number: u8, state: OwnerState) -> OwnerBlock {
    OwnerBlock {
        owner: Uuid([number; 16]),
        epoch: 3,
        heartbeat: 7,
        state,
        terms: TERMS,
        process: Process { machine: [5; 16], namespace: 6, number: 7, started: 8 },
        name: OwnerName::new("example, process 7"),
    }
}

#[test]
fn the_block_is_read_as_it_was_written_and_fits_a_sector() {
    for state in [
        OwnerState::Bid { demands: false },
        OwnerState::Bid { demands: true },
        OwnerState::Held,
        OwnerState::Released,
    ] {
        let block = block(1, state);
        let bytes = block.encode();
        assert_eq!(Found::decode(&bytes), Found::Owner(block));
        assert!(
            bytes[512..].iter().all(|&byte| byte == 0),
            "all that differs is in the first sector"
        );
    }
    assert_eq!(Found::decode(&[0; BLOCK_BYTES]), Found::Nothing);
    let name = OwnerName::new("a\u{1b}[31mb\u{e4}");
    assert_eq!(name.as_str(), "a?[31mb?", "nothing of it reaches a terminal");
    assert_eq!(OwnerName::new(&"x".repeat(500)).as_str().len(), OWNER_NAME_BYTES);
}

#[test]
fn a_damaged_block_is_damaged_or_can_be_written_again() {
    for seed in testing::seeds(0..5_000) {
        let mut rng = Rng::stream(seed, "owner block");
        let mut bytes = block(rng.next_u64() as u8, OwnerState::Held).encode();
        for _ in 0..1 + rng.below(5) {
            bytes[rng.below(256) as usize] = rng.next_u64() as u8;
        }
        if rng.below(2) == 0 {
            seal(&mut bytes, 8);
        }
        match Found::decode(&bytes) {
            Found::Nothing => unreachable!("it is not zero"),
            Found::Damaged => {}
            Found::Owner(owner) => {
                assert_eq!(Found::decode(&owner.encode()), Found::Owner(owner));
                assert!(owner.name.as_str().bytes().all(|byte| (b' '..=b'~').contains(&byte)));
                // The times of a damaged block are bounded.
                assert!(owner.terms.outlasting() < Duration::from_secs(5 * 3600));
            }
        }
    }
}

#[test]
fn a_block_that_moves_is_of_a_server_that_lives() {
    for (guard, patience) in [(Guard::Fenced, 1700), (Guard::Bare, 800)] {
        let mut watch = Watch::new(Uuid([9; 16]), TERMS, guard, guard == Guard::Fenced);
        let owner = block(1, OwnerState::Held);
        assert_eq!(watch.next_read(), Instant::ZERO);
        watch.handle_read(at(0), at(10), Found::Owner(owner));
        assert_eq!(watch.next_read(), at(10) + TERMS.look());
        watch.handle_read(at(9 + patience), at(900 + patience), Found::Owner(owner));
        assert_eq!(watch.verdict(), Verdict::Unsure, "it was asked too early");
        let mut moving = watch.clone();
        let later = OwnerBlock { heartbeat: 8, ..owner };
        moving.handle_read(at(10 + patience), at(900 + patience), Found::Owner(later));
        assert_eq!(moving.verdict(), Verdict::Moving(later));
        assert_eq!(moving.next_read(), Instant::NEVER);
        watch.handle_read(at(10 + patience), at(900 + patience), Found::Owner(owner));
        assert_eq!(watch.verdict(), Verdict::Still(Some(owner)));
    }
}

#[test]
fn a_block_without_owner_is_free_and_one_that_cannot_be_read_is_watched() {
    let watch = || Watch::new(Uuid([9; 16]), TERMS, Guard::Bare, false);
    let released = Found::Owner(block(1, OwnerState::Released));
    for found in [Found::Nothing, released, Found::Owner(block(9, OwnerState::Held))] {
        let mut watch = watch();
        watch.handle_read(at(0), at(1), found);
        assert_eq!((watch.verdict(), watch.found()), (Verdict::Free, Some(found)));
    }
    // The server that has reserved the drive has not written its block yet, or never will.
    let mut reserved = Watch::new(Uuid([9; 16]), TERMS, Guard::Fenced, true);
    reserved.handle_read(at(0), at(1), released);
    assert_eq!(reserved.verdict(), Verdict::Unsure);
    let mut late = reserved.clone();
    late.handle_read(at(100), at(101), Found::Owner(block(3, OwnerState::Held)));
    assert!(matches!(late.verdict(), Verdict::Moving(_)));
    reserved.handle_read(at(1701), at(1702), released);
    assert!(matches!(reserved.verdict(), Verdict::Still(_)));
    let mut damaged = watch();
    damaged.handle_read(at(0), at(1), Found::Damaged);
    assert_eq!(damaged.verdict(), Verdict::Unsure);
    damaged.handle_read(at(900), at(901), Found::Damaged);
    assert_eq!(damaged.verdict(), Verdict::Still(None));
    let mut gone = watch();
    gone.handle_owner_gone();
    assert_eq!(gone.verdict(), Verdict::Unsure, "whose process?");
    gone.handle_read(at(0), at(1), Found::Owner(block(1, OwnerState::Held)));
    gone.handle_owner_gone();
    assert!(matches!(gone.verdict(), Verdict::Still(Some(_))));
}

/// Carries out the I/O of a lease on a block, each in a millisecond.
fn run(lease: &mut Lease, stored: &mut Found, from: u64, until: u64) -> u64 {
    let mut writes = 0;
    for now in from..until {
        match lease.poll(at(now)) {
            Some(LeaseIo::Read) => lease.handle_read(at(now), *stored),
            Some(LeaseIo::Write(block)) => {
                *stored = Found::Owner(block);
                writes += 1;
                lease.handle_written(at(now));
            }
            None => {}
        }
    }
    writes
}

#[test]
fn a_free_drive_is_taken_after_settling_and_kept_by_heartbeats() {
    let mut stored = Found::Nothing;
    let own = block(1, OwnerState::Held);
    let mut lease = Lease::new(own, Guard::Bare, stored, false);
    run(&mut lease, &mut stored, 0, 400);
    assert_eq!(lease.standing(at(400)), Standing::Bidding);
    run(&mut lease, &mut stored, 400, 410);
    assert!(lease.is_valid(at(410)));
    let writes = run(&mut lease, &mut stored, 410, 10_000);
    assert!((20..30).contains(&writes), "{writes} heartbeats in 24 quarters of a lease");
    lease.release();
    run(&mut lease, &mut stored, 10_000, 10_010);
    assert_eq!(lease.standing(at(10_010)), Standing::Released);
    assert_eq!(stored.owner().unwrap().state, OwnerState::Released);
}

#[test]
fn a_drive_whose_owner_stands_still_is_taken_when_nothing_of_it_is_on_its_way() {
    let mut stored = Found::Owner(block(2, OwnerState::Held));
    let mut lease = Lease::new(block(1, OwnerState::Held), Guard::Bare, stored, false);
    let wait = TERMS.outlasting().as_nanos() / 1_000_000;
    assert_eq!(wait, 2762, "1600 and 1000, and a sixteenth");
    run(&mut lease, &mut stored, 0, wait);
    assert_eq!(lease.standing(at(wait)), Standing::Bidding);
    run(&mut lease, &mut stored, wait, wait + 10);
    assert!(lease.is_valid(at(wait + 10)));
    assert_eq!(lease.block().epoch, 4);
}

#[test]
fn a_bid_that_is_overwritten_is_given_up_and_a_slow_one_waits_longer() {
    let mut stored = Found::Owner(block(2, OwnerState::Held));
    let mut lease = Lease::new(block(1, OwnerState::Held), Guard::Bare, stored, false);
    run(&mut lease, &mut stored, 0, 100);
    let answer = OwnerBlock { heartbeat: 99, ..block(2, OwnerState::Held) };
    stored = Found::Owner(answer);
    run(&mut lease, &mut stored, 100, 300);
    assert_eq!(lease.standing(at(300)), Standing::Lost(Some(answer)));
    let mut lease = Lease::new(block(1, OwnerState::Held), Guard::Bare, Found::Nothing, false);
    assert_eq!(lease.poll(at(0)), Some(LeaseIo::Read));
    lease.handle_read(at(100), Found::Nothing);
    assert!(matches!(lease.poll(at(100)), Some(LeaseIo::Write(_))));
    lease.handle_written(at(201));
    let mut stored = Found::Owner(*lease.block());
    let wait = TERMS.outlasting().as_nanos() / 1_000_000;
    run(&mut lease, &mut stored, 201, 201 + wait);
    assert_eq!(lease.standing(at(201 + wait)), Standing::Bidding);
    run(&mut lease, &mut stored, 201 + wait, 211 + wait);
    assert!(lease.is_valid(at(211 + wait)));
}

#[test]
fn an_owner_whose_fenced_drive_is_demanded_is_outlasted() {
    // The owner was not watched: it may have moved a moment ago, and answers clients for its whole
    // time.
    let mut stored = Found::Owner(block(2, OwnerState::Held));
    let mut lease = Lease::new(block(1, OwnerState::Held), Guard::Fenced, stored, true);
    run(&mut lease, &mut stored, 0, 1700);
    assert_eq!(lease.standing(at(1700)), Standing::Bidding);
    run(&mut lease, &mut stored, 1700, 1720);
    assert!(lease.is_valid(at(1720)));
    // A server that has released the drive answers no client.
    let mut stored = Found::Owner(block(2, OwnerState::Released));
    let mut lease = Lease::new(block(1, OwnerState::Held), Guard::Fenced, stored, true);
    run(&mut lease, &mut stored, 0, 100);
    assert!(lease.is_valid(at(100)));
}

#[test]
fn an_owner_answers_a_bid_and_yields_to_a_demand() {
    let mut stored = Found::Nothing;
    let mut lease = Lease::new(block(1, OwnerState::Held), Guard::Bare, stored, false);
    run(&mut lease, &mut stored, 0, 1000);
    stored = Found::Owner(block(2, OwnerState::Bid { demands: false }));
    run(&mut lease, &mut stored, 1000, 2000);
    assert!(lease.is_valid(at(2000)) && stored.owner().unwrap().is_of(&Uuid([1; 16])));
    let demand = block(2, OwnerState::Bid { demands: true });
    stored = Found::Owner(demand);
    run(&mut lease, &mut stored, 2000, 3000);
    assert_eq!(lease.standing(at(3000)), Standing::Lost(Some(demand)));
    assert_eq!(stored, Found::Owner(demand));
}

#[test]
fn an_owner_that_lapsed_comes_back_only_if_nobody_has_bidden() {
    let taken = || {
        let mut stored = Found::Nothing;
        let mut lease = Lease::new(block(1, OwnerState::Held), Guard::Bare, stored, false);
        run(&mut lease, &mut stored, 0, 1000);
        (lease, stored)
    };
    let (mut lease, mut stored) = taken();
    assert_eq!(lease.standing(at(5000)), Standing::Lapsed);
    run(&mut lease, &mut stored, 5000, 5395);
    assert_eq!(lease.standing(at(5395)), Standing::Lapsed, "it has to settle again");
    run(&mut lease, &mut stored, 5395, 5410);
    assert!(lease.is_valid(at(5410)));
    let (mut lease, _) = taken();
    let bid = block(2, OwnerState::Bid { demands: false });
    let mut stored = Found::Owner(bid);
    assert_eq!(run(&mut lease, &mut stored, 5000, 9000), 0, "it writes nothing");
    assert_eq!(lease.standing(at(9000)), Standing::Lost(Some(bid)));
    // A write that began in time and ends too late does not count.
    let (mut lease, _) = taken();
    let mut now = 1000;
    loop {
        match lease.poll(at(now)) {
            Some(LeaseIo::Read) => lease.handle_read(at(now), Found::Owner(*lease.block())),
            Some(LeaseIo::Write(_)) => break,
            None => now += 1,
        }
    }
    lease.handle_written(at(now + 1700));
    assert_eq!(lease.standing(at(now + 1700)), Standing::Lapsed);
    // A clock that stood still gives no length of that time.
    let (mut lease, _) = taken();
    lease.lapse();
    assert_eq!(lease.standing(at(1000)), Standing::Lapsed);
    assert_eq!(lease.poll(at(1000)), Some(LeaseIo::Read));
}

#[test]
fn on_a_fenced_drive_a_write_that_is_done_proves_everything() {
    let mut stored = Found::Owner(block(2, OwnerState::Held));
    let mut lease = Lease::new(block(1, OwnerState::Held), Guard::Fenced, stored, false);
    run(&mut lease, &mut stored, 0, 3);
    assert!(lease.is_valid(at(3)), "the drive is reserved: there is nothing to wait for");
    assert_eq!(lease.standing(at(5000)), Standing::Lapsed);
    run(&mut lease, &mut stored, 5000, 5002);
    assert!(lease.is_valid(at(5002)));
    lease.handle_conflict();
    assert_eq!(lease.standing(at(5002)), Standing::Lost(None));
    assert_eq!(run(&mut lease, &mut stored, 5002, 9000), 0);
}

#[test]
fn an_owner_that_moved_just_before_it_was_preempted_is_outlasted() {
    let watched = Found::Owner(block(2, OwnerState::Held));
    let mut lease = Lease::new(block(1, OwnerState::Held), Guard::Fenced, watched, false);
    let mut stored = Found::Owner(OwnerBlock { heartbeat: 8, ..block(2, OwnerState::Held) });
    run(&mut lease, &mut stored, 0, 1700);
    assert_eq!(lease.standing(at(1700)), Standing::Bidding);
    run(&mut lease, &mut stored, 1700, 1710);
    assert!(lease.is_valid(at(1710)));
}

#[test]
fn a_lost_connection_repeats_what_was_under_way() {
    let mut stored = Found::Nothing;
    let mut lease = Lease::new(block(1, OwnerState::Held), Guard::Bare, stored, false);
    run(&mut lease, &mut stored, 0, 1000);
    let mut now = 1000;
    while lease.poll(at(now)).is_none() {
        now += 1;
    }
    lease.handle_cut();
    run(&mut lease, &mut stored, now, now + 3000);
    assert!(lease.is_valid(at(now + 3000)));
    // A release over a lost connection leaves it open if other servers have the drive.
    lease.release();
    assert!(matches!(lease.poll(at(now + 3000)), Some(LeaseIo::Write(_))));
    lease.handle_cut();
    assert_eq!(run(&mut lease, &mut stored, now + 3000, now + 9000), 0);
    assert_eq!(lease.standing(at(now + 9000)), Standing::Released);
}
