//! Connecting, reading and writing in every way that there is.

use super::host::{BLOCK, Host, identify, in_capsule, io, range, read, write};
use super::served::{Plan, Served};
use nvme::wire::pdu::Digests;
use nvme::wire::{
    Cns, DatasetManagement, IdentifyController, IdentifyNamespace, IoCommand, SglDescriptor,
    StatusCode, WriteZeroes,
};
use units::Rng;

#[test]
fn a_host_finds_the_drive_that_there_is() {
    let served = Served::start(Plan::fresh());
    let mut host = served.attach();
    let controller = identify(&mut host, Cns::Controller, 0);
    let controller = IdentifyController::decode(controller.first_chunk().unwrap());
    assert_eq!(controller.identity.id, host.admin.controller);
    assert_eq!(controller.identity.subsystem.unwrap().as_str(), served.nqn);
    assert!(controller.ioda.is_some());
    let namespace = identify(&mut host, Cns::Namespace, 1);
    let namespace = IdentifyNamespace::decode(namespace.first_chunk().unwrap());
    assert_eq!(namespace.size_blocks, served.head.bytes >> 12);
    assert_eq!(namespace.block_bytes(), Some(4096));
    assert_eq!(namespace.nguid, served.head.uuid.0);
}

#[test]
fn what_was_written_is_read_with_and_without_digests_in_capsules_and_by_r2t() {
    for (header, data) in [(false, false), (true, false), (false, true), (true, true)] {
        for attributes in [0, 4] {
            let served = Served::start(Plan::fresh());
            let mut terms = served.terms();
            terms.digests = Digests { header, data };
            terms.attributes = attributes;
            let mut host = Host::attach(served.address, &terms);
            let mut rng = Rng::stream(3, "written");
            for (lba, blocks) in [(0, 1), (5, 2), (100, 3), (1000, 32), (77, 17)] {
                let mut data = vec![0; blocks * BLOCK];
                data.iter_mut().for_each(|byte| *byte = rng.next_u64() as u8);
                write(&mut host.io, lba, &data);
                assert_eq!(read(&mut host.io, lba, blocks), data, "{lba} {header} {attributes}");
            }
            let zeroes = WriteZeroes {
                range: range(1010, 4),
                deallocate: true,
                force_unit_access: true,
                limited_retry: false,
            };
            let none = SglDescriptor::Transport { bytes: 0 };
            let answered = host.io.execute(io(none, IoCommand::WriteZeroes(zeroes)), &[]);
            assert!(answered.entry.status.is_success());
            let after = read(&mut host.io, 1000, 32);
            assert!(after[10 * BLOCK..14 * BLOCK].iter().all(|&byte| byte == 0));
            assert!(after[14 * BLOCK..].iter().any(|&byte| byte != 0));
        }
    }
}

#[test]
fn ranges_are_deallocated_up_to_the_whole_drive() {
    let served = Served::start(Plan::aged());
    let mut host = served.attach();
    let blocks = served.head.bytes >> 12;
    for lba in [0, 9, 10_000, blocks - 1] {
        write(&mut host.io, lba, &[9; BLOCK]);
    }
    let some: Vec<u8> = [(9u64, 1u32), (10_000, 0)]
        .iter()
        .flat_map(|&(lba, blocks)| nvme::wire::DatasetRange { attributes: 0, blocks, lba }.encode())
        .collect();
    let deallocate = |ranges| {
        IoCommand::DatasetManagement(DatasetManagement {
            ranges,
            read_together: false,
            write_together: false,
            deallocate: true,
        })
    };
    let answered = host.io.execute(io(in_capsule(some.len()), deallocate(2)), &some);
    assert!(answered.entry.status.is_success());
    assert_eq!(read(&mut host.io, 9, 1), [0; BLOCK]);
    assert_eq!(read(&mut host.io, 10_000, 1), [9; BLOCK]);
    let all = nvme::wire::DatasetRange { attributes: 0, blocks: blocks as u32, lba: 0 }.encode();
    let answered = host.io.execute(io(in_capsule(all.len()), deallocate(1)), &all);
    assert!(answered.entry.status.is_success());
    for lba in [0, 10_000, blocks - 1] {
        assert_eq!(read(&mut host.io, lba, 1), [0; BLOCK], "{lba}");
    }
    let beyond = nvme::wire::DatasetRange { attributes: 0, blocks: 2, lba: blocks - 1 }.encode();
    let answered = host.io.execute(io(in_capsule(beyond.len()), deallocate(1)), &beyond);
    assert_eq!(answered.entry.status.code(), Some(StatusCode::LbaOutOfRange));
    let ended = served.stop();
    ended.model.unwrap().check_invariants();
}
