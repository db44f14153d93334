//! Drives made from the figures of their data sheets.
//!
//! A data sheet states capacity, rates and latencies, and no geometry. The dies, planes and
//! sensing times come from the rows of drives of today: they are assumptions about the product.

use super::today::{
    BLOCK_SHARE, CHANNELS, DataSheet, Figure, LOGICAL_BLOCK_BYTES, QLC, Row, TLC, at_rate, build,
};
use crate::config::{Config, ConfigError, DIES_MAX, refuse};
use alloc::format;
use alloc::string::String;
use units::{Duration, Ratio};

/// Bits in a cell of a drive with a data sheet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Flash {
    /// Three, in dies of 512 Gbit.
    #[default]
    Tlc,
    /// Four, in dies of 1 Tbit.
    Qlc,
}

impl Flash {
    fn row(self) -> Row {
        match self {
            Self::Tlc => TLC,
            Self::Qlc => QLC,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Tlc => "TLC",
            Self::Qlc => "QLC",
        }
    }

    /// Bytes of a die without its spare blocks: 512 Gbit or 1 Tbit.
    const fn die_bytes(self) -> u64 {
        match self {
            Self::Tlc => 1 << 36,
            Self::Qlc => 1 << 37,
        }
    }

    /// Smallest capacity at which the spare superblocks outnumber those that the watermarks keep
    /// free, on [`DIES_LEAST`] dies.
    const fn least_capacity_bytes(self) -> u64 {
        match self {
            Self::Tlc => 100_000_000_000,
            Self::Qlc => 200_000_000_000,
        }
    }

    /// Highest MB/s that a die programs: a little above the fastest published dies (TLC: 194 MB/s,
    /// ISSCC 2023).
    const fn most_program_mb_per_second(self) -> f64 {
        match self {
            Self::Tlc => 250.0,
            Self::Qlc => 125.0,
        }
    }
}

/// The figures of a data sheet, in the units of data sheets: GB are 10^9 bytes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SheetDrive {
    /// Bytes that the host sees, 10^11 (QLC: 2 × 10^11) to about 2.4 × 10^14.
    pub capacity_bytes: u64,
    /// Sequential reads of 128 KiB in bytes per second, 10^8 to 2.88 × 10^10.
    pub sequential_read_bytes_per_second: u64,
    /// Sequential writes of 128 KiB in bytes per second, at most the sequential reads. For a drive
    /// with a cache of SLC blocks, the rate when the cache is full.
    pub sequential_write_bytes_per_second: u64,
    /// Random reads of 4 KiB per second, 10,000 to the rate of the sequential reads.
    pub random_reads_per_second: u64,
    /// Random writes of 4 KiB per second in steady state. The figure sets no parameter: the model
    /// is compared with it.
    pub random_writes_per_second: Option<u64>,
    /// Latency of a single read of 4 KiB in whole microseconds; `None` for 80 µs (QLC: 108 µs).
    pub read_latency: Option<Duration>,
    /// Latency of a single write of 4 KiB in whole microseconds; `None` for 20 µs (QLC: 13 µs).
    pub write_latency: Option<Duration>,
    /// Drive writes per day over the warranty; `None` for 1 (QLC: 0.58).
    pub drive_writes_per_day: Option<f64>,
    /// Whether the write buffer survives a power cut. This determines its size.
    ///
    /// With protection, the buffer has 4 MiB for each die, as in drives of today. Without
    /// protection, it holds two programs of each die: one is programmed while the next is gathered.
    /// The model has no flush command, and its flash always gathers in a buffer. A host that
    /// flushes often finds no more than these pages in the buffer of a product. A larger buffer
    /// would absorb bursts for which such a host has to wait. Writes are acknowledged from the
    /// buffer either way.
    pub power_loss_protection: bool,
    /// Bits in a cell.
    pub flash: Flash,
    /// Share of the flash that the host does not see; `None` for 14.5 %, as in TLC drives of today.
    /// A larger share adds blocks to each plane and does not reduce the capacity.
    pub over_provisioning: Option<Ratio>,
}

/// Fewest dies of a drive, two on each channel.
const DIES_LEAST: u64 = 16;
/// Speeds of a channel in MB/s, ONFI 4 to ONFI 6.
const CHANNEL_SPEEDS: [u32; 5] = [1_200, 1_600, 2_400, 3_600, 4_800];
/// Least sequential reads, in bytes per second: the link is set in whole MB/s.
const READ_LEAST: u64 = 100_000_000;
/// Least random reads per second: each command takes the inverse on the link.
const RANDOM_READ_LEAST: u64 = 10_000;
/// Lowest MB/s that a die programs. The data sheets of the largest drives give about 3 per die.
const PROGRAM_LEAST: f64 = 1.0;
/// Bytes of flash for each page that is simulated.
const SIMULATED_PAGE_BYTES: u32 = LOGICAL_BLOCK_BYTES * BLOCK_SHARE;
/// Pages of the write buffer for each die of a protected drive: 4 MiB.
const PROTECTED_PAGES: u32 = (4 << 20) / LOGICAL_BLOCK_BYTES;
/// Programs of each die that the write buffer of an unprotected drive holds.
const UNPROTECTED_PROGRAMS: u32 = 2;

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

fn gigabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e9
}

fn micros(duration: Duration) -> u64 {
    duration.as_nanos() / 1_000
}

impl SheetDrive {
    /// Figures of the data sheet, to compare them with the model.
    #[must_use]
    pub fn figures(&self) -> DataSheet {
        let figure = |value, was_used| Figure { value, was_used };
        let latency = |latency: Duration| figure(latency.as_micros_f64(), true);
        DataSheet {
            sequential_read: Some(figure(megabytes(self.sequential_read_bytes_per_second), true)),
            sequential_write: Some(figure(megabytes(self.sequential_write_bytes_per_second), true)),
            random_read: Some(figure(self.random_reads_per_second as f64, true)),
            random_write: self.random_writes_per_second.map(|writes| figure(writes as f64, false)),
            read_alone: self.read_latency.map(latency),
            write_alone: self.write_latency.map(latency),
            ..DataSheet::default()
        }
    }

    fn over_provisioning(&self) -> Ratio {
        let usual = Ratio::from_parts_per_million(self.flash.row().over_provisioning_ppm);
        self.over_provisioning.unwrap_or(usual)
    }

    /// Number of dies: a power of two whose nominal size is enough for the capacity.
    fn dies(&self) -> u64 {
        let needed = self.capacity_bytes.div_ceil(self.flash.die_bytes());
        needed.max(DIES_LEAST).next_power_of_two()
    }

    /// Speed of the slowest channel that is no bottleneck: reads collide on channels, so three
    /// quarters of the speed count.
    fn channel_mb_per_second(&self) -> Option<u32> {
        CHANNEL_SPEEDS
            .into_iter()
            .find(|&speed| self.sequential_read_bytes_per_second <= carried_by(speed))
    }

    fn link_mb_per_second(&self) -> u64 {
        self.sequential_read_bytes_per_second / 1_000_000
    }

    fn check(&self) -> Result<(), ConfigError> {
        self.check_capacity()?;
        self.check_sequential()?;
        self.check_random()?;
        if self.drive_writes_per_day.is_some_and(|writes| !(writes > 0.0 && writes.is_finite())) {
            return refuse(String::from("drive_writes_per_day must be above 0 and finite"));
        }
        Ok(())
    }

    fn check_capacity(&self) -> Result<(), ConfigError> {
        let spare = self.over_provisioning();
        if spare >= Ratio::ONE {
            return refuse(format!(
                "over-provisioning of {spare} leaves the host nothing; lower it below 100%"
            ));
        }
        let least = self.flash.least_capacity_bytes();
        if self.capacity_bytes < least {
            return refuse(format!(
                "capacity is {} GB; it must be at least {} GB, so that spare {} blocks on {DIES_LEAST} dies are enough to collect",
                gigabytes(self.capacity_bytes),
                gigabytes(least),
                self.flash.name()
            ));
        }
        // The last superblock may be rounded up.
        let superblock_pages = u64::from(DIES_MAX) * u64::from(self.flash.row().pages_per_block());
        let flash = (u64::from(u32::MAX) - superblock_pages) * u64::from(SIMULATED_PAGE_BYTES);
        let most = flash - spare.of(flash);
        if self.capacity_bytes > most {
            return refuse(format!(
                "capacity is {} GB; it must be at most {} GB, because the model numbers 1/{BLOCK_SHARE} of the pages by 32 bits",
                gigabytes(self.capacity_bytes),
                most / 1_000_000_000
            ));
        }
        Ok(())
    }

    fn check_sequential(&self) -> Result<(), ConfigError> {
        let most = CHANNEL_SPEEDS.into_iter().map(carried_by).max().unwrap_or_default();
        if !(READ_LEAST..=most).contains(&self.sequential_read_bytes_per_second) {
            return refuse(format!(
                "sequential_read is {} MB/s; it must be between {} and {} MB/s, which {CHANNELS} channels can carry",
                megabytes(self.sequential_read_bytes_per_second),
                megabytes(READ_LEAST),
                megabytes(most)
            ));
        }
        let write = megabytes(self.sequential_write_bytes_per_second);
        if self.sequential_write_bytes_per_second > self.sequential_read_bytes_per_second {
            return refuse(format!(
                "sequential_write is {write} MB/s; it must be at most sequential_read, {} MB/s, because that is the rate of the link",
                megabytes(self.sequential_read_bytes_per_second)
            ));
        }
        let dies = self.dies() as f64;
        let (least, most) = (PROGRAM_LEAST * dies, self.flash.most_program_mb_per_second() * dies);
        if !(least..=most).contains(&write) {
            return refuse(format!(
                "sequential_write is {write} MB/s; it must be between {least} and {most} MB/s, which {dies} dies of {} can program (for a drive with an SLC cache, give the rate behind the cache)",
                self.flash.name()
            ));
        }
        Ok(())
    }

    fn check_random(&self) -> Result<(), ConfigError> {
        let most = self.sequential_read_bytes_per_second / u64::from(LOGICAL_BLOCK_BYTES);
        if !(RANDOM_READ_LEAST..=most).contains(&self.random_reads_per_second) {
            return refuse(format!(
                "random_read is {} per second; it must be between {RANDOM_READ_LEAST} and {most}, which are the sequential_read in pieces of 4 KiB",
                self.random_reads_per_second
            ));
        }
        let most = self.sequential_write_bytes_per_second / u64::from(LOGICAL_BLOCK_BYTES);
        match self.random_writes_per_second {
            Some(writes) if !(1..=most).contains(&writes) => refuse(format!(
                "random_write is {writes} per second; it must be between 1 and {most}, which are the sequential_write in pieces of 4 KiB"
            )),
            _ => Ok(()),
        }
    }

    /// Refuses latencies that are shorter than the sum of their parts in the model.
    fn check_latencies(&self, config: &Config) -> Result<(), ConfigError> {
        let timing = &config.timing;
        let link = self.link_mb_per_second() as f64;
        let command = at_rate(f64::from(LOGICAL_BLOCK_BYTES), link) + timing.command;
        let read = timing.read + timing.transfer + command;
        let least = [
            ("read_latency", self.read_latency, read, "sensing, channel and link"),
            // A buffer without latency would acknowledge a write before its data has arrived.
            (
                "write_latency",
                self.write_latency,
                command + Duration::from_micros(1),
                "link and write buffer",
            ),
        ];
        for (key, latency, least, parts) in least {
            let least = least.as_nanos().div_ceil(1_000);
            if latency.is_some_and(|latency| micros(latency) < least) {
                return refuse(format!(
                    "{key} is {}; it must be at least {least}us, which {parts} take together, so leave {key} out if the figure is of a cache",
                    latency.unwrap_or_default()
                ));
            }
        }
        Ok(())
    }
}

/// Bytes per second that all channels of this speed carry before they are a bottleneck.
fn carried_by(channel_mb_per_second: u32) -> u64 {
    u64::from(channel_mb_per_second * CHANNELS) * 1_000_000 * 3 / 4
}

/// Drive with this data sheet. Its blocks have a sixteenth of the pages of the product, as in the
/// presets of drives of today.
///
/// # Errors
///
/// A figure outside of the model's range, with its key, its value and its limit.
pub fn from_data_sheet(sheet: &SheetDrive) -> Result<Config, ConfigError> {
    sheet.check()?;
    let usual = sheet.flash.row();
    let dies = sheet.dies();
    let spare = sheet.over_provisioning().parts_per_million();
    // Bytes of the flash in parts per million, and then in superblocks.
    let flash = u128::from(sheet.capacity_bytes) * 1_000_000 / u128::from(1_000_000 - spare);
    let block_bytes = u64::from(usual.pages_per_block()) * u64::from(SIMULATED_PAGE_BYTES);
    let blocks = flash.div_ceil(u128::from(dies * block_bytes));
    let row = Row {
        name: "data sheet",
        dies_per_channel: dies as u32 / CHANNELS,
        over_provisioning_ppm: spare,
        blocks_per_plane: blocks as u32,
        program_mb_per_second: megabytes(sheet.sequential_write_bytes_per_second) / dies as f64,
        channel_mb_per_second: sheet
            .channel_mb_per_second()
            .map_or(usual.channel_mb_per_second, f64::from),
        link_mb_per_second: sheet.link_mb_per_second(),
        commands_per_second: sheet.random_reads_per_second as f64,
        read_alone: sheet.read_latency.map_or(usual.read_alone, micros),
        write_alone: sheet.write_latency.map_or(usual.write_alone, micros),
        drive_writes_per_day: sheet.drive_writes_per_day.unwrap_or(usual.drive_writes_per_day),
        ..usual
    };
    let mut config = build(&row);
    let program_pages = config.cells.map_or(1, |cells| cells.unit_pages());
    let pages_per_die = match sheet.power_loss_protection {
        true => PROTECTED_PAGES,
        false => UNPROTECTED_PROGRAMS * program_pages,
    };
    if let Some(buffer) = &mut config.write_buffer {
        buffer.pages = pages_per_die * dies as u32;
    }
    sheet.check_latencies(&config)?;
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::presets::{data_sheet, names, preset, unfitted};
    use alloc::string::ToString;
    use alloc::vec::Vec;

    /// The PM9A3 of 960 GB.
    const PM9A3: SheetDrive = SheetDrive {
        capacity_bytes: 960_000_000_000,
        sequential_read_bytes_per_second: 6_500_000_000,
        sequential_write_bytes_per_second: 1_500_000_000,
        random_reads_per_second: 580_000,
        random_writes_per_second: Some(70_000),
        read_latency: None,
        write_latency: None,
        drive_writes_per_day: Some(1.0),
        power_loss_protection: true,
        flash: Flash::Tlc,
        over_provisioning: None,
    };

    /// The data sheet of a preset whose name ends with its capacity in GB.
    fn sheet_of(name: &str) -> Option<SheetDrive> {
        let capacity_gb: u64 = name.rsplit('-').next()?.parse().ok()?;
        let sheet = data_sheet(name)?;
        let bytes = |figure: Figure| (figure.value * 1e6) as u64;
        let latency = |figure: Figure| Duration::from_micros(figure.value as u64);
        Some(SheetDrive {
            capacity_bytes: capacity_gb * 1_000_000_000,
            sequential_read_bytes_per_second: bytes(sheet.sequential_read?),
            // The rate when the cache is full, if there is a cache.
            sequential_write_bytes_per_second: bytes(
                sheet.cache.write_behind.or(sheet.sequential_write)?,
            ),
            random_reads_per_second: sheet.random_read?.value as u64,
            random_writes_per_second: sheet.random_write.map(|figure| figure.value as u64),
            read_latency: sheet.read_alone.map(latency),
            write_latency: sheet.write_alone.map(latency),
            flash: if name.starts_with("p5430") { Flash::Qlc } else { Flash::Tlc },
            ..PM9A3
        })
    }

    fn refused(change: impl Fn(&mut SheetDrive)) -> String {
        let mut sheet = PM9A3;
        change(&mut sheet);
        from_data_sheet(&sheet).unwrap_err().to_string()
    }

    fn assert_close(value: f64, expected: f64, what: &str) {
        assert!((value / expected - 1.0).abs() < 0.01, "{what}: {value}, not {expected}");
    }

    #[test]
    fn data_sheets_of_presets_make_drives_of_their_capacity() {
        let sheets: Vec<(&str, SheetDrive)> =
            names().filter_map(|name| Some((name, sheet_of(name)?))).collect();
        assert!(sheets.len() >= 11, "{}", sheets.len());
        for (name, sheet) in sheets {
            for power_loss_protection in [true, false] {
                let sheet = SheetDrive { power_loss_protection, ..sheet };
                let config = from_data_sheet(&sheet).unwrap();
                assert_eq!(config.validate(), Ok(()), "{name}");
                let whole = config.whole().logical_bytes();
                assert_close(whole as f64, sheet.capacity_bytes as f64, name);
                let link = config.timing.pcie_bytes_per_second.unwrap();
                assert_close(link as f64, sheet.sequential_read_bytes_per_second as f64, name);
                let rate = config.program_bytes_per_second();
                assert_close(rate, sheet.sequential_write_bytes_per_second as f64, name);
            }
        }
    }

    #[test]
    fn the_preset_and_its_data_sheet_have_the_same_dies() {
        for name in ["pm9a3-3840", "pe8110-960", "cm7r-3840", "p5430-15360"] {
            let preset = unfitted(name).or_else(|| preset(name)).unwrap();
            let made = from_data_sheet(&sheet_of(name).unwrap()).unwrap();
            assert_eq!(made.geometry.dies(), preset.geometry.dies(), "{name}");
            assert_eq!(made.geometry.pages_per_block, preset.geometry.pages_per_block, "{name}");
            assert_eq!(made.timing.transfer, preset.timing.transfer, "{name}");
            assert_eq!(made.timing.command, preset.timing.command, "{name}");
            assert_eq!(made.timing.read_overhead, preset.timing.read_overhead, "{name}");
            assert_eq!(made.write_buffer, preset.write_buffer, "{name}");
        }
    }

    #[test]
    fn the_smallest_and_the_largest_drives_are_possible() {
        for flash in [Flash::Tlc, Flash::Qlc] {
            let least = flash.least_capacity_bytes();
            for capacity_bytes in [least, 240_000_000_000_000] {
                let rate = PM9A3.sequential_write_bytes_per_second.max(capacity_bytes / 50_000);
                let sheet = SheetDrive {
                    flash,
                    capacity_bytes,
                    sequential_read_bytes_per_second: rate.max(6_500_000_000),
                    sequential_write_bytes_per_second: rate,
                    ..PM9A3
                };
                let config = from_data_sheet(&sheet).unwrap();
                assert_eq!(config.validate(), Ok(()), "{flash:?}, {capacity_bytes}");
                let whole = config.whole().logical_bytes();
                assert_close(whole as f64, capacity_bytes as f64, "capacity");
            }
        }
    }

    #[test]
    fn more_spare_means_more_flash_and_the_same_capacity() {
        let percent = Ratio::from_percent;
        let made = |over_provisioning| {
            from_data_sheet(&SheetDrive { over_provisioning, ..PM9A3 }).unwrap()
        };
        let (usual, more) = (made(None), made(Some(percent(27))));
        assert_close(more.logical_bytes() as f64, usual.logical_bytes() as f64, "capacity");
        assert!(more.geometry.raw_bytes() > usual.geometry.raw_bytes());
        assert_eq!(more.over_provisioning, percent(27));
    }

    #[test]
    fn an_unprotected_drive_buffers_two_programs_of_each_die() {
        let sheet = SheetDrive { power_loss_protection: false, ..PM9A3 };
        let config = from_data_sheet(&sheet).unwrap();
        let unit = config.cells.unwrap().unit_pages();
        assert_eq!(config.write_buffer.unwrap().pages, 2 * unit * config.geometry.dies());
    }

    #[test]
    fn impossible_figures_are_refused_with_their_limits() {
        let gb = 1_000_000_000;
        let us = |micros| Some(Duration::from_micros(micros));
        let cases = [
            (
                refused(|sheet| sheet.capacity_bytes = 64 * gb),
                "capacity is 64 GB; it must be at least 100 GB, so that",
            ),
            (
                refused(|sheet| sheet.capacity_bytes = 250_000 * gb),
                "capacity is 250000 GB; it must be at most 240484 GB, because",
            ),
            (
                refused(|sheet| sheet.capacity_bytes = 1 << 60),
                "capacity is 1152921504.606847 GB; it must be at most",
            ),
            (
                refused(|sheet| sheet.over_provisioning = Some(Ratio::ONE)),
                "over-provisioning of 100% leaves the host nothing",
            ),
            (
                refused(|sheet| sheet.sequential_read_bytes_per_second = 6_500),
                "sequential_read is 0.0065 MB/s; it must be between 100 and 28800 MB/s",
            ),
            (
                refused(|sheet| sheet.sequential_read_bytes_per_second = 65 * gb),
                "sequential_read is 65000 MB/s; it must be between 100 and 28800 MB/s",
            ),
            (
                refused(|sheet| sheet.sequential_write_bytes_per_second = 7 * gb),
                "sequential_write is 7000 MB/s; it must be at most sequential_read, 6500 MB/s",
            ),
            (
                refused(|sheet| sheet.sequential_write_bytes_per_second = 5 * gb),
                "sequential_write is 5000 MB/s; it must be between 16 and 4000 MB/s, which 16 dies of TLC can program",
            ),
            (
                refused(|sheet| sheet.sequential_write_bytes_per_second = 15),
                "sequential_write is 0.000015 MB/s; it must be between 16 and 4000 MB/s",
            ),
            (
                refused(|sheet| sheet.random_reads_per_second = 580),
                "random_read is 580 per second; it must be between 10000 and 1586914, which",
            ),
            (
                refused(|sheet| sheet.random_writes_per_second = Some(700_000)),
                "random_write is 700000 per second; it must be between 1 and 366210, which",
            ),
            (
                refused(|sheet| sheet.read_latency = us(45)),
                "read_latency is 45.0us; it must be at least 51us, which sensing, channel and link take together",
            ),
            (
                refused(|sheet| sheet.write_latency = us(2)),
                "write_latency is 2.00us; it must be at least 3us, which link and write buffer take together",
            ),
            (
                refused(|sheet| sheet.drive_writes_per_day = Some(f64::NAN)),
                "drive_writes_per_day must be above 0 and finite",
            ),
        ];
        for (said, expected) in cases {
            assert!(said.starts_with(expected), "{said}\n{expected}");
        }
    }
}
