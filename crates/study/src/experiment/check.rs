//! How a claim is checked: a closed set of five ways.

use super::number::Number;
use crate::values::quantity::Text;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// How a claim is checked, for each workload and each metric.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Check {
    /// Each series has more than the next.
    Order(Order),
    /// One series has so many times as much as another.
    Ratio(Ratio),
    /// What one series has more than a floor, against the least of others.
    Excess(Excess),
    /// One series has a number within limits.
    Within(Within),
    /// Series have exactly these numbers.
    Equals(Equals),
}

/// One of them, or a list of which each must hold.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "series are names, or a list of lists of names")]
pub(super) enum Several<T> {
    One(T),
    Many(Vec<T>),
}

impl<T> Several<T> {
    fn all(&self) -> &[T] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Many(many) => many,
        }
    }
}

/// Each series has more than the next.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// The numbers that are compared, such as `read.p99`.
    pub(super) metrics: Vec<Text<Number>>,
    /// The series, the one that has most first; or several such lists. `policies` means the same.
    #[serde(alias = "policies")]
    pub(super) series: Several<Vec<String>>,
    /// Whether the same is enough [default: false].
    #[serde(default)]
    pub(super) or_equal: bool,
    /// By which share a step may go the wrong way, 0 to 1 [default: 0].
    #[serde(default)]
    pub(super) tolerance: f64,
}

/// `of` has between `low` and `high` times as much as `to`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ratio {
    /// The numbers that are compared, such as `read.p99`.
    pub(super) metrics: Vec<Text<Number>>,
    /// The series whose number is divided.
    pub(super) of: String,
    /// The series by whose number it is divided.
    pub(super) to: String,
    /// The least quotient with which the claim holds [default: no bound].
    pub(super) low: Option<f64>,
    /// The largest quotient with which the claim holds [default: no bound].
    pub(super) high: Option<f64>,
}

/// The excess of `of` over `floor` is at most `high` times the least excess of the policies in
/// `than`: `(of / floor − 1) / (than / floor − 1)`. With variants it is about those of each.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Excess {
    /// The numbers that are compared, such as `read.p99.9`.
    pub(super) metrics: Vec<Text<Number>>,
    /// The policy that is measured.
    pub(super) of: String,
    /// The policies of which the best is the measure.
    pub(super) than: Vec<String>,
    /// The policy that nothing can be better than.
    pub(super) floor: String,
    /// The largest quotient with which the claim holds.
    pub(super) high: f64,
}

/// `of` has between `low` and `high`; latencies in microseconds.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Within {
    /// The numbers that are compared with the limits, such as `read.p99`.
    pub(super) metrics: Vec<Text<Number>>,
    /// The series, or a list of series of which each must lie within.
    pub(super) of: Several<String>,
    /// The least value with which the claim holds; latencies in microseconds [default: no bound].
    pub(super) low: Option<f64>,
    /// The largest value with which the claim holds; latencies in microseconds [default: no bound].
    pub(super) high: Option<f64>,
}

/// Each series in `of` has exactly the number beside its name: for what an article prints.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Equals {
    /// The number that is compared.
    metric: Text<Number>,
    /// What it must be of each series, by the name of the series.
    of: BTreeMap<String, f64>,
}

/// What a check says about each metric of each workload: one thing, or several of a kind.
#[derive(Clone, Copy)]
pub(super) enum Part<'a> {
    Order(&'a Order, &'a [String]),
    Ratio(&'a Ratio),
    Excess(&'a Excess),
    Within(&'a Within, &'a str),
    Equals(&'a str, f64),
}

impl Order {
    /// Whether `next` may follow `first`.
    pub(super) fn allows(&self, first: f64, next: f64) -> bool {
        first > next
            || (self.or_equal && first == next)
            || (self.tolerance > 0.0 && first >= next * (1.0 - self.tolerance))
    }
}

impl Excess {
    /// The policies that it is about.
    fn policies(&self) -> impl Iterator<Item = &str> {
        let others = self.than.iter().map(String::as_str);
        [self.of.as_str(), self.floor.as_str()].into_iter().chain(others)
    }

    /// The quotient for one workload and variant, of these numbers. Where nothing is to be won it is
    /// 0, or beyond all bounds for what is slower than the floor.
    pub(super) fn quotient(&self, of: f64, than: &[f64], floor: f64) -> f64 {
        let best = than.iter().copied().fold(f64::INFINITY, f64::min);
        let (own, best) = ((of - floor).max(0.0), (best - floor).max(0.0));
        if own == 0.0 { 0.0 } else { own / best }
    }
}

impl<'a> Part<'a> {
    /// The series that it is about.
    pub(super) fn series(self) -> Vec<&'a str> {
        match self {
            Self::Order(_, series) => series.iter().map(String::as_str).collect(),
            Self::Ratio(ratio) => vec![&ratio.of, &ratio.to],
            Self::Excess(excess) => excess.policies().collect(),
            Self::Within(_, of) | Self::Equals(of, _) => vec![of],
        }
    }
}

impl Check {
    pub(super) fn parts(&self) -> Vec<Part<'_>> {
        match self {
            Self::Order(order) => {
                order.series.all().iter().map(|series| Part::Order(order, series)).collect()
            }
            Self::Ratio(ratio) => vec![Part::Ratio(ratio)],
            Self::Excess(excess) => vec![Part::Excess(excess)],
            Self::Within(within) => {
                within.of.all().iter().map(|of| Part::Within(within, of)).collect()
            }
            Self::Equals(equals) => {
                equals.of.iter().map(|(of, value)| Part::Equals(of, *value)).collect()
            }
        }
    }

    /// The numbers that it is about.
    pub fn numbers(&self) -> impl Iterator<Item = Number> {
        let texts = match self {
            Self::Order(Order { metrics, .. })
            | Self::Ratio(Ratio { metrics, .. })
            | Self::Excess(Excess { metrics, .. })
            | Self::Within(Within { metrics, .. }) => metrics,
            Self::Equals(Equals { metric, .. }) => std::slice::from_ref(metric),
        };
        texts.iter().map(|text| text.value)
    }

    /// The series that it is about.
    pub fn series(&self) -> Vec<&str> {
        self.parts().into_iter().flat_map(Part::series).collect()
    }

    /// Whether a name means the series of a policy in every variant.
    pub fn is_about_each_variant(&self) -> bool {
        matches!(self, Self::Excess(_))
    }

    /// Whether it compares with exact numbers.
    pub fn is_exact(&self) -> bool {
        matches!(self, Self::Equals(_))
    }

    /// Its limits, in words.
    pub fn limits(&self) -> String {
        let between = |low: Option<f64>, high: Option<f64>| match (low, high) {
            (Some(low), Some(high)) if low == high => format!("exactly {low}"),
            (Some(low), Some(high)) => format!("{low} to {high}"),
            (Some(low), None) => format!("at least {low}"),
            (None, Some(high)) => format!("at most {high}"),
            (None, None) => "any".to_owned(),
        };
        match self {
            Self::Order(Order { or_equal, tolerance, .. }) => {
                let mut text = "in this order".to_owned();
                if *or_equal {
                    text += ", or equal";
                }
                if *tolerance > 0.0 {
                    text += &format!(", a step may go the wrong way by {} %", tolerance * 100.0);
                }
                text
            }
            Self::Ratio(ratio) => format!("{} times", between(ratio.low, ratio.high)),
            Self::Excess(excess) => format!("at most {} of the excess", excess.high),
            Self::Within(within) => between(within.low, within.high),
            Self::Equals(equals) => {
                let each = equals.of.iter().map(|(name, value)| format!("{name} {value}"));
                each.collect::<Vec<_>>().join(", ")
            }
        }
    }

    /// Refuses a check that says nothing.
    pub fn validate(&self) -> Result<(), String> {
        let parts = self.parts();
        if parts.is_empty() {
            return Err("it is about no series; name one".to_owned());
        }
        for part in parts {
            match part {
                Part::Order(_, series) if series.len() < 2 => {
                    let count = series.len();
                    return Err(format!("an order of {count} series says nothing; name two"));
                }
                Part::Order(order, _) if !(0.0..=1.0).contains(&order.tolerance) => {
                    return Err(format!("tolerance is {}, but must be 0 to 1", order.tolerance));
                }
                Part::Excess(excess) if excess.than.is_empty() => {
                    return Err("it compares with no policy; set than".to_owned());
                }
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excess_is_measured_by_the_best_of_others() {
        let excess = Excess {
            metrics: Vec::new(),
            of: "a".to_owned(),
            than: Vec::new(),
            floor: "floor".to_owned(),
            high: 0.5,
        };
        assert_eq!(excess.quotient(200.0, &[900.0, 500.0], 100.0), 0.25);
        assert_eq!(excess.quotient(90.0, &[95.0], 100.0), 0.0);
        assert_eq!(excess.quotient(101.0, &[95.0], 100.0), f64::INFINITY);
    }

    #[test]
    fn an_order_may_forgive_a_small_step() {
        let order = |or_equal, tolerance| Order {
            metrics: Vec::new(),
            series: Several::Many(Vec::new()),
            or_equal,
            tolerance,
        };
        let strict = order(false, 0.0);
        assert!(strict.allows(2.0, 1.0) && !strict.allows(1.0, 1.0));
        let equal = order(true, 0.0);
        assert!(equal.allows(1.0, 1.0) && !equal.allows(0.99, 1.0));
        let tolerant = order(false, 0.02);
        assert!(tolerant.allows(0.99, 1.0) && !tolerant.allows(0.97, 1.0));
        assert!(!tolerant.allows(f64::NAN, 1.0));
    }
}
