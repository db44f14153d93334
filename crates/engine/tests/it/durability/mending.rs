//! Damaged journal records on some drives: all that was flushed is still there.
#![allow(clippy::unwrap_used, reason = "tests stop")]

use super::disk::BLOCK;
use super::sectors::{Power, SectorDisk};
use super::world::{QUIET_FOR, UUID, geometry};
use array::{Layout, Level, MemberSet, Role, gf};
use engine::durability::journal::{Content, Part};
use engine::durability::{
    Disk, Geometry, HEAD_BYTES, Journal, Journalled, Opened, create, find, open,
};
use std::collections::BTreeMap;
use units::{DriveId, Rng};

type Block = [u8; BLOCK];

/// Rows in use: few, so that batches overlap.
const ROWS: u32 = 3;
const STRIPES: u64 = 5;

/// Content of each block that is not zeros.
type Truth = BTreeMap<(DriveId, u64), Block>;

struct Arrays {
    layout: Layout,
    disks: Vec<SectorDisk>,
    journal: Journal,
    /// Content before the last batch, and behind it.
    truth: [Truth; 2],
    /// Places of the records of each batch, with their lengths.
    records: Vec<Vec<(DriveId, u64, usize)>>,
}

fn shape(rng: &mut Rng) -> Geometry {
    let (level, width, stripe_width) = [
        (Level::Raid5, 3, 3),
        (Level::Raid5, 4, 4),
        (Level::Raid4, 4, 4),
        (Level::Raid5, 5, 3),
        (Level::Raid6, 4, 4),
        (Level::Raid6, 6, 6),
        (Level::Raid6, 6, 5),
    ][rng.below(7) as usize];
    let (checksums, journalled) = (rng.below(4) > 0, Journalled::Always);
    Geometry { stripe_width, checksums, journalled, ..geometry(level, width) }
}

fn content(truth: &Truth, drive: DriveId, block: u64) -> Block {
    truth.get(&(drive, block)).copied().unwrap_or([0; BLOCK])
}

fn data_at(block: u64) -> u64 {
    HEAD_BYTES + block * BLOCK as u64
}

impl Arrays {
    fn new(geometry: &Geometry, power: &Power) -> Self {
        let layout = Layout::striped(
            geometry.level,
            u32::from(geometry.width),
            u32::from(geometry.stripe_width),
            (geometry.chunk_bytes / BLOCK as u64) as u32,
            geometry.drive_bytes / BLOCK as u64,
        );
        let blank = vec![SectorDisk::new(power); usize::from(geometry.width)];
        let Opened { disks, records, .. } = create(blank, geometry, UUID, 1, QUIET_FOR).unwrap();
        Self {
            layout: layout.unwrap(),
            disks: disks.into_iter().flatten().collect(),
            journal: records.journal,
            truth: [Truth::new(), Truth::new()],
            records: Vec::new(),
        }
    }

    fn members(&self, stripe: u64) -> impl Iterator<Item = DriveId> + use<> {
        MemberSet::from_bits(self.layout.members(stripe)).iter().map(DriveId)
    }

    /// Appends a batch of some writes to the journal, each a block of data with its parities.
    fn write(&mut self, rng: &mut Rng) {
        self.truth[0] = self.truth[1].clone();
        let truth = &mut self.truth[1];
        let mut parts: BTreeMap<(DriveId, u64), Block> = BTreeMap::new();
        for _ in 0..1 + rng.below(3) {
            let (stripe, row) = (rng.below(STRIPES), rng.below(u64::from(ROWS)) as u32);
            let chunk = rng.below(u64::from(self.layout.data_chunks())) as u32;
            let written = self.layout.member_of(stripe, chunk);
            let at = |drive| (drive, self.layout.lba(stripe, row, drive).0);
            let new: Block = std::array::from_fn(|_| rng.next_u64() as u8);
            truth.insert(at(written), new);
            let members = MemberSet::from_bits(self.layout.members(stripe));
            let data = members.iter().map(DriveId).filter_map(|drive| {
                match self.layout.role(stripe, drive) {
                    Role::Data(chunk) => Some((chunk, content(truth, drive, at(drive).1))),
                    Role::P | Role::Q => None,
                }
            });
            let data: Vec<(u32, Block)> = data.collect();
            let parities = MemberSet::from_bits(self.layout.parity_mask(stripe));
            for parity in parities.iter().map(DriveId) {
                let mut sum = [0; BLOCK];
                for (chunk, bytes) in &data {
                    let weight = match self.layout.role(stripe, parity) {
                        Role::Q => gf::power(*chunk),
                        _ => 1,
                    };
                    gf::multiply_add(&mut sum, bytes, weight);
                }
                truth.insert(at(parity), sum);
                parts.insert(at(parity), sum);
            }
            parts.insert(at(written), new);
        }
        let parts = parts.iter().map(|(&(drive, block), bytes)| Part {
            drive,
            offset_bytes: block * BLOCK as u64,
            content: Content::Bytes(bytes),
        });
        let batch = self.journal.append(&parts.collect::<Vec<_>>()).unwrap();
        let mut places = Vec::new();
        for (drive, record) in batch.records {
            let disk = &mut self.disks[drive.index()];
            disk.write(record.offset_bytes, &record.bytes).unwrap();
            disk.sync().unwrap();
            places.push((drive, record.offset_bytes, record.bytes.len()));
        }
        self.records.push(places);
        self.journal.written(batch.sequence);
    }

    /// Writes some blocks to their place.
    fn put_in_place(&mut self, rng: &mut Rng) {
        for (&(drive, block), bytes) in &self.truth[1] {
            if rng.below(3) == 0 {
                let disk = &mut self.disks[drive.index()];
                disk.write(data_at(block), bytes).unwrap();
                disk.sync().unwrap();
            }
        }
    }

    /// Counts the rows that the drives found hold as behind the last batch, and the rows as before
    /// it. Rows that are the same in both count twice.
    ///
    /// # Panics
    ///
    /// If a row is neither.
    fn rows(&self, disks: &mut [Option<SectorDisk>]) -> [usize; 2] {
        let mut counts = [0; 2];
        for (stripe, row) in (0..STRIPES).flat_map(|stripe| (0..ROWS).map(move |row| (stripe, row)))
        {
            let mut is_like = [true; 2];
            for drive in self.members(stripe) {
                let block = self.layout.lba(stripe, row, drive).0;
                let Some(disk) = &mut disks[drive.index()] else { continue };
                let mut found = [0; BLOCK];
                disk.read(data_at(block), &mut found).unwrap();
                for (like, truth) in is_like.iter_mut().zip(&self.truth) {
                    *like &= found == content(truth, drive, block);
                }
            }
            assert!(is_like[0] || is_like[1], "row {row} of stripe {stripe} is torn");
            counts
                .iter_mut()
                .zip(is_like)
                .for_each(|(count, is_like)| *count += usize::from(is_like));
        }
        counts
    }
}

const ALL_ROWS: usize = STRIPES as usize * ROWS as usize;

/// As many drives as can be missed have a damaged record or are missing: all batches count, the
/// last one too.
#[test]
fn damaged_records_lose_nothing_that_was_flushed() {
    let (mut last, mut earlier, mut missing_too, mut mended) = (0, 0, 0, 0);
    for seed in testing::seeds(0..150) {
        let mut rng = Rng::stream(seed, "mending");
        let geometry = shape(&mut rng);
        let power = Power::lasting();
        let mut arrays = Arrays::new(&geometry, &power);
        for _ in 0..1 + rng.below(4) {
            arrays.write(&mut rng);
        }
        arrays.put_in_place(&mut rng);
        let mut disks: Vec<Option<SectorDisk>> = arrays.disks.iter().cloned().map(Some).collect();
        let mut bad = 0u64;
        for _ in 0..arrays.layout.parities() {
            let batch = match rng.below(3) {
                0 => rng.below(arrays.records.len() as u64) as usize,
                _ => arrays.records.len() - 1,
            };
            let records = &arrays.records[batch];
            let (drive, at, bytes) = records[rng.below(records.len() as u64) as usize];
            if disks[drive.index()].is_none() || !arrays.layout.can_miss(bad | 1 << drive.0) {
                continue;
            }
            bad |= 1 << drive.0;
            if rng.below(4) == 0 {
                disks[drive.index()] = None;
                missing_too += 1;
                continue;
            }
            let bit = rng.below(bytes as u64 * 8);
            let block = at + bit / 8 / BLOCK as u64 * BLOCK as u64;
            disks[drive.index()].as_mut().unwrap().flip(block, bit as usize % (BLOCK * 8));
            match batch + 1 == arrays.records.len() {
                true => last += 1,
                false => earlier += 1,
            }
        }
        // The power fails during the start, and the next start finds what was stable.
        if rng.below(2) == 0 {
            power.goes_at(rng.below(60));
            let found = disks.iter_mut().map(Option::as_mut).collect();
            let started = find(found, Some(&geometry)).unwrap().start(QUIET_FOR);
            power.goes_at(u64::MAX);
            drop(started);
            disks.iter_mut().flatten().for_each(|disk| disk.cut(&mut rng));
        }
        let opened = open(disks, Some(&geometry), QUIET_FOR);
        let mut opened = opened.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        mended += opened.mended;
        let [_, new] = arrays.rows(&mut opened.disks);
        assert_eq!(new, ALL_ROWS, "seed {seed}: {geometry:?}");
    }
    assert!(testing::is_repeat() || last > 50 && earlier > 20 && missing_too > 10);
    assert!(testing::is_repeat() || mended > 50, "{mended} records");
}

/// Each row of a batch in flight at a power cut is old or new on all drives, even if the next start
/// lacks a drive.
#[test]
fn rows_of_a_batch_in_flight_are_old_or_new() {
    let (mut old, mut new) = (0, 0);
    for seed in testing::seeds(0..150) {
        let mut rng = Rng::stream(seed, "in flight");
        let geometry = shape(&mut rng);
        let power = Power::lasting();
        let mut arrays = Arrays::new(&geometry, &power);
        for _ in 0..rng.below(3) {
            arrays.write(&mut rng);
        }
        arrays.put_in_place(&mut rng);
        arrays.write(&mut rng);
        let mut disks: Vec<Option<SectorDisk>> = arrays.disks.iter().cloned().map(Some).collect();
        for &(drive, at, _) in arrays.records.last().unwrap() {
            if rng.below(2) == 0 {
                disks[drive.index()].as_mut().unwrap().flip(at, 3000);
            }
        }
        if rng.below(2) == 0 {
            power.goes_at(rng.below(60));
            let found = disks.iter_mut().map(Option::as_mut).collect();
            drop(find(found, Some(&geometry)).unwrap().start(QUIET_FOR));
            power.goes_at(u64::MAX);
            disks.iter_mut().flatten().for_each(|disk| disk.cut(&mut rng));
            let missing = rng.below(u64::from(geometry.width)) as usize;
            disks[missing] = None;
        }
        let opened = open(disks, Some(&geometry), QUIET_FOR);
        let mut opened = opened.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let [all_old, all_new] = arrays.rows(&mut opened.disks);
        old += u32::from(all_old == ALL_ROWS);
        new += u32::from(all_new == ALL_ROWS);
    }
    assert!(testing::is_repeat() || old > 10 && new > 10, "{old}, {new}");
}
