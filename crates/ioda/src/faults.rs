//! Options for drives that fail and are replaced in a simulated run.

use crate::exit::Failure;
use crate::quantity::Span;
use clap::Args;
use sim::Fault;
use std::str::FromStr;
use units::{DriveId, Instant};

/// What goes wrong in a run, and when.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "What goes wrong")]
pub(crate) struct FaultArgs {
    /// Let a drive fail at this time of the run, such as 1@200ms, or 1@0s for an array that lacks it from the
    /// start; repeatable
    #[arg(long, value_name = "DRIVE@TIME")]
    fail: Vec<Moment>,
    /// Put an empty drive in the place of one that failed, such as 1@300ms, and rebuild it; repeatable
    #[arg(long, value_name = "DRIVE@TIME")]
    replace: Vec<Moment>,
}

/// A drive and a time of the run.
#[derive(Clone, Copy, Debug)]
struct Moment {
    drive: DriveId,
    at: Instant,
}

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (drive, at) =
            text.split_once('@').ok_or("write the drive and the time as in 2@10ms")?;
        let drive = drive.parse().map_err(|_| format!("{drive} is no number of a drive"))?;
        let Span(after) = at.parse().map_err(|error| format!("{error}"))?;
        Ok(Self { drive: DriveId(drive), at: Instant::ZERO + after })
    }
}

impl FaultArgs {
    /// The faults in an array of so many drives. A drive fails before it is replaced at the same time.
    pub(crate) fn faults(&self, width: u32) -> Result<Vec<(Instant, Fault)>, Failure> {
        let fail = self.fail.iter().map(|moment| (moment.at, Fault::Fail(moment.drive)));
        let replace = self.replace.iter().map(|moment| (moment.at, Fault::Replace(moment.drive)));
        let moments = self.fail.iter().chain(&self.replace);
        for moment in moments {
            if u32::from(moment.drive.0) >= width {
                let (drive, last) = (moment.drive.0, width - 1);
                return Err(Failure::usage(format!(
                    "there is no drive {drive}; the drives of this array are 0 to {last}"
                )));
            }
        }
        Ok(fail.chain(replace).collect())
    }
}
