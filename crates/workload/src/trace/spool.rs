//! Requests of a pipe that are too many to be held in memory, in a file without a name.

use crate::error::TraceError;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};

/// Bytes of a request.
pub(super) const RECORD: usize = 24;

/// Names that are tried.
const MOST_NAMES: u32 = 1_000;

/// Where records go.
pub(super) struct Spool {
    file: BufWriter<File>,
    records: u64,
}

impl Spool {
    /// A file in the folder for such files; nothing is left of it when it is closed.
    pub(super) fn create() -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(0o600);
        let mut number = 0;
        let (file, path) = loop {
            let name = format!("ioda-requests-{}-{number}", std::process::id());
            let path = std::env::temp_dir().join(name);
            match options.open(&path) {
                // Another thread is between making its file and taking the name away.
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

    /// All records, to be read.
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
    /// Fills `buffer` with records from `first` on, as many as there are or fit.
    pub(super) fn read(&self, first: u64, buffer: &mut Vec<u8>, most: usize) -> io::Result<()> {
        let left = self.records.saturating_sub(first).min(most as u64) as usize;
        buffer.resize(left * RECORD, 0);
        self.file.read_exact_at(buffer, first * RECORD as u64)
    }
}

/// What is said when records cannot be stored.
pub(super) fn failed(name: &str, limit: u64, source: io::Error) -> TraceError {
    let folder = std::env::temp_dir().display().to_string();
    TraceError::Spool { name: name.to_owned(), limit, folder, source }
}
