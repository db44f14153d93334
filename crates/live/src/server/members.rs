//! The drives of a served array: where their bytes are, and the replacement of one that failed.

use super::array_io::ArrayIo;
use crate::durable::{format, ftl};
use crate::storage::{Backing, Memory, Place};
use engine::Drive;
use engine::durability::Records;
use ssd::Ssd;
use std::path::PathBuf;
use units::DriveId;

/// The records of an array that outlives its process.
#[derive(Debug)]
pub struct Durable {
    /// Superblock, write-intent record and journal.
    pub records: Records,
    /// Where each drive is.
    pub places: Vec<Place>,
}

/// Where drives are, and what each is when it is new.
#[derive(Debug)]
pub(super) struct Members {
    /// None of an array in memory.
    places: Option<Vec<Place>>,
    /// Of each emulated drive, what it is made of.
    configs: Vec<Option<ssd::Config>>,
    drive_bytes: u64,
}

impl Members {
    pub(super) fn new(
        places: Option<Vec<Place>>,
        configs: Vec<Option<ssd::Config>>,
        drive_bytes: u64,
    ) -> Self {
        Self { places, configs, drive_bytes }
    }

    /// Where a drive is, for the status.
    pub(super) fn place_of(&self, drive: DriveId) -> String {
        match &self.places {
            Some(places) => places[drive.index()].to_string(),
            None => String::from("memory"),
        }
    }

    /// A factory-new drive for a place.
    pub(super) fn new_drive(&self, drive: DriveId) -> Result<Drive, String> {
        match &self.configs[drive.index()] {
            None => Ok(Drive::Plain),
            Some(config) => Ssd::new(config.clone())
                .map(Drive::emulated)
                .map_err(|error| format!("the drive cannot work: {error}")),
        }
    }

    /// Puts empty storage in the place of a failed drive: at `path`, or where the failed one was.
    pub(super) fn replace_storage(
        &mut self,
        io: &mut ArrayIo,
        drive: DriveId,
        path: Option<PathBuf>,
    ) -> Result<(), String> {
        let Some(places) = &mut self.places else {
            if path.is_some() {
                return Err("the array is in memory, and so is every drive of it".into());
            }
            let memory = Memory::new(self.drive_bytes).map_err(|error| error.to_string())?;
            let memory = Backing::Memory(memory);
            return io.storage.add(drive, memory).map_err(|error| error.to_string());
        };
        let old = places[drive.index()].clone();
        let place = match (path, &old) {
            (None, _) => old,
            (Some(path), Place::Direct(_)) => Place::Direct(path),
            (Some(path), _) => Place::File(path),
        };
        let Some((superblock, intent, journal)) = io.volume.engine().plane().records() else {
            return Err("the array keeps no records".into());
        };
        io.storage.remove(drive);
        let disk = format::join(&place, drive, superblock, intent, journal)
            .map_err(|error| error.to_string())?;
        places[drive.index()] = place;
        io.storage.add(drive, Backing::Disk(disk)).map_err(|error| error.to_string())
    }

    /// Saves the maps of emulated drives for the next start, bound to the clean shutdown that is about to
    /// be recorded. A drive whose map cannot be saved starts as it was prepared.
    pub(super) fn save_maps(&self, io: &mut ArrayIo) {
        let (Some(places), Some((superblock, ..)), Some(generation)) =
            (&self.places, io.engine().plane().records(), io.engine().plane().end_generation())
        else {
            return;
        };
        let uuid = superblock.uuid;
        for drive in io.drives() {
            let ssd = io.volume.engine_mut().drives_mut()[drive.index()].ssd_mut();
            let (Some(ssd), Some(path)) = (ssd, places[drive.index()].path()) else { continue };
            ssd.settle();
            let owner = ftl::Owner { uuid, drive, generation };
            let saved = match ssd.state() {
                Ok(state) => ftl::save(path, &owner, &state).map_err(|error| error.to_string()),
                Err(error) => Err(error.to_string()),
            };
            if let Err(error) = saved {
                tracing::warn!(drive = drive.0, "the drive will start as prepared: {error}");
            }
        }
    }
}
