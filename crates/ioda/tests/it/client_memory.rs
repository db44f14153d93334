//! Clients that send large requests and never read, beside one that does.
//!
//! What is ignored measures: `cargo test --release -p ioda --test it client_memory -- --ignored
//! --nocapture`.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

use crate::common::served::{Served, read, write};
use live::nbd::client::Client;
use std::time::{Duration, Instant};
use units::Rng;

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
    assert!(grown <= BOUND, "{} MiB", grown / MIB);

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

/// How long each latency is measured.
const MEASURED: Duration = Duration::from_secs(3);

/// Reads of 4 KiB, one after the other; their p50 and p99.
fn latency(client: &mut Client, random: &mut Rng) -> (Duration, Duration) {
    let mut took = Vec::new();
    let until = Instant::now() + MEASURED;
    while Instant::now() < until {
        let begin = Instant::now();
        read(client, random.below(8192) * 4096, 4096).unwrap();
        took.push(begin.elapsed());
    }
    took.sort_unstable();
    (took[took.len() / 2], took[took.len() * 99 / 100])
}

/// 200 clients ask for 32 MiB each and never read.
#[test]
#[ignore = "measures, for tens of seconds"]
fn two_hundred_clients_that_never_read() {
    for (bound_mib, reads) in [(64, 32), (256, 32), (1024, 32)] {
        let folder = tempfile::tempdir().unwrap();
        let arguments =
            format!("--plain --drive-size 128m --no-prefill --client-memory {bound_mib}m");
        let arguments: Vec<String> = arguments.split(' ').map(String::from).collect();
        let mut served = Served::start(folder.path(), &arguments);
        let mut reading = served.connect();
        for at in 0..96 {
            write(&mut reading, at * MIB, &vec![7; MIB as usize]).unwrap();
        }
        let mut random = Rng::new(1);
        let idle = memory_bytes(served.pid());
        let (p50, p99) = latency(&mut reading, &mut random);
        let mut crowd: Vec<Client> = (0..200).map(|_| served.connect()).collect();
        for client in &mut crowd {
            for cookie in 0..reads {
                client.send_read(cookie, cookie * MIB, MIB as u32);
            }
            client.flush().unwrap();
        }
        let most = settled_bytes(served.pid());
        let (p50_beside, p99_beside) = latency(&mut reading, &mut random);
        let most = most.max(settled_bytes(served.pid()));
        println!(
            "bound {bound_mib} MiB: {} MiB more memory; p50 {p50:?} to {p50_beside:?} ({:.2} x), \
             p99 {p99:?} to {p99_beside:?} ({:.2} x)",
            (most - idle) / MIB,
            p50_beside.as_secs_f64() / p50.as_secs_f64(),
            p99_beside.as_secs_f64() / p99.as_secs_f64(),
        );
        drop(crowd);
        assert!(served.terminate());
    }
}

/// Reads and writes of 4 KiB a second with many in flight.
fn rate(client: &mut Client, random: &mut Rng) -> f64 {
    let (mut done, mut cookie) = (0u64, 0);
    let begin = Instant::now();
    let block = [5; 4096];
    while begin.elapsed() < MEASURED {
        while client.in_flight() < 32 {
            cookie += 1;
            let at = random.below(24 << 10) * 4096;
            match random.below(10) < 3 {
                true => client.send_write(cookie, at, &block, false),
                false => client.send_read(cookie, at, 4096),
            }
        }
        client.flush().unwrap();
        while let Some(reply) = client.receive().unwrap() {
            assert_eq!(reply.error, 0);
            done += 1;
        }
    }
    done as f64 / begin.elapsed().as_secs_f64()
}

/// Whether it costs anything to be near the bound: the same load with the least bound and with one
/// that is never met, in pairs.
#[test]
#[ignore = "measures, for a minute"]
fn what_the_bound_costs() {
    let bounds = ["64m", "8g"];
    let mut ratios = Vec::new();
    for pair in 0..8 {
        let mut rates = [0.0; 2];
        for turn in 0..2 {
            let which = (pair + turn) % 2;
            let folder = tempfile::tempdir().unwrap();
            let arguments = format!("--plain --drive-size 128m --client-memory {}", bounds[which]);
            let arguments: Vec<String> = arguments.split(' ').map(String::from).collect();
            let mut served = Served::start(folder.path(), &arguments);
            let mut client = served.connect();
            rate(&mut client, &mut Rng::new(2));
            rates[which] = rate(&mut client, &mut Rng::new(3));
            assert!(served.terminate());
        }
        println!("{:.0} and {:.0} requests a second", rates[0], rates[1]);
        ratios.push(rates[0] / rates[1]);
    }
    ratios.sort_unstable_by(f64::total_cmp);
    println!("--client-memory 64m to 8g: {:.3} x (median of 8 pairs), {ratios:.3?}", ratios[4]);
}
