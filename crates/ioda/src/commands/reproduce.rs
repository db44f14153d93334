//! `ioda reproduce`.

pub(crate) mod document;
pub(crate) mod lab;
pub(crate) mod live;

use crate::agreement;
use crate::exit::Code;
use crate::flags::{JsonArgs, SeedArgs};
use crate::output;
use crate::talk::Talk;
use clap::Args;
use document::{Figure, PlanNumbers, Reproduction, Spool};
use lab::LabArgs;
use report::published::PublishedTable;
use report::{Claim, ClaimKind, Comparison, seeds};
use std::path::{Path, PathBuf};
use study::Failure;
use study::Watch;
use study::experiment::{
    self, Done, Event, Experiment, Group, How, Judged, KeptResults, Page, Suites, beside, pages,
    statement,
};
use study::values::quantity::Text;
use study::values::words::Wait;

pub(crate) const EXAMPLES: &str = "\
Examples:
  ioda reproduce                       all figures: a few minutes on two cores
  ioda reproduce 5a 5b                 two of them
  ioda reproduce --list
  ioda reproduce --filter ttflash --junit claims.xml --strict
                                       claims about TTFLASH, as test cases for a build server
  ioda reproduce --output pages          one page per workload in the folder `pages`
  ioda reproduce --statements page.md  the statements of the papers with their verdicts, as a page
  ioda reproduce 6 --published page.md  percentiles of the papers' artifact beside ours, as a page
  ioda reproduce --results runs        keeps each result in the folder `runs`: the same command goes
                                       on there after an interrupt
  ioda reproduce 5a --seeds 3          what holds with three seeds; claims are judged for each
  ioda reproduce --quick               a smoke of seconds; its numbers mean nothing
  ioda reproduce black-box             policies for ordinary drives, only if it is named
  ioda reproduce live                  the simulator against the array on the real clock, over
                                       NBD: two minutes of a quiet machine, only if it is named
  ioda reproduce lab 9a 9b             Filebench and YCSB on ext4 over md and our arrays, in the
                                       laboratory (lab/README.md), only if it is named

What is checked is the shape: orders, ratios and zeros, with the article's limits. Experiments are
TOML files; --experiments FOLDER runs your own.";

/// Experiments have seeds of their own.
fn own_seed(seed: clap::Arg) -> clap::Arg {
    seed.help("Seed of everything that is drawn by chance, any whole number [default: that of the experiment, or 1]")
}

/// Options of `ioda reproduce`.
#[derive(Args, Debug)]
#[command(mut_arg("seed", own_seed))]
pub(crate) struct ReproduceArgs {
    /// Experiments, such as 5a or figure-5a [default: all], or `live`, or `lab` and such as 9a
    #[arg(value_name = "EXPERIMENT")]
    experiments: Vec<String>,
    /// List the experiments and their claims
    #[arg(long)]
    list: bool,
    /// Take the experiments in this folder instead of those of the program
    #[arg(long = "experiments", value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Of these only what has all words of TEXT: experiments by id, figure or title, or else single
    /// claims by id or statement, such as `ttflash` or `6-iod1-iod2` [default: everything]
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// The seeds.
    #[command(flatten)]
    seeds: SeedArgs,
    /// Few requests on small drives, to see that everything works; figures and verdicts mean
    /// nothing then
    #[arg(long)]
    quick: bool,
    /// Of `live`: number of requests of each workload, 1 or more [default: 12000]
    #[arg(long, value_name = "N")]
    requests: Option<u64>,
    /// Of `live`: how moments are waited for, `spin` or `block`; with `block`, which is for the
    /// laboratory (`lab/`), where time is virtual, every single request is compared [default: spin]
    #[arg(long, value_name = "HOW")]
    wait: Option<Text<Wait>>,
    /// Exit with 1 if a claim does not hold; claims of statements that have another verdict than
    /// `open`, and their evidence, count as holding
    #[arg(long)]
    strict: bool,
    /// Write the statements of the papers and their verdicts as Markdown; `-` for standard output
    #[arg(long, value_name = "FILE")]
    statements: Option<PathBuf>,
    /// Write the numbers that others have published, each beside ours, as Markdown; `-` for standard
    /// output
    #[arg(long, value_name = "FILE")]
    published: Option<PathBuf>,
    /// Everything as JSON.
    #[command(flatten)]
    json: JsonArgs,
    /// Write the claims as JUnit XML, a test suite per experiment and a test case per claim; `-`
    /// for standard output
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write one HTML page per workload, and per figure that compares drives, into this folder
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Runs side by side, 1 to 1024; of no influence on any result [default: one per core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Folder of results: runs that it has are not made again, so that an interrupted command goes
    /// on. A result belongs to one build of the program [default: none; of `lab`
    /// target/lab/results]
    #[arg(long, value_name = "FOLDER")]
    results: Option<PathBuf>,
    /// Make all runs, also those whose results are kept
    #[arg(long)]
    fresh: bool,
    /// Options of the laboratory.
    #[command(flatten)]
    of_lab: LabArgs,
}

impl ReproduceArgs {
    /// The statements that its claims may show; none if the experiments are the user's.
    fn papers(&self) -> Result<Vec<statement::Paper>, Failure> {
        match self.folder {
            None => statement::builtin(),
            Some(_) => Ok(Vec::new()),
        }
    }
}

/// Runs the experiments and prints what holds.
pub(crate) fn run(args: &ReproduceArgs, talk: Talk) -> Result<Code, Failure> {
    ::live::allocator::give_back_large_blocks();
    let goes_to_stdout =
        |path: &Option<PathBuf>| path.as_deref().is_some_and(study::files::is_stdout);
    let printed = [
        ("--json", args.json.is_printed()),
        ("--junit", goes_to_stdout(&args.junit)),
        ("--statements", goes_to_stdout(&args.statements)),
        ("--published", goes_to_stdout(&args.published)),
    ];
    let mut printed = printed.into_iter().filter(|(_, is_printed)| *is_printed);
    if let (Some((one, _)), Some((other, _))) = (printed.next(), printed.next()) {
        return Err(Failure::usage(format!(
            "{one} and {other} cannot both go to standard output; name a file for one of them"
        )));
    }
    let is_named = |name: &str| args.experiments.iter().any(|one| one == name);
    if is_named(experiment::lab::NAME) {
        return lab::run(args, talk);
    }
    if let Some(option) = args.of_lab.given() {
        return Err(Failure::usage(format!("{option} is for `ioda reproduce lab` only")));
    }
    if args.fresh && args.results.is_none() {
        return Err(Failure::usage(
            "--fresh is about results that are kept: name --results FOLDER",
        ));
    }
    if args.folder.is_none() && is_named(agreement::NAME) {
        if args.results.is_some() {
            return Err(Failure::usage("--results keeps nothing of `ioda reproduce live`"));
        }
        return live::run(args, talk);
    }
    if args.requests.is_some() {
        return Err(Failure::usage("--requests is for `ioda reproduce live` only"));
    }
    if args.wait.is_some() {
        return Err(Failure::usage("--wait is for `ioda reproduce live` only"));
    }
    let all = match &args.folder {
        Some(folder) => experiment::load_folder(folder)?,
        None => experiment::builtin()?,
    };
    let selected = experiment::select(all, &args.experiments);
    let mut experiments = selected.map_err(|failure| hinted(failure, &args.experiments))?;
    if let Some(text) = &args.filter {
        experiments = experiment::filter(experiments, text);
        if experiments.is_empty() {
            return Err(Failure::usage(format!(
                "no experiment and no claim has {text:?}; see `ioda reproduce --list`"
            )));
        }
    }
    let are_all_ours =
        args.folder.is_none() && args.experiments.is_empty() && args.filter.is_none();
    if are_all_ours && !args.list {
        experiments.retain(|experiment| !experiment.on_request);
    }
    if let Some(seeds) = args.seeds.given()? {
        experiments = experiment::with_seeds(experiments, &seeds)?;
    }
    if args.list {
        let others = match are_all_ours {
            true => agreement::listed()? + experiment::lab::LISTED,
            false => String::new(),
        };
        output::print(&(list(&experiments) + &others))?;
        return Ok(Code::Ok);
    }
    let orders = experiment::gather(&experiments, args.quick)?;
    let mut outputs = Outputs::new(args, talk, orders.len())?;
    let open = |folder: &PathBuf| KeptResults::open(folder, args.fresh);
    let kept = args.results.as_ref().map(open).transpose()?;
    let how = How { threads: args.threads, kept: kept.as_ref(), watch: &talk };
    experiment::run(&experiments, &orders, args.quick, how, |event| match event {
        Event::Judged(judged) => outputs.judged(judged),
        Event::Done(done) => outputs.done(&done),
    })?;
    outputs.finish()
}

/// `failure` to find experiments called `names`, or where the one is that only the laboratory has.
fn hinted(failure: Failure, names: &[String]) -> Failure {
    let (Ok(all), Ok(others)) = (experiment::builtin(), experiment::lab::builtin()) else {
        return failure;
    };
    let is_there = |name: &&String| {
        let name = std::slice::from_ref(*name);
        experiment::select(all.clone(), name).is_err()
            && experiment::lab::select(others.clone(), name).is_ok()
    };
    match names.iter().find(is_there) {
        Some(name) => Failure::usage(format!(
            "{name} is an experiment of the laboratory: ioda reproduce {} {name}",
            experiment::lab::NAME
        )),
        None => failure,
    }
}

/// Everything that is written. What is kept while runs come and go is small: text, claims, and
/// where on the disk the documents of the runs are.
struct Outputs<'a> {
    args: &'a ReproduceArgs,
    talk: Talk,
    /// The tables of the experiments.
    text: String,
    /// Workload and notes of each group of runs, once it is done.
    summaries: Vec<String>,
    /// The document of each group of runs, if it is wanted.
    workloads: Option<Spool>,
    claims: Vec<Claim>,
    figures: Vec<Figure>,
    plans: Vec<PlanNumbers>,
    published: Vec<PublishedTable>,
    suites: Suites,
}

impl<'a> Outputs<'a> {
    /// Nothing is done of `groups` groups.
    fn new(args: &'a ReproduceArgs, talk: Talk, groups: usize) -> Result<Self, Failure> {
        if let Some(folder) = &args.output {
            std::fs::create_dir_all(folder).map_err(|error| {
                Failure::internal(format!("cannot make the folder {}: {error}", folder.display()))
            })?;
        }
        let workloads = args.json.path().map(|path| Spool::new(path, groups)).transpose()?;
        Ok(Self {
            args,
            talk,
            text: String::new(),
            summaries: vec![String::new(); groups],
            workloads,
            claims: Vec::new(),
            figures: Vec::new(),
            plans: Vec::new(),
            published: Vec::new(),
            suites: Suites::new(args.quick),
        })
    }

    /// Whether results go to standard output as a document, instead of tables.
    fn is_document_printed(&self) -> bool {
        let Self { args, .. } = self;
        let files = [&args.junit, &args.statements, &args.published].map(Option::as_deref);
        let is_printed = files.into_iter().flatten().any(study::files::is_stdout);
        self.args.json.is_printed() || is_printed
    }

    /// Shows an experiment.
    fn judged(&mut self, judged: &Judged<'_>) -> Result<(), Failure> {
        let (experiment, own, claims) = judged;
        let published = beside::tables(experiment, own);
        if !self.is_document_printed() {
            self.text += &experiment::figure(experiment, own, claims)?;
            self.text += &beside::render(&published);
        }
        self.published.extend(published);
        self.suites.add(&experiment.id, claims);
        self.claims.extend(claims.iter().cloned());
        if self.args.json.path().is_none() && self.args.output.is_none() {
            return Ok(());
        }
        for page in pages::figures(judged) {
            let Page { name, comparison } = page?;
            if let Some(folder) = &self.args.output {
                write_page(folder, &name, &comparison, self.talk)?;
            }
            self.figures.push(Figure::new(&name, &comparison));
        }
        self.plans.extend(document::plans(judged));
        Ok(())
    }

    /// Shows a group of runs.
    fn done(&mut self, done: &Done<'_>) -> Result<(), Failure> {
        let Done { index, group, claims, is_plain } = *done;
        self.summaries[index] = summary(group);
        let page = self.args.output.as_ref().filter(|_| is_plain);
        if self.args.json.path().is_none() && page.is_none() {
            return Ok(());
        }
        let comparison = pages::of_group(group, claims, self.args.quick)?;
        if let Some(folder) = page {
            write_page(folder, &group.name, &comparison, self.talk)?;
        }
        if let Some(workloads) = &mut self.workloads {
            workloads.add(index, &comparison).map_err(unwritable)?;
        }
        Ok(())
    }

    /// Writes and prints what is left to say.
    fn finish(self) -> Result<Code, Failure> {
        let is_document_printed = self.is_document_printed();
        let Self { args, claims, figures, plans, published, suites, .. } = self;
        let papers = args.papers()?;
        let statements = statement::judge(&papers, &claims);
        let holds = claims.iter().all(|claim| statement::is_settled(&statements, claim));
        let over_seeds = seeds::over_seeds(&claims);
        let mut conclusion = seeds::render(&over_seeds);
        conclusion += &self::conclusion(&claims, args.quick && !self.summaries.is_empty());
        conclusion += &statement::render(&papers, &statements);
        if let Some(path) = &args.statements {
            output::write(path, report::statements::page(&statements).trim_end())?;
        }
        if let Some(path) = &args.published {
            output::write(path, report::published::page(&published).trim_end())?;
        }
        if let Some((path, workloads)) = args.json.path().zip(self.workloads) {
            let smoke = args.quick.then(|| experiment::SMOKE.to_owned());
            let notes = smoke.into_iter().collect();
            let document = Reproduction {
                statements,
                claims,
                workloads,
                figures,
                plans,
                published,
                over_seeds,
                notes,
            };
            output::stream(path, |out| report::schema::write(out, &document))?;
        }
        if let Some(path) = &args.junit {
            output::write(path, suites.to_xml()?.trim_end())?;
        }
        if !is_document_printed {
            output::print(&(self.text + &self.summaries.concat() + &conclusion))?;
        }
        Ok(if holds || !args.strict { Code::Ok } else { Code::Failed })
    }
}

fn unwritable(error: std::io::Error) -> Failure {
    Failure::internal(format!("cannot write the results: {error}"))
}

fn list(experiments: &[Experiment]) -> String {
    let mut text = String::new();
    for experiment in experiments {
        let series = experiment.series();
        let series: Vec<&str> = series.iter().map(|one| one.name.as_str()).collect();
        text += &format!("{}: {}\n", experiment.id, experiment.title);
        if experiment.plans.is_empty() {
            text += &format!("  workloads: {}\n", experiment.tables().join(", "));
        } else {
            text += &format!("  plans: {}\n", series.join(", "));
        }
        if let Some(seeds) = experiment.seeds_in_words() {
            text += &format!("  {seeds}\n");
        }
        if !experiment.variants.is_empty() {
            text += &format!("  series: {}\n", series.join(", "));
        }
        for claim in &experiment.claims {
            text += &format!("  {}: {}\n", claim.id, claim.statement);
        }
    }
    text
}

fn write_page(
    folder: &Path,
    name: &str,
    comparison: &Comparison,
    talk: Talk,
) -> Result<(), Failure> {
    let path = folder.join(format!("{}.html", file_name(name)));
    let page = report::html::render(comparison);
    output::stream(&path, |out| out.write_all(page.as_bytes()))?;
    talk.remark(&format!("wrote {}", path.display()));
    Ok(())
}

/// `name` as part of a path on every system.
fn file_name(name: &str) -> String {
    let words = name.split(|c: char| !c.is_alphanumeric() && !matches!(c, '.' | '_' | '-'));
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join("-")
}

/// What was run, and at which intensity.
fn summary(group: &Group) -> String {
    let notes: String = group.setup.notes.iter().map(|note| format!("  {note}\n")).collect();
    format!("{}: {}\n{notes}", group.name, group.outcome.workload)
}

/// How it went.
fn conclusion(claims: &[Claim], is_smoke: bool) -> String {
    let mut text = String::new();
    if is_smoke {
        text += &format!("\n{}\n", study::table::paragraph(experiment::SMOKE, 0).trim_end());
    }
    let kinds = [
        (ClaimKind::Article, "of the papers", "docs/claims.md"),
        (ClaimKind::Ours, "of ours", "docs/figures.md"),
    ];
    for (kind, whose, page) in kinds {
        let of_kind = || claims.iter().filter(|claim| claim.kind == kind);
        let failed: Vec<&str> =
            of_kind().filter(|claim| !claim.holds).map(|claim| claim.id.as_str()).collect();
        let all = of_kind().count();
        if all == 0 {
            continue;
        }
        text += &format!("\n{} of {all} claims {whose} hold", all - failed.len());
        match failed.as_slice() {
            [] => text += ".\n",
            _ => text += &format!("; these do not: {}. See {page}.\n", failed.join(", ")),
        }
    }
    text
}
