//! The acceptor: one thread that accepts clients and negotiates with them until they have chosen an
//! export, however many they are and however slow.

use super::connection::Connection;
use super::door::{Door, StrangerCounts};
use super::handshake::{Export, TlsPolicy};
use super::listener::{Listen, ListenError, Listener};
use super::negotiation::{Negotiated, Negotiation};
use super::permit::{CLIENTS_MAX, ConnectionLimit};
use super::stream::Stream;
use super::wire::STRING_BYTES_MAX;
use crate::unix_socket::SocketAccess;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use rustix::io::Errno;
use rustls::ServerConfig;
use std::collections::HashSet;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use thiserror::Error;

/// How long a client may take for the handshake.
pub const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long no client is accepted after the system had no room for one more client, or when no
/// permit is left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How often clients are looked for whose handshake takes too long.
const TIMEOUT_CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Clients that are accepted from one socket before others get their turn.
const ACCEPT_BATCH: usize = 64;

/// Whether clients use TLS, and with which certificates; see [`super::tls::server_config`].
#[derive(Clone, Debug)]
pub enum Tls {
    /// They cannot.
    Off,
    /// They can.
    Allowed(Arc<ServerConfig>),
    /// They must.
    Required(Arc<ServerConfig>),
}

impl Tls {
    fn policy(&self) -> TlsPolicy {
        match self {
            Self::Off => TlsPolicy::Off,
            Self::Allowed(_) => TlsPolicy::Allowed,
            Self::Required(_) => TlsPolicy::Required,
        }
    }

    fn config(&self) -> Option<&Arc<ServerConfig>> {
        match self {
            Self::Off => None,
            Self::Allowed(config) | Self::Required(config) => Some(config),
        }
    }
}

/// Why an acceptor cannot start. Each is one sentence.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AcceptorError {
    /// It cannot listen.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// Nowhere to listen, or nothing to offer.
    #[error("a server needs at least one {0}")]
    Nothing(&'static str),
    /// An export that clients could not choose or be told about.
    #[error("the export `{name}` cannot be offered: {reason}")]
    Export {
        /// Its name, or the beginning of it.
        name: String,
        /// Why.
        reason: &'static str,
    },
    /// The system has no file descriptor or thread left.
    #[error("cannot start to accept clients: {0}")]
    System(io::Error),
}

/// A thread that accepts clients until it is closed or dropped. Connections that it has handed over
/// by then go on.
#[derive(Debug)]
pub struct Acceptor {
    addresses: Vec<Listen>,
    /// An eventfd that ends the thread.
    stop: Arc<OwnedFd>,
    strangers: StrangerCounts,
    thread: Option<JoinHandle<()>>,
}

impl Acceptor {
    /// Listens at all of `listens`, at paths for those whom `access` names, and offers `exports`,
    /// the first of which is the default one. `hand_over` is called, on the acceptor's thread, with
    /// every client that has chosen.
    ///
    /// # Errors
    ///
    /// If it cannot listen at one of them, or the exports make no sense.
    pub fn open(
        listens: &[Listen],
        access: SocketAccess,
        exports: Vec<Export>,
        tls: Tls,
        hand_over: impl Fn(Connection) + Send + 'static,
    ) -> Result<Self, AcceptorError> {
        check(&exports)?;
        if listens.is_empty() {
            return Err(AcceptorError::Nothing("address"));
        }
        let open = |listen| Listener::open(listen, access);
        let listeners = listens.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let addresses = listeners.iter().map(Listener::address).collect::<io::Result<Vec<_>>>();
        let addresses = addresses.map_err(AcceptorError::System)?;
        let stop = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let stop = Arc::new(stop.map_err(|error| AcceptorError::System(error.into()))?);
        let strangers = StrangerCounts::default();
        let door = Door::new(strangers.clone());
        let acceptor = AcceptorLoop::new(listeners, exports, tls, Box::new(hand_over), door, &stop)
            .map_err(AcceptorError::System)?;
        let thread = std::thread::Builder::new()
            .name("nbd-acceptor".into())
            .spawn(move || acceptor.run())
            .map_err(AcceptorError::System)?;
        Ok(Self { addresses, stop, strangers, thread: Some(thread) })
    }

    /// Where it listens, with the ports that the system chose, in the order that it was given.
    #[must_use]
    pub fn addresses(&self) -> &[Listen] {
        &self.addresses
    }

    /// How many clients were disconnected before they had chosen an export.
    #[must_use]
    pub fn strangers(&self) -> StrangerCounts {
        self.strangers.clone()
    }

    /// Accepts no more clients, closes the connections of those who have not chosen yet, and
    /// removes the paths.
    pub fn close(self) {
        drop(self);
    }
}

impl Drop for Acceptor {
    fn drop(&mut self) {
        // A full counter means that the thread has a wake-up pending already.
        let _ = rustix::io::write(&*self.stop, &1u64.to_ne_bytes());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that accepts clients had ended before");
        }
    }
}

fn check(exports: &[Export]) -> Result<(), AcceptorError> {
    if exports.is_empty() {
        return Err(AcceptorError::Nothing("export"));
    }
    let mut names = HashSet::new();
    for export in exports {
        let preferred = export.preferred_block_bytes;
        let reason = if export.name.len() > STRING_BYTES_MAX {
            "its name is over 4096 bytes"
        } else if export.description.len() > STRING_BYTES_MAX {
            "its description is over 4096 bytes"
        } else if !names.insert(&export.name) {
            "another one has the same name"
        } else if export.size_bytes > i64::MAX as u64 {
            "its size is over 2^63 - 1 bytes"
        } else if !preferred.is_power_of_two() || !(512..=1 << 25).contains(&preferred) {
            "its preferred block is not a power of two from 512 bytes to 32 MiB"
        } else {
            continue;
        };
        let name = export.name.chars().take(64).collect();
        return Err(AcceptorError::Export { name, reason });
    }
    Ok(())
}

/// What clients in the handshake send is received here.
const SCRATCH_BYTES: usize = 16 << 10;
/// Tokens of events: this one for the end; from [`LISTENERS`] on, listeners; below, negotiations.
const STOP: u64 = u64::MAX;
const LISTENERS: u64 = 1 << 32;

/// What the acceptor's thread owns.
struct AcceptorLoop {
    epoll: OwnedFd,
    listeners: Vec<Listener>,
    /// Whether the listeners are being watched.
    accepting: bool,
    /// When they will be again.
    resume: Option<Instant>,
    /// Clients in the handshake, by token.
    negotiations: Vec<Option<Negotiation>>,
    free: Vec<usize>,
    exports: Arc<[Export]>,
    tls: Tls,
    hand_over: Box<dyn Fn(Connection) + Send>,
    limit: ConnectionLimit,
    door: Door,
    scratch: Vec<u8>,
}

impl AcceptorLoop {
    fn new(
        listeners: Vec<Listener>,
        exports: Vec<Export>,
        tls: Tls,
        hand_over: Box<dyn Fn(Connection) + Send>,
        door: Door,
        stop: &OwnedFd,
    ) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, stop, EventData::new_u64(STOP), EventFlags::IN)?;
        let mut acceptor = Self {
            epoll,
            listeners,
            accepting: false,
            resume: None,
            negotiations: Vec::new(),
            free: Vec::new(),
            exports: exports.into(),
            tls,
            hand_over,
            limit: ConnectionLimit::default(),
            door,
            scratch: vec![0; SCRATCH_BYTES],
        };
        acceptor.watch_listeners(true)?;
        Ok(acceptor)
    }

    fn run(mut self) {
        let mut events: Vec<Event> = Vec::with_capacity(256);
        let mut next_check = Instant::now() + TIMEOUT_CHECK_INTERVAL;
        loop {
            let timeout = if let Some(resume) = self.resume {
                Some(resume.saturating_duration_since(Instant::now()))
            } else if self.free.len() < self.negotiations.len() || self.door.has_news() {
                Some(TIMEOUT_CHECK_INTERVAL)
            } else {
                None
            };
            let timeout = timeout.map(|time| Timespec {
                tv_sec: time.as_secs().cast_signed(),
                tv_nsec: time.subsec_nanos().into(),
            });
            events.clear();
            let room = rustix::buffer::spare_capacity(&mut events);
            match epoll::wait(&self.epoll, room, timeout.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => {
                    tracing::error!("no more clients are accepted: {error}");
                    return;
                }
            }
            for event in &events {
                match event.data.u64() {
                    STOP => return,
                    token if token >= LISTENERS => self.accept_from((token - LISTENERS) as usize),
                    token => self.on_ready(token as usize),
                }
            }
            let now = Instant::now();
            if now >= next_check {
                next_check = now + TIMEOUT_CHECK_INTERVAL;
                self.close_late(now);
                self.limit.forget();
            }
            self.door.log(now);
            if self.resume.is_some_and(|resume| now >= resume) {
                self.resume = None;
                if self.limit.is_reached() {
                    self.pause(now + ACCEPT_PAUSE);
                } else if let Err(error) = self.watch_listeners(true) {
                    tracing::warn!("cannot accept clients for now: {error}");
                    self.pause(now + ACCEPT_PAUSE);
                }
            }
        }
    }

    /// Watches the listeners for new clients, or no longer.
    fn watch_listeners(&mut self, accepting: bool) -> io::Result<()> {
        if self.accepting != accepting {
            for (token, listener) in (LISTENERS..).zip(&self.listeners) {
                if accepting {
                    epoll::add(&self.epoll, listener, EventData::new_u64(token), EventFlags::IN)?;
                } else {
                    epoll::delete(&self.epoll, listener)?;
                }
            }
            self.accepting = accepting;
        }
        Ok(())
    }

    fn pause(&mut self, until: Instant) {
        if let Err(error) = self.watch_listeners(false) {
            tracing::warn!("cannot stop to accept clients: {error}");
        }
        self.resume = Some(until);
    }

    /// Accepts the clients that wait at one socket.
    fn accept_from(&mut self, listener: usize) {
        for _ in 0..ACCEPT_BATCH {
            if !self.accepting {
                return;
            }
            let now = Instant::now();
            if self.limit.is_reached() {
                if self.door.may_complain(now) {
                    tracing::warn!("{CLIENTS_MAX} clients are connected: more have to wait");
                }
                self.pause(now + ACCEPT_PAUSE);
                return;
            }
            if let Some(until) = self.door.closed_until(now) {
                self.pause(until);
                return;
            }
            match self.listeners[listener].accept() {
                Ok((socket, source)) => {
                    if let Some(oldest) = self.door.surplus() {
                        self.door.count_evicted();
                        self.end(oldest);
                    }
                    let offer = (Arc::clone(&self.exports), self.tls.policy());
                    let stream = Stream::new(socket);
                    self.begin(
                        now,
                        Negotiation::new(stream, offer, now + HANDSHAKE_TIMEOUT, source),
                    );
                }
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock => return,
                    // This client has disconnected already; the next may not have.
                    io::ErrorKind::ConnectionAborted
                    | io::ErrorKind::Interrupted
                    | io::ErrorKind::NotConnected
                    | io::ErrorKind::InvalidInput => {}
                    _ => return self.refuse_to_accept(now, &error),
                },
            }
        }
    }

    /// The system refuses a client. Where it has no descriptor left, a client in the handshake
    /// makes room.
    fn refuse_to_accept(&mut self, now: Instant, error: &io::Error) {
        let errno = Errno::from_io_error(error).unwrap_or(Errno::IO);
        if [Errno::MFILE, Errno::NFILE].contains(&errno)
            && let Some(index) = self.door.dispensable(now)
        {
            self.door.count_evicted();
            return self.end(index);
        }
        if self.door.may_complain(now) {
            tracing::warn!("cannot accept a client for now: {error}");
        }
        self.pause(now + ACCEPT_PAUSE);
    }

    /// Watches the socket of a new client.
    fn begin(&mut self, now: Instant, mut negotiation: Negotiation) {
        let index = self.free.pop().unwrap_or_else(|| {
            self.negotiations.push(None);
            self.negotiations.len() - 1
        });
        let data = EventData::new_u64(index as u64);
        // It is writable at once, and then the greeting is sent.
        match epoll::add(&self.epoll, negotiation.stream(), data, EventFlags::OUT) {
            Ok(()) => {
                negotiation.watched_for = EventFlags::OUT;
                self.door.enter(now, index, negotiation.source);
                self.negotiations[index] = Some(negotiation);
            }
            Err(error) => {
                if self.door.may_complain(now) {
                    tracing::warn!("clients in the handshake cannot be watched: {error}");
                }
                self.free.push(index);
            }
        }
    }

    /// Goes on with a client whose socket is ready.
    fn on_ready(&mut self, index: usize) {
        // An earlier event of the same turn may have ended it.
        let negotiation = self.negotiations.get_mut(index).and_then(Option::take);
        let Some(mut negotiation) = negotiation else { return };
        let steps = negotiation.steps();
        let next = negotiation.on_ready(&mut self.scratch, self.tls.config());
        if negotiation.steps() > steps {
            self.door.step(Instant::now(), index);
        }
        match next {
            Negotiated::Wait(interest) => {
                let data = EventData::new_u64(index as u64);
                let outcome = if interest == negotiation.watched_for {
                    Ok(())
                } else {
                    negotiation.watched_for = interest;
                    epoll::modify(&self.epoll, negotiation.stream(), data, interest)
                };
                match outcome {
                    Ok(()) => self.negotiations[index] = Some(negotiation),
                    Err(error) => {
                        if self.door.may_complain(Instant::now()) {
                            tracing::warn!("clients in the handshake cannot be watched: {error}");
                        }
                        self.end(index);
                    }
                }
            }
            Negotiated::Done(choice) => {
                self.end(index);
                let Some(permit) = self.limit.take(negotiation.source) else {
                    self.door.count_refused();
                    return;
                };
                if epoll::delete(&self.epoll, negotiation.stream()).is_ok() {
                    (self.hand_over)(negotiation.into_connection(choice, permit));
                }
            }
            Negotiated::Close => self.end(index),
        }
    }

    /// Frees the place of a client, and closes its connection if it is still in the handshake.
    fn end(&mut self, index: usize) {
        self.negotiations[index] = None;
        self.door.leave(index);
        self.free.push(index);
    }

    /// Closes the connections of clients that have not chosen in time.
    fn close_late(&mut self, now: Instant) {
        for index in 0..self.negotiations.len() {
            let negotiation = self.negotiations[index].as_ref();
            if negotiation.is_some_and(|negotiation| now >= negotiation.deadline) {
                self.door.count_late();
                self.end(index);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crowd::Source;
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    fn export(name: &str) -> Export {
        Export {
            name: name.into(),
            description: String::new(),
            size_bytes: 1 << 20,
            preferred_block_bytes: 4096,
        }
    }

    fn door() -> Door {
        Door::new(StrangerCounts::default())
    }

    #[test]
    fn a_client_that_never_chooses_is_hung_up_on_and_has_no_permit() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let listener = Listener::open(&Listen::Unix(path.clone()), SocketAccess::Owner).unwrap();
        let stop = eventfd(0, EventfdFlags::CLOEXEC).unwrap();
        let mut acceptor = AcceptorLoop::new(
            vec![listener],
            vec![export("")],
            Tls::Off,
            Box::new(drop),
            door(),
            &stop,
        )
        .unwrap();
        let mut client = UnixStream::connect(&path).unwrap();
        acceptor.accept_from(0);
        assert_eq!(acceptor.limit.out(), 0, "permits are for those who have chosen");
        acceptor.on_ready(0);
        let mut greeting = [0; 18];
        client.read_exact(&mut greeting).unwrap();
        let soon = Instant::now() + HANDSHAKE_TIMEOUT / 2;
        acceptor.close_late(soon);
        assert!(acceptor.negotiations[0].is_some());
        acceptor.close_late(soon + HANDSHAKE_TIMEOUT);
        assert!(acceptor.negotiations[0].is_none());
        assert!(acceptor.door.has_news());
        assert_eq!(client.read(&mut greeting).unwrap(), 0);
    }

    #[test]
    fn when_no_permit_is_left_clients_wait() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let listener = Listener::open(&Listen::Unix(path.clone()), SocketAccess::Owner).unwrap();
        let stop = eventfd(0, EventfdFlags::CLOEXEC).unwrap();
        let mut acceptor = AcceptorLoop::new(
            vec![listener],
            vec![export("")],
            Tls::Off,
            Box::new(drop),
            door(),
            &stop,
        )
        .unwrap();
        let _client = UnixStream::connect(&path).unwrap();
        let mut permits: Vec<_> =
            (0..CLIENTS_MAX).map(|_| acceptor.limit.take(Source::Local)).collect();
        acceptor.accept_from(0);
        assert!(
            acceptor.negotiations.is_empty() && !acceptor.accepting && acceptor.resume.is_some()
        );
        permits.pop();
        acceptor.watch_listeners(true).unwrap();
        acceptor.accept_from(0);
        assert_eq!(acceptor.negotiations.len(), 1);
    }

    #[test]
    fn exports_that_make_no_sense_are_refused_with_a_sentence() {
        let directory = tempfile::tempdir().unwrap();
        let listens = [Listen::Unix(directory.path().join("socket"))];
        let long = "x".repeat(5000);
        for (exports, text) in [
            (vec![], "at least one export"),
            (vec![export("a"), export("a")], "same name"),
            (vec![export(&long)], "4096 bytes"),
            (vec![Export { preferred_block_bytes: 3000, ..export("a") }], "power of two"),
            (vec![Export { size_bytes: u64::MAX, ..export("a") }], "2^63"),
        ] {
            let error = Acceptor::open(&listens, SocketAccess::Owner, exports, Tls::Off, drop)
                .unwrap_err()
                .to_string();
            assert!(error.contains(text) && !error.contains('\n'), "{error}");
        }
        assert!(
            Acceptor::open(&[], SocketAccess::Owner, vec![export("a")], Tls::Off, drop).is_err()
        );
    }
}
