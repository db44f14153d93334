//! A host that blocks, made of the codecs: it knows nothing of how the target is written.

use nvme::wire::pdu::{
    CommandCapsule, DataHeader, Digests, Framing, Header, InitRequest, Limits, PREFIX_BYTES_MAX,
    PduReader, Progress, Side,
};
use nvme::wire::{
    AdminCommand, BlockCount, BlockRange, CNTLID_DYNAMIC, Cns, CommonFields, CompletionEntry,
    Configuration, Connect, ConnectData, Connected, DISCOVERY_BYTES, DiscoveryHeader,
    DiscoveryRecord, FabricsCommand, GetFeatures, GetLogPage, Identify, IoCommand, LogPage, Nqn,
    Property, PropertyGet, PropertySet, PropertySize, SglDescriptor, SubmissionEntry, Transfer,
};
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use units::crc32c_append;

pub(crate) const HOST_NQN: &str =
    "nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555";

/// What a host says when it connects a queue.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    pub(crate) subsystem: String,
    pub(crate) host: String,
    pub(crate) digests: Digests,
    pub(crate) keep_alive_ms: u32,
    /// CATTR.
    pub(crate) attributes: u8,
    /// Host identifier.
    pub(crate) host_id: [u8; 16],
}

impl Terms {
    pub(crate) fn new(subsystem: &str) -> Self {
        Self {
            subsystem: subsystem.into(),
            host: HOST_NQN.into(),
            digests: Digests::default(),
            keep_alive_ms: 0,
            attributes: 0,
            host_id: [0x11; 16],
        }
    }
}

/// A command that is answered.
#[derive(Clone, Debug)]
pub(crate) struct Answered {
    pub(crate) entry: CompletionEntry,
    pub(crate) data: Vec<u8>,
}

/// One connection of a host: a queue.
#[derive(Debug)]
pub(crate) struct Queue {
    pub(crate) stream: TcpStream,
    framing: Framing,
    reader: PduReader,
    host_data_max_bytes: u32,
    cid: u16,
    /// Data of writes that the target has to ask for.
    to_send: BTreeMap<u16, Vec<u8>>,
    /// Data of reads as far as they are there.
    coming: BTreeMap<u16, Vec<u8>>,
    answered: BTreeMap<u16, Answered>,
    unread: Vec<u8>,
    pub(crate) controller: u16,
    /// In which order commands were answered.
    pub(crate) order: Vec<u16>,
}

/// A PDU and its data.
type Pdu = (Header, Vec<u8>);

/// The bytes of ICReq and of commands with their data in the capsule, for those who send without
/// looking at answers.
pub(crate) fn blind(commands: &[(SubmissionEntry, Vec<u8>)]) -> Vec<u8> {
    let mut prefix = [0; PREFIX_BYTES_MAX];
    let digests = Digests::default();
    let request = InitRequest { alignment: 0, digests, ready_to_transfer_max: 0 };
    let end = Framing::INITIAL.write(&Header::InitRequest(request), &mut prefix);
    let mut bytes = prefix[..end].to_vec();
    let framing = Framing::new(digests, 0, crc32c_append);
    for ((mut entry, data), cid) in commands.iter().cloned().zip(1..) {
        entry.common.cid = cid;
        let header = Header::Command(CommandCapsule { entry, data_bytes: data.len() as u32 });
        let end = framing.write(&header, &mut prefix);
        bytes.extend_from_slice(&prefix[..end]);
        bytes.extend_from_slice(&data);
    }
    bytes
}

/// The Connect of an admin queue without a keep alive timer.
pub(crate) fn connect_command(subsystem: &str) -> (SubmissionEntry, Vec<u8>) {
    let command = Connect { format: 0, queue: 0, size: 31, attributes: 0, keep_alive_ms: 0 };
    let data = ConnectData {
        host_id: [0x22; 16],
        controller: CNTLID_DYNAMIC,
        subsystem: Nqn::new(subsystem).unwrap(),
        host: Nqn::new(HOST_NQN).unwrap(),
    };
    (FabricsCommand::Connect(command).encode(0, in_capsule(1024)), data.encode().to_vec())
}

impl Queue {
    /// A connection after ICResp.
    pub(crate) fn greet(address: SocketAddr, digests: Digests) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let limits = Limits { capsule_bytes: 0, data_bytes: 1 << 20 };
        let mut queue = Self {
            stream,
            framing: Framing::INITIAL,
            reader: PduReader::new(Side::Host, limits),
            host_data_max_bytes: 0,
            cid: 0,
            to_send: BTreeMap::new(),
            coming: BTreeMap::new(),
            answered: BTreeMap::new(),
            unread: Vec::new(),
            controller: 0,
            order: Vec::new(),
        };
        let request = InitRequest { alignment: 0, digests, ready_to_transfer_max: 0 };
        let bytes = queue.pdu(&Header::InitRequest(request), &[]);
        queue.stream.write_all(&bytes).unwrap();
        let (header, _) = queue.next().unwrap();
        let Header::InitResponse(response) = header else { panic!("{header:?}") };
        assert_eq!(response.digests, digests);
        queue.host_data_max_bytes = response.host_data_max_bytes;
        queue.framing = Framing::new(digests, 0, crc32c_append);
        queue.reader.establish(queue.framing);
        queue
    }

    /// A queue, or the answer with which it was refused.
    pub(crate) fn connect(
        address: SocketAddr,
        terms: &Terms,
        (number, size): (u16, u16),
        controller: u16,
    ) -> Result<Self, CompletionEntry> {
        let mut queue = Self::greet(address, terms.digests);
        let command = Connect {
            format: 0,
            queue: number,
            size,
            attributes: terms.attributes,
            keep_alive_ms: terms.keep_alive_ms,
        };
        let data = ConnectData {
            host_id: terms.host_id,
            controller,
            subsystem: Nqn::new(&terms.subsystem).unwrap(),
            host: Nqn::new(&terms.host).unwrap(),
        };
        let entry = FabricsCommand::Connect(command).encode(0, in_capsule(1024));
        let answered = queue.execute(entry, &data.encode());
        if !answered.entry.status.is_success() {
            return Err(answered.entry);
        }
        queue.controller = Connected::decode(answered.entry.dw0()).controller;
        Ok(queue)
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

    /// Sends a command, with data that are in the capsule if its descriptor says so. Returns its
    /// CID.
    pub(crate) fn send(&mut self, mut entry: SubmissionEntry, data: &[u8]) -> u16 {
        self.cid = (self.cid + 1) % 0x1000;
        let cid = self.cid;
        entry.common.cid = cid;
        let is_in_capsule = matches!(entry.common.data, SglDescriptor::InCapsule { .. });
        let in_capsule = if is_in_capsule { data } else { &[] };
        if !is_in_capsule && !data.is_empty() {
            self.to_send.insert(cid, data.to_vec());
        }
        let header = Header::Command(CommandCapsule { entry, data_bytes: in_capsule.len() as u32 });
        let bytes = self.pdu(&header, in_capsule);
        self.stream.write_all(&bytes).unwrap();
        cid
    }

    /// The next PDU; none if the target has closed.
    pub(crate) fn next(&mut self) -> Option<Pdu> {
        let mut pdu: Option<Pdu> = None;
        loop {
            let unread = std::mem::take(&mut self.unread);
            let mut rest = &unread[..];
            let over = loop {
                let (taken, progress) = self.reader.advance(rest);
                rest = &rest[taken..];
                match progress {
                    Progress::NeedMore(_) => break false,
                    Progress::Header(header) => pdu = Some((header, Vec::new())),
                    Progress::Data(data) => pdu.as_mut().unwrap().1.extend_from_slice(data),
                    Progress::End { sound } => {
                        assert!(sound, "a digest of the target is wrong");
                        break true;
                    }
                    Progress::Bad(fault) => panic!("the target sent {fault:?}"),
                }
            };
            self.unread = rest.to_vec();
            if over {
                return pdu;
            }
            let mut bytes = vec![0; 64 << 10];
            match self.stream.read(&mut bytes) {
                Ok(0) => return None,
                Ok(count) => self.unread.extend_from_slice(&bytes[..count]),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return None,
                // A socket with a timeout says so when its process was stopped for a while.
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Takes one PDU in. Returns whether the target is still there.
    pub(crate) fn step(&mut self) -> bool {
        let Some((header, data)) = self.next() else { return false };
        match header {
            Header::ReadyToTransfer(ready) => {
                let whole = self.to_send.remove(&ready.cid).unwrap();
                assert_eq!((ready.offset_bytes, ready.data_bytes as usize), (0, whole.len()));
                let most = (self.host_data_max_bytes as usize).min(40_000) / 4 * 4;
                let pieces = whole.len().div_ceil(most);
                for (number, piece) in whole.chunks(most).enumerate() {
                    let header = Header::HostData(DataHeader {
                        cid: ready.cid,
                        transfer_tag: ready.transfer_tag,
                        offset_bytes: (number * most) as u32,
                        data_bytes: piece.len() as u32,
                        last: number + 1 == pieces,
                        success: false,
                    });
                    let bytes = self.pdu(&header, piece);
                    self.stream.write_all(&bytes).unwrap();
                }
            }
            Header::ControllerData(piece) => {
                let coming = self.coming.entry(piece.cid).or_default();
                assert_eq!(coming.len(), piece.offset_bytes as usize, "data in order");
                coming.extend_from_slice(&data);
                if piece.success {
                    assert!(piece.last);
                    let entry = CompletionEntry { cid: piece.cid, ..CompletionEntry::default() };
                    self.end(entry);
                }
            }
            Header::Response(entry) => self.end(entry),
            other => panic!("{other:?}"),
        }
        true
    }

    fn end(&mut self, entry: CompletionEntry) {
        let data = self.coming.remove(&entry.cid).unwrap_or_default();
        self.to_send.remove(&entry.cid);
        self.order.push(entry.cid);
        assert!(self.answered.insert(entry.cid, Answered { entry, data }).is_none(), "{entry:?}");
    }

    /// Waits for the answer to a command.
    pub(crate) fn wait(&mut self, cid: u16) -> Answered {
        loop {
            if let Some(answered) = self.answered.remove(&cid) {
                return answered;
            }
            assert!(self.step(), "the target is gone");
        }
    }

    /// Waits for the answer to any command.
    pub(crate) fn wait_any(&mut self) -> (u16, Answered) {
        loop {
            if let Some((cid, answered)) = self.answered.pop_first() {
                return (cid, answered);
            }
            assert!(self.step(), "the target is gone");
        }
    }

    /// Sends a command and waits for its answer.
    pub(crate) fn execute(&mut self, entry: SubmissionEntry, data: &[u8]) -> Answered {
        let cid = self.send(entry, data);
        self.wait(cid)
    }

    /// Sends an admin command that returns so many bytes.
    pub(crate) fn admin(&mut self, nsid: u32, command: AdminCommand, bytes: usize) -> Answered {
        let data = SglDescriptor::Transport { bytes: bytes as u32 };
        self.execute(command.encode(CommonFields { cid: 0, nsid, data }), &[])
    }

    /// Sends an admin command with data.
    pub(crate) fn admin_with(&mut self, command: AdminCommand, data: &[u8]) -> Answered {
        let common = CommonFields { cid: 0, nsid: 0, data: in_capsule(data.len()) };
        self.execute(command.encode(common), data)
    }

    /// A log page.
    pub(crate) fn log(&mut self, get: GetLogPage, bytes: usize) -> Vec<u8> {
        let answered = self.admin(u32::MAX, AdminCommand::GetLogPage(get), bytes);
        assert!(answered.entry.status.is_success(), "{:?}", answered.entry);
        assert_eq!(answered.data.len(), bytes);
        answered.data
    }

    /// A feature: DW0 of its answer and its data.
    pub(crate) fn feature(&mut self, get: GetFeatures, bytes: usize) -> (u32, Vec<u8>) {
        let answered = self.admin(u32::MAX, AdminCommand::GetFeatures(get), bytes);
        assert!(answered.entry.status.is_success(), "{:?}", answered.entry);
        (answered.entry.dw0(), answered.data)
    }

    /// Enables the controller.
    pub(crate) fn enable(&mut self) {
        let configuration = Configuration {
            enable: true,
            submission_entry: 6,
            completion_entry: 4,
            ..Configuration::default()
        };
        self.set_configuration(configuration.encode());
        let get = PropertyGet { property: Property::Status, size: PropertySize::Four };
        let command = FabricsCommand::PropertyGet(get);
        let status = self.execute(command.encode(0, SglDescriptor::Transport { bytes: 0 }), &[]);
        assert_eq!(status.entry.dw0() & 1, 1, "RDY");
    }

    /// Writes CC.
    pub(crate) fn set_configuration(&mut self, value: u32) {
        let set = PropertySet {
            property: Property::Configuration,
            size: PropertySize::Four,
            value: value.into(),
        };
        let command = FabricsCommand::PropertySet(set);
        let answered = self.execute(command.encode(0, SglDescriptor::Transport { bytes: 0 }), &[]);
        assert!(answered.entry.status.is_success());
    }

    /// Whether the target closes the connection.
    pub(crate) fn is_closed(&mut self) -> bool {
        loop {
            match self.next() {
                None => return true,
                Some((Header::ControllerTermination(_), _)) => {}
                Some(_) => return false,
            }
        }
    }
}

/// A host with an admin queue and an I/O queue.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) admin: Queue,
    pub(crate) io: Queue,
}

impl Host {
    pub(crate) fn attach(address: SocketAddr, terms: &Terms) -> Self {
        let mut admin = Queue::connect(address, terms, (0, 31), CNTLID_DYNAMIC).unwrap();
        admin.enable();
        let io = Queue::connect(address, terms, (1, 127), admin.controller).unwrap();
        Self { admin, io }
    }

    /// One more I/O queue.
    pub(crate) fn queue(&self, address: SocketAddr, terms: &Terms, number: u16) -> Queue {
        Queue::connect(address, terms, (number, 127), self.admin.controller).unwrap()
    }
}

pub(crate) fn in_capsule(bytes: usize) -> SglDescriptor {
    SglDescriptor::InCapsule { offset: 0, bytes: bytes as u32 }
}

pub(crate) fn io(data: SglDescriptor, command: IoCommand) -> SubmissionEntry {
    command.encode(CommonFields { cid: 0, nsid: 1, data })
}

/// Bytes of a block.
pub(crate) const BLOCK: usize = 4096;

/// So many blocks.
pub(crate) fn range(lba: u64, blocks: usize) -> BlockRange {
    BlockRange { lba, blocks: BlockCount::new(blocks as u32).unwrap() }
}

/// Writes blocks.
pub(crate) fn write(queue: &mut Queue, lba: u64, data: &[u8]) {
    let command = IoCommand::Write(Transfer::new(range(lba, data.len() / BLOCK)));
    let descriptor = match data.len() <= 8192 {
        true => in_capsule(data.len()),
        false => SglDescriptor::Transport { bytes: data.len() as u32 },
    };
    let answered = queue.execute(io(descriptor, command), data);
    assert!(answered.entry.status.is_success(), "{:?}", answered.entry);
}

/// Reads blocks.
pub(crate) fn read(queue: &mut Queue, lba: u64, blocks: usize) -> Vec<u8> {
    let command = IoCommand::Read(Transfer::new(range(lba, blocks)));
    let descriptor = SglDescriptor::Transport { bytes: (blocks * BLOCK) as u32 };
    let answered = queue.execute(io(descriptor, command), &[]);
    assert!(answered.entry.status.is_success(), "{:?}", answered.entry);
    assert_eq!(answered.data.len(), blocks * BLOCK);
    answered.data
}

/// What Identify returns.
pub(crate) fn identify(host: &mut Host, what: Cns, nsid: u32) -> Vec<u8> {
    let identify = Identify { what, controller: 0, specific: 0, command_set: 0 };
    let answered = host.admin.admin(nsid, AdminCommand::Identify(identify), 4096);
    assert!(answered.entry.status.is_success(), "{:?}", answered.entry);
    answered.data
}

/// What the discovery subsystem at an address tells a host.
pub(crate) fn records(address: SocketAddr, host: &str) -> Vec<DiscoveryRecord> {
    let mut terms = Terms::new(Nqn::DISCOVERY);
    terms.host = host.into();
    let mut queue = Queue::connect(address, &terms, (0, 31), CNTLID_DYNAMIC).unwrap();
    queue.enable();
    let page = queue.log(GetLogPage::new(LogPage::Discovery, 1024), 1024);
    let header = DiscoveryHeader::decode(page.first_chunk().unwrap());
    let records = 0..header.records as usize;
    let bytes = (header.records as usize + 1) * DISCOVERY_BYTES;
    let page = queue.log(GetLogPage::new(LogPage::Discovery, bytes as u32), bytes);
    let at = |number: usize| page[(number + 1) * DISCOVERY_BYTES..].first_chunk().unwrap();
    records.map(|number| DiscoveryRecord::decode(at(number))).collect()
}
