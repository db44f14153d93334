//! Log page 02h: how the drive is (Linux `struct nvme_smart_log`).

use crate::wire::structure::{fields, structure};

/// Bytes of the page.
pub const HEALTH_BYTES: usize = 512;

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

structure! { HealthLog, HEALTH_BYTES;
    critical_warning: "warning" @ 0,
    temperature_k: "temperature" @ 1,
    spare_percent: "spare" @ 3,
    spare_threshold_percent: "threshold" @ 4,
    used_percent: "used" @ 5,
    group_warning: "groups" @ 6,
    counters: "" @ 0,
    thermal: "" @ 0,
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

fields! { HealthCounters, HEALTH_BYTES;
    read_units: "read" @ 32,
    written_units: "written" @ 48,
    reads: "reads" @ 64,
    writes: "writes" @ 80,
    busy_minutes: "busy" @ 96,
    power_cycles: "cycles" @ 112,
    power_on_hours: "hours" @ 128,
    unsafe_shutdowns: "unsafe" @ 144,
    media_errors: "media" @ 160,
    error_entries: "errors" @ 176,
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

fields! { ThermalCounters, HEALTH_BYTES;
    warning_minutes: "warm" @ 192,
    critical_minutes: "hot" @ 196,
    sensors_k: "sensors" @ 200,
    transitions: "transitions" @ 216,
    total_seconds: "seconds" @ 224,
}
