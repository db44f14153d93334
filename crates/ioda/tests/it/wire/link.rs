//! The wire between a host and a drive, which can be slow, or be cut in the middle of a PDU.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// No cut is wanted.
const NEVER: i64 = i64::MAX;

/// A way to a drive, which forwards what comes over it.
pub(crate) struct Link {
    address: SocketAddr,
    state: Arc<State>,
}

struct State {
    /// Where the drive listens: another port each time that it is started.
    drive_port: AtomicU16,
    /// Bytes that still go through before all connections are cut.
    left_bytes: AtomicI64,
    /// How long each piece waits before it goes on.
    delay_us: AtomicU64,
    closed: AtomicBool,
    streams: Mutex<Vec<TcpStream>>,
}

impl Link {
    pub(crate) fn new(drive_port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State {
            drive_port: AtomicU16::new(drive_port),
            left_bytes: AtomicI64::new(NEVER),
            delay_us: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            streams: Mutex::default(),
        });
        let shared = Arc::clone(&state);
        thread::spawn(move || shared.accept_all(&listener));
        Self { address, state }
    }

    /// What a host connects to.
    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// The drive was started again, at another port.
    pub(crate) fn set_drive_port(&self, port: u16) {
        self.state.drive_port.store(port, Ordering::SeqCst);
    }

    /// Every piece takes so much longer.
    pub(crate) fn set_delay(&self, delay: Duration) {
        self.state.delay_us.store(delay.as_micros() as u64, Ordering::SeqCst);
    }

    /// After so many bytes more, in whatever direction, all connections end. New ones are taken.
    pub(crate) fn cut_after(&self, bytes: u32) {
        self.state.left_bytes.store(i64::from(bytes), Ordering::SeqCst);
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.state.closed.store(true, Ordering::SeqCst);
        self.state.cut();
        // The thread that accepts looks at it when somebody comes.
        let _ = TcpStream::connect(self.address);
    }
}

impl State {
    fn accept_all(self: Arc<Self>, listener: &TcpListener) {
        for host in listener.incoming() {
            if self.closed.load(Ordering::SeqCst) {
                return;
            }
            let port = self.drive_port.load(Ordering::SeqCst);
            let (Ok(host), Ok(drive)) = (host, TcpStream::connect(("127.0.0.1", port))) else {
                continue;
            };
            let clone = |stream: &TcpStream| stream.try_clone().unwrap();
            let mut streams = self.streams.lock().unwrap();
            streams.extend([clone(&host), clone(&drive)]);
            for (from, to) in [(clone(&host), clone(&drive)), (drive, host)] {
                let _ = from.set_nodelay(true);
                let shared = Arc::clone(&self);
                thread::spawn(move || shared.forward(from, to));
            }
        }
    }

    fn forward(&self, mut from: TcpStream, mut to: TcpStream) {
        let mut piece = vec![0; 64 << 10];
        while let Ok(length @ 1..) = from.read(&mut piece) {
            let delay = self.delay_us.load(Ordering::SeqCst);
            if delay > 0 {
                thread::sleep(Duration::from_micros(delay));
            }
            let left = match self.left_bytes.load(Ordering::SeqCst) {
                NEVER => NEVER,
                _ => self.left_bytes.fetch_sub(length as i64, Ordering::SeqCst),
            };
            if left < length as i64 {
                let _ = to.write_all(&piece[..left.max(0) as usize]);
                self.left_bytes.store(NEVER, Ordering::SeqCst);
                self.cut();
                return;
            }
            if to.write_all(&piece[..length]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
        let _ = from.shutdown(Shutdown::Both);
    }

    fn cut(&self) {
        for stream in self.streams.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}
