//! What a running array writes down about itself, and what has to wait for that.
//!
//! A change of a drive's bytes goes to its storage when
//!
//! * the write-intent record says on stable storage that its region may be torn, and
//! * while a drive is missing, the journal holds all that its stripe operation writes.
//!
//! Both are written by the storage itself, so nobody waits but the change.

use super::Engine;
use super::bytes::Purpose;
use crate::buffer::Buffer;
use crate::durable::intent::Quiet;
use crate::durable::journal::HeadWrite;
use crate::durable::{Geometry, Intent, Journal, JournalError, MemberState, Members};
use crate::storage::{Place, Work};
use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};
use units::{DriveId, Duration, Instant};

/// Time between two looks at what could be taken back.
const TIDY_EVERY: Duration = Duration::from_secs(1);

/// The records of an array that outlives its process.
#[derive(Debug)]
pub struct Durable {
    /// Superblocks.
    pub members: Members,
    /// The write-intent record.
    pub intent: Intent,
    /// The journal of a degraded array.
    pub journal: Journal,
    /// What the array is.
    pub geometry: Geometry,
    /// Where each drive is.
    pub places: Vec<Place>,
}

/// Whether changes go through the journal.
#[derive(Debug)]
enum Journaling {
    /// No drive is missing, or the level needs no journal.
    Off,
    /// To these drives.
    On(Vec<DriveId>),
    /// The array is whole again: changes wait until the records count no longer. So many drives have
    /// yet to write that.
    Ending(Option<u32>),
}

/// A change that waits for the records.
#[derive(Debug)]
struct Held {
    transfer: u32,
    drive: DriveId,
    /// First byte, and the one after the last.
    bytes: Range<u64>,
    work: Work,
    regions: RangeInclusive<u32>,
    /// The stripe operation that it is a part of, by its number since the start.
    op: u64,
    /// Its record in the journal.
    record: Option<u64>,
    /// Whether it must have a record first.
    journalled: bool,
}

/// A change that the storage has begun.
#[derive(Debug)]
struct Begun {
    drive: DriveId,
    bytes: Range<u64>,
    regions: RangeInclusive<u32>,
    record: Option<u64>,
}

/// A round of syncs of all drives, and what it allows.
#[derive(Debug)]
struct Round {
    left: u32,
    quiet: Quiet,
    half: Option<usize>,
    ending: bool,
}

/// The records, if there are any, and what waits for them.
#[derive(Debug)]
pub(super) struct Keeping {
    pub(super) durable: Option<Durable>,
    journaling: Journaling,
    held: Vec<Held>,
    /// Changes under way, by their transfer.
    begun: BTreeMap<u32, Begun>,
    /// Blocks of the intent record, or records of the journal, that so many drives have yet to write.
    intent_left: BTreeMap<u32, u32>,
    journal_left: BTreeMap<u64, u32>,
    /// Changes under way by their record.
    record_left: BTreeMap<u64, u32>,
    round: Option<Round>,
    tidy_at: Instant,
    /// The journal had no room for what is held.
    full: bool,
}

impl Keeping {
    pub(super) fn new(durable: Option<Durable>) -> Self {
        let mut keeping = Self {
            durable,
            journaling: Journaling::Off,
            held: Vec::new(),
            begun: BTreeMap::new(),
            intent_left: BTreeMap::new(),
            journal_left: BTreeMap::new(),
            record_left: BTreeMap::new(),
            round: None,
            tidy_at: Instant::NEVER,
            full: false,
        };
        keeping.begin_journal();
        keeping
    }

    pub(super) fn uuid(&self) -> String {
        match &self.durable {
            Some(durable) => durable.members.uuid().to_string(),
            None => String::from("in memory"),
        }
    }

    pub(super) fn next_deadline(&self) -> Instant {
        self.tidy_at
    }

    /// Drives that do not hold all their data, as bits.
    fn not_whole(&self) -> u64 {
        let Some(durable) = &self.durable else { return 0 };
        let states = durable.members.states().iter().enumerate();
        let incomplete = states.filter(|(_, state)| **state != MemberState::Serving);
        incomplete.fold(0, |bits, (drive, _)| bits | 1 << drive)
    }

    fn begin_journal(&mut self) {
        let absent = self.not_whole();
        let Some(durable) = &self.durable else { return };
        let holders = Journal::holders(&durable.geometry, absent);
        if !holders.is_empty() {
            self.journaling = Journaling::On(holders);
        }
    }

    /// Whether nothing waits for a record, and no record is being written.
    pub(super) fn is_idle(&self) -> bool {
        self.held.is_empty() && self.round.is_none()
    }
}

impl Engine {
    /// Changes bytes of a drive as a part of the stripe operation with the serial number `op`, as soon
    /// as the records allow it.
    pub(super) fn change(
        &mut self,
        drive: DriveId,
        range: (u64, u64),
        work: Work,
        op: u64,
        purpose: Purpose,
    ) -> u32 {
        let (offset_bytes, length_bytes) = range;
        let transfer = self.book_transfer(drive, purpose);
        let now = self.now;
        let Some(durable) = &mut self.keeping.durable else {
            self.storage.submit(u64::from(transfer), drive, work);
            return transfer;
        };
        let intent = &mut durable.intent;
        let first = intent.region_of(offset_bytes);
        let last = intent.region_of(offset_bytes + length_bytes - 1);
        for region in first..=last {
            intent.mark(now, region);
        }
        if self.keeping.tidy_at == Instant::NEVER {
            self.keeping.tidy_at = now + TIDY_EVERY;
        }
        let journalled = !matches!(self.keeping.journaling, Journaling::Off);
        let regions = first..=last;
        let bytes = offset_bytes..offset_bytes + length_bytes;
        let held = Held { transfer, drive, bytes, work, regions, op, record: None, journalled };
        self.keeping.held.push(held);
        transfer
    }

    /// Writes down what the changes wait for that have come up, and lets go those that wait for
    /// nothing.
    pub(super) fn write_records(&mut self) {
        if self.keeping.held.is_empty() && self.keeping.intent_left.is_empty() {
            return;
        }
        self.write_intent();
        self.write_journal();
        self.release_held();
    }

    fn write_intent(&mut self) {
        let Some(durable) = &mut self.keeping.durable else { return };
        for write in durable.intent.blocks_to_write() {
            let mut buffer = Buffer::zeroed(write.bytes.len());
            buffer.bytes_mut().copy_from_slice(&write.bytes[..]);
            let length_bytes = write.bytes.len();
            let drives: Vec<DriveId> = self.present().collect();
            self.keeping.intent_left.insert(write.block, drives.len() as u32);
            for drive in drives {
                let (offset_bytes, buffer) = (write.offset_bytes, buffer.clone());
                let work = Work::WriteHead { offset_bytes, buffer, length_bytes };
                self.transfer(drive, work, Purpose::Intent(write.block));
            }
        }
    }

    /// The drives that have not failed, those that are being rebuilt included.
    pub(super) fn present(&self) -> impl Iterator<Item = DriveId> + use<> {
        let failed = self.failed;
        self.drives().filter(move |drive| failed >> drive.0 & 1 == 0)
    }

    /// Gives each stripe operation that waits for one a record in the journal, as far as there is
    /// room.
    fn write_journal(&mut self) {
        let Journaling::On(holders) = &self.keeping.journaling else { return };
        let holders = holders.clone();
        loop {
            let held = &self.keeping.held;
            let Some(first) = held.iter().find(|held| held.journalled && held.record.is_none())
            else {
                return;
            };
            let op = first.op;
            let zeros = vec![0; held.iter().map(|held| length_of(&held.work)).max().unwrap_or(0)];
            let mine = |held: &&Held| held.op == op && held.journalled && held.record.is_none();
            let parts: Vec<(DriveId, u64, &[u8])> =
                held.iter().filter(mine).map(|held| part(held, &zeros)).collect();
            let Some(durable) = &mut self.keeping.durable else { return };
            let write = match durable.journal.append(&parts) {
                Ok(write) => write,
                // When the other half is done and synced there is room again.
                Err(JournalError::Full) => {
                    self.keeping.full = true;
                    self.keeping.tidy_at = self.now;
                    return;
                }
                Err(error) => {
                    self.stop(format!("a write cannot be journalled: {error}"));
                    return;
                }
            };
            let mut count = 0;
            for held in &mut self.keeping.held {
                if held.op == op && held.journalled && held.record.is_none() {
                    held.record = Some(write.sequence);
                    count += 1;
                }
            }
            self.keeping.record_left.insert(write.sequence, count);
            self.keeping.journal_left.insert(write.sequence, holders.len() as u32);
            for &drive in &holders {
                self.write_head(drive, &write, Purpose::Journal(write.sequence));
            }
        }
    }

    fn write_head(&mut self, drive: DriveId, write: &HeadWrite, purpose: Purpose) {
        let (offset_bytes, buffer) = (write.offset_bytes, write.buffer.clone());
        let length_bytes = buffer.len();
        self.transfer(drive, Work::WriteHead { offset_bytes, buffer, length_bytes }, purpose);
    }

    fn release_held(&mut self) {
        let Some(durable) = &self.keeping.durable else { return };
        let stable = durable.journal.stable();
        let mut index = 0;
        while index < self.keeping.held.len() {
            let Some(durable) = &self.keeping.durable else { return };
            let held = &self.keeping.held[index];
            let marked = held.regions.clone().all(|region| durable.intent.is_ready(region));
            let recorded = !held.journalled || held.record.is_some_and(|record| record <= stable);
            if !(marked && recorded) || self.must_follow(index) {
                index += 1;
                continue;
            }
            let held = self.keeping.held.remove(index);
            let Held { transfer, drive, bytes, regions, record, .. } = held;
            self.keeping.begun.insert(transfer, Begun { drive, bytes, regions, record });
            self.storage.submit(u64::from(transfer), drive, held.work);
        }
    }

    /// Whether an earlier change of the same bytes is not done. Stripe operations keep off each other's
    /// rows, but staged pages are written where they belong while newer ones are staged or drained.
    fn must_follow(&self, index: usize) -> bool {
        if self.array.stage_counters().is_none() {
            return false;
        }
        let held = &self.keeping.held[index];
        let meets = |drive: DriveId, bytes: &Range<u64>| {
            drive == held.drive && bytes.start < held.bytes.end && held.bytes.start < bytes.end
        };
        self.keeping.held[..index].iter().any(|other| meets(other.drive, &other.bytes))
            || self.keeping.begun.values().any(|other| meets(other.drive, &other.bytes))
    }

    /// A transfer has ended: if it was a change, its region is one writer quieter.
    pub(super) fn end_change(&mut self, transfer: u32) {
        let Some(Begun { regions, record, .. }) = self.keeping.begun.remove(&transfer) else {
            return;
        };
        let now = self.now;
        let Some(durable) = &mut self.keeping.durable else { return };
        for region in regions {
            durable.intent.finish(now, region);
        }
        let Some(record) = record else { return };
        if let Some(left) = self.keeping.record_left.get_mut(&record) {
            *left -= 1;
            if *left == 0 {
                self.keeping.record_left.remove(&record);
                durable.journal.finish(record);
                if self.keeping.full && durable.journal.to_sync().is_some() {
                    self.keeping.tidy_at = now;
                }
            }
        }
    }

    /// Lets go what has waited for changes of the same bytes.
    pub(super) fn follow_changes(&mut self) {
        if !self.keeping.held.is_empty() {
            self.release_held();
        }
    }

    /// A drive has written a block of the intent record, or has failed to.
    pub(super) fn end_intent(&mut self, block: u32) {
        let Some(left) = self.keeping.intent_left.get_mut(&block) else { return };
        *left -= 1;
        if *left > 0 {
            return;
        }
        self.keeping.intent_left.remove(&block);
        if let Some(durable) = &mut self.keeping.durable {
            durable.intent.written(block);
        }
        self.write_intent();
        self.release_held();
    }

    /// A drive has written a record of the journal, or has failed to.
    pub(super) fn end_journal(&mut self, sequence: u64) {
        let Some(left) = self.keeping.journal_left.get_mut(&sequence) else { return };
        *left -= 1;
        if *left > 0 {
            return;
        }
        self.keeping.journal_left.remove(&sequence);
        if let Some(durable) = &mut self.keeping.durable {
            durable.journal.written(sequence);
        }
        self.release_held();
    }

    /// A drive has written that the records of the journal count no longer.
    pub(super) fn end_journal_end(&mut self) {
        let Journaling::Ending(Some(left)) = &mut self.keeping.journaling else { return };
        *left -= 1;
        if *left > 0 {
            return;
        }
        self.keeping.journaling = Journaling::Off;
        // A drive may have failed meanwhile.
        self.keeping.begin_journal();
        let again = matches!(self.keeping.journaling, Journaling::On(_));
        for held in &mut self.keeping.held {
            held.journalled = again;
        }
        self.write_records();
    }

    /// Takes back what can be taken back, now and then.
    pub(super) fn keep_up(&mut self, now: Instant) {
        if now < self.keeping.tidy_at || self.keeping.round.is_some() {
            return;
        }
        self.keeping.tidy_at = now + TIDY_EVERY;
        let not_whole = self.keeping.not_whole();
        let Some(durable) = &self.keeping.durable else { return };
        if matches!(self.keeping.journaling, Journaling::On(_)) && not_whole == 0 {
            self.keeping.journaling = Journaling::Ending(None);
        }
        let ending = matches!(self.keeping.journaling, Journaling::Ending(None))
            && self.keeping.record_left.is_empty();
        let quiet = durable.intent.quiet(now);
        let half = durable.journal.to_sync();
        if quiet.is_empty() && half.is_none() && !ending {
            return;
        }
        let drives: Vec<DriveId> = self.present().collect();
        self.keeping.round = Some(Round { left: drives.len() as u32, quiet, half, ending });
        for drive in drives {
            self.transfer(drive, Work::Sync, Purpose::Tidy);
        }
    }

    /// A drive is synced, for a round.
    pub(super) fn end_tidy(&mut self) {
        let Some(round) = &mut self.keeping.round else { return };
        round.left -= 1;
        if round.left > 0 {
            return;
        }
        let Some(Round { quiet, half, ending, .. }) = self.keeping.round.take() else { return };
        let Some(durable) = &mut self.keeping.durable else { return };
        durable.intent.clean(&quiet);
        if let Some(half) = half {
            durable.journal.retire(half);
            self.keeping.full = false;
        }
        if ending && self.keeping.record_left.is_empty() {
            // Nothing is open, so it is never busy.
            if let Ok(write) = durable.journal.clear() {
                let drives: Vec<DriveId> = self.present().collect();
                self.keeping.journaling = Journaling::Ending(Some(drives.len() as u32));
                for drive in drives {
                    self.write_head(drive, &write, Purpose::JournalEnd);
                }
            }
        }
        self.write_intent();
        self.write_journal();
        self.release_held();
    }

    /// Says on all drives how one of them takes part from now on. Those that cannot write it are
    /// given up.
    pub(super) fn note_member(&mut self, drive: DriveId, state: MemberState) {
        let Some(durable) = &mut self.keeping.durable else { return };
        let failed = durable.members.set_state(drive, state);
        let absent = self.array.absent();
        let parities = self.array.layout().parities();
        self.keeping.begin_journal_if_off();
        for (drive, error) in failed {
            tracing::error!(drive = drive.0, %error, "a drive cannot write its superblock");
            if absent.count_ones() > parities {
                self.stop(String::from("too few drives are left to write down that others failed"));
                return;
            }
            self.array.fail_drive(self.now, drive);
        }
    }
}

impl Keeping {
    /// The journal begins when a drive fails, and goes on if it was about to end.
    fn begin_journal_if_off(&mut self) {
        if matches!(self.journaling, Journaling::Off | Journaling::Ending(None)) {
            self.journaling = Journaling::Off;
            self.begin_journal();
            for held in &mut self.held {
                held.journalled = matches!(self.journaling, Journaling::On(_));
            }
        }
    }
}

fn length_of(work: &Work) -> usize {
    match work {
        Work::Discard { length_bytes, .. } => *length_bytes as usize,
        _ => 0,
    }
}

/// What the journal records of a change: a discard makes zeros.
fn part<'a>(held: &'a Held, zeros: &'a [u8]) -> (DriveId, u64, &'a [u8]) {
    match &held.work {
        Work::Write { offset_bytes, buffer, length_bytes } => {
            (held.drive, *offset_bytes, &buffer.bytes()[..*length_bytes])
        }
        Work::Discard { offset_bytes, length_bytes } => {
            (held.drive, *offset_bytes, &zeros[..*length_bytes as usize])
        }
        Work::Read { .. } | Work::WriteHead { .. } | Work::Sync => {
            unreachable!("only changes of data are held")
        }
    }
}
