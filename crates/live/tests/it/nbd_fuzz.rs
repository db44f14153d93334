//! A short, repeatable fuzz of the NBD server and of our client: conversations that make sense,
//! damaged, seeded, a fixed number of rounds.
//!
//! A failure prints its seed and the line that repeats it. The real fuzzer is in `fuzz/`.
#![allow(clippy::unwrap_used, reason = "tests stop")]

use live::nbd::wire::{
    self, RequestHeader, handshake_flag, info, option, option_reply, put_option, put_option_reply,
    simple_reply,
};
use live::nbd::{fuzz, fuzz_client};
use units::Rng;

const ROUNDS: u64 = 20_000;

fn string(text: &[u8]) -> Vec<u8> {
    [&(text.len() as u32).to_be_bytes(), text].concat()
}

fn handshake(rng: &mut Rng, bytes: &mut Vec<u8>) {
    bytes.extend([0, 0, 0, rng.below(4) as u8]);
    for _ in 0..rng.below(8) {
        let option = 1 + rng.below(11) as u32;
        let name = string([&b""[..], b"a", b"b", b"nobody"][rng.below(4) as usize]);
        let data = match option {
            option::INFO | option::GO => [&name[..], &[0, 2, 0, 3, 0, 1]].concat(),
            option::LIST_META_CONTEXT | option::SET_META_CONTEXT => {
                [&name[..], &[0, 0, 0, 1], &string(b"base:allocation")].concat()
            }
            _ => Vec::new(),
        };
        put_option(bytes, option, &data);
    }
    put_option(bytes, option::GO, &[&string(b"a")[..], &[0, 0]].concat());
}

fn requests(rng: &mut Rng, bytes: &mut Vec<u8>) {
    for cookie in 0..rng.below(40) {
        let command = rng.below(9) as u16;
        let length = match command {
            1 => 1u32 << rng.below(15),
            _ if rng.below(3) == 0 => 32 << 20,
            _ => 1 << rng.below(32),
        };
        // Anywhere, at the start, or near the end of the export.
        let offset_bytes = match rng.below(3) {
            0 => rng.next_u64() >> rng.below(64),
            1 => rng.below(1 << 20),
            _ => (1 << 40) + 1 - u64::from(length) - rng.below(4),
        };
        let header = RequestHeader {
            flags: [0, 1, 2, 4, 8, 16, 64][rng.below(7) as usize],
            command,
            cookie,
            offset_bytes,
            length_bytes: if command == 3 { 0 } else { length },
        };
        bytes.extend(header.bytes());
        if command == 1 {
            bytes.extend((0..length).map(|at| at as u8));
        }
    }
}

fn damage(rng: &mut Rng, bytes: &mut Vec<u8>) {
    for _ in 0..rng.below(5) {
        let at = rng.below(bytes.len() as u64 + 1) as usize;
        let end = (at + rng.below(40) as usize).min(bytes.len());
        match rng.below(5) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 if at < bytes.len() => bytes[at] ^= 1 << rng.below(8),
            3 => {
                let copy = bytes[at..end].to_vec();
                bytes.splice(at..at, copy);
            }
            _ => drop(bytes.splice(at..at, rng.next_u64().to_be_bytes())),
        }
    }
}

#[test]
fn nbd() {
    for seed in testing::seeds(0..ROUNDS) {
        let mut rng = Rng::stream(seed, "nbd");
        let mode = rng.next_u64() as u8;
        let mut bytes = Vec::new();
        if mode & 8 == 0 {
            handshake(&mut rng, &mut bytes);
        }
        requests(&mut rng, &mut bytes);
        damage(&mut rng, &mut bytes);
        bytes.splice(..0, [mode, rng.next_u64() as u8]);
        fuzz::check(&bytes);
    }
}

/// What a server says to our client that answers all requests, or nearly.
fn server(rng: &mut Rng, bytes: &mut Vec<u8>) {
    bytes.extend(wire::GREETING_MAGIC.to_be_bytes());
    bytes.extend(wire::OPTION_MAGIC.to_be_bytes());
    bytes.extend((handshake_flag::FIXED_NEWSTYLE | rng.below(4) as u16).to_be_bytes());
    for _ in 0..rng.below(4) {
        let export =
            [&info::EXPORT.to_be_bytes()[..], &(1u64 << rng.below(64)).to_be_bytes(), &[0; 2]];
        let sizes = [&info::BLOCK_SIZE.to_be_bytes()[..], &[0, 0, 0, 1], &[0, 0, 16, 0], &[1; 4]];
        let data = match rng.below(3) {
            0 => export.concat(),
            1 => sizes.concat(),
            _ => vec![0; rng.below(40) as usize],
        };
        put_option_reply(bytes, option::GO, option_reply::INFO, &data);
    }
    let kind = match rng.below(8) {
        0 => (1 << 31) + rng.below(12) as u32,
        _ => option_reply::ACK,
    };
    put_option_reply(bytes, option::GO, kind, &vec![b'x'; rng.below(3) as usize * 100]);
    let mut cookies: Vec<u64> = (0..fuzz_client::REQUESTS).collect();
    while !cookies.is_empty() {
        let cookie = cookies.swap_remove(rng.below(cookies.len() as u64) as usize);
        let error = if rng.below(4) == 0 { rng.below(100) as u32 } else { 0 };
        bytes.extend(simple_reply(error, cookie));
        if error == 0 {
            bytes.resize(bytes.len() + fuzz_client::read_bytes(cookie) as usize, 7);
        }
    }
}

#[test]
fn nbd_client() {
    let (mut connected, mut answered) = (0, 0);
    for seed in testing::seeds(0..2000) {
        let mut rng = Rng::stream(seed, "nbd client");
        let mut bytes = Vec::new();
        server(&mut rng, &mut bytes);
        if rng.below(4) > 0 {
            damage(&mut rng, &mut bytes);
        }
        match fuzz_client::check(&bytes) {
            None => {}
            Some(replies) => {
                connected += 1;
                answered += u64::from(replies == fuzz_client::REQUESTS);
            }
        }
    }
    // What never got through tested nothing.
    assert!(testing::is_repeat() || connected > 100 && answered > 100, "{connected}, {answered}");
}
