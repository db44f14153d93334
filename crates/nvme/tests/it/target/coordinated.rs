//! A target whose policy wants a coordinator: which hosts get events of windows, and which may set
//! counts.

use super::bench::{Bench, controller};
use super::controllers::Admin;
use super::host::{Host, Pdu, admin, completion, data, in_capsule, transport};
use nvme::target::Action;
use nvme::wire::plm_light::{
    Answered, COUNTS_BYTES, CountsData, TRAFFIC_LOG_BYTES, TRAFFIC_MAX, TrafficLog,
};
use nvme::wire::{
    AdminCommand, AsyncEvent, Feature, FeatureId, GetFeatures, GetLogPage, LogPage, SetFeatures,
    StatusCode, StatusField,
};
use nvme::{WindowCounts, WindowTraffic};
use units::{Duration, Instant};

const LENGTH: Duration = Duration::from_millis(1);
const INVALID: StatusField = StatusCode::InvalidField.for_good();

fn coordinated() -> Admin {
    let mut admin = Admin::enabled();
    admin.bench.subsystem.begin_traffic(Some(LENGTH));
    admin
}

fn traffic(window: u64) -> WindowTraffic {
    let ended = Instant::ZERO + LENGTH * window;
    WindowTraffic { window, ended, reads: [window, 2, 1], writes: 3 }
}

fn counts(generation: u32, window: u64) -> [u8; COUNTS_BYTES] {
    let counts = WindowCounts { window, reads: [9, 8, 7], writes: 6 };
    CountsData { generation, counts }.encode()
}

fn page(admin: &mut Admin) -> Result<TrafficLog, StatusField> {
    let get = GetLogPage::new(LogPage::Traffic, TRAFFIC_LOG_BYTES as u32);
    let (pdus, status) = admin.ask(TRAFFIC_LOG_BYTES, AdminCommand::GetLogPage(get));
    match status.is_success() {
        true => Ok(TrafficLog::decode(&data(&pdus).try_into().unwrap()).unwrap()),
        false => Err(status),
    }
}

/// Ends a window. Returns the PDUs to the host.
fn end_window(admin: &mut Admin, window: u64) -> Vec<Pdu> {
    admin.bench.subsystem.handle_traffic(traffic(window));
    admin.bench.pump();
    let bytes = admin.bench.take(0);
    admin.host.read(&bytes)
}

fn request_event(admin: &mut Admin, cid: u16) -> Vec<Pdu> {
    let entry = super::host::admin(cid, 0, transport(0), AdminCommand::AsyncEventRequest);
    let bytes = admin.host.command(entry, &[]);
    admin.bench.talk(0, &mut admin.host, &bytes)
}

#[test]
fn without_such_a_policy_there_is_neither_page_nor_feature() {
    let mut admin = Admin::enabled();
    assert_eq!(page(&mut admin), Err(StatusCode::InvalidLogPage.for_good()));
    assert_eq!(admin.set(Feature::WindowCounts, &counts(0, 0)), INVALID);
    assert_eq!(admin.set(Feature::WindowCounts, &counts(1, 1)), INVALID);
    let get = AdminCommand::GetFeatures(GetFeatures::current(FeatureId::WindowCounts, 0));
    assert_eq!(admin.ask(COUNTS_BYTES, get).1, INVALID);
    assert!(admin.bench.actions.is_empty());
}

#[test]
fn the_page_has_the_last_windows() {
    let mut admin = coordinated();
    let empty = TrafficLog { generation: 1, length: LENGTH, answered: None, windows: Vec::new() };
    assert_eq!(page(&mut admin), Ok(empty));
    (1..=100).for_each(|window| drop(end_window(&mut admin, window)));
    let log = page(&mut admin).unwrap();
    assert_eq!(log.windows.len(), TRAFFIC_MAX);
    assert_eq!(log.windows.last(), Some(&traffic(100)));
    // Another life of the policy numbers windows anew; a policy without a coordinator has no page.
    admin.bench.subsystem.begin_traffic(Some(LENGTH));
    let log = page(&mut admin).unwrap();
    assert_eq!((log.generation, log.windows.len()), (2, 0));
    admin.bench.subsystem.begin_traffic(None);
    assert!(page(&mut admin).is_err());
}

#[test]
fn a_host_is_told_of_windows_once_it_has_read_the_page() {
    let mut admin = coordinated();
    assert!(request_event(&mut admin, 31).is_empty());
    assert!(end_window(&mut admin, 1).is_empty(), "it did not ask");
    page(&mut admin).unwrap();
    let told = completion(&end_window(&mut admin, 2));
    assert_eq!((told.cid, AsyncEvent::decode(told.dw0())), (31, AsyncEvent::TrafficLog));
    assert!(request_event(&mut admin, 32).is_empty());
    assert!(end_window(&mut admin, 3).is_empty(), "it knows");
    assert_eq!(page(&mut admin).unwrap().windows.len(), 3);
    // Events without a waiting request are reported with the next request.
    assert_eq!(completion(&end_window(&mut admin, 4)).cid, 32);
    page(&mut admin).unwrap();
    assert!(end_window(&mut admin, 5).is_empty());
    assert_eq!(completion(&request_event(&mut admin, 33)).cid, 33);
    // A reset forgets the request.
    page(&mut admin).unwrap();
    admin.configure(false);
    admin.configure(true);
    assert!(request_event(&mut admin, 34).is_empty());
    assert!(end_window(&mut admin, 6).is_empty());
}

#[test]
fn counts_follow_from_a_window_and_are_told_with_their_time() {
    let mut admin = coordinated();
    let feature = Feature::WindowCounts;
    assert_eq!(admin.set(feature, &counts(1, 0)), INVALID, "there was no window");
    (1..=3).for_each(|window| drop(end_window(&mut admin, window)));
    assert_eq!(admin.set(feature, &counts(1, 4)), INVALID, "it has not ended");
    assert_eq!(admin.set(feature, &counts(2, 3)), INVALID, "of another life");
    assert_eq!(admin.set(feature, &[0; COUNTS_BYTES]), INVALID, "no word");
    let short = StatusCode::SglLengthInvalid.for_good();
    assert_eq!(admin.set(feature, &counts(1, 3)[..32]), short);
    assert!(admin.bench.actions.is_empty() && page(&mut admin).unwrap().answered.is_none());

    admin.bench.now = Instant::ZERO + LENGTH * 3 + Duration::from_micros(120);
    assert_eq!(admin.set(feature, &counts(1, 3)), StatusField::SUCCESS);
    let set = WindowCounts { window: 3, reads: [9, 8, 7], writes: 6 };
    assert_eq!(admin.bench.actions, [Action::SetCounts(set)]);
    let answered = Answered { window: 3, after: Duration::from_micros(120) };
    assert_eq!(page(&mut admin).unwrap().answered, Some(answered));
    assert_eq!(admin.set(feature, &counts(1, 2)), INVALID, "those of before");
    let get = AdminCommand::GetFeatures(GetFeatures::current(FeatureId::WindowCounts, 0));
    let (pdus, status) = admin.ask(COUNTS_BYTES, get);
    assert_eq!(status, StatusField::SUCCESS);
    assert_eq!(data(&pdus), counts(1, 3));
    let save = AdminCommand::SetFeatures(SetFeatures { save: true, feature });
    let entry = super::host::admin(9, 0, in_capsule(COUNTS_BYTES), save);
    assert_eq!(admin.raw(entry, &counts(1, 3)).1, StatusCode::FeatureNotSaveable.for_good());
}

/// Another host with an enabled controller.
fn other(bench: &mut Bench) -> (usize, Host) {
    use super::host::connect;
    use nvme::wire::{Configuration, FabricsCommand, Property, PropertySet, PropertySize};
    let (socket, mut host) = bench.greet(nvme::wire::pdu::Digests::default(), 0);
    let (entry, data) = connect(0, (0, 31), (None, super::bench::NQN), 5000, 0);
    let bytes = host.command(entry, &data);
    controller(&bench.talk(socket, &mut host, &bytes));
    let enable = Configuration {
        enable: true,
        submission_entry: 6,
        completion_entry: 4,
        ..Configuration::default()
    };
    let (property, size) = (Property::Configuration, PropertySize::Four);
    let set = PropertySet { property, size, value: enable.encode().into() };
    let bytes = host.command(FabricsCommand::PropertySet(set).encode(9, transport(0)), &[]);
    bench.talk(socket, &mut host, &bytes);
    (socket, host)
}

#[test]
fn one_coordinator_at_a_time_sets_counts() {
    let mut first = coordinated();
    drop(end_window(&mut first, 1));
    assert_eq!(first.set(Feature::WindowCounts, &counts(1, 1)), StatusField::SUCCESS);
    let (socket, mut host) = other(&mut first.bench);
    let mut set = |bench: &mut Bench| {
        let command = SetFeatures { save: false, feature: Feature::WindowCounts };
        let pointer = in_capsule(COUNTS_BYTES);
        let entry = admin(9, 0, pointer, AdminCommand::SetFeatures(command));
        let bytes = host.command(entry, &counts(1, 1));
        completion(&bench.talk(socket, &mut host, &bytes)).status
    };
    assert_eq!(set(&mut first.bench), StatusCode::CommandSequence.for_good());
    assert_eq!(first.bench.actions.len(), 1);
    // Its counts remain, and another controller may set counts.
    first.configure(false);
    assert_eq!(set(&mut first.bench), StatusField::SUCCESS);
    first.configure(true);
    let refused = first.set(Feature::WindowCounts, &counts(1, 1));
    assert_eq!(refused, StatusCode::CommandSequence.for_good());
}
