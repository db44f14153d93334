//! Clients that lie, stop half-way or never listen: they get sentences or are hung up on, and
//! nobody else notices.
#![allow(clippy::unwrap_used, reason = "tests stop")]
#![allow(clippy::print_stdout, reason = "who reads a test's output learns what was skipped")]

use crate::nbd_memory::Server;
use live::nbd::client::Client;
use live::nbd::wire::{self, RequestHeader, command, option};
use live::nbd::{HANDSHAKE_TIMEOUT, HELD_BYTES_MAX, LENGTH_BYTES_MAX, NEGOTIATIONS_MAX, Tls};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use units::Rng;

const SIZE: usize = 1 << 20;
/// Longer than anything here takes on the slowest machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A client that can say anything, past the greeting and its answer.
fn raw(server: &Server) -> UnixStream {
    let mut socket = UnixStream::connect(server.path()).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.set_write_timeout(Some(PATIENCE)).unwrap();
    socket.read_exact(&mut [0; 18]).unwrap();
    socket.write_all(&[0, 0, 0, 3]).unwrap();
    socket
}

/// A client that can say anything, past the handshake.
fn entered(server: &Server) -> UnixStream {
    let mut socket = raw(server);
    let mut message = Vec::new();
    wire::put_option(&mut message, option::EXPORT_NAME, b"");
    socket.write_all(&message).unwrap();
    socket.read_exact(&mut [0; 10]).unwrap();
    socket
}

fn request(command: u16, cookie: u64, offset_bytes: u64, length_bytes: u32) -> Vec<u8> {
    let header = RequestHeader { flags: 0, command, cookie, offset_bytes, length_bytes };
    header.bytes().to_vec()
}

/// Error and cookie of the next simple reply.
fn reply(socket: &mut UnixStream) -> (u32, u64) {
    let mut bytes = [0; 16];
    socket.read_exact(&mut bytes).unwrap();
    let mut fields = wire::Fields(&bytes);
    assert_eq!(fields.u32(), Some(wire::SIMPLE_REPLY_MAGIC));
    (fields.u32().unwrap(), fields.u64().unwrap())
}

/// Whether the server has hung up, with or without a farewell.
fn is_hung_up(socket: &mut UnixStream) -> bool {
    match socket.read(&mut [0; 1 << 16]) {
        Ok(count) => count == 0,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    }
}

/// That another client can write and read.
fn check_alive(server: &Server) {
    let mut client = Client::connect(&server.tcp()).unwrap();
    client.send_write(1, 512, &[9; 100], false);
    client.send_read(2, 511, 102);
    client.flush().unwrap();
    let begin = Instant::now();
    while client.in_flight() > 0 {
        assert!(begin.elapsed() < PATIENCE, "nobody answers");
        if let Some(reply) = client.receive().unwrap() {
            assert_eq!(reply.error, 0);
            assert!(reply.cookie == 1 || reply.data[1..101] == [9; 100]);
        }
        std::thread::yield_now();
    }
}

/// Waits until something is so.
fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < PATIENCE, "never: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn requests_that_make_no_sense_are_answered_and_never_carried_out() {
    let server = Server::start(SIZE, Tls::Off);
    let mut socket = entered(&server);
    let size = SIZE as u64;
    let (invalid, no_space) = (22, 28);
    for (cookie, (command, offset, length, error)) in (0..).zip([
        (command::READ, 0, 0, invalid),
        (command::READ, size - 1, 2, invalid),
        (command::READ, 0, u32::MAX, invalid),
        (command::READ, u64::MAX, 1, invalid),
        (command::WRITE, size, 1, no_space),
        (command::WRITE, u64::MAX - 3, 8, no_space),
        (command::WRITE, 0, LENGTH_BYTES_MAX + 1, invalid),
        (command::WRITE, 0, 0, invalid),
        (command::TRIM, u64::MAX, u32::MAX, invalid),
        (command::WRITE_ZEROES, 1, SIZE as u32, no_space),
        (command::CACHE, size, 1, invalid),
        (command::BLOCK_STATUS, 0, 4096, invalid),
        (command::FLUSH, 1, 0, invalid),
        (8, 0, 1, invalid),
        (u16::MAX, 0, 0, invalid),
    ]) {
        socket.write_all(&request(command, cookie, offset, length)).unwrap();
        if command == command::WRITE {
            socket.write_all(&vec![1; length as usize]).unwrap();
        }
        assert_eq!(reply(&mut socket), (error, cookie), "{command} {offset} {length}");
    }
    assert_eq!(server.seen.requests.load(Ordering::SeqCst), 0);
    socket.write_all(&request(command::FLUSH, 99, 0, 0)).unwrap();
    assert_eq!(reply(&mut socket), (0, 99), "the connection has come to no harm");
    assert!(server.seen.held_bytes_peak.load(Ordering::SeqCst) < 1 << 20);
    drop(socket);
    assert!(server.stop().iter().all(|byte| *byte == 0));
}

#[test]
fn garbage_is_hung_up_on() {
    let server = Server::start(SIZE, Tls::Off);
    for seed in testing::seeds(0..50) {
        let mut rng = Rng::stream(seed, "garbage");
        for mut socket in
            [UnixStream::connect(server.path()).unwrap(), raw(&server), entered(&server)]
        {
            socket.set_read_timeout(Some(PATIENCE)).unwrap();
            let garbage: Vec<u8> =
                (0..64 + rng.below(5000)).map(|_| rng.next_u64() as u8).collect();
            // The server may have hung up before it has heard everything.
            let _ = socket.write_all(&garbage);
            let begin = Instant::now();
            while !is_hung_up(&mut socket) {
                assert!(begin.elapsed() < PATIENCE, "seed {seed}: not hung up on");
            }
        }
    }
    wait_until("all are gone", || server.seen.connections.load(Ordering::SeqCst) == 0);
    check_alive(&server);
}

#[test]
fn clients_may_go_at_any_byte() {
    let server = Server::start(SIZE, Tls::Off);
    let mut conversation = vec![0, 0, 0, 3];
    wire::put_option(&mut conversation, option::STRUCTURED_REPLY, &[]);
    wire::put_option(&mut conversation, option::GO, &[0; 6]);
    conversation.extend(request(command::WRITE, 1, 0, 64));
    conversation.extend([3; 64]);
    conversation.extend(request(command::READ, 2, 0, 4096));
    conversation.extend(request(command::DISCONNECT, 3, 0, 0));
    for end in 0..conversation.len() {
        let mut socket = UnixStream::connect(server.path()).unwrap();
        socket.write_all(&conversation[..end]).unwrap();
        drop(socket);
    }
    check_alive(&server);
    wait_until("all are gone", || server.seen.connections.load(Ordering::SeqCst) == 0);
}

#[test]
fn a_client_that_only_stops_to_speak_gets_its_answers() {
    let server = Server::start(SIZE, Tls::Off);
    let mut socket = entered(&server);
    let mut message = request(command::WRITE, 1, 4096, 3);
    message.extend([7, 8, 9]);
    for cookie in 2..100 {
        message.extend(request(command::READ, cookie, 4096, 65536));
    }
    message.extend(&request(command::READ, 100, 0, 1)[..27]);
    socket.write_all(&message).unwrap();
    socket.shutdown(Shutdown::Write).unwrap();
    assert_eq!(reply(&mut socket), (0, 1));
    for cookie in 2..100 {
        assert_eq!(reply(&mut socket), (0, cookie));
        let mut data = vec![1; 65536];
        socket.read_exact(&mut data).unwrap();
        assert_eq!(data[..4], [7, 8, 9, 0]);
    }
    assert!(is_hung_up(&mut socket), "the request that was cut off is not answered");
    wait_until("it is gone", || server.seen.connections.load(Ordering::SeqCst) == 0);
    let counts = *server.seen.counts.lock().unwrap();
    assert_eq!((counts.requests, counts.refused), (99, 0));
    assert_eq!(counts.sent_bytes, 10 + 16 * 99 + 98 * 65536);
}

#[test]
fn what_a_client_wrote_before_its_farewell_is_written() {
    let server = Server::start(SIZE, Tls::Off);
    let mut socket = entered(&server);
    let mut message = Vec::new();
    for block in 0..16u64 {
        message.extend(request(command::WRITE, block, block * 65536, 65536));
        message.extend([block as u8 + 1; 65536]);
    }
    message.extend(request(command::DISCONNECT, 0, 0, 0));
    socket.write_all(&message).unwrap();
    drop(socket);
    wait_until("it was here", || server.seen.requests.load(Ordering::SeqCst) == 16);
    wait_until("it is gone", || server.seen.connections.load(Ordering::SeqCst) == 0);
    let bytes = server.stop();
    assert!(bytes.chunks(65536).zip(1..).all(|(chunk, byte)| chunk.iter().all(|b| *b == byte)));
}

#[test]
fn a_client_that_never_listens_holds_little_and_harms_nobody() {
    let server = Server::start(SIZE, Tls::Off);
    let mut socket = entered(&server);
    socket.set_nonblocking(true).unwrap();
    let ask: Vec<u8> = (0..1000).flat_map(|at| request(command::READ, at, 0, 1 << 20)).collect();
    // Until the server takes no more for good: a gigabyte of answers is asked for many times over.
    let (mut asked, mut at, mut quiet) = (0, 0, 0);
    while quiet < 300 {
        match socket.write(&ask[at..]) {
            Ok(count) => {
                asked += count;
                at = (at + count) % ask.len();
                quiet = 0;
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                quiet += 1;
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert!(asked > 100 * 28, "only {asked} bytes were asked with");
    check_alive(&server);
    let peak = server.seen.held_bytes_peak.load(Ordering::SeqCst);
    assert!((1 << 20..=HELD_BYTES_MAX + 4096).contains(&peak), "{peak} bytes were held");
    assert!(server.seen.requests.load(Ordering::SeqCst) < 200, "it goes on to work for nobody");
    // When it listens at last, it is answered.
    socket.set_nonblocking(false).unwrap();
    for _ in 0..100 {
        assert_eq!(reply(&mut socket).0, 0);
        socket.read_exact(&mut vec![0; 1 << 20]).unwrap();
    }
    drop(socket);
    wait_until("it is gone", || server.seen.connections.load(Ordering::SeqCst) == 0);
    check_alive(&server);
}

#[test]
fn clients_that_never_choose_end_for_newer_ones_and_those_inside_stay() {
    const STRANGERS: usize = NEGOTIATIONS_MAX + 100;
    // Each is a descriptor at both ends.
    let needed = 2 * STRANGERS as u64 + 300;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|most| most < needed) {
        let more = Rlimit { current: limit.maximum.or(Some(needed)), ..limit };
        if setrlimit(Resource::Nofile, more).is_err()
            || limit.maximum.is_some_and(|most| most < needed)
        {
            println!("skipped: {needed} descriptors are not allowed here");
            return;
        }
    }
    let server = Server::start(SIZE, Tls::Off);
    let mut inside = entered(&server);
    let connect = |_| UnixStream::connect(server.path()).unwrap();
    let mut strangers: Vec<UnixStream> = (0..STRANGERS).map(connect).collect();
    let begin = Instant::now();
    for stranger in &mut strangers[..STRANGERS - NEGOTIATIONS_MAX] {
        stranger.set_read_timeout(Some(PATIENCE)).unwrap();
        stranger.read_exact(&mut [0; 18]).unwrap();
        assert!(is_hung_up(stranger));
    }
    assert!(begin.elapsed() < HANDSHAKE_TIMEOUT / 2, "they were late, and did not make room");
    check_alive(&server);
    let counts = server.acceptor.as_ref().unwrap().strangers().status();
    assert!(counts.evicted >= 100 && counts.late == 0, "{counts:?}");
    inside.write_all(&request(command::FLUSH, 5, 0, 0)).unwrap();
    assert_eq!(reply(&mut inside), (0, 5), "who has chosen ends for nobody");
}

#[test]
fn a_door_that_closes_leaves_no_path_and_no_guest() {
    let mut server = Server::start(SIZE, Tls::Off);
    let mut waiting = raw(&server);
    let mut inside = entered(&server);
    let path = server.path();
    assert!(path.exists());
    server.acceptor.take().unwrap().close();
    assert!(!path.exists());
    assert!(is_hung_up(&mut waiting));
    inside.write_all(&request(command::FLUSH, 5, 0, 0)).unwrap();
    assert_eq!(reply(&mut inside), (0, 5), "those inside are served on");
}
