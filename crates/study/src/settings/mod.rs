//! What can be set, the same by flag and by configuration file.
//!
//! Every option is one field here: clap reads it from the command line, serde from the file, and
//! the manifest of a report writes it back. Flags lie over the file.

mod cells;
mod data_sheet;
mod drive;
mod file;
mod hosts;
mod idle;
mod network;
mod policies;
mod retry;
mod serve;
mod shrink;
mod slc;
mod stage;
mod watermarks;
mod windows;
mod workload;

pub use data_sheet::DataSheetSettings;
pub use drive::DriveSettings;
pub use file::{drive_from, load, parse};
pub use hosts::HostSettings;
pub use network::NetworkSettings;
pub use policies::PolicyOptions;
pub use serve::ServeSettings;
pub(crate) use shrink::shrink;
pub use slc::SlcSettings;
pub use stage::WriteCacheSettings;
pub use windows::WindowSettings;
pub use workload::{FIO, REQUESTS, WorkloadSettings};

use crate::failure::Failure;
use crate::values::quantity::{
    BufferSize, OtherDrive, Percent, PolicyName, Raid, Size, Span, Text, TimeWindow,
};
use crate::values::words::{Flush, Precondition};
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The array: `[array]`.
#[derive(Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[command(next_help_heading = "Array")]
pub struct ArraySettings {
    /// Number of drives, 3 to 64, or 2 for mirrors, or 1 and 2 without redundancy [default: 4]
    #[arg(long, value_name = "N")]
    pub drives: Option<u32>,
    /// A drive of another model at a place from 0: a preset or a TOML file, such as 1:wd-960, under
    /// policies without windows; repeatable [default: all drives are alike]
    #[arg(long, value_name = "DRIVE:NAME")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_drive: Vec<Text<OtherDrive>>,
    /// RAID level: 0, 1, 4, 5, 6 or 10 [default: 5, or 0 for a single drive]
    #[arg(long, value_name = "LEVEL")]
    pub raid: Option<Text<Raid>>,
    /// Members of a stripe, parity included, where not all drives are, 2 or more [default: all; 2
    /// in RAID-10]
    #[arg(long, value_name = "N")]
    pub stripe_width: Option<u32>,
    /// Share of every drive that is left free for pages which policies move there [default: 3% if
    /// one of the policies does that and stripes are narrower than the array, else 0%]
    #[arg(long, value_name = "PERCENT")]
    pub spare: Option<Text<Percent>>,
    /// Time to compute a rebuilt page [default: 3us]
    #[arg(long, value_name = "TIME")]
    pub rebuild_compute: Option<Text<Span>>,
    /// Chunk, a multiple of the drive's page [default: 4k or the page, if that is larger; about 256
    /// pages on a single drive]
    #[arg(long, value_name = "SIZE")]
    pub chunk: Option<Text<Size>>,
    /// Busy time window: a length such as 100ms, `burst` for what the drives advertise, `norm` for
    /// their rated drive writes per day, or the load it is for, such as 20dwpd or 30MB/s [default:
    /// burst]
    #[arg(long, value_name = "TIME")]
    pub tw: Option<Text<TimeWindow>>,
}

/// Which drives, on the command line.
#[allow(rustdoc::private_intra_doc_links, reason = "`[drive]` is a section of a file, not a link")]
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Drives")]
pub struct DriveFlags {
    /// A preset (see `ioda presets drives`) or a TOML file with a [drive] section
    /// [default: femu-artifact]
    #[arg(long, value_name = "NAME|FILE")]
    pub drive: Option<String>,
    /// Blocks in a plane, any whole number that leaves room to collect: makes a preset smaller or
    /// larger [default: the preset's]
    #[arg(long, value_name = "N")]
    pub blocks_per_plane: Option<u32>,
    /// Share of the flash that the host does not see; watermarks keep their share of it [default:
    /// the preset's]
    #[arg(long, value_name = "PERCENT")]
    pub over_provisioning: Option<Text<Percent>>,
    /// Write buffer in each drive, such as 64m, or `none` [default: none]
    #[arg(long, value_name = "SIZE")]
    pub write_buffer: Option<Text<BufferSize>>,
    /// When it is flushed: when-full, or in-window for the busy window [default: when-full]
    #[arg(long, value_name = "RULE")]
    pub flush: Option<Text<Flush>>,
}

/// How to run: `[run]`.
#[derive(Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[command(next_help_heading = "Run")]
pub struct RunSettings {
    /// Policies by name, a list or repeated; `ioda presets policies` says what each does
    /// [default: base,iod1,iod3,ioda,quiet,ideal; `ioda run`: ioda]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub policy: Vec<Text<PolicyName>>,
    /// State of the drives before the run. load: more of the workload has overwritten them until
    /// they are steady. aged: as after uniform random writes. steady: overwritten at random until
    /// steady. fresh: nothing written [default: load if the run writes each drive a quarter full or
    /// more, else aged]
    #[arg(long, value_name = "STATE")]
    pub precondition: Option<Text<Precondition>>,
    /// Different ages of the drives, 1 to 64 and at most the number of drives. Drives of one age
    /// collect in step at first [default: the number of drives]
    #[arg(long, value_name = "N")]
    pub ages: Option<u32>,
    /// Seed of everything that is drawn by chance, any whole number [default: 1]
    #[arg(long, alias = "randseed", value_name = "N")]
    #[serde(alias = "randseed")]
    pub seed: Option<Text<u64>>,
    /// Runs side by side, 1 to 1024; of no influence on any result [default: one per core]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// Carry a tag in every page and check every read against a reference model
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub verify: bool,
}

/// Everything that a configuration file can say.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// The array.
    pub array: ArraySettings,
    /// When drives may collect.
    pub windows: WindowSettings,
    /// The fast memory in front of the drives.
    pub stage: WriteCacheSettings,
    /// Options of single policies.
    pub policies: PolicyOptions,
    /// The drives.
    pub drive: DriveSettings,
    /// The workload.
    pub workload: WorkloadSettings,
    /// The run.
    pub run: RunSettings,
    /// How the array is served.
    pub serve: ServeSettings,
    /// How drives on the network are dealt with.
    pub network: NetworkSettings,
    /// Which hosts may attach over NVMe/TCP.
    pub hosts: HostSettings,
}

impl Settings {
    /// These settings with `flags` laid over them.
    pub fn overlaid(&self, flags: &Self) -> Result<Self, Failure> {
        let table = |settings: &Self| {
            toml::Table::try_from(settings)
                .map_err(|error| Failure::usage(format!("the settings cannot be kept: {error}")))
        };
        let mut merged = table(self)?;
        for (section, values) in table(flags)? {
            match (merged.get_mut(&section), values) {
                (Some(toml::Value::Table(below)), toml::Value::Table(above)) => below.extend(above),
                (_, values) => {
                    merged.insert(section, values);
                }
            }
        }
        merged.try_into().map_err(|error| Failure::usage(format!("{error}")))
    }

    /// The settings as a configuration file that repeats them.
    pub fn to_toml(&self) -> String {
        let mut table = match toml::Table::try_from(self) {
            Ok(table) => table,
            Err(error) => return format!("# cannot be written: {error}\n"),
        };
        table.retain(|_, section| section.as_table().is_none_or(|table| !table.is_empty()));
        toml::to_string(&table).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_lie_over_the_file() {
        let file: Settings =
            parse("[array]\ndrives = 6\nchunk = \"8k\"\n[run]\nseed = 7\n", "a.toml").unwrap();
        let flags = Settings {
            array: ArraySettings { drives: Some(5), ..ArraySettings::default() },
            ..Settings::default()
        };
        let merged = file.overlaid(&flags).unwrap();
        assert_eq!(merged.array.drives, Some(5));
        assert_eq!(merged.array.chunk.as_ref().unwrap().value, Size(8192));
        assert_eq!(merged.run.seed.as_ref().unwrap().value, 7);
        assert_eq!(parse::<Settings>(&merged.to_toml(), "again").unwrap(), merged);
    }

    #[test]
    fn rates_and_phases_are_read_back() {
        for words in ["phases = '20dwpd:60s,burst:1s,5:1m'", "rate_iops = 500.5", "rerate = 2"] {
            let settings: Settings = parse(&format!("[workload]\n{words}\n"), "a.toml").unwrap();
            let text = settings.to_toml();
            assert_eq!(parse::<Settings>(&text, "again").unwrap(), settings, "{text}");
        }
    }
}
