//! Where clients come in: accepts them and talks to them until they have chosen an export.

use super::handshake::{Export, TlsPolicy};
use crate::control::Line;
use rustls::ServerConfig;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use thiserror::Error;

/// Where to listen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Listen {
    /// At a path of this machine.
    Unix(PathBuf),
    /// At an address of a network; port 0 lets the system choose.
    Tcp(SocketAddr),
}

/// Whether clients use TLS, and with which certificates.
#[derive(Clone, Debug)]
pub enum Tls {
    /// They cannot.
    Off,
    /// They can.
    Allowed(Arc<ServerConfig>),
    /// They must.
    Required(Arc<ServerConfig>),
}

/// Why a door cannot be opened. Each is one sentence.
#[derive(Debug, Error)]
pub enum DoorError {
    /// Of the system.
    #[error("cannot listen at {place}: {error}")]
    Listen {
        /// Where.
        place: String,
        /// What the system said.
        error: io::Error,
    },
}

/// One of the places for clients that a door has; free again when dropped.
#[derive(Debug)]
pub(super) struct Seat(Arc<AtomicUsize>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A thread that lets clients in.
#[derive(Debug)]
pub struct Door {}

impl Door {
    /// Opens a door.
    pub fn open(
        listens: &[Listen],
        exports: Vec<Export>,
        tls: Tls,
        line: Line,
    ) -> Result<Self, DoorError> {
        unimplemented!()
    }

    /// Where it listens.
    pub fn addresses(&self) -> &[Listen] {
        &[]
    }

    /// Closes.
    pub fn close(self) {}
}
