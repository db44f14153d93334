//! A trace file that is parsed once and shared by all users of its requests.

use super::input::FileIdentity;
use super::input::{self, Opened};
use super::spool::{self, Spool, Spooled};
use super::{Counts, Detected, Gaps, ReadOptions, TraceReader};
use crate::error::TraceError;
use crate::{Op, Request, Statistics};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use units::Instant;

/// Most requests that are held in memory: with 24 bytes each, 1 GiB. The file of a longer trace is
/// parsed again for each use; the requests of a pipe are stored in a file.
pub const HELD_REQUESTS_MOST: u64 = (1 << 30) / size_of::<Held>() as u64;
/// Requests in one piece of memory: 1.5 MiB. Pieces are never moved, so nothing is copied as a
/// trace grows.
const PIECE: usize = 1 << 16;
/// Bits of [`Held::size_and_op`] for a write, and for a demand for stable storage. The others are
/// the size minus one.
const WRITES: u32 = 1 << 31;
const IS_DURABLE: u32 = 1 << 30;
/// Bit of [`Held::offset_and_flush`] for a flush before the request. Offsets do not need it,
/// because requests end by 2^60.
const IS_AFTER_FLUSH: u64 = 1 << 63;

/// A request in 24 bytes.
#[derive(Clone, Copy)]
struct Held {
    at: Instant,
    offset_and_flush: u64,
    device: u32,
    size_and_op: u32,
}

impl Held {
    fn new(request: &Request) -> Self {
        let Request { at, op, offset_bytes, size_bytes, device, durable, after_flush } = *request;
        let write = if op == Op::Write { WRITES } else { 0 };
        let durable = if durable { IS_DURABLE } else { 0 };
        let flush = if after_flush { IS_AFTER_FLUSH } else { 0 };
        // The reader delivers no empty request, and none longer than 1 GiB.
        let size = size_bytes.saturating_sub(1) as u32;
        Self {
            at,
            offset_and_flush: offset_bytes | flush,
            device,
            size_and_op: size | write | durable,
        }
    }

    fn request(self) -> Request {
        let op = if self.size_and_op & WRITES == 0 { Op::Read } else { Op::Write };
        let durable = self.size_and_op & IS_DURABLE != 0;
        let size_bytes = u64::from(self.size_and_op & !(WRITES | IS_DURABLE)) + 1;
        let offset_bytes = self.offset_and_flush & !IS_AFTER_FLUSH;
        let after_flush = self.offset_and_flush & IS_AFTER_FLUSH != 0;
        let Self { at, device, .. } = self;
        Request { at, op, offset_bytes, size_bytes, device, durable, after_flush }
    }

    fn to_bytes(self) -> [u8; spool::RECORD] {
        let mut bytes = [0; spool::RECORD];
        bytes[..8].copy_from_slice(&self.at.as_nanos().to_le_bytes());
        bytes[8..16].copy_from_slice(&self.offset_and_flush.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.device.to_le_bytes());
        bytes[20..].copy_from_slice(&self.size_and_op.to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Self {
        let number = |at: usize, length: usize| {
            bytes[at..at + length].iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte))
        };
        Self {
            at: Instant::from_nanos(number(0, 8)),
            offset_and_flush: number(8, 8),
            device: number(16, 4) as u32,
            size_and_op: number(20, 4) as u32,
        }
    }
}

/// Requests of a trace that are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keep {
    /// None: only the statistics of the trace.
    Nothing,
    /// All, of which at most this number in memory.
    Requests {
        /// Most requests in memory.
        in_memory: u64,
    },
}

/// Requests that are kept while a trace is read.
enum Keeping {
    /// None: they are not kept, or will be read again.
    Nothing,
    /// In memory.
    Pieces { pieces: Vec<Vec<Held>>, most: u64 },
    /// In a file.
    Spool(Spool),
}

impl Keeping {
    /// Keeps request `number`, counted from 1. A pipe cannot be read again, so its requests go to a
    /// file when there are too many.
    fn add(&mut self, held: Held, number: u64, is_pipe: bool) -> io::Result<()> {
        match self {
            Self::Nothing => {}
            Self::Spool(spool) => spool.push(&held.to_bytes())?,
            Self::Pieces { pieces, most } if number > *most => {
                let before = std::mem::take(pieces);
                *self = Self::Nothing;
                if is_pipe {
                    let mut spool = Spool::create()?;
                    for held in before.into_iter().flatten().chain([held]) {
                        spool.push(&held.to_bytes())?;
                    }
                    *self = Self::Spool(spool);
                }
            }
            Self::Pieces { pieces, .. } => match pieces.last_mut() {
                Some(piece) if piece.len() < PIECE => piece.push(held),
                _ => {
                    let mut piece = Vec::with_capacity(PIECE);
                    piece.push(held);
                    pieces.push(piece);
                }
            },
        }
        Ok(())
    }
}

/// Place of the requests of a trace.
enum Kept {
    Memory(Vec<Vec<Held>>),
    Spool(Spooled),
    File,
    /// Nowhere: they came through a pipe, and were not to be kept.
    Gone,
}

/// A trace file that has been read completely. Copies share it.
///
/// Its requests are held in memory, 24 MB for a million, unless there are more than
/// [`HELD_REQUESTS_MOST`]. A pipe is read once.
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
    kept: Kept,
}

impl Trace {
    /// Reads the complete file or pipe at `path`, which may be compressed. `-` is standard input.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or any line has an error.
    pub fn open(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Self, TraceError> {
        let keep = Keep::Requests { in_memory: HELD_REQUESTS_MOST };
        Self::load(path, options, keep, |_| {})
    }

    /// [`Trace::open`] with a choice of the requests to keep. Calls `waiting` with a sentence for a
    /// pipe that is silent for long.
    ///
    /// # Errors
    ///
    /// As [`Trace::open`].
    pub fn load(
        path: impl AsRef<Path>,
        options: &ReadOptions,
        keep: Keep,
        waiting: fn(&str),
    ) -> Result<Self, TraceError> {
        let path = path.as_ref();
        let Opened { name, content, identity, is_once } = input::open(path, waiting)?;
        let mut reader = TraceReader::of_content(content, &name, options)?;
        let mut statistics = Statistics::new();
        let mut keeping = match keep {
            Keep::Nothing => Keeping::Nothing,
            Keep::Requests { in_memory } => Keeping::Pieces { pieces: Vec::new(), most: in_memory },
        };
        let limit = match keep {
            Keep::Nothing => 0,
            Keep::Requests { in_memory } => in_memory,
        };
        let failed = |source| spool::failed(&name, limit, source);
        for request in reader.by_ref() {
            let request = request?;
            statistics.add(&request);
            let held = Held::new(&request);
            keeping.add(held, statistics.requests, is_once).map_err(failed)?;
        }
        let kept = match keeping {
            Keeping::Pieces { pieces, .. } => Kept::Memory(pieces),
            Keeping::Spool(spool) => Kept::Spool(spool.finish().map_err(failed)?),
            Keeping::Nothing if is_once => Kept::Gone,
            Keeping::Nothing => Kept::File,
        };
        Ok(Self(Arc::new(Parsed {
            path: path.to_owned(),
            options: options.clone(),
            identity: identity.finish(&name)?,
            detected: reader.detected().clone(),
            counts: reader.counts().clone(),
            gaps: reader.gaps().clone(),
            statistics,
            kept,
        })))
    }

    /// Whether `path` leads to a pipe, whose bytes can be read only once. Standard input, `-`,
    /// counts as one.
    #[must_use]
    pub fn is_pipe(path: &Path) -> bool {
        input::is_pipe(path)
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Whether it is the result of reading this file with these options.
    #[must_use]
    pub fn is_of(&self, path: &Path, options: &ReadOptions) -> bool {
        self.0.path == path && self.0.options == *options
    }

    /// Identity of the file.
    #[must_use]
    pub fn identity(&self) -> &FileIdentity {
        &self.0.identity
    }

    /// Format and units, with the evidence.
    #[must_use]
    pub fn detected(&self) -> &Detected {
        &self.0.detected
    }

    /// Counts of its lines.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.0.counts
    }

    /// Pauses between its requests.
    #[must_use]
    pub fn gaps(&self) -> &Gaps {
        &self.0.gaps
    }

    /// Statistics of its requests.
    #[must_use]
    pub fn statistics(&self) -> &Statistics {
        &self.0.statistics
    }

    /// Whether its requests are held in memory.
    #[must_use]
    pub fn is_held(&self) -> bool {
        matches!(self.0.kept, Kept::Memory(_))
    }

    /// Its requests in order of time, the first at zero.
    ///
    /// # Errors
    ///
    /// If the trace is not held in memory and its file can no longer be read, or it came through a
    /// pipe and no requests were to be kept.
    pub fn requests(&self) -> Result<TraceRequests, TraceError> {
        Ok(TraceRequests(match &self.0.kept {
            Kept::Memory(_) => Origin::Memory { trace: self.clone(), next: 0 },
            Kept::Spool(_) => {
                Origin::Spool { trace: self.clone(), next: 0, read: Vec::new(), taken: 0 }
            }
            Kept::File => Origin::File(Box::new(TraceReader::open(&self.0.path, &self.0.options)?)),
            Kept::Gone => {
                return Err(TraceError::ReadOnce { name: self.0.path.display().to_string() });
            }
        }))
    }
}

/// Two traces are equal if they are the same file, read with the same options.
impl PartialEq for Trace {
    fn eq(&self, other: &Self) -> bool {
        let same = |a: &Parsed, b: &Parsed| {
            a.path == b.path && a.identity == b.identity && a.options == b.options
        };
        Arc::ptr_eq(&self.0, &other.0) || same(&self.0, &other.0)
    }
}

/// Shows what determines the requests and so identifies a run; the path is left out.
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
    Memory {
        trace: Trace,
        next: usize,
    },
    /// Records of the file. Those in `read` from byte `taken` on have not been returned; `next` is
    /// the number of the first record behind `read`.
    Spool {
        trace: Trace,
        next: u64,
        read: Vec<u8>,
        taken: usize,
    },
    File(Box<TraceReader>),
}

impl Iterator for TraceRequests {
    type Item = Result<Request, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Origin::Memory { trace, next } => {
                let Kept::Memory(pieces) = &trace.0.kept else { return None };
                let held = pieces.get(*next / PIECE)?.get(*next % PIECE)?;
                *next += 1;
                Some(Ok(held.request()))
            }
            Origin::Spool { trace, next, read, taken } => {
                let Kept::Spool(spooled) = &trace.0.kept else { return None };
                if *taken == read.len() {
                    *taken = 0;
                    if let Err(source) = spooled.read(*next, read, PIECE) {
                        read.clear();
                        let name = trace.0.path.display().to_string();
                        return Some(Err(TraceError::Read { name, source }));
                    }
                    *next += (read.len() / spool::RECORD) as u64;
                }
                let held = read.get(*taken..*taken + spool::RECORD)?;
                *taken += spool::RECORD;
                Some(Ok(Held::from_bytes(held).request()))
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
        for (op, durable) in [(Op::Read, false), (Op::Write, false), (Op::Write, true)] {
            for (size_bytes, after_flush) in [(1, true), (4096, false), (1 << 30, true)] {
                let at = Instant::from_nanos(u64::MAX - 1);
                let (offset_bytes, device) = ((1 << 60) - size_bytes, (1 << 20) - 1);
                let request =
                    Request { at, op, offset_bytes, size_bytes, device, durable, after_flush };
                let held = Held::new(&request);
                assert_eq!(held.request(), request);
                assert_eq!(Held::from_bytes(&held.to_bytes()).request(), request);
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
        let load = |in_memory: u64| {
            Trace::load(&path, &options, Keep::Requests { in_memory }, |_| {}).unwrap()
        };
        let (held, again) = (load(requests), load(requests - 1));
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
