//! The machine that knows what must be on stable storage before what.

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
    /// What the superblocks say, as they were written last.
    pub superblock: Superblock,
    /// The write-intent record.
    pub intent: Intent,
    /// The journal, empty.
    pub journal: Journal,
    /// Where the checksums of data are, if they have any.
    pub checksums: Option<ChecksumSetup>,
    /// How they are kept.
    pub setup: Setup,
}

/// What must be on stable storage before what, in an array that outlives its process.
///
/// Inputs are `handle_*`. [`Durability::advance`] is called after them, and
/// [`Durability::poll_output`] says what is to be done until it is empty. Nothing blocks. These rules hold whenever the power goes:
///
/// * A change is released when its regions are marked on stable storage on all present drives:
///   after a crash parity is resynced there.
/// * While the journal is on, a change is released when the batch with all that its operation
///   changes is on stable storage, on each drive its part.
/// * A mark is taken back, and room in the journal used again, when what they stand for has ended
///   and all present drives were synced after that.
/// * A flush is answered when all that had been answered before is synced on all present drives;
///   while the journal is on, at once, because it has all that was answered.
/// * Nothing is answered while the superblocks of the others call a drive serving that has failed.
/// * How drives take part is changed only while nothing is half written (see the recorder's steps).
///
/// It is a router between parts that own their state. Each answers one question, and none knows
/// the others' fields.
#[derive(Debug)]
pub struct Durability<C> {
    now: Instant,
    /// Something has happened since all was looked at last.
    changed: bool,
    /// The numbers of what the storage does.
    ids: IoIds,
    /// Which changes wait, and which of them may go.
    gate: WriteGate<C>,
    /// Which regions are marked, and which marks may be taken back.
    intent: Intent,
    /// Whose changes are journalled, and whether another batch may be written.
    journal: JournalWriter,
    /// What the superblocks say and should say, and in which step that is changed.
    recorder: Recorder,
    /// For what drives are synced, and what that allows.
    syncs: SyncRounds,
    /// Which clients may be answered.
    answers: Answers,
    /// What is to be done next, and which writes into heads and syncs of that are under way.
    outbox: Outbox<C>,
}

impl<C: Change> Durability<C> {
    /// The machine of an array whose superblocks say that it runs. Drives that they do not call
    /// failed are present.
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

    /// A drive is to be changed. The change comes back with [`Output::Release`], or with
    /// [`Output::Cancel`] if its drive fails before.
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

    /// A change that was released, a write into a head, or a sync has ended. If it has failed, so
    /// has its drive. Nothing need be said any more about drives that have failed.
    ///
    /// # Panics
    ///
    /// If there never was such an I/O.
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

    /// A write of checksums, or a sync that the machine did not ask for, has not succeeded: its
    /// drive has failed for this reason, or there is no room.
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

    /// The array has given a drive up. If that is known already nothing happens.
    pub fn handle_drive_failed(&mut self, now: Instant, drive: DriveId) {
        self.note(now);
        self.fail(drive, None);
    }

    /// An empty drive is in the place of a failed one, its head formatted, without a superblock.
    pub fn handle_drive_replaced(&mut self, now: Instant, drive: DriveId) {
        self.note(now);
        self.fail(drive, None);
        self.intent.forget_missed(drive);
        self.recorder.replace(drive);
        self.intent.handle_drive_joined();
    }

    /// A drive that failed is back with what it held ([`check_return`](super::check_return)), its
    /// head formatted, without a superblock. For the records it is a new one, because a later start
    /// does not know what it missed.
    pub fn handle_drive_returned(&mut self, now: Instant, drive: DriveId) {
        self.note(now);
        self.recorder.replace(drive);
        self.intent.handle_drive_joined();
    }

    /// The array has written all data of a drive that was being rebuilt.
    pub fn handle_drive_rebuilt(&mut self, now: Instant, drive: DriveId) {
        self.note(now);
        if self.recorder.present().contains(drive) {
            self.recorder.rebuilt(drive, self.ids.next());
        }
    }

    /// The array has written all data of the stripes before this one, of a drive that is being
    /// rebuilt. The next start goes on from there once the superblocks say so, which they do when
    /// the drive is synced.
    pub fn handle_rebuilt_before(&mut self, now: Instant, drive: DriveId, stripe: u64) {
        self.note(now);
        let stripe = stripe + u64::from(self.has(Bug::CursorAhead));
        let cursor_bytes = self.recorder.superblock().geometry.bytes_before(stripe);
        self.recorder.rebuilt_before(drive, cursor_bytes, self.ids.next());
    }

    /// The parity of all stripes that were found marked at the start fits their data, or was left
    /// as it is.
    pub fn handle_parity_resynced(&mut self, now: Instant) {
        self.note(now);
        for region in self.intent.dirty_regions() {
            self.intent.resynced(region);
        }
    }

    /// A write has ended whose client did not ask for stable storage. Its answer waits only while
    /// the loss of a drive is not recorded on the others.
    pub fn handle_answer(&mut self, answer: Token) {
        if self.outbox.is_over() {
            return self.outbox.refuse(answer);
        }
        self.answers.add(answer);
        self.changed = true;
    }

    /// Whether changes of this drive go through the journal, so that they may count as done as soon
    /// as they are handed over ([`WantedChange::cached`]).
    #[must_use]
    pub fn is_journalled(&self, drive: DriveId) -> bool {
        !self.outbox.is_over()
            && self.journal.drives().contains(drive)
            && self.recorder.present().contains(drive)
    }

    /// Whether [`Durability::handle_answer`] would allow the answer at once.
    #[must_use]
    pub fn answers_at_once(&self) -> bool {
        !self.outbox.is_over()
            && self.answers.has_none_ready()
            && !self.recorder.has_unrecorded_loss()
    }

    /// A client asks that all that was answered before is on stable storage.
    pub fn handle_flush(&mut self, now: Instant, answer: Token) {
        self.note(now);
        if self.outbox.is_over() {
            return self.outbox.refuse(answer);
        }
        self.answers.ask_flush(self.ids.next(), answer);
    }

    /// Nothing is to be changed any more: the superblocks are to say that the array has ended.
    pub fn handle_end(&mut self, now: Instant) {
        self.note(now);
        self.recorder.end();
    }

    /// The deadline has come.
    pub fn handle_deadline(&mut self, now: Instant) {
        self.note(now);
        if !self.intent.is_tidy_due(self.now) {
            return;
        }
        // What was quiet before a drive failed needs its mark until the failure is recorded: a
        // start that finds the drive again has to resync there.
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

    /// When [`Durability::handle_deadline`] is to be called.
    #[must_use]
    pub fn next_deadline(&self) -> Instant {
        self.intent.next_deadline()
    }

    /// Goes on as far as the inputs so far allow: called after them, before
    /// [`Durability::poll_output`]. Changes of an operation that come later are another write.
    pub fn advance(&mut self) {
        self.gate.seal();
        while core::mem::take(&mut self.changed) && !self.outbox.is_over() {
            self.go_on();
        }
    }

    /// Whether all that was released has to end before the superblocks can be changed.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.recorder.step() == Recording::Draining && !self.outbox.is_over()
    }

    /// The next thing to do that came of [`Durability::advance`].
    pub fn poll_output(&mut self) -> Option<Output<C>> {
        let output = self.outbox.poll();
        debug_assert!(
            output.is_some() || !self.changed || self.outbox.is_over(),
            "the caller polls until there is nothing and has not called `advance`"
        );
        output
    }

    /// Whether no change is held or in flight, no record is being written and no flush waits.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.gate.is_empty()
            && self.outbox.is_empty()
            && self.syncs.is_empty()
            && self.answers.is_empty()
            && self.recorder.is_settled()
    }

    /// Whether the superblocks of the others say that a drive has failed. Before that it must stay
    /// in its place: a start after a power cut may need what it holds.
    #[must_use]
    pub fn is_failure_recorded(&self, drive: DriveId) -> bool {
        self.recorder.is_failure_recorded(drive)
    }

    /// The array.
    #[must_use]
    pub fn uuid(&self) -> Uuid {
        self.recorder.superblock().uuid
    }

    /// What the superblocks say, or will in a moment; of the drive that was written last.
    #[must_use]
    pub fn superblock(&self) -> &Superblock {
        self.recorder.superblock()
    }

    /// The generation of the superblocks that say that the array has ended, if it is idle, no drive
    /// fails and [`Durability::handle_end`] comes next.
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

    /// Checks what is true between any two calls.
    ///
    /// # Panics
    ///
    /// If it is not.
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

/// What happens as soon as it may.
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

    /// Syncs drives, if that is wanted.
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

    /// The steps that need no wait. Each of the others ends in [`Durability::end_task`].
    fn advance_recording(&mut self) {
        for drive in self.recorder.take_rebuilt(self.gate.first_cached()).iter() {
            self.intent.forget_missed(drive);
        }
        if self.recorder.must_begin() {
            self.recorder.begin_step(Recording::Draining);
            self.gate.withdraw();
        }
        // What was journalled or released before goes on to its end.
        let is_drained = self.gate.is_drained() && self.journal.is_stable();
        if self.recorder.step() == Recording::Draining && is_drained {
            if self.has(Bug::SuperblocksUnsynced) {
                return self.prepare_superblocks();
            }
            self.recorder.begin_step(Recording::Syncing);
            self.syncs.ask_recording();
        }
    }

    /// The drives of a round of syncs.
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
            // Nothing is in flight, so no batch is of a write that has not ended.
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

    /// Writes the same into the heads of several drives.
    fn write_heads(&mut self, task: Task, drives: DriveSet, offset_bytes: u64, bytes: Vec<u8>) {
        let bytes = Arc::new(bytes);
        let writes = drives.iter().map(|drive| (drive, offset_bytes, Arc::clone(&bytes)));
        self.write_each(task, writes.collect());
    }

    /// Writes into the head of each drive what is its own. Without any drive the task is done.
    fn write_each(&mut self, task: Task, writes: Vec<DriveWrite>) {
        if !self.outbox.write_heads(&mut self.ids, task, writes) {
            self.end_task(task);
        }
    }
}

/// What follows when something is done on all drives.
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
        // A drive that has failed meanwhile was not synced: if a start finds it again, marks and
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
