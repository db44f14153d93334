//! Operating a running array: a page and metrics over HTTP, the control socket of `ioda ctl`, and
//! signals.
//!
//! One thread with one tokio runtime serves them all. It owns nothing of the array: it asks the
//! array's thread through an [`ArrayHandle`] and hands commands over to it. Anybody who can reach
//! it can send to it, so everything that a client can send or hold is bounded.

mod accept;
pub mod ctl;
mod history;
mod host;
mod http;
mod metrics;
mod service;
pub mod signals;

pub use history::{DriveSample, History, Percentiles, SAMPLES, Sample};
pub use metrics::exposition;

use crate::control::ArrayHandle;
use crate::unix_socket::SocketAccess;
use host::Hosts;
use service::Service;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use thiserror::Error;
use tokio::sync::watch;

/// How long the end waits for clients that are being answered.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Where a running array can be reached.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Address of the page and the metrics; port 0 for any. None: no HTTP. There are no passwords:
    /// whoever reaches it can read, so a loopback address is the one to choose by default.
    pub http: Option<SocketAddr>,
    /// Names under which the page and the metrics may be asked for, besides those of the loopback
    /// interface and the address; without a port.
    pub http_hosts: Vec<String>,
    /// Path of the control socket. None: no admin commands.
    pub control: Option<PathBuf>,
    /// Who may connect to it.
    pub socket_access: SocketAccess,
}

/// Why a running array cannot be reached as wanted.
#[derive(Debug, Error)]
#[non_exhaustive]
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
    #[error("cannot start the thread for admin commands and monitors: {0}")]
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
    /// Begins to answer for the array that `array` leads to.
    ///
    /// # Errors
    ///
    /// If an address or a path cannot be used.
    pub fn start(settings: &Settings, array: &ArrayHandle) -> Result<Self, OperateError> {
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
                let (listener, file) = ctl::bind(path, settings.socket_access)?;
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
        let service = Service::new(array.clone());
        let http = http.map(|(listener, _)| (listener, Hosts::new(&settings.http_hosts)));
        let work = serve(service, http, control, ended);
        let thread = std::thread::Builder::new()
            .name("operate".to_owned())
            .spawn(move || {
                if let Err(error) = runtime.block_on(work) {
                    tracing::error!(%error, "admin commands and monitors are not answered");
                }
                // A command that the array never answers blocks a thread, which is left behind.
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

/// Commands that wait for the array's answer at the same time, at most; others queue for a thread.
const BLOCKING_THREADS: usize = ctl::CONNECTIONS_MAX + 4;

async fn serve(
    service: Arc<Service>,
    http: Option<(TcpListener, Hosts)>,
    control: Option<std::os::unix::net::UnixListener>,
    mut ended: watch::Receiver<bool>,
) -> std::io::Result<()> {
    // Every client holds a copy; when all are dropped, no answer is outstanding.
    let (busy, mut idle) = tokio::sync::mpsc::channel::<()>(1);
    let mut tasks = Vec::new();
    if let Some((listener, hosts)) = http {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        tasks.push(tokio::spawn(Arc::clone(&service).record_history()));
        let site = http::Site { service: Arc::clone(&service), hosts };
        let work = http::accept(listener, site, ended.clone(), busy.clone());
        tasks.push(tokio::spawn(work));
    }
    if let Some(listener) = control {
        let listener = tokio::net::UnixListener::from_std(listener)?;
        let work = ctl::accept(listener, service, ended.clone(), busy.clone());
        tasks.push(tokio::spawn(work));
    }
    drop(busy);
    // An error means that the owner was dropped, which ends this as well.
    let _ = ended.wait_for(|ended| *ended).await;
    tasks.iter().for_each(tokio::task::JoinHandle::abort);
    let _ = tokio::time::timeout(CLOSE_TIMEOUT, idle.recv()).await;
    Ok(())
}
