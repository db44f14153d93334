//! What a drive has done.

/// Totals since the start or since the last reset.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Pages read from flash for the host.
    pub host_reads_pages: u64,
    /// Pages programmed for the host, from a write buffer or not.
    pub host_programs_pages: u64,
    /// Pages read by collection.
    pub collection_reads_pages: u64,
    /// Pages programmed by collection.
    pub collection_programs_pages: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Collections (of a block or of a line) that ended.
    pub collections: u64,
    /// Collections that ran where the window contract forbids it, because host writes had no room.
    pub contract_violations: u64,
    /// Host page writes that had to wait for space on flash; with a write buffer, flushes that had to.
    pub stalled_writes_pages: u64,
    /// Programs and erases interrupted for reads.
    pub suspensions: u64,
    /// Pages read in idle time to check what was copied past error correction.
    pub scrubbed_pages: u64,
    /// Commands failed fast.
    pub fail_fasts: u64,
    /// Pages that host writes put into the write buffer.
    pub buffered_writes_pages: u64,
    /// Those of them that replaced a version there, which then never reaches flash.
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
        let programs = self.host_programs_pages + self.collection_programs_pages;
        programs as f64 / self.host_programs_pages as f64
    }

    /// Page reads and programs of host and collection together.
    #[must_use]
    pub fn page_operations(&self) -> u64 {
        self.host_reads_pages
            + self.host_programs_pages
            + self.collection_reads_pages
            + self.collection_programs_pages
    }
}
