//! The drives of a served array: where their bytes are, and the replacement of one that failed.

use super::array_io::ArrayIo;
use super::returning::Returning;
use crate::control::{ArrayHandle, Joined, Message};
use crate::durable::{OpenError, claim_drive, format, ftl};
use crate::storage::{AddressError, Backing, DriveLocation, Memory, RemoteAddress, RemoteLocation};
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
    pub places: Vec<DriveLocation>,
}

/// Where drives are, and what each is when it is new.
#[derive(Debug)]
pub(super) struct Members {
    /// None of an array in memory.
    places: Option<Vec<DriveLocation>>,
    /// Of each emulated drive, what it is made of.
    configs: Vec<Option<ssd::Config>>,
    drive_bytes: u64,
    /// Those that are waited for.
    pub(super) returning: Returning,
}

impl Members {
    pub(super) fn new(
        places: Option<Vec<DriveLocation>>,
        configs: Vec<Option<ssd::Config>>,
        drive_bytes: u64,
    ) -> Self {
        Self { places, configs, drive_bytes, returning: Returning::default() }
    }

    /// Where a drive on the network is; none of others.
    pub(super) fn remote(&self, drive: DriveId) -> Option<&RemoteLocation> {
        match self.places.as_ref()?.get(drive.index())? {
            DriveLocation::Remote(remote) => Some(remote),
            _ => None,
        }
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

    /// Puts empty memory in the place of a failed drive of an array in memory; false if drives are
    /// on storage that has to be formatted.
    pub(super) fn replace_memory(&self, io: &mut ArrayIo, drive: DriveId) -> Result<bool, String> {
        if self.places.is_some() {
            return Ok(false);
        }
        let memory = Memory::new(self.drive_bytes).map_err(|error| error.to_string())?;
        let added = io.storage.add(drive, Backing::Memory(memory));
        added.map(|()| true).map_err(|error| error.to_string())
    }

    /// Whether drives can be at a path of their own.
    pub(super) fn have_places(&self) -> bool {
        self.places.is_some()
    }

    /// Formats an empty drive for the place of a failed one, at `path`, or where the failed one
    /// was. A thread does it, because opening, emptying and syncing may take seconds; it reports to
    /// `handle`.
    pub(super) fn begin_to_join(
        &self,
        io: &mut ArrayIo,
        drive: DriveId,
        path: Option<PathBuf>,
        handle: ArrayHandle,
    ) -> Result<(), String> {
        let places = self.places.as_ref();
        let Some(old) = places.and_then(|places| places.get(drive.index())) else {
            return Err("the array has no such drive".into());
        };
        let place = match (path, old) {
            (None, old) => old.clone(),
            (Some(path), old) if path.to_str().is_some_and(RemoteAddress::is_meant) => {
                let DriveLocation::Remote(old) = old else {
                    return Err("the array's drives are not on the network".into());
                };
                let text = path.to_str().unwrap_or_default();
                let address = text.parse().map_err(|error: AddressError| error.to_string())?;
                DriveLocation::Remote(Box::new(RemoteLocation { address, ..(**old).clone() }))
            }
            (Some(path), DriveLocation::Direct(_)) => DriveLocation::Direct(path),
            (Some(path), _) => DriveLocation::File(path),
        };
        let Some((superblock, intent, journal)) = io.volume.engine().plane().records() else {
            return Err("the array keeps no records".into());
        };
        let (superblock, intent, journal) = (superblock.clone(), intent.clone(), journal.clone());
        // It has the lock of the place.
        io.storage.remove(drive);
        let join = move || {
            let disk =
                claim_drive(drive.index(), &place).map_err(OpenError::from).and_then(|claimed| {
                    let disk = format::join(&place, drive, &superblock, &intent, &journal)?;
                    claimed.keep();
                    Ok(disk)
                });
            // If the array has ended, nobody needs the drive any more.
            let _ = handle.send(Message::Joined(Box::new(Joined { drive, place, disk })));
        };
        let thread = std::thread::Builder::new().name(format!("join-{}", drive.0)).spawn(join);
        thread.map(drop).map_err(|error| format!("the system has no thread left: {error}"))
    }

    /// Takes a drive in that was formatted.
    pub(super) fn joined(&mut self, io: &mut ArrayIo, joined: Joined) -> Result<(), String> {
        let Joined { drive, place, disk } = joined;
        let disk = disk.map_err(|error| error.to_string())?;
        if let Some(places) = &mut self.places {
            places[drive.index()] = place;
        }
        io.storage.add(drive, disk.into()).map_err(|error| error.to_string())
    }

    /// Saves the maps of emulated drives for the next start, bound to the clean shutdown that is
    /// about to be recorded. A drive whose map cannot be saved starts as it was prepared.
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
