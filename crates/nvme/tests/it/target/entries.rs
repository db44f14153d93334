//! Entries with arbitrary fields, on admin and I/O queues: each is answered once.

use super::bench::Bench;
use super::controllers::Admin;
use super::host::{Host, host_data};
use nvme::wire::pdu::{Digests, Header};
use nvme::wire::{CommonFields, PSDT_SGL, SglDescriptor, StatusField, SubmissionEntry};
use std::collections::{BTreeMap, BTreeSet};
use units::Rng;

const ASYNC_EVENT_REQUEST: u8 = 0x0c;
const ADMIN: [u8; 10] = [0x02, 0x02, 0x06, 0x06, 0x08, 0x09, 0x0a, ASYNC_EVENT_REQUEST, 0x18, 0x7f];
const IO: [u8; 11] = [0x00, 0x01, 0x02, 0x05, 0x08, 0x09, 0x0d, 0x0e, 0x11, 0x15, 0x7f];

fn choose<T: Copy>(rng: &mut Rng, among: &[T]) -> T {
    among[rng.below(among.len() as u64) as usize]
}

/// A number that is a meaningful value more often than a uniformly random one.
fn number(rng: &mut Rng) -> u32 {
    match rng.below(4) {
        0 => 0,
        1 => rng.below(32) as u32,
        2 => choose(rng, &[u32::MAX, 1 << 31, 1 << 16, 0x0000_ffff, 0x0001_0001, 0x007f_0070]),
        _ => rng.next_u64() as u32,
    }
}

/// Draws an entry, and the data in its capsule.
fn draw(rng: &mut Rng, opcodes: &[u8], cid: u16) -> (SubmissionEntry, Vec<u8>) {
    let opcode = if rng.below(16) == 0 { rng.next_u64() as u8 } else { choose(rng, opcodes) };
    let bytes = choose(rng, &[0, 4, 8, 64, 512, 1024, 4096]);
    let mut capsule = Vec::new();
    let data = match rng.below(8) {
        0 => SglDescriptor::Unsupported { kind: rng.next_u64() as u8, address: 0, bytes },
        1..3 => {
            capsule = (0..bytes).map(|_| rng.next_u64() as u8).collect();
            SglDescriptor::InCapsule { offset: 0, bytes }
        }
        _ => SglDescriptor::Transport { bytes },
    };
    let mut nsid = choose(rng, &[0, 1, 1, 1, 2, u32::MAX]);
    if opcode == 0x7f {
        nsid = choose(rng, &[0x00, 0x01, 0x04, 0x04, 0x05, 0x06, 0x08, 0x33]);
    }
    let entry = SubmissionEntry {
        opcode,
        flags: if rng.below(32) == 0 { rng.next_u64() as u8 } else { PSDT_SGL },
        common: CommonFields { cid, nsid, data },
        cdw2: number(rng),
        cdw3: number(rng),
        metadata: 0,
        cdw10: std::array::from_fn(|_| number(rng)),
    };
    (entry, capsule)
}

/// Sends the data that R2Ts request until there are none. Returns the answered commands.
fn settle(
    bench: &mut Bench,
    socket: usize,
    host: &mut Host,
    bytes: &[u8],
) -> Vec<(u16, StatusField)> {
    let mut answered = Vec::new();
    let mut pdus = bench.talk(socket, host, bytes);
    while !pdus.is_empty() {
        let mut reply = Vec::new();
        for (header, _) in pdus {
            match header {
                Header::ReadyToTransfer(ready) => {
                    let name = (ready.cid, ready.transfer_tag);
                    let data = vec![0x49; ready.data_bytes as usize];
                    let header = host_data(name, 0, data.len(), true);
                    reply.extend(host.pdu(&header, &data));
                }
                Header::Response(completion) => answered.push((completion.cid, completion.status)),
                Header::ControllerData(_) => {}
                other => panic!("{other:?}"),
            }
        }
        pdus = bench.talk(socket, host, &reply);
    }
    answered
}

#[test]
fn every_entry_is_answered_once() {
    let mut statuses = BTreeMap::new();
    let mut count = |status: StatusField| *statuses.entry(status.bits()).or_insert(0) += 1;
    for seed in testing::seeds(0..150) {
        let mut rng = Rng::stream(seed, "entries");
        let mut admin = Admin::enabled();
        let digests = Digests { header: rng.below(2) == 0, data: rng.below(2) == 0 };
        let (socket, mut host) = admin.bench.queue(digests, 1, Some(admin.id));
        // Event requests wait.
        let mut waiting = BTreeSet::new();
        for cid in 100..200 {
            let is_admin = rng.below(2) == 0 || admin.bench.sockets[socket].is_closed;
            if is_admin {
                let (entry, capsule) = draw(&mut rng, &ADMIN, cid);
                let bytes = admin.host.command(entry, &capsule);
                waiting.insert(cid);
                for (cid, status) in settle(&mut admin.bench, 0, &mut admin.host, &bytes) {
                    assert!(waiting.remove(&cid), "{cid} was answered twice");
                    count(status);
                }
                let is_held = entry.opcode == ASYNC_EVENT_REQUEST;
                assert!(is_held || !waiting.contains(&cid), "no answer to {entry:?}");
            } else {
                let (entry, capsule) = draw(&mut rng, &IO, cid);
                let bytes = host.command(entry, &capsule);
                let answered = settle(&mut admin.bench, socket, &mut host, &bytes);
                let [(answered, status)] = answered[..] else {
                    panic!("{answered:?} to {entry:?}")
                };
                assert_eq!(answered, cid);
                count(status);
            }
            let own = &admin.bench.sockets[0];
            assert!(own.connection.is_open(), "nothing of this breaks the protocol");
            assert_eq!((own.connection.in_flight(), own.buffers()), (waiting.len(), waiting.len()));
            assert!(waiting.len() <= 4);
        }
    }
    if !testing::is_repeat() {
        assert!(statuses[&0] > 1000, "{statuses:?}");
        assert!(statuses.len() > 10, "{statuses:?}");
    }
}
