//! State shared by a host and a controller.

use super::drive::{Action, AdminAnswer};
use super::events::Events;
use super::keep_alive::KeepAlive;
use super::registers::{Change, Registers};
use super::registry::RegistryLimits;
use super::timestamp::TimeOfDay;
use crate::target::reservation::Notices;
use crate::target::transport::{Answer, Slot};
use crate::wire::{
    AdminCommand, ConnectData, FabricsCommand, Feature, FeatureId, FeatureValue, GetFeatures,
    QueueCounts, ReservationNotice, SetFeatures, StatusCode, StatusField,
};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use units::Instant;

/// DW0 of an Abort that aborted nothing. Commands are short, so none is ever aborted, as the
/// specification allows.
const NOT_ABORTED: u64 = 1;

/// The part of a controller that all kinds of controllers have in common.
#[derive(Debug)]
pub(in crate::target) struct Association {
    pub(super) id: u16,
    pub(super) host: ConnectData,
    registers: Registers,
    keep_alive: KeepAlive,
    events: Events,
    /// Notices of reservations.
    pub(super) notices: Notices,
    time_of_day: TimeOfDay,
    /// Whether each I/O queue is connected, from queue 1 on.
    connected: Vec<bool>,
    /// I/O queues that the host may connect.
    granted: u16,
    /// The host has sent IODA's magic word.
    pub(super) knows_ioda: bool,
}

impl Association {
    pub(super) fn new(
        now: Instant,
        id: u16,
        host: ConnectData,
        keep_alive_ms: u32,
        limits: &RegistryLimits,
    ) -> Self {
        Self {
            id,
            host,
            registers: Registers::new(limits.capabilities()),
            keep_alive: KeepAlive::new(now, keep_alive_ms),
            events: Events::new(limits.event),
            notices: Notices::default(),
            time_of_day: TimeOfDay::reset(now),
            connected: alloc::vec![false; limits.io_queues_max.into()],
            granted: limits.io_queues_max,
            knows_ioda: false,
        }
    }

    pub(in crate::target) const fn id(&self) -> u16 {
        self.id
    }

    pub(in crate::target) const fn host(&self) -> &ConnectData {
        &self.host
    }

    pub(in crate::target) const fn is_ready(&self) -> bool {
        self.registers.is_ready()
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.keep_alive.deadline()
    }

    /// Connects an I/O queue. Returns false if it is not granted, or connected already.
    pub(super) fn connect(&mut self, queue: u16) -> bool {
        let number = usize::from(queue).wrapping_sub(1);
        let is_granted = queue <= self.granted;
        match self.connected.get_mut(number).filter(|connected| is_granted && !**connected) {
            Some(connected) => {
                *connected = true;
                true
            }
            None => false,
        }
    }

    pub(super) fn disconnect(&mut self, queue: u16) {
        if let Some(connected) = self.connected.get_mut(usize::from(queue).wrapping_sub(1)) {
            *connected = false;
        }
    }

    pub(in crate::target) fn set_shut_down(&mut self) {
        self.registers.set_shut_down();
    }

    /// Handles an event of the kind that this controller reports.
    pub(in crate::target) fn notify(&mut self, actions: &mut VecDeque<Action>) {
        self.events.happen();
        self.tell(actions);
    }

    /// Records that the host has read the log page of its events.
    pub(in crate::target) fn acknowledge(&mut self) {
        self.events.acknowledge();
    }

    /// Handles an event of the reservation of its host.
    pub(super) fn notify_of_reservation(
        &mut self,
        notice: ReservationNotice,
        actions: &mut VecDeque<Action>,
    ) {
        if self.notices.push(notice) {
            self.events.happen_to_reservation();
            self.tell(actions);
        }
    }

    /// Records that the host has read log page 80h.
    pub(super) fn acknowledge_reservation(&mut self, actions: &mut VecDeque<Action>) {
        self.events.acknowledge_reservation(self.notices.has_waiting());
        self.tell(actions);
    }

    /// Handles another window in log page C0h.
    pub(super) fn notify_of_traffic(&mut self, actions: &mut VecDeque<Action>) {
        self.events.happen_to_traffic();
        self.tell(actions);
    }

    /// Records that the host has read log page C0h.
    pub(super) fn acknowledge_traffic(&mut self) {
        self.events.acknowledge_traffic();
    }

    pub(in crate::target) const fn offered_events(&self) -> u32 {
        self.events.offered()
    }

    fn tell(&mut self, actions: &mut VecDeque<Action>) {
        while let Some((slot, answer)) = self.events.poll() {
            actions.push_back(Action::Answer { controller: self.id, slot, answer });
        }
    }

    /// Answers commands that all kinds of controllers answer alike; `None` for another command.
    /// Also returns the change of the controller's state.
    pub(in crate::target) fn handle(
        &mut self,
        now: Instant,
        slot: Slot,
        command: &AdminCommand,
        actions: &mut VecDeque<Action>,
    ) -> (Option<AdminAnswer>, Change) {
        let now_answer = |result: Result<u64, StatusField>| {
            let answer = result.map_or_else(Answer::new, Answer::with_result);
            Some(AdminAnswer::Now(answer))
        };
        let mut change = Change::Nothing;
        let answer = match command {
            AdminCommand::Fabrics(FabricsCommand::PropertyGet(get)) => {
                now_answer(self.registers.get(get))
            }
            AdminCommand::Fabrics(FabricsCommand::PropertySet(set)) => {
                let changed = self.registers.set(set);
                change = changed.unwrap_or(Change::Nothing);
                now_answer(changed.map(|_| 0))
            }
            AdminCommand::Fabrics(_) | AdminCommand::Unsupported { .. } => {
                now_answer(Err(StatusCode::InvalidOpcode.for_good()))
            }
            AdminCommand::KeepAlive => {
                self.keep_alive.restart(now);
                now_answer(Ok(0))
            }
            _ if !self.is_ready() => now_answer(Err(StatusCode::CommandSequence.for_good())),
            AdminCommand::Abort(_) => now_answer(Ok(NOT_ABORTED)),
            AdminCommand::AsyncEventRequest => match self.events.request(slot) {
                Ok(()) => Some(AdminAnswer::Held),
                Err(status) => now_answer(Err(status)),
            },
            AdminCommand::SetFeatures(set) => self.set_feature(now, set).and_then(now_answer),
            AdminCommand::GetFeatures(get) => self.get_feature(get).and_then(now_answer),
            AdminCommand::Identify(_) | AdminCommand::GetLogPage(_) => None,
        };
        match change {
            Change::Reset => self.reset(now, actions),
            Change::Enabled => self.time_of_day = TimeOfDay::reset(now),
            Change::Nothing | Change::ShutDown { .. } => {}
        }
        // A waiting event may have needed this request or feature.
        self.tell(actions);
        (answer, change)
    }

    fn reset(&mut self, now: Instant, actions: &mut VecDeque<Action>) {
        let controller = self.id;
        while let Some(slot) = self.events.reset() {
            let answer = Answer::new(StatusCode::AbortRequested.for_now());
            actions.push_back(Action::Answer { controller, slot, answer });
        }
        actions.push_back(Action::CloseIoQueues { controller });
        self.knows_ioda = false;
        self.notices = Notices::default();
        self.time_of_day = TimeOfDay::reset(now);
    }

    /// Sets a common feature; `None` for another feature.
    fn set_feature(&mut self, now: Instant, set: &SetFeatures) -> Option<Result<u64, StatusField>> {
        let result = match set.feature {
            Feature::NumberOfQueues(_) | Feature::AsyncEvents(_) | Feature::KeepAlive { .. }
                if set.save =>
            {
                Err(StatusCode::FeatureNotSaveable.for_good())
            }
            Feature::NumberOfQueues(asked) => self.grant(asked),
            Feature::AsyncEvents(wanted) => {
                self.events.set_wanted(wanted);
                Ok(0)
            }
            Feature::KeepAlive { milliseconds } => {
                self.keep_alive = KeepAlive::new(now, milliseconds);
                Ok(0)
            }
            _ => return None,
        };
        Some(result)
    }

    /// Feature 07h: grants the queues that are requested, up to the most.
    fn grant(&mut self, asked: QueueCounts) -> Result<u64, StatusField> {
        if asked.submission == u16::MAX || asked.completion == u16::MAX {
            return Err(StatusCode::InvalidField.for_good());
        }
        if self.connected.contains(&true) {
            return Err(StatusCode::CommandSequence.for_good());
        }
        let Some(most) = (self.connected.len() as u16).checked_sub(1) else {
            return Err(StatusCode::InvalidField.for_good());
        };
        // Over a fabric each queue is both a submission and a completion queue, so the numbers are
        // equal.
        let count = asked.submission.min(asked.completion).min(most);
        self.granted = count + 1;
        Ok(QueueCounts { submission: count, completion: count }.encode().into())
    }

    /// Value of a common feature; `None` for another feature.
    fn get_feature(&self, get: &GetFeatures) -> Option<Result<u64, StatusField>> {
        if get.value != FeatureValue::Current {
            return Some(Err(StatusCode::InvalidField.for_good()));
        }
        let value = match get.feature {
            FeatureId::NumberOfQueues => {
                let count = self.granted.saturating_sub(1);
                QueueCounts { submission: count, completion: count }.encode()
            }
            FeatureId::AsyncEvents => self.events.wanted(),
            FeatureId::KeepAlive => self.keep_alive.timeout_ms(),
            _ => return None,
        };
        Some(Ok(value.into()))
    }

    pub(super) const fn time_of_day(&self) -> &TimeOfDay {
        &self.time_of_day
    }

    pub(super) const fn set_time_of_day(&mut self, time_of_day: TimeOfDay) {
        self.time_of_day = time_of_day;
    }
}
