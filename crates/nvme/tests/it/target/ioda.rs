//! IODA: the magic word, windows, events, and reads that fail fast (`docs/ioda-on-the-wire.md`).

use super::bench::{Bench, config, terms};
use super::controllers::Admin;
use super::host::{Host, admin, completion, data, io, transport};
use nvme::target::{Action, IoOperation, IoOutcome, IoRequest, SubsystemConfig, WindowOrder};
use nvme::wire::ioda::{ArraySettings, FastFail, IodaCapability};
use nvme::wire::pdu::Digests;
use nvme::wire::{
    AdminCommand, BlockCount, BlockRange, Cns, CompletionEntry, Feature, FeatureId, GetFeatures,
    GetLogPage, Identify, IdentifyController, IoCommand, LogPage, SetFeatures, StatusCode,
    StatusField, Transfer, WindowConfig, WindowLog, WindowState, window_event,
};
use nvme::{PlFlag, WindowScope};
use units::{Duration, Instant};

const SETTINGS: ArraySettings = ArraySettings {
    parities: 1,
    width: 4,
    slot: 2,
    scope: WindowScope::Collections,
    cycle_start: Instant::from_nanos(1_000_000),
    busy_time_window: Some(Duration::from_millis(50)),
    guard: Duration::from_micros(50),
};

fn word(settings: Option<ArraySettings>) -> WindowConfig {
    WindowConfig { events: window_event::ALL, ioda: settings, ..WindowConfig::default() }
}

fn set(admin: &mut Admin, settings: Option<ArraySettings>, enable: bool) -> StatusField {
    let feature = Feature::WindowConfig { nvm_set: 1, enable };
    admin.set(feature, &word(settings).encode())
}

fn log(admin: &mut Admin) -> WindowLog {
    let get = GetLogPage { specific: 1, ..GetLogPage::new(LogPage::Window, 512) };
    let (pdus, status) = admin.ask(512, AdminCommand::GetLogPage(get));
    assert_eq!(status, StatusField::SUCCESS);
    WindowLog::decode(&data(&pdus).try_into().unwrap())
}

fn read(bench: &mut Bench, socket: usize, host: &mut Host, pl: PlFlag) -> (CompletionEntry, usize) {
    let range = BlockRange { lba: 0, blocks: BlockCount::new(8).unwrap() };
    let transfer = Transfer { pl, ..Transfer::new(range) };
    let bytes = host.command(io(3, transport(4096), IoCommand::Read(transfer)), &[]);
    let pdus = bench.talk(socket, host, &bytes);
    (completion(&pdus), data(&pdus).len())
}

#[test]
fn reads_fail_fast_only_for_a_host_that_said_the_word() {
    let mut admin = Admin::enabled();
    let (socket, mut host) = admin.bench.queue(Digests::default(), 1, Some(admin.id));
    admin.bench.is_collecting = true;
    let flags = [PlFlag::Off, PlFlag::Predictable, PlFlag::Patient, PlFlag::Failed];
    let mut outcomes = |admin: &mut Admin| {
        flags.map(|pl| {
            let (end, bytes) = read(&mut admin.bench, socket, &mut host, pl);
            let is_failed = end.status == StatusField::FAILED_FAST;
            if is_failed {
                assert_eq!((end.status.bits(), end.dw0(), end.dw1(), bytes), (0x47c1, 3, 1500, 0));
                let busy_remaining = FastFail::decode(&end).unwrap().busy_remaining();
                assert_eq!(busy_remaining, Duration::from_micros(1500));
            } else {
                assert_eq!((end.status, end.result, bytes), (StatusField::SUCCESS, 0, 4096));
            }
            is_failed
        })
    };
    assert_eq!(outcomes(&mut admin), [false; 4], "an ordinary drive");
    assert_eq!(set(&mut admin, None, true), StatusField::SUCCESS);
    assert_eq!(outcomes(&mut admin), [false; 4], "predictable latency mode without IODA");
    assert_eq!(set(&mut admin, Some(SETTINGS), false), StatusField::SUCCESS);
    assert_eq!(outcomes(&mut admin), [false, true, true, false]);
    assert_eq!(set(&mut admin, None, false), StatusField::SUCCESS);
    assert_eq!(outcomes(&mut admin), [false; 4], "the word was taken back");
}

#[test]
fn a_flag_that_the_drive_does_not_know_is_no_flag() {
    let ioda = Some(IodaCapability { patient: false, all_work: false });
    let bench = Bench::with(SubsystemConfig { ioda, ..config() }, terms());
    let mut admin = Admin::enabled_in(bench);
    let (socket, mut host) = admin.bench.queue(Digests::default(), 1, Some(admin.id));
    assert_eq!(set(&mut admin, Some(SETTINGS), false), StatusField::SUCCESS);
    admin.bench.is_collecting = true;
    let failed = [PlFlag::Predictable, PlFlag::Patient].map(|pl| {
        read(&mut admin.bench, socket, &mut host, pl).0.status == StatusField::FAILED_FAST
    });
    assert_eq!(failed, [true, false]);
}

#[test]
fn a_drive_without_ioda_has_no_windows() {
    let bench = Bench::with(SubsystemConfig { ioda: None, ..config() }, terms());
    let mut admin = Admin::enabled_in(bench);
    let invalid_field = StatusCode::InvalidField.for_good();
    assert_eq!(set(&mut admin, Some(SETTINGS), true), invalid_field);
    for feature in [FeatureId::WindowConfig, FeatureId::Window] {
        let get = AdminCommand::GetFeatures(GetFeatures::current(feature, 1));
        assert_eq!(admin.ask(512, get).1, invalid_field);
    }
    let get = GetLogPage { specific: 1, ..GetLogPage::new(LogPage::Window, 512) };
    let (_, status) = admin.ask(512, AdminCommand::GetLogPage(get));
    assert_eq!(status, StatusCode::InvalidLogPage.for_good());
    let sets = AdminCommand::Identify(Identify::new(Cns::NvmSets));
    assert_eq!(admin.ask(4096, sets).1, invalid_field);
    let identify = AdminCommand::Identify(Identify::new(Cns::Controller));
    let (pdus, _) = admin.ask(4096, identify);
    let identity = IdentifyController::decode(&data(&pdus).try_into().unwrap());
    assert_eq!((identity.ioda, identity.support.attributes), (None, 1));
}

#[test]
fn a_drive_that_fails_a_read_fast_unasked_is_asked_again() {
    let request = IoRequest {
        operation: IoOperation::Flush,
        force_unit_access: false,
        pl: PlFlag::Off,
        bytes: 0,
    };
    let answer = request.answer(IoOutcome::FailedFast { busy_remaining: Duration::ZERO });
    assert_eq!((answer.status, answer.result), (StatusCode::Interrupted.for_now(), 0));
}

#[test]
fn a_reset_forgets_the_word_and_the_windows() {
    let mut admin = Admin::enabled();
    assert_eq!(set(&mut admin, Some(SETTINGS), true), StatusField::SUCCESS);
    assert!(log(&mut admin).ioda.is_some());
    let order = |config, enabled| Action::SetWindows(WindowOrder { config, enabled });
    assert_eq!(admin.bench.actions, [order(word(Some(SETTINGS)), true)]);
    admin.configure(false);
    let controller = admin.id;
    let actions = &admin.bench.actions[1..];
    assert_eq!(
        actions,
        [Action::CloseIoQueues { controller }, order(WindowConfig::default(), false)]
    );
    admin.configure(true);
    assert_eq!(log(&mut admin).ioda, None);
}

#[test]
fn a_host_learns_windows_and_clock_from_the_log() {
    let mut admin = Admin::enabled();
    let plain = log(&mut admin);
    assert_eq!((plain.state, plain.ioda), (WindowState::Off, None));
    assert_eq!(plain.drive_status(), None);
    set(&mut admin, Some(SETTINGS), true);
    let told = log(&mut admin);
    assert_eq!(told.state, WindowState::Deterministic);
    let report = told.ioda.unwrap();
    assert_eq!((report.array, report.slot), (SETTINGS.array(), SETTINGS.slot));
    assert_eq!((report.cycle_start, report.guard), (SETTINGS.cycle_start, SETTINGS.guard));
    assert_eq!(report.now, Instant::from_nanos(77_000_000), "the drive's clock");
    assert_eq!(report.advertised, admin.bench.report.advertised);
    assert_eq!(told.drive_status().unwrap().headroom_pages, 1234);

    let get = AdminCommand::GetFeatures(GetFeatures::current(FeatureId::WindowConfig, 1));
    let (pdus, _) = admin.ask(512, get);
    assert_eq!(completion(&pdus).dw0(), 1);
    let config = WindowConfig::decode(&data(&pdus).try_into().unwrap());
    assert_eq!(config, Ok(word(Some(SETTINGS))));
}

#[test]
fn settings_that_cannot_be_kept_change_nothing() {
    let mut admin = Admin::enabled();
    assert_eq!(set(&mut admin, Some(SETTINGS), true), StatusField::SUCCESS);
    let refused = [
        ArraySettings { scope: WindowScope::AllWork, ..SETTINGS },
        ArraySettings { busy_time_window: Some(Duration::from_millis(5)), ..SETTINGS },
        ArraySettings { parities: 4, ..SETTINGS },
        ArraySettings { slot: 4, ..SETTINGS },
    ];
    for settings in refused {
        let status = set(&mut admin, Some(settings), true);
        assert_eq!(status, StatusCode::InvalidField.for_good(), "{settings:?}");
    }
    let feature = Feature::WindowConfig { nvm_set: 1, enable: true };
    let save = AdminCommand::SetFeatures(SetFeatures { save: true, feature });
    let out = word(Some(SETTINGS)).encode();
    let entry = admin_in_capsule(save, out.len());
    assert_eq!(admin.raw(entry, &out).1, StatusCode::FeatureNotSaveable.for_good());
    let feature = Feature::WindowConfig { nvm_set: 2, enable: true };
    assert_eq!(admin.set(feature, &out), StatusCode::InvalidField.for_good(), "no such set");
    assert_eq!(admin.bench.actions.len(), 1);
    assert_eq!(log(&mut admin).ioda.unwrap().slot, SETTINGS.slot);
}

fn admin_in_capsule(command: AdminCommand, bytes: usize) -> nvme::wire::SubmissionEntry {
    admin(9, 0, super::host::in_capsule(bytes), command)
}

#[test]
fn windows_are_selected_by_hand_only_where_no_schedule_decides() {
    let mut admin = Admin::enabled();
    let select = |window| Feature::Window { nvm_set: 1, window };
    let busy = select(WindowState::NonDeterministic);
    let sequence = StatusCode::CommandSequence.for_good();
    assert_eq!(admin.set(busy, &[]), sequence, "there are no windows");
    set(&mut admin, None, true);
    assert_eq!(admin.set(busy, &[]), StatusField::SUCCESS);
    assert_eq!(
        admin.bench.actions.last(),
        Some(&Action::SelectWindow(WindowState::NonDeterministic))
    );
    assert_eq!(admin.set(select(WindowState::Off), &[]), StatusCode::InvalidField.for_good());
    set(&mut admin, Some(SETTINGS), true);
    assert_eq!(admin.set(busy, &[]), sequence, "the schedule decides");
}

#[test]
fn a_collection_outside_of_the_window_is_told_once_until_it_is_read() {
    let mut admin = Admin::enabled();
    set(&mut admin, Some(SETTINGS), true);
    let request = |admin: &mut Admin, cid| {
        let entry = super::host::admin(cid, 0, transport(0), AdminCommand::AsyncEventRequest);
        let bytes = admin.host.command(entry, &[]);
        admin.bench.talk(0, &mut admin.host, &bytes)
    };
    let happen = |admin: &mut Admin| {
        admin.bench.subsystem.handle_window_events(window_event::LEFT_EXCURSION);
        admin.bench.pump();
        let bytes = admin.bench.take(0);
        admin.host.read(&bytes)
    };
    assert!(request(&mut admin, 31).is_empty());
    assert!(happen(&mut admin).is_empty(), "nobody wants to know");
    // Wanting to know what has happened is soon enough.
    let entry = super::host::admin(
        9,
        0,
        transport(0),
        AdminCommand::SetFeatures(SetFeatures {
            save: false,
            feature: Feature::AsyncEvents(0x1900),
        }),
    );
    let bytes = admin.host.command(entry, &[]);
    let pdus = admin.bench.talk(0, &mut admin.host, &bytes);
    let told =
        pdus.iter().map(|pdu| completion(std::slice::from_ref(pdu))).find(|end| end.cid == 31);
    assert_eq!(told.unwrap().dw0(), 0x000b_0402);
    assert!(request(&mut admin, 32).is_empty());
    assert!(happen(&mut admin).is_empty(), "it knows");

    let aggregate = |admin: &mut Admin| {
        let get = GetLogPage::new(LogPage::WindowAggregate, 12);
        let (pdus, _) = admin.ask(12, AdminCommand::GetLogPage(get));
        let sets: Vec<u16> = nvme::wire::aggregate_sets(&data(&pdus)).unwrap().collect();
        sets
    };
    assert_eq!(aggregate(&mut admin), [1]);
    assert_eq!(log(&mut admin).events, window_event::LEFT_EXCURSION);
    assert_eq!(log(&mut admin).events, 0, "it was read");
    assert!(aggregate(&mut admin).is_empty());
    let pdus = happen(&mut admin);
    assert_eq!((completion(&pdus).cid, completion(&pdus).dw0()), (32, 0x000b_0402));
}

#[test]
fn events_stay_until_they_are_read_for_good() {
    let mut admin = Admin::enabled();
    let wanted = WindowConfig { events: window_event::TIME_WARNING, ..word(Some(SETTINGS)) };
    let feature = Feature::WindowConfig { nvm_set: 1, enable: true };
    assert_eq!(admin.set(feature, &wanted.encode()), StatusField::SUCCESS);
    admin.bench.subsystem.handle_window_events(window_event::LEFT_EXCURSION);
    assert_eq!(log(&mut admin).events, 0, "nobody wanted to know of that");
    admin.bench.subsystem.handle_window_events(window_event::ALL);
    let get =
        GetLogPage { specific: 1, retain_event: true, ..GetLogPage::new(LogPage::Window, 512) };
    for _ in 0..2 {
        let (pdus, _) = admin.ask(512, AdminCommand::GetLogPage(get));
        let page = WindowLog::decode(&data(&pdus).try_into().unwrap());
        assert_eq!(page.events, window_event::TIME_WARNING);
    }
    assert_eq!(log(&mut admin).events, window_event::TIME_WARNING);
    assert_eq!(log(&mut admin).events, 0);
    let unknown = WindowConfig { events: 1 << 5, ..wanted };
    assert_eq!(admin.set(feature, &unknown.encode()), StatusCode::InvalidField.for_good());
}

#[test]
fn windows_end_with_the_host_that_set_them() {
    let over = Action::SetWindows(WindowOrder { config: WindowConfig::default(), enabled: false });
    let mut admin = Admin::enabled();
    set(&mut admin, Some(SETTINGS), true);
    admin.bench.sockets[0].connection.close();
    admin.bench.pump();
    assert_eq!(admin.bench.actions.last(), Some(&over), "its connection is gone");

    let mut admin = Admin::enabled();
    set(&mut admin, Some(SETTINGS), true);
    let deadline = admin.bench.subsystem.next_deadline().unwrap();
    admin.bench.subsystem.handle_deadline(deadline);
    admin.bench.pump();
    assert_eq!(admin.bench.actions.last(), Some(&over), "it was silent for too long");

    let mut admin = Admin::enabled();
    set(&mut admin, None, true);
    let before = admin.bench.actions.len();
    admin.configure(false);
    let controller = admin.id;
    assert_eq!(admin.bench.actions[before..], [Action::CloseIoQueues { controller }]);
}
