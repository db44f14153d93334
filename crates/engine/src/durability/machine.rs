//! The durability machine: the order of writes and syncs.

use super::answers::Answers;
use super::drive_set::DriveSet;
use super::gate::WriteGate;
use super::head_io::Task;
use super::intent::Intent;
use super::io_ids::IoIds;
use super::journal::{Batch, HeadWrite, HeaderUse, Journal};
use super::journal_writer::JournalWriter;
use super::outbox::{DriveWrite, Outbox};
use super::output::{Change, End, Handed, IoId, IoResult, Output, StopReason, WantedChange};
use super::recorder::{Recorder, Recording, SuperblockWrite};
use super::setup::Setup;
use super::superblock::{MemberState, Superblock};
use super::syncs::{Round, SyncRounds};
use super::transitions::Transitions;
use super::uuid::Uuid;
use crate::checksums::ChecksumSetup;
use crate::planted::{Bug, Planted};
use crate::token::Token;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use array::FailReason;
use units::{DriveId, Instant};

/// The records of an array that was created or opened.
#[derive(Clone, Debug)]
pub struct Records {
    /// Newest superblock of the array.
    pub superblock: Superblock,
    /// The write-intent record.
    pub intent: Intent,
    /// The journal, empty.
    pub journal: Journal,
    /// Checksums of the data; `None` without checksums.
    pub checksums: Option<ChecksumSetup>,
    /// Times and sizes of the records.
    pub setup: Setup,
}

/// The order in which writes reach stable storage, in an array that outlives its process.
///
/// Inputs are `handle_*`. Call [`Durability::advance`] after them, then [`Durability::poll_output`]
/// until it returns `None`. Nothing blocks. These rules hold whenever the power fails:
///
/// * A change is released when its regions are marked on stable storage on all present drives:
///   after a crash parity is resynced there.
/// * While the journal is on, a change is released when the batch with all changes of its operation
///   is on stable storage on all its drives.
/// * A mark is cleared, or room in the journal reused, when the writes that it covers have ended
///   and all present drives were synced after that.
/// * A flush is answered when all that was answered before it is synced on all present drives.
///   While the journal is on, it is answered when all of that is in the journal.
/// * Nothing is answered while the superblocks of the other drives call a failed drive serving.
/// * The states of drives are changed only while nothing is half written (see the recorder's
///   steps).
///
/// The machine is a router between parts that own their state. Each part answers one question, and
/// none has access to another part's fields.
#[derive(Debug)]
pub struct Durability<C> {
    now: Instant,
    /// True if an input came since the last advance.
    changed: bool,
    /// Numbers of storage I/O.
    ids: IoIds,
    /// Changes that wait, and changes in flight.
    gate: WriteGate<C>,
    /// Marked regions, and the marks that may be cleared.
    intent: Intent,
    /// Drives whose changes are journalled, and the room for the next batch.
    journal: JournalWriter,
    /// Present and desired superblocks, and the step of a change between them.
    recorder: Recorder,
    /// Rounds of syncs, and their consequences.
    syncs: SyncRounds,
    /// Answers that wait.
    answers: Answers,
    /// Outputs, and the writes into heads and syncs under way.
    outbox: Outbox<C>,
}

impl<C: Change> Durability<C> {
    /// Creates the machine of an array whose superblocks say that it runs. Drives that they do not
    /// call failed are present.
    #[must_use]
    pub fn new(records: Records) -> Self {
        let Records { superblock, mut intent, journal, setup, .. } = records;
        intent.start();
        let recorder = Recorder::new(superblock, setup.planted);
        Self {
            now: Instant::ZERO,
            changed: true,
            ids: IoIds::default(),
            gate: WriteGate::new(setup.planted),
            intent,
            journal: JournalWriter::new(journal, recorder.to_journal()),
            recorder,
            syncs: SyncRounds::default(),
            answers: Answers::default(),
            outbox: Outbox::new(),
        }
    }

    /// Takes a change of a drive. The change comes back with [`Output::Release`], or with
    /// [`Output::Cancel`] if its drive fails before that.
    pub fn handle_change(&mut self, now: Instant, wanted: WantedChange<C>) -> Handed {
        self.note(now);
        let id = self.ids.take();
        if !self.recorder.present().contains(wanted.drive) {
            let WantedChange { drive, offset_bytes, length_bytes, joins, change, .. } = wanted;
            self.intent.note_missed(offset_bytes, length_bytes);
            self.outbox.cancel(vec![(id, drive, change)]);
            return Handed { id, write: joins.unwrap_or(id) };
        }
        self.gate.hold(self.now, id, wanted, &mut self.intent)
    }

    /// Ends a released change, a write into a head, or a sync. If it has failed, so has its drive.
    /// The ends of I/O of failed drives need not be reported.
    ///
    /// # Panics
    ///
    /// If there never was an I/O of this number.
    pub fn handle_io_ended(&mut self, now: Instant, id: IoId, result: IoResult) {
        self.note(now);
        assert!(id < self.ids.next(), "{id:?} has ended, and never began");
        match self.outbox.part(id) {
            Some((drive, task)) => self.end_part(id, drive, task, result),
            None => self.end_change(id, result),
        }
    }

    fn end_change(&mut self, id: IoId, result: IoResult) {
        let ended = self.gate.end(self.now, id, &mut self.intent, &mut self.journal);
        match (ended, result) {
            (Some(drive), IoResult::Failed) => self.fail(drive, Some(FailReason::Change)),
            (Some(drive), IoResult::NoRoom) => self.stop(StopReason::NoRoom { drive }),
            (None, _) | (_, IoResult::Done) => {}
        }
    }

    fn end_part(&mut self, id: IoId, drive: DriveId, task: Task, result: IoResult) {
        match result {
            IoResult::Failed if task != Task::Sync || !self.has(Bug::FailedSyncCounts) => {
                self.fail(drive, Some(task.fail_reason()));
            }
            IoResult::Done | IoResult::Failed => {
                if let Some(task) = self.outbox.end_part(id) {
                    self.end_task(task);
                }
            }
            IoResult::NoRoom => self.stop(StopReason::NoRoom { drive }),
        }
    }

    /// Handles a failed write of checksums, or a failed sync that the machine did not ask for. The
    /// drive has failed for `reason`, or the storage has no room.
    pub fn handle_io_failed(
        &mut self,
        now: Instant,
        drive: DriveId,
        reason: FailReason,
        result: IoResult,
    ) {
        self.note(now);
        match result {
            IoResult::Done => {}
            IoResult::Failed => self.fail(drive, Some(reason)),
            IoResult::NoRoom => self.stop(StopReason::NoRoom { drive }),
        }
    }

    /// Handles the failure of a drive that the array reports. A known failure has no effect.
    pub fn handle_drive_failed(&mut self, now: Instant, drive: DriveId) {
        self.note(now);
        self.fail(drive, None);
    }

    /// Handles an empty drive in the place of a failed one, with a formatted head and no
    /// superblock.
    pub fn handle_drive_replaced(&mut self, now: Instant, drive: DriveId) {
        self.note(now);
        self.fail(drive, None);
        self.intent.forget_missed(drive);
        self.recorder.replace(drive);
        self.intent.handle_drive_joined();
    }

    /// Handles the return of a failed drive with its old data
    /// ([`check_return`](super::check_return)), with a formatted head and no superblock. The
    /// records treat it as a new drive, because a later start does not know which regions it
    /// missed.
    pub fn handle_drive_returned(&mut self, now: Instant, drive: DriveId) {
        self.note(now);
        self.recorder.replace(drive);
        self.intent.handle_drive_joined();
    }

    /// Handles the end of a rebuild: the array has written all data of the drive.
    pub fn handle_drive_rebuilt(&mut self, now: Instant, drive: DriveId) {
        self.note(now);
        if self.recorder.present().contains(drive) {
            self.recorder.rebuilt(drive, self.ids.next());
        }
    }

    /// Handles progress of a rebuild: the array has written all data of the stripes before
    /// `stripe`. The next start resumes there once the superblocks record it, which happens after a
    /// sync of the drive.
    pub fn handle_rebuilt_before(&mut self, now: Instant, drive: DriveId, stripe: u64) {
        self.note(now);
        let stripe = stripe + u64::from(self.has(Bug::CursorAhead));
        let cursor_bytes = self.recorder.superblock().geometry.bytes_before(stripe);
        self.recorder.rebuilt_before(drive, cursor_bytes, self.ids.next());
    }

    /// Notes that the resync has ended: the parity of all stripes that were found marked at the
    /// start fits their data, or was left as it is.
    pub fn handle_parity_resynced(&mut self, now: Instant) {
        self.note(now);
        for region in self.intent.dirty_regions() {
            self.intent.resynced(region);
        }
    }

    /// Takes the answer to a write without forced unit access. The answer waits only while the loss
    /// of a drive is not recorded on the others.
    pub fn handle_answer(&mut self, answer: Token) {
        if self.outbox.is_over() {
            return self.outbox.refuse(answer);
        }
        self.answers.add(answer);
        self.changed = true;
    }

    /// Returns true if changes of this drive go through the journal. Such changes may count as done
    /// as soon as they are handed over ([`WantedChange::cached`]).
    #[must_use]
    pub fn is_journalled(&self, drive: DriveId) -> bool {
        !self.outbox.is_over()
            && self.journal.drives().contains(drive)
            && self.recorder.present().contains(drive)
    }

    /// Returns true if [`Durability::handle_answer`] would give the answer at once.
    #[must_use]
    pub fn answers_at_once(&self) -> bool {
        !self.outbox.is_over()
            && self.answers.has_none_ready()
            && !self.recorder.has_unrecorded_loss()
    }

    /// Takes a flush: all that was answered before must reach stable storage.
    pub fn handle_flush(&mut self, now: Instant, answer: Token) {
        self.note(now);
        if self.outbox.is_over() {
            return self.outbox.refuse(answer);
        }
        self.answers.ask_flush(self.ids.next(), answer);
    }

    /// Ends all changes: the superblocks are to record that the array has ended.
    pub fn handle_end(&mut self, now: Instant) {
        self.note(now);
        self.recorder.end();
    }

    /// Handles the deadline.
    pub fn handle_deadline(&mut self, now: Instant) {
        self.note(now);
        if !self.intent.is_tidy_due(self.now) {
            return;
        }
        // Regions that were quiet before a drive failed need their marks until the failure is
        // recorded: a start that finds the drive again has to resync them.
        if self.recorder.has_unrecorded_loss() {
            return;
        }
        let quiet = self.intent.quiet(self.now);
        if quiet.is_empty() {
            return;
        }
        if self.has(Bug::MarkClearedUnsynced) {
            self.intent.clean(&quiet);
        } else {
            self.syncs.ask_quiet(quiet);
        }
    }

    /// Time at which to call [`Durability::handle_deadline`].
    #[must_use]
    pub fn next_deadline(&self) -> Instant {
        self.intent.next_deadline()
    }

    /// Advances as far as the inputs allow. Call it after them, before [`Durability::poll_output`].
    /// Later changes of an operation belong to another write.
    pub fn advance(&mut self) {
        self.gate.seal();
        while core::mem::take(&mut self.changed) && !self.outbox.is_over() {
            self.go_on();
        }
    }

    /// Returns true if all released changes have to end before the superblocks can be changed.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.recorder.step() == Recording::Draining && !self.outbox.is_over()
    }

    /// Returns the next output of [`Durability::advance`].
    pub fn poll_output(&mut self) -> Option<Output<C>> {
        let output = self.outbox.poll();
        debug_assert!(
            output.is_some() || !self.changed || self.outbox.is_over(),
            "the caller polls until there is nothing and has not called `advance`"
        );
        output
    }

    /// Returns true if no change is held or in flight, no record is being written and no flush
    /// waits.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.gate.is_empty()
            && self.outbox.is_empty()
            && self.syncs.is_empty()
            && self.answers.is_empty()
            && self.recorder.is_settled()
    }

    /// Returns true if the superblocks of the others record the failure of a drive. Before that the
    /// drive must stay in its place: a start after a power cut may need its data.
    #[must_use]
    pub fn is_failure_recorded(&self, drive: DriveId) -> bool {
        self.recorder.is_failure_recorded(drive)
    }

    /// UUID of the array.
    #[must_use]
    pub fn uuid(&self) -> Uuid {
        self.recorder.superblock().uuid
    }

    /// Newest superblock, written or about to be; its member is the drive that was written last.
    #[must_use]
    pub fn superblock(&self) -> &Superblock {
        self.recorder.superblock()
    }

    /// Generation of the superblocks of a clean end, if the machine is idle, no drive fails and
    /// [`Durability::handle_end`] comes next.
    #[must_use]
    pub fn end_generation(&self) -> u64 {
        self.recorder.superblock().generation + 2
    }

    /// The write-intent record, for the head of a drive that joins.
    #[must_use]
    pub fn intent(&self) -> &Intent {
        &self.intent
    }

    /// The journal, for the head of a drive that joins.
    #[must_use]
    pub fn journal(&self) -> &Journal {
        self.journal.journal()
    }

    /// Transitions of the journal since the start.
    #[must_use]
    pub const fn transitions(&self) -> Transitions {
        let journal = self.journal.journal().transitions();
        Transitions { batches_withdrawn: self.gate.withdrawn(), ..journal }
    }

    /// Checks the invariants that hold between any two calls.
    ///
    /// # Panics
    ///
    /// If an invariant does not hold.
    pub fn check_invariants(&self) {
        let present = self.recorder.present();
        self.recorder.check_invariants();
        self.outbox.check_invariants(present, self.syncs.is_running());
        self.gate.check_invariants(present, &self.intent);
        match self.recorder.step() {
            Recording::Idle | Recording::Draining => {}
            Recording::Syncing
            | Recording::PreparingSuperblocks
            | Recording::CommittingSuperblocks
            | Recording::ClearingJournal => {
                assert!(self.gate.is_drained(), "nothing is half written while that is recorded");
            }
        }
    }

    /// The bug that is planted.
    pub(crate) const fn planted(&self) -> Planted {
        self.journal.journal().planted()
    }

    fn has(&self, bug: Bug) -> bool {
        self.planted().has(bug)
    }

    fn is_clearing(&self) -> bool {
        self.recorder.step() == Recording::ClearingJournal
    }

    fn note(&mut self, now: Instant) {
        self.now = self.now.max(now);
        self.changed = true;
    }
}

/// Steps that follow from inputs as soon as they are allowed.
impl<C: Change> Durability<C> {
    fn go_on(&mut self) {
        self.advance_recording();
        if self.recorder.step() == Recording::Idle {
            self.gate.admit(self.journal.drives());
        }
        self.write_intent();
        self.append_batches();
        while !self.outbox.is_over()
            && let Some(changes) = self.gate.release(&self.intent, self.journal.stable())
        {
            self.outbox.release(changes);
        }
        let half = self.journal.half_to_sync();
        match half.filter(|_| !self.recorder.has_unrecorded_loss()) {
            Some(first) if self.has(Bug::HalfRetiredUnsynced) => self.retire(first),
            _ if half.is_some() => self.syncs.ask_half(),
            _ => {}
        }
        if !self.outbox.is_over() && !self.journal.drives().is_empty() {
            let covered = self.answers.take_covered(self.gate.first_cached());
            self.answers.flushed(covered);
        }
        if !self.outbox.is_over() && !self.syncs.is_running() {
            self.begin_round(half);
        }
        while !self.outbox.is_over()
            && (!self.recorder.has_unrecorded_loss() || self.has(Bug::AnswerBeforeLossRecorded))
        {
            let Some(answer) = self.answers.next() else { break };
            self.outbox.answer(answer);
        }
    }

    /// Begins a round of syncs, if one is wanted.
    fn begin_round(&mut self, half: Option<u64>) {
        let flushes = self.answers.take_covered(self.gate.first_cached());
        if flushes.is_empty() && !self.syncs.is_wanted() {
            return;
        }
        self.syncs.begin(flushes, half, !self.intent.is_resyncing());
        let settles = self.syncs.settles() && !self.has(Bug::SyncWithoutSums);
        let drives = self.to_sync();
        if !self.outbox.sync(&mut self.ids, drives, settles) {
            self.end_task(Task::Sync);
        }
    }

    /// Advances through the steps that need no wait. The other steps end in
    /// [`Durability::end_task`].
    fn advance_recording(&mut self) {
        for drive in self.recorder.take_rebuilt(self.gate.first_cached()).iter() {
            self.intent.forget_missed(drive);
        }
        if self.recorder.must_begin() {
            self.recorder.begin_step(Recording::Draining);
            self.gate.withdraw();
        }
        // Changes that were journalled or released before go on to their end.
        let is_drained = self.gate.is_drained() && self.journal.is_stable();
        if self.recorder.step() == Recording::Draining && is_drained {
            if self.has(Bug::SuperblocksUnsynced) {
                return self.prepare_superblocks();
            }
            self.recorder.begin_step(Recording::Syncing);
            self.syncs.ask_recording();
        }
    }

    /// Returns the drives of a round of syncs.
    fn to_sync(&self) -> DriveSet {
        let present = self.recorder.present();
        let rebuilding = present.intersection(self.recorder.recorded_absent());
        if !rebuilding.is_empty() && self.has(Bug::RebuildingDriveUnsynced) {
            return present.without(rebuilding);
        }
        present
    }

    fn end(&self) -> End {
        match () {
            () if !self.gate.is_empty() => End::ChangesHeld,
            () if self.intent.is_resyncing() => End::ParityNotResynced,
            () => End::Clean,
        }
    }

    fn prepare_superblocks(&mut self) {
        assert!(
            self.gate.is_drained(),
            "a drive's part is recorded while something is half written"
        );
        let end = self.end();
        if self.recorder.ends_unclean(end) {
            return self.outbox.finish(end);
        }
        self.recorder.begin_step(Recording::PreparingSuperblocks);
        let blocks = self.recorder.prepare(end);
        if self.has(Bug::SuperblocksUnprepared) {
            return self.commit_superblocks();
        }
        self.write_superblocks(blocks);
    }

    fn commit_superblocks(&mut self) {
        self.recorder.begin_step(Recording::CommittingSuperblocks);
        let blocks = self.recorder.commit();
        self.write_superblocks(blocks);
    }

    fn write_superblocks(&mut self, blocks: Vec<SuperblockWrite>) {
        if blocks.is_empty() {
            return self.stop(StopReason::TooFewDrives);
        }
        let writes = blocks.into_iter();
        let writes =
            writes.map(|(drive, offset_bytes, bytes)| (drive, offset_bytes, Arc::new(bytes)));
        self.write_each(Task::Superblocks, writes.collect());
    }

    fn clear_journal(&mut self) {
        if !self.has(Bug::DegradedJournalNotBegun) {
            self.journal.set_drives(self.recorder.to_journal());
        }
        if self.journal.is_unused() || self.has(Bug::JournalNotCleared) {
            return self.recorder.begin_step(Recording::Idle);
        }
        self.recorder.begin_step(Recording::ClearingJournal);
        // Two headers must not be torn at once.
        if !self.journal.is_header_in_flight() {
            self.write_clear();
        }
    }

    fn write_clear(&mut self) {
        match self.journal.clear() {
            Ok(header) => self.write_header(header),
            // Nothing is in flight, so all writes of all batches have ended.
            Err(error) => self.stop(StopReason::Journal(error)),
        }
    }

    fn write_header(&mut self, header: HeadWrite) {
        let present = self.recorder.present();
        self.write_heads(Task::JournalHeader, present, header.offset_bytes, header.bytes);
    }

    fn write_intent(&mut self) {
        for write in self.intent.blocks_to_write() {
            let present = self.recorder.present();
            let task = Task::Intent { block: write.block };
            self.write_heads(task, present, write.offset_bytes, write.bytes.to_vec());
        }
    }

    fn append_batches(&mut self) {
        while !self.outbox.is_over() {
            match self.gate.record(&mut self.journal) {
                Ok(None) => return,
                Ok(Some(Batch { sequence, records })) => {
                    let writes = records.into_iter();
                    let writes = writes.map(|(drive, HeadWrite { offset_bytes, bytes })| {
                        (drive, offset_bytes, Arc::new(bytes))
                    });
                    self.write_each(Task::Batch { sequence }, writes.collect());
                    if self.has(Bug::BatchNotAwaited) {
                        self.end_task(Task::Batch { sequence });
                    }
                }
                Err(error) => self.stop(StopReason::Journal(error)),
            }
        }
    }

    /// Writes the same block into the heads of several drives.
    fn write_heads(&mut self, task: Task, drives: DriveSet, offset_bytes: u64, bytes: Vec<u8>) {
        let bytes = Arc::new(bytes);
        let writes = drives.iter().map(|drive| (drive, offset_bytes, Arc::clone(&bytes)));
        self.write_each(task, writes.collect());
    }

    /// Writes its own block into the head of each drive. Without any drive the task is done.
    fn write_each(&mut self, task: Task, writes: Vec<DriveWrite>) {
        if !self.outbox.write_heads(&mut self.ids, task, writes) {
            self.end_task(task);
        }
    }
}

/// Consequences of a task that is done on all drives.
impl<C: Change> Durability<C> {
    fn end_task(&mut self, task: Task) {
        self.changed = true;
        match task {
            Task::Intent { block } => {
                self.intent.written(block);
                self.gate.note_marked();
            }
            Task::Batch { sequence } => {
                self.journal.written(sequence);
                self.gate.note_stable(self.journal.stable());
            }
            Task::Superblocks if self.recorder.step() == Recording::PreparingSuperblocks => {
                self.commit_superblocks();
            }
            Task::Superblocks => {
                let clean = self.recorder.committed();
                if self.recorder.is_recorded() && clean {
                    return self.outbox.finish(End::Clean);
                }
                self.clear_journal();
            }
            Task::JournalHeader => match self.journal.header_written() {
                Some(HeaderUse::Clear) => self.recorder.begin_step(Recording::Idle),
                Some(HeaderUse::Retire { .. }) if self.is_clearing() => self.write_clear(),
                Some(HeaderUse::Retire { .. }) | None => {}
            },
            Task::Sync => self.end_sync(),
        }
    }

    fn end_sync(&mut self) {
        let Round { flushes, quiet, half, recording, covers_resync } = self.syncs.end();
        self.answers.flushed(flushes);
        if self.has(Bug::FlushJoinsRunningSync) {
            let waiting = self.answers.take_flushes();
            self.answers.flushed(waiting);
        }
        // A drive that has failed since was not synced: if a start finds it again, marks and
        // records are needed for it.
        if !self.recorder.has_unrecorded_loss() || self.has(Bug::LossForgottenAfterSync) {
            if let Some(quiet) = quiet {
                self.intent.clean(&quiet);
            }
            if let Some(first) = half {
                self.retire(first);
            }
        }
        if recording && !covers_resync && !self.intent.is_resyncing() {
            self.syncs.ask_recording();
        } else if recording {
            self.prepare_superblocks();
        }
    }

    fn retire(&mut self, first: u64) {
        if let Some(header) = self.journal.retire(first) {
            self.write_header(header);
            if self.has(Bug::HalfRefilledEarly) {
                self.end_task(Task::JournalHeader);
            }
        }
    }

    fn fail(&mut self, drive: DriveId, reason: Option<FailReason>) {
        if !self.recorder.present().contains(drive) {
            return;
        }
        let geometry = &self.recorder.superblock().geometry;
        let too_few = reason == Some(FailReason::Superblock)
            && geometry.misses_too_much(!self.recorder.present().bits());
        let superblock = self.recorder.superblock();
        let generations = superblock.committed..=superblock.generation;
        let was_behind = self.recorder.wanted(drive) != Some(MemberState::Serving);
        self.intent.handle_drive_failed(drive, generations, was_behind);
        self.recorder.fail(drive);
        if let Some(reason) = reason {
            self.outbox.fail_drive(drive, reason);
        }
        let torn = self.outbox.batch_of(drive);
        let cancelled = self.gate.fail(self.now, drive, &mut self.intent, &mut self.journal);
        self.outbox.cancel(cancelled);
        // A start that finds the drive again would take this batch for one that never became
        // stable. Nothing of it may be changed before the superblocks say that the drive has
        // failed.
        if let Some(sequence) = torn.filter(|_| !self.has(Bug::TornBatchKept)) {
            self.gate.withdraw_batch(sequence, &mut self.journal);
        }
        let done = self.outbox.end_parts_of(drive);
        if too_few {
            return self.stop(StopReason::TooFewDrives);
        }
        for task in done {
            self.end_task(task);
        }
    }

    fn stop(&mut self, reason: StopReason) {
        if self.outbox.is_over() {
            return;
        }
        self.outbox.stop(reason);
        let mut waiting = self.answers.take_ready();
        waiting.extend(self.syncs.take_flushes());
        waiting.extend(self.answers.take_flushes());
        for answer in waiting {
            match self.has(Bug::StoppedArrayAnswers) {
                true => self.outbox.answer(answer),
                false => self.outbox.refuse(answer),
            }
        }
    }
}
