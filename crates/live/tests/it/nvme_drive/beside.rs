//! A thousand strangers of each kind beside an authenticated host and an NBD client of a served
//! array, measured.
//!
//! `IODA_PROGRAM=target/release/ioda cargo test --release -p ioda-live --test it -- --ignored --exact
//! --nocapture nvme_drive::beside::a_thousand_strangers_of_each_kind_are_measured`
//!
//! Strangers are a process of their own that runs only while a processor is idle, so that the
//! figures are about the server and not about who gets a processor. They use the address of the
//! honest host, and come again as soon as they are disconnected. `IODA_ROUNDS` says how often
//! everything is measured; in each round reads alone are measured just before those beside a crowd.
#![allow(clippy::print_stdout, reason = "the figures are the purpose")]

use super::host::{HOST_NQN, blind, connect_command, read, write};
use super::served::SECRET;
use super::strangers::{attach_at, fetch_command, negotiate_command, wrong_reply_command};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use live::clock::{Clock, Event, Interest, Spin, Waiter};
use live::nbd::client::Client;
use live::nbd::uri::Uri;
use nvme::wire::Nqn;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const STRANGERS: usize = 1024;
/// Threads of each kind.
const THREADS: usize = 2;
/// For how long reads are measured in each phase.
const PHASE: Duration = Duration::from_secs(3);
/// How often slow strangers send a byte.
const SWEEP: Duration = Duration::from_millis(20);
const NEWCOMERS: usize = 5;
const SUBSYSTEM: &str = "nqn.2026-01.example:beside";
/// Tells the process of strangers the kinds and the addresses.
const CROWD: &str = "IODA_STRANGERS";

/// What a stranger does.
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    name: &'static str,
    pub(crate) at_nbd: bool,
    bytes: Vec<u8>,
    manner: Manner,
}

/// How a stranger goes about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Manner {
    /// It sends all at once, and stays until it is disconnected.
    Staying,
    /// It sends a byte in each sweep.
    Slow,
    /// It goes with the first answer, and comes again at once.
    Hasty,
}

/// All kinds, at a subsystem.
pub(crate) fn kinds(subsystem: &str) -> Vec<Kind> {
    let connect = || connect_command(subsystem);
    let negotiating = blind(&[connect(), negotiate_command()]);
    let again = std::iter::once(connect()).chain((0..20).map(|_| negotiate_command()));
    let again = blind(&again.collect::<Vec<_>>());
    let replying = [negotiate_command(), fetch_command(), wrong_reply_command(), fetch_command()];
    let replying = blind(&[&[connect()][..], &replying].concat());
    let discovering = blind(&[connect_command(Nqn::DISCOVERY)]);
    let options = [0, 0, 0, 3, b'I', b'H', b'A', b'V'].to_vec();
    let of =
        |name, at_nbd, bytes: &[u8], manner| Kind { name, at_nbd, bytes: bytes.to_vec(), manner };
    vec![
        of("silent", false, &[], Manner::Staying),
        of("negotiating", false, &negotiating, Manner::Staying),
        of("negotiating again", false, &again, Manner::Staying),
        of("discovering", false, &discovering, Manner::Staying),
        of("slow", false, &negotiating, Manner::Slow),
        of("silent at NBD", true, &[], Manner::Staying),
        of("slow at NBD", true, &options, Manner::Slow),
        of("hasty", false, &negotiating, Manner::Hasty),
        of("wrong secrets", false, &replying, Manner::Staying),
    ]
}

/// The crowds of a round, by the names of their kinds: each kind, and before the last two, which
/// make the server work, all others at once.
fn crowds() -> Vec<Vec<&'static str>> {
    let all: Vec<_> = kinds(SUBSYSTEM).iter().map(|kind| kind.name).collect();
    let (quiet, busy) = all.split_at(all.len() - 2);
    let mut crowds: Vec<Vec<_>> = quiet.iter().map(|name| vec![*name]).collect();
    crowds.push(quiet.to_vec());
    crowds.extend(busy.iter().map(|name| vec![*name]));
    crowds
}

/// A process that ends with this.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

struct Stranger {
    socket: TcpStream,
    sent: usize,
}

/// What strangers and those who watch them tell each other.
#[derive(Debug, Default)]
pub(crate) struct Signs {
    /// Strangers that have come once.
    pub(crate) standing: AtomicUsize,
    /// How often strangers came again.
    again: AtomicU64,
    stop: AtomicBool,
}

/// Ends strangers when it is dropped, also by a panic.
pub(crate) struct Stops<'a>(pub(crate) &'a Signs);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.stop.store(true, Ordering::Relaxed);
    }
}

/// Strangers of one kind, which come again as soon as they are disconnected.
pub(crate) fn bother(kind: &Kind, at: SocketAddr, count: usize, signs: &Signs) {
    let (clock, mut events) = (Clock::new(), Vec::<Event>::new());
    let mut waiter = Waiter::new(Spin::Fixed(units::Duration::ZERO)).unwrap();
    let connect = |waiter: &mut Waiter, number: usize| {
        let mut socket = TcpStream::connect(at).unwrap();
        socket.set_nodelay(true).unwrap();
        socket.set_nonblocking(true).unwrap();
        waiter.add(&socket, number as u64, Interest::READ).unwrap();
        let sent =
            if kind.manner == Manner::Slow { 0 } else { socket.write(&kind.bytes).unwrap_or(0) };
        Stranger { socket, sent }
    };
    let mut all: Vec<Stranger> = (0..count).map(|number| connect(&mut waiter, number)).collect();
    signs.standing.fetch_add(all.len(), Ordering::Relaxed);
    let (mut scratch, mut swept) = ([0; 4096], Instant::now());
    while !signs.stop.load(Ordering::Relaxed) {
        let due = clock.now() + units::Duration::from_nanos(SWEEP.as_nanos() as u64);
        waiter.wait(&clock, due, false, &mut events).unwrap();
        for event in events.drain(..) {
            let number = event.token as usize;
            let is_gone = loop {
                match all[number].socket.read(&mut scratch) {
                    Ok(0) => break true,
                    Ok(_) if kind.manner == Manner::Hasty => break true,
                    Ok(_) => {}
                    Err(error) => break error.kind() != ErrorKind::WouldBlock,
                }
            };
            if is_gone {
                signs.again.fetch_add(1, Ordering::Relaxed);
                all[number] = connect(&mut waiter, number);
            }
        }
        if kind.manner == Manner::Slow && swept.elapsed() > SWEEP {
            swept = Instant::now();
            for stranger in &mut all {
                let rest = &kind.bytes[stranger.sent..];
                let next = &rest[..rest.len().min(1)];
                stranger.sent += stranger.socket.write(next).unwrap_or(0);
            }
        }
    }
}

/// The process of strangers. It ends with the process that started it, whose end of a pipe closes.
#[test]
#[ignore = "it is a part of the measurement"]
fn strangers_are_a_process_of_their_own() {
    let Ok(crowd) = std::env::var(CROWD) else { return };
    let [names, target, nbd] = crowd.split('|').collect::<Vec<_>>()[..] else { panic!("{crowd}") };
    let names: Vec<_> = names.split(',').collect();
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).unwrap();
    let signs = Signs::default();
    let crowd: Vec<_> =
        kinds(SUBSYSTEM).into_iter().filter(|kind| names.contains(&kind.name)).collect();
    let addresses: [SocketAddr; 2] = [target.parse().unwrap(), nbd.parse().unwrap()];
    std::thread::scope(|scope| {
        for kind in &crowd {
            for _ in 0..THREADS {
                let at = addresses[usize::from(kind.at_nbd)];
                let signs = &signs;
                scope.spawn(move || bother(kind, at, STRANGERS / THREADS, signs));
            }
        }
        while signs.standing.load(Ordering::Relaxed) < crowd.len() * STRANGERS {
            std::thread::sleep(SWEEP);
        }
        println!("\nstanding");
        for line in std::io::stdin().lines() {
            assert!(line.unwrap().is_empty());
            println!("\n{}", signs.again.load(Ordering::Relaxed));
        }
        std::process::exit(0);
    });
}

/// Strangers of some kinds, until this is dropped.
struct Crowd {
    process: Ended,
    said: BufReader<std::process::ChildStdout>,
}

impl Crowd {
    fn gather(names: &[&str], target: SocketAddr, nbd: SocketAddr) -> Self {
        let test = "nvme_drive::beside::strangers_are_a_process_of_their_own";
        let mut process = Command::new("chrt")
            .args(["--idle", "0"])
            .arg(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", test, "--nocapture", "--test-threads=1"])
            .env(CROWD, format!("{}|{target}|{nbd}", names.join(",")))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(process.stdout.take().unwrap());
        let mut crowd = Self { process: Ended(process), said };
        while crowd.next_line() != "standing" {}
        crowd
    }

    fn next_line(&mut self) -> String {
        let mut line = String::new();
        assert!(self.said.read_line(&mut line).unwrap() > 0, "strangers have ended");
        line.trim().to_owned()
    }

    /// How often strangers came again.
    fn came_again(&mut self) -> u64 {
        self.process.0.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        loop {
            if let Ok(count) = self.next_line().parse() {
                return count;
            }
        }
    }
}

fn nbd_read(client: &mut Client, cookie: u64) {
    client.send_read(cookie, 4096 * (cookie % 1000), 4096);
    client.flush().unwrap();
    while client.in_flight() > 0 {
        if client.receive().unwrap().is_none() {
            // A client that yielded instead would wait for a whole slice of a stranger on its
            // processor.
            poll(&mut [PollFd::new(&client.fd(), PollFlags::IN)], None).unwrap();
        }
    }
}

/// Times of one phase.
#[derive(Debug, Default)]
struct Times {
    host_p99: Duration,
    client_p99: Duration,
    host_in: Duration,
    client_in: Duration,
}

fn p99(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() * 99 / 100]
}

/// Measures reads of both for a phase, and then how long newcomers take to their first read.
fn measure(target: SocketAddr, nbd: SocketAddr) -> Times {
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
    let mut times =
        Times { host_p99: p99(of_host), client_p99: p99(of_client), ..Times::default() };
    for _ in 0..NEWCOMERS {
        let begin = Instant::now();
        let mut host = attach_at(target, SUBSYSTEM);
        read(&mut host.io, 0, 1);
        times.host_in = times.host_in.max(begin.elapsed());
        let begin = Instant::now();
        nbd_read(&mut Client::connect(&uri).unwrap(), 1);
        times.client_in = times.client_in.max(begin.elapsed());
    }
    times
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
        .stdout(Stdio::null())
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

/// Cells of a row: alone, beside, and how many times as long.
fn cells(alone: Duration, beside: Duration) -> String {
    let times = beside.as_secs_f64() / alone.as_secs_f64();
    format!("{} | {} | {times:.2}", alone.as_micros(), beside.as_micros())
}

#[test]
#[ignore = "it measures for minutes and needs IODA_PROGRAM"]
fn a_thousand_strangers_of_each_kind_are_measured() {
    let program = std::env::var("IODA_PROGRAM").expect("IODA_PROGRAM names the program to measure");
    let folder = tempfile::tempdir().unwrap();
    let (_served, target, nbd) = serve(&program, folder.path());
    println!(
        "strangers | host p99 alone, us | beside | times | NBD p99 alone, us | beside | times | new host in, ms | \
         new NBD client in, ms | came again | load"
    );
    for _ in 0..testing::setting("IODA_ROUNDS", 2) {
        for names in crowds() {
            let alone = measure(target, nbd);
            let mut crowd = Crowd::gather(&names, target, nbd);
            let beside = measure(target, nbd);
            let again = crowd.came_again();
            drop(crowd);
            let load = fs::read_to_string("/proc/loadavg").unwrap();
            println!(
                "{} | {} | {} | {} | {} | {again} | {}",
                if names.len() > 1 { "all of these" } else { names[0] },
                cells(alone.host_p99, beside.host_p99),
                cells(alone.client_p99, beside.client_p99),
                beside.host_in.as_millis(),
                beside.client_in.as_millis(),
                load.split(' ').next().unwrap(),
            );
        }
    }
}
