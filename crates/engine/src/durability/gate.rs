//! The write gate: changes that wait until they may go to their storage, and changes in flight.
//!
//! All changes of a stripe operation that come together are one *pending write*. They are released
//! together, so that a crash never finds a stripe of which the gate held a part back:
//!
//! ```text
//! waiting -> admitted ------------> released -> in flight -> ended
//!         -> unrecorded -> recorded -^
//! ```
//!
//! A write waits while the superblocks are being changed. At its admission the gate decides if it
//! must be in the journal. It is released when its regions are marked, its batch (if it needs one)
//! is stable, and no earlier write of the same bytes is left.

use super::block::BLOCK_BYTES;
use super::drive_set::DriveSet;
use super::intent::Intent;
use super::journal::{Batch, Content, JournalError, PARTS_MAX, Part};
use super::journal_writer::JournalWriter;
use super::order::ChangeOrder;
use super::output::{Change, Handed, IoId, WantedChange};
use crate::planted::{Bug, Planted};
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;
use core::ops::{Range, RangeInclusive};
use units::{DriveId, Instant};

/// State of a pending write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// It waits until the superblocks are up to date.
    Waiting,
    /// It need not be in the journal.
    Admitted,
    /// It must be in the journal, and is in no batch yet.
    Unrecorded,
    /// It is in this batch, which may not be stable yet.
    Recorded(u64),
}

/// Bytes and regions of a change.
#[derive(Clone, Debug)]
struct Extent {
    drive: DriveId,
    offset_bytes: u64,
    length_bytes: u64,
    regions: RangeInclusive<u32>,
}

impl Extent {
    fn blocks(&self) -> Range<u64> {
        let block = BLOCK_BYTES as u64;
        self.offset_bytes / block..(self.offset_bytes + self.length_bytes).div_ceil(block)
    }
}

#[derive(Debug)]
struct Held<C> {
    id: IoId,
    extent: Extent,
    change: C,
}

#[derive(Debug)]
struct PendingWrite<C> {
    stage: Stage,
    changes: Vec<Held<C>>,
    /// Number of its blocks that wait for a change of an earlier write.
    behind: usize,
}

#[derive(Debug)]
struct InFlight {
    extent: Extent,
    record: Option<u64>,
}

/// A change that leaves the gate, released or cancelled.
pub(super) type Leaving<C> = (IoId, DriveId, C);

/// The pending writes and the changes in flight.
#[derive(Debug)]
pub(super) struct WriteGate<C> {
    /// Pending writes, by their first change.
    pending: BTreeMap<IoId, PendingWrite<C>>,
    /// Writes that further changes of their operation may still join.
    open: BTreeSet<IoId>,
    waiting: BTreeSet<IoId>,
    /// Writes whose regions were not all marked at the last check, admitted or not.
    unmarked: BTreeSet<IoId>,
    unrecorded: BTreeSet<IoId>,
    /// Writes whose batches were not stable at the last check, by batch.
    unstable: VecDeque<(u64, IoId)>,
    /// Writes that may be releasable because of a recent event.
    changed: BTreeSet<IoId>,
    in_flight: BTreeMap<IoId, InFlight>,
    /// Changes of each batch that are held or in flight.
    record_left: BTreeMap<u64, u32>,
    /// Changes whose clients may have been answered, and that would not survive a power cut.
    cached: BTreeSet<IoId>,
    order: ChangeOrder,
    planted: Planted,
    /// Number of batches that were withdrawn.
    withdrawn: u64,
}

impl<C: Change> WriteGate<C> {
    pub(super) fn new(planted: Planted) -> Self {
        Self {
            pending: BTreeMap::new(),
            open: BTreeSet::new(),
            waiting: BTreeSet::new(),
            unmarked: BTreeSet::new(),
            unrecorded: BTreeSet::new(),
            unstable: VecDeque::new(),
            changed: BTreeSet::new(),
            in_flight: BTreeMap::new(),
            record_left: BTreeMap::new(),
            cached: BTreeSet::new(),
            order: ChangeOrder::default(),
            planted,
            withdrawn: 0,
        }
    }

    /// Holds a change, and marks its regions.
    pub(super) fn hold(
        &mut self,
        now: Instant,
        id: IoId,
        wanted: WantedChange<C>,
        intent: &mut Intent,
    ) -> Handed {
        let WantedChange { drive, offset_bytes, length_bytes, joins, cached, change } = wanted;
        assert!(length_bytes > 0, "a change of {drive:?} at {offset_bytes} changes nothing");
        let last = intent.region_of(offset_bytes + length_bytes - 1);
        let regions = intent.region_of(offset_bytes)..=last;
        for region in regions.clone() {
            intent.mark(now, region);
        }
        let extent = Extent { drive, offset_bytes, length_bytes, regions };
        let write = self.write_for(id, joins, &extent);
        let behind = self.order.enter(drive, extent.blocks(), id, write);
        if cached {
            self.cached.insert(id);
        }
        let pending = self.pending.get_mut(&write).expect("a change joins a pending write");
        let stage = pending.stage;
        assert!(stage == Stage::Waiting, "{id:?} joins {write:?}, which is {stage:?}");
        pending.behind += behind;
        pending.changes.push(Held { id, extent, change });
        Handed { id, write }
    }

    /// Returns the write of a change: the write that it joins, if that is open, or else a new
    /// write. It must not join if a newer write changes the same bytes: the two writes could wait
    /// for each other.
    fn write_for(&mut self, id: IoId, joins: Option<IoId>, extent: &Extent) -> IoId {
        let last = self.order.last(extent.drive, extent.blocks());
        if let Some(write) = joins.filter(|write| self.open.contains(write))
            && last.is_none_or(|last| last < write)
        {
            return write;
        }
        let pending = PendingWrite { stage: Stage::Waiting, changes: Vec::new(), behind: 0 };
        self.pending.insert(id, pending);
        self.waiting.insert(id);
        self.open.insert(id);
        id
    }

    /// Closes the open writes: no more changes join them.
    pub(super) fn seal(&mut self) {
        self.open.clear();
    }

    /// Admits all waiting writes; changes of `journalled` drives must be in the journal.
    pub(super) fn admit(&mut self, journalled: DriveSet) {
        for write in core::mem::take(&mut self.waiting) {
            let pending = self.pending.get_mut(&write).expect("what waits is pending");
            let stage = pending.stage;
            assert!(stage == Stage::Waiting, "{write:?} is let in, and is {stage:?}");
            let drives = pending.changes.iter().map(|held| held.extent.drive);
            if drives.collect::<DriveSet>().meets(journalled) {
                pending.stage = Stage::Unrecorded;
                self.unrecorded.insert(write);
            } else {
                pending.stage = Stage::Admitted;
                self.changed.insert(write);
            }
        }
    }

    /// Puts admitted writes without a record back to waiting: they have changed nothing yet.
    pub(super) fn withdraw(&mut self) {
        for (&write, pending) in &mut self.pending {
            if matches!(pending.stage, Stage::Admitted | Stage::Unrecorded) {
                pending.stage = Stage::Waiting;
                self.waiting.insert(write);
            }
        }
        self.unrecorded.clear();
    }

    /// Returns true if all admitted writes have ended.
    pub(super) fn is_drained(&self) -> bool {
        self.in_flight.is_empty() && self.waiting.len() == self.pending.len()
    }

    /// Returns true if nothing is held or in flight.
    pub(super) fn is_empty(&self) -> bool {
        self.in_flight.is_empty() && self.pending.is_empty()
    }

    /// Withdraws a batch: its writes wait as if they had not been admitted. None of them was
    /// released.
    pub(super) fn withdraw_batch(&mut self, sequence: u64, journal: &mut JournalWriter) {
        let is_of_it = |change: &InFlight| change.record == Some(sequence);
        assert!(
            !self.in_flight.values().any(is_of_it) || self.planted.has(Bug::BatchNotAwaited),
            "batch {sequence} is withdrawn, and part of it was released"
        );
        self.withdrawn += 1;
        self.unstable.retain(|(other, _)| *other != sequence);
        for (&write, pending) in &mut self.pending {
            if pending.stage == Stage::Recorded(sequence) {
                pending.stage = Stage::Waiting;
                self.waiting.insert(write);
            }
        }
        self.record_left.remove(&sequence);
        journal.finish(sequence);
    }

    /// Returns the next writes to record: as many as one batch of `batch_bytes` holds, and at least
    /// one.
    fn next_to_record(&self, batch_bytes: u64) -> Vec<IoId> {
        let (mut writes, mut parts, mut bytes) = (Vec::new(), 0, 0);
        for write in &self.unrecorded {
            let Some(pending) = self.pending.get(write) else { continue };
            parts += pending.changes.len();
            let lengths = pending.changes.iter().filter_map(|held| held.change.data());
            bytes += lengths.map(|data| data.len() as u64).sum::<u64>();
            if !writes.is_empty() && (parts > PARTS_MAX || bytes > batch_bytes) {
                break;
            }
            writes.push(*write);
        }
        writes
    }

    /// Appends the next batch to the journal, if a write waits for one and the journal takes it.
    ///
    /// # Errors
    ///
    /// If the journal can never take the batch.
    pub(super) fn record(
        &mut self,
        journal: &mut JournalWriter,
    ) -> Result<Option<Batch>, JournalError> {
        if !journal.takes_batch() {
            return Ok(None);
        }
        let writes = self.next_to_record(journal.batch_bytes());
        if writes.is_empty() {
            return Ok(None);
        }
        let pending = writes.iter().filter_map(|write| self.pending.get(write));
        let changes = pending.flat_map(|pending| &pending.changes).filter(|held| {
            held.change.data().is_some() || !self.planted.has(Bug::TrimNotJournalled)
        });
        let journalled = changes.filter(|held| journal.drives().contains(held.extent.drive));
        let parts = journalled.map(|held| {
            let Extent { drive, offset_bytes, length_bytes, .. } = held.extent;
            let zeros = Content::Zeros { bytes: length_bytes };
            Part { drive, offset_bytes, content: held.change.data().map_or(zeros, Content::Bytes) }
        });
        let parts: Vec<_> = parts.collect();
        let batch = journal.append(&parts)?;
        if let Some(batch) = &batch {
            writes.into_iter().for_each(|write| self.set_record(write, batch.sequence));
        }
        Ok(batch)
    }

    /// Records that a write is in a batch.
    fn set_record(&mut self, write: IoId, sequence: u64) {
        let pending = self.pending.get_mut(&write).expect("what is recorded is pending");
        let stage = pending.stage;
        assert!(stage == Stage::Unrecorded, "{write:?} is in batch {sequence}, and is {stage:?}");
        pending.stage = Stage::Recorded(sequence);
        self.unrecorded.remove(&write);
        *self.record_left.entry(sequence).or_default() += pending.changes.len() as u32;
        self.unstable.push_back((sequence, write));
        if self.planted.has(Bug::FlushBeforeBatch) {
            pending.changes.iter().for_each(|held| _ = self.cached.remove(&held.id));
        }
    }

    /// Notes that batches up to `stable` are stable.
    pub(super) fn note_stable(&mut self, stable: u64) {
        while let Some(&(sequence, write)) = self.unstable.front()
            && sequence <= stable
        {
            self.unstable.pop_front();
            self.changed.insert(write);
            // Its drives may all have failed since.
            let Some(pending) = self.pending.get(&write) else { continue };
            let stage = pending.stage;
            assert!(
                stage == Stage::Recorded(sequence),
                "batch {sequence} is stable, and {write:?} of it is {stage:?}"
            );
            for held in &pending.changes {
                self.cached.remove(&held.id);
            }
        }
    }

    /// Notes that more regions are marked.
    pub(super) fn note_marked(&mut self) {
        self.changed.append(&mut self.unmarked);
    }

    /// Returns the changes of the next write that may be released. Batches up to `stable` are
    /// stable.
    pub(super) fn release(&mut self, intent: &Intent, stable: u64) -> Option<Vec<Leaving<C>>> {
        while let Some(write) = self.changed.pop_first() {
            let Some(pending) = self.pending.get(&write) else { continue };
            let record = match pending.stage {
                Stage::Waiting | Stage::Unrecorded => continue,
                Stage::Admitted => None,
                Stage::Recorded(sequence) if sequence > stable => continue,
                Stage::Recorded(sequence) => Some(sequence),
            };
            if pending.behind > 0 && !self.planted.has(Bug::ChangesOvertake) {
                continue;
            }
            let mut regions = pending.changes.iter().flat_map(|held| held.extent.regions.clone());
            let is_marked = regions.all(|region| intent.is_ready(region));
            if !is_marked && !self.planted.has(Bug::MarkNotAwaited) {
                self.unmarked.insert(write);
                continue;
            }
            if let Some(sequence) = record {
                let is_open = self.record_left.contains_key(&sequence);
                assert!(is_open, "batch {sequence} is over, and {write:?} of it is released");
            }
            let changes = self.pending.remove(&write).map(|pending| pending.changes);
            let mut leaving = Vec::new();
            for Held { id, extent, change } in changes.into_iter().flatten() {
                leaving.push((id, extent.drive, change));
                let before = self.in_flight.insert(id, InFlight { extent, record });
                assert!(before.is_none(), "{id:?} is released twice");
            }
            return Some(leaving);
        }
        None
    }

    /// Ends a change in flight. Returns its drive, unless that has failed.
    pub(super) fn end(
        &mut self,
        now: Instant,
        id: IoId,
        intent: &mut Intent,
        journal: &mut JournalWriter,
    ) -> Option<DriveId> {
        let InFlight { extent, record } = self.in_flight.remove(&id)?;
        self.leave(now, id, &extent, intent);
        if let Some(sequence) = record {
            self.leave_record(sequence, journal);
        }
        Some(extent.drive)
    }

    /// Handles the failure of a drive: its changes in flight count as ended, and its held changes
    /// are returned.
    pub(super) fn fail(
        &mut self,
        now: Instant,
        drive: DriveId,
        intent: &mut Intent,
        journal: &mut JournalWriter,
    ) -> Vec<Leaving<C>> {
        let in_flight = self.in_flight.iter().filter(|(_, change)| change.extent.drive == drive);
        let ids: Vec<IoId> = in_flight.map(|(id, _)| *id).collect();
        for id in ids {
            self.end(now, id, intent, journal);
        }
        let mut cancelled = Vec::new();
        let mut records = Vec::new();
        for (&write, pending) in &mut self.pending {
            let of_drive = |held: &mut Held<C>| held.extent.drive == drive;
            for held in pending.changes.extract_if(.., of_drive) {
                if let Stage::Recorded(sequence) = pending.stage {
                    records.push(sequence);
                }
                cancelled.push((write, held));
            }
        }
        records.into_iter().for_each(|sequence| self.leave_record(sequence, journal));
        let mut leaving = Vec::new();
        for (write, Held { id, extent, change }) in cancelled {
            self.leave(now, id, &extent, intent);
            self.changed.insert(write);
            self.forget_if_empty(write);
            leaving.push((id, drive, change));
        }
        leaving
    }

    /// Removes a change from the order; changes behind it may move to the front.
    fn leave(&mut self, now: Instant, id: IoId, extent: &Extent, intent: &mut Intent) {
        for region in extent.regions.clone() {
            intent.finish(now, region);
        }
        self.cached.remove(&id);
        for write in self.order.leave(extent.drive, extent.blocks(), id) {
            if let Some(pending) = self.pending.get_mut(&write) {
                assert!(
                    pending.behind > 0,
                    "{write:?} waits for nothing, and {id:?} was before it"
                );
                pending.behind -= 1;
            }
            self.changed.insert(write);
        }
    }

    fn leave_record(&mut self, sequence: u64, journal: &mut JournalWriter) {
        let Some(left) = self.record_left.get_mut(&sequence) else {
            assert!(
                self.planted.has(Bug::BatchNotAwaited),
                "a change of batch {sequence} is over, and the batch was before"
            );
            return;
        };
        assert!(*left > 0, "batch {sequence} has ended before its last change");
        *left -= 1;
        if *left == 0 {
            self.record_left.remove(&sequence);
            journal.finish(sequence);
        }
    }

    /// Removes a write whose changes were all cancelled.
    fn forget_if_empty(&mut self, write: IoId) {
        if self.pending.get(&write).is_some_and(|pending| pending.changes.is_empty()) {
            self.pending.remove(&write);
            self.waiting.remove(&write);
            self.unrecorded.remove(&write);
            self.unmarked.remove(&write);
            self.open.remove(&write);
        }
    }

    /// Number of batches that were withdrawn.
    pub(super) const fn withdrawn(&self) -> u64 {
        self.withdrawn
    }

    /// Oldest change whose client may have been answered already.
    pub(super) fn first_cached(&self) -> Option<IoId> {
        self.cached.first().copied()
    }

    pub(super) fn check_invariants(&self, present: DriveSet, intent: &Intent) {
        for change in self.in_flight.values() {
            assert!(present.contains(change.extent.drive), "a failed drive writes nothing");
            for region in change.extent.regions.clone() {
                assert!(intent.is_marked(region), "region {region} is written and not marked");
            }
        }
        let mut records: BTreeMap<u64, u32> = BTreeMap::new();
        for record in self.in_flight.values().filter_map(|change| change.record) {
            *records.entry(record).or_default() += 1;
        }
        for (write, pending) in &self.pending {
            assert!(!pending.changes.is_empty(), "{write:?} has nothing to write");
            assert_eq!(pending.stage == Stage::Waiting, self.waiting.contains(write));
            assert_eq!(pending.stage == Stage::Unrecorded, self.unrecorded.contains(write));
            if let Stage::Recorded(sequence) = pending.stage {
                *records.entry(sequence).or_default() += pending.changes.len() as u32;
            }
            assert!(pending.changes.iter().all(|held| present.contains(held.extent.drive)));
        }
        assert_eq!(records, self.record_left);
    }
}

#[cfg(test)]
mod tests;
