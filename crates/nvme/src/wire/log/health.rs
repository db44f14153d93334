//! Log page 02h: health of a drive (Linux `struct nvme_smart_log`).

use crate::wire::structure::{fields, structure};

/// Bytes of the page.
pub const HEALTH_BYTES: usize = 512;

/// Health of a drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HealthLog {
    /// Bits: 0 spare below threshold, 1 temperature, 2 unreliable, 3 read only, 4 backup of
    /// volatile memory.
    pub critical_warning: u8,
    /// Temperature in kelvin.
    pub temperature_k: u16,
    /// Available spare in per cent.
    pub spare_percent: u8,
    /// Threshold of the spare for a warning, in per cent.
    pub spare_threshold_percent: u8,
    /// Used part of the rated life in per cent; up to 255.
    pub used_percent: u8,
    /// Warnings of endurance groups.
    pub group_warning: u8,
    /// Work and incidents of the drive.
    pub counters: HealthCounters,
    /// Temperatures.
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

/// Work and incidents of a drive since it was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HealthCounters {
    /// Data read, in units of 1000 × 512 bytes, rounded up.
    pub read_units: u128,
    /// Data written, in the same unit.
    pub written_units: u128,
    /// Read commands.
    pub reads: u128,
    /// Write commands.
    pub writes: u128,
    /// Minutes in which the drive was busy.
    pub busy_minutes: u128,
    /// Number of power cycles.
    pub power_cycles: u128,
    /// Hours with power on.
    pub power_on_hours: u128,
    /// Losses of power without notice.
    pub unsafe_shutdowns: u128,
    /// Media errors: data that could not be recovered.
    pub media_errors: u128,
    /// Entries of the error log since the drive was made.
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

/// Temperatures of a drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ThermalCounters {
    /// Minutes above the temperature of the warning.
    pub warning_minutes: u32,
    /// Minutes above the critical temperature.
    pub critical_minutes: u32,
    /// Temperatures of the sensors in kelvin; 0 for none.
    pub sensors_k: [u16; 8],
    /// Times that each of the two limits of host-controlled thermal management was reached.
    pub transitions: [u32; 2],
    /// Seconds above each of these limits.
    pub total_seconds: [u32; 2],
}

fields! { ThermalCounters, HEALTH_BYTES;
    warning_minutes: "warm" @ 192,
    critical_minutes: "hot" @ 196,
    sensors_k: "sensors" @ 200,
    transitions: "transitions" @ 216,
    total_seconds: "seconds" @ 224,
}
