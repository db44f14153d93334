//! What an array is made of.

use crate::coordinate::Coordination;
use crate::layout::Layout;
use crate::policy::{PolicyKind, PolicySettings};
use core::ops::Range;
use units::Duration;

/// Stripes that a background job works on at a time, unless another number is chosen: enough to
/// keep the drives of a small array at work, few enough that requests of the host wait for no more
/// than one chunk each.
pub const JOB_DEPTH: u32 = 16;

/// Pages of each drive that a rebuild has in progress, where nothing else is chosen; see
/// [`job_depth`].
const REBUILD_PAGES: u32 = 32;

/// Stripes to work on at a time on drives whose buffer or host takes in writes: 32 pages of each
/// drive, and at least two stripes. A stripe is done in about three reads, so a drive of today is
/// written at more than half the rate of its dies, and a read of the host finds two pages at a die
/// of sixteen (`docs/quiet.md` has the curve).
#[must_use]
pub const fn job_depth(chunk_pages: u32) -> u32 {
    match REBUILD_PAGES / chunk_pages {
        0 | 1 => 2,
        stripes => stripes,
    }
}

/// What an array is made of.
#[derive(Clone, Debug)]
pub struct Config {
    /// Level, width, chunk and size.
    pub layout: Layout,
    /// Bytes in a page: the drives' logical block.
    pub page_bytes: u32,
    /// The policy.
    pub policy: PolicyKind,
    /// What is set about policies.
    pub policy_settings: PolicySettings,
    /// When each drive may collect; without effect under policies that have no windows.
    pub coordination: Coordination,
    /// Time to compute a reconstructed page. The articles give less than 10 µs (IODA §4.2.1) and
    /// less than 3 µs (TTFLASH §4.2).
    pub reconstruct_compute: Duration,
    /// Say what to do with the data.
    pub data_actions: bool,
    /// Blocks at the end of every drive that the layout leaves free for chunks to move to, under
    /// policies that move any; only for chunks of one page.
    pub spare: Range<u64>,
    /// Drives that are missing at the start, as bits.
    pub absent: u64,
    /// Stripes that a background job works on at a time; at least 1. See [`JOB_DEPTH`].
    pub job_depth: u32,
    /// Write pages again that a drive could not read. Without it they are reconstructed at each
    /// read.
    pub read_repair: bool,
}

impl Config {
    /// A whole array under `policy` with the usual values. Drives collect whenever they like,
    /// computing takes no time and no block is spare. Background jobs have [`JOB_DEPTH`]. Pages
    /// that a drive could not read are written again. There are no data actions.
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
