//! Opening of a path: a file, a pipe that is read once and hashed as it is read, or a path that is
//! refused because it has no end.

use super::foreign::STANDARD_INPUT;
use super::waiting::Patience;
use super::zip;
use crate::error::TraceError;
use crate::trace::formats::blktrace;
use sha2::{Digest, Sha256};
use std::fs::{File, FileType};
use std::io::{self, BufRead, BufReader, IsTerminal, Read, Seek};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Identity of a file, for the manifest of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileIdentity {
    /// SHA-256 of the bytes on disk or from the pipe, compressed or not, in hexadecimal. For
    /// several files that are read as one, the hash of their concatenation.
    pub sha256: String,
    /// Its length in bytes.
    pub bytes: u64,
}

/// Bytes of one read.
const BUFFER: usize = 1 << 16;

/// A trace that has been opened.
pub(in crate::trace) struct Opened {
    /// Name in messages.
    pub(in crate::trace) name: String,
    pub(in crate::trace) content: Content,
    /// Identity of the bytes, known when all have been read.
    pub(in crate::trace) identity: Identity,
    /// Whether its bytes can be read only once.
    pub(in crate::trace) is_once: bool,
}

/// Content of an opened trace.
pub(in crate::trace) enum Content {
    /// Bytes, compressed or not.
    Bytes(Box<dyn BufRead + Send>),
    /// The only file in a zip archive, with its name.
    Member(String, Box<dyn BufRead + Send>),
    /// Files of blktrace, one for each CPU with events.
    Cpus(Vec<Box<dyn BufRead + Send>>),
}

/// Opens `path`, where `-` is standard input. Calls `waiting` for a pipe that is silent for long.
pub(in crate::trace) fn open(path: &Path, waiting: fn(&str)) -> Result<Opened, TraceError> {
    let is_standard_input = path == Path::new("-");
    let name =
        if is_standard_input { STANDARD_INPUT.to_owned() } else { path.display().to_string() };
    let failed = |source| TraceError::Read { name: name.clone(), source };
    let patience = |kind: FileType| {
        let what = if is_standard_input { "" } else { ", which is a named pipe" };
        kind.is_fifo().then(|| {
            let text = format!(
                "waiting for the first byte of {name}{what}: a program has to write a trace to it"
            );
            Patience::new(text, waiting)
        })
    };
    if is_standard_input {
        let file = File::from(io::stdin().as_fd().try_clone_to_owned().map_err(failed)?);
        let kind = file.metadata().map_err(failed)?.file_type();
        if file.is_terminal() {
            let reason = "it is a terminal; pipe a trace into it, or name a file";
            return Err(TraceError::Unusable { name, reason: reason.to_owned() });
        }
        // A socket as standard input is a stream with an end.
        if !kind.is_socket() {
            refuse_what_has_no_end(kind, &name)?;
        }
        let patience = patience(kind);
        return Ok(Opened { is_once: true, ..tapped(file, patience, name) });
    }
    let kind = path.metadata().map_err(failed)?.file_type();
    refuse_what_has_no_end(kind, &name)?;
    if kind.is_fifo() {
        // Opening a pipe waits for a program that writes to it.
        let patience = patience(kind);
        let file = File::open(path).map_err(failed)?;
        return Ok(Opened { is_once: true, ..tapped(file, patience, name) });
    }
    let mut file = File::open(path).map_err(failed)?;
    let mut magic = [0; 4];
    let held = super::fill(&mut file, &mut magic).map_err(|(_, source)| failed(source))?;
    file.rewind().map_err(failed)?;
    let first = &magic[..held];
    if first == b"PK\x03\x04" {
        let (member, bytes) = zip::open_only_member(file, &name)?;
        let content = Content::Member(member, bytes);
        let identity = Identity::OfFiles(vec![path.to_owned()]);
        return Ok(Opened { name, content, identity, is_once: false });
    }
    let others = cpus_of(path);
    if blktrace::is_magic(first) && others.len() > 1 {
        let mut inputs: Vec<Box<dyn BufRead + Send>> = Vec::new();
        for path in &others {
            inputs.push(Box::new(BufReader::with_capacity(
                BUFFER,
                File::open(path).map_err(failed)?,
            )));
        }
        let (content, identity) = (Content::Cpus(inputs), Identity::OfFiles(others));
        return Ok(Opened { name, content, identity, is_once: false });
    }
    Ok(tapped(file, None, name))
}

/// Whether the bytes at `path` can be read only once.
pub(in crate::trace) fn is_pipe(path: &Path) -> bool {
    path == Path::new("-") || path.metadata().is_ok_and(|file| file.file_type().is_fifo())
}

/// Refuses a path that is neither a file nor a pipe.
fn refuse_what_has_no_end(kind: FileType, name: &str) -> Result<(), TraceError> {
    let reason = if kind.is_dir() {
        "it is a folder; name a file in it".to_owned()
    } else if kind.is_socket() {
        format!(
            "it is a socket; have a program read it and print the trace, such as: socat -u \
             UNIX-CONNECT:{} - | ioda trace inspect -",
            super::foreign::typed(name)
        )
    } else if kind.is_char_device() || kind.is_block_device() {
        "it is a device, and a trace has to be a file or a pipe; name one of these".to_owned()
    } else {
        return Ok(());
    };
    Err(TraceError::Unusable { name: name.to_owned(), reason })
}

/// Files of all CPUs with events that were traced together with `path`, one of these files:
/// `sda.blktrace.0`, `sda.blktrace.1` and so on.
fn cpus_of(path: &Path) -> Vec<PathBuf> {
    let cpu = |name: &str| -> Option<(String, u32)> {
        let (base, number) = name.rsplit_once(".blktrace.")?;
        Some((base.to_owned(), number.parse().ok()?))
    };
    let Some((base, _)) = path.file_name().and_then(|name| name.to_str()).and_then(cpu) else {
        return Vec::new();
    };
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let entries = std::fs::read_dir(folder.unwrap_or(Path::new("."))).into_iter().flatten();
    let mut found: Vec<(u32, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| {
            let (other, number) = cpu(entry.file_name().to_str()?)?;
            let has_events = entry.metadata().is_ok_and(|file| file.is_file() && file.len() > 0);
            (other == base && has_events).then(|| (number, path.with_file_name(entry.file_name())))
        })
        .collect();
    found.sort();
    found.into_iter().map(|(_, path)| path).collect()
}

/// Bytes of a trace, for its identity.
pub(in crate::trace) enum Identity {
    /// The bytes that were read through this tap.
    Tapped(Arc<Mutex<Tapped>>),
    /// The bytes of these files, one after the other.
    OfFiles(Vec<PathBuf>),
}

impl Identity {
    /// Files that form one trace together, or an archive; empty for a single file or a pipe.
    pub(in crate::trace) fn files(&self) -> &[PathBuf] {
        match self {
            Self::Tapped(_) => &[],
            Self::OfFiles(files) => files,
        }
    }

    /// Identity of all bytes. Bytes that were not read yet are read now.
    pub(in crate::trace) fn finish(self, name: &str) -> Result<FileIdentity, TraceError> {
        let failed = |source| TraceError::Read { name: name.to_owned(), source };
        let mut buffer = vec![0; BUFFER];
        match self {
            Self::Tapped(tapped) => {
                let mut tapped = tapped.lock().unwrap_or_else(PoisonError::into_inner);
                drain(&mut *tapped, &mut buffer).map_err(failed)?;
                Ok(tapped.identity())
            }
            Self::OfFiles(files) => {
                let (mut hash, mut bytes) = (Sha256::new(), 0);
                for path in files {
                    let file = File::open(path).map_err(failed)?;
                    let mut tapped = Tapped { file, hash, bytes, patience: None };
                    drain(&mut tapped, &mut buffer).map_err(failed)?;
                    Tapped { hash, bytes, .. } = tapped;
                }
                Ok(identity(&hash, bytes))
            }
        }
    }
}

fn drain(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<()> {
    loop {
        match input.read(buffer) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// A file whose bytes are hashed as they are read.
pub(in crate::trace) struct Tapped {
    file: File,
    hash: Sha256,
    bytes: u64,
    /// Patience until the first byte comes.
    patience: Option<Patience>,
}

impl Tapped {
    fn identity(&self) -> FileIdentity {
        identity(&self.hash, self.bytes)
    }
}

fn identity(hash: &Sha256, bytes: u64) -> FileIdentity {
    let sum = hash.clone().finalize();
    FileIdentity { sha256: sum.iter().map(|byte| format!("{byte:02x}")).collect(), bytes }
}

impl Read for Tapped {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.patience = None;
        self.hash.update(&buffer[..count]);
        self.bytes += count as u64;
        Ok(count)
    }
}

/// A reader of the tapped bytes.
struct Tap(Arc<Mutex<Tapped>>);

impl Read for Tap {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).read(buffer)
    }
}

fn tapped(file: File, patience: Option<Patience>, name: String) -> Opened {
    let tapped = Tapped { file, hash: Sha256::new(), bytes: 0, patience };
    let tapped = Arc::new(Mutex::new(tapped));
    let reader = BufReader::with_capacity(BUFFER, Tap(Arc::clone(&tapped)));
    let content = Content::Bytes(Box::new(reader));
    Opened { name, content, identity: Identity::Tapped(tapped), is_once: false }
}
