//! Reserving a drive: the commands that lead to a goal, and the outcome.
//!
//! The type is Exclusive Access - Registrants Only. A host that registers can read the
//! reservation's holder from the drive without holding it. A preempted host is no longer a
//! registrant and can neither read nor write. Servers keep to the rule that only the holder writes.
//!
//! A [`Reserving`] is used for one goal. Its driver sends the command that [`Reserving::poll`]
//! returns and brings the answer back, one at a time.

use super::controller::{DriveFacts, Outgoing, Purpose, Submission};
use crate::wire::{
    AcquireAction, AcquireKeys, CommonFields, IoCommand, PersistChange, RegisterAction,
    RegisterKeys, ReservationCommand, ReservationType, SglDescriptor, StatusCode, StatusField,
    StatusFormat, read_reservations, rescap,
};
use alloc::vec::Vec;

const KIND: ReservationType = ReservationType::ExclusiveAccessRegistrants;

/// First two bytes of the keys of all servers. Registrants with other keys are never preempted.
const KEY_TAG: u64 = 0x10da;
const KEY_SHIFT: u32 = 48;

/// Largest report that is requested, in bytes.
const REPORT_BYTES_MAX: u32 = 16 << 10;

/// The key of a server: a tag and six bytes of its identifier.
#[must_use]
pub fn server_key(host_id: &[u8; 16]) -> u64 {
    let mut bytes = [0; 8];
    bytes[..6].copy_from_slice(&host_id[..6]);
    KEY_TAG << KEY_SHIFT | u64::from_le_bytes(bytes)
}

/// Whether this key belongs to a server.
#[must_use]
pub const fn is_server_key(key: u64) -> bool {
    key >> KEY_SHIFT == KEY_TAG
}

/// Whether a drive can be reserved in this way.
#[must_use]
pub const fn can_reserve(facts: &DriveFacts) -> bool {
    facts.reservations & rescap::EXCLUSIVE_ACCESS_REGISTRANTS != 0
}

/// The host that holds a reservation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Holder {
    /// Its identifier.
    pub host_id: [u8; 16],
    /// Its key.
    pub key: u64,
}

/// Goal of a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReservationGoal {
    /// To be registered, and to learn the holder of the reservation.
    Look,
    /// To hold the reservation. The holder that was seen is preempted, with all of its commands.
    Take {
        /// That holder; `None` if there was none.
        from: Option<Holder>,
    },
    /// To verify that the host still holds the reservation, over a new connection.
    Verify,
    /// To hold the reservation again on a drive that has lost all reservations.
    Restore,
    /// To end the registration, which also ends a reservation of the host.
    GiveUp,
}

/// Outcome of a goal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReservationOutcome {
    /// The host is registered, and this host holds the reservation.
    Seen(Option<Holder>),
    /// The host holds the reservation.
    Held,
    /// Another host holds the reservation; `None` if the drive did not name it.
    Conflict(Option<Holder>),
    /// The drive has neither reservations nor registrants: it lost them in a loss of power.
    Forgotten,
    /// The host has given up its registration.
    GivenUp,
    /// The drive refused a command.
    Failed(StatusField),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Register,
    Acquire,
    Preempt(u64),
    Report,
    Unregister,
    Over,
}

/// One goal on one drive.
#[derive(Debug)]
pub struct Reserving {
    nsid: u32,
    host_id: [u8; 16],
    /// The drive can keep a reservation through a loss of power.
    can_persist: bool,
    report_bytes: u32,
    goal: ReservationGoal,
    step: Step,
    is_sent: bool,
    /// Keys of servers that no longer run, to be preempted.
    stale: Vec<u64>,
    holds: bool,
}

impl Reserving {
    /// Begins to reach a goal on a drive with these properties.
    #[must_use]
    pub fn new(host_id: [u8; 16], facts: &DriveFacts, goal: ReservationGoal) -> Self {
        let step = match goal {
            ReservationGoal::Look | ReservationGoal::Restore => Step::Register,
            ReservationGoal::Take { from: None } | ReservationGoal::Verify => Step::Acquire,
            ReservationGoal::Take { from: Some(holder) } => Step::Preempt(holder.key),
            ReservationGoal::GiveUp => Step::Unregister,
        };
        Self {
            nsid: facts.nsid,
            host_id,
            can_persist: facts.reservations & rescap::PERSIST != 0,
            report_bytes: facts.transfer_max_bytes.min(REPORT_BYTES_MAX),
            goal,
            step,
            is_sent: false,
            stale: Vec::new(),
            holds: false,
        }
    }

    fn key(&self) -> u64 {
        server_key(&self.host_id)
    }

    /// The next command, for the first I/O queue; `None` while one is under way.
    pub fn poll(&mut self) -> Option<Submission> {
        if core::mem::replace(&mut self.is_sent, true) {
            return None;
        }
        let key = self.key();
        let register = |action, persist, keys: RegisterKeys| {
            let command = ReservationCommand::Register { action, ignore_key: false, persist };
            (command, Outgoing::Data(keys.encode().to_vec()))
        };
        let acquire = |action, preempt| {
            let (ignore_key, kind) = (false, KIND.encode());
            let keys = AcquireKeys { current: key, preempt };
            let command = ReservationCommand::Acquire { action, ignore_key, kind };
            (command, Outgoing::Data(keys.encode().to_vec()))
        };
        let (command, data) = match self.step {
            Step::Register => {
                let persist =
                    if self.can_persist { PersistChange::Set } else { PersistChange::Keep };
                register(RegisterAction::Register, persist, RegisterKeys { current: 0, new: key })
            }
            Step::Unregister => register(
                RegisterAction::Unregister,
                PersistChange::Keep,
                RegisterKeys { current: key, new: 0 },
            ),
            Step::Acquire => acquire(AcquireAction::Acquire, 0),
            Step::Preempt(other) => acquire(AcquireAction::PreemptAndAbort, other),
            Step::Report => {
                let dwords = self.report_bytes / 4 - 1;
                let command = ReservationCommand::Report { dwords, extended: true };
                (command, Outgoing::Room(self.report_bytes))
            }
            Step::Over => return None,
        };
        let common = CommonFields { cid: 0, nsid: self.nsid, data: SglDescriptor::NO_DATA };
        let entry = IoCommand::Reservation(command).encode(common);
        Some(Submission { queue: 1, purpose: Purpose::Reservation, entry, data })
    }

    /// Handles the end of the command, with the data that came. Returns the outcome if it is known
    /// now.
    pub fn handle_completion(
        &mut self,
        status: StatusField,
        data: &[u8],
    ) -> Option<ReservationOutcome> {
        self.is_sent = false;
        let is_conflict = status.code() == Some(StatusCode::ReservationConflict);
        let outcome = match (self.step, self.goal) {
            (Step::Over, _) => return None,
            // A host that is not registered any more has nothing to give up.
            (Step::Unregister, _) => Some(ReservationOutcome::GivenUp),
            // Another server has preempted that key.
            (Step::Preempt(_), _) if self.holds && is_conflict => self.clear_away(),
            (Step::Acquire, ReservationGoal::Verify) if is_conflict => self.go(Step::Report),
            (Step::Acquire | Step::Preempt(_), _) if is_conflict => {
                Some(ReservationOutcome::Conflict(None))
            }
            _ if !status.is_success() => Some(ReservationOutcome::Failed(status)),
            (Step::Register, ReservationGoal::Restore) => self.go(Step::Acquire),
            (Step::Register, _) => self.go(Step::Report),
            (Step::Acquire, ReservationGoal::Take { .. }) => {
                self.holds = true;
                self.go(Step::Report)
            }
            (Step::Acquire, _) => Some(ReservationOutcome::Held),
            (Step::Preempt(_), _) if !self.holds => {
                self.holds = true;
                self.go(Step::Report)
            }
            (Step::Preempt(_), _) => self.clear_away(),
            (Step::Report, _) => self.reported(data),
        };
        if outcome.is_some() {
            self.step = Step::Over;
        }
        outcome
    }

    fn go(&mut self, step: Step) -> Option<ReservationOutcome> {
        self.step = step;
        None
    }

    /// Preempts the keys of servers that were killed while they looked at the drive: they are still
    /// registrants.
    fn clear_away(&mut self) -> Option<ReservationOutcome> {
        match self.stale.pop() {
            Some(key) => self.go(Step::Preempt(key)),
            None => Some(ReservationOutcome::Held),
        }
    }

    fn reported(&mut self, data: &[u8]) -> Option<ReservationOutcome> {
        let Some((header, entries)) = read_reservations(data, StatusFormat::Extended) else {
            return Some(ReservationOutcome::Failed(StatusCode::DataTransferError.for_good()));
        };
        let entries: Vec<_> = entries.collect();
        let holder = entries.iter().find(|entry| entry.holds);
        let holder = holder.map(|entry| Holder { host_id: entry.host_id, key: entry.key });
        match self.goal {
            ReservationGoal::Take { .. } => {
                let others = entries.iter().filter(|entry| entry.host_id != self.host_id);
                let keys = others.map(|entry| entry.key).filter(|key| is_server_key(*key));
                self.stale = keys.filter(|key| *key != server_key(&self.host_id)).collect();
                self.clear_away()
            }
            ReservationGoal::Verify if header.kind == 0 && header.registrants == 0 => {
                Some(ReservationOutcome::Forgotten)
            }
            ReservationGoal::Verify => Some(ReservationOutcome::Conflict(holder)),
            ReservationGoal::Look | ReservationGoal::Restore | ReservationGoal::GiveUp => {
                Some(ReservationOutcome::Seen(holder))
            }
        }
    }
}
