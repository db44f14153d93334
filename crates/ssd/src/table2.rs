//! IODA's Table 2 as it is printed.
//!
//! The printed table was computed from rounded values: each row is rounded to whole units, and the
//! rows below use the printed values. With this one rule all figures agree, digit for digit
//! (`tests/it/table2.rs`). Without it they differ by up to a fifth, because the 2.4 MB of FEMU's
//! `S_r` became 2.

use crate::config::Config;
use nvme::{ArrayDescription, WindowParameters};
use units::{Duration, GIB, MIB};

/// The models of Table 2 in its order, with the width of the array (`N_ssd`) of each.
pub const MODELS: [(&str, u32); 6] =
    [("sim", 8), ("ocssd", 4), ("femu", 4), ("970", 8), ("p4600", 4), ("sn260", 4)];

/// The derived rows of Table 2 in its units, where MB and GB mean MiB and GiB.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Printed {
    /// `S_blk` in MiB.
    pub block_mib: f64,
    /// `S_t` in GiB.
    pub flash_gib: f64,
    /// `S_p` in GiB.
    pub over_provisioned_gib: f64,
    /// `T_gc` in ms.
    pub unit_time_ms: f64,
    /// `S_r` in MiB.
    pub reclaimed_mib: f64,
    /// `B_gc` in MiB/s.
    pub collection_mib_per_second: f64,
    /// `B_norm` in MiB/s.
    pub normal_mib_per_second: f64,
    /// `B_burst` in MiB/s.
    pub burst_mib_per_second: f64,
    /// `TW_norm` in ms; `None` if collection keeps up, so that the formula sets no bound.
    pub normal_window_ms: Option<f64>,
    /// `TW_burst` in ms; `None` if collection keeps up.
    pub burst_window_ms: Option<f64>,
}

/// Table 2 for a drive, every row rounded to whole units and computed from the rounded rows
/// above it.
pub(crate) fn printed(config: &Config, array: ArrayDescription) -> Printed {
    let whole = libm::round;
    let (mib, gib) = (MIB as f64, GIB as f64);
    let flash_gib = whole(config.geometry.raw_bytes() as f64 / gib);
    let over_provisioned_gib = whole(config.over_provisioning.as_f64() * flash_gib);
    let unit_time_ms = whole(config.unit_time(config.contract.valid_ratio).as_millis_f64());
    let reclaimed_mib = whole(config.reclaimed_bytes() / mib);
    let collection_mib_per_second = whole(reclaimed_mib / (unit_time_ms / 1e3));
    let exposed_gib = flash_gib - over_provisioned_gib;
    let exposed_share = exposed_gib * gib / config.logical_bytes() as f64;
    let normal_mib_per_second = whole(config.normal_bytes_per_second() * exposed_share / mib);
    let burst_mib_per_second = whole(config.contract.burst_bytes_per_second / mib);
    let terms = WindowParameters {
        over_provisioned_bytes: over_provisioned_gib * gib,
        usable_share: config.contract.usable_share,
        collection_bytes_per_second: collection_mib_per_second * mib,
    };
    let window = |mib_per_second: f64| {
        let window = terms.longest_window(array, mib_per_second * mib);
        window.map(Duration::as_millis_f64).map(whole)
    };
    Printed {
        block_mib: whole(config.block_bytes() as f64 / mib),
        flash_gib,
        over_provisioned_gib,
        unit_time_ms,
        reclaimed_mib,
        collection_mib_per_second,
        normal_mib_per_second,
        burst_mib_per_second,
        normal_window_ms: window(normal_mib_per_second),
        burst_window_ms: window(burst_mib_per_second),
    }
}
