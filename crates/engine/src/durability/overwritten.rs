//! Drives that hold something else behind their head: the array starts without them.
//!
//! A head tells that a drive belongs to an array, and not that its data are still there. A
//! partition tool, a discard of the device or a copy to the wrong place leave the head. So blocks
//! of the checksum table are sampled from the whole drive. Each read of an overwritten drive would
//! have to be reconstructed; the drive counts as failed instead.

use super::assembly::Assembly;
use super::block::BLOCK_BYTES;
use super::disk::Disk;
use super::refusal::Note;
use super::superblock::MemberState;
use crate::checksums::{Key, LOST, TablePlace, TableSeal, decode, table_bytes};
use alloc::vec;
use units::DriveId;

/// Blocks of the table that are looked at.
const SAMPLES: u64 = 16;
/// Fewest blocks of a table that tell: a few damaged ones may be no more than that.
const SAMPLES_MIN: u64 = 4;

/// Leaves out serving drives whose tables are damaged all over, as far as the array can miss them.
pub(super) fn leave_out<D: Disk>(assembly: &mut Assembly, disks: &mut [Option<D>]) {
    let seal = assembly.leader.table_seal();
    let geometry = assembly.geometry;
    if !geometry.checksums || seal != TableSeal::Sectors {
        return;
    }
    let tables = TablePlace { uuid: assembly.uuid, seal, drive_bytes: geometry.drive_bytes };
    for (member, disk) in disks.iter_mut().enumerate() {
        let absent = assembly.absent | 1 << member;
        let Some(disk) = disk.as_mut().filter(|_| absent != assembly.absent) else { continue };
        if !is_overwritten(disk, tables, DriveId(member as u8)) || geometry.misses_too_much(absent)
        {
            continue;
        }
        let place = assembly.order.get(member).copied().flatten().unwrap_or(member);
        assembly.notes.push(Note::Overwritten { member, place });
        assembly.states[member] = MemberState::Failed;
        assembly.absent = absent;
        assembly.lost |= 1 << member;
    }
}

/// Whether at least three quarters of the sampled blocks of the table decode to nothing.
fn is_overwritten<D: Disk>(disk: &mut D, tables: TablePlace, drive: DriveId) -> bool {
    let blocks = table_bytes(tables.drive_bytes) / BLOCK_BYTES as u64;
    let samples = blocks.min(SAMPLES);
    if samples < SAMPLES_MIN {
        return false;
    }
    let mut block = vec![0; BLOCK_BYTES];
    let mut damaged = 0;
    for number in (0..samples).map(|sample| sample * (blocks - 1) / (samples - 1)) {
        let key = Key { drive: drive.0, number };
        if disk.read(tables.at(key), &mut block).is_ok() {
            let sums = decode(tables.seal, tables.uuid, key, &block).sums();
            damaged += u64::from(sums.iter().all(|&sum| sum == LOST));
        }
    }
    4 * damaged >= 3 * samples
}
