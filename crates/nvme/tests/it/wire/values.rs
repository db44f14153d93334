//! Values that are not tables of fields: text, lists, pages read in parts, and refused settings.

use super::structures::{record, report, settings};
use nvme::wire::ioda::{ArraySettings, FastFail, SettingsError, WindowReport};
use nvme::wire::{
    AggregateEntry, Ascii, CONNECT_BYTES, ConnectData, ConnectRefusal, DISCOVERY_BYTES,
    DiscoveryHeader, DiscoveryRecord, Excerpt, IDENTIFY_BYTES, NAMESPACES_MAX, NamespaceIds,
    NamespaceList, Nqn, StatusField, WindowConfig, aggregate_sets, put_aggregate, put_discovery,
};
use nvme::{ArrayDescription, WindowSchedule, WindowScope};
use units::{Duration, Instant, Rng};

#[test]
fn names_are_names_or_nothing() {
    let longest = format!("nqn.{}", "x".repeat(219));
    for name in ["nqn.", Nqn::DISCOVERY, "nqn.2026-01.org.example:ä", &longest] {
        let nqn = Nqn::new(name).unwrap();
        assert_eq!(nqn.as_str(), name);
        assert_eq!(Nqn::decode(&nqn.encode()), Some(nqn));
        assert_eq!(format!("{nqn}"), name);
        assert_eq!(format!("{nqn:?}"), format!("{name:?}"));
    }
    let longer = format!("{longest}x");
    for text in ["", "nqn", "NQN.x", "iqn.x", "nqn.\n", "nqn.\0", "nqn.\u{85}", &longer] {
        assert_eq!(Nqn::new(text), None, "{text:?}");
    }
    // A field without a zero byte, and a field that is not UTF-8.
    let mut field = [b'x'; 256];
    field[..4].copy_from_slice(b"nqn.");
    assert_eq!(Nqn::decode(&field), None);
    field[100] = 0;
    assert!(Nqn::decode(&field).is_some());
    field[50] = 0xff;
    assert_eq!(Nqn::decode(&field), None);
}

#[test]
fn text_is_printable_and_padded() {
    let text = Ascii::<8>::new("ab c").unwrap();
    assert_eq!(&text.encode(), b"ab c    ");
    assert_eq!(text.as_str(), "ab c");
    assert_eq!(format!("{text:?}"), "\"ab c\"");
    assert_eq!(Ascii::<8>::decode(b"ab c\0\0\0\0"), text);
    assert_eq!(Ascii::<8>::decode(b"a\xffb\x1b[1m\0").as_str(), "a?b?[1m");
    assert_eq!(Ascii::<4>::new("12345"), None);
    assert_eq!(Ascii::<4>::new("1\n"), None);
}

#[test]
fn a_connect_with_a_bad_name_is_told_where() {
    let good = ConnectData {
        host_id: [1; 16],
        controller: 0xffff,
        subsystem: Nqn::new(Nqn::DISCOVERY).unwrap(),
        host: Nqn::new("nqn.host").unwrap(),
    };
    let refused = |at: usize| {
        let mut data: [u8; CONNECT_BYTES] = good.encode();
        data[at] = b'x';
        let refusal = ConnectData::decode(&data).unwrap_err();
        let (status, dw0) = refusal.encode();
        assert_eq!(ConnectRefusal::decode(status, dw0), Some(refusal));
        (status.bits(), dw0)
    };
    assert_eq!(refused(256), (0x4182, 0x1_0100));
    assert_eq!(refused(512), (0x4182, 0x1_0200));
    assert_eq!(ConnectRefusal::NO_SUBSYSTEM.encode().1, 0x1_0100);
    let encoded = |refusal: ConnectRefusal| (refusal.encode().0.bits(), refusal.encode().1);
    assert_eq!(encoded(ConnectRefusal::InvalidHost), (0x4184, 0x1_0200));
    assert_eq!(encoded(ConnectRefusal::Format), (0x4180, 0));
    assert_eq!(encoded(ConnectRefusal::Busy), (0x0181, 0));
    for refusal in [ConnectRefusal::InvalidHost, ConnectRefusal::Format, ConnectRefusal::Busy] {
        let (status, dw0) = refusal.encode();
        assert_eq!(ConnectRefusal::decode(status, dw0), Some(refusal));
    }
    assert_eq!(ConnectRefusal::decode(StatusField::SUCCESS, 0), None);
}

#[test]
fn namespace_lists_begin_behind_the_last_one_seen() {
    let list = NamespaceList::new(1, [1, 2, 9]);
    assert_eq!(list.ids(), [2, 9]);
    assert_eq!(list.encode()[..12], [2, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0]);
    let full = NamespaceList::new(0, 1..=5000);
    assert_eq!(full.ids().len(), NAMESPACES_MAX);
    for list in [NamespaceList::new(0, []), list, full] {
        assert_eq!(NamespaceList::decode(&list.encode()), list);
    }
    for seed in testing::seeds(0..200) {
        let mut rng = Rng::new(seed);
        let ids = (0..rng.below(2_000)).map(|_| rng.next_u64() as u32 | 1).collect::<Vec<_>>();
        let list = NamespaceList::new(0, ids.iter().copied());
        assert_eq!(list.ids(), &ids[..ids.len().min(NAMESPACES_MAX)]);
        assert_eq!(NamespaceList::decode(&list.encode()), list);
    }
}

#[test]
fn names_of_namespaces_are_read_in_any_order_and_never_past_the_end() {
    let ids = NamespaceIds {
        eui64: Some(*b"01234567"),
        nguid: Some(*b"0123456789abcdef"),
        uuid: Some(*b"fedcba9876543210"),
        command_set: Some(0),
    };
    for bits in 0..16_u8 {
        let some = NamespaceIds {
            eui64: ids.eui64.filter(|_| bits & 1 > 0),
            nguid: ids.nguid.filter(|_| bits & 2 > 0),
            uuid: ids.uuid.filter(|_| bits & 4 > 0),
            command_set: ids.command_set.filter(|_| bits & 8 > 0),
        };
        assert_eq!(NamespaceIds::decode(&some.encode()), Some(some));
    }
    insta::assert_snapshot!("namespace-ids", hex(&ids.encode()[..64]));
    let read = |bytes: &[u8]| {
        let mut data = [0; IDENTIFY_BYTES];
        data[..bytes.len()].copy_from_slice(bytes);
        NamespaceIds::decode(&data)
    };
    // An unknown type, then the command set.
    let found = read(&[9, 2, 0, 0, 1, 1, 4, 1, 0, 0, 5]).unwrap();
    assert_eq!(found, NamespaceIds { command_set: Some(5), ..NamespaceIds::default() });
    assert_eq!(read(&[1, 7, 0, 0]), None, "a length that is not that of the type");
    let mut full = [255_u8; IDENTIFY_BYTES];
    assert_eq!(NamespaceIds::decode(&full), None, "past the end");
    // Filled to the last bytes, which are too few for another name.
    for chunk in full.chunks_mut(16) {
        chunk.copy_from_slice(&[9, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    }
    assert_eq!(NamespaceIds::decode(&full), Some(NamespaceIds::default()));
}

#[test]
fn the_examples_of_the_document_are_what_is_written() {
    let page = include_str!("../../../../../docs/ioda-on-the-wire.md");
    let config = WindowConfig { ioda: Some(settings()), ..WindowConfig::default() };
    let failed = FastFail::new(Duration::from_micros(1_500)).encode(9);
    let mut found = 0;
    for line in page.lines().filter_map(|line| line.strip_prefix("    ")) {
        let mut words = line.split_whitespace();
        let Some(at) = words.next().and_then(|word| word.parse().ok()) else { continue };
        let bytes = words.map(|word| u8::from_str_radix(word, 16)).collect::<Result<Vec<_>, _>>();
        let Ok(bytes) = bytes else { continue };
        let (config, failed) = (config.encode(), failed.encode());
        let written: &[u8] = if at == 0 { &failed } else { &config[at..] };
        assert_eq!(written[..bytes.len()], bytes, "{line}");
        found += bytes.len();
    }
    assert_eq!(found, 64);
}

pub(super) fn hex(bytes: &[u8]) -> String {
    let lines = bytes.chunks(16).enumerate().map(|(line, bytes)| {
        let bytes: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{:>4}  {}", 16 * line, bytes.join(" "))
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_discovery_log_in_parts_is_the_whole() {
    let records: Vec<_> = (0..5).map(|port| DiscoveryRecord { port, ..record() }).collect();
    let part = |offset: u64, bytes: usize| {
        let mut part = vec![0xee; bytes];
        put_discovery(7, records.iter().copied(), &mut Excerpt::new(offset, &mut part));
        part
    };
    let whole = part(0, 6 * DISCOVERY_BYTES);
    let (pages, rest) = whole.as_chunks::<DISCOVERY_BYTES>();
    assert!(rest.is_empty());
    let head = DiscoveryHeader::decode(&pages[0]);
    assert_eq!(head, DiscoveryHeader { generation: 7, records: 5, format: 0 });
    let read: Vec<_> = pages[1..].iter().map(DiscoveryRecord::decode).collect();
    assert_eq!(read, records);
    for seed in testing::seeds(0..300) {
        let mut rng = Rng::new(seed);
        let start = rng.below(whole.len() as u64 + 1) as usize;
        let end = start + rng.below((whole.len() - start) as u64 + 1) as usize;
        assert_eq!(part(start as u64, end - start), whole[start..end], "{start}..{end}");
    }
    assert_eq!(part(whole.len() as u64, 16), [0; 16], "behind the end are zeroes");
}

#[test]
fn an_aggregate_log_in_parts_is_the_whole() {
    let sets: Vec<AggregateEntry> = (1..=3000).collect();
    let part = |offset: u64, bytes: usize| {
        let mut part = vec![0xee; bytes];
        put_aggregate(sets.iter().copied(), &mut Excerpt::new(offset, &mut part));
        part
    };
    let whole = part(0, 8 + 2 * 3000);
    assert_eq!(whole[..12], [0xb8, 0x0b, 0, 0, 0, 0, 0, 0, 1, 0, 2, 0]);
    assert_eq!(aggregate_sets(&whole).unwrap().collect::<Vec<_>>(), sets);
    let page = part(0, 4096);
    assert_eq!(aggregate_sets(&page).unwrap().collect::<Vec<_>>(), sets[..2044]);
    assert_eq!(part(4096, 1912), whole[4096..]);
    assert!(aggregate_sets(&whole[..7]).is_none());
    // A wrong count reads no more entries than there are.
    assert_eq!(aggregate_sets(&[0xff; 12]).unwrap().count(), 2);
}

/// Settings with some bytes changed, at offsets of the data of feature 13h.
fn refused(changes: &[(usize, u8)]) -> Result<WindowConfig, SettingsError> {
    let config = WindowConfig { ioda: Some(settings()), ..WindowConfig::default() };
    let mut data = config.encode();
    for &(at, byte) in changes {
        data[at] = byte;
    }
    WindowConfig::decode(&data)
}

#[test]
fn settings_that_cannot_be_followed_are_refused() {
    assert!(refused(&[]).is_ok());
    assert_eq!(refused(&[(56, b'i')]).unwrap().ioda, None, "not the magic word");
    assert_eq!(refused(&[(60, 2)]), Err(SettingsError::Version(2)));
    assert_eq!(refused(&[(60, 0)]), Err(SettingsError::Version(0)));
    assert_eq!(refused(&[(63, 3)]), Err(SettingsError::Flags(3)));
    assert_eq!(refused(&[(62, 6)]), Err(SettingsError::Parities(6)));
    assert_eq!(refused(&[(64, 0)]), Err(SettingsError::Parities(2)), "no drives at all");
    assert_eq!(refused(&[(62, 0), (64, 0)]), Err(SettingsError::Parities(0)));
    assert_eq!(refused(&[(66, 6)]), Err(SettingsError::Slot(6)));
    let guard = Duration::from_nanos(0xff00_0000_0000_c350);
    assert_eq!(refused(&[(95, 0xff)]), Err(SettingsError::Guard(guard)));
    let sentences = [
        SettingsError::Version(2),
        SettingsError::Flags(3),
        SettingsError::Parities(6),
        SettingsError::Slot(6),
        SettingsError::Guard(Duration::from_millis(50)),
    ];
    let text: Vec<_> = sentences.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!("refused-settings", text.join("\n"));
    // If the drive chooses the window, it checks itself that the window is longer than the guards.
    let window: Vec<_> = (80..88).map(|at| (at, 0)).collect();
    let config = refused(&window).unwrap();
    assert_eq!(config.ioda.unwrap().busy_time_window, None);
}

#[test]
fn a_schedule_survives_the_wire() {
    let mut said = 0;
    for seed in testing::seeds(0..2_000) {
        let mut rng = Rng::new(seed);
        let width = 1 + rng.below(70_000) as u32;
        let first = WindowSchedule {
            array: ArrayDescription { width, parities: rng.below(300) as u32 },
            busy_time_window: Duration::from_nanos(1 + rng.below(1 << 40)),
            cycle_start: Instant::from_nanos(rng.below(1 << 60)),
            not_before: Instant::ZERO,
            guard: Duration::from_nanos(rng.below(1 << 38)),
        };
        let turns = rng.below(u64::from(width));
        let not_before = first.cycle_start;
        let cycle_start = not_before + first.turn() * turns;
        let schedule = WindowSchedule { cycle_start, not_before, ..first };
        let scope = [WindowScope::Collections, WindowScope::AllWork][(seed % 2) as usize];
        let fits = width <= 65_535
            && schedule.array.parities <= 255
            && schedule.array.parities < width
            && schedule.guard * 2 < schedule.busy_time_window;
        let settings = ArraySettings::of(&schedule, scope);
        assert_eq!(settings.is_some(), fits, "{schedule:?}");
        let Some(settings) = settings else { continue };
        said += 1;
        let read = ArraySettings::decode(&settings.encode()).unwrap().unwrap();
        assert_eq!(read, settings);
        assert_eq!(read.scope, scope);
        assert_eq!(read.schedule(read.busy_time_window.unwrap()), schedule);
        // No slot lies between two turns.
        let crooked =
            WindowSchedule { cycle_start: cycle_start + Duration::from_nanos(1), ..schedule };
        if schedule.turn() > Duration::from_nanos(1) {
            assert_eq!(ArraySettings::of(&crooked, scope), None);
        }
    }
    assert!(testing::is_repeat() || said > 300, "{said}");
}

#[test]
fn a_report_of_another_version_is_none() {
    let report = report();
    let mut block = report.encode();
    assert_eq!(WindowReport::decode(&block), Some(report));
    let bounded =
        nvme::Advertised { longest: Some(Duration::from_millis(700)), ..report.advertised };
    let bounded = WindowReport { advertised: bounded, ..report };
    assert_eq!(WindowReport::decode(&bounded.encode()), Some(bounded));
    block[4] = 2;
    assert_eq!(WindowReport::decode(&block), None);
    assert_eq!(WindowReport::decode(&[0; 64]), None);
    let huge = ArrayDescription { width: 70_000, parities: 1 };
    let read = WindowReport::decode(&WindowReport { array: huge, ..report }.encode()).unwrap();
    assert_eq!(read.array.width, 65_535, "not 4464");
}
