//! Claims as test cases in the XML of JUnit, which build servers show.

use super::SMOKE;
use crate::failure::Failure;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use report::lab::Unjudged;
use report::{Claim, ClaimKind};

/// Test suites, one for each experiment.
pub struct Suites(Report);

impl Suites {
    /// None yet; those of shortened runs say so in their name.
    pub fn new(quick: bool) -> Self {
        let smoke = if quick { format!(": {SMOKE}") } else { String::new() };
        Self(Report::new(format!("ioda reproduce{smoke}")))
    }

    /// Adds the experiment called `id` with its claims, each a test case.
    pub fn add(&mut self, id: &str, claims: &[Claim]) {
        self.add_with_skipped(id, claims, &[]);
    }

    /// The same, and claims that could not be judged as test cases that were skipped.
    pub fn add_with_skipped(&mut self, id: &str, claims: &[Claim], unjudged: &[Unjudged]) {
        let mut suite = TestSuite::new(id);
        let skipped = unjudged.iter().map(|Unjudged { id, why }| {
            let mut status = TestCaseStatus::skipped();
            status.set_message(format!("cannot be judged: {why}"));
            TestCase::new(id.clone(), status)
        });
        suite.add_test_cases(claims.iter().map(case).chain(skipped));
        self.0.add_test_suite(suite);
    }

    /// The XML.
    pub fn to_xml(&self) -> Result<String, Failure> {
        self.0
            .to_string()
            .map_err(|error| Failure::internal(format!("cannot write the test cases: {error}")))
    }
}

fn case(claim: &Claim) -> TestCase {
    let Claim { id, figure, statement, ours, holds, note, .. } = claim;
    let sentence = match claim.kind {
        ClaimKind::Article => {
            format!(
                "{statement} The article: {}. Here: {ours}. Limit: {}.",
                claim.article, claim.limit
            )
        }
        ClaimKind::Ours | ClaimKind::Evidence => {
            format!("{statement} Here: {ours}. Limit: {}.", claim.limit)
        }
    };
    let status = match holds {
        true => TestCaseStatus::success(),
        false => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_message(sentence.clone()).set_type("claim").set_description(note.clone());
            status
        }
    };
    let mut case = TestCase::new(id.clone(), status);
    case.set_classname(figure.clone());
    case.set_system_out(sentence);
    case
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_that_do_not_hold_are_failures_with_the_figures() {
        let claim = |id: &str, holds| Claim {
            id: id.to_owned(),
            figure: "Figure 5a".to_owned(),
            statement: "Base < Ideal.".to_owned(),
            article: "3 ×".to_owned(),
            limit: "at least 3 times".to_owned(),
            kind: ClaimKind::Article,
            ours: "2 × & more".to_owned(),
            holds,
            note: "does not hold in 1 of 2 cases".to_owned(),
            ..Claim::default()
        };
        let mut suites = Suites::new(false);
        let unjudged = Unjudged { id: "later".to_owned(), why: "no run of md".to_owned() };
        suites.add_with_skipped(
            "figure-5a",
            &[claim("good", true), claim("bad", false)],
            &[unjudged],
        );
        let xml = suites.to_xml().unwrap();
        let failure = "<failure message=\"Base &lt; Ideal. The article: 3 ×. Here: 2 × &amp; more. Limit: \
            at least 3 times.\"";
        for part in [
            "<testsuite name=\"figure-5a\" tests=\"3\" skipped=\"1\"",
            "failures=\"1\"",
            "<testcase name=\"bad\" classname=\"Figure 5a\"",
            failure,
            "does not hold in 1 of 2 cases",
            "<skipped message=\"cannot be judged: no run of md\"",
        ] {
            assert!(xml.contains(part), "no {part} in\n{xml}");
        }
        assert_eq!(xml.matches("<failure").count(), 1);
    }
}
