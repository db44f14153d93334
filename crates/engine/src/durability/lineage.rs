//! Which drives hold the data of the array as it was last, which were left behind, and which went
//! on without each other.
//!
//! # How superblocks change
//!
//! What drives say of the array changes at every start, when one fails, is replaced or rebuilt, and
//! at a clean shutdown. Each change takes two steps, on all drives that take part in the array from
//! then on:
//!
//! 1. *Prepare*: each gets the next generation, *g*. It says of the array what it said before. A
//!    drive that joins gets nothing yet.
//! 2. *Commit*, when all have that: each gets generation *g* + 1 with what is new, and *g* as the
//!    generation that is committed.
//!
//! Data are written in accordance with the change when all have committed it. A superblock goes to
//! the slot that does not hold the newest one of its drive, so a torn write leaves what was there
//! before.
//!
//! # What a cut can leave
//!
//! Let the change prepared in *g* follow one prepared in *f*. For each drive that takes part in it:
//!
//! * cut while preparing: committed *f*, at a generation below *g* or at *g*;
//! * cut while committing: at *g*, with *f* committed, or at *g* + 1, with *g* committed.
//!
//! * a drive that joins by it: no superblock, or *g* + 1 with *g* committed.
//!
//! If any has *g* committed, all have at least generation *g*, but for drives that join, which hold
//! no data. So a drive that takes part according to the newest commit that is found, and is below
//! its generation, missed it: an old copy, or a drive that was thought to be replaced. A drive at
//! or above it was there, and is only behind because of a cut: as it has not committed *g*, nothing
//! was written since that it lacks. However many starts were cut before they could commit, they
//! raise generations and nothing else.
//!
//! If all that have *g* committed are missing at the next start, it goes on from *f*, which is
//! sound for the same reason: the drives that it finds had not committed *g*, so nothing was
//! written under it. It prepares a generation above all that it finds, hence above *g*, and its
//! commit calls the missing ones failed. When they come back they are not taken.
//!
//! # Branches
//!
//! A *branch* begins with each change by which a drive that took part no longer does. Within a
//! branch no drive can go on without the others, so the name of the branch and the generation say
//! enough about a drive. Each superblock lists the branches that its array has left behind
//! ([`Past`](super::superblock::Past)).
//!
//! A prepared change names its branch. A start that finds it prepared and goes on without it lists
//! that branch as a past one: a drive that is only prepared shows that no write was answered under
//! the change. Without that entry a drive that alone had committed would count as split off as soon
//! as all drives that it knew were replaced.
//!
//! # Who went on without whom
//!
//! Generations of drives that were not started together say nothing about each other, so they do
//! not decide. A drive *knows* another if it says that this very drive takes part: the states name
//! members, and a number drawn when a drive joins tells it from others in its place. If A knows B,
//! then B has prepared what A says, or joined by it: all data that was ever written under it, or
//! under what came before it on A, is in the history of B. The same holds if B is in the branch of
//! A and was prepared for what A says, or if B lists the branch of A as a past one. The relation
//! carries over: if the history of B is in that of C, so is that of A.
//!
//! * The array goes on from a drive whose history contains that of every other found drive. If
//!   there is none, two drives went on without each other, and people have to choose
//!   ([`super::Refusal::Split`]). Drives that call each other failed are no split if one is only
//!   older: some drive that it knows went on without it.
//! * Of several such drives (each contains the others) the one with the newest commit leads, if it
//!   serves.
//! * A drive that is being rebuilt counts here as well: it holds no data of its own, and is a
//!   witness of those which serve beside it.
//! * Another drive is used if both know each other and it is not below the leader's commit. One
//!   that knows the leader, but is not known by it, was left behind. One that is known by the
//!   leader, but does not know it, went on without it, and has led then, or is a copy from
//!   elsewhere.
//!
//! A drive that is being rebuilt leads only if no other can: it has no data to go on from, but it
//! knows that those which are found are too old.

use super::superblock::{MemberState, Superblock};
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

/// The place of a drive, and what it says.
pub(super) type Claim<'a> = (usize, &'a Superblock);

/// Whether a drive was there in all that the leader says.
pub(super) fn is_current(drive: &Superblock, leader: &Superblock) -> bool {
    leader.knows(drive) && drive.knows(leader) && drive.generation >= leader.committed
}

/// The drive to go on from. Of drives that are one array, each there once; none if there are no
/// drives.
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

/// For each drive, in which others its history is contained.
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

    /// What some drive says, of a past that may or may not be that of others.
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

    /// Whether a history is in another, by way of any drives.
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
