//! What a drive or an array did, as log page 02h tells it.

use nvme::Advertised;
use nvme::target::{DriveReport, IoOperation, IoRequest};
use nvme::wire::ioda::CollectionActivity;
use nvme::wire::{Estimates, HealthCounters, HealthLog, WindowState, WindowTypicals};
use units::{Duration, Instant};

/// The temperature of the room, in kelvin: what is emulated has none of its own, and an array many.
const TEMPERATURE_K: u16 = 298;
/// Spare at which drives warn.
const SPARE_THRESHOLD_PERCENT: u8 = 10;
/// The unit of what was read and written.
const UNIT_BYTES: u64 = 1000 * 512;

/// What a drive or an array did since it was started.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    read_bytes: u64,
    written_bytes: u64,
    reads: u64,
    writes: u64,
    media_errors: u64,
    /// Time in which commands were under way, without the present one.
    busy: Duration,
    busy_since: Option<Instant>,
}

impl Counters {
    /// A command that was done.
    pub(crate) fn count(&mut self, request: &IoRequest) {
        match request.operation {
            IoOperation::Read(_) => {
                self.reads += 1;
                self.read_bytes += u64::from(request.bytes);
            }
            IoOperation::Write(_) => {
                self.writes += 1;
                self.written_bytes += u64::from(request.bytes);
            }
            _ => {}
        }
    }

    /// The storage could not do something.
    pub(crate) fn count_error(&mut self) {
        self.media_errors += 1;
    }

    /// Commands that the storage could not do.
    pub(crate) const fn media_errors(&self) -> u64 {
        self.media_errors
    }

    /// Whether commands are under way from now on.
    pub(crate) fn set_busy(&mut self, now: Instant, is_busy: bool) {
        match (self.busy_since, is_busy) {
            (None, true) => self.busy_since = Some(now),
            (Some(since), false) => {
                self.busy += now.since(since);
                self.busy_since = None;
            }
            _ => {}
        }
    }

    /// The log page. A model has no endurance to use up, so nothing of it is used.
    pub(crate) fn health(&self, now: Instant) -> HealthLog {
        let units = |bytes: u64| u128::from(bytes.div_ceil(UNIT_BYTES));
        let busy = self.busy + self.busy_since.map_or(Duration::ZERO, |since| now.since(since));
        let seconds = |duration: Duration| duration.as_nanos() / 1_000_000_000;
        HealthLog {
            temperature_k: TEMPERATURE_K,
            spare_percent: 100,
            spare_threshold_percent: SPARE_THRESHOLD_PERCENT,
            counters: HealthCounters {
                read_units: units(self.read_bytes),
                written_units: units(self.written_bytes),
                reads: self.reads.into(),
                writes: self.writes.into(),
                busy_minutes: u128::from(seconds(busy) / 60),
                power_cycles: 1,
                power_on_hours: u128::from(seconds(now.since(Instant::ZERO)) / 3600),
                media_errors: self.media_errors.into(),
                ..HealthCounters::default()
            },
            ..HealthLog::default()
        }
    }
}

/// The report of what has no windows.
pub(crate) fn plain_report(now: Instant, health: HealthLog) -> DriveReport {
    DriveReport {
        clock: now,
        state: WindowState::Off,
        typicals: WindowTypicals::default(),
        estimates: Estimates::default(),
        advertised: Advertised { shortest: Duration::ZERO, longest: None },
        busy_time_window: Duration::ZERO,
        activity: CollectionActivity::default(),
        health,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nvme::PlFlag;
    use nvme::wire::{BlockCount, BlockRange};

    #[test]
    fn data_are_counted_in_thousands_of_512_bytes_rounded_up() {
        let mut counters = Counters::default();
        let range = BlockRange { lba: 0, blocks: BlockCount::new(125).unwrap() };
        let request = IoRequest {
            operation: IoOperation::Write(range),
            force_unit_access: false,
            pl: PlFlag::Off,
            bytes: 512_000,
        };
        counters.count(&request);
        let read = IoRequest { operation: IoOperation::Read(range), bytes: 4096, ..request };
        counters.count(&read);
        let minutes = |minutes: u64| Instant::ZERO + Duration::from_secs(60 * minutes);
        counters.set_busy(minutes(1), true);
        counters.set_busy(minutes(2), true);
        counters.set_busy(minutes(4), false);
        counters.set_busy(minutes(60), true);
        let health = counters.health(minutes(62)).counters;
        assert_eq!((health.written_units, health.writes), (1, 1));
        assert_eq!((health.read_units, health.reads), (1, 1));
        assert_eq!((health.busy_minutes, health.power_on_hours), (5, 1));
    }
}
