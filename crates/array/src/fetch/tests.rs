//! Tests of the state of a fetch.

use super::*;
use alloc::vec;

fn set(members: &[u8]) -> MemberSet {
    members.iter().copied().collect()
}

const BUSY: Option<Duration> = Some(Duration::from_micros(1));

/// Four data members and two parities.
fn shape() -> StripeShape {
    let (data, parity) = (set(&[0, 1, 2, 3]), set(&[4, 5]));
    StripeShape { data, parity, parities: 2, may_reconstruct: true }
}

/// A fetch of these members, whose reads are all in flight.
fn begun(wanted: &[u8]) -> Fetch {
    let mut fetch = Fetch::new(7);
    fetch.begin(set(wanted));
    wanted.iter().for_each(|&member| fetch.read_sent(member));
    fetch
}

fn fail(fetch: &mut Fetch, member: u8, busy: Option<Duration>) {
    fetch.read_ended(member, false);
    assert!(fetch.read_failed(member, DriveId(member), busy));
}

fn failed(fetch: &Fetch) -> Vec<u8> {
    fetch.failures().iter().map(|failure| failure.member).collect()
}

#[test]
fn a_late_member_is_not_coming_and_a_known_one_is() {
    let mut fetch = begun(&[0, 1, 2]);
    fetch.read_ended(0, false);
    assert_eq!(fetch.read_succeeded(0, Blocked::No), Kept::New);
    assert_eq!(fetch.coming_without(set(&[2])), set(&[0, 1]));
    assert_eq!(fetch.coming_without(set(&[1, 2])), set(&[0]));
    assert_eq!(fetch.reads_to_hedge(&shape(), set(&[1, 2])), 3);
    assert_eq!(fetch.reads_to_hedge(&shape(), set(&[2])), 2);
}

#[test]
fn what_a_write_has_in_memory_needs_no_read_and_no_reconstruction() {
    let mut fetch = begun(&[0, 1]);
    fetch.take_from_write(set(&[0, 4]), MemberSet::EMPTY);
    assert!(fetch.is_plain(), "nothing but what it wants");
    assert_eq!(fetch.known(), set(&[0, 4]));
    // Parity that a write leaves as it was does not match any more, even if it was read.
    fetch.take_from_write(set(&[1]), set(&[4]));
    assert_eq!(fetch.known(), set(&[0, 1]));
    assert_eq!((fetch.unreadable(), fetch.to_reconstruct()), (set(&[4]), set(&[4])));

    let mut fetch = begun(&[0, 1, 2]);
    fail(&mut fetch, 0, BUSY);
    fail(&mut fetch, 1, BUSY);
    assert!(fetch.settle(8), "it has moved");
    fetch.take_from_write(set(&[0]), MemberSet::EMPTY);
    assert_eq!((failed(&fetch), fetch.to_reconstruct()), (vec![1], set(&[1])));
    fetch.take_from_write(set(&[3]), MemberSet::EMPTY);
    assert_eq!(failed(&fetch), [1]);
    assert_eq!(fetch.read_succeeded(2, Blocked::No), Kept::Outdated, "sent before");
    assert_eq!(fetch.read_succeeded(2, Blocked::No), Kept::New, "and read again");

    let mut fetch = begun(&[0, 1]);
    fetch.settle(8);
    fetch.take_from_write(set(&[0]), MemberSet::EMPTY);
    assert_eq!(fetch.read_succeeded(0, Blocked::No), Kept::Already, "memory is newer");
    assert_eq!(fetch.read_succeeded(1, Blocked::No), Kept::Outdated);
}

#[test]
fn a_race_that_meets_what_is_unreadable_asks_for_what_is_needed() {
    for (again, expected) in [(false, set(&[0, 1])), (true, set(&[1]))] {
        let mut fetch = begun(&[0, 1, 2]);
        fetch.begin_race();
        fail(&mut fetch, 0, BUSY);
        if again {
            fetch.read_sent(0);
        }
        fetch.note_unreadable(set(&[1]), MemberSet::EMPTY);
        fetch.count_unreadable();
        assert!(!fetch.races());
        assert_eq!(fetch.to_reconstruct(), expected);
        assert_eq!(failed(&fetch), if again { vec![] } else { vec![0] });
    }
    // Without an unreadable member the race goes on.
    let mut fetch = begun(&[0, 1]);
    fetch.begin_race();
    fail(&mut fetch, 0, BUSY);
    fetch.count_unreadable();
    assert!(fetch.races());
    // Known members are not reconstructed, whatever has become of their drives.
    let mut fetch = begun(&[0, 1]);
    fetch.read_ended(0, false);
    fetch.read_succeeded(0, Blocked::No);
    fetch.note_unreadable(set(&[0, 1]), MemberSet::EMPTY);
    fetch.count_unreadable();
    assert_eq!((fetch.unreadable(), fetch.to_reconstruct()), (set(&[1]), set(&[1])));
}

#[test]
fn a_race_on_a_stripe_that_has_moved_begins_again() {
    let mut fetch = begun(&[0, 1, 2]);
    fetch.begin_race();
    fetch.read_ended(2, false);
    fetch.read_succeeded(2, Blocked::No);
    fail(&mut fetch, 0, BUSY);
    fail(&mut fetch, 1, None);
    assert!(!fetch.settle(7), "nothing was changed");
    assert!(fetch.races() && fetch.known() == set(&[2]));
    assert!(fetch.settle(8));
    assert_eq!(fetch.commits(), 8);
    assert!(!fetch.races() && fetch.known().is_empty());
    assert_eq!(fetch.to_reconstruct(), set(&[0, 1]));

    let mut fetch = begun(&[0, 1]);
    fetch.begin_race();
    fail(&mut fetch, 0, BUSY);
    fetch.read_sent(0);
    assert!(fetch.settle(8));
    assert!(fetch.to_reconstruct().is_empty(), "it is asked for already");
}

#[test]
fn a_parity_that_fits_again_is_read() {
    let unsynced = set(&[3]);
    let mut fetch = begun(&[0]);
    fetch.note_unreadable(set(&[3, 4]), unsynced);
    fetch.count_unreadable();
    assert!(fetch.has_unsynced());
    fetch.note_unreadable(set(&[0, 4]), MemberSet::EMPTY);
    fetch.count_unreadable();
    assert!(!fetch.has_unsynced());
    assert_eq!((fetch.unreadable(), fetch.to_reconstruct()), (set(&[0, 4]), set(&[0, 4])));
    // Not a parity that could not be read, nor one that a write makes outdated.
    for (is_broken, is_outdated) in [(true, false), (false, true)] {
        let mut fetch = begun(&[0, 3]);
        fetch.note_unreadable(unsynced, unsynced);
        if is_broken {
            fetch.note_broken(3);
        }
        if is_outdated {
            fetch.take_from_write(MemberSet::EMPTY, unsynced);
        }
        fetch.note_unreadable(MemberSet::EMPTY, MemberSet::EMPTY);
        assert_eq!(fetch.unreadable(), unsynced, "{is_broken} {is_outdated}");
    }
}

#[test]
fn too_much_that_is_unreadable_is_noticed_when_the_stripe_stands_still() {
    for (is_intact, lost, expected) in [
        (true, &[0, 1][..], Decision::Read(set(&[3, 4, 5]))),
        (true, &[0, 1, 3], Decision::Fail),
        (false, &[0, 1, 3], Decision::Fail),
    ] {
        let mut fetch = Fetch::new(7);
        fetch.begin(set(&[0, 2]));
        fetch.read_sent(2);
        fetch.note_unreadable(set(lost), MemberSet::EMPTY);
        fetch.count_unreadable();
        fetch.settled(is_intact);
        assert_eq!(fetch.decide(&shape(), true), expected, "{lost:?}");
    }
}

#[test]
#[should_panic(expected = "member 3 has come, and was not asked")]
fn a_member_comes_only_if_it_was_asked() {
    begun(&[0, 1, 2]).read_ended(3, false);
}

#[test]
#[should_panic(expected = "begins again")]
fn a_fetch_begins_once() {
    begun(&[0, 1, 2]).begin(set(&[3]));
}

#[test]
fn one_that_is_read_again_on_a_stripe_that_stands_still_is_not_settled_again() {
    let mut fetch = begun(&[0, 1, 2]);
    for member in [0, 1, 2] {
        fail(&mut fetch, member, BUSY);
    }
    fetch.settled(false);
    assert_eq!(fetch.decide(&shape(), true), Decision::Resend(Resend::OneOfTheFailed));
    let failure = fetch.failures()[1];
    assert_eq!(fetch.take_failure(failure), 1);
    fetch.resent(1);
    fetch.read_sent(1);
    assert_eq!(fetch.decide(&shape(), true), Decision::Read(set(&[3, 4, 5])));
    let mut fetch = begun(&[0, 1, 2]);
    for member in [0, 1, 2] {
        fail(&mut fetch, member, BUSY);
    }
    let failure = fetch.failures()[1];
    fetch.take_failure(failure);
    fetch.resent(1);
    assert_eq!(fetch.decide(&shape(), true), Decision::Settle);
}

#[test]
fn what_it_met_is_told() {
    let mut fetch = begun(&[0, 1, 2]);
    assert_eq!((fetch.blocked(), fetch.busy_members(), fetch.hedge_reads()), (Blocked::No, 0, 0));
    fetch.read_ended(0, true);
    fetch.read_succeeded(0, Blocked::Collection);
    fetch.read_ended(1, true);
    fetch.read_succeeded(1, Blocked::Queue);
    fetch.note_hedge(3);
    let told = (fetch.blocked(), fetch.busy_members(), fetch.hedge_reads());
    assert_eq!(told, (Blocked::Collection, 2, 3));
}

/// Three data members and a parity.
fn narrow() -> StripeShape {
    let (data, parity) = (set(&[0, 1, 2]), set(&[3]));
    StripeShape { data, parity, parities: 1, may_reconstruct: true }
}

/// A fetch of member 0 in a race with its reconstruction, with the reads of all members in flight.
fn raced() -> Fetch {
    let mut fetch = begun(&[0]);
    fetch.reconstruct_late(set(&[0]), 7);
    assert_eq!(fetch.decide(&narrow(), true), Decision::Read(set(&[1, 2, 3])));
    [1, 2, 3].into_iter().for_each(|member| fetch.read_sent(member));
    fetch.reviewed(&narrow(), true);
    fetch
}

fn come(fetch: &mut Fetch, member: u8) {
    fetch.read_ended(member, false);
    assert_eq!(fetch.read_succeeded(member, Blocked::No), Kept::New);
}

#[test]
fn a_race_that_both_sides_lose_asks_again() {
    for order in [[0, 3], [3, 0], [2, 0], [0, 1]] {
        let mut fetch = raced();
        fail(&mut fetch, order[0], BUSY);
        // The stripe is stable, and all members are being read.
        while let Decision::Settle = fetch.decide(&narrow(), true) {
            fetch.settled(true);
        }
        assert_eq!(fetch.decide(&narrow(), true), Decision::Wait, "{order:?}: one is on its way");
        fetch.reviewed(&narrow(), true);
        for other in (0..4).filter(|other| !order.contains(other)) {
            come(&mut fetch, other);
            assert_eq!(fetch.decide(&narrow(), true), Decision::Wait, "{order:?}");
        }
        fail(&mut fetch, order[1], BUSY);
        let decision = fetch.decide(&narrow(), true);
        assert_eq!(decision, Decision::Resend(Resend::OneOfTheFailed), "{order:?}");
    }
}

#[test]
fn a_race_does_not_count_on_what_comes_twice() {
    // The drive of member 1 answers late, and is probed by the race.
    let mut fetch = raced();
    fetch.shun(set(&[1]));
    fail(&mut fetch, 0, BUSY);
    assert!(fetch.shunned_readable().is_empty(), "it is out");
    fail(&mut fetch, 2, BUSY);
    let decision = fetch.decide(&narrow(), true);
    assert_eq!(decision, Decision::Resend(Resend::OneOfTheFailed));
}
