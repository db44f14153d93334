//! The file of a store: who may write it, and how it is replaced as a whole.

use crate::failure::Failure;
use rustix::fs::{FlockOperation, flock};
use rustix::io::{Errno, retry_on_intr};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Name of the file.
pub(super) const NAME: &str = "runs.jsonl";
/// What it is called until all of it is written.
const UNFINISHED: &str = "runs.jsonl.partial";

/// Where the file of `folder` is.
pub(super) fn path(folder: &Path) -> PathBuf {
    folder.join(NAME)
}

/// Opens the file of `folder` for this process alone; it is made if there is none. It is read from
/// its beginning and written at its end.
pub(super) fn writable(folder: &Path) -> Result<File, Failure> {
    let open = |path: &Path| OpenOptions::new().read(true).append(true).create(true).open(path);
    locked(folder, open, FlockOperation::NonBlockingLockExclusive)
        .map_err(|error| unusable(&path(folder), "write", &error))?
        .ok_or_else(|| Failure::internal(format!(
            "{} is being written by another ioda; wait until it has ended, or choose another folder",
            folder.display()
        )))
}

/// Opens the file of `folder` to read it, which nobody writes meanwhile.
pub(super) fn readable(folder: &Path) -> Result<File, Failure> {
    match locked(folder, |path| File::open(path), FlockOperation::NonBlockingLockShared) {
        Ok(Some(file)) => Ok(file),
        Ok(None) => Err(Failure::internal(format!(
            "{} is still being written by another ioda; wait until it has ended",
            folder.display()
        ))),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Err(Failure::data(format!(
                "{} has no {NAME}: it is no --output of a command that keeps runs",
                folder.display()
            )))
        }
        Err(error) => Err(unusable(&path(folder), "read", &error)),
    }
}

/// Gives the file of `folder`, which this process has locked, this text in one step: a power
/// failure leaves the old file or the new one. The new one is locked from the beginning.
pub(super) fn replace(folder: &Path, text: &[u8]) -> Result<File, Failure> {
    let unfinished = folder.join(UNFINISHED);
    let write = || -> io::Result<File> {
        // What an interrupt may have left goes first.
        File::create(&unfinished)?;
        let mut file = OpenOptions::new().read(true).append(true).open(&unfinished)?;
        lock(&file, FlockOperation::NonBlockingLockExclusive)?;
        file.write_all(text)?;
        file.sync_all()?;
        std::fs::rename(&unfinished, path(folder))?;
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        File::open(folder)?.sync_all()?;
        Ok(file)
    };
    write().map_err(|error| unusable(&path(folder), "write", &error))
}

/// What is said when a file cannot be used.
pub(super) fn unusable(path: &Path, what: &str, error: &io::Error) -> Failure {
    Failure::internal(format!("cannot {what} {}: {error}", path.display()))
}

/// Opens and locks the file of `folder`; none if another process has locked it.
fn locked(
    folder: &Path,
    open: impl Fn(&Path) -> io::Result<File>,
    how: FlockOperation,
) -> io::Result<Option<File>> {
    let path = path(folder);
    loop {
        let file = open(&path)?;
        if !lock(&file, how)? {
            return Ok(None);
        }
        // Whoever had it locked may have put another in its place before this lock was given.
        match std::fs::metadata(&path) {
            Ok(there) if is_same(&there, &file.metadata()?) => return Ok(Some(file)),
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
}

fn is_same(one: &std::fs::Metadata, other: &std::fs::Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Locks a file until it is closed; not if another process has it. File systems of clusters may
/// have no locks: there everybody has to have a folder of his own.
fn lock(file: &File, how: FlockOperation) -> io::Result<bool> {
    match retry_on_intr(|| flock(file, how)) {
        Ok(()) | Err(Errno::NOSYS | Errno::OPNOTSUPP | Errno::NOLCK) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn one_writes_or_several_read() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path();
        let refused = |result: Result<File, Failure>| result.unwrap_err().to_string();
        assert!(refused(readable(folder)).contains("has no runs.jsonl"));
        let writer = writable(folder).unwrap();
        let says = format!("{} is being written by another ioda; ", folder.display());
        assert!(refused(writable(folder)).starts_with(&says));
        assert!(refused(readable(folder)).contains("is still being written"));
        drop(writer);
        let readers = [readable(folder).unwrap(), readable(folder).unwrap()];
        assert!(refused(writable(folder)).starts_with(&says));
        drop(readers);
        writable(folder).unwrap();
    }

    #[test]
    fn the_lock_stays_with_what_replaces_the_file() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path();
        let before = writable(folder).unwrap();
        // What an interrupt left of a longer one.
        std::fs::write(folder.join(UNFINISHED), "much more than is written now").unwrap();
        let mut after = replace(folder, b"new\n").unwrap();
        drop(before);
        assert!(writable(folder).is_err(), "the new one is locked");
        after.write_all(b"more\n").unwrap();
        drop(after);
        let mut text = String::new();
        readable(folder).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "new\nmore\n");
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), 1, "nothing else is left");
    }
}
