//! A thousand strangers of each kind beside an authenticated host and an NBD client of a served array, measured.
//!
//! `IODA_PROGRAM=target/release/ioda cargo test --release -p live --test it -- --ignored --nocapture beside`
#![allow(clippy::print_stdout, reason = "the figures are the purpose")]

use super::host::{HOST_NQN, blind, connect_command, read, write};
use super::served::SECRET;
use super::strangers::{attach_at, negotiate_command};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use live::nbd::client::Client;
use live::nbd::uri::Uri;
use nvme::wire::Nqn;
use std::fs::{self, Permissions};
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const STRANGERS: usize = 1024;
const THREADS: usize = 4;
/// For how long reads are measured in each phase.
const PHASE: Duration = Duration::from_secs(4);
/// How often strangers look whether they are disconnected, and slow ones send a byte.
const SWEEP: Duration = Duration::from_millis(20);
const NEWCOMERS: usize = 5;
const SUBSYSTEM: &str = "nqn.2026-01.example:beside";

struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

struct Stranger {
    socket: TcpStream,
    sent: usize,
}

/// Strangers at an address that send `bytes`, each at once or a byte in each sweep, and come again when they are disconnected.
fn bother(stop: &AtomicBool, again: &AtomicU64, at: SocketAddr, bytes: &[u8], is_slow: bool) {
    let connect = || {
        let socket = TcpStream::connect(at).unwrap();
        socket.set_nonblocking(true).unwrap();
        Stranger { socket, sent: 0 }
    };
    let mut all: Vec<Stranger> = (0..STRANGERS / THREADS).map(|_| connect()).collect();
    let mut scratch = [0; 4096];
    while !stop.load(Ordering::Relaxed) {
        for stranger in &mut all {
            let end = if is_slow { (stranger.sent + 1).min(bytes.len()) } else { bytes.len() };
            let sent = stranger.socket.write(&bytes[stranger.sent..end]);
            stranger.sent += sent.unwrap_or(0);
            let is_gone = match stranger.socket.read(&mut scratch) {
                Ok(count) => count == 0,
                Err(error) => error.kind() != ErrorKind::WouldBlock,
            };
            if is_gone {
                again.fetch_add(1, Ordering::Relaxed);
                *stranger = connect();
            }
        }
        std::thread::sleep(SWEEP);
    }
}

fn p99(mut times: Vec<Duration>) -> (usize, Duration) {
    times.sort();
    (times.len(), times[times.len() * 99 / 100])
}

fn nbd_read(client: &mut Client, cookie: u64) {
    client.send_read(cookie, 4096 * (cookie % 1000), 4096);
    client.flush().unwrap();
    while client.in_flight() > 0 {
        if client.receive().unwrap().is_none() {
            std::thread::yield_now();
        }
    }
}

/// Measures reads of both for a phase, and how long newcomers take to their first read.
fn measure(name: &str, target: SocketAddr, nbd: SocketAddr) {
    let uri: Uri = format!("nbd://{nbd}/ioda").parse().unwrap();
    let mut host = attach_at(target, SUBSYSTEM);
    let mut client = Client::connect(&uri).unwrap();
    write(&mut host.io, 0, &vec![1; 4096]);
    let (mut of_host, mut of_client) = (Vec::new(), Vec::new());
    let end = Instant::now() + PHASE;
    for number in 0.. {
        let begin = Instant::now();
        if begin > end {
            break;
        }
        read(&mut host.io, number % 1000, 1);
        of_host.push(begin.elapsed());
        let begin = Instant::now();
        nbd_read(&mut client, number);
        of_client.push(begin.elapsed());
    }
    let (mut host_in, mut client_in) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..NEWCOMERS {
        let begin = Instant::now();
        let mut host = attach_at(target, SUBSYSTEM);
        read(&mut host.io, 0, 1);
        host_in = host_in.max(begin.elapsed());
        let begin = Instant::now();
        nbd_read(&mut Client::connect(&uri).unwrap(), 1);
        client_in = client_in.max(begin.elapsed());
    }
    let ((host_reads, host_p99), (client_reads, client_p99)) = (p99(of_host), p99(of_client));
    println!(
        "{name:<22} host: {host_reads} reads, p99 {host_p99:?}, new in {host_in:?}; NBD: {client_reads} reads, p99 \
         {client_p99:?}, new in {client_in:?}"
    );
}

fn serve(program: &str, folder: &Path) -> (Ended, SocketAddr, SocketAddr) {
    let free = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let (target, nbd) = (free(), free());
    let addresses = (target.local_addr().unwrap(), nbd.local_addr().unwrap());
    drop((target, nbd));
    let key = [SECRET, &crc32fast::hash(SECRET).to_le_bytes()].concat();
    let keys = folder.join("host-keys");
    fs::write(&keys, format!("{HOST_NQN} DHHC-1:00:{}:\n", STANDARD.encode(key))).unwrap();
    fs::set_permissions(&keys, Permissions::from_mode(0o600)).unwrap();
    let (at_target, at_nbd) = addresses;
    let child = Command::new(program)
        .args(["serve", "--plain", "--drive-size", "64m", "--http", "none", "--nqn", SUBSYSTEM])
        .args(["--address", &format!("nvme+tcp://{at_target},{at_nbd}")])
        .arg("--host-keys")
        .arg(&keys)
        .arg("--control")
        .arg(folder.join("control"))
        .spawn()
        .unwrap();
    let child = Ended(child);
    let begin = Instant::now();
    while TcpStream::connect(at_nbd).is_err() || TcpStream::connect(at_target).is_err() {
        assert!(begin.elapsed() < Duration::from_secs(30), "the program does not serve");
        std::thread::sleep(Duration::from_millis(20));
    }
    (child, at_target, at_nbd)
}

#[test]
#[ignore = "it measures for half a minute and needs IODA_PROGRAM"]
fn a_thousand_strangers_of_each_kind_are_measured() {
    let program = std::env::var("IODA_PROGRAM").expect("IODA_PROGRAM names the program to measure");
    let folder = tempfile::tempdir().unwrap();
    let (_served, target, nbd) = serve(&program, folder.path());
    let negotiating = blind(&[connect_command(SUBSYSTEM), negotiate_command()]);
    let repeating = {
        let mut commands = vec![connect_command(SUBSYSTEM)];
        commands.extend((0..20).map(|_| negotiate_command()));
        blind(&commands)
    };
    let discovering = blind(&[connect_command(Nqn::DISCOVERY)]);
    measure("alone", target, nbd);
    for (name, at, bytes, is_slow) in [
        ("silent", target, &[][..], false),
        ("negotiating", target, &negotiating, false),
        ("negotiating on and on", target, &repeating, false),
        ("discovering", target, &discovering, false),
        ("slow", target, &negotiating, true),
        ("silent at NBD", nbd, &[], false),
        ("slow at NBD", nbd, &[0, 0, 0, 3, b'I', b'H', b'A', b'V'], true),
    ] {
        let (stop, again) = (AtomicBool::new(false), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| bother(&stop, &again, at, bytes, is_slow));
            }
            std::thread::sleep(Duration::from_millis(500));
            measure(name, target, nbd);
            stop.store(true, Ordering::Relaxed);
        });
        println!("{:22} strangers came again {} times", "", again.into_inner());
    }
    measure("alone again", target, nbd);
}
