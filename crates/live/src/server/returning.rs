//! Drives on the network that have failed and may come back: one that holds what it held is given
//! what it missed.
//!
//! A thread for each waits until the drive can be connected. Commands that were on their way when
//! it failed may still be carried out then, over what is written later: so it waits once more, for
//! as long as the drive keeps a host that says nothing (Keep Alive Timeout, NVMe Base Specification
//! 2.0, 3.9), and takes the drive only after that.

use super::array_io::ArrayIo;
use super::members::Members;
use crate::control::{ArrayHandle, Message, Records, Returned};
use crate::durable::{claim_drive, format};
use crate::storage::{DriveLocation, RemoteLocation, StoredDrive};
use array::DriveState;
use std::sync::mpsc::{Sender, channel};
use units::{DriveId, Instant};

/// Time between two attempts to connect a drive, at first; each time twice as long.
const FIRST_PAUSE: std::time::Duration = std::time::Duration::from_millis(50);
/// How long that becomes at most.
const LONGEST_PAUSE: std::time::Duration = std::time::Duration::from_secs(2);
/// What is waited beside the Keep Alive Timeout: a drive may measure it coarsely.
const KEEP_ALIVE_MARGIN: std::time::Duration = std::time::Duration::from_millis(500);

/// The drives that are waited for.
#[derive(Debug, Default)]
pub(super) struct Returning {
    /// Each with the number of its wait.
    drives: Vec<(DriveId, u64)>,
    waits: u64,
}

impl Returning {
    fn begin(&mut self, drive: DriveId) {
        self.cancel(drive);
        self.waits += 1;
        self.drives.push((drive, self.waits));
    }

    /// Nobody waits for this drive any more.
    pub(super) fn cancel(&mut self, drive: DriveId) {
        self.drives.retain(|(other, _)| *other != drive);
    }

    fn wait_of(&self, drive: DriveId) -> Option<u64> {
        self.drives.iter().find(|(other, _)| *other == drive).map(|(_, wait)| *wait)
    }
}

impl Members {
    /// A drive has failed, and nobody has ordered that.
    pub(super) fn await_return(&mut self, io: &mut ArrayIo, drive: DriveId) {
        let Some(remote) = self.remote(drive) else { return };
        let limit = remote.options.return_time;
        if limit.is_zero() || io.volume.ask_to_replace(drive).is_err() {
            return;
        }
        tracing::info!(drive = drive.0, "the drive is waited for: {limit}");
        self.returning.begin(drive);
    }

    /// The failure of a drive is written down, and no command is out to it.
    pub(super) fn begin_to_return(
        &mut self,
        io: &mut ArrayIo,
        handle: ArrayHandle,
        drive: DriveId,
    ) {
        let Some(wait) = self.returning.wait_of(drive) else { return };
        let Some(remote) = self.remote(drive).cloned() else { return };
        io.storage.remove(drive);
        let thread = std::thread::Builder::new().name(format!("return-{}", drive.0));
        let started = thread.spawn(move || {
            let disk = take_back(&remote, drive, wait, &handle);
            // If the array has ended, nobody needs the drive any more.
            let _ = handle.send(Message::Returned(Box::new(Returned { drive, wait, disk })));
        });
        if let Err(error) = started {
            self.returning.cancel(drive);
            tracing::error!(drive = drive.0, "the drive is not waited for: {error}");
        }
    }

    /// A thread has a drive that is back, and asks for the records to format its head; none if
    /// nobody waits for it.
    pub(super) fn give_records(
        &self,
        io: &ArrayIo,
        drive: DriveId,
        wait: u64,
        answer: &Sender<Records>,
    ) {
        if self.returning.wait_of(drive) == Some(wait)
            && let Some((superblock, intent, journal)) = io.volume.engine().plane().records()
        {
            let _ = answer.send((superblock.clone(), intent.clone(), journal.clone()));
        }
    }

    /// A thread has a drive ready that is back, or has given it up.
    pub(super) fn take_returned(&mut self, io: &mut ArrayIo, now: Instant, returned: Returned) {
        let Returned { drive, wait, disk } = returned;
        if self.returning.wait_of(drive) != Some(wait) {
            return;
        }
        self.returning.cancel(drive);
        let taken = disk.and_then(|disk| {
            io.storage.add(drive, disk.into()).map_err(|error| error.to_string())?;
            let new = self.new_drive(drive)?;
            io.volume.take_drive_back(now, drive, new.observed()).map_err(|error| error.to_string())
        });
        match taken {
            Ok(()) => {
                let state = io.engine().array().drive_state(drive);
                let stripes = match state {
                    DriveState::Rebuilding { stripes } | DriveState::Incomplete { stripes } => {
                        stripes
                    }
                    DriveState::Serving | DriveState::Failed => 0,
                };
                tracing::info!(
                    drive = drive.0,
                    stripes,
                    "the drive is back, and gets what it missed"
                );
            }
            Err(reason) => {
                tracing::error!(drive = drive.0, "the drive is not taken back: {reason}");
            }
        }
    }
}

/// Waits for a drive, and formats its head.
fn take_back(
    remote: &RemoteLocation,
    drive: DriveId,
    wait: u64,
    handle: &ArrayHandle,
) -> Result<StoredDrive, String> {
    let limit = std::time::Duration::from_nanos(remote.options.return_time.as_nanos());
    let until = std::time::Instant::now() + limit;
    let place = DriveLocation::Remote(Box::new(remote.clone()));
    drop(connect(&place, until)?);
    let keep_alive = std::time::Duration::from_nanos(remote.options.keep_alive.as_nanos());
    std::thread::sleep(keep_alive + KEEP_ALIVE_MARGIN);
    let until = until.max(std::time::Instant::now() + keep_alive);
    drop(connect(&place, until)?);
    let claimed = claim_drive(drive.index(), &place).map_err(|error| error.to_string())?;
    let disk = connect(&place, until)?;
    let (sender, records) = channel();
    let asked = handle.send(Message::Back { drive, wait, records: sender });
    let records = asked.ok().and_then(|()| records.recv().ok());
    let (superblock, intent, journal) = records.ok_or("nobody waits for it any more")?;
    let disk = format::take_back(disk, drive, &superblock, &intent, &journal)?;
    claimed.keep();
    Ok(disk)
}

/// Connects a drive as soon as it is there.
fn connect(place: &DriveLocation, until: std::time::Instant) -> Result<StoredDrive, String> {
    let mut pause = FIRST_PAUSE;
    loop {
        match StoredDrive::open_head(place) {
            Ok(disk) => return Ok(disk),
            Err(error) if error.is_missing() && std::time::Instant::now() < until => {
                std::thread::sleep(pause);
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
            Err(error) => return Err(error.to_string()),
        }
    }
}
