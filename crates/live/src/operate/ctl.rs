//! Admin commands over a Unix socket, the control socket: one JSON object a line, an
//! [`AdminCommand`] in and an [`Answer`] out.
//!
//! ```text
//! {"order":"fail","drive":2}
//! {"answer":"done","text":"drive 2 has failed; no other drive may fail until it is replaced"}
//! ```

use super::accept::{ClientPlace, accept_clients};
use super::service::Service;
use crate::control::{ANSWER_SCHEMA, AdminCommand, Answer, Marked};
use crate::unix_socket::{self, BindError, SocketAccess};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use thiserror::Error;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixListener;
use tokio::sync::{mpsc, watch};

pub use crate::unix_socket::SocketFile;

/// Longest line that is accepted as a command, in bytes without its end.
pub const LINE_BYTES_MAX: usize = 64 << 10;
/// Clients at the same time; for the next one, that which has been idle for longest is
/// disconnected.
pub const CONNECTIONS_MAX: usize = 16;
/// A connection on which no command begins for so long is closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(300);
/// So is one on which the rest of a command does not arrive for so long.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(10);
/// So is one whose client does not take an answer for so long.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// Clients that may wait to be accepted.
const BACKLOG: i32 = 16;
/// Longest answer that [`Client`] reads.
const ANSWER_BYTES_MAX: u64 = 64 << 20;

/// The default NBD socket of an array: `ioda.sock` in the user's
/// runtime directory, or in `/tmp` where there is none.
#[must_use]
pub fn default_socket() -> PathBuf {
    // The standard says that a relative one is to be ignored.
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let folder = runtime.filter(|path| path.is_absolute()).unwrap_or_else(|| "/tmp".into());
    folder.join("ioda.sock")
}

/// The control socket of the array that is served at `nbd`: the same path with `.ctl` at its end.
#[must_use]
pub fn control_socket(nbd: &Path) -> PathBuf {
    let mut path = nbd.as_os_str().to_owned();
    path.push(".ctl");
    path.into()
}

/// Listens at `path` for those whom `access` names, without blocking. A socket that a killed
/// process left is replaced.
///
/// # Errors
///
/// If a process listens there, something else is there, or the system refuses.
pub fn bind(
    path: &Path,
    access: SocketAccess,
) -> Result<(std::os::unix::net::UnixListener, SocketFile), SocketError> {
    unix_socket::bind(path, BACKLOG, access).map_err(|error| match error {
        BindError::InUse => SocketError::InUse { path: path.to_owned() },
        BindError::NotASocket => SocketError::NotASocket { path: path.to_owned() },
        BindError::Refused(source) => SocketError::Refused { path: path.to_owned(), source },
    })
}

/// Accepts clients until it is aborted. Each holds a copy of `busy` while a command is executed.
pub(super) async fn accept(
    listener: UnixListener,
    service: Arc<Service>,
    ended: watch::Receiver<bool>,
    busy: mpsc::Sender<()>,
) {
    let next =
        |context: &mut Context<'_>| listener.poll_accept(context).map_ok(|(stream, _)| stream);
    let serve = |stream, place: Arc<ClientPlace>| {
        let (service, ended) = (Arc::clone(&service), ended.clone());
        async move {
            if let Err(error) = serve_client(stream, &service, &place, ended).await {
                tracing::debug!(%error, "a client of the control socket was dropped");
            }
        }
    };
    accept_clients(next, CONNECTIONS_MAX, busy, serve).await;
}

/// Executes the commands of one client, one after the other, until it goes or everything ends.
async fn serve_client(
    mut stream: tokio::net::UnixStream,
    service: &Service,
    place: &ClientPlace,
    mut ended: watch::Receiver<bool>,
) -> io::Result<()> {
    let mut received = Vec::new();
    loop {
        let line = next_or_end(&mut stream, &mut received, &mut ended).await?;
        let busy = place.begin_request();
        let (answer, last) = match line {
            Line::End => return Ok(()),
            Line::TooLong => {
                let reason = format!("a command has {LINE_BYTES_MAX} bytes at most");
                (Answer::Refused { reason }, true)
            }
            Line::Complete(line) => (execute(&line, service).await, false),
        };
        let mut text = serde_json::to_vec(&Marked { schema: ANSWER_SCHEMA, document: &answer })?;
        text.push(b'\n');
        // A client that does not take its answer is as good as an idle one.
        drop(busy);
        tokio::time::timeout(WRITE_TIMEOUT, stream.write_all(&text)).await??;
        if last {
            return Ok(());
        }
    }
}

/// The next line, or the end: because the client is silent or everything ends.
async fn next_or_end(
    stream: &mut tokio::net::UnixStream,
    received: &mut Vec<u8>,
    ended: &mut watch::Receiver<bool>,
) -> io::Result<Line> {
    let mut next = std::pin::pin!(next_in_time(stream, received));
    let mut end = std::pin::pin!(ended.wait_for(|ended| *ended));
    // Whatever comes first.
    std::future::poll_fn(|context| {
        if let Poll::Ready(line) = next.as_mut().poll(context) {
            return Poll::Ready(line);
        }
        end.as_mut().poll(context).map(|_| Ok(Line::End))
    })
    .await
}

/// The next line of a client that begins and ends it in time; or the end.
async fn next_in_time(
    stream: &mut tokio::net::UnixStream,
    received: &mut Vec<u8>,
) -> io::Result<Line> {
    if received.is_empty() {
        let begun = tokio::time::timeout(IDLE_TIMEOUT, stream.read_buf(received)).await;
        if begun.unwrap_or(Ok(0))? == 0 {
            return Ok(Line::End);
        }
    }
    let line = tokio::time::timeout(COMMAND_TIMEOUT, next_line(stream, received)).await;
    line.unwrap_or(Ok(Line::End))
}

/// What a client sent.
enum Line {
    /// A line, without its end.
    Complete(Vec<u8>),
    /// More than any command has.
    TooLong,
    /// The end. A line without an end is not a command: its client died in the middle.
    End,
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
            return Ok(if line.len() > LINE_BYTES_MAX {
                Line::TooLong
            } else {
                Line::Complete(line)
            });
        }
        seen = received.len();
        if seen > LINE_BYTES_MAX {
            return Ok(Line::TooLong);
        }
        if stream.read_buf(received).await? == 0 {
            return Ok(Line::End);
        }
    }
}

async fn execute(line: &[u8], service: &Service) -> Answer {
    match serde_json::from_slice(line) {
        Ok(command) => {
            tracing::debug!(?command, "admin command");
            let answer = service.execute(command).await;
            answer.unwrap_or_else(|error| Answer::Refused { reason: error.to_string() })
        }
        Err(error) => Answer::Refused { reason: format!("this is no command: {error}") },
    }
}

/// Why there cannot be a control socket at a path.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SocketError {
    /// Another process listens.
    #[error("{path} is served by a running process; stop it or choose another path")]
    InUse {
        /// The path.
        path: PathBuf,
    },
    /// Something else is there.
    #[error("{path} exists and is no socket; choose another path")]
    NotASocket {
        /// The path.
        path: PathBuf,
    },
    /// The system refuses.
    #[error("cannot make the control socket {path}: {source}; its path can have 107 bytes at most")]
    Refused {
        /// The path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Why an admin command could not be given, or at least its answer is not known.
#[derive(Debug, Error)]
#[non_exhaustive]
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
    /// Something else listens there.
    #[error("what listens at {path} does not answer as an array does: {source}")]
    NotAnArray {
        /// The path.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
}

/// A client of the control socket, for any number of commands.
#[derive(Debug)]
pub struct Client {
    stream: BufReader<UnixStream>,
    path: PathBuf,
}

impl Client {
    /// Connects to the array whose control socket is at `path`. An answer is waited for as long as
    /// `timeout`.
    ///
    /// # Errors
    ///
    /// If nobody listens there, or this user may not connect.
    pub fn connect(path: &Path, timeout: Duration) -> Result<Self, AskError> {
        let failed = |source| AskError::Unreachable { path: path.to_owned(), source };
        let stream = UnixStream::connect(path).map_err(failed)?;
        stream.set_read_timeout(Some(timeout)).map_err(failed)?;
        stream.set_write_timeout(Some(timeout)).map_err(failed)?;
        Ok(Self { stream: BufReader::new(stream), path: path.to_owned() })
    }

    /// Gives a command and waits for the answer.
    ///
    /// # Errors
    ///
    /// If the connection is lost or the answer is none. The command may have been executed.
    pub fn ask(&mut self, command: &AdminCommand) -> Result<Answer, AskError> {
        let not_an_array = |source| AskError::NotAnArray { path: self.path.clone(), source };
        let mut text = serde_json::to_vec(command).map_err(not_an_array)?;
        text.push(b'\n');
        let mut line = Vec::new();
        let lost = |source| AskError::Lost { path: self.path.clone(), source };
        self.stream.get_mut().write_all(&text).map_err(lost)?;
        let mut bounded = self.stream.by_ref().take(ANSWER_BYTES_MAX);
        bounded.read_until(b'\n', &mut line).map_err(lost)?;
        if line.last() != Some(&b'\n') {
            return Err(lost(io::ErrorKind::UnexpectedEof.into()));
        }
        serde_json::from_slice(&line).map_err(not_an_array)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_control_socket_lies_beside_that_of_the_clients() {
        assert!(default_socket().is_absolute() && default_socket().ends_with("ioda.sock"));
        assert_eq!(control_socket(Path::new("/run/a.sock")), Path::new("/run/a.sock.ctl"));
        let long = PathBuf::from(format!("/tmp/{}", "x".repeat(120)));
        assert!(bind(&long, SocketAccess::Owner).unwrap_err().to_string().contains("107 bytes"));
    }
}
