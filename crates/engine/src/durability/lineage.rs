//! Lineage: the drives with the present data of the array, outdated drives, and drives that went on
//! without each other.
//!
//! # How superblocks change
//!
//! The superblocks change at every start, when a drive fails, is replaced or rebuilt, and at a
//! clean shutdown. Each change takes two steps, on all drives that take part in the array after the
//! change:
//!
//! 1. *Prepare*: each drive gets the next generation, *g*, with the old state of the array. A drive
//!    that joins gets nothing yet.
//! 2. *Commit*, when all are prepared: each drive gets generation *g* + 1 with the new state, and
//!    *g* as the committed generation.
//!
//! Data is written in accordance with the change when all drives have committed it. A superblock
//! goes to the slot that does not hold the newest one of its drive, so a torn write leaves the
//! newest one intact.
//!
//! # What a cut can leave
//!
//! Let the change prepared in *g* follow one prepared in *f*. The drives that take part in it have,
//! after a cut:
//!
//! * while preparing: *f* committed, at a generation below *g* or at *g*;
//! * while committing: *f* committed at *g*, or *g* committed at *g* + 1;
//!
//! * if they join by this change: no superblock, or *g* committed at *g* + 1.
//!
//! If any drive has committed *g*, all have at least generation *g*, except joining drives, which
//! hold no data. Consider a drive that takes part according to the newest commit found, *g*. If its
//! generation is below *g*, it missed the change: it is an old copy, or a drive that was thought to
//! be replaced. If its generation is at least *g*, it was prepared, and a cut kept it from the
//! commit. It lacks no data, because nothing is written under *g* before all drives have committed
//! it. Starts that are cut before their commit raise generations and change nothing else.
//!
//! If all drives that committed *g* are missing at the next start, the start continues from *f*.
//! This is sound for the same reason: the drives found had not committed *g*, so nothing was
//! written under it. The start prepares a generation above all that it finds, hence above *g*, and
//! commits the missing drives as failed. When they come back, they are left out.
//!
//! # Branches
//!
//! A *branch* begins with each change that removes a drive which took part. Within a branch no
//! drive can go on without the others, so the branch and the generation of a drive identify its
//! history. Each superblock lists the branches that its array has left behind
//! ([`Past`](super::superblock::Past)).
//!
//! A prepared change names its branch. A start that finds a change prepared, and goes on without
//! it, lists that branch as past. It may, because a drive that is only prepared shows that no write
//! was answered under the change. Without that entry, a drive that alone had committed the change
//! would count as split off once all drives that it knew were replaced.
//!
//! # Drives that went on without each other
//!
//! Generations of drives that were not started together cannot be compared, so they do not decide.
//! Drive A *knows* drive B if the superblock of A says that this very B takes part. Its states name
//! members, and the number drawn when B joined tells B from other drives in its place. If A knows
//! B, then B has prepared the commit of A, or joined by it. So all data written under that commit,
//! or under earlier ones of A, is in the history of B. The same holds if B is in the branch of A
//! and was prepared for its commit, or if B lists the branch of A as past. The relation is
//! transitive: if the history of B is in that of C, so is that of A.
//!
//! * The array goes on from a drive whose history contains the histories of all other drives found.
//!   Without such a drive, two drives went on without each other, and the administrator has to
//!   choose ([`super::Refusal::Split`]). Drives that call each other failed are no split if one is
//!   merely older: some drive that it knows went on without it.
//! * If several drives qualify (each contains the others), a serving one with the newest commit
//!   leads.
//! * A drive that is being rebuilt counts here too: it holds no data of its own, but it knows the
//!   drives that serve beside it.
//! * Another drive is used if it and the leader know each other, and its generation is at least the
//!   commit of the leader. A drive that knows the leader, but is not known by it, was left behind.
//!   If the leader knows a drive that does not know the leader, that drive led the array without
//!   it, or is a copy from elsewhere.
//!
//! A drive that is being rebuilt leads only if no other drive can. It has no data to go on from,
//! but it shows that the other drives found are too old.

use super::superblock::{MemberState, Superblock};
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

/// A drive found: its place and its superblock.
pub(super) type Claim<'a> = (usize, &'a Superblock);

/// Returns true if a drive took part in all that the leader records.
pub(super) fn is_current(drive: &Superblock, leader: &Superblock) -> bool {
    leader.knows(drive) && drive.knows(leader) && drive.generation >= leader.committed
}

/// Returns the drive to go on from; `None` without drives. All drives are of one array, each found
/// once.
///
/// # Errors
///
/// Two places whose drives went on without each other.
pub(super) fn leader<'a>(drives: &[Claim<'a>]) -> Result<Option<Claim<'a>>, (usize, usize)> {
    let serves = |drive: &Superblock| drive.states[drive.member.index()] == MemberState::Serving;
    // Of equals the first place.
    let rank =
        |(place, drive): Claim| (serves(drive), drive.committed, drive.generation, Reverse(place));
    let mut drives = drives.to_vec();
    drives.sort_by_key(|&claim| Reverse(rank(claim)));
    let contained = contained(&drives);
    let contains_all = |of: &usize| contained.iter().all(|within| within[*of]);
    if let Some(first) = (0..drives.len()).find(contains_all) {
        return Ok(Some(drives[first]));
    }
    let Some((first, _)) = drives.first() else { return Ok(None) };
    let apart = contained.iter().position(|within| !within[0]);
    Err((*first, apart.map_or(*first, |apart| drives[apart].0)))
}

/// Returns, for each drive, the drives whose histories contain its own.
fn contained(drives: &[Claim]) -> Vec<Vec<bool>> {
    let count = drives.len();
    let mut within = vec![vec![false; count]; count];
    for (one, (_, drive)) in drives.iter().enumerate() {
        for (other, (_, known)) in drives.iter().enumerate() {
            within[one][other] = one == other || drive.is_contained_in(known);
        }
    }
    for middle in 0..count {
        let onward = within[middle].clone();
        for row in within.iter_mut().filter(|row| row[middle]) {
            row.iter_mut().zip(&onward).for_each(|(entry, further)| *entry |= further);
        }
    }
    within
}

#[cfg(test)]
mod tests {
    use super::super::superblock::{Geometry, Journalled, Past, PastBranch};
    use super::super::uuid::Uuid;
    use super::*;
    use array::Level;
    use units::{DriveId, Rng};

    /// A superblock of a drive, with a past that others may or may not share.
    fn said(rng: &mut Rng, member: u8, width: u8) -> Superblock {
        let states = (0..width).map(|drive| match rng.below(4) {
            _ if drive == member && rng.below(8) > 0 => MemberState::Serving,
            0 => MemberState::Serving,
            1 => MemberState::Rebuilding { cursor_bytes: 0 },
            _ => MemberState::Failed,
        });
        let states = states.collect();
        Superblock {
            uuid: Uuid([1; 16]),
            member: DriveId(member),
            geometry: Geometry {
                level: Level::Raid6,
                width,
                stripe_width: width,
                chunk_bytes: 4096,
                page_bytes: 4096,
                drive_bytes: 1 << 20,
                journalled: Journalled::Degraded,
                checksums: false,
            },
            region_bytes: 1 << 20,
            generation: rng.below(3),
            committed: rng.below(3),
            states,
            joined: (0..width).map(|_| rng.below(2)).collect(),
            began: 0,
            past: Past::default(),
            proposed: 0,
            seals_sectors: false,
            clean: false,
            created_seconds: 0,
        }
    }

    /// Returns true if a history is contained in another, directly or through other drives.
    fn leads_to(drives: &[Claim], from: usize, to: usize) -> bool {
        let (mut seen, mut next) = (vec![from], vec![from]);
        while let Some(at) = next.pop() {
            for further in 0..drives.len() {
                if !seen.contains(&further) && drives[at].1.is_contained_in(drives[further].1) {
                    seen.push(further);
                    next.push(further);
                }
            }
        }
        seen.contains(&to)
    }

    #[test]
    fn histories_are_contained_by_way_of_others() {
        let (mut by_others, mut apart, mut led) = (0, 0, 0);
        for seed in testing::seeds(0..3000) {
            let mut rng = Rng::stream(seed, "lineage");
            let width = 2 + rng.below(6) as u8;
            let mut all: Vec<Superblock> =
                (0..width).map(|member| said(&mut rng, member, width)).collect();
            for one in 0..all.len() {
                if rng.below(3) == 0 {
                    let other = rng.below(u64::from(width)) as usize;
                    let branch = all[other].branch();
                    all[one].past.add([PastBranch { branch, until: 3 }]);
                }
            }
            let drives: Vec<Claim> = all.iter().enumerate().collect();
            let within = contained(&drives);
            for (one, row) in within.iter().enumerate() {
                for (other, &is_within) in row.iter().enumerate() {
                    assert_eq!(
                        is_within,
                        leads_to(&drives, one, other),
                        "{one} in {other}: {all:?}"
                    );
                    let knows = one == other || all[one].is_contained_in(&all[other]);
                    by_others += u32::from(is_within && !knows);
                }
            }
            let holds_all = |drive: usize| (0..all.len()).all(|of| leads_to(&drives, of, drive));
            let rank = |drive: &usize| {
                let Superblock { states, committed, generation, .. } = &all[*drive];
                let serves = states[*drive] == MemberState::Serving;
                (serves, *committed, *generation, Reverse(*drive))
            };
            let best = (0..all.len()).filter(|drive| holds_all(*drive)).max_by_key(rank);
            match leader(&drives) {
                Ok(first) => {
                    led += 1;
                    assert_eq!(first.map(|(place, _)| place), best, "{all:?}");
                }
                Err((first, second)) => {
                    apart += 1;
                    assert_eq!(best, None);
                    assert_eq!(Some(first), (0..all.len()).max_by_key(rank));
                    assert!(!leads_to(&drives, second, first), "{second} in {first}: {all:?}");
                }
            }
        }
        assert!(testing::is_repeat() || by_others > 500 && apart > 100 && led > 500);
    }
}
