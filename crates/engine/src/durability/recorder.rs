//! The superblocks, and the steps in which they are changed.
//!
//! Every change of how drives take part goes through the same steps, one after the other:
//!
//! 1. *Draining*: no write begins, writes in flight end. Once a drive is recorded as failed, a stripe that
//!    was written in part cannot be repaired any more, because parity is not resynced while data is
//!    missing. So no stripe may be half written when the superblocks are.
//! 2. *Syncing*: all drives are synced. Writes that have ended must survive a power loss as well, and a
//!    rebuilt drive must hold its data before it is recorded as serving.
//! 3. *Writing superblocks*: all present drives get the next generation. Nothing that the failed drive
//!    lacks has been answered until all have it.
//! 4. *Clearing the journal*: its records count no longer, because all they name is stable. Not before
//!    the superblocks: as long as they call a drive serving that has failed, a start that finds it
//!    must write the records again to it. And not later: drives that hold records from now on need
//!    not hold the old ones.
//!
//! Then writes go on, journalled as the new superblocks demand. What changes meanwhile is recorded
//! by another round; the contents of a generation never change.

use super::drive_set::DriveSet;
use super::output::End;
use super::superblock::{MemberState, Superblock};
use alloc::vec::Vec;
use units::DriveId;

/// Which step is under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Recording {
    /// The superblocks say what they should.
    Idle,
    /// Until no write is in flight.
    Draining,
    /// Until all drives are synced.
    Syncing,
    /// Until the superblocks are stable.
    WritingSuperblocks,
    /// Until the journal's header is stable.
    ClearingJournal,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Recorder {
    pub(super) step: Recording,
    /// What was written last, or is being written; the member is that of the last drive.
    superblock: Superblock,
    /// What all present drives have on stable storage.
    recorded: Vec<MemberState>,
    /// What they should say.
    wanted: Vec<MemberState>,
    /// The array is to end.
    ending: bool,
}

impl Recorder {
    pub(super) fn new(superblock: Superblock) -> Self {
        let recorded = superblock.states.clone();
        let wanted = recorded.clone();
        Self { step: Recording::Idle, superblock, recorded, wanted, ending: false }
    }

    pub(super) fn superblock(&self) -> &Superblock {
        &self.superblock
    }

    /// The drives that have not failed; those that are being rebuilt are there.
    pub(super) fn present(&self) -> DriveSet {
        self.those(|state| state != MemberState::Failed)
    }

    fn those(&self, is: impl Fn(MemberState) -> bool) -> DriveSet {
        let states = self.wanted.iter().enumerate();
        states.filter(|(_, state)| is(**state)).map(|(drive, _)| DriveId(drive as u8)).collect()
    }

    /// Drives that the superblocks do not call serving.
    pub(super) fn recorded_absent(&self) -> DriveSet {
        let states = self.recorded.iter().enumerate();
        let absent = states.filter(|(_, state)| **state != MemberState::Serving);
        absent.map(|(drive, _)| DriveId(drive as u8)).collect()
    }

    /// Whether the superblocks still call a drive serving that has failed since: a start that finds
    /// it would take its old data for good.
    pub(super) fn has_unrecorded_loss(&self) -> bool {
        let mut both = self.recorded.iter().zip(&self.wanted);
        both.any(|(recorded, wanted)| {
            *recorded == MemberState::Serving && *wanted != MemberState::Serving
        })
    }

    /// Whether the superblocks say that a drive has failed, and nothing is being recorded.
    pub(super) fn is_failure_recorded(&self, drive: DriveId) -> bool {
        self.step == Recording::Idle
            && self.recorded.get(drive.index()) == Some(&MemberState::Failed)
    }

    /// Says how a drive is to take part. Whether that is new.
    pub(super) fn want(&mut self, drive: DriveId, state: MemberState) -> bool {
        let Some(entry) = self.wanted.get_mut(drive.index()) else { return false };
        core::mem::replace(entry, state) != state
    }

    pub(super) fn end(&mut self) {
        self.ending = true;
    }

    /// Whether all present drives say what they should.
    pub(super) fn is_recorded(&self) -> bool {
        self.recorded == self.wanted
    }

    /// Whether there is anything to record, and nothing is being recorded.
    pub(super) fn must_begin(&self) -> bool {
        self.step == Recording::Idle && (self.ending || !self.is_recorded())
    }

    pub(super) fn is_settled(&self) -> bool {
        self.step == Recording::Idle && self.is_recorded()
    }

    /// Whether the end can do without another generation, which would have to be unclean.
    pub(super) fn ends_unclean(&self, end: End) -> bool {
        self.ending && end != End::Clean && self.is_recorded()
    }

    /// The superblocks of the next generation, for each present drive, and where they go.
    pub(super) fn next_superblocks(&mut self, end: End) -> Vec<(DriveId, u64, Vec<u8>)> {
        self.superblock.generation += 1;
        self.superblock.states.clone_from(&self.wanted);
        self.superblock.clean = self.ending && end == End::Clean;
        let mut blocks = Vec::new();
        for drive in self.present().iter() {
            self.superblock.member = drive;
            let bytes = self.superblock.encode().to_vec();
            blocks.push((drive, self.superblock.offset_bytes(), bytes));
        }
        blocks
    }

    /// All present drives have the superblocks. Whether the array has ended by that.
    pub(super) fn superblocks_written(&mut self) -> bool {
        self.recorded.clone_from(&self.superblock.states);
        self.superblock.clean
    }

    pub(super) fn check_invariants(&self) {
        assert_eq!(self.recorded.len(), self.wanted.len());
        if self.step != Recording::WritingSuperblocks {
            assert_eq!(self.recorded, self.superblock.states);
        }
    }
}
