//! The limit on clients past the handshake: one permit for each, until the end of its connection.

use crate::crowd::Source;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Most clients past the handshake at once. More wait until one has disconnected.
pub const CLIENTS_MAX: usize = 4096;

/// Clients from which on each source has a bound, so that no source alone takes all places.
const UNBOUNDED_MAX: usize = CLIENTS_MAX / 4 * 3;

/// Clients of a source that may be added to while there is that bound. A Unix socket has its own
/// guard, its mode, and no bound.
const SOURCE_CLIENTS_MAX: usize = 64;

/// Hands out permits, and counts those that are out.
#[derive(Debug, Default)]
pub(super) struct ConnectionLimit {
    out: Arc<AtomicUsize>,
    by_source: BTreeMap<Source, Arc<AtomicUsize>>,
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

    /// A permit for a client; `None` when there is none for its source.
    pub(super) fn take(&mut self, source: Source) -> Option<ConnectionPermit> {
        let out = self.out();
        let of_source = self.by_source.entry(source).or_default();
        let is_bounded = out >= UNBOUNDED_MAX && source != Source::Local;
        if out >= CLIENTS_MAX
            || is_bounded && of_source.load(Ordering::Relaxed) >= SOURCE_CLIENTS_MAX
        {
            return None;
        }
        let counts = [Arc::clone(&self.out), Arc::clone(of_source)];
        for count in &counts {
            count.fetch_add(1, Ordering::Relaxed);
        }
        Some(ConnectionPermit(counts))
    }

    /// Forgets sources without a client.
    pub(super) fn forget(&mut self) {
        self.by_source.retain(|_, count| count.load(Ordering::Relaxed) > 0);
    }
}

/// The permit of one client; given back when dropped.
#[derive(Debug)]
pub(super) struct ConnectionPermit([Arc<AtomicUsize>; 2]);

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        for count in &self.0 {
            count.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;

    #[test]
    fn one_source_never_takes_all_permits_and_none_is_taken_back() {
        let of = |text: &str| Source::from(text.parse::<IpAddr>().unwrap());
        let (crowd, other) = (of("10.0.0.1"), of("10.0.0.2"));
        let mut limit = ConnectionLimit::default();
        let permits: Vec<_> = (0..CLIENTS_MAX).map_while(|_| limit.take(crowd)).collect();
        assert_eq!(permits.len(), UNBOUNDED_MAX);
        let others: Vec<_> = (0..CLIENTS_MAX).map_while(|_| limit.take(other)).collect();
        assert_eq!(others.len(), SOURCE_CLIENTS_MAX);
        let local: Vec<_> = (0..CLIENTS_MAX).map_while(|_| limit.take(Source::Local)).collect();
        assert_eq!(local.len(), CLIENTS_MAX - UNBOUNDED_MAX - SOURCE_CLIENTS_MAX);
        assert!(limit.is_reached());
        drop(local);
        drop(permits);
        limit.forget();
        assert_eq!((limit.out(), limit.by_source.len()), (SOURCE_CLIENTS_MAX, 1));
        assert!(limit.take(crowd).is_some());
    }
}
