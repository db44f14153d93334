//! Drives whose data behind the head was overwritten: the array starts without them.
//!
//! A head shows that a drive belongs to an array, but not that its data is still there. A partition
//! tool, a discard of the device or a copy to the wrong place leave the head. So blocks of the
//! checksum table are sampled across the whole drive. Each read of an overwritten drive would need
//! a reconstruction, so the drive counts as failed instead.

use super::assembly::Assembly;
use super::block::BLOCK_BYTES;
use super::disk::Disk;
use super::refusal::Note;
use super::superblock::MemberState;
use crate::checksums::{Key, LOST, TablePlace, TableSeal, decode, table_bytes};
use alloc::vec;
use units::DriveId;

/// Number of sampled blocks of the table.
const SAMPLES: u64 = 16;
/// Fewest blocks of a table that allow a decision: a few damaged blocks may be mere damage.
const SAMPLES_MIN: u64 = 4;

/// Leaves out serving drives with damage all over their tables, as far as the array can miss them.
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

/// Returns true if at least three quarters of the sampled blocks of the table have no sound seal.
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
