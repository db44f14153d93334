//! Entry point of the fuzz target: untrusted bytes for the reader of PDUs and for every decoder.
//! The tests call it with seeded damage.

use nvme::wire::ioda::{ArraySettings, FastFail, IodaCapability, WindowReport};
use nvme::wire::pdu::{
    Digests, Fault, Framing, Header, Limits, PREFIX_BYTES_MAX, PduReader, Progress, Side,
};
use nvme::wire::plm_light::{CountsData, TrafficLog};
use nvme::wire::{
    AcquireKeys, AdminCommand, AsyncEvent, CommandEffects, CompletionEntry, ConnectData,
    DatasetRange, DiscoveryHeader, DiscoveryRecord, ErrorEntry, FirmwareSlots, HealthLog,
    IdentifyController, IdentifyNamespace, IoCommand, NamespaceIds, NamespaceList, NvmSetList,
    RegisterKeys, ReleaseKey, ReservationHeader, ReservationLog, STATUS_HEADER_BYTES,
    SglDescriptor, StatusFormat, SubmissionEntry, Timestamp, WindowConfig, WindowLog,
    aggregate_sets, put_reservations, read_reservations,
};
use std::fmt::Debug;

/// First bytes of an input, which select how the rest is read.
const HEAD_BYTES: usize = 6;

/// Results of the reader, with the pieces of data joined.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Told {
    Header(Box<Header>),
    Data(Vec<u8>),
    End(bool),
    Bad(Fault),
}

/// Reads bytes in pieces of at most `piece`. Uses the terms of `framing` after the first PDU,
/// unless the reader is established from the start.
///
/// # Panics
///
/// When the reader breaks its promises.
pub(crate) fn read(
    reader: &mut PduReader,
    bytes: &[u8],
    piece: usize,
    limits: Limits,
    framing: Framing,
) -> Vec<Told> {
    let mut told: Vec<Told> = Vec::new();
    // Data of the PDU that have not come yet.
    let mut missing = 0;
    let mut in_pdu = false;
    for piece in bytes.chunks(piece) {
        let mut rest = piece;
        loop {
            let (taken, progress) = reader.advance(rest);
            rest = &rest[taken..];
            match progress {
                Progress::NeedMore(more) => {
                    assert!(more > 0 && rest.is_empty());
                    break;
                }
                Progress::Header(header) => {
                    assert!(!in_pdu, "a header within a PDU");
                    in_pdu = true;
                    missing = header.data_bytes();
                    let limit = match header {
                        Header::Command(_) => limits.capsule_bytes,
                        _ => limits.data_bytes,
                    };
                    assert!(missing <= limit, "{missing} bytes of data");
                    if header.kind().is_init() {
                        reader.establish(framing);
                    }
                    told.push(Told::Header(Box::new(header)));
                }
                Progress::Data(data) => {
                    assert!(in_pdu && !data.is_empty());
                    missing = missing.checked_sub(data.len() as u32).expect("too much data");
                    match told.last_mut() {
                        Some(Told::Data(all)) => all.extend(data),
                        _ => told.push(Told::Data(data.to_vec())),
                    }
                }
                Progress::End { sound } => {
                    assert!(in_pdu && missing == 0, "an end too early");
                    in_pdu = false;
                    told.push(Told::End(sound));
                }
                Progress::Bad(fault) => {
                    assert_eq!(reader.advance(rest), (0, Progress::Bad(fault)), "it went on");
                    told.push(Told::Bad(fault));
                    return told;
                }
            }
        }
    }
    told
}

/// Checks that the other side can read the refusal.
fn check_refusal(reader: &PduReader, side: Side, told: &[Told]) {
    let Some(refusal) = reader.refusal() else { return };
    let Some(Told::Bad(fault)) = told.last() else { panic!("a refusal of nothing") };
    let (Header::HostTermination(termination) | Header::ControllerTermination(termination)) =
        refusal
    else {
        panic!("{refusal:?} is no refusal")
    };
    assert_eq!((termination.fault, refusal.kind().sender()), (*fault, side));
    let mut bytes = [0; PREFIX_BYTES_MAX];
    let length = Framing::INITIAL.write(&refusal, &mut bytes);
    let other = match side {
        Side::Host => Side::Controller,
        Side::Controller => Side::Host,
    };
    let mut reader = PduReader::new(other, Limits { capsule_bytes: 0, data_bytes: 0 });
    let (taken, progress) = reader.advance(&bytes[..length]);
    assert_eq!((taken, progress), (length, Progress::Header(refusal)));
}

/// Checks that a header that was read can be written, and then reads as the same.
fn check_header(header: &Header, framing: &Framing, side: Side) {
    let mut bytes = [0; PREFIX_BYTES_MAX];
    let length = framing.write(header, &mut bytes);
    let limits = Limits { capsule_bytes: u32::MAX, data_bytes: u32::MAX };
    let mut reader = PduReader::new(side, limits);
    if !header.kind().is_init() {
        reader.establish(*framing);
    }
    let (taken, progress) = reader.advance(&bytes[..length]);
    // A PDU may announce up to 4 GiB, which may leave too little room for digests.
    let is_full = header.data_bytes() > u32::MAX - PREFIX_BYTES_MAX as u32 - 8;
    assert!(is_full || progress == Progress::Header(*header), "{header:?} became {progress:?}");
    assert!(taken <= length);
}

/// Checks that PDUs read the same in pieces and as a whole.
fn check_pdus(head: &[u8; HEAD_BYTES], bytes: &[u8]) {
    let [mode, alignment, piece, capsule, data, _] = *head;
    let side = if mode & 1 == 0 { Side::Host } else { Side::Controller };
    let digests = Digests { header: mode & 2 != 0, data: mode & 4 != 0 };
    let framing = Framing::new(digests, alignment % 32, units::crc32c_append);
    let limits = Limits { capsule_bytes: u32::from(capsule) * 64, data_bytes: 1 << (data % 32) };
    let new = || {
        let mut reader = PduReader::new(side, limits);
        if mode & 8 != 0 {
            reader.establish(framing);
        }
        reader
    };
    let (mut whole, mut pieces) = (new(), new());
    let told = read(&mut whole, bytes, bytes.len().max(1), limits, framing);
    let told_of_pieces = read(&mut pieces, bytes, usize::from(piece) + 1, limits, framing);
    assert_eq!(told, told_of_pieces);
    assert_eq!(whole.refusal(), pieces.refusal());
    check_refusal(&whole, side, &told);
    for told in &told {
        if let Told::Header(header) = told {
            check_header(header, &framing, side);
        }
    }
}

/// Checks that a value that was read is written so that it reads as the same.
fn check<T: PartialEq + Debug, const N: usize>(
    bytes: &[u8],
    decode: impl Fn(&[u8; N]) -> Option<T>,
    encode: impl Fn(&T) -> [u8; N],
) {
    let mut data = [0; N];
    let length = bytes.len().min(N);
    data[..length].copy_from_slice(&bytes[..length]);
    if let Some(value) = decode(&data) {
        assert_eq!(decode(&encode(&value)), Some(value));
    }
}

/// Reads the bytes as each structure that an untrusted peer sends.
fn check_structures(bytes: &[u8]) {
    check(bytes, |b| Some(SubmissionEntry::decode(b)), SubmissionEntry::encode);
    check(bytes, |b| Some(CompletionEntry::decode(b)), CompletionEntry::encode);
    check(bytes, |b| Some(SglDescriptor::decode(b)), SglDescriptor::encode);
    check(bytes, |b| Some(DatasetRange::decode(b)), DatasetRange::encode);
    check(
        bytes,
        |b| Some(SubmissionEntry::decode(b)).map(|e| (e.common, IoCommand::decode(&e))),
        |(common, command)| command.encode(*common).encode(),
    );
    check(
        bytes,
        |b| {
            let mut entry = SubmissionEntry::decode(b);
            let command = AdminCommand::decode(&entry);
            if let AdminCommand::Fabrics(_) = command {
                // The bytes behind the type of a fabrics command are reserved.
                entry.common.nsid &= 0xff;
            }
            Some((entry.common, command))
        },
        |(common, command)| command.encode(*common).encode(),
    );
    check(bytes, |b| ConnectData::decode(b).ok(), ConnectData::encode);
    check(bytes, |b| WindowConfig::decode(b).ok(), WindowConfig::encode);
    check(bytes, |b| ArraySettings::decode(b).ok().flatten(), ArraySettings::encode);
    check(bytes, WindowReport::decode, WindowReport::encode);
    check(bytes, IodaCapability::decode, IodaCapability::encode);
    check(bytes, CountsData::decode, CountsData::encode);
    check(bytes, |b| Some(Timestamp::decode(b)), Timestamp::encode);
    check(bytes, |b| Some(WindowLog::decode(b)), WindowLog::encode);
    check(bytes, |b| Some(HealthLog::decode(b)), HealthLog::encode);
    check(bytes, |b| Some(ErrorEntry::decode(b)), ErrorEntry::encode);
    check(bytes, |b| Some(FirmwareSlots::decode(b)), FirmwareSlots::encode);
    check(bytes, |b| Some(DiscoveryHeader::decode(b)), DiscoveryHeader::encode);
    check(bytes, |b| Some(DiscoveryRecord::decode(b)), DiscoveryRecord::encode);
    check(bytes, |b| Some(ReservationLog::decode(b)), ReservationLog::encode);
    check(bytes, |b| Some(ReservationHeader::decode(b)), ReservationHeader::encode);
    check(bytes, |b| Some(RegisterKeys::decode(b)), RegisterKeys::encode);
    check(bytes, |b| Some(AcquireKeys::decode(b)), AcquireKeys::encode);
    check(bytes, |b| Some(ReleaseKey::decode(b)), ReleaseKey::encode);
    check_report(bytes, StatusFormat::Basic);
    check_report(bytes, StatusFormat::Extended);
    check(
        bytes,
        |b: &[u8; 4]| Some(AsyncEvent::decode(u32::from_le_bytes(*b))),
        |event| event.encode().to_le_bytes(),
    );
    check(
        bytes,
        |b| FastFail::decode(&CompletionEntry::decode(b)),
        |failed| failed.encode(0).encode(),
    );
    let read = aggregate_sets(bytes).map_or(0, Iterator::count);
    assert!(2 * read <= bytes.len());
    assert_eq!(DatasetRange::decode_all(bytes).count(), bytes.len() / 16);
}

/// Checks that a report that announces more registrants than it has is read as far as it goes, and
/// written as it was read.
fn check_report(bytes: &[u8], format: StatusFormat) {
    let Some((header, entries)) = read_reservations(bytes, format) else {
        return assert!(bytes.len() < STATUS_HEADER_BYTES);
    };
    let entries: Vec<_> = entries.collect();
    let room = bytes.len().saturating_sub(format.first_entry()) / format.entry_bytes();
    assert_eq!(entries.len(), room.min(header.registrants.into()));
    let mut written = vec![0; format.first_entry() + format.entry_bytes() * entries.len()];
    put_reservations(header, entries.iter().copied(), format, &mut written);
    let Some((_, again)) = read_reservations(&written, format) else { panic!("no header") };
    assert_eq!(again.collect::<Vec<_>>(), entries);
}

/// Checks the structures of four KiB.
fn check_pages(bytes: &[u8]) {
    check(bytes, |b| Some(IdentifyController::decode(b)), IdentifyController::encode);
    check(bytes, |b| Some(IdentifyNamespace::decode(b)), IdentifyNamespace::encode);
    check(bytes, |b| Some(NvmSetList::decode(b)), NvmSetList::encode);
    check(bytes, |b| Some(NamespaceList::decode(b)), NamespaceList::encode);
    check(bytes, NamespaceIds::decode, NamespaceIds::encode);
    check(bytes, |b| Some(CommandEffects::decode(b)), CommandEffects::encode);
    check(bytes, TrafficLog::decode, TrafficLog::encode);
}

/// Reads untrusted bytes.
///
/// # Panics
///
/// When bytes read differently in pieces, data exceed their limits, the reader breaks a promise, or
/// a value that was read cannot be written. The fuzzer searches for these.
pub(crate) fn check_all(bytes: &[u8]) {
    let Some((head, rest)) = bytes.split_first_chunk::<HEAD_BYTES>() else { return };
    match head[5] % 4 {
        0 | 1 => check_pdus(head, rest),
        2 => check_structures(rest),
        _ => check_pages(rest),
    }
}
