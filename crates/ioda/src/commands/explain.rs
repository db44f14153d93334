//! `ioda explain`.

pub(crate) mod document;
pub(crate) mod violations;

use crate::arguments::ArrayArgs;
use crate::exit::Code;
use crate::flags::{HtmlArgs, JsonArgs};
use crate::output::{self, Documents};
use crate::progress;
use crate::talk::Talk;
use array::RequestKind;
use array::policy::PolicyKind;
use clap::Args;
use sim::{Compared, Explained, Fault, Plan, RunProgress, Side, SimError};
use std::io::IsTerminal;
use std::path::PathBuf;
use study::Failure;
use study::settings::{RunSettings, Settings, WorkloadSettings};
use study::setup::faults::FaultArgs;
use study::setup::{self, Setup};
use units::Instant;
use workload::{Arrival, Workload, WorkloadError};

pub(crate) const EXAMPLES: &str = "\
Examples:
  ioda explain --worst 5
      the slowest reads of the demonstration under IODA, and what took most of their time
  ioda explain --policy base --worst 5
      those under Base
  ioda explain --request 719614
      what that read of the demonstration went through, drive by drive, die by die
  ioda explain azure --policy base --requests 20000 --request 9934 --html=request.html
      another workload, and a page as well
  ioda explain --requests 50000 --fail 2@1s --replace 2@2s --worst 3
      drive 2 fails and is rebuilt
  ioda explain --policy quiet --rerate 90MB/s --violations
      which collections broke the window contract: when, on which drive and why
  ioda explain --requests 20000 --check-repeat
      runs it twice and prints the first event that differs; exit code 1 if one does";

/// Options of `ioda explain`.
#[derive(Args, Clone, Debug)]
pub(crate) struct ExplainArgs {
    /// What to tell.
    #[command(flatten)]
    wanted: Wanted,
    /// What goes wrong.
    #[command(flatten)]
    faults: FaultArgs,
    /// The workload.
    #[command(flatten)]
    workload: WorkloadSettings,
    /// The array and its drives.
    #[command(flatten)]
    array: ArrayArgs,
    /// The run.
    #[command(flatten)]
    run: RunSettings,
}

/// What to tell, and where to.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "What to explain", mut_arg("html", |html| html.requires("request")))]
struct Wanted {
    /// Tell the life of this request, counted from 1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    request: Option<u64>,
    /// List this many of the slowest reads by number, 1 or more, with what took most of their time
    #[arg(long, value_name = "N", conflicts_with = "request")]
    worst: Option<usize>,
    /// With --worst: writes instead of reads
    #[arg(long, requires = "worst")]
    writes: bool,
    /// List the first collections that broke the window contract: when, on which drive and why
    #[arg(long, conflicts_with_all = ["request", "worst"])]
    violations: bool,
    /// Run everything twice at the same time and print the first event that differs, or that none
    /// does
    #[arg(long, conflicts_with_all = ["request", "worst", "violations", "html", "json"])]
    check_repeat: bool,
    /// TOML file with the sections array, windows, stage, policies, drive, workload and run; flags
    /// override it
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The life of the request as a page.
    #[command(flatten)]
    html: HtmlArgs,
    /// Everything as JSON.
    #[command(flatten)]
    json: JsonArgs,
}

/// Explains a request, lists slow ones, or checks that a run repeats.
pub(crate) fn run(args: &ExplainArgs, talk: Talk) -> Result<Code, Failure> {
    let wanted = &args.wanted;
    if args.run.policy.len() > 1 {
        return Err(Failure::usage("`ioda explain` takes one policy; a request has one life"));
    }
    let settings = args.settings()?;
    let setup =
        Setup::new(&settings, &setup::possible(&[PolicyKind::IODA], &settings.array), &talk)?;
    let run = Run { setup: &setup, faults: args.faults.faults(setup.plan().width)?, talk };
    match (wanted.request, wanted.worst) {
        (Some(number), _) => run.explain(number, wanted),
        (None, Some(count)) => run.slowest(count, wanted),
        (None, None) if wanted.violations => run.violations(wanted),
        (None, None) if wanted.check_repeat => run.check_repeat(),
        (None, None) => Err(Failure::usage(
            "say which request: --request N; --worst 5 lists the numbers of slow ones, and \
             --violations what broke the window contract",
        )),
    }
}

impl ExplainArgs {
    /// The settings: the file, if any, with the flags laid over it.
    fn settings(&self) -> Result<Settings, Failure> {
        let file = match &self.wanted.config {
            Some(path) => study::settings::load(path)?,
            None => Settings::default(),
        };
        let others = Settings {
            workload: self.workload.clone(),
            run: self.run.clone(),
            ..Settings::default()
        };
        self.array.overlay(&file, others)
    }
}

/// A run that is explained.
struct Run<'a> {
    setup: &'a Setup,
    faults: Vec<(Instant, Fault)>,
    talk: Talk,
}

impl Run<'_> {
    fn plan(&self) -> Plan {
        Plan { timeline: None, ..self.setup.plan().clone() }
    }

    fn open(&self) -> Result<(Arrival, Workload), WorkloadError> {
        // Whether the array is possible was seen when it was set up.
        let capacity = self.setup.plan().capacity_bytes().unwrap_or_default();
        let workload = self.setup.source.open(capacity)?;
        Ok((workload.arrival(), workload))
    }

    /// Does `work` while showing how far it has come.
    fn showing<T>(
        &self,
        title: &str,
        work: impl FnOnce(&RunProgress) -> Result<T, SimError<WorkloadError>>,
    ) -> Result<T, Failure> {
        let done = RunProgress::default();
        let (show, requests) = (self.talk.progress, self.setup.requests);
        Ok(progress::counting(show, title, requests, &done.completed, || work(&done))?)
    }

    fn explain(&self, number: u64, wanted: &Wanted) -> Result<Code, Failure> {
        let absent = |requests| {
            Failure::usage(format!("there is no request {number}: the run has {requests} requests"))
        };
        // Known before a long run.
        if let Some(requests) = self.setup.requests
            && !(1..=requests).contains(&number)
        {
            return Err(absent(requests));
        }
        let plan = self.plan();
        let explained = self.showing("looking for the request:", |progress| {
            let drives = sim::prepare_drives(&plan)?;
            let workload = self.open().map_err(SimError::Workload)?;
            sim::explain(&plan, drives, workload, self.faults.clone(), number, progress)
        })?;
        let story = match explained {
            Explained::Story(story) => document::of(&story, self.setup)?,
            Explained::Absent { requests } => return Err(absent(requests)),
        };
        let mut documents = Documents::default();
        let wanted = [
            (wanted.html.path(), report::html::render_story as fn(&report::story::Story) -> String),
            (wanted.json.path(), report::story::to_json),
        ];
        let mut is_printed = false;
        for (path, render) in wanted {
            if let Some(path) = path {
                documents.write(path, &render(&story))?;
                is_printed |= study::files::is_stdout(path);
            }
        }
        if !is_printed {
            let colour = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
            output::print(&report::story::render(&story, colour))?;
        }
        documents.tell(self.talk);
        Ok(Code::Ok)
    }

    fn slowest(&self, count: usize, wanted: &Wanted) -> Result<Code, Failure> {
        let plan = self.plan();
        let kind = if wanted.writes { RequestKind::Write } else { RequestKind::Read };
        let outcomes = self.showing("running:", |progress| {
            let drives = sim::prepare_drives(&plan)?;
            let workload = self.open().map_err(SimError::Workload)?;
            sim::slowest(&plan, drives, workload, self.faults.clone(), (kind, count), progress)
        })?;
        output::show(
            wanted.json.path(),
            || document::slowest_document(&outcomes, self.setup),
            || document::slowest(&outcomes, wanted.writes, self.setup),
        )?;
        Ok(Code::Ok)
    }

    fn violations(&self, wanted: &Wanted) -> Result<Code, Failure> {
        let plan = self.plan();
        let result = self.showing("running:", |progress| {
            let drives = sim::prepare_drives(&plan)?;
            let (arrival, requests) = self.open().map_err(SimError::Workload)?;
            sim::run_with_faults(&plan, drives, arrival, requests, self.faults.clone(), progress)
        })?;
        let found = violations::document(&result, self.setup);
        let text = violations::table(&found);
        output::show(wanted.json.path(), || found, || text)?;
        Ok(Code::Ok)
    }

    fn check_repeat(&self) -> Result<Code, Failure> {
        let side =
            || Side { plan: self.plan(), workload: || self.open(), faults: self.faults.clone() };
        let side = side();
        match sim::first_difference(&side, &side)? {
            Compared::Same { events } => {
                output::print(&format!("no event differs: both runs have the same {events}\n"))?;
                Ok(Code::Ok)
            }
            Compared::Differ(difference) => {
                output::print(&format!("{difference}\n"))?;
                Ok(Code::Failed)
            }
        }
    }
}
