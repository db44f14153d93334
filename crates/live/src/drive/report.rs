//! What the drive tells of itself when it is asked (log pages 02h and 0Ah), computed from what its
//! model is made of.

use super::device::Device;
use super::windows::Windows;
use crate::nvme_tcp::plain_report;
use nvme::target::DriveReport;
use nvme::wire::WindowTypicals;
use nvme::wire::ioda::CollectionActivity;
use nvme::{Advertised, ArrayDescription};
use ssd::{Config, Ssd};
use units::{Duration, Instant};

/// The window that a drive chooses where any would be short enough.
const ANY_WINDOW: Duration = Duration::from_millis(100);

/// What windows typically hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) typicals: WindowTypicals,
    /// Bytes of the optimal write: a page of the drive.
    pub(super) page_bytes: u64,
}

/// TW as the drive chooses it (IODA §4.3.2): the longest that keeps the contract, and no shorter
/// than what it needs.
pub(super) fn chosen_window(config: &Config, array: ArrayDescription, guard: Duration) -> Duration {
    let Advertised { shortest, longest } = config.advertise(array);
    longest.unwrap_or(ANY_WINDOW).max(shortest + guard * 2)
}

/// What windows typically hold: those of the schedule, or else those that the free space of the
/// drive allows.
pub(super) fn limits(ssd: &Ssd, windows: &Windows) -> Limits {
    let config = ssd.config();
    let page_bytes = u64::from(config.geometry.page_bytes);
    let space = config.watermark_bytes();
    let least = config.likely_unit_time();
    let (quiet, busy) = match windows.schedule() {
        Some(schedule) => {
            let busy = schedule.busy_time_window;
            (schedule.cycle().saturating_sub(busy), busy)
        }
        None => {
            let rate = config.likely_parameters().collection_bytes_per_second;
            (seconds(space / config.normal_bytes_per_second()), seconds(space / rate).max(least))
        }
    };
    let reads = quiet.as_nanos() / config.read_service().as_nanos().max(1);
    let typicals = WindowTypicals {
        reads: reads.saturating_mul(u64::from(config.geometry.dies())),
        writes: space as u64 / page_bytes,
        time_max_ms: quiet.as_nanos() / 1_000_000,
        busy_time_high_ms: milliseconds_up(busy),
        busy_time_low_ms: milliseconds_up(least),
    };
    Limits { typicals, page_bytes }
}

/// The report of a drive.
pub(super) fn drive_report(now: Instant, device: &Device, windows: &Windows) -> DriveReport {
    let health = device.health(now);
    let Some(ssd) = device.model() else { return plain_report(now, health) };
    let config = ssd.config();
    let limits = limits(ssd, windows);
    let status = ssd.status();
    let advertised = match windows.array() {
        Some(array) => ssd.describe_array(array),
        None => Advertised { shortest: config.likely_unit_time(), longest: None },
    };
    DriveReport {
        clock: now,
        state: windows.state(now),
        typicals: limits.typicals,
        estimates: windows.estimates(now, &limits, status.headroom_pages),
        advertised,
        busy_time_window: windows.busy_time_window(config).unwrap_or(Duration::ZERO),
        activity: CollectionActivity {
            due: status.due,
            must_collect: status.must_collect,
            collecting: status.collecting,
        },
        health,
    }
}

/// So many seconds, at most as many as there are.
fn seconds(seconds: f64) -> Duration {
    Duration::from_nanos((seconds * 1e9) as u64)
}

fn milliseconds_up(duration: Duration) -> u64 {
    duration.as_nanos().div_ceil(1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_that_a_drive_chooses_is_one_that_it_accepts() {
        for name in ssd::presets::names() {
            let config = ssd::presets::preset(name).unwrap();
            for (width, parities) in [(1, 0), (4, 1), (6, 2), (65_535, 255)] {
                let array = ArrayDescription { width, parities };
                let guard = Duration::from_micros(50);
                let window = chosen_window(&config, array, guard);
                assert!(window >= config.advertise(array).shortest + guard * 2, "{name}");
            }
        }
    }

    #[test]
    fn every_preset_has_windows_that_hold_something() {
        for name in ssd::presets::names() {
            let config = ssd::presets::preset(name).unwrap();
            // A small one of its kind: what is compared does not need its flash.
            let blocks = config.geometry.blocks_per_plane.min(256);
            let geometry = ssd::Geometry { blocks_per_plane: blocks, ..config.geometry };
            let Ok(ssd) = Ssd::new(Config { geometry, ..config }) else { continue };
            let Limits { typicals, page_bytes } = limits(&ssd, &Windows::default());
            assert!(typicals.writes > 0 && typicals.reads > 0, "{name}: {typicals:?}");
            assert!(typicals.time_max_ms > 0 && page_bytes >= 4096, "{name}: {typicals:?}");
            assert!(typicals.busy_time_high_ms >= typicals.busy_time_low_ms, "{name}");
        }
    }
}
