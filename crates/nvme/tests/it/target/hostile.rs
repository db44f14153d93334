//! Hostile hosts: each ends its own connection, with the right reason, and holds no more memory
//! than allowed.

use super::bench::{BLOCK, Bench, ENTRIES_MAX, NQN};
use super::host::{Host, admin, completion, connect, host_data, in_capsule, io, transport};
use nvme::target::{Connection, TransportEvent};
use nvme::wire::pdu::{Digests, FatalStatus, Header};
use nvme::wire::{
    AdminCommand, BlockCount, BlockRange, IoCommand, SglDescriptor, StatusCode, SubmissionEntry,
    Transfer,
};
use units::Rng;

/// A drive that does not answer at once, with an I/O queue and its host.
fn queue() -> (Bench, usize, Host) {
    let mut admin = super::controllers::Admin::enabled();
    admin.bench.is_prompt = false;
    let (socket, host) = admin.bench.queue(Digests::default(), 1, Some(admin.id));
    (admin.bench, socket, host)
}

fn write(cid: u16, lba: u64, blocks: u32) -> SubmissionEntry {
    let range = BlockRange { lba, blocks: BlockCount::new(blocks).unwrap() };
    io(cid, transport(blocks as usize * BLOCK), IoCommand::Write(Transfer::new(range)))
}

/// Requests a write of 8 KiB. Returns CID and tag of the R2T.
fn asked(bench: &mut Bench, socket: usize, host: &mut Host) -> (u16, u16) {
    let bytes = host.command(write(5, 0, 16), &[]);
    let pdus = bench.talk(socket, host, &bytes);
    let [(Header::ReadyToTransfer(ready), _)] = pdus[..] else { panic!("{pdus:?}") };
    assert_eq!((ready.cid, ready.offset_bytes, ready.data_bytes), (5, 0, 8192));
    (ready.cid, ready.transfer_tag)
}

/// Reason why the connection of a host ends that sends these data for its write.
fn end_of(data: impl Fn((u16, u16)) -> Vec<(Header, usize)>) -> Option<FatalStatus> {
    let (mut bench, socket, mut host) = queue();
    let name = asked(&mut bench, socket, &mut host);
    for (header, bytes) in data(name) {
        let bytes = host.pdu(&header, &vec![0; bytes]);
        bench.feed(socket, &bytes);
    }
    let end = bench.end(socket, &mut host);
    assert_eq!(bench.sockets[socket].is_closed, end.is_some());
    end
}

#[test]
fn data_that_were_not_asked_for_end_the_connection() {
    let one =
        |name, offset, bytes: usize, last| vec![(host_data(name, offset, bytes, last), bytes)];
    assert_eq!(end_of(|name| one(name, 0, 8192, true)), None);
    assert_eq!(end_of(|name| one(name, 0, 4096, false)), None);
    let out_of_range = Some(FatalStatus::DataOutOfRange);
    assert_eq!(end_of(|name| one(name, 512, 4096, false)), out_of_range, "a gap");
    assert_eq!(end_of(|name| one(name, u32::MAX - 511, 512, false)), out_of_range);
    let twice = |(cid, tag)| {
        let first = one((cid, tag), 0, 4096, false);
        [&first[..], &one((cid, tag), 4096, 8192, true)].concat()
    };
    assert_eq!(end_of(twice), out_of_range, "behind the end");
    let invalid = Some(FatalStatus::InvalidHeaderField);
    assert_eq!(end_of(|(cid, tag)| one((cid, tag + 1), 0, 8192, true)), invalid, "another tag");
    assert_eq!(end_of(|(cid, tag)| one((cid + 1, tag), 0, 8192, true)), invalid, "another command");
    assert_eq!(end_of(|name| one(name, 0, 8192, false)), invalid, "the last is not called so");
    assert_eq!(end_of(|name| one(name, 0, 4096, true)), invalid, "the last is not");
    let again = |name| [one(name, 0, 8192, true), one(name, 0, 8192, true)].concat();
    assert_eq!(end_of(again), invalid, "all had come");
    assert_eq!(end_of(|name| one(name, 0, 8196, true)), Some(FatalStatus::LimitExceeded));
}

#[test]
fn a_command_beyond_the_depth_ends_the_connection() {
    let (mut bench, socket, mut host) = queue();
    for cid in 0..ENTRIES_MAX {
        let flush = host.command(io(cid, SglDescriptor::NO_DATA, IoCommand::Flush), &[]);
        assert!(bench.talk(socket, &mut host, &flush).is_empty());
    }
    assert_eq!(bench.sockets[socket].connection.in_flight(), usize::from(ENTRIES_MAX));
    let most = Connection::held_bytes_max(ENTRIES_MAX);
    assert!(bench.sockets[socket].connection.held_bytes() <= most);
    let one_more = host.command(io(500, SglDescriptor::NO_DATA, IoCommand::Flush), &[]);
    bench.feed(socket, &one_more);
    assert_eq!(bench.end(socket, &mut host), Some(FatalStatus::Sequence));
    // The result of work for a closed connection is dropped.
    bench.work(socket, 0);
    assert!(bench.take(socket).is_empty());
    assert!(most < 16 << 10, "{most} bytes for a connection");
}

#[test]
fn only_connect_comes_first_and_alone() {
    let mut bench = Bench::new();
    let (socket, mut host) = bench.greet(Digests::default(), 0);
    let (entry, data) = connect(0, (0, 31), (None, NQN), 0, 0);
    let whole = host.command(entry, &data);
    bench.feed(socket, &whole[..whole.len() - 1]);
    assert_eq!(bench.sockets[socket].connection.in_flight(), 1);
    bench.feed(socket, &whole[whole.len() - 1..]);
    assert!(completion(&host.read(&bench.take(socket))).status.is_success());

    let mut bench = Bench::new();
    let socket = bench.open();
    let host = Host::new();
    let early = host.command(entry, &data);
    bench.feed(socket, &early);
    assert_eq!(bench.end(socket, &mut Host::new_established()), Some(FatalStatus::Sequence));
    assert!(bench.sockets[socket].is_closed);
}

impl Host {
    /// A host that skipped the exchange of terms.
    fn new_established() -> Self {
        let mut host = Self::new();
        host.establish(Digests::default(), 0);
        host
    }
}

#[test]
fn a_capsule_with_too_much_is_refused_for_its_promise() {
    let (mut bench, socket, mut host) = queue();
    let range = BlockRange { lba: 0, blocks: BlockCount::new(9).unwrap() };
    let entry = io(1, in_capsule(4608), IoCommand::Write(Transfer::new(range)));
    let bytes = host.command(entry, &[0; 4608]);
    bench.feed(socket, &bytes[..8]);
    assert_eq!(bench.end(socket, &mut host), Some(FatalStatus::LimitExceeded), "eight bytes do");
}

#[test]
fn the_host_that_gives_up_is_not_answered() {
    let (mut bench, socket, host) = queue();
    let fault = nvme::wire::pdu::Fault::of(FatalStatus::Sequence);
    let offending = nvme::wire::pdu::OffendingHeader::new(&[]);
    let termination = nvme::wire::pdu::Termination { fault, offending };
    let bytes = host.pdu(&Header::HostTermination(termination), &[]);
    bench.feed(socket, &bytes);
    assert!(bench.take(socket).is_empty());
    assert!(bench.sockets[socket].is_closed);
    let (taken, event) = bench.sockets[socket].connection.handle_bytes(&bytes);
    assert_eq!((taken, event), (bytes.len(), TransportEvent::Over));
    assert!(host.is_sound);
}

#[test]
fn pointers_that_do_not_fit_are_answered_and_the_connection_goes_on() {
    let (mut bench, socket, mut host) = queue();
    let range = |blocks| BlockRange { lba: 0, blocks: BlockCount::new(blocks).unwrap() };
    let write = |pointer| io(1, pointer, IoCommand::Write(Transfer::new(range(1))));
    let read = |pointer| io(1, pointer, IoCommand::Read(Transfer::new(range(1))));
    let at = |offset| SglDescriptor::InCapsule { offset, bytes: 512 };
    let unknown = SglDescriptor::Unsupported { kind: 0x40, address: 0, bytes: 512 };
    let far = BlockRange { lba: u64::MAX, blocks: BlockCount::new(1).unwrap() };
    let far = io(1, transport(512), IoCommand::Read(Transfer::new(far)));
    let cases = [
        (write(unknown), 0, StatusCode::SglTypeInvalid),
        (write(unknown), 512, StatusCode::SglTypeInvalid),
        (write(at(8)), 512, StatusCode::SglOffsetInvalid),
        (write(at(0)), 0, StatusCode::SglLengthInvalid),
        (write(at(0)), 1024, StatusCode::SglLengthInvalid),
        (write(transport(512)), 512, StatusCode::InvalidField),
        (read(at(0)), 512, StatusCode::InvalidField),
        (read(transport(1 << 20)), 0, StatusCode::InvalidField),
        (read(transport(1024)), 0, StatusCode::SglLengthInvalid),
        (read(transport(0)), 0, StatusCode::SglLengthInvalid),
        (SubmissionEntry { flags: 0, ..read(transport(512)) }, 0, StatusCode::InvalidField),
        (SubmissionEntry { flags: 0x41, ..read(transport(512)) }, 0, StatusCode::InvalidField),
        (far, 0, StatusCode::LbaOutOfRange),
        (
            io(1, transport(512), IoCommand::Unsupported { opcode: 0x81 }),
            0,
            StatusCode::InvalidOpcode,
        ),
        (
            admin(1, 7, transport(0), AdminCommand::Unsupported { opcode: 0 }),
            0,
            StatusCode::InvalidNamespace,
        ),
    ];
    for (number, (entry, bytes, code)) in cases.into_iter().enumerate() {
        let bytes = host.command(entry, &vec![0; bytes]);
        let pdus = bench.talk(socket, &mut host, &bytes);
        assert_eq!(completion(&pdus).status, code.for_good(), "case {number}");
        assert_eq!(bench.sockets[socket].connection.in_flight(), 0);
        assert_eq!(bench.sockets[socket].buffers(), 0);
    }
}

#[test]
fn the_second_command_of_a_name_is_refused() {
    let (mut bench, socket, mut host) = queue();
    let flush = host.command(io(7, SglDescriptor::NO_DATA, IoCommand::Flush), &[]);
    assert!(bench.talk(socket, &mut host, &flush).is_empty());
    let pdus = bench.talk(socket, &mut host, &flush);
    assert_eq!(completion(&pdus).status, StatusCode::CommandIdConflict.for_good());
    bench.work(socket, 0);
    assert!(completion(&host.read(&bench.take(socket))).status.is_success());
    // The CID is free again.
    assert!(bench.talk(socket, &mut host, &flush).is_empty());
}

#[test]
fn damaged_data_fail_their_command_and_no_other() {
    let mut admin = super::controllers::Admin::enabled();
    let digests = Digests { header: true, data: true };
    let (socket, mut host) = admin.bench.queue(digests, 1, Some(admin.id));
    let bench = &mut admin.bench;
    let range = BlockRange { lba: 0, blocks: BlockCount::new(1).unwrap() };
    let entry = io(1, in_capsule(512), IoCommand::Write(Transfer::new(range)));
    let mut bytes = host.command(entry, &[1; 512]);
    *bytes.last_mut().unwrap() ^= 1;
    let pdus = bench.talk(socket, &mut host, &bytes);
    assert_eq!(completion(&pdus).status, StatusCode::TransientTransport.for_now());
    assert_eq!(bench.drive[0], 0, "it was not written");
    assert_eq!(bench.sockets[socket].buffers(), 0);
    let bytes = host.command(entry, &[1; 512]);
    assert!(completion(&bench.talk(socket, &mut host, &bytes)).status.is_success());
    assert_eq!(bench.drive[0], 1);
    let mut bytes = host.command(entry, &[1; 512]);
    bytes[20] ^= 1;
    bench.feed(socket, &bytes);
    assert_eq!(bench.end(socket, &mut host), Some(FatalStatus::HeaderDigest));
}

#[test]
fn any_bytes_at_any_time_leave_a_target_that_holds_little() {
    for seed in testing::seeds(0..300) {
        let mut rng = Rng::stream(seed, "bytes");
        let (mut bench, socket, host) = queue();
        let mut stream = Vec::new();
        for cid in 0..rng.below(6) as u16 {
            stream.extend(host.command(write(cid, 0, 16), &[]));
            stream.extend(host.pdu(&host_data((cid, cid), 0, 4096, false), &[0; 4096]));
        }
        for _ in 0..rng.below(4) {
            if let Some(at) = stream.len().checked_sub(1).map(|last| rng.below(last as u64 + 1)) {
                stream[at as usize] = rng.next_u64() as u8;
            }
        }
        stream.extend((0..rng.below(200)).map(|_| rng.next_u64() as u8));
        for piece in stream.chunks(1 + rng.below(700) as usize) {
            bench.feed(socket, piece);
            let own = &bench.sockets[socket];
            assert!(own.connection.held_bytes() <= Connection::held_bytes_max(ENTRIES_MAX));
            assert!(own.buffers() <= usize::from(ENTRIES_MAX));
        }
        // Regardless of these bytes, another connection is served.
        let (other, mut host) = bench.greet(Digests::default(), 0);
        let (entry, data) = connect(0, (0, 31), (None, NQN), 0, 0);
        let bytes = host.command(entry, &data);
        assert!(completion(&bench.talk(other, &mut host, &bytes)).status.is_success());
    }
}
