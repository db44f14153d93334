//! Collections of one die after the other on paper (TTFLASH §4.4, Appendix A and Table 3), for drives
//! with RAIN.

use nvme::Rotation;
use ssd::{Config, WRITING_DAY_SECONDS};

/// What rotation asks of a drive.
pub(crate) struct Rotating {
    /// A plane that takes in as much as it can program (Table 3b to 3f).
    pub(crate) most: Rotation,
    /// A plane that is written as often a day as the drive is made for (Table 3h to 3j).
    pub(crate) rated: Rotation,
    /// Bytes of the write buffer, at the least: a share of `1 / N` of what the host can write in a
    /// second (Appendix A, last paragraph).
    pub(crate) least_buffer_bytes: f64,
}

impl Rotating {
    /// The rotation of a drive whose dies take turns; `None` for any other drive.
    pub(crate) fn of(config: &Config) -> Option<Self> {
        let rain = config.rain.filter(|rain| rain.rotation != ssd::Rotation::Off)?;
        let (geometry, timing) = (&config.geometry, &config.timing);
        let over_the_channel = if config.collection.copyback { 0 } else { 2 };
        let of = |write_bytes_per_second| Rotation {
            page_bytes: geometry.page_bytes,
            write_bytes_per_second,
            valid_ratio: config.contract.valid_ratio,
            copyback: timing.read + timing.program + timing.transfer * over_the_channel,
        };
        let write = timing.program + timing.transfer;
        let planes = f64::from(geometry.dies() * geometry.planes_per_chip);
        let daily = geometry.raw_bytes() as f64 * config.contract.drive_writes_per_day;
        let most = config.contract.burst_bytes_per_second;
        Some(Self {
            most: of(f64::from(geometry.page_bytes) / write.as_secs_f64()),
            rated: of(daily / WRITING_DAY_SECONDS / planes),
            least_buffer_bytes: most / f64::from(rain.width),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::MIB;

    #[test]
    fn the_drive_of_the_paper_has_the_numbers_of_table_3() {
        let drive = ssd::presets::preset("ttflash").unwrap();
        let Rotating { most, rated, least_buffer_bytes } = Rotating::of(&drive).unwrap();
        let millis = |rotation: &Rotation| (rotation.collection_share() * 1e3).round();
        assert_eq!((most.widest(), rated.widest()), (4, 26));
        assert_eq!((millis(&most), millis(&rated)), (233.0, 38.0));
        assert!((least_buffer_bytes / MIB as f64).round() > 0.0);
        assert!(Rotating::of(&ssd::presets::preset("femu").unwrap()).is_none());
    }
}
