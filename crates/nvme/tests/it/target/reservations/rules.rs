//! Rules of the specification, one by one.

use nvme::target::{
    Access, Effect, HostId, Persistence, REGISTRANTS_MAX, ReservationState, Reservations,
};
use nvme::wire::{
    AcquireAction, AcquireKeys, PersistChange, RegisterAction, RegisterKeys, ReleaseAction,
    ReleaseKey, ReservationCommand, ReservationNotice, ReservationType, StatusCode, StatusField,
    StatusFormat, read_reservations, rescap,
};

pub(super) const CONFLICT: StatusField = StatusCode::ReservationConflict.for_good();
const INVALID: StatusField = StatusCode::InvalidField.for_good();

pub(super) fn host(number: u8) -> HostId {
    [number + 1; 16]
}

/// A namespace whose hosts use their number plus 10 as their key.
struct Shared(Reservations);

impl Shared {
    fn new(persistence: Persistence) -> Self {
        Self(Reservations::new(persistence, ReservationState::default()))
    }

    fn ask(
        &mut self,
        number: u8,
        command: ReservationCommand,
        data: &[u8],
    ) -> Result<Effect, StatusField> {
        let result = self.0.handle(&host(number), &command, data, &mut []);
        self.0.check_invariants();
        result
    }

    fn register(&mut self, number: u8) -> Result<Effect, StatusField> {
        self.persist(number, PersistChange::Keep)
    }

    fn persist(&mut self, number: u8, persist: PersistChange) -> Result<Effect, StatusField> {
        let (action, ignore_key) = (RegisterAction::Register, false);
        let command = ReservationCommand::Register { action, ignore_key, persist };
        let keys = RegisterKeys { current: 0, new: key(number) };
        self.ask(number, command, &keys.encode())
    }

    fn change(
        &mut self,
        number: u8,
        action: RegisterAction,
        ignore_key: bool,
        (current, new): (u64, u64),
    ) -> Result<Effect, StatusField> {
        let persist = PersistChange::Keep;
        let command = ReservationCommand::Register { action, ignore_key, persist };
        self.ask(number, command, &RegisterKeys { current, new }.encode())
    }

    fn acquire(&mut self, number: u8, kind: ReservationType) -> Result<Effect, StatusField> {
        self.take(number, AcquireAction::Acquire, kind, 0)
    }

    fn take(
        &mut self,
        number: u8,
        action: AcquireAction,
        kind: ReservationType,
        preempt: u64,
    ) -> Result<Effect, StatusField> {
        let (ignore_key, kind) = (false, kind.encode());
        let command = ReservationCommand::Acquire { action, ignore_key, kind };
        self.ask(number, command, &AcquireKeys { current: key(number), preempt }.encode())
    }

    fn release(
        &mut self,
        number: u8,
        action: ReleaseAction,
        kind: ReservationType,
    ) -> Result<Effect, StatusField> {
        let (ignore_key, kind) = (false, kind.encode());
        let command = ReservationCommand::Release { action, ignore_key, kind };
        self.ask(number, command, &ReleaseKey { current: key(number) }.encode())
    }

    fn holders(&self) -> Vec<u8> {
        (0..4).filter(|number| self.0.state().holds(&host(*number))).collect()
    }

    fn registrants(&self) -> Vec<u8> {
        (0..4).filter(|number| self.0.state().has(&host(*number))).collect()
    }
}

fn key(number: u8) -> u64 {
    u64::from(number) + 10
}

/// The figure "Command Behavior in the Presence of a Reservation": allowed accesses of the holder,
/// another registrant and any other host, per type.
#[test]
fn the_conflict_matrix_is_that_of_the_specification() {
    let table = [
        ("WE", "rw", "r-", "r-"),
        ("EA", "rw", "--", "--"),
        ("WE-RO", "rw", "rw", "r-"),
        ("EA-RO", "rw", "rw", "--"),
        ("WE-AR", "rw", "rw", "r-"),
        ("EA-AR", "rw", "rw", "--"),
    ];
    for (kind, (name, holder, registrant, other)) in ReservationType::ALL.into_iter().zip(table) {
        let mut shared = Shared::new(Persistence::Impossible);
        shared.register(0).unwrap();
        shared.register(1).unwrap();
        let may = |shared: &Shared, number| {
            let may = |access| shared.0.allows(&host(number), access);
            let read = if may(Access::Read) { 'r' } else { '-' };
            let write = if may(Access::Write) { 'w' } else { '-' };
            format!("{read}{write}")
        };
        assert!((0..3).all(|number| may(&shared, number) == "rw"), "nothing is reserved yet");
        shared.acquire(0, kind).unwrap();
        let found = [0, 1, 2].map(|number| may(&shared, number));
        assert_eq!(found, [holder, registrant, other], "{name}");
        // A host that registers gets the access of registrants.
        shared.register(2).unwrap();
        assert_eq!(may(&shared, 2), registrant, "{name}");
        let holders: &[u8] = if name.ends_with("AR") { &[0, 1, 2] } else { &[0] };
        assert_eq!(shared.holders(), holders, "{name}");
    }
}

#[test]
fn a_key_is_registered_replaced_and_given_up() {
    use RegisterAction::{Register, Replace, Unregister};
    let mut shared = Shared::new(Persistence::Impossible);
    for action in [Replace, Unregister] {
        assert_eq!(shared.change(0, action, true, (0, 5)), Err(CONFLICT), "no registrant");
    }
    shared.register(0).unwrap();
    assert_eq!(shared.register(0), Ok(Effect::default()), "the same key again");
    assert_eq!(shared.change(0, Register, false, (key(0), 5)), Err(CONFLICT), "another key");
    assert_eq!(shared.change(0, Replace, false, (3, 5)), Err(CONFLICT), "the wrong key");
    shared.change(0, Replace, true, (3, 5)).unwrap();
    shared.change(0, Replace, false, (5, 6)).unwrap();
    assert_eq!(shared.change(0, Unregister, false, (5, 0)), Err(CONFLICT), "the wrong key");
    let generation = shared.0.state().generation;
    shared.change(0, Unregister, false, (6, 0)).unwrap();
    assert_eq!((shared.registrants().len(), shared.0.state().generation), (0, generation + 1));
    assert_eq!(shared.change(0, RegisterAction::Reserved(3), false, (6, 0)), Err(INVALID));
    // Two hosts may have the same key.
    shared.change(0, Register, false, (0, 5)).unwrap();
    shared.change(1, Register, false, (0, 5)).unwrap();
    assert_eq!(shared.registrants(), [0, 1]);
}

#[test]
fn a_reservation_has_one_holder_until_it_is_released() {
    for kind in ReservationType::ALL {
        let mut shared = Shared::new(Persistence::Impossible);
        assert_eq!(shared.acquire(0, kind), Err(CONFLICT), "no registrant");
        shared.register(0).unwrap();
        shared.register(1).unwrap();
        shared.acquire(0, kind).unwrap();
        assert_eq!(shared.acquire(0, kind), Ok(Effect::default()), "once more");
        let is_all = kind.is_held_by_all();
        assert_eq!(shared.acquire(1, kind).is_ok(), is_all, "{kind:?}");
        let other = ReservationType::ALL.into_iter().find(|other| *other != kind).unwrap();
        assert_eq!(shared.acquire(0, other), Err(CONFLICT), "another type");
        assert_eq!(shared.release(0, ReleaseAction::Release, other), Err(INVALID), "another type");
        if !is_all {
            shared.release(1, ReleaseAction::Release, kind).unwrap();
            assert_eq!(shared.holders(), [0], "who holds nothing releases nothing");
        }
        let effect = shared.release(0, ReleaseAction::Release, kind).unwrap();
        assert!(shared.holders().is_empty(), "{kind:?}");
        let told = if kind.admits_registrants() { vec![host(1)] } else { vec![] };
        let told: Vec<_> = told.into_iter().map(|h| (h, ReservationNotice::Released)).collect();
        assert_eq!(effect.notices, told, "{kind:?}");
        shared.acquire(1, other).unwrap();
    }
}

#[test]
fn a_holder_that_unregisters_releases() {
    for kind in ReservationType::ALL {
        let mut shared = Shared::new(Persistence::Impossible);
        shared.register(0).unwrap();
        shared.register(1).unwrap();
        shared.acquire(0, kind).unwrap();
        let unregister = RegisterAction::Unregister;
        let effect = shared.change(0, unregister, false, (key(0), 0)).unwrap();
        match kind.is_held_by_all() {
            true => {
                assert_eq!((shared.holders(), effect.notices.len()), (vec![1], 0));
                shared.change(1, unregister, false, (key(1), 0)).unwrap();
            }
            false => assert_eq!(effect.notices.len(), usize::from(kind.admits_registrants())),
        }
        assert_eq!(shared.0.state().held, None, "{kind:?}");
    }
}

#[test]
fn a_preempted_holder_is_no_registrant_any_more() {
    for action in [AcquireAction::Preempt, AcquireAction::PreemptAndAbort] {
        for kind in &ReservationType::ALL[..4] {
            let mut shared = Shared::new(Persistence::Impossible);
            (0..3).for_each(|number| drop(shared.register(number).unwrap()));
            shared.acquire(0, *kind).unwrap();
            let other = ReservationType::ExclusiveAccessRegistrants;
            assert_eq!(shared.take(1, action, other, 99), Err(CONFLICT), "no such key");
            assert_eq!(shared.take(1, action, other, 0), Err(INVALID));
            let effect = shared.take(1, action, other, key(0)).unwrap();
            assert_eq!((shared.holders(), shared.registrants()), (vec![1], vec![1, 2]));
            assert_eq!(effect.preempted, [host(0)]);
            let preempted = (host(0), ReservationNotice::RegistrationPreempted);
            assert_eq!(effect.notices[0], preempted);
            for access in [Access::Read, Access::Write] {
                assert!(!shared.0.allows(&host(0), access), "{kind:?}");
            }
            // The host gets a conflict for any command with its key.
            assert_eq!(shared.acquire(0, *kind), Err(CONFLICT));
            assert_eq!(shared.release(0, ReleaseAction::Clear, *kind), Err(CONFLICT));
            let replace = RegisterAction::Replace;
            assert_eq!(shared.change(0, replace, true, (key(0), 1)), Err(CONFLICT));
        }
    }
}

#[test]
fn a_registrant_that_does_not_hold_is_preempted_alone() {
    let kind = ReservationType::WriteExclusiveRegistrants;
    let mut shared = Shared::new(Persistence::Impossible);
    (0..3).for_each(|number| drop(shared.register(number).unwrap()));
    // Without a reservation, only registrations are removed.
    let effect = shared.take(0, AcquireAction::Preempt, kind, key(2)).unwrap();
    assert_eq!((effect.preempted, shared.0.state().held), (vec![host(2)], None));
    shared.register(2).unwrap();
    shared.acquire(0, kind).unwrap();
    let effect = shared.take(1, AcquireAction::Preempt, kind, key(2)).unwrap();
    assert_eq!((effect.preempted, shared.holders()), (vec![host(2)], vec![0]));
    assert_eq!(shared.registrants(), [0, 1]);
}

#[test]
fn all_holders_at_once_are_preempted_by_key_zero() {
    let kind = ReservationType::ExclusiveAccessAll;
    let mut shared = Shared::new(Persistence::Impossible);
    (0..3).for_each(|number| drop(shared.register(number).unwrap()));
    shared.acquire(0, kind).unwrap();
    let preempt = AcquireAction::Preempt;
    let effect = shared.take(1, preempt, ReservationType::WriteExclusive, key(2)).unwrap();
    assert_eq!((effect.preempted, shared.holders()), (vec![host(2)], vec![0, 1]), "one of them");
    let effect = shared.take(1, preempt, ReservationType::WriteExclusive, 0).unwrap();
    assert_eq!((effect.preempted, shared.holders()), (vec![host(0)], vec![1]));
    assert_eq!(shared.0.state().held.unwrap().kind, ReservationType::WriteExclusive);
}

#[test]
fn clear_ends_everything_and_everybody_hears_of_it() {
    let kind = ReservationType::ExclusiveAccess;
    let mut shared = Shared::new(Persistence::Impossible);
    (0..2).for_each(|number| drop(shared.register(number).unwrap()));
    shared.acquire(0, kind).unwrap();
    let effect = shared.release(1, ReleaseAction::Clear, kind).unwrap();
    assert_eq!((shared.registrants().len(), shared.0.state().held), (0, None));
    assert_eq!(effect.notices, [(host(0), ReservationNotice::Preempted)]);
}

#[test]
fn what_persists_is_kept_before_the_answer() {
    let kind = ReservationType::ExclusiveAccessRegistrants;
    let mut shared = Shared::new(Persistence::Possible);
    assert_eq!(shared.0.capability(), 0xff);
    assert!(!shared.register(0).unwrap().keep);
    assert!(shared.persist(0, PersistChange::Set).unwrap().keep);
    assert!(shared.acquire(0, kind).unwrap().keep);
    assert!(!shared.acquire(0, kind).unwrap().keep, "nothing has changed");
    let kept = shared.0.state().clone();
    let again = Reservations::new(Persistence::Possible, kept.clone());
    assert_eq!(*again.state(), kept);
    assert!(!again.allows(&host(1), Access::Read));
    assert!(shared.persist(0, PersistChange::Clear).unwrap().keep, "it is forgotten");
    let gone = Reservations::new(Persistence::Possible, shared.0.state().clone());
    assert_eq!(*gone.state(), ReservationState::default());
    // A drive without support announces that, and refuses.
    let mut shared = Shared::new(Persistence::Impossible);
    assert_eq!(shared.0.capability() & rescap::PERSIST, 0);
    assert_eq!(shared.persist(0, PersistChange::Set), Err(INVALID));
    assert_eq!((shared.registrants().len(), shared.0.set_persistence(true)), (0, Err(INVALID)));
    assert_eq!(shared.persist(0, PersistChange::Reserved), Err(INVALID));
    assert_eq!(Shared::new(Persistence::Absent).0.capability(), 0);
}

#[test]
fn what_is_reserved_or_too_much_is_refused() {
    let mut shared = Shared::new(Persistence::Impossible);
    shared.register(0).unwrap();
    let keys = AcquireKeys { current: key(0), preempt: 0 }.encode();
    let acquire =
        |action, ignore_key, kind| ReservationCommand::Acquire { action, ignore_key, kind };
    for (action, ignore_key, kind) in [
        (AcquireAction::Acquire, true, 1),
        (AcquireAction::Acquire, false, 0),
        (AcquireAction::Acquire, false, 7),
        (AcquireAction::Reserved(3), false, 1),
    ] {
        assert_eq!(shared.ask(0, acquire(action, ignore_key, kind), &keys), Err(INVALID));
    }
    let release = |action, ignore_key| ReservationCommand::Release { action, ignore_key, kind: 1 };
    assert_eq!(shared.ask(0, release(ReleaseAction::Reserved(2), false), &keys), Err(INVALID));
    assert_eq!(shared.ask(0, release(ReleaseAction::Clear, true), &keys), Err(INVALID));
    assert_eq!(shared.ask(0, acquire(AcquireAction::Acquire, false, 1), &[1]), Err(INVALID));
    // Host identifiers of 128 bits do not fit the basic report, and an identifier of zero is not
    // valid.
    let report = |extended| ReservationCommand::Report { dwords: 15, extended };
    let inconsistent = Err(StatusCode::HostIdInconsistent.for_good());
    assert_eq!(shared.ask(0, report(false), &[]), inconsistent);
    assert_eq!(shared.0.handle(&[0; 16], &report(true), &[], &mut []), inconsistent);
    for number in 1..REGISTRANTS_MAX {
        shared.register(number as u8).unwrap();
    }
    assert_eq!(shared.register(200), Err(StatusCode::Internal.for_now()));
    let mut page = [0; 64 + 64 * REGISTRANTS_MAX];
    shared.0.handle(&host(9), &report(true), &[], &mut page).unwrap();
    let (header, entries) = read_reservations(&page, StatusFormat::Extended).unwrap();
    assert_eq!(usize::from(header.registrants), REGISTRANTS_MAX);
    assert_eq!(entries.last().unwrap().host_id, host(REGISTRANTS_MAX as u8 - 1));
}
