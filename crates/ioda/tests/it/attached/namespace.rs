//! One array, as a namespace and as an export.

use super::{Attachable, PATIENCE, PLAIN, initiator, told};
use crate::common::checker::Checker;
use crate::common::served::{Served, read, write};
use crate::nvme_host::{
    self, BLOCK, HOST_NQN, Host, Queue, identify, in_capsule, io, range, records,
};
use engine::durability::Disk;
use live::control::AdminCommand;
use nvme::wire::{
    CNTLID_DYNAMIC, Cns, ConnectRefusal, DatasetManagement, DatasetRange, IdentifyController,
    IdentifyNamespace, IoCommand, Nqn, SglDescriptor, StatusCode, StatusField, Transfer,
    WriteZeroes,
};
use std::time::{Duration, Instant};

fn status(queue: &mut Queue, command: IoCommand, data: &[u8]) -> StatusField {
    let descriptor = match (&command, data) {
        (IoCommand::Read(transfer), _) => {
            SglDescriptor::Transport { bytes: transfer.range.blocks.get() * BLOCK as u32 }
        }
        (_, []) => SglDescriptor::Transport { bytes: 0 },
        (_, data) => in_capsule(data.len()),
    };
    queue.execute(io(descriptor, command), data).entry.status
}

fn deallocate(queue: &mut Queue, ranges: &[(u64, u32)]) -> StatusField {
    let data: Vec<u8> = ranges
        .iter()
        .flat_map(|&(lba, blocks)| DatasetRange { attributes: 0, blocks, lba }.encode())
        .collect();
    let command = IoCommand::DatasetManagement(DatasetManagement {
        ranges: ranges.len() as u16,
        read_together: false,
        write_together: false,
        deallocate: true,
    });
    status(queue, command, &data)
}

#[test]
fn what_is_written_one_way_is_read_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let mut array = Attachable::start(folder.path(), 1, &[PLAIN]);
    let mut client = array.served.connect();
    let mut host = array.attach();
    for (lba, blocks) in [(0, 1), (5, 2), (100, 32), (77, 17)] {
        let data: Vec<u8> = (0..blocks * BLOCK).map(|byte| (byte / 7) as u8).collect();
        nvme_host::write(&mut host.io, lba, &data);
        let there = read(&mut client, lba * BLOCK as u64, data.len() as u32).unwrap();
        assert_eq!(there, data);
    }
    // Clients over NBD write single bytes, and hosts whole blocks.
    write(&mut client, 7 * BLOCK as u64 + 100, b"here").unwrap();
    assert_eq!(&nvme_host::read(&mut host.io, 7, 1)[100..104], b"here");
    for deallocated in [true, false] {
        nvme_host::write(&mut host.io, 300, &[9; 16 * BLOCK]);
        let zeroes = IoCommand::WriteZeroes(WriteZeroes {
            range: range(301, 8),
            deallocate: deallocated,
            force_unit_access: true,
            limited_retry: false,
        });
        assert!(status(&mut host.io, zeroes, &[]).is_success());
        let found = read(&mut client, 300 * BLOCK as u64, 16 * BLOCK as u32).unwrap();
        assert!(found[..BLOCK].iter().all(|byte| *byte == 9));
        assert!(found[BLOCK..9 * BLOCK].iter().all(|byte| *byte == 0));
        assert!(found[9 * BLOCK..].iter().all(|byte| *byte == 9));
    }
    assert!(deallocate(&mut host.io, &[(300, 1), (310, 0), (315, 1)]).is_success());
    // A hint: parts of stripes keep what they have.
    let found = nvme_host::read(&mut host.io, 300, 16);
    for block in found[..BLOCK].chunks(BLOCK).chain(found[15 * BLOCK..].chunks(BLOCK)) {
        assert!(block == [0; BLOCK] || block == [9; BLOCK]);
    }
    assert!(found[9 * BLOCK..15 * BLOCK].iter().all(|byte| *byte == 9));
    assert!(deallocate(&mut host.io, &[(0, 3000)]).is_success());
    let found = nvme_host::read(&mut host.io, 300, 16);
    assert!(found.iter().all(|byte| *byte == 0), "whole stripes have nothing any more");
    assert!(status(&mut host.io, IoCommand::Flush, &[]).is_success());
    let requests = array.served.status().requests;
    assert_eq!((requests.connections, requests.paths, requests.failed_requests), (2, 1, 0));
    assert!(requests.written_bytes > 50 * BLOCK as u64 && requests.flushes == 1);
}

#[test]
fn what_is_beyond_the_end_or_cannot_be_is_refused_and_nothing_else_breaks() {
    let folder = tempfile::tempdir().unwrap();
    let array = Attachable::start(folder.path(), 1, &[PLAIN]);
    let mut host = array.attach();
    let blocks = array.served.status().identity.capacity_bytes / BLOCK as u64;
    let beyond = StatusCode::LbaOutOfRange.for_good();
    let last = IoCommand::Read(Transfer::new(range(blocks - 1, 2)));
    assert_eq!(status(&mut host.io, last, &[]), beyond);
    assert_eq!(deallocate(&mut host.io, &[(0, 1), (blocks, 1)]), beyond);
    assert_eq!(deallocate(&mut host.io, &[(u64::MAX, u32::MAX)]), beyond);
    assert!(deallocate(&mut host.io, &[(0, blocks as u32)]).is_success());
    let all: Vec<(u64, u32)> = (0..256).map(|number| (number, 1)).collect();
    assert!(deallocate(&mut host.io, &all).is_success());
    nvme_host::write(&mut host.io, blocks - 1, &[1; BLOCK]);
    assert_eq!(nvme_host::read(&mut host.io, blocks - 1, 1), [1; BLOCK]);
}

#[test]
fn an_array_that_misses_too_many_drives_says_which_errors_these_are() {
    let folder = tempfile::tempdir().unwrap();
    let array = Attachable::start(folder.path(), 1, &[PLAIN, "--raid 0"]);
    let mut host = array.attach();
    nvme_host::write(&mut host.io, 0, &[1; 2 * BLOCK]);
    array.served.done(&AdminCommand::Fail { drive: 0, force: true });
    let all = [IoCommand::Read(Transfer::new(range(0, 16))), IoCommand::Flush];
    let found = all.map(|command| status(&mut host.io, command, &[]));
    assert_eq!(found[0], StatusCode::UnrecoveredRead.for_good());
    let one = IoCommand::Write(Transfer::new(range(0, 2)));
    let written = status(&mut host.io, one, &[2; 2 * BLOCK]);
    assert_eq!(written, StatusCode::WriteFault.for_good());
    assert!(array.served.status().requests.failed_requests >= 2);
}

#[test]
fn both_paths_are_found_and_lead_to_one_namespace() {
    let folder = tempfile::tempdir().unwrap();
    let array = Attachable::start(folder.path(), 2, &[PLAIN]);
    for path in 0..2 {
        let found = records(array.address(path), HOST_NQN);
        let services: Vec<_> = found.iter().map(|record| record.service.as_str()).collect();
        assert_eq!(services, [array.ports[0].to_string(), array.ports[1].to_string()]);
        assert!(found.iter().all(|record| record.subsystem == Nqn::new(&array.nqn)));
    }
    let terms = array.terms();
    let mut hosts = [0, 1].map(|path| Host::attach(array.address(path), &terms));
    assert_ne!(hosts[0].admin.controller, hosts[1].admin.controller);
    let namespaces = hosts.each_mut().map(|host| {
        let controller = identify(host, Cns::Controller, 0);
        let controller = IdentifyController::decode(controller.first_chunk().unwrap());
        assert_eq!(controller.support.multipath, 2, "CMIC: several controllers");
        assert!(controller.ioda.is_none());
        assert_eq!(controller.support.write_cache, 0, "there is nothing to flush in memory");
        let namespace = identify(host, Cns::Namespace, 1);
        IdentifyNamespace::decode(namespace.first_chunk().unwrap())
    });
    assert_eq!(namespaces[0], namespaces[1]);
    assert_eq!(namespaces[0].owner.shared, 1, "NMIC: shared");
    assert_ne!(namespaces[0].nguid, [0; 16]);
    nvme_host::write(&mut hosts[0].io, 9, &[9; BLOCK]);
    assert_eq!(nvme_host::read(&mut hosts[1].io, 9, 1), [9; BLOCK]);
    assert_eq!(array.served.status().requests.paths, 2);
}

#[test]
fn who_is_not_in_the_list_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let friend = "nqn.2026-01.example:friend";
    let array = Attachable::start(folder.path(), 1, &[PLAIN, "--host", friend]);
    let refused = Queue::connect(array.address(0), &array.terms(), (0, 31), CNTLID_DYNAMIC);
    let entry = refused.unwrap_err();
    let refusal = ConnectRefusal::decode(entry.status, entry.dw0());
    assert_eq!(refusal, Some(ConnectRefusal::InvalidHost));
    assert_eq!(records(array.address(0), HOST_NQN), []);
    let mut terms = array.terms();
    terms.host = friend.into();
    let mut host = Host::attach(array.address(0), &terms);
    nvme_host::write(&mut host.io, 3, &[3; BLOCK]);
}

#[test]
fn data_and_identity_survive_kills_and_restarts() {
    let folder = tempfile::tempdir().unwrap();
    let storage = folder.path().join("d").display().to_string();
    let start = || Attachable::start(folder.path(), 1, &[PLAIN, "--storage", &storage]);
    let mut seen = Vec::new();
    for life in 1..=4u8 {
        let array = start();
        let mut host = array.attach();
        let namespace = identify(&mut host, Cns::Namespace, 1);
        let namespace = IdentifyNamespace::decode(namespace.first_chunk().unwrap());
        let controller = identify(&mut host, Cns::Controller, 0);
        let controller = IdentifyController::decode(controller.first_chunk().unwrap());
        assert_eq!(controller.support.write_cache & 1, 1);
        seen.push((array.nqn.clone(), namespace.nguid, controller.identity.serial));
        assert_eq!(seen[0], seen[usize::from(life) - 1]);
        if life > 1 {
            let before = nvme_host::read(&mut host.io, 40, 5);
            assert!(before[..4 * BLOCK].iter().all(|byte| *byte == life - 1), "flushed");
            assert!(before[4 * BLOCK..].iter().all(|byte| *byte == life - 1), "forced");
        }
        nvme_host::write(&mut host.io, 40, &[life; 4 * BLOCK]);
        assert!(status(&mut host.io, IoCommand::Flush, &[]).is_success());
        let forced = Transfer { force_unit_access: true, ..Transfer::new(range(44, 1)) };
        assert!(status(&mut host.io, IoCommand::Write(forced), &[life; BLOCK]).is_success());
        match life % 2 {
            0 => assert!(array.served.terminate()),
            _ => array.served.kill(),
        }
    }
}

#[test]
fn an_array_that_is_shut_down_answers_what_it_has_begun_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let storage = folder.path().join("d").display().to_string();
    let start = || Attachable::start(folder.path(), 1, &[PLAIN, "--storage", &storage]);
    let array = start();
    let (port, nqn) = (array.ports[0], array.nqn.clone());
    let host = std::thread::spawn(move || {
        let mut drive = initiator(port, &nqn).unwrap();
        let mut answered = 0u64;
        // The first write without an answer is the end.
        loop {
            let data = [(answered % 251) as u8; BLOCK];
            match drive.write(answered % 1000 * BLOCK as u64, &data) {
                Ok(()) => answered += 1,
                Err(_) => return answered,
            }
        }
    });
    std::thread::sleep(Duration::from_millis(300));
    assert!(array.served.terminate());
    let answered = host.join().unwrap();
    assert!(answered > 0);
    let array = start();
    let mut drive = initiator(array.ports[0], &array.nqn).unwrap();
    for number in answered.saturating_sub(900)..answered {
        let mut found = [0; BLOCK];
        drive.read(number % 1000 * BLOCK as u64, &mut found).unwrap();
        assert_eq!(found, [(number % 251) as u8; BLOCK], "write {number} of {answered}");
    }
}

#[test]
fn an_array_is_a_drive_of_another() {
    let folder = tempfile::tempdir().unwrap();
    let (below, above) = (folder.path().join("below"), folder.path().join("above"));
    [&below, &above].iter().for_each(|folder| std::fs::create_dir(folder).unwrap());
    let mut array = Attachable::start(&below, 1, &["--plain --drive-size 64m"]);
    let drive = format!("nvme+tcp://127.0.0.1:{}/{}", array.ports[0], array.nqn);
    let words = ["--raid", "0", "--drives", "1", "--create", "--storage", &drive];
    let mut served = Served::start(&above, &words.map(String::from));
    let mut client = served.connect();
    let mut checker = Checker::new(5, 3000);
    checker.run(&mut client, 16, Instant::now() + Duration::from_secs(2));
    checker.check_all(&mut client);
    assert!(checker.errors == 0 && checker.writes > 100 && checker.flushes > 0);
    assert!(served.terminate());
    assert_eq!(array.served.scrub(), 0);
    let mut client = array.served.connect();
    assert!(read(&mut client, 0, 4096).is_ok());
}

/// A host that is told 0.0.0.0 connects to itself.
#[test]
fn discovery_tells_the_address_that_was_asked() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["--address", "nvme+tcp://0.0.0.0:0", "--any-host", "--blocks-per-plane", "20"];
    let arguments: Vec<String> = words.map(String::from).into();
    let served = Served::start(folder.path(), &arguments);
    let until = Instant::now() + PATIENCE;
    let (port, _) = loop {
        match told(&served.said()).first() {
            Some(path) => break path.clone(),
            None => assert!(Instant::now() < until, "{}", served.said()),
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    for asked in [[127, 0, 0, 1], [127, 0, 0, 2]] {
        let found = records(std::net::SocketAddr::from((asked, port)), HOST_NQN);
        let address = std::net::Ipv4Addr::from(asked).to_string();
        assert_eq!(found.len(), 1);
        let record = (found[0].address.as_str(), found[0].service.as_str());
        assert_eq!(record, (address.as_str(), port.to_string().as_str()));
    }
    assert!(served.terminate());
}
