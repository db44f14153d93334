//! Controllers: which hosts get one, its answers, and its end.

use super::bench::{Bench, NQN, config, controller, terms};
use super::host::{
    HOST_NQN, Host, Pdu, admin, completion, connect, data, in_capsule, io, transport,
};
use nvme::target::{Action, HostList};
use nvme::wire::pdu::Digests;
use nvme::wire::{
    Abort, AdminCommand, Cns, Configuration, ConnectData, ControllerStatus, FabricsCommand,
    Feature, FeatureId, FeatureValue, GetFeatures, GetLogPage, Identify, IoCommand, LogPage, Nqn,
    Property, PropertyGet, PropertySet, PropertySize, QueueCounts, SetFeatures, SglDescriptor,
    StatusCode, StatusField, SubmissionEntry, Timestamp, TimestampOrigin,
};
use units::{Duration, Instant};

/// A host with an admin queue.
pub(super) struct Admin {
    pub(super) bench: Bench,
    pub(super) host: Host,
    pub(super) id: u16,
}

impl Admin {
    pub(super) fn connected() -> Self {
        Self::connected_in(Bench::new())
    }

    fn connected_in(mut bench: Bench) -> Self {
        let (socket, mut host) = bench.greet(Digests::default(), 0);
        let (entry, data) = connect(0, (0, 31), (None, NQN), 5000, 0);
        let bytes = host.command(entry, &data);
        let id = controller(&bench.talk(socket, &mut host, &bytes));
        Self { bench, host, id }
    }

    pub(super) fn enabled() -> Self {
        Self::enabled_in(Bench::new())
    }

    pub(super) fn enabled_in(bench: Bench) -> Self {
        let mut admin = Self::connected_in(bench);
        admin.configure(true);
        admin
    }

    pub(super) fn configure(&mut self, enable: bool) {
        let value = Configuration {
            enable,
            submission_entry: 6,
            completion_entry: 4,
            ..Configuration::default()
        };
        assert_eq!(self.set_cc(value.encode()), StatusField::SUCCESS);
    }

    fn set_cc(&mut self, value: u32) -> StatusField {
        let (property, size) = (Property::Configuration, PropertySize::Four);
        let set = PropertySet { property, size, value: value.into() };
        self.raw(FabricsCommand::PropertySet(set).encode(9, SglDescriptor::NO_DATA), &[]).1
    }

    fn status(&mut self) -> ControllerStatus {
        let get = PropertyGet { property: Property::Status, size: PropertySize::Four };
        let entry = FabricsCommand::PropertyGet(get).encode(9, SglDescriptor::NO_DATA);
        let pdus = self.raw(entry, &[]).0;
        ControllerStatus::decode(completion(&pdus).dw0())
    }

    pub(super) fn raw(&mut self, entry: SubmissionEntry, out: &[u8]) -> (Vec<Pdu>, StatusField) {
        let bytes = self.host.command(entry, out);
        let pdus = self.bench.talk(0, &mut self.host, &bytes);
        let status = completion(&pdus).status;
        (pdus, status)
    }

    /// Sends a command with room for `room` bytes. Returns the PDUs and the status.
    pub(super) fn ask(&mut self, room: usize, command: AdminCommand) -> (Vec<Pdu>, StatusField) {
        self.raw(admin(9, u32::MAX, transport(room), command), &[])
    }

    pub(super) fn set(&mut self, feature: Feature, out: &[u8]) -> StatusField {
        let set = AdminCommand::SetFeatures(SetFeatures { save: false, feature });
        let pointer = if out.is_empty() { transport(0) } else { in_capsule(out.len()) };
        self.raw(admin(9, 0, pointer, set), out).1
    }
}

#[test]
fn connect_is_refused_with_the_field_to_blame() {
    let mut config = config();
    config.controllers_max = 1;
    config.hosts = HostList::Only(vec![Nqn::new(HOST_NQN).unwrap()]);
    let mut bench = Bench::with(config.clone(), terms());
    let mut refused = |queue, size, controller, subsystem| {
        let (socket, mut host) = bench.greet(Digests::default(), 0);
        let (entry, data) = connect(0, (queue, size), (controller, subsystem), 0, 0);
        let bytes = host.command(entry, &data);
        let end = completion(&bench.talk(socket, &mut host, &bytes));
        (end.status.bits(), end.dw0())
    };
    assert_eq!(refused(0, 31, None, "nqn.2026-01.example:nobody"), (0x4182, 0x1_0100));
    assert_eq!(refused(0, 0, None, NQN), (0x4182, 44));
    assert_eq!(refused(0, 128, None, NQN), (0x4182, 44));
    assert_eq!(refused(0, 31, Some(1), NQN), (0x4182, 0x1_0010), "only dynamic controllers");
    assert_eq!(refused(1, 31, Some(1), NQN), (0x4182, 0x1_0010), "no such controller");
    assert_eq!(refused(0, 31, None, NQN), (0, 1));
    assert_eq!(refused(0, 31, None, NQN), (0x0181, 0), "one controller is all there is");
    assert_eq!(refused(1, 31, Some(1), NQN), (0x4182, 42), "it is not enabled");

    config.hosts = HostList::Only(Vec::new());
    let mut bench = Bench::with(config, terms());
    let (socket, mut host) = bench.greet(Digests::default(), 0);
    let (entry, data) = connect(0, (0, 31), (None, NQN), 0, 0);
    let bytes = host.command(entry, &data);
    let end = completion(&bench.talk(socket, &mut host, &bytes));
    assert_eq!((end.status.bits(), end.dw0()), (0x4184, 0x1_0200));
}

#[test]
fn queues_are_those_that_were_granted_and_each_once() {
    let mut admin = Admin::enabled();
    let id = admin.id;
    let mut connected = |queue| {
        let (socket, mut host) = admin.bench.greet(Digests::default(), 0);
        let (entry, data) = connect(0, (queue, 31), (Some(id), NQN), 0, 0);
        let bytes = host.command(entry, &data);
        let end = completion(&admin.bench.talk(socket, &mut host, &bytes));
        (end.status.bits(), end.dw0())
    };
    assert_eq!(connected(1), (0, u32::from(id)));
    assert_eq!(connected(1), (0x4182, 42), "it is in use");
    assert_eq!(connected(3), (0x4182, 42), "there are two");
    let counts = QueueCounts { submission: 0, completion: 0 };
    let queues = Feature::NumberOfQueues(counts);
    let status = admin.set(queues, &[]);
    assert_eq!(status, StatusCode::CommandSequence.for_good(), "too late");
    let (socket, mut host) = admin.bench.greet(Digests::default(), 0);
    let (entry, data) = connect(0, (2, 31), (Some(id), NQN), 0, 0);
    let stranger = ConnectData { host_id: [0x22; 16], ..ConnectData::decode(&data).unwrap() };
    let bytes = host.command(entry, &stranger.encode());
    let end = completion(&admin.bench.talk(socket, &mut host, &bytes));
    assert_eq!(end.status, StatusCode::ConnectInvalidHost.for_good(), "it is another host's");
}

#[test]
fn nothing_is_answered_before_connect_and_little_before_enable() {
    let mut bench = Bench::new();
    let (socket, mut host) = bench.greet(Digests::default(), 0);
    let bytes = host.command(admin(1, 0, transport(0), AdminCommand::KeepAlive), &[]);
    let pdus = bench.talk(socket, &mut host, &bytes);
    assert_eq!(completion(&pdus).status, StatusCode::CommandSequence.for_good());

    let mut admin = Admin::connected();
    let identify = AdminCommand::Identify(Identify::new(Cns::Controller));
    assert_eq!(admin.ask(4096, identify).1, StatusCode::CommandSequence.for_good());
    assert_eq!(admin.ask(0, AdminCommand::KeepAlive).1, StatusField::SUCCESS);
    assert!(!admin.status().ready);
    admin.configure(true);
    assert!(admin.status().ready);
    assert_eq!(admin.ask(4096, identify).1, StatusField::SUCCESS);
    let (entry, data) = connect(1, (0, 31), (None, NQN), 0, 0);
    assert_eq!(admin.raw(entry, &data).1, StatusCode::CommandSequence.for_good(), "once is enough");
}

#[test]
fn a_controller_that_cannot_be_as_wanted_says_so() {
    let mut admin = Admin::connected();
    // Entries of sizes that are not supported.
    admin.set_cc(1);
    let status = admin.status();
    assert!(status.fatal && !status.ready);
    admin.set_cc(0);
    assert_eq!(admin.status(), ControllerStatus::default());
    let set = PropertySet { property: Property::Status, size: PropertySize::Four, value: 0 };
    let entry = FabricsCommand::PropertySet(set).encode(9, SglDescriptor::NO_DATA);
    assert_eq!(admin.raw(entry, &[]).1, StatusCode::InvalidField.for_good());
    let get = PropertyGet { property: Property::Capabilities, size: PropertySize::Four };
    let entry = FabricsCommand::PropertyGet(get).encode(9, SglDescriptor::NO_DATA);
    assert_eq!(admin.raw(entry, &[]).1, StatusCode::InvalidField.for_good());
}

#[test]
fn what_is_not_known_has_its_status() {
    let mut admin = Admin::enabled();
    let invalid_field = StatusCode::InvalidField.for_good();
    let identify = |what| AdminCommand::Identify(Identify::new(what));
    assert_eq!(admin.ask(4096, identify(Cns::Other(0x1c))).1, invalid_field);
    let namespace = StatusCode::InvalidNamespace.for_good();
    assert_eq!(admin.ask(4096, identify(Cns::Namespace)).1, namespace, "of all namespaces");
    for page in [LogPage::Other(0xc0), LogPage::Discovery] {
        let get = AdminCommand::GetLogPage(GetLogPage::new(page, 512));
        assert_eq!(admin.ask(512, get).1, StatusCode::InvalidLogPage.for_good());
    }
    let feature = |feature| AdminCommand::GetFeatures(GetFeatures::current(feature, 0));
    assert_eq!(admin.ask(0, feature(FeatureId::Other(0x02))).1, invalid_field);
    assert_eq!(admin.set(Feature::Other { feature: 0x02, cdw11: 0 }, &[]), invalid_field);
    let saved =
        GetFeatures { value: FeatureValue::Saved, ..GetFeatures::current(FeatureId::KeepAlive, 0) };
    assert_eq!(admin.ask(0, AdminCommand::GetFeatures(saved)).1, invalid_field);
    let opcode = StatusCode::InvalidOpcode.for_good();
    assert_eq!(admin.ask(0, AdminCommand::Unsupported { opcode: 0xc3 }).1, opcode);
    assert_eq!(admin.ask(64, AdminCommand::Unsupported { opcode: 0xc2 }).1, opcode);
    let auth = FabricsCommand::Unsupported { fctype: 0x44 }.encode(9, SglDescriptor::NO_DATA);
    assert_eq!(admin.raw(auth, &[]).1, opcode);
    // The data of an unknown opcode that are at the host are never requested.
    assert_eq!(admin.ask(64, AdminCommand::Unsupported { opcode: 0xc1 }).1, opcode);
    let (pdus, status) = admin.ask(0, AdminCommand::Abort(Abort { sq_id: 0, cid: 5 }));
    assert_eq!((status, completion(&pdus).dw0()), (StatusField::SUCCESS, 1), "not aborted");
}

#[test]
fn every_part_of_a_log_page_can_be_read() {
    let mut admin = Admin::enabled();
    let mut read = |page, offset_bytes, bytes: u32, room: usize| {
        let get = GetLogPage { offset_bytes, ..GetLogPage::new(page, bytes) };
        let (pdus, status) = admin.ask(room, AdminCommand::GetLogPage(get));
        (data(&pdus), status)
    };
    let (whole, _) = read(LogPage::Health, 0, 512, 512);
    assert_eq!(whole.len(), 512);
    assert_eq!(whole[1..3], 300_u16.to_le_bytes());
    assert_eq!(read(LogPage::Health, 4, 64, 64).0, whole[4..68]);
    assert_eq!(
        read(LogPage::Health, 0, 512, 128).0,
        whole[..128],
        "no more than there is room for"
    );
    assert_eq!(read(LogPage::Health, 512, 4, 4).0, [0; 4]);
    let refused = (Vec::new(), StatusCode::InvalidField.for_good());
    assert_eq!(read(LogPage::Health, 516, 4, 4), refused);
    assert_eq!(read(LogPage::Health, 2, 4, 4), refused);
    assert_eq!(read(LogPage::Errors, 0, 64, 64).0, [0; 64]);
    assert_eq!(read(LogPage::Firmware, 0, 512, 512).0[8..16], *b"1       ");
}

#[test]
fn the_time_of_day_goes_on() {
    let mut admin = Admin::enabled();
    let set = Timestamp {
        milliseconds: 1 << 40,
        may_have_stopped: false,
        origin: TimestampOrigin::Reset,
    };
    assert_eq!(admin.set(Feature::Timestamp, &set.encode()), StatusField::SUCCESS);
    admin.bench.now = Instant::ZERO + Duration::from_millis(1234);
    let get = AdminCommand::GetFeatures(GetFeatures::current(FeatureId::Timestamp, 0));
    let (pdus, _) = admin.ask(8, get);
    let read = Timestamp::decode(&data(&pdus).try_into().unwrap());
    let milliseconds = (1 << 40) + 1234;
    assert_eq!(read, Timestamp { milliseconds, origin: TimestampOrigin::Set, ..set });
    assert_eq!(admin.set(Feature::Timestamp, &[0; 4]), StatusCode::SglLengthInvalid.for_good());
}

#[test]
fn a_silent_host_loses_its_controller() {
    let mut admin = Admin::enabled();
    let deadline = |admin: &Admin| admin.bench.subsystem.next_deadline();
    let after = |millis| Some(Instant::ZERO + Duration::from_millis(millis));
    assert_eq!(deadline(&admin), after(6000), "five seconds and one for the way");
    admin.bench.now = after(4000).unwrap();
    admin.ask(0, AdminCommand::KeepAlive);
    assert_eq!(deadline(&admin), after(10_000));
    assert_eq!(admin.set(Feature::KeepAlive { milliseconds: 1500 }, &[]), StatusField::SUCCESS);
    assert_eq!(deadline(&admin), after(7000), "rounded up to a second");
    admin.bench.subsystem.handle_deadline(after(6999).unwrap());
    admin.bench.pump();
    assert!(!admin.bench.sockets[0].is_closed);
    let (io_socket, _) = admin.bench.queue(Digests::default(), 1, Some(admin.id));
    admin.bench.subsystem.handle_deadline(after(7000).unwrap());
    admin.bench.pump();
    assert_eq!(admin.bench.actions, [Action::CloseController { controller: admin.id }]);
    assert!(admin.bench.sockets[0].is_closed && admin.bench.sockets[io_socket].is_closed);
    assert_eq!(admin.bench.subsystem.next_deadline(), None);

    let mut patient = Admin::enabled();
    patient.set(Feature::KeepAlive { milliseconds: 0 }, &[]);
    assert_eq!(deadline(&patient), None);
}

#[test]
fn a_reset_ends_the_queues_and_what_waits() {
    let mut admin = Admin::enabled();
    let (io_socket, mut io_host) = admin.bench.queue(Digests::default(), 1, Some(admin.id));
    for cid in 20..25 {
        let request = super::host::admin(cid, 0, transport(0), AdminCommand::AsyncEventRequest);
        let bytes = admin.host.command(request, &[]);
        let pdus = admin.bench.talk(0, &mut admin.host, &bytes);
        if cid < 24 {
            assert!(pdus.is_empty(), "it waits");
        } else {
            let limit = StatusCode::AsyncEventLimitExceeded.for_good();
            assert_eq!(completion(&pdus).status, limit);
        }
    }
    let (property, size) = (Property::Configuration, PropertySize::Four);
    let set = PropertySet { property, size, value: 0 };
    let entry = FabricsCommand::PropertySet(set).encode(9, SglDescriptor::NO_DATA);
    let bytes = admin.host.command(entry, &[]);
    let pdus = admin.bench.talk(0, &mut admin.host, &bytes);
    let mut ended: Vec<_> = pdus
        .iter()
        .map(|pdu| completion(std::slice::from_ref(pdu)))
        .map(|end| (end.cid, end.status.code().unwrap()))
        .collect();
    ended.sort_by_key(|end| end.0);
    let aborted = |cid| (cid, StatusCode::AbortRequested);
    let all = [(9, StatusCode::Success), aborted(20), aborted(21), aborted(22), aborted(23)];
    assert_eq!(ended, all);
    assert!(admin.bench.sockets[io_socket].is_closed);
    let flush = io_host.command(io(1, SglDescriptor::NO_DATA, IoCommand::Flush), &[]);
    assert!(admin.bench.talk(io_socket, &mut io_host, &flush).is_empty());
    // The queue can be connected again after the controller is enabled.
    admin.configure(true);
    admin.bench.queue(Digests::default(), 1, Some(admin.id));
}

#[test]
fn a_controller_goes_with_its_admin_queue() {
    let mut admin = Admin::enabled();
    let (io_socket, _) = admin.bench.queue(Digests::default(), 1, Some(admin.id));
    admin.bench.sockets[0].connection.close();
    admin.bench.pump();
    assert!(admin.bench.sockets[io_socket].is_closed);
    assert_eq!(admin.bench.subsystem.next_deadline(), None);
    let (socket, mut host) = admin.bench.greet(Digests::default(), 0);
    let (entry, data) = connect(0, (0, 31), (None, NQN), 5000, 0);
    let bytes = host.command(entry, &data);
    let next = controller(&admin.bench.talk(socket, &mut host, &bytes));
    assert_ne!(next, admin.id, "its identifier is not used again so soon");
}
