//! The reader of PDUs: whole conversations in pieces of any size, and the faults of bad PDUs.

use super::fuzz::{Told, read};
use nvme::wire::pdu::{
    ADMIN_CAPSULE_DATA_BYTES, COMMON_BYTES, CommandCapsule, DataHeader, Digests, FatalStatus,
    Fault, Framing, Header, InitRequest, InitResponse, Limits, OffendingHeader, PREFIX_BYTES_MAX,
    PduKind, PduReader, Progress, ReadyToTransfer, Side, Termination, pdu_flag,
};
use nvme::wire::{CompletionEntry, SubmissionEntry};
use units::{Rng, crc32c, crc32c_append};

const LIMITS: Limits = Limits { capsule_bytes: ADMIN_CAPSULE_DATA_BYTES, data_bytes: 1 << 17 };

/// PDUs of one side after the first, and their framing.
#[derive(Clone, Debug)]
pub(super) struct Conversation {
    pub(super) from: Side,
    pub(super) framing: Framing,
    alignment: u8,
    pub(super) pdus: Vec<(Header, Vec<u8>)>,
}

fn entry(rng: &mut Rng) -> SubmissionEntry {
    SubmissionEntry::decode(&std::array::from_fn(|_| rng.next_u64() as u8))
}

fn data_header(rng: &mut Rng, from: Side, data_bytes: u32) -> DataHeader {
    let last = rng.below(2) == 0;
    DataHeader {
        cid: rng.next_u64() as u16,
        transfer_tag: rng.next_u64() as u16,
        offset_bytes: rng.next_u64() as u32,
        data_bytes,
        last,
        success: last && from == Side::Controller && rng.below(2) == 0,
    }
}

/// A PDU that one side sends in the middle of a connection.
fn draw_pdu(rng: &mut Rng, from: Side) -> (Header, Vec<u8>) {
    let data: Vec<u8> = (0..1 + rng.below(300)).map(|_| rng.next_u64() as u8).collect();
    let bytes = data.len() as u32;
    match (from, rng.below(8)) {
        (from, 0) => {
            let status = FatalStatus::decode(rng.below(9) as u16);
            let fault = Fault { status, information: rng.next_u64() as u32 };
            let offending = OffendingHeader::new(&data[..data.len().min(128)]);
            let header = Header::termination(from, Termination { fault, offending });
            (header, Vec::new())
        }
        (Side::Host, 1..=2) => {
            (Header::Command(CommandCapsule { entry: entry(rng), data_bytes: 0 }), Vec::new())
        }
        (Side::Host, 3..=4) => {
            (Header::Command(CommandCapsule { entry: entry(rng), data_bytes: bytes }), data)
        }
        (Side::Host, _) => (Header::HostData(data_header(rng, from, bytes)), data),
        (Side::Controller, 1..=2) => {
            let completion =
                CompletionEntry::decode(&std::array::from_fn(|_| rng.next_u64() as u8));
            (Header::Response(completion), Vec::new())
        }
        (Side::Controller, 3..=4) => {
            let ready = ReadyToTransfer {
                cid: rng.next_u64() as u16,
                transfer_tag: rng.next_u64() as u16,
                offset_bytes: rng.next_u64() as u32,
                data_bytes: rng.next_u64() as u32,
            };
            (Header::ReadyToTransfer(ready), Vec::new())
        }
        (Side::Controller, _) => (Header::ControllerData(data_header(rng, from, bytes)), data),
    }
}

impl Conversation {
    pub(super) fn draw(rng: &mut Rng) -> Self {
        let from = if rng.below(2) == 0 { Side::Host } else { Side::Controller };
        let digests = Digests { header: rng.below(2) == 0, data: rng.below(2) == 0 };
        let alignment = if rng.below(2) == 0 { 0 } else { rng.below(32) as u8 };
        let framing = Framing::new(digests, alignment, crc32c_append);
        let pdus = (0..1 + rng.below(5)).map(|_| draw_pdu(rng, from)).collect();
        Self { from, framing, alignment, pdus }
    }

    fn to(&self) -> Side {
        match self.from {
            Side::Host => Side::Controller,
            Side::Controller => Side::Host,
        }
    }

    /// The bytes of a PDU.
    fn pdu(&self, header: &Header, data: &[u8]) -> Vec<u8> {
        let mut prefix = [0; PREFIX_BYTES_MAX];
        let length = self.framing.write(header, &mut prefix);
        let mut bytes = prefix[..length].to_vec();
        bytes.extend(data);
        if !data.is_empty() {
            bytes.extend(self.framing.data_digest(crc32c(data)).unwrap_or_default());
            if !self.framing.digests.data {
                bytes.truncate(bytes.len() - 4);
            }
        }
        bytes
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        self.pdus.iter().flat_map(|(header, data)| self.pdu(header, data)).collect()
    }

    /// Expected results of a reader.
    fn told(&self) -> Vec<Told> {
        let mut told = Vec::new();
        for (header, data) in &self.pdus {
            told.push(Told::Header(Box::new(*header)));
            if !data.is_empty() {
                told.push(Told::Data(data.clone()));
            }
            told.push(Told::End(true));
        }
        told
    }

    fn reader(&self) -> PduReader {
        let mut reader = PduReader::new(self.to(), LIMITS);
        reader.establish(self.framing);
        reader
    }

    /// Head of a fuzzer input that reads such conversations.
    pub(super) fn head(&self, rng: &mut Rng) -> [u8; 6] {
        let side = u8::from(self.to() == Side::Controller);
        let digests = self.framing.digests;
        let mode = side | u8::from(digests.header) << 1 | u8::from(digests.data) << 2;
        let piece = (1 + rng.below(64)) as u8;
        let capsule = if rng.below(8) == 0 { 3 } else { 200 };
        [mode | 8, self.alignment, piece, capsule, 7 + rng.below(20) as u8, 0]
    }
}

/// Removes, doubles or changes a few bytes.
pub(super) fn damage(rng: &mut Rng, bytes: &mut Vec<u8>) {
    for _ in 0..rng.below(4) {
        let at = rng.below(bytes.len() as u64 + 1) as usize;
        let end = (at + rng.below(40) as usize).min(bytes.len());
        match rng.below(6) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            // Most of the first bytes of a PDU are checked.
            2..=3 if at < bytes.len() => {
                let at = if rng.below(2) == 0 { at.min(7) } else { at };
                bytes[at] ^= 1 << rng.below(8);
            }
            4 => {
                let copy = bytes[at..end].to_vec();
                bytes.splice(at..at, copy);
            }
            _ => drop(bytes.splice(at..at, rng.next_u64().to_le_bytes())),
        }
    }
}

#[test]
fn conversations_are_read_as_they_were_written_in_pieces_of_any_size() {
    let mut with_data = 0;
    for seed in testing::seeds(0..2_000) {
        let mut rng = Rng::stream(seed, "reader");
        let conversation = Conversation::draw(&mut rng);
        let (bytes, told) = (conversation.bytes(), conversation.told());
        with_data += told.iter().filter(|told| matches!(told, Told::Data(_))).count();
        for piece in [1, 2, 3, 7, 8, 24, 100, bytes.len()] {
            let mut reader = conversation.reader();
            let heard = read(&mut reader, &bytes, piece, LIMITS, conversation.framing);
            assert_eq!(heard, told, "in pieces of {piece}");
            assert_eq!(reader.refusal(), None);
        }
        // Padded data begin at their offset, and PLEN is the length.
        let (header, data) = &conversation.pdus[0];
        let first = conversation.pdu(header, data);
        let length = u32::from_le_bytes(first[4..8].try_into().unwrap());
        assert_eq!(length as usize, first.len());
        if !data.is_empty() {
            assert_eq!(first[3] % conversation.framing.alignment_bytes, 0);
            assert_eq!(&first[usize::from(first[3])..][..data.len()], data);
        }
    }
    assert!(testing::is_repeat() || with_data > 1_000, "{with_data}");
}

#[test]
fn a_connection_begins_with_its_terms() {
    let request = Header::InitRequest(InitRequest {
        alignment: 3,
        digests: Digests { header: true, data: false },
        ready_to_transfer_max: 2,
    });
    let response = Header::InitResponse(InitResponse {
        alignment: 0,
        digests: Digests { header: true, data: false },
        host_data_max_bytes: 4096,
    });
    let mut text = String::new();
    for (to, header) in [(Side::Controller, request), (Side::Host, response)] {
        let mut bytes = [0; PREFIX_BYTES_MAX];
        assert_eq!(Framing::INITIAL.write(&header, &mut bytes), 128);
        text += &super::values::hex(&bytes[..32]);
        text += "\n\n";
        assert_eq!(bytes[16..], [0; PREFIX_BYTES_MAX - 16]);
        let mut reader = PduReader::new(to, LIMITS);
        assert_eq!(reader.advance(&bytes[..100]), (100, Progress::NeedMore(28)));
        assert_eq!(reader.advance(&bytes[100..128]), (28, Progress::Header(header)));
        assert_eq!(reader.advance(&[]), (0, Progress::End { sound: true }));
        // Before the terms only a termination is read, and after them no second ICReq or ICResp.
        assert_eq!(reader.advance(&[]), (0, Progress::NeedMore(COMMON_BYTES)));
        let kind = if to == Side::Host { PduKind::Response } else { PduKind::Command };
        let next = [kind as u8, 1, kind.header_bytes(), 0, kind.header_bytes() + 4, 0, 0, 0];
        let sequence = Progress::Bad(Fault::of(FatalStatus::Sequence));
        assert_eq!(reader.advance(&next), (8, sequence));
        let mut reader = PduReader::new(to, LIMITS);
        let digests = Digests { header: true, data: false };
        reader.establish(Framing::new(digests, 0, crc32c_append));
        assert!(matches!(reader.advance(&next), (8, Progress::NeedMore(_))));
        let mut reader = PduReader::new(to, LIMITS);
        reader.establish(Framing::INITIAL);
        assert_eq!(reader.advance(&bytes), (8, sequence));
    }
    insta::assert_snapshot!("init", text);
}

/// Description, receiver, its framing, bytes, and the expected fault.
type Case = (&'static str, Side, Framing, Vec<u8>, Option<Fault>);

/// Fault of a PDU of at least eight bytes.
fn fault_of(to: Side, framing: Framing, bytes: &[u8]) -> Option<Fault> {
    let mut reader = PduReader::new(to, Limits { capsule_bytes: 64, data_bytes: 4096 });
    if bytes[0] > 1 {
        reader.establish(framing);
    }
    let mut rest = bytes;
    loop {
        let (taken, progress) = reader.advance(rest);
        rest = &rest[taken..];
        match progress {
            Progress::Bad(fault) => {
                let termination = reader.refusal();
                assert_eq!(termination.is_none(), bytes[0] == 2 || bytes[0] == 3);
                if let Some(Header::HostTermination(told) | Header::ControllerTermination(told)) =
                    termination
                {
                    assert!(bytes.starts_with(told.offending.bytes()), "{told:?}");
                }
                return Some(fault);
            }
            Progress::NeedMore(_) => return None,
            _ => {}
        }
    }
}

/// A PDU with zeroes behind its first eight bytes, of the announced length up to a limit.
fn pdu(kind: u8, flags: u8, hlen: u8, pdo: u8, plen: u32) -> Vec<u8> {
    let mut bytes = vec![kind, flags, hlen, pdo];
    bytes.extend(plen.to_le_bytes());
    bytes.resize((plen as usize).clamp(8, 10_000), 0);
    bytes
}

#[test]
fn what_is_wrong_is_told_by_its_place() {
    use FatalStatus::{HeaderDigest, LimitExceeded, Sequence};
    let plain = Framing::INITIAL;
    let digests = |header, data| Framing::new(Digests { header, data }, 0, crc32c_append);
    let wide = Framing::new(Digests::default(), 1, crc32c_append);
    let (host, controller) = (Side::Host, Side::Controller);
    let field = |at| Some(Fault::field(at));
    let other = |status| Some(Fault::of(status));
    let patched = |mut bytes: Vec<u8>, at: usize, value: &[u8]| {
        bytes[at..][..value.len()].copy_from_slice(value);
        bytes
    };
    let (hdgst, ddgst) = (pdu_flag::HEADER_DIGEST, pdu_flag::DATA_DIGEST);
    let (last, success) = (pdu_flag::LAST, pdu_flag::SUCCESS);
    // Data of eight bytes, as announced in the header.
    let data = |kind, flags, pdo, plen| patched(pdu(kind, flags, 24, pdo, plen), 16, &[8]);
    let init = |kind, at, value: &[u8]| patched(pdu(kind, 0, 128, 0, 128), at, value);
    let wrong_digest = [data(6, hdgst, 28, 36), vec![]].concat();
    let cases: Vec<Case> = vec![
        // Kinds.
        ("no such kind", controller, plain, pdu(8, 0, 24, 0, 24), field(0)),
        ("no such kind", host, plain, pdu(0x0a, 0, 24, 0, 24), field(0)),
        ("a command to a host", host, plain, pdu(4, 0, 72, 0, 72), field(0)),
        ("a response to a controller", controller, plain, pdu(5, 0, 24, 0, 24), field(0)),
        ("an R2T to a controller", controller, plain, pdu(9, 0, 24, 0, 24), field(0)),
        // HLEN.
        ("a header too short", controller, plain, pdu(4, 0, 71, 0, 72), field(2)),
        ("a header too long", controller, plain, pdu(4, 0, 73, 0, 73), field(2)),
        ("a header of nothing", host, plain, pdu(5, 0, 0, 0, 24), field(2)),
        ("a long init", controller, plain, pdu(0, 0, 127, 0, 128), field(2)),
        // PLEN.
        ("a PDU of nothing", controller, plain, pdu(4, 0, 72, 0, 0), field(4)),
        ("shorter than its header", controller, plain, pdu(4, 0, 72, 0, 71), field(4)),
        (
            "no room for the digest",
            controller,
            digests(true, false),
            pdu(4, hdgst, 72, 0, 72),
            field(4),
        ),
        ("a response with data", host, plain, pdu(5, 0, 24, 24, 28), field(4)),
        ("an R2T with data", host, plain, pdu(9, 0, 24, 24, 28), field(4)),
        ("data without data", controller, plain, pdu(6, 0, 24, 24, 24), field(4)),
        ("padding without data", controller, plain, pdu(6, 0, 24, 32, 32), field(4)),
        ("only a digest", controller, digests(false, true), pdu(6, ddgst, 24, 24, 28), field(4)),
        ("a digest cut off", controller, digests(false, true), pdu(6, ddgst, 24, 24, 27), field(4)),
        ("data behind the end", controller, plain, pdu(4, 0, 72, 200, 100), field(4)),
        ("an init too short", controller, plain, pdu(0, 0, 128, 0, 127), field(4)),
        ("an init too long", host, plain, pdu(1, 0, 128, 0, 129), field(4)),
        ("a termination too short", controller, plain, pdu(2, 0, 24, 0, 23), field(4)),
        ("a termination too long", host, plain, pdu(3, 0, 24, 0, 153), field(4)),
        // PDO.
        ("data within the header", controller, plain, pdu(4, 0, 72, 71, 100), field(3)),
        ("data at no place", controller, plain, pdu(4, 0, 72, 0, 100), field(3)),
        (
            "data within the digest",
            controller,
            digests(true, false),
            pdu(4, hdgst, 72, 72, 100),
            field(3),
        ),
        ("data out of line", controller, plain, pdu(4, 0, 72, 74, 100), field(3)),
        ("data out of a wide line", controller, wide, pdu(6, 0, 24, 28, 36), field(3)),
        // Flags.
        ("a digest that was not agreed", controller, plain, pdu(4, hdgst, 72, 0, 76), field(1)),
        (
            "no digest where one was",
            controller,
            digests(true, false),
            pdu(4, 0, 72, 0, 72),
            field(1),
        ),
        ("a data digest that was not", controller, plain, pdu(6, ddgst, 24, 24, 36), field(1)),
        (
            "no data digest where one was",
            controller,
            digests(false, true),
            pdu(6, 0, 24, 24, 36),
            field(1),
        ),
        ("an init with a digest", controller, plain, pdu(0, hdgst, 128, 0, 128), field(1)),
        ("a termination with a digest", host, plain, pdu(3, ddgst, 24, 0, 24), field(1)),
        ("success without last", host, plain, data(7, success, 24, 32), field(1)),
        // Limits.
        ("a full capsule", controller, plain, pdu(4, 0, 72, 72, 72 + 64), None),
        (
            "an overfull capsule",
            controller,
            plain,
            pdu(4, 0, 72, 72, 72 + 65),
            other(LimitExceeded),
        ),
        ("too much data", controller, plain, pdu(6, 0, 24, 24, 24 + 4097), other(LimitExceeded)),
        ("all data in the world", host, plain, pdu(7, 0, 24, 24, u32::MAX), other(LimitExceeded)),
        (
            "the same in a capsule",
            controller,
            digests(true, true),
            pdu(4, 3, 72, 76, u32::MAX),
            other(LimitExceeded),
        ),
        ("terms with nothing special", controller, plain, pdu(0, 0, 128, 0, 128), None),
        // Contents.
        (
            "an init of another format",
            controller,
            plain,
            init(0, 8, &[1]),
            Some(Fault::unsupported(8)),
        ),
        ("a host's alignment", controller, plain, init(0, 10, &[32]), field(10)),
        ("an answer of another format", host, plain, init(1, 9, &[1]), Some(Fault::unsupported(8))),
        ("a controller's alignment", host, plain, init(1, 10, &[255, 0, 0, 16]), field(10)),
        ("little room for data", host, plain, init(1, 12, &4092_u32.to_le_bytes()), field(12)),
        ("crooked room for data", host, plain, init(1, 12, &4098_u32.to_le_bytes()), field(12)),
        ("enough room for data", host, plain, init(1, 12, &4096_u32.to_le_bytes()), None),
        ("two lengths of data", controller, plain, data(6, 0, 24, 36), field(16)),
        ("two lengths of a read", host, plain, data(7, last | success, 24, 31), field(16)),
        ("one length of data", host, plain, data(7, last | success, 24, 32), None),
        (
            "a wrong digest",
            controller,
            digests(true, false),
            patched(wrong_digest, 24, &[1, 2, 3, 4]),
            Some(Fault { status: HeaderDigest, information: 0x0403_0201 }),
        ),
        // Reserved fields have no effect.
        ("PDO without data", controller, plain, pdu(4, 0, 72, 3, 72), None),
        ("a digest of no data", controller, digests(false, true), pdu(4, ddgst, 72, 0, 72), None),
        ("other flags", controller, plain, pdu(4, 0xfc, 72, 0, 72), None),
    ];
    for (name, to, framing, bytes, fault) in &cases {
        assert_eq!(fault_of(*to, *framing, bytes), *fault, "{name}");
        // Most of these faults are found in the first eight bytes, before memory is needed for the
        // rest.
        if fault.is_some_and(|fault| fault.status == LimitExceeded) {
            assert_eq!(fault_of(*to, *framing, &bytes[..8]), *fault, "{name}");
        }
    }
    // Before and after the terms.
    fn first(to: Side, bytes: &[u8]) -> Progress<'_> {
        PduReader::new(to, LIMITS).advance(bytes).1
    }
    let sequence = Progress::Bad(Fault::of(Sequence));
    assert_eq!(first(controller, &pdu(4, 0, 72, 0, 72)), sequence);
    assert_eq!(first(host, &pdu(9, 0, 24, 0, 24)), sequence);
    assert!(matches!(first(host, &pdu(3, 0, 24, 0, 24)), Progress::Header(_)));
}

#[test]
fn new_limits_are_those_of_the_next_pdu() {
    let bytes = pdu(4, 0, 72, 72, 72 + 100);
    let mut reader = PduReader::new(Side::Controller, LIMITS);
    reader.establish(Framing::INITIAL);
    assert!(matches!(reader.advance(&bytes), (72, Progress::Header(_))));
    // A PDU that was accepted is read to its end.
    reader.set_limits(Limits { capsule_bytes: 99, ..LIMITS });
    assert!(matches!(reader.advance(&bytes[72..]), (100, Progress::Data(_))));
    assert_eq!(reader.advance(&[]), (0, Progress::End { sound: true }));
    let fault = Fault::of(FatalStatus::LimitExceeded);
    assert_eq!(reader.advance(&bytes), (8, Progress::Bad(fault)));
}

#[test]
fn damaged_data_are_told_at_their_end_and_the_connection_goes_on() {
    let framing = Framing::new(Digests { header: true, data: true }, 0, crc32c_append);
    let data = b"123456789".to_vec();
    let header = Header::HostData(DataHeader {
        cid: 1,
        transfer_tag: 2,
        offset_bytes: 0,
        data_bytes: 9,
        last: true,
        success: false,
    });
    let pdus = vec![(header, data)];
    let conversation = Conversation { from: Side::Host, framing, alignment: 0, pdus };
    let good = conversation.bytes();
    assert_eq!(good[good.len() - 4..], 0xe306_9283_u32.to_le_bytes());
    let mut bytes = good.clone();
    bytes[30] ^= 4;
    bytes.extend(&good);
    let told = read(&mut conversation.reader(), &bytes, 5, LIMITS, framing);
    let ends: Vec<_> = told.iter().filter(|told| matches!(told, Told::End(_))).collect();
    assert_eq!(ends, [&Told::End(false), &Told::End(true)]);
    // A damaged header ends the connection, because its command is unknown.
    for at in 8..24 {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        let told = read(&mut conversation.reader(), &bytes, 5, LIMITS, framing);
        let received = u32::from_le_bytes(good[24..28].try_into().unwrap());
        let fault = Fault { status: FatalStatus::HeaderDigest, information: received };
        assert_eq!(told, [Told::Bad(fault)]);
    }
}

#[test]
fn data_can_be_received_where_they_belong() {
    let data = vec![7; 100];
    let header =
        Header::Command(CommandCapsule { entry: entry(&mut Rng::new(1)), data_bytes: 100 });
    let framing = Framing::new(Digests { header: false, data: true }, 0, crc32c_append);
    let pdus = vec![(header, data)];
    let conversation = Conversation { from: Side::Host, framing, alignment: 0, pdus };
    let bytes = conversation.bytes();
    let mut reader = conversation.reader();
    assert_eq!(reader.advance(&bytes[..72]), (72, Progress::Header(header)));
    // Exactly the data, without the digest behind them.
    assert_eq!(reader.advance(&[]), (0, Progress::NeedMore(100)));
    let piece = &bytes[72..102];
    let (taken, progress) = reader.advance(piece);
    let Progress::Data(given) = progress else { panic!("{progress:?}") };
    assert!(taken == 30 && std::ptr::eq(given, piece), "not a copy");
    assert_eq!(reader.advance(&[]), (0, Progress::NeedMore(70)));
    assert!(matches!(reader.advance(&bytes[102..172]), (70, Progress::Data(_))));
    assert_eq!(reader.advance(&[]), (0, Progress::NeedMore(4)));
    assert_eq!(reader.advance(&bytes[172..]), (4, Progress::End { sound: true }));
    assert!(
        size_of::<PduReader>() < 320,
        "a connection holds a header: {}",
        size_of::<PduReader>()
    );
}
