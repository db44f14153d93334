//! Where clients come in: one thread that accepts them and talks to them until they have chosen an
//! export, however many they are and however slow.

use super::connection::Connection;
use super::guest::{Guest, Step};
use super::handshake::{Export, TlsPolicy};
use super::listener::Listener;
use super::stream::Stream;
use super::wire::STRING_BYTES_MAX;
use crate::control::{Line, Message};
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use rustls::ServerConfig;
use std::collections::HashSet;
use std::fmt::{self, Display, Formatter};
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use thiserror::Error;

/// Most clients at once, in the handshake and after. More wait until one has gone.
pub const CLIENTS_MAX: usize = 4096;
/// How long a client may take for the handshake.
pub const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long nobody is accepted after the system had no room for one more, or when all seats are
/// taken.
const PAUSE: Duration = Duration::from_millis(100);
/// How often it is looked for clients that have taken too long.
const TICK: Duration = Duration::from_secs(1);
/// Clients that are accepted from one socket before others get their turn.
const ACCEPTED_AT_ONCE: usize = 64;

/// Where to listen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Listen {
    /// At a path of this machine, of at most 107 bytes.
    Unix(PathBuf),
    /// At an address of a network; port 0 lets the system choose.
    Tcp(SocketAddr),
}

impl Display for Listen {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => path.display().fmt(f),
            Self::Tcp(address) => address.fmt(f),
        }
    }
}

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

/// Why a door cannot be opened. Each is one sentence.
#[derive(Debug, Error)]
pub enum DoorError {
    /// The system refuses.
    #[error("cannot listen at {place}: {error}")]
    Listen {
        /// Where.
        place: String,
        /// What the system said.
        error: io::Error,
    },
    /// Another process listens.
    #[error("cannot listen at {place}: another process listens there")]
    InUse {
        /// Where.
        place: String,
    },
    /// Something that is not a socket is at the path.
    #[error("cannot listen at {place}: there is a file that is not a socket")]
    NotASocket {
        /// Where.
        place: String,
    },
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

/// One of the places for clients that a door has; free again when dropped.
#[derive(Debug)]
pub(super) struct Seat(Arc<AtomicUsize>);

impl Seat {
    fn take(taken: &Arc<AtomicUsize>) -> Self {
        taken.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(taken))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A thread that lets clients in, until it is closed or dropped. Clients that are past the
/// handshake by then are not its business any more.
#[derive(Debug)]
pub struct Door {
    addresses: Vec<Listen>,
    bell: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Door {
    /// Listens at all of `listens` and offers `exports`, the first of which is the default one.
    /// Clients that have chosen go through `line`.
    ///
    /// # Errors
    ///
    /// If it cannot listen at one of them, or the exports make no sense.
    pub fn open(
        listens: &[Listen],
        exports: Vec<Export>,
        tls: Tls,
        line: Line,
    ) -> Result<Self, DoorError> {
        check(&exports)?;
        if listens.is_empty() {
            return Err(DoorError::Nothing("address"));
        }
        let listeners = listens.iter().map(Listener::open).collect::<Result<Vec<_>, _>>()?;
        let addresses = listeners.iter().map(Listener::address).collect::<io::Result<Vec<_>>>();
        let addresses = addresses.map_err(DoorError::System)?;
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let bell = Arc::new(bell.map_err(|error| DoorError::System(error.into()))?);
        let hall = Hall::new(listeners, exports, tls, line, &bell).map_err(DoorError::System)?;
        let thread = std::thread::Builder::new()
            .name("nbd-door".into())
            .spawn(move || hall.run())
            .map_err(DoorError::System)?;
        Ok(Self { addresses, bell, thread: Some(thread) })
    }

    /// Where it listens, with the ports that the system chose, in the order that it was given.
    #[must_use]
    pub fn addresses(&self) -> &[Listen] {
        &self.addresses
    }

    /// Accepts nobody any more, hangs up on those who have not chosen yet, and removes the paths.
    pub fn close(self) {
        drop(self);
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        // A full counter means that the bell is ringing already.
        let _ = rustix::io::write(&*self.bell, &1u64.to_ne_bytes());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that accepts clients had ended before");
        }
    }
}

fn check(exports: &[Export]) -> Result<(), DoorError> {
    if exports.is_empty() {
        return Err(DoorError::Nothing("export"));
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
        return Err(DoorError::Export { name, reason });
    }
    Ok(())
}

/// What clients in the handshake send is received here.
const SCRATCH_BYTES: usize = 16 << 10;
const BELL: u64 = u64::MAX;
/// Numbers of events from here on are listeners; below, guests.
const LISTENERS: u64 = 1 << 32;

/// What the thread of a door knows.
struct Hall {
    epoll: OwnedFd,
    listeners: Vec<Listener>,
    /// Whether the listeners are being waited for.
    accepting: bool,
    /// When they will be again.
    resume: Option<Instant>,
    guests: Vec<Option<Guest>>,
    free: Vec<usize>,
    exports: Arc<[Export]>,
    tls: Tls,
    line: Line,
    /// Seats that are taken, by guests and by clients past the handshake.
    taken: Arc<AtomicUsize>,
    scratch: Vec<u8>,
}

impl Hall {
    fn new(
        listeners: Vec<Listener>,
        exports: Vec<Export>,
        tls: Tls,
        line: Line,
        bell: &OwnedFd,
    ) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, bell, EventData::new_u64(BELL), EventFlags::IN)?;
        let mut hall = Self {
            epoll,
            listeners,
            accepting: false,
            resume: None,
            guests: Vec::new(),
            free: Vec::new(),
            exports: exports.into(),
            tls,
            line,
            taken: Arc::new(AtomicUsize::new(0)),
            scratch: vec![0; SCRATCH_BYTES],
        };
        hall.accept_clients(true)?;
        Ok(hall)
    }

    fn run(mut self) {
        let mut events: Vec<Event> = Vec::with_capacity(256);
        let mut next_tick = Instant::now() + TICK;
        loop {
            let timeout = if self.resume.is_some() {
                Some(PAUSE)
            } else if self.free.len() < self.guests.len() {
                Some(TICK)
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
                    BELL => return,
                    number if number >= LISTENERS => self.welcome((number - LISTENERS) as usize),
                    number => self.attend(number as usize),
                }
            }
            let now = Instant::now();
            if now >= next_tick {
                next_tick = now + TICK;
                self.dismiss_late(now);
            }
            if self.resume.is_some_and(|resume| now >= resume) {
                self.resume = None;
                if self.taken.load(Ordering::Relaxed) >= CLIENTS_MAX {
                    self.pause();
                } else if let Err(error) = self.accept_clients(true) {
                    tracing::warn!("cannot accept clients for now: {error}");
                    self.pause();
                }
            }
        }
    }

    /// Waits for new clients, or does not.
    fn accept_clients(&mut self, accepting: bool) -> io::Result<()> {
        if self.accepting != accepting {
            for (number, listener) in (LISTENERS..).zip(&self.listeners) {
                if accepting {
                    epoll::add(&self.epoll, listener, EventData::new_u64(number), EventFlags::IN)?;
                } else {
                    epoll::delete(&self.epoll, listener)?;
                }
            }
            self.accepting = accepting;
        }
        Ok(())
    }

    fn pause(&mut self) {
        if let Err(error) = self.accept_clients(false) {
            tracing::warn!("cannot stop to accept clients: {error}");
        }
        self.resume = Some(Instant::now() + PAUSE);
    }

    /// Accepts clients from one socket.
    fn welcome(&mut self, listener: usize) {
        for _ in 0..ACCEPTED_AT_ONCE {
            if !self.accepting {
                return;
            }
            if self.taken.load(Ordering::Relaxed) >= CLIENTS_MAX {
                tracing::warn!("{CLIENTS_MAX} clients are connected: more have to wait");
                self.pause();
                return;
            }
            match self.listeners[listener].accept() {
                Ok(socket) => {
                    let handshake = (Arc::clone(&self.exports), self.tls.policy());
                    let deadline = Instant::now() + HANDSHAKE_TIMEOUT;
                    let seat = Seat::take(&self.taken);
                    let guest = Guest::new(Stream::new(socket), handshake, deadline, seat);
                    self.seat(guest);
                }
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock => return,
                    // This client has gone already; the next may not.
                    io::ErrorKind::ConnectionAborted
                    | io::ErrorKind::Interrupted
                    | io::ErrorKind::NotConnected
                    | io::ErrorKind::InvalidInput => {}
                    _ => {
                        tracing::warn!("cannot accept a client for now: {error}");
                        self.pause();
                    }
                },
            }
        }
    }

    fn seat(&mut self, mut guest: Guest) {
        let index = self.free.pop().unwrap_or_else(|| {
            self.guests.push(None);
            self.guests.len() - 1
        });
        let data = EventData::new_u64(index as u64);
        // Writable at once, which sends the greeting.
        match epoll::add(&self.epoll, guest.stream(), data, EventFlags::OUT) {
            Ok(()) => {
                guest.waits_for = EventFlags::OUT;
                self.guests[index] = Some(guest);
            }
            Err(error) => {
                tracing::warn!("a client was hung up on: {error}");
                self.free.push(index);
            }
        }
    }

    /// Goes on with a client whose socket is ready.
    fn attend(&mut self, index: usize) {
        // An earlier event of the same turn may have ended it.
        let Some(mut guest) = self.guests.get_mut(index).and_then(Option::take) else { return };
        match guest.step(&mut self.scratch, self.tls.config()) {
            Step::Wait(interest) => {
                let data = EventData::new_u64(index as u64);
                let outcome = if interest == guest.waits_for {
                    Ok(())
                } else {
                    guest.waits_for = interest;
                    epoll::modify(&self.epoll, guest.stream(), data, interest)
                };
                match outcome {
                    Ok(()) => self.guests[index] = Some(guest),
                    Err(error) => {
                        tracing::warn!("a client was hung up on: {error}");
                        self.free.push(index);
                    }
                }
            }
            Step::Enter(choice) => {
                self.free.push(index);
                if epoll::delete(&self.epoll, guest.stream()).is_ok() {
                    let client: Connection = guest.enter(choice);
                    // With the array gone, the client is hung up on.
                    let _ = self.line.send(Message::Client(Box::new(client)));
                }
            }
            Step::Leave => self.free.push(index),
        }
    }

    fn dismiss_late(&mut self, now: Instant) {
        for (index, place) in self.guests.iter_mut().enumerate() {
            if place.as_ref().is_some_and(|guest| now >= guest.deadline) {
                tracing::debug!("a client took over {HANDSHAKE_TIMEOUT:?} to choose an export");
                *place = None;
                self.free.push(index);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::line;
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

    #[test]
    fn a_client_that_never_chooses_is_hung_up_on_and_gives_up_its_seat() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let listener = Listener::open(&Listen::Unix(path.clone())).unwrap();
        let (line, _inbox) = line().unwrap();
        let bell = eventfd(0, EventfdFlags::CLOEXEC).unwrap();
        let mut hall = Hall::new(vec![listener], vec![export("")], Tls::Off, line, &bell).unwrap();
        let mut client = UnixStream::connect(&path).unwrap();
        hall.welcome(0);
        assert_eq!(hall.taken.load(Ordering::Relaxed), 1);
        hall.attend(0);
        let mut greeting = [0; 18];
        client.read_exact(&mut greeting).unwrap();
        let soon = Instant::now() + HANDSHAKE_TIMEOUT / 2;
        hall.dismiss_late(soon);
        assert!(hall.guests[0].is_some());
        hall.dismiss_late(soon + HANDSHAKE_TIMEOUT);
        assert!(hall.guests[0].is_none());
        assert_eq!(hall.taken.load(Ordering::Relaxed), 0);
        assert_eq!(client.read(&mut greeting).unwrap(), 0);
    }

    #[test]
    fn when_all_seats_are_taken_clients_wait() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let listener = Listener::open(&Listen::Unix(path.clone())).unwrap();
        let (line, _inbox) = line().unwrap();
        let bell = eventfd(0, EventfdFlags::CLOEXEC).unwrap();
        let mut hall = Hall::new(vec![listener], vec![export("")], Tls::Off, line, &bell).unwrap();
        let _client = UnixStream::connect(&path).unwrap();
        hall.taken.store(CLIENTS_MAX, Ordering::Relaxed);
        hall.welcome(0);
        assert!(hall.guests.is_empty() && !hall.accepting && hall.resume.is_some());
        hall.taken.store(CLIENTS_MAX - 1, Ordering::Relaxed);
        hall.accept_clients(true).unwrap();
        hall.welcome(0);
        assert_eq!(hall.guests.len(), 1);
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
            let (line, _inbox) = line().unwrap();
            let error = Door::open(&listens, exports, Tls::Off, line).unwrap_err().to_string();
            assert!(error.contains(text) && !error.contains('\n'), "{error}");
        }
        let (line, _inbox) = line().unwrap();
        assert!(Door::open(&[], vec![export("a")], Tls::Off, line).is_err());
    }
}
