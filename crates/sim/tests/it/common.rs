//! What the tests of whole arrays have in common.

use array::{
    Level,
    policy::{PolicyKind, PolicySettings},
};
use ioda_sim::{Measured, Plan, Preparation, WindowPlan};
use std::convert::Infallible;
use units::{Duration, Instant, Ratio};
use workload::{Op, Request};

/// Aged drives, chunks of a page, and everything else as usual.
pub(crate) fn plan(drive: ssd::Config, level: Level, width: u32, policy: PolicyKind) -> Plan {
    Plan {
        chunk_bytes: u64::from(drive.geometry.page_bytes),
        drive,
        level,
        width,
        stripe_width: None,
        spare: Ratio::ZERO,
        policy,
        policy_settings: PolicySettings::default(),
        windows: WindowPlan::default(),
        reconstruct_compute: Duration::from_micros(3),
        preparation: Preparation::Aged,
        seed: 1,
        verify: false,
        timeline: None,
        measured: Measured::default(),
    }
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
