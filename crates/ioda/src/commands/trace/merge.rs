//! `ioda trace merge`.

use super::{Talk, are_same, file, keep, write_format};
use crate::output::{self, remark};
use clap::Args;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use study::Failure;
use study::files::NewFile;
use study::settings::WorkloadSettings;
use study::values::quantity::{Span, Text};
use workload::{
    Align, Merge, MergeOptions, Merged, TraceError, TraceWriter, WorkloadError, WriteFormat,
};

/// Devices of a trace that are listed.
const DEVICES_SHOWN: usize = 8;

pub(super) const EXAMPLES: &str = "\
Examples:
  ioda trace merge job.0.log job.1.log job.2.log --out all.csv
      the logs of three jobs of fio, each of which has devices of its own
  ioda trace merge sda.blkparse sdb.blkparse again.blkparse --same-devices --out all.csv
      devices of the same name are the same device
  ioda trace merge monday.csv friday.csv --align start --shift 0s,2s --out both.csv
      clocks that cannot be compared: both begin together, the second 2 s later";

/// Options of `ioda trace merge`.
#[derive(Args, Debug)]
pub(crate) struct MergeArgs {
    /// How the traces are read, all in the same way; its name is the first file
    #[command(flatten)]
    options: WorkloadSettings,
    /// More trace files
    #[arg(value_name = "FILE", required = true)]
    others: Vec<PathBuf>,
    /// The file to write
    #[arg(long, value_name = "FILE", required = true)]
    out: PathBuf,
    /// Format to write: csv, fio or msr
    #[arg(long, value_name = "FORMAT", value_parser = write_format, default_value = "csv")]
    to: WriteFormat,
    /// Which times are the same moment: clock, the same times of clocks that count from the same
    /// moment; or start, the first requests of all
    #[arg(long, value_name = "HOW", default_value = "clock")]
    align: Align,
    /// Let each trace come later by this, one time for each in their order, such as 0s,2.5s
    /// [default: none]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    shift: Vec<Text<Span>>,
    /// Devices of the same name are the same device, whatever trace they are in
    #[arg(long)]
    same_devices: bool,
}

/// Does it.
pub(super) fn run(args: &MergeArgs, talk: Talk) -> Result<(), Failure> {
    let paths = paths(args)?;
    let options = MergeOptions {
        align: args.align,
        shifts: args.shift.iter().map(|shift| shift.value.0).collect(),
        same_devices: args.same_devices,
    };
    let mut merge = Merge::open(&paths, &args.options.read_options(), &options, remark)?;
    let out = args.out.as_path();
    let failed =
        |source| Failure::from(WorkloadError::Write { name: out.display().to_string(), source });
    let mut writer =
        TraceWriter::new(NewFile::create(out).map_err(failed)?, args.to).map_err(failed)?;
    let mut requests: u64 = 0;
    for request in merge.by_ref() {
        writer.write(&request?).map_err(failed)?;
        requests += 1;
    }
    refuse_doubtful_gaps(&merge)?;
    writer.finish().and_then(NewFile::finish).map_err(failed)?;
    if !talk.quiet {
        for input in merge.inputs() {
            let (name, detected, counts) = (input.name(), input.detected(), input.counts());
            remark(&format!("{name}: {detected}\n  - {counts}"));
        }
    }
    let mut text = format!(
        "{}: {requests} requests of {} traces and {} devices\n  {}\n",
        out.display(),
        merge.inputs().len(),
        merge.devices(),
        merge.clocks()
    );
    merge.inputs().iter().for_each(|input| said(&mut text, input));
    output::print(&text)
}

/// The traces, none of which is written or named twice.
fn paths(args: &MergeArgs) -> Result<Vec<&Path>, Failure> {
    let first = file(&args.options)?;
    let changing = args.options.first_of_changing();
    let counted = args.options.requests.map(|_| "--requests");
    let rated = args.options.rerate.as_ref().map(|_| "--rerate");
    if let Some(flag) = changing.or(counted).or(rated) {
        return Err(Failure::usage(format!(
            "{flag} changes requests, and `merge` keeps them as they are; see `ioda trace convert`"
        )));
    }
    let mut paths: Vec<&Path> = Vec::new();
    for path in std::iter::once(first).chain(args.others.iter().map(PathBuf::as_path)) {
        keep(path, &args.out)?;
        if paths.iter().any(|other| are_same(other, path)) {
            return Err(Failure::usage(format!(
                "{} is named twice, so each of its requests would come twice; name each trace once",
                path.display()
            )));
        }
        paths.push(path);
    }
    Ok(paths)
}

/// Refuses traces with a pause that is probably a mistake, as runs do.
fn refuse_doubtful_gaps(merge: &Merge) -> Result<(), Failure> {
    for input in merge.inputs() {
        let gaps = input.gaps();
        if let (None, Some(_), Some(gap)) = (gaps.limit, gaps.doubtful(), gaps.remark()) {
            let (name, reason) = (input.name().to_owned(), format!("{gap} with --close-gaps 60s"));
            return Err(TraceError::Unusable { name, reason }.into());
        }
    }
    Ok(())
}

/// A line about one of the traces.
fn said(text: &mut String, input: &Merged) {
    let devices = input.devices();
    let mut names: Vec<String> = devices
        .iter()
        .take(DEVICES_SHOWN)
        .map(|(number, name)| match name.as_str() {
            "" => number.to_string(),
            name => format!("{number} ({name})"),
        })
        .collect();
    if devices.len() > DEVICES_SHOWN {
        names.push(format!("{} more", devices.len() - DEVICES_SHOWN));
    }
    // A text takes whatever is written to it.
    let _ = writeln!(
        text,
        "  {}: {}, {} requests from {} on, devices {}",
        input.name(),
        input.detected().format,
        input.counts().requests,
        input.first(),
        names.join(", ")
    );
}
