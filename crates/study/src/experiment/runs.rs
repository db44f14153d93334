//! The runs that experiments need, each made once.

use super::Experiment;
use super::kept::KeptResults;
use super::memory::Memory;
use super::number::Number;
use super::plan::{Plan, Planned};
use super::series::{Asked, Series, Source, Wanted};
use crate::failure::Failure;
use crate::settings::shrink;
use crate::setup::{self, Setup};
use crate::simulate::{self, Listeners, Outcome, Told};
use crate::watch::{self, Watch};
use array::policy::PolicyKind;
use report::lab::LabMeasured;
use sim::{Measured, RunResult};
use std::sync::{Mutex, PoisonError};

/// Requests of each workload, and blocks in each plane, for a smoke.
const QUICK_REQUESTS: u64 = 3_000;
const QUICK_BLOCKS: u32 = 48;

/// What is to be run: a setup, and the policies that some experiment needs.
pub struct Order {
    name: String,
    asked: Asked,
    policies: Vec<PolicyKind>,
    /// Whether some experiment is about the reads of single drives.
    sub_reads: bool,
    /// The experiments that need it, by index, ascending.
    pub(super) experiments: Vec<usize>,
}

/// The runs of one workload in one setup.
#[derive(Clone)]
pub struct Group {
    /// The setup that was asked for.
    asked: Asked,
    /// The name of the workload, and what else tells it from the other groups.
    pub name: String,
    /// What was run.
    pub setup: Setup,
    /// What came of it.
    pub outcome: Outcome,
}

/// What one experiment is about: for each of its workloads, the runs of each variant; or its plans;
/// or for each of its applications, what was measured in the laboratory on each system.
#[derive(Default)]
pub struct Results<'a> {
    runs: Vec<Vec<Seeded<'a>>>,
    plans: Vec<Planned>,
    laboratory: Vec<Vec<Option<&'a LabMeasured>>>,
    /// Whether the runs are shortened ones.
    is_smoke: bool,
}

/// The runs of one workload in one setup.
struct Seeded<'a> {
    /// One group for each seed.
    groups: Vec<&'a Group>,
    /// The results of all seeds together, policy by policy; empty if there is one seed.
    together: Vec<RunResult>,
}

impl<'a> Seeded<'a> {
    fn new(groups: Vec<&'a Group>) -> Self {
        let mut together = Vec::new();
        if let [first, _, ..] = groups.as_slice() {
            for one in &first.outcome.results {
                let of = |group: &&'a Group| group.result(one.policy);
                let runs: Option<Vec<&RunResult>> = groups.iter().map(of).collect();
                together.extend(runs.and_then(|runs| RunResult::together(&runs)));
            }
        }
        Self { groups, together }
    }

    /// The result of a policy under the seed with this index, or of all of them together.
    fn result(&self, policy: PolicyKind, seed: Option<usize>) -> Option<&RunResult> {
        match seed {
            Some(seed) => self.groups.get(seed)?.result(policy),
            None if self.together.is_empty() => self.groups.first()?.result(policy),
            None => self.together.iter().find(|result| result.policy == policy),
        }
    }
}

impl Group {
    fn result(&self, policy: PolicyKind) -> Option<&RunResult> {
        self.outcome.results.iter().find(|result| result.policy == policy)
    }
}

impl<'a> Results<'a> {
    /// Those of `experiment` among `groups`.
    pub(super) fn of(
        groups: impl Iterator<Item = &'a Group> + Clone,
        experiment: &Experiment,
        quick: bool,
    ) -> Result<Self, Failure> {
        let find = |asked: &Asked| {
            let wanted = shrunk(asked, quick);
            groups.clone().find(|group| group.asked == wanted).ok_or_else(|| {
                Failure::internal(format!("a run of {} was not made", experiment.id))
            })
        };
        let one = |wanted: &Wanted| {
            let groups = experiment.seeds().map(|seed| find(&wanted.under(seed).asked));
            groups.collect::<Result<Vec<_>, _>>().map(Seeded::new)
        };
        let of = |wanted: &Vec<Wanted>| wanted.iter().map(one).collect();
        let runs: Vec<Vec<Seeded<'a>>> =
            experiment.wanted()?.iter().map(of).collect::<Result<_, _>>()?;
        let plans = experiment.plans.iter().map(Plan::build).collect::<Result<_, _>>()?;
        let is_smoke = quick && runs.iter().any(|variants| !variants.is_empty());
        Ok(Self { runs, plans, is_smoke, ..Self::default() })
    }

    /// Whether the runs are too short for their figures to mean anything. Plans are always exact.
    pub fn are_smoke(&self) -> bool {
        self.is_smoke
    }

    /// Those of the laboratory: for each application, those of each system that has some.
    pub(super) fn of_laboratory(laboratory: Vec<Vec<Option<&'a LabMeasured>>>) -> Self {
        Self { laboratory, ..Self::default() }
    }

    /// Number of seeds; 0 of plans.
    pub fn seeds(&self) -> usize {
        self.runs.iter().flatten().map(|seeded| seeded.groups.len()).min().unwrap_or(0)
    }

    /// What came of `series` under the workload with this index, of all seeds together.
    pub fn run(&self, workload: usize, series: &Series) -> Option<&RunResult> {
        self.plan_and_run(workload, series).map(|(_, result)| result)
    }

    /// The same, with what was run.
    pub fn plan_and_run(
        &self,
        workload: usize,
        series: &Series,
    ) -> Option<(&'a sim::Plan, &RunResult)> {
        let Source::Runs(_, policy) = series.source else { return None };
        let result = self.seeded(workload, series)?.result(policy, None)?;
        let plans = &self.group(workload, series)?.setup.plans;
        Some((plans.iter().find(|plan| plan.policy == policy)?, result))
    }

    fn seeded(&self, workload: usize, series: &Series) -> Option<&Seeded<'a>> {
        let Source::Runs(variant, _) = series.source else { return None };
        self.runs.get(workload)?.get(variant)
    }

    /// The group that `series` is of under the workload with this index; of several seeds the
    /// first.
    pub fn group(&self, workload: usize, series: &Series) -> Option<&'a Group> {
        self.seeded(workload, series)?.groups.first().copied()
    }

    /// Whether the application with this index was measured on the system of `series` in the
    /// laboratory.
    pub(super) fn has_run(&self, application: usize, series: &Series) -> bool {
        self.of_application(application, series).is_some()
    }

    /// What was measured of the application with this index in the laboratory.
    fn of_application(&self, application: usize, series: &Series) -> Option<&'a LabMeasured> {
        let Source::Laboratory(system) = series.source else { return None };
        self.laboratory.get(application)?.get(system).copied()?
    }

    /// How many samples lie beyond `number` of `series` under the workload with this index, if it
    /// is a percentile.
    pub fn samples_beyond(&self, workload: usize, series: &Series, number: Number) -> Option<u64> {
        match number {
            Number::Run(metric) => metric.samples_beyond(self.run(workload, series)?),
            Number::Plan(_) => None,
            Number::Laboratory(number) => {
                number.samples_beyond(self.of_application(workload, series)?)
            }
        }
    }

    /// `number` of `series` under the workload with this index, of all seeds together; plans have
    /// no workload.
    pub fn value(&self, workload: usize, series: &Series, number: Number) -> Option<f64> {
        self.value_under(None, workload, series, number)
    }

    /// The same under the seed with this index, if one is named.
    pub fn value_under(
        &self,
        seed: Option<usize>,
        workload: usize,
        series: &Series,
        number: Number,
    ) -> Option<f64> {
        match (number, series.source) {
            (Number::Run(metric), Source::Runs(_, policy)) => {
                self.seeded(workload, series)?.result(policy, seed).map(|run| metric.of(run))
            }
            (Number::Plan(number), Source::Plan(index)) => {
                self.plans.get(index).map(|plan| number.of(plan))
            }
            (Number::Laboratory(number), Source::Laboratory(_)) => {
                number.of(self.of_application(workload, series)?)
            }
            (Number::Run(_) | Number::Plan(_) | Number::Laboratory(_), _) => None,
        }
    }
}

/// `asked`; for a smoke with few requests, small drives, and a footprint that fits them.
fn shrunk(asked: &Asked, quick: bool) -> Asked {
    let mut asked = asked.clone();
    if quick {
        let settings = &mut asked.settings;
        let workload = &mut settings.workload;
        workload.requests = Some(QUICK_REQUESTS);
        (workload.number_ios, workload.size, workload.offset) = (None, None, None);
        shrink(&mut settings.drive, QUICK_BLOCKS);
    }
    asked
}

/// What `experiments` need, each workload once in each setup.
pub fn gather(experiments: &[Experiment], quick: bool) -> Result<Vec<Order>, Failure> {
    let mut orders: Vec<Order> = Vec::new();
    for (index, experiment) in experiments.iter().enumerate() {
        let wanted = experiment.wanted()?.into_iter().flatten();
        let under_seeds = |wanted: Wanted| -> Vec<Wanted> {
            experiment.seeds().map(|seed| wanted.under(seed)).collect()
        };
        for wanted in wanted.flat_map(under_seeds) {
            let asked = shrunk(&wanted.asked, quick);
            let Wanted { name, policies, .. } = wanted;
            let sub_reads = experiment.numbers().any(Number::needs_sub_reads);
            match orders.iter_mut().find(|order| order.asked == asked) {
                Some(order) => {
                    order.policies.extend(policies);
                    order.sub_reads |= sub_reads;
                    order.experiments.push(index);
                }
                None => {
                    let name = unlike(&orders, &name, &experiment.id);
                    let experiments = vec![index];
                    orders.push(Order { name, asked, policies, sub_reads, experiments });
                }
            }
        }
    }
    for order in &mut orders {
        order.experiments.dedup();
        let wanted = &order.policies;
        order.policies =
            PolicyKind::ALL.iter().copied().filter(|policy| wanted.contains(policy)).collect();
    }
    Ok(orders)
}

/// `name`, or something after it that no order is called: pages are named after it.
fn unlike(orders: &[Order], name: &str, experiment: &str) -> String {
    let is_free = |name: &String| orders.iter().all(|order| order.name != *name);
    let longer = format!("{name}, {experiment}");
    let numbered = (2..).map(|number| format!("{longer}, {number}"));
    let mut names = [name.to_owned(), longer.clone()].into_iter().chain(numbered);
    names.find(is_free).unwrap_or(longer)
}

/// Threads, results that are kept, and remarks of the runs.
#[derive(Clone, Copy)]
pub struct How<'a> {
    /// Runs side by side; one per core if it is not given.
    pub threads: Option<usize>,
    /// Where results are looked for and kept, if they are kept.
    pub kept: Option<&'a KeptResults>,
    /// Progress and remarks.
    pub watch: &'a dyn Watch,
}

/// Runs what was gathered, N groups side by side on N threads: most groups are of one policy, and
/// alone would leave cores idle. Each group is handed with its index to `take`, on the calling
/// thread and in the order in which they end. No group begins after the first failure, which is
/// returned. The drives of each thread may take `each_bytes`.
pub(super) fn run(
    orders: &[Order],
    how: How<'_>,
    each_bytes: u64,
    mut take: impl FnMut(usize, Group) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let How { threads, kept, watch } = how;
    if let Some(kept) = kept {
        let mut keys = Vec::new();
        for order in orders {
            keys.extend(kept.keys(&order.setup(None, watch)?));
        }
        kept.say_found(keys.into_iter(), watch);
    }
    let workers = threads.unwrap_or_else(sim::cores).clamp(1, orders.len().max(1));
    let told = watch::Told(watch);
    let watch = if workers > 1 { &told } else { watch };
    let inner = if workers > 1 { Some(1) } else { threads };
    let memory = Memory::of(workers, each_bytes);
    // What runs alone comes first, while the heap is small: what is freed there is not given back.
    let mut sequence: Vec<usize> = (0..orders.len()).collect();
    sequence.sort_by_key(|&index| !memory.is_alone(orders[index].drives_bytes()));
    let work = |place: usize| {
        let order = &orders[sequence[place]];
        let title = format!("{} ({} of {})", order.name, place + 1, orders.len());
        run_one(order, &title, How { threads: inner, kept, watch }, &memory)
    };
    sim::each_side_by_side(workers, orders.len(), work, |place, group| {
        take(sequence[place], group?)
    })
}

impl Order {
    /// Memory of its drives in bytes, once; 0 if they are refused, which its run says.
    fn drives_bytes(&self) -> u64 {
        let settings = &self.asked.settings;
        let drives = u64::from(settings.array.drives.unwrap_or(setup::DRIVES));
        settings.drive.build().map_or(0, |drive| drives * drive.memory_bytes())
    }

    /// What is to be run on `threads` threads.
    fn setup(&self, threads: Option<usize>, watch: &dyn Watch) -> Result<Setup, Failure> {
        let Asked { mut settings, faults } = self.asked.clone();
        settings.run.threads = threads;
        // Claims of different length are judged on drives in the same state.
        if settings.run.precondition.is_none() {
            settings.run.precondition = "aged".parse().ok();
        }
        let mut setup = Setup::new(&settings, &self.policies, watch)?;
        setup.faults = faults.faults(setup.plan().width)?;
        let measured =
            Measured { intervals: true, sub_reads: self.sub_reads, ..Measured::default() };
        setup.plans.iter_mut().for_each(|plan| plan.measured = measured);
        Ok(setup)
    }
}

fn run_one(order: &Order, title: &str, how: How<'_>, memory: &Memory) -> Result<Group, Failure> {
    let mut setup = order.setup(how.threads, how.watch)?;
    let _part =
        memory.take(sim::memory_bytes(&setup.plans, how.threads.unwrap_or_else(sim::cores)));
    let outcome = match how.kept {
        None => simulate::run(&setup, title, how.watch, Listeners::default())?,
        Some(kept) => run_missing(&mut setup, kept, title, how.watch)?,
    };
    let seconds: f64 = outcome.results.iter().map(|r| r.wall.as_secs_f64()).sum();
    let policies = match setup.plans.len() {
        1 => "1 policy".to_owned(),
        several => format!("{several} policies"),
    };
    how.watch.remark(&format!("{title}: {policies}, {seconds:.1} s of processor time"));
    Ok(Group { asked: order.asked.clone(), name: order.name.clone(), setup, outcome })
}

/// Runs the plans of `setup` whose results are not kept, and keeps theirs.
fn run_missing(
    setup: &mut Setup,
    kept: &KeptResults,
    title: &str,
    watch: &dyn Watch,
) -> Result<Outcome, Failure> {
    let keys = kept.keys(setup);
    let missing: Vec<usize> = (0..keys.len()).filter(|&index| !kept.has(&keys[index])).collect();
    if !missing.is_empty() {
        let failure = Mutex::new(None);
        let keep = |run: usize, result: &RunResult, told: Told| {
            let result = kept.keep(&keys[missing[run]], result, told);
            if let Err(new) = result {
                failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(new);
            }
        };
        let all = setup.plans.clone();
        setup.plans = missing.iter().map(|&index| all[index].clone()).collect();
        let listeners = Listeners { ended: Some(&keep), ..Listeners::default() };
        let made = simulate::run(setup, title, watch, listeners);
        setup.plans = all;
        made?;
        if let Some(failure) = failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(failure);
        }
    }
    let (mut results, mut about) = (Vec::new(), None);
    for key in &keys {
        let (result, told) = kept
            .find(key)?
            .ok_or_else(|| Failure::internal(format!("a result of {title} was not kept")))?;
        results.push(result);
        about = Some(told);
    }
    let about = about.ok_or_else(|| Failure::internal(format!("{title} has no runs")))?;
    Ok(about.outcome(results))
}

#[cfg(test)]
mod tests {
    use super::super::description::parse;
    use super::*;
    use crate::setup::faults::FaultArgs;

    #[test]
    fn experiments_share_the_runs_that_are_equal() {
        let plain = "id='a'\nfigure=''\ntitle=''\npolicies=['base']\nshows=[]\nclaims=[]\n\
            setup.array.raid='raid6'\nworkloads=[{name='tpcc'}]\n";
        let varied = "id='b'\nfigure=''\ntitle=''\npolicies=['ioda']\nshows=[]\nclaims=[]\n\
            workloads=[{name='tpcc'}]\n\
            [[variants]]\nname='six'\nsetup.array.raid='raid6'\n\
            [[variants]]\nname='five'\npolicies=['base','ideal']\n";
        let experiments = [parse(plain, "a.toml").unwrap(), parse(varied, "b.toml").unwrap()];
        for quick in [false, true] {
            let orders = gather(&experiments, quick).unwrap();
            let found: Vec<(&str, &[PolicyKind])> = orders
                .iter()
                .map(|order| (order.name.as_str(), order.policies.as_slice()))
                .collect();
            let shared: &[PolicyKind] = &[PolicyKind::BASE, PolicyKind::IODA];
            let own: &[PolicyKind] = &[PolicyKind::BASE, PolicyKind::IDEAL];
            assert_eq!(found, [("tpcc", shared), ("tpcc, five", own)]);
        }
    }

    #[test]
    fn each_seed_is_run_and_shared() {
        let experiment = |id: &str, seeds: &str| {
            let text = format!(
                "id='{id}'\nfigure=''\ntitle=''\npolicies=['base']\nshows=[]\nclaims=[]\n\
                 {seeds}\nworkloads=[{{name='tpcc'}}]\n"
            );
            parse(&text, "x.toml").unwrap()
        };
        let experiments = [experiment("a", "setup.run.seed=2"), experiment("b", "seeds=[1, 2, 3]")];
        let orders = gather(&experiments, false).unwrap();
        let found: Vec<(&str, &[usize])> = orders
            .iter()
            .map(|order| (order.name.as_str(), order.experiments.as_slice()))
            .collect();
        let all: [(&str, &[usize]); 3] =
            [("tpcc", &[0, 1]), ("tpcc, seed 1", &[1]), ("tpcc, seed 3", &[1])];
        assert_eq!(found, all);
    }

    #[test]
    fn different_runs_of_one_name_get_names_of_their_own() {
        let experiment = |id: &str, raid: u32| {
            let text = format!(
                "id='{id}'\nfigure=''\ntitle=''\npolicies=['base']\nshows=[]\nclaims=[]\n\
                 setup.array.raid={raid}\nworkloads=[{{name='tpcc'}}, {{name='tpcc', rerate=2}}]\n"
            );
            parse(&text, "x.toml").unwrap()
        };
        let orders = gather(&[experiment("a", 5), experiment("b", 6)], false).unwrap();
        let names: Vec<&str> = orders.iter().map(|order| order.name.as_str()).collect();
        assert_eq!(names, ["tpcc", "tpcc, a", "tpcc, b", "tpcc, b, 2"]);
    }

    #[test]
    fn a_smoke_is_small_whatever_was_asked_for() {
        let settings = crate::settings::parse(
            "workload={name='synthetic', number_ios=1000000, size='100g', phases='burst:1h'}\n\
             drive.blocks_per_plane=32\n",
            "a.toml",
        )
        .unwrap();
        let asked = Asked { settings, faults: FaultArgs::default() };
        assert!(shrunk(&asked, false) == asked);
        let small = shrunk(&asked, true).settings;
        assert_eq!(small.workload.requests, Some(QUICK_REQUESTS));
        assert_eq!((small.workload.number_ios, small.workload.size), (None, None));
        assert_eq!(small.drive.blocks_per_plane, Some(32));
        assert_eq!(small.workload.phases, asked.settings.workload.phases);
    }
}
