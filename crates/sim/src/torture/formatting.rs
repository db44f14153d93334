//! Creation of an array and formatting of a drive, with power cuts at any command of the disks. The
//! result is an array, or may be created or formatted again.

use super::array::Bay;
use super::constants::UUID;
use super::coverage::Event;
use super::disk::{Faults, Loss, SimDisk};
use super::failure::{Done, Failure};
use super::history::Start;
use super::living::without_disks;
use super::powered::{Fuse, PoweredDisk};
use super::transition::Transition;
use super::world::{PendingCut, World};
use engine::Drive;
use engine::durability::{
    OpenError, Refusal, check_join, check_return, create, prepare, prepare_return,
};
use units::{DriveId, Instant, Rng};

/// Number of commands that exceeds those of formatting one drive.
const FORMAT_COMMANDS: u64 = 12;
/// Most power cuts of one creation.
const CUTS_MOST: u64 = 4;

fn any_loss(rng: &mut Rng) -> Loss {
    Loss::ALL[rng.below(Loss::ALL.len() as u64) as usize]
}

impl World {
    /// Creates the array. In half of the histories the power fails during that, repeatedly: then
    /// the array opens, or may be created again.
    pub(super) fn create(&mut self) -> Done {
        let mut bays: Vec<Bay> = self.drives().map(|_| self.new_bay()).collect();
        let mut rng = self.rng("create", 0);
        let mut attempt = 0;
        loop {
            let commands = FORMAT_COMMANDS * u64::from(self.shape.width);
            let goes = attempt < CUTS_MOST && rng.below(2) == 0;
            let fuse = Fuse::new(goes.then(|| rng.below(commands) as u32));
            let disks = self.powered(&mut bays, &fuse, attempt);
            let created =
                create(disks, &self.geometry, UUID, 1, self.shape.setup).map(without_disks);
            match created {
                Ok(opened) => return self.serve(bays, opened, Fuse::new(None), Instant::ZERO),
                Err(_) if fuse.is_blown() => {}
                Err(error) => return Err(Failure::NotStarted(error.to_string())),
            }
            self.report.counts.cut_creations += 1;
            self.tell(|| "the power goes during the creation".into());
            for bay in &mut bays {
                bay.disk.cut(any_loss(&mut rng), &mut rng);
            }
            attempt += 1;
            match self.try_to_open(&mut bays, 0, 0, &Fuse::new(None), attempt) {
                Ok(opened) => return self.serve(bays, opened, Fuse::new(None), Instant::ZERO),
                Err(OpenError::Refused(Refusal::BeingCreated | Refusal::Nothing { .. })) => {}
                Err(error) => return Err(Failure::NotStarted(error.to_string())),
            }
        }
    }

    /// Returns the disk of a failed drive with its old content, after a power cut of its own.
    /// `None` if the drive does not return, or the array does not accept it as returned.
    fn returning(&mut self, drive: DriveId) -> Option<SimDisk> {
        let mut rng = self.rng("return", self.names.asked);
        let array = self.array.as_ref()?;
        let old = &array.bays[drive.index()].disk;
        let is_whole = Faults { dead: false, ..old.faults } == Faults::default();
        if !is_whole || rng.below(2) == 0 {
            return None;
        }
        let mut disk = old.clone();
        disk.faults = Faults::default();
        disk.undo_damage();
        disk.cut(any_loss(&mut rng), &mut rng);
        let (superblock, intent, _) = array.volume.engine().plane().records()?;
        let fuse = Fuse::new(None);
        let mut powered = PoweredDisk { disk: &mut disk, fuse: &fuse, rng };
        check_return(&mut powered, drive, superblock, intent).then_some(disk)
    }

    /// Formats a disk and puts it in the place of a failed drive that can be replaced. The disk is
    /// new, or the former one, empty or with its old content. Sometimes the power fails during
    /// that.
    pub(super) fn put_in_disk(&mut self, drive: DriveId) -> Done {
        let returning = self.returning(drive);
        let returns = returning.is_some();
        self.note(if returns { Event::Return } else { Event::Replace });
        self.doomed &= !(1 << drive.0);
        let mut new = self.new_bay();
        let mut rng = self.rng("format", self.names.asked);
        let goes = !self.calm && self.pending.is_none() && rng.below(4) == 0;
        let rng_of_disk = self.rng("join", self.names.asked);
        let mut rng_of_old = self.rng("taken out", self.names.asked);
        let Some(array) = &mut self.array else { return Ok(()) };
        let old = &array.bays[drive.index()].disk;
        let again = old.faults == Faults::default() && !old.is_strange && rng.below(3) == 0;
        let again = again || returns;
        if again {
            new.disk = returning.unwrap_or_else(|| {
                // Earlier commands to the disk have no effect after it is formatted.
                let mut disk = old.clone();
                disk.cut(any_loss(&mut rng_of_old), &mut rng_of_old);
                disk
            });
        }
        if goes {
            let loss = std::array::from_fn(|_| any_loss(&mut rng));
            let start = Start { missing: 0, rotated: 0, outdated: 0, cut_after: None };
            self.pending = Some(PendingCut { loss, seed: rng.next_u64(), start });
            array.fuse = Fuse::new(Some(rng.below(FORMAT_COMMANDS) as u32));
        }
        let mut disk = PoweredDisk { disk: &mut new.disk, fuse: &array.fuse, rng: rng_of_disk };
        let Some((superblock, intent, journal)) = array.volume.engine().plane().records() else {
            return Ok(());
        };
        let formatted = if returns {
            prepare_return(&mut disk, drive, superblock, intent, journal)
        } else {
            check_join(&mut disk, drive, superblock)
                .map_err(|error| Failure::NotStarted(error.to_string()))?;
            prepare(&mut disk, drive, superblock, intent, journal)
        };
        std::mem::swap(&mut array.bays[drive.index()], &mut new);
        if !again {
            self.shelf[drive.index()] = Some(new.disk).filter(|disk| !disk.faults.dead);
        }
        if formatted.is_err() {
            self.report.counts.cut_formats += 1;
            return self.cut();
        }
        let replaced = if returns {
            self.report.counts.returned += 1;
            self.report.coverage.count(Transition::DriveReturned, 1);
            array.volume.take_drive_back(array.now, drive, Drive::Plain)
        } else {
            array.volume.replace_drive(array.now, drive, Drive::Plain)
        };
        debug_assert!(replaced.is_ok(), "it was asked before");
        self.explained |= 1 << drive.0;
        Ok(())
    }
}
