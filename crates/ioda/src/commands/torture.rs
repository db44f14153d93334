//! `ioda torture`: whole arrays under power cuts, failing drives and orders, as seeds draw them or
//! as every short script has them.

pub(crate) mod document;
pub(crate) mod planted;
mod show;
mod state;
mod trial;
mod work;

use crate::exit::Code;
use crate::flags::JsonArgs;
use crate::output;
use crate::progress;
use crate::talk::Talk;
use array::Level;
use clap::Args;
use sim::torture::{Case, Demands, History, Script};
use state::{Options, Sums};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use study::Failure;
use study::Watch;
use study::values::quantity::{Raid, Span, Text};
use trial::Subject;
use work::{Queue, Sum, Until};

pub(crate) const EXAMPLES: &str = "\
Examples:
  ioda torture
      a thousand histories on arrays of all levels: of 200 steps, and one of 200 of 30000
  ioda torture --level raid6 --level raid10 --time 1h
      two levels, for an hour
  ioda torture --seed 17 --story
      one history, event by event
  ioda torture --sweep --level raid5
      every sequence of two orders, with the power cut at every command of the disks
  ioda torture --script raid5:write,fail,replace:mixed:17 --story
      one of those: the power goes at the 17th command, and the disks lose different things
  ioda torture --planted=half-retired-unsynced,replay-reversed
      how many histories find these bugs, in a program that is built with the feature `planted`
  ioda torture --level raid5 --state raid5.json --for 10m
      ten minutes of processor time, added up in a file: the same line again goes on where this ends
  ioda torture --steps 30000 --seeds 20
      long histories only
  ioda torture --write-hole
      demands more than is promised: arrays with `--journal degraded` are known to fail this

The engine, its durability and its recovery are those of `ioda serve`; disks, clients and the
clock are simulated. What is promised against which faults, and what is not: docs/durability.md.

With --state Ctrl-C ends the run when the histories that have begun have ended. A second one ends
it at once, and the next run begins those again. A failure stays in the file: each later run names
it and ends with code 4.

A history that fails is named with the line that repeats it, and the first is made as short as it
gets. An array that panics fails its history, and the others go on.

Exit code 4 if a history failed.";

/// Levels that can lose a drive.
const LEVELS: [Level; 5] = [Level::Raid1, Level::Raid4, Level::Raid5, Level::Raid6, Level::Raid10];

/// Histories unless their number is given.
const HISTORIES: u64 = 1000;

/// Options of `ioda torture`.
#[derive(Args, Debug)]
pub(crate) struct TortureArgs {
    /// RAID level: raid1, raid4, raid5, raid6 or raid10; repeatable [default: any]
    #[arg(long, value_name = "LEVEL")]
    level: Vec<Text<Raid>>,
    /// Seed of the first history, any whole number, and of the only one unless --seeds, --time,
    /// --for or --state asks for more [default: 1]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// So many seeds, counted from --seed, a history for each [default: 1000, or 1 with --seed]
    #[arg(long, value_name = "N")]
    seeds: Option<u64>,
    /// As many histories as end in this time, such as 10m or 1h, instead of a number of them
    #[arg(long, value_name = "TIME", conflicts_with = "seeds")]
    time: Option<Text<Span>>,
    /// Processor time of all threads together, such as 10m or 1h, after which no history begins,
    /// instead of a number of them
    #[arg(long = "for", value_name = "TIME", conflicts_with_all = ["seeds", "time"])]
    processor_time: Option<Text<Span>>,
    /// File in which counts of runs with the same options are added up; the next run goes on with
    /// the next seed
    #[arg(long, value_name = "FILE", conflicts_with_all = ["sweep", "script", "story"])]
    state: Option<PathBuf>,
    /// Steps of a history, 1 to 100000 [default: 200]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    steps: Option<u32>,
    /// One of N histories has 30000 steps, 0 for none [default: 200, or 0 with --steps]
    #[arg(long, value_name = "N")]
    long: Option<u64>,
    /// Every short script, with the power cut at every command of the disks, instead of what seeds
    /// draw
    #[arg(long, conflicts_with_all = ["seed", "seeds", "time", "steps", "processor_time", "long"])]
    sweep: bool,
    /// Most acts of the scripts of --sweep, 1 to 5; each more takes about twenty times as long
    #[arg(long, value_name = "N", default_value_t = 2, requires = "sweep",
        value_parser = clap::value_parser!(u8).range(1..=5))]
    length: u8,
    /// One script, such as raid5:write,fail:mixed:17: LEVEL:ACTS, or LEVEL:ACTS:LOSS:COMMANDS for a
    /// power cut after that many commands; the level with -degraded is an array that journals only
    /// while drives are missing
    #[arg(long, value_name = "SCRIPT",
        conflicts_with_all = ["sweep", "level", "seed", "seeds", "time", "steps", "processor_time", "long"])]
    script: Option<Case>,
    /// Demand of RAID-4, 5 and 6 that journal only while drives are missing (`--journal degraded`,
    /// scripts of raid5-degraded) that drives may be lost in the moment of a power cut, which is
    /// always demanded of all others. They do not promise it (the write hole): failures are
    /// expected
    #[arg(long)]
    write_hole: bool,
    /// Plant bugs, one at a time, and count the histories from each of three seeds until it is
    /// found, at most --seeds [default: 2000]. Each bug loses or falsifies data in some history.
    /// Without names: all bugs. Needs a program that is built with the feature `planted`
    #[arg(long, value_name = "NAME,...", num_args = 0.., require_equals = true, value_delimiter = ',',
        conflicts_with_all = ["time", "processor_time", "state", "long", "sweep", "script", "write_hole", "story"])]
    planted: Option<Vec<String>>,
    /// Print the events of the history of --seed or --script
    #[arg(long)]
    story: bool,
    /// Do not make the first failure short
    #[arg(long)]
    no_shrink: bool,
    /// Histories side by side, 1 to 1024; of no influence on any result [default: one per core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Everything as JSON.
    #[command(flatten)]
    json: JsonArgs,
}

/// Tortures, and says what came of it.
pub(crate) fn run(args: &TortureArgs, talk: Talk) -> Result<Code, Failure> {
    let demands = Demands { write_hole: args.write_hole };
    let levels = levels(&args.level)?;
    let threads = study::setup::threads_or_cores(args.threads)?;
    if let Some(names) = &args.planted {
        return planted::run(args, names, levels, threads, talk);
    }
    let one = one(args, &levels)?;
    if args.story && one.is_none() {
        return Err(Failure::usage(
            "--story is for one history; choose it with --seed or --script",
        ));
    }
    trial::catch_panics();
    let started = Instant::now();
    let drawing = Drawing::of(args, &levels, demands);
    let Done { sum, title, histories, failures_before, state } = match (&one, &args.state) {
        (Some(subject), _) => Done::of(Sum::of(subject, demands), "one history".to_owned()),
        (None, Some(path)) => drawing.add_up(path, threads, talk)?,
        (None, None) if args.sweep => sweep(args, &levels, demands, threads, talk),
        (None, None) => drawing.drawn(threads, talk),
    };
    let seconds = started.elapsed().as_secs_f64();
    let one_only = one.is_some();
    let story = one.filter(|_| args.story).map(|subject| trial::story(&subject.history(), demands));
    let shortest = sum.failed.first().filter(|_| !args.no_shrink).map(|failed| {
        talk.remark(&format!("making the history of {} short", failed.subject));
        trial::shortest(failed, demands)
    });
    // What scripts do not have they cannot meet, and one history does not meet everything.
    let levels = match levels.is_empty() {
        _ if args.sweep || one_only => Vec::new(),
        true => LEVELS.to_vec(),
        false => levels,
    };
    let shown = show::Shown {
        title,
        sum,
        histories,
        seconds,
        levels,
        demands,
        story,
        shortest,
        failures_before,
        state,
    };
    output::show(args.json.path(), || document::of(&shown), || shown.text())?;
    match shown.sum.failed.len() + shown.failures_before.len() {
        0 => Ok(Code::Ok),
        failed => {
            let histories = shown.sum.total().histories;
            Err(Failure::internal(format!("{failed} of {histories} histories failed")))
        }
    }
}

/// What was done.
struct Done {
    sum: Sum,
    title: String,
    /// Histories of this run.
    histories: u64,
    failures_before: Vec<state::Kept>,
    /// The file in which counts are added up, the runs that have added to it, and its next seed.
    state: Option<(String, u64, u64)>,
}

impl Done {
    fn of(sum: Sum, title: String) -> Self {
        let histories = sum.total().histories;
        Self { sum, title, histories, failures_before: Vec::new(), state: None }
    }
}

/// The one history that is asked for.
fn one(args: &TortureArgs, levels: &[Level]) -> Result<Option<Subject>, Failure> {
    if let Some(case) = &args.script {
        if !LEVELS.contains(&case.script.level) {
            return Err(no_such_level(case.script.level));
        }
        return Ok(Some(Subject::Case(case.clone())));
    }
    let is_alone = args.time.is_none()
        && args.processor_time.is_none()
        && args.state.is_none()
        && args.seeds.is_none_or(|seeds| seeds == 1);
    let Some(seed) = args.seed.filter(|_| is_alone) else { return Ok(None) };
    if levels.len() > 1 {
        return Err(Failure::usage("--seed is for one history, so --level can be given once"));
    }
    let demands = Demands { write_hole: args.write_hole };
    Ok(Some(Drawing::of(args, levels, demands).subject(seed)))
}

fn levels(named: &[Text<Raid>]) -> Result<Vec<Level>, Failure> {
    let levels: Vec<Level> = named.iter().map(|text| text.value.0).collect();
    match levels.iter().find(|level| !LEVELS.contains(level)) {
        Some(level) => Err(no_such_level(*level)),
        None => Ok(levels),
    }
}

fn no_such_level(level: Level) -> Failure {
    let name = level.name();
    Failure::usage(format!("the level is {name}; it must be raid1, raid4, raid5, raid6 or raid10"))
}

/// Steps of a short history unless their number is given.
const STEPS: u32 = 200;
/// One of this many histories is a long one, unless the number of steps is given.
const LONG: u64 = 200;

/// What seeds draw, and how many.
struct Drawing<'a> {
    levels: &'a [Level],
    steps: u32,
    long: u64,
    first: u64,
    until: Until,
    /// Histories, if their number is known.
    total: Option<u64>,
    demands: Demands,
}

impl<'a> Drawing<'a> {
    fn of(args: &TortureArgs, levels: &'a [Level], demands: Demands) -> Self {
        let time = |span: &Option<Text<Span>>| {
            span.as_ref().map(|time| Duration::from_nanos(time.value.0.as_nanos()))
        };
        let count = args.seeds.unwrap_or(HISTORIES);
        let until = match (time(&args.time), time(&args.processor_time)) {
            (Some(time), _) => Until::Time(Instant::now() + time),
            (None, Some(time)) => Until::Processor(time),
            (None, None) => Until::Number(count),
        };
        Self {
            levels,
            steps: args.steps.unwrap_or(STEPS),
            long: args.long.unwrap_or(if args.steps.is_some() { 0 } else { LONG }),
            first: args.seed.unwrap_or(1),
            until,
            total: matches!(until, Until::Number(_)).then_some(count),
            demands,
        }
    }

    /// The history of a seed. Its level and length depend on nothing but the seed.
    fn subject(&self, seed: u64) -> Subject {
        let level = self.levels.get((seed % self.levels.len().max(1) as u64) as usize).copied();
        let is_long = History::is_long(seed, self.long);
        let steps = if is_long { History::LONG_STEPS } else { self.steps };
        Subject::Seed { seed, level, steps }
    }

    fn title(&self, first: u64) -> String {
        let long = match self.long {
            0 => String::new(),
            one_of => format!(", one of {one_of} of {}", History::LONG_STEPS),
        };
        format!("histories of {} steps{long}, seeds from {first}", self.steps)
    }

    fn drawn(&self, threads: usize, talk: Talk) -> Done {
        let done = AtomicU64::new(0);
        let work = |index: u64, sum: &mut Sum| {
            sum.add(index, &self.subject(self.first.wrapping_add(index)), self.demands);
            done.fetch_add(1, Ordering::Relaxed);
        };
        let queue = Queue::new(self.until);
        let sum = progress::counting_all(
            talk.progress,
            "torture",
            "histories",
            self.total,
            &done,
            || work::summed(threads, &queue, work),
        );
        Done::of(sum, self.title(self.first))
    }

    /// The same, added to the counts of a file.
    fn add_up(&self, path: &Path, threads: usize, talk: Talk) -> Result<Done, Failure> {
        let options = Options {
            levels: self.levels.iter().map(|level| level.name().to_owned()).collect(),
            steps: self.steps,
            long: self.long,
            write_hole: self.demands.write_hole,
            seed: self.first,
        };
        let mut opened = Sums::open(path, options, self.demands)?;
        let failures_before = opened.failures.clone();
        let before = opened.sum.total().histories;
        let sums = Mutex::new(&mut opened);
        let locked = || sums.lock().unwrap_or_else(PoisonError::into_inner);
        let done = AtomicU64::new(0);
        let queue = Arc::new(Queue::new(self.until));
        let asked = Arc::clone(&queue);
        let signals = live::operate::signals::watch(move || asked.stop())
            .map_err(|error| Failure::internal(format!("cannot wait for signals: {error}")))?;
        let work = |index: u64, _: &mut Sum| {
            let seed = locked().begin();
            let mut sum = Sum::default();
            sum.add(index, &self.subject(seed), self.demands);
            locked().end(seed, sum);
            done.fetch_add(1, Ordering::Relaxed);
        };
        progress::counting_all(talk.progress, "torture", "histories", self.total, &done, || {
            work::side_by_side(threads, &queue, work, drop);
        });
        drop(signals);
        opened.finish()?;
        let state = Some((path.display().to_string(), opened.runs, opened.next_seed));
        let histories = opened.sum.total().histories - before;
        let title = self.title(self.first);
        Ok(Done { sum: opened.sum, title, histories, failures_before, state })
    }
}

/// Every short script with every cut.
fn sweep(
    args: &TortureArgs,
    levels: &[Level],
    demands: Demands,
    threads: usize,
    talk: Talk,
) -> Done {
    let length = usize::from(args.length);
    let levels = if levels.is_empty() { &LEVELS[..] } else { levels };
    let scripts: Vec<Script> =
        levels.iter().flat_map(|level| Script::all(*level, length)).collect();
    let count = scripts.len() as u64;
    let done = AtomicU64::new(0);
    let queue = Queue::new(Until::Number(count));
    let sum = progress::counting_all(talk.progress, "sweep", "scripts", Some(count), &done, || {
        work::summed(threads, &queue, |index, sum| {
            if let Some(script) = scripts.get(index as usize) {
                work::every_cut(index, script, demands, sum);
            }
            done.fetch_add(1, Ordering::Relaxed);
        })
    });
    Done::of(sum, format!("{count} scripts of up to {length} acts, cut at every command"))
}
