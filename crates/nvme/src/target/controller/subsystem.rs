//! A drive with a name, and the answers to all admin commands.

use super::association::Association;
use super::config::SubsystemConfig;
use super::drive::{Action, AdminAnswer, DriveReport, ReservationAnswer};
use super::identity::copy_identity;
use super::logs::Logs;
use super::registers::Change;
use super::registry::{Queue, Registry, RegistryLimits};
use super::timestamp::TimeOfDay;
use super::traffic::Traffic;
use super::windows::{SetWindows, check_set};
use crate::WindowTraffic;
use crate::target::authentication::{Authentication, AuthenticationAnswer, RANDOM_BYTES};
use crate::target::io::IoOperation;
use crate::target::request::{AuthenticationStep, Request, Standing};
use crate::target::reservation::{
    Access, Effect, HostId, Persistence, ReservationState, Reservations,
};
use crate::target::transport::{Answer, CommandData, Slot};
use crate::wire::plm_light::{COUNTS_BYTES, CountsData};
use crate::wire::{
    AdminCommand, AsyncEvent, CONNECT_BYTES, Connect, ConnectRefusal, Feature, FeatureId,
    GetFeatures, LogPage, ReservationCommand, SetFeatures, StatusCode, StatusField,
    SubmissionEntry, TIMESTAMP_BYTES, Timestamp, WINDOW_CONFIG_BYTES,
};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use units::{Duration, Instant};

/// A command of an admin queue, with its data.
#[derive(Debug)]
pub struct AdminRequest<'a> {
    /// Slot of the command in the connection.
    pub slot: Slot,
    /// NSID.
    pub nsid: u32,
    /// The command.
    pub command: AdminCommand,
    /// Data that came with it; empty without data.
    pub data: &'a [u8],
    /// Room for the data that it returns.
    pub into: &'a mut [u8],
}

/// A drive with a name: its controllers, the windows of its NVM Set, and the reservations of its
/// namespace.
///
/// Inputs are [`Self::connect`], [`Self::handle_admin`] and everything else that begins with
/// `handle`; after each, [`Self::poll_action`] has to be called until it is empty, before anything
/// else. [`Self::next_deadline`] is the time at which to call [`Self::handle_deadline`] if nothing
/// else happens. Admin commands are answered at once, except requests of events.
#[derive(Debug)]
pub struct Subsystem {
    config: SubsystemConfig,
    registry: Registry,
    authentication: Option<Authentication>,
    windows: SetWindows,
    reservations: Reservations,
    traffic: Traffic,
    actions: VecDeque<Action>,
}

impl Subsystem {
    /// A drive without controllers and reservations.
    #[must_use]
    pub fn new(config: SubsystemConfig) -> Self {
        Self::with_reservations(config, ReservationState::default())
    }

    /// A drive without controllers, with saved reservations.
    #[must_use]
    pub fn with_reservations(config: SubsystemConfig, kept: ReservationState) -> Self {
        let registry = Registry::new(RegistryLimits {
            controllers_max: config.controllers_max,
            io_queues_max: config.io_queues_max,
            entries_max: config.entries_max,
            capsule_bytes: config.capsule_bytes,
            event: AsyncEvent::WindowAggregate,
        });
        let authentication = config.authentication.clone();
        let authentication = authentication.map(|hosts| Authentication::new(hosts, config.nqn));
        let (windows, actions) = (SetWindows::default(), VecDeque::new());
        let reservations = Reservations::new(config.reservations, kept);
        let traffic = Traffic::default();
        Self { config, registry, authentication, windows, reservations, traffic, actions }
    }

    /// Configuration of the subsystem.
    #[must_use]
    pub const fn config(&self) -> &SubsystemConfig {
        &self.config
    }

    /// Number of controllers: one for each path of each host.
    #[must_use]
    pub fn controllers(&self) -> usize {
        self.registry.count()
    }

    /// Decodes a command that came over a connection with this queue; `queue` is `None` before
    /// Connect. All data that the command needs from the host must be there.
    ///
    /// # Errors
    ///
    /// If the command is refused regardless of its data, with the status of the answer.
    pub fn decode(
        &self,
        queue: Option<&Queue>,
        entry: &SubmissionEntry,
        data: CommandData,
    ) -> Result<Request, StatusField> {
        let standing = match queue {
            None => Standing::Fresh,
            Some(queue) if !self.may_use(queue) => Standing::Unauthenticated,
            Some(queue) if queue.is_admin() => Standing::Admin,
            Some(queue) => match self.registry.get(queue.controller) {
                Some(association) if association.is_ready() => Standing::Io {
                    namespace: &self.config.namespace,
                    ioda: self.config.ioda.filter(|_| association.knows_ioda),
                    reservations: self.config.reservations,
                },
                _ => Standing::Disabled,
            },
        };
        Request::decode(standing, self.authentication.is_some(), entry, data)
    }

    /// Gives a host a queue.
    ///
    /// # Errors
    ///
    /// If the host may not have the queue, with the refusal.
    pub fn connect(
        &mut self,
        now: Instant,
        connect: &Connect,
        data: &[u8; CONNECT_BYTES],
    ) -> Result<Queue, ConnectRefusal> {
        let SubsystemConfig { nqn, hosts, .. } = &self.config;
        let queue = self.registry.connect(now, nqn, hosts, connect, data)?;
        let Some(authentication) = &mut self.authentication else { return Ok(queue) };
        let queue = queue.to_authenticate();
        if let Some(association) = self.registry.get(queue.controller) {
            authentication.add(&queue, association.host().host);
        }
        Ok(queue)
    }

    /// Whether a queue may be used: its host has authenticated, or does not have to.
    #[must_use]
    pub fn may_use(&self, queue: &Queue) -> bool {
        self.authentication.as_ref().is_none_or(|queues| queues.is_done(queue))
    }

    /// Whether hosts have to authenticate.
    #[must_use]
    pub const fn demands_authentication(&self) -> bool {
        self.authentication.is_some()
    }

    /// Completed steps of a queue's exchange towards success, rising with each step. Zero after a
    /// failure, or before the exchange.
    #[must_use]
    pub fn authentication_progress(&self, queue: &Queue) -> u8 {
        self.authentication.as_ref().map_or(0, |queues| queues.progress(queue))
    }

    /// Handles a message of a host that authenticates, or returns the next message to it. `random`
    /// is used once.
    pub fn handle_authentication(
        &mut self,
        queue: &Queue,
        step: AuthenticationStep,
        data: &[u8],
        into: &mut [u8],
        random: &[u8; RANDOM_BYTES],
    ) -> AuthenticationAnswer {
        let Some(authentication) = &mut self.authentication else {
            return AuthenticationAnswer::Now(Answer::new(StatusCode::InvalidOpcode.for_good()));
        };
        match step {
            AuthenticationStep::Send if authentication.has_failed(queue) => {
                let answer = Answer::new(StatusCode::CommandSequence.for_good());
                AuthenticationAnswer::Last(answer)
            }
            AuthenticationStep::Send => match authentication.handle_send(queue, data, random) {
                Some(power) => AuthenticationAnswer::Held(power),
                None => AuthenticationAnswer::Now(Answer::new(StatusField::SUCCESS)),
            },
            AuthenticationStep::Receive => {
                let answer = match authentication.handle_receive(queue) {
                    Some(message) if message.len() <= into.len() => copy(&message, 0, into),
                    Some(_) => Answer::new(StatusCode::SglLengthInvalid.for_good()),
                    None => Answer::new(StatusCode::CommandSequence.for_good()),
                };
                match authentication.is_over(queue) {
                    true => AuthenticationAnswer::Last(answer),
                    false => AuthenticationAnswer::Now(answer),
                }
            }
        }
    }

    /// Handles the power that [`AuthenticationAnswer::Held`] requested; `None` if the host's value
    /// is not valid.
    pub fn handle_power(&mut self, queue: &Queue, value: Option<Vec<u8>>) {
        if let Some(authentication) = &mut self.authentication {
            authentication.handle_power(queue, value);
        }
    }

    /// Answers a command of an admin queue.
    pub fn handle_admin(
        &mut self,
        now: Instant,
        queue: &Queue,
        request: AdminRequest<'_>,
        drive: &DriveReport,
    ) -> AdminAnswer {
        let Some(association) = self.registry.get_mut(queue.controller) else {
            // The controller expired while the command was on its way.
            return AdminAnswer::Now(Answer::new(StatusCode::KeepAliveExpired.for_good()));
        };
        let AdminRequest { slot, command, .. } = request;
        let (answer, change) = association.handle(now, slot, &command, &mut self.actions);
        match change {
            Change::Reset => self.forget(queue.controller),
            Change::ShutDown { abrupt } => {
                let controller = queue.controller;
                self.actions.push_back(Action::ShutDown { controller, abrupt });
            }
            Change::Nothing | Change::Enabled => {}
        }
        if let Some(answer) = answer {
            return answer;
        }
        let own = match command {
            AdminCommand::SetFeatures(SetFeatures {
                feature: Feature::ReservationPersistence { persists },
                save,
            }) => self.set_persistence(request.nsid, save, persists),
            _ => self.handle_own(now, queue.controller, request, drive).map(AdminAnswer::Now),
        };
        own.unwrap_or_else(|status| AdminAnswer::Now(Answer::new(status)))
    }

    /// State of the reservations.
    #[must_use]
    pub const fn reservations(&self) -> &ReservationState {
        self.reservations.state()
    }

    /// Host of a queue; `None` if its controller has ended.
    #[must_use]
    pub fn host_of(&self, queue: &Queue) -> Option<HostId> {
        Some(self.registry.get(queue.controller)?.host().host_id)
    }

    /// Position of a queue's host in the list of allowed hosts; 0 if all hosts are allowed.
    #[must_use]
    pub fn place_of_host(&self, queue: &Queue) -> usize {
        let host = self.registry.get(queue.controller).map(|association| &association.host().host);
        host.map_or(0, |host| self.config.hosts.place(host))
    }

    /// Whether reservations allow the host of a queue this operation now. To be asked when all data
    /// of the command are there and before it begins; if false, the answer is
    /// [`StatusCode::ReservationConflict`].
    #[must_use]
    pub fn allows(&self, queue: &Queue, operation: &IoOperation) -> bool {
        if self.reservations.state().held.is_none() {
            return true;
        }
        let host = self.host_of(queue);
        host.is_some_and(|host| self.reservations.allows(&host, Access::of(operation)))
    }

    /// Answers a reservation command.
    pub fn handle_reservation(
        &mut self,
        queue: &Queue,
        command: &ReservationCommand,
        data: &[u8],
        into: &mut [u8],
    ) -> ReservationAnswer {
        let refuse = |status| ReservationAnswer {
            answer: Answer::new(status),
            ends_first: Vec::new(),
            keep: false,
        };
        let Some(host) = self.host_of(queue) else {
            return refuse(StatusCode::KeepAliveExpired.for_good());
        };
        let room = match command {
            ReservationCommand::Report { dwords, .. } => (u64::from(*dwords) + 1) * 4,
            _ => 0,
        };
        let bytes = usize::try_from(room).unwrap_or(usize::MAX).min(into.len());
        match self.reservations.handle(&host, command, data, &mut into[..bytes]) {
            Err(status) => refuse(status),
            Ok(effect) => {
                let keep = effect.keep;
                let ends_first = self.take_effect(effect);
                let answer = match command {
                    ReservationCommand::Report { .. } => Answer::with_data(bytes as u32),
                    _ => Answer::new(StatusField::SUCCESS),
                };
                ReservationAnswer { answer, ends_first, keep }
            }
        }
    }

    /// Sends the notices of a change to hosts, and requests that the driver saves it.
    fn take_effect(&mut self, effect: Effect) -> Vec<HostId> {
        for (host, notice) in effect.notices {
            let own = |association: &&mut Association| association.host().host_id == host;
            for association in self.registry.iter_mut().filter(own) {
                association.notify_of_reservation(notice, &mut self.actions);
            }
        }
        if effect.keep {
            self.actions.push_back(Action::KeepReservations);
        }
        effect.preempted
    }

    /// Handles the end of the flush that [`Action::ShutDown`] requested.
    pub fn handle_shut_down(&mut self, controller: u16) {
        if let Some(association) = self.registry.get_mut(controller) {
            association.set_shut_down();
        }
    }

    /// Handles [`window_event`](crate::wire::window_event)s. Hosts that want them get an event.
    pub fn handle_window_events(&mut self, events: u16) {
        if self.windows.happen(events) {
            for association in self.registry.iter_mut() {
                association.notify(&mut self.actions);
            }
        }
    }

    /// Begins a policy that wants a coordinator for deterministic windows of this length, or none
    /// (`None`). Traffic and counts of the previous policy are forgotten.
    pub fn begin_traffic(&mut self, length: Option<Duration>) {
        self.traffic.begin(length);
    }

    /// Handles the end of a deterministic window. Hosts that have read log page C0h get an event.
    pub fn handle_traffic(&mut self, window: WindowTraffic) {
        self.traffic.push(window);
        for association in self.registry.iter_mut() {
            association.notify_of_traffic(&mut self.actions);
        }
    }

    /// Handles the close of a queue's connection.
    pub fn handle_closed(&mut self, queue: &Queue) {
        if let Some(authentication) = &mut self.authentication {
            authentication.remove(queue);
        }
        if let Some(association) = self.registry.disconnect(queue) {
            let controller = association.id();
            self.actions.push_back(Action::CloseIoQueues { controller });
            self.forget(controller);
        }
    }

    /// Time at which the next controller expires if its host stays silent.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        self.registry.deadline()
    }

    /// Removes the controllers whose hosts were silent for too long.
    pub fn handle_deadline(&mut self, now: Instant) {
        while let Some(association) = self.registry.take_expired(now) {
            let controller = association.id();
            if let Some(authentication) = &mut self.authentication {
                authentication.remove_controller(controller);
            }
            self.actions.push_back(Action::CloseController { controller });
            self.forget(controller);
        }
    }

    /// The next action.
    #[must_use]
    pub fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// Forgets a controller that was reset or has ended.
    fn forget(&mut self, controller: u16) {
        self.traffic.forget(controller);
        if let Some(order) = self.windows.forget(controller) {
            self.actions.push_back(Action::SetWindows(order));
        }
    }

    /// Answers commands that only a drive supports.
    fn handle_own(
        &mut self,
        now: Instant,
        controller: u16,
        request: AdminRequest<'_>,
        drive: &DriveReport,
    ) -> Result<Answer, StatusField> {
        let AdminRequest { nsid, command, data, into, .. } = request;
        let invalid_field = StatusCode::InvalidField.for_good();
        let association = self.registry.get_mut(controller).ok_or(invalid_field)?;
        match command {
            AdminCommand::Identify(identify) => {
                let events = association.offered_events();
                let rescap = self.reservations.capability();
                let identity = self.config.identify(controller, events, rescap, nsid, &identify)?;
                Ok(copy_identity(&identity, into))
            }
            AdminCommand::GetLogPage(get) => {
                let (config, windows) = (&self.config, &mut self.windows);
                let knows_ioda = association.knows_ioda;
                let (notices, traffic) = (&mut association.notices, &self.traffic);
                let mut logs = Logs { config, windows, notices, traffic, drive, knows_ioda };
                let answer = logs.get(&get, into)?;
                match get.page {
                    _ if get.retain_event => {}
                    LogPage::WindowAggregate => association.acknowledge(),
                    LogPage::Reservation => association.acknowledge_reservation(&mut self.actions),
                    LogPage::Traffic => association.acknowledge_traffic(),
                    _ => {}
                }
                Ok(answer)
            }
            AdminCommand::SetFeatures(set) => {
                self.set_feature(now, controller, nsid, &set, data, drive)
            }
            // Only drives with windows have these features.
            AdminCommand::GetFeatures(GetFeatures {
                feature: FeatureId::WindowConfig | FeatureId::Window,
                ..
            }) if self.config.ioda.is_none() => Err(invalid_field),
            AdminCommand::GetFeatures(GetFeatures {
                feature: feature @ (FeatureId::ReservationMask | FeatureId::ReservationPersistence),
                ..
            }) => {
                check_reservations(&self.config, nsid, false)?;
                let value = match feature {
                    FeatureId::ReservationMask => association.notices.mask(),
                    _ => self.reservations.state().persists.into(),
                };
                Ok(Answer::with_result(value.into()))
            }
            AdminCommand::GetFeatures(GetFeatures { feature: FeatureId::WindowCounts, .. }) => {
                Ok(copy(&self.traffic.counts()?.encode(), 0, into))
            }
            AdminCommand::GetFeatures(get) => {
                get_feature(now, association, &self.windows, &get, drive, into)
            }
            _ => Err(StatusCode::InvalidOpcode.for_good()),
        }
    }

    /// Set Features 83h.
    fn set_persistence(
        &mut self,
        nsid: u32,
        save: bool,
        persists: bool,
    ) -> Result<AdminAnswer, StatusField> {
        check_reservations(&self.config, nsid, true)?;
        if save {
            return Err(StatusCode::FeatureNotSaveable.for_good());
        }
        let effect = self.reservations.set_persistence(persists)?;
        let (answer, keep) = (Answer::new(StatusField::SUCCESS), effect.keep);
        self.take_effect(effect);
        Ok(if keep { AdminAnswer::WhenKept(answer) } else { AdminAnswer::Now(answer) })
    }

    fn set_feature(
        &mut self,
        now: Instant,
        controller: u16,
        nsid: u32,
        set: &SetFeatures,
        data: &[u8],
        drive: &DriveReport,
    ) -> Result<Answer, StatusField> {
        let invalid_field = StatusCode::InvalidField.for_good();
        let association = self.registry.get_mut(controller).ok_or(invalid_field)?;
        match set.feature {
            Feature::Other { .. } => return Err(invalid_field),
            _ if set.save => return Err(StatusCode::FeatureNotSaveable.for_good()),
            Feature::Timestamp => {
                let data = data.first_chunk::<TIMESTAMP_BYTES>().ok_or(invalid_field)?;
                association.set_time_of_day(TimeOfDay::set(now, &Timestamp::decode(data)));
            }
            Feature::WindowConfig { nvm_set, enable } => {
                let capability = self.config.ioda.ok_or(invalid_field)?;
                check_set(nvm_set)?;
                let data = data.first_chunk::<WINDOW_CONFIG_BYTES>().ok_or(invalid_field)?;
                let order = self.windows.configure(controller, enable, data, capability, drive)?;
                association.knows_ioda = order.config.ioda.is_some();
                self.actions.push_back(Action::SetWindows(order));
            }
            Feature::WindowCounts => {
                let data = data.first_chunk::<COUNTS_BYTES>().ok_or(invalid_field)?;
                let data = CountsData::decode(data).ok_or(invalid_field)?;
                let counts = self.traffic.set(now, controller, &data)?;
                self.actions.push_back(Action::SetCounts(counts));
            }
            Feature::ReservationMask(mask) => {
                check_reservations(&self.config, nsid, true)?;
                association.notices.set_mask(mask);
            }
            Feature::Window { nvm_set, window } => {
                self.config.ioda.ok_or(invalid_field)?;
                check_set(nvm_set)?;
                let window = self.windows.select(window)?;
                self.actions.push_back(Action::SelectWindow(window));
            }
            Feature::NumberOfQueues(_)
            | Feature::AsyncEvents(_)
            | Feature::KeepAlive { .. }
            | Feature::ReservationPersistence { .. } => return Err(invalid_field),
        }
        Ok(Answer::new(StatusField::SUCCESS))
    }
}

/// Checks that a command about reservations names the namespace; `all` also allows the identifier
/// of all namespaces.
fn check_reservations(config: &SubsystemConfig, nsid: u32, all: bool) -> Result<(), StatusField> {
    if config.reservations == Persistence::Absent {
        return Err(StatusCode::InvalidField.for_good());
    }
    match config.namespace.is_named(nsid, all) {
        true => Ok(()),
        false => Err(StatusCode::InvalidNamespace.for_good()),
    }
}

fn get_feature(
    now: Instant,
    association: &Association,
    windows: &SetWindows,
    get: &GetFeatures,
    drive: &DriveReport,
    into: &mut [u8],
) -> Result<Answer, StatusField> {
    match get.feature {
        FeatureId::HostId => Ok(copy(&association.host().host_id, 0, into)),
        FeatureId::Timestamp => Ok(copy(&association.time_of_day().read(now).encode(), 0, into)),
        FeatureId::WindowConfig => {
            check_set(get.nvm_set())?;
            let config = windows.config(association.knows_ioda).encode();
            Ok(copy(&config, windows.is_enabled().into(), into))
        }
        FeatureId::Window => {
            check_set(get.nvm_set())?;
            Ok(Answer::with_result(windows.state(drive).encode().into()))
        }
        _ => Err(StatusCode::InvalidField.for_good()),
    }
}

/// Copies the data of a feature into the room of the host.
fn copy(data: &[u8], result: u64, into: &mut [u8]) -> Answer {
    let bytes = data.len().min(into.len());
    into[..bytes].copy_from_slice(&data[..bytes]);
    Answer { result, ..Answer::with_data(bytes as u32) }
}
