//! Counts of many runs, added up in a file.
//!
//! The file is replaced as a whole, every few seconds and at the end, so an interrupt leaves the
//! sum of what had ended. Seeds that were under way are in it by name: the next run lives through
//! them first. One process at a time has the file, by the lock of another beside it, which stays.

use super::document::{Counts, Made, Met};
use super::trial::Failed;
use super::work::{Part, Sum};
use array::Level;
use rustix::fs::{FlockOperation, flock};
use rustix::io::{Errno, retry_on_intr};
use serde::{Deserialize, Serialize};
use sim::torture::{ArrayState, Coverage, Demands, Event, Times, Transition};
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use study::Failure;

/// Name and version of the format.
const SCHEMA: &str = "ioda.torture-state/1";
/// Time between two times that the file is replaced.
const SAVE_EVERY: Duration = Duration::from_secs(5);

/// Options that decide what a seed draws and demands. Sums of different ones say nothing.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Options {
    /// Levels, in their order; none for any.
    pub(super) levels: Vec<String>,
    /// Steps of a short history.
    pub(super) steps: u32,
    /// One of this many histories is a long one; 0 for none.
    pub(super) long: u64,
    /// Whether more is demanded than arrays with `--journal degraded` promise.
    pub(super) write_hole: bool,
    /// Seed of the first history.
    pub(super) seed: u64,
}

impl Options {
    /// The first that is another in `file`, in the words of the command line.
    fn difference(&self, file: &Self) -> Option<String> {
        let levels = |levels: &[String]| match levels {
            [] => "no --level".to_owned(),
            levels => format!("--level {}", levels.join(" --level ")),
        };
        let hole = |demanded| if demanded { "--write-hole" } else { "no --write-hole" };
        let pairs = [
            (levels(&self.levels), levels(&file.levels)),
            (format!("--steps {}", self.steps), format!("--steps {}", file.steps)),
            (format!("--long {}", self.long), format!("--long {}", file.long)),
            (hole(self.write_hole).to_owned(), hole(file.write_hole).to_owned()),
            (format!("--seed {}", self.seed), format!("--seed {}", file.seed)),
        ];
        let (this, that) = pairs.into_iter().find(|(this, that)| this != that)?;
        Some(format!("has counts with {that}, and this run has {this}"))
    }
}

/// A history that failed, as it is kept.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Kept {
    /// Its seed.
    pub(super) history: String,
    /// Its array, in words.
    pub(super) array: String,
    /// What was wrong.
    pub(super) failure: String,
    /// The command that repeats it.
    pub(super) repeat: String,
}

impl Kept {
    fn of(failed: &Failed, demands: Demands) -> Self {
        Self {
            history: failed.subject.to_string(),
            array: failed.subject.history().shape.to_string(),
            failure: failed.wrong.to_string(),
            repeat: failed.subject.repeat(demands),
        }
    }
}

/// What came of the histories of a level.
#[derive(Serialize, Deserialize)]
struct OfLevel {
    level: String,
    histories: u64,
    steps: u64,
    processor_seconds: f64,
    counts: Counts,
    coverage: Vec<Met>,
    transitions: Vec<Made>,
}

/// What is in the file.
#[derive(Serialize, Deserialize)]
struct Saved {
    schema: String,
    ioda_version: String,
    options: Options,
    /// Runs that have added to it.
    runs: u64,
    /// The next seed that no run has begun.
    next_seed: u64,
    /// Seeds that were begun and have not ended.
    unfinished: Vec<u64>,
    levels: Vec<OfLevel>,
    failures: Vec<Kept>,
}

/// The first fields of a file of any version.
#[derive(Deserialize)]
struct Marked {
    schema: String,
    ioda_version: String,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Sums {
    path: PathBuf,
    /// Its lock is this process's as long as it is open.
    _lock: File,
    options: Options,
    demands: Demands,
    pub(super) runs: u64,
    pub(super) next_seed: u64,
    /// Seeds that are under way.
    under_way: BTreeSet<u64>,
    /// Seeds that an earlier run has begun, to be lived through first.
    unfinished: Vec<u64>,
    pub(super) sum: Sum,
    /// Failures of earlier runs, and then of this one.
    pub(super) failures: Vec<Kept>,
    saved_at: Instant,
    /// Why the file could not be replaced last.
    trouble: Option<io::Error>,
}

impl Sums {
    /// Opens the file, or begins one if there is none.
    pub(super) fn open(path: &Path, options: Options, demands: Demands) -> Result<Self, Failure> {
        let lock = lock(path)?;
        let mut sums = Self {
            path: path.to_owned(),
            _lock: lock,
            next_seed: options.seed,
            options,
            demands,
            runs: 1,
            under_way: BTreeSet::new(),
            unfinished: Vec::new(),
            sum: Sum::default(),
            failures: Vec::new(),
            saved_at: Instant::now(),
            trouble: None,
        };
        match std::fs::read(path) {
            Ok(bytes) => sums.go_on_from(&bytes)?,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => {
                return Err(Failure::internal(format!("cannot read {}: {error}", path.display())));
            }
        }
        // What cannot be written is said before an hour of work, not after it.
        sums.save().map_err(|error| study::files::cannot_write(path, error))?;
        Ok(sums)
    }

    fn go_on_from(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let name = self.path.display();
        let marked: Marked = serde_json::from_slice(bytes).map_err(|error| {
            Failure::data(format!("{name} is no file of --state: {error}; choose another file"))
        })?;
        if marked.schema != SCHEMA {
            return Err(Failure::data(format!(
                "{name} has the format {:?}, and this ioda writes {SCHEMA:?}: choose another file",
                marked.schema
            )));
        }
        let version = env!("CARGO_PKG_VERSION");
        if marked.ioda_version != version {
            return Err(Failure::data(format!(
                "{name} has counts of ioda {}, and this is {version}, which draws other histories: choose another file",
                marked.ioda_version
            )));
        }
        let damaged = |what: &dyn std::fmt::Display| {
            Failure::data(format!("{name} is damaged: {what}; choose another file"))
        };
        let saved: Saved = serde_json::from_slice(bytes).map_err(|error| damaged(&error))?;
        if let Some(difference) = self.options.difference(&saved.options) {
            return Err(Failure::usage(format!(
                "{name} {difference}: give the same options, or another file"
            )));
        }
        for level in &saved.levels {
            let known = Level::ALL.into_iter().find(|known| known.name() == level.level);
            let known =
                known.ok_or_else(|| damaged(&format_args!("no level is {:?}", level.level)))?;
            *self.sum.part_mut(known) = level.part().map_err(|what| damaged(&what))?;
        }
        self.runs = saved.runs + 1;
        self.next_seed = saved.next_seed;
        self.unfinished = saved.unfinished;
        self.failures = saved.failures;
        Ok(())
    }

    /// The seed of the next history.
    pub(super) fn begin(&mut self) -> u64 {
        let seed = self.unfinished.pop().unwrap_or_else(|| {
            let seed = self.next_seed;
            self.next_seed = seed.wrapping_add(1);
            seed
        });
        self.under_way.insert(seed);
        seed
    }

    /// The history of a seed has ended.
    pub(super) fn end(&mut self, seed: u64, sum: Sum) {
        self.under_way.remove(&seed);
        let new = sum.failed.iter().map(|failed| Kept::of(failed, self.demands));
        self.failures.extend(new.collect::<Vec<Kept>>());
        let has_failed = !sum.failed.is_empty();
        self.sum.join(sum);
        if has_failed || self.saved_at.elapsed() >= SAVE_EVERY {
            self.trouble = self.save().err();
        }
    }

    /// The run is over.
    pub(super) fn finish(&mut self) -> Result<(), Failure> {
        self.sum.failed.sort_by_key(|failed| failed.index);
        self.save().map_err(|error| study::files::cannot_write(&self.path, error))
    }

    /// Replaces the file: a power failure leaves the old one or the new one.
    fn save(&mut self) -> io::Result<()> {
        let text = serde_json::to_string_pretty(&self.saved()).map_err(io::Error::other)? + "\n";
        let partial = beside(&self.path, ".partial");
        let mut file = File::create(&partial)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&partial, &self.path)?;
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
        self.saved_at = Instant::now();
        Ok(())
    }

    fn saved(&self) -> Saved {
        let met = Level::ALL.into_iter().filter(|level| self.sum.part(*level).histories > 0);
        Saved {
            schema: SCHEMA.to_owned(),
            ioda_version: env!("CARGO_PKG_VERSION").to_owned(),
            options: self.options.clone(),
            runs: self.runs,
            next_seed: self.next_seed,
            unfinished: self.unfinished.iter().chain(&self.under_way).copied().collect(),
            levels: met.map(|level| OfLevel::of(level, self.sum.part(level))).collect(),
            failures: self.failures.clone(),
        }
    }
}

impl OfLevel {
    fn of(level: Level, part: &Part) -> Self {
        let pairs =
            Event::ALL.into_iter().flat_map(|event| ArrayState::ALL.map(|state| (event, state)));
        let met = pairs.map(|(event, state)| Met::of(&part.coverage, event, state));
        Self {
            level: level.name().to_owned(),
            histories: part.histories,
            steps: part.steps,
            processor_seconds: part.processor.as_secs_f64(),
            counts: Counts::of(part),
            coverage: met.filter(|met| met.met > 0).collect(),
            transitions: Transition::ALL.map(|made| Made::of(&part.coverage, made)).to_vec(),
        }
    }

    fn part(&self) -> Result<Part, String> {
        let mut coverage = Coverage::default();
        for Met { event, state, met } in &self.coverage {
            let known = Event::ALL.into_iter().find(|known| known.name() == event);
            let known_state = ArrayState::ALL.into_iter().find(|known| known.name() == state);
            let (Some(event), Some(state)) = (known, known_state) else {
                return Err(format!("nothing is called {event:?} while {state:?}"));
            };
            coverage.add_counted(event, state, *met);
        }
        for Made { transition, times, histories } in &self.transitions {
            let known = Transition::ALL.into_iter().find(|known| known.name() == transition);
            let known = known.ok_or_else(|| format!("no transition is {transition:?}"))?;
            coverage.add_made(known, Times { times: *times, histories: *histories });
        }
        let processor = Duration::try_from_secs_f64(self.processor_seconds)
            .map_err(|error| format!("processor_seconds is {}: {error}", self.processor_seconds))?;
        let counts = self.counts.counts();
        let Self { histories, steps, .. } = *self;
        Ok(Part { histories, steps, processor, counts, coverage })
    }
}

/// The name of a file beside this one.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Takes the lock of a file of counts. The file itself is replaced again and again, so another has
/// the lock.
fn lock(path: &Path) -> Result<File, Failure> {
    let beside = beside(path, ".lock");
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(&beside);
    let file = file.map_err(|error| study::files::cannot_write(&beside, error))?;
    match retry_on_intr(|| flock(&file, FlockOperation::NonBlockingLockExclusive)) {
        Ok(()) => Ok(file),
        Err(Errno::WOULDBLOCK) => Err(Failure::usage(format!(
            "{} is in use by another ioda torture; wait until it has ended, or choose another file",
            path.display()
        ))),
        Err(error) => Err(Failure::internal(format!(
            "cannot lock {}: {error}; choose a file on a file system that has locks",
            beside.display()
        ))),
    }
}
