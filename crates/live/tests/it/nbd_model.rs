//! Random streams of requests through sockets, against an array of bytes that does the same.
#![allow(clippy::unwrap_used, reason = "tests stop")]

use crate::nbd_memory::Server;
use live::nbd::Tls;
use live::nbd::client::Client;
use live::nbd::wire::{command, command_flag};
use std::collections::HashMap;
use units::Rng;

const SIZE: u64 = 3 << 20;

/// What a request must be answered with.
struct Expected {
    error: u32,
    data: Vec<u8>,
}

/// Receives what is there, and checks it.
fn receive(client: &mut Client, expected: &mut HashMap<u64, Expected>) {
    while let Some(reply) = client.receive().unwrap() {
        let wanted = expected.remove(&reply.cookie).expect("an answer to a question");
        assert_eq!(reply.error, wanted.error, "request {}", reply.cookie);
        assert!(reply.data == wanted.data, "the data of request {} differ", reply.cookie);
    }
}

fn drive(seed: u64) {
    let mut rng = Rng::stream(seed, "nbd model");
    let server = Server::start(SIZE as usize, Tls::Off);
    let uri = if seed.is_multiple_of(2) { server.unix() } else { server.tcp() };
    let mut client = Client::connect(&uri).unwrap();
    assert_eq!(client.size_bytes(), SIZE);
    let mut model = vec![0u8; SIZE as usize];
    let mut expected = HashMap::new();
    let depth = 1 + rng.below(64) as usize;
    for cookie in 0..400 {
        let longest = [1, 600, 5000, 300_000][rng.below(4) as usize];
        let length = rng.below(longest + 1);
        let offset = match rng.below(12) {
            0 => rng.next_u64(),
            1 => SIZE - rng.below(length + 2),
            2 => rng.below(SIZE / 4096) * 4096,
            _ => rng.below(SIZE - length),
        };
        let inside = length > 0 && offset.checked_add(length).is_some_and(|end| end <= SIZE);
        let range = || offset as usize..(offset + length) as usize;
        let wrong = |errno| if length == 0 { 22 } else { errno };
        let mut answer = Expected { error: 0, data: Vec::new() };
        match rng.below(8) {
            0..3 => {
                client.send_read(cookie, offset, length as u32);
                if inside {
                    answer.data = model[range()].to_vec();
                } else {
                    answer.error = 22;
                }
            }
            3..6 => {
                let data: Vec<u8> = (0..length).map(|_| rng.next_u64() as u8).collect();
                client.send_write(cookie, offset, &data, rng.below(2) == 0);
                if inside {
                    model[range()].copy_from_slice(&data);
                } else {
                    answer.error = wrong(28);
                }
            }
            6 => {
                let fast = rng.below(3) == 0;
                let flags = if fast { command_flag::FAST_ZERO } else { command_flag::NO_HOLE };
                client.send(command::WRITE_ZEROES, flags, cookie, offset, length as u32);
                match (inside, fast) {
                    (false, _) => answer.error = wrong(28),
                    (true, true) => answer.error = 95,
                    (true, false) => model[range()].fill(0),
                }
            }
            _ => client.send_flush(cookie),
        }
        expected.insert(cookie, answer);
        client.flush().unwrap();
        while expected.len() >= depth || client.wants_write() {
            receive(&mut client, &mut expected);
            client.flush().unwrap();
            std::thread::yield_now();
        }
    }
    while !expected.is_empty() {
        receive(&mut client, &mut expected);
        std::thread::yield_now();
    }
    assert_eq!(client.in_flight(), 0);
    drop(client);
    assert!(server.stop() == model, "the export differs");
}

#[test]
fn the_front_end_is_an_array_of_bytes() {
    for seed in testing::seeds(0..24) {
        drive(seed);
    }
}
