//! Random commands of some hosts, against a model that keeps registrants in a list and searches it.

use super::rules::{CONFLICT, host};
use nvme::target::{Access, Persistence, ReservationState, Reservations};
use nvme::wire::{
    AcquireAction, AcquireKeys, PersistChange, RegisterAction, RegisterKeys, ReleaseAction,
    ReleaseKey, ReservationCommand, ReservationType, StatusCode, StatusFormat, read_reservations,
};
use units::Rng;

const HOSTS: u64 = 4;
const ROUNDS: u64 = 400;
const STEPS: u64 = 80;

/// A reservation command in plain values.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Register { key: u64 },
    Unregister { key: u64, ignore: bool },
    Replace { key: u64, new: u64, ignore: bool },
    Acquire { key: u64, kind: u8 },
    Preempt { key: u64, other: u64, kind: u8 },
    Release { key: u64, kind: u8 },
    Clear { key: u64 },
}

/// `keys` has the key of each registrant; `holder` is the host that acquired the reservation.
#[derive(Clone, Default, PartialEq, Debug)]
struct Model {
    keys: Vec<(u8, u64)>,
    holder: Option<(u8, u8)>,
    changes: u32,
}

impl Model {
    fn key(&self, h: u8) -> Option<u64> {
        self.keys.iter().find(|(other, _)| *other == h).map(|(_, key)| *key)
    }

    /// Types 5 and 6 are held by all registrants.
    fn holds(&self, h: u8) -> bool {
        match self.holder {
            Some((_, 5 | 6)) => self.key(h).is_some(),
            Some((holder, _)) => holder == h,
            None => false,
        }
    }

    fn drop_hosts(&mut self, gone: &[u8]) {
        self.keys.retain(|(h, _)| !gone.contains(h));
        if let Some((holder, kind)) = self.holder
            && gone.contains(&holder)
        {
            let heir = self.keys.first().filter(|_| kind >= 5);
            self.holder = heir.map(|(h, _)| (*h, kind));
        }
    }

    /// Carries out a command. Returns 0 for success, 1 for a conflict, 2 for an invalid field.
    fn act(&mut self, h: u8, deed: Deed) -> u8 {
        let own = self.key(h);
        match deed {
            Deed::Register { key } => {
                match own {
                    Some(other) if other != key => return 1,
                    Some(_) => {}
                    None => self.keys.push((h, key)),
                }
                self.changes += 1;
            }
            Deed::Unregister { key, ignore } => {
                if own.is_none() || (!ignore && own != Some(key)) {
                    return 1;
                }
                self.drop_hosts(&[h]);
                self.changes += 1;
            }
            Deed::Replace { key, new, ignore } => {
                if own.is_none() || (!ignore && own != Some(key)) {
                    return 1;
                }
                for pair in &mut self.keys {
                    if pair.0 == h {
                        pair.1 = new;
                    }
                }
                self.changes += 1;
            }
            Deed::Acquire { key, kind } => {
                if own != Some(key) {
                    return 1;
                }
                if !(1..=6).contains(&kind) {
                    return 2;
                }
                match self.holder {
                    None => self.holder = Some((h, kind)),
                    Some((_, held)) if held == kind && self.holds(h) => {}
                    Some(_) => return 1,
                }
            }
            Deed::Preempt { key, other, kind } => {
                return self.preempt(h, own == Some(key), other, kind);
            }
            Deed::Release { key, kind } => {
                if own != Some(key) {
                    return 1;
                }
                match self.holder {
                    Some((_, held)) if self.holds(h) => {
                        if held != kind {
                            return 2;
                        }
                        self.holder = None;
                    }
                    _ => {}
                }
            }
            Deed::Clear { key } => {
                if own != Some(key) {
                    return 1;
                }
                (self.keys, self.holder) = (Vec::new(), None);
                self.changes += 1;
            }
        }
        0
    }

    fn preempt(&mut self, h: u8, knows_key: bool, other: u64, kind: u8) -> u8 {
        if !knows_key {
            return 1;
        }
        let with_key: Vec<u8> =
            self.keys.iter().filter(|(_, key)| *key == other).map(|(h, _)| *h).collect();
        let is_valid = (1..=6).contains(&kind);
        let replaces = match self.holder {
            None => false,
            Some((_, 5 | 6)) => other == 0,
            Some(_) if other == 0 => return 2,
            Some((holder, _)) => self.key(holder) == Some(other),
        };
        if replaces && !is_valid {
            return 2;
        }
        if !replaces && with_key.is_empty() {
            return 1;
        }
        let gone: Vec<u8> = match (replaces, other) {
            (true, 0) => self.keys.iter().map(|(h, _)| *h).filter(|other| *other != h).collect(),
            (true, _) => with_key.into_iter().filter(|other| *other != h).collect(),
            (false, _) => with_key,
        };
        self.drop_hosts(&gone);
        if replaces {
            self.holder = Some((h, kind));
        }
        self.changes += 1;
        0
    }
}

fn command(deed: Deed) -> (ReservationCommand, Vec<u8>) {
    let persist = PersistChange::Keep;
    let register = |action, ignore_key, current, new| {
        let command = ReservationCommand::Register { action, ignore_key, persist };
        (command, RegisterKeys { current, new }.encode().to_vec())
    };
    let acquire = |action, kind, current, preempt| {
        let command = ReservationCommand::Acquire { action, ignore_key: false, kind };
        (command, AcquireKeys { current, preempt }.encode().to_vec())
    };
    let release = |action, kind, current| {
        let command = ReservationCommand::Release { action, ignore_key: false, kind };
        (command, ReleaseKey { current }.encode().to_vec())
    };
    match deed {
        Deed::Register { key } => register(RegisterAction::Register, false, 0, key),
        Deed::Unregister { key, ignore } => register(RegisterAction::Unregister, ignore, key, 0),
        Deed::Replace { key, new, ignore } => register(RegisterAction::Replace, ignore, key, new),
        Deed::Acquire { key, kind } => acquire(AcquireAction::Acquire, kind, key, 0),
        Deed::Preempt { key, other, kind } => acquire(AcquireAction::Preempt, kind, key, other),
        Deed::Release { key, kind } => release(ReleaseAction::Release, kind, key),
        Deed::Clear { key } => release(ReleaseAction::Clear, 0, key),
    }
}

fn draw(rng: &mut Rng, own: Option<u64>) -> Deed {
    let any = |rng: &mut Rng| rng.below(4);
    // Mostly the right key.
    let key = match own {
        Some(own) if rng.below(8) > 0 => own,
        _ => any(rng),
    };
    let kind = if rng.below(12) == 0 { rng.below(9) as u8 } else { 1 + rng.below(6) as u8 };
    let ignore = rng.below(4) == 0;
    match rng.below(16) {
        0..4 => Deed::Register { key: any(rng) },
        4 => Deed::Unregister { key, ignore },
        5 => Deed::Replace { key, new: any(rng), ignore },
        6..10 => Deed::Acquire { key, kind },
        10..13 => Deed::Preempt { key, other: any(rng), kind },
        13..15 => Deed::Release { key, kind },
        _ => Deed::Clear { key },
    }
}

fn check(machine: &Reservations, model: &Model) {
    machine.check_invariants();
    for h in 0..HOSTS as u8 {
        let is_registrant = model.key(h).is_some();
        assert_eq!(machine.state().holds(&host(h)), model.holds(h));
        let kind = model.holder.map_or(0, |(_, kind)| kind);
        // Types 2, 4 and 6 guard reads; 1 and 2 admit the holder alone.
        let is_admitted = model.holds(h) || kind > 2 && is_registrant;
        let may_read = matches!(kind, 0 | 1 | 3 | 5) || is_admitted;
        assert_eq!(machine.allows(&host(h), Access::Read), may_read, "host {h}, type {kind}");
        let may_write = kind == 0 || is_admitted;
        assert_eq!(machine.allows(&host(h), Access::Write), may_write, "host {h}, type {kind}");
    }
}

#[test]
fn any_commands_of_any_hosts_do_what_the_model_says() {
    let (mut ends, mut kinds) = ([0; 3], [0; 7]);
    for seed in testing::seeds(0..ROUNDS) {
        let mut rng = Rng::stream(seed, "reservations");
        let mut machine = Reservations::new(Persistence::Impossible, ReservationState::default());
        let mut model = Model::default();
        for _ in 0..STEPS {
            let h = rng.below(HOSTS) as u8;
            let deed = draw(&mut rng, model.key(h));
            let before = model.clone();
            let expected = model.act(h, deed);
            let (command, data) = command(deed);
            let result = machine.handle(&host(h), &command, &data, &mut []);
            let end = match &result {
                Ok(_) => 0,
                Err(status) if *status == CONFLICT => 1,
                Err(status) if *status == StatusCode::InvalidField.for_good() => 2,
                Err(status) => panic!("{status:?}"),
            };
            assert_eq!(end, expected, "host {h}: {deed:?} with {before:?}");
            ends[usize::from(end)] += 1;
            kinds[model.holder.map_or(0, |(_, kind)| usize::from(kind))] += 1;
            check(&machine, &model);
            if let Ok(effect) = result {
                // The commands of hosts that lost a registration to another host end first.
                let lost = |h: &u8| before.key(*h).is_some() && model.key(*h).is_none();
                let gone: Vec<_> = (0..HOSTS as u8).filter(|o| *o != h && lost(o)).collect();
                let is_clear = matches!(deed, Deed::Clear { .. });
                let preempted = if is_clear { 0 } else { gone.len() };
                assert_eq!(effect.preempted.len(), preempted, "{deed:?}");
                assert!(gone.iter().all(|o| effect.notices.iter().any(|(t, _)| *t == host(*o))));
            }
        }
        let mut page = [0; 64 + 64 * HOSTS as usize];
        let report = ReservationCommand::Report { dwords: 0, extended: true };
        machine.handle(&host(0), &report, &[], &mut page).unwrap();
        let (header, entries) = read_reservations(&page, StatusFormat::Extended).unwrap();
        assert_eq!(header.generation, model.changes);
        assert_eq!(header.kind, model.holder.map_or(0, |(_, kind)| kind));
        let entries: Vec<_> = entries.map(|one| (one.host_id, one.key, one.holds)).collect();
        let expected = model.keys.iter().map(|(h, key)| (host(*h), *key, model.holds(*h)));
        assert_eq!(entries, expected.collect::<Vec<_>>());
    }
    if !testing::is_repeat() {
        let all = ROUNDS * STEPS;
        assert!(ends.iter().all(|&count| count * 50 > all), "{ends:?} of {all}");
        assert!(kinds.iter().all(|&count| count * 40 > all), "{kinds:?} of {all}");
        assert_eq!(ReservationType::ALL.len() + 1, kinds.len());
    }
}
