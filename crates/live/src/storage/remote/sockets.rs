//! One descriptor for all drives on the network, and for files beside them.

use rustix::event::epoll;
use rustix::time::Timespec;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use units::DriveId;

/// What the descriptor of files is called; drives are called by their number.
const FILES: u64 = u64::MAX;
/// What is asked for at once; what has no room is told the next time.
const EVENTS: usize = 65;

/// The descriptor, and which drives were ready when it was asked.
#[derive(Debug)]
pub(in crate::storage) struct Sockets {
    epoll: OwnedFd,
    /// Drives that are ready; none if that was not asked.
    ready: Option<Vec<DriveId>>,
}

impl Sockets {
    pub(in crate::storage) fn new(files: Option<BorrowedFd<'_>>) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let sockets = Self { epoll, ready: None };
        if let Some(files) = files {
            sockets.watch_files(files)?;
        }
        Ok(sockets)
    }

    pub(in crate::storage) fn fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }

    pub(in crate::storage) fn watch_files(&self, descriptor: BorrowedFd<'_>) -> io::Result<()> {
        self.add(descriptor, FILES)
    }

    pub(in crate::storage) fn watch(
        &self,
        drive: DriveId,
        descriptor: BorrowedFd<'_>,
    ) -> io::Result<()> {
        self.add(descriptor, drive.0.into())
    }

    fn add(&self, descriptor: BorrowedFd<'_>, token: u64) -> io::Result<()> {
        let data = epoll::EventData::new_u64(token);
        Ok(epoll::add(&self.epoll, descriptor, data, epoll::EventFlags::IN)?)
    }

    /// Whether a drive has something to collect. The kernel is asked once for all drives, until
    /// [`Self::done`].
    pub(in crate::storage) fn is_ready(&mut self, drive: DriveId) -> bool {
        let epoll = &self.epoll;
        let ready = self.ready.get_or_insert_with(|| {
            let now = Timespec { tv_sec: 0, tv_nsec: 0 };
            let mut room = [MaybeUninit::<epoll::Event>::uninit(); EVENTS];
            // An error is none that could be helped, and the next call asks again.
            let Ok((events, _)) = epoll::wait(epoll, &mut room, Some(&now)) else {
                return Vec::new();
            };
            let tokens = events.iter().map(|event| event.data.u64());
            tokens.filter(|token| *token != FILES).map(|token| DriveId(token as u8)).collect()
        });
        ready.contains(&drive)
    }

    pub(in crate::storage) fn done(&mut self) {
        self.ready = None;
    }
}
