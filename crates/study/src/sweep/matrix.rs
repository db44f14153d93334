//! What a sweep runs: points, policies, seeds.

use super::parameter::Parameter;
use super::record::Subject;
use crate::failure::Failure;
use crate::jobs;
use crate::settings::Settings;
use crate::setup::{Setup, Traces};
use crate::watch::Watch;

use array::policy::PolicyKind;
use sim::{Measured, Plan};
use std::collections::BTreeSet;
use workload::Source;

/// More runs than this are a mistake.
const MOST_RUNS: usize = 10_000;

/// One run.
pub(super) type SweepJob = jobs::Job<Subject>;

/// What is asked.
pub struct Question {
    /// Everything that is not varied.
    pub settings: Settings,
    /// What is varied: one parameter or two.
    pub parameters: Vec<Parameter>,
    /// The policies.
    pub policies: Vec<PolicyKind>,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// What is measured of each run beside the usual.
    pub measured: Measured,
}

/// A run of the question: which job it is, or why there is none.
pub struct Asked {
    /// Index of the point.
    pub point: usize,
    /// The policy.
    pub policy: PolicyKind,
    /// The seed.
    pub seed: u64,
    /// Key of the job, or why it cannot be built.
    pub key: Result<String, String>,
}

/// A combination of values.
pub struct Point {
    /// An index into the values of each parameter.
    pub values: Vec<usize>,
    /// Its setup under the first seed; none if it cannot be built.
    pub setup: Option<Setup>,
}

/// Everything that a sweep runs.
pub struct Matrix {
    /// All combinations of values.
    pub points: Vec<Point>,
    /// Every run that is asked for: seed by seed, point by point, policy by policy.
    pub asked: Vec<Asked>,
    /// Those that can be built, each once: runs that share drives follow each other.
    pub jobs: Vec<SweepJob>,
}

impl Matrix {
    /// The setups of the points that can be built.
    pub fn setups(&self) -> impl Iterator<Item = &Setup> {
        self.points.iter().filter_map(|point| point.setup.as_ref())
    }

    /// Works out `question`. Points that cannot be built are kept with the reason; if none can,
    /// that of the first is the failure.
    pub fn new(question: &Question, watch: &dyn Watch) -> Result<Self, Failure> {
        let points = combinations(&question.parameters);
        let runs = points.len() * question.policies.len() * question.seeds.len();
        if runs > MOST_RUNS {
            return Err(Failure::usage(format!(
                "{} points under {} policies and {} seeds are {runs} runs; a sweep has at most \
                 {MOST_RUNS}",
                points.len(),
                question.policies.len(),
                question.seeds.len()
            )));
        }
        let mut points: Vec<Point> =
            points.into_iter().map(|values| Point { values, setup: None }).collect();
        let (mut asked, mut jobs) = (Vec::new(), Vec::<SweepJob>::new());
        let (mut known, mut traces) = (BTreeSet::new(), Traces::new(watch.waiting()));
        for &seed in &question.seeds {
            for (index, point) in points.iter_mut().enumerate() {
                let settings = question.at(point, seed)?;
                let built = Built::new(&settings, &question.policies, &mut traces);
                let subject = Subject { point: question.words(point) };
                for &policy in &question.policies {
                    let key = built.planned(policy).map(|(plan, source)| {
                        let measured = question.measured;
                        let plan = Plan { timeline: None, measured, ..plan.clone() };
                        let job = SweepJob::new(subject.clone(), plan, source);
                        let key = job.key.clone();
                        if known.insert(key.clone()) {
                            jobs.push(job);
                        }
                        key
                    });
                    asked.push(Asked { point: index, policy, seed, key });
                }
                point.setup = point.setup.take().or(built.setup);
            }
        }
        if let (true, Some(Asked { key: Err(why), .. })) = (jobs.is_empty(), asked.first()) {
            return Err(Failure::usage(format!("no point can be built: {why}")));
        }
        Ok(Self { points, asked, jobs })
    }
}

impl Question {
    /// The settings of `point` with `seed`.
    fn at(&self, point: &Point, seed: u64) -> Result<Settings, Failure> {
        let mut settings = self.settings.clone();
        for (parameter, &index) in self.parameters.iter().zip(&point.values) {
            settings = parameter.set(&settings, index)?;
        }
        settings.run.seed = Some(seed.to_string().parse().map_err(Failure::usage)?);
        settings.run.policy.clear();
        Ok(settings)
    }

    /// `point` in a few words.
    fn words(&self, point: &Point) -> String {
        let values = self.parameters.iter().zip(&point.values);
        values.map(|(parameter, &index)| parameter.words(index)).collect::<Vec<_>>().join(", ")
    }
}

/// Every combination of the values of `parameters`; the last changes fastest.
fn combinations(parameters: &[Parameter]) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for parameter in parameters {
        let with = |values: Vec<usize>| {
            (0..parameter.len()).map(move |index| [&values[..], &[index]].concat())
        };
        all = all.into_iter().flat_map(with).collect();
    }
    all
}

/// What can be built of a point.
pub struct Built {
    /// The policies that can be run there; none if none can.
    setup: Option<Setup>,
    /// Why the others cannot.
    refused: Vec<(PolicyKind, String)>,
}

impl Built {
    /// The policies that can be run with `settings`, and why the others cannot.
    pub fn new(settings: &Settings, policies: &[PolicyKind], traces: &mut Traces) -> Self {
        let mut setup = |policies: &[PolicyKind]| Setup::sharing(settings, policies, traces);
        if let Ok(all) = setup(policies) {
            return Self { setup: Some(all), refused: Vec::new() };
        }
        let mut possible = policies.to_vec();
        let mut refused = Vec::new();
        possible.retain(|&policy| match setup(&[policy]) {
            Ok(_) => true,
            Err(why) => {
                refused.push((policy, why.to_string()));
                false
            }
        });
        if possible.is_empty() {
            return Self { setup: None, refused };
        }
        match setup(&possible) {
            Ok(setup) => Self { setup: Some(setup), refused },
            Err(why) => {
                let with_reason = |policy| (policy, why.to_string());
                refused.extend(possible.into_iter().map(with_reason));
                Self { setup: None, refused }
            }
        }
    }

    /// The plan of `policy` and where its requests come from, or why there is none.
    pub fn planned(&self, policy: PolicyKind) -> Result<(&Plan, &Source), String> {
        let refused = self.refused.iter().find(|(refused, _)| *refused == policy);
        if let Some((_, why)) = refused {
            return Err(why.clone());
        }
        let setup = self.setup.as_ref();
        let planned = setup.and_then(|setup| {
            let plan = setup.plans.iter().find(|plan| plan.policy == policy)?;
            Some((plan, &setup.source))
        });
        planned.ok_or_else(|| format!("nothing was planned for {}", policy.label()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::Silent;

    fn question(vary: &[&str], policies: &[PolicyKind], seeds: &[u64]) -> Question {
        let text = "[drive]\nblocks_per_plane = 64\n[workload]\nrequests = 500\n";
        let settings: Settings = crate::settings::parse(text, "a.toml").unwrap();
        let parameters = vary.iter().map(|text| Parameter::parse(text, &settings).unwrap());
        let parameters = parameters.collect();
        Question {
            settings,
            parameters,
            policies: policies.to_vec(),
            seeds: seeds.to_vec(),
            measured: Measured::default(),
        }
    }

    fn keys(matrix: &Matrix) -> Vec<&str> {
        matrix.jobs.iter().map(|job| job.key.as_str()).collect()
    }

    const TWO: [PolicyKind; 2] = [PolicyKind::BASE, PolicyKind::IODA];

    #[test]
    fn every_combination_is_run_under_every_policy_and_seed() {
        let question = question(&["width=4,5", "load=0.01,0.02,0.04"], &TWO, &[1, 2]);
        let matrix = Matrix::new(&question, &Silent).unwrap();
        assert_eq!((matrix.points.len(), matrix.asked.len()), (6, 24));
        assert_eq!(matrix.jobs.len(), 24);
        assert_eq!(matrix.points[4].values, [1, 1]);
        assert_eq!(matrix.jobs[9].subject.point, "width 5, load 0.02");
        assert_eq!(matrix.jobs[9].plan.width, 5);
        // A run does not depend on which others there are.
        let fewer = Question { seeds: vec![2], policies: vec![PolicyKind::IODA], ..question };
        let fewer = Matrix::new(&fewer, &Silent).unwrap();
        assert_eq!(fewer.jobs.len(), 6);
        assert!(keys(&fewer).iter().all(|key| keys(&matrix).contains(key)));
    }

    #[test]
    fn what_changes_nothing_is_run_once() {
        let matrix = Matrix::new(&question(&["width=4,04"], &TWO, &[1]), &Silent).unwrap();
        assert_eq!((matrix.asked.len(), matrix.jobs.len()), (4, 2));
        assert_eq!(matrix.asked[0].key, matrix.asked[2].key);
    }

    #[test]
    fn points_that_cannot_be_built_are_kept_with_a_sentence() {
        let matrix =
            Matrix::new(&question(&["raid=5,0,10", "width=4,5"], &TWO, &[1]), &Silent).unwrap();
        let why = |point: usize, policy: PolicyKind| {
            let is_it = |asked: &&Asked| asked.point == point && asked.policy == policy;
            matrix.asked.iter().find(is_it).unwrap().key.clone().err()
        };
        let [on_raid0, on_pairs] =
            [why(2, PolicyKind::IODA), why(5, PolicyKind::BASE)].map(Option::unwrap);
        assert!(on_raid0.contains("raid0 has none"), "{on_raid0}");
        assert!(on_pairs.contains("raid10"), "{on_pairs}");
        assert_eq!((why(0, PolicyKind::IODA), why(2, PolicyKind::BASE)), (None, None));
        assert_eq!(matrix.jobs.len(), 2 + 2 + 1 + 1 + 2);
        let none = Matrix::new(&question(&["width=1,2"], &TWO[1..], &[1]), &Silent).map(drop);
        assert!(none.unwrap_err().to_string().starts_with("no point can be built: "));
    }

    #[test]
    fn too_many_runs_are_refused() {
        let seeds: Vec<u64> = (0..100).collect();
        let question = question(&["width=4..64:1", "load=1..64:1"], &TWO, &seeds);
        let error = Matrix::new(&question, &Silent).map(drop).unwrap_err().to_string();
        assert!(error.ends_with("a sweep has at most 10000"), "{error}");
    }
}
