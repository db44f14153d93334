//! Hostile targets: each ends its connection, with the right reason, and makes the host hold no
//! more memory than its bound.

use super::fuzz;
use nvme::initiator::{CommandData, Connection, End, Output, Slot, Terms, TransportEvent};
use nvme::wire::pdu::{
    DataHeader, Digests, FatalStatus, Fault, Framing, Header, InitResponse, PREFIX_BYTES_MAX,
    ReadyToTransfer,
};
use nvme::wire::{
    BlockCount, BlockRange, CommonFields, CompletionEntry, IoCommand, SglDescriptor, StatusCode,
    StatusField, SubmissionEntry, Transfer,
};
use units::{Rng, crc32c_append};

const READ_BYTES: u32 = 8192;

struct Hostile {
    connection: Connection,
    framing: Framing,
    read: (Slot, u16),
    write: (Slot, u16),
    flush: (Slot, u16),
}

fn terms(digests: Digests) -> Terms {
    Terms {
        digests,
        commands: 8,
        capsule_bytes: 0,
        transfer_max_bytes: 65_536,
        checksum: crc32c_append,
    }
}

fn response(digests: Digests) -> Header {
    Header::InitResponse(InitResponse { alignment: 0, digests, host_data_max_bytes: 4096 })
}

fn entry(command: IoCommand) -> SubmissionEntry {
    command.encode(CommonFields { cid: 0, nsid: 1, data: SglDescriptor::NO_DATA })
}

impl Hostile {
    /// A host with a read, a write and a flush in flight.
    fn new(digests: Digests) -> Self {
        let mut connection = Connection::new(terms(digests));
        let range = BlockRange { lba: 0, blocks: BlockCount::new(16).unwrap() };
        let transfer = Transfer::new(range);
        let sent = [
            (IoCommand::Read(transfer), CommandData::ToHost { bytes: READ_BYTES }),
            (IoCommand::Write(transfer), CommandData::ToController { bytes: READ_BYTES }),
            (IoCommand::Flush, CommandData::None),
        ];
        let slots = sent.map(|(command, data)| connection.submit(entry(command), data).unwrap());
        let mut cids = Vec::new();
        let first = Framing::INITIAL;
        let mut own = Self {
            connection,
            framing: first,
            read: (slots[0], 0),
            write: (slots[1], 0),
            flush: (slots[2], 0),
        };
        let Some(Output::Send(init)) = own.connection.poll_output() else { panic!() };
        assert_eq!((init.prefix()[0], init.prefix().len()), (0, 128));
        assert!(own.connection.poll_output().is_none(), "nothing goes before ICResp");
        assert_eq!(own.send(&response(digests), &[]), None);
        own.framing = Framing::new(digests, 0, crc32c_append);
        while let Some(Output::Send(pdu)) = own.connection.poll_output() {
            assert_eq!((pdu.prefix()[0], pdu.data()), (4, None));
            cids.push(u16::from_le_bytes([pdu.prefix()[10], pdu.prefix()[11]]));
        }
        (own.read.1, own.write.1, own.flush.1) = (cids[0], cids[1], cids[2]);
        own
    }

    fn pdu(&self, header: &Header, data: &[u8]) -> Vec<u8> {
        let mut prefix = [0; PREFIX_BYTES_MAX];
        let end = self.framing.write(header, &mut prefix);
        let mut bytes = prefix[..end].to_vec();
        bytes.extend_from_slice(data);
        if !data.is_empty() {
            bytes.extend(self.framing.data_digest(crc32c_append(0, data)).iter().flatten());
        }
        bytes
    }

    /// Sends a PDU. Returns the completion, if there is one.
    fn send(&mut self, header: &Header, data: &[u8]) -> Option<(Slot, StatusField)> {
        let bytes = self.pdu(header, data);
        self.feed(&bytes)
    }

    fn feed(&mut self, mut bytes: &[u8]) -> Option<(Slot, StatusField)> {
        let mut completed = None;
        loop {
            let (taken, event) = self.connection.handle_bytes(bytes);
            bytes = &bytes[taken..];
            match event {
                TransportEvent::NeedMore(_) | TransportEvent::Over => break,
                TransportEvent::Completed { slot, completion } => {
                    assert_eq!(completed.replace((slot, completion.status)), None);
                }
                TransportEvent::Data { offset_bytes, bytes, .. } => {
                    assert!(offset_bytes as usize + bytes.len() <= READ_BYTES as usize);
                }
            }
            self.connection.check_invariants();
        }
        self.connection.check_invariants();
        completed
    }

    fn data(
        &mut self,
        cid: u16,
        offset_bytes: u32,
        bytes: usize,
        (last, success): (bool, bool),
    ) -> Option<(Slot, StatusField)> {
        let data_bytes = bytes as u32;
        let header = DataHeader { cid, transfer_tag: 0, offset_bytes, data_bytes, last, success };
        self.send(&Header::ControllerData(header), &vec![1; bytes])
    }

    fn ask(&mut self, cid: u16, offset_bytes: u32, data_bytes: u32) {
        let ready = ReadyToTransfer { cid, transfer_tag: 77, offset_bytes, data_bytes };
        assert_eq!(self.send(&Header::ReadyToTransfer(ready), &[]), None);
    }

    fn respond(&mut self, cid: u16, status: StatusField) -> Option<(Slot, StatusField)> {
        self.send(&Header::Response(CompletionEntry::new(cid, status)), &[])
    }

    /// Reason why the connection ended, which was reported before the close.
    fn end(&mut self) -> Option<FatalStatus> {
        let end = self.connection.end()?;
        let End::Broken(Fault { status, .. }) = end else { panic!("{end:?}") };
        let Some(Output::Send(pdu)) = self.connection.poll_output() else { panic!() };
        assert_eq!(pdu.prefix()[0], 2, "H2CTermReq");
        assert!(matches!(self.connection.poll_output(), Some(Output::Close)));
        assert!(self.connection.poll_output().is_none());
        assert!(self.connection.submit(entry(IoCommand::Flush), CommandData::None).is_none());
        Some(status)
    }
}

/// Reason why a connection ends if a target acts like this, regardless of completions on the way.
fn end<T>(act: impl Fn(&mut Hostile) -> T) -> Option<FatalStatus> {
    let mut hostile = Hostile::new(Digests::default());
    act(&mut hostile);
    hostile.end()
}

const MORE: (bool, bool) = (false, false);
const LAST: (bool, bool) = (true, false);
const DONE: (bool, bool) = (true, true);
const SUCCESS: StatusField = StatusField::SUCCESS;

#[test]
fn data_that_do_not_belong_end_the_connection() {
    let out_of_range = Some(FatalStatus::DataOutOfRange);
    let invalid = Some(FatalStatus::InvalidHeaderField);
    assert_eq!(end(|target| target.data(target.read.1, 0, 8192, LAST)), None);
    assert_eq!(end(|target| target.data(target.read.1, 0, 4096, MORE)), None);
    assert_eq!(end(|target| target.data(target.read.1, 512, 4096, MORE)), out_of_range);
    assert_eq!(end(|target| target.data(target.read.1, u32::MAX, 8, MORE)), out_of_range);
    assert_eq!(end(|target| target.data(target.read.1, 0, 8193, LAST)), out_of_range);
    assert_eq!(end(|target| target.data(target.read.1, 0, 4096, LAST)), out_of_range);
    assert_eq!(end(|target| target.data(target.read.1, 0, 4096, DONE)), out_of_range);
    assert_eq!(end(|target| target.data(target.write.1, 0, 4096, MORE)), invalid);
    assert_eq!(end(|target| target.data(target.flush.1, 0, 4096, MORE)), invalid);
    assert_eq!(end(|target| target.data(0x3ff, 0, 4096, MORE)), invalid, "no such command");
    let other = end(|target| target.data(target.read.1 ^ 1 << 10, 0, 4096, MORE));
    assert_eq!(other, invalid, "another command in the same slot");
    let limit = Some(FatalStatus::LimitExceeded);
    assert_eq!(end(|target| target.data(target.read.1, 0, 65_537, MORE)), limit);
}

#[test]
fn data_that_may_not_be_asked_for_end_the_connection() {
    let out_of_range = Some(FatalStatus::DataOutOfRange);
    let invalid = Some(FatalStatus::InvalidHeaderField);
    assert_eq!(end(|target| target.ask(target.write.1, 0, 8192)), None);
    assert_eq!(end(|target| target.ask(target.write.1, 0, 8193)), out_of_range);
    assert_eq!(end(|target| target.ask(target.write.1, 4096, 4096)), out_of_range);
    assert_eq!(end(|target| target.ask(target.write.1, u32::MAX, u32::MAX)), out_of_range);
    assert_eq!(end(|target| target.ask(target.write.1, 0, 0)), invalid);
    assert_eq!(end(|target| target.ask(target.read.1, 0, 512)), invalid);
    assert_eq!(end(|target| target.ask(target.flush.1, 0, 512)), invalid);
    assert_eq!(end(|target| target.ask(0x3fe, 0, 512)), invalid);
    let twice = end(|target| {
        target.ask(target.write.1, 0, 4096);
        target.ask(target.write.1, 0, 4096);
    });
    assert_eq!(twice, Some(FatalStatus::LimitExceeded), "one at a time");
}

#[test]
fn a_success_without_the_data_ends_the_connection() {
    let sequence = Some(FatalStatus::Sequence);
    assert_eq!(end(|target| target.respond(target.read.1, SUCCESS)), sequence);
    assert_eq!(end(|target| target.respond(target.write.1, SUCCESS)), sequence);
    let half = end(|target| {
        target.data(target.read.1, 0, 4096, MORE);
        target.respond(target.read.1, SUCCESS);
    });
    assert_eq!(half, sequence);
    let invalid = Some(FatalStatus::InvalidHeaderField);
    let twice = end(|target| {
        assert_eq!(target.respond(target.flush.1, SUCCESS), Some((target.flush.0, SUCCESS)));
        target.respond(target.flush.1, SUCCESS);
    });
    assert_eq!(twice, invalid, "one answer for each command");
    assert_eq!(end(|target| target.respond(7, SUCCESS)), invalid);
    assert_eq!(end(|target| target.respond(0xffff, SUCCESS)), invalid);
}

#[test]
fn what_does_not_come_first_or_comes_twice_ends_the_connection() {
    let none = Digests::default();
    assert_eq!(end(|target| target.send(&response(none), &[])), Some(FatalStatus::Sequence));
    let other = Digests { header: true, data: false };
    let mut connection = Connection::new(terms(none));
    let mut prefix = [0; PREFIX_BYTES_MAX];
    let bytes = Framing::INITIAL.write(&response(other), &mut prefix);
    while connection.handle_bytes(&prefix[..bytes]).1 != TransportEvent::Over {}
    let fault = Fault::field(11);
    assert_eq!(connection.end(), Some(End::Broken(fault)), "digests that nobody asked for");
}

#[test]
fn a_failure_ends_a_command_wherever_it_is() {
    let failed = StatusCode::Internal.for_good();
    let mut target = Hostile::new(Digests::default());
    target.data(target.read.1, 0, 4096, MORE);
    assert_eq!(target.respond(target.read.1, failed), Some((target.read.0, failed)));
    target.ask(target.write.1, 0, 8192);
    let Some(Output::Send(pdu)) = target.connection.poll_output() else { panic!() };
    assert_eq!(pdu.data().map(|piece| (piece.offset_bytes, piece.bytes)), Some((0, 4096)));
    assert_eq!(target.respond(target.write.1, failed), Some((target.write.0, failed)));
    assert!(target.connection.poll_output().is_none(), "the rest is not sent");
    assert_eq!(target.respond(target.flush.1, SUCCESS), Some((target.flush.0, SUCCESS)));
    assert_eq!((target.connection.in_flight(), target.connection.end()), (0, None));
}

#[test]
fn data_with_a_wrong_digest_fail_their_command_alone() {
    let damaged = StatusCode::TransientTransport.for_now();
    for success in [false, true] {
        let mut target = Hostile::new(Digests { header: true, data: true });
        let cid = target.read.1;
        let header = DataHeader {
            cid,
            transfer_tag: 0,
            offset_bytes: 0,
            data_bytes: READ_BYTES,
            last: true,
            success,
        };
        let mut bytes = target.pdu(&Header::ControllerData(header), &[1; READ_BYTES as usize]);
        bytes[100] ^= 4;
        let told = target.feed(&bytes);
        let told = told.or_else(|| target.respond(cid, SUCCESS));
        assert_eq!(told, Some((target.read.0, damaged)));
        assert_eq!(target.respond(target.flush.1, SUCCESS), Some((target.flush.0, SUCCESS)));
        assert_eq!(target.connection.end(), None);
    }
}

#[test]
fn a_connection_holds_what_it_says() {
    let most = Connection::held_bytes_max(127);
    let connection = Connection::new(Terms { commands: 127, ..terms(Digests::default()) });
    assert!(connection.held_bytes() <= most && most < 24 << 10, "{most} bytes");
}

#[test]
fn random_and_damaged_bytes_never_do_harm() {
    for seed in testing::seeds(0..5_000) {
        let mut rng = Rng::stream(seed, "hostile");
        let bytes = rng.below(600);
        let input: Vec<u8> = (0..bytes).map(|_| rng.next_u64() as u8).collect();
        fuzz::check(&input);
    }
}
