//! Settings and counters of a write cache.

use units::Duration;

/// A fast memory of the host, such as NVRAM or an Optane drive, in front of the drives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WriteCacheConfig {
    /// Capacity in bytes; at least a page.
    pub capacity_bytes: u64,
    /// Time from a read of any size to its answer.
    pub read_latency: Duration,
    /// Time from a write of any size to its answer.
    pub write_latency: Duration,
    /// Largest request whose writes are cached. Writes of a larger one, parity included, go
    /// straight to the drives, however small each drive's part (PLM-light §III-C.2: 64 KiB).
    pub largest_write_bytes: u64,
    /// Maximum number of drain commands in flight at one drive; at least 1.
    pub drain_depth: u32,
}

/// Counters of a write cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct WriteCacheCounters {
    /// Pages written into the cache, including those that replaced an older version.
    pub cached_pages: u64,
    /// Pages that replaced a version which had not been drained; included in `cached_pages`.
    pub replaced_pages: u64,
    /// Most bytes held at once.
    pub peak_bytes: u64,
    /// Writes that waited for room in the cache.
    pub waits: u64,
    /// Pages written from the cache to drives.
    pub drained_pages: u64,
    /// Pages that reads took from the cache.
    pub read_pages: u64,
    /// Pages of requests too large for the cache, which went straight to their drives.
    pub bypassed_pages: u64,
}

impl WriteCacheCounters {
    /// Adds the counters of another cache; keeps the higher peak.
    pub fn add(&mut self, other: &Self) {
        self.cached_pages += other.cached_pages;
        self.replaced_pages += other.replaced_pages;
        self.peak_bytes = self.peak_bytes.max(other.peak_bytes);
        self.waits += other.waits;
        self.drained_pages += other.drained_pages;
        self.read_pages += other.read_pages;
        self.bypassed_pages += other.bypassed_pages;
    }
}
