//! The limit on clients: one permit for each, from the accept to the end of its connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Most clients at once, in the handshake and after. More wait until one has disconnected.
pub const CLIENTS_MAX: usize = 4096;

/// Hands out permits, and counts those that are out.
#[derive(Clone, Debug, Default)]
pub(super) struct ConnectionLimit {
    out: Arc<AtomicUsize>,
}

impl ConnectionLimit {
    /// Permits that are out.
    pub(super) fn out(&self) -> usize {
        self.out.load(Ordering::Relaxed)
    }

    /// Whether there is no permit left.
    pub(super) fn is_reached(&self) -> bool {
        self.out() >= CLIENTS_MAX
    }

    /// A permit for a client; only where the limit [is not reached](Self::is_reached).
    pub(super) fn take(&self) -> ConnectionPermit {
        self.out.fetch_add(1, Ordering::Relaxed);
        ConnectionPermit(self.clone())
    }
}

/// The permit of one client; given back when dropped.
#[derive(Debug)]
pub(super) struct ConnectionPermit(ConnectionLimit);

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.0.out.fetch_sub(1, Ordering::Relaxed);
    }
}
