//! What a survey does not prove: runs in which nothing was collected.

use super::Survey;
use std::collections::BTreeMap;

impl Survey {
    /// For each workload the policies under which nothing was collected with some seed, as a
    /// sentence.
    #[must_use]
    pub fn evidence(&self) -> Vec<String> {
        let mut idle: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for run in &self.runs {
            let Some(measured) = run.outcome.measured() else { continue };
            let policies = idle.entry(&run.workload).or_default();
            if measured.collections == 0 && !policies.contains(&measured.name()) {
                policies.push(measured.name());
            }
        }
        let sentence = |(workload, policies): (&str, Vec<&str>)| {
            format!(
                "no collection took place with {workload} under {}: these latencies are those of idle drives",
                policies.join(", ")
            )
        };
        idle.into_iter().filter(|(_, policies)| !policies.is_empty()).map(sentence).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::sample::survey;
    use crate::survey::Outcome;

    #[test]
    fn runs_of_idle_drives_are_named_by_workload() {
        let mut survey = survey();
        assert_eq!(survey.evidence(), Vec::<String>::new());
        let workload = survey.runs[0].workload.clone();
        let mut policies = Vec::new();
        for run in survey.runs.iter_mut().filter(|run| run.workload == workload).take(2) {
            if let Outcome::Measured(measured) = &mut run.outcome {
                measured.collections = 0;
                policies.push(measured.name().to_owned());
            }
        }
        policies.dedup();
        assert_eq!(
            survey.evidence(),
            [format!(
                "no collection took place with {workload} under {}: these latencies are those of idle drives",
                policies.join(", ")
            )]
        );
    }
}
