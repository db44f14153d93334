//! Heads of drives with any content: an array on them opens, or is refused with a sentence. Nothing
//! panics, and no start reads or allocates more than a head holds.
//!
//! The fuzzer in `fuzz/` calls [`check`]; the test runs it on damage that seeds draw.
#![allow(clippy::unwrap_used, reason = "tests stop")]

use super::disk::BLOCK;
use super::sectors::{NoPower, Power, SectorDisk};
use super::world::{QUIET_FOR, World};
use engine::durability::block::{is_sealed, seal};
use engine::durability::{Disk, HEAD_BYTES, Superblock, find, is_unfinished, open};
use std::cell::Cell;
use units::Rng;

/// Histories whose heads are damaged.
const WORLDS: u64 = 6;
/// Most bytes that a start reads: each copy of everything in the head a few times.
const READ_BYTES_MAX: u64 = 4 * HEAD_BYTES;

/// Drives after power cuts: superblocks of all ages, marks, and journals with records.
fn images() -> Vec<Vec<SectorDisk>> {
    (0..WORLDS)
        .map(|seed| {
            let mut rng = Rng::stream(seed, "damage");
            let mut world = World::new(&mut rng);
            for _ in 0..60 + seed * 30 {
                world.step(&mut rng);
            }
            let power = Power::lasting();
            world.disks.iter().map(|disk| disk.clone().cut(&mut rng).into_sectors(&power)).collect()
        })
        .collect()
}

/// A disk that counts the bytes read.
struct Counted<'a> {
    disk: SectorDisk,
    read_bytes: &'a Cell<u64>,
}

impl Disk for Counted<'_> {
    type Error = NoPower;

    fn size_bytes(&mut self) -> Result<u64, NoPower> {
        self.disk.size_bytes()
    }

    fn read(&mut self, offset_bytes: u64, into: &mut [u8]) -> Result<(), NoPower> {
        self.read_bytes.set(self.read_bytes.get() + into.len() as u64);
        self.disk.read(offset_bytes, into)
    }

    fn write(&mut self, offset_bytes: u64, bytes: &[u8]) -> Result<(), NoPower> {
        self.disk.write(offset_bytes, bytes)
    }

    fn sync(&mut self) -> Result<(), NoPower> {
        self.disk.sync()
    }
}

/// A source of choices: these bytes in turn, then zeros.
struct Choices<'a>(&'a [u8]);

impl Choices<'_> {
    fn next<const N: usize>(&mut self) -> [u8; N] {
        let mut taken = [0; N];
        let count = N.min(self.0.len());
        taken[..count].copy_from_slice(&self.0[..count]);
        self.0 = &self.0[count..];
        taken
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::from(u16::from_le_bytes(self.next())) % bound.max(1)
    }
}

/// Numbers that programs get wrong.
const NUMBERS: [u64; 10] = [0, 1, 2, 63, 64, 4095, 1 << 31, u32::MAX as u64, 1 << 62, u64::MAX];

/// Changes a few bytes of a block, as `choices` select. Half of the time the checksum is corrected,
/// so that the damage reaches the code behind it.
fn damage(block: &mut [u8; BLOCK], choices: &mut Choices<'_>) {
    let sum_at = (0..64).step_by(4).find(|at| is_sealed(&block[..], *at));
    for _ in 0..=choices.below(4) {
        // The fields of blocks are at their beginning.
        let reach = [64, 512, BLOCK - 8][choices.below(3)];
        let at = choices.below(reach);
        match choices.below(4) {
            0 => block[at] ^= 1 << choices.below(8),
            1 => block[at..at + 8].copy_from_slice(&choices.next::<8>()),
            2 => {
                let number = NUMBERS[choices.below(NUMBERS.len())];
                let at = at / 8 * 8;
                block[at..at + 8].copy_from_slice(&number.to_le_bytes());
            }
            _ => block[at] = choices.next::<1>()[0],
        }
    }
    if let Some(at) = sum_at.filter(|_| choices.below(2) == 0) {
        seal(&mut block[..], at);
    }
}

/// Result of an input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    Opened,
    Refused,
}

/// Damages the heads of an array as `bytes` select, and opens it.
///
/// # Panics
///
/// If reading, assembling or starting panics; if a refusal is empty; if more is read than is there;
/// or if an opened array cannot be opened again.
pub(crate) fn check(bytes: &[u8]) -> End {
    thread_local! {
        static IMAGES: Vec<Vec<SectorDisk>> = images();
    }
    let mut choices = Choices(bytes);
    let world = choices.below(WORLDS as usize);
    let mut disks = IMAGES.with(|images| images[world].clone());
    while !choices.0.is_empty() {
        let drive = choices.below(disks.len());
        let heads = disks[drive].head_blocks();
        let Some(&number) = heads.get(choices.below(heads.len())) else { continue };
        let offset_bytes = number * BLOCK as u64;
        let mut block = [0; BLOCK];
        disks[drive].read(offset_bytes, &mut block).unwrap();
        match choices.below(8) {
            // Move the block elsewhere, or to another drive.
            0 => {
                let other = choices.below(disks.len());
                let to = heads[choices.below(heads.len())] * BLOCK as u64;
                disks[other].write(to, &block).unwrap();
            }
            1 => disks[drive].write(offset_bytes, &[0; BLOCK]).unwrap(),
            _ => {
                damage(&mut block, &mut choices);
                disks[drive].write(offset_bytes, &block).unwrap();
            }
        }
        let _ = Superblock::decode(&block).map(|superblock| superblock.encode());
    }
    let gone = bytes.first().copied().unwrap_or(0);
    start(disks, gone)
}

/// Opens an array with the drives present; one in four starts lacks some of them.
fn start(disks: Vec<SectorDisk>, gone: u8) -> End {
    let read_bytes = Cell::new(0);
    let drives = disks.len() as u64;
    let there = |place: usize| gone & 3 != 0 || gone >> (2 + place % 6) & 1 == 0;
    let mut counted: Vec<Option<Counted<'_>>> = disks
        .into_iter()
        .enumerate()
        .map(|(place, disk)| there(place).then_some(Counted { disk, read_bytes: &read_bytes }))
        .collect();
    for disk in counted.iter_mut().flatten() {
        let _ = is_unfinished(disk);
    }
    let end = match find(counted, None) {
        Err(refusal) => {
            assert!(!refusal.to_string().is_empty());
            End::Refused
        }
        Ok(opening) => match opening.start(QUIET_FOR) {
            Err(error) => {
                assert!(!error.to_string().is_empty());
                End::Refused
            }
            Ok(opened) => {
                let again = open(opened.disks, None, QUIET_FOR).map(drop);
                assert!(again.is_ok(), "it was opened once: {again:?}");
                End::Opened
            }
        },
    };
    assert!(read_bytes.get() <= READ_BYTES_MAX * drives, "{} bytes were read", read_bytes.get());
    end
}

#[test]
fn damaged_heads_are_refused_with_a_sentence_or_opened() {
    let (mut opened, mut refused) = (0, 0);
    for seed in testing::seeds(0..400) {
        let mut rng = Rng::stream(seed, "damaged heads");
        let length = 1 + rng.below(60) as usize;
        let mut bytes = vec![0; length];
        bytes.fill_with(|| rng.next_u64() as u8);
        match check(&bytes) {
            End::Opened => opened += 1,
            End::Refused => refused += 1,
        }
    }
    println!("{opened} opened, {refused} refused");
    assert!(testing::is_repeat() || opened > 0 && refused > 0, "{opened}, {refused}");
}
