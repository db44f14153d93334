//! Counters of a drive's work.

/// Totals since the start or since the last reset.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Counters {
    /// Pages read from flash for the host.
    pub host_reads_pages: u64,
    /// Pages programmed for the host, from a write buffer or not.
    pub host_programs_pages: u64,
    /// Pages read by collection.
    pub collection_reads_pages: u64,
    /// Pages programmed by collection.
    pub collection_programs_pages: u64,
    /// Programs for the host that went to the cache of SLC blocks.
    pub slc_programs_pages: u64,
    /// Programs by collection that moved pages out of that cache.
    pub folded_pages: u64,
    /// Parity pages programmed within the drive.
    pub parity_programs_pages: u64,
    /// Pages read to compute parity within the drive.
    pub parity_reads_pages: u64,
    /// Pages of the host that were reconstructed from the rest of their stripe within the drive.
    pub rebuilt_pages: u64,
    /// Pages read for these reconstructions, beyond the pages that the host asked for.
    pub rebuild_reads_pages: u64,
    /// Collections that began while another die of their plane group collected, because their die
    /// was out of free blocks.
    pub rotation_breaches: u64,
    /// Stripes that were moved to even out wear.
    pub moved_stripes: u64,
    /// Pages programmed for these moves, beyond pages that were written anyway.
    pub moved_pages: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Collections (of a block or of a line) that moved cold data to a worn block, to level wear.
    pub leveled_blocks: u64,
    /// Collections (of a block or of a line) that ended.
    pub collections: u64,
    /// Nanoseconds that collections took, from having all their dies to their end.
    pub collecting_nanos: u64,
    /// Mapped pages that the host has deallocated.
    pub deallocated_pages: u64,
    /// Collections that ran where the window contract forbids it; see [`crate::ViolationCause`].
    pub contract_violations: u64,
    /// Host page writes that waited for space on flash; with a write buffer, flushes that did.
    pub stalled_writes_pages: u64,
    /// Programs and erases interrupted for reads.
    pub suspensions: u64,
    /// Times that a page was sensed again for the host, because error correction failed.
    pub read_retries: u64,
    /// Pages read in idle time to check copies that bypassed error correction.
    pub scrubbed_pages: u64,
    /// Commands failed fast.
    pub fail_fasts: u64,
    /// Pages that host writes put into the write buffer.
    pub buffered_writes_pages: u64,
    /// Buffered writes that replaced a version in the buffer, which then never reaches flash.
    pub coalesced_writes_pages: u64,
    /// Pages read from the write buffer.
    pub buffer_reads_pages: u64,
    /// Pages that a coordinated flush programmed outside of the busy window, because writes found
    /// the buffer full.
    pub forced_flushes_pages: u64,
}

impl Counters {
    /// Pages programmed per page that the host wrote; 1.0 before the first write.
    #[must_use]
    pub fn write_amplification(&self) -> f64 {
        if self.host_programs_pages == 0 {
            return 1.0;
        }
        let programs = self.host_programs_pages
            + self.parity_programs_pages
            + self.moved_pages
            + self.collection_programs_pages;
        programs as f64 / self.host_programs_pages as f64
    }

    /// Page reads and programs of host, parity, collection and scrubbing together.
    #[must_use]
    pub fn page_operations(&self) -> u64 {
        self.host_reads_pages
            + self.host_programs_pages
            + self.collection_reads_pages
            + self.collection_programs_pages
            + self.parity_programs_pages
            + self.moved_pages
            + self.parity_reads_pages
            + self.rebuild_reads_pages
            + self.scrubbed_pages
    }

    /// Adds the totals of another drive.
    pub fn add(&mut self, other: &Self) {
        // Destructured, so that no field is forgotten.
        let Self {
            host_reads_pages,
            host_programs_pages,
            collection_reads_pages,
            collection_programs_pages,
            slc_programs_pages,
            folded_pages,
            parity_programs_pages,
            parity_reads_pages,
            rebuilt_pages,
            rebuild_reads_pages,
            rotation_breaches,
            moved_stripes,
            moved_pages,
            erases,
            leveled_blocks,
            collections,
            collecting_nanos,
            deallocated_pages,
            contract_violations,
            stalled_writes_pages,
            suspensions,
            read_retries,
            scrubbed_pages,
            fail_fasts,
            buffered_writes_pages,
            coalesced_writes_pages,
            buffer_reads_pages,
            forced_flushes_pages,
        } = other;
        self.host_reads_pages += host_reads_pages;
        self.host_programs_pages += host_programs_pages;
        self.collection_reads_pages += collection_reads_pages;
        self.collection_programs_pages += collection_programs_pages;
        self.slc_programs_pages += slc_programs_pages;
        self.folded_pages += folded_pages;
        self.parity_programs_pages += parity_programs_pages;
        self.parity_reads_pages += parity_reads_pages;
        self.rebuilt_pages += rebuilt_pages;
        self.rebuild_reads_pages += rebuild_reads_pages;
        self.rotation_breaches += rotation_breaches;
        self.moved_stripes += moved_stripes;
        self.moved_pages += moved_pages;
        self.erases += erases;
        self.leveled_blocks += leveled_blocks;
        self.collections += collections;
        self.collecting_nanos += collecting_nanos;
        self.deallocated_pages += deallocated_pages;
        self.contract_violations += contract_violations;
        self.stalled_writes_pages += stalled_writes_pages;
        self.suspensions += suspensions;
        self.read_retries += read_retries;
        self.scrubbed_pages += scrubbed_pages;
        self.fail_fasts += fail_fasts;
        self.buffered_writes_pages += buffered_writes_pages;
        self.coalesced_writes_pages += coalesced_writes_pages;
        self.buffer_reads_pages += buffer_reads_pages;
        self.forced_flushes_pages += forced_flushes_pages;
    }
}
