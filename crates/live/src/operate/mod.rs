//! How a running array is watched and ordered about: a page and metrics over HTTP, a socket for
//! `ioda ctl`, and signals.
//!
//! One thread with one tokio runtime serves them all. It owns nothing of the array: everything it
//! says it was told over a [`Line`], and what it is told to do it hands over. It reads from anybody
//! who can reach it, so everything that a client can send or hold is bounded.

pub mod ctl;
mod history;
mod http;
mod metrics;
pub mod signals;
mod socket;

pub use history::{DriveSample, History, Percentiles, SAMPLES, Sample};
pub use metrics::exposition;

use crate::control::{Answer, Gone, Line, Order, Status};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use thiserror::Error;
use tokio::sync::{Mutex, watch};

/// Longest time that clients with a request under way are waited for at the end.
const FAREWELL: Duration = Duration::from_secs(1);
/// Longest time that the array is waited for by those who only look.
const LOOK_PATIENCE: Duration = Duration::from_secs(5);

/// Where a running array can be reached.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Address of the page and the metrics; port 0 for any. None: no HTTP. There are no passwords:
    /// whoever reaches it can read, so a loopback address is the one to choose by default.
    pub http: Option<SocketAddr>,
    /// Path of the socket for orders. None: no orders.
    pub control: Option<PathBuf>,
}

/// Why a running array cannot be reached as wanted.
#[derive(Debug, Error)]
pub enum OperateError {
    /// The address of HTTP cannot be used.
    #[error("cannot listen for HTTP on {address}: {source}; choose another address")]
    Http {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// The control socket cannot be used.
    #[error(transparent)]
    Control(#[from] ctl::SocketError),
    /// There are no more threads or descriptors.
    #[error("cannot start the thread for orders and monitors: {0}")]
    Thread(#[source] std::io::Error),
}

/// The thread that answers; it ends when this is dropped.
#[derive(Debug)]
pub struct Operate {
    end: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
    http: Option<SocketAddr>,
    /// Removes the socket when everything is over.
    _control: Option<ctl::SocketFile>,
}

impl Operate {
    /// Begins to answer for the array at the other end of `line`.
    ///
    /// # Errors
    ///
    /// If an address or a path cannot be used.
    pub fn start(settings: &Settings, line: &Line) -> Result<Self, OperateError> {
        let http = match settings.http {
            Some(address) => {
                let failed = |source| OperateError::Http { address, source };
                let listener = TcpListener::bind(address).map_err(failed)?;
                listener.set_nonblocking(true).map_err(failed)?;
                let address = listener.local_addr().map_err(failed)?;
                Some((listener, address))
            }
            None => None,
        };
        let (control, file) = match &settings.control {
            Some(path) => {
                let (listener, file) = ctl::bind(path)?;
                (Some(listener), Some(file))
            }
            None => (None, None),
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(BLOCKING_THREADS)
            .build()
            .map_err(OperateError::Thread)?;
        let (end, ended) = watch::channel(false);
        let address = http.as_ref().map(|(_, address)| *address);
        let desk = Desk::new(line.clone());
        let work = serve(desk, http.map(|(listener, _)| listener), control, ended);
        let thread = std::thread::Builder::new()
            .name("operate".to_owned())
            .spawn(move || {
                if let Err(error) = runtime.block_on(work) {
                    tracing::error!(%error, "orders and monitors are not answered");
                }
                // An order that the array never answers holds a thread that is left alone.
                runtime.shutdown_background();
            })
            .map_err(OperateError::Thread)?;
        Ok(Self { end, thread: Some(thread), http: address, _control: file })
    }

    /// The address of the page and the metrics, with the port that was found.
    #[must_use]
    pub fn http_address(&self) -> Option<SocketAddr> {
        self.http
    }

    /// Lets answers that are under way reach their clients, for a second at most, and ends.
    pub fn close(self) {
        drop(self);
    }
}

impl Drop for Operate {
    fn drop(&mut self) {
        // The thread may have ended by itself.
        let _ = self.end.send(true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Orders that wait for the array at the same time at most. Others wait for their turn.
const BLOCKING_THREADS: usize = ctl::CONNECTIONS + 4;

/// What all who answer share.
#[derive(Debug)]
struct Desk {
    line: Line,
    history: std::sync::Mutex<History>,
    /// One question after how the array is at a time, however many ask.
    looking: Mutex<()>,
}

impl Desk {
    fn new(line: Line) -> Arc<Self> {
        let history = std::sync::Mutex::new(History::default());
        Arc::new(Self { line, history, looking: Mutex::new(()) })
    }

    /// Hands an order over and waits for the answer, without holding up the others.
    async fn order(&self, order: Order) -> Result<Answer, Gone> {
        let line = self.line.clone();
        tokio::task::spawn_blocking(move || line.order(order)).await.unwrap_or(Err(Gone))
    }

    /// How the array is.
    async fn status(&self) -> Result<Box<Status>, Gone> {
        let _turn = self.looking.lock().await;
        let line = self.line.clone();
        let ask = move || line.order_within(Order::Status, LOOK_PATIENCE);
        match tokio::task::spawn_blocking(ask).await {
            Ok(Ok(Answer::Status(status))) => Ok(status),
            _ => Err(Gone),
        }
    }

    /// The history, locked; nobody panics while holding it, and it is whole in any case.
    fn history(&self) -> std::sync::MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

async fn serve(
    desk: Arc<Desk>,
    http: Option<TcpListener>,
    control: Option<std::os::unix::net::UnixListener>,
    mut ended: watch::Receiver<bool>,
) -> std::io::Result<()> {
    // Every client holds a copy; when all are gone, nobody is being answered.
    let (busy, mut idle) = tokio::sync::mpsc::channel::<()>(1);
    let mut tasks = Vec::new();
    if let Some(listener) = http {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        tasks.push(tokio::spawn(history::keep(Arc::clone(&desk))));
        let work = http::accept(listener, Arc::clone(&desk), ended.clone(), busy.clone());
        tasks.push(tokio::spawn(work));
    }
    if let Some(listener) = control {
        let listener = tokio::net::UnixListener::from_std(listener)?;
        let work = ctl::accept(listener, desk, ended.clone(), busy.clone());
        tasks.push(tokio::spawn(work));
    }
    drop(busy);
    // An error means that the owner is gone, which is an end, too.
    let _ = ended.wait_for(|ended| *ended).await;
    tasks.iter().for_each(tokio::task::JoinHandle::abort);
    let _ = tokio::time::timeout(FAREWELL, idle.recv()).await;
    Ok(())
}
