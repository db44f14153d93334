//! The superblocks, and the steps in which they are changed.
//!
//! Every change of how drives take part goes through the same steps, one after the other:
//!
//! 1. *Draining*: no write begins, writes in flight end. Once a drive is recorded as failed, a
//!    stripe that was written in part cannot be repaired any more, because parity is not resynced
//!    while data is missing. So no stripe may be half written when the superblocks are.
//! 2. *Syncing*: all drives are synced. Writes that have ended must survive a power loss as well,
//!    and a rebuilt drive must hold its data before it is recorded as serving.
//! 3. *Preparing*: all present drives but those that join now get the next generation, so that they
//!    can be told from one that misses what comes ([`lineage`](super::lineage)).
//! 4. *Committing*: all present drives get the new superblocks. Nothing that the failed drive lacks
//!    has been answered until all have them.
//! 5. *Clearing the journal*: its records count no longer, because all they name is stable. Not
//!    before the superblocks: as long as they call a drive serving that has failed, a start that
//!    finds it must write the records again to it. And not later: drives that hold records from now
//!    on need not hold the old ones.
//!
//! Then writes go on, journalled as the new superblocks demand. What changes meanwhile is recorded
//! by another round: what is committed is what was to be said when it was prepared, on the drives
//! that were prepared and have not failed since. A drive that was put in the place of one of them
//! is not among those.

use super::drive_set::DriveSet;
use super::journal::Journal;
use super::output::{End, IoId};
use super::superblock::{COPIES_AT, MemberState, Superblock};
use crate::planted::{Bug, Planted};
use alloc::collections::VecDeque;
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
    /// Until the superblocks of the next generation are stable.
    PreparingSuperblocks,
    /// Until those that say what is new are.
    CommittingSuperblocks,
    /// Until the journal's header is stable.
    ClearingJournal,
}

impl Recording {
    /// Whether a step may come right after another.
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

/// A superblock for a drive: where it goes, and its bytes.
pub(super) type SuperblockWrite = (DriveId, u64, Vec<u8>);

/// What the superblocks are going to say, and on which drives.
#[derive(Debug)]
struct Prepared {
    states: Vec<MemberState>,
    joined: Vec<u64>,
    clean: bool,
    drives: DriveSet,
}

/// Data that a drive which is being rebuilt has been given.
#[derive(Clone, Copy, Debug)]
enum Rebuilt {
    /// All before this byte.
    Before(u64),
    /// All.
    Wholly,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Recorder {
    step: Recording,
    /// What was written last, or is being written; the member is that of the last drive.
    superblock: Superblock,
    /// What is to be committed.
    prepared: Option<Prepared>,
    /// Drives that were put into their place since that was decided.
    joining: DriveSet,
    /// What all present drives have on stable storage.
    recorded: Vec<MemberState>,
    /// What they should say.
    wanted: Vec<MemberState>,
    /// What drives that are being rebuilt have been given, each with the first change that was not
    /// handed over by then. A rebuild computes from what was answered. As long as that is in memory
    /// alone, a drive that has it does not fit the others after a crash.
    rebuilt: VecDeque<(IoId, DriveId, Rebuilt)>,
    /// The array is to end.
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

    /// The step that is under way.
    pub(super) const fn step(&self) -> Recording {
        self.step
    }

    /// The next step begins.
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

    /// The drives that have not failed; those that are being rebuilt are there.
    pub(super) fn present(&self) -> DriveSet {
        self.those(|state| state != MemberState::Failed)
    }

    fn those(&self, is: impl Fn(MemberState) -> bool) -> DriveSet {
        let states = self.wanted.iter().enumerate();
        states.filter(|(_, state)| is(**state)).map(|(drive, _)| DriveId(drive as u8)).collect()
    }

    /// What the superblocks of the others should say of a drive.
    pub(super) fn wanted(&self, drive: DriveId) -> Option<MemberState> {
        self.wanted.get(drive.index()).copied()
    }

    /// Drives that the superblocks do not call serving.
    pub(super) fn recorded_absent(&self) -> DriveSet {
        let states = self.recorded.iter().enumerate();
        let absent = states.filter(|(_, state)| **state != MemberState::Serving);
        absent.map(|(drive, _)| DriveId(drive as u8)).collect()
    }

    /// Drives whose changes are journalled, by what the superblocks say.
    pub(super) fn to_journal(&self) -> DriveSet {
        let geometry = &self.superblock.geometry;
        let absent = self.recorded_absent();
        match Journal::is_needed(geometry, absent.bits()) {
            true => (0..geometry.width).map(DriveId).collect::<DriveSet>().without(absent),
            false => DriveSet::EMPTY,
        }
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

    /// A drive has failed: it gets no superblocks any more.
    pub(super) fn fail(&mut self, drive: DriveId) {
        self.want(drive, MemberState::Failed);
        self.rebuilt.retain(|(_, other, _)| *other != drive);
        self.joining.remove(drive);
        if let Some(prepared) = &mut self.prepared {
            prepared.drives.remove(drive);
        }
    }

    /// Another drive is in the place of one that has failed.
    pub(super) fn replace(&mut self, drive: DriveId) {
        let state = match self.planted.has(Bug::ReplacedDriveServes) {
            true => MemberState::Serving,
            false => MemberState::Rebuilding { cursor_bytes: 0 },
        };
        self.want(drive, state);
        self.joining.insert(drive);
    }

    /// A drive that was being rebuilt holds all its data: that is recorded once the changes before
    /// `before` are stable or have ended.
    pub(super) fn rebuilt(&mut self, drive: DriveId, before: IoId) {
        self.rebuilt.push_back((before, drive, Rebuilt::Wholly));
    }

    /// A drive that is being rebuilt holds its data up to here, or will when it is synced and the
    /// changes before `before` are stable or have ended. That is recorded in all steps, though it
    /// is no change of who takes part: the writes before it are over and synced by them, and it
    /// happens a few times in a rebuild. Not more often, because each change also takes a place in
    /// the list of those before.
    pub(super) fn rebuilt_before(&mut self, drive: DriveId, cursor_bytes: u64, before: IoId) {
        self.rebuilt.push_back((before, drive, Rebuilt::Before(cursor_bytes)));
    }

    /// `first_cached` is the oldest change that was answered and is neither stable nor has ended.
    /// Gives the drives of which it is to be recorded from now on that they hold all their data.
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

    /// Whether all present drives say what they should.
    pub(super) fn is_recorded(&self) -> bool {
        self.recorded == self.wanted && self.joining.is_empty()
    }

    /// Whether there is anything to record, and nothing is being recorded.
    pub(super) fn must_begin(&self) -> bool {
        self.step == Recording::Idle && (self.ending || !self.is_recorded())
    }

    pub(super) fn is_settled(&self) -> bool {
        self.step == Recording::Idle && self.is_recorded() && self.rebuilt.is_empty()
    }

    /// Whether the end can do without another generation, which would have to be unclean.
    pub(super) fn ends_unclean(&self, end: End) -> bool {
        self.ending && end != End::Clean && self.is_recorded()
    }

    /// Decides what is to be said, and gives the superblocks that prepare all present drives for
    /// it.
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
        // What was said so far may call the one serving in whose place a joining drive is.
        self.superblocks(drives.without(joining))
    }

    /// All drives are prepared: gives the superblocks that commit it.
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

    /// The superblocks are committed on all drives. Whether the array has ended by that.
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
