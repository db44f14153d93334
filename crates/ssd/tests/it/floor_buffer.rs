//! Drives where changing flash takes no time, with a write buffer.
#![allow(clippy::unwrap_used, reason = "tests stop")]

use crate::common::Host;
use ioda_ssd::{Ssd, WriteBufferConfig, presets};
use nvme::Untimed;

/// Pages programmed per page of the host, in a run of writes at random.
fn write_amplification(untimed: Untimed, buffer_slots: u32) -> f64 {
    let mut config = presets::preset("femu-artifact").unwrap();
    config.geometry.blocks_per_plane = 64;
    config.write_buffer = Some(WriteBufferConfig::new(buffer_slots));
    config.collection.untimed = untimed;
    let mut drive = Ssd::new(config).unwrap();
    drive.age(1);
    let mut host = Host::new(1, 16, 100);
    host.run(&mut drive, 12_000, |_, _| {});
    let counters = drive.counters();
    let copies = counters.collection_programs_pages as f64;
    1.0 + copies / counters.host_programs_pages as f64
}

/// In no time all dies are done at once, and the first die that is asked must not get every page.
#[test]
fn writes_in_no_time_cost_no_more_copies() {
    let timed = write_amplification(Untimed::Collections, 1_024);
    let untimed = write_amplification(Untimed::Writes, 1_024);
    assert!(untimed < 1.1 * timed, "{untimed} and {timed}");
}
