//! The life of an array under torture: creation, service, power cuts, and starts.

use super::array::{Bay, Happened, Running};
use super::constants::{PAGE_BYTES, PATIENCE, REST};
use super::coverage::{ArrayState, Event};
use super::disk::{DiskError, Faults, Loss, SimDisk};
use super::failure::{Done, Failure};
use super::history::Start;
use super::look::Look;
use super::looks::Looks;
use super::model::Moment;
use super::powered::{Fuse, PoweredDisk};
use super::transition::{Transition, count_cut, count_opened, count_running};
use super::world::{PendingCut, Waiting, World};
use array::{Happening, JobKind, PageRepair};
use engine::Drive;
use engine::Token;
use engine::durability::{DriveSet, OpenError, Opened, Refusal, StopReason, open};
use engine::volume::{Output, Repairs, Reply, ShutdownEnd};
use std::ops::Range;
use units::{DriveId, Duration, Instant, Rng};

/// Disks.
impl World {
    pub(super) fn new_bay(&mut self) -> Bay {
        self.names.disk += 1;
        Bay::new(self.names.disk, SimDisk::default(), self.data_blocks())
    }

    pub(super) fn powered<'a>(
        &self,
        bays: &'a mut [Bay],
        fuse: &'a Fuse,
        number: u64,
    ) -> Vec<PoweredDisk<'a>> {
        let disks = bays.iter_mut().enumerate();
        disks
            .map(|(drive, bay)| {
                let rng = self.rng("start", number << 8 | drive as u64);
                PoweredDisk { disk: &mut bay.disk, fuse, rng }
            })
            .collect()
    }

    /// Begins to serve an open array.
    pub(super) fn serve(
        &mut self,
        mut bays: Vec<Bay>,
        opened: Opened<()>,
        fuse: Fuse,
        now: Instant,
    ) -> Done {
        let holes = doubtful_bytes(&opened);
        count_opened(&opened, &mut self.report.coverage);
        let Opened { assembly, mut records, replayed, .. } = opened;
        // The smallest cache possible.
        records.checksums.iter_mut().for_each(|checksums| checksums.cache_bytes = 0);
        self.report.counts.replayed += replayed as u64;
        // A loss that was not recorded does not count: the drive was found again, and is current.
        self.explained &= assembly.absent;
        let repairs = Repairs::new(&assembly, &mut records.intent, &self.layout);
        let resumed = repairs.rebuild.iter().filter(|rebuild| rebuild.cursor_bytes > 0);
        let resumed = resumed.count() as u64;
        self.report.counts.resumed += resumed;
        self.report.coverage.count(Transition::RebuildResumed, resumed);
        self.tell(|| {
            let stripes = repairs.resync_stripes();
            format!(
                "the array starts: absent {:#b}, to rebuild {:?}, {stripes} stripes to resync, \
                 {replayed} records written again",
                assembly.absent,
                repairs
                    .rebuild
                    .iter()
                    .map(|rebuild| (rebuild.drive.0, rebuild.cursor_bytes))
                    .collect::<Vec<_>>()
            )
        });
        let policy = self.shape.play.policy;
        let (policy_settings, coordination) = self.shape.play.parts(policy, &self.shape);
        let config = array::Config {
            policy_settings,
            coordination,
            reconstruct_compute: Duration::from_micros(1),
            data_actions: true,
            absent: assembly.absent,
            ..array::Config::new(self.layout, PAGE_BYTES, policy)
        };
        let doubtful = records.checksums.as_ref().map(|checksums| checksums.doubtful.clone());
        self.forget_damaged_heads(&mut bays, assembly.absent);
        let look = Look {
            layout: &self.layout,
            geometry: &self.geometry,
            blind: assembly.absent | self.suspects(&bays),
            bays: &bays,
            torn: &repairs.resync,
            holes: &holes,
            doubtful: doubtful.as_deref(),
            moment: Moment { after_cut: false, other_copies: false },
        };
        look.check(&self.rows, &self.model, &mut self.memo)?;
        let mut array = Running::new(&self.shape, config, records, bays, self.seed, now);
        array.fuse = fuse;
        array.looks = Looks::new(self.rng("looks", self.ends), self.report.counts.looks);
        let begun = array.volume.begin_repairs(now, &repairs, |_| Drive::Plain);
        self.array = Some(array);
        begun.map_err(|error| Failure::NotStarted(error.to_string()))?;
        self.forget_read_errors();
        self.run(now)
    }
}

/// Bytes of each drive that may have been written when a drive was lost without a journal.
pub(super) fn doubtful_bytes<D>(opened: &Opened<D>) -> Vec<Range<u64>> {
    let region_bytes = opened.records.intent.region_bytes();
    let regions = opened.doubtful_regions().into_iter().map(u64::from);
    regions.map(|region| region * region_bytes..(region + 1) * region_bytes).collect()
}

/// Drops the drives of an opened array, because their bays own them.
pub(super) fn without_disks<D>(opened: Opened<D>) -> Opened<()> {
    let Opened { assembly, records, replayed, mended, .. } = opened;
    Opened { assembly, disks: Vec::new(), records, replayed, mended }
}

/// Power.
impl World {
    /// Applies the losses of a cut to the disks.
    fn lose(&self, bays: &mut [Bay], cut: &PendingCut) {
        let mut rng = units::Rng::new(cut.seed);
        self.end_unclean(bays, cut.loss, &mut rng);
    }

    /// Ends the array without a shutdown: each disk loses unsynced writes in its way.
    pub(super) fn end_unclean(&self, bays: &mut [Bay], loss: [Loss; 3], rng: &mut Rng) {
        self.spare_what_is_written(bays);
        for (drive, bay) in bays.iter_mut().enumerate() {
            bay.disk.cut(loss[drive % loss.len()], rng);
        }
        self.spare_what_may_be_believed(bays);
    }

    /// Removes the array and its waiting requests; returns its disks.
    pub(super) fn take_down(&mut self) -> Vec<Bay> {
        self.waiting.clear();
        self.model.cut();
        self.doomed = 0;
        self.ends += 1;
        self.clock = self.now();
        self.explained |= self.lost();
        self.unrecorded = 0;
        if let Some(array) = &self.array {
            count_running(array, &mut self.report.coverage);
        }
        self.array.take().map_or(Vec::new(), |array| array.bays)
    }

    /// Removes the array without a shutdown. Faults of future commands of its disks are dropped,
    /// but dead disks stay dead. If a death is not recorded, it counts as a loss in the crash.
    fn crash(&mut self) -> Vec<Bay> {
        let recorded = self.recorded_failures();
        let mut bays = self.take_down();
        for (drive, bay) in self.drives().zip(&mut bays) {
            let known = recorded.contains(drive);
            let dead = bay.disk.faults.dead && (known || self.may_lose_in_a_cut());
            bay.disk.faults = Faults { dead, ..Faults::default() };
        }
        bays
    }

    /// Cuts the power, and starts the array again.
    pub(super) fn cut(&mut self) -> Done {
        let Some(cut) = self.pending.take() else { return Ok(()) };
        self.report.counts.cuts += 1;
        self.note(Event::Cut);
        self.count_cut();
        self.tell(|| "the power is gone".into());
        let now = self.now();
        let mut bays = self.crash();
        self.lose(&mut bays, &cut);
        self.returning |= cut.start.outdated;
        self.start(bays, cut.start, false, now)
    }

    /// Counts the writes that a power cut now would meet.
    pub(super) fn count_cut(&mut self) {
        let tables = self.tables();
        if let Some(array) = &self.array {
            count_cut(&array.bays, &tables, &mut self.report.coverage);
        }
    }

    /// Restarts an array that has stopped because the file system of a drive is full; there is room
    /// again.
    fn make_room(&mut self, drive: DriveId) -> Done {
        self.tell(|| format!("drive {} is full; there is room again, and a new start", drive.0));
        let now = self.now();
        // Clients get the last answers of the array.
        while let Some(array) = &mut self.array
            && let Some(output) = array.volume.poll_output(now)
        {
            if let Output::Reply { token, reply } = output {
                self.reply(token, reply)?;
            }
        }
        let mut bays = self.crash();
        let mut rng = self.rng("room", self.ends);
        // The process ends, and the machine keeps running.
        self.end_unclean(&mut bays, [Loss::Nothing; 3], &mut rng);
        let start = Start { missing: 0, rotated: 0, outdated: 0, cut_after: None };
        self.start(bays, start, false, now)
    }

    /// Starts the array with these disks; `clean` is true after a shutdown.
    pub(super) fn start(
        &mut self,
        mut bays: Vec<Bay>,
        start: Start,
        clean: bool,
        now: Instant,
    ) -> Done {
        let torn = !clean && !self.may_lose_in_a_cut();
        if !torn {
            self.plug_in_stale_disks(&mut bays);
        }
        let dead = self.dead(&bays);
        self.damage_at_rest(&mut bays, dead, clean);
        let asked = if torn { 0 } else { start.missing };
        let mut missing = dead;
        for drive in self.drives().filter(|drive| asked >> drive.0 & 1 == 1) {
            if !self.is_too_much(self.explained | missing | self.suspects(&bays) | 1 << drive.0) {
                missing |= 1 << drive.0;
            }
        }
        self.explained |= missing;
        if self.explained != 0 {
            self.model.drives_lost();
        }
        if missing & !dead != 0 {
            self.report.coverage.note(Event::Missing, ArrayState::Opening);
        }
        if start.rotated != 0 {
            self.report.coverage.note(Event::Moved, ArrayState::Opening);
        }
        let mut fuse = Fuse::new(start.cut_after);
        for attempt in 0.. {
            let opened = self.try_to_open(&mut bays, missing, start.rotated, &fuse, attempt);
            match opened {
                Ok(opened) => {
                    if clean && attempt == 0 && !opened.assembly.clean && missing == dead {
                        return Err(Failure::NotClean);
                    }
                    // A cut that is still to come is not affected by the restart.
                    let fuse = if self.pending.is_some() { fuse } else { Fuse::new(None) };
                    return self.serve(bays, opened, fuse, now);
                }
                Err(_) if fuse.is_blown() => {
                    self.report.counts.cuts += 1;
                    self.report.coverage.note(Event::Cut, ArrayState::Opening);
                    self.tell(|| "the power goes during the start".into());
                    fuse = match self.pending.take() {
                        Some(cut) => {
                            self.lose(&mut bays, &cut);
                            self.returning |= cut.start.outdated;
                            if !torn {
                                self.plug_in_stale_disks(&mut bays);
                            }
                            Fuse::new(cut.start.cut_after)
                        }
                        None => {
                            let mut rng = self.rng("cut", attempt);
                            self.end_unclean(&mut bays, [Loss::Sectors; 3], &mut rng);
                            Fuse::new(None)
                        }
                    };
                }
                Err(error @ OpenError::Refused(_)) if missing != dead => {
                    self.tell(|| format!("{error}; all drives are found after all"));
                    missing = dead;
                }
                Err(error) => return self.not_started(&error),
            }
        }
        Ok(())
    }

    /// Drives with dead disks, as bits, even if the array has not noticed.
    fn dead(&self, bays: &[Bay]) -> u64 {
        let dead = self.drives().zip(bays).filter(|(_, bay)| bay.disk.faults.dead);
        dead.map(|(drive, _)| drive).collect::<DriveSet>().bits()
    }

    /// Drives whose failure the superblocks record.
    pub(super) fn recorded_failures(&self) -> DriveSet {
        let Some(array) = &self.array else { return DriveSet::EMPTY };
        let plane = array.volume.engine().plane();
        self.drives().filter(|drive| plane.is_failure_recorded(*drive)).collect()
    }

    /// Returns true if drives may be lost in a power cut.
    pub(super) fn may_lose_in_a_cut(&self) -> bool {
        self.write_hole || self.shape.has_no_write_hole()
    }

    fn not_started(&mut self, error: &OpenError<DiskError>) -> Done {
        self.tell(|| format!("the array does not start: {error}"));
        self.check_refusal(error, self.explained)
    }

    /// Checks that a start was refused because too many drives are lost. Drives of `explained` may
    /// be absent, as bits.
    pub(super) fn check_refusal(&self, error: &OpenError<DiskError>, explained: u64) -> Done {
        let is_right = match error {
            OpenError::Refused(Refusal::TooFew { members, .. }) => {
                self.beyond || self.is_too_much(*members & explained)
            }
            _ => self.beyond,
        };
        if is_right { Ok(()) } else { Err(Failure::NotStarted(error.to_string())) }
    }

    pub(super) fn try_to_open(
        &self,
        bays: &mut [Bay],
        missing: u64,
        rotated: u8,
        fuse: &Fuse,
        attempt: u64,
    ) -> Result<Opened<()>, OpenError<DiskError>> {
        let disks = self.powered(bays, fuse, attempt + 1);
        let mut found: Vec<_> = disks
            .into_iter()
            .enumerate()
            .map(|(drive, disk)| (missing >> drive & 1 == 0).then_some(disk))
            .collect();
        found.rotate_left(usize::from(rotated));
        open(found, Some(&self.geometry), self.shape.setup).map(without_disks)
    }

    /// Plugs replaced disks in again.
    fn plug_in_stale_disks(&mut self, bays: &mut [Bay]) {
        let returning = std::mem::take(&mut self.returning);
        for drive in self.drives().filter(|drive| returning >> drive.0 & 1 == 1) {
            // Unnoticed damage counts too: the copy that is taken away may be the only right one.
            let would_lose = self.explained | self.dead(bays) | self.suspects(bays) | 1 << drive.0;
            if self.is_too_much(would_lose) {
                continue;
            }
            if let Some(disk) = self.shelf[drive.index()].take() {
                self.report.coverage.note(Event::Stale, ArrayState::Opening);
                self.tell(|| format!("drive {} is the one that was replaced", drive.0));
                let bay = &mut bays[drive.index()];
                self.shelf[drive.index()] = Some(std::mem::replace(&mut bay.disk, disk));
                self.explained |= 1 << drive.0;
            }
        }
    }
}

/// Time.
impl World {
    /// Runs until `until`, through power cuts.
    pub(super) fn run(&mut self, until: Instant) -> Done {
        loop {
            let Some(array) = &mut self.array else { return Ok(()) };
            match array.run(until) {
                Happened::Reached => return Ok(()),
                Happened::PowerCut => return self.cut(),
                Happened::TooManyBusy(drives) => return Err(Failure::TooManyBusy { drives }),
                Happened::Moment => {
                    let rng = array.looks.draw();
                    self.look_ahead(rng)?;
                }
                Happened::Output(output) => {
                    self.output(output)?;
                }
            }
        }
    }

    /// Runs until the array has been shut down; `None` if the power failed before that.
    pub(super) fn run_to_shutdown(&mut self) -> Done<Option<ShutdownEnd>> {
        let until = self.now() + REST;
        let ends = self.ends;
        loop {
            let Some(array) = &mut self.array else { return Ok(None) };
            if self.ends != ends {
                // The array was started again, and the order to end is lost.
                return Ok(None);
            }
            match array.run(until) {
                Happened::Reached => {
                    return Err(Failure::NoRest("it is not shut down in ten minutes".into()));
                }
                Happened::PowerCut => self.cut()?,
                Happened::TooManyBusy(drives) => return Err(Failure::TooManyBusy { drives }),
                Happened::Moment => {
                    let rng = array.looks.draw();
                    self.look_ahead(rng)?;
                }
                Happened::Output(output) => {
                    if let Some(end) = self.output(output)? {
                        return Ok(Some(end));
                    }
                }
            }
        }
    }

    /// Notes that reads may find another copy of a mirror: copies differ since a cut, and a drive
    /// was lost before they were equal again.
    fn note_other_copies(&mut self) {
        if self.shape.level.is_mirrored() && self.resyncs() {
            self.model.drives_lost();
        }
    }

    fn note_happening(&mut self, happening: Happening) {
        match happening {
            Happening::DriveFailed { drive, reason } => {
                self.tell(|| format!("drive {} is given up: {reason}", drive.0));
                self.count(Transition::DriveRetired);
                self.array.iter_mut().for_each(|array| array.looks.crowd());
                self.doomed &= !(1 << drive.0);
                self.unrecorded &= !(1 << drive.0);
                self.explained |= 1 << drive.0;
                self.forget_read_errors();
                self.note_other_copies();
            }
            Happening::JobEnded { job, skipped } => {
                self.tell(|| format!("{job:?} has ended, {skipped} stripes left as they were"));
                self.scrub_ended(job, skipped);
                if let (JobKind::Rebuild(drive), 0) = (job, skipped) {
                    self.count(Transition::DriveRebuilt);
                    self.explained &= !(1 << drive.0);
                    self.unrecorded |= 1 << drive.0;
                }
                if job == JobKind::Resync {
                    self.count(Transition::Resynced);
                }
                // Resyncs in flight of a drive that was lost since may have made copies equal to
                // its copy.
                if job == JobKind::Resync && self.shape.level.is_mirrored() && self.explained != 0 {
                    self.model.drives_lost();
                }
            }
            Happening::PageRepaired(PageRepair { drive, lba, repaired }) => {
                self.report.coverage.count(Transition::PageRepaired, u64::from(repaired));
                let end = if repaired { "is repaired" } else { "cannot be repaired" };
                self.tell(|| format!("page {} of drive {} {end}", lba.0, drive.0));
            }
            Happening::ChecksumMismatch { drive, offset_bytes } => {
                self.tell(|| format!("byte {offset_bytes} of drive {} has a wrong sum", drive.0));
            }
            Happening::ParityMismatch { stripe, members } => {
                self.tell(|| format!("parity {members:?} of stripe {stripe} does not fit"));
            }
        }
    }

    fn output(&mut self, output: Output) -> Done<Option<ShutdownEnd>> {
        match output {
            Output::Reply { token, reply } => self.reply(token, reply)?,
            Output::Happened(happening) => self.note_happening(happening),
            Output::Stopped(StopReason::NoRoom { drive }) => self.make_room(drive)?,
            Output::Stopped(reason) => {
                self.tell(|| format!("the array has stopped: {reason}"));
                if !self.beyond && !self.is_too_much(self.explained | self.doomed) {
                    return Err(Failure::Stopped(reason.to_string()));
                }
                self.beyond = true;
            }
            Output::ReadyToReplace { drive } => self.put_in_disk(drive)?,
            Output::Drained => {
                if let Some(array) = &mut self.array {
                    array.volume.record_shutdown(array.now);
                }
            }
            Output::ShutDown(end) => {
                self.tell(|| format!("the array is shut down: {end:?}"));
                return Ok(Some(end));
            }
            Output::Switched(Ok(policy)) => {
                self.count(Transition::PolicySwitched);
                self.tell(|| format!("the policy is {}", policy.name()));
            }
            Output::Switched(Err(refusal)) => {
                self.tell(|| format!("the policy stays: {refusal}"));
            }
            Output::Part(_) | Output::FailureRecorded { .. } | Output::Remote(_) => {}
        }
        Ok(None)
    }

    /// Returns true if a request may fail.
    fn may_fail(&self) -> bool {
        let Some(array) = &self.array else { return true };
        // An unreadable sector counts as one more drive for the requests that met it.
        let met = array.read_failed.is_some_and(|at| array.now.since(at) < PATIENCE);
        self.beyond
            || self.is_too_much(self.explained)
            || array.volume.refuses_requests()
            || met && self.is_critical(self.explained | self.damaged())
    }

    /// Brings the next check of a copy forward.
    fn hasten_look(&mut self) {
        self.array.iter_mut().for_each(|array| array.looks.hasten());
    }

    fn reply(&mut self, token: Token, reply: Reply) -> Done {
        let Some(waiting) = self.waiting.remove(&token) else {
            unreachable!("{token:?} is answered twice")
        };
        let failed = matches!(reply, Reply::Failed | Reply::Refused);
        if reply == Reply::Failed && !self.may_fail() {
            let sector = match &waiting {
                Waiting::Read { first, .. } => *first,
                Waiting::Write { sectors, .. } | Waiting::Trim { sectors, .. } => sectors.start,
                Waiting::Flush { .. } => 0,
            };
            return Err(Failure::RequestFailed { sector });
        }
        match waiting {
            Waiting::Flush { asked } if !failed => {
                self.model.flushed(asked);
                self.hasten_look();
            }
            Waiting::Flush { .. } => {}
            Waiting::Write { sectors, id, .. } if failed => self.model.fail(sectors, id),
            Waiting::Write { sectors, id, forced } => self.model.end(sectors, id, forced),
            Waiting::Trim { sectors, id } => self.model.fail(sectors, id),
            Waiting::Read { first, begun, sectors } => {
                self.model.end_read(begun);
                if reply == Reply::Data {
                    if self.explained != 0 {
                        self.note_other_copies();
                    }
                    self.report.counts.sectors += sectors;
                    let Some(array) = &mut self.array else { return Ok(()) };
                    let checked = self.model.check(first, array.volume.brought(token), begun);
                    array.volume.end_read(token);
                    checked.map_err(Failure::from)?;
                }
            }
        }
        Ok(())
    }
}

/// A replacement.
impl World {
    /// Orders an empty disk for the place of a failed drive.
    pub(super) fn replace(&mut self, drive: DriveId) -> Done {
        let Some(array) = &mut self.array else { return Ok(()) };
        if array.volume.ask_to_replace(drive).is_err() {
            return Ok(());
        }
        self.run(self.now())
    }
}
