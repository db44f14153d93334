//! Clients that send large requests and never read, beside one that does.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

use crate::common::served::{Served, read, write};
use live::nbd::client::Client;
use std::time::{Duration, Instant};

const MIB: u64 = 1 << 20;
/// Together they ask for more than twice the bound, and each for less than one client is allowed.
const CROWD: u64 = 12;
const READS: u64 = 12;
const BOUND: u64 = 64 * MIB;

/// Memory that a process has, in bytes.
fn memory_bytes(pid: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = text.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

/// Waits until the memory of a process has not grown for a while; the most that it had.
fn settled_bytes(pid: u32) -> u64 {
    let (mut most, mut since) = (memory_bytes(pid), Instant::now());
    while since.elapsed() < Duration::from_millis(500) {
        std::thread::sleep(Duration::from_millis(10));
        let now = memory_bytes(pid);
        if now > most {
            (most, since) = (now, Instant::now());
        }
    }
    most
}

fn send_and_never_read(client: &mut Client) {
    for cookie in 0..READS {
        client.send_read(cookie, cookie * MIB, MIB as u32);
    }
    client.flush().unwrap();
}

#[test]
fn clients_that_never_read_stop_and_others_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = "--plain --drive-size 128m --no-prefill --client-memory 64m";
    let arguments: Vec<String> = arguments.split(' ').map(String::from).collect();
    let mut served = Served::start(folder.path(), &arguments);
    let mut reading = served.connect();
    let block = vec![7; 64 << 10];
    write(&mut reading, 0, &block).unwrap();
    let before = memory_bytes(served.pid());

    let mut crowd: Vec<Client> = (0..CROWD).map(|_| served.connect()).collect();
    crowd.iter_mut().for_each(send_and_never_read);
    let grown = settled_bytes(served.pid()) - before;
    println!("{CROWD} clients that never read: {} MiB", grown / MIB);
    // Drives in memory and a stripe operation for each request have their part in it.
    assert!(grown < BOUND * 3 / 2, "{} MiB", grown / MIB);

    let begin = Instant::now();
    for round in 0..200u64 {
        write(&mut reading, round * block.len() as u64, &block).unwrap();
        assert_eq!(read(&mut reading, round * block.len() as u64, 64 << 10).unwrap(), block);
    }
    println!("200 writes and reads beside them in {:?}", begin.elapsed());
    // One that comes later gets its share as well.
    let mut late = served.connect();
    assert_eq!(read(&mut late, 0, 64 << 10).unwrap(), block);
    // A large request waits until others have freed some.
    late.send_read(1, 0, 32 * MIB as u32);
    late.flush().unwrap();
    std::thread::sleep(Duration::from_millis(200));
    assert!(late.receive().unwrap().is_none());
    drop(crowd);
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(reply) = late.receive().unwrap() {
            assert_eq!((reply.error, reply.data.len() as u64), (0, 32 * MIB));
            break;
        }
        assert!(Instant::now() < until, "it waits although there is room");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(served.terminate());
}
