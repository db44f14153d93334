//! A command in flight on a file: which system call comes next, and what its result means.

use crate::buffer::{Buffer, PAGE_BYTES};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use units::DriveId;

/// Zeros that are written where holes cannot be punched, at most at once.
const ZEROS_BYTES: u64 = 64 * PAGE_BYTES as u64;
/// Longest transfer of one system call; longer ones are cut short by the system anyway.
const TRANSFER_BYTES: u64 = 1 << 30;

/// What a job does to its file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum JobKind {
    Read,
    Write,
    /// A write that is on stable storage when it is done.
    WriteStable,
    Sync,
    /// Writes what is cached of a range that is to become a hole. The punch would wait for it with
    /// the file locked.
    Settle,
    /// Makes a hole.
    Punch,
    /// Writes zeros, because holes cannot be punched there.
    Zero,
}

/// A command under way. Offsets are those of the file.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) tag: u64,
    pub(super) drive: DriveId,
    /// Tells the drive from others that were at its position before.
    pub(super) serial: u64,
    pub(super) file: Arc<File>,
    pub(super) kind: JobKind,
    pub(super) offset_bytes: u64,
    pub(super) length_bytes: u64,
    pub(super) done_bytes: u64,
    pub(super) buffer: Option<Buffer>,
}

/// Whether a job needs another system call.
#[derive(Debug)]
pub(super) enum Progress {
    Again,
    Over(io::Result<()>),
}

impl Job {
    /// Offset in the file of the next transfer.
    pub(super) fn next_offset(&self) -> u64 {
        self.offset_bytes + self.done_bytes
    }

    /// Bytes of the next transfer.
    pub(super) fn next_length(&self) -> usize {
        let most = if self.kind == JobKind::Zero { ZEROS_BYTES } else { TRANSFER_BYTES };
        (self.length_bytes - self.done_bytes).min(most) as usize
    }

    /// Where in the buffer the next transfer is.
    fn next_range(&self) -> Range<usize> {
        let start = if self.kind == JobKind::Zero { 0 } else { self.done_bytes as usize };
        start..start + self.next_length()
    }

    /// The bytes of the next transfer that is to be written; none of a command without data.
    pub(super) fn next_bytes(&self) -> &[u8] {
        self.buffer.as_ref().map_or(&[], |buffer| &buffer.bytes()[self.next_range()])
    }

    /// The room for the bytes of the next transfer that is to be read.
    pub(super) fn next_room(&mut self) -> &mut [u8] {
        let range = self.next_range();
        self.buffer.as_mut().map_or(&mut [], |buffer| &mut buffer.bytes_mut()[range])
    }

    /// Takes the result of the system call: how many bytes it moved.
    pub(super) fn advance(&mut self, result: Result<usize, Errno>) -> Progress {
        match (self.kind, result) {
            (_, Err(Errno::INTR | Errno::AGAIN)) => Progress::Again,
            // The punch tells what is wrong, if anything is.
            (JobKind::Settle, _) => {
                self.kind = JobKind::Punch;
                Progress::Again
            }
            (JobKind::Punch, Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL)) => {
                self.kind = JobKind::Zero;
                self.buffer = Some(Buffer::zeroed(self.length_bytes.min(ZEROS_BYTES) as usize));
                Progress::Again
            }
            (_, Err(error)) => Progress::Over(Err(error.into())),
            (JobKind::Sync | JobKind::Punch, Ok(_)) => Progress::Over(Ok(())),
            (JobKind::Read, Ok(0)) => Progress::Over(Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the file ends before the drive does: something has cut it",
            ))),
            (_, Ok(0)) => Progress::Over(Err(io::ErrorKind::WriteZero.into())),
            (_, Ok(moved)) => {
                self.done_bytes += moved as u64;
                if self.done_bytes < self.length_bytes {
                    Progress::Again
                } else {
                    Progress::Over(Ok(()))
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(kind: JobKind, length_bytes: u64) -> Job {
        let buffer = matches!(kind, JobKind::Read | JobKind::Write)
            .then(|| Buffer::zeroed(length_bytes as usize));
        Job {
            tag: 0,
            drive: DriveId(0),
            serial: 0,
            file: Arc::new(File::open("/dev/null").unwrap()),
            kind,
            offset_bytes: 1000,
            length_bytes,
            done_bytes: 0,
            buffer,
        }
    }

    fn kind_of(progress: Progress) -> Option<io::ErrorKind> {
        match progress {
            Progress::Over(Err(error)) => Some(error.kind()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn short_transfers_are_continued_and_interrupted_ones_repeated() {
        for kind in [JobKind::Read, JobKind::Write, JobKind::WriteStable] {
            let mut job = job(kind, 8192);
            assert!(matches!(job.advance(Err(Errno::INTR)), Progress::Again));
            assert!(matches!(job.advance(Ok(100)), Progress::Again));
            assert_eq!((job.next_offset(), job.next_length()), (1100, 8092));
            assert!(matches!(job.advance(Ok(8092)), Progress::Over(Ok(()))));
        }
    }

    #[test]
    fn a_transfer_of_nothing_is_an_error() {
        let end = kind_of(job(JobKind::Read, 4096).advance(Ok(0)));
        assert_eq!(end, Some(io::ErrorKind::UnexpectedEof));
        let full = kind_of(job(JobKind::Write, 4096).advance(Ok(0)));
        assert_eq!(full, Some(io::ErrorKind::WriteZero));
        assert!(matches!(job(JobKind::Sync, 0).advance(Ok(0)), Progress::Over(Ok(()))));
    }

    #[test]
    fn where_holes_cannot_be_punched_zeros_are_written() {
        let mut job = job(JobKind::Settle, ZEROS_BYTES + 4096);
        assert!(matches!(job.advance(Err(Errno::INTR)), Progress::Again));
        assert_eq!(job.kind, JobKind::Settle);
        assert!(matches!(job.advance(Err(Errno::INVAL)), Progress::Again));
        assert_eq!(job.kind, JobKind::Punch);
        assert!(matches!(job.advance(Err(Errno::OPNOTSUPP)), Progress::Again));
        assert_eq!(job.kind, JobKind::Zero);
        assert!(job.next_bytes().iter().all(|&byte| byte == 0));
        assert_eq!(job.next_bytes().len() as u64, ZEROS_BYTES);
        assert!(matches!(job.advance(Ok(ZEROS_BYTES as usize)), Progress::Again));
        assert_eq!((job.next_offset(), job.next_bytes().len()), (1000 + ZEROS_BYTES, 4096));
        assert!(matches!(job.advance(Ok(4096)), Progress::Over(Ok(()))));
        assert!(kind_of(job.advance(Err(Errno::IO))).is_some(), "other errors are told");
    }
}
