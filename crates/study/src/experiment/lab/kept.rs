//! The folder in which results are kept, so that what was interrupted goes on.
//!
//! Each run has a folder of its own, named after what is run and after the key of all that
//! determines it. While it is made, and when it has failed, the folder has another name.

use super::job::LabJob;
use crate::failure::Failure;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// What a run printed.
const OUTPUT: &str = "output.txt";

/// The folder of all results. Nobody else writes there as long as this lives.
pub struct Shelf {
    folder: PathBuf,
    /// Locked until it is closed.
    _lock: Option<File>,
}

impl Shelf {
    /// The results in `folder`, which is made if it is not there.
    ///
    /// # Errors
    ///
    /// If it cannot be written, or if another process writes there.
    pub fn open(folder: &Path) -> Result<Self, Failure> {
        let failed = |error: io::Error| {
            let shown = folder.display();
            Failure::internal(format!("cannot keep results in {shown}: {error}"))
        };
        fs::create_dir_all(folder).map_err(failed)?;
        let folder = folder.canonicalize().map_err(failed)?;
        let file = File::create(folder.join("lock")).map_err(failed)?;
        let lock = match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Some(file),
            // File systems of clusters may have no locks.
            Err(Errno::NOSYS | Errno::OPNOTSUPP | Errno::NOLCK) => None,
            Err(Errno::WOULDBLOCK) => {
                return Err(Failure::internal(format!(
                    "{} is being written by another ioda; wait until it has ended, or choose another folder with \
                     --results",
                    folder.display()
                )));
            }
            Err(error) => return Err(failed(error.into())),
        };
        Ok(Self { folder, _lock: lock })
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn path(&self, job: &LabJob, ending: &str) -> PathBuf {
        self.folder.join(job.folder() + ending)
    }

    /// The result of a run, if it was made.
    pub(super) fn find(&self, job: &LabJob) -> Option<PathBuf> {
        let path = self.path(job, "").join(job.file());
        path.is_file().then_some(path)
    }

    /// A run begins: an empty folder for what it writes, and the file for what it prints.
    pub(super) fn begin(&self, job: &LabJob) -> io::Result<(PathBuf, File)> {
        for ending in [".partial", ".failed"] {
            remove(&self.path(job, ending))?;
        }
        let folder = self.path(job, ".partial");
        fs::create_dir(&folder)?;
        let output = File::create(folder.join(OUTPUT))?;
        Ok((folder, output))
    }

    /// A run ended well: from now on it is found.
    pub(super) fn keep(&self, job: &LabJob) -> io::Result<()> {
        let path = self.path(job, "");
        remove(&path)?;
        fs::rename(self.path(job, ".partial"), path)
    }

    /// A run failed: what it printed stays to be looked at, under a name that is not found. The
    /// file of that, and its text.
    pub(super) fn fail(&self, job: &LabJob) -> io::Result<(PathBuf, String)> {
        let path = self.path(job, ".failed");
        fs::rename(self.path(job, ".partial"), &path)?;
        let output = path.join(OUTPUT);
        let text = fs::read(&output)?;
        Ok((output, String::from_utf8_lossy(&text).into_owned()))
    }

    /// A run was interrupted: nothing of it is left.
    pub(super) fn drop_run(&self, job: &LabJob) -> io::Result<()> {
        remove(&self.path(job, ".partial"))
    }
}

/// Removes a folder with all that is in it, if it is there.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_processes_do_not_write_in_one_folder() {
        let temporary = tempfile::tempdir().unwrap();
        let first = Shelf::open(&temporary.path().join("a/b")).unwrap();
        let second = Shelf::open(&temporary.path().join("a/b"));
        let Err(error) = second else { panic!("both have it") };
        assert!(error.to_string().contains("is being written by another ioda"), "{error}");
        drop(first);
        Shelf::open(&temporary.path().join("a/b")).unwrap();
    }
}
