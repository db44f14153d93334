//! Silent damage: a drive's data, checksums or head differ from what was written to it.
//!
//! The array must bear damage on as many drives as a row can miss, minus the missing ones. Damage
//! is kept across power cuts where the array must find it afterwards. That is everywhere if the
//! journal is always on, and otherwise outside of blocks that were being written.

use super::array::Bay;
use super::constants::UUID;
use super::coverage::{ArrayState, Event};
use super::disk::{BLOCK_BYTES, Block, SECTOR_BYTES, Silent, SimDisk};
use super::failure::Done;
use super::history::Fault;
use super::world::World;
use array::{JobKind, MemberSet};
use engine::durability::intent::INTENT_OFFSET_BYTES;
use engine::durability::journal::JOURNAL_OFFSET_BYTES;
use engine::durability::superblock::COPIES_AT;
use engine::durability::{HEAD_BYTES, Intent, Journalled};
use std::ops::Range;
use std::sync::Arc;
use units::{DriveId, Lba, Rng};

const BLOCK: u64 = BLOCK_BYTES as u64;
/// Number of never-written blocks of a drive that garbage hits too.
const SPARE_BLOCKS: u64 = 16;
/// Fewest blocks of checksums by which a start recognises an overwritten drive.
const TELLING_TABLES: u64 = 4;
/// Magic of the first block of a journal record.
const RECORD_MAGIC: &[u8; 8] = b"ioda\0log";
/// Offset of the ascending numbers in the blocks of heads: generations of superblocks, numbers of
/// headers and of records.
const NUMBER_AT: usize = 32;

/// Areas of a drive of a history, in blocks from the start of its file.
#[derive(Clone, Debug)]
struct Places {
    journal: Range<u64>,
    data: Range<u64>,
    table: Range<u64>,
    /// True if the table must not be damaged.
    spares_table: bool,
}

impl World {
    fn places(&self) -> Places {
        let data = self.data_blocks();
        let table = data.end..data.start + self.geometry.stored_bytes() / BLOCK;
        let journal = JOURNAL_OFFSET_BYTES / BLOCK..HEAD_BYTES / BLOCK;
        Places { journal, data, table, spares_table: self.needs_all_sums() }
    }

    /// Returns true if losing a checksum can mean losing a page at a later cut. A narrow stripe
    /// lies in two regions: where one is marked, its parity is no help for the page in the other,
    /// unless the journal is always on.
    fn needs_all_sums(&self) -> bool {
        let is_narrow = self.geometry.stripe_width < self.geometry.width;
        self.shape.has_parity() && is_narrow && !self.is_always_journalled()
    }

    /// Blocks of the tables of checksums, from the start of the file of a drive.
    pub(super) fn tables(&self) -> Range<u64> {
        self.places().table
    }

    /// Drives whose content differs from what was written, or is about to, as bits.
    pub(super) fn suspects(&self, bays: &[Bay]) -> u64 {
        let damaged = bays.iter().enumerate().fold(0, |bits, (drive, bay)| {
            let damaged = bay.disk.faults.silent.is_some() || bay.disk.is_damaged();
            bits | u64::from(damaged) << drive
        });
        damaged | self.harms.unscrubbed
    }

    /// Drives of the running array whose content differs from what was written, as bits.
    pub(super) fn damaged(&self) -> u64 {
        self.array.as_ref().map_or(0, |array| self.suspects(&array.bays))
    }

    /// Makes a drive misbehave silently. Does nothing where the array does not know the sums: after
    /// a crash some are computed from the data found.
    pub(super) fn harm(&mut self, drive: DriveId, fault: Fault) -> Done {
        let mut rng = self.rng("harm", self.report.counts.faults);
        let data = self.data_blocks();
        let Some(array) = &mut self.array else { return Ok(()) };
        let plane = array.volume.engine().plane();
        if !plane.is_verified(drive) {
            return Ok(());
        }
        let disk = &mut array.bays[drive.index()].disk;
        match fault {
            Fault::Flip => {
                let block = data.start + rng.below(data.end - data.start);
                disk.flip(block, rng.below(1 << 15) as usize);
            }
            Fault::LostWrite => disk.faults.silent = Some(Silent::Lost),
            _ => {
                let by = 1 + rng.below(data.end - data.start - 1);
                disk.faults.silent = Some(Silent::Misdirected(by));
            }
        }
        self.report.counts.faults += 1;
        self.note(Event::Fault(fault));
        Ok(())
    }

    /// Damages a drive now, or as soon as the power is off.
    pub(super) fn damage(&mut self, drive: DriveId, fault: Fault) -> Done {
        let is_later = self.rng("when", self.names.asked).below(2) == 0;
        if fault.is_in_head() || is_later {
            self.harms.waiting.push((drive, fault));
            return Ok(());
        }
        let Some(array) = &self.array else { return Ok(()) };
        let has_pending = array.bays.iter().any(|bay| bay.disk.faults.read_errors > 0);
        let too_much = self.is_too_much(self.lost() | self.doomed | self.damaged() | 1 << drive.0);
        let knows = array.volume.engine().plane().is_verified(drive);
        if has_pending || too_much || !self.may_tear() || !knows || self.lost() >> drive.0 & 1 == 1
        {
            return Ok(());
        }
        self.note(Event::Fault(fault));
        let Some(mut array) = self.array.take() else { return Ok(()) };
        self.strike(&mut array.bays[drive.index()].disk, drive, fault);
        self.array = Some(array);
        Ok(())
    }

    /// Applies the damage that waits for a power cut, as far as the array must bear it. Drives of
    /// `dead` are dead, as bits.
    pub(super) fn damage_at_rest(&mut self, bays: &mut [Bay], dead: u64, clean: bool) {
        let torn = !clean && !self.may_lose_in_a_cut();
        for (drive, fault) in std::mem::take(&mut self.harms.waiting) {
            let missing = self.explained | dead;
            let too_much = self.is_too_much(missing | self.suspects(bays) | 1 << drive.0);
            // A drive with a damaged head counts as missing.
            if too_much || fault.is_in_head() && torn || missing >> drive.0 & 1 == 1 {
                continue;
            }
            self.report.coverage.note(Event::Fault(fault), ArrayState::Opening);
            self.tell(|| format!("drive {}, while the power is off: {}", drive.0, fault.name()));
            self.strike(&mut bays[drive.index()].disk, drive, fault);
            self.explained |= 1 << drive.0;
        }
        if !clean {
            self.spare_what_may_be_believed(bays);
        }
    }

    fn strike(&mut self, disk: &mut SimDisk, drive: DriveId, fault: Fault) {
        self.harms.count += 1;
        self.report.counts.faults += 1;
        let mut rng = self.rng("damage", self.harms.count);
        self.places().strike(disk, fault, &mut rng);
        if matches!(fault, Fault::Table | Fault::Garbage) {
            self.harms.unscrubbed |= 1 << drive.0;
            self.harms.scrubs_all = false;
        }
    }

    /// Damages a copy of a disk that is dropped afterwards.
    pub(super) fn damage_copy(&self, disk: &mut SimDisk, fault: Fault, rng: &mut Rng) {
        self.places().strike(disk, fault, rng);
    }

    /// Undoes the damage of blocks that are being written, unless the journal is always on. The
    /// array need not bear a block that is damaged and torn at once. The journal rewrites such a
    /// block as a whole.
    pub(super) fn spare_what_is_written(&self, bays: &mut [Bay]) {
        if !self.is_always_journalled() {
            bays.iter_mut().for_each(|bay| bay.disk.undo_damage_where(SimDisk::is_unsettled));
        }
    }

    fn is_always_journalled(&self) -> bool {
        self.shape.journalled == Journalled::Always && self.shape.has_parity()
    }

    /// Undoes damage that a start would trust, after an array has ended and its disks have lost
    /// unsynced writes. Call [`World::spare_what_is_written`] before that.
    pub(super) fn spare_what_may_be_believed(&self, bays: &mut [Bay]) {
        let data = self.data_blocks();
        if self.is_always_journalled() || bays.iter().all(|bay| !bay.disk.is_damaged()) {
            return;
        }
        // A block in a region that any drive has marked is trusted as found. Nor is there reliable
        // parity for the other blocks of its row.
        let drive_bytes = self.geometry.drive_bytes;
        let region_bytes = Intent::suitable_region_bytes(drive_bytes);
        let mut intent = Intent::new(UUID, drive_bytes, region_bytes, self.shape.setup.quiet_for);
        let mut record = vec![0; intent.record_bytes()];
        for bay in bays.iter() {
            bay.disk.read_blocks(INTENT_OFFSET_BYTES, &mut record);
            intent.recover(&record);
        }
        let is_marked = |drive: usize, block: u64| {
            let row = self.layout.row_of(DriveId(drive as u8), Lba(block - data.start));
            row.is_some_and(|(stripe, row)| {
                MemberSet::from_bits(self.layout.members(stripe)).iter().any(|member| {
                    let block = self.layout.lba(stripe, row, DriveId(member));
                    intent.is_marked(intent.region_of(block.0 * BLOCK))
                })
            })
        };
        // A start that recognises an overwritten drive goes on without it. With stripes that were
        // being written that is the write hole.
        let places = self.places();
        let tells = places.table.end - places.table.start >= TELLING_TABLES;
        let is_hole = tells && !self.may_lose_in_a_cut();
        for (drive, bay) in bays.iter_mut().enumerate() {
            bay.disk.undo_damage_where(|_, block| {
                data.contains(&block) && is_marked(drive, block)
                    || is_hole && places.table.contains(&block)
            });
        }
    }

    /// Forgets damaged heads after a start: the array has rewritten its own records, or does
    /// without the drive.
    pub(super) fn forget_damaged_heads(&mut self, bays: &mut [Bay], absent: u64) {
        let journal = self.places().journal;
        for (drive, bay) in bays.iter_mut().enumerate() {
            let is_absent = absent >> drive & 1 == 1;
            bay.disk.forget_damage(if is_absent { 0..u64::MAX } else { journal.clone() });
        }
        self.harms.unscrubbed &= !absent;
    }

    /// Notes the order of a scrub.
    pub(super) fn scrub_begins(&mut self) {
        let is_idle =
            self.array.as_ref().is_some_and(|array| array.volume.engine().array().job().is_none());
        self.harms.scrubs_all = is_idle;
    }

    /// Notes the end of a job. A scrub that skipped no stripe has checked all damage since its
    /// start.
    pub(super) fn scrub_ended(&mut self, job: JobKind, skipped: u64) {
        if job != JobKind::Scrub || skipped > 0 || !self.harms.scrubs_all {
            return;
        }
        for drive in self.drives() {
            let is_damaged = self
                .array
                .as_ref()
                .is_some_and(|array| array.bays[drive.index()].disk.is_damaged());
            if !is_damaged {
                self.harms.unscrubbed &= !(1 << drive.0);
            }
        }
    }
}

impl Places {
    fn strike(&self, disk: &mut SimDisk, fault: Fault, rng: &mut Rng) {
        let is_strange =
            matches!(fault, Fault::Superblock | Fault::Superblocks | Fault::Overwritten);
        disk.is_strange |= is_strange;
        match fault {
            Fault::Table if self.spares_table => {}
            Fault::Table => {
                let block = pick(&self.table, rng);
                damage(disk, block, rng);
            }
            Fault::Garbage => self.overwrite(disk, rng),
            Fault::Record => {
                let heads: Vec<u64> = disk
                    .blocks_with_data(self.journal.clone())
                    .filter(|block| starts_with(disk.current(*block), RECORD_MAGIC))
                    .collect();
                let newest = heads.iter().max_by_key(|block| number(disk.current(**block)));
                let other =
                    (!heads.is_empty()).then(|| heads[rng.below(heads.len() as u64) as usize]);
                let chosen = if rng.below(3) > 0 { newest.copied() } else { other };
                let Some(head) = chosen else { return };
                // The damage is in the first block of the record, or in its data.
                let length = array::<8>(disk.current(head), 40).map_or(0, u64::from_le_bytes);
                let behind = (length / BLOCK).min(self.journal.end - head - 1);
                damage(disk, head + rng.below(behind + 1), rng);
            }
            Fault::Header => {
                let first = self.journal.start;
                self.damage_newer(disk, [first, first + 1], rng.below(2) == 0, rng);
            }
            Fault::Intent => damage(disk, INTENT_OFFSET_BYTES / BLOCK, rng),
            Fault::Superblock => {
                self.damage_newer(disk, COPIES_AT.map(|at| at / BLOCK), false, rng)
            }
            Fault::Superblocks => {
                self.damage_newer(disk, COPIES_AT.map(|at| at / BLOCK), true, rng)
            }
            Fault::Overwritten => {
                let head = disk.blocks_with_data(0..self.data.start).collect::<Vec<u64>>();
                for block in head {
                    disk.spoil(block, Some(Arc::new(garbage(rng))));
                }
                self.overwrite(disk, rng);
            }
            _ => {}
        }
    }

    /// Damages the one of two blocks with the higher number, or both.
    fn damage_newer(&self, disk: &mut SimDisk, blocks: [u64; 2], both: bool, rng: &mut Rng) {
        let newer = blocks.into_iter().max_by_key(|block| number(disk.current(*block)));
        for block in blocks.into_iter().filter(|block| both || Some(*block) == newer) {
            damage(disk, block, rng);
        }
    }

    /// Overwrites the content behind the head.
    fn overwrite(&self, disk: &mut SimDisk, rng: &mut Rng) {
        let end = if self.spares_table { self.data.end } else { self.table.end };
        let all = self.data.start..end;
        let mut blocks: Vec<u64> = disk.blocks_with_data(all.clone()).collect();
        blocks.extend((0..SPARE_BLOCKS).map(|_| pick(&all, rng)));
        for block in blocks {
            disk.spoil(block, Some(Arc::new(garbage(rng))));
        }
    }
}

fn pick(blocks: &Range<u64>, rng: &mut Rng) -> u64 {
    blocks.start + rng.below(blocks.end - blocks.start)
}

fn garbage(rng: &mut Rng) -> [u8; BLOCK_BYTES] {
    let mut bytes = [0; BLOCK_BYTES];
    let (words, _) = bytes.as_chunks_mut::<8>();
    words.iter_mut().for_each(|word| *word = rng.next_u64().to_le_bytes());
    bytes
}

/// Flips a bit of a block, or replaces a sector of it, or all of it.
fn damage(disk: &mut SimDisk, block: u64, rng: &mut Rng) {
    let mut bytes = disk.current(block).as_deref().copied().unwrap_or([0; BLOCK_BYTES]);
    let sector = rng.below((BLOCK_BYTES / SECTOR_BYTES) as u64) as usize * SECTOR_BYTES;
    match rng.below(4) {
        0 => bytes = garbage(rng),
        1 => bytes[sector..sector + SECTOR_BYTES].copy_from_slice(&garbage(rng)[..SECTOR_BYTES]),
        2 => bytes[sector..sector + SECTOR_BYTES].fill(0),
        _ => bytes[rng.below(BLOCK) as usize] ^= 1 << rng.below(8),
    }
    disk.spoil(block, Some(Arc::new(bytes)));
}

fn array<const N: usize>(block: &Block, at: usize) -> Option<[u8; N]> {
    block.as_ref().and_then(|bytes| bytes[at..at + N].try_into().ok())
}

fn number(block: &Block) -> u64 {
    array::<8>(block, NUMBER_AT).map_or(0, u64::from_le_bytes)
}

fn starts_with(block: &Block, magic: &[u8]) -> bool {
    block.as_ref().is_some_and(|bytes| bytes.starts_with(magic))
}
