//! A thousand idle clients, and a process without file descriptors.
//!
//! One test in a process of its own, because it counts the memory, the threads and the file
//! descriptors of the whole process.
#![allow(clippy::unwrap_used, reason = "tests stop")]
#![allow(clippy::print_stdout, reason = "who reads a test's output learns what was skipped")]

use crate::nbd_memory::Server;
use crate::own_process;
use live::nbd::Tls;
use live::nbd::wire::{self, option};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const CLIENTS: usize = 1000;
const PATIENCE: Duration = Duration::from_secs(60);

/// A number of `/proc/self/status`.
fn status(name: &str) -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Hundredths of a second that the acceptor's thread has worked.
fn acceptor_ticks() -> u64 {
    for task in fs::read_dir("/proc/self/task").unwrap() {
        let path = task.unwrap().path();
        if fs::read_to_string(path.join("comm")).is_ok_and(|name| name.trim() == "nbd-acceptor") {
            let stat = fs::read_to_string(path.join("stat")).unwrap();
            let fields: Vec<u64> = stat
                .rsplit_once(')')
                .unwrap()
                .1
                .split_whitespace()
                .map(|field| field.parse().unwrap_or(0))
                .collect();
            // User and system time, counted from the field after the name.
            return fields[11] + fields[12];
        }
    }
    panic!("there is no acceptor");
}

fn connect(server: &Server) -> UnixStream {
    let socket = UnixStream::connect(server.path()).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

fn greeted(socket: &mut UnixStream) {
    let mut greeting = [0; 18];
    socket.read_exact(&mut greeting).unwrap();
    assert_eq!(&greeting[..8], b"NBDMAGIC");
}

#[test]
fn many_idle_clients_cost_little_and_a_lack_of_descriptors_is_survived() {
    let test = "nbd_crowd::many_idle_clients_cost_little_and_a_lack_of_descriptors_is_survived";
    if let Some(child) = own_process::run(test) {
        let said = String::from_utf8_lossy(&child.stdout);
        assert!(child.status.success(), "{said}{}", String::from_utf8_lossy(&child.stderr));
        println!("{said}");
        return;
    }
    let old = getrlimit(Resource::Nofile);
    let needed = 2 * CLIENTS as u64 + 200;
    if old.maximum.is_some_and(|maximum| maximum < needed) {
        println!("skipped: {needed} file descriptors are not allowed here");
        return;
    }
    let limit = |current| Rlimit { current: Some(current), maximum: old.maximum };
    setrlimit(Resource::Nofile, limit(needed)).unwrap();
    let server = Server::start(1 << 20, Tls::Off);
    drop(connect(&server));
    let (memory, threads) = (status("VmRSS:"), status("Threads:"));

    // One half stays in the handshake, the other half is past it.
    let mut clients: Vec<UnixStream> = (0..CLIENTS).map(|_| connect(&server)).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        greeted(client);
        client.write_all(&[0, 0, 0, 3]).unwrap();
        if number % 2 == 0 {
            let mut message = Vec::new();
            wire::put_option(&mut message, option::EXPORT_NAME, b"");
            client.write_all(&message).unwrap();
            client.read_exact(&mut [0; 10]).unwrap();
        }
    }
    let begin = Instant::now();
    while server.seen.connections.load(Ordering::SeqCst) < CLIENTS / 2 {
        assert!(begin.elapsed() < PATIENCE, "not all have come in");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(status("Threads:"), threads);
    let grown = status("VmRSS:").saturating_sub(memory);
    assert!(grown < 16 << 10, "{CLIENTS} idle clients cost {grown} KiB");

    let (ticks, begin) = (acceptor_ticks(), Instant::now());
    // Now all descriptors are taken but the one that a new client needs for itself.
    let mut fillers = Vec::new();
    while let Ok(file) = File::open("/dev/null") {
        fillers.push(file);
    }
    fillers.pop();
    // The client in the handshake ends for it that has made no step for the longest time.
    let mut late = connect(&server);
    greeted(&mut late);
    assert_eq!(clients[1].read(&mut [0; 18]).unwrap(), 0);
    std::thread::sleep(Duration::from_secs(1));
    drop(fillers);
    greeted(&mut connect(&server));
    let spent = acceptor_ticks() - ticks;
    let share = spent as f64 / 100.0 / begin.elapsed().as_secs_f64();
    assert!(share < 0.5, "the acceptor spins: {spent} ticks in {:?}", begin.elapsed());
}
