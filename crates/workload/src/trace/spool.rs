//! Requests of a pipe that do not fit into memory, in an unnamed file.

use crate::error::TraceError;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};

/// Bytes of a request.
pub(super) const RECORD: usize = 24;

/// Most names that are tried.
const MOST_NAMES: u32 = 1_000;

/// Writer of records.
pub(super) struct Spool {
    file: BufWriter<File>,
    records: u64,
}

impl Spool {
    /// Creates a file in the folder for temporary files, and removes its name: nothing is left of
    /// it when it is closed.
    pub(super) fn create() -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(0o600);
        let mut number = 0;
        let (file, path) = loop {
            let name = format!("ioda-requests-{}-{number}", std::process::id());
            let path = std::env::temp_dir().join(name);
            match options.open(&path) {
                // Another thread has created its file and not yet removed the name.
                Err(error)
                    if error.kind() == io::ErrorKind::AlreadyExists && number < MOST_NAMES =>
                {
                    number += 1;
                }
                opened => break (opened?, path),
            }
        };
        std::fs::remove_file(&path)?;
        Ok(Self { file: BufWriter::with_capacity(1 << 20, file), records: 0 })
    }

    /// Appends a record.
    pub(super) fn push(&mut self, record: &[u8; RECORD]) -> io::Result<()> {
        self.records += 1;
        self.file.write_all(record)
    }

    /// Ends writing and returns the records for reading.
    pub(super) fn finish(self) -> io::Result<Spooled> {
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        Ok(Spooled { file, records: self.records })
    }
}

/// Records that have been written.
pub(super) struct Spooled {
    file: File,
    records: u64,
}

impl Spooled {
    /// Fills `buffer` with records from `first` on, up to `most` of them.
    pub(super) fn read(&self, first: u64, buffer: &mut Vec<u8>, most: usize) -> io::Result<()> {
        let left = self.records.saturating_sub(first).min(most as u64) as usize;
        buffer.resize(left * RECORD, 0);
        self.file.read_exact_at(buffer, first * RECORD as u64)
    }
}

/// Error for records that cannot be stored.
pub(super) fn failed(name: &str, limit: u64, source: io::Error) -> TraceError {
    let folder = std::env::temp_dir().display().to_string();
    TraceError::Spool { name: name.to_owned(), limit, folder, source }
}
