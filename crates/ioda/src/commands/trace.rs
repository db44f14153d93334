//! `ioda trace inspect`, `ioda trace convert` and `ioda trace merge`.

pub(crate) mod document;
mod merge;

use crate::exit::Code;
use crate::flags::JsonArgs;
use crate::output::{self, remark};
use crate::talk::Talk;
use clap::{Arg, Args, Subcommand};
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use study::Failure;
use study::describe;
use study::settings::{self, WorkloadSettings};
use study::values::rate::Rerate;
use workload::{
    Fit, HELD_REQUESTS_MOST, Keep, Source, Trace, TraceSource, TraceWriter, WorkloadError,
    WriteFormat,
};

/// The most that addresses reach where there is no array.
const CAPACITY_OF_NOTHING: u64 = 1 << 60;

pub(crate) const EXAMPLES: &str = "\
Examples:
  ioda trace inspect trace.csv.zst
  ioda trace convert trace.csv.zst trace.log --to fio
  ioda trace merge job.0.log job.1.log job.2.log --out all.csv";

const INSPECT_EXAMPLES: &str = "\
Examples:
  ioda trace inspect trace.csv.zst
  ioda trace inspect odd.csv --columns time=timestamp:us,op=rw:0/1,offset=lba:sectors,size=len:bytes
  ioda trace inspect odd.txt --columns time=0:ms,op=3,offset=1:sectors,size=2:4096,separator=tab
  ioda trace inspect trace.gz --json
  tar -xOf traces.tar hm_0.csv | ioda trace inspect -";

const CONVERT_EXAMPLES: &str = "\
Examples:
  ioda trace convert server.blkparse.zst server.csv --to csv
  ioda trace convert server.csv part.log --to fio --cut-start 60s --cut-end 120s --rerate 4";

/// What to do with a trace.
#[derive(Subcommand, Debug)]
pub(crate) enum TraceCommand {
    /// Say what a trace is, with the evidence, and what is in it
    #[command(after_help = INSPECT_EXAMPLES, mut_args = for_reading)]
    Inspect(Box<InspectArgs>),
    /// Write a trace in another format, changed or not
    #[command(after_help = CONVERT_EXAMPLES, mut_args = for_files)]
    Convert(Box<ConvertArgs>),
    /// Put the requests of several traces in order of time, such as the logs of several jobs
    #[command(after_help = merge::EXAMPLES, mut_args = for_reading)]
    Merge(Box<merge::MergeArgs>),
}

/// Options of `ioda trace inspect`.
#[derive(Args, Debug)]
pub(crate) struct InspectArgs {
    /// How it is read; its name is the file
    #[command(flatten)]
    options: WorkloadSettings,
    /// Everything as JSON.
    #[command(flatten)]
    json: JsonArgs,
}

/// Options of `ioda trace convert`.
#[derive(Args, Debug)]
pub(crate) struct ConvertArgs {
    /// How it is read and changed; its name is the file to read
    #[command(flatten)]
    options: WorkloadSettings,
    /// The file to write
    #[arg(value_name = "OUT", required = true)]
    out: Option<PathBuf>,
    /// Format to write: csv, fio or msr
    #[arg(long, value_name = "FORMAT", value_parser = write_format)]
    to: WriteFormat,
}

/// Names the file, and hides what describes a synthetic workload.
fn for_files(arg: Arg) -> Arg {
    if arg.get_id() == "name" {
        return arg
            .required(true)
            .value_name("FILE")
            .help("The trace file, compressed or not; a pipe, or `-` for standard input");
    }
    let foreign = arg.get_help_heading() == Some(settings::FIO);
    arg.hide(foreign)
}

/// The same, and hides what changes requests.
fn for_reading(arg: Arg) -> Arg {
    let foreign = arg.get_help_heading() == Some(settings::REQUESTS);
    if foreign { arg.hide(true) } else { for_files(arg) }
}

fn write_format(text: &str) -> Result<WriteFormat, workload::OptionError> {
    if text == "fio" { Ok(WriteFormat::FioIologV3) } else { text.parse() }
}

/// Does it.
pub(crate) fn run(command: &TraceCommand, talk: Talk) -> Result<Code, Failure> {
    match command {
        TraceCommand::Inspect(args) => inspect(args),
        TraceCommand::Convert(args) => convert(args, talk),
        TraceCommand::Merge(args) => merge::run(args, talk),
    }?;
    Ok(Code::Ok)
}

/// The file that is named; fio's options are not for files.
fn file(options: &WorkloadSettings) -> Result<&Path, Failure> {
    if let Some(flag) = options.first_of_fio() {
        return Err(Failure::usage(format!("{flag} is for synthetic workloads, not for traces")));
    }
    options.name.as_deref().map(Path::new).ok_or_else(|| Failure::usage("name the trace file"))
}

fn inspect(args: &InspectArgs) -> Result<(), Failure> {
    let path = file(&args.options)?;
    if let Some(flag) = args.options.first_of_changing() {
        return Err(Failure::usage(format!(
            "{flag} changes requests, and `inspect` shows them as they are; see `ioda trace convert`"
        )));
    }
    // Only what it is like is asked for, so none of its requests are kept.
    let trace = Trace::load(path, &args.options.read_options(), Keep::Nothing, remark)?;
    output::show(args.json.path(), || document::of(&trace), || text(path, &trace))
}

/// What a trace is like, for people.
fn text(path: &Path, trace: &Trace) -> String {
    let (detected, statistics, counts) = (trace.detected(), trace.statistics(), trace.counts());
    let remark = describe::gaps(trace);
    let remark = remark.map_or_else(String::new, |remark| format!("\n  - {remark}"));
    format!(
        "{}\n{detected}{remark}\n\n{statistics}\n\nlines           {counts}\nsha256          {}\n",
        path.display(),
        trace.identity().sha256
    )
}

/// Whether two paths lead to the same file.
fn are_same(a: &Path, b: &Path) -> bool {
    a == b || a.canonicalize().ok().zip(b.canonicalize().ok()).is_some_and(|(a, b)| a == b)
}

/// Refuses to write `out` over the trace at `path`.
fn keep(path: &Path, out: &Path) -> Result<(), Failure> {
    if are_same(path, out) {
        return Err(Failure::usage(format!(
            "{} would overwrite the trace that it is made from; name another file",
            out.display()
        )));
    }
    Ok(())
}

fn convert(args: &ConvertArgs, talk: Talk) -> Result<(), Failure> {
    let path = file(&args.options)?;
    let out = args.out.as_deref().ok_or_else(|| Failure::usage("name the file to write"))?;
    keep(path, out)?;
    let speed = match args.options.rerate.as_ref().map(|text| text.value) {
        None => 1.0,
        Some(Rerate::By(speed)) => speed,
        Some(Rerate::Auto) => {
            return Err(Failure::usage("--rerate auto needs an array; give a number"));
        }
        Some(Rerate::To(load)) => {
            return Err(Failure::usage(format!(
                "--rerate is {load}, but a trace is converted without drives; give a number"
            )));
        }
    };
    // Without an array there is no capacity to fit into, so nothing is moved.
    let mut transform = args.options.transform(speed);
    if args.options.fit.is_none() {
        transform.fit = Fit::Refuse;
    }
    transform.check(CAPACITY_OF_NOTHING).map_err(WorkloadError::from)?;
    let keep = Keep::Requests { in_memory: HELD_REQUESTS_MOST };
    let trace = Trace::load(path, &args.options.read_options(), keep, remark)?;
    if !talk.quiet {
        let gap = describe::gaps(&trace).map_or_else(String::new, |gap| format!("\n  - {gap}"));
        remark(&format!("{}{gap}\n  - {}", trace.detected(), trace.counts()));
    }
    let source = TraceSource { trace, transform };
    let mut workload = Source::from(source).open(CAPACITY_OF_NOTHING)?;
    let failed =
        |source| Failure::from(WorkloadError::Write { name: out.display().to_string(), source });
    let output = BufWriter::new(File::create(out).map_err(failed)?);
    let mut writer = TraceWriter::new(output, args.to).map_err(failed)?;
    for request in workload.by_ref() {
        writer.write(&request?).map_err(failed)?;
    }
    writer.finish().map_err(failed)?;
    output::print(&format!("{}: {}\n", out.display(), workload.replayed()))
}
