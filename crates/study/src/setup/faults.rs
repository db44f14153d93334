//! Drives that fail, are replaced or misbehave in a simulated run: options, and keys of the variants
//! of an experiment.

use crate::failure::Failure;
use crate::values::quantity::{Percent, Span, Text, drive_number};
use crate::values::typed::Spelled;
use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use sim::Fault;
use ssd::SLOWEST;
use std::str::FromStr;
use units::{DriveId, Instant, Ratio};

/// What goes wrong in a run, and when.
#[derive(Args, Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[command(next_help_heading = "What goes wrong")]
pub struct FaultArgs {
    /// Let a drive fail at this time of the run, such as 1@200ms, or 1@0s for an array that lacks
    /// it from the start; repeatable
    #[arg(long, value_name = "DRIVE@TIME")]
    fail: Vec<Text<Moment>>,
    /// Put an empty drive in the place of one that failed, such as 1@300ms, and rebuild it;
    /// repeatable
    #[arg(long, value_name = "DRIVE@TIME")]
    replace: Vec<Text<Moment>>,
    /// From this time of the run on, everything that a drive does takes this many times as long,
    /// such as 1@2s:10; 1@4s:1 ends it; repeatable
    #[arg(long, value_name = "DRIVE@TIME:FACTOR")]
    slow: Vec<Text<Slow>>,
    /// From this time of the run on, this share of a drive's sensings has to be repeated, as on worn
    /// flash or of old data, such as 1@2s:20%; 1@4s:0% ends it; repeatable
    #[arg(long, value_name = "DRIVE@TIME:SHARE")]
    worn: Vec<Text<Worn>>,
    /// From this time of the run on a drive collects and programs whenever it likes, fails no read
    /// fast and announces no busy time, such as 1@2s; repeatable
    #[arg(long, value_name = "DRIVE@TIME")]
    ignores_windows: Vec<Text<Moment>>,
    /// From this time of the run on such a drive keeps to its windows again, such as 1@4s;
    /// repeatable
    #[arg(long, value_name = "DRIVE@TIME")]
    keeps_windows: Vec<Text<Moment>>,
}

/// A drive and a time of the run.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Moment {
    drive: DriveId,
    at: Instant,
}

impl Spelled for Moment {
    const TYPE: &str = "drive and time, such as `1@200ms`";
}

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (drive, at) =
            text.split_once('@').ok_or("write the drive and the time as in 2@10ms")?;
        let drive = drive_number(drive)?;
        let Span(after) = at.parse().map_err(|error| format!("{error}"))?;
        Ok(Self { drive, at: Instant::ZERO + after })
    }
}

impl Moment {
    /// Refuses a drive that an array of `width` drives does not have.
    fn check(&self, width: u32) -> Result<(), Failure> {
        if u32::from(self.drive.0) < width {
            return Ok(());
        }
        let (drive, last) = (self.drive.0, width - 1);
        Err(Failure::usage(format!(
            "there is no drive {drive}; the drives of this array are 0 to {last}"
        )))
    }
}

/// The same, and how many times as long everything takes.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Slow {
    moment: Moment,
    factor: u32,
}

impl Spelled for Slow {
    const TYPE: &str = "drive, time and factor, such as `1@2s:10`";
}

impl FromStr for Slow {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (moment, factor) = text
            .rsplit_once(':')
            .ok_or("write the drive, the time and the factor as in 2@10ms:10")?;
        let factor: u32 = factor.parse().map_err(|_| format!("{factor} is no whole number"))?;
        if !(1..=SLOWEST).contains(&factor) {
            return Err(format!("the factor is {factor}; it must be between 1 and {SLOWEST}"));
        }
        Ok(Self { moment: moment.parse()?, factor })
    }
}

/// The same, and the share of sensings that are repeated.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Worn {
    moment: Moment,
    share: Ratio,
}

impl Spelled for Worn {
    const TYPE: &str = "drive, time and share, such as `1@2s:20%`";
}

impl FromStr for Worn {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (moment, share) = text
            .rsplit_once(':')
            .ok_or("write the drive, the time and the share as in 2@10ms:20%")?;
        let Percent(share) = share.parse().map_err(|error| format!("{error}"))?;
        Ok(Self { moment: moment.parse()?, share })
    }
}

impl FaultArgs {
    /// The faults in an array of `width` drives. A drive fails before it is replaced at the same
    /// time.
    pub fn faults(&self, width: u32) -> Result<Vec<(Instant, Fault)>, Failure> {
        let moment = |text: &Text<Moment>| text.value;
        let ignores = |on| {
            move |Text { value, .. }: &Text<Moment>| {
                (*value, Fault::IgnoresWindows { drive: value.drive, on })
            }
        };
        let fail = self.fail.iter().map(moment).map(|at| (at, Fault::Fail(at.drive)));
        let replace = self.replace.iter().map(moment).map(|at| (at, Fault::Replace(at.drive)));
        let slow = self.slow.iter().map(|text| {
            let Slow { moment, factor } = text.value;
            (moment, Fault::Slow { drive: moment.drive, factor })
        });
        let worn = self.worn.iter().map(|text| {
            let Worn { moment, share } = text.value;
            (moment, Fault::Worn { drive: moment.drive, share })
        });
        let ignoring = self.ignores_windows.iter().map(ignores(true));
        let keeping = self.keeps_windows.iter().map(ignores(false));
        let all = fail.chain(replace).chain(slow).chain(worn).chain(ignoring).chain(keeping);
        all.map(|(moment, fault)| moment.check(width).map(|()| (moment.at, fault))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_drive_is_written_as_drive_time_and_factor() {
        let Slow { moment, factor } = "3@2s:10".parse().unwrap();
        assert_eq!((moment.drive, factor), (DriveId(3), 10));
        assert_eq!(moment.at, Instant::from_nanos(2_000_000_000));
        for wrong in ["3@2s", "3:10", "3@2s:0", "3@2s:1001", "x@2s:3", "3@2s:1.5"] {
            assert!(wrong.parse::<Slow>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_worn_drive_is_written_as_drive_time_and_share() {
        let Worn { moment, share } = "3@2s:20%".parse().unwrap();
        assert_eq!((moment.drive, share), (DriveId(3), Ratio::from_percent(20)));
        for wrong in ["3@2s", "3:10%", "3@2s:101%", "3@2s:-1%", "3@2s:0.5", "x@2s:3%"] {
            assert!(wrong.parse::<Worn>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_drive_must_be_there() {
        let slow = vec!["4@1s:2".parse().unwrap()];
        let faults = FaultArgs { slow, ..FaultArgs::default() };
        assert_eq!(faults.faults(5).unwrap().len(), 1);
        let error = format!("{}", faults.faults(4).unwrap_err());
        assert!(error.contains("0 to 3"), "{error}");
    }
}
