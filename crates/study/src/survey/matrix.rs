//! What a survey runs: policies, workloads, seeds, and what is measured once for each policy.

use crate::failure::Failure;
use crate::jobs::{self, key};
use crate::settings::Settings;
use crate::setup::Setup;
use crate::watch::Watch;
use array::policy::PolicyKind;
use report::survey::SurveyWorkload;
use sim::{Measured, Plan};
use units::{GIB, MIB};
use workload::{BlockSizes, Preset, PresetSource, Rw, Source, Synthetic};

/// Data of the host that a run moves at most, unless the number of requests is given: about two
/// seconds of processor time on drives that collect.
const MOST_BYTES: u64 = 7 * GIB;
/// Clients of the runs at saturation, as in Figures 10h and 12 of the IODA article.
pub(super) const CLIENTS: u32 = 256;
/// Their writes, in all: the first half uses up what drives with windows can put off.
const SATURATION_WRITES: u64 = 400_000;
/// The same for each request of a workload, if their number is given: fewer where those are few.
const SATURATION_WRITES_EACH: u64 = 20;
/// What may wait in front of the drives in these runs: a twelfth of what is written to them.
const SATURATION_STAGE_BYTES: u64 = 256 * MIB;
/// Their mixes: reads in per cent.
const SATURATION_READS: [u32; 3] = [100, 80, 0];
/// Size of their requests, and of the blocks at which they begin.
const SATURATION_BYTES: u32 = 4096;

/// What is asked.
pub struct Question {
    /// The array, the drives and how to run; no workload, policy or seed.
    pub settings: Settings,
    /// The policies.
    pub policies: Vec<PolicyKind>,
    /// The workloads.
    pub workloads: Vec<&'static Preset>,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// Requests of each workload; by its size if none.
    pub requests: Option<u64>,
    /// What is measured of each run beside the usual.
    pub measured: Measured,
}

/// A policy and the array it runs on.
pub struct Candidate {
    /// The policy.
    pub policy: PolicyKind,
    /// The array, with the first seed; or why there is none.
    pub plan: Result<Plan, String>,
}

/// What one run is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    /// A workload.
    Workload {
        /// Its name.
        workload: &'static str,
        /// The seed.
        seed: u64,
    },
    /// Throughput at saturation.
    Saturation {
        /// Reads in per cent.
        read_percent: u32,
    },
}

/// One run.
pub(super) type SurveyJob = jobs::Job<Subject>;

/// Everything that a survey runs.
pub struct Matrix {
    /// The policies, also those that cannot be run.
    pub candidates: Vec<Candidate>,
    /// The workloads.
    pub workloads: Vec<SurveyWorkload>,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// The runs, in the order in which they are made: those that share drives follow each other.
    pub jobs: Vec<SurveyJob>,
    /// Key of the measurement of processor time, which all policies share.
    pub processor_key: String,
    /// The setup of the standard array, to describe it.
    pub standard: Setup,
}

impl Matrix {
    /// Works out `question`.
    pub fn new(question: &Question, watch: &dyn Watch) -> Result<Self, Failure> {
        let first_seed = *question
            .seeds
            .first()
            .ok_or_else(|| Failure::internal("a survey without seeds was asked for"))?;
        let mut setups = Vec::new();
        for preset in &question.workloads {
            let mut settings = question.settings.clone();
            settings.workload.name = Some(preset.name.to_owned());
            settings.workload.requests = Some(question.requests.unwrap_or(requests_of(preset)));
            settings.run.seed = Some(first_seed.to_string().parse().map_err(Failure::usage)?);
            settings.run.policy.clear();
            setups.push((*preset, Setup::new(&settings, &[PolicyKind::BASE], watch)?));
        }
        let Some((_, standard)) = setups.first() else {
            return Err(Failure::internal("a survey without workloads was asked for"));
        };
        let candidates: Vec<Candidate> = question
            .policies
            .iter()
            .map(|&policy| {
                let measured = question.measured;
                let plan = Plan { timeline: None, measured, ..standard.plan().under(policy) };
                let plan = plan.layout().map(|_| plan).map_err(|error| error.to_string());
                Candidate { policy, plan }
            })
            .collect();
        let mut jobs = Vec::new();
        for &seed in &question.seeds {
            for (preset, setup) in &setups {
                let source = with_seed(&setup.source, seed);
                let subject = Subject::Workload { workload: preset.name, seed };
                jobs.extend(
                    possible(&candidates, seed).map(|plan| SurveyJob::new(subject, plan, &source)),
                );
            }
            if seed == first_seed {
                let writes = saturating_writes(question.requests);
                for read_percent in SATURATION_READS {
                    for plan in possible(&candidates, seed).map(with_bounded_write_cache) {
                        let source = saturating(&plan, read_percent, writes)?;
                        jobs.push(SurveyJob::new(
                            Subject::Saturation { read_percent },
                            plan,
                            &source,
                        ));
                    }
                }
            }
        }
        let workloads = setups.iter().map(|(preset, setup)| describe(preset, setup)).collect();
        let plans: Vec<Plan> = possible(&candidates, first_seed).collect();
        let processor_key = key(&("processor time", &plans));
        let seeds = question.seeds.clone();
        let (_, standard) = setups.swap_remove(0);
        Ok(Self { candidates, workloads, seeds, jobs, processor_key, standard })
    }

    /// The plans of the policies that can be run.
    pub fn plans(&self) -> Vec<Plan> {
        self.candidates.iter().filter_map(|candidate| candidate.plan.clone().ok()).collect()
    }
}

/// The plans of those `candidates` that can be run, with `seed`.
fn possible(candidates: &[Candidate], seed: u64) -> impl Iterator<Item = Plan> {
    let plans = candidates.iter().filter_map(|candidate| candidate.plan.as_ref().ok());
    plans.map(move |plan| Plan { seed, ..plan.clone() })
}

/// With less room than is written where writes wait in front of the drives, unless its size is
/// given: the throughput of memory without end says nothing about the drives.
fn with_bounded_write_cache(mut plan: Plan) -> Plan {
    plan.policy_settings.write_cache.capacity_bytes.get_or_insert(SATURATION_STAGE_BYTES);
    plan
}

/// As many requests as the table has, or as move [`MOST_BYTES`] on average if those are fewer.
pub(super) fn requests_of(preset: &Preset) -> u64 {
    let reads = preset.read_share.as_f64();
    let mean_bytes =
        reads * preset.mean_read_bytes as f64 + (1.0 - reads) * preset.mean_write_bytes as f64;
    // In whole thousands, because the number is read by people.
    let thousands = MOST_BYTES as f64 / mean_bytes / 1e3;
    preset.requests.min(thousands as u64 * 1000)
}

/// The same workload at the same rate, drawn anew.
fn with_seed(source: &Source, seed: u64) -> Source {
    match source {
        Source::Preset(source) => Source::Preset(PresetSource { seed, ..source.clone() }),
        other => other.clone(),
    }
}

/// Writes of the runs at saturation.
fn saturating_writes(requests: Option<u64>) -> u64 {
    let writes = requests.unwrap_or(u64::MAX).saturating_mul(SATURATION_WRITES_EACH);
    writes.min(SATURATION_WRITES)
}

/// Requests of one page at random addresses of the whole array, as many at once as there are
/// clients. `writes` of them write; if none does, there are half as many.
fn saturating(plan: &Plan, read_percent: u32, writes: u64) -> Result<Source, Failure> {
    let page_bytes = SATURATION_BYTES.max(plan.drive.geometry.page_bytes);
    let capacity = plan.capacity_bytes()?;
    let bytes = u64::from(page_bytes);
    let write_percent = 100 - u64::from(read_percent);
    let requests = (100 * writes).checked_div(write_percent).unwrap_or(writes / 2);
    Ok(Source::from(Synthetic {
        rw: Rw::RandRw,
        rwmixread: read_percent,
        bs: BlockSizes { read: bytes, write: bytes },
        iodepth: CLIENTS.into(),
        size: capacity - capacity % bytes,
        number_ios: Some(requests),
        randseed: plan.seed,
        ..Synthetic::default()
    }))
}

fn describe(preset: &Preset, setup: &Setup) -> SurveyWorkload {
    let rate = match &setup.source {
        Source::Preset(source) => source.rate,
        _ => 1.0,
    };
    SurveyWorkload {
        name: preset.name.to_owned(),
        description: preset.description.to_owned(),
        requests: setup.requests.unwrap_or(preset.requests),
        rate,
        notes: setup.notes.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::Silent;
    use std::collections::BTreeSet;

    fn question(policies: &[PolicyKind]) -> Question {
        let settings = crate::settings::parse("[drive]\nblocks_per_plane = 64\n", "a.toml");
        Question {
            settings: settings.unwrap(),
            policies: policies.to_vec(),
            workloads: ["tpcc", "lmbe"].map(|name| workload::preset(name).unwrap()).to_vec(),
            seeds: vec![1, 2],
            requests: Some(500),
            measured: Measured::default(),
        }
    }

    fn keys(question: &Question) -> Vec<String> {
        Matrix::new(question, &Silent).unwrap().jobs.into_iter().map(|job| job.key).collect()
    }

    #[test]
    fn every_run_has_a_key_of_its_own_that_stays() {
        let question = question(&[PolicyKind::BASE, PolicyKind::IODA]);
        let all = keys(&question);
        assert_eq!(all.len(), 2 * 2 * 2 + 2 * SATURATION_READS.len());
        let different: BTreeSet<&String> = all.iter().collect();
        assert_eq!(different.len(), all.len());
        assert_eq!(all, keys(&question));
        // A run does not depend on which others there are.
        let fewer = Question { policies: vec![PolicyKind::IODA], seeds: vec![1], ..question };
        let fewer = keys(&fewer);
        assert_eq!(fewer.len(), 2 + SATURATION_READS.len());
        assert!(fewer.iter().all(|key| all.contains(key)));
    }

    #[test]
    fn a_key_changes_with_everything_that_determines_the_run() {
        let before = keys(&question(&[PolicyKind::BASE]));
        let changed = [
            "[drive]\nblocks_per_plane = 80\n",
            "[drive]\nblocks_per_plane = 64\n[array]\ndrives = 5\n",
            "[drive]\nblocks_per_plane = 64\n[workload]\nrerate = 0.01\n",
            "[drive]\nblocks_per_plane = 64\n[run]\nprecondition = 'fresh'\n",
        ];
        for text in changed {
            let settings = crate::settings::parse(text, "a.toml").unwrap();
            let after = keys(&Question { settings, ..question(&[PolicyKind::BASE]) });
            assert_eq!(after.len(), before.len());
            let first = before.iter().zip(&after).next().unwrap();
            assert_ne!(first.0, first.1, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_run_is_kept_with_a_sentence() {
        let mut question = question(&[PolicyKind::BASE, PolicyKind::IODA]);
        question.settings.array.raid = Some("raid0".parse().unwrap());
        let matrix = Matrix::new(&question, &Silent).unwrap();
        assert!(matrix.jobs.iter().all(|job| job.plan.policy == PolicyKind::BASE));
        let why = matrix.candidates[1].plan.as_ref().unwrap_err();
        assert!(why.contains("raid0 has none"), "{why}");
    }

    #[test]
    fn few_requests_where_they_are_large() {
        let requests = |name| requests_of(workload::preset(name).unwrap());
        assert_eq!((requests("azure"), requests("dtrs")), (320_000, 147_000));
        assert_eq!(requests("cosmos"), 72_000);
    }
}
