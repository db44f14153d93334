//! Reads are answered before what others asked for is done, or nearly.

use super::loads::{self, Load};
use super::{MIB, Served, random_read, reads_beside, words};
use crate::attached::Attachable;
use crate::nvme_host::{self, Host, Terms};
use crate::wire::drive::DriveProcess;
use live::control::AdminCommand;
use std::net::SocketAddr;
use units::Rng;

/// Reads that must be answered before the first of the others. A server that looks at nothing else
/// meanwhile answers one or two.
const READS_MIN: u64 = 20;

#[test]
fn reads_do_not_wait_for_long_requests_in_memory() {
    let cases =
        [(Load::Trim, 16), (Load::Zeroes, 16), (Load::ZeroesInFull, 2), (Load::SmallTrims, 1000)];
    for (load, count) in cases {
        let folder = tempfile::tempdir().unwrap();
        let arguments = words("--plain --drive-size 512m --no-prefill");
        let mut served = Served::start(folder.path(), &arguments);
        let (mut reader, mut other) = (served.connect(), served.connect());
        let mut rng = Rng::new(1);
        let reads = reads_beside(
            || random_read(&mut reader, &mut rng),
            || {
                loads::send(&mut other, load, count);
                // Small ones are answered one after the other.
                loads::wait(&mut other, if load == Load::SmallTrims { count } else { 1 });
            },
        );
        println!("{load:?}: {reads:?}");
        assert!(reads.count >= READS_MIN, "{load:?}: {reads:?}");
        // It can be looked at as well.
        loads::send(&mut other, load, 1);
        other.flush().unwrap();
        assert!(served.status().identity.capacity_bytes > 0);
        served.kill();
    }
}

#[test]
fn reads_do_not_wait_for_long_requests_of_hosts() {
    let folder = tempfile::tempdir().unwrap();
    let array = Attachable::start(folder.path(), 1, &["--plain --drive-size 512m --no-prefill"]);
    let (mut reader, mut other) = (array.attach(), array.attach());
    let blocks = loads::blocks(3 * 512 * MIB) - 4096;
    let mut rng = Rng::new(1);
    let mut read = || drop(nvme_host::read(&mut reader.io, rng.below(blocks), 1));
    let reads = reads_beside(&mut read, || loads::deallocate(&mut other.io, blocks, 16, 1));
    println!("ranges: {reads:?}");
    assert!(reads.count >= READS_MIN, "{reads:?}");
    let mut other = array.attach();
    let reads = reads_beside(&mut read, || loads::zero(&mut other.io, blocks));
    println!("zeros: {reads:?}");
    assert!(reads.count >= READS_MIN, "{reads:?}");
}

/// What is deallocated in memory is deallocated at once, in pieces.
#[test]
fn reads_do_not_wait_for_long_commands_of_a_drive() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["--plain", "--drive-size", "1g"];
    let drive = DriveProcess::start_on("memory", folder.path(), 7, &arguments);
    let address = SocketAddr::from(([127, 0, 0, 1], drive.port()));
    let attach = || Host::attach(address, &Terms::new(&crate::wire::drive::nqn(7)));
    let (mut reader, mut other) = (attach(), attach());
    let blocks = loads::blocks(1 << 30);
    // There is something to give back.
    let data = vec![7; 128 << 10];
    (0..blocks / 32).for_each(|at| nvme_host::write(&mut other.io, at * 32, &data));
    let mut rng = Rng::new(1);
    let mut read = || drop(nvme_host::read(&mut reader.io, rng.below(blocks), 1));
    let reads = reads_beside(&mut read, || loads::deallocate(&mut other.io, blocks, 16, 16));
    println!("ranges of a drive: {reads:?}");
    assert!(reads.count >= READS_MIN, "{reads:?}");
}

/// Clients ask for much, read nothing, and leave together.
#[test]
fn reads_do_not_wait_for_what_clients_leave_behind() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = words("--plain --drive-size 256m --no-prefill --client-memory 1g");
    let mut served = Served::start(folder.path(), &arguments);
    let mut reader = served.connect();
    let mut crowd: Vec<_> = (0..40).map(|_| served.connect()).collect();
    for client in &mut crowd {
        loads::send(client, Load::Reads32Mib, 4);
        client.flush().unwrap();
    }
    let mut rng = Rng::new(1);
    // Until what they asked for is held.
    (0..200).for_each(|_| random_read(&mut reader, &mut rng));
    let reads = reads_beside(
        || random_read(&mut reader, &mut rng),
        || {
            drop(crowd);
            // They are gone when the server says so.
            while served.status().requests.connections > 1 {
                std::thread::yield_now();
            }
        },
    );
    println!("clients that left: {reads:?}");
    assert!(reads.count >= 2 * READS_MIN, "{reads:?}");
    served.done(&AdminCommand::Shutdown);
}
