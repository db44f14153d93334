//! A process that orders the writes of a degraded array with the machine that serves, killed again
//! and again. Whenever it dies, the next one opens the array and finds the truth: whole rows,
//! nothing lost that was done.
#![allow(clippy::unwrap_used, reason = "tests stop")]

use array::Level;
use engine::durability::{Change, Durability, End, IoResult, Output, WantedChange};
use live::buffer::Buffer;
use live::durable::format::QUIET_FOR;
use live::durable::{Geometry, OpenArray, create, open};
use live::storage::{DATA_OFFSET_BYTES, Disk, DriveLocation, StoredDrive};
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
    journalled: live::durable::Journalled::Degraded,
    checksums: false,
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
    let places: Vec<DriveLocation> =
        (0..4).map(|drive| DriveLocation::File(folder.join(format!("drive-{drive}")))).collect();
    if !folder.join("drive-0").exists() {
        let mut array = Running::new(create(&places, &GEOMETRY, QUIET_FOR).unwrap());
        array.durability.handle_drive_failed(array.now, DriveId(3));
        array.settle();
    }
    open(&places, Some(&GEOMETRY), QUIET_FOR).unwrap()
}

fn file(drive: StoredDrive) -> Disk {
    match drive {
        StoredDrive::Disk(disk) => disk,
        StoredDrive::Remote(_) => panic!("all drives are files"),
    }
}

/// A page on its way to a drive.
struct PageChange {
    offset_bytes: u64,
    page: Buffer,
}

impl Change for PageChange {
    fn data(&self) -> Option<&[u8]> {
        Some(&self.page.bytes()[..PAGE])
    }
}

/// An array that runs: the machine that orders writes and syncs, on real files.
struct Running {
    disks: Vec<Option<Disk>>,
    durability: Durability<PageChange>,
    now: Instant,
    ended: bool,
}

impl Running {
    fn new(array: OpenArray) -> Self {
        let OpenArray { disks, records, .. } = array;
        let durability = Durability::new(records);
        let disks = disks.into_iter().map(|disk| disk.map(file)).collect();
        Self { disks, durability, now: Instant::ZERO, ended: false }
    }

    fn generation(&self) -> u64 {
        self.durability.superblock().generation
    }

    /// Does what the machine says until it says nothing more.
    fn settle(&mut self) {
        loop {
            self.durability.advance();
            let Some(output) = self.durability.poll_output() else { return };
            match output {
                Output::WriteHead { id, drive, offset_bytes, bytes } => {
                    let mut buffer = Buffer::zeroed(bytes.len());
                    buffer.bytes_mut().copy_from_slice(&bytes);
                    let disk = self.disks[drive.index()].as_ref().unwrap();
                    disk.head().write_stable(offset_bytes, &buffer).unwrap();
                    self.durability.handle_io_ended(self.now, id, IoResult::Done);
                }
                Output::Sync { id, drive, .. } => {
                    self.disks[drive.index()].as_ref().unwrap().sync_now().unwrap();
                    self.durability.handle_io_ended(self.now, id, IoResult::Done);
                }
                Output::Release { id, drive, change } => {
                    let disk = self.disks[drive.index()].as_ref().unwrap();
                    disk.write_now(DATA_OFFSET_BYTES + change.offset_bytes, &change.page).unwrap();
                    self.durability.handle_io_ended(self.now, id, IoResult::Done);
                }
                Output::Ended { end } => {
                    assert_eq!(end, End::Clean);
                    self.ended = true;
                }
                Output::Cancel { .. } | Output::Answer { .. } | Output::Refuse { .. } => {}
                Output::FailDrive { reason, .. } => panic!("{reason}"),
                Output::Stop { reason } => panic!("{reason}"),
            }
        }
    }

    /// Lets time pass until the machine wants it. Returns whether it wants anything.
    fn tick(&mut self) -> bool {
        let due = self.durability.next_deadline();
        if due == Instant::NEVER {
            return false;
        }
        self.now = self.now.max(due);
        self.durability.handle_deadline(self.now);
        self.settle();
        true
    }

    /// One stripe write.
    fn write_rows(&mut self, region: u64, value: u64) {
        let mut joins = None;
        let offset_bytes = region * REGION_BYTES;
        for drive in (0..3).map(DriveId) {
            let wanted = WantedChange {
                drive,
                offset_bytes,
                length_bytes: PAGE as u64,
                joins,
                cached: false,
                change: PageChange { offset_bytes, page: page(value) },
            };
            joins = Some(self.durability.handle_change(self.now, wanted).write);
        }
        self.settle();
        while !self.durability.is_idle() {
            assert!(self.tick(), "the machine waits for nothing and is not idle");
        }
    }
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
    let mut array = Running::new(start(&folder));
    // With a drive missing parity cannot be computed again, and need not be: what was being written
    // was in the journal.
    array.durability.handle_parity_resynced(array.now);
    array.settle();
    // The harness has begun a line.
    say("");
    say(&format!("generation {}", array.generation()));
    let first = array.disks[0].as_ref().unwrap();
    let mut value = (0..REGIONS).map(|region| value_of(first, region)).max().unwrap();
    loop {
        match rng.below(40) {
            0 => {
                array.tick();
            }
            1 => {
                array.durability.handle_end(array.now);
                array.settle();
                while !array.ended {
                    assert!(array.tick(), "the machine waits for nothing and has not ended");
                }
                say("end");
                return;
            }
            _ => {
                value += 1;
                let region = rng.below(REGIONS);
                say(&format!("begin {region} {value}"));
                array.write_rows(region, value);
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
            let dirty = array.records.intent.dirty_regions();
            // The last one may have begun without being marked yet; then nothing is written.
            let marked = known.touched.split_last().map_or(&[][..], |(_, before)| before);
            for region in marked {
                assert!(dirty.contains(region), "{context}: region {region} is not dirty");
            }
        }
        let disks: Vec<Disk> = array.disks.into_iter().take(3).flatten().map(file).collect();
        for region in 0..REGIONS {
            let values: Vec<u64> = disks.iter().map(|disk| value_of(disk, region)).collect();
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
