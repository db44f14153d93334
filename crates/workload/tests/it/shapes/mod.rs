//! Files whose format is detected by their shape, with wrong units, orders and roles. Each is read
//! correctly, or refused with the options to type. With these options it is read correctly, and a
//! proposed map that is copied unchanged reads nothing wrongly.

#![allow(clippy::unwrap_used, reason = "tests stop")]

mod contradictions;
mod csv;
mod disksim;
mod files;
mod grid;
mod impossible;

use ioda_workload::{Op, ReadOptions, TraceReader};
use std::fmt::Write as _;
use std::io::Cursor;
use units::Rng;

/// A request of the true trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Req {
    nanos: u64,
    writes: bool,
    offset: u64,
    size: u64,
    device: u64,
}

impl Req {
    /// Time in whole units of `nanos` nanoseconds.
    fn in_units(&self, nanos: u64) -> u64 {
        self.nanos / nanos
    }

    /// Time in units of `nanos` nanoseconds, with `digits` decimals.
    fn decimal(&self, nanos: u64, digits: usize) -> String {
        let whole = self.nanos / nanos;
        let fraction = self.nanos % nanos * 10_u64.pow(9) / nanos;
        let fraction = format!("{fraction:09}");
        format!("{whole}.{}", &fraction[..digits])
    }

    fn letter(&self) -> char {
        if self.writes { 'W' } else { 'R' }
    }

    /// Flag of DiskSim: 1 for a read.
    fn reads(&self) -> u8 {
        u8::from(!self.writes)
    }
}

const S: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;
const US: u64 = 1_000;
/// 2007-02-22, as a Windows file time.
const FILE_TIME: u64 = 128_166_372_003_061_629;
/// 2019-12-31, in seconds since 1970.
const DATE: u64 = 1_577_808_000;

/// Requests that are about `gap` nanoseconds apart, at multiples of `tick` nanoseconds.
fn truth(gap: u64, tick: u64, devices: u64) -> Vec<Req> {
    let mut rng = Rng::stream(1, "shapes");
    let mut nanos = 0;
    let mut all = Vec::new();
    for index in 0..300 {
        let size = [4_096, 4_096, 8_192, 16_384, 65_536][rng.below(5) as usize];
        let req = Req {
            nanos: nanos / tick * tick,
            writes: rng.below(10) < 3,
            offset: rng.below(4 << 20) * 4_096,
            size,
            device: if index == 0 { 0 } else { rng.below(devices) },
        };
        all.push(req);
        nanos += tick + rng.below(2 * gap);
    }
    all
}

/// About a thousand requests a second, at whole microseconds.
fn usual() -> Vec<Req> {
    truth(MS, US, 1)
}

/// Lines of all requests.
fn lines(truth: &[Req], line: impl Fn(&Req) -> String) -> String {
    truth.iter().map(|req| line(req) + "\n").collect()
}

/// Expected result for a file.
enum Fate {
    /// The file is read correctly, and the evidence has these words.
    Read(&'static str),
    /// The file is refused with these words.
    Refused(&'static [&'static str]),
}

/// A file with its true requests, the expected result, and the options with which it is read
/// correctly.
struct File {
    name: &'static str,
    text: String,
    truth: Vec<Req>,
    /// Tick of the file's clock; times are exact to it.
    tick: u64,
    given: &'static str,
    fate: Fate,
    typed: &'static [&'static str],
}

fn file(
    name: &'static str,
    truth: Vec<Req>,
    line: impl Fn(&Req) -> String,
    fate: Fate,
    typed: &'static [&'static str],
) -> File {
    let text = lines(&truth, line);
    File { name, text, truth, tick: 1, given: "", fate, typed }
}

impl File {
    fn given(self, given: &'static str) -> Self {
        Self { given, ..self }
    }

    fn typed(self, typed: &'static [&'static str]) -> Self {
        Self { typed, ..self }
    }

    fn header(self, header: &str) -> Self {
        Self { text: format!("{header}\n{}", self.text), ..self }
    }

    fn tick(self, tick: u64) -> Self {
        Self { tick, ..self }
    }
}

/// Options from their text.
fn options(typed: &str) -> Result<ReadOptions, String> {
    let mut options = ReadOptions::default();
    let mut words = typed.split_whitespace();
    while let Some(word) = words.next() {
        if word == "--allow-odd" {
            options.allow_odd = true;
            continue;
        }
        let value = words.next().ok_or("a value is missing")?;
        let said = |error: ioda_workload::OptionError| error.to_string();
        match word {
            "--format" => options.format = Some(value.parse().map_err(said)?),
            "--time-unit" => options.time_unit = Some(value.parse().map_err(said)?),
            "--sector-bytes" => options.sector_bytes = value.parse().ok(),
            "--columns" => options.columns = Some(value.trim_matches('\'').parse().map_err(said)?),
            _ => return Err(format!("{word} is no option")),
        }
    }
    Ok(options)
}

/// The requests and the evidence, or the text of the refusal.
fn read(text: &str, typed: &str) -> Result<(Vec<Req>, String), String> {
    let input = Cursor::new(text.as_bytes().to_vec());
    let mut reader = TraceReader::from_reader(input, "t", &options(typed)?)
        .map_err(|error| error.to_string())?;
    let mut requests = Vec::new();
    for request in reader.by_ref() {
        let request = request.map_err(|error| error.to_string())?;
        requests.push(Req {
            nanos: request.at.as_nanos(),
            writes: request.op == Op::Write,
            offset: request.offset_bytes,
            size: request.size_bytes,
            device: request.device.into(),
        });
    }
    Ok((requests, reader.detected().to_string()))
}

/// Compares `found` with the truth; devices are numbered in the order of their first requests.
fn is_right(file: &File, found: &[Req]) -> bool {
    let mut devices: Vec<u64> = Vec::new();
    let start = file.truth.first().map_or(0, |first| first.nanos);
    file.truth.len() == found.len()
        && file.truth.iter().zip(found).all(|(meant, found)| {
            let device =
                devices.iter().position(|seen| *seen == meant.device).unwrap_or_else(|| {
                    devices.push(meant.device);
                    devices.len() - 1
                });
            let others = Req { nanos: found.nanos, device: device as u64, ..*meant };
            others == *found && (meant.nanos - start).abs_diff(found.nanos) < file.tick
        })
}

/// Map that a refusal proposes.
fn proposed(sentence: &str) -> Option<&str> {
    sentence.split("--columns ").nth(1)?.split_whitespace().next()
}

/// Errors in the result for `file`; empty if all is right.
fn judge(file: &File) -> String {
    let mut wrong = String::new();
    let mut say = |what: String| writeln!(wrong, "{}: {what}", file.name).unwrap();
    match (&file.fate, read(&file.text, file.given)) {
        (Fate::Read(words), Ok((found, evidence))) => {
            if !is_right(file, &found) {
                say(format!("read wrong, such as {:?}; {evidence}", &found[..2]));
            }
            if !evidence.contains(words) {
                say(format!("the evidence has no \"{words}\": {evidence}"));
            }
        }
        (Fate::Refused(words), Err(sentence)) => {
            for word in words.iter().filter(|word| !sentence.contains(**word)) {
                say(format!("the refusal has no \"{word}\": {sentence}"));
            }
            if let Some(map) = proposed(&sentence)
                && let Ok((found, _)) = read(&file.text, &format!("--columns {map}"))
                && !is_right(file, &found)
            {
                say(format!("the map that is proposed reads it wrong: {sentence}"));
            }
        }
        (_, Ok((found, evidence))) => {
            let is = if is_right(file, &found) { "right" } else { "wrong" };
            say(format!("it is not refused, and read {is}: {evidence}"));
        }
        (_, Err(sentence)) => say(format!("it is refused: {sentence}")),
    }
    for typed in file.typed {
        match read(&file.text, typed) {
            Ok((found, _)) if is_right(file, &found) => {}
            Ok((found, evidence)) => {
                say(format!("read wrong with {typed}, such as {:?}; {evidence}", &found[..2]));
            }
            Err(sentence) => say(format!("refused with {typed}: {sentence}")),
        }
    }
    wrong
}

#[test]
fn every_file_is_read_right_or_refused_with_what_to_type() {
    let files = [
        disksim::files(),
        files::files(),
        csv::files(),
        contradictions::files(),
        impossible::files(),
    ];
    let files: Vec<File> = files.into_iter().flatten().collect();
    assert!(files.len() >= 100, "{} files", files.len());
    let wrong: String = files.iter().map(judge).collect();
    assert_eq!(wrong, "");
}

/// A few lines give less certainty, and never another result.
#[test]
fn the_first_lines_of_every_file_are_not_read_wrong() {
    let files = [disksim::files(), files::files(), csv::files()];
    for mut file in files.into_iter().flatten() {
        let header = file.text.lines().count() - file.truth.len();
        for count in [100, 30, 10, 5, 3, 2, 1] {
            file.truth.truncate(count);
            let first = file.text.lines().take(header + count);
            let text: String = first.map(|line| format!("{line}\n")).collect();
            if let Ok((found, evidence)) = read(&text, file.given) {
                let name = file.name;
                assert!(is_right(&file, &found), "{count} lines of {name}: {evidence}\n{text}");
            }
        }
    }
}

#[test]
fn a_later_line_can_take_the_evidence_for_bytes_away() {
    let mut text =
        lines(&usual(), |req| format!("{} 0 {} {} 1", req.decimal(MS, 6), req.offset, req.size));
    for index in 0..200 {
        writeln!(text, "{}.0 0 {} 4096 1", 1_000 + index, index * 4_096).unwrap();
    }
    assert_eq!(read(&text, "--time-unit ms").unwrap().0.len(), 500);
    text.push_str("1300.0 0 1003 8 1\n");
    let refused = read(&text, "--time-unit ms").unwrap_err();
    assert!(refused.starts_with("trace t, line 501: 1003 is no multiple of 512"), "{refused}");
}
