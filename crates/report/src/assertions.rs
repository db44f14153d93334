//! Conditions on the results, and what became of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What became of an assertion under one policy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Assertion {
    /// The condition as it was typed.
    pub condition: String,
    /// Name of the policy.
    pub policy: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Samples that the number rests on: those beyond a percentile, or all of a mean. Absent for
    /// counts and shares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<u64>,
    /// Fewest samples that are enough; absent for counts and shares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples_needed: Option<u64>,
    /// Requests of a run like this one that would be enough; absent unless the verdict is
    /// `not-enough`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_needed: Option<u64>,
    /// The number, what it was compared with, and how many samples it rests on where these are few.
    pub sentence: String,
}

/// What can be said of an assertion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It holds.
    #[default]
    Holds,
    /// It does not hold.
    Fails,
    /// The number rests on too few samples: the assertion neither holds nor fails.
    NotEnough,
}

impl Verdict {
    /// The word in tables and lines.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Holds => "ok",
            Self::Fails => "FAILED",
            Self::NotEnough => "not enough",
        }
    }

    /// Whether the assertion holds; `None` for too few samples.
    #[must_use]
    pub const fn holds(self) -> Option<bool> {
        match self {
            Self::Holds => Some(true),
            Self::Fails => Some(false),
            Self::NotEnough => None,
        }
    }

    /// The verdict of all: one that fails is worse than one that lacks samples.
    #[must_use]
    pub fn of_all(assertions: &[Assertion]) -> Self {
        let has = |wanted| assertions.iter().any(|assertion| assertion.verdict == wanted);
        [Self::Fails, Self::NotEnough].into_iter().find(|&one| has(one)).unwrap_or(Self::Holds)
    }
}

impl Assertion {
    /// The condition, the verdict and the number in one line.
    #[must_use]
    pub fn line(&self) -> String {
        format!("assert {}: {}: {}", self.condition, self.verdict.name(), self.sentence)
    }
}

#[cfg(test)]
mod tests {
    use super::Verdict::{Fails, Holds, NotEnough};
    use super::*;

    #[test]
    fn one_that_fails_wins_over_few_samples() {
        let all = |verdicts: &[Verdict]| {
            let one = |&verdict| Assertion { verdict, ..Assertion::default() };
            Verdict::of_all(&verdicts.iter().map(one).collect::<Vec<_>>())
        };
        assert_eq!((all(&[]), all(&[Holds])), (Holds, Holds));
        assert_eq!(all(&[Holds, NotEnough]), NotEnough);
        assert_eq!(all(&[NotEnough, Fails, Holds]), Fails);
        assert_eq!(serde_json::to_string(&NotEnough).unwrap(), "\"not-enough\"");
    }
}
