//! A short, repeatable fuzz of every reader: mutated samples, seeded, a fixed number of rounds.
//!
//! A failure prints its seed and the line that repeats it. The real fuzzers are in `fuzz/`.

use crate::samples;
use units::Rng;
use workload::{Format, fuzz};

/// Rounds per reader: well under a second with optimised tests.
const ROUNDS: u64 = 20_000;

/// Text that is likely to reach a branch.
const WORDS: [&str; 20] = [
    "0",
    "-1",
    "1e9",
    "18446744073709551615",
    "1152921504606846976",
    "99999999999999999999999",
    "nan",
    ".",
    ",",
    ",,",
    ";",
    " ",
    "\n",
    "\r\n",
    "\t",
    "\u{feff}",
    "R",
    "D",
    "[",
    "#",
];

fn mutated(sample: &str, rng: &mut Rng) -> Vec<u8> {
    let mut bytes = sample.as_bytes().to_vec();
    for _ in 0..1 + rng.below(6) {
        let at = rng.below(bytes.len() as u64 + 1) as usize;
        let end = at + rng.below((bytes.len() - at) as u64 + 1) as usize;
        let end = end.min(at + 40);
        match rng.below(7) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 => {
                let copy = bytes[at..end].to_vec();
                let to = rng.below(bytes.len() as u64 + 1) as usize;
                bytes.splice(to..to, copy);
            }
            3 => bytes.insert(at, rng.next_u64() as u8),
            4 if at < bytes.len() => bytes[at] ^= 1 << rng.below(8),
            5 if at < bytes.len() => bytes[at] = b'0' + rng.below(10) as u8,
            _ => {
                let word = WORDS[rng.below(WORDS.len() as u64) as usize];
                bytes.splice(at..at, word.bytes());
            }
        }
    }
    bytes
}

fn smoke(format: Format) {
    for seed in testing::seeds(0..ROUNDS).note(format.name()) {
        let mut rng = Rng::stream(seed, format.name());
        let mut bytes = mutated(samples::sample(format), &mut rng);
        // Now and then the bytes are compressed and then damaged.
        if seed % 16 == 0 {
            bytes = zstd::encode_all(bytes.as_slice(), 1).expect("memory can be compressed");
            let cut = rng.below(bytes.len() as u64 + 1) as usize;
            bytes.truncate(cut);
        }
        let given = if seed % 2 == 0 { Some(format) } else { None };
        fuzz::check(given, &bytes);
    }
}

#[test]
fn msr() {
    smoke(Format::Msr);
}

#[test]
fn disksim() {
    smoke(Format::DiskSim);
}

#[test]
fn systor() {
    smoke(Format::Systor);
}

#[test]
fn tencent() {
    smoke(Format::Tencent);
}

#[test]
fn alibaba() {
    smoke(Format::Alibaba);
}

#[test]
fn spc() {
    smoke(Format::Spc);
}

#[test]
fn blkparse() {
    smoke(Format::Blkparse);
}

#[test]
fn fio_iolog_v2() {
    smoke(Format::FioIologV2);
}

#[test]
fn fio_iolog_v3() {
    smoke(Format::FioIologV3);
}

#[test]
fn blkreplay() {
    smoke(Format::Blkreplay);
}

#[test]
fn csv() {
    smoke(Format::Csv);
}
