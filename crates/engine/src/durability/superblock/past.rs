//! Past branches of an array, by which a drive that comes back late is recognised as outdated.
//!
//! A *branch* is a period in which an array loses no drive; starts, shutdowns, rebuilds and
//! joinings do not end it. It ends when a drive that took part no longer does, because that drive
//! may go on without the others. So the list grows by one entry for each lost drive, and not with
//! starts.
//!
//! The list has a bound. Branches that left the list are covered by the *horizon*: a drive whose
//! last commit is older counts as outdated, whichever branch it names. A drive that went on alone
//! for fewer changes than the horizon has generations cannot be told from an outdated one. It is
//! left out, and not written to.

use super::{BLOCK_BYTES, HORIZON_AT, PAST_AT, VERSION_BRANCHES, get_u64, put};
use alloc::vec::Vec;

const ENTRY_BYTES: usize = 16;
/// Bytes of an entry before version 5: the number of a change.
const CHANGE_BYTES: usize = 8;
/// Most branches of the list.
pub(super) const PAST_MAX: usize = (BLOCK_BYTES - PAST_AT) / ENTRY_BYTES;

/// A branch that has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PastBranch {
    /// Number of the branch, not 0.
    pub branch: u64,
    /// Generation before which all commits of the branch lie.
    pub until: u64,
}

/// Branches that have ended, oldest first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Past {
    branches: Vec<PastBranch>,
    /// Generation before which branches may be missing in the list.
    horizon: u64,
}

impl Past {
    /// Returns true if a commit of `branch` in generation `committed` lies in this past.
    #[must_use]
    pub fn covers(&self, branch: u64, committed: u64) -> bool {
        committed < self.horizon || self.branches.iter().any(|past| past.branch == branch)
    }

    /// The listed branches, oldest first.
    pub fn branches(&self) -> impl Iterator<Item = PastBranch> + '_ {
        self.branches.iter().copied()
    }

    /// Adds branches. If there are too many, the oldest leave the list.
    pub(in super::super) fn add(&mut self, branches: impl IntoIterator<Item = PastBranch>) {
        for new in branches {
            let is_listed = self.branches.iter().any(|past| past.branch == new.branch);
            if new.branch != 0 && !is_listed {
                self.branches.push(new);
            }
        }
        let too_many = self.branches.len().saturating_sub(PAST_MAX);
        for past in self.branches.drain(..too_many) {
            self.horizon = self.horizon.max(past.until);
        }
    }

    /// Adds the branches that another drive of the same history lists, except `own`.
    pub(in super::super) fn merge(&mut self, other: &Self, own: u64) {
        self.add(other.branches().filter(|past| past.branch != own));
        self.horizon = self.horizon.max(other.horizon);
    }

    pub(super) fn encode(&self, block: &mut [u8]) {
        put(block, HORIZON_AT, &self.horizon.to_le_bytes());
        for (index, past) in self.branches.iter().take(PAST_MAX).enumerate() {
            let at = PAST_AT + index * ENTRY_BYTES;
            put(block, at, &past.branch.to_le_bytes());
            put(block, at + 8, &past.until.to_le_bytes());
        }
    }

    /// Decodes the past of a block of this version. Before version 5 each change was a branch of
    /// its own.
    pub(super) fn decode(block: &[u8], version: u32, generation: u64) -> Self {
        let (bytes, is_listed) = match version {
            VERSION_BRANCHES.. => (ENTRY_BYTES, true),
            _ => (CHANGE_BYTES, version > super::VERSION_SINGLE),
        };
        let mut past = Self::default();
        if !is_listed {
            return past;
        }
        let until = |at: usize| match version {
            VERSION_BRANCHES.. => get_u64(block, at + 8),
            _ => generation,
        };
        let places = (PAST_AT..=BLOCK_BYTES - bytes).step_by(bytes);
        let found = places.map(|at| PastBranch { branch: get_u64(block, at), until: until(at) });
        past.add(found.take_while(|past| past.branch != 0));
        if version >= VERSION_BRANCHES {
            past.horizon = past.horizon.max(get_u64(block, HORIZON_AT));
        }
        past
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn branch(number: u64) -> PastBranch {
        PastBranch { branch: number, until: 10 * number }
    }

    #[test]
    fn a_branch_that_left_the_list_is_covered_by_the_horizon() {
        let mut past = Past::default();
        let all = 1..=PAST_MAX as u64 + 3;
        past.add(all.clone().map(branch));
        past.add([branch(PAST_MAX as u64), PastBranch { branch: 0, until: u64::MAX }]);
        assert_eq!(past.branches().count(), PAST_MAX);
        for number in all {
            // The last commit of a branch is before its end.
            assert!(past.covers(number, 10 * number - 1), "{number}");
        }
        assert!(past.covers(999_999, 29) && !past.covers(999_999, 30), "three have left");
    }

    #[test]
    fn what_another_drive_lists_is_taken_in_but_for_the_own_branch() {
        let (mut one, mut other) = (Past::default(), Past::default());
        one.add([branch(1)]);
        other.add([branch(2), branch(3), branch(1)]);
        other.horizon = 7;
        one.merge(&other, 3);
        assert!(one.branches().map(|past| past.branch).eq([1, 2]));
        assert!(one.covers(99, 6) && !one.covers(99, 7));
    }
}
