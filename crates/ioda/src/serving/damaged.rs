//! Configuration files with anything in them are read, or refused with a sentence, up to the array
//! that they describe.
//!
//! `IODA_SEEDS=1000000 cargo test --release -p ioda --bin ioda damaged` runs for long.
#![allow(clippy::print_stdout, reason = "a test")]

use super::build;
use study::settings::{Settings, parse};
use units::Rng;

/// A file with most of what there is.
const DOCUMENT: &str = r#"
[serve]
address = ["/tmp/ioda.sock", "127.0.0.1:10809"]
storage = ["/tmp/array6"]
plain = false
drive_size = "16m"
http = "127.0.0.1:9640"
http_host = ["a.example"]
journal = "always"
client_memory = "256m"
checksum_cache = "64m"
restore_depth = 4
socket_group = "disk"

[array]
drives = 6
raid = "6"
chunk = "16k"
stripe_width = 6
tw = "50ms"

[drive]
base = "live"
blocks_per_plane = 40
write_buffer = "64m"
blocking = "die"

[run]
policy = ["ioda"]
seed = 3
"#;

/// What values programs get wrong.
const VALUES: [&str; 24] = [
    "0",
    "1",
    "2",
    "64",
    "65",
    "255",
    "256",
    "-1",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "1e308",
    "nan",
    "true",
    "\"\"",
    "\"0\"",
    "\"ü\"",
    "\"4k\"",
    "\"18446744073709551615\"",
    "\"16e\"",
    "\"0ns\"",
    "[]",
    "[\"memory\"]",
    "{}",
];

fn damage(rng: &mut Rng, text: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(String::from).collect();
    for _ in 0..=rng.below(2) {
        let at = rng.below(lines.len() as u64) as usize;
        let value = VALUES[rng.below(VALUES.len() as u64) as usize];
        match (rng.below(6), lines[at].split_once('=')) {
            (0..=2, Some((key, _))) => lines[at] = format!("{key}= {value}"),
            (3, _) => drop(lines.remove(at)),
            (4, _) => {
                let line = lines[at].clone();
                lines.insert(rng.below(lines.len() as u64) as usize, line);
            }
            _ => {
                let mut line: Vec<char> = lines[at].chars().collect();
                let place = rng.below(line.len() as u64 + 1) as usize;
                let other = ['"', '[', '=', '\n', 'ß', '\0', '9', '.'][rng.below(8) as usize];
                line.insert(place, other);
                lines[at] = line.into_iter().collect();
            }
        }
        if lines.is_empty() {
            return String::new();
        }
    }
    lines.join("\n")
}

#[test]
fn damaged_configurations_are_refused_with_a_sentence_or_built() {
    let (mut unread, mut refused, mut built) = (0, 0, 0);
    for seed in testing::seeds(0..1500) {
        let mut rng = Rng::stream(seed, "configuration");
        let text = damage(&mut rng, DOCUMENT);
        let sentence = match parse::<Settings>(&text, "a.toml") {
            Err(error) => {
                unread += 1;
                error.to_string()
            }
            Ok(settings) => match build(&settings, None) {
                Err(error) => {
                    refused += 1;
                    error.to_string()
                }
                Ok(array) => {
                    built += 1;
                    assert!(array.config.layout.capacity_pages() > 0);
                    continue;
                }
            },
        };
        assert!(!sentence.trim().is_empty() && !sentence.contains('\n'), "{sentence:?}");
    }
    println!("{unread} not read, {refused} refused, {built} built");
    assert!(testing::is_repeat() || unread > 0 && refused > 0 && built > 0);
}
