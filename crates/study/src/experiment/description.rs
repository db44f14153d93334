//! What an experiment file says.

use super::claim::{Expectation, Over};
use super::number::Number;
use super::plan::Plan;
use super::published::Published;
use super::series::Subject;
use super::series::Variant;
use crate::failure::Failure;
use crate::settings::{self, Settings, WorkloadSettings};
use crate::values::names::Unknown;
use crate::values::quantity::{PolicyName, Text};
use report::seeds::SEED;
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// The experiments of this program, so that it works anywhere.
const BUILTIN: &[(&str, &str)] = &[
    ("table-2.toml", include_str!("../../experiments/table-2.toml")),
    ("figure-1.toml", include_str!("../../experiments/figure-1.toml")),
    ("figure-1b.toml", include_str!("../../experiments/figure-1b.toml")),
    ("figure-1c.toml", include_str!("../../experiments/figure-1c.toml")),
    ("figure-1d.toml", include_str!("../../experiments/figure-1d.toml")),
    ("table-1.toml", include_str!("../../experiments/table-1.toml")),
    ("table-1-reads.toml", include_str!("../../experiments/table-1-reads.toml")),
    ("figure-4a.toml", include_str!("../../experiments/figure-4a.toml")),
    ("figure-4c.toml", include_str!("../../experiments/figure-4c.toml")),
    ("section-4.4.toml", include_str!("../../experiments/section-4.4.toml")),
    ("section-5.toml", include_str!("../../experiments/section-5.toml")),
    ("figure-5a.toml", include_str!("../../experiments/figure-5a.toml")),
    ("figure-5b.toml", include_str!("../../experiments/figure-5b.toml")),
    ("figure-5-load.toml", include_str!("../../experiments/figure-5-load.toml")),
    ("figure-5b-ages.toml", include_str!("../../experiments/figure-5b-ages.toml")),
    ("figure-6.toml", include_str!("../../experiments/figure-6.toml")),
    ("figure-6-hits.toml", include_str!("../../experiments/figure-6-hits.toml")),
    ("figure-7.toml", include_str!("../../experiments/figure-7.toml")),
    ("figure-8.toml", include_str!("../../experiments/figure-8.toml")),
    ("figure-8-load.toml", include_str!("../../experiments/figure-8-load.toml")),
    ("figure-10a.toml", include_str!("../../experiments/figure-10a.toml")),
    ("figure-10b.toml", include_str!("../../experiments/figure-10b.toml")),
    ("figure-10c.toml", include_str!("../../experiments/figure-10c.toml")),
    ("figure-10d.toml", include_str!("../../experiments/figure-10d.toml")),
    ("figure-10e.toml", include_str!("../../experiments/figure-10e.toml")),
    ("figure-10f.toml", include_str!("../../experiments/figure-10f.toml")),
    ("figure-10g.toml", include_str!("../../experiments/figure-10g.toml")),
    ("figure-10h.toml", include_str!("../../experiments/figure-10h.toml")),
    ("figure-10h-capacity.toml", include_str!("../../experiments/figure-10h-capacity.toml")),
    ("figure-10i.toml", include_str!("../../experiments/figure-10i.toml")),
    ("figure-10j.toml", include_str!("../../experiments/figure-10j.toml")),
    ("section-6.3.1.toml", include_str!("../../experiments/section-6.3.1.toml")),
    ("figure-10k.toml", include_str!("../../experiments/figure-10k.toml")),
    ("figure-10l.toml", include_str!("../../experiments/figure-10l.toml")),
    ("figure-10l-sizes.toml", include_str!("../../experiments/figure-10l-sizes.toml")),
    ("table-4.toml", include_str!("../../experiments/table-4.toml")),
    ("figure-11a.toml", include_str!("../../experiments/figure-11a.toml")),
    ("figure-11b.toml", include_str!("../../experiments/figure-11b.toml")),
    ("figure-11c.toml", include_str!("../../experiments/figure-11c.toml")),
    ("section-6.3.6.toml", include_str!("../../experiments/section-6.3.6.toml")),
    ("section-6.3.6-load.toml", include_str!("../../experiments/section-6.3.6-load.toml")),
    ("figure-12.toml", include_str!("../../experiments/figure-12.toml")),
    ("figure-12-level.toml", include_str!("../../experiments/figure-12-level.toml")),
    ("figure-13.toml", include_str!("../../experiments/figure-13.toml")),
    ("section-6.3.9.toml", include_str!("../../experiments/section-6.3.9.toml")),
    ("section-7.1.toml", include_str!("../../experiments/section-7.1.toml")),
    ("section-7.2.toml", include_str!("../../experiments/section-7.2.toml")),
    ("section-7.3.toml", include_str!("../../experiments/section-7.3.toml")),
    ("section-7.4.toml", include_str!("../../experiments/section-7.4.toml")),
    ("tokens.toml", include_str!("../../experiments/tokens.toml")),
    ("quiet-steps.toml", include_str!("../../experiments/quiet-steps.toml")),
    ("quiet-steps-today.toml", include_str!("../../experiments/quiet-steps-today.toml")),
    ("black-box.toml", include_str!("../../experiments/black-box.toml")),
    ("black-box-paper.toml", include_str!("../../experiments/black-box-paper.toml")),
    ("black-box-wide.toml", include_str!("../../experiments/black-box-wide.toml")),
    ("black-box-loads.toml", include_str!("../../experiments/black-box-loads.toml")),
    ("black-box-mixed.toml", include_str!("../../experiments/black-box-mixed.toml")),
    ("black-box-doubles.toml", include_str!("../../experiments/black-box-doubles.toml")),
    ("black-box-drift.toml", include_str!("../../experiments/black-box-drift.toml")),
    ("ttflash-1.toml", include_str!("../../experiments/ttflash-1.toml")),
    ("ttflash-3.toml", include_str!("../../experiments/ttflash-3.toml")),
    ("ttflash-5.toml", include_str!("../../experiments/ttflash-5.toml")),
    ("ttflash-6.toml", include_str!("../../experiments/ttflash-6.toml")),
    ("ttflash-7.toml", include_str!("../../experiments/ttflash-7.toml")),
    ("ttflash-table-2.toml", include_str!("../../experiments/ttflash-table-2.toml")),
    ("ttflash-dapps.toml", include_str!("../../experiments/ttflash-dapps.toml")),
    ("ttflash-9a.toml", include_str!("../../experiments/ttflash-9a.toml")),
    ("ttflash-9b.toml", include_str!("../../experiments/ttflash-9b.toml")),
    ("ttflash-9b-dtrs.toml", include_str!("../../experiments/ttflash-9b-dtrs.toml")),
    ("ttflash-9c.toml", include_str!("../../experiments/ttflash-9c.toml")),
    ("ttflash-9d.toml", include_str!("../../experiments/ttflash-9d.toml")),
    ("ttflash-10-large.toml", include_str!("../../experiments/ttflash-10-large.toml")),
    ("ttflash-10-small.toml", include_str!("../../experiments/ttflash-10-small.toml")),
    ("ttflash-6.5.toml", include_str!("../../experiments/ttflash-6.5.toml")),
    ("ttflash-11.toml", include_str!("../../experiments/ttflash-11.toml")),
    ("ttflash-4.1.toml", include_str!("../../experiments/ttflash-4.1.toml")),
    ("ttflash-4.3.toml", include_str!("../../experiments/ttflash-4.3.toml")),
    ("ttflash-7-msnfs.toml", include_str!("../../experiments/ttflash-7-msnfs.toml")),
    ("ttflash-rates-6.toml", include_str!("../../experiments/ttflash-rates-6.toml")),
    ("ttflash-rates-dtrs.toml", include_str!("../../experiments/ttflash-rates-dtrs.toml")),
    ("ttflash-rates-tpcc.toml", include_str!("../../experiments/ttflash-rates-tpcc.toml")),
    ("ttflash-rates-t2.toml", include_str!("../../experiments/ttflash-rates-t2.toml")),
    ("ttflash-9c-printed.toml", include_str!("../../experiments/ttflash-9c-printed.toml")),
    ("ttflash-10-runs.toml", include_str!("../../experiments/ttflash-10-runs.toml")),
    ("ttflash-6.5-sizes.toml", include_str!("../../experiments/ttflash-6.5-sizes.toml")),
    ("degraded-2.toml", include_str!("../../experiments/degraded-2.toml")),
    ("degraded-5.toml", include_str!("../../experiments/degraded-5.toml")),
    ("degraded-6.toml", include_str!("../../experiments/degraded-6.toml")),
    ("degraded-7.toml", include_str!("../../experiments/degraded-7.toml")),
    ("degraded-8.toml", include_str!("../../experiments/degraded-8.toml")),
    ("degraded-9.toml", include_str!("../../experiments/degraded-9.toml")),
    ("degraded-10.toml", include_str!("../../experiments/degraded-10.toml")),
    ("degraded-11.toml", include_str!("../../experiments/degraded-11.toml")),
    ("degraded-12.toml", include_str!("../../experiments/degraded-12.toml")),
    ("degraded-12-time.toml", include_str!("../../experiments/degraded-12-time.toml")),
    ("degraded-disturb.toml", include_str!("../../experiments/degraded-disturb.toml")),
    ("degraded-13.toml", include_str!("../../experiments/degraded-13.toml")),
    ("degraded-chips.toml", include_str!("../../experiments/degraded-chips.toml")),
    ("degraded-hot.toml", include_str!("../../experiments/degraded-hot.toml")),
    ("degraded-storm.toml", include_str!("../../experiments/degraded-storm.toml")),
    ("degraded-alone.toml", include_str!("../../experiments/degraded-alone.toml")),
    ("degraded-blocks.toml", include_str!("../../experiments/degraded-blocks.toml")),
    ("degraded-table-4.toml", include_str!("../../experiments/degraded-table-4.toml")),
    ("degraded-reads.toml", include_str!("../../experiments/degraded-reads.toml")),
    ("degraded-even.toml", include_str!("../../experiments/degraded-even.toml")),
    ("degraded-fill.toml", include_str!("../../experiments/degraded-fill.toml")),
    ("degraded-13-128gb.toml", include_str!("../../experiments/degraded-13-128gb.toml")),
    ("degraded-7-hm_1.toml", include_str!("../../experiments/degraded-7-hm_1.toml")),
    ("degraded-capacity.toml", include_str!("../../experiments/degraded-capacity.toml")),
    ("plmlight-2.toml", include_str!("../../experiments/plmlight-2.toml")),
    ("plmlight-4.toml", include_str!("../../experiments/plmlight-4.toml")),
    ("plmlight-5.toml", include_str!("../../experiments/plmlight-5.toml")),
    ("plmlight-6.toml", include_str!("../../experiments/plmlight-6.toml")),
    ("plmlight-8.toml", include_str!("../../experiments/plmlight-8.toml")),
    ("plmlight-9.toml", include_str!("../../experiments/plmlight-9.toml")),
    ("plmlight-10.toml", include_str!("../../experiments/plmlight-10.toml")),
    ("plmlight-program.toml", include_str!("../../experiments/plmlight-program.toml")),
    ("plmlight-counts.toml", include_str!("../../experiments/plmlight-counts.toml")),
    ("plmlight-message.toml", include_str!("../../experiments/plmlight-message.toml")),
];

/// One experiment.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Short and stable name, as typed.
    pub id: String,
    /// The figure or section of the article.
    pub figure: String,
    /// What it shows, in one line.
    pub title: String,
    /// Whether it is run only when it is named: it takes long, and no paper has it [default: false].
    #[serde(default)]
    pub on_request: bool,
    /// How it is set up: `[array]`, `[drive]` and `[run]` as in a configuration file.
    #[serde(default)]
    pub setup: Settings,
    /// The plans, if it is about arithmetic; else it has workloads.
    #[serde(default)]
    pub plans: Vec<Plan>,
    /// The workloads.
    #[serde(default)]
    pub workloads: Vec<WorkloadSettings>,
    /// The policies; of each variant that names none.
    #[serde(default)]
    pub policies: Vec<Text<PolicyName>>,
    /// Variants of the setup, if that is what is compared.
    #[serde(default)]
    pub variants: Vec<Variant>,
    /// The seeds under which everything is run. What is shown and claimed is of all of them
    /// together [default: one, that of `setup.run`].
    #[serde(default)]
    seeds: Vec<Text<u64>>,
    /// The numbers that the figure shows.
    pub shows: Vec<Text<Number>>,
    /// What is claimed about it, by the article or by us.
    pub claims: Vec<Expectation>,
    /// Numbers that others have published about it, shown beside ours.
    #[serde(default)]
    pub published: Vec<Published>,
}

impl Experiment {
    /// The names of the workloads.
    pub fn workload_names(&self) -> impl Iterator<Item = &str> {
        self.workloads.iter().map(|workload| workload.name.as_deref().unwrap_or("tpcc"))
    }

    /// The numbers that it shows or claims something about.
    pub fn numbers(&self) -> impl Iterator<Item = Number> {
        let claimed = self.claims.iter().flat_map(|claim| claim.check.numbers());
        let published = self.published.iter().flat_map(|published| &published.metrics);
        self.shows.iter().chain(published).map(|text| text.value).chain(claimed)
    }

    /// Its seeds, if it has several; else that of its setup.
    pub(super) fn seeds(&self) -> impl Iterator<Item = Option<&Text<u64>>> {
        let one = self.seeds.is_empty().then_some(None);
        one.into_iter().chain(self.seeds.iter().map(Some))
    }

    /// Its seeds in words; none if it has one.
    pub fn seeds_in_words(&self) -> Option<String> {
        let seeds: Vec<String> = self.seeds.iter().map(|seed| seed.value.to_string()).collect();
        let (last, others) = seeds.split_last()?;
        match others {
            [] => None,
            others => Some(format!("seeds {} and {last} together", others.join(", "))),
        }
    }

    /// Its seeds as the end of a title; nothing if it has one.
    pub(super) fn seeds_in_title(&self) -> String {
        self.seeds_in_words().map_or_else(String::new, |seeds| format!(", {seeds}"))
    }

    /// What its tables are about: the workloads, or the plans.
    pub fn tables(&self) -> Vec<&str> {
        match self.plans.is_empty() {
            true => self.workload_names().collect(),
            false => vec!["plan"],
        }
    }

    /// Refuses an experiment that claims something about what it does not run.
    fn check(&self, name: &str) -> Result<(), Failure> {
        self.check_plans().map_err(|why| Failure::usage(format!("{name}: {why}")))?;
        self.check_variants(name)?;
        self.check_seeds().map_err(|why| Failure::usage(format!("{name}: {why}")))?;
        for published in &self.published {
            let series = self.series();
            let names = series.iter().map(|one| one.name.as_str());
            let is_series = |name: &str| series.iter().any(|one| one.is_called(name));
            let checked = published.check(&self.tables(), names, is_series);
            checked.map_err(|why| Failure::usage(format!("{name}: {why}")))?;
        }
        check_claims(name, &self.claims, &self.subject())
    }

    /// What its claims are about.
    pub fn subject(&self) -> Subject<'_> {
        Subject { figure: &self.figure, tables: self.tables(), series: self.series() }
    }
}

/// Refuses claims of the experiment called `name` about what is not there.
pub(super) fn check_claims(
    name: &str,
    claims: &[Expectation],
    Subject { tables, series, .. }: &Subject<'_>,
) -> Result<(), Failure> {
    for claim in claims {
        let refused = |why: String| {
            Err(Failure::usage(format!("{name}: claim {} cannot be checked: {why}", claim.id)))
        };
        let each = claim.check.is_about_each_variant();
        let is_known = |wanted: &str| {
            series.iter().any(|one| match each {
                true => one.variant_under(wanted).is_some(),
                false => one.is_called(wanted),
            })
        };
        if let Some(missing) = claim.check.series().into_iter().find(|one| !is_known(one)) {
            let names = series.iter().map(|one| one.name.as_str());
            return refused(Unknown::new("series", missing, names).to_string());
        }
        if let Err(why) = claim.check.validate().and_then(|()| claim.check_pedigree()) {
            return refused(why);
        }
        if let Some(missing) = claim.workloads.iter().find(|name| !tables.contains(&name.as_str()))
        {
            return refused(Unknown::new("workload", missing, tables.iter().copied()).to_string());
        }
        if claim.over == Over::Mean && claim.check.is_exact() {
            return refused("a mean cannot be compared with exact numbers".to_owned());
        }
        if claim.over == Over::Median && !each {
            return refused("a median is for an excess; take `mean` or `most`".to_owned());
        }
        let mut numbers = claim.check.numbers();
        let is_lost = |number: &Number| claim.over == Over::Total && !number.adds_up();
        if let Some(number) = numbers.find(is_lost) {
            return refused(format!("{number} of several workloads does not add up"));
        }
    }
    Ok(())
}

impl Experiment {
    /// Refuses plans that cannot be, and what is not about plans where there are some.
    fn check_plans(&self) -> Result<(), String> {
        match (self.workloads.is_empty(), self.plans.is_empty()) {
            (true, true) => return Err("it needs workloads or plans".to_owned()),
            (false, false) => {
                return Err("it has workloads and plans; leave one of them out".to_owned());
            }
            _ => {}
        }
        for number in self.numbers() {
            if number.is_of_laboratory() {
                return Err(format!(
                    "{number} is a number of the laboratory; see `ioda reproduce lab`"
                ));
            }
            if number.is_of_plans() == self.plans.is_empty() {
                let (of, has) = match self.plans.is_empty() {
                    true => ("plans", "workloads"),
                    false => ("runs", "plans"),
                };
                return Err(format!("{number} is a metric of {of}, but the experiment has {has}"));
            }
        }
        if self.plans.is_empty() {
            return Ok(());
        }
        let ignored = [
            ("setup", self.setup != Settings::default()),
            ("policies", !self.policies.is_empty()),
            ("variants", !self.variants.is_empty()),
            ("seeds", !self.seeds.is_empty()),
        ];
        if let Some((key, _)) = ignored.into_iter().find(|(_, given)| *given) {
            return Err(format!("{key} is not read where there are plans; leave it out"));
        }
        for plan in &self.plans {
            plan.build().map_err(|error| format!("plan {}: {error}", plan.name))?;
        }
        Ok(())
    }

    /// Refuses seeds that are said twice, or in two places.
    fn check_seeds(&self) -> Result<(), String> {
        for (index, seed) in self.seeds.iter().enumerate() {
            if self.seeds[..index].iter().any(|other| other.value == seed.value) {
                return Err(format!("seeds has {} twice; leave one of them out", seed.value));
            }
        }
        let said_again =
            self.setup.run.seed.is_some() || self.variants.iter().any(Variant::has_seed);
        if said_again && !self.seeds.is_empty() {
            return Err("it has seeds and setup.run.seed; leave one of them out".to_owned());
        }
        Ok(())
    }
}

pub(super) fn parse(text: &str, name: &str) -> Result<Experiment, Failure> {
    let experiment: Experiment = settings::parse(text, name)?;
    experiment.check(name)?;
    Ok(experiment)
}

/// The experiments of this program.
pub fn builtin() -> Result<Vec<Experiment>, Failure> {
    BUILTIN.iter().map(|(name, text)| parse(text, name)).collect()
}

/// The experiments in the files `*.toml` of a folder, in the order of their names.
pub fn load_folder(folder: &Path) -> Result<Vec<Experiment>, Failure> {
    files_in(folder)?.iter().map(|(name, text)| parse(text, name)).collect()
}

/// The files `*.toml` of a folder, each with what it says, in the order of their names.
pub(super) fn files_in(folder: &Path) -> Result<Vec<(String, String)>, Failure> {
    let failed =
        |error| Failure::usage(format!("cannot read experiments in {}: {error}", folder.display()));
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            paths.push(path);
        }
    }
    paths.sort();
    let read = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).map_err(failed)?;
        Ok((path.display().to_string(), text))
    };
    paths.iter().map(read).collect()
}

/// Those experiments that `wanted` names, by id with or without `figure-` or `section-`; all if it
/// names none.
pub fn select(all: Vec<Experiment>, wanted: &[String]) -> Result<Vec<Experiment>, Failure> {
    named(all, wanted, "experiment", |one| &one.id, ["figure-", "section-"])
}

/// Those of `all` that `wanted` names, by their ids with or without one of `prefixes`; all if it
/// names none. `what` is what one of them is called.
pub(super) fn named<E>(
    all: Vec<E>,
    wanted: &[String],
    what: &'static str,
    id: fn(&E) -> &str,
    prefixes: [&str; 2],
) -> Result<Vec<E>, Failure> {
    let short = |id: &str| {
        let id = id.to_lowercase();
        let rest = prefixes.iter().find_map(|prefix| id.strip_prefix(prefix));
        rest.unwrap_or(&id).to_owned()
    };
    let is_called = |one: &E, name: &String| short(id(one)) == short(name);
    for name in wanted {
        if !all.iter().any(|one| is_called(one, name)) {
            return Err(Failure::usage(Unknown::new(what, name, all.iter().map(id))));
        }
    }
    let is_wanted = |one: &E| wanted.is_empty() || wanted.iter().any(|name| is_called(one, name));
    Ok(all.into_iter().filter(is_wanted).collect())
}

/// `experiments` under each of `seeds`. What is under one of several says so in its names; plans,
/// which are arithmetic, stay as they are.
pub fn with_seeds(experiments: Vec<Experiment>, seeds: &[u64]) -> Result<Vec<Experiment>, Failure> {
    let mut all = Vec::new();
    for experiment in experiments {
        if !experiment.plans.is_empty() {
            all.push(experiment);
            continue;
        }
        for seed in seeds {
            let text: Text<u64> = seed.to_string().parse().map_err(Failure::internal)?;
            let mut experiment = experiment.clone();
            experiment.setup.run.seed = Some(text);
            experiment.seeds.clear();
            experiment.variants.iter_mut().for_each(Variant::keep_seed);
            if seeds.len() > 1 {
                let claims = experiment.claims.iter_mut().map(|claim| &mut claim.id);
                for name in claims.chain([&mut experiment.id, &mut experiment.title]) {
                    *name += &format!("{SEED}{seed}");
                }
            }
            all.push(experiment);
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::lab;

    #[test]
    fn the_experiments_of_this_program_are_consistent() {
        let experiments = builtin().unwrap();
        let of_laboratory = lab::builtin().unwrap();
        let of_laboratory = of_laboratory.iter().flat_map(|experiment| &experiment.claims);
        let claims = experiments.iter().flat_map(|e| &e.claims).chain(of_laboratory);
        let mut ids: Vec<&str> = claims.map(|claim| claim.id.as_str()).collect();
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count, "claims have names of their own");
        let chosen =
            select(experiments, &["5A".to_owned(), "figure-8".to_owned(), "6.3.9".to_owned()])
                .unwrap();
        assert_eq!(chosen.len(), 3);
    }

    /// The limits that claims have had, each as `id: limit`, the oldest first.
    const LIMITS: &str = include_str!("../../experiments/limits.txt");

    #[test]
    fn a_limit_that_was_changed_is_kept_with_the_reason() {
        let lines = || LIMITS.lines().filter(|line| !line.starts_with('#'));
        let experiments = builtin().unwrap();
        let of_laboratory = lab::builtin().unwrap();
        let claims = || {
            let others = of_laboratory.iter().flat_map(|experiment| &experiment.claims);
            experiments.iter().flat_map(|experiment| &experiment.claims).chain(others)
        };
        for claim in claims() {
            let prefix = format!("{}: ", claim.id);
            let mut had: Vec<&str> =
                lines().filter_map(|line| line.strip_prefix(&prefix)).collect();
            let now = had.pop().unwrap_or_else(|| {
                panic!("experiments/limits.txt lacks the line {prefix}{}", claim.limits())
            });
            assert_eq!(now, claim.limits(), "add a line to experiments/limits.txt: {prefix}");
            for limit in had {
                let is_kept = claim.was.iter().any(|was| was.limit == limit);
                assert!(is_kept, "{prefix}`was` lacks {limit:?} and the reason why it changed");
            }
        }
        // One that is given up is named with the reason, as a comment.
        let is_known =
            |line: &str| claims().any(|claim| line.starts_with(&format!("{}: ", claim.id)));
        assert_eq!(lines().find(|line| !is_known(line)), None, "a claim that is not there");
    }

    #[test]
    fn a_claim_says_where_it_and_its_limit_come_from() {
        let parse_one = |keys: &str| {
            let text = format!(
                "id='x'\nfigure='X'\ntitle=''\npolicies=['base', 'ioda']\nshows=[]\n\
                 [[workloads]]\nname='tpcc'\n\
                 [[claims]]\nid='c'\nstatement=''\n{keys}\n\
                 check.ratio={{metrics=['waf'],of='ioda',to='base',high=1}}\n"
            );
            parse(&text, "x.toml").map_err(|error| error.to_string())
        };
        let limit = "limit={from='ours',because='a tenth is noise'}";
        assert!(parse_one(&format!("kind='ours'\n{limit}")).is_ok());
        assert!(parse_one(&format!("kind='article'\narticle='less'\n{limit}")).is_ok());
        let refused = [
            ("kind='ours'", "missing field `limit`"),
            (limit, "missing field `kind`"),
            (&format!("kind='article'\n{limit}"), "it is the article's, but has no words of it"),
            (&format!("kind='ours'\narticle='less'\n{limit}"), "has words of an article"),
            ("kind='ours'\nlimit={from='article',because='1'}", "cannot be the article's"),
            ("kind='ours'\nlimit={from='ours',because=' '}", "limit.because is empty"),
            (
                &format!("kind='ours'\n{limit}\nwas=[{{limit='at most 2',because=''}}]"),
                "a former limit lacks its value or the reason",
            ),
            (&format!("kind='ours'\n{limit}\nworkloads=['azure']"), "there is no workload"),
        ];
        for (keys, wanted) in refused {
            let error = parse_one(keys).unwrap_err();
            assert!(error.contains(wanted), "{keys}: {error}");
        }
    }

    #[test]
    fn only_what_adds_up_has_a_total() {
        let parse_one = |metric: &str| {
            let text = format!(
                "id='x'\nfigure='X'\ntitle=''\npolicies=['base', 'ioda']\nshows=[]\n\
                 workloads=[{{name='tpcc'}}, {{name='azure'}}]\n\
                 [[claims]]\nid='c'\nstatement=''\nkind='ours'\nover='total'\n\
                 limit={{from='ours',because='none'}}\n\
                 check.ratio={{metrics=['{metric}'],of='ioda',to='base',high=1}}\n"
            );
            let parsed = parse(&text, "x.toml").map_err(|error| error.to_string());
            parsed.map(|experiment| experiment.claims[0].limits())
        };
        for metric in ["total_latency", "erases", "degraded_reads", "read.count"] {
            assert_eq!(parse_one(metric).unwrap(), "at most 1 times, in total");
        }
        for metric in ["read.p99", "read.mean", "waf", "blocked", "read.iops", "drive_commands"] {
            let error = parse_one(metric).unwrap_err();
            assert!(
                error.contains(&format!("{metric} of several workloads does not add up")),
                "{error}"
            );
        }
    }

    #[test]
    fn seeds_are_those_that_are_asked_for() {
        let names = |experiments: &[Experiment]| -> Vec<String> {
            experiments.iter().map(|experiment| experiment.id.clone()).collect()
        };
        let chosen = || {
            let wanted = ["table-2", "degraded-5"].map(str::to_owned);
            select(builtin().unwrap(), &wanted).unwrap()
        };
        let one = with_seeds(chosen(), &[7]).unwrap();
        assert_eq!(names(&one), names(&chosen()));
        let runs: Vec<_> = one.iter().flat_map(|one| one.wanted().unwrap()).flatten().collect();
        assert!(runs.len() > 1);
        assert!(runs.iter().all(|run| run.asked.settings.run.seed == "7".parse().ok()));
        let two = with_seeds(chosen(), &[1, 2]).unwrap();
        assert_eq!(names(&two), ["table-2", "degraded-5, seed 1", "degraded-5, seed 2"]);
        let claims = |seed: usize| two[seed].claims.iter().map(|claim| claim.id.as_str());
        assert!(claims(1).zip(claims(2)).all(|(one, two)| one != two));
    }

    #[test]
    fn an_experiment_may_have_seeds_of_its_own() {
        let with = |keys: &str| {
            let text = format!(
                "id='x'\nfigure='X'\ntitle=''\npolicies=['base']\nshows=[]\nclaims=[]\n\
                 workloads=[{{name='tpcc'}}]\n{keys}"
            );
            parse(&text, "x.toml").map_err(|error| error.to_string())
        };
        let seeds = |experiment: &Experiment| -> Vec<Option<u64>> {
            experiment.seeds().map(|seed| seed.map(|seed| seed.value)).collect()
        };
        assert_eq!(seeds(&with("").unwrap()), [None]);
        let several = with("seeds=[3, 1, '2']").unwrap();
        assert_eq!(seeds(&several), [Some(3), Some(1), Some(2)]);
        assert_eq!(several.seeds_in_words().as_deref(), Some("seeds 3, 1 and 2 together"));
        assert_eq!(with("seeds=[4]").unwrap().seeds_in_words(), None);
        // Those of the command line are judged one by one instead.
        let one_by_one = with_seeds(vec![several], &[7, 8]).unwrap();
        assert_eq!(one_by_one.iter().map(seeds).collect::<Vec<_>>(), [[None], [None]]);
        assert!(with("seeds=[1, 2, 1]").unwrap_err().contains("seeds has 1 twice"));
        for elsewhere in ["setup.run.seed=1", "variants=[{name='a', setup.run.seed=1}]"] {
            let error = with(&format!("seeds=[1, 2]\n{elsewhere}")).unwrap_err();
            assert!(error.contains("it has seeds and setup.run.seed"), "{error}");
        }
    }

    #[test]
    fn a_claim_about_nothing_that_runs_is_refused() {
        let text = "id='x'\nfigure='X'\ntitle=''\npolicies=['base']\nshows=[]\n\
            [[workloads]]\nname='tpcc'\n\
            [[claims]]\nid='c'\nstatement=''\nkind='ours'\n\
            limit={from='ours',because='none'}\n\
            check.within={metrics=['busy2plus'],of='ioda',high=0}\n";
        let error = parse(text, "x.toml").unwrap_err().to_string();
        assert_eq!(
            error,
            "x.toml: claim c cannot be checked: there is no series \"ioda\" (known: base)"
        );
    }
}
