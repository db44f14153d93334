//! Drives that are missing: what of a stripe cannot be had, and what becomes of those who need it.
//!
//! Of a stripe a member may be *unreadable*: its drive is absent, or was replaced and this stripe is not
//! restored yet, or it is a parity that may not fit its data since a crash. It is *unwritable* in the
//! first two cases only: a parity that may not fit is written with every write, from all data, so that
//! no drive has less than it could.
//!
//! * What is unreadable is never asked for; it is missing from the beginning and rebuilt like what a
//!   drive failed fast. A policy is not asked about it, and hedges and races are for whole stripes.
//! * A drive that says that it cannot read (a media error) is not asked again: the member is missing for
//!   that operation alone. A drive that cannot write is given up.
//! * If more is unreadable than there are parities, reads of the rest are served, and everything else
//!   fails. A write is refused before it has changed anything; if the drives fail while it is being
//!   written, it is reported as failed.
//! * Commands that are out to a drive when it is given up are answered sooner or later, and count for
//!   nothing. Until the last of them is answered it cannot be replaced.
//! * Nothing moves to other drives while anything is missing. Chunks that have moved are looked for
//!   where they are.

use crate::action::{Action, DataAction};
use crate::engine::Array;
use crate::op::{OpKind, Phase, SubIo};
use crate::parity::members;
use crate::restore::Restoration;
use crate::stripes::StripeSet;
use alloc::vec::Vec;
use core::fmt;
use nvme::{CollectionRight, Delays, DriveStatus, PlFlag};
use units::{DriveId, Instant};

/// Which drives and stripes are not as they should be.
#[derive(Clone, Debug)]
pub(crate) struct Health {
    /// Nothing is missing anywhere: the one thing that is looked at on the path of every request.
    pub(crate) whole: bool,
    /// Drives that are missing, as bits.
    pub(crate) absent: u64,
    /// How often a drive was given up.
    pub(crate) drive_failures: u32,
    /// Drives that were replaced, and the stripes that are not restored to them.
    pub(crate) unrestored: Vec<(DriveId, StripeSet)>,
    /// Stripes whose parity may not fit.
    pub(crate) unsynced: StripeSet,
    /// When each drive may collect, as it was told last.
    pub(crate) rights: Vec<Option<CollectionRight>>,
    pub(crate) restoration: Restoration,
}

impl Health {
    pub(crate) fn new(width: u32, absent: u64, depth: u32) -> Self {
        Self {
            whole: absent == 0,
            absent,
            drive_failures: 0,
            unrestored: Vec::new(),
            unsynced: StripeSet::default(),
            rights: alloc::vec![None; width as usize],
            restoration: Restoration::new(depth),
        }
    }

    /// Whether nothing is sent to this drive.
    pub(crate) fn is_absent(&self, drive: DriveId) -> bool {
        self.absent >> drive.0 & 1 == 1
    }

    /// Something has changed for the worse or the better.
    pub(crate) fn look_again(&mut self) {
        self.unrestored.retain(|(_, stripes)| !stripes.is_empty());
        self.whole = self.absent == 0 && self.unrestored.is_empty() && self.unsynced.is_empty();
    }
}

/// Why a drive cannot be replaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CannotReplace {
    /// There is no such drive.
    NoSuchDrive {
        /// The drive.
        drive: DriveId,
        /// Drives of the array.
        width: u32,
    },
    /// It serves, or is being restored.
    Present {
        /// The drive.
        drive: DriveId,
    },
    /// Commands that were sent to the one before it have not been answered.
    StillBusy {
        /// The drive.
        drive: DriveId,
    },
}

impl fmt::Display for CannotReplace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchDrive { drive, width } => write!(
                f,
                "there is no drive {}: the array has {width} drives, from 0 to {}",
                drive.0,
                width - 1
            ),
            Self::Present { drive } => {
                write!(f, "drive {} has not failed; only a failed drive can be replaced", drive.0)
            }
            Self::StillBusy { drive } => write!(
                f,
                "the failed drive {} has not answered all that was sent to it; replace it when it has",
                drive.0
            ),
        }
    }
}

impl core::error::Error for CannotReplace {}

impl Array {
    /// Drives that are missing, as bits. A drive that was replaced is not.
    #[must_use]
    pub fn absent(&self) -> u64 {
        self.health.absent
    }

    /// Whether every member of every stripe can be read.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.health.whole
    }

    /// Gives a drive up: [`Action::DriveFailed`], and nothing is sent to it from now on. Commands that
    /// are out to it must still be answered, with any status; they count for nothing.
    ///
    /// If the drive is absent already, or there is none, nothing happens.
    pub fn fail_drive(&mut self, now: Instant, drive: DriveId) {
        if u32::from(drive.0) >= self.layout.width() || self.health.is_absent(drive) {
            return;
        }
        self.health.absent |= 1 << drive.0;
        self.health.drive_failures += 1;
        self.health.unrestored.retain(|(other, _)| *other != drive);
        self.health.restoration.cancel(drive);
        self.health.look_again();
        self.actions.push_back(Action::DriveFailed { drive });
        self.answer_for_absent(now);
        self.abandon_stage(now, drive);
        self.pump_restoration(now);
    }

    /// An empty drive is in the place of one that is absent: restores all its stripes in the
    /// background, until [`Action::Restored`] or [`Action::NotRestored`]. The drive hears when it may
    /// collect.
    ///
    /// # Errors
    ///
    /// If the drive is not absent, or commands to the one before it are still out.
    pub fn replace_drive(&mut self, now: Instant, drive: DriveId) -> Result<(), CannotReplace> {
        let width = self.layout.width();
        if u32::from(drive.0) >= width {
            return Err(CannotReplace::NoSuchDrive { drive, width });
        }
        if !self.health.is_absent(drive) {
            return Err(CannotReplace::Present { drive });
        }
        if self.queues.of(drive).blocks() > 0 {
            return Err(CannotReplace::StillBusy { drive });
        }
        let mut stripes = StripeSet::default();
        stripes.insert(0..self.layout.stripes());
        self.health.absent &= !(1 << drive.0);
        self.health.unrestored.push((drive, stripes));
        self.health.look_again();
        if let Some(right) = self.health.rights[drive.index()] {
            self.actions.push_back(Action::Permit { drive, right });
        }
        self.begin_rebuild(now, drive);
        Ok(())
    }

    /// Answers for drives that are not there when the coordination asks how much room they have: they
    /// need no time to collect.
    #[cold]
    pub(crate) fn answer_for_absent(&mut self, now: Instant) {
        let absent = self.health.absent;
        let mut asked = 0u64;
        self.actions.retain(|action| match action {
            Action::AskStatus { drive } if absent >> drive.0 & 1 == 1 => {
                asked |= 1 << drive.0;
                false
            }
            _ => true,
        });
        for drive in members(asked) {
            let status = DriveStatus {
                headroom_pages: u64::MAX,
                due: false,
                must_collect: false,
                collecting: false,
            };
            self.coordinator.handle_status(now, DriveId(drive), &status, &mut self.actions);
        }
    }

    /// Members of `stripe` whose drive is absent or has not got this stripe back, as bits.
    pub(crate) fn unwritable(&self, stripe: u64) -> u64 {
        if self.health.whole {
            return 0;
        }
        let unrestored = self.health.unrestored.iter();
        let gone = unrestored
            .filter(|(_, stripes)| stripes.contains(stripe))
            .fold(self.health.absent, |gone, (drive, _)| gone | 1 << drive.0);
        self.members_on(stripe, gone)
    }

    /// Members of `stripe` whose chunks are on one of `drives`, both as bits.
    pub(crate) fn members_on(&self, stripe: u64, drives: u64) -> u64 {
        let all = self.layout.members(stripe);
        if !self.placement.has_moved() {
            return all & drives;
        }
        members(all)
            .filter(|&member| {
                let place = self.placement.locate(&self.layout, stripe, 0, member);
                drives >> place.drive.0 & 1 == 1
            })
            .fold(0, |mask, member| mask | 1 << member)
    }

    /// Members of `stripe` that cannot be read, as bits.
    pub(crate) fn unreadable(&self, stripe: u64) -> u64 {
        if self.health.whole {
            return 0;
        }
        let unwritable = self.unwritable(stripe);
        if !self.health.unsynced.contains(stripe) {
            return unwritable;
        }
        let parity = self.layout.parity_mask(stripe);
        if !self.layout.level().is_mirrored() {
            return unwritable | parity;
        }
        // After a crash any copy is as good as any other, as long as it is always the same: the datum,
        // or else the first that is there. Writes reach them all.
        let all = self.layout.members(stripe);
        let datum = all & !parity & !unwritable;
        let there = all & !unwritable;
        let kept = if datum == 0 { there & there.wrapping_neg() } else { datum };
        all & !kept
    }

    /// Whether more of `stripe` is unreadable than can be rebuilt.
    pub(crate) fn is_beyond_repair(&self, stripe: u64) -> bool {
        !self.health.whole && self.unreadable(stripe).count_ones() > self.layout.parities()
    }

    /// Notes what of its stripe an operation cannot get. Returns all of it, as bits.
    #[inline]
    pub(crate) fn note_gone(&mut self, op: u32) -> u64 {
        if self.health.whole {
            return self.ops.get(op).gone;
        }
        let unreadable = self.unreadable(self.ops.get(op).stripe);
        let target = self.ops.get_mut(op);
        target.gone |= unreadable & !target.have;
        target.gone
    }

    /// A read that a drive could not do, or whose drive was given up: rebuilds the member.
    #[cold]
    pub(crate) fn read_lost(&mut self, now: Instant, sub_io: &SubIo, passed: Delays) {
        let SubIo { op, member, .. } = *sub_io;
        self.counters.unrecovered_reads += 1;
        let bit = 1 << member;
        let target = self.ops.get_mut(op);
        target.stale &= !bit;
        if target.have & bit != 0 {
            // A write in flight has lent it meanwhile.
            return;
        }
        target.gone |= bit;
        target.missing |= bit;
        if self.cope_with_missing(now, op, passed) {
            self.rebuild(now, op, passed);
        }
    }

    /// Sends again what was not to be read if more is missing than can be rebuilt, and gives up if that
    /// does not help. Returns whether the operation goes on.
    pub(crate) fn cope_with_missing(&mut self, now: Instant, op: u32, passed: Delays) -> bool {
        let gone = self.note_gone(op);
        let parities = self.layout.parities();
        if gone != 0 {
            let target = self.ops.get_mut(op);
            // A race may have asked again what had failed.
            let settled = gone | target.outstanding;
            target.failures.retain(|failure| settled >> failure.drive.0 & 1 == 0);
            if target.races {
                // From here on it is asked for what is needed, member by member.
                target.races = false;
                target.missing =
                    target.failures.iter().fold(0, |mask, failure| mask | 1 << failure.drive.0);
            }
            target.missing |= gone & !target.have;
        }
        loop {
            let target = self.ops.get_mut(op);
            if target.missing.count_ones() <= parities {
                break;
            }
            let member = if target.failures.is_empty() {
                let readable = target.missing & !gone & !target.outstanding;
                if readable == 0 {
                    break;
                }
                readable.trailing_zeros() as u8
            } else {
                let wait_for = self.policy.wait_for(&target.failures);
                target.failures.remove(wait_for).drive.0
            };
            target.missing &= !(1 << member);
            let round = self.new_round(op, passed);
            self.counters.resubmitted += 1;
            self.coordinator.note_too_many_busy();
            // Without the flag, so that it cannot fail again (IODA §4.2.2).
            self.read(now, op, member, PlFlag::Off, false, round);
            if gone == 0 {
                break;
            }
        }
        if gone == 0 {
            return true;
        }
        let target = self.ops.get(op);
        let needed = gone & target.wanted & !target.have;
        let hopeless = needed != 0
            && (target.kind == OpKind::Check || (gone & !target.have).count_ones() > parities);
        if hopeless {
            self.fail(now, op, passed);
        }
        !hopeless
    }

    /// Ends an operation that cannot get what it needs.
    #[cold]
    pub(crate) fn fail(&mut self, now: Instant, op: u32, passed: Delays) {
        let target = self.ops.get_mut(op);
        target.failed = true;
        target.delays = passed;
        let (stripe, was_locked) = (target.stripe, target.locked);
        for chunk in core::mem::take(&mut target.moves) {
            self.placement.release(chunk.to);
        }
        if was_locked {
            self.leave_lock(op);
        }
        self.finish(now, op);
        if was_locked {
            self.wake(now, stripe);
        }
    }

    /// A drive could not write: the array goes on without it.
    #[cold]
    pub(crate) fn give_up(&mut self, now: Instant, drive: DriveId) {
        self.counters.unrecovered_writes += 1;
        self.fail_drive(now, drive);
    }

    /// Forgets what is staged for a drive that is gone: parity has it. Writes that wait for room in the
    /// stage, or behind a drain, are over.
    fn abandon_stage(&mut self, now: Instant, drive: DriveId) {
        let Some(stage) = &mut self.stage else { return };
        let left = stage.abandon(drive);
        let mut over: Vec<u32> = Vec::new();
        let sub_ios = &self.sub_ios;
        let mut is_elsewhere = |slot: &u32| {
            let stays = sub_ios.get(*slot).place.drive != drive;
            if !stays {
                over.push(*slot);
            }
            stays
        };
        stage.waiting.retain(&mut is_elsewhere);
        stage.behind_drains.retain(&mut is_elsewhere);
        if self.data_actions && !left.is_empty() {
            self.data(DataAction::Unstage { drive, pages: left });
        }
        for slot in over {
            let sub_io = *self.sub_ios.get(slot);
            self.sub_ios.release(slot);
            self.end_write_of_member(now, &sub_io);
        }
        self.make_room_in_stage(now);
    }

    /// Whether a write would do more harm than good: too much of its stripe is missing.
    pub(crate) fn fails_before_commit(&mut self, now: Instant, op: u32) -> bool {
        let target = self.ops.get(op);
        let fails = target.kind == OpKind::Write && self.is_beyond_repair(target.stripe);
        if fails {
            debug_assert!(!matches!(target.phase, Phase::Commit | Phase::Drain));
            self.fail(now, op, Delays::ZERO);
        }
        fails
    }
}
