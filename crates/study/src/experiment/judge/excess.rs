//! What a policy has more than a floor, against the best of others.

use super::super::check::Excess;
use super::{Case, Found, Over, three_digits};
use report::Side;

impl Case<'_> {
    /// The quotients of excesses, of each variant under each workload of the case, the smallest
    /// first.
    fn excesses(&self, excess: &Excess) -> Vec<f64> {
        let of_variant = |variant: &str| {
            let name = |policy: &str| match variant {
                "" => policy.to_owned(),
                variant => format!("{variant}/{policy}"),
            };
            let values = |policy: &str| self.values(None, &name(policy)).collect::<Vec<f64>>();
            let (of, floor) = (values(&excess.of), values(&excess.floor));
            let than: Vec<Vec<f64>> = excess.than.iter().map(|policy| values(policy)).collect();
            let quotient = |index: usize| {
                let than: Vec<f64> = than.iter().map(|values| values[index]).collect();
                excess.quotient(of[index], &than, floor[index])
            };
            (0..of.len()).map(quotient).collect::<Vec<f64>>()
        };
        let variants = self.series.iter().filter_map(|series| series.variant_under(&excess.of));
        let mut quotients: Vec<f64> = variants.flat_map(of_variant).collect();
        quotients.sort_by(f64::total_cmp);
        quotients
    }

    /// Whether the median, or the largest of them, is within the limit.
    pub(super) fn excess(&self, excess: &Excess) -> Found {
        let quotients = self.excesses(excess);
        let largest = quotients.last().copied().unwrap_or(f64::NAN);
        let value = match self.over {
            Over::Median => median(&quotients),
            _ => largest,
        };
        let holds = value <= excess.high;
        let range = match quotients.as_slice() {
            [least, .., most] => {
                format!(" of {} ({} to {})", quotients.len(), shown(*least), shown(*most))
            }
            _ => String::new(),
        };
        Found {
            text: format!("{}{range}", shown(value)),
            value,
            holds,
            misses: (!holds && !value.is_nan()).then_some(Side::Higher),
            estimates: Vec::new(),
        }
    }
}

/// A quotient as it is shown.
fn shown(value: f64) -> String {
    match value.is_infinite() {
        true => "all of it".to_owned(),
        false => three_digits(value),
    }
}

/// The median of numbers in order: of an even number of them, the larger of the two in the middle.
fn median(sorted: &[f64]) -> f64 {
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_no_better_than_half_of_the_numbers() {
        assert_eq!(median(&[1.0, 2.0, 9.0]), 2.0);
        assert_eq!(median(&[1.0, 2.0, 3.0, 9.0]), 3.0);
        assert!(median(&[]).is_nan());
    }
}
