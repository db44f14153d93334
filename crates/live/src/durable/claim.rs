//! Claiming drives on the network before anything is read of them that counts, so that no two
//! servers use them.
//!
//! Knows: in which order drives are looked at, taken and given up, and what people are told. Does
//! not know: how one drive is claimed ([`crate::storage`], [`::engine::durability::owner`]).
//!
//! All drives are looked at before the first is taken: a server that lives on one of them keeps
//! all. Drives that can be reserved are reserved one after the other in the order of their names,
//! so that of two servers that start at once one gets the first. The leases of their former owners
//! run out at the same time.

use crate::storage::{Claimant, DriveLocation, Finding, RemoteDrive, RemoteLocation, StoredDrive};
use ::engine::durability::owner::{OwnerBlock, OwnerName, Process};
use ::engine::durability::{Uuid, is_claimable};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use thiserror::Error;
use units::Duration;

/// Longest sleep while the blocks of drives are read.
const PAUSE_NANOSECONDS: i64 = 20_000_000;
/// Pauses after which the wait is logged: a second.
const PAUSES_UNTIL_SAID: u32 = 50;

/// Why drives were not claimed. Nothing on them was changed, and none is claimed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ClaimError {
    /// A server has a drive, and lives.
    #[error(
        "drive {drive} at {place} is in use by {owner}, which is alive: stop that server first, or take its drives with --take-over, which stops it"
    )]
    InUse {
        /// Number of the place.
        drive: usize,
        /// Where it is.
        place: String,
        /// Name of the server, as it says.
        owner: String,
    },
    /// A host has reserved a drive.
    #[error(
        "drive {drive} at {place} is reserved by the host {host} with the key {key:#x}: release that reservation first, or end it with --take-over"
    )]
    Reserved {
        /// Number of the place.
        drive: usize,
        /// Where it is.
        place: String,
        /// The identifier of the host.
        host: Uuid,
        /// Its key.
        key: u64,
    },
    /// A drive cannot be claimed.
    #[error("drive {drive} at {place} cannot be claimed: {why}")]
    Failed {
        /// Number of the place.
        drive: usize,
        /// Where it is.
        place: String,
        /// Why.
        why: String,
    },
}

/// Drives that were claimed. A drive that is not connected when this is dropped is given up.
#[derive(Debug, Default)]
pub struct Claimed {
    places: Vec<RemoteLocation>,
}

/// A drive that is being claimed.
struct Candidate {
    /// Number of its place.
    number: usize,
    location: RemoteLocation,
    drive: Box<RemoteDrive>,
}

/// The name and the lease under which this process claims drives.
///
/// # Errors
///
/// If the system gives no random numbers.
pub fn claimant(lease: Duration) -> io::Result<Claimant> {
    let process = own_process();
    let host = read_text("/proc/sys/kernel/hostname").unwrap_or_else(|| "a machine".into());
    let name = OwnerName::new(&format!("ioda on {host} (process {})", process.number));
    Ok(Claimant { owner: super::random_uuid()?, process, name, lease })
}

/// Claims all drives on the network among `places` that belong to an array or are blank. With
/// `takes_over` a living owner loses them.
///
/// # Errors
///
/// If another server has one and lives, or one cannot be claimed.
pub fn claim(places: &[DriveLocation], takes_over: bool) -> Result<Claimed, ClaimError> {
    claim_numbered(places.iter().enumerate(), takes_over)
}

/// Claims one drive, that of the place with this number; a living owner keeps it.
///
/// # Errors
///
/// As [`claim`].
pub fn claim_drive(number: usize, place: &DriveLocation) -> Result<Claimed, ClaimError> {
    claim_numbered([(number, place)], false)
}

fn claim_numbered<'a>(
    places: impl IntoIterator<Item = (usize, &'a DriveLocation)>,
    takes_over: bool,
) -> Result<Claimed, ClaimError> {
    let mut candidates = connect(places);
    let result = claim_all(&mut candidates, takes_over);
    if result.is_err() {
        for Candidate { drive, .. } in &mut candidates {
            drive.give_up_claim_now();
        }
    }
    // Drives that are closed stay claimed.
    let places = candidates.into_iter().map(|candidate| candidate.location).collect();
    result.map(|()| Claimed { places })
}

/// The drives that can be connected. Others are told about when they are opened.
fn connect<'a>(places: impl IntoIterator<Item = (usize, &'a DriveLocation)>) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    for (number, place) in places {
        let DriveLocation::Remote(location) = place else { continue };
        if location.options.claims.is_none() {
            continue;
        }
        match RemoteDrive::open(&location.address, &location.options) {
            // What this server has already is no candidate.
            Ok(drive) if drive.is_claimed() => {}
            Ok(drive) => {
                let (location, drive) = ((**location).clone(), Box::new(drive));
                candidates.push(Candidate { number, location, drive });
            }
            Err(error) => tracing::debug!(drive = number, "a drive is not claimed: {error}"),
        }
    }
    candidates.sort_by_key(|candidate| candidate.drive.facts().nguid);
    candidates
}

fn claim_all(candidates: &mut Vec<Candidate>, takes_over: bool) -> Result<(), ClaimError> {
    for Candidate { drive, .. } in candidates.iter_mut() {
        drive.begin_claim(takes_over);
    }
    wait(candidates, |_, finding| *finding != Finding::Unsure, true)?;
    for candidate in candidates.iter() {
        candidate.check()?;
    }
    // A drive with something else on it is not claimed, and is refused when it is opened.
    let mut claimable = Vec::new();
    for mut candidate in candidates.drain(..) {
        let mut drive = StoredDrive::Remote(candidate.drive);
        let is_claimable = is_claimable(&mut drive);
        let StoredDrive::Remote(remote) = drive else { continue };
        candidate.drive = remote;
        match is_claimable {
            true => claimable.push(candidate),
            false => candidate.drive.give_up_claim_now(),
        }
    }
    *candidates = claimable;
    let (fenced, bare): (Vec<usize>, Vec<usize>) =
        (0..candidates.len()).partition(|&index| candidates[index].drive.is_fenced());
    for index in fenced {
        candidates[index].take(takes_over);
        let is_reserved = |finding: &Finding| matches!(finding, Finding::Reserved | Finding::Held);
        wait(candidates, |number, finding| number != index || is_reserved(finding), false)?;
    }
    for index in bare {
        candidates[index].take(takes_over);
    }
    wait(candidates, |_, finding| *finding == Finding::Held, false)
}

/// Lets drives go on until all are as they should be, or one cannot be claimed.
fn wait(
    candidates: &mut [Candidate],
    is_done: impl Fn(usize, &Finding) -> bool,
    looks: bool,
) -> Result<(), ClaimError> {
    let mut pauses = 0;
    loop {
        let mut all = true;
        for (number, candidate) in candidates.iter_mut().enumerate() {
            let turned = candidate.drive.collect().and_then(|()| candidate.drive.kick());
            turned.map_err(|error| candidate.failed(error.to_string()))?;
            if let Some(owner) = candidate.drive.watched()
                && is_gone(&owner.process)
            {
                tracing::info!(
                    drive = candidate.number,
                    "the drive was claimed by {}, which is no more",
                    owner.name
                );
                candidate.drive.handle_owner_gone();
            }
            let finding = candidate.drive.finding();
            if let Finding::Failed(why) = finding {
                return Err(candidate.failed(why));
            }
            all &= is_done(number, &finding);
        }
        if all {
            return Ok(());
        }
        // One living owner is enough.
        if looks && candidates.iter().any(|candidate| candidate.check().is_err()) {
            return candidates.iter().try_for_each(Candidate::check);
        }
        pauses += 1;
        if pauses == PAUSES_UNTIL_SAID {
            say(candidates, looks);
        }
        pause(candidates);
    }
}

/// What is waited for.
fn say(candidates: &[Candidate], looks: bool) {
    for Candidate { number, drive, .. } in candidates {
        match (looks, drive.watched()) {
            (true, Some(OwnerBlock { name, .. })) => {
                tracing::info!(
                    drive = number,
                    "the drive is claimed by {name}: whether that lives is watched"
                );
            }
            (false, _) if drive.finding() == Finding::Unsure => {
                tracing::info!(
                    drive = number,
                    "the drive is being claimed: others have time to object"
                );
            }
            (false, _) if drive.finding() == Finding::Reserved => {
                tracing::info!(
                    drive = number,
                    "the drive is reserved for this server: the one before may answer clients for the rest of its lease"
                );
            }
            _ => {}
        }
    }
}

fn pause(candidates: &[Candidate]) {
    let timeout = Timespec { tv_sec: 0, tv_nsec: PAUSE_NANOSECONDS };
    let readable = |candidate: &Candidate| candidate.drive.fd().try_clone_to_owned();
    let Ok(owned) = candidates.iter().map(readable).collect::<Result<Vec<_>, _>>() else { return };
    let mut fds: Vec<PollFd<'_>> = owned.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
    // Whatever comes of it, all are looked at again.
    let _ = poll(&mut fds, Some(&timeout));
}

impl Candidate {
    fn place(&self) -> String {
        self.location.address.to_string()
    }

    fn failed(&self, why: String) -> ClaimError {
        ClaimError::Failed { drive: self.number, place: self.place(), why }
    }

    /// Whether the drive may be taken.
    fn check(&self) -> Result<(), ClaimError> {
        let (drive, place) = (self.number, self.place());
        match self.drive.finding() {
            Finding::Moving(owner) => {
                Err(ClaimError::InUse { drive, place, owner: owner.name.to_string() })
            }
            Finding::Foreign(holder) => {
                let (host, key) = (Uuid(holder.host_id), holder.key);
                Err(ClaimError::Reserved { drive, place, host, key })
            }
            Finding::Failed(why) => Err(self.failed(why)),
            Finding::Unsure
            | Finding::Free
            | Finding::Still(_)
            | Finding::Reserved
            | Finding::Held => Ok(()),
        }
    }

    fn take(&mut self, takes_over: bool) {
        if let Finding::Still(Some(owner)) = self.drive.finding() {
            let why = match takes_over {
                true => "as --take-over demands",
                false => "which does not say any more that it lives",
            };
            tracing::warn!(
                drive = self.number,
                "the drive is taken over from {}, {why}",
                owner.name
            );
        }
        self.drive.proceed_with_claim();
    }
}

impl Claimed {
    /// These drives instead of others.
    pub fn replace(&mut self, mut other: Self) {
        std::mem::swap(&mut self.places, &mut other.places);
    }

    /// The drives stay claimed, whatever becomes of them.
    pub fn keep(mut self) {
        self.places.clear();
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        for RemoteLocation { address, options } in &self.places {
            let Some(claims) = &options.claims else { continue };
            if claims.is_unconnected(address)
                && let Ok(mut drive) = RemoteDrive::open(address, options)
            {
                drive.give_up_claim_now();
            }
        }
    }
}

/// Whether a process was one of this machine and is no more. Of others nothing is known.
fn is_gone(process: &Process) -> bool {
    let own = own_process();
    let is_here = own.machine != [0; 16]
        && (own.machine, own.namespace) == (process.machine, process.namespace)
        && own.namespace != 0;
    is_here && started(&process.number.to_string()) != Some(process.started)
}

fn own_process() -> Process {
    let machine = read_text("/proc/sys/kernel/random/boot_id")
        .and_then(|text| u128::from_str_radix(&text.replace('-', ""), 16).ok());
    let namespace = std::fs::read_link("/proc/self/ns/pid").ok().and_then(|link| {
        // It reads `pid:[4026531836]`.
        let text = link.to_str()?;
        text.strip_prefix("pid:[")?.strip_suffix(']')?.parse().ok()
    });
    let started = started("self");
    Process {
        machine: machine.map_or([0; 16], u128::to_be_bytes),
        // Without a start nobody could tell a later process of the same number from this one.
        namespace: namespace.filter(|_| started.is_some()).unwrap_or(0),
        number: std::process::id(),
        started: started.unwrap_or(0),
    }
}

/// When a process started, in ticks since the start of the machine; `None` if there is none, or
/// only its remains.
fn started(process: &str) -> Option<u64> {
    let text = read_text(&format!("/proc/{process}/stat"))?;
    // The name of the program is in brackets, and may have anything in it.
    let (_, rest) = text.rsplit_once(')')?;
    let mut words = rest.split_whitespace();
    let state = words.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    // Field 22; the state is field 3.
    words.nth(18)?.parse().ok()
}

fn read_text(path: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    text.lines().next().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_gone_when_its_number_is_free_or_anothers() {
        let own = own_process();
        assert_ne!(own.machine, [0; 16]);
        assert!(own.namespace != 0 && own.started != 0);
        assert!(!is_gone(&own), "it asks");
        assert!(is_gone(&Process { started: own.started + 1, ..own }), "another had the number");
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let number = child.id();
        let process = Process { number, started: started(&number.to_string()).unwrap(), ..own };
        assert!(!is_gone(&process));
        child.kill().unwrap();
        // Its remains are there until its parent has looked.
        while started(&number.to_string()).is_some() {
            std::thread::yield_now();
        }
        assert!(is_gone(&process));
        child.wait().unwrap();
        assert!(is_gone(&process));
        let elsewhere = Process { machine: [7; 16], ..process };
        assert!(!is_gone(&elsewhere), "of another machine nothing is known");
        assert!(!is_gone(&Process { namespace: own.namespace + 1, ..process }));
    }
}
