//! A server that keeps one export in memory: it stands in for the thread that owns an array, with
//! the same loop and none of the array.
#![allow(clippy::unwrap_used, reason = "a test without its server fails")]
#![allow(dead_code, unreachable_pub, reason = "each test uses a part of it")]

use live::SocketAccess;
use live::buffer::Pool;
use live::control::{AdminCommand, ArrayHandle, Inbox, Message, channel};
use live::nbd::uri::Uri;
use live::nbd::{Acceptor, Connection, Counts, Errno, Export, Extent, Kind, Listen, Request, Tls};
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// Bytes whose extent is known together.
const BLOCK_BYTES: usize = 4096;
const BELL: u64 = u64::MAX;

/// What the loop lets others see.
#[derive(Debug, Default)]
pub struct Seen {
    pub connections: AtomicUsize,
    /// Most bytes that one connection has ever held.
    pub held_bytes_peak: AtomicU64,
    pub requests: AtomicU64,
    pub flushes: AtomicU64,
    /// Of the connection that ended last.
    pub counts: Mutex<Counts>,
}

/// A running server. Its clients end when it is dropped.
pub struct Server {
    pub acceptor: Option<Acceptor>,
    pub seen: Arc<Seen>,
    handle: ArrayHandle,
    thread: Option<JoinHandle<Vec<u8>>>,
    directory: tempfile::TempDir,
}

impl Server {
    /// Listens at a path and at a port, and offers `size_bytes` of zeros.
    pub fn start(size_bytes: usize, tls: Tls) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (handle, inbox) = channel().unwrap();
        let seen = Arc::new(Seen::default());
        let memory = Memory::new(size_bytes, Arc::clone(&seen), inbox);
        let thread = std::thread::spawn(move || memory.run());
        let export = Export {
            name: "disk".into(),
            description: "memory for a test".into(),
            size_bytes: size_bytes as u64,
            preferred_block_bytes: 4096,
        };
        let listens = [
            Listen::Unix(directory.path().join("socket")),
            Listen::Tcp("127.0.0.1:0".parse().unwrap()),
        ];
        let acceptor = Acceptor::open(
            &listens,
            SocketAccess::Owner,
            vec![export],
            tls,
            handle.connection_sink(),
        )
        .unwrap();
        Self { acceptor: Some(acceptor), seen, handle, thread: Some(thread), directory }
    }

    pub fn path(&self) -> PathBuf {
        self.directory.path().join("socket")
    }

    pub fn unix(&self) -> Uri {
        Uri::of(&self.acceptor.as_ref().unwrap().addresses()[0], false)
    }

    pub fn tcp(&self) -> Uri {
        Uri::of(&self.acceptor.as_ref().unwrap().addresses()[1], false)
    }

    /// Ends and gives what the export holds.
    pub fn stop(mut self) -> Vec<u8> {
        self.end().unwrap()
    }

    fn end(&mut self) -> Option<Vec<u8>> {
        drop(self.acceptor.take());
        let thread = self.thread.take()?;
        let (sender, _receiver) = std::sync::mpsc::channel();
        let _ = self.handle.send(Message::Admin(AdminCommand::Shutdown, sender));
        Some(thread.join().unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

struct Memory {
    epoll: OwnedFd,
    inbox: Inbox,
    clients: Vec<Option<(Connection, EventFlags)>>,
    bytes: Vec<u8>,
    written: Vec<bool>,
    pool: Pool,
    seen: Arc<Seen>,
}

impl Memory {
    fn new(size_bytes: usize, seen: Arc<Seen>, inbox: Inbox) -> Self {
        let epoll = epoll::create(CreateFlags::CLOEXEC).unwrap();
        epoll::add(&epoll, inbox.wake_fd(), EventData::new_u64(BELL), EventFlags::IN).unwrap();
        Self {
            epoll,
            inbox,
            clients: Vec::new(),
            bytes: vec![0; size_bytes],
            written: vec![false; size_bytes.div_ceil(BLOCK_BYTES)],
            pool: Pool::default(),
            seen,
        }
    }

    fn run(mut self) -> Vec<u8> {
        let mut events = Vec::with_capacity(64);
        loop {
            events.clear();
            let room = rustix::buffer::spare_capacity(&mut events);
            match epoll::wait(&self.epoll, room, None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => panic!("{error}"),
            }
            for event in std::mem::take(&mut events) {
                let event: epoll::Event = event;
                if event.data.u64() != BELL {
                    self.serve(event.data.u64() as usize, event.flags);
                    continue;
                }
                self.inbox.acknowledge();
                while let Some(message) = self.inbox.take() {
                    match message {
                        Message::Client(client) => {
                            self.clients.push(Some((*client, EventFlags::empty())));
                            self.seen.connections.fetch_add(1, Ordering::SeqCst);
                            self.serve(self.clients.len() - 1, EventFlags::empty());
                        }
                        _ => return self.bytes,
                    }
                }
            }
            events.reserve(64);
        }
    }

    fn serve(&mut self, index: usize, flags: EventFlags) {
        let Some((mut client, watched)) = self.clients[index].take() else { return };
        let gone = flags.intersects(EventFlags::HUP | EventFlags::ERR);
        client.handle_ready(
            gone || flags.contains(EventFlags::IN),
            gone || flags.contains(EventFlags::OUT),
        );
        loop {
            while let Some(request) = client.poll_request(&mut self.pool) {
                self.seen.held_bytes_peak.fetch_max(client.held_bytes(), Ordering::SeqCst);
                self.seen.requests.fetch_add(1, Ordering::SeqCst);
                self.execute(&mut client, request);
                self.seen.held_bytes_peak.fetch_max(client.held_bytes(), Ordering::SeqCst);
            }
            let _ = client.flush_output();
            if !client.is_ready() {
                break;
            }
        }
        let wants = client.wants();
        let mut wanted = EventFlags::empty();
        wanted.set(EventFlags::IN, wants.read);
        wanted.set(EventFlags::OUT, wants.write);
        let data = EventData::new_u64(index as u64);
        let finished = client.is_finished();
        match (watched.is_empty(), wanted.is_empty() || finished) {
            (true, true) => {}
            (true, false) => epoll::add(&self.epoll, client.fd(), data, wanted).unwrap(),
            (false, true) => epoll::delete(&self.epoll, client.fd()).unwrap(),
            (false, false) if watched == wanted => {}
            (false, false) => epoll::modify(&self.epoll, client.fd(), data, wanted).unwrap(),
        }
        if finished {
            *self.seen.counts.lock().unwrap() = client.counts();
            self.seen.connections.fetch_sub(1, Ordering::SeqCst);
        } else {
            self.clients[index] = Some((client, wanted));
        }
    }

    fn execute(&mut self, client: &mut Connection, request: Request) {
        let start = request.offset_bytes as usize;
        let end = start + request.length_bytes as usize;
        let blocks = start / BLOCK_BYTES..end.div_ceil(BLOCK_BYTES);
        match request.kind {
            Kind::Read => {
                client.read_reply(request.cookie).copy_from_slice(&self.bytes[start..end]);
            }
            Kind::Write => {
                let data = request.data.unwrap();
                self.bytes[start..end].copy_from_slice(&data.bytes()[..end - start]);
                self.written[blocks].fill(true);
                self.pool.give(data);
                client.reply_done(request.cookie);
            }
            Kind::WriteZeroes { fast: true, .. } => {
                client.reply_error(request.cookie, Errno::NotSupported, "zeros are not fast here");
            }
            Kind::WriteZeroes { may_punch, .. } => {
                self.bytes[start..end].fill(0);
                let inner = start.div_ceil(BLOCK_BYTES)..end / BLOCK_BYTES;
                if !may_punch {
                    self.written[blocks].fill(true);
                } else if !inner.is_empty() {
                    self.written[inner].fill(false);
                }
                client.reply_done(request.cookie);
            }
            Kind::BlockStatus { .. } => {
                let mut extents = Vec::new();
                for block in blocks {
                    let from = start.max(block * BLOCK_BYTES);
                    let to = end.min((block + 1) * BLOCK_BYTES);
                    let empty = !self.written[block];
                    let length_bytes = (to - from) as u32;
                    extents.push(Extent { length_bytes, hole: empty, zero: empty });
                }
                client.reply_extents(request.cookie, &extents);
            }
            Kind::Flush => {
                self.seen.flushes.fetch_add(1, Ordering::SeqCst);
                client.reply_done(request.cookie);
            }
            Kind::Trim | Kind::Cache => client.reply_done(request.cookie),
        }
    }
}
