//! State machine of reservations: the changes and the status of each command.

use super::access::Access;
use super::state::{Held, HostId, Persistence, REGISTRANTS_MAX, Registrant, ReservationState};
use crate::wire::{
    AcquireAction, AcquireKeys, CNTLID_DYNAMIC, PersistChange, RegisterAction, RegisterKeys,
    RegistrantEntry, ReleaseAction, ReservationCommand, ReservationHeader, ReservationNotice,
    ReservationType, StatusCode, StatusField, StatusFormat, put_reservations, rescap,
};
use alloc::vec::Vec;

/// Changes by a command, besides its own answer.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Effect {
    /// Hosts that were preempted: none of their commands may be in progress when the command is
    /// answered.
    pub preempted: Vec<HostId>,
    /// Notices, with their hosts.
    pub notices: Vec<(HostId, ReservationNotice)>,
    /// The state has to be saved before the command is answered.
    pub keep: bool,
}

/// The reservations of one namespace.
#[derive(Debug)]
pub struct Reservations {
    persistence: Persistence,
    state: ReservationState,
}

const CONFLICT: StatusField = StatusCode::ReservationConflict.for_good();
const INVALID: StatusField = StatusCode::InvalidField.for_good();

impl Reservations {
    /// Reservations from their saved state; the default is that of a drive that has saved none.
    #[must_use]
    pub fn new(persistence: Persistence, kept: ReservationState) -> Self {
        Self { persistence, state: kept.after_power_loss() }
    }

    /// State of the reservations.
    #[must_use]
    pub const fn state(&self) -> &ReservationState {
        &self.state
    }

    /// Whether reservations are supported.
    #[must_use]
    pub fn is_offered(&self) -> bool {
        self.persistence != Persistence::Absent
    }

    /// RESCAP.
    #[must_use]
    pub fn capability(&self) -> u8 {
        let all = rescap::ALL_TYPES | rescap::IGNORE_KEY_1_3;
        match self.persistence {
            Persistence::Absent => 0,
            Persistence::Impossible => all,
            Persistence::Possible => all | rescap::PERSIST,
        }
    }

    /// Whether a host has this access.
    #[must_use]
    pub fn allows(&self, host: &HostId, access: Access) -> bool {
        self.state.allows(host, access)
    }

    /// Sets feature 83h.
    ///
    /// # Errors
    ///
    /// If reservations cannot persist, or are not supported, with the status of the answer.
    pub fn set_persistence(&mut self, persists: bool) -> Result<Effect, StatusField> {
        match (self.persistence, persists) {
            (Persistence::Absent, _) | (Persistence::Impossible, true) => Err(INVALID),
            _ => {
                let keep = self.state.persists != persists;
                self.state.persists = persists;
                Ok(Effect { keep, ..Effect::default() })
            }
        }
    }

    /// Carries a command out. `data` came with the command, `into` is room for a report.
    ///
    /// # Errors
    ///
    /// If the command is refused and changes nothing, with the status of the answer.
    pub fn handle(
        &mut self,
        host: &HostId,
        command: &ReservationCommand,
        data: &[u8],
        into: &mut [u8],
    ) -> Result<Effect, StatusField> {
        // A host without an identifier cannot be told from another such host (section 5.21.1.26).
        if *host == [0; 16] {
            return Err(StatusCode::HostIdInconsistent.for_good());
        }
        let was_kept = self.state.persists;
        let before = was_kept.then(|| self.state.clone());
        let mut effect = match *command {
            ReservationCommand::Register { action, ignore_key, persist } => {
                let keys = RegisterKeys::decode(data.first_chunk().ok_or(INVALID)?);
                self.check_persist(persist)?;
                let effect = self.register(host, action, ignore_key, keys)?;
                match persist {
                    PersistChange::Set => self.state.persists = true,
                    PersistChange::Clear => self.state.persists = false,
                    PersistChange::Keep | PersistChange::Reserved => {}
                }
                effect
            }
            ReservationCommand::Acquire { ignore_key: true, .. }
            | ReservationCommand::Release { ignore_key: true, .. } => return Err(INVALID),
            ReservationCommand::Acquire { action, kind, .. } => {
                let keys = AcquireKeys::decode(data.first_chunk().ok_or(INVALID)?);
                self.check_key(host, keys.current)?;
                self.acquire(host, action, kind, keys.preempt)?
            }
            ReservationCommand::Release { action, kind, .. } => {
                let keys = crate::wire::ReleaseKey::decode(data.first_chunk().ok_or(INVALID)?);
                self.check_key(host, keys.current)?;
                self.release(host, action, kind)?
            }
            ReservationCommand::Report { extended: false, .. } => {
                // Identifiers of 128 bits do not fit (section 6.13).
                return Err(StatusCode::HostIdInconsistent.for_good());
            }
            ReservationCommand::Report { .. } => {
                self.report(into);
                return Ok(Effect::default());
            }
        };
        effect.keep = match before {
            Some(before) => before != self.state,
            None => self.state.persists,
        };
        Ok(effect)
    }

    fn check_persist(&self, persist: PersistChange) -> Result<(), StatusField> {
        match (persist, self.persistence) {
            (PersistChange::Reserved, _) => Err(INVALID),
            (PersistChange::Set, Persistence::Impossible) => Err(INVALID),
            _ => Ok(()),
        }
    }

    fn check_key(&self, host: &HostId, key: u64) -> Result<(), StatusField> {
        if self.state.key_of(host) == Some(key) { Ok(()) } else { Err(CONFLICT) }
    }

    fn register(
        &mut self,
        host: &HostId,
        action: RegisterAction,
        ignore_key: bool,
        keys: RegisterKeys,
    ) -> Result<Effect, StatusField> {
        let own = self.state.key_of(host);
        let knows_key = own.is_some_and(|key| ignore_key || key == keys.current);
        let mut effect = Effect::default();
        match (action, own) {
            (RegisterAction::Reserved(_), _) => return Err(INVALID),
            (RegisterAction::Register, Some(key)) if key == keys.new => {}
            (RegisterAction::Register, Some(_)) => return Err(CONFLICT),
            (RegisterAction::Register, None) => {
                if self.state.registrants.len() >= REGISTRANTS_MAX {
                    return Err(StatusCode::Internal.for_now());
                }
                self.state.registrants.push(Registrant { host: *host, key: keys.new });
            }
            (RegisterAction::Unregister | RegisterAction::Replace, _) if !knows_key => {
                return Err(CONFLICT);
            }
            (RegisterAction::Unregister, _) => {
                let ended = self.unregister(host);
                self.tell_released(host, ended, &mut effect);
            }
            (RegisterAction::Replace, _) => {
                for registrant in &mut self.state.registrants {
                    if registrant.host == *host {
                        registrant.key = keys.new;
                    }
                }
            }
        }
        self.count();
        Ok(effect)
    }

    fn acquire(
        &mut self,
        host: &HostId,
        action: AcquireAction,
        kind: u8,
        preempt: u64,
    ) -> Result<Effect, StatusField> {
        match action {
            AcquireAction::Reserved(_) => Err(INVALID),
            AcquireAction::Acquire => {
                let kind = ReservationType::decode(kind).ok_or(INVALID)?;
                match self.state.held {
                    None => self.state.held = Some(Held { kind, holder: *host }),
                    Some(held) if held.kind == kind && self.state.holds(host) => {}
                    Some(_) => return Err(CONFLICT),
                }
                Ok(Effect::default())
            }
            AcquireAction::Preempt | AcquireAction::PreemptAndAbort => {
                self.preempt(host, kind, preempt)
            }
        }
    }

    fn preempt(&mut self, host: &HostId, kind: u8, key: u64) -> Result<Effect, StatusField> {
        let Some(held) = self.state.held else {
            // Only registrations are preempted (section 8.8.7).
            return self.preempt_registrants(host, key);
        };
        let is_by_all = held.kind.is_held_by_all();
        if is_by_all && key == 0 {
            let kind = ReservationType::decode(kind).ok_or(INVALID)?;
            let removed = self.remove(|registrant| registrant.host != *host);
            self.state.held = Some(Held { kind, holder: *host });
            self.count();
            return Ok(told(host, removed, ReservationNotice::RegistrationPreempted));
        }
        if key == 0 {
            return Err(INVALID);
        }
        let is_of_holder = !is_by_all && self.state.key_of(&held.holder) == Some(key);
        if !is_of_holder {
            return self.preempt_registrants(host, key);
        }
        let kind = ReservationType::decode(kind).ok_or(INVALID)?;
        // A holder that preempts itself keeps its registration and gets another type.
        let removed = self.remove(|registrant| registrant.key == key && registrant.host != *host);
        self.state.held = Some(Held { kind, holder: *host });
        self.count();
        let mut effect = told(host, removed, ReservationNotice::RegistrationPreempted);
        if held.kind != kind && held.kind.admits_registrants() {
            let others = self.others(host);
            effect.notices.extend(others.map(|other| (other, ReservationNotice::Released)));
        }
        Ok(effect)
    }

    /// Unregisters all registrants with a key.
    fn preempt_registrants(&mut self, host: &HostId, key: u64) -> Result<Effect, StatusField> {
        let is_meant = |registrant: &Registrant| registrant.key == key;
        if !self.state.registrants.iter().any(is_meant) {
            return Err(CONFLICT);
        }
        let before = self.state.held;
        let removed = self.remove(is_meant);
        self.count();
        let mut effect = told(host, removed, ReservationNotice::RegistrationPreempted);
        if let Some(held) = before.filter(|_| self.state.held.is_none()) {
            self.tell_released(host, Some(held), &mut effect);
        }
        Ok(effect)
    }

    fn release(
        &mut self,
        host: &HostId,
        action: ReleaseAction,
        kind: u8,
    ) -> Result<Effect, StatusField> {
        let mut effect = Effect::default();
        match action {
            ReleaseAction::Reserved(_) => return Err(INVALID),
            ReleaseAction::Release => {
                let Some(held) = self.state.held.filter(|_| self.state.holds(host)) else {
                    return Ok(effect);
                };
                if ReservationType::decode(kind) != Some(held.kind) {
                    return Err(INVALID);
                }
                self.state.held = None;
                self.tell_released(host, Some(held), &mut effect);
            }
            ReleaseAction::Clear => {
                let removed = self.remove(|_| true);
                self.state.held = None;
                self.count();
                // Nothing is preempted in this case: commands in progress need not end first.
                let others = removed.into_iter().filter(|removed| removed != host);
                let told = others.map(|other| (other, ReservationNotice::Preempted));
                effect.notices.extend(told);
            }
        }
        Ok(effect)
    }

    /// Removes registrants, and the reservation if its last holder is among them. Returns the
    /// removed hosts.
    fn remove(&mut self, is_meant: impl Fn(&Registrant) -> bool) -> Vec<HostId> {
        let meant = self.state.registrants.iter().filter(|registrant| is_meant(registrant));
        let removed: Vec<HostId> = meant.map(|registrant| registrant.host).collect();
        self.state.registrants.retain(|registrant| !is_meant(registrant));
        if let Some(held) = &mut self.state.held
            && removed.contains(&held.holder)
        {
            match self.state.registrants.first() {
                Some(next) if held.kind.is_held_by_all() => held.holder = next.host,
                _ => self.state.held = None,
            }
        }
        removed
    }

    /// Removes the registration of a host. Returns the reservation that has ended with it.
    fn unregister(&mut self, host: &HostId) -> Option<Held> {
        let before = self.state.held;
        self.remove(|registrant| registrant.host == *host);
        before.filter(|_| self.state.held.is_none())
    }

    /// Adds notices to registrants about the end of a reservation that gave them access.
    fn tell_released(&self, host: &HostId, ended: Option<Held>, effect: &mut Effect) {
        if ended.is_some_and(|held| held.kind.admits_registrants()) {
            let others = self.others(host);
            effect.notices.extend(others.map(|other| (other, ReservationNotice::Released)));
        }
    }

    fn others(&self, host: &HostId) -> impl Iterator<Item = HostId> {
        let others = self.state.registrants.iter().map(|registrant| registrant.host);
        others.filter(move |other| other != host)
    }

    const fn count(&mut self) {
        self.state.generation = self.state.generation.wrapping_add(1);
    }

    fn report(&self, into: &mut [u8]) {
        let state = &self.state;
        let header = ReservationHeader {
            generation: state.generation,
            kind: state.held.map_or(0, |held| held.kind.encode()),
            registrants: 0,
            persists: state.persists.into(),
        };
        let entries = state.registrants.iter().map(|registrant| RegistrantEntry {
            controller: CNTLID_DYNAMIC,
            holds: state.holds(&registrant.host),
            key: registrant.key,
            host_id: registrant.host,
        });
        put_reservations(header, entries, StatusFormat::Extended, into);
    }

    /// Checks invariants that hold between any two calls.
    ///
    /// # Panics
    ///
    /// If one does not hold.
    pub fn check_invariants(&self) {
        let state = &self.state;
        assert!(state.held.is_none_or(|held| state.has(&held.holder)), "{state:?}");
        assert!(state.registrants.len() <= REGISTRANTS_MAX);
        for (index, registrant) in state.registrants.iter().enumerate() {
            let later = &state.registrants[index + 1..];
            assert!(later.iter().all(|other| other.host != registrant.host), "{state:?}");
        }
        assert!(!state.persists || self.persistence == Persistence::Possible);
    }
}

/// Effect for hosts that lost their registration, except the host that sent the command.
fn told(host: &HostId, removed: Vec<HostId>, notice: ReservationNotice) -> Effect {
    let preempted: Vec<HostId> = removed.into_iter().filter(|removed| removed != host).collect();
    let notices = preempted.iter().map(|removed| (*removed, notice)).collect();
    Effect { preempted, notices, keep: false }
}
