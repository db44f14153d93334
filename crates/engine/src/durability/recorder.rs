//! The recorder: the superblocks, and the steps in which they are changed.
//!
//! Every change of the drives' states goes through the same steps, one after the other:
//!
//! 1. *Draining*: no write begins, and writes in flight end. Once a drive is recorded as failed, a
//!    half-written stripe cannot be repaired any more, because parity is not resynced while data is
//!    missing. So no stripe may be half written when the superblocks are.
//! 2. *Syncing*: all drives are synced. Writes that have ended must survive a power cut too, and a
//!    rebuilt drive must hold its data before it is recorded as serving.
//! 3. *Preparing*: all present drives except those that join now get the next generation. This
//!    tells them from a drive that misses the change ([`lineage`](super::lineage)).
//! 4. *Committing*: all present drives get the new superblocks. No write that a failed drive lacks
//!    is answered until all have them.
//! 5. *Clearing the journal*: its records no longer count, because all their writes are stable.
//!    This must follow the superblocks: while they call a failed drive serving, a start that finds
//!    it must replay the records to it. It must precede further writes: drives that hold later
//!    records need not hold the old ones.
//!
//! Then writes go on, journalled as the new superblocks demand. Changes of states during the steps
//! are recorded by another round. A commit contains the states of its preparation, and goes to
//! drives that were prepared and have not failed since. A drive that replaced one of them waits for
//! the next round.

use super::drive_set::DriveSet;
use super::journal::Journal;
use super::output::{End, IoId};
use super::superblock::{COPIES_AT, MemberState, Superblock};
use crate::planted::{Bug, Planted};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use units::DriveId;

/// Step that is under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Recording {
    /// No step: the superblocks are up to date.
    Idle,
    /// Waiting until no write is in flight.
    Draining,
    /// Waiting until all drives are synced.
    Syncing,
    /// Waiting until the superblocks of the next generation are stable.
    PreparingSuperblocks,
    /// Waiting until the superblocks with the new states are stable.
    CommittingSuperblocks,
    /// Waiting until the journal's header is stable.
    ClearingJournal,
}

impl Recording {
    /// Returns true if this step may follow another.
    fn may_follow(self, before: Self, planted: Planted) -> bool {
        match (before, self) {
            (Self::Idle, Self::Draining)
            | (Self::Draining, Self::Syncing)
            | (Self::Syncing, Self::PreparingSuperblocks)
            | (Self::PreparingSuperblocks, Self::CommittingSuperblocks)
            | (Self::CommittingSuperblocks, Self::ClearingJournal | Self::Idle)
            | (Self::ClearingJournal, Self::Idle) => true,
            (Self::Draining, Self::PreparingSuperblocks) => planted.has(Bug::SuperblocksUnsynced),
            _ => false,
        }
    }
}

/// A superblock for a drive: drive, offset and bytes.
pub(super) type SuperblockWrite = (DriveId, u64, Vec<u8>);

/// Content of the next superblocks, and their drives.
#[derive(Debug)]
struct Prepared {
    states: Vec<MemberState>,
    joined: Vec<u64>,
    clean: bool,
    drives: DriveSet,
}

/// Progress of a rebuild.
#[derive(Clone, Copy, Debug)]
enum Rebuilt {
    /// All data before this byte is written.
    Before(u64),
    /// All data is written.
    Wholly,
}

/// The superblocks, and the step of their change.
#[derive(Debug)]
pub(super) struct Recorder {
    step: Recording,
    /// Last superblock, written or about to be; its member is the drive that was written last.
    superblock: Superblock,
    /// States to be committed; `None` unless prepared.
    prepared: Option<Prepared>,
    /// Drives that have joined since the last preparation.
    joining: DriveSet,
    /// States that all present drives have on stable storage.
    recorded: Vec<MemberState>,
    /// States that they should have.
    wanted: Vec<MemberState>,
    /// Progress of rebuilds, each with the number of the first change that was handed over later. A
    /// rebuild uses data that was answered. While that data is only in memory, the rebuilt drive
    /// would not fit the others after a crash.
    rebuilt: VecDeque<(IoId, DriveId, Rebuilt)>,
    /// True if the array is to end.
    ending: bool,
    planted: Planted,
}

impl Recorder {
    pub(super) fn new(superblock: Superblock, planted: Planted) -> Self {
        let recorded = superblock.states.clone();
        let wanted = recorded.clone();
        Self {
            step: Recording::Idle,
            superblock,
            prepared: None,
            joining: DriveSet::EMPTY,
            recorded,
            wanted,
            rebuilt: VecDeque::new(),
            ending: false,
            planted,
        }
    }

    /// Step that is under way.
    pub(super) const fn step(&self) -> Recording {
        self.step
    }

    /// Begins the next step.
    ///
    /// # Panics
    ///
    /// If another step has to come first.
    pub(super) fn begin_step(&mut self, step: Recording) {
        let before = self.step;
        assert!(step.may_follow(before, self.planted), "{step:?} came right after {before:?}");
        self.step = step;
    }

    pub(super) fn superblock(&self) -> &Superblock {
        &self.superblock
    }

    /// Drives that have not failed, including those that are being rebuilt.
    pub(super) fn present(&self) -> DriveSet {
        self.those(|state| state != MemberState::Failed)
    }

    fn those(&self, is: impl Fn(MemberState) -> bool) -> DriveSet {
        let states = self.wanted.iter().enumerate();
        states.filter(|(_, state)| is(**state)).map(|(drive, _)| DriveId(drive as u8)).collect()
    }

    /// State of a drive that the superblocks of the others should have.
    pub(super) fn wanted(&self, drive: DriveId) -> Option<MemberState> {
        self.wanted.get(drive.index()).copied()
    }

    /// Drives that the superblocks do not call serving.
    pub(super) fn recorded_absent(&self) -> DriveSet {
        let states = self.recorded.iter().enumerate();
        let absent = states.filter(|(_, state)| **state != MemberState::Serving);
        absent.map(|(drive, _)| DriveId(drive as u8)).collect()
    }

    /// Drives whose changes are journalled, according to the superblocks.
    pub(super) fn to_journal(&self) -> DriveSet {
        let geometry = &self.superblock.geometry;
        let absent = self.recorded_absent();
        match Journal::is_needed(geometry, absent.bits()) {
            true => (0..geometry.width).map(DriveId).collect::<DriveSet>().without(absent),
            false => DriveSet::EMPTY,
        }
    }

    /// Returns true if the superblocks still call a drive serving that has failed since: a start
    /// that finds it would trust its old data.
    pub(super) fn has_unrecorded_loss(&self) -> bool {
        let mut both = self.recorded.iter().zip(&self.wanted);
        both.any(|(recorded, wanted)| {
            *recorded == MemberState::Serving && *wanted != MemberState::Serving
        })
    }

    /// Returns true if the superblocks record the failure of a drive, and no step is under way.
    pub(super) fn is_failure_recorded(&self, drive: DriveId) -> bool {
        self.step == Recording::Idle
            && self.recorded.get(drive.index()) == Some(&MemberState::Failed)
    }

    /// Notes the failure of a drive: it gets no superblocks any more.
    pub(super) fn fail(&mut self, drive: DriveId) {
        self.want(drive, MemberState::Failed);
        self.rebuilt.retain(|(_, other, _)| *other != drive);
        self.joining.remove(drive);
        if let Some(prepared) = &mut self.prepared {
            prepared.drives.remove(drive);
        }
    }

    /// Notes a drive in the place of a failed one.
    pub(super) fn replace(&mut self, drive: DriveId) {
        let state = match self.planted.has(Bug::ReplacedDriveServes) {
            true => MemberState::Serving,
            false => MemberState::Rebuilding { cursor_bytes: 0 },
        };
        self.want(drive, state);
        self.joining.insert(drive);
    }

    /// Notes the end of a rebuild. It is recorded once the changes before `before` are stable or
    /// have ended.
    pub(super) fn rebuilt(&mut self, drive: DriveId, before: IoId) {
        self.rebuilt.push_back((before, drive, Rebuilt::Wholly));
    }

    /// Notes progress of a rebuild: the drive holds its data before `cursor_bytes` once it is
    /// synced and the changes before `before` are stable or have ended. The record takes all steps,
    /// though no drive's part in the array changes: the steps end and sync the writes before it. It
    /// is made only a few times in a rebuild, because each change also takes a place in the list of
    /// past changes.
    pub(super) fn rebuilt_before(&mut self, drive: DriveId, cursor_bytes: u64, before: IoId) {
        self.rebuilt.push_back((before, drive, Rebuilt::Before(cursor_bytes)));
    }

    /// Takes the progress that may be recorded. `first_cached` is the oldest answered change that
    /// is neither stable nor ended. Returns the drives whose rebuild has ended.
    pub(super) fn take_rebuilt(&mut self, first_cached: Option<IoId>) -> DriveSet {
        let mut whole = DriveSet::EMPTY;
        while let Some(&(before, drive, rebuilt)) = self.rebuilt.front()
            && (first_cached.is_none_or(|cached| cached >= before)
                || self.planted.has(Bug::CursorBeforeBatch))
        {
            self.rebuilt.pop_front();
            let state = self.wanted.get(drive.index());
            let Some(&MemberState::Rebuilding { cursor_bytes: so_far }) = state else { continue };
            match rebuilt {
                Rebuilt::Wholly => {
                    self.want(drive, MemberState::Serving);
                    whole.insert(drive);
                }
                Rebuilt::Before(cursor_bytes) if cursor_bytes > so_far => {
                    self.want(drive, MemberState::Rebuilding { cursor_bytes });
                }
                Rebuilt::Before(_) => {}
            }
        }
        whole
    }

    fn want(&mut self, drive: DriveId, state: MemberState) {
        if let Some(entry) = self.wanted.get_mut(drive.index()) {
            *entry = state;
        }
    }

    pub(super) fn end(&mut self) {
        self.ending = true;
    }

    /// Returns true if the superblocks of all present drives are up to date.
    pub(super) fn is_recorded(&self) -> bool {
        self.recorded == self.wanted && self.joining.is_empty()
    }

    /// Returns true if there is something to record, and no step is under way.
    pub(super) fn must_begin(&self) -> bool {
        self.step == Recording::Idle && (self.ending || !self.is_recorded())
    }

    pub(super) fn is_settled(&self) -> bool {
        self.step == Recording::Idle && self.is_recorded() && self.rebuilt.is_empty()
    }

    /// Returns true if the array ends without a clean shutdown and needs no further generation for
    /// it.
    pub(super) fn ends_unclean(&self, end: End) -> bool {
        self.ending && end != End::Clean && self.is_recorded()
    }

    /// Decides the next states, and returns the superblocks that prepare all present drives for
    /// them.
    pub(super) fn prepare(&mut self, end: End) -> Vec<SuperblockWrite> {
        assert!(self.prepared.is_none(), "superblocks are prepared before the last were committed");
        let step = self.step;
        assert!(step == Recording::PreparingSuperblocks, "superblocks are prepared in {step:?}");
        self.superblock.generation += 1;
        let mut joined = self.superblock.joined.clone();
        let joining = core::mem::take(&mut self.joining);
        for drive in joining.iter() {
            joined[drive.index()] = self.superblock.joining(self.superblock.generation, drive);
        }
        self.superblock.propose(&self.wanted, &joined);
        let drives = self.present();
        self.prepared = Some(Prepared {
            states: self.wanted.clone(),
            joined,
            clean: self.ending && end == End::Clean,
            drives,
        });
        // The old states may call a drive serving whose place a joining drive has taken.
        self.superblocks(drives.without(joining))
    }

    /// Returns the superblocks that commit the prepared states; all drives are prepared.
    pub(super) fn commit(&mut self) -> Vec<SuperblockWrite> {
        assert!(self.prepared.is_some(), "superblocks are committed that were not prepared");
        let step = self.step;
        assert!(step == Recording::CommittingSuperblocks, "superblocks are committed in {step:?}");
        let Some(prepared) = self.prepared.take() else { return Vec::new() };
        self.superblock.commit(prepared.states, prepared.joined, prepared.clean);
        self.superblocks(prepared.drives)
    }

    fn superblocks(&mut self, drives: DriveSet) -> Vec<SuperblockWrite> {
        let mut blocks = Vec::new();
        for drive in drives.iter() {
            self.superblock.member = drive;
            let bytes = self.superblock.encode().to_vec();
            let offset_bytes = match self.planted.has(Bug::SuperblocksInOneSlot) {
                true => COPIES_AT[0],
                false => self.superblock.offset_bytes(),
            };
            blocks.push((drive, offset_bytes, bytes));
        }
        blocks
    }

    /// Notes that the superblocks are committed on all drives. Returns true if the array has ended.
    pub(super) fn committed(&mut self) -> bool {
        let step = self.step;
        assert!(step == Recording::CommittingSuperblocks, "superblocks are stable in {step:?}");
        self.recorded.clone_from(&self.superblock.states);
        self.superblock.clean
    }

    pub(super) fn check_invariants(&self) {
        assert_eq!(self.recorded.len(), self.wanted.len());
        if self.step != Recording::CommittingSuperblocks {
            assert_eq!(self.recorded, self.superblock.states);
        }
        assert_eq!(self.prepared.is_some(), self.step == Recording::PreparingSuperblocks);
    }
}
