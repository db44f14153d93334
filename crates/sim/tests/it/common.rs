//! Helpers for tests of whole arrays.

use array::{Level, policy::PolicyKind};
use ioda_sim::Plan;
use std::convert::Infallible;
use units::Instant;
use workload::{Op, Request};

/// One current drive for each kind: TLC with turns and one queue, TLC with queues of submitters,
/// QLC, and a cache of SLC blocks. Other drives have the same parts with other parameters.
const KINDS_OF_TODAY: [&str; 4] = ["7450-960", "pm9a3-960", "p5430-7680", "980pro-1000"];

/// The papers' drives, and one current drive of each kind.
pub(crate) fn presets_of_each_kind() -> impl Iterator<Item = &'static str> {
    ssd::presets::names().filter(|name| {
        let is_of_today = ssd::presets::data_sheet(name).is_some();
        !is_of_today || KINDS_OF_TODAY.contains(name)
    })
}

/// Plan with aged drives, chunks of one page, and defaults otherwise.
pub(crate) fn plan(drive: ssd::Config, level: Level, width: u32, policy: PolicyKind) -> Plan {
    let chunk_bytes = u64::from(drive.geometry.page_bytes);
    Plan { chunk_bytes, ..Plan::new(drive, level, width, policy) }
}

/// The drive with a quarter of its blocks, for quick preparation.
pub(crate) fn quarter(mut drive: ssd::Config) -> ssd::Config {
    drive.geometry.blocks_per_plane /= 4;
    let watermarks =
        [&mut drive.collection.hard, &mut drive.collection.soft, &mut drive.collection.restore];
    for (watermark, percent) in watermarks.into_iter().zip([2, 7, 8]) {
        *watermark = units::Ratio::from_percent(percent);
    }
    drive
}

/// A request of a page of 4 KiB.
pub(crate) fn page(at: Instant, op: Op, offset_bytes: u64) -> Result<Request, Infallible> {
    Ok(Request {
        at,
        op,
        offset_bytes,
        size_bytes: 4096,
        device: 0,
        durable: false,
        after_flush: false,
    })
}
