//! Hosts that go in the middle of something, that are many, that send too much and read too little.

use super::host::{BLOCK, Host, Queue, in_capsule, io, range, read, write};
use super::served::{Plan, Served};
use nvme::wire::pdu::Digests;
use nvme::wire::{CNTLID_DYNAMIC, IoCommand, SglDescriptor, StatusCode, Transfer};
use std::collections::BTreeMap;
use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};
use units::Rng;

fn transfer(lba: u64, blocks: usize) -> Transfer {
    Transfer::new(range(lba, blocks))
}

fn send_read(queue: &mut Queue, lba: u64, blocks: usize) -> u16 {
    let data = SglDescriptor::Transport { bytes: (blocks * BLOCK) as u32 };
    queue.send(io(data, IoCommand::Read(transfer(lba, blocks))), &[])
}

fn send_write(queue: &mut Queue, lba: u64, data: &[u8]) -> u16 {
    let descriptor = match data.len() <= 8192 {
        true => in_capsule(data.len()),
        false => SglDescriptor::Transport { bytes: data.len() as u32 },
    };
    queue.send(io(descriptor, IoCommand::Write(transfer(lba, data.len() / BLOCK))), data)
}

/// What a block holds that was written with a number.
fn content(lba: u64, version: u32) -> Vec<u8> {
    let mut block = vec![version as u8; BLOCK];
    block[..8].copy_from_slice(&lba.to_le_bytes());
    block[8..12].copy_from_slice(&version.to_le_bytes());
    block
}

#[test]
fn commands_in_flight_are_answered_in_any_order_and_data_are_those_of_a_model() {
    const BLOCKS: u64 = 512;
    for seed in testing::seeds(0..2) {
        for plan in [Plan::plain(), Plan::aged()] {
            let served = Served::start(plan);
            let mut terms = served.terms();
            terms.digests = Digests { header: true, data: true };
            let mut host = Host::attach(served.address, &terms);
            let mut rng = Rng::stream(seed, "model");
            let mut model: BTreeMap<u64, u32> = BTreeMap::new();
            // Blocks of commands in flight: nobody says what overlapping ones do.
            let mut busy: BTreeMap<u16, (u64, u64, Option<u32>)> = BTreeMap::new();
            let mut version = 0;
            for _ in 0..3000 {
                let blocks = 1 + rng.below(8);
                let lba = rng.below(BLOCKS - blocks);
                let overlaps = |&(at, count, _): &(u64, u64, Option<u32>)| {
                    at < lba + blocks && lba < at + count
                };
                if busy.len() < 64 && !busy.values().any(overlaps) {
                    if rng.below(2) == 0 {
                        version += 1;
                        let data: Vec<u8> =
                            (lba..lba + blocks).flat_map(|lba| content(lba, version)).collect();
                        let cid = send_write(&mut host.io, lba, &data);
                        busy.insert(cid, (lba, blocks, Some(version)));
                    } else {
                        let cid = send_read(&mut host.io, lba, blocks as usize);
                        busy.insert(cid, (lba, blocks, None));
                    }
                    continue;
                }
                let (cid, answered) = host.io.wait_any();
                assert!(answered.entry.status.is_success(), "{:?}", answered.entry);
                let (lba, blocks, written) = busy.remove(&cid).unwrap();
                if let Some(version) = written {
                    model.extend((lba..lba + blocks).map(|lba| (lba, version)));
                    continue;
                }
                for (lba, found) in (lba..).zip(answered.data.chunks(BLOCK)) {
                    let expected = model.get(&lba).map(|version| content(lba, *version));
                    assert!(found == expected.unwrap_or_else(|| vec![0; BLOCK]), "block {lba}");
                }
            }
            let in_order = host.io.order.windows(2).all(|pair| pair[1] > pair[0]);
            assert!(!in_order, "answers came in no other order than commands");
        }
    }
}

#[test]
fn hosts_that_go_in_the_middle_of_anything_leave_nothing_behind() {
    let served = Served::start(Plan { memory_bytes: 16 << 20, ..Plan::aged() });
    let mut steady = served.attach();
    write(&mut steady.io, 1, &content(1, 1));
    for seed in testing::seeds(0..60) {
        let mut rng = Rng::stream(seed, "cut");
        let mut host = served.attach();
        let commands = rng.below(40);
        for _ in 0..commands {
            let lba = 100 + rng.below(1000);
            match rng.below(3) {
                0 => send_read(&mut host.io, lba, 1 + rng.below(32) as usize),
                1 => send_write(&mut host.io, lba, &content(lba, 9)),
                _ => send_write(&mut host.io, lba, &vec![7; BLOCK * (3 + rng.below(20) as usize)]),
            };
        }
        for _ in 0..rng.below(8).min(commands) {
            // Some R2Ts are answered, some answers are read.
            host.io.step();
        }
        match rng.below(3) {
            // In the middle of a PDU.
            0 => host.io.stream.write_all(&[4, 0, 72, 0, 72, 16, 0, 0, 1, 2, 3]).unwrap(),
            1 => host.admin.stream.shutdown(Shutdown::Both).unwrap(),
            _ => {}
        }
    }
    assert_eq!(read(&mut steady.io, 1, 1), content(1, 1));
    // All memory is back: the largest writes and reads, as many as a queue takes.
    for round in 0..4 {
        let cids: Vec<u16> = (0..100)
            .map(|number| send_write(&mut steady.io, number * 32, &vec![round; 32 * BLOCK]))
            .collect();
        cids.into_iter().for_each(|cid| {
            assert!(steady.io.wait(cid).entry.status.is_success());
        });
    }
    let ended = served.stop();
    ended.model.unwrap().check_invariants();
}

#[test]
fn hosts_that_take_all_memory_stop_themselves_and_nobody_else() {
    let served = Served::start(Plan { memory_bytes: 16 << 20, ..Plan::plain() });
    // They ask for more than they ever read, and promise data that they never send.
    let mut greedy = Vec::new();
    for _ in 0..10 {
        let mut host = served.attach();
        for number in 0..60 {
            send_read(&mut host.io, number * 32, 32);
        }
        for number in 0..60 {
            send_write(&mut host.io, number * 32, &vec![1; 32 * BLOCK]);
        }
        greedy.push(host);
    }
    let mut modest = served.attach();
    let begin = Instant::now();
    for number in 0..50 {
        write(&mut modest.io, 5000 + number * 32, &vec![number as u8; 32 * BLOCK]);
        assert_eq!(read(&mut modest.io, 5000 + number * 32, 32), vec![number as u8; 32 * BLOCK]);
        write(&mut modest.io, 9000 + number, &content(number, 2));
    }
    assert!(begin.elapsed() < Duration::from_secs(20));
    // When they read, they get everything.
    for mut host in greedy {
        for _ in 0..120 {
            assert!(host.io.wait_any().1.entry.status.is_success());
        }
    }
}

#[test]
fn a_thousand_connections_are_served_within_the_bound_of_memory() {
    // Each is a descriptor at both ends.
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    if limit.current.is_some_and(|most| most < 2300) {
        let most = rustix::process::Rlimit { current: limit.maximum.or(Some(4096)), ..limit };
        if rustix::process::setrlimit(rustix::process::Resource::Nofile, most).is_err() {
            println!("skipped: this process may not have so many descriptors");
            return;
        }
    }
    let served = Served::start(Plan { memory_bytes: 320 << 20, ..Plan::plain() });
    let terms = served.terms();
    let mut hosts: Vec<Host> = (0..500).map(|_| served.attach()).collect();
    // Every queue asks for more than its share at once: four times the bound in all.
    for round in 0..2u64 {
        for (number, host) in hosts.iter_mut().enumerate() {
            for part in 0..16 {
                let lba = (number as u64 * 16 + part) % 500 * 32;
                send_read(&mut host.io, lba, 32);
            }
            send_write(&mut host.io, 16_000 + number as u64 % 300, &content(round, 3));
        }
        for host in &mut hosts {
            (0..17).for_each(|_| assert!(host.io.wait_any().1.entry.status.is_success()));
        }
    }
    // Beyond the limit hosts wait until others go.
    let more: Vec<TcpStream> =
        (0..40).map(|_| TcpStream::connect(served.address).unwrap()).collect();
    drop(hosts);
    drop(more);
    let queue = Queue::connect(served.address, &terms, (0, 31), CNTLID_DYNAMIC).unwrap();
    drop(queue);
}

#[test]
fn a_connection_that_says_nothing_is_closed() {
    let served = Served::start(Plan::plain());
    let mut silent = Queue::greet(served.address, Digests::default());
    let begin = Instant::now();
    assert!(silent.is_closed());
    assert!(begin.elapsed() > Duration::from_secs(5), "too early");
}

#[test]
fn what_cannot_be_done_is_refused_with_the_right_status() {
    let served = Served::start(Plan::plain());
    let mut host = served.attach();
    let blocks = served.head.bytes >> 12;
    let cid = send_read(&mut host.io, blocks - 1, 2);
    assert_eq!(host.io.wait(cid).entry.status.code(), Some(StatusCode::LbaOutOfRange));
    // More than a command may transfer.
    let cid = send_read(&mut host.io, 0, 33);
    assert_eq!(host.io.wait(cid).entry.status.code(), Some(StatusCode::InvalidField));
    // Room that does not fit the blocks.
    let data = SglDescriptor::Transport { bytes: 512 };
    let cid = host.io.send(io(data, IoCommand::Read(transfer(0, 1))), &[]);
    assert_eq!(host.io.wait(cid).entry.status.code(), Some(StatusCode::SglLengthInvalid));
    let mut nowhere = io(data, IoCommand::Flush);
    nowhere.common.nsid = 2;
    let cid = host.io.send(nowhere, &[]);
    assert_eq!(host.io.wait(cid).entry.status.code(), Some(StatusCode::InvalidNamespace));
    write(&mut host.io, blocks - 1, &[5; BLOCK]);
    assert_eq!(read(&mut host.io, blocks - 1, 1), [5; BLOCK]);
}
