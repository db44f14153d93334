//! A short, repeatable fuzz of every reader: samples with seeded mutations, in a fixed number of
//! rounds.
//!
//! A failure prints its seed and the line that repeats it. The real fuzzers are in `fuzz/`.

use crate::samples;
use ioda_workload::{Format, fuzz};
use units::Rng;

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

#[test]
fn zip() {
    let sample =
        crate::opened::zip(b"", &[("a.csv", 8, false, samples::sample(Format::Csv).as_bytes())]);
    ioda_workload::fuzz::check_zip(&sample);
    for seed in testing::seeds(0..ROUNDS).note("zip") {
        let mut rng = Rng::stream(seed, "zip");
        let mut bytes = sample.clone();
        for _ in 0..1 + rng.below(3) {
            let at = rng.below(bytes.len() as u64) as usize;
            match rng.below(4) {
                0 => bytes.truncate(at + 1),
                1 => bytes[at] ^= 1 << rng.below(8),
                2 => bytes[at] = [0, 0xff][rng.below(2) as usize],
                _ => bytes.insert(at, rng.next_u64() as u8),
            }
        }
        fuzz::check_zip(&bytes);
    }
}

#[test]
fn compressed_and_archived() {
    // Damage within compressed data, and within the lists of an archive.
    let csv = samples::sample(Format::Csv).as_bytes();
    let tar = crate::odd_files::tar(&[
        ("a", b'0', csv),
        ("b", b'L', b"long"),
        ("c", b'x', b"9 path=d\n"),
    ]);
    for (name, sample) in [("xz", crate::odd_files::xz(csv)), ("tar", tar)] {
        for seed in testing::seeds(0..ROUNDS / 4).note(name) {
            let mut rng = Rng::stream(seed, name);
            let mut bytes = sample.clone();
            let at = rng.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << rng.below(8);
            bytes.truncate(bytes.len() - rng.below(bytes.len() as u64 / 4) as usize);
            fuzz::check(None, &bytes);
        }
    }
}

fn smoke(format: Format) {
    smoke_on(samples::sample(format), format, format.name());
}

fn smoke_on(sample: &str, format: Format, name: &'static str) {
    for seed in testing::seeds(0..ROUNDS).note(name) {
        let mut rng = Rng::stream(seed, name);
        let mut bytes = mutated(sample, &mut rng);
        // From time to time the bytes are compressed before the damage.
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
fn blktrace() {
    smoke(Format::Blktrace);
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

#[test]
fn vscsi() {
    smoke(Format::Vscsi);
}

#[test]
fn csv_with_quotes_and_dates() {
    let text = "\"Time\";\"IO Type\";\"LBA\";\"Size (KiB)\";\"host\";\"disk\"\n\
                2023-11-14T22:13:20.25Z;\"Read(10)\";0x10;8.0;\"a; b\";0\n\
                2023-11-14T22:13:20.75Z;TRIM;2056;32;c;1\n\
                2023-11-14T22:13:21.75Z;W;24;16;c;1\n";
    smoke_on(text, Format::Csv, "quotes and dates");
}

#[test]
fn csv_whose_values_tell_everything() {
    let text = "timestamp,op,offset,size\n1700000000.25,R,8192,4096\n\
                1700000000.75,W,1052672,16384\n1700000001.75,R,12288,8192\n";
    smoke_on(text, Format::Csv, "values");
    let times = "# time rwbs sector nr_sectors\n22:13:20.25 RA 16 8\n22:13:20.75 WS 2056 32\n";
    smoke_on(times, Format::Csv, "times of day");
}
