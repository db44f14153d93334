//! Forced start: an array is put together of outdated drives, by order of the administrator.
//!
//! A start is refused if too few drives are current, or if drives went on without each other. All
//! data may still be there: of four drives whose cables were pulled one after the other, the last
//! says that the three others have failed. Then the administrator may force a start with drives
//! that missed changes.
//!
//! * One drive leads, as in any start: the one with the newest commit up to which enough other
//!   drives lead. Drives that went on without the leader are never taken.
//! * Beside the current drives, only as many outdated drives are taken as are needed, the newest
//!   first. An outdated drive has old data wherever something was written since, so stripes may be
//!   mixed.
//! * Drives of another array, copies of a drive, drives with unreadable heads and drives that were
//!   being rebuilt are not taken.
//!
//! The drives get superblocks of a new lineage. Each joins anew, so drives that are left out do not
//! count as current later. All branches that the drives found name are listed as past, so no drive
//! counts as split off either. Each superblock is complete, and goes to the place of the older
//! copy. If the power fails between two of them, the drives with the new superblock make the others
//! outdated. The next start is then refused or, if forced again, takes the same drives: the leader
//! is a drive with the new superblock.

use super::assembly::{Assembly, Found, Gathered, check_enough, gather};
use super::disk::{Disk, read_copies, write_superblock};
use super::intent::Intent;
use super::lineage::{Claim, is_current};
use super::open::members;
use super::opened::OpenError;
use super::refusal::{Note, Refusal};
use super::superblock::{COPIES_AT, Geometry, MemberState, Superblock, newest_offset_bytes};
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::fmt;
use units::DriveId;

/// Role of a drive in a forced start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// The array goes on from this drive's superblock.
    Leads,
    /// The drive has taken part in all that the leader records.
    Current,
    /// The drive is taken, though it missed changes.
    Outdated,
    /// The drive missed changes, and the array can do without it.
    LeftOut,
    /// The drive went on without the leader: its own changes are lost.
    Apart,
    /// The drive was being rebuilt, and holds only a part of its data.
    Incomplete,
    /// The drive is missing, or has no readable superblock.
    Missing,
}

/// Plan of a forced start for one drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Taking {
    /// The drive.
    pub member: usize,
    /// Place of the drive; `None` if it was not found.
    pub place: Option<usize>,
    /// Role of the drive.
    pub fate: Fate,
    /// Generation of its superblock; 0 if it was not found.
    pub generation: u64,
}

impl fmt::Display for Taking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { member, fate, generation, .. } = self;
        match fate {
            Fate::Leads => {
                write!(f, "drive {member}: taken, the newest (generation {generation})")
            }
            Fate::Current => write!(f, "drive {member}: taken, current (generation {generation})"),
            Fate::Outdated => write!(
                f,
                "drive {member}: taken, but it has missed what was written since generation {generation}"
            ),
            Fate::LeftOut => write!(
                f,
                "drive {member}: left out, it has missed what was written since generation {generation}"
            ),
            Fate::Apart => write!(
                f,
                "drive {member}: left out, it went on without the others (generation {generation}): what it alone has is given up"
            ),
            Fate::Incomplete => write!(
                f,
                "drive {member}: left out, it was being rebuilt and is incomplete (generation {generation})"
            ),
            Fate::Missing => {
                write!(f, "drive {member}: missing, or its superblocks cannot be read")
            }
        }
    }
}

/// Plan of a forced start. Nothing has been written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Forced {
    /// The assembly.
    pub assembly: Assembly,
    /// Plan for each drive, in order.
    pub takings: Vec<Taking>,
}

/// Plans a forced start from what was found, whatever the drives say of each other.
///
/// # Errors
///
/// If they are not one array, or too few even with outdated drives.
pub fn force(found: &[Found], asked: Option<&Geometry>) -> Result<Forced, Refusal> {
    let mut notes = Vec::new();
    let Gathered { drives, geometry, order } = gather(found, asked, &mut notes)?;
    let mut leaders: Vec<Claim> = drives.iter().copied().filter(holds_data).collect();
    leaders.sort_by_key(|&claim| Reverse(rank(claim)));
    let chosen =
        leaders.iter().find_map(|&leader| Some((leader, take(&drives, leader, &geometry)?)));
    let Some((leader, taken)) = chosen else {
        let missing = leaders.iter().fold(all(&geometry), |bits, claim| bits & !bit(claim));
        check_enough(&geometry, missing)?;
        // Enough drives hold data, but no history has enough of them.
        let place = |claim: Option<&Claim>| claim.map_or(0, |(place, _)| *place);
        let (first, second) = (place(leaders.first()), place(leaders.get(1)));
        return Err(Refusal::Split { first, second });
    };
    let takings = takings(&drives, leader, taken, &order);
    let outdated = takings.iter().filter(|taking| taking.fate == Fate::Outdated);
    let outdated = outdated.fold(0, |bits, taking| bits | 1 << taking.member);
    let mut superblock = leader.1.clone();
    for (_, drive) in &drives {
        superblock.add_forced_past(drive);
    }
    let state = |member: usize| match taken >> member & 1 {
        1 => MemberState::Serving,
        _ => MemberState::Failed,
    };
    notes.extend(order.iter().enumerate().filter_map(|(member, place)| {
        place.filter(|place| *place != member).map(|place| Note::Moved { member, place })
    }));
    let assembly = Assembly {
        uuid: superblock.uuid,
        geometry,
        region_bytes: superblock.region_bytes,
        created_seconds: superblock.created_seconds,
        states: (0..order.len()).map(state).collect(),
        order,
        absent: all(&geometry) & !taken,
        rebuilding: 0,
        lost: 0,
        generation: drives.iter().map(|(_, drive)| drive.generation).max().unwrap_or(0),
        clean: false,
        leader: superblock,
        notes,
        forced: Some(outdated),
        replayed: Vec::new(),
    };
    Ok(Forced { assembly, takings })
}

fn bit((_, drive): &Claim) -> u64 {
    1 << drive.member.index()
}

fn all(geometry: &Geometry) -> u64 {
    u64::MAX >> (64 - u32::from(geometry.width))
}

/// Returns true if a drive held all its data when its superblock was last written.
fn holds_data((_, drive): &Claim) -> bool {
    drive.states[drive.member.index()] == MemberState::Serving
}

/// Order of drives: the newest commit is the greatest; of equals the first place.
fn rank((place, drive): Claim) -> (u64, u64, Reverse<usize>) {
    (drive.committed, drive.generation, Reverse(place))
}

/// Returns true if the history of a drive is contained in the leader's.
fn leads_up_to((_, drive): &Claim, leader: Claim) -> bool {
    drive.member == leader.1.member || drive.is_contained_in(leader.1)
}

/// Returns the drives to take with this leader, as bits; `None` if all that lead up to it are too
/// few.
fn take(drives: &[Claim], leader: Claim, geometry: &Geometry) -> Option<u64> {
    let is_enough = |taken: u64| !geometry.misses_too_much(all(geometry) & !taken);
    let of_history = drives.iter().filter(|claim| holds_data(claim) && leads_up_to(claim, leader));
    let (current, mut outdated): (Vec<Claim>, Vec<Claim>) =
        of_history.copied().partition(|(_, drive)| is_current(drive, leader.1));
    let mut taken = current.iter().fold(bit(&leader), |bits, claim| bits | bit(claim));
    outdated.sort_by_key(|&claim| Reverse(rank(claim)));
    let mut added = Vec::new();
    for claim in &outdated {
        if is_enough(taken) {
            break;
        }
        taken |= bit(claim);
        added.push(*claim);
    }
    if !is_enough(taken) {
        return None;
    }
    // With mirrors, some of the drives may not be needed.
    for claim in added.iter().rev() {
        if is_enough(taken & !bit(claim)) {
            taken &= !bit(claim);
        }
    }
    Some(taken)
}

fn takings(drives: &[Claim], leader: Claim, taken: u64, order: &[Option<usize>]) -> Vec<Taking> {
    let taking = |(member, place): (usize, &Option<usize>)| {
        let claim = drives.iter().find(|(_, drive)| drive.member.index() == member);
        let fate = match claim {
            None => Fate::Missing,
            Some(claim) if claim.0 == leader.0 => Fate::Leads,
            Some(claim) if taken & bit(claim) != 0 => match is_current(claim.1, leader.1) {
                true => Fate::Current,
                false => Fate::Outdated,
            },
            Some(claim) if !leads_up_to(claim, leader) => Fate::Apart,
            Some(claim) if holds_data(claim) => Fate::LeftOut,
            Some(_) => Fate::Incomplete,
        };
        let generation = claim.map_or(0, |(_, drive)| drive.generation);
        Taking { member, place: *place, fate, generation }
    };
    order.iter().enumerate().map(taking).collect()
}

/// Marks all regions, on stable storage, and writes the superblocks of the new lineage. Returns the
/// last one written.
pub(super) fn write_lineage<D: Disk>(
    assembly: &Assembly,
    disks: &mut [Option<D>],
    intent: &mut Intent,
) -> Result<Superblock, OpenError<D::Error>> {
    // A block of zeros counts as all marked.
    intent.recover(&vec![0; intent.record_bytes()]);
    for (drive, disk) in members(assembly, disks) {
        for block in intent.all_blocks() {
            disk.write(block.offset_bytes, &block.bytes[..]).map_err(OpenError::io(drive))?;
        }
        disk.sync().map_err(OpenError::io(drive))?;
    }
    let mut superblock = assembly.leader.clone();
    superblock.generation = assembly.generation.saturating_add(1);
    let mut joined = superblock.joined.clone();
    let states = assembly.states.clone();
    let new = Superblock { states: states.clone(), ..superblock.clone() };
    for (drive, _) in members(assembly, disks) {
        joined[drive] = new.joining(superblock.generation, DriveId(drive as u8));
    }
    superblock.commit(states, joined, false);
    for (drive, disk) in members(assembly, disks) {
        superblock.member = DriveId(drive as u8);
        write_beside(&superblock, disk).map_err(OpenError::io(drive))?;
    }
    Ok(superblock)
}

/// Writes a superblock of any generation; a torn write leaves the newest one before it.
fn write_beside<D: Disk>(superblock: &Superblock, disk: &mut D) -> Result<(), D::Error> {
    let copies = read_copies(disk);
    let at = superblock.offset_bytes();
    if newest_offset_bytes(&copies) == Some(at)
        && let Some(Ok(old)) =
            copies.into_iter().zip(COPIES_AT).find(|(_, of)| *of == at).map(|(copy, _)| copy)
    {
        let other = COPIES_AT.into_iter().find(|other| *other != at).unwrap_or(at);
        disk.write(other, &old.encode())?;
        disk.sync()?;
    }
    write_superblock(superblock, disk)
}

#[cfg(test)]
mod tests {
    use super::super::block::{BLOCK_BYTES, Block};
    use super::super::superblock::tests::example;
    use super::*;
    use alloc::collections::BTreeMap;
    use core::convert::Infallible;

    /// A drive with two superblocks, and the generations written to each place.
    #[derive(Default)]
    struct Written {
        blocks: BTreeMap<u64, Block>,
        writes: Vec<Option<(u64, u64)>>,
    }

    impl Disk for Written {
        type Error = Infallible;

        fn size_bytes(&mut self) -> Result<u64, Infallible> {
            Ok(1 << 30)
        }

        fn read(&mut self, offset_bytes: u64, into: &mut [u8]) -> Result<(), Infallible> {
            into.copy_from_slice(&self.blocks[&offset_bytes]);
            Ok(())
        }

        fn write(&mut self, offset_bytes: u64, bytes: &[u8]) -> Result<(), Infallible> {
            let block: Block = bytes.try_into().expect("a block");
            let written = Superblock::decode(&block).expect("a superblock");
            self.blocks.insert(offset_bytes, block);
            self.writes.push(Some((offset_bytes, written.generation)));
            Ok(())
        }

        fn sync(&mut self) -> Result<(), Infallible> {
            self.writes.push(None);
            Ok(())
        }
    }

    fn of(generation: u64) -> Superblock {
        Superblock { generation, committed: generation - 1, ..example() }
    }

    #[test]
    fn a_new_lineage_never_overwrites_the_only_newest_superblock() {
        let [even, odd] = COPIES_AT;
        // Generations in the even and the odd place, the one to write, and the writes until it is
        // stable.
        let cases = [
            ((10, 11), 12, vec![Some((even, 12)), None]),
            ((10, 11), 13, vec![Some((even, 11)), None, Some((odd, 13)), None]),
            ((12, 11), 14, vec![Some((odd, 12)), None, Some((even, 14)), None]),
            ((12, 11), 15, vec![Some((odd, 15)), None]),
        ];
        for ((first, second), new, expected) in cases {
            let mut disk = Written::default();
            for (at, generation) in [(even, first), (odd, second)] {
                disk.blocks.insert(at, of(generation).encode());
            }
            let Ok(()) = write_beside(&of(new), &mut disk);
            assert_eq!(disk.writes, expected, "{first}, {second}, then {new}");
            assert_eq!(disk.blocks.values().next().map(|block| block.len()), Some(BLOCK_BYTES));
        }
    }
}
