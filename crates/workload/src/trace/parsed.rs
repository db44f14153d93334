//! A trace file that is parsed once and then shared by all who ask for its requests.

use super::{Counts, Detected, Gaps, ReadOptions, TraceReader};
use crate::error::TraceError;
use crate::{Op, Request, Statistics};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use units::Instant;

/// Requests that are held in memory at most: with 24 bytes each, 1 GiB. The file of a longer trace is
/// parsed again whenever its requests are asked for.
pub const HELD_REQUESTS_MOST: u64 = (1 << 30) / size_of::<Held>() as u64;
/// Requests in one piece of memory: 1.5 MiB. Pieces are never moved, so nothing is copied as a trace
/// grows.
const PIECE: usize = 1 << 16;
/// The bit of [`Held::size_and_op`] that says that a request writes. A size takes 31 bits.
const WRITES: u32 = 1 << 31;

/// Which file exactly, for the manifest of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileIdentity {
    /// The SHA-256 of the file as it is on disk, compressed or not, in hexadecimal.
    pub sha256: String,
    /// Its length in bytes.
    pub bytes: u64,
}

impl FileIdentity {
    /// Reads the whole file at `path` once.
    ///
    /// # Errors
    ///
    /// If the file cannot be read.
    pub fn of(path: &Path) -> Result<Self, TraceError> {
        let failed = |source| TraceError::Read { name: path.display().to_string(), source };
        let mut input = File::open(path).map_err(failed)?;
        let mut hash = Sha256::new();
        let mut buffer = vec![0; 64 << 10];
        let mut bytes = 0;
        loop {
            let count = match input.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(failed(error)),
            };
            hash.update(&buffer[..count]);
            bytes += count as u64;
        }
        let sha256 = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { sha256, bytes })
    }
}

/// A request in 24 bytes.
#[derive(Clone, Copy)]
struct Held {
    at: Instant,
    offset_bytes: u64,
    device: u32,
    size_and_op: u32,
}

impl Held {
    fn new(request: &Request) -> Self {
        let Request { at, op, offset_bytes, size_bytes, device } = *request;
        let write = if op == Op::Write { WRITES } else { 0 };
        // The reader delivers nothing longer than 1 GiB.
        Self { at, offset_bytes, device, size_and_op: size_bytes as u32 | write }
    }

    fn request(self) -> Request {
        let op = if self.size_and_op & WRITES == 0 { Op::Read } else { Op::Write };
        let size_bytes = u64::from(self.size_and_op & !WRITES);
        let Self { at, offset_bytes, device, .. } = self;
        Request { at, op, offset_bytes, size_bytes, device }
    }
}

/// A trace file that has been read from end to end. Copies share it.
///
/// Its requests are held in memory, 24 MB for a million, unless there are more than
/// [`HELD_REQUESTS_MOST`].
#[derive(Clone)]
pub struct Trace(Arc<Parsed>);

struct Parsed {
    path: PathBuf,
    options: ReadOptions,
    identity: FileIdentity,
    detected: Detected,
    counts: Counts,
    gaps: Gaps,
    statistics: Statistics,
    /// All requests; none if there are too many.
    held: Option<Vec<Vec<Held>>>,
}

impl Trace {
    /// Reads the file at `path`, which may be compressed, from end to end.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or anything is wrong with any line of it.
    pub fn open(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Self, TraceError> {
        Self::open_holding(path, options, HELD_REQUESTS_MOST)
    }

    /// The same; at most `most` requests are held in memory.
    ///
    /// # Errors
    ///
    /// As [`Trace::open`].
    pub fn open_holding(
        path: impl AsRef<Path>,
        options: &ReadOptions,
        most: u64,
    ) -> Result<Self, TraceError> {
        let path = path.as_ref();
        let identity = FileIdentity::of(path)?;
        let mut reader = TraceReader::open(path, options)?;
        let mut statistics = Statistics::new();
        let mut held: Option<Vec<Vec<Held>>> = Some(Vec::new());
        for request in reader.by_ref() {
            let request = request?;
            statistics.add(&request);
            if statistics.requests > most {
                held = None;
            }
            let Some(pieces) = &mut held else { continue };
            match pieces.last_mut() {
                Some(piece) if piece.len() < PIECE => piece.push(Held::new(&request)),
                _ => {
                    let mut piece = Vec::with_capacity(PIECE);
                    piece.push(Held::new(&request));
                    pieces.push(piece);
                }
            }
        }
        Ok(Self(Arc::new(Parsed {
            path: path.to_owned(),
            options: options.clone(),
            identity,
            detected: reader.detected().clone(),
            counts: reader.counts().clone(),
            gaps: reader.gaps().clone(),
            statistics,
            held,
        })))
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Whether it is what reading this file with these options gives.
    #[must_use]
    pub fn is_of(&self, path: &Path, options: &ReadOptions) -> bool {
        self.0.path == path && self.0.options == *options
    }

    /// Which file it is.
    #[must_use]
    pub fn identity(&self) -> &FileIdentity {
        &self.0.identity
    }

    /// What it was found to be.
    #[must_use]
    pub fn detected(&self) -> &Detected {
        &self.0.detected
    }

    /// What became of its lines.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.0.counts
    }

    /// The pauses between its requests.
    #[must_use]
    pub fn gaps(&self) -> &Gaps {
        &self.0.gaps
    }

    /// What it is like.
    #[must_use]
    pub fn statistics(&self) -> &Statistics {
        &self.0.statistics
    }

    /// Whether its requests are held in memory.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.0.held.is_some()
    }

    /// Its requests in order of time, the first at zero.
    ///
    /// # Errors
    ///
    /// If the trace is not held in memory and its file cannot be read any more.
    pub fn requests(&self) -> Result<TraceRequests, TraceError> {
        let from = if self.is_held() {
            Origin::Memory { trace: self.clone(), next: 0 }
        } else {
            Origin::File(Box::new(TraceReader::open(&self.0.path, &self.0.options)?))
        };
        Ok(TraceRequests(from))
    }
}

/// The same file, read in the same way.
impl PartialEq for Trace {
    fn eq(&self, other: &Self) -> bool {
        let same = |a: &Parsed, b: &Parsed| {
            a.path == b.path && a.identity == b.identity && a.options == b.options
        };
        Arc::ptr_eq(&self.0, &other.0) || same(&self.0, &other.0)
    }
}

/// What determines its requests, by which runs are known again: not where the file happens to be.
impl std::fmt::Debug for Trace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Trace")
            .field("sha256", &self.0.identity.sha256)
            .field("options", &self.0.options)
            .finish_non_exhaustive()
    }
}

/// The requests of a [`Trace`].
pub struct TraceRequests(Origin);

enum Origin {
    Memory { trace: Trace, next: usize },
    File(Box<TraceReader>),
}

impl Iterator for TraceRequests {
    type Item = Result<Request, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Origin::Memory { trace, next } => {
                let pieces = trace.0.held.as_ref()?;
                let held = pieces.get(*next / PIECE)?.get(*next % PIECE)?;
                *next += 1;
                Some(Ok(held.request()))
            }
            Origin::File(reader) => reader.next(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_held_in_24_bytes_without_loss() {
        assert_eq!(size_of::<Held>(), 24);
        for op in [Op::Read, Op::Write] {
            for size_bytes in [1, 4096, 1 << 30] {
                let at = Instant::from_nanos(u64::MAX - 1);
                let (offset_bytes, device) = ((1 << 60) - size_bytes, (1 << 20) - 1);
                let request = Request { at, op, offset_bytes, size_bytes, device };
                assert_eq!(Held::new(&request).request(), request);
            }
        }
    }

    #[test]
    fn what_is_too_long_to_be_held_is_read_again() {
        let name = format!("ioda-workload-{}-held", std::process::id());
        let path = std::env::temp_dir().join(name);
        let requests = PIECE as u64 + 3;
        let mut text = String::from("t_us,op,offset_bytes,size_bytes,dev\n");
        for index in 0..requests {
            let op = if index % 3 == 0 { "W" } else { "R" };
            text.push_str(&format!("{index},{op},{},{},{}\n", index * 512, 512, index % 5));
        }
        std::fs::write(&path, text).unwrap();
        let options = ReadOptions::default();
        let held = Trace::open_holding(&path, &options, requests).unwrap();
        let again = Trace::open_holding(&path, &options, requests - 1).unwrap();
        assert!(held.is_held() && !again.is_held());
        assert_eq!(held, again);
        let all = |trace: &Trace| -> Vec<Request> {
            trace.requests().unwrap().map(Result::unwrap).collect()
        };
        assert_eq!(all(&held), all(&again));
        assert_eq!(all(&held).len() as u64, requests);
        assert_eq!(all(&held.clone()), all(&held));
        std::fs::remove_file(&path).unwrap();
        assert!(held.requests().is_ok() && again.requests().is_err());
    }
}
