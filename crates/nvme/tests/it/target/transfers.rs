//! Data of commands: when they are requested, when they are dropped, how transfers end.

use super::bench::{BLOCK, BLOCKS, NQN, terms};
use super::controllers::Admin;
use super::host::{Host, Pdu, completion, connect, data, host_data, in_capsule, io, transport};
use nvme::target::{Answer, CommandData, Connection, Output, Slot, TransportEvent};
use nvme::wire::pdu::{Digests, Header};
use nvme::wire::{
    AdminCommand, BlockCount, BlockRange, CATTR_NO_SQ_FLOW, DatasetManagement, DatasetRange,
    Feature, FeatureId, GetFeatures, IoCommand, StatusCode, StatusField, SubmissionEntry, Transfer,
    WindowConfig,
};

/// A connection with its terms, and its host.
fn connection() -> (Connection, Host) {
    let mut connection = Connection::new(terms());
    let mut host = Host::new();
    let init = host.init(Digests::default(), 0);
    connection.handle_bytes(&init);
    assert_eq!(sent(&mut connection, &mut host).len(), 1);
    host.establish(Digests::default(), 0);
    (connection, host)
}

/// Takes all output of a connection; its data are zeroes.
fn sent(connection: &mut Connection, host: &mut Host) -> Vec<Pdu> {
    let mut bytes = Vec::new();
    while let Some(output) = connection.poll_output() {
        if let Output::Send(pdu) = output {
            bytes.extend_from_slice(pdu.prefix());
            bytes.extend(vec![0; pdu.data().map_or(0, |piece| piece.bytes as usize)]);
        }
    }
    host.read(&bytes)
}

fn write(bytes: usize) -> SubmissionEntry {
    let blocks = BlockCount::new(bytes as u32 / 512).unwrap();
    io(5, transport(bytes), IoCommand::Write(Transfer::new(BlockRange { lba: 0, blocks })))
}

/// Slot of the command in these bytes.
fn begin(connection: &mut Connection, bytes: &[u8]) -> Slot {
    let (taken, event) = connection.handle_bytes(bytes);
    let TransportEvent::Command { slot, data, .. } = event else { panic!("{event:?}") };
    assert_eq!(data, CommandData::AtHost { bytes: 8192 });
    let (_, event) = connection.handle_bytes(&bytes[taken..]);
    assert!(matches!(event, TransportEvent::NeedMore(_)));
    slot
}

#[test]
fn nothing_is_asked_of_the_host_before_there_is_a_buffer() {
    let (mut connection, mut host) = connection();
    let slot = begin(&mut connection, &host.command(write(8192), &[]));
    assert!(sent(&mut connection, &mut host).is_empty());
    connection.receive(slot);
    let pdus = sent(&mut connection, &mut host);
    assert!(matches!(pdus[..], [(Header::ReadyToTransfer(_), _)]));
}

#[test]
fn a_write_that_is_refused_in_time_is_not_asked_for() {
    let (mut connection, mut host) = connection();
    let slot = begin(&mut connection, &host.command(write(8192), &[]));
    connection.receive(slot);
    connection.complete(slot, Answer::new(StatusCode::AbortRequested.for_good()));
    connection.check_invariants();
    let pdus = sent(&mut connection, &mut host);
    assert_eq!(pdus.len(), 1);
    assert_eq!(completion(&pdus).status, StatusCode::AbortRequested.for_good());
    assert_eq!(connection.in_flight(), 0);
}

#[test]
fn data_of_a_write_that_was_refused_meanwhile_are_dropped() {
    let (mut connection, mut host) = connection();
    let slot = begin(&mut connection, &host.command(write(8192), &[]));
    connection.receive(slot);
    sent(&mut connection, &mut host);
    let name = (5, slot.index() as u16);
    let first = host.pdu(&host_data(name, 0, 4096, false), &[1; 4096]);
    let (taken, event) = connection.handle_bytes(&first);
    assert!(
        matches!(event, TransportEvent::Data { offset_bytes: 0, bytes, .. } if bytes.len() == 4096)
    );
    connection.handle_bytes(&first[taken..]);
    connection.complete(slot, Answer::new(StatusCode::AbortRequested.for_good()));
    assert!(sent(&mut connection, &mut host).is_empty(), "the host is still sending");
    let second = host.pdu(&host_data(name, 4096, 4096, true), &[1; 4096]);
    let (taken, event) = connection.handle_bytes(&second);
    assert!(matches!(event, TransportEvent::NeedMore(_)), "{event:?}");
    assert_eq!(taken, second.len());
    connection.check_invariants();
    let pdus = sent(&mut connection, &mut host);
    assert_eq!(completion(&pdus).status, StatusCode::AbortRequested.for_good());
    assert_eq!(connection.in_flight(), 0);
}

#[test]
fn a_result_needs_its_completion() {
    let mut admin = Admin::enabled();
    let (socket, mut host) = admin.bench.greet(Digests::default(), 0);
    let (entry, out) = connect(0, (0, 31), (None, NQN), 5000, CATTR_NO_SQ_FLOW);
    let bytes = host.command(entry, &out);
    let connected = completion(&admin.bench.talk(socket, &mut host, &bytes));
    assert_eq!(connected.sq_head, u16::MAX, "there is no such thing on this queue");
    std::mem::swap(&mut admin.host, &mut host);
    admin.bench.sockets.swap(0, socket);
    admin.configure(true);
    let enable = |enable| Feature::WindowConfig { nvm_set: 1, enable };
    let config = WindowConfig::default().encode();
    let get = AdminCommand::GetFeatures(GetFeatures::current(FeatureId::WindowConfig, 1));
    let entry = super::host::admin(9, 0, transport(512), get);

    admin.set(enable(true), &config);
    let bytes = admin.host.command(entry, &[]);
    let pdus = admin.bench.talk(0, &mut admin.host, &bytes);
    assert_eq!((completion(&pdus).dw0(), data(&pdus).len()), (1, 512));

    admin.set(enable(false), &config);
    let pdus = admin.bench.talk(0, &mut admin.host, &bytes);
    let [(Header::ControllerData(header), _)] = pdus[..] else { panic!("{pdus:?}") };
    assert!(header.last && header.success, "DW0 is zero, so nothing is lost");
}

#[test]
fn ranges_are_deallocated_or_none_is() {
    let mut admin = Admin::enabled();
    let (socket, mut host) = admin.bench.queue(Digests::default(), 1, Some(admin.id));
    admin.bench.drive.fill(1);
    // Linux always sends room for 256 ranges.
    let mut deallocate = |admin: &mut Admin, ranges: u16, room: usize, last: u64| {
        let mut out = vec![0xff; room];
        for (number, lba) in [8, last].into_iter().enumerate() {
            let range = DatasetRange { attributes: 0, blocks: 4, lba };
            out[16 * number..][..16].copy_from_slice(&range.encode());
        }
        let management = DatasetManagement {
            ranges,
            deallocate: true,
            read_together: false,
            write_together: false,
        };
        let entry = io(1, in_capsule(room), IoCommand::DatasetManagement(management));
        let bytes = host.command(entry, &out);
        completion(&admin.bench.talk(socket, &mut host, &bytes)).status
    };
    let refused = StatusCode::LbaOutOfRange.for_good();
    assert_eq!(deallocate(&mut admin, 2, 4096, u64::MAX), refused);
    assert_eq!(deallocate(&mut admin, 2, 4096, BLOCKS as u64 - 3), refused);
    assert!(admin.bench.drive.iter().all(|&byte| byte == 1));
    assert_eq!(deallocate(&mut admin, 3, 32, 0), StatusCode::SglLengthInvalid.for_good());
    assert_eq!(deallocate(&mut admin, 2, 4096, BLOCKS as u64 - 4), StatusField::SUCCESS);
    let zeroes = admin.bench.drive.iter().filter(|&&byte| byte == 0).count();
    assert_eq!(zeroes, 8 * BLOCK);
    assert_eq!(admin.bench.drive[8 * BLOCK..12 * BLOCK], [0; 4 * BLOCK]);
}
