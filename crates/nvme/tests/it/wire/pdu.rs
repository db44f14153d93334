//! The bytes of every PDU.

use super::layout::Layout;
use nvme::wire::pdu::{
    CommandCapsule, CommonHeader, DataHeader, Digests, FatalStatus, Fault, Framing, Header,
    OffendingHeader, PREFIX_BYTES_MAX, PduKind, ReadyToTransfer, Side, Termination,
};
use nvme::wire::{
    BlockCount, BlockRange, CommonFields, CompletionEntry, IoCommand, SglDescriptor, StatusField,
    Transfer,
};
use units::{crc32c, crc32c_append};

#[test]
fn common_headers() {
    let layout = Layout::of(8, CommonHeader::FIELDS);
    let example = CommonHeader {
        kind: PduKind::Command as u8,
        flags: 3,
        header_bytes: 72,
        data_offset: 76,
        pdu_bytes: 0x0102_0304,
    };
    layout.check(|bytes| Some(CommonHeader::decode(bytes)), CommonHeader::encode, &[example]);
}

#[test]
fn every_kind_has_its_number_length_and_sender() {
    let text = (0..=255_u8).filter_map(PduKind::from_bits).map(|kind| {
        let (bits, length) = (kind as u8, kind.header_bytes());
        format!("{bits:02x} {length:>3} {:<10} {kind:?}", format!("{:?}", kind.sender()))
    });
    insta::assert_snapshot!("pdu-kinds", text.collect::<Vec<_>>().join("\n"));
}

#[test]
fn statuses_of_terminations_have_their_numbers() {
    for number in 0..20 {
        let status = FatalStatus::decode(number);
        assert_eq!(status.encode(), number);
        assert_eq!(matches!(status, FatalStatus::Other(_)), !(1..=6).contains(&number));
    }
}

#[test]
fn prefixes() {
    let framing = Framing::new(Digests { header: true, data: true }, 3, crc32c_append);
    let sgl = |bytes| SglDescriptor::InCapsule { offset: 0, bytes };
    let blocks = BlockRange { lba: 0x10, blocks: BlockCount::new(8).unwrap() };
    let write = IoCommand::Write(Transfer::new(blocks));
    let entry = write.encode(CommonFields { cid: 0x1001, nsid: 1, data: sgl(4096) });
    let data = DataHeader {
        cid: 0x1001,
        transfer_tag: 0x2002,
        offset_bytes: 0x3003,
        data_bytes: 0x4004,
        last: true,
        success: false,
    };
    let ready = ReadyToTransfer { cid: 1, transfer_tag: 2, offset_bytes: 3, data_bytes: 0x1_0000 };
    let fault = Fault { status: FatalStatus::InvalidHeaderField, information: 0x0304_0506 };
    let offending = OffendingHeader::new(&[4, 0, 71, 0, 72, 0, 0, 0]);
    let entries = "8 64 SQE\n72 4 HDGST";
    let transfer = "8 2 CCCID\n+ 2 TTAG\n+ 4 DATAO\n+ 4 DATAL\n24 4 HDGST";
    let cases = [
        ("CapsuleCmd", Header::Command(CommandCapsule { entry, data_bytes: 4096 }), entries),
        ("CapsuleCmd", Header::Command(CommandCapsule { entry, data_bytes: 0 }), entries),
        (
            "CapsuleResp",
            Header::Response(CompletionEntry::new(0x1001, StatusField::FAILED_FAST)),
            "8 16 CQE\n24 4 HDGST",
        ),
        ("H2CData", Header::HostData(data), transfer),
        ("C2HData", Header::ControllerData(DataHeader { success: true, ..data }), transfer),
        (
            "R2T",
            Header::ReadyToTransfer(ready),
            "8 2 CCCID\n+ 2 TTAG\n+ 4 R2TO\n+ 4 R2TL\n24 4 HDGST",
        ),
        (
            "C2HTermReq",
            Header::termination(Side::Controller, Termination { fault, offending }),
            "8 2 FES\n+ 4 FEI\n24 128 data",
        ),
    ];
    let mut text = String::new();
    for (name, header, fields) in cases {
        let mut bytes = [0xee; PREFIX_BYTES_MAX];
        let length = framing.write(&header, &mut bytes);
        let layout = Layout::of(PREFIX_BYTES_MAX, CommonHeader::FIELDS).and(fields);
        let dump = layout.dump(&bytes);
        text += &format!("{name}, {length} bytes before the data\n{dump}\n");
        if !header.kind().is_termination() {
            let digest = usize::from(header.kind().header_bytes());
            let sum = u32::from_le_bytes(bytes[digest..][..4].try_into().unwrap());
            assert_eq!(sum, crc32c(&bytes[..digest]), "{name}");
        }
    }
    insta::assert_snapshot!("pdus", text.replace(" 00 00 00 00 00 00 00 00", " 00×8"));
}

#[test]
fn digests_are_those_of_the_standard() {
    let framing = Framing::new(Digests { header: false, data: true }, 0, crc32c_append);
    let digest = |data: &[u8]| framing.data_digest((framing.checksum)(0, data)).unwrap();
    assert_eq!(digest(b"123456789"), [0x83, 0x92, 0x06, 0xe3]);
    assert_eq!(digest(&[0; 32]), [0xaa, 0x36, 0x91, 0x8a]);
    // The checksum of pieces is the same.
    let pieces = [&b"1234"[..], b"", b"56789"];
    let sum = pieces.iter().fold(0, |sum, piece| (framing.checksum)(sum, piece));
    assert_eq!(framing.data_digest(sum), Some([0x83, 0x92, 0x06, 0xe3]));
    assert_eq!(Framing::INITIAL.data_digest(0), None);
}

#[test]
fn alignment_is_bounded() {
    for (alignment, bytes) in [(0, 4), (1, 8), (31, 128), (32, 128), (255, 128)] {
        let framing = Framing::new(Digests::default(), alignment, crc32c_append);
        assert_eq!(framing.alignment_bytes, bytes);
    }
}
