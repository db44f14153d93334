//! The drive's side of the window contract: what it advertises and when it may collect.

use crate::config::{Blocking, CollectionUnit, Config};
use nvme::window::{WindowParameters, longest_window};
use nvme::{ArrayDescription, WindowSchedule};
use units::{Duration, Instant};

/// Seconds in the 8-hour day over which drive writes per day are spread (IODA Table 2).
const WRITING_DAY_SECONDS: f64 = 8.0 * 3600.0;

impl Config {
    /// `T_gc`: the time to collect one block with `valid` of its pages valid (IODA Table 2).
    #[must_use]
    pub fn collection_time(&self, valid_pages: u64) -> Duration {
        self.copy_time() * valid_pages + self.timing.erase
    }

    /// The time to copy one page within its die: `t_r + t_w + 2 t_cpt`.
    #[must_use]
    pub fn copy_time(&self) -> Duration {
        self.timing.read + self.timing.program + self.timing.transfer * 2
    }

    /// `B_gc`: bytes per second that collection reclaims, one block per channel at a time
    /// (IODA Table 2).
    #[must_use]
    pub fn collection_bytes_per_second(&self) -> f64 {
        let g = &self.geometry;
        let block_bytes = f64::from(g.page_bytes) * f64::from(g.pages_per_block);
        let reclaimed = (1.0 - self.contract.valid_ratio) * block_bytes * f64::from(g.channels);
        let valid = self.contract.valid_ratio * f64::from(g.pages_per_block);
        let seconds = self.copy_time().as_secs_f64() * valid + self.timing.erase.as_secs_f64();
        reclaimed / seconds
    }

    /// `B_norm`: bytes per second at the rated drive writes per day (IODA Table 2).
    #[must_use]
    pub fn normal_bytes_per_second(&self) -> f64 {
        self.contract.drive_writes_per_day * self.logical_bytes() as f64 / WRITING_DAY_SECONDS
    }

    /// The window parameters of this drive.
    #[must_use]
    pub fn window_parameters(&self) -> WindowParameters {
        let raw = self.geometry.raw_bytes() as f64;
        WindowParameters {
            over_provisioned_bytes: raw - self.logical_bytes() as f64,
            collection_bytes_per_second: self.collection_bytes_per_second(),
            usable_share: self.contract.usable_share,
        }
    }

    /// The share of valid pages in a victim once the drive is in steady state under uniform random
    /// overwrites: what `R_v` of Table 2 stands for, computed from the watermarks.
    #[must_use]
    pub fn steady_valid_ratio(&self) -> f64 {
        let blocks = self.geometry.blocks_per_die();
        // Free down to the soft watermark, one block open.
        let in_use = f64::from(blocks - self.soft_blocks() - 2) / f64::from(blocks);
        let utilization = self.logical_pages() as f64 / (self.geometry.pages() as f64 * in_use);
        crate::aged::victim_valid_share(utilization)
    }

    /// Bytes that the drive can reclaim in one busy window of this length in steady state, when
    /// victims have `valid_ratio` of their pages valid.
    #[must_use]
    pub fn reclaimed_bytes_per_window(&self, window: Duration, valid_ratio: f64) -> f64 {
        let g = &self.geometry;
        let pages = f64::from(g.pages_per_block);
        let collection =
            self.copy_time().as_secs_f64() * valid_ratio * pages + self.timing.erase.as_secs_f64();
        let rounds = (window.as_secs_f64() / collection) as u64 as f64;
        let dies_at_once = match (self.collection.unit, self.collection.blocking) {
            (CollectionUnit::Line, _) | (_, Blocking::Die) => g.dies(),
            (_, Blocking::Channel) => g.channels,
            (_, Blocking::Controller) => 1,
        };
        let block_bytes = pages * f64::from(g.page_bytes);
        rounds * f64::from(dies_at_once) * (1.0 - valid_ratio) * block_bytes
    }

    /// `TW_burst`: the busy window that keeps the contract at `B_burst` in this array; none if
    /// collection keeps up with the burst, so that every window is short enough.
    #[must_use]
    pub fn burst_window(&self, array: ArrayDescription) -> Option<Duration> {
        let burst = self.contract.burst_bytes_per_second;
        longest_window(&self.window_parameters(), array, burst)
    }
}

/// Until when a collection may run that starts at `now`; none if none may start.
pub(crate) fn allowed_until(windows: Option<&WindowSchedule>, now: Instant) -> Option<Instant> {
    match windows {
        None => Some(Instant::NEVER),
        Some(schedule) => schedule.busy_until(now),
    }
}
