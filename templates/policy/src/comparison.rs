//! `ioda compare` with the policy beside others.

use super::policy::POLICY;
use ioda::embed::{Command, Done, Entry, Error, Question, Simulation, Words};
use sim::Progress;
use std::ffi::OsString;

/// Policies of `ioda` to compare with.
const OTHERS: &str = "base,hedged,ideal";

/// Runs the policy and [`OTHERS`] with these words of `ioda compare`.
///
/// # Errors
///
/// If a word is not understood, or a run fails.
pub fn compare(words: impl IntoIterator<Item = OsString>) -> Result<Done, Error> {
    let mut all = Words::new("compare")?;
    all.extend(words);
    all.extend([OsString::from("--policy"), OTHERS.into()]);
    let others = OTHERS.split(',').map(|_| Entry::Named);
    let question = Question {
        command: Command::Compare,
        words: all,
        configuration: None,
        policies: others.chain([Entry::Own(POLICY)]).collect(),
    };
    let simulation = Simulation::new(&question)?;
    simulation.run(&Progress::new(simulation.runs()), |_| {}, None)
}
