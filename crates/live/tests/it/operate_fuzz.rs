//! A short, repeatable fuzz of the control socket and the page: requests that make sense, damaged.
//! The array goes on, and whoever comes after is answered.
//!
//! The fuzzer in `fuzz/` calls [`Operated::check_http`] and [`Operated::check_control`]; the test
//! runs them on damage that seeds draw. A failure prints its seed and the line that repeats it.
#![allow(clippy::unwrap_used, reason = "helpers of a test")]

use crate::fake_array::{self, get};
use live::control::{AdminCommand, Answer};
use live::operate::ctl::Client;
use live::operate::{Operate, Settings};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::Duration;
use units::Rng;

const PATIENCE: Duration = Duration::from_secs(30);
const ROUNDS: u64 = 300;

fn damage(rng: &mut Rng, bytes: &mut Vec<u8>) {
    for _ in 0..rng.below(5) {
        let at = rng.below(bytes.len() as u64 + 1) as usize;
        let end = (at + rng.below(40) as usize).min(bytes.len());
        match rng.below(6) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 if at < bytes.len() => bytes[at] ^= 1 << rng.below(8),
            3 => {
                let copy = bytes[at..end].repeat(1 + rng.below(2000) as usize);
                bytes.splice(at..at, copy);
            }
            4 => drop(bytes.splice(at..at, [b'\r', b'\n'])),
            _ => drop(bytes.splice(at..at, rng.next_u64().to_be_bytes())),
        }
    }
}

/// Sends, closes, and reads what comes: a server that goes away early is fine, one that hangs is
/// not.
fn send(mut stream: impl Read + Write, close: impl FnOnce(), bytes: &[u8]) -> Vec<u8> {
    let _ = stream.write_all(bytes);
    close();
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
            panic!("no answer and no end after {PATIENCE:?}")
        }
        _ => answer,
    }
}

/// The page and the control socket of an array that answers everything.
pub(crate) struct Operated {
    operate: Operate,
    http: SocketAddr,
    control: PathBuf,
    array: JoinHandle<Vec<AdminCommand>>,
    _folder: tempfile::TempDir,
}

impl Operated {
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let control = folder.path().join("control");
        let (handle, array) = fake_array::start();
        let settings = Settings {
            http: Some(SocketAddr::from(([127, 0, 0, 1], 0))),
            control: Some(control.clone()),
            ..Settings::default()
        };
        let operate = Operate::start(&settings, &handle).unwrap();
        let http = operate.http_address().unwrap();
        Self { operate, http, control, array, _folder: folder }
    }

    /// The address of the page, for the Host of a request.
    pub(crate) fn http(&self) -> SocketAddr {
        self.http
    }

    /// Sends `bytes` as orders. Returns how many were answered.
    ///
    /// # Panics
    ///
    /// If an answer is none, or none comes and the connection stays.
    pub(crate) fn check_control(&self, bytes: &[u8]) -> u64 {
        let stream = UnixStream::connect(&self.control).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let other = stream.try_clone().unwrap();
        let answer = send(stream, || drop(other.shutdown(Shutdown::Write)), bytes);
        let mut answers = 0;
        for line in answer.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            let _: Answer = serde_json::from_slice(line).unwrap();
            answers += 1;
        }
        answers
    }

    /// Sends `bytes` as requests for pages. Returns whether there was an answer.
    ///
    /// # Panics
    ///
    /// If it is not one of HTTP, or none comes and the connection stays.
    pub(crate) fn check_http(&self, bytes: &[u8]) -> bool {
        let stream = TcpStream::connect(self.http).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let other = stream.try_clone().unwrap();
        let answer = send(stream, || drop(other.shutdown(Shutdown::Write)), bytes);
        assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 "), "{answer:?}");
        !answer.is_empty()
    }

    /// Whoever comes after is answered, and everything ends.
    pub(crate) fn end(self) {
        let mut client = Client::connect(&self.control, PATIENCE).unwrap();
        assert!(matches!(client.ask(&AdminCommand::Status).unwrap(), Answer::Status(_)));
        assert_eq!(get(self.http, "/metrics").0, 200);
        client.ask(&AdminCommand::Shutdown).unwrap();
        self.operate.close();
        self.array.join().unwrap();
    }
}

#[test]
fn damaged_orders_and_requests_harm_nobody() {
    let operated = Operated::start();
    let http = operated.http();
    let orders = [
        r#"{"order":"status"}"#,
        r#"{"order":"fail","drive":9}"#,
        r#"{"order":"replace","drive":1,"path":"/dev/null"}"#,
        r#"{"order":"policy","name":"ioda"}"#,
        r#"{"order":"window","nanoseconds":40000000}"#,
    ];
    let pages = ["/", "/metrics", "/status.json", "/history.json?after=3", "/nothing"];
    let (mut answered, mut pages_answered) = (0, 0);
    for seed in testing::seeds(0..ROUNDS) {
        let mut rng = Rng::stream(seed, "orders");
        let mut bytes = Vec::new();
        for _ in 0..=rng.below(3) {
            bytes.extend(orders[rng.below(orders.len() as u64) as usize].bytes().chain([b'\n']));
        }
        damage(&mut rng, &mut bytes);
        answered += operated.check_control(&bytes);

        let page = pages[rng.below(pages.len() as u64) as usize];
        let mut bytes = format!("GET {page} HTTP/1.1\r\nHost: {http}\r\n\r\n").into_bytes();
        damage(&mut rng, &mut bytes);
        pages_answered += u64::from(operated.check_http(&bytes));
    }
    assert!(testing::is_repeat() || answered > 100 && pages_answered > 100);
    operated.end();
}
