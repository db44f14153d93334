//! What a write cache is made of, and what it counts.

use units::Duration;

/// A fast memory of the host, such as NVRAM or an Optane drive, in front of the drives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WriteCacheConfig {
    /// Bytes that it holds; at least a page.
    pub capacity_bytes: u64,
    /// From a read to its answer, of any size.
    pub read_latency: Duration,
    /// From a write to its answer, of any size.
    pub write_latency: Duration,
    /// Largest request whose writes are cached; all of a larger one, its parity included, goes
    /// straight to the drives, however small the piece of each (PLM-light §III-C.2: 64 KiB).
    pub largest_write_bytes: u64,
    /// Most drain commands that a drive has at once; at least 1.
    pub drain_depth: u32,
}

/// What a write cache has done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct WriteCacheCounters {
    /// Pages written into it, those that replaced an older version included.
    pub cached_pages: u64,
    /// Pages among them that replaced a version which had not been drained.
    pub replaced_pages: u64,
    /// Most bytes that it held at once.
    pub peak_bytes: u64,
    /// Writes that waited for room in it.
    pub waits: u64,
    /// Pages written from it to drives.
    pub drained_pages: u64,
    /// Pages of reads that it answered.
    pub read_pages: u64,
    /// Pages of requests that were too large for it and went straight to their drive.
    pub bypassed_pages: u64,
}

impl WriteCacheCounters {
    /// Adds what another cache has done; of the peaks the higher one is kept.
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
