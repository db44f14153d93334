//! From settings to something that can be run: plans, a workload and what to say about it.

pub mod faults;
pub mod firmware;
mod load;
pub mod memory;
mod pace;
pub mod planned;

use crate::describe;
use crate::failure::Failure;
use crate::settings::{
    ArraySettings, DriveFlags, DriveSettings, RunSettings, Settings, WorkloadSettings,
};
use crate::values::names::Unknown;
use crate::values::quantity::{OtherDrive, Text, exact_percent};
use crate::values::rate::Rerate;
use crate::values::words::Precondition;
use crate::watch::Watch;
use array::Level;
use array::policy::{PolicyKind, PolicySettings};
use sim::{Coordinate, Fault, Plan, Preparation, WindowPlan};
use ssd::Config;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use units::{DriveId, Duration, Instant, Ratio};
use workload::{
    HELD_REQUESTS_MOST, HotPlaces, Keep, PresetSource, ReadOptions, Source, Trace, TraceSource,
    WorkloadError,
};

/// The workload of the demonstration.
const DEFAULT_WORKLOAD: &str = "tpcc";
/// Requests of the demonstration: 64 % of them read, which makes 512 000 reads.
const TPCC_REQUESTS: u64 = 800_000;
/// The smallest chunk that is chosen unless one is given: that of the article.
const CHUNK_BYTES: u64 = 4096;
/// About as many pages has the chunk of a single drive.
const CHUNK_OF_ONE_PAGES: u64 = 256;
/// Drives of the array unless their number is given: as in the article.
pub(crate) const DRIVES: u32 = 4;
/// Time to compute a reconstructed page.
const RECONSTRUCT_COMPUTE: Duration = Duration::from_micros(3);

/// Drive writes of a run from which on it changes the state of its drives: their free space, and
/// how full victims are.
const MANY_DRIVE_WRITES: f64 = 0.25;

/// Left free on every drive for pages that policies move there.
const SPARE: Ratio = Ratio::from_percent(3);

/// Everything that is needed to run and to say what was run.
#[derive(Clone)]
pub struct Setup {
    /// One plan per policy.
    pub plans: Vec<Plan>,
    /// Where requests come from.
    pub source: Source,
    /// What happens to drives in each run.
    pub faults: Vec<(Instant, Fault)>,
    /// Runs side by side.
    pub threads: usize,
    /// The settings with which this can be repeated.
    pub settings: Settings,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// Requests that the workload will have, as far as known.
    pub requests: Option<u64>,
}

/// The drive called `name`: a preset, or the drive of a configuration file.
///
/// # Errors
///
/// If it is neither, or the file cannot be used.
pub fn drive_called(name: &str) -> Result<DriveSettings, Failure> {
    if ssd::presets::preset(name).is_some() {
        return Ok(DriveSettings::preset(name));
    }
    if Path::new(name).exists() {
        return crate::settings::drive_from(Path::new(name));
    }
    Err(Failure::usage(format!(
        "{}; nor is it a file",
        Unknown::new("drive", name, ssd::presets::names())
    )))
}

/// The drive that flags and file describe.
pub fn drive_settings(flags: &DriveFlags, file: &DriveSettings) -> Result<DriveSettings, Failure> {
    let mut settings = match flags.drive.as_deref() {
        None => file.clone(),
        Some(name) => drive_called(name)?,
    };
    settings.blocks_per_plane = flags.blocks_per_plane.or(settings.blocks_per_plane);
    if let Some(share) = &flags.over_provisioning {
        settings.over_provisioning = Some(share.clone());
    }
    settings.write_buffer = flags.write_buffer.clone().or(settings.write_buffer);
    settings.flush = flags.flush.clone().or(settings.flush);
    Ok(settings)
}

impl Setup {
    /// Works out `settings`; `default_policies` are run unless policies are named.
    pub fn new(
        settings: &Settings,
        default_policies: &[PolicyKind],
        watch: &dyn Watch,
    ) -> Result<Self, Failure> {
        Self::sharing(settings, default_policies, &mut Traces::new(watch.waiting()))
    }

    /// The same with a trace of `traces`, if it is there; else it is read, and is there from then
    /// on.
    pub fn sharing(
        settings: &Settings,
        default_policies: &[PolicyKind],
        traces: &mut Traces,
    ) -> Result<Self, Failure> {
        let run = &settings.run;
        let seed = run.seed.as_ref().map_or(1, |seed| seed.value);
        let named: Vec<PolicyKind> = run.policy.iter().map(|text| text.value.0).collect();
        let policies = if named.is_empty() { default_policies.to_vec() } else { named };
        let mut plan = prepared_plan(settings, seed, Preparation::Aged)?;
        if settings.array.spare.is_none() {
            plan.spare = usual_spare(&plan, &policies);
            plan.layout()?;
        }
        let capacity = plan.capacity_bytes()?;
        let mut notes = Vec::new();
        let kind = WorkloadKind::of(&settings.workload)?;
        let original = kind.source(settings, &plan, capacity, traces, &mut notes)?;
        if let Source::Trace(source) = &original {
            notes.extend(describe::durable(&source.trace));
        }
        let measured = load::measure(&plan, &original, capacity)?;
        let rate = match kind.rerate(settings) {
            Rerate::Auto => measured.automatic_rate(&mut notes),
            Rerate::By(rate) => rate,
            Rerate::To(load) => measured.rate_to(load, &plan, &mut notes)?,
        };
        let uses_windows = policies.iter().any(|policy| policy.uses_windows());
        if uses_windows && !matches!(kind.rerate(settings), Rerate::Auto) {
            measured.warn(rate, &mut notes);
        }
        // The rate changes nothing about it, so runs at several rates share their drives.
        plan.preparation = preparation(run, &plan, &measured, &original)?;
        let source = faster(original, rate);
        plan.timeline = Some(load::slice(&plan, measured.duration(rate)));
        let plans: Vec<Plan> =
            policies.iter().map(|&policy| Plan { policy, ..plan.clone() }).collect();
        let blind = policies.iter().filter(|policy| policy.is_blind());
        if let (Coordinate::Adaptive { .. }, Some(policy)) =
            (plan.windows.coordinate, blind.into_iter().next())
        {
            notes.push(format!(
                "under {} the host cannot adapt windows well: it sends no flagged reads, so \
                 nothing tells it that a window is too long",
                policy.label()
            ));
        }
        for plan in &plans {
            plan.layout()?;
        }
        let threads = threads(run)?;
        let mut resolved = settings.clone();
        resolved.drive = DriveSettings::full(&plan.drive);
        if plan.spare > Ratio::ZERO {
            resolved.array.spare = exact_percent(plan.spare).parse().ok();
        }
        let requests = measured.requests;
        let (settings, faults) = (resolved, Vec::new());
        Ok(Self { plans, source, faults, threads, settings, notes, requests })
    }

    /// The first plan, of which the others differ in their policies only.
    pub fn plan(&self) -> &Plan {
        &self.plans[0]
    }
}

/// Traces that were read: setups that differ in other things share them.
pub struct Traces {
    /// Takes a sentence when a pipe is silent for long.
    waiting: fn(&str),
    read: Vec<Trace>,
    /// What was wrong with pipes, which cannot be read again.
    failed: Vec<(PathBuf, String)>,
}

impl Traces {
    /// None is read yet; `waiting` takes a sentence when a pipe is silent for long.
    #[must_use]
    pub fn new(waiting: fn(&str)) -> Self {
        Self { waiting, read: Vec::new(), failed: Vec::new() }
    }

    /// The trace in a file or pipe, which is read once for all that read it in the same way.
    fn open(&mut self, path: &Path, options: &ReadOptions) -> Result<Trace, Failure> {
        if let Some(known) = self.read.iter().find(|trace| trace.is_of(path, options)) {
            return Ok(known.clone());
        }
        if let Some((_, why)) = self.failed.iter().find(|(failed, _)| failed == path) {
            return Err(Failure::data(why.clone()));
        }
        let is_pipe = Trace::is_pipe(path);
        if is_pipe && self.read.iter().any(|trace| trace.path() == path) {
            return Err(Failure::data(format!(
                "trace {} comes through a pipe and was read with other options, and a pipe can be \
                 read only once; write it to a file and name that",
                path.display()
            )));
        }
        let keep = Keep::Requests { in_memory: HELD_REQUESTS_MOST };
        match Trace::load(path, options, keep, self.waiting) {
            Ok(trace) => {
                self.read.push(trace.clone());
                Ok(trace)
            }
            Err(error) => {
                let failure = Failure::from(error);
                if is_pipe {
                    self.failed.push((path.to_owned(), failure.to_string()));
                }
                Err(failure)
            }
        }
    }
}

/// The workload of a device of `capacity_bytes` whose insides are not known, its seed, and what to
/// say about it. Nothing is made slower for the device's sake: the rate is that of the workload
/// unless it is said.
pub fn load_source(
    settings: &Settings,
    capacity_bytes: u64,
    watch: &dyn Watch,
) -> Result<(Source, u64, Vec<String>), Failure> {
    let seed = settings.run.seed.as_ref().map_or(1, |seed| seed.value);
    let plan = plan(settings, seed)?;
    let mut notes = Vec::new();
    let kind = WorkloadKind::of(&settings.workload)?;
    let mut traces = Traces::new(watch.waiting());
    let source = kind.source(settings, &plan, capacity_bytes, &mut traces, &mut notes)?;
    let rate = match settings.workload.rerate.as_ref().map(|rerate| rerate.value) {
        None | Some(Rerate::Auto) => 1.0,
        Some(Rerate::By(rate)) => rate,
        Some(Rerate::To(_)) => {
            return Err(Failure::usage(
                "--rerate cannot be a load of drives here, because nothing is known about the \
                 drives behind NBD; give a factor",
            ));
        }
    };
    Ok((faster(source, rate), seed, notes))
}

/// Refuses a trace with a pause that is probably a mistake: a replay would wait for its end for
/// years.
fn refuse_doubtful_gap(path: &str, trace: &workload::Trace) -> Result<(), Failure> {
    let gaps = trace.gaps();
    let (None, Some(gap), Some(remark)) = (gaps.limit, gaps.doubtful(), gaps.remark()) else {
        return Ok(());
    };
    // A limit of the pause itself closes nothing.
    let hours = gap.length.as_nanos().div_ceil(3_600_000_000_000);
    Err(Failure::data(format!(
        "{path}: {remark} with --close-gaps 60s, or keep them with --close-gaps {hours}h"
    )))
}

/// How many runs are made side by side.
pub fn threads(run: &RunSettings) -> Result<usize, Failure> {
    threads_or_cores(run.threads)
}

/// Threads that were asked for with `--threads`, or one for each core.
pub fn threads_or_cores(asked: Option<usize>) -> Result<usize, Failure> {
    let threads = asked.unwrap_or_else(sim::cores);
    if !(1..=1024).contains(&threads) {
        return Err(Failure::usage(format!("--threads is {threads}; it must be 1 to 1024")));
    }
    Ok(threads)
}

/// What is left free on every drive unless it is said: a little where one of the policies moves
/// pages. All get the same, so that they run on the same array.
fn usual_spare(plan: &Plan, policies: &[PolicyKind]) -> Ratio {
    let page = u64::from(plan.drive.geometry.page_bytes);
    let may_move = plan.stripe_width() < plan.width && plan.chunk_bytes == page;
    let moves = |&policy: &PolicyKind| Plan { policy, ..plan.clone() }.relocates_chunks();
    if may_move && policies.iter().any(moves) { SPARE } else { Ratio::ZERO }
}

/// The level that is asked for; that of a single drive needs no word.
fn level(array: &ArraySettings) -> Level {
    let usual = if array.drives == Some(1) { Level::Raid0 } else { Level::Raid5 };
    array.raid.as_ref().map_or(usual, |raid| raid.value.0)
}

/// Those of `policies` that can be run on the array; Base if there are none.
pub fn possible(policies: &[PolicyKind], array: &ArraySettings) -> Vec<PolicyKind> {
    let level = level(array);
    let mut possible = policies.to_vec();
    possible.retain(|policy| policy.is_possible(level));
    if possible.is_empty() { vec![PolicyKind::BASE] } else { possible }
}

/// The chunk of a drive alone, or of drives that all hold the same: large, so that few requests are
/// cut, and only where the drive's own stripes end. Not the whole drive, because a stripe of the
/// array is what writes queue up for.
fn chunk_of_one(drive: &Config) -> u64 {
    let stripe = drive.rain.map_or(1, |rain| u64::from(rain.width).saturating_sub(1).max(1));
    let pages = CHUNK_OF_ONE_PAGES.min(drive.logical_pages()).max(stripe) / stripe * stripe;
    pages * u64::from(drive.geometry.page_bytes)
}

/// Preparation of drives for a run of `source`. Unless it is given, it is this load where the run
/// itself would change their state.
fn preparation(
    run: &RunSettings,
    plan: &Plan,
    measured: &load::Measured,
    source: &Source,
) -> Result<Preparation, Failure> {
    let by_load = || Preparation::Load(Box::new(source.clone()));
    match run.precondition.as_ref().map(|text| text.value) {
        None if measured.drive_writes(plan) >= MANY_DRIVE_WRITES => Ok(by_load()),
        None => Ok(Preparation::Aged),
        Some(Precondition::Load) => match measured.writes() {
            true => Ok(by_load()),
            false => Err(Failure::usage(
                "--precondition is load, but the load writes nothing, so drives would never be \
                 steady; choose aged, steady or fresh",
            )),
        },
        Some(other) => other.without_load(),
    }
}

/// The plan of drives that are not prepared for a run.
pub fn plan(settings: &Settings, seed: u64) -> Result<Plan, Failure> {
    let asked = settings.run.precondition.as_ref().map(|text| text.value);
    prepared_plan(settings, seed, asked.unwrap_or(Precondition::Aged).without_load()?)
}

/// The plan that all policies share.
fn prepared_plan(
    settings: &Settings,
    seed: u64,
    preparation: Preparation,
) -> Result<Plan, Failure> {
    let drive = settings.drive.build()?;
    let page = u64::from(drive.geometry.page_bytes);
    let array = &settings.array;
    let run = &settings.run;
    let width = array.drives.unwrap_or(DRIVES);
    if let Some(ages) = run.ages.filter(|ages| !(1..=width).contains(ages)) {
        return Err(Failure::usage(format!(
            "--ages is {ages}, but must be 1 to {width}, the number of drives"
        )));
    }
    let level = level(array);
    // Nothing is striped over drives that all hold the same.
    let alike = level == Level::Raid1 && array.stripe_width.is_none_or(|members| members == width);
    let chunk_bytes =
        if width == 1 || alike { chunk_of_one(&drive) } else { page.max(CHUNK_BYTES) };
    let policy_settings = PolicySettings {
        write_cache: settings.stage.policy_settings(page)?,
        predictor: settings.policies.predictor(&drive.name),
        ..settings.policies.settings()?
    };
    let other_drive = |text: &Text<OtherDrive>| -> Result<(DriveId, Config), Failure> {
        let OtherDrive { place, name } = &text.value;
        Ok((*place, drive_called(name)?.build()?))
    };
    let mut plan = Plan {
        drive,
        other_drives: array.other_drive.iter().map(other_drive).collect::<Result<_, _>>()?,
        level,
        width,
        stripe_width: array.stripe_width,
        spare: array.spare.as_ref().map_or(Ratio::ZERO, |spare| spare.value.0),
        chunk_bytes: array.chunk.as_ref().map_or(chunk_bytes, |chunk| chunk.value.0),
        policy: PolicyKind::BASE,
        policy_settings,
        windows: WindowPlan::default(),
        reconstruct_compute: array
            .rebuild_compute
            .as_ref()
            .map_or(RECONSTRUCT_COMPUTE, |compute| compute.value.0),
        preparation,
        ages: run.ages,
        seed,
        verify: run.verify,
        timeline: None,
        measured: sim::Measured::default(),
    };
    plan.windows = settings.windows.plan(&plan, array.tw.as_ref().map(|tw| tw.value))?;
    plan.layout()?;
    Ok(plan)
}

/// What kind of workload a name means.
enum WorkloadKind {
    Preset(&'static workload::Preset),
    Trace(String),
    Synthetic,
}

impl WorkloadKind {
    fn of(settings: &WorkloadSettings) -> Result<Self, Failure> {
        let name = match (settings.name.as_deref(), settings.first_of_fio()) {
            (None, Some(_)) | (Some("synthetic"), _) => return Ok(Self::Synthetic),
            (None, None) => DEFAULT_WORKLOAD,
            (Some(name), _) => name,
        };
        let kind = match workload::preset(name) {
            Some(preset) => Self::Preset(preset),
            None if name == "-" || Path::new(name).exists() => Self::Trace(name.to_owned()),
            None if name.contains(['/', '.']) => {
                return Err(Failure::data(format!("there is no trace file {name}")));
            }
            None => {
                let names = workload::presets().iter().map(|preset| preset.name);
                return Err(Failure::usage(format!(
                    "{}; nor is it a file",
                    Unknown::new("workload", name, names.chain(["synthetic"]))
                )));
            }
        };
        if let Some(flag) = settings.first_of_fio() {
            return Err(Failure::usage(format!(
                "{flag} describes a synthetic workload, but the workload is {name}; say \
                 `synthetic` instead, or leave {flag} out"
            )));
        }
        Ok(kind)
    }

    /// How fast requests come.
    fn rerate(&self, settings: &Settings) -> Rerate {
        let given = settings.workload.rerate.as_ref().map(|rerate| rerate.value);
        given.unwrap_or(match self {
            Self::Preset(_) => Rerate::Auto,
            Self::Trace(_) | Self::Synthetic => Rerate::By(1.0),
        })
    }

    /// The workload at its own rate.
    fn source(
        &self,
        settings: &Settings,
        plan: &Plan,
        capacity: u64,
        traces: &mut Traces,
        notes: &mut Vec<String>,
    ) -> Result<Source, Failure> {
        let seed = plan.seed;
        let words = &settings.workload;
        self.refuse_what_does_not_apply(words)?;
        Ok(match self {
            Self::Preset(preset) => {
                let requests = match (words.requests, preset.name) {
                    (None, DEFAULT_WORKLOAD | "tpcc-recorded") => Some(TPCC_REQUESTS),
                    (requests, _) => requests,
                };
                let (bursts, hot) = (words.bursts(), hot_places(words, plan)?);
                let source = PresetSource::new(preset, seed);
                Source::Preset(PresetSource { requests, bursts, hot, ..source })
            }
            Self::Trace(path) => {
                // What is wrong with an option is said before a long file is read.
                let transform = words.transform(1.0);
                transform.check(capacity).map_err(WorkloadError::from)?;
                let trace = traces.open(Path::new(path), &words.read_options())?;
                refuse_doubtful_gap(path, &trace)?;
                notes.extend(describe::gaps(&trace));
                Source::from(TraceSource { trace, transform })
            }
            Self::Synthetic => {
                let mut synthetic = words.synthetic(seed, capacity)?;
                pace::set_rates(&mut synthetic, words, plan, capacity, notes)?;
                Source::from(synthetic)
            }
        })
    }

    /// Refuses options that this kind of workload would ignore.
    fn refuse_what_does_not_apply(&self, words: &WorkloadSettings) -> Result<(), Failure> {
        let of_traces = || {
            let flag = words.first_of_reading().or(words.first_of_changing());
            flag.map(|flag| (flag, "traces"))
        };
        let of_presets = || words.first_of_presets().map(|flag| (flag, "presets"));
        let of_both = || words.rerate.is_some().then_some(("--rerate", "traces"));
        let (refused, kind, instead) = match self {
            Self::Trace(_) => (of_presets(), "trace", "traces have bursts of their own"),
            Self::Preset(_) => {
                (of_traces(), "preset", "presets know --rerate, --requests and --seed")
            }
            Self::Synthetic => {
                let refused = of_traces().or_else(of_presets).or_else(of_both);
                (refused, "synthetic workload", "those know fio's options")
            }
        };
        match refused {
            Some((flag, owner)) => Err(Failure::usage(format!(
                "{flag} is for {owner}, but the workload is a {kind}; {instead}"
            ))),
            None => Ok(()),
        }
    }
}

/// The chunks of the first drive, if `words` say that they are hot.
fn hot_places(words: &WorkloadSettings, plan: &Plan) -> Result<Option<HotPlaces>, Failure> {
    let Some(share) = words.hot_drive.as_ref().map(|share| share.value.0.as_f64()) else {
        return Ok(None);
    };
    let layout = plan.layout()?;
    let grain_bytes = u64::from(layout.chunk_pages()) * u64::from(plan.drive.geometry.page_bytes);
    let chunks = (0..layout.stripes_per_cycle())
        .flat_map(|stripe| (0..layout.data_chunks()).map(move |chunk| (stripe, chunk)));
    let is_hot: Arc<[bool]> =
        chunks.map(|(stripe, chunk)| layout.member_of(stripe, chunk).0 == 0).collect();
    if is_hot.iter().all(|&hot| hot) {
        return Err(Failure::usage(format!(
            "--hot-drive is for arrays with data on several drives, but all data of this {} of {} is on the first; \
             give it more drives or leave the option out",
            layout.level().name(),
            plan.width
        )));
    }
    Ok(Some(HotPlaces { share, grain_bytes, is_hot }))
}

/// `source`, so many times as fast.
fn faster(source: Source, factor: f64) -> Source {
    match source {
        Source::Preset(source) => {
            Source::Preset(PresetSource { rate: source.rate * factor, ..source })
        }
        Source::Trace(mut trace) => {
            trace.transform.speed *= factor;
            Source::Trace(trace)
        }
        Source::Synthetic(synthetic) => Source::Synthetic(synthetic),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::Silent;

    /// Preparation of drives of 24 MiB for `requests` random writes of a page.
    fn preparation(requests: u64, precondition: &str) -> Preparation {
        let drive = "base = 'femu-artifact'\nchannels = 2\nchips_per_channel = 2\nblocks_per_plane = 64\n\
                     pages_per_block = 32\n";
        let text = format!(
            "[drive]\n{drive}[workload]\nrw = 'randwrite'\nrate_iops = 100\nnumber_ios = {requests}\n\
             size = '1m'\n[run]\n{precondition}"
        );
        let settings = crate::settings::parse(&text, "a.toml").unwrap();
        Setup::new(&settings, &[PolicyKind::BASE], &Silent).unwrap().plan().preparation.clone()
    }

    #[test]
    fn drives_serve_the_load_before_runs_that_would_change_their_state() {
        // A request writes two pages, to two of four drives, and a quarter of a drive is 1536
        // pages.
        assert_eq!(preparation(3_000, ""), Preparation::Aged);
        assert!(matches!(preparation(3_100, ""), Preparation::Load(_)));
        assert_eq!(preparation(3_100, "precondition = 'fresh'"), Preparation::Fresh);
        assert!(matches!(preparation(10, "precondition = 'load'"), Preparation::Load(_)));
    }
}
