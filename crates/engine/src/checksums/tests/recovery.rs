//! Tests of the reads and writes of tables, and of the recovery of doubtful sums.

use super::*;

const DRIVE: DriveId = DriveId(0);
const OTHER: DriveId = DriveId(1);
const BLOCKS: u64 = SUMS as u64;

fn read(sums: &mut Checksums) -> Vec<u64> {
    let all = core::iter::from_fn(|| sums.poll_io());
    let all = all.map(|io| match io {
        TableIo::Read(key) => key.number,
        TableIo::Write(key, _) => panic!("{key:?} is written"),
    });
    all.collect()
}

/// Answers a read with a block of a table that was never written.
fn bring(sums: &mut Checksums, drive: DriveId, number: u64) {
    let key = Key { drive: drive.0, number };
    assert!(sums.is_fetching(key));
    sums.table_read(key, Some(&[0; BLOCK_BYTES]));
    assert!(!sums.is_fetching(key));
}

#[test]
fn a_read_fetches_the_blocks_of_the_table_that_it_needs_and_no_other() {
    let ranges: [(Range<u64>, &[u64]); 5] = [
        (0..1, &[0]),
        (BLOCKS - 1..BLOCKS, &[0]),
        (BLOCKS - 1..BLOCKS + 1, &[0, 1]),
        (BLOCKS..2 * BLOCKS, &[1]),
        (2 * BLOCKS..4 * BLOCKS + 1, &[2, 3, 4]),
    ];
    for (blocks, numbers) in ranges {
        let mut sums = Checksums::new(setup(Vec::new()));
        let since = sums.begin_read(DRIVE, blocks.clone());
        assert_eq!(read(&mut sums), numbers, "{blocks:?}");
        sums.begin_change(1, DRIVE, blocks.clone(), None);
        assert!(read(&mut sums).is_empty(), "they are being read");
        sums.end_change(1, false);
        let found = vec![0; (blocks.end - blocks.start) as usize];
        for &number in numbers {
            assert_eq!(sums.verify(DRIVE, blocks.start, &found, since), Verdict::Waits);
            bring(&mut sums, DRIVE, number);
        }
        assert_eq!(sums.verify(DRIVE, blocks.start, &found, since), Verdict::Fits);
        // A block that was evicted is read again.
        let mut others = Checksums::new(setup(Vec::new()));
        let since = others.begin_read(OTHER, blocks.clone());
        read(&mut others);
        for &number in numbers {
            let verdict = others.verify(DRIVE, blocks.start, &found, since);
            assert_eq!((verdict, read(&mut others)), (Verdict::Waits, vec![number]));
            bring(&mut others, DRIVE, number);
        }
        assert_eq!(others.verify(DRIVE, blocks.start, &found, since), Verdict::Fits);
        assert!(read(&mut others).is_empty());
    }
}

#[test]
fn a_block_of_the_table_is_written_if_a_sum_has_changed() {
    let mut sums = Checksums::new(setup(Vec::new()));
    sums.begin_read(DRIVE, 0..1);
    read(&mut sums);
    bring(&mut sums, DRIVE, 0);
    for (tag, new, is_written) in [(1, 0, false), (2, 5, true), (3, 5, false), (4, 6, true)] {
        sums.begin_change(tag, DRIVE, 3..4, Some(vec![new]));
        sums.end_change(tag, true);
        assert_eq!(sums.settle(DRIVE), !is_written, "{tag}");
        assert!(sums.settle(OTHER));
        let key = Key { drive: 0, number: 0 };
        match sums.poll_io() {
            None => assert!(!is_written),
            Some(TableIo::Write(of, written)) => {
                assert!(is_written && of == key && written[3] == new, "{tag}");
                assert!(written.iter().filter(|&&sum| sum != 0).count() == 1);
                assert!(sums.table_written(key), "the drive may be synced");
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(sums.poll_io(), None);
        sums.check_invariants();
    }
    let mut sums = Checksums::new(ChecksumSetup::in_memory());
    sums.begin_change(1, DRIVE, 3..4, Some(vec![5]));
    sums.end_change(1, true);
    assert!(sums.settle(DRIVE), "there is nothing to write to");
    assert_eq!(sums.poll_io(), None);
    let since = sums.begin_read(DRIVE, 3..4);
    assert_eq!(sums.verify(DRIVE, 3, &[4], since), Verdict::Wrong(3));
}

#[test]
fn a_table_is_where_it_was_put_and_says_whose_it_is() {
    let sums = Checksums::new(setup(Vec::new()));
    let key = Key { drive: 1, number: 5 };
    assert_eq!(sums.offset_bytes(key), (1 << 40) + 5 * 4096);
    let table = [7; SUMS];
    let mut block = vec![0; BLOCK_BYTES];
    sums.encode(key, &table, &mut block);
    assert_eq!(said(key, &block), Some(Box::new(table)));
    let sums = Checksums::new(ChecksumSetup::in_memory());
    assert_eq!(sums.offset_bytes(key), 5 * 4096);
}

#[test]
fn what_was_found_is_counted() {
    let mut sums = Checksums::new(setup(core::iter::once(0..2 * 4096).collect()));
    let since = sums.begin_read(DRIVE, 0..6);
    read(&mut sums);
    bring(&mut sums, DRIVE, 0);
    let mut verify = |first, found: &[u32]| {
        let verdict = sums.verify(DRIVE, first, found, since);
        let ChecksumCounters { verified, mismatched, accepted, repeated, damaged_tables, .. } =
            *sums.counters();
        (verdict, [verified, mismatched, accepted, repeated, damaged_tables])
    };
    assert_eq!(verify(0, &[8, 9, 0, 0, 0]), (Verdict::Fits, [3, 0, 2, 0, 0]), "two in doubt");
    assert_eq!(verify(0, &[8, 9, 0]), (Verdict::Fits, [6, 0, 2, 0, 0]), "and known now");
    assert_eq!(verify(1, &[8, 0, 1, 0]), (Verdict::Wrong(1), [6, 2, 2, 0, 0]), "the first");
    sums.begin_change(1, DRIVE, 4..5, Some(vec![3]));
    for count in 1..=3 {
        assert_eq!(sums.verify(DRIVE, 4, &[1, 0], since), Verdict::Again);
        assert_eq!(sums.counters().repeated, count);
    }
    assert_eq!(sums.verify(DRIVE, 4, &[1, 1], since), Verdict::Wrong(5), "that is worse");
    for number in 1..=3 {
        sums.begin_read(OTHER, number * BLOCKS..number * BLOCKS + 1);
        read(&mut sums);
        sums.table_read(Key { drive: 1, number }, None);
        assert_eq!(sums.counters().damaged_tables, number);
    }
}

#[test]
fn of_a_drive_that_is_gone_nothing_is_known_and_of_others_everything() {
    let mut sums = Checksums::new(setup(core::iter::once(0..2 * 4096).collect()));
    for (tag, drive) in [(1, DRIVE), (2, OTHER)] {
        sums.begin_read(drive, 0..1);
        read(&mut sums);
        bring(&mut sums, drive, 0);
        sums.begin_change(tag, drive, 3..4, Some(vec![5]));
        sums.end_change(tag, true);
        sums.recover(drive);
    }
    sums.begin_read(DRIVE, BLOCKS..BLOCKS + 1);
    sums.begin_read(OTHER, BLOCKS..BLOCKS + 1);
    sums.begin_change(3, DRIVE, 9..10, Some(vec![1]));
    assert!(!sums.settle(DRIVE));
    let mut gone = sums.clone();
    gone.drive_gone(DRIVE);
    gone.check_invariants();
    assert_eq!(gone.poll_io(), Some(TableIo::Read(Key { drive: 1, number: 1 })));
    assert_eq!(gone.poll_io(), None, "nothing is written to what is gone");
    assert_eq!(gone.next_to_recover(9), Some((OTHER, 0..2)));
    assert!(gone.is_recovered() && gone.next_to_recover(9).is_none());
    assert!(gone.settle(DRIVE) && !gone.settle(OTHER));
    assert!(matches!(gone.poll_io(), Some(TableIo::Write(Key { drive: 1, number: 0 }, _))));
    gone.end_change(3, true);
    assert_eq!(gone.poll_io(), None, "the change went with its drive");
    // The new drive has sums of zeros, none in doubt.
    gone.drive_replaced(DRIVE);
    let since = gone.begin_read(DRIVE, 0..1);
    read(&mut gone);
    bring(&mut gone, DRIVE, 0);
    assert_eq!(gone.verify(DRIVE, 0, &[1], since), Verdict::Wrong(0));
    assert!(gone.is_known(DRIVE));
    assert!(!gone.is_known(OTHER), "some was in doubt");
}

/// A drive after a crash: its data, and a table with older, newer or torn parts.
struct Crashed {
    drives: Drives,
    /// Sums of these blocks are in doubt.
    doubtful: Vec<Range<u64>>,
}

/// Blocks of data of each drive: two blocks of the table and some of a third.
const DATA: u64 = 2 * BLOCKS + 300;
const NUMBERS: u64 = 3;

fn crashed(rng: &mut Rng) -> Crashed {
    let mut drives = Drives { data: BTreeMap::new(), tables: BTreeMap::new() };
    let mut doubtful: Vec<Range<u64>> = Vec::new();
    let mut from = rng.below(600);
    while from < DATA && rng.below(5) > 0 {
        let end = (from + 1 + rng.below(600)).min(DATA);
        doubtful.push(from..end);
        from = end + 1 + rng.below(600);
    }
    for drive in [DRIVE, OTHER] {
        for number in 0..NUMBERS {
            let key = Key { drive: drive.0, number };
            let mut sums = Box::new([0; SUMS]);
            for block in number * BLOCKS..((number + 1) * BLOCKS).min(DATA) {
                let sum = rng.below(4) as u32;
                drives.data.insert((drive.0, block), sum);
                let is_doubtful = doubtful.iter().any(|range| range.contains(&block));
                let stored = if is_doubtful { rng.below(4) as u32 } else { sum };
                sums[(block % BLOCKS) as usize] = stored;
            }
            let mut bytes = vec![0; BLOCK_BYTES];
            encode(SEAL, UUID, key, &sums, &mut bytes);
            if rng.below(4) == 0 {
                bytes[rng.below(BLOCK_BYTES as u64) as usize] ^= 1;
            }
            drives.tables.insert(key, bytes);
        }
    }
    Crashed { drives, doubtful }
}

/// Whatever the tables hold after a crash, all sums are right and on the drive after recovery and a
/// sync. No read of right data counts as wrong before that.
#[test]
fn all_sums_are_found_again_after_a_crash() {
    let (mut recovered, mut torn, mut settled) = (0, 0, 0);
    for seed in testing::seeds(0..60) {
        let mut rng = Rng::stream(seed, "recovery");
        let Crashed { mut drives, doubtful } = crashed(&mut rng);
        let block_bytes = SUMMED_BYTES as u64;
        let bytes = doubtful.iter().map(|range| range.start * block_bytes..range.end * block_bytes);
        let setup = ChecksumSetup { table_at: Some(DATA * block_bytes), ..setup(bytes.collect()) };
        let mut sums = Checksums::new(setup);
        for drive in [DRIVE, OTHER] {
            sums.recover(drive);
        }
        // Blocks that cannot be read: their sums are never found.
        let unreadable: Vec<(u8, u64)> =
            (0..rng.below(4)).map(|_| (rng.below(DRIVES) as u8, rng.below(DATA))).collect();
        // Reads to do; true if a recovery asked for the read.
        let mut reads: Vec<(DriveId, Range<u64>, Stamp, bool)> = Vec::new();
        let mut io: Vec<TableIo> = Vec::new();
        let mut writing: Vec<(u32, u8, u64, u32)> = Vec::new();
        let mut syncing: BTreeSet<u8> = BTreeSet::new();
        let is_bad = |drive: DriveId, blocks: &Range<u64>| {
            unreadable.iter().any(|(of, block)| *of == drive.0 && blocks.contains(block))
        };
        let mut tag = 0;
        for step in 0.. {
            let is_over = step > 400;
            tag += 1;
            let (drive, block) = (rng.below(DRIVES) as u8, rng.below(DATA));
            match rng.below(8) {
                0 if !is_over => {
                    let end = (block + 1 + rng.below(8)).min(DATA);
                    if !is_bad(DriveId(drive), &(block..end)) {
                        let since = sums.begin_read(DriveId(drive), block..end);
                        reads.push((DriveId(drive), block..end, since, false));
                    }
                }
                1 if !is_over
                    && !writing.iter().any(|(_, of, at, _)| (*of, *at) == (drive, block)) =>
                {
                    let sum = 4 + rng.below(4) as u32;
                    sums.begin_change(tag, DriveId(drive), block..block + 1, Some(vec![sum]));
                    writing.push((tag, drive, block, sum));
                }
                2 if !writing.is_empty() => {
                    let at = rng.below(writing.len() as u64) as usize;
                    let (tag, drive, block, sum) = writing.swap_remove(at);
                    drives.data.insert((drive, block), sum);
                    sums.end_change(tag, true);
                }
                3 => {
                    let most = 1 + rng.below(40);
                    if let Some((drive, blocks)) = sums.next_to_recover(most) {
                        assert!(
                            blocks.end <= DATA && !blocks.is_empty(),
                            "seed {seed}: {blocks:?}"
                        );
                        assert!(blocks.end - blocks.start <= most);
                        if is_bad(drive, &blocks) {
                            sums.recovered(drive, blocks, false);
                        } else {
                            let since = sums.begin_read(drive, blocks.clone());
                            reads.push((drive, blocks, since, true));
                        }
                    }
                }
                4 | 5 if !reads.is_empty() => {
                    let at = rng.below(reads.len() as u64) as usize;
                    let (drive, blocks, since, recovers) = reads.swap_remove(at);
                    let found: Vec<u32> =
                        blocks.clone().map(|block| drives.sum(drive.0, block)).collect();
                    match sums.verify(drive, blocks.start, &found, since) {
                        Verdict::Fits if recovers => {
                            recovered += blocks.end - blocks.start;
                            sums.recovered(drive, blocks, true);
                        }
                        Verdict::Fits => {}
                        Verdict::Waits => reads.push((drive, blocks, since, recovers)),
                        Verdict::Again => {
                            let since = sums.begin_read(drive, blocks.clone());
                            reads.push((drive, blocks, since, recovers));
                        }
                        Verdict::Wrong(block) => panic!("seed {seed}: block {block} of {drive:?}"),
                    }
                }
                6 if !io.is_empty() => {
                    let at = rng.below(io.len() as u64) as usize;
                    let next = io.swap_remove(at);
                    let (TableIo::Read(key) | TableIo::Write(key, _)) = next.clone();
                    if end(&mut sums, &mut drives, next) {
                        assert!(syncing.remove(&key.drive), "seed {seed}: nobody waits");
                        settled += 1;
                    }
                }
                7 if rng.below(10) == 0
                    && !syncing.contains(&drive)
                    && !sums.settle(DriveId(drive)) =>
                {
                    syncing.insert(drive);
                }
                _ => {}
            }
            io.extend(core::iter::from_fn(|| sums.poll_io()));
            sums.check_invariants();
            let is_idle = reads.is_empty() && io.is_empty() && writing.is_empty();
            if is_over && is_idle && sums.is_recovered() {
                break;
            }
            assert!(step < 100_000, "seed {seed}: it never ends");
        }
        torn += sums.counters().damaged_tables;
        for drive in [DRIVE, OTHER] {
            assert!(!syncing.contains(&drive.0), "seed {seed}: a sync waits for nothing");
            let first = Key { drive: drive.0, number: 0 };
            let has_looked = sums.tables.range(first..).any(|(key, _)| key.drive == drive.0);
            assert_eq!(sums.is_known(drive), has_looked, "seed {seed}");
            if !sums.settle(drive) {
                while let Some(io) = sums.poll_io() {
                    end(&mut sums, &mut drives, io);
                }
            }
            for number in 0..NUMBERS {
                let key = Key { drive: drive.0, number };
                let Some(stored) = said(key, &drives.tables[&key]) else {
                    assert!(!sums.tables.contains_key(&key), "seed {seed}: {key:?} was read");
                    continue;
                };
                for block in number * BLOCKS..((number + 1) * BLOCKS).min(DATA) {
                    let expected = drives.sum(drive.0, block);
                    let stored = stored[(block % BLOCKS) as usize];
                    let is_bad = unreadable.contains(&(drive.0, block));
                    assert!(is_bad || stored == expected, "seed {seed}: {block}");
                }
            }
        }
    }
    assert!(testing::is_repeat() || recovered > 1000 && torn > 10 && settled > 10);
}

#[test]
fn what_is_to_be_recovered_comes_in_order_and_block_by_block_if_it_cannot_be_read() {
    let ranges = [0..10 * 4096, 20 * 4096..25 * 4096];
    let mut sums = Checksums::new(setup(ranges.to_vec()));
    assert!(sums.is_recovered() && sums.next_to_recover(4).is_none());
    assert!(!sums.is_known(DRIVE), "nothing of it was read");
    sums.recover(OTHER);
    let mut parts = Vec::new();
    while let Some((drive, blocks)) = sums.next_to_recover(4) {
        assert_eq!(drive, OTHER);
        assert_eq!(sums.is_recovered(), blocks.end == 25);
        parts.push(blocks);
    }
    assert_eq!(parts, [0..4, 4..8, 8..10, 20..24, 24..25]);
    sums.begin_read(OTHER, 0..1);
    assert!(!sums.is_known(OTHER), "it is being read");
    read(&mut sums);
    bring(&mut sums, OTHER, 0);
    assert!(!sums.is_known(OTHER) && !sums.is_known(DRIVE));
    for part in parts {
        let is_one = part.end - part.start == 1;
        sums.recovered(OTHER, part.clone(), false);
        if is_one {
            assert!(sums.is_recovered(), "it has no sum");
            continue;
        }
        for block in part {
            assert_eq!(sums.next_to_recover(4), Some((OTHER, block..block + 1)));
            assert!(!sums.is_known(OTHER), "block {block} comes");
            sums.recovered(OTHER, block..block + 1, false);
        }
    }
    assert!(sums.is_recovered());
    assert!(sums.is_known(OTHER), "of what cannot be read nothing is in doubt");
    let since = sums.begin_read(OTHER, 0..1);
    assert_eq!(sums.verify(OTHER, 0, &[3], since), Verdict::Wrong(0), "its sum was never found");
}

/// A slow read may outlast more ended changes than are remembered. Its blocks stay in doubt until a
/// later read of them. Otherwise their marks would be cleared with old sums in the table.
#[test]
fn a_read_that_is_older_than_all_remembered_changes_is_repeated_before_its_sums_are_taken() {
    let sizes = Sizes { ended_changes: 2, ..Sizes::SERVED };
    let setup = ChecksumSetup { sizes, ..setup(alloc::vec![0..SUMMED_BYTES as u64]) };
    let mut sums = Checksums::new(setup);
    let since = sums.begin_read(DRIVE, 0..1);
    bring(&mut sums, DRIVE, 0);
    for tag in 0..4 {
        sums.begin_change(tag, DRIVE, 5..6, Some(vec![7]));
        sums.end_change(tag, true);
    }
    assert_eq!(sums.verify(DRIVE, 0, &[9], since), Verdict::Again);
    assert!(!sums.is_known(DRIVE));
    let since = sums.begin_read(DRIVE, 0..1);
    assert_eq!(sums.verify(DRIVE, 0, &[9], since), Verdict::Fits);
    assert!(sums.is_known(DRIVE));
    assert_eq!(sums.verify(DRIVE, 0, &[8], since), Verdict::Wrong(0), "9 is its sum");
}

/// A block of the table that cannot be read makes all its data unreadable, so a drive with one
/// error gets retries.
#[test]
fn a_block_of_a_table_that_cannot_be_read_is_asked_for_again_before_its_sums_are_lost() {
    let key = Key { drive: DRIVE.0, number: 0 };
    let seal = TableSeal::Sectors;
    let mut sums = Checksums::new(ChecksumSetup { seal, ..setup(Vec::new()) });
    let since = sums.begin_read(DRIVE, 3..4);
    let mut tries = read(&mut sums).len();
    while sums.read_again(key) {
        tries += read(&mut sums).len();
        assert!(sums.is_fetching(key) && tries < 10);
        assert_eq!(sums.verify(DRIVE, 3, &[0], since), Verdict::Waits);
    }
    assert_eq!(tries, 1 + usize::from(READS_AGAIN));
    sums.table_read(key, None);
    assert_eq!(sums.verify(DRIVE, 3, &[0], since), Verdict::Wrong(3));
    // The block of the other drive is read at the second try.
    let key = Key { drive: OTHER.0, ..key };
    let since = sums.begin_read(OTHER, 3..4);
    assert!(sums.read_again(key));
    let mut block = vec![0; BLOCK_BYTES];
    encode(seal, UUID, key, &[0; SUMS], &mut block);
    sums.table_read(key, Some(&block));
    assert_eq!(sums.verify(OTHER, 3, &[0], since), Verdict::Fits);
}
