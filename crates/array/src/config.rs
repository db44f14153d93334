//! Configuration of an array.

use crate::coordinate::Coordination;
use crate::layout::Layout;
use crate::policy::{PolicyKind, PolicySettings};
use core::ops::Range;
use units::Duration;

/// Default number of stripes that a background job works on at once. It keeps the drives of a small
/// array busy, and lets a host request wait for at most one chunk.
pub const JOB_DEPTH: u32 = 16;

/// Default number of pages of each drive that a rebuild has in progress; see [`job_depth`].
const REBUILD_PAGES: u32 = 32;

/// Number of stripes that a job works on at once, on drives whose buffer or host takes in writes:
/// 32 pages of each drive, and at least two stripes. A stripe takes about three reads, so a current
/// drive is written at more than half the rate of its dies. With sixteen dies, a host read finds
/// two pages at its die (`docs/quiet.md` has the curve).
#[must_use]
pub const fn job_depth(chunk_pages: u32) -> u32 {
    match REBUILD_PAGES / chunk_pages {
        0 | 1 => 2,
        stripes => stripes,
    }
}

/// Configuration of an array.
#[derive(Clone, Debug)]
pub struct Config {
    /// Level, width, chunk and size.
    pub layout: Layout,
    /// Bytes in a page: the drives' logical block.
    pub page_bytes: u32,
    /// The policy.
    pub policy: PolicyKind,
    /// Settings of policies.
    pub policy_settings: PolicySettings,
    /// Times when each drive may collect; ignored by policies without windows.
    pub coordination: Coordination,
    /// Time to compute a reconstructed page. The papers give less than 10 µs (IODA §4.2.1) and less
    /// than 3 µs (TTFLASH §4.2).
    pub reconstruct_compute: Duration,
    /// Whether the array emits data actions.
    pub data_actions: bool,
    /// Spare blocks at the end of every drive, outside the layout, for policies that relocate
    /// chunks; only for chunks of one page.
    pub spare: Range<u64>,
    /// Drives that are missing at the start, as bits.
    pub absent: u64,
    /// Stripes that a background job works on at a time; at least 1. See [`JOB_DEPTH`].
    pub job_depth: u32,
    /// Whether pages that a drive could not read are repaired by writing them again. Otherwise they
    /// are reconstructed at each read.
    pub read_repair: bool,
}

impl Config {
    /// An optimal array under `policy` with default values: drives collect at any time, computing
    /// takes no time, no block is spare, background jobs have [`JOB_DEPTH`], read repair is on, and
    /// data actions are off.
    #[must_use]
    pub fn new(layout: Layout, page_bytes: u32, policy: PolicyKind) -> Self {
        Self {
            layout,
            page_bytes,
            policy,
            policy_settings: PolicySettings::default(),
            coordination: Coordination::Free,
            reconstruct_compute: Duration::ZERO,
            data_actions: false,
            spare: 0..0,
            absent: 0,
            job_depth: JOB_DEPTH,
            read_repair: true,
        }
    }
}
