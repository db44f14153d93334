//! What the tests of whole arrays have in common.

use array::{Level, policy::PolicyKind};
use ioda_sim::Plan;
use std::convert::Infallible;
use units::Instant;
use workload::{Op, Request};

/// Aged drives, chunks of a page, and everything else as usual.
pub(crate) fn plan(drive: ssd::Config, level: Level, width: u32, policy: PolicyKind) -> Plan {
    let chunk_bytes = u64::from(drive.geometry.page_bytes);
    Plan { chunk_bytes, ..Plan::new(drive, level, width, policy) }
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
