//! Dialogue with a stock Linux 6.1, from its first byte to its last.
//!
//! The order of commands was recorded on a running kernel. The bytes of the host are made by the
//! codecs.

use super::bench::{Bench, NQN, controller};
use super::host::{
    Host, Pdu, admin, completion, connect, data, host_data, in_capsule, io, transport,
};
use nvme::target::{Action, HostList, Listing, Reached};
use nvme::wire::pdu::{COMMON_BYTES, Digests, Header};
use nvme::wire::{
    AddressFamily, AdminCommand, Ascii, BlockCount, BlockRange, Cns, Configuration,
    ControllerStatus, DISCOVERY_BYTES, DiscoveryHeader, DiscoveryRecord, FabricsCommand, Feature,
    GetLogPage, Identify, IdentifyController, IdentifyNamespace, IoCommand, LogPage, Nqn, Property,
    PropertyGet, PropertySet, PropertySize, QueueCounts, SetFeatures, SglDescriptor,
    ShutdownNotice, ShutdownState, SubmissionEntry, SubsystemKind, Transfer, Transport,
};
use std::fmt::Write as _;
use units::crc32c;

/// The dialogue of one host over all its connections.
struct Dialogue {
    bench: Bench,
    hosts: Vec<Host>,
    text: String,
    cid: u16,
}

impl Dialogue {
    fn new() -> Self {
        Self { bench: Bench::new(), hosts: Vec::new(), text: String::new(), cid: 0 }
    }

    fn say(&mut self, who: &str, bytes: &[u8], data: &[u8]) {
        // Bytes outside of the header are shown by their checksum.
        let (header, _) = bytes.split_at(bytes.len() - data.len());
        let end = header.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        let _ = write!(self.text, "  {who}");
        for (at, byte) in header[..end.max(COMMON_BYTES)].iter().enumerate() {
            let gap = if at % 8 == 0 { " " } else { "" };
            let _ = write!(self.text, "{gap}{byte:02x}");
        }
        if !data.is_empty() {
            let _ = write!(self.text, " + {} bytes {:08x}", data.len(), crc32c(data));
        }
        self.text.push('\n');
    }

    /// Sends a PDU of the host. Returns all PDUs that come back.
    fn exchange(&mut self, socket: usize, what: &str, header: &Header, out: &[u8]) -> Vec<Pdu> {
        let _ = writeln!(self.text, "{what}");
        let bytes = self.hosts[socket].pdu(header, out);
        self.say("->", &bytes, out);
        let pdus = self.bench.talk(socket, &mut self.hosts[socket], &bytes);
        for (header, data) in &pdus {
            // The framing of the host's PDUs applies: neither side uses digests.
            let bytes = self.hosts[socket].pdu(header, data);
            self.say("<-", &bytes, data);
        }
        pdus
    }

    fn command(
        &mut self,
        socket: usize,
        what: &str,
        entry: SubmissionEntry,
        out: &[u8],
    ) -> Vec<Pdu> {
        let capsule = nvme::wire::pdu::CommandCapsule { entry, data_bytes: out.len() as u32 };
        self.exchange(socket, what, &Header::Command(capsule), out)
    }

    fn admin(&mut self, what: &str, nsid: u32, room: usize, command: AdminCommand) -> Vec<Pdu> {
        self.cid += 1;
        let entry = admin(self.cid, nsid, transport(room), command);
        self.command(0, what, entry, &[])
    }

    fn get(&mut self, what: &str, property: Property) -> u64 {
        self.cid += 1;
        let get = FabricsCommand::PropertyGet(PropertyGet { property, size: property.size() });
        let entry = get.encode(self.cid, SglDescriptor::NO_DATA);
        completion(&self.command(0, what, entry, &[])).result
    }

    fn configure(&mut self, what: &str, configuration: Configuration) {
        self.cid += 1;
        let property = Property::Configuration;
        let value = configuration.encode().into();
        let set =
            FabricsCommand::PropertySet(PropertySet { property, size: PropertySize::Four, value });
        let entry = set.encode(self.cid, SglDescriptor::NO_DATA);
        assert!(completion(&self.command(0, what, entry, &[])).status.is_success());
    }

    fn open(&mut self, what: &str) -> usize {
        let socket = self.bench.open();
        self.hosts.push(Host::new());
        let request = nvme::wire::pdu::InitRequest {
            alignment: 0,
            digests: Digests::default(),
            ready_to_transfer_max: 0,
        };
        self.exchange(socket, what, &Header::InitRequest(request), &[]);
        self.hosts[socket].establish(Digests::default(), 0);
        socket
    }
}

const ENABLED: Configuration = Configuration {
    enable: true,
    command_set: 0,
    page: 0,
    arbitration: 0,
    shutdown: ShutdownNotice::None,
    submission_entry: 6,
    completion_entry: 4,
};

#[test]
fn linux_connects_uses_and_leaves_a_drive() {
    let mut host = Dialogue::new();
    host.open("admin: connect TCP, ICReq");
    let (entry, out) = connect(0, (0, 31), (None, NQN), 5000, 0);
    let id = controller(&host.command(0, "Connect, queue 0", entry, &out));

    host.get("Property Get CAP", Property::Capabilities);
    host.configure("Property Set CC, EN 0", Configuration::default());
    host.get("Property Get CC", Property::Configuration);
    host.get("Property Get CAP", Property::Capabilities);
    host.configure("Property Set CC, EN 1", ENABLED);
    let status = host.get("Property Get CSTS", Property::Status);
    assert!(ControllerStatus::decode(status as u32).ready);
    assert_eq!(host.get("Property Get VS", Property::Version), 0x0001_0400);

    let identify = |what| AdminCommand::Identify(Identify::new(what));
    let pdus = host.admin("Identify CNS 1", 0, 4096, identify(Cns::Controller));
    let identity = IdentifyController::decode(&data(&pdus).try_into().unwrap());
    assert_eq!(identity.identity.id, id, "Linux refuses another");
    insta::assert_snapshot!("drive-identity", format!("{identity:#?}"));
    let effects = GetLogPage::new(LogPage::CommandEffects, 4096);
    host.admin("Get Log Page 05h", u32::MAX, 4096, AdminCommand::GetLogPage(effects));
    let counts = QueueCounts { submission: 3, completion: 3 };
    let queues = SetFeatures { save: false, feature: Feature::NumberOfQueues(counts) };
    let pdus = host.admin("Set Features 07h, 4 queues", 0, 0, AdminCommand::SetFeatures(queues));
    assert_eq!(completion(&pdus).dw0(), 0x0001_0001, "two are there");
    host.admin("Keep Alive", 0, 0, AdminCommand::KeepAlive);

    for queue in 1..=2 {
        let socket = host.open("I/O: connect TCP, ICReq");
        let (entry, out) = connect(0, (queue, 127), (Some(id), NQN), 0, 0);
        let pdus = host.command(socket, "Connect, an I/O queue", entry, &out);
        assert_eq!(controller(&pdus), id);
    }

    host.admin("Identify CNS 6", 0, 4096, identify(Cns::CommandSetController));
    host.admin("Identify CNS 2", 0, 4096, identify(Cns::ActiveNamespaces));
    host.admin("Identify CNS 3", 1, 4096, identify(Cns::NamespaceIds));
    for _ in 0..2 {
        let pdus = host.admin("Identify CNS 0", 1, 4096, identify(Cns::Namespace));
        let namespace = IdentifyNamespace::decode(&data(&pdus).try_into().unwrap());
        assert_eq!(namespace.block_bytes(), Some(512));
    }

    let range = |lba, blocks| BlockRange { lba, blocks: BlockCount::new(blocks).unwrap() };
    let read = io(0x1001, transport(4096), IoCommand::Read(Transfer::new(range(0, 8))));
    assert_eq!(data(&host.command(1, "Read", read, &[])), [0; 4096]);
    let write = io(0x1002, in_capsule(4096), IoCommand::Write(Transfer::new(range(8, 8))));
    host.command(1, "Write, data in the capsule", write, &[0x5a; 4096]);
    let write = io(0x1003, transport(16384), IoCommand::Write(Transfer::new(range(16, 32))));
    let pdus = host.command(2, "Write, data at the host", write, &[]);
    let [(Header::ReadyToTransfer(ready), _)] = pdus[..] else { panic!("{pdus:?}") };
    let name = (ready.cid, ready.transfer_tag);
    host.exchange(2, "its first half", &host_data(name, 0, 8192, false), &[0xa5; 8192]);
    host.exchange(2, "and the other", &host_data(name, 8192, 8192, true), &[0xa6; 8192]);
    let read = io(0x2001, transport(24576), IoCommand::Read(Transfer::new(range(8, 48))));
    let back = data(&host.command(1, "Read, more than goes into one C2HData", read, &[]));
    assert_eq!((back[0], back[4096], back[12288], back[20480]), (0x5a, 0xa5, 0xa6, 0));
    host.command(1, "Flush", io(0x1004, SglDescriptor::NO_DATA, IoCommand::Flush), &[]);

    let leave = Configuration { shutdown: ShutdownNotice::Normal, ..ENABLED };
    host.configure("Property Set CC, SHN 01b", leave);
    let shutdown = |status: u64| ControllerStatus::decode(status as u32).shutdown;
    let status = host.get("Property Get CSTS", Property::Status);
    assert_eq!(shutdown(status), ShutdownState::Running);
    assert_eq!(host.bench.actions, [Action::ShutDown { controller: id, abrupt: false }]);
    host.bench.subsystem.handle_shut_down(id);
    let status = host.get("Property Get CSTS", Property::Status);
    assert_eq!(shutdown(status), ShutdownState::Complete);
    insta::assert_snapshot!("linux-uses-a-drive", host.text);
}

fn listing(nqn: &str, hosts: HostList) -> Listing {
    let record = DiscoveryRecord {
        transport: Transport::Tcp,
        family: AddressFamily::Ipv4,
        kind: SubsystemKind::Nvm,
        requirements: 0,
        port: 1,
        controller: 0xffff,
        admin_queue: 32,
        flags: 0,
        service: Ascii::new("4420").unwrap(),
        subsystem: Nqn::new(nqn),
        address: Ascii::new("127.0.0.1").unwrap(),
        security: 0,
    };
    Listing { record, hosts, is_everywhere: false }
}

#[test]
fn linux_discovers_what_its_host_may_see() {
    let mut host = Dialogue::new();
    let others = HostList::Only(vec![Nqn::new("nqn.2026-01.example:other-host").unwrap()]);
    host.bench.discovery.set_listings(vec![
        listing(NQN, HostList::Any),
        listing("nqn.2026-01.example:ioda:hidden", others),
        listing("nqn.2026-01.example:ioda:drive-1", HostList::Any),
    ]);
    host.open("connect TCP, ICReq");
    let (entry, out) = connect(0, (0, 31), (None, Nqn::DISCOVERY), 0, 0);
    host.command(0, "Connect", entry, &out);
    host.configure("Property Set CC, EN 1", ENABLED);
    let identify = AdminCommand::Identify(Identify::new(Cns::Controller));
    let pdus = host.admin("Identify CNS 1", 0, 4096, identify);
    let identity = IdentifyController::decode(&data(&pdus).try_into().unwrap());
    insta::assert_snapshot!("discovery-identity", format!("{identity:#?}"));
    let wanted = SetFeatures { save: false, feature: Feature::AsyncEvents(1 << 31) };
    host.admin("Set Features 0Bh", 0, 0, AdminCommand::SetFeatures(wanted));

    let page =
        |bytes| GetLogPage { retain_event: true, ..GetLogPage::new(LogPage::Discovery, bytes) };
    let pdus = host.admin("Get Log Page 70h, head", 0, 1024, AdminCommand::GetLogPage(page(1024)));
    let head = DiscoveryHeader::decode(&data(&pdus).try_into().unwrap());
    assert_eq!((head.records, head.generation), (2, 1));
    let pdus = host.admin("Get Log Page 70h", 0, 3072, AdminCommand::GetLogPage(page(3072)));
    let names: Vec<_> = data(&pdus)
        .chunks_exact(DISCOVERY_BYTES)
        .skip(1)
        .map(|record| DiscoveryRecord::decode(record.try_into().unwrap()).subsystem.unwrap())
        .collect();
    assert_eq!(names, [NQN, "nqn.2026-01.example:ioda:drive-1"].map(|nqn| Nqn::new(nqn).unwrap()));

    let pdus = host.admin("Asynchronous Event Request", 0, 0, AdminCommand::AsyncEventRequest);
    assert!(pdus.is_empty(), "it waits");
    let request = host.cid;
    host.bench.discovery.set_listings(Vec::new());
    host.bench.pump();
    let bytes = host.bench.take(0);
    let told = completion(&host.hosts[0].read(&bytes));
    assert_eq!((told.cid, told.dw0()), (request, 0x0070_f002));
    insta::assert_snapshot!("linux-discovers", host.text);
}

/// Addresses in the records for a host that has reached the machine by `reached`, for listings at
/// all addresses and at one.
fn told(reached: Option<(AddressFamily, &str)>) -> Vec<String> {
    let mut host = Dialogue::new();
    let everywhere = |family| {
        let here = listing(NQN, HostList::Any);
        let address = Ascii::new("0.0.0.0").unwrap();
        let record = DiscoveryRecord { family, address, ..here.record };
        Listing { record, is_everywhere: true, ..here }
    };
    host.bench.discovery.set_listings(vec![
        everywhere(AddressFamily::Ipv4),
        everywhere(AddressFamily::Ipv6),
        listing(NQN, HostList::Any),
    ]);
    host.bench.reached =
        reached.map(|(family, address)| Reached { family, address: Ascii::new(address).unwrap() });
    host.open("connect TCP, ICReq");
    let (entry, out) = connect(0, (0, 31), (None, Nqn::DISCOVERY), 0, 0);
    host.command(0, "Connect", entry, &out);
    host.configure("Property Set CC, EN 1", ENABLED);
    let page = GetLogPage { retain_event: true, ..GetLogPage::new(LogPage::Discovery, 4096) };
    let pdus = host.admin("Get Log Page 70h", 0, 4096, AdminCommand::GetLogPage(page));
    let page = data(&pdus);
    let head = DiscoveryHeader::decode(page[..1024].try_into().unwrap());
    let records = page.chunks_exact(DISCOVERY_BYTES).skip(1).take(head.records as usize);
    let decoded = records.map(|record| DiscoveryRecord::decode(record.try_into().unwrap()));
    decoded.map(|record| format!("{:?} {}", record.family, record.address.as_str())).collect()
}

#[test]
fn a_host_is_told_the_address_that_it_has_reached_the_machine_by() {
    let v4 = told(Some((AddressFamily::Ipv4, "10.0.0.2")));
    assert_eq!(v4, ["Ipv4 10.0.0.2", "Ipv4 10.0.0.2", "Ipv4 127.0.0.1"]);
    let v6 = told(Some((AddressFamily::Ipv6, "fd00::2")));
    assert_eq!(v6, ["Ipv6 fd00::2", "Ipv4 127.0.0.1"], "who hears IPv4 alone has no such address");
    assert_eq!(told(None), ["Ipv4 127.0.0.1"]);
}
