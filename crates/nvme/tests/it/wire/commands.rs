//! Entries of queues and every command in them.

use super::layout::Layout;
use nvme::wire::ioda::FastFail;
use nvme::wire::{
    Abort, AcquireAction, AdminCommand, AsyncEvent, Authentication, BlockCount, BlockRange, Cns,
    CommonFields, CompletionEntry, Connect, DataDirection, DatasetManagement, DatasetRange,
    FabricsCommand, Feature, FeatureId, FeatureValue, GetFeatures, GetLogPage, Identify, IoCommand,
    LogPage, PersistChange, Property, PropertyGet, PropertySet, PropertySize, QueueCounts,
    RegisterAction, ReleaseAction, ReservationCommand, ReservationType, SetFeatures, SglDescriptor,
    StatusCode, StatusField, SubmissionEntry, Transfer, WindowState, WriteZeroes,
};
use nvme::{Opcode, PlFlag, Status};
use units::Duration;

const DATA: SglDescriptor = SglDescriptor::InCapsule { offset: 0x10, bytes: 0x2000 };
const COMMON: CommonFields = CommonFields { cid: 0x1234, nsid: 1, data: DATA };

/// Fields of every command, without the opcode.
const HEAD: &str = "
    1  1 FLAGS =40
    2  2 CID
    4  4 NSID";
const POINTER: &str = "
    24 8 DPTR.address
    32 4 DPTR.length
    39 1 DPTR.kind =01";

fn read(range: (u64, u32)) -> Transfer {
    let blocks = BlockCount::new(range.1).unwrap();
    Transfer::new(BlockRange { lba: range.0, blocks })
}

/// Table of a command, and the bytes of an example.
fn io(opcode: u8, table: &str, command: IoCommand) -> String {
    let head = format!("0 1 OPC ={opcode:02x}\n{HEAD}");
    let layout = Layout::with(64, &head, table);
    layout.check(
        |bytes| {
            let entry = SubmissionEntry::decode(bytes);
            Some((entry.common, IoCommand::decode(&entry)))
        },
        |(common, command)| command.encode(*common).encode(),
        &[(COMMON, command)],
    );
    layout.dump(&command.encode(COMMON).encode())
}

fn admin(opcode: u8, table: &str, command: AdminCommand) -> String {
    let head = format!("0 1 OPC ={opcode:02x}\n{HEAD}");
    let layout = Layout::with(64, &head, table);
    layout.check(
        |bytes| {
            let entry = SubmissionEntry::decode(bytes);
            Some((entry.common, AdminCommand::decode(&entry)))
        },
        |(common, command)| command.encode(*common).encode(),
        &[(COMMON, command)],
    );
    layout.dump(&command.encode(COMMON).encode())
}

fn fabrics(fctype: u8, table: &str, command: FabricsCommand) -> String {
    let head = format!("0 1 OPC =7f\n1 1 FLAGS =40\n2 2 CID\n4 1 FCTYPE ={fctype:02x}\n{POINTER}");
    let layout = Layout::with(64, &head, table);
    let wrapped = |command| AdminCommand::Fabrics(command);
    let decode = |bytes: &[u8; 64]| {
        let entry = SubmissionEntry::decode(bytes);
        let AdminCommand::Fabrics(command) = AdminCommand::decode(&entry) else { return None };
        Some((entry.common.cid, entry.common.data, command))
    };
    let encode = |(cid, data, command): &(u16, SglDescriptor, FabricsCommand)| {
        let common = CommonFields { cid: *cid, nsid: 0, data: *data };
        wrapped(*command).encode(common).encode()
    };
    layout.check(decode, encode, &[(0x1234, DATA, command)]);
    layout.dump(&encode(&(0x1234, DATA, command)))
}

#[test]
fn submission_entries() {
    let example = SubmissionEntry {
        flags: 0x43,
        cdw2: 0xc2c2_0102,
        cdw3: 0x0304_0506,
        metadata: 0x1122_3344_5566_7788,
        cdw10: [10, 11, 12, 13, 14, 15],
        ..SubmissionEntry::new(0xc1, COMMON)
    };
    let layout = Layout::of(64, SubmissionEntry::FIELDS)
        .fixed("DPTR.kind", 1)
        .split("CDW10", &["CDW10", "CDW11", "CDW12", "CDW13", "CDW14", "CDW15"]);
    layout.check(
        |bytes| Some(SubmissionEntry::decode(bytes)),
        SubmissionEntry::encode,
        &[example, SubmissionEntry::new(0, CommonFields::controller(0, DATA))],
    );
    insta::assert_snapshot!("submission-entry", layout.dump(&example.encode()));
    assert!(example.has_sgl() && !SubmissionEntry { flags: 0, ..example }.has_sgl());
}

#[test]
fn every_command_says_which_way_its_data_go() {
    use DataDirection::{Both, None, ToController, ToHost};
    let of =
        |opcode, nsid| SubmissionEntry::new(opcode, CommonFields { nsid, ..COMMON }).direction();
    // Flush, Write, Read, Compare, Write Zeroes, Dataset Management.
    let io = [0x00, 0x01, 0x02, 0x05, 0x08, 0x09].map(|opcode| of(opcode, 1));
    assert_eq!(io, [None, ToController, ToHost, ToController, None, ToController]);
    // Get Log Page, Identify, Abort, Set and Get Features, Asynchronous Event Request, Keep Alive.
    let admin = [0x02, 0x06, 0x08, 0x09, 0x0a, 0x0c, 0x18].map(|opcode| of(opcode, 1));
    assert_eq!(admin, [ToHost, ToHost, None, ToController, ToHost, None, None]);
    // Property Set, Connect, Property Get, Authentication Send and Receive.
    let fabrics = [0x00, 0x01, 0x04, 0x05, 0x06].map(|fctype| of(0x7f, fctype));
    assert_eq!(fabrics, [None, ToController, None, ToController, ToHost]);
    assert_eq!(of(0xc3, 0), Both);
}

#[test]
fn data_pointers() {
    let check = |kind: &str, table: &str, examples: &[SglDescriptor]| {
        let layout = Layout::with(16, table, kind);
        layout.check(|bytes| Some(SglDescriptor::decode(bytes)), SglDescriptor::encode, examples);
        layout.dump(&examples[0].encode())
    };
    let both = "0 8 address\n8 4 length";
    let text = [
        check("15 1 kind =01", both, &[DATA]),
        // The address is reserved.
        check("15 1 kind =5a", "8 4 length", &[SglDescriptor::Transport { bytes: 0x1_0000 }]),
        check(
            "15 1 kind =42",
            both,
            &[SglDescriptor::Unsupported { kind: 0x42, address: 7, bytes: 9 }],
        ),
    ];
    insta::assert_snapshot!("data-pointers", text.join("\n"));
    assert_eq!(SglDescriptor::NO_DATA.bytes(), 0);
}

#[test]
fn completion_entries() {
    let layout = Layout::of(16, CompletionEntry::FIELDS)
        .split("RESULT", &["DW0", "DW1"])
        .bits("status", 0xfffe);
    let example = CompletionEntry {
        result: 0x1122_3344_5566_7788,
        sq_head: 3,
        sq_id: 1,
        cid: 0xf01f,
        status: StatusCode::LbaOutOfRange.for_good(),
    };
    let interrupted = StatusCode::Interrupted.for_now().after_delay(2).with_more();
    let others = [
        CompletionEntry::new(7, interrupted),
        CompletionEntry::new(8, StatusField::FAILED_FAST),
        FastFail::new(Duration::from_micros(1500)).encode(9),
    ];
    layout.check(
        |bytes| Some(CompletionEntry::decode(bytes)),
        CompletionEntry::encode,
        &[example, others[0], others[1], others[2]],
    );
    let text = [example, others[0], others[1], others[2]].map(|one| layout.dump(&one.encode()));
    insta::assert_snapshot!("completion-entries", text.join("\n"));
    assert_eq!((example.dw0(), example.dw1()), (0x5566_7788, 0x1122_3344));
}

#[test]
fn io_commands() {
    let transfer =
        |reserved: &str| format!("{reserved}{POINTER}\n40 8 SLBA\n48 4 CDW12 &c000ffff\n52 1 DSM");
    let example = Transfer {
        pl: PlFlag::Predictable,
        force_unit_access: true,
        limited_retry: true,
        hints: 7,
        ..read((0x0102_0304_0506_0708, 0x1_0000))
    };
    let flag = "8 4 CDW2 &c0000000";
    let text = [
        io(0x00, POINTER, IoCommand::Flush),
        io(0x01, &transfer(flag), IoCommand::Write(read((5, 8)))),
        io(0x02, &transfer(flag), IoCommand::Read(example)),
        io(0x05, &transfer(flag), IoCommand::Compare(read((5, 1)))),
        io(
            0x08,
            &format!("{POINTER}\n40 8 SLBA\n48 4 CDW12 &c200ffff"),
            IoCommand::WriteZeroes(WriteZeroes {
                range: example.range,
                deallocate: true,
                force_unit_access: false,
                limited_retry: false,
            }),
        ),
        io(
            0x09,
            &format!("{POINTER}\n40 4 NR &ff\n44 4 CDW11 &07"),
            IoCommand::DatasetManagement(DatasetManagement {
                ranges: 256,
                deallocate: true,
                read_together: false,
                write_together: false,
            }),
        ),
        io(0x7e, POINTER, IoCommand::Unsupported { opcode: 0x7e }),
    ];
    insta::assert_snapshot!("io-commands", text.join("\n"));
}

#[test]
fn reservation_commands() {
    let register = ReservationCommand::Register {
        action: RegisterAction::Replace,
        ignore_key: true,
        persist: PersistChange::Set,
    };
    let acquire = ReservationCommand::Acquire {
        action: AcquireAction::PreemptAndAbort,
        ignore_key: false,
        kind: ReservationType::ExclusiveAccessRegistrants.encode(),
    };
    let release = ReservationCommand::Release {
        action: ReleaseAction::Clear,
        ignore_key: true,
        kind: ReservationType::WriteExclusive.encode(),
    };
    let report = ReservationCommand::Report { dwords: 0x3ff, extended: true };
    let text = [
        io(0x0d, &format!("{POINTER}\n40 4 CDW10 &c000000f"), IoCommand::Reservation(register)),
        io(0x0e, &format!("{POINTER}\n40 4 NUMD\n44 1 EDS &01"), IoCommand::Reservation(report)),
        io(0x11, &format!("{POINTER}\n40 2 CDW10 &ff0f"), IoCommand::Reservation(acquire)),
        io(0x15, &format!("{POINTER}\n40 2 CDW10 &ff0f"), IoCommand::Reservation(release)),
    ];
    insta::assert_snapshot!("reservation-commands", text.join("\n"));
    let bytes = [register, report, acquire, release].map(|command| command.data_bytes());
    assert_eq!(bytes, [16, 0, 16, 8]);
    for number in 0..=255 {
        let kind = ReservationType::decode(number);
        assert_eq!(kind.map_or(number, ReservationType::encode), number);
        assert_eq!(kind.is_some(), (1..=6).contains(&number), "type {number}");
    }
}

#[test]
fn every_flag_has_its_two_bits() {
    let flags = [PlFlag::Off, PlFlag::Predictable, PlFlag::Patient, PlFlag::Failed];
    for (bits, pl) in flags.into_iter().enumerate() {
        let command = IoCommand::Read(Transfer { pl, ..read((0, 1)) });
        let entry = command.encode(COMMON);
        assert_eq!(entry.cdw2, (bits as u32) << 30);
        assert_eq!(IoCommand::decode(&entry), command);
    }
}

#[test]
fn blocks_are_counted_from_one_and_may_not_overflow() {
    assert_eq!(BlockCount::new(0), None);
    assert_eq!(BlockCount::new(1).unwrap().get(), 1);
    assert_eq!(BlockCount::new(65_536).unwrap().get(), 65_536);
    assert_eq!(BlockCount::new(65_537), None);
    assert_eq!(read((u64::MAX - 8, 8)).range.end(), Some(u64::MAX));
    assert_eq!(read((u64::MAX - 7, 8)).range.end(), None);
    let range = DatasetRange { attributes: 0, blocks: 2, lba: u64::MAX - 1 };
    assert_eq!(range.end(), None);
    // Zero ranges cannot be encoded: the field would mean the longest list.
    for (ranges, said) in [(0, 0), (1, 0), (256, 255), (999, 255)] {
        let command = IoCommand::DatasetManagement(DatasetManagement {
            ranges,
            deallocate: true,
            read_together: false,
            write_together: false,
        });
        assert_eq!(command.encode(COMMON).cdw(10), said);
    }
}

#[test]
fn dataset_ranges() {
    let layout = Layout::of(16, DatasetRange::FIELDS);
    let example = DatasetRange { attributes: 0x0102_0304, blocks: 0x100, lba: 0x1_0000_0000 };
    layout.check(|bytes| Some(DatasetRange::decode(bytes)), DatasetRange::encode, &[example]);
    insta::assert_snapshot!("dataset-range", layout.dump(&example.encode()));
    let mut data = [example.encode(), DatasetRange { lba: 7, ..example }.encode()].concat();
    data.extend([0; 15]);
    let lbas: Vec<_> = DatasetRange::decode_all(&data).map(|range| range.lba).collect();
    assert_eq!(lbas, [0x1_0000_0000, 7]);
}

#[test]
fn admin_commands() {
    let identify = Identify { specific: 3, ..Identify::new(Cns::NvmSets) };
    let log = GetLogPage {
        retain_event: true,
        specific: 7,
        offset_bytes: 0x1_0000_0400,
        ..GetLogPage::new(LogPage::Window, 512)
    };
    assert_eq!(log.bytes(), 512);
    let set = |feature| AdminCommand::SetFeatures(SetFeatures { save: true, feature });
    let set_features = |fid: u8, table: &str, feature| {
        let fid = format!("{POINTER}\n40 1 FID ={fid:02x}\n43 1 SV &80\n{table}");
        admin(0x09, &fid, set(feature))
    };
    let text = [
        admin(
            0x02,
            &format!(
                "{POINTER}\n40 1 LID\n41 1 LSP+RAE\n42 2 NUMDL\n44 2 NUMDU\n46 2 LSI\n48 8 LPO\n\
                 59 1 CSI"
            ),
            AdminCommand::GetLogPage(log),
        ),
        admin(
            0x06,
            &format!("{POINTER}\n40 1 CNS\n42 2 CNTID\n44 2 CNSSID\n47 1 CSI"),
            AdminCommand::Identify(identify),
        ),
        admin(
            0x08,
            &format!("{POINTER}\n40 2 SQID\n42 2 CID"),
            AdminCommand::Abort(Abort { sq_id: 2, cid: 0x3004 }),
        ),
        set_features(
            0x07,
            "44 2 NSQR\n46 2 NCQR",
            Feature::NumberOfQueues(QueueCounts { submission: 3, completion: 4 }),
        ),
        set_features(0x0b, "44 4 notices", Feature::AsyncEvents(0x1900)),
        set_features(0x0e, "", Feature::Timestamp),
        set_features(0x0f, "44 4 KATO", Feature::KeepAlive { milliseconds: 5000 }),
        set_features(
            0x13,
            "44 2 NVMSETID\n48 1 PLE &01",
            Feature::WindowConfig { nvm_set: 1, enable: true },
        ),
        set_features(
            0x14,
            "44 2 NVMSETID\n48 1 WindowSelect &07",
            Feature::Window { nvm_set: 1, window: WindowState::NonDeterministic },
        ),
        set_features(0x82, "44 4 notices", Feature::ReservationMask(0x0e)),
        set_features(0x83, "44 1 PTPL &01", Feature::ReservationPersistence { persists: true }),
        set_features(0xc0, "", Feature::WindowCounts),
        set_features(0x06, "44 4 CDW11", Feature::Other { feature: 6, cdw11: 1 }),
        admin(
            0x0a,
            &format!("{POINTER}\n40 1 FID\n41 1 SEL &07\n44 4 CDW11"),
            AdminCommand::GetFeatures(GetFeatures {
                value: FeatureValue::Saved,
                ..GetFeatures::current(FeatureId::WindowConfig, 1)
            }),
        ),
        admin(0x0c, POINTER, AdminCommand::AsyncEventRequest),
        admin(0x18, POINTER, AdminCommand::KeepAlive),
        admin(0xc0, POINTER, AdminCommand::Unsupported { opcode: 0xc0 }),
    ];
    insta::assert_snapshot!("admin-commands", text.join("\n"));
}

#[test]
fn every_page_feature_and_question_has_its_number() {
    let entry = |opcode| SubmissionEntry::new(opcode, COMMON);
    for number in 0..=255 {
        let mut entry = entry(0x02);
        entry.cdw10[0] = number;
        let AdminCommand::GetLogPage(log) = AdminCommand::decode(&entry) else { panic!() };
        let known = [0x01, 0x02, 0x03, 0x05, 0x0a, 0x0b, 0x70, 0x80, 0xc0].contains(&number);
        assert_eq!(!matches!(log.page, LogPage::Other(_)), known, "log page {number:#x}");
        entry.opcode = 0x06;
        let AdminCommand::Identify(identify) = AdminCommand::decode(&entry) else { panic!() };
        let known = [0, 1, 2, 3, 4, 6].contains(&number);
        assert_eq!(!matches!(identify.what, Cns::Other(_)), known, "CNS {number:#x}");
        entry.opcode = 0x0a;
        let AdminCommand::GetFeatures(get) = AdminCommand::decode(&entry) else { panic!() };
        let known = [0x07, 0x0b, 0x0e, 0x0f, 0x13, 0x14, 0x81, 0x82, 0x83, 0xc0].contains(&number);
        assert_eq!(!matches!(get.feature, FeatureId::Other(_)), known, "feature {number:#x}");
        let io = IoCommand::decode(&SubmissionEntry::new(number as u8, COMMON));
        let known = [0, 1, 2, 5, 8, 9, 0x0d, 0x0e, 0x11, 0x15].contains(&number);
        assert_eq!(!matches!(io, IoCommand::Unsupported { .. }), known, "opcode {number:#x}");
    }
}

#[test]
fn fabrics_commands() {
    let property = "40 1 ATTRIB &07\n44 4 OFST";
    let authentication = "41 1 SPSP0\n42 1 SPSP1\n43 1 SECP\n44 4 length";
    let messages = Authentication { specific_0: 1, specific_1: 2, protocol: 0xe9, bytes: 0x1000 };
    let text = [
        fabrics(
            0x00,
            &format!("{property}\n48 8 VALUE"),
            FabricsCommand::PropertySet(PropertySet {
                property: Property::Configuration,
                size: PropertySize::Four,
                value: 0x46_0001,
            }),
        ),
        fabrics(
            0x01,
            "40 2 RECFMT\n42 2 QID\n44 2 SQSIZE\n46 1 CATTR\n48 4 KATO",
            FabricsCommand::Connect(Connect {
                format: 0,
                queue: 1,
                size: 127,
                attributes: nvme::wire::CATTR_NO_SQ_FLOW,
                keep_alive_ms: 5000,
            }),
        ),
        fabrics(
            0x04,
            property,
            FabricsCommand::PropertyGet(PropertyGet {
                property: Property::ReadyTimeouts,
                size: Property::Capabilities.size(),
            }),
        ),
        fabrics(0x05, authentication, FabricsCommand::AuthenticationSend(messages)),
        fabrics(0x06, authentication, FabricsCommand::AuthenticationReceive(messages)),
        fabrics(0x08, "40 2 RECFMT", FabricsCommand::Disconnect { format: 1 }),
        fabrics(0x77, "", FabricsCommand::Unsupported { fctype: 0x77 }),
    ];
    insta::assert_snapshot!("fabrics-commands", text.join("\n"));
}

#[test]
fn events_have_the_words_of_the_specification() {
    let named = [
        (AsyncEvent::NamespaceAttributes, 0x0004_0002),
        (AsyncEvent::WindowAggregate, 0x000b_0402),
        (AsyncEvent::DiscoveryLog, 0x0070_f002),
        (AsyncEvent::ReservationLog, 0x0080_0006),
        (AsyncEvent::TrafficLog, 0x00c0_0007),
        (AsyncEvent::Other { kind: 1, information: 2, log_page: 2 }, 0x0002_0201),
    ];
    for (event, dw0) in named {
        assert_eq!(event.encode(), dw0);
        assert_eq!(AsyncEvent::decode(dw0), event);
    }
    let layout = Layout::new(4, "0 1 type &07\n1 1 information\n2 1 page");
    layout.check(
        |bytes| Some(AsyncEvent::decode(u32::from_le_bytes(*bytes))),
        |event| event.encode().to_le_bytes(),
        &named.map(|(event, _)| event),
    );
}

#[test]
fn statuses_are_what_linux_shows() {
    for (status, shown) in [
        (StatusField::SUCCESS, 0),
        (StatusCode::InvalidOpcode.for_good(), 0x4001),
        (StatusCode::InvalidField.for_good(), 0x4002),
        (StatusCode::SglLengthInvalid.for_good(), 0x400f),
        (StatusCode::Interrupted.for_now(), 0x0021),
        (StatusCode::Interrupted.for_now().after_delay(3), 0x1821),
        (StatusCode::LbaOutOfRange.for_good(), 0x4080),
        (StatusCode::ReservationConflict.for_good(), 0x4083),
        (StatusCode::AsyncEventLimitExceeded.for_now(), 0x0105),
        (StatusCode::InvalidLogPage.for_good(), 0x4109),
        (StatusCode::AuthenticationRequired.for_good(), 0x4191),
        (StatusCode::UnrecoveredRead.for_now(), 0x0281),
        (StatusField::FAILED_FAST, 0x47c1),
    ] {
        assert_eq!(status.bits(), shown, "{status:?}");
    }
    for bits in 0..1 << 15 {
        let status = StatusField::from_bits(bits);
        assert_eq!(status.bits(), bits);
        assert_eq!(StatusField::from_bits(bits | 1 << 15), status);
        let again = status.code().map(|code| code.bits());
        assert!(again.is_none_or(|code| code == bits & 0x7ff));
        assert_eq!(status.is_success(), bits & 0x7ff == 0);
        assert_eq!(status.is_for_good(), bits & 0x4000 != 0);
        assert_eq!(status.has_more(), bits & 0x2000 != 0);
        assert_eq!(u16::from(status.retry_delay()), bits >> 11 & 3);
    }
    for code in StatusCode::ALL {
        assert_eq!(StatusCode::from_bits(code.bits()), Some(code));
        assert!(!code.label().is_empty());
    }
}

#[test]
fn what_a_drive_answers_comes_back() {
    for status in [Status::Success, Status::FailedFast, Status::Unrecovered] {
        for opcode in [Opcode::Read, Opcode::Write, Opcode::Deallocate] {
            assert_eq!(StatusField::of(status, opcode).status(), status);
        }
    }
    assert_eq!(StatusCode::InvalidField.for_good().status(), Status::Unrecovered);
    // Linux takes this status for success, so failed reads must never have it.
    assert_ne!(StatusField::FAILED_FAST.bits() & 0x7ff, 0);
}

#[test]
fn busy_remaining_time_is_rounded_up_and_saturates() {
    for (nanos, micros) in [(0, 0), (1, 1), (999, 1), (1_000, 1), (1_001, 2), (u64::MAX, u32::MAX)]
    {
        let failed = FastFail::new(Duration::from_nanos(nanos));
        assert_eq!(failed.busy_remaining_us, micros);
        let completion = failed.encode(5);
        assert_eq!((completion.dw0(), completion.dw1()), (0b11, micros));
        assert_eq!(completion.status.bits(), 0x47c1);
        assert_eq!(FastFail::decode(&completion), Some(failed));
        assert_eq!(failed.busy_remaining().as_nanos(), u64::from(micros) * 1_000);
    }
    // Neither the flag nor the status alone is a fast failure.
    let failed = FastFail::new(Duration::from_micros(3)).encode(5);
    let other = CompletionEntry { status: StatusCode::Internal.for_good(), ..failed };
    assert_eq!(FastFail::decode(&other), None);
    assert_eq!(FastFail::decode(&failed.with_result(1)), None);
}
