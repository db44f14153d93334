//! Files that have their name only when all of them is written.

use crate::failure::Failure;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Whether a path means standard output.
#[must_use]
pub fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Writes a document.
///
/// # Errors
///
/// If the file cannot be written.
pub fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|error| cannot_write(path, error))
}

/// What is said when a file cannot be written.
pub fn cannot_write(path: &Path, error: impl std::fmt::Display) -> Failure {
    Failure::internal(format!("cannot write {}: {error}", path.display()))
}

/// Whether `path` is a plain file or nothing yet.
pub fn is_replaceable(path: &Path) -> bool {
    path.metadata().map_or(true, |metadata| metadata.is_file())
}

/// A file that has its name only when all of it is written, so that no part passes for the whole.
/// Until then it has another beside it; if it is dropped before, nothing is left.
pub struct NewFile {
    file: BufWriter<File>,
    /// What it is called while it is written, and then; none of what is no plain file.
    names: Option<(PathBuf, PathBuf)>,
}

impl NewFile {
    /// Nothing is written yet. A file that has the name already stays what it is until the end.
    pub fn create(path: &Path) -> io::Result<Self> {
        // Where a link leads to; what is not there yet is a file.
        let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if !is_replaceable(&target) {
            // A pipe or a device has no part that could be mistaken, and must not be replaced by a
            // file.
            return Ok(Self { file: BufWriter::new(File::create(path)?), names: None });
        }
        let mut name = target.as_os_str().to_owned();
        name.push(".partial");
        let partial = PathBuf::from(name);
        let file = BufWriter::new(File::create(&partial)?);
        Ok(Self { file, names: Some((partial, target)) })
    }

    /// All of it is written.
    pub fn finish(mut self) -> io::Result<()> {
        self.file.flush()?;
        if let Some((partial, target)) = &self.names {
            std::fs::rename(partial, target)?;
            self.names = None;
        }
        Ok(())
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some((partial, _)) = &self.names {
            // What is left says nothing.
            let _ = std::fs::remove_file(partial);
        }
    }
}
