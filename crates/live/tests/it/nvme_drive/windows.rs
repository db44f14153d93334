//! Predictable latency mode: the magic word, the flag, windows by a schedule and by hand, events.

use super::host::{Answered, BLOCK, Host, Queue, in_capsule, io, range, read, write};
use super::served::{Plan, Served};
use nvme::PlFlag;
use nvme::WindowScope;
use nvme::wire::ioda::{ArraySettings, FastFail};
use nvme::wire::{
    AdminCommand, AsyncEvent, CommonFields, Feature, FeatureId, GetFeatures, GetLogPage, IoCommand,
    LogPage, SetFeatures, SglDescriptor, StatusCode, Transfer, WINDOW_LOG_BYTES, WindowConfig,
    WindowLog, WindowState, aggregate_sets, notice, window_event,
};
use std::time::Instant as Wall;
use units::{Duration, Instant, Rng};

fn settings() -> ArraySettings {
    ArraySettings {
        parities: 1,
        width: 4,
        slot: 0,
        scope: WindowScope::Collections,
        cycle_start: Instant::ZERO,
        busy_time_window: Some(Duration::from_millis(200)),
        guard: Duration::from_micros(50),
    }
}

fn set(host: &mut Host, config: WindowConfig, enable: bool) -> Answered {
    let feature = Feature::WindowConfig { nvm_set: 1, enable };
    let command = AdminCommand::SetFeatures(SetFeatures { save: false, feature });
    host.admin.admin_with(command, &config.encode())
}

fn say(host: &mut Host, ioda: Option<ArraySettings>, enable: bool) {
    let answered = set(host, WindowConfig { ioda, ..WindowConfig::default() }, enable);
    assert!(answered.entry.status.is_success(), "{:?}", answered.entry);
}

fn log(host: &mut Host) -> WindowLog {
    let page = GetLogPage { specific: 1, ..GetLogPage::new(LogPage::Window, 512) };
    let data = host.admin.log(page, WINDOW_LOG_BYTES);
    WindowLog::decode(data.first_chunk().unwrap())
}

fn select(host: &mut Host, window: WindowState) -> Option<StatusCode> {
    let feature = Feature::Window { nvm_set: 1, window };
    let command = AdminCommand::SetFeatures(SetFeatures { save: false, feature });
    host.admin.admin(0, command, 0).entry.status.code()
}

fn flagged_read(queue: &mut Queue, lba: u64, pl: PlFlag) -> u16 {
    let transfer = Transfer { pl, ..Transfer::new(range(lba, 1)) };
    let data = SglDescriptor::Transport { bytes: BLOCK as u32 };
    queue.send(io(data, IoCommand::Read(transfer)), &[])
}

/// What a block holds that was written so many times.
fn content(lba: u64, version: u8) -> [u8; BLOCK] {
    let mut block = [version; BLOCK];
    block[..8].copy_from_slice(&lba.to_le_bytes());
    block
}

/// Writes blocks without end, many at a time, so that the drive collects.
fn keep_writing(mut queue: Queue, blocks: u64, stop: &std::sync::atomic::AtomicBool) -> u64 {
    let mut rng = Rng::stream(11, "writer");
    let mut writes = 0;
    let mut begin = |queue: &mut Queue| {
        // The upper half is the writer's.
        let lba = blocks / 2 + rng.below(blocks / 2);
        let command = IoCommand::Write(Transfer::new(range(lba, 1)));
        queue.send(io(in_capsule(BLOCK), command), &content(lba, 1));
    };
    (0..32).for_each(|_| begin(&mut queue));
    while !stop.load(std::sync::atomic::Ordering::Relaxed) {
        let (_, answered) = queue.wait_any();
        assert!(answered.entry.status.is_success(), "{:?}", answered.entry);
        begin(&mut queue);
        writes += 1;
    }
    (0..32).for_each(|_| assert!(queue.wait_any().1.entry.status.is_success()));
    writes
}

#[test]
fn only_reads_with_the_flag_fail_fast_and_all_others_bring_what_was_written() {
    let served = Served::start(Plan::aged());
    let mut host = served.attach();
    let blocks = served.head.bytes >> 12;
    for lba in 0..64 {
        write(&mut host.io, lba, &content(lba, 3));
    }
    let writer = host.queue(served.address, &served.terms(), 2);
    say(&mut host, Some(settings()), false);
    let stop = std::sync::atomic::AtomicBool::new(false);
    let (mut failed, mut served_flagged) = (0, 0);
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| keep_writing(writer, blocks, &stop));
        let mut rng = Rng::stream(5, "reader");
        for number in 0..200_000 {
            // The drive collects when it must: that is waited for.
            if number >= 10_000 && failed >= 50 {
                break;
            }
            let lba = rng.below(64);
            let pl = [PlFlag::Off, PlFlag::Predictable, PlFlag::Patient][number % 3];
            let cid = flagged_read(&mut host.io, lba, pl);
            let answered = host.io.wait(cid);
            if let Some(fast) = FastFail::decode(&answered.entry) {
                assert_ne!(pl, PlFlag::Off, "a read without the flag failed fast");
                assert!(answered.data.is_empty() && fast.busy_remaining_us < 1_000_000);
                failed += 1;
            } else {
                assert!(answered.entry.status.is_success(), "{:?}", answered.entry);
                assert_eq!((answered.entry.result, &answered.data[..]), (0, &content(lba, 3)[..]));
                served_flagged += u32::from(pl != PlFlag::Off);
            }
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(writing.join().unwrap() > 100);
    });
    assert!(failed >= 50 && served_flagged > 50, "{failed} failed, {served_flagged} served");
    let model = served.stop().model.unwrap();
    assert!(model.counters().collections > 0);
    assert_eq!(model.counters().fail_fasts, failed);
    model.check_invariants();
}

#[test]
fn without_the_word_the_flag_means_nothing() {
    let served = Served::start(Plan::aged());
    let mut host = served.attach();
    let blocks = served.head.bytes >> 12;
    let writer = host.queue(served.address, &served.terms(), 2);
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| keep_writing(writer, blocks, &stop));
        for lba in 0..2000 {
            let cid = flagged_read(&mut host.io, lba % 64, PlFlag::Predictable);
            let answered = host.io.wait(cid);
            assert!(answered.entry.status.is_success() && answered.entry.result == 0);
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        writing.join().unwrap();
    });
    assert_eq!(log(&mut host).ioda, None);
    let model = served.stop().model.unwrap();
    assert!(model.counters().collections > 0 && model.counters().fail_fasts == 0);
}

#[test]
fn the_schedule_of_an_array_is_kept_and_told() {
    let served = Served::start(Plan::aged());
    let mut host = served.attach();
    assert_eq!(log(&mut host).state, WindowState::Off);
    say(&mut host, Some(settings()), false);
    let told = log(&mut host);
    let report = told.ioda.unwrap();
    assert_eq!((told.state, report.slot, report.array.width), (WindowState::Off, 0, 4));
    assert!(report.advertised.shortest > Duration::ZERO);
    say(&mut host, Some(ArraySettings { cycle_start: report.now, ..settings() }), true);
    let (mut seen, begin) = ([0; 2], Wall::now());
    while begin.elapsed().as_millis() < 1800 {
        let told = log(&mut host);
        let report = told.ioda.unwrap();
        assert_eq!(report.busy_time_window, Duration::from_millis(200));
        let into = report.now.since(report.cycle_start).as_nanos() / 1_000_000 % 800;
        let expected = match into {
            0..200 => WindowState::NonDeterministic,
            _ => WindowState::Deterministic,
        };
        assert_eq!(told.state, expected, "{into} ms into the cycle");
        let left = if into < 200 { 0 } else { 800 - into };
        assert!(told.estimates.time_ms.abs_diff(left) <= 1, "{told:?} {into}");
        seen[usize::from(into < 200)] += 1;
        std::thread::sleep(std::time::Duration::from_millis(3));
    }
    assert!(seen[0] > 20 && seen[1] > 20, "{seen:?}");
    let refused = Some(StatusCode::CommandSequence);
    assert_eq!(select(&mut host, WindowState::Deterministic), refused);
    // A window that is too short for one collection is refused, and nothing changes.
    let short = ArraySettings { busy_time_window: Some(Duration::from_micros(200)), ..settings() };
    let config = WindowConfig { ioda: Some(short), ..WindowConfig::default() };
    let answered = set(&mut host, config, true);
    assert_eq!(answered.entry.status.code(), Some(StatusCode::InvalidField));
    assert_eq!(log(&mut host).ioda.unwrap().busy_time_window, Duration::from_millis(200));
    // The drive chooses where the host does not.
    say(&mut host, Some(ArraySettings { busy_time_window: None, ..settings() }), true);
    let report = log(&mut host).ioda.unwrap();
    assert!(report.busy_time_window >= report.advertised.shortest);
    assert!(report.advertised.longest.is_none_or(|most| report.busy_time_window <= most));
}

#[test]
fn a_host_chooses_windows_by_hand_and_hears_when_the_drive_leaves_one() {
    let served = Served::start(Plan::aged());
    let mut host = served.attach();
    let blocks = served.head.bytes >> 12;
    assert_eq!(select(&mut host, WindowState::Deterministic), Some(StatusCode::CommandSequence));
    let wanted = Feature::AsyncEvents(notice::WINDOW_AGGREGATE);
    let command = AdminCommand::SetFeatures(SetFeatures { save: false, feature: wanted });
    assert!(host.admin.admin(0, command, 0).entry.status.is_success());
    let none = SglDescriptor::Transport { bytes: 0 };
    let request = AdminCommand::AsyncEventRequest;
    let request = request.encode(CommonFields { cid: 0, nsid: 0, data: none });
    let event = host.admin.send(request, &[]);
    let config = WindowConfig { events: window_event::ALL, ..WindowConfig::default() };
    assert!(set(&mut host, config, true).entry.status.is_success());
    assert_eq!(log(&mut host).state, WindowState::NonDeterministic);
    assert_eq!(select(&mut host, WindowState::Deterministic), Some(StatusCode::Success));
    let before = log(&mut host);
    assert_eq!(before.state, WindowState::Deterministic);
    assert!(before.estimates.writes > 0 && before.typicals.writes > 0, "{before:?}");
    let get = GetFeatures::current(FeatureId::Window, 1);
    assert_eq!(host.admin.feature(get, 0).0, 1);
    // More than the window holds is written: the drive leaves it by itself, and says so.
    let mut rng = Rng::stream(2, "writes");
    let mut written = 0;
    while log_state(&mut host) == WindowState::Deterministic {
        for _ in 0..512 {
            let lba = rng.below(blocks);
            write(&mut host.io, lba, &content(lba, 2));
        }
        written += 512;
        assert!(written < 10 * before.typicals.writes, "{before:?}");
    }
    let answered = host.admin.wait(event);
    assert_eq!(AsyncEvent::decode(answered.entry.dw0()), AsyncEvent::WindowAggregate);
    let get = GetLogPage::new(LogPage::WindowAggregate, 12);
    let page = host.admin.log(GetLogPage { retain_event: true, ..get }, 12);
    assert_eq!(aggregate_sets(&page).unwrap().collect::<Vec<_>>(), [1]);
    let after = log(&mut host);
    assert_eq!(after.state, WindowState::NonDeterministic);
    let left = window_event::LEFT_EXCEEDED | window_event::LEFT_EXCURSION;
    assert_ne!(after.events & left, 0, "{after:?}");
    assert_eq!(log(&mut host).events, 0, "the log was read");
    assert_eq!(read(&mut host.io, 0, 1).len(), BLOCK);
}

fn log_state(host: &mut Host) -> WindowState {
    let get = GetFeatures::current(FeatureId::Window, 1);
    match host.admin.feature(get, 0).0 {
        1 => WindowState::Deterministic,
        2 => WindowState::NonDeterministic,
        other => panic!("{other}"),
    }
}
