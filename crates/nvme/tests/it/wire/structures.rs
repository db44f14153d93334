//! The data of admin commands and of Connect, field by field.

use super::layout::Layout;
use nvme::wire::ioda::{ArraySettings, CollectionActivity, IodaCapability, WindowReport};
use nvme::wire::{
    AddressFamily, Ascii, Capabilities, CommandEffects, Configuration, ConnectData, Connected,
    ControllerIdentity, ControllerKind, ControllerLimits, ControllerStatus, ControllerSupport,
    DiscoveryHeader, DiscoveryRecord, ErrorEntry, Estimates, FabricsLimits, FirmwareSlots,
    HealthCounters, HealthLog, IdentifyController, IdentifyNamespace, LbaFormat, NamespaceOptimum,
    NamespaceOwner, Nqn, NvmSet, NvmSetList, QueueCounts, ShutdownNotice, ShutdownState,
    StatusCode, SubsystemKind, ThermalCounters, Timestamp, TimestampOrigin, Transport, Version,
    WindowConfig, WindowLog, WindowState, WindowTypicals, ctratt, effect, oncs, sgls,
};
use nvme::{Advertised, ArrayDescription, WindowScope};
use units::{Duration, Instant};

fn nqn(name: &str) -> Nqn {
    Nqn::new(name).unwrap()
}

pub(super) fn settings() -> ArraySettings {
    ArraySettings {
        parities: 2,
        width: 6,
        slot: 3,
        scope: WindowScope::AllWork,
        cycle_start: Instant::from_nanos(0x0102_0304_0506_0708),
        busy_time_window: Some(Duration::from_millis(100)),
        guard: Duration::from_micros(50),
    }
}

pub(super) fn report() -> WindowReport {
    WindowReport {
        array: ArrayDescription { width: 6, parities: 2 },
        slot: 3,
        scope: WindowScope::AllWork,
        busy_time_window: Duration::from_millis(100),
        cycle_start: Instant::from_nanos(0x0102_0304_0506_0708),
        guard: Duration::from_micros(50),
        now: Instant::from_nanos(0x0102_0304_0000_0000),
        advertised: Advertised { shortest: Duration::from_millis(12), longest: None },
        activity: CollectionActivity { due: true, must_collect: false, collecting: true },
    }
}

const CAPABILITY: &str = "
    3072 4 magic =41444f49
    +    2 version =1
    3080 4 abilities &3";

const SETTINGS: &str = "
    56 4 magic =41444f49
    +  2 version =1
    +  1 k =2
    +  1 flags &01
    +  2 N =6
    +  2 i =3
    72 8 t
    +  8 TW =5f5e100
    +  8 guard =c350";

const REPORT: &str = "
    152 4 magic =41444f49
    +   2 version =1
    +   2 k
    +   2 N
    +   2 i
    +   4 flags &701
    +   8 TW
    +   8 t
    +   8 guard
    +   8 now
    +   8 shortest
    +   8 longest";

#[test]
fn connect_data() {
    let table = "
        0   16  HOSTID
        +   2   CNTLID
        256 256 SUBNQN text
        512 256 HOSTNQN text";
    let layout = Layout::new(1024, table);
    let example = ConnectData {
        host_id: *b"0123456789abcdef",
        controller: nvme::wire::CNTLID_DYNAMIC,
        subsystem: nqn(Nqn::DISCOVERY),
        host: nqn("nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555"),
    };
    let long = nqn(&format!("nqn.{}", "x".repeat(219)));
    layout.check(
        |bytes| ConnectData::decode(bytes).ok(),
        ConnectData::encode,
        &[example, ConnectData { host: long, ..example }],
    );
    let text = layout.dump(&example.encode()).replace("\\0", "");
    insta::assert_snapshot!("connect-data", text);
}

#[test]
fn identify_controller() {
    let example = IdentifyController {
        identity: ControllerIdentity {
            vendor: 0x1b36,
            subsystem_vendor: 0x1af4,
            serial: Ascii::new("IODA0001").unwrap(),
            model: Ascii::new("IODA emulated drive").unwrap(),
            firmware: Ascii::new("0.1").unwrap(),
            oui: [1, 2, 3],
            id: 1,
            version: Version::V1_4,
            kind: ControllerKind::Io,
            subsystem: Some(nqn("nqn.2026-01.org.example:drive0")),
        },
        limits: ControllerLimits {
            transfer: 5,
            retry_delays_100ms: [1, 10, 100],
            aborts: 3,
            async_events: 3,
            error_log_entries: 63,
            keep_alive_100ms: 10,
            nvm_set: 1,
            endurance_group: 1,
            commands: 128,
            namespaces: 1,
            atomic_write: 7,
            atomic_write_power_fail: 3,
        },
        support: ControllerSupport {
            multipath: 1,
            async_events: 0x1100,
            attributes: ctratt::NVM_SETS | ctratt::ENDURANCE_GROUPS | ctratt::PREDICTABLE_LATENCY,
            read_recovery_levels: 0x8010,
            admin_commands: 0x0002,
            firmware_updates: 0x03,
            log_pages: 0x06,
            submission_entry: 0x66,
            completion_entry: 0x44,
            io_commands: oncs::COMPARE | oncs::DATASET_MANAGEMENT | oncs::WRITE_ZEROES,
            fused: 1,
            format: 2,
            write_cache: 1,
            sgls: sgls::SUPPORTED | sgls::OFFSET,
        },
        fabrics: FabricsLimits {
            command_capsule_16b: 516,
            response_capsule_16b: 1,
            data_offset_16b: 0,
            attributes: 1,
            descriptors: 1,
            commands: 1,
        },
        ioda: Some(IodaCapability { patient: true, all_work: true }),
    };
    assert_eq!(example.support.attributes, 0x34);
    assert_eq!(example.fabrics.capsule_data_bytes(), 8192);
    assert_eq!(FabricsLimits::default().capsule_data_bytes(), 0);
    assert_eq!(example.limits.transfer_bytes(0), Some(128 << 10));
    assert_eq!(example.limits.transfer_bytes(4), Some(2 << 20));
    assert_eq!(ControllerLimits::default().transfer_bytes(0), None);
    let huge = ControllerLimits { transfer: 255, ..example.limits };
    assert_eq!(huge.transfer_bytes(15), None);
    let layout = Layout::of(4096, IdentifyController::FIELDS).and(CAPABILITY);
    layout.check(
        |bytes| Some(IdentifyController::decode(bytes)),
        IdentifyController::encode,
        &[example],
    );
    let text = layout.dump(&example.encode()).replace("\\0", "");
    insta::assert_snapshot!("identify-controller", text);
    assert_eq!(IdentifyController { ioda: None, ..example }.encode()[3072..], [0; 1024]);
}

#[test]
fn identify_namespace() {
    let mut lba_formats = [LbaFormat::default(); nvme::wire::LBA_FORMATS];
    lba_formats[0] = LbaFormat { metadata_bytes: 0, data_shift: 9, performance: 2 };
    lba_formats[1] = LbaFormat { metadata_bytes: 8, data_shift: 12, performance: 0 };
    let example = IdentifyNamespace {
        size_blocks: 0x0010_0000,
        capacity_blocks: 0x0010_0000,
        used_blocks: 0x000f_0000,
        features: 0x10,
        formats: 1,
        format: 1,
        deallocation: 9,
        owner: NamespaceOwner {
            shared: 1,
            reservations: 0xff,
            ana_group: 4,
            nvm_set: 2,
            endurance_group: 3,
        },
        optimum: NamespaceOptimum {
            write_granularity: 1,
            write_alignment: 2,
            deallocate_granularity: 3,
            deallocate_alignment: 4,
            write_size: 5,
        },
        nguid: *b"0123456789abcdef",
        eui64: *b"01234567",
        lba_formats,
    };
    let layout = Layout::of(4096, IdentifyNamespace::FIELDS);
    layout.check(
        |bytes| Some(IdentifyNamespace::decode(bytes)),
        IdentifyNamespace::encode,
        &[example],
    );
    insta::assert_snapshot!("identify-namespace", layout.dump(&example.encode()));
    assert_eq!(example.block_bytes(), Some(4096));
    assert_eq!(IdentifyNamespace { format: 0, ..example }.block_bytes(), Some(512));
    assert_eq!(IdentifyNamespace { format: 2, ..example }.block_bytes(), None);
}

#[test]
fn nvm_sets() {
    let set = NvmSet {
        id: 2,
        endurance_group: 1,
        random_read_100ns: 1000,
        write_bytes: 0x2_0000,
        capacity_bytes: 1 << 70,
        free_bytes: 1 << 40,
    };
    let places = (0..31).map(|number| 128 + 128 * number);
    let layout = Layout::new(4096, "0 1 count =1f").and_list(places, NvmSet::FIELDS);
    let full = NvmSetList::new(0, [set; 40]);
    assert_eq!(full.sets().len(), 31);
    layout.check(|bytes| Some(NvmSetList::decode(bytes)), NvmSetList::encode, &[full]);
    let two = NvmSetList::new(2, [NvmSet { id: 1, ..set }, set, NvmSet { id: 3, ..set }]);
    let ids: Vec<_> = two.sets().iter().map(|set| set.id).collect();
    assert_eq!(ids, [2, 3]);
    assert_eq!(NvmSetList::decode(&two.encode()), two);
    insta::assert_snapshot!("nvm-sets", layout.dump(&two.encode()));
}

#[test]
fn error_log() {
    let layout = Layout::of(64, ErrorEntry::FIELDS).bits("status", 0xfffe);
    let example = ErrorEntry {
        count: 9,
        sq_id: 1,
        cid: 0x2002,
        status: StatusCode::UnrecoveredRead.for_now().with_more(),
        location: 0xffff,
        lba: 0x1234_5678,
        nsid: 1,
        vendor_page: 0xc0,
        transport: 3,
        command_specific: 7,
        transport_specific: 8,
    };
    layout.check(|bytes| Some(ErrorEntry::decode(bytes)), ErrorEntry::encode, &[example]);
    insta::assert_snapshot!("error-entry", layout.dump(&example.encode()));
}

#[test]
fn health_log() {
    let layout = Layout::of(512, HealthLog::FIELDS);
    let example = HealthLog {
        critical_warning: 2,
        temperature_k: 310,
        spare_percent: 100,
        spare_threshold_percent: 10,
        used_percent: 3,
        group_warning: 1,
        counters: HealthCounters {
            read_units: 1,
            written_units: 2,
            reads: 3,
            writes: 4,
            busy_minutes: 5,
            power_cycles: 6,
            power_on_hours: 7,
            unsafe_shutdowns: 8,
            media_errors: 9,
            error_entries: 1 << 100,
        },
        thermal: ThermalCounters {
            warning_minutes: 11,
            critical_minutes: 12,
            sensors_k: [301, 302, 303, 304, 305, 306, 307, 308],
            transitions: [13, 14],
            total_seconds: [15, 16],
        },
    };
    layout.check(|bytes| Some(HealthLog::decode(bytes)), HealthLog::encode, &[example]);
    insta::assert_snapshot!("health-log", layout.dump(&example.encode()));
}

#[test]
fn firmware_log() {
    let layout = Layout::new(512, "0 1 AFI &77\n8 56 FRS text");
    let revision = |text: &str| Ascii::new(text);
    let example = FirmwareSlots {
        active: 1,
        next: 2,
        revisions: [revision("1.0"), revision("1.1"), None, None, None, None, revision("7")],
    };
    layout.check(|bytes| Some(FirmwareSlots::decode(bytes)), FirmwareSlots::encode, &[example]);
    insta::assert_snapshot!("firmware-slots", layout.dump(&example.encode()));
}

#[test]
fn command_effects() {
    let layout = Layout::of(4096, CommandEffects::FIELDS);
    let mut example = CommandEffects::NONE;
    example.admin[0x06] = effect::SUPPORTED;
    example.io[0x01] = effect::SUPPORTED | effect::CHANGES_DATA;
    example.io[0xff] = 1 << 31;
    layout.check(|bytes| Some(CommandEffects::decode(bytes)), CommandEffects::encode, &[example]);
    let bytes = example.encode();
    let set = bytes.iter().enumerate().filter(|(_, byte)| **byte != 0);
    let set: Vec<_> = set.map(|(at, byte)| (at, *byte)).collect();
    assert_eq!(set, [(0x18, 1), (1024 + 4, 3), (1024 + 1023, 0x80)]);
}

#[test]
fn window_log() {
    let standard = || Layout::of(512, WindowLog::FIELDS).bits("status", 7);
    let example = WindowLog {
        state: WindowState::Deterministic,
        events: 0x8001,
        typicals: WindowTypicals {
            reads: 1,
            writes: 2,
            time_max_ms: 3,
            busy_time_high_ms: 4,
            busy_time_low_ms: 5,
        },
        estimates: Estimates { reads: 6, writes: 7, time_ms: 8 },
        ioda: Some(report()),
    };
    let layout = standard().and(REPORT);
    layout.check(|bytes| Some(WindowLog::decode(bytes)), WindowLog::encode, &[example]);
    insta::assert_snapshot!("window-log", layout.dump(&example.encode()));
    let status = example.drive_status().unwrap();
    assert_eq!(status.headroom_pages, 7);
    assert!(status.due && !status.must_collect && status.collecting);
    // A host without IODA.
    let plain = WindowLog { ioda: None, ..example };
    let layout = standard();
    layout.check(|bytes| Some(WindowLog::decode(bytes)), WindowLog::encode, &[plain]);
    assert_eq!(plain.encode()[152..], [0; 360]);
    assert_eq!(plain.drive_status(), None);
}

#[test]
fn window_config() {
    let standard = "
        0  2 events
        32 8 reads
        +  8 writes
        +  8 time";
    let example = WindowConfig {
        events: nvme::wire::window_event::ALL,
        reads_threshold: 1,
        writes_threshold: 2,
        time_threshold_ms: 3,
        ioda: Some(settings()),
    };
    let layout = Layout::with(512, standard, SETTINGS);
    layout.check(
        |bytes| WindowConfig::decode(bytes).ok(),
        WindowConfig::encode,
        &[
            example,
            WindowConfig {
                ioda: Some(ArraySettings { scope: WindowScope::Collections, ..settings() }),
                ..example
            },
        ],
    );
    insta::assert_snapshot!("window-config", layout.dump(&example.encode()));
    let plain = WindowConfig { ioda: None, ..example };
    let layout = Layout::new(512, standard);
    layout.check(|bytes| WindowConfig::decode(bytes).ok(), WindowConfig::encode, &[plain]);
    assert_eq!(plain.encode()[56..], [0; 456]);
}

#[test]
fn discovery_log() {
    let layout = Layout::of(1024, DiscoveryHeader::FIELDS);
    let head = DiscoveryHeader { generation: 5, records: 2, format: 0 };
    layout.check(
        |bytes| Some(DiscoveryHeader::decode(bytes)),
        DiscoveryHeader::encode,
        &[DiscoveryHeader { format: 1, ..head }],
    );
    let record = record();
    let records = Layout::of(1024, DiscoveryRecord::FIELDS);
    records.check(|bytes| Some(DiscoveryRecord::decode(bytes)), DiscoveryRecord::encode, &[record]);
    let text = records.dump(&record.encode()).replace("\\0", "");
    insta::assert_snapshot!("discovery", layout.dump(&head.encode()) + "\n" + &text);
}

pub(super) fn record() -> DiscoveryRecord {
    DiscoveryRecord {
        transport: Transport::Tcp,
        family: AddressFamily::Ipv4,
        kind: SubsystemKind::Nvm,
        requirements: 2,
        port: 1,
        controller: 0xffff,
        admin_queue: 32,
        flags: 1,
        service: Ascii::new("4420").unwrap(),
        subsystem: Some(nqn("nqn.2026-01.org.example:drive0")),
        address: Ascii::new("192.0.2.1").unwrap(),
        security: 0,
    }
}

#[test]
fn timestamps() {
    let layout = Layout::new(8, "0 6 milliseconds\n6 1 attributes &0f");
    let example = Timestamp {
        milliseconds: 1_767_225_600_000,
        may_have_stopped: true,
        origin: TimestampOrigin::Set,
    };
    layout.check(|bytes| Some(Timestamp::decode(bytes)), Timestamp::encode, &[example]);
    insta::assert_snapshot!("timestamp", layout.dump(&example.encode()));
}

#[test]
fn properties_and_dwords() {
    let capabilities = Capabilities {
        queue_entries_max: 127,
        contiguous_queues: true,
        timeout_500ms: 20,
        command_sets: nvme::wire::CSS_NVM,
        ..Capabilities::default()
    };
    // Value with which stock Linux hosts attached.
    assert_eq!(capabilities.encode(), 0x0000_0020_1401_007f);
    Layout::new(8, "0 8 CAP &00ff1fffff07ffff").check(
        |bytes| Some(Capabilities::decode(u64::from_le_bytes(*bytes))),
        |value| value.encode().to_le_bytes(),
        &[capabilities],
    );
    assert_eq!(Version::V1_4.encode(), 0x0001_0400);
    Layout::new(4, "0 4 VS").check(
        |bytes| Some(Version::decode(u32::from_le_bytes(*bytes))),
        |value| value.encode().to_le_bytes(),
        &[Version::V1_4],
    );
    let configuration = Configuration {
        enable: true,
        shutdown: ShutdownNotice::Normal,
        submission_entry: 6,
        completion_entry: 4,
        ..Configuration::default()
    };
    assert_eq!(configuration.encode(), 0x0046_4001);
    Layout::new(4, "0 4 CC &00fffff1").check(
        |bytes| Some(Configuration::decode(u32::from_le_bytes(*bytes))),
        |value| value.encode().to_le_bytes(),
        &[configuration],
    );
    let status = ControllerStatus {
        ready: true,
        shutdown: ShutdownState::Complete,
        ..ControllerStatus::default()
    };
    assert_eq!(status.encode(), 0b1001);
    Layout::new(4, "0 4 CSTS &1f").check(
        |bytes| Some(ControllerStatus::decode(u32::from_le_bytes(*bytes))),
        |value| value.encode().to_le_bytes(),
        &[status],
    );
    let connected = Connected { controller: 5, authenticate: true, secure_channel: false };
    assert_eq!(connected.encode(), 0x0002_0005);
    Layout::new(4, "0 4 DW0 &0006ffff").check(
        |bytes| Some(Connected::decode(u32::from_le_bytes(*bytes))),
        |value| value.encode().to_le_bytes(),
        &[connected],
    );
    let counts = QueueCounts { submission: 3, completion: 1 };
    assert_eq!(counts.encode(), 0x0001_0003);
    Layout::new(4, "0 4 DW0").check(
        |bytes| Some(QueueCounts::decode(u32::from_le_bytes(*bytes))),
        |value| value.encode().to_le_bytes(),
        &[counts],
    );
}
