//! What an experiment file says.

use super::check::Check;
use super::number::Number;
use super::plan::Plan;
use super::series::Variant;
use crate::exit::Failure;
use crate::names::Unknown;
use crate::quantity::{PolicyName, Text};
use crate::settings::{self, Settings, WorkloadSettings};
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::Path;

/// The experiments of this program, so that it works anywhere.
const BUILTIN: &[(&str, &str)] = &[
    ("table-2.toml", include_str!("../../../../experiments/table-2.toml")),
    ("figure-4a.toml", include_str!("../../../../experiments/figure-4a.toml")),
    ("figure-5a.toml", include_str!("../../../../experiments/figure-5a.toml")),
    ("figure-5b.toml", include_str!("../../../../experiments/figure-5b.toml")),
    ("figure-6.toml", include_str!("../../../../experiments/figure-6.toml")),
    ("figure-7.toml", include_str!("../../../../experiments/figure-7.toml")),
    ("figure-8.toml", include_str!("../../../../experiments/figure-8.toml")),
    ("figure-10a.toml", include_str!("../../../../experiments/figure-10a.toml")),
    ("figure-10b.toml", include_str!("../../../../experiments/figure-10b.toml")),
    ("figure-10c.toml", include_str!("../../../../experiments/figure-10c.toml")),
    ("figure-10d.toml", include_str!("../../../../experiments/figure-10d.toml")),
    ("figure-10e.toml", include_str!("../../../../experiments/figure-10e.toml")),
    ("figure-10f.toml", include_str!("../../../../experiments/figure-10f.toml")),
    ("figure-10g.toml", include_str!("../../../../experiments/figure-10g.toml")),
    ("figure-10h.toml", include_str!("../../../../experiments/figure-10h.toml")),
    ("figure-10i.toml", include_str!("../../../../experiments/figure-10i.toml")),
    ("figure-10k.toml", include_str!("../../../../experiments/figure-10k.toml")),
    ("figure-10l.toml", include_str!("../../../../experiments/figure-10l.toml")),
    ("table-4.toml", include_str!("../../../../experiments/table-4.toml")),
    ("figure-11a.toml", include_str!("../../../../experiments/figure-11a.toml")),
    ("figure-11b.toml", include_str!("../../../../experiments/figure-11b.toml")),
    ("figure-11c.toml", include_str!("../../../../experiments/figure-11c.toml")),
    ("figure-12.toml", include_str!("../../../../experiments/figure-12.toml")),
    ("figure-13.toml", include_str!("../../../../experiments/figure-13.toml")),
    ("section-6.3.9.toml", include_str!("../../../../experiments/section-6.3.9.toml")),
    ("section-7.1.toml", include_str!("../../../../experiments/section-7.1.toml")),
    ("section-7.2.toml", include_str!("../../../../experiments/section-7.2.toml")),
    ("section-7.4.toml", include_str!("../../../../experiments/section-7.4.toml")),
    ("tokens.toml", include_str!("../../../../experiments/tokens.toml")),
    ("ttflash-3.toml", include_str!("../../../../experiments/ttflash-3.toml")),
    ("ttflash-5.toml", include_str!("../../../../experiments/ttflash-5.toml")),
    ("ttflash-6.toml", include_str!("../../../../experiments/ttflash-6.toml")),
    ("ttflash-7.toml", include_str!("../../../../experiments/ttflash-7.toml")),
    ("ttflash-table-2.toml", include_str!("../../../../experiments/ttflash-table-2.toml")),
    ("ttflash-9a.toml", include_str!("../../../../experiments/ttflash-9a.toml")),
    ("ttflash-9b.toml", include_str!("../../../../experiments/ttflash-9b.toml")),
    ("ttflash-9c.toml", include_str!("../../../../experiments/ttflash-9c.toml")),
    ("ttflash-9d.toml", include_str!("../../../../experiments/ttflash-9d.toml")),
    ("ttflash-10-large.toml", include_str!("../../../../experiments/ttflash-10-large.toml")),
    ("ttflash-10-small.toml", include_str!("../../../../experiments/ttflash-10-small.toml")),
    ("ttflash-6.5.toml", include_str!("../../../../experiments/ttflash-6.5.toml")),
    ("ttflash-11.toml", include_str!("../../../../experiments/ttflash-11.toml")),
    ("degraded-5.toml", include_str!("../../../../experiments/degraded-5.toml")),
    ("degraded-6.toml", include_str!("../../../../experiments/degraded-6.toml")),
    ("degraded-7.toml", include_str!("../../../../experiments/degraded-7.toml")),
    ("degraded-8.toml", include_str!("../../../../experiments/degraded-8.toml")),
    ("degraded-9.toml", include_str!("../../../../experiments/degraded-9.toml")),
    ("degraded-10.toml", include_str!("../../../../experiments/degraded-10.toml")),
    ("degraded-11.toml", include_str!("../../../../experiments/degraded-11.toml")),
    ("degraded-12.toml", include_str!("../../../../experiments/degraded-12.toml")),
    ("degraded-13.toml", include_str!("../../../../experiments/degraded-13.toml")),
    ("degraded-hot.toml", include_str!("../../../../experiments/degraded-hot.toml")),
    ("degraded-table-4.toml", include_str!("../../../../experiments/degraded-table-4.toml")),
    ("plmlight-4.toml", include_str!("../../../../experiments/plmlight-4.toml")),
    ("plmlight-8.toml", include_str!("../../../../experiments/plmlight-8.toml")),
    ("plmlight-9.toml", include_str!("../../../../experiments/plmlight-9.toml")),
    ("plmlight-10.toml", include_str!("../../../../experiments/plmlight-10.toml")),
];

/// One experiment.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Experiment {
    /// Short and stable name, as typed.
    pub(crate) id: String,
    /// The figure or section of the article.
    pub(crate) figure: String,
    /// What it shows, in one line.
    pub(crate) title: String,
    /// How it is set up: `[array]`, `[drive]` and `[run]` as in a configuration file.
    #[serde(default)]
    pub(crate) setup: Settings,
    /// The plans, if it is about arithmetic; else it has workloads.
    #[serde(default)]
    pub(crate) plans: Vec<Plan>,
    /// The workloads.
    #[serde(default)]
    pub(crate) workloads: Vec<WorkloadSettings>,
    /// The policies; of each variant that names none.
    #[serde(default)]
    pub(crate) policies: Vec<Text<PolicyName>>,
    /// Variants of the setup, if that is what is compared.
    #[serde(default)]
    pub(crate) variants: Vec<Variant>,
    /// The numbers that the figure shows.
    pub(crate) shows: Vec<Text<Number>>,
    /// What the article says.
    pub(crate) claims: Vec<Expectation>,
}

/// One claim of the article.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expectation {
    /// Short and stable name.
    pub(crate) id: String,
    /// The claim in a sentence.
    pub(crate) statement: String,
    /// The article's figure.
    pub(crate) article: String,
    /// How it is checked.
    pub(crate) check: Check,
}

impl Experiment {
    /// The names of the workloads.
    pub(crate) fn workload_names(&self) -> impl Iterator<Item = &str> {
        self.workloads.iter().map(|workload| workload.name.as_deref().unwrap_or("tpcc"))
    }

    /// What its tables are about: the workloads, or the plans.
    pub(crate) fn tables(&self) -> Vec<&str> {
        match self.plans.is_empty() {
            true => self.workload_names().collect(),
            false => vec!["plan"],
        }
    }

    /// Refuses an experiment that claims something about what it does not run.
    fn check(&self, name: &str) -> Result<(), Failure> {
        self.check_plans().map_err(|why| Failure::usage(format!("{name}: {why}")))?;
        self.check_variants(name)?;
        let series = self.series();
        for claim in &self.claims {
            let refused = |why: String| {
                Err(Failure::usage(format!("{name}: claim {} cannot be checked: {why}", claim.id)))
            };
            let is_known = |wanted: &str| series.iter().any(|one| one.is_called(wanted));
            if let Some(missing) = claim.check.series().into_iter().find(|one| !is_known(one)) {
                let names = series.iter().map(|one| one.name.as_str());
                return refused(Unknown::new("series", missing, names).to_string());
            }
            if let Err(why) = claim.check.validate() {
                return refused(why);
            }
        }
        Ok(())
    }
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
        let claimed = self.claims.iter().flat_map(|claim| claim.check.numbers());
        for number in self.shows.iter().map(|text| text.value).chain(claimed) {
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
        ];
        if let Some((key, _)) = ignored.into_iter().find(|(_, given)| *given) {
            return Err(format!("{key} is not read where there are plans; leave it out"));
        }
        for plan in &self.plans {
            plan.build().map_err(|error| format!("plan {}: {error}", plan.name))?;
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
pub(crate) fn builtin() -> Result<Vec<Experiment>, Failure> {
    BUILTIN.iter().map(|(name, text)| parse(text, name)).collect()
}

/// The experiments in the files `*.toml` of a folder, in the order of their names.
pub(crate) fn load_folder(folder: &Path) -> Result<Vec<Experiment>, Failure> {
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
    paths
        .iter()
        .map(|path| {
            let text = std::fs::read_to_string(path).map_err(failed)?;
            parse(&text, &path.display().to_string())
        })
        .collect()
}

/// Those experiments that `wanted` names, by id with or without `figure-` or `section-`; all if it
/// names none.
pub(crate) fn select(all: Vec<Experiment>, wanted: &[String]) -> Result<Vec<Experiment>, Failure> {
    for name in wanted {
        if !all.iter().any(|experiment| is_called(experiment, name)) {
            let ids = all.iter().map(|experiment| experiment.id.as_str());
            return Err(Failure::usage(Unknown::new("experiment", name, ids)));
        }
    }
    let is_wanted = |experiment: &Experiment| {
        wanted.is_empty() || wanted.iter().any(|name| is_called(experiment, name))
    };
    Ok(all.into_iter().filter(is_wanted).collect())
}

fn is_called(experiment: &Experiment, name: &str) -> bool {
    let short = |id: &str| {
        let id = id.to_lowercase();
        let number = id.strip_prefix("figure-").or_else(|| id.strip_prefix("section-"));
        number.unwrap_or(&id).to_owned()
    };
    short(&experiment.id) == short(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_experiments_of_this_program_are_consistent() {
        let experiments = builtin().unwrap();
        let mut ids: Vec<&str> =
            experiments.iter().flat_map(|e| &e.claims).map(|claim| claim.id.as_str()).collect();
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count, "claims have names of their own");
        let chosen =
            select(experiments, &["5A".to_owned(), "figure-8".to_owned(), "6.3.9".to_owned()])
                .unwrap();
        assert_eq!(chosen.len(), 3);
    }

    #[test]
    fn a_claim_about_nothing_that_runs_is_refused() {
        let text = "id='x'\nfigure='X'\ntitle=''\npolicies=['base']\nshows=[]\n\
            [[workloads]]\nname='tpcc'\n\
            [[claims]]\nid='c'\nstatement=''\narticle=''\n\
            check.within={metrics=['busy2plus'],of='ioda',high=0}\n";
        let error = parse(text, "x.toml").unwrap_err().to_string();
        assert_eq!(
            error,
            "x.toml: claim c cannot be checked: there is no series \"ioda\" (known: base)"
        );
    }
}
