//! A process that writes as a degraded array does, killed again and again. Whenever it dies, the
//! next one opens the array and finds the truth: whole rows, nothing lost that was done.
#![allow(clippy::unwrap_used, reason = "tests stop")]

use array::Level;
use live::buffer::Buffer;
use live::durable::format::QUIET_FOR;
use live::durable::{Geometry, Journal, MarkState, MemberState, OpenArray, create, open};
use live::storage::{DATA_OFFSET_BYTES, Disk, Place};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use units::{DriveId, Instant, Rng};

const PAGE: usize = 4096;
const REGIONS: u64 = 8;
const REGION_BYTES: u64 = 1 << 20;
const KILLS: u32 = 50;
/// Where the child finds the array, and the seed of what it does.
const FOLDER: &str = "IODA_KILL_TEST_FOLDER";
const SEED: &str = "IODA_KILL_TEST_SEED";

const GEOMETRY: Geometry = Geometry {
    level: Level::Raid6,
    width: 4,
    stripe_width: 4,
    chunk_bytes: 64 << 10,
    page_bytes: 4096,
    drive_bytes: REGIONS * REGION_BYTES,
};
/// Drive 3 has failed.
const ABSENT: u64 = 0b1000;

fn start(folder: &Path) -> OpenArray {
    let places: Vec<Place> =
        (0..4).map(|drive| Place::File(folder.join(format!("drive-{drive}")))).collect();
    if !folder.join("drive-0").exists() {
        let mut array = create(&places, &GEOMETRY, QUIET_FOR).unwrap();
        array.members.set_state(DriveId(3), MemberState::Failed);
    }
    open(&places, Some(&GEOMETRY), QUIET_FOR).unwrap()
}

fn drives(array: &OpenArray) -> impl Iterator<Item = (DriveId, &Disk)> {
    (0..3).map(DriveId).map(|drive| (drive, array.disks[drive.index()].as_ref().unwrap()))
}

/// A page that says which value it has.
fn page(value: u64) -> Buffer {
    let mut buffer = Buffer::zeroed(PAGE);
    buffer
        .bytes_mut()
        .chunks_exact_mut(8)
        .for_each(|word| word.copy_from_slice(&value.to_le_bytes()));
    buffer
}

fn value_of(disk: &Disk, region: u64) -> u64 {
    let buffer = disk.read_now(DATA_OFFSET_BYTES + region * REGION_BYTES, PAGE).unwrap();
    let value = u64::from_le_bytes(buffer.bytes()[..8].try_into().unwrap());
    assert_eq!(buffer.bytes(), page(value).bytes(), "a page of two values in region {region}");
    value
}

fn write_intents(array: &mut OpenArray) {
    for write in array.intent.blocks_to_write() {
        let mut buffer = Buffer::zeroed(PAGE);
        buffer.bytes_mut().copy_from_slice(&*write.bytes);
        for (_, disk) in drives(array) {
            disk.head().write_stable(write.offset_bytes, &buffer).unwrap();
        }
        array.intent.written(write.block);
    }
}

/// One stripe write as the engine does it: mark, journal, write.
fn write_rows(array: &mut OpenArray, region: u64, value: u64) {
    let (number, now) = (region as u32, Instant::ZERO);
    if array.intent.mark(now, number) == MarkState::MustWrite {
        write_intents(array);
    }
    let page = page(value);
    let at = region * REGION_BYTES;
    let parts: Vec<_> = (0..3).map(|drive| (DriveId(drive), at, page.bytes())).collect();
    let write = array.journal.append(&parts).unwrap();
    for holder in Journal::holders(&GEOMETRY, ABSENT) {
        let disk = array.disks[holder.index()].as_ref().unwrap();
        disk.head().write_stable(write.offset_bytes, &write.buffer).unwrap();
    }
    array.journal.written(write.sequence);
    assert_eq!(array.journal.stable(), write.sequence);
    for (_, disk) in drives(array) {
        disk.write_now(DATA_OFFSET_BYTES + at, &page).unwrap();
    }
    array.journal.finish(write.sequence);
    array.intent.finish(now, number);
}

fn clear_journal(array: &mut OpenArray) {
    drives(array).for_each(|(_, disk)| disk.sync_now().unwrap());
    let clear = array.journal.clear().unwrap();
    for (_, disk) in drives(array) {
        disk.head().write_stable(clear.offset_bytes, &clear.buffer).unwrap();
    }
}

/// Says something to the parent.
fn say(words: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{words}").unwrap();
    out.flush().unwrap();
}

#[test]
#[ignore = "the other half of the test below"]
fn child() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let mut rng = Rng::new(std::env::var(SEED).unwrap().parse().unwrap());
    let mut array = start(&folder);
    // The harness has begun a line.
    say("");
    say(&format!("generation {}", array.members.generation()));
    write_intents(&mut array);
    let mut value = (0..REGIONS)
        .map(|region| value_of(array.disks[0].as_ref().unwrap(), region))
        .max()
        .unwrap();
    loop {
        match rng.below(40) {
            0 => {
                assert!(array.members.set_state(DriveId(3), MemberState::Failed).is_empty());
                say(&format!("generation {}", array.members.generation()));
            }
            1 => clear_journal(&mut array),
            2 => {
                drives(&array).for_each(|(_, disk)| disk.sync_now().unwrap());
                assert!(array.members.end().is_empty());
                say("end");
                return;
            }
            _ => {
                value += 1;
                let region = rng.below(REGIONS);
                say(&format!("begin {region} {value}"));
                write_rows(&mut array, region, value);
                say(&format!("done {region} {value}"));
            }
        }
    }
}

/// What the parent knows.
#[derive(Default)]
struct Known {
    generation: u64,
    ended: bool,
    /// By region: the last value begun, and the last one done.
    begun: [u64; REGIONS as usize],
    done: [u64; REGIONS as usize],
    /// Regions begun since the start.
    touched: Vec<u32>,
}

impl Known {
    fn hear(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| words[at].parse::<u64>().unwrap();
        match words.first() {
            Some(&"generation") if words.len() == 2 => self.generation = number(1),
            Some(&"begin") if words.len() == 3 => {
                self.begun[number(1) as usize] = number(2);
                self.touched.push(number(1) as u32);
            }
            Some(&"done") if words.len() == 3 => self.done[number(1) as usize] = number(2),
            Some(&"end") => self.ended = true,
            _ => {}
        }
    }
}

#[test]
fn a_process_that_is_killed_leaves_an_array_that_opens_and_tells_the_truth() {
    let folder = tempfile::tempdir().unwrap();
    drop(start(folder.path()));
    let seed = testing::seed(1);
    let mut rng = Rng::new(seed.get());
    let mut known = Known::default();
    let (mut ends, mut replayed) = (0, 0);
    for kill in 0..KILLS {
        known.ended = false;
        known.touched.clear();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "durable_kill::child",
                "--ignored",
                "--nocapture",
                "--test-threads=1",
            ])
            .env(FOLDER, folder.path())
            .env(SEED, rng.below(1 << 40).to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // The last line is the beginning of a write as often as the end of one.
        for line in lines.by_ref().take(rng.below(24) as usize) {
            known.hear(&line.unwrap());
        }
        let pause = rng.below(2000);
        std::thread::sleep(std::time::Duration::from_micros(pause));
        child.kill().unwrap();
        let status = child.wait().unwrap();
        // What it said before it died, down to half a word.
        let rest: Vec<String> = lines.map_while(Result::ok).collect();
        rest.iter().for_each(|line| known.hear(line));
        assert!(status.code().is_none_or(|code| code == 0), "the child failed: {status}");

        let array = start(folder.path());
        let context = format!("kill {kill}");
        assert_eq!(array.assembly.absent, ABSENT, "{context}");
        // "end" is said after it is written, so it may be clean without a word.
        assert!(array.assembly.clean || !known.ended, "{context}");
        assert!(array.assembly.generation >= known.generation, "{context}");
        if !array.assembly.clean {
            let dirty = array.intent.dirty_regions();
            // The last one may have begun without being marked yet; then nothing is written.
            let marked = known.touched.split_last().map_or(&[][..], |(_, before)| before);
            for region in marked {
                assert!(dirty.contains(region), "{context}: region {region} is not dirty");
            }
        }
        for region in 0..REGIONS {
            let values: Vec<u64> = drives(&array).map(|(_, disk)| value_of(disk, region)).collect();
            let value = values[0];
            assert_eq!(values, [value; 3], "{context}: region {region} is torn");
            let range = known.done[region as usize]..=known.begun[region as usize];
            assert!(range.contains(&value), "{context}: region {region} has {value} of {range:?}");
            known.begun[region as usize] = value;
            known.done[region as usize] = value;
        }
        ends += u32::from(known.ended);
        replayed += array.replayed;
    }
    println!("{ends} clean ends, {replayed} records replayed");
    assert!(replayed > 0, "no kill ever found a record: the journal was not tried");
}
