//! The state of an emulated drive between two runs: which flash page holds which logical one, how
//! worn each block is. It gives timing only, no data, so a drive without it is merely as good as
//! new.
//!
//! After a clean end it is in a file beside the drive, `<place>.ftl`. The next start takes it away
//! before it serves anything, so that one after a crash never finds an old one.
//!
//! | bytes | field |
//! |---|---|
//! | 0..8 | magic `ioda\0ftl` |
//! | 8..12 | CRC-32 of all other bytes |
//! | 12..16 | version, 1 |
//! | 16..32 | the array |
//! | 32..40 | generation of the clean end |
//! | 40 | drive |
//! | 41..48 | zero |
//! | 48..56 | bytes of the state |
//! | 56.. | the state |

use super::Uuid;
use crate::storage::FILE_MODE;
use ::engine::durability::block::{array, get_u32, get_u64, is_sealed, put, seal};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use thiserror::Error;
use units::DriveId;

const MAGIC: [u8; 8] = *b"ioda\0ftl";
const VERSION: u32 = 1;
const SUM_AT: usize = 8;
const STATE_AT: usize = 56;

/// Whose state it is, and of which end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Owner {
    /// The array.
    pub uuid: Uuid,
    /// The drive.
    pub drive: DriveId,
    /// The generation of the superblocks that say that the end was clean.
    pub generation: u64,
}

/// Why there is no state to go on with. The drive is then as good as new.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FtlError {
    /// It is not what was written.
    #[error("{} is damaged: the drive starts as a new one", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// It is of a later program.
    #[error("{} has version {version}, and this program knows {VERSION}: the drive starts as a new one", .path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u32,
    },
    /// It is of another array, drive or end.
    #[error("{} is not of the last clean end of this drive: the drive starts as a new one", .path.display())]
    NotOurs {
        /// The file.
        path: PathBuf,
    },
    /// The system says no.
    #[error("{}: {error}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What it says.
        error: io::Error,
    },
}

/// The file beside a drive.
#[must_use]
pub fn sidecar(drive: &Path) -> PathBuf {
    let mut name = OsString::from(drive);
    name.push(".ftl");
    name.into()
}

/// Writes the state of a drive at `drive`, whole or not at all, and waits until it is on stable
/// storage.
///
/// # Errors
///
/// If the system says no.
pub fn save(drive: &Path, owner: &Owner, state: &[u8]) -> Result<(), FtlError> {
    let path = sidecar(drive);
    let mut bytes = vec![0; STATE_AT];
    put(&mut bytes, 0, &MAGIC);
    put(&mut bytes, 12, &VERSION.to_le_bytes());
    put(&mut bytes, 16, &owner.uuid.0);
    put(&mut bytes, 32, &owner.generation.to_le_bytes());
    bytes[40] = owner.drive.0;
    put(&mut bytes, 48, &(state.len() as u64).to_le_bytes());
    bytes.extend_from_slice(state);
    seal(&mut bytes, SUM_AT);

    let mut unfinished = OsString::from(&path);
    unfinished.push(".new");
    let write = || {
        let mut file = create_anew(&unfinished)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        fs::rename(&unfinished, &path)?;
        sync_folder(&path)
    };
    write().map_err(|error| FtlError::Io { path: path.clone(), error })
}

/// A new file for its owner alone, instead of what a crash has left there.
fn create_anew(path: &OsStr) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(path)
}

/// Takes the state of a drive away: whatever this returns, no file is left. `None` if there was
/// none.
///
/// # Errors
///
/// If it is not the state of this drive at the end that `owner` names, or cannot be removed.
pub fn take(drive: &Path, owner: &Owner) -> Result<Option<Vec<u8>>, FtlError> {
    let path = sidecar(drive);
    let io = |error| FtlError::Io { path: path.clone(), error };
    let read = match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read,
    };
    fs::remove_file(&path).and_then(|()| sync_folder(&path)).map_err(io)?;
    let bytes = read.map_err(io)?;
    let sound = bytes.len() >= STATE_AT
        && bytes[..8] == MAGIC
        && is_sealed(&bytes, SUM_AT)
        && get_u64(&bytes, 48) == (bytes.len() - STATE_AT) as u64;
    if !sound {
        return Err(FtlError::Damaged { path });
    }
    let version = get_u32(&bytes, 12);
    if version != VERSION {
        return Err(FtlError::Version { path, version });
    }
    let found = Owner {
        uuid: Uuid(array(&bytes, 16)),
        drive: DriveId(bytes[40]),
        generation: get_u64(&bytes, 32),
    };
    if found != *owner {
        return Err(FtlError::NotOurs { path });
    }
    Ok(Some(bytes[STATE_AT..].to_vec()))
}

/// Brings the creation or removal of a file to stable storage.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_state_is_taken_once_and_only_by_its_owner() {
        let folder = tempfile::tempdir().unwrap();
        let drive = folder.path().join("drive-0");
        let owner = Owner { uuid: Uuid([1; 16]), drive: DriveId(0), generation: 8 };
        assert!(take(&drive, &owner).unwrap().is_none());
        save(&drive, &owner, b"worn").unwrap();
        save(&drive, &owner, b"worn more").unwrap();
        let mode = fs::metadata(sidecar(&drive)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, FILE_MODE);
        assert_eq!(take(&drive, &owner).unwrap().as_deref(), Some(&b"worn more"[..]));
        assert!(take(&drive, &owner).unwrap().is_none(), "taken is taken");
        for other in [
            Owner { uuid: Uuid([2; 16]), ..owner },
            Owner { drive: DriveId(1), ..owner },
            Owner { generation: 9, ..owner },
        ] {
            save(&drive, &owner, &[]).unwrap();
            assert!(matches!(take(&drive, &other), Err(FtlError::NotOurs { .. })));
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left");
        }
    }

    #[test]
    fn every_damaged_byte_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let drive = folder.path().join("drive-0");
        let owner = Owner { uuid: Uuid([1; 16]), drive: DriveId(0), generation: 8 };
        save(&drive, &owner, b"state").unwrap();
        let sound = fs::read(sidecar(&drive)).unwrap();
        for at in 0..sound.len() {
            let mut bytes = sound.clone();
            bytes[at] ^= 0x40;
            fs::write(sidecar(&drive), &bytes).unwrap();
            assert!(matches!(take(&drive, &owner), Err(FtlError::Damaged { .. })), "byte {at}");
            fs::write(sidecar(&drive), &sound[..at]).unwrap();
            assert!(matches!(take(&drive, &owner), Err(FtlError::Damaged { .. })), "cut at {at}");
        }
        let mut newer = sound;
        put(&mut newer, 12, &2u32.to_le_bytes());
        seal(&mut newer, SUM_AT);
        fs::write(sidecar(&drive), &newer).unwrap();
        let said = take(&drive, &owner).unwrap_err().to_string();
        assert!(
            said.ends_with(
                "has version 2, and this program knows 1: the drive starts as a new one"
            )
        );
    }
}
