//! Tests of the checksums against simulated drives.

mod recovery;

use super::table::encode;
use super::*;
use alloc::vec;
use units::Rng;

const UUID: Uuid = Uuid([5; 16]);
const DRIVES: u64 = 2;
/// Number of blocks of data in use: few in each of many blocks of the table.
const USED: u64 = 400;

fn block_of(index: u64) -> u64 {
    index / 4 * SUMS as u64 + index % 4
}

/// Content of the drives: sums of data, and the blocks of their tables.
struct Drives {
    data: BTreeMap<(u8, u64), u32>,
    tables: BTreeMap<Key, Vec<u8>>,
}

impl Drives {
    fn sum(&self, drive: u8, block: u64) -> u32 {
        self.data.get(&(drive, block)).copied().unwrap_or(0)
    }

    /// Sum of a block in the table on the drive.
    fn stored(&self, drive: u8, block: u64) -> u32 {
        let (key, at) = Key::of(DriveId(drive), block);
        self.tables.get(&key).map_or(0, |bytes| said(key, bytes).unwrap()[at])
    }
}

/// Tables that a power cut may tear.
const SEAL: TableSeal = TableSeal::Block;

/// Sums of a block of a table; `None` if its seal is wrong.
fn said(key: Key, block: &[u8]) -> Option<Sums> {
    match table::decode(SEAL, UUID, key, block) {
        Decoded::Sound(sums) => Some(sums),
        Decoded::Damaged(_) | Decoded::Nothing => None,
    }
}

/// Setup of an array whose last end may have torn any block of a table.
fn setup(doubtful: Vec<Range<u64>>) -> ChecksumSetup {
    ChecksumSetup {
        uuid: UUID,
        table_at: Some(1 << 40),
        seal: SEAL,
        doubtful,
        marked: core::iter::once(0..1 << 40).collect(),
        cache_bytes: 0,
        sizes: Sizes::SERVED,
        planted: Planted::NONE,
    }
}

/// Completes all work on tables.
fn serve(sums: &mut Checksums, drives: &mut Drives) {
    while let Some(io) = sums.poll_io() {
        end(sums, drives, io);
    }
}

fn end(sums: &mut Checksums, drives: &mut Drives, io: TableIo) -> bool {
    match io {
        TableIo::Read(key) => {
            let zeros = vec![0; BLOCK_BYTES];
            sums.table_read(key, Some(drives.tables.get(&key).unwrap_or(&zeros)));
            false
        }
        TableIo::Write(key, table) => {
            let mut block = vec![0; BLOCK_BYTES];
            encode(SEAL, UUID, key, &table, &mut block);
            drives.tables.insert(key, block);
            sums.table_written(key)
        }
    }
}

#[test]
fn what_is_right_fits_and_what_is_not_is_found() {
    let (mut found, mut settled) = (0, 0);
    for seed in testing::seeds(0..20) {
        let mut rng = Rng::new(seed);
        let mut sums = Checksums::new(setup(Vec::new()));
        let mut drives = Drives { data: BTreeMap::new(), tables: BTreeMap::new() };
        let mut io: Vec<TableIo> = Vec::new();
        // Tag, drive, block and sum of changes in flight: at most one per block.
        let mut writing: Vec<(u32, u8, u64, u32)> = Vec::new();
        let mut reading: Vec<(u8, u64, u32, Stamp)> = Vec::new();
        // All sums that a block has had.
        let mut had: BTreeMap<(u8, u64), Vec<u32>> = BTreeMap::new();
        let mut settling: BTreeMap<u8, Vec<(u64, usize)>> = BTreeMap::new();
        for tag in 0..4000 {
            let (drive, block) = (rng.below(DRIVES) as u8, block_of(rng.below(USED)));
            let is_being_written =
                writing.iter().any(|&(_, other, at, _)| (other, at) == (drive, block));
            match rng.below(12) {
                0..3 if is_being_written => {}
                0..3 => {
                    let sum = rng.next_u64() as u32;
                    let blocks = block..block + 1;
                    sums.begin_change(tag, DriveId(drive), blocks, Some(vec![sum]));
                    writing.push((tag, drive, block, sum));
                }
                3..6 if !writing.is_empty() => {
                    let at = rng.below(writing.len() as u64) as usize;
                    let (tag, drive, block, sum) = writing.swap_remove(at);
                    drives.data.insert((drive, block), sum);
                    had.entry((drive, block)).or_default().push(sum);
                    sums.end_change(tag, true);
                }
                6..8 => {
                    let since = sums.begin_read(DriveId(drive), block..block + 1);
                    reading.push((drive, block, drives.sum(drive, block), since));
                }
                8..10 if !reading.is_empty() => {
                    let at = rng.below(reading.len() as u64) as usize;
                    let (drive, block, sum, since) = reading.swap_remove(at);
                    let flipped = rng.below(4) == 0;
                    let brought = if flipped { sum ^ 0x40 } else { sum };
                    match sums.verify(DriveId(drive), block, &[brought], since) {
                        Verdict::Fits => assert!(!flipped, "seed {seed}"),
                        Verdict::Wrong(at) => {
                            assert!(flipped && at == block, "seed {seed}");
                            found += 1;
                        }
                        Verdict::Waits => reading.push((drive, block, sum, since)),
                        Verdict::Again => {
                            let since = sums.begin_read(DriveId(drive), block..block + 1);
                            reading.push((drive, block, drives.sum(drive, block), since));
                        }
                    }
                }
                10 if !io.is_empty() => {
                    let at = rng.below(io.len() as u64) as usize;
                    let next = io.swap_remove(at);
                    let (TableIo::Read(key) | TableIo::Write(key, _)) = &next;
                    let drive = key.drive;
                    if end(&mut sums, &mut drives, next) {
                        settled += 1;
                        for (block, count) in settling.remove(&drive).unwrap() {
                            let stored = drives.stored(drive, block);
                            let since = &had[&(drive, block)][count - 1..];
                            assert!(since.contains(&stored), "seed {seed}: block {block}");
                        }
                    }
                }
                11 if rng.below(4) == 0 && !settling.contains_key(&drive) => {
                    let its = had.iter().filter(|((of, _), _)| *of == drive);
                    let all = its.map(|((_, block), sums)| (*block, sums.len())).collect();
                    if !sums.settle(DriveId(drive)) {
                        settling.insert(drive, all);
                    }
                }
                _ => {}
            }
            io.extend(core::iter::from_fn(|| sums.poll_io()));
            sums.check_invariants();
        }
        // Blocks being read or written cannot leave the cache; afterwards it is within its limit.
        for index in USED..USED + 400 {
            sums.begin_read(DriveId(0), block_of(index)..block_of(index) + 1);
            io.extend(core::iter::from_fn(|| sums.poll_io()));
            while let Some(next) = io.pop() {
                end(&mut sums, &mut drives, next);
                io.extend(core::iter::from_fn(|| sums.poll_io()));
            }
        }
        assert!(sums.tables.len() <= Sizes::SERVED.cached_tables, "the cache is bounded");
    }
    assert!(testing::is_repeat() || found > 400 && settled > 20, "{found} {settled}");
}

#[test]
fn sums_in_doubt_are_taken_from_what_is_read() {
    let mut drives = Drives { data: BTreeMap::new(), tables: BTreeMap::new() };
    let block = SUMMED_BYTES as u64;
    let mut sums = Checksums::new(setup(core::iter::once(10 * block..20 * block).collect()));
    let mut read = |sums: &mut Checksums, at, sum| {
        let since = sums.begin_read(DriveId(0), at..at + 1);
        serve(sums, &mut drives);
        sums.verify(DriveId(0), at, &[sum], since)
    };
    assert_eq!(read(&mut sums, 9, 7), Verdict::Wrong(9));
    assert_eq!(read(&mut sums, 10, 7), Verdict::Fits);
    assert_eq!(read(&mut sums, 10, 8), Verdict::Wrong(10), "it is known now");
    sums.begin_change(1, DriveId(0), 19..20, None);
    sums.end_change(1, true);
    assert_eq!(read(&mut sums, 19, 8), Verdict::Wrong(19), "it was written");
    assert_eq!(sums.counters().accepted, 1);
    assert!(!sums.settle(DriveId(0)));
    serve(&mut sums, &mut drives);
    assert_eq!(drives.stored(0, 10), 7);
    assert!(sums.settle(DriveId(0)));
}

#[test]
fn a_torn_block_of_the_table_says_nothing() {
    let mut drives = Drives { data: BTreeMap::new(), tables: BTreeMap::new() };
    let key = Key { drive: 1, number: 0 };
    drives.tables.insert(key, vec![1; BLOCK_BYTES]);
    let mut sums = Checksums::new(setup(Vec::new()));
    for (sum, expected) in [(7, Verdict::Fits), (8, Verdict::Wrong(5))] {
        let since = sums.begin_read(DriveId(1), 5..6);
        serve(&mut sums, &mut drives);
        assert_eq!(sums.verify(DriveId(1), 5, &[sum], since), expected);
    }
    assert_eq!(sums.counters().damaged_tables, 1);
    // The drive is replaced: the new one is known to hold zeros.
    sums.drive_replaced(DriveId(1));
    drives.tables.clear();
    let since = sums.begin_read(DriveId(1), 5..6);
    serve(&mut sums, &mut drives);
    assert_eq!(sums.verify(DriveId(1), 5, &[7], since), Verdict::Wrong(5));
}

/// Unknown sums make no data trusted: after a clean end, outside of marked regions, and wherever
/// sectors are sealed one by one.
#[test]
fn a_damaged_block_of_the_table_makes_its_data_unreadable() {
    let block = BLOCK_BYTES as u64;
    let (drive, key) = (DriveId(0), Key { drive: 0, number: 1 });
    let first = SUMS as u64;
    let behind = 2 * first * block..1 << 40;
    for (seal, marked) in [
        (TableSeal::Block, Vec::new()),
        (TableSeal::Block, vec![0..first * block, behind]),
        (TableSeal::Sectors, vec![0..1 << 39, 1 << 39..1 << 40]),
    ] {
        for damage in ["flipped", "garbage", "zeros", "unreadable"] {
            if (seal, damage) == (TableSeal::Block, "zeros") {
                // A block of zeros counts as never written.
                continue;
            }
            let marked = marked.clone();
            let mut sums = Checksums::new(ChecksumSetup { seal, marked, ..setup(Vec::new()) });
            let mut bytes = vec![0; BLOCK_BYTES];
            encode(seal, UUID, key, &[5; SUMS], &mut bytes);
            match damage {
                "flipped" => bytes[300] ^= 1,
                "garbage" => bytes.fill(0xa5),
                _ => bytes.fill(0),
            }
            let since = sums.begin_read(drive, first..first + 2);
            assert_eq!(sums.poll_io(), Some(TableIo::Read(key)));
            sums.table_read(key, Some(&bytes[..]).filter(|_| damage != "unreadable"));
            assert_eq!(sums.counters().damaged_tables, 1);
            for sum in [0, 5, LOST] {
                let verdict = sums.verify(drive, first, &[sum], since);
                assert_eq!(verdict, Verdict::Wrong(first), "{seal:?}, {damage}, {sum}");
            }
            assert!(sums.is_recovered(), "nothing is taken from what is read");
            // The block is reconstructed and written, and its sum is known afterwards.
            sums.begin_change(1, drive, first..first + 1, Some(vec![LOST]));
            sums.end_change(1, true);
            let since = sums.begin_read(drive, first..first + 1);
            assert_eq!(sums.verify(drive, first, &[LOST], since), Verdict::Fits);
            // No sync has to wait until all sums are known.
            assert!(!sums.settle(drive));
            let Some(TableIo::Write(of, table)) = sums.poll_io() else { panic!("it is written") };
            assert_eq!((of, table[0], table[1]), (key, LOST - 1, LOST));
            assert!(sums.table_written(key));
            sums.check_invariants();
        }
    }
}

#[test]
fn a_read_beside_a_write_may_find_either() {
    let mut drives = Drives { data: BTreeMap::new(), tables: BTreeMap::new() };
    let mut sums = Checksums::new(setup(Vec::new()));
    let drive = DriveId(0);
    let since = sums.begin_read(drive, 3..4);
    serve(&mut sums, &mut drives);
    sums.begin_change(1, drive, 2..5, Some(vec![1, 2, 3]));
    assert_eq!(sums.verify(drive, 3, &[0], since), Verdict::Fits, "the old");
    assert_eq!(sums.verify(drive, 3, &[2], since), Verdict::Fits, "the new");
    assert_eq!(sums.verify(drive, 3, &[9], since), Verdict::Again, "half of each");
    sums.end_change(1, true);
    assert_eq!(sums.verify(drive, 3, &[0], since), Verdict::Again, "it began before");
    let since = sums.begin_read(drive, 3..4);
    assert_eq!(sums.verify(drive, 3, &[0], since), Verdict::Wrong(3), "a lost write");
    assert_eq!(sums.verify(drive, 3, &[2], since), Verdict::Fits);
}

/// A failed drive does not stop the eviction clock.
#[test]
fn the_cache_is_bounded_however_often_drives_fail() {
    let mut sums = Checksums::new(setup(Vec::new()));
    let mut drives = Drives { data: BTreeMap::new(), tables: BTreeMap::new() };
    for round in 0..5 {
        for table in 0..60 {
            let block = (round * 60 + table) * SUMS as u64;
            sums.begin_read(DriveId(1), block..block + 1);
            serve(&mut sums, &mut drives);
        }
        sums.drive_gone(DriveId(0));
    }
    assert!(sums.tables.len() <= Sizes::SERVED.cached_tables, "{} tables", sums.tables.len());
}

#[test]
fn blocks_that_leave_the_cache_are_counted_and_changed_ones_written_before() {
    let mut sums = Checksums::new(setup(Vec::new()));
    let mut drives = Drives { data: BTreeMap::new(), tables: BTreeMap::new() };
    let drive = DriveId(0);
    sums.begin_change(1, drive, 0..1, Some(vec![7]));
    serve(&mut sums, &mut drives);
    sums.end_change(1, true);
    let tables = 4 * Sizes::SERVED.cached_tables as u64;
    for number in 1..tables {
        let block = number * SUMS as u64;
        sums.begin_read(drive, block..block + 1);
        serve(&mut sums, &mut drives);
    }
    let ChecksumCounters { evicted, evicted_changed, .. } = *sums.counters();
    assert_eq!((evicted, evicted_changed), (tables - sums.tables.len() as u64, 1));
    let since = sums.begin_read(drive, 0..1);
    serve(&mut sums, &mut drives);
    assert_eq!(sums.verify(drive, 0, &[7], since), Verdict::Fits, "what it says was written");
}

/// A sync waits until all sums of a damaged table are known.
#[test]
fn a_damaged_table_is_not_written_before_its_sums_are_known() {
    let mut sums = Checksums::new(setup(Vec::new()));
    let (key, _) = Key::of(DriveId(0), 0);
    sums.begin_change(1, DriveId(0), 0..1, Some(vec![7]));
    sums.end_change(1, true);
    assert_eq!(sums.poll_io(), Some(TableIo::Read(key)));
    assert!(!sums.settle(DriveId(0)), "it has changed");
    sums.table_read(key, None);
    assert_eq!(sums.poll_io(), None);
    while let Some((drive, blocks)) = sums.next_to_recover(1) {
        assert_eq!(sums.poll_io(), None, "{blocks:?} is not known");
        sums.recovered(drive, blocks, false);
    }
    assert!(matches!(sums.poll_io(), Some(TableIo::Write(written, _)) if written == key));
    assert!(sums.table_written(key), "now the drive may be synced");
}
