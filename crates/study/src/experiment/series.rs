//! What an experiment compares: policies, variants of its setup under policies, or plans.

use super::Experiment;
use super::plan::Plan;
use crate::failure::Failure;
use crate::settings::{Settings, WorkloadSettings};
use crate::setup::faults::FaultArgs;
use crate::values::quantity::{PolicyName, Text};
use array::policy::PolicyKind;
use report::seeds::SEED;
use schemars::JsonSchema;
use serde::Deserialize;

/// A variant of an experiment: whatever it leaves out is as in the experiment.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// Short and stable name, as in checks and tables.
    pub name: String,
    /// Its policies; those of the experiment if there are none.
    #[serde(default)]
    policies: Vec<Text<PolicyName>>,
    /// What is different about the array, the drives and the run.
    #[serde(default)]
    setup: Settings,
    /// What is different about each workload.
    #[serde(default)]
    workload: WorkloadSettings,
    /// What goes wrong with its drives.
    #[serde(default)]
    faults: FaultArgs,
}

impl Variant {
    /// Whether it has a seed of its own.
    pub(super) fn has_seed(&self) -> bool {
        self.setup.run.seed.is_some()
    }

    /// Takes the seed of the experiment.
    pub(super) fn keep_seed(&mut self) {
        self.setup.run.seed = None;
    }
}

/// A plan, or one run of each workload: what checks and columns are about.
#[derive(Clone, PartialEq, Debug)]
pub struct Series {
    /// How checks name it: the plan, or the policy; with variants `variant/policy`, or the variant
    /// alone if that has one policy.
    pub name: String,
    /// How tables name it.
    pub label: String,
    /// Where its numbers come from.
    pub source: Source,
}

/// What claims are about: tables with a column of numbers for each series.
pub struct Subject<'a> {
    /// The figure or section of the article.
    pub figure: &'a str,
    /// The names of the tables.
    pub tables: Vec<&'a str>,
    /// What is compared.
    pub series: Vec<Series>,
}

/// Where the numbers of a series come from.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Source {
    /// The runs of a variant, counted from 0, under a policy.
    Runs(usize, PolicyKind),
    /// A plan, counted from 0.
    Plan(usize),
    /// The runs of the laboratory on a system, counted from 0.
    Laboratory(usize),
}

impl Series {
    /// The variant whose series under a policy this is; empty where there are no variants.
    pub(super) fn variant_under(&self, policy: &str) -> Option<&str> {
        let (variant, own) = self.name.split_once('/').unwrap_or(("", &self.name));
        own.eq_ignore_ascii_case(policy).then_some(variant)
    }

    /// Whether `name` means this one, however it is spelt.
    pub fn is_called(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }
}

/// A workload in one setup of an experiment.
#[derive(Clone, PartialEq)]
pub struct Asked {
    /// Array, drives, workload and run.
    pub settings: Settings,
    /// Faults of the drives during the run.
    pub faults: FaultArgs,
}

/// A workload in one setup, with its policies.
pub struct Wanted {
    /// The workload, and the variant if there are any.
    pub name: String,
    /// The setup.
    pub asked: Asked,
    /// The policies that are run.
    pub policies: Vec<PolicyKind>,
}

impl Wanted {
    /// The same under this seed, if there is one.
    pub(super) fn under(&self, seed: Option<&Text<u64>>) -> Self {
        let (mut name, mut asked) = (self.name.clone(), self.asked.clone());
        if let Some(seed) = seed {
            name += &format!("{SEED}{}", seed.value);
            asked.settings.run.seed = Some(seed.clone());
        }
        Self { name, asked, policies: self.policies.clone() }
    }
}

fn kinds(policies: &[Text<PolicyName>]) -> Vec<PolicyKind> {
    policies.iter().map(|text| text.value.0).collect()
}

impl Experiment {
    /// The policies of each variant; those of the experiment if there are no variants.
    fn policies_of_variants(&self) -> Vec<Vec<PolicyKind>> {
        let own = kinds(&self.policies);
        if self.variants.is_empty() {
            return vec![own];
        }
        let of = |variant: &Variant| match variant.policies.as_slice() {
            [] => own.clone(),
            policies => kinds(policies),
        };
        self.variants.iter().map(of).collect()
    }

    /// Everything that it compares, in the order of plans, or of variants and policies.
    pub fn series(&self) -> Vec<Series> {
        let plan = |(index, plan): (usize, &Plan)| Series {
            name: plan.name.clone(),
            label: plan.name.clone(),
            source: Source::Plan(index),
        };
        if !self.plans.is_empty() {
            return self.plans.iter().enumerate().map(plan).collect();
        }
        let mut all = Vec::new();
        for (variant, policies) in self.policies_of_variants().iter().enumerate() {
            let of = self.variants.get(variant).map(|variant| variant.name.as_str());
            for &policy in policies {
                let (name, label) = match (of, policies.len()) {
                    (None, _) => (policy.name().to_owned(), policy.label().to_owned()),
                    (Some(of), 1) => (of.to_owned(), of.to_owned()),
                    (Some(of), _) => {
                        let name = format!("{of}/{}", policy.name());
                        (name.clone(), name)
                    }
                };
                all.push(Series { name, label, source: Source::Runs(variant, policy) });
            }
        }
        all
    }

    /// What is to be run: for each workload, each variant.
    pub fn wanted(&self) -> Result<Vec<Vec<Wanted>>, Failure> {
        let policies = self.policies_of_variants();
        let of = |workload: &WorkloadSettings| -> Result<Vec<Wanted>, Failure> {
            let plain = Settings { workload: workload.clone(), ..self.setup.clone() };
            let name = workload.name.clone().unwrap_or_default();
            if self.variants.is_empty() {
                let policies = policies.concat();
                let asked = Asked { settings: plain, faults: FaultArgs::default() };
                return Ok(vec![Wanted { name, asked, policies }]);
            }
            let with = |(variant, policies): (&Variant, &Vec<PolicyKind>)| {
                let above =
                    Settings { workload: variant.workload.clone(), ..variant.setup.clone() };
                Ok(Wanted {
                    name: format!("{name}, {}", variant.name),
                    asked: Asked {
                        settings: plain.overlaid(&above)?,
                        faults: variant.faults.clone(),
                    },
                    policies: policies.clone(),
                })
            };
            self.variants.iter().zip(&policies).map(with).collect()
        };
        self.workloads.iter().map(of).collect()
    }

    /// Refuses variants that cannot be told apart, and settings that would be ignored.
    pub(super) fn check_variants(&self, name: &str) -> Result<(), Failure> {
        let setups = self.variants.iter().map(|variant| &variant.setup).chain([&self.setup]);
        for setup in setups {
            if setup.workload != WorkloadSettings::default() {
                return Err(Failure::usage(format!(
                    "{name}: setup.workload is not read; say it in workloads, or as workload in \
                     a variant"
                )));
            }
            if !setup.run.policy.is_empty() {
                return Err(Failure::usage(format!(
                    "{name}: setup.run.policy is not read; say it in policies"
                )));
            }
        }
        let series = self.series();
        for (index, one) in series.iter().enumerate() {
            if series.iter().skip(index + 1).any(|other| other.is_called(&one.name)) {
                return Err(Failure::usage(format!(
                    "{name}: two series are called {}; give each a name of its own",
                    one.name
                )));
            }
        }
        if self.plans.is_empty() && self.policies_of_variants().iter().any(Vec::is_empty) {
            return Err(Failure::usage(format!("{name}: it needs policies")));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::description::parse;
    use super::*;
    use array::Level;

    const HEAD: &str = "id='x'\nfigure='X'\ntitle=''\npolicies=['base','ioda']\nshows=[]\n\
        setup.array={drives=6, chunk='8k'}\nsetup.run.seed=7\n\
        workloads=[{name='tpcc', requests=5}, {name='azure'}]\n";
    const CLAIM: &str = "[[claims]]\nid='c'\nstatement=''\nkind='ours'\n\
        limit={from='ours',because='none'}\n";
    const VARIANTS: &str = "[[variants]]\nname='plain'\n\
        [[variants]]\nname='six'\npolicies=['ioda']\n\
        setup.array={raid=6}\nsetup.drive={read='50us'}\nworkload={rerate='20dwpd'}\n\
        faults={slow=['1@2s:10'], worn=['5@1s:20%']}\n";

    fn refused(text: &str) -> String {
        parse(text, "x.toml").unwrap_err().to_string()
    }

    #[test]
    fn series_are_policies_unless_there_are_variants() {
        let names = |text: &str| -> Vec<String> {
            let series = parse(text, "x.toml").unwrap().series();
            series.into_iter().map(|series| format!("{} {}", series.name, series.label)).collect()
        };
        assert_eq!(names(&format!("{HEAD}claims=[]")), ["base Base", "ioda IODA"]);
        assert_eq!(
            names(&format!("{HEAD}claims=[]\n{VARIANTS}")),
            ["plain/base plain/base", "plain/ioda plain/ioda", "six six"]
        );
    }

    #[test]
    fn variants_lie_over_setup_and_workloads() {
        let experiment = parse(&format!("{HEAD}claims=[]\n{VARIANTS}"), "x.toml").unwrap();
        let wanted = experiment.wanted().unwrap();
        assert_eq!((wanted.len(), wanted[0].len()), (2, 2));
        let (plain, six) = (&wanted[0][0], &wanted[0][1]);
        assert_eq!((plain.name.as_str(), six.name.as_str()), ("tpcc, plain", "tpcc, six"));
        assert_eq!(plain.policies, [PolicyKind::BASE, PolicyKind::IODA]);
        assert_eq!(six.policies, [PolicyKind::IODA]);
        assert!(plain.asked.faults == FaultArgs::default());
        assert_eq!(six.asked.faults.faults(6).unwrap().len(), 2);
        let array = &six.asked.settings.array;
        assert_eq!((array.drives, array.raid.as_ref().unwrap().value.0), (Some(6), Level::Raid6));
        assert_eq!(array.chunk, plain.asked.settings.array.chunk);
        assert_eq!(six.asked.settings.run, plain.asked.settings.run);
        assert!(
            six.asked.settings.drive.read.is_some() && plain.asked.settings.drive.read.is_none()
        );
        let workload = &six.asked.settings.workload;
        assert_eq!((workload.name.as_deref(), workload.requests), (Some("tpcc"), Some(5)));
        assert!(workload.rerate.is_some() && plain.asked.settings.workload.rerate.is_none());
        assert_eq!(wanted[1][1].asked.settings.workload.name.as_deref(), Some("azure"));
    }

    #[test]
    fn checks_name_series_in_either_key() {
        for key in ["policies", "series"] {
            let check = format!("check.order={{metrics=['waf'],{key}=['plain/BASE','six']}}\n");
            let text = format!("{HEAD}{VARIANTS}{CLAIM}{check}");
            let experiment = parse(&text, "x.toml").unwrap();
            assert_eq!(experiment.claims[0].check.series(), ["plain/BASE", "six"]);
        }
    }

    #[test]
    fn what_says_nothing_or_too_much_is_refused() {
        let check = |check: &str| refused(&format!("{HEAD}{VARIANTS}{CLAIM}check.{check}\n"));
        for name in ["ioda", "six/ioda", "plain"] {
            let error = check(&format!("ratio={{metrics=['waf'],of='{name}',to='six'}}"));
            assert!(error.contains(&format!("there is no series \"{name}\"")), "{error}");
            assert!(error.ends_with("(known: plain/base, plain/ioda, six)"), "{error}");
        }
        assert_eq!(
            check("order={metrics=['waf'],series=['six']}"),
            "x.toml: claim c cannot be checked: an order of 1 series says nothing; name two"
        );
        assert_eq!(
            check("order={metrics=['waf'],series=['six','plain/base'],tolerance=2}"),
            "x.toml: claim c cannot be checked: tolerance is 2, but must be 0 to 1"
        );
        let variant =
            |text: &str| refused(&format!("{HEAD}claims=[]\n{VARIANTS}[[variants]]\n{text}"));
        assert_eq!(
            variant("name='Six'\npolicies=['base']\n"),
            "x.toml: two series are called six; give each a name of its own"
        );
        assert!(variant("name='y'\nsetup.workload.rerate=2\n").contains("setup.workload is not"));
        assert!(variant("name='y'\nsetup.run.policy=['base']\n").contains("setup.run.policy is"));
        assert!(variant("name='y'\nlevel=6\n").contains("there is no key `level`"));
        let none = "id='x'\nfigure=''\ntitle=''\nshows=[]\nclaims=[]\nworkloads=[{name='tpcc'}]";
        assert_eq!(refused(none), "x.toml: it needs policies");
    }
}
