//! `--assert 'read.p99.9<500us'`: a condition on the results, for scripts.
//!
//! `[POLICY:]METRIC OPERATOR LIMIT`, where the limit is a duration for times, a number for
//! everything else, or `FACTOR*POLICY` for the same metric of another policy. Without a policy the
//! condition is for every policy of the run. A percentile with fewer than a hundred samples beyond
//! it and a mean of fewer than a hundred are not judged ([`Few`]); a maximum is one sample by
//! nature, and counts and shares need none.

use crate::metric::{Metric, Samples, Unit, three_digits};
use crate::values::names::Unknown;
use crate::values::quantity::PolicyName;
use array::policy::PolicyKind;
use report::Verdict;
use sim::RunResult;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

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
pub struct Assertion {
    text: String,
    policy: Option<PolicyKind>,
    metric: Metric,
    operator: Operator,
    limit: Limit,
}

/// Why a text is no assertion.
#[derive(Debug)]
pub struct AssertionError(String);

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
        let (policy, metric) = with_policy(left).map_err(|error| wrong(&error))?;
        let metric: Metric = metric.parse().map_err(|error| wrong(&error))?;
        let limit = limit(&rest[sign.len()..], metric).map_err(|error| wrong(&error))?;
        Ok(Self { text: text.to_owned(), policy, metric, operator, limit })
    }
}

/// Splits `ioda:read.p99` and `ioda.read.p99`.
fn with_policy(text: &str) -> Result<(Option<PolicyKind>, &str), Unknown> {
    let Some((name, rest)) = text.split_once([':', '.']) else { return Ok((None, text)) };
    match name.parse::<PolicyName>() {
        Ok(PolicyName(policy)) => Ok((Some(policy), rest)),
        // No metric has a colon.
        Err(unknown) if text.contains(':') => Err(unknown),
        Err(unknown) if text.parse::<Metric>().is_err() && rest.parse::<Metric>().is_ok() => {
            Err(unknown)
        }
        Err(_) => Ok((None, text)),
    }
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
    /// Whether the reads of drives must be followed for it.
    pub fn needs_sub_reads(&self) -> bool {
        self.metric.needs_sub_reads()
    }

    /// The assertion about runs of these policies, in this order.
    ///
    /// # Errors
    ///
    /// A sentence that names the policies that will run, if it is about another.
    pub fn about(&self, run: &[PolicyKind]) -> Result<Bound<'_>, String> {
        let place = |policy: PolicyKind| {
            run.iter().position(|&other| other == policy).ok_or_else(|| {
                let names: Vec<&str> = run.iter().map(|policy| policy.name()).collect();
                format!(
                    "--assert {:?} is about {}, which is not run: add it to --policy, which is {}",
                    self.text,
                    policy.name(),
                    names.join(",")
                )
            })
        };
        let about = match self.policy {
            Some(policy) => {
                let place = place(policy)?;
                place..place + 1
            }
            None => 0..run.len(),
        };
        let compared = match self.limit {
            Limit::Times(factor, policy) => Compared::Times(factor, place(policy)?),
            Limit::Value(limit) => Compared::Value(limit),
        };
        Ok(Bound { assertion: self, about, compared })
    }
}

/// What a metric is compared with, where it is known which runs there are.
#[derive(Clone, Copy, Debug)]
enum Compared {
    /// A number, or nanoseconds.
    Value(f64),
    /// A factor of the same metric of this run.
    Times(f64, usize),
}

/// An assertion whose policies are all run.
#[derive(Debug)]
pub struct Bound<'a> {
    assertion: &'a Assertion,
    /// The runs that it is about.
    about: Range<usize>,
    compared: Compared,
}

/// Whether numbers that rest on few samples are judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Few {
    /// They are not: the verdict is `not enough`.
    Refused,
    /// They are, as all others.
    Judged,
}

impl Bound<'_> {
    /// Whether it holds, once for each policy that it is about. `results` are of the policies that
    /// it was bound to.
    pub fn check(&self, results: &[RunResult], few: Few) -> Vec<report::Assertion> {
        let about = results[self.about.clone()].iter();
        about.map(|result| self.check_one(result, results, few)).collect()
    }

    fn check_one(&self, result: &RunResult, results: &[RunResult], few: Few) -> report::Assertion {
        let Assertion { text, metric, operator, .. } = self.assertion;
        let (limit, compared, other) = match self.compared {
            Compared::Value(limit) => (limit, String::new(), None),
            Compared::Times(factor, place) => {
                let other = &results[place];
                let base = metric.of(other);
                let shown = metric.unit().show(base);
                let ratio = metric.of(result) / base;
                let ratio = match ratio.is_finite() {
                    true => format!(", {} times that", three_digits(ratio)),
                    false => String::new(),
                };
                let compared = format!(" ({} has {shown}{ratio})", other.policy.label());
                (base * factor, compared, Some(other))
            }
        };
        let value = metric.of(result);
        // Both sides of a comparison need samples.
        let lacking = [Some(result), other].into_iter().flatten().find_map(|run| {
            let samples = metric.samples(run).filter(|samples| !samples.are_enough())?;
            Some((run, samples))
        });
        let verdict = match lacking {
            Some(_) if few == Few::Refused => Verdict::NotEnough,
            _ if operator.holds(value, limit) => Verdict::Holds,
            _ => Verdict::Fails,
        };
        let remark = lacking.map_or_else(String::new, |(run, samples)| {
            remark(run, samples, verdict, run.policy != result.policy)
        });
        let samples = lacking.map(|(_, samples)| samples).or_else(|| metric.samples(result));
        report::Assertion {
            condition: text.clone(),
            policy: result.policy.name().to_owned(),
            verdict,
            samples: samples.map(Samples::counted),
            samples_needed: samples.map(Samples::fewest),
            requests_needed: lacking
                .filter(|_| verdict == Verdict::NotEnough)
                .and_then(|(run, samples)| samples.requests_needed(run.requests)),
            sentence: format!(
                "{} has {metric} = {}{compared}{remark}",
                result.policy.label(),
                metric.unit().show(value),
            ),
        }
    }
}

/// That a number of `run` rests on few samples, and how many requests would be enough.
fn remark(run: &RunResult, samples: Samples, verdict: Verdict, is_other: bool) -> String {
    let whose = match is_other {
        true => format!("under {} ", run.policy.label()),
        false => String::new(),
    };
    let lack = samples.lack_in_words();
    if verdict != Verdict::NotEnough {
        return format!(" ({whose}{lack})");
    }
    let needed = samples.requests_needed(run.requests).map_or_else(String::new, |requests| {
        format!(
            "; {} need {requests} requests, and this run has {}",
            samples.fewest(),
            run.requests
        )
    });
    format!(", but {whose}{lack}{needed}")
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
    fn an_assertion_is_about_policies_that_run() {
        let run = [PolicyKind::BASE, PolicyKind::IODA];
        let about = |text: &str| {
            let assertion = parsed(text);
            assertion.about(&run).map(|bound| bound.about)
        };
        assert_eq!(about("read.p99<1ms"), Ok(0..2));
        assert_eq!(about("ioda:read.p99<=base"), Ok(1..2));
        for text in ["ideal:read.p99<1ms", "ioda:read.p99<=1.1*ideal"] {
            let why = "is about ideal, which is not run: add it to --policy, which is base,ioda";
            assert_eq!(about(text), Err(format!("--assert {text:?} {why}")));
        }
    }

    #[test]
    fn what_is_no_assertion_is_refused_with_an_example() {
        let refused = |text: &str| text.parse::<Assertion>().unwrap_err().to_string();
        assert!(refused("read.p99").starts_with("no comparison is in it; write for instance"));
        assert!(refused("read.p99=1us").starts_with("the comparison is none of"));
        assert!(refused("read.p99<500").starts_with("duration \"500\" has no unit; write 500us"));
        assert!(refused("window<500").starts_with("duration \"500\" has no unit; write 500us"));
        for mistyped in ["idoa:read.p99<2ms", "idoa.read.p99<2ms"] {
            assert!(refused(mistyped).contains("did you mean \"ioda\"?"), "{}", refused(mistyped));
        }
        assert!(refused("reed.p99<500us").starts_with("there is no metric \"reed.p99\""));
        assert!(refused("read.p99<2*idol").starts_with("there is no policy \"idol\""));
        assert!(refused("waf<high").starts_with("the limit \"high\" is not a number"));
    }
}
