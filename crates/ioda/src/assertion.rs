//! `--assert 'read.p99.9<500us'`: a condition on the results, for scripts.
//!
//! `[POLICY:]METRIC OPERATOR LIMIT`, where the limit is a duration for times, a number for
//! everything else, or `FACTOR*POLICY` for the same metric of another policy. Without a policy the
//! condition is for every policy of the run.

use crate::metric::{Metric, Unit, three_digits};
use array::policy::PolicyKind;
use sim::RunResult;
use std::fmt;
use std::str::FromStr;

/// Fewer requests than this beyond a percentile make it doubtful.
pub(crate) const FEWEST_SAMPLES: u64 = 100;

/// A comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Operator {
    Less,
    AtMost,
    More,
    AtLeast,
    Equal,
}

impl Operator {
    /// Longer spellings first, so that `<=` is not taken for `<`.
    const ALL: [(&'static str, Self); 5] = [
        ("<=", Self::AtMost),
        (">=", Self::AtLeast),
        ("==", Self::Equal),
        ("<", Self::Less),
        (">", Self::More),
    ];

    fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Self::Less => value < limit,
            Self::AtMost => value <= limit,
            Self::More => value > limit,
            Self::AtLeast => value >= limit,
            Self::Equal => value == limit,
        }
    }
}

/// What a metric is compared with.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Limit {
    /// A number, or nanoseconds.
    Value(f64),
    /// A factor of the same metric under another policy.
    Times(f64, PolicyKind),
}

/// A condition on the results.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Assertion {
    text: String,
    policy: Option<PolicyKind>,
    metric: Metric,
    operator: Operator,
    limit: Limit,
}

/// What became of an assertion under one policy.
#[derive(Debug)]
pub(crate) struct Verdict {
    /// Whether it holds.
    pub(crate) holds: bool,
    /// The condition, the number found and the verdict, in one line.
    pub(crate) line: String,
}

/// Why a text is no assertion.
#[derive(Debug)]
pub(crate) struct AssertionError(String);

impl fmt::Display for AssertionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for AssertionError {}

impl FromStr for Assertion {
    type Err = AssertionError;

    fn from_str(text: &str) -> Result<Self, AssertionError> {
        let wrong = |why: &dyn fmt::Display| {
            AssertionError(format!(
                "{why}; write for instance read.p99.9<500us, \
                ioda:violations==0 or ioda:read.p99.9<=1.1*ideal"
            ))
        };
        let compact: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let at = compact.find(['<', '>', '=']).ok_or_else(|| wrong(&"no comparison is in it"))?;
        let (left, rest) = compact.split_at(at);
        let (sign, operator) =
            Operator::ALL
                .into_iter()
                .find(|(sign, _)| rest.starts_with(sign))
                .ok_or_else(|| wrong(&"the comparison is none of <, <=, >, >=, =="))?;
        let (policy, metric) = with_policy(left);
        let metric: Metric = metric.parse().map_err(|error| wrong(&error))?;
        let limit = limit(&rest[sign.len()..], metric).map_err(|error| wrong(&error))?;
        Ok(Self { text: text.to_owned(), policy, metric, operator, limit })
    }
}

/// Splits `ioda:read.p99` and `ioda.read.p99`.
fn with_policy(text: &str) -> (Option<PolicyKind>, &str) {
    text.split_once([':', '.'])
        .and_then(|(name, rest)| Some((Some(PolicyKind::from_name(name)?), rest)))
        .unwrap_or((None, text))
}

fn limit(text: &str, metric: Metric) -> Result<Limit, String> {
    if let Some(policy) = PolicyKind::from_name(text) {
        return Ok(Limit::Times(1.0, policy));
    }
    if let Some((factor, name)) = text.split_once('*') {
        let policy = PolicyKind::from_name(name)
            .ok_or_else(|| format!("there is no policy \"{name}\" to compare with"))?;
        let factor = workload::parse_factor(factor).map_err(|error| error.to_string())?;
        return Ok(Limit::Times(factor, policy));
    }
    let value = match metric.unit() {
        Unit::Time => workload::parse_duration(text)
            .map(|duration| duration.as_nanos() as f64)
            .map_err(|error| error.to_string())?,
        Unit::Percent | Unit::Number => text
            .trim_end_matches('%')
            .parse::<f64>()
            .ok()
            .filter(|value| value.is_finite())
            .ok_or_else(|| format!("the limit \"{text}\" is not a number"))?,
    };
    Ok(Limit::Value(value))
}

impl Assertion {
    /// Refuses an assertion about a policy that will not run.
    ///
    /// # Errors
    ///
    /// A sentence that names the policies that will.
    pub(crate) fn check_policies(&self, run: &[PolicyKind]) -> Result<(), String> {
        let compared = match self.limit {
            Limit::Times(_, policy) => Some(policy),
            Limit::Value(_) => None,
        };
        let named = [self.policy, compared].into_iter().flatten();
        let Some(absent) = named.into_iter().find(|policy| !run.contains(policy)) else {
            return Ok(());
        };
        let names: Vec<&str> = run.iter().map(|policy| policy.name()).collect();
        Err(format!(
            "--assert {:?} is about {}, which is not run: add it to --policy, which is {}",
            self.text,
            absent.name(),
            names.join(",")
        ))
    }

    /// Whether it holds, once for each policy that it is about.
    pub(crate) fn check(&self, results: &[RunResult]) -> Vec<Verdict> {
        let about: Vec<&RunResult> = results
            .iter()
            .filter(|result| self.policy.is_none_or(|policy| policy == result.policy))
            .collect();
        if about.is_empty() {
            return vec![self.failed("that policy was not run")];
        }
        about.into_iter().map(|result| self.check_one(result, results)).collect()
    }

    fn failed(&self, why: &str) -> Verdict {
        Verdict { holds: false, line: format!("assert {}: FAILED: {why}", self.text) }
    }

    fn check_one(&self, result: &RunResult, results: &[RunResult]) -> Verdict {
        let (limit, compared) = match self.limit {
            Limit::Value(limit) => (limit, String::new()),
            Limit::Times(factor, policy) => {
                let Some(other) = results.iter().find(|result| result.policy == policy) else {
                    return self.failed(&format!("{} was not run", policy.label()));
                };
                let base = self.metric.of(other);
                let shown = self.metric.unit().show(base);
                let ratio = self.metric.of(result) / base;
                let ratio = match ratio.is_finite() {
                    true => format!(", {} times that", three_digits(ratio)),
                    false => String::new(),
                };
                (base * factor, format!(" ({} has {shown}{ratio})", policy.label()))
            }
        };
        let value = self.metric.of(result);
        let holds = self.operator.holds(value, limit);
        let doubt = match self.metric.samples_beyond(result) {
            Some(beyond) if beyond < FEWEST_SAMPLES => {
                format!(" (only {beyond} requests lie beyond it)")
            }
            _ => String::new(),
        };
        let verdict = if holds { "ok" } else { "FAILED" };
        let line = format!(
            "assert {}: {verdict}: {} has {} = {}{compared}{doubt}",
            self.text,
            result.policy.label(),
            self.metric,
            self.metric.unit().show(value),
        );
        Verdict { holds, line }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Assertion {
        text.parse().unwrap()
    }

    #[test]
    fn assertions_as_people_type_them() {
        let assertion = parsed("read.p99.9<500us");
        assert_eq!((assertion.policy, assertion.operator), (None, Operator::Less));
        assert_eq!(assertion.limit, Limit::Value(500_000.0));
        let assertion = parsed("IODA: read.p99 <= 1.1 * ideal");
        assert_eq!(assertion.policy, Some(PolicyKind::IODA));
        assert_eq!(assertion.limit, Limit::Times(1.1, PolicyKind::IDEAL));
        assert_eq!(parsed("ioda.read.p99<=1.1*ideal").policy, Some(PolicyKind::IODA));
        assert_eq!(parsed("violations==0").limit, Limit::Value(0.0));
        assert_eq!(parsed("ioda:busy2plus<=0.01%").limit, Limit::Value(0.01));
        assert_eq!(parsed("window<=20ms").limit, Limit::Value(20_000_000.0));
        assert_eq!(parsed("write.p50<base").limit, Limit::Times(1.0, PolicyKind::BASE));
    }

    #[test]
    fn what_is_no_assertion_is_refused_with_an_example() {
        let refused = |text: &str| text.parse::<Assertion>().unwrap_err().to_string();
        assert!(refused("read.p99").starts_with("no comparison is in it; write for instance"));
        assert!(refused("read.p99=1us").starts_with("the comparison is none of"));
        assert!(refused("read.p99<500").starts_with("duration \"500\" has no unit; write 500us"));
        assert!(refused("window<500").starts_with("duration \"500\" has no unit; write 500us"));
        assert!(refused("reed.p99<500us").starts_with("there is no metric \"reed.p99\""));
        assert!(refused("read.p99<2*idol").starts_with("there is no policy \"idol\""));
        assert!(refused("waf<high").starts_with("the limit \"high\" is not a number"));
    }
}
