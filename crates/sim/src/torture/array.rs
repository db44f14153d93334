//! The running array under torture: its volume, its simulated disks, and the requests that wait.

use super::collecting::{Collecting, Met};
use super::disk::{BLOCK_BYTES, Content, SimDisk, Write};
use super::history::Shape;
use super::looks::Looks;
use super::pages::{Page, Pages};
use super::powered::Fuse;
use engine::durability::{HEAD_BYTES, IoResult, Records};
use engine::volume::Output;
use engine::{Bytes, Drive, Engine, Memory, Output as EngineOutput, StorageWork, Volume, Work};
use nvme::PlFlag;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use units::{DriveId, Duration, Instant, Rng};

/// An answer of a disk.
#[derive(Debug)]
struct Answer {
    tag: u32,
    drive: DriveId,
    /// Number of the disk that was in the place when the command came.
    disk: u32,
    kind: ClientWork,
    buffer: Option<Page>,
}

#[derive(Debug)]
enum ClientWork {
    Read {
        offset_bytes: u64,
        length_bytes: usize,
    },
    Write,
    /// A sync, with the number of the last write that it covers.
    Sync(u64),
    /// A read that fails fast; it would have waited for this time.
    FailsFast(Duration),
}

/// A disk in its place.
#[derive(Clone, Debug)]
pub(super) struct Bay {
    /// Number of the disk: higher for each disk that is put in.
    pub(super) number: u32,
    pub(super) disk: SimDisk,
    commands: u64,
    /// Blocks that hold data, from the start of the file.
    data: Range<u64>,
}

/// The running array.
pub(super) struct Running {
    pub(super) volume: Volume<Pages>,
    pub(super) now: Instant,
    pub(super) bays: Vec<Bay>,
    seed: u64,
    answers: BTreeMap<(Instant, u64), Answer>,
    submitted: u64,
    /// Time at which a read last failed because of a fault.
    pub(super) read_failed: Option<Instant>,
    /// Commands and answers left until the power fails.
    pub(super) fuse: Fuse,
    /// Schedule of power cuts on copies.
    pub(super) looks: Looks,
    pub(super) collecting: Collecting,
}

impl Bay {
    pub(super) fn new(number: u32, disk: SimDisk, data: Range<u64>) -> Self {
        Self { number, disk, commands: 0, data }
    }
}

/// Reason for which [`Running::run`] returns.
#[derive(Debug)]
pub(super) enum Happened {
    /// The volume has an output.
    Output(Output),
    /// The power has failed.
    PowerCut,
    /// A power cut on a copy is due.
    Moment,
    /// The time limit is reached.
    Reached,
    /// More members of a stripe are in their busy windows than it can miss, as bits.
    TooManyBusy(u64),
}

impl Running {
    pub(super) fn new(
        shape: &Shape,
        config: array::Config,
        records: Records,
        bays: Vec<Bay>,
        seed: u64,
        now: Instant,
    ) -> Self {
        let drives = (0..shape.width).map(|_| Drive::Plain).collect();
        let layout = &config.layout;
        let page_bytes = u64::from(config.page_bytes);
        let stripe_bytes =
            u64::from(layout.data_chunks()) * u64::from(layout.chunk_pages()) * page_bytes;
        let width = layout.width() as usize;
        let collecting = Collecting::new(layout, seed);
        let plane = Bytes::new(Pages::new(), page_bytes, stripe_bytes, width, Some(records));
        Self {
            volume: Volume::new(Engine::new(config, drives, plane)),
            now,
            bays,
            seed,
            answers: BTreeMap::new(),
            submitted: 0,
            read_failed: None,
            fuse: Fuse::new(None),
            looks: Looks::new(Rng::new(seed), 0),
            collecting,
        }
    }

    /// Runs until the volume has an output, the power fails, or nothing is left to do before
    /// `until`.
    pub(super) fn run(&mut self, until: Instant) -> Happened {
        loop {
            match self.volume.poll_output(self.now) {
                Some(Output::Remote(EngineOutput::Permitted { drive, right })) => {
                    self.collecting.permit(drive, right);
                    continue;
                }
                Some(output) => return Happened::Output(output),
                None => {}
            }
            if let Some(work) = self.volume.poll_work() {
                if !self.fuse.burn() {
                    return Happened::PowerCut;
                }
                if let Some(busy) = self.submit(work) {
                    return Happened::TooManyBusy(busy);
                }
                if self.looks.tick() {
                    return Happened::Moment;
                }
                continue;
            }
            if self.volume.has_parts() {
                self.volume.continue_requests(self.now);
                continue;
            }
            let answer = self.answers.first_key_value().map_or(Instant::NEVER, |(&(at, _), _)| at);
            let deadline = self.volume.next_deadline();
            let next = answer.min(deadline);
            if next > until {
                self.now = self.now.max(until);
                return Happened::Reached;
            }
            self.now = self.now.max(next);
            if deadline <= answer {
                self.volume.handle_deadline(self.now);
                continue;
            }
            if !self.fuse.burn() {
                return Happened::PowerCut;
            }
            if let Some(answer) = self.answers.pop_first() {
                self.deliver(answer);
                if self.looks.tick() {
                    return Happened::Moment;
                }
            }
        }
    }

    /// Gives work to a disk. Returns the busy drives, as bits, if they are more than a stripe can
    /// miss.
    fn submit(&mut self, work: StorageWork<Page>) -> Option<u64> {
        let StorageWork { tag, drive, work } = work;
        self.submitted += 1;
        let number = self.submitted;
        let bay = &mut self.bays[drive.index()];
        let mut rng = bay.next_draw(self.seed, drive);
        let flag = match work {
            Work::Read { pl, .. } => pl,
            _ => PlFlag::Off,
        };
        let begins = |bay: &mut Bay, write: Write| bay.disk.begin(number, write);
        let (mut kind, buffer) = match work {
            Work::Read { offset_bytes, length_bytes, buffer, .. } => (
                ClientWork::Read { offset_bytes: HEAD_BYTES + offset_bytes, length_bytes },
                Some(buffer),
            ),
            Work::Write { offset_bytes, length_bytes, buffer } => {
                let content = Content::Bytes(match buffer.len() == length_bytes {
                    true => Arc::clone(&buffer),
                    false => Arc::new(buffer[..length_bytes].to_vec()),
                });
                let offset_bytes = HEAD_BYTES + offset_bytes;
                begins(bay, Write { offset_bytes, content, forced: false });
                (ClientWork::Write, Some(buffer))
            }
            Work::Discard { offset_bytes, length_bytes } => {
                let content = Content::Zeros(length_bytes / BLOCK_BYTES as u64);
                let offset_bytes = HEAD_BYTES + offset_bytes;
                begins(bay, Write { offset_bytes, content, forced: false });
                (ClientWork::Write, None)
            }
            Work::WriteHead { offset_bytes, bytes } => {
                begins(bay, Write { offset_bytes, content: Content::Bytes(bytes), forced: true });
                (ClientWork::Write, None)
            }
            Work::Sync => (ClientWork::Sync(bay.disk.sync_covers()), None),
        };
        let mut takes = match kind {
            ClientWork::Read { .. } => Duration::from_micros(20 + rng.below(200)),
            ClientWork::Write | ClientWork::FailsFast(_) => {
                Duration::from_micros(10 + rng.below(300))
            }
            ClientWork::Sync(_) => Duration::from_micros(100 + rng.below(4000)),
        };
        if bay.disk.faults.slow > 0 {
            bay.disk.faults.slow -= 1;
            takes = takes * 100;
        }
        let met = self.collecting.meet(drive, self.now, flag, &mut rng);
        match met {
            Met::Nothing => {}
            Met::Waits(wait) => takes += wait,
            Met::FailsFast(wait) => {
                kind = ClientWork::FailsFast(wait);
                takes = Duration::from_micros(1 + rng.below(20));
            }
        }
        let answer = Answer { tag, drive, disk: bay.number, kind, buffer };
        self.answers.insert((self.now + takes, number), answer);
        let absent = self.volume.engine().array().absent();
        (met != Met::Nothing).then(|| self.collecting.too_many(self.now, absent)).flatten()
    }

    fn deliver(&mut self, answer: ((Instant, u64), Answer)) {
        let ((_, number), Answer { tag, drive, disk, kind, mut buffer }) = answer;
        let bay = &mut self.bays[drive.index()];
        let mut result = IoResult::Failed;
        if let ClientWork::FailsFast(wait) = kind
            && bay.number == disk
            && !bay.disk.faults.dead
        {
            return self.volume.handle_failed_fast(self.now, tag, wait, buffer);
        }
        if bay.number == disk {
            let into = match kind {
                ClientWork::Read { .. } => buffer.as_mut().map(Pages::bytes_mut),
                ClientWork::Write | ClientWork::Sync(_) | ClientWork::FailsFast(_) => None,
            };
            result = bay.carry_out(number, &kind, into, self.seed, drive);
            if result == IoResult::Failed && matches!(kind, ClientWork::Read { .. }) {
                self.read_failed = Some(self.now);
            }
        }
        self.volume.handle_storage(self.now, tag, result, buffer);
    }

    /// Number of commands that disks have not answered.
    pub(super) fn in_flight(&self) -> usize {
        self.answers.len()
    }
}

impl Bay {
    /// Returns the random stream of the next command; it depends only on the disk and the number of
    /// the command.
    fn next_draw(&mut self, seed: u64, drive: DriveId) -> Rng {
        self.commands += 1;
        let disk = u64::from(drive.0) << 56 | u64::from(self.number) << 40;
        Rng::new(seed ^ disk ^ self.commands)
    }

    fn carry_out(
        &mut self,
        number: u64,
        kind: &ClientWork,
        buffer: Option<&mut [u8]>,
        seed: u64,
        drive: DriveId,
    ) -> IoResult {
        let mut rng = self.next_draw(seed, drive);
        let faults = &mut self.disk.faults;
        let count = match kind {
            ClientWork::Read { .. } => &mut faults.read_errors,
            ClientWork::FailsFast(_) => &mut 0,
            ClientWork::Write => &mut faults.write_errors,
            ClientWork::Sync(_) => &mut faults.sync_errors,
        };
        let fails = *count > 0;
        *count = count.saturating_sub(1);
        let fails = fails || faults.dead;
        if !fails && self.disk.has_no_room(number) {
            self.disk.end_failed(number, &mut rng);
            return IoResult::NoRoom;
        }
        let data = self.data.clone();
        if !fails
            && matches!(kind, ClientWork::Write)
            && self.disk.is_one_block_of(number, &data)
            && let Some(silent) = self.disk.faults.silent.take()
        {
            self.disk.end_silently(number, silent, data);
            return IoResult::Done;
        }
        match kind {
            ClientWork::Write if fails => self.disk.end_failed(number, &mut rng),
            ClientWork::Write => self.disk.end(number),
            ClientWork::Sync(_) if fails => self.disk.sync_failed(&mut rng),
            ClientWork::Sync(covered) => self.disk.synced(*covered),
            ClientWork::Read { offset_bytes, length_bytes } => {
                if let Some(buffer) = buffer.filter(|_| !fails) {
                    self.disk.read_blocks(*offset_bytes, &mut buffer[..*length_bytes]);
                }
            }
            ClientWork::FailsFast(_) => {}
        }
        if fails { IoResult::Failed } else { IoResult::Done }
    }
}
