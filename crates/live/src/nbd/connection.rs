//! A connection after the handshake, in the thread that owns the array.

use super::handshake::Choice;
use super::output::UnsentReplies;
use super::permit::ConnectionPermit;
use super::request::{Errno, Extent, Request, Terms};
use super::session::{Counts, Session};
use super::stream::{Socket, Stream};
use crate::buffer::{Buffer, Pool};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};

/// Bytes that are sent by one call of [`Connection::flush_output`], and a piece that the socket
/// takes at once.
const SEND_BYTES: usize = 256 << 10;

/// What a connection waits for at its socket. With neither it should be taken out of an epoll,
/// which reports hang-ups to everyone in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Interest {
    /// For bytes.
    pub read: bool,
    /// For room.
    pub write: bool,
}

/// A connection to a client that is past the handshake.
///
/// It never blocks and never fails as a whole: whatever is wrong with the client ends the
/// connection, which shows in [`Self::is_finished`] once all its requests have been answered. With
/// a new connection an event loop begins at 2: requests may have arrived with the end of the
/// handshake, and its last answer is still to be sent. The steps are
///
/// 1. [`Self::handle_ready`] when the socket is ready in a way of [`Self::wants`] or has hung up;
/// 2. [`Self::poll_request`] until `None`;
/// 3. replies, in any order, each request exactly once;
/// 4. [`Self::flush_output`] once for all replies so far, again while [`Self::has_more_to_send`],
///    and again from 2 on if [`Self::is_ready`]: requests that had to wait for room go on;
/// 5. dropped when [`Self::is_finished`]; otherwise [`Self::wants`] says how to wait.
#[derive(Debug)]
pub struct Connection {
    stream: Stream,
    session: Session,
    export: usize,
    /// Whether the socket takes no more bytes; replies are then discarded.
    broken: bool,
    /// Whether the socket was full when it was last written to.
    full: bool,
    _permit: Option<ConnectionPermit>,
}

impl Connection {
    /// A connection on a socket whose other end knows without a handshake what was chosen.
    ///
    /// # Errors
    ///
    /// If the socket is no longer connected.
    pub fn new(socket: Socket, choice: Choice) -> io::Result<Self> {
        socket.prepare()?;
        Ok(Self::after_handshake(Stream::new(socket), choice, &[], &[], None))
    }

    /// A connection on a socket whose handshake has ended with `choice`, with bytes that came
    /// after the handshake and bytes of it that are still to be sent.
    pub(super) fn after_handshake(
        stream: Stream,
        choice: Choice,
        received: &[u8],
        unsent: &[u8],
        permit: Option<ConnectionPermit>,
    ) -> Self {
        let terms = Terms {
            size_bytes: choice.size_bytes,
            structured: choice.structured,
            allocation: choice.allocation,
        };
        Self {
            stream,
            session: Session::new(terms, received, unsent),
            export: choice.export,
            broken: false,
            full: false,
            _permit: permit,
        }
    }

    /// The socket, to be watched.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    /// The export that the client has chosen: its position among those that the acceptor was given.
    #[must_use]
    pub fn export(&self) -> usize {
        self.export
    }

    /// What it waits for at its socket.
    #[must_use]
    pub fn wants(&self) -> Interest {
        let write = !self.session.unsent().is_empty() || self.stream.wants_write();
        Interest { read: self.session.wants_bytes(), write: write && !self.broken }
    }

    /// Whether [`Self::poll_request`] may give a request without more bytes from the socket.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.session.is_ready() || (self.session.wants_bytes() && self.stream.has_plain_bytes())
    }

    /// Whether the connection has ended and nothing is left to be done for it.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.session.is_finished() && (self.broken || !self.stream.wants_write())
    }

    /// Requests that [`Self::poll_request`] gave and that were not answered.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.session.in_flight()
    }

    /// Data of requests in flight and replies that are not sent, in bytes.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        self.session.held_bytes()
    }

    /// Bounds what it may [hold](Self::held_bytes) in addition: requests that need more stay in the
    /// client's socket. To be said anew whenever it has changed.
    pub fn set_room(&mut self, room_bytes: u64) {
        self.session.set_room(room_bytes);
    }

    /// If a request waits for nothing but [more room](Self::set_room): how much it needs, in bytes.
    #[must_use]
    pub fn wanted_room(&self) -> Option<u64> {
        self.session.wanted_room()
    }

    /// What it has done since it connected.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.session.counts()
    }

    /// Receives what there is, by one system call; what waits can be sent if the socket is
    /// writable. A hang-up or an error of the socket counts as readable.
    pub fn handle_ready(&mut self, readable: bool, writable: bool) {
        if readable && self.session.wants_bytes() {
            self.receive();
        }
        self.full &= !writable;
    }

    /// Notices a client that hung up while its socket was not polled. Replies to it are dropped,
    /// and its reads are not carried out.
    pub fn notice_hang_up(&mut self) {
        let gone = PollFlags::HUP | PollFlags::ERR;
        let mut fds = [PollFd::new(&self.stream, PollFlags::empty())];
        let polled = poll(&mut fds, Some(&Timespec::default()));
        if polled.is_ok() && fds[0].revents().intersects(gone) && !self.broken {
            tracing::debug!("a client is gone");
            self.broken = true;
            self.session.discard_replies();
        }
    }

    /// The next request. `None` until the socket is readable, a request is answered or replies are
    /// sent. Payloads are put into buffers of `pool`, which the caller may give back to it.
    pub fn poll_request(&mut self, pool: &mut Pool) -> Option<Request> {
        loop {
            if let Some(request) = self.session.poll_request(pool) {
                return Some(request);
            }
            if !(self.session.wants_bytes() && self.stream.has_plain_bytes()) {
                return None;
            }
            self.receive();
        }
    }

    /// Answers a request that gives no data: it is done.
    pub fn reply_done(&mut self, cookie: u64) {
        self.session.reply_done(cookie);
    }

    /// Answers any request: it failed, and one sentence why. Clients with structured replies get
    /// the first kilobyte of it.
    pub fn reply_error(&mut self, cookie: u64, errno: Errno, message: &str) {
        self.session.reply_error(cookie, errno, message);
    }

    /// Answers a read. What is returned is as long as the request and has anything in it: the
    /// data are to be put there before anything else is done with the connection.
    pub fn read_reply(&mut self, cookie: u64) -> &mut [u8] {
        self.session.read_reply(cookie)
    }

    /// Answers a read with the bytes of `buffer` at `range`, which must be as many as the request
    /// asks for. The buffer comes back by [`Self::pop_spent`].
    pub fn reply_read(&mut self, cookie: u64, buffer: Buffer, range: Range<usize>) {
        self.session.reply_read(cookie, buffer, range);
    }

    /// The next buffer of a [reply](Self::reply_read) that is not needed any more.
    pub fn pop_spent(&mut self) -> Option<Buffer> {
        self.session.pop_spent()
    }

    /// Replies that the client does not take, to be dropped where that may take its time.
    pub fn take_unsent(&mut self) -> Option<UnsentReplies> {
        self.session.take_unsent()
    }

    /// Answers a block status with extents from the request's offset on. They may be too few, at
    /// least one, or too many; with none, everything counts as data.
    pub fn reply_extents(&mut self, cookie: u64, extents: &[Extent]) {
        self.session.reply_extents(cookie, extents);
    }

    /// Whether more could be sent at once than [`Self::flush_output`] has.
    #[must_use]
    pub fn has_more_to_send(&self) -> bool {
        !self.broken && !self.full && !self.session.unsent().is_empty()
    }

    /// Sends the replies so far, as far as the socket takes them and up to some hundred KiB, by one
    /// system call if it takes all.
    ///
    /// # Errors
    ///
    /// If the client does not take replies any more. This is reported once; the connection then
    /// ends by itself.
    pub fn flush_output(&mut self) -> io::Result<()> {
        let was_broken = self.broken;
        match self.send() {
            Some(error) if !was_broken => Err(error),
            _ => Ok(()),
        }
    }

    fn receive(&mut self) {
        loop {
            let mut space = self.session.receive_buffers();
            match self.stream.read(&mut space) {
                Ok(0) => self.session.end_input(),
                Ok(count) => self.session.received(count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => {
                    tracing::debug!("a client is gone: {error}");
                    self.session.end_input();
                }
            }
            return;
        }
    }

    fn send(&mut self) -> Option<io::Error> {
        let mut failure = None;
        let mut sent = 0;
        while !self.broken && !self.full && sent < SEND_BYTES {
            let unsent = self.session.unsent();
            let unsent = &unsent[..unsent.len().min(SEND_BYTES)];
            let outcome = if unsent.is_empty() {
                self.stream.flush().map(|()| 0)
            } else {
                self.stream.write(unsent)
            };
            match outcome {
                Ok(0) if unsent.is_empty() => break,
                Ok(0) => failure = Some(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    // Less than all means that the socket is full: no need to ask again.
                    self.full = count < unsent.len() && !self.stream.is_tls();
                    self.session.sent(count);
                    sent += count;
                    if self.session.unsent().is_empty() && !self.stream.is_tls() {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.full = true,
                Err(error) => failure = Some(error),
            }
            if failure.is_some() {
                self.broken = true;
            }
        }
        if self.broken {
            self.session.discard_replies();
        }
        failure
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if !self.broken {
            self.stream.send_close_notify();
        }
    }
}
