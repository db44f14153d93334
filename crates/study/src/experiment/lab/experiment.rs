//! What an experiment file of the laboratory says.

use crate::experiment::claim::Expectation;
use crate::experiment::description::{check_claims, files_in, named};
use crate::experiment::filter::keeps;
use crate::experiment::number::Number;
use crate::experiment::series::Subject;
use crate::experiment::series::{Series, Source};
use crate::failure::Failure;
use crate::settings;
use crate::values::names::Unknown;
use crate::values::quantity::{PolicyName, Text};
use crate::values::typed::Spelled;
use report::lab::LabSystem;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// The experiments of this program, so that it works anywhere.
const BUILTIN: &[(&str, &str)] = &[
    ("mixes.toml", include_str!("../../../experiments/lab/mixes.toml")),
    ("figure-9a.toml", include_str!("../../../experiments/lab/figure-9a.toml")),
    ("figure-9b.toml", include_str!("../../../experiments/lab/figure-9b.toml")),
    ("figure-9c.toml", include_str!("../../../experiments/lab/figure-9c.toml")),
    ("ycsb.toml", include_str!("../../../experiments/lab/ycsb.toml")),
    ("table-4.toml", include_str!("../../../experiments/lab/table-4.toml")),
    ("ttflash-8.toml", include_str!("../../../experiments/lab/ttflash-8.toml")),
    ("ttflash-8-paced.toml", include_str!("../../../experiments/lab/ttflash-8-paced.toml")),
    ("xfs.toml", include_str!("../../../experiments/lab/xfs.toml")),
    ("faults.toml", include_str!("../../../experiments/lab/faults.toml")),
    ("ordinary.toml", include_str!("../../../experiments/lab/ordinary.toml")),
    ("ordinary-fio.toml", include_str!("../../../experiments/lab/ordinary-fio.toml")),
    ("slow.toml", include_str!("../../../experiments/lab/slow.toml")),
];

/// One experiment of the laboratory.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Short and stable name, as typed.
    pub id: String,
    /// The figure or section of the article.
    pub figure: String,
    /// What it shows, in one line.
    pub title: String,
    /// The applications, each a file in `lab/experiments/applications`.
    pub applications: Vec<String>,
    /// The file systems that each runs on.
    pub file_systems: Vec<FileSystem>,
    /// The systems that are compared: `md` or a policy, each with `@` and a drive where the drive is
    /// not that of the experiment.
    pub systems: Vec<Text<System>>,
    /// The drive of the systems, a file in `lab/drives` [default: plain].
    #[serde(default = "plain")]
    pub drive: String,
    /// Processors take time: system calls, copies and the programs have the prices of
    /// `lab/experiments/application` [default: false].
    #[serde(default)]
    pub processors: bool,
    /// The memory of the kernel that each run is, such as `4G`.
    pub memory: String,
    /// The one application that a smoke runs [default: the first, and only if the experiment is
    /// named].
    #[serde(default)]
    pub quick: Option<String>,
    /// Scripts in `lab/` that make what the applications need, run once ahead.
    #[serde(default)]
    pub ahead: Vec<String>,
    /// Programs that the applications are or need, each with the package of Debian that has it.
    #[serde(default)]
    pub needs: BTreeMap<String, String>,
    /// The numbers that tables show.
    pub shows: Vec<Text<Number>>,
    /// What is claimed about it, by the article or by us.
    pub claims: Vec<Expectation>,
}

/// On what an application runs: `ext4`, `xfs`, or `raw`, the device itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FileSystem {
    /// ext4.
    Ext4,
    /// XFS.
    Xfs,
    /// The device itself.
    Raw,
}

impl FileSystem {
    /// As scripts call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ext4 => "ext4",
            Self::Xfs => "xfs",
            Self::Raw => "raw",
        }
    }
}

/// The drive of an experiment that names none.
fn plain() -> String {
    "plain".to_owned()
}

/// Who makes an array of drives.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Raid {
    /// Linux md over four drives of ours.
    Md,
    /// An array of ours under a policy.
    Policy(PolicyName),
}

/// The system under an application.
#[derive(Clone, PartialEq, Debug)]
pub struct System {
    /// The array.
    pub raid: Raid,
    /// Its drives, if they are not those of the experiment.
    pub drive: Option<String>,
}

impl System {
    /// The name in tables.
    pub fn label(&self) -> String {
        let raid = match self.raid {
            Raid::Md => "md",
            Raid::Policy(policy) => policy.0.label(),
        };
        self.drive.as_ref().map_or(raid.to_owned(), |drive| format!("{raid}, {drive}"))
    }

    /// The same system, over `drive` if it has no drive of its own.
    pub fn over(&self, drive: &str) -> Self {
        let drive = self.drive.clone().unwrap_or_else(|| drive.to_owned());
        Self { raid: self.raid, drive: Some(drive) }
    }
}

impl Spelled for System {
    const TYPE: &str = "`md` or the name of a policy, see `ioda presets policies`; `ioda@plain` has drives of its own";
}

impl fmt::Display for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.raid {
            Raid::Md => "md",
            Raid::Policy(policy) => policy.0.name(),
        })?;
        self.drive.iter().try_for_each(|drive| write!(f, "@{drive}"))
    }
}

impl FromStr for System {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (raid, drive) = match text.split_once('@') {
            Some((raid, drive)) => (raid, Some(drive.to_owned())),
            None => (text, None),
        };
        let raid = match raid.eq_ignore_ascii_case("md") {
            true => Raid::Md,
            false => raid
                .parse()
                .map(Raid::Policy)
                .map_err(|error| format!("{error}; or md, which is Linux's own RAID-5"))?,
        };
        Ok(Self { raid, drive })
    }
}

impl Experiment {
    /// Its tables, each an application on a file system, with the name that claims have for it.
    pub fn tables(&self) -> Vec<(String, &str, FileSystem)> {
        let mut tables = Vec::new();
        for application in &self.applications {
            for &file_system in &self.file_systems {
                let name = match self.file_systems.len() {
                    1 => application.clone(),
                    _ => format!("{application}, {}", file_system.name()),
                };
                tables.push((name, application.as_str(), file_system));
            }
        }
        tables
    }

    /// What it compares.
    pub fn series(&self) -> Vec<Series> {
        let series = |(index, text): (usize, &Text<System>)| Series {
            name: text.value.to_string(),
            label: text.value.label(),
            source: Source::Laboratory(index),
        };
        self.systems.iter().enumerate().map(series).collect()
    }

    /// The same as documents have it.
    pub fn documented_systems(&self) -> Vec<LabSystem> {
        let system = |one: Series| LabSystem { name: one.name, label: one.label };
        self.series().into_iter().map(system).collect()
    }

    /// The numbers that it shows or claims something about.
    fn numbers(&self) -> impl Iterator<Item = Number> {
        let claimed = self.claims.iter().flat_map(|claim| claim.check.numbers());
        self.shows.iter().map(|text| text.value).chain(claimed)
    }

    /// Refuses an experiment that cannot be run, or that claims something about what it does not
    /// run.
    fn check(&self, name: &str) -> Result<(), Failure> {
        let refused = |why: String| Err(Failure::usage(format!("{name}: {why}")));
        let lists = [
            ("applications", self.applications.is_empty()),
            ("file_systems", self.file_systems.is_empty()),
            ("systems", self.systems.is_empty()),
            ("shows", self.shows.is_empty()),
        ];
        if let Some((key, _)) = lists.into_iter().find(|(_, is_empty)| *is_empty) {
            return refused(format!("{key} is empty; name one"));
        }
        for (index, text) in self.systems.iter().enumerate() {
            if self.systems[..index].iter().any(|other| other.value == text.value) {
                return refused(format!("systems has {} twice; leave one of them out", text.value));
            }
        }
        // They become names of files.
        let is_name = |name: &String| {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            !name.is_empty() && !name.starts_with('-') && name.chars().all(is_plain)
        };
        let drives = self.systems.iter().filter_map(|text| text.value.drive.as_ref());
        let files = self.applications.iter().chain(&self.ahead).chain(drives).chain([&self.drive]);
        if let Some(odd) = files.into_iter().find(|one| !is_name(one)) {
            return refused(format!(
                "{odd:?} is no name of a file; it must be of letters, digits and hyphens"
            ));
        }
        let (digits, unit) = self.memory.split_at(self.memory.len().saturating_sub(1));
        if digits.parse::<u32>().is_err() || !matches!(unit, "M" | "G") {
            return refused(format!(
                "memory is {:?}; it must be a number and M or G, such as 4G",
                self.memory
            ));
        }
        if let Some(quick) = self.quick.as_ref().filter(|quick| !self.applications.contains(quick))
        {
            let known = self.applications.iter().map(String::as_str);
            return refused(Unknown::new("application", quick, known).to_string());
        }
        if let Some(number) = self.numbers().find(|number| !number.is_of_laboratory()) {
            return refused(format!("{number} is no number of the laboratory"));
        }
        let tables = self.tables();
        let subject = Subject {
            figure: &self.figure,
            tables: tables.iter().map(|(name, ..)| name.as_str()).collect(),
            series: self.series(),
        };
        check_claims(name, &self.claims, &subject)
    }
}

fn parse(text: &str, name: &str) -> Result<Experiment, Failure> {
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

/// Those experiments that `wanted` names, by id with or without `figure-` or `lab-`; all if it
/// names none.
pub fn select(all: Vec<Experiment>, wanted: &[String]) -> Result<Vec<Experiment>, Failure> {
    named(all, wanted, "experiment of the laboratory", |one| &one.id, ["figure-", "lab-"])
}

/// What of `all` has every word of `text`, as [`crate::experiment::filter`] finds it.
pub fn filter(all: Vec<Experiment>, text: &str) -> Vec<Experiment> {
    let keep = |mut experiment: Experiment| {
        let Experiment { id, figure, title, claims, .. } = &mut experiment;
        keeps(text, [id, figure, title], claims).then_some(experiment)
    };
    all.into_iter().filter_map(keep).collect()
}

/// A smoke of `experiments`: one application of each on one file system, and the claims that are
/// about it alone. Where none was named, only of those that say which is short.
pub fn quick(experiments: Vec<Experiment>, are_named: bool) -> Vec<Experiment> {
    let smoke = |mut experiment: Experiment| {
        let first = experiment.applications.first().filter(|_| are_named);
        let application = experiment.quick.as_ref().or(first)?.clone();
        experiment.applications = vec![application];
        experiment.file_systems.truncate(1);
        let tables: Vec<String> = experiment.tables().into_iter().map(|(name, ..)| name).collect();
        experiment.claims.retain(|claim| {
            claim.workloads.is_empty() || claim.workloads.iter().any(|name| tables.contains(name))
        });
        Some(experiment)
    };
    experiments.into_iter().filter_map(smoke).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "id='x'\nfigure='X'\ntitle=''\napplications=['a', 'b']\nsystems=['md', 'ioda']\n\
        memory='1G'\nshows=['seconds']\n";
    const CLAIM: &str =
        "[[claims]]\nid='c'\nstatement=''\nkind='ours'\nlimit={from='ours',because='none'}\n";

    fn refused(text: &str) -> String {
        parse(text, "x.toml").unwrap_err().to_string()
    }

    #[test]
    fn the_experiments_of_this_program_are_consistent() {
        let experiments = builtin().unwrap();
        let ids: Vec<&str> = experiments.iter().map(|experiment| experiment.id.as_str()).collect();
        let mut unique = ids.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), ids.len());
        for (name, _) in BUILTIN {
            let id = name.strip_suffix(".toml").unwrap();
            let chosen = select(experiments.clone(), &[id.to_owned()]).unwrap();
            assert_eq!(chosen.len(), 1, "{name} has an id like its name");
        }
        // A smoke has something to run, and every claim of it is about that.
        let smoke = quick(experiments, false);
        assert!((1..=2).contains(&smoke.len()));
        assert!(smoke.iter().all(|one| one.tables().len() == 1 && !one.claims.is_empty()));
    }

    #[test]
    fn tables_are_applications_on_file_systems() {
        let names = |keys: &str| -> Vec<String> {
            let experiment = parse(&format!("{HEAD}claims=[]\n{keys}"), "x.toml").unwrap();
            experiment.tables().into_iter().map(|(name, ..)| name).collect()
        };
        assert_eq!(names("file_systems=['ext4']"), ["a", "b"]);
        assert_eq!(
            names("file_systems=['ext4', 'xfs']"),
            ["a, ext4", "a, xfs", "b, ext4", "b, xfs"]
        );
    }

    #[test]
    fn what_cannot_be_run_is_refused() {
        let ext4 = format!("{HEAD}file_systems=['ext4']\n");
        let claim = |check: &str| refused(&format!("{ext4}{CLAIM}check.{check}\n"));
        assert_eq!(
            claim("order={metrics=['seconds'],series=['md','base']}"),
            "x.toml: claim c cannot be checked: there is no series \"base\"; did you mean \"ioda\"? (known: md, ioda)"
                .replace("; did you mean \"ioda\"?", "")
        );
        assert!(
            claim("ratio={metrics=['read.p99'],of='md',to='ioda',low=1}")
                .contains("read.p99 is no number of the laboratory")
        );
        let instead =
            |from: &str, to: &str| refused(&format!("{ext4}claims=[]\n").replace(from, to));
        assert!(
            instead("['md', 'ioda']", "['md', 'iota']").contains("or md, which is Linux's own")
        );
        assert!(instead("['md', 'ioda']", "['md', 'MD']").contains("systems has md twice"));
        assert!(instead("['md', 'ioda']", "['md@a/b']").contains("\"a/b\" is no name of a file"));
        assert!(instead("'1G'", "'much'").contains("memory is \"much\"; it must be a number"));
        assert!(instead("['a', 'b']", "['../a']").contains("\"../a\" is no name of a file"));
        assert!(instead("['a', 'b']", "[]").contains("applications is empty"));
        assert!(
            instead("claims=[]", "claims=[]\nquick='c'").contains("there is no application \"c\"")
        );
        assert!(instead("'ext4'", "'ext5'").contains("ext5"));
    }

    #[test]
    fn a_system_has_the_drive_of_its_experiment_or_its_own() {
        let of = |text: &str| text.parse::<System>().unwrap();
        assert_eq!(
            (of("ioda@plain").label().as_str(), of("MD").label().as_str()),
            ("IODA, plain", "md")
        );
        assert_eq!(of("ioda").over("buffered").to_string(), "ioda@buffered");
        assert_eq!(of("md@plain").over("buffered").to_string(), "md@plain");
        assert_eq!(of("ioda").to_string(), "ioda");
    }

    #[test]
    fn a_smoke_is_one_application() {
        let text = format!(
            "{HEAD}file_systems=['ext4','xfs']\n{CLAIM}workloads=['b, ext4']\n\
             check.order={{metrics=['seconds'],series=['md','ioda']}}\n"
        );
        let all = || vec![parse(&text, "x.toml").unwrap()];
        let named = quick(all(), true);
        assert_eq!((named[0].tables()[0].0.as_str(), named[0].claims.len()), ("a", 0));
        assert!(quick(all(), false).is_empty(), "it does not say what is short");
    }
}
