//! Drives that fail, are replaced and become whole again, and the end of the array.

use super::keeping::Durable;
use super::model::Model;
use super::{Engine, EngineError};
use crate::durable::{MemberState, format, ftl};
use crate::storage::{Backing, Memory, Place, Work};
use std::path::PathBuf;
use units::{DriveId, Duration, Instant};

impl Engine {
    /// The array has given up a drive: what is out to it comes to nothing, and the other drives know
    /// of it before anything is answered that the drive does not have.
    pub(super) fn note_failure(&mut self, drive: DriveId) {
        tracing::error!(drive = drive.0, "a drive is taken for failed");
        self.failed |= 1 << drive.0;
        for id in self.commands.of(drive) {
            if let Some(outstanding) = self.commands.get_mut(id) {
                outstanding.give_up();
                self.join(self.now, id);
            }
        }
        self.models[drive.index()] = Model::Plain;
        self.sources.set(drive.index(), Instant::NEVER);
        self.let_storage_end();
        self.note_member(drive, MemberState::Failed);
    }

    /// Waits for what the storage has begun: changes of before the failure are not in the journal, and
    /// must not be torn once the drive counts as missing.
    fn let_storage_end(&mut self) {
        if self.keeping.durable.is_none() {
            return;
        }
        let until = self.clock.now() + STORAGE_PATIENCE;
        while self.storage.in_flight() > 0 && self.clock.now() < until {
            if let Err(error) = self.storage.kick() {
                tracing::error!(%error, "the storage cannot go on");
                return;
            }
            while let Some(finished) = self.storage.poll() {
                self.finished_early.push_back(finished);
            }
            std::thread::sleep(std::time::Duration::from_micros(20));
        }
    }

    pub(super) fn note_restored(&mut self, drive: Option<DriveId>) {
        match drive {
            Some(drive) => {
                tracing::info!(drive = drive.0, "the drive is whole again");
                self.note_member(drive, MemberState::Serving);
            }
            None => {
                tracing::info!("the parity of all stripes is right again");
                self.note_resynced();
            }
        }
    }

    pub(super) fn note_not_restored(&mut self, drive: Option<DriveId>, stripes: u64) {
        match drive {
            Some(drive) => {
                let drive = drive.0;
                tracing::error!(drive, stripes, "not all stripes could be restored");
            }
            None => {
                tracing::warn!(stripes, "the parity of some stripes was left as it is");
                self.note_resynced();
            }
        }
    }

    fn note_resynced(&mut self) {
        let Some(Durable { intent, .. }) = &mut self.keeping.durable else { return };
        for region in intent.dirty_regions() {
            intent.resynced(region);
        }
    }

    pub(super) fn note_scrubbed(&mut self, skipped: u64) {
        let mismatches = self.scrub_mismatches;
        tracing::info!(mismatches, skipped, "every stripe was read and compared");
    }

    /// The array takes no requests any more.
    pub(super) fn stop(&mut self, reason: String) {
        tracing::error!("the array has stopped: {reason}");
        self.stopped.get_or_insert(reason);
    }

    /// Puts an empty drive in the place of a failed one.
    pub(super) fn put_new_drive(
        &mut self,
        drive: DriveId,
        path: Option<PathBuf>,
    ) -> Result<(), String> {
        let bytes = self.drive_bytes;
        let Some(durable) = &mut self.keeping.durable else {
            if path.is_some() {
                return Err("the array is in memory, and so is every drive of it".into());
            }
            self.failed &= !(1 << drive.0);
            let memory = Backing::Memory(Memory::new(bytes));
            return self.storage.add(drive, memory).map_err(|error| error.to_string());
        };
        let old = durable.places[drive.index()].clone();
        let place = match (&path, &old) {
            (None, _) => old.clone(),
            (Some(path), Place::Direct(_)) => Place::Direct(path.clone()),
            (Some(path), _) => Place::File(path.clone()),
        };
        self.storage.remove(drive);
        durable.members.replace(drive, None);
        let joined =
            format::join(&place, drive, &durable.members, &durable.intent, &durable.journal);
        let disk = joined.map_err(|error| error.to_string())?;
        durable.members.replace(drive, Some(disk.head()));
        durable.places[drive.index()] = place;
        self.storage.add(drive, Backing::Disk(disk)).map_err(|error| error.to_string())?;
        self.failed &= !(1 << drive.0);
        self.note_member(drive, MemberState::Rebuilding { cursor_bytes: 0 });
        Ok(())
    }

    /// Writes down what must survive a clean end: all data, the maps of emulated drives, and that the
    /// end was clean. If something is still under way the array ends as if it had crashed, which
    /// loses nothing that was flushed.
    pub(super) fn write_last_words(&mut self) -> Result<(), EngineError> {
        let clean = self.is_quiet();
        let Some(durable) = &mut self.keeping.durable else { return Ok(()) };
        if !clean {
            tracing::warn!("requests did not end in time: the next start will check parity");
            return Ok(());
        }
        let generation = durable.members.end_generation();
        let uuid = durable.members.uuid();
        for (position, model) in self.models.iter_mut().enumerate() {
            let drive = DriveId(position as u8);
            let (Model::Emulated(ssd), Some(path)) = (model, durable.places[position].path())
            else {
                continue;
            };
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
        for drive in self.present() {
            self.storage.submit(u64::MAX, drive, Work::Sync);
        }
        self.storage.kick()?;
        while self.storage.in_flight() > 0 {
            if let Some(finished) = self.storage.poll() {
                if let Err(error) = finished.result {
                    let drive = finished.drive.0;
                    return Err(EngineError::Record(format!("drive {drive}: {error}")));
                }
                continue;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let Some(durable) = &mut self.keeping.durable else { return Ok(()) };
        if !durable.intent.dirty_regions().is_empty() {
            tracing::warn!("parity was not yet right everywhere: the next start goes on with it");
            return Ok(());
        }
        match durable.members.end().first() {
            None => Ok(()),
            Some((drive, error)) => Err(EngineError::Record(format!("drive {}: {error}", drive.0))),
        }
    }
}

/// Longest that a failure waits for what the other drives are doing.
const STORAGE_PATIENCE: Duration = Duration::from_secs(10);
