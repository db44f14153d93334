//! Goals of reservations against our own target, and against a target with arbitrary answers.

use super::pair::Pair;
use nvme::initiator::{
    DriveFacts, Holder, Outgoing, ReservationGoal, ReservationOutcome, Reserving, can_reserve,
    is_server_key, server_key,
};
use nvme::target::{Access, Persistence, ReservationState, Reservations};
use nvme::wire::{
    IoCommand, PersistChange, RegisterAction, RegisterKeys, ReservationCommand, StatusCode,
    StatusField,
};
use units::Rng;

fn facts() -> DriveFacts {
    *Pair::ready().controller.facts().unwrap()
}

fn id(number: u8) -> [u8; 16] {
    [number; 16]
}

fn holder(number: u8) -> Holder {
    Holder { host_id: id(number), key: server_key(&id(number)) }
}

/// A namespace with reservations, and goals that are reached one after the other.
struct Shared {
    drive: Reservations,
    facts: DriveFacts,
}

impl Shared {
    fn new() -> Self {
        let drive = Reservations::new(Persistence::Possible, ReservationState::default());
        Self { drive, facts: facts() }
    }

    fn reach(&mut self, number: u8, goal: ReservationGoal) -> ReservationOutcome {
        let mut reserving = Reserving::new(id(number), &self.facts, goal);
        loop {
            let submission = reserving.poll().unwrap();
            assert_eq!(reserving.poll(), None, "one at a time");
            let IoCommand::Reservation(command) = IoCommand::decode(&submission.entry) else {
                panic!("{submission:?}")
            };
            let (data, mut into) = match submission.data {
                Outgoing::Data(data) => (data, Vec::new()),
                Outgoing::Room(bytes) => (Vec::new(), vec![0; bytes as usize]),
                Outgoing::None => (Vec::new(), Vec::new()),
            };
            let result = self.drive.handle(&id(number), &command, &data, &mut into);
            let status = result.map_or_else(|status| status, |_| StatusField::SUCCESS);
            if let Some(outcome) = reserving.handle_completion(status, &into) {
                assert_eq!(reserving.poll(), None, "it is over");
                return outcome;
            }
        }
    }

    fn registrants(&self) -> usize {
        self.drive.state().registrants.len()
    }
}

#[test]
fn a_server_takes_a_drive_and_another_takes_it_from_it() {
    use ReservationGoal::{GiveUp, Look, Take, Verify};
    use ReservationOutcome::{Conflict, GivenUp, Held, Seen};
    let mut shared = Shared::new();
    assert!(can_reserve(&shared.facts));
    assert_eq!(shared.reach(1, Look), Seen(None));
    assert_eq!(shared.reach(1, Take { from: None }), Held);
    assert!(shared.drive.state().persists, "as the drive can keep it");
    assert_eq!(shared.reach(1, Verify), Held);
    assert_eq!(shared.reach(2, Take { from: None }), Conflict(None), "it did not look");
    assert_eq!(shared.reach(2, Look), Seen(Some(holder(1))));
    assert_eq!(shared.reach(2, Take { from: None }), Conflict(None));
    assert_eq!(shared.reach(2, Take { from: Some(holder(3)) }), Conflict(None), "another holder");
    assert_eq!(shared.reach(2, Take { from: Some(holder(1)) }), Held);
    assert!(!shared.drive.allows(&id(1), Access::Read));
    assert_eq!(shared.reach(1, Verify), Conflict(Some(holder(2))));
    assert!(!shared.drive.allows(&id(1), Access::Read), "to look whose it is lets nobody in");
    assert_eq!(shared.reach(1, GiveUp), GivenUp);
    assert_eq!(shared.reach(2, GiveUp), GivenUp);
    assert_eq!((shared.registrants(), shared.drive.state().held), (0, None));
}

#[test]
fn servers_that_were_killed_as_they_looked_are_cleared_away_and_nobody_else_is() {
    let mut shared = Shared::new();
    for number in 2..9 {
        assert_eq!(shared.reach(number, ReservationGoal::Look), ReservationOutcome::Seen(None));
    }
    let (action, persist) = (RegisterAction::Register, PersistChange::Keep);
    let register = ReservationCommand::Register { action, ignore_key: false, persist };
    let keys = RegisterKeys { current: 0, new: 0x77 }.encode();
    shared.drive.handle(&id(99), &register, &keys, &mut []).unwrap();
    assert!(is_server_key(server_key(&id(2))) && !is_server_key(0x77));
    shared.reach(1, ReservationGoal::Look);
    let taken = shared.reach(1, ReservationGoal::Take { from: None });
    assert_eq!((taken, shared.registrants()), (ReservationOutcome::Held, 2));
    assert!(shared.drive.state().has(&id(99)));
}

#[test]
fn a_drive_that_forgot_everything_is_told_from_one_that_another_has() {
    let mut shared = Shared::new();
    shared.reach(1, ReservationGoal::Look);
    shared.reach(1, ReservationGoal::Take { from: None });
    shared.drive = Reservations::new(Persistence::Possible, ReservationState::default());
    assert_eq!(shared.reach(1, ReservationGoal::Verify), ReservationOutcome::Forgotten);
    assert_eq!(shared.reach(1, ReservationGoal::Restore), ReservationOutcome::Held);
    shared.drive = Reservations::new(Persistence::Possible, ReservationState::default());
    shared.reach(2, ReservationGoal::Look);
    assert_eq!(shared.reach(1, ReservationGoal::Verify), ReservationOutcome::Conflict(None));
    shared.reach(2, ReservationGoal::Take { from: None });
    let restored = shared.reach(1, ReservationGoal::Restore);
    assert_eq!(restored, ReservationOutcome::Conflict(None));
}

#[test]
fn whatever_a_drive_answers_a_goal_ends() {
    let facts = facts();
    let goals = [
        ReservationGoal::Look,
        ReservationGoal::Take { from: None },
        ReservationGoal::Take { from: Some(holder(7)) },
        ReservationGoal::Verify,
        ReservationGoal::Restore,
        ReservationGoal::GiveUp,
    ];
    let mut outcomes = std::collections::BTreeSet::new();
    for seed in testing::seeds(0..3_000) {
        let mut rng = Rng::stream(seed, "reserving");
        let goal = goals[rng.below(6) as usize];
        let mut reserving = Reserving::new(id(1), &facts, goal);
        let mut commands = 0;
        let outcome = loop {
            let submission = reserving.poll().unwrap();
            commands += 1;
            assert!(commands < 400, "{goal:?} does not end");
            let status = match rng.below(8) {
                0 => StatusCode::ReservationConflict.for_good(),
                1 => StatusField::from_bits(rng.next_u64() as u16),
                _ => StatusField::SUCCESS,
            };
            let data: Vec<u8> = match submission.data {
                Outgoing::Room(bytes) => {
                    let there = rng.below(u64::from(bytes) + 1) as usize;
                    (0..there).map(|_| rng.next_u64() as u8).collect()
                }
                _ => Vec::new(),
            };
            if let Some(outcome) = reserving.handle_completion(status, &data) {
                break outcome;
            }
        };
        outcomes.insert(format!("{outcome:?}").split('(').next().unwrap().to_owned());
        assert_eq!(reserving.handle_completion(StatusField::SUCCESS, &[]), None);
    }
    assert!(testing::is_repeat() || outcomes.len() >= 5, "{outcomes:?}");
}
