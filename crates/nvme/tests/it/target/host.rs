//! The host's end of a connection, built from the codecs.

use nvme::wire::pdu::{
    CommandCapsule, DataHeader, Digests, Framing, Header, InitRequest, Limits, PREFIX_BYTES_MAX,
    PduReader, Progress, Side,
};
use nvme::wire::{
    AdminCommand, CNTLID_DYNAMIC, CommonFields, CompletionEntry, Connect, ConnectData,
    FabricsCommand, IoCommand, Nqn, SglDescriptor, SubmissionEntry,
};
use units::crc32c_append;

/// A PDU and its data.
pub(super) type Pdu = (Header, Vec<u8>);

/// Encoder of a host's PDUs, and reader of the answers.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) framing: Framing,
    reader: PduReader,
    pub(super) is_sound: bool,
}

pub(super) const HOST_NQN: &str =
    "nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555";

impl Host {
    pub(super) fn new() -> Self {
        let limits = Limits { capsule_bytes: 0, data_bytes: 1 << 20 };
        let reader = PduReader::new(Side::Host, limits);
        Self { framing: Framing::INITIAL, reader, is_sound: true }
    }

    /// The bytes of a PDU.
    pub(super) fn pdu(&self, header: &Header, data: &[u8]) -> Vec<u8> {
        let mut prefix = [0; PREFIX_BYTES_MAX];
        let end = self.framing.write(header, &mut prefix);
        let mut bytes = prefix[..end].to_vec();
        bytes.extend_from_slice(data);
        if !data.is_empty() {
            let checksum = crc32c_append(0, data);
            bytes.extend(self.framing.data_digest(checksum).iter().flatten());
        }
        bytes
    }

    /// ICReq as Linux sends it, with digests and alignment; later PDUs are framed accordingly.
    pub(super) fn init(&mut self, digests: Digests, alignment: u8) -> Vec<u8> {
        let request = InitRequest { alignment, digests, ready_to_transfer_max: 0 };
        let bytes = self.pdu(&Header::InitRequest(request), &[]);
        // The target accepts unaligned data, and aligns the data that it sends.
        self.framing = Framing::new(digests, 0, crc32c_append);
        bytes
    }

    /// Sets the terms after ICResp.
    pub(super) fn establish(&mut self, digests: Digests, alignment: u8) {
        self.reader.establish(Framing::new(digests, alignment, crc32c_append));
    }

    pub(super) fn command(&self, entry: SubmissionEntry, data: &[u8]) -> Vec<u8> {
        let data_bytes = data.len() as u32;
        self.pdu(&Header::Command(CommandCapsule { entry, data_bytes }), data)
    }

    /// The PDUs in some bytes.
    pub(super) fn read(&mut self, mut bytes: &[u8]) -> Vec<Pdu> {
        let mut pdus: Vec<Pdu> = Vec::new();
        loop {
            let (taken, progress) = self.reader.advance(bytes);
            bytes = &bytes[taken..];
            match progress {
                Progress::NeedMore(_) => return pdus,
                Progress::Header(header) => pdus.push((header, Vec::new())),
                Progress::Data(data) => pdus.last_mut().unwrap().1.extend_from_slice(data),
                Progress::End { sound } => self.is_sound &= sound,
                Progress::Bad(fault) => panic!("the target sent {fault:?}"),
            }
        }
    }
}

pub(super) fn in_capsule(bytes: usize) -> SglDescriptor {
    SglDescriptor::InCapsule { offset: 0, bytes: bytes as u32 }
}

pub(super) fn transport(bytes: usize) -> SglDescriptor {
    SglDescriptor::Transport { bytes: bytes as u32 }
}

pub(super) fn admin(
    cid: u16,
    nsid: u32,
    data: SglDescriptor,
    command: AdminCommand,
) -> SubmissionEntry {
    command.encode(CommonFields { cid, nsid, data })
}

pub(super) fn io(cid: u16, data: SglDescriptor, command: IoCommand) -> SubmissionEntry {
    command.encode(CommonFields { cid, nsid: 1, data })
}

/// Connect of a queue: the entry and its data.
pub(super) fn connect(
    cid: u16,
    (queue, size): (u16, u16),
    (controller, subsystem): (Option<u16>, &str),
    keep_alive_ms: u32,
    attributes: u8,
) -> (SubmissionEntry, [u8; 1024]) {
    let command = Connect { format: 0, queue, size, attributes, keep_alive_ms };
    let data = ConnectData {
        host_id: [0x11; 16],
        controller: controller.unwrap_or(CNTLID_DYNAMIC),
        subsystem: Nqn::new(subsystem).unwrap(),
        host: Nqn::new(HOST_NQN).unwrap(),
    };
    (FabricsCommand::Connect(command).encode(cid, in_capsule(1024)), data.encode())
}

/// H2CData.
pub(super) fn host_data(
    (cid, transfer_tag): (u16, u16),
    offset_bytes: u32,
    data_bytes: usize,
    last: bool,
) -> Header {
    let data_bytes = data_bytes as u32;
    let success = false;
    Header::HostData(DataHeader { cid, transfer_tag, offset_bytes, data_bytes, last, success })
}

/// The one completion among some PDUs.
pub(super) fn completion(pdus: &[Pdu]) -> CompletionEntry {
    let mut completions = pdus.iter().filter_map(|(header, _)| match header {
        Header::Response(entry) => Some(*entry),
        _ => None,
    });
    let first = completions.next().unwrap_or_else(|| panic!("no completion in {pdus:?}"));
    assert_eq!(completions.next(), None, "two completions");
    first
}

/// Data in some PDUs, which have to be in order.
pub(super) fn data(pdus: &[Pdu]) -> Vec<u8> {
    let mut all = Vec::new();
    for (header, data) in pdus {
        if let Header::ControllerData(header) = header {
            assert_eq!(header.offset_bytes as usize, all.len(), "out of order");
            all.extend_from_slice(data);
        }
    }
    all
}
