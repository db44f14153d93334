//! One history, from the creation of the array to the check of every sector.

use super::array::Running;
use super::constants::{PAGE_BYTES, PATIENCE};
use super::coverage::{ArrayState, Coverage, Event};
use super::disk::{Loss, SECTOR_BYTES, SimDisk};
use super::failure::Done;
use super::history::{Access, Fault, History, HistoryStep, Order, Shape, Start};
use super::memo::Memo;
use super::model::{Model, PAGE_SECTORS, Version, ZEROS, fill};
use super::place::Row;
use super::powered::Fuse;
use super::transition::{Transition, count_running};
use array::{JobKind, Layout};
use engine::Token;
use engine::durability::{Geometry, HEAD_BYTES, MemberState};
use engine::volume::ShutdownEnd;
use engine::{ByteRequest, ByteRequestKind};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use units::{DriveId, Instant, Rng};

/// Counts of a history.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Requests of clients.
    pub requests: u64,
    /// Power cuts.
    pub cuts: u64,
    /// Faults of drives.
    pub faults: u64,
    /// Orders of administrators.
    pub orders: u64,
    /// Sectors that were read and compared.
    pub sectors: u64,
    /// Journal records that starts replayed.
    pub replayed: u64,
    /// Power cuts during the creation of the array.
    pub cut_creations: u64,
    /// Power cuts during the formatting of a replacement drive.
    pub cut_formats: u64,
    /// Rebuilds that a start resumed at their cursor.
    pub resumed: u64,
    /// Drives that came back and got what they had missed.
    pub returned: u64,
    /// Power cuts on copies of the disks, each checked after a start.
    pub looks: u64,
}

impl Counts {
    /// Adds the counts of another history.
    pub fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.cuts += other.cuts;
        self.faults += other.faults;
        self.orders += other.orders;
        self.sectors += other.sectors;
        self.replayed += other.replayed;
        self.cut_creations += other.cut_creations;
        self.cut_formats += other.cut_formats;
        self.resumed += other.resumed;
        self.returned += other.returned;
        self.looks += other.looks;
    }
}

/// A request that waits for its answer.
#[derive(Clone, Debug)]
pub(super) enum Waiting {
    Read {
        first: u64,
        sectors: u64,
        begun: u64,
    },
    Write {
        sectors: Range<u64>,
        id: u64,
        forced: bool,
    },
    /// A trim: the sectors may have any earlier content, or zeros.
    Trim {
        sectors: Range<u64>,
        id: u64,
    },
    Flush {
        asked: u64,
    },
}

/// A pending power cut.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingCut {
    pub(super) loss: [Loss; 3],
    pub(super) seed: u64,
    pub(super) start: Start,
}

/// Damage that is not known to be repaired.
#[derive(Debug, Default)]
pub(super) struct Harms {
    /// Damage that waits until the power is off.
    pub(super) waiting: Vec<(DriveId, Fault)>,
    /// Drives whose checksums were damaged, with no complete scrub since, as bits. A rewritten
    /// block of checksums may still lack sums.
    pub(super) unscrubbed: u64,
    /// True if nothing was damaged since the running scrub began.
    pub(super) scrubs_all: bool,
    /// Number of damages so far.
    pub(super) count: u64,
}

/// The world of a history.
pub(super) struct World {
    pub(super) shape: Shape,
    pub(super) layout: Layout,
    pub(super) geometry: Geometry,
    pub(super) seed: u64,
    pub(super) array: Option<Running>,
    /// Number of times that the array has ended.
    pub(super) ends: u64,
    /// Last time at which the array ran.
    pub(super) clock: Instant,
    /// Disks that were taken out of their places, with their content.
    pub(super) shelf: Vec<Option<SimDisk>>,
    /// Drives whose old disk is plugged in again before the next start, as bits.
    pub(super) returning: u64,
    pub(super) model: Model,
    pub(super) waiting: BTreeMap<Token, Waiting>,
    pub(super) names: Names,
    pub(super) pending: Option<PendingCut>,
    /// Drives that will fail because of a fault that has not struck yet, as bits.
    pub(super) doomed: u64,
    /// Drives that may be absent because of an earlier event, as bits.
    pub(super) explained: u64,
    /// Drives that are rebuilt while the superblocks may not record it yet, as bits.
    pub(super) unrecorded: u64,
    /// True if drives may be lost in power cuts, whatever the array guarantees.
    pub(super) write_hole: bool,
    /// True if more drives were lost than the array can miss: errors are right from then on, but
    /// wrong data is not.
    pub(super) beyond: bool,
    /// True if faults come from the steps only.
    pub(super) calm: bool,
    /// Rows in which anything was ever written.
    pub(super) rows: BTreeSet<Row>,
    /// Rows that were checked, with their content.
    pub(super) memo: Memo,
    pub(super) harms: Harms,
    pub(super) report: Report,
}

/// Counters for unique names.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Number of requests so far.
    pub(super) asked: u64,
    version: Version,
    pub(super) disk: u32,
}

/// Result of a history.
#[derive(Clone, Debug, Default)]
pub(super) struct Report {
    pub(super) counts: Counts,
    pub(super) coverage: Coverage,
    /// The story, if it was asked for.
    pub(super) story: Option<Vec<String>>,
}

impl World {
    /// Creates the array of a history.
    pub(super) fn new(history: &History, write_hole: bool, tells: bool) -> Self {
        let History { seed, shape, .. } = history;
        let chunk_bytes = u64::from(shape.chunk_pages) * u64::from(PAGE_BYTES);
        let geometry = Geometry {
            journalled: shape.journalled,
            checksums: shape.checksums,
            level: shape.level,
            width: shape.width,
            stripe_width: shape.stripe_width,
            chunk_bytes,
            page_bytes: PAGE_BYTES,
            drive_bytes: u64::from(shape.drive_chunks) * chunk_bytes,
        };
        let layout = Layout::striped(
            shape.level,
            u32::from(shape.width),
            u32::from(shape.stripe_width),
            shape.chunk_pages,
            geometry.drive_bytes / u64::from(PAGE_BYTES),
        )
        .unwrap_or_else(|error| unreachable!("shapes are possible: {error}"));
        let sectors = layout.capacity_pages() * u64::from(PAGE_BYTES) / SECTOR_BYTES as u64;
        let story = tells.then(Vec::new);
        Self {
            shape: *shape,
            layout,
            geometry,
            seed: *seed,
            array: None,
            ends: 0,
            clock: Instant::ZERO,
            shelf: vec![None; usize::from(shape.width)],
            returning: 0,
            model: Model::new(sectors),
            waiting: BTreeMap::new(),
            names: Names::default(),
            pending: None,
            doomed: 0,
            explained: 0,
            unrecorded: 0,
            write_hole,
            beyond: false,
            calm: true,
            harms: Harms::default(),
            rows: BTreeSet::new(),
            memo: Memo::default(),
            report: Report { story, ..Report::default() },
        }
    }

    /// Lives through the history, and checks everything at its end.
    pub(super) fn live(mut self, history: &History) -> (Report, Done) {
        let done = self.live_through(history);
        if let Some(array) = &self.array {
            count_running(array, &mut self.report.coverage);
        }
        (self.report, done)
    }

    fn live_through(&mut self, history: &History) -> Done {
        self.create()?;
        self.calm = false;
        for step in &history.steps {
            if self.array.is_none() {
                break;
            }
            self.tell(|| step.to_string());
            self.note_recorded();
            self.step(step)?;
            if let Some(array) = &self.array {
                array.volume.check_invariants();
            }
        }
        self.end()
    }

    pub(super) fn tell(&mut self, what: impl FnOnce() -> String) {
        let micros = self.now().as_nanos() / 1000;
        if let Some(story) = &mut self.report.story {
            story.push(format!("{micros:>12} µs  {}", what()));
        }
    }

    pub(super) fn drives(&self) -> impl Iterator<Item = DriveId> + use<> {
        (0..self.shape.width).map(DriveId)
    }

    pub(super) fn rng(&self, name: &str, number: u64) -> Rng {
        Rng::stream(self.seed ^ number.wrapping_mul(0x9e37_79b9), name)
    }
}

/// Losses that the array can bear.
impl World {
    /// Drives that lack data, or that the superblocks do not call serving, as bits.
    pub(super) fn lost(&self) -> u64 {
        let Some(array) = &self.array else { return 0 };
        let engine = array.volume.engine();
        let mut lost = engine.array().absent() | self.explained | self.unrecorded;
        if let Some((superblock, ..)) = engine.plane().records() {
            for (drive, state) in superblock.states.iter().enumerate() {
                lost |= u64::from(*state != MemberState::Serving) << drive;
            }
        }
        lost
    }

    /// Notes rebuilt drives that all superblocks call serving.
    pub(super) fn note_recorded(&mut self) {
        let Some(array) = &self.array else { return };
        if self.unrecorded != 0
            && array.bays.iter().all(|bay| !bay.disk.is_forcing())
            && let Some((superblock, ..)) = array.volume.engine().plane().records()
        {
            let states = (0..).zip(&superblock.states);
            let serving = states.filter(|(_, state)| **state == MemberState::Serving);
            self.unrecorded &= !serving.fold(0, |bits, (drive, _): (u32, _)| bits | 1 << drive);
        }
    }

    /// Returns true if some stripe misses too many members without these drives.
    pub(super) fn is_too_much(&self, missing: u64) -> bool {
        !self.layout.can_miss(missing)
    }

    /// Returns true if no further drive can be missed.
    pub(super) fn is_critical(&self, missing: u64) -> bool {
        self.drives().any(|drive| {
            let more = missing | 1 << drive.0;
            more != missing && self.is_too_much(more)
        })
    }

    pub(super) fn may_lose(&mut self, drive: DriveId) -> bool {
        let damaged = self.damaged();
        self.may_tear() && !self.is_too_much(self.lost() | self.doomed | damaged | 1 << drive.0)
    }

    /// Returns true if a drive may be lost while stripes may be half written.
    pub(super) fn may_tear(&self) -> bool {
        self.may_lose_in_a_cut() || !self.resyncs()
    }

    /// Returns true if differences that a cut has left are being resynced.
    pub(super) fn resyncs(&self) -> bool {
        let job = self.array.as_ref().and_then(|array| array.volume.engine().array().job());
        job.is_some_and(|job| job.what == JobKind::Resync)
    }

    pub(super) fn state(&self) -> ArrayState {
        let Some(array) = &self.array else { return ArrayState::Opening };
        let job = array.volume.engine().array().job().map(|job| job.what);
        let lost = self.lost();
        match job {
            _ if self.beyond => ArrayState::Lost,
            _ if array.volume.refuses_requests() => ArrayState::Draining,
            Some(JobKind::Rebuild(_)) => ArrayState::Rebuilding,
            Some(JobKind::Resync) if lost == 0 => ArrayState::Resyncing,
            _ if lost == 0 => ArrayState::Optimal,
            _ if self.is_critical(lost) => ArrayState::Critical,
            _ => ArrayState::Degraded,
        }
    }

    pub(super) fn count(&mut self, transition: Transition) {
        self.report.coverage.count(transition, 1);
    }

    pub(super) fn note(&mut self, event: Event) {
        let state = self.state();
        self.report.coverage.note(event, state);
    }
}

/// Steps.
impl World {
    fn step(&mut self, step: &HistoryStep) -> Done {
        match *step {
            HistoryStep::Client { access, sector, sectors } => self.access(access, sector, sectors),
            HistoryStep::Flush => self.flush(),
            HistoryStep::Wait(time) => {
                if self.damaged() != 0 && self.rng("scrub", self.names.asked).below(3) == 0 {
                    // The administrator reads the log.
                    self.scrub()?;
                }
                let until = self.now() + time;
                self.run(until)?;
                self.look_at_rest()
            }
            HistoryStep::Order(order) => self.order(order),
            HistoryStep::Fault(drive, fault) => self.fault(drive, fault),
            HistoryStep::Copy(drive) => {
                self.copy(drive);
                Ok(())
            }
            HistoryStep::Return(drive) => {
                self.returning |= 1 << drive.0;
                Ok(())
            }
            HistoryStep::Cut { after, loss, seed, start } => {
                if self.pending.is_some() {
                    self.cut()?;
                }
                self.pending = Some(PendingCut { loss, seed, start });
                if let Some(array) = &mut self.array {
                    array.fuse = Fuse::new(Some(after));
                }
                Ok(())
            }
        }
    }

    pub(super) fn now(&self) -> Instant {
        self.array.as_ref().map_or(self.clock, |array| array.now)
    }

    fn token(&mut self, waiting: Waiting) -> Token {
        self.names.asked += 1;
        let token = (0..).map(Token).find(|token| !self.waiting.contains_key(token));
        let token = token.expect("few requests wait at a time");
        self.waiting.insert(token, waiting);
        token
    }

    pub(super) fn access(&mut self, access: Access, sector: u64, sectors: u64) -> Done {
        self.report.counts.requests += 1;
        let extent = sector..sector + sectors;
        if access != Access::Read {
            let pages = sector / PAGE_SECTORS..(sector + sectors).div_ceil(PAGE_SECTORS);
            self.rows.extend(pages.map(|page| Row::of_page(&self.layout, page)));
        }
        let (kind, data, waiting, forced) = match access {
            Access::Read => {
                let begun = self.model.begin_read();
                let waiting = Waiting::Read { first: sector, sectors, begun };
                (ByteRequestKind::Read, None, waiting, false)
            }
            Access::Write { forced } => {
                self.names.version += 1;
                let version = self.names.version;
                let mut data = vec![0; sectors as usize * SECTOR_BYTES];
                for (sector, bytes) in extent.clone().zip(data.chunks_exact_mut(SECTOR_BYTES)) {
                    fill(version, sector, bytes);
                }
                let id = self.model.begin(extent.clone(), version);
                let waiting = Waiting::Write { sectors: extent, id, forced };
                (ByteRequestKind::Write, Some(Arc::new(data)), waiting, forced)
            }
            Access::Zeroes { may_deallocate } => {
                let id = self.model.begin(extent.clone(), ZEROS);
                let waiting = Waiting::Write { sectors: extent, id, forced: false };
                (ByteRequestKind::Zeroes { may_deallocate }, None, waiting, false)
            }
            Access::Trim => {
                let id = self.model.begin(extent.clone(), ZEROS);
                (ByteRequestKind::Deallocate, None, Waiting::Trim { sectors: extent, id }, false)
            }
        };
        let token = self.token(waiting);
        let (offset_bytes, length_bytes) =
            (sector * SECTOR_BYTES as u64, sectors * SECTOR_BYTES as u64);
        let request = ByteRequest { host: 0, kind, offset_bytes, length_bytes, data };
        let Some(array) = &mut self.array else { return Ok(()) };
        array.volume.handle_request(array.now, token, request, forced);
        self.run(self.now())
    }

    fn flush(&mut self) -> Done {
        let asked = self.model.tick();
        let token = self.token(Waiting::Flush { asked });
        let Some(array) = &mut self.array else { return Ok(()) };
        array.volume.handle_flush(array.now, token);
        self.run(self.now())
    }

    fn fault(&mut self, drive: DriveId, fault: Fault) -> Done {
        let gives_up = matches!(fault, Fault::Dies | Fault::WriteError | Fault::SyncError);
        // A wrong or unreadable page counts as a drive: the next fault may be in the same row.
        let suspects = self.damaged() | self.unreadable();
        let missing = self.lost() | self.doomed;
        let is_missing = missing >> drive.0 & 1 == 1;
        let one_too_many = self.is_too_much(missing | suspects | 1 << drive.0)
            || is_missing && self.is_critical(missing)
            || !self.may_tear()
            || self.unreadable() != 0;
        if gives_up && !self.may_lose(drive) || fault.harms_data() && one_too_many {
            return Ok(());
        }
        if fault.is_silent() {
            return self.harm(drive, fault);
        }
        if fault.is_damage() {
            return self.damage(drive, fault);
        }
        self.report.counts.faults += 1;
        self.note(Event::Fault(fault));
        if gives_up {
            self.doomed |= 1 << drive.0;
        }
        let Some(array) = &mut self.array else { return Ok(()) };
        let faults = &mut array.bays[drive.index()].disk.faults;
        match fault {
            Fault::Dies => faults.dead = true,
            Fault::WriteError => faults.write_errors += 1,
            Fault::SyncError => faults.sync_errors += 1,
            Fault::ReadError => faults.read_errors += 1,
            Fault::Slow => faults.slow += 20,
            Fault::Full => faults.full = true,
            _ => {}
        }
        self.forget_read_errors();
        Ok(())
    }

    /// Blocks of a drive that hold data, from the start of its file.
    pub(super) fn data_blocks(&self) -> Range<u64> {
        let first = HEAD_BYTES / u64::from(PAGE_BYTES);
        first..first + self.geometry.drive_bytes / u64::from(PAGE_BYTES)
    }

    fn order(&mut self, order: Order) -> Done {
        self.report.counts.orders += 1;
        match order {
            Order::Fail(drive) => self.fail(drive),
            Order::Replace(drive) => self.replace(drive),
            Order::Scrub => self.scrub(),
            Order::Policy(policy) => {
                self.note(Event::Policy);
                let (settings, coordination) = self.shape.play.parts(policy, &self.shape);
                let Some(array) = &mut self.array else { return Ok(()) };
                // The change is rightly refused while another is under way.
                let _ = array.volume.switch_policy(array.now, policy, settings, coordination);
                self.run(self.now())
            }
            Order::Restart => self.restart(),
        }
    }

    fn scrub(&mut self) -> Done {
        self.scrub_begins();
        let Some(array) = &mut self.array else { return Ok(()) };
        array.volume.scrub(array.now, false);
        self.run(self.now())
    }

    /// Copies a drive to the shelf: the copy has what the drive would read, synced or not.
    fn copy(&mut self, drive: DriveId) {
        let mut rng = self.rng("copy", self.names.asked);
        let Some(array) = &self.array else { return };
        let mut copy = array.bays[drive.index()].disk.clone();
        copy.cut(Loss::Nothing, &mut rng);
        self.shelf[drive.index()] = Some(copy);
    }

    fn fail(&mut self, drive: DriveId) -> Done {
        if self.lost() >> drive.0 & 1 == 1 || !self.may_lose(drive) {
            return Ok(());
        }
        self.note(Event::Fail);
        let Some(array) = &mut self.array else { return Ok(()) };
        array.volume.fail_drive(array.now, drive);
        self.forget_read_errors();
        self.run(self.now())
    }

    /// Drives whose next read fails, as bits.
    fn unreadable(&self) -> u64 {
        let bays = self.array.as_ref().map_or(&[][..], |array| &array.bays);
        let unreadable = (0..).zip(bays).filter(|(_, bay)| bay.disk.faults.read_errors > 0);
        unreadable.fold(0, |bits, (drive, _): (u32, _)| bits | 1 << drive)
    }

    /// Drops read errors of drives whose rows can miss nothing more: each would be one fault too
    /// many.
    pub(super) fn forget_read_errors(&mut self) {
        let missing = self.lost() | self.doomed | self.damaged();
        let one_too_many: Vec<DriveId> =
            self.drives().filter(|drive| self.is_too_much(missing | 1 << drive.0)).collect();
        if let Some(array) = &mut self.array {
            for drive in one_too_many {
                array.bays[drive.index()].disk.faults.read_errors = 0;
            }
        }
    }

    pub(super) fn restart(&mut self) -> Done {
        self.note(Event::Shutdown);
        let Some(array) = &mut self.array else { return Ok(()) };
        array.volume.shut_down(array.now, array.now + PATIENCE);
        let Some(end) = self.run_to_shutdown()? else { return Ok(()) };
        let (clean, now) = (end == ShutdownEnd::Clean, self.now());
        if clean {
            self.model.flushed_everything();
        }
        let cut_after = self.array.as_ref().and_then(|array| array.fuse.left());
        let mut bays = self.take_down();
        // Unsynced writes are in the cache of a machine that keeps running.
        let mut rng = self.rng("shutdown", self.names.asked);
        bays.iter_mut().for_each(|bay| bay.disk.cut(Loss::Nothing, &mut rng));
        self.start(bays, Start { missing: 0, rotated: 0, outdated: 0, cut_after }, clean, now)
    }
}
