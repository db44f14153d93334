//! Log page 02h: how the drive is (Linux `struct nvme_smart_log`).

use crate::wire::field::{get_u16, get_u32, get_u128, put_u16, put_u32, put_u128};

/// Bytes of the page.
pub const HEALTH_BYTES: usize = 512;

const CRITICAL_WARNING: usize = 0;
const TEMPERATURE: usize = 1;
const SPARE: usize = 3;
const SPARE_THRESHOLD: usize = 4;
const USED: usize = 5;
const GROUP_WARNING: usize = 6;
/// Ten counters of 16 bytes each.
const COUNTERS: usize = 32;
const WARNING_TIME: usize = 192;
const CRITICAL_TIME: usize = 196;
const SENSORS: usize = 200;
const TRANSITIONS: usize = 216;
const TOTAL_TIMES: usize = 224;

/// How the drive is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HealthLog {
    /// Bits: 0 spare below threshold, 1 temperature, 2 unreliable, 3 read only, 4 backup of
    /// volatile memory.
    pub critical_warning: u8,
    /// Temperature in kelvin.
    pub temperature_k: u16,
    /// Spare that is left, in per cent.
    pub spare_percent: u8,
    /// Spare at which the drive warns, in per cent.
    pub spare_threshold_percent: u8,
    /// Life that is used, in per cent; up to 255.
    pub used_percent: u8,
    /// Warnings of endurance groups.
    pub group_warning: u8,
    /// What it did.
    pub counters: HealthCounters,
    /// How hot it was.
    pub thermal: ThermalCounters,
}

/// What a drive did since it was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HealthCounters {
    /// Data read, in units of 1000 × 512 bytes, rounded up.
    pub read_units: u128,
    /// Data written, in the same unit.
    pub written_units: u128,
    /// Commands that read.
    pub reads: u128,
    /// Commands that wrote.
    pub writes: u128,
    /// Minutes in which it was busy.
    pub busy_minutes: u128,
    /// How often it was switched on.
    pub power_cycles: u128,
    /// Hours for which it was on.
    pub power_on_hours: u128,
    /// How often the power went without notice.
    pub unsafe_shutdowns: u128,
    /// Data that could not be recovered.
    pub media_errors: u128,
    /// Errors in the log over all times.
    pub error_entries: u128,
}

/// How hot a drive was.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ThermalCounters {
    /// Minutes above the temperature of the warning.
    pub warning_minutes: u32,
    /// Minutes above the critical temperature.
    pub critical_minutes: u32,
    /// Sensors, in kelvin; 0 is none.
    pub sensors_k: [u16; 8],
    /// How often each of the two limits of host-controlled management was reached.
    pub transitions: [u32; 2],
    /// Seconds above them.
    pub total_seconds: [u32; 2],
}

impl HealthCounters {
    const fn to_array(self) -> [u128; 10] {
        [
            self.read_units,
            self.written_units,
            self.reads,
            self.writes,
            self.busy_minutes,
            self.power_cycles,
            self.power_on_hours,
            self.unsafe_shutdowns,
            self.media_errors,
            self.error_entries,
        ]
    }

    const fn from_array(counters: [u128; 10]) -> Self {
        let [
            read_units,
            written_units,
            reads,
            writes,
            busy_minutes,
            power_cycles,
            power_on_hours,
            unsafe_shutdowns,
            media_errors,
            error_entries,
        ] = counters;
        Self {
            read_units,
            written_units,
            reads,
            writes,
            busy_minutes,
            power_cycles,
            power_on_hours,
            unsafe_shutdowns,
            media_errors,
            error_entries,
        }
    }
}

impl HealthLog {
    /// Reads the page.
    #[must_use]
    pub fn decode(page: &[u8; HEALTH_BYTES]) -> Self {
        let counters = core::array::from_fn(|number| get_u128(page, COUNTERS + 16 * number));
        Self {
            critical_warning: page[CRITICAL_WARNING],
            temperature_k: get_u16(page, TEMPERATURE),
            spare_percent: page[SPARE],
            spare_threshold_percent: page[SPARE_THRESHOLD],
            used_percent: page[USED],
            group_warning: page[GROUP_WARNING],
            counters: HealthCounters::from_array(counters),
            thermal: ThermalCounters {
                warning_minutes: get_u32(page, WARNING_TIME),
                critical_minutes: get_u32(page, CRITICAL_TIME),
                sensors_k: core::array::from_fn(|number| get_u16(page, SENSORS + 2 * number)),
                transitions: core::array::from_fn(|limit| get_u32(page, TRANSITIONS + 4 * limit)),
                total_seconds: core::array::from_fn(|limit| get_u32(page, TOTAL_TIMES + 4 * limit)),
            },
        }
    }

    /// Writes the page.
    #[must_use]
    pub fn encode(&self) -> [u8; HEALTH_BYTES] {
        let mut page = [0; HEALTH_BYTES];
        page[CRITICAL_WARNING] = self.critical_warning;
        put_u16(&mut page, TEMPERATURE, self.temperature_k);
        page[SPARE] = self.spare_percent;
        page[SPARE_THRESHOLD] = self.spare_threshold_percent;
        page[USED] = self.used_percent;
        page[GROUP_WARNING] = self.group_warning;
        for (number, &counter) in self.counters.to_array().iter().enumerate() {
            put_u128(&mut page, COUNTERS + 16 * number, counter);
        }
        put_u32(&mut page, WARNING_TIME, self.thermal.warning_minutes);
        put_u32(&mut page, CRITICAL_TIME, self.thermal.critical_minutes);
        for (number, &sensor) in self.thermal.sensors_k.iter().enumerate() {
            put_u16(&mut page, SENSORS + 2 * number, sensor);
        }
        for limit in 0..2 {
            put_u32(&mut page, TRANSITIONS + 4 * limit, self.thermal.transitions[limit]);
            put_u32(&mut page, TOTAL_TIMES + 4 * limit, self.thermal.total_seconds[limit]);
        }
        page
    }
}
