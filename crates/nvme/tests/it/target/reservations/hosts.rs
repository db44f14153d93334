//! Hosts that send, byte by byte, the commands of `nvme resv-register`, `-acquire`, `-release` and
//! `-report`.

use crate::target::bench::{BLOCK, Bench, NQN, config, controller, terms};
use crate::target::host::{Host, Pdu, completion, connect, data, in_capsule, transport};
use nvme::target::{Action, Persistence};
use nvme::wire::pdu::Digests;
use nvme::wire::{
    CommonFields, Configuration, ConnectData, FabricsCommand, PSDT_SGL, Property, PropertySet,
    PropertySize, SglDescriptor, StatusCode, StatusField, SubmissionEntry,
};

/// A host with an admin queue and an I/O queue.
struct User {
    admin: (usize, Host),
    io: (usize, Host),
    /// Controller.
    id: u16,
}

fn entry(opcode: u8, nsid: u32, data: SglDescriptor, cdw10: [u32; 2]) -> SubmissionEntry {
    SubmissionEntry {
        opcode,
        flags: PSDT_SGL,
        common: CommonFields { cid: 7, nsid, data },
        cdw2: 0,
        cdw3: 0,
        metadata: 0,
        cdw10: [cdw10[0], cdw10[1], 0, 0, 0, 0],
    }
}

impl User {
    fn attach(bench: &mut Bench, number: u8) -> Self {
        let attach = |bench: &mut Bench, queue, id: Option<u16>| {
            let (socket, mut host) = bench.greet(Digests::default(), 0);
            let (entry, data) = connect(0, (queue, 31), (id, NQN), 5000, 0);
            let own = ConnectData { host_id: [number; 16], ..ConnectData::decode(&data).unwrap() };
            let bytes = host.command(entry, &own.encode());
            let id = controller(&bench.talk(socket, &mut host, &bytes));
            (socket, host, id)
        };
        let (socket, mut host, id) = attach(bench, 0, None);
        let enable = Configuration {
            enable: true,
            submission_entry: 6,
            completion_entry: 4,
            ..Configuration::default()
        };
        let (property, size) = (Property::Configuration, PropertySize::Four);
        let set = PropertySet { property, size, value: enable.encode().into() };
        let entry = FabricsCommand::PropertySet(set).encode(9, SglDescriptor::NO_DATA);
        let bytes = host.command(entry, &[]);
        bench.talk(socket, &mut host, &bytes);
        let io = attach(bench, 1, Some(id));
        Self { admin: (socket, host), io: (io.0, io.1), id }
    }

    fn send(&mut self, bench: &mut Bench, entry: SubmissionEntry, out: &[u8]) -> Vec<Pdu> {
        let (socket, host) = &mut self.io;
        let bytes = host.command(entry, out);
        bench.talk(*socket, host, &bytes)
    }

    fn send_admin(&mut self, bench: &mut Bench, entry: SubmissionEntry) -> Vec<Pdu> {
        let (socket, host) = &mut self.admin;
        let bytes = host.command(entry, &[]);
        bench.talk(*socket, host, &bytes)
    }

    /// A command with keys.
    fn keys(&mut self, bench: &mut Bench, opcode: u8, cdw10: u32, keys: &[u64]) -> StatusField {
        let out: Vec<u8> = keys.iter().flat_map(|key| key.to_le_bytes()).collect();
        let entry = entry(opcode, 1, in_capsule(out.len()), [cdw10, 0]);
        completion(&self.send(bench, entry, &out)).status
    }

    fn report(&mut self, bench: &mut Bench, bytes: u32, extended: bool) -> (Vec<u8>, StatusField) {
        let numd = bytes / 4 - 1;
        let entry = entry(0x0e, 1, transport(bytes as usize), [numd, extended.into()]);
        let pdus = self.send(bench, entry, &[]);
        (data(&pdus), completion(&pdus).status)
    }

    fn read(&mut self, bench: &mut Bench) -> StatusField {
        let entry = entry(0x02, 1, transport(BLOCK), [0, 0]);
        completion(&self.send(bench, entry, &[])).status
    }

    fn write(&mut self, bench: &mut Bench, byte: u8) -> StatusField {
        let entry = entry(0x01, 1, in_capsule(BLOCK), [0, 0]);
        completion(&self.send(bench, entry, &[byte; BLOCK])).status
    }
}

const DONE: StatusField = StatusField::SUCCESS;
const CONFLICT: StatusField = StatusCode::ReservationConflict.for_good();

fn le(word: u64) -> [u8; 8] {
    word.to_le_bytes()
}

#[test]
fn what_nvme_cli_sends_is_understood() {
    let mut bench = Bench::new();
    let mut one = User::attach(&mut bench, 0xa1);
    let mut two = User::attach(&mut bench, 0xb2);
    assert_eq!(one.write(&mut bench, 1), DONE);
    // nvme resv-register --nrkey=0x11 --rrega=0 --cptpl=3
    assert_eq!(one.keys(&mut bench, 0x0d, 0xc000_0000, &[0, 0x11]), DONE);
    // nvme resv-acquire --crkey=0x11 --rtype=4 --racqa=0
    assert_eq!(one.keys(&mut bench, 0x11, 0x0400, &[0x11, 0]), DONE);
    assert_eq!((one.write(&mut bench, 2), one.read(&mut bench)), (DONE, DONE));
    assert_eq!((two.write(&mut bench, 3), two.read(&mut bench)), (CONFLICT, CONFLICT));
    assert_eq!(bench.drive[0], 2, "nothing of a command in conflict is done");
    // Flush, Write Zeroes and Dataset Management count as writes.
    for opcode in [0x00, 0x08] {
        let entry = entry(opcode, 1, SglDescriptor::NO_DATA, [0, 0]);
        assert_eq!(completion(&two.send(&mut bench, entry, &[])).status, CONFLICT, "{opcode}");
    }
    let trim = entry(0x09, 1, in_capsule(16), [0, 4]);
    assert_eq!(completion(&two.send(&mut bench, trim, &[0; 16])).status, CONFLICT);
    // nvme resv-acquire by a host that is not registered, then nvme resv-register --nrkey=0x22
    assert_eq!(two.keys(&mut bench, 0x11, 0x0400, &[0x22, 0]), CONFLICT);
    assert_eq!(two.keys(&mut bench, 0x0d, 0, &[0, 0x22]), DONE);
    assert_eq!(two.read(&mut bench), DONE);
    // nvme resv-report --eds --numd=…
    let (page, status) = two.report(&mut bench, 4096, true);
    assert_eq!((page.len(), status), (4096, DONE));
    assert_eq!(page[..5], [2, 0, 0, 0, 4], "two changes of registrations, type 4");
    assert_eq!(page[5..10], [2, 0, 0, 0, 1], "two registrants, and it persists");
    assert_eq!(page[64..67], [0xff, 0xff, 1], "the first holds");
    assert_eq!((&page[72..80], &page[80..96]), (&le(0x11)[..], &[0xa1; 16][..]));
    assert_eq!(page[128..131], [0xff, 0xff, 0]);
    assert_eq!((&page[136..144], &page[144..160]), (&le(0x22)[..], &[0xb2; 16][..]));
    let inconsistent = StatusCode::HostIdInconsistent.for_good();
    assert_eq!(two.report(&mut bench, 64, false), (vec![], inconsistent));
    assert_eq!(two.report(&mut bench, 8, true), (page[..8].to_vec(), DONE));
    // nvme resv-acquire --crkey=0x22 --prkey=0x11 --rtype=4 --racqa=2
    assert_eq!(two.keys(&mut bench, 0x11, 0x0402, &[0x22, 0x11]), DONE);
    let last = bench.reserved.last().unwrap();
    assert_eq!((&last.ends_first[..], last.keep), (&[[0xa1; 16]][..], true));
    assert_eq!((one.write(&mut bench, 4), one.read(&mut bench)), (CONFLICT, CONFLICT));
    assert_eq!(two.write(&mut bench, 5), DONE);
    // nvme resv-release --crkey=0x22 --rtype=4 --rrela=0
    assert_eq!(two.keys(&mut bench, 0x15, 0x0400, &[0x22]), DONE);
    assert_eq!(one.write(&mut bench, 6), DONE);
    // nvme resv-register --crkey=0x22 --rrega=1
    assert_eq!(two.keys(&mut bench, 0x0d, 1, &[0x22, 0]), DONE);
    assert_eq!(two.report(&mut bench, 64, true).0[5..7], [0, 0]);
    let kept = bench.actions.iter().filter(|action| **action == Action::KeepReservations);
    assert_eq!(kept.count(), 6, "each change before its answer");
}

#[test]
fn all_controllers_of_a_host_are_one_registrant_and_outlast_none_of_them() {
    let mut bench = Bench::new();
    let mut first = User::attach(&mut bench, 1);
    let mut second = User::attach(&mut bench, 1);
    let mut other = User::attach(&mut bench, 2);
    assert_eq!(first.keys(&mut bench, 0x0d, 0, &[0, 5]), DONE);
    assert_eq!(second.keys(&mut bench, 0x11, 0x0200, &[5, 0]), DONE);
    assert_eq!((first.write(&mut bench, 1), second.write(&mut bench, 2)), (DONE, DONE));
    for user in [&mut first, &mut second] {
        let queue = bench.sockets[user.admin.0].queue.take().unwrap();
        bench.subsystem.handle_closed(&queue);
    }
    assert_eq!(other.read(&mut bench), CONFLICT, "a connection that is gone ends no reservation");
    let mut again = User::attach(&mut bench, 1);
    assert_eq!(again.write(&mut bench, 3), DONE);
    assert!(again.id != first.id);
}

#[test]
fn hosts_hear_of_what_others_do_to_their_reservations() {
    let mut bench = Bench::new();
    let mut one = User::attach(&mut bench, 1);
    let mut two = User::attach(&mut bench, 2);
    let log = |bench: &mut Bench, user: &mut User, retain: bool| {
        let get = entry(0x02, 1, transport(64), [0x000f_0080 | u32::from(retain) << 15, 0]);
        data(&user.send_admin(bench, get))
    };
    let mut request = entry(0x0c, 0, SglDescriptor::NO_DATA, [0, 0]);
    request.common.cid = 8;
    assert!(one.send_admin(&mut bench, request).is_empty(), "it waits");
    assert_eq!(log(&mut bench, &mut one, false), [0; 64]);
    assert_eq!(one.keys(&mut bench, 0x0d, 0, &[0, 1]), DONE);
    assert_eq!(two.keys(&mut bench, 0x0d, 0, &[0, 2]), DONE);
    assert_eq!(one.keys(&mut bench, 0x11, 0x0300, &[1, 0]), DONE);
    assert_eq!(two.keys(&mut bench, 0x11, 0x0301, &[2, 1]), DONE);
    let bytes = bench.take(one.admin.0);
    let event = completion(&one.admin.1.read(&bytes));
    assert_eq!((event.status, event.dw0()), (DONE, 0x0080_0006));
    for retain in [true, false] {
        let page = log(&mut bench, &mut one, retain);
        assert_eq!((page[0], page[8], page[9], page[12]), (1, 1, 0, 1), "registration preempted");
    }
    assert_eq!(log(&mut bench, &mut one, false)[8], 0, "it was read");
    // Feature 82h: no notices of releases.
    let mask = entry(0x09, 1, SglDescriptor::NO_DATA, [0x82, 1 << 2]);
    assert_eq!(completion(&one.send_admin(&mut bench, mask)).status, DONE);
    let get = entry(0x0a, 1, SglDescriptor::NO_DATA, [0x82, 0]);
    assert_eq!(completion(&one.send_admin(&mut bench, get)).dw0(), 1 << 2);
    assert_eq!(one.keys(&mut bench, 0x0d, 0, &[0, 1]), DONE);
    assert_eq!(two.keys(&mut bench, 0x15, 0x0300, &[2]), DONE);
    assert_eq!(log(&mut bench, &mut one, false)[8], 0, "it is masked");
    assert_eq!(two.keys(&mut bench, 0x15, 0x0001, &[2]), DONE);
    assert_eq!(log(&mut bench, &mut one, false)[8], 3, "reservation preempted, by a Clear");
}

#[test]
fn features_and_identify_tell_of_reservations() {
    let mut bench = Bench::new();
    let mut user = User::attach(&mut bench, 0x5c);
    let identify = |bench: &mut Bench, user: &mut User, nsid, cns| {
        data(&user.send_admin(bench, entry(0x06, nsid, transport(4096), [cns, 0])))
    };
    let namespace = identify(&mut bench, &mut user, 1, 0);
    assert_eq!((namespace[30] & 1, namespace[31]), (1, 0xff), "NMIC and RESCAP");
    let controller = identify(&mut bench, &mut user, 0, 1);
    assert_eq!((controller[520] & 1 << 5, controller[96] & 1), (1 << 5, 1), "ONCS and CTRATT");
    let feature = |bench: &mut Bench, user: &mut User, opcode, nsid, fid, cdw11| {
        let end = user.send_admin(bench, entry(opcode, nsid, transport(16), [fid, cdw11]));
        (completion(&end), data(&end))
    };
    let (end, id) = feature(&mut bench, &mut user, 0x0a, 0, 0x81, 1);
    assert_eq!((end.status, id), (DONE, vec![0x5c; 16]), "the host identifier");
    assert_eq!(feature(&mut bench, &mut user, 0x0a, 1, 0x83, 0).0.result, 0);
    let set = entry(0x09, u32::MAX, SglDescriptor::NO_DATA, [0x83, 1]);
    assert_eq!(completion(&user.send_admin(&mut bench, set)).status, DONE);
    assert_eq!(bench.actions.last(), Some(&Action::KeepReservations));
    assert_eq!(feature(&mut bench, &mut user, 0x0a, 1, 0x83, 0).0.result, 1);
    let end = feature(&mut bench, &mut user, 0x0a, 2, 0x83, 0).0;
    assert_eq!(end.status, StatusCode::InvalidNamespace.for_good());
    // A drive without reservations supports none of this.
    let config = nvme::target::SubsystemConfig { reservations: Persistence::Absent, ..config() };
    let mut bench = Bench::with(config, terms());
    let mut user = User::attach(&mut bench, 0x5c);
    assert_eq!(identify(&mut bench, &mut user, 1, 0)[31], 0);
    assert_eq!(identify(&mut bench, &mut user, 0, 1)[520] & 1 << 5, 0);
    assert_eq!(user.keys(&mut bench, 0x0d, 0, &[0, 1]), StatusCode::InvalidOpcode.for_good());
    let end = feature(&mut bench, &mut user, 0x0a, 1, 0x83, 0).0;
    assert_eq!(end.status, StatusCode::InvalidField.for_good());
    let get = entry(0x02, 1, transport(64), [0x000f_0080, 0]);
    let status = completion(&user.send_admin(&mut bench, get)).status;
    assert_eq!(status, StatusCode::InvalidLogPage.for_good());
}
