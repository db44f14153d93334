//! Published measurements of drives that are sold, by the name of their preset.
//!
//! Source: the data published with SSD-iq (Haas et al., "SSD-iq: Uncovering the Hidden Side of SSD
//! Performance", VLDB 2025); medians of its rows of one minute. [`Setting::PUBLISHED`] is their
//! protocol.
//!
//! [`Setting::PUBLISHED`]: crate::fit::Setting::PUBLISHED

use crate::failure::Failure;
use crate::fit::curve::MeasuredCurve;

const TABLES: [(&str, &str); 6] = [
    ("pm9a3-960", include_str!("../../data/pm9a3-960.csv")),
    ("7450-960", include_str!("../../data/7450-960.csv")),
    ("p5520-1920", include_str!("../../data/p5520-1920.csv")),
    ("pe8110-960", include_str!("../../data/pe8110-960.csv")),
    ("wd-960", include_str!("../../data/wd-960.csv")),
    ("cm7r-3840", include_str!("../../data/cm7r-3840.csv")),
];

/// Parts of a drive that were filled in sequence and then overwritten at random, and the pages that
/// the drive programmed per page written, by its own counters.
pub struct MeasuredFills {
    /// Preset of the drive.
    pub drive: &'static str,
    /// The drive that was measured.
    pub product: &'static str,
    /// Bytes that the host saw.
    pub capacity_bytes: u64,
    /// Shares of these bytes that were filled, and write amplifications.
    pub points: &'static [(f64, f64)],
}

/// Measured write amplifications, of the same source.
pub const MEASURED_FILLS: [MeasuredFills; 1] = [MeasuredFills {
    drive: "7450-960",
    product: "Micron 7450 MAX 800 GB, the same flash with more spare",
    capacity_bytes: 800_000_000_000,
    points: &[(0.5, 1.10), (0.7, 1.28), (0.9, 1.60)],
}];

/// The drives that were measured.
pub fn measured_drives() -> impl Iterator<Item = &'static str> {
    TABLES.iter().map(|(name, _)| *name)
}

/// The measurement of the drive called `name`; `None` if it was not measured.
///
/// # Errors
///
/// If a table cannot be read, which its test excludes.
pub fn measured_curve(name: &str) -> Result<Option<MeasuredCurve>, Failure> {
    let table = TABLES.iter().find(|(known, _)| *known == name);
    table.map(|(_, text)| MeasuredCurve::from_csv(text)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::Setting;

    #[test]
    fn every_table_can_be_read_and_belongs_to_a_preset() {
        for name in measured_drives() {
            let curve = measured_curve(name).unwrap().unwrap();
            let Setting { in_flight, probe_writes_per_second } = Setting::PUBLISHED;
            let saturation = curve.saturation(in_flight, probe_writes_per_second);
            assert!(saturation.estimate.is_none_or(|rate| rate > saturation.above), "{name}");
            assert!(ssd::presets::preset(name).is_some(), "{name}");
        }
    }
}
