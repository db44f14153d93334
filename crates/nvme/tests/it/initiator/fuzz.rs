//! Entry point of the fuzz target: a target with arbitrary answers, and a host with commands of
//! every kind in flight. The tests call it with seeded inputs.

use nvme::initiator::{CommandData, Connection, Output, Terms, TransportEvent};
use nvme::wire::pdu::{
    DataHeader, Digests, Framing, Header, InitResponse, PREFIX_BYTES_MAX, ReadyToTransfer,
};
use nvme::wire::{
    BlockCount, BlockRange, CommonFields, CompletionEntry, IoCommand, SglDescriptor, StatusField,
    Transfer,
};
use units::crc32c_append;

/// Bytes of the input that one step of the target takes.
const STEP_BYTES: usize = 6;

/// The host, with the room or data of each command by slot.
struct Host {
    connection: Connection,
    bytes: Vec<Option<CommandData>>,
    /// CIDs of commands that were sent, the newest last.
    cids: Vec<u16>,
    submitted: usize,
    completed: usize,
}

impl Host {
    fn submit(&mut self, kind: u8) {
        let range = BlockRange { lba: 0, blocks: BlockCount::new(8).unwrap() };
        let transfer = Transfer::new(range);
        let (command, data) = match kind % 4 {
            0 => (IoCommand::Read(transfer), CommandData::ToHost { bytes: 4096 }),
            1 => (IoCommand::Write(transfer), CommandData::ToController { bytes: 4096 }),
            2 => (IoCommand::Write(transfer), CommandData::ToController { bytes: 512 }),
            _ => (IoCommand::Flush, CommandData::None),
        };
        let common = CommonFields { cid: 0, nsid: 1, data: SglDescriptor::NO_DATA };
        if let Some(slot) = self.connection.submit(command.encode(common), data) {
            assert!(self.bytes[slot.index()].replace(data).is_none(), "a slot is one command's");
            self.submitted += 1;
        }
    }

    fn send(&mut self) {
        while let Some(output) = self.connection.poll_output() {
            let Output::Send(pdu) = output else { continue };
            if pdu.prefix()[0] == 4 {
                self.cids.push(u16::from_le_bytes([pdu.prefix()[10], pdu.prefix()[11]]));
            }
            let Some(piece) = pdu.data() else { continue };
            let Some(CommandData::ToController { bytes }) = self.bytes[piece.slot.index()] else {
                panic!("data of a command that has none")
            };
            assert!(piece.bytes > 0 && piece.offset_bytes + piece.bytes <= bytes);
        }
    }

    fn receive(&mut self, mut bytes: &[u8]) {
        loop {
            let (taken, event) = self.connection.handle_bytes(bytes);
            bytes = &bytes[taken..];
            self.connection.check_invariants();
            match event {
                TransportEvent::NeedMore(missing) => {
                    assert!(missing > 0 && bytes.is_empty());
                    return;
                }
                TransportEvent::Over => {
                    assert!(bytes.is_empty() && self.connection.end().is_some());
                    return;
                }
                TransportEvent::Data { slot, offset_bytes, bytes } => {
                    let Some(CommandData::ToHost { bytes: room }) = self.bytes[slot.index()] else {
                        panic!("data for a command that has no room")
                    };
                    assert!(offset_bytes as usize + bytes.len() <= room as usize);
                }
                TransportEvent::Completed { slot, .. } => {
                    assert!(self.bytes[slot.index()].take().is_some(), "it was in flight");
                    self.completed += 1;
                }
            }
        }
    }
}

/// Plays a conversation: the first byte selects the terms, then every [`STEP_BYTES`] bytes are a
/// step of the target. Some steps are valid, some nearly so, and some are arbitrary bytes.
///
/// # Panics
///
/// When the connection breaks its promises.
pub(crate) fn check(input: &[u8]) {
    let Some((&head, steps)) = input.split_first() else { return };
    let digests = Digests { header: head & 1 != 0, data: head & 2 != 0 };
    let commands = 1 + u16::from(head >> 4);
    let mut host = Host {
        connection: Connection::new(Terms {
            digests,
            commands,
            capsule_bytes: 512,
            transfer_max_bytes: 4096,
            checksum: crc32c_append,
        }),
        bytes: vec![None; commands.into()],
        cids: Vec::new(),
        submitted: 0,
        completed: 0,
    };
    let mut framing = Framing::INITIAL;
    if head & 4 == 0 {
        let response = InitResponse { alignment: head >> 5, digests, host_data_max_bytes: 4096 };
        host.receive(&pdu(&framing, &Header::InitResponse(response), &[]));
        framing = Framing::new(digests, 0, crc32c_append);
    }
    for step in steps.chunks(STEP_BYTES) {
        let &[kind, which, a, b, c, d] = step else {
            host.receive(step);
            break;
        };
        host.submit(kind >> 4);
        host.send();
        let number = usize::from(which) % host.cids.len().max(1);
        let cid = host.cids.iter().rev().nth(number).copied().unwrap_or(which.into());
        let cid = cid ^ u16::from(d >> 5) << 9;
        let offset_bytes = u32::from(a) << 5;
        let data_bytes = (u32::from(b) << 5).max(1);
        match kind % 8 {
            0 => host.receive(step),
            1 | 2 => {
                let status = StatusField::from_bits(u16::from(c & 3) * u16::from(b));
                let completion = CompletionEntry::new(cid, status);
                host.receive(&pdu(&framing, &Header::Response(completion), &[]));
            }
            3 => {
                let ready =
                    ReadyToTransfer { cid, transfer_tag: c.into(), offset_bytes, data_bytes };
                host.receive(&pdu(&framing, &Header::ReadyToTransfer(ready), &[]));
            }
            _ => {
                let (last, success) = (c & 1 != 0, c & 3 == 3);
                let (transfer_tag, data_bytes) = (0, if c & 4 == 0 { 4096 } else { data_bytes });
                let offset_bytes = if c & 8 == 0 { 0 } else { offset_bytes };
                let header =
                    DataHeader { cid, transfer_tag, offset_bytes, data_bytes, last, success };
                let mut bytes =
                    pdu(&framing, &Header::ControllerData(header), &vec![d; data_bytes as usize]);
                if c & 0x70 == 0x70 {
                    let at = usize::from(a) % bytes.len();
                    bytes[at] ^= 1 << (b % 8);
                }
                for piece in bytes.chunks(1 + usize::from(d) * 16) {
                    host.receive(piece);
                }
            }
        }
    }
    host.send();
    let in_flight = host.bytes.iter().flatten().count();
    assert_eq!(in_flight, host.connection.in_flight());
    assert_eq!(host.submitted, host.completed + in_flight);
    assert!(host.connection.held_bytes() <= Connection::held_bytes_max(commands));
}

fn pdu(framing: &Framing, header: &Header, data: &[u8]) -> Vec<u8> {
    let mut prefix = [0; PREFIX_BYTES_MAX];
    let end = framing.write(header, &mut prefix);
    let mut bytes = prefix[..end].to_vec();
    bytes.extend_from_slice(data);
    if !data.is_empty() {
        bytes.extend(framing.data_digest(crc32c_append(0, data)).iter().flatten());
    }
    bytes
}
