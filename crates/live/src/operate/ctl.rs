//! Orders over a Unix socket: one JSON object a line, an [`Order`] in and an [`Answer`] out.
//!
//! ```text
//! {"order":"fail","drive":2}
//! {"answer":"done","text":"drive 2 is taken for failed"}
//! ```

use super::Desk;
use crate::control::{Answer, Order};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use thiserror::Error;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixListener;
use tokio::sync::{Semaphore, mpsc, watch};

pub use super::socket::{SocketError, SocketFile, bind};

/// Longest line that is taken for an order, in bytes without its end.
pub const LINE_BYTES: usize = 64 << 10;
/// Clients at the same time; the next one waits to be accepted.
pub const CONNECTIONS: usize = 16;
/// A client that says nothing for so long is dismissed, and so is one that does not read.
const IDLE: Duration = Duration::from_secs(300);
const WRITE_TIME: Duration = Duration::from_secs(10);
/// Pause after the system refused to accept.
const BREATH: Duration = Duration::from_millis(100);
/// Longest answer that a client of this project reads.
const ANSWER_BYTES: u64 = 64 << 20;

/// Where an array is served for NBD clients if nothing else is said: `ioda.sock` in the user's
/// runtime directory, or in `/tmp` where there is none.
#[must_use]
pub fn default_socket() -> PathBuf {
    // The standard says that a relative one is to be ignored.
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let folder = runtime.filter(|path| path.is_absolute()).unwrap_or_else(|| "/tmp".into());
    folder.join("ioda.sock")
}

/// The socket for orders to the array that is served at `nbd`: the same path with `.ctl` at its end.
#[must_use]
pub fn control_socket(nbd: &Path) -> PathBuf {
    let mut path = nbd.as_os_str().to_owned();
    path.push(".ctl");
    path.into()
}

/// Accepts clients until it is aborted. Each holds `busy` while an order is carried out.
pub(super) async fn accept(
    listener: UnixListener,
    desk: Arc<Desk>,
    ended: watch::Receiver<bool>,
    busy: mpsc::Sender<()>,
) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        // The semaphore is never closed.
        let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let (desk, ended, busy) = (Arc::clone(&desk), ended.clone(), busy.clone());
                tokio::spawn(async move {
                    if let Err(error) = converse(stream, &desk, ended).await {
                        tracing::debug!(%error, "a client for orders was dropped");
                    }
                    drop((place, busy));
                });
            }
            Err(error) => {
                tracing::warn!(%error, "a client for orders was not accepted");
                tokio::time::sleep(BREATH).await;
            }
        }
    }
}

/// Takes orders of one client, one after the other, until it goes or everything ends.
async fn converse(
    mut stream: tokio::net::UnixStream,
    desk: &Desk,
    mut ended: watch::Receiver<bool>,
) -> io::Result<()> {
    let mut received = Vec::new();
    loop {
        let line = next_or_end(&mut stream, &mut received, &mut ended).await?;
        let (answer, last) = match line {
            Line::Gone => return Ok(()),
            Line::TooLong => {
                let reason = format!("an order has {LINE_BYTES} bytes at most");
                (Answer::Refused { reason }, true)
            }
            Line::Whole(line) => (carried_out(&line, desk).await, false),
        };
        let mut text = serde_json::to_vec(&answer)?;
        text.push(b'\n');
        tokio::time::timeout(WRITE_TIME, stream.write_all(&text)).await??;
        if last {
            return Ok(());
        }
    }
}

/// The next line, or that there is none because the client is silent or everything ends.
async fn next_or_end(
    stream: &mut tokio::net::UnixStream,
    received: &mut Vec<u8>,
    ended: &mut watch::Receiver<bool>,
) -> io::Result<Line> {
    let mut next = std::pin::pin!(tokio::time::timeout(IDLE, next_line(stream, received)));
    let mut over = std::pin::pin!(ended.wait_for(|ended| *ended));
    // Whatever comes first.
    std::future::poll_fn(|context| {
        if let Poll::Ready(line) = next.as_mut().poll(context) {
            return Poll::Ready(line.unwrap_or(Ok(Line::Gone)));
        }
        over.as_mut().poll(context).map(|_| Ok(Line::Gone))
    })
    .await
}

/// What a client sent.
enum Line {
    /// A line, without its end.
    Whole(Vec<u8>),
    /// More than any order has.
    TooLong,
    /// Nothing any more. A line without an end is no order: its client died in the middle.
    Gone,
}

/// Reads on until there is a line in `received`, and takes it out.
async fn next_line(
    stream: &mut tokio::net::UnixStream,
    received: &mut Vec<u8>,
) -> io::Result<Line> {
    let mut seen = 0;
    loop {
        if let Some(end) = received[seen..].iter().position(|&byte| byte == b'\n') {
            let mut line: Vec<u8> = received.drain(..=seen + end).collect();
            line.pop();
            return Ok(if line.len() > LINE_BYTES { Line::TooLong } else { Line::Whole(line) });
        }
        seen = received.len();
        if seen > LINE_BYTES {
            return Ok(Line::TooLong);
        }
        if stream.read_buf(received).await? == 0 {
            return Ok(Line::Gone);
        }
    }
}

async fn carried_out(line: &[u8], desk: &Desk) -> Answer {
    match serde_json::from_slice(line) {
        Ok(order) => {
            tracing::debug!(?order, "ordered");
            let answer = desk.order(order).await;
            answer.unwrap_or_else(|gone| Answer::Refused { reason: gone.to_string() })
        }
        Err(error) => Answer::Refused { reason: format!("this is no order: {error}") },
    }
}

/// Why an order could not be given.
#[derive(Debug, Error)]
pub enum AskError {
    /// Nobody listens.
    #[error("no array can be reached at {path}: {source}; is it served, and is this its socket?")]
    Unreachable {
        /// The path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The connection ended before the answer.
    #[error("{path} was closed before the answer: {source}")]
    Lost {
        /// The path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The other side is something else.
    #[error("what listens at {path} does not answer as an array does: {source}")]
    Stranger {
        /// The path.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
}

/// A client of the socket, for as many orders as are wanted.
#[derive(Debug)]
pub struct Client {
    stream: BufReader<UnixStream>,
    path: PathBuf,
}

impl Client {
    /// Connects to the array whose control socket is at `path`. An answer is waited for as long as
    /// `patience`.
    ///
    /// # Errors
    ///
    /// If nobody listens there, or somebody who does not listen to this user.
    pub fn connect(path: &Path, patience: Duration) -> Result<Self, AskError> {
        let failed = |source| AskError::Unreachable { path: path.to_owned(), source };
        let stream = UnixStream::connect(path).map_err(failed)?;
        stream.set_read_timeout(Some(patience)).map_err(failed)?;
        stream.set_write_timeout(Some(patience)).map_err(failed)?;
        Ok(Self { stream: BufReader::new(stream), path: path.to_owned() })
    }

    /// Gives an order and waits for the answer.
    ///
    /// # Errors
    ///
    /// If the connection is lost or the answer is none. The order may have been carried out.
    pub fn ask(&mut self, order: &Order) -> Result<Answer, AskError> {
        let stranger = |source| AskError::Stranger { path: self.path.clone(), source };
        let mut text = serde_json::to_vec(order).map_err(stranger)?;
        text.push(b'\n');
        let mut line = Vec::new();
        let lost = |source| AskError::Lost { path: self.path.clone(), source };
        self.stream.get_mut().write_all(&text).map_err(lost)?;
        let mut bounded = self.stream.by_ref().take(ANSWER_BYTES);
        bounded.read_until(b'\n', &mut line).map_err(lost)?;
        if line.last() != Some(&b'\n') {
            return Err(lost(io::ErrorKind::UnexpectedEof.into()));
        }
        serde_json::from_slice(&line).map_err(stranger)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_control_socket_lies_beside_that_of_the_clients() {
        assert!(default_socket().is_absolute() && default_socket().ends_with("ioda.sock"));
        assert_eq!(control_socket(Path::new("/run/a.sock")), Path::new("/run/a.sock.ctl"));
    }
}
