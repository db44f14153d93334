//! Numbers of claims over several seeds: how sure they are, as whole runs vary.

use crate::{Claim, format};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statistics::Interval;

/// What stands between a claim and its seed.
pub const SEED: &str = ", seed ";

/// One claim over several seeds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClaimOverSeeds {
    /// The claim, without a seed.
    pub id: String,
    /// With how many seeds it was judged.
    pub seeds: u64,
    /// With how many of them it holds.
    pub holds: u64,
    /// Its numbers.
    pub numbers: Vec<NumberOverSeeds>,
}

/// One number of a claim over several seeds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NumberOverSeeds {
    /// Workload, metric and what is compared.
    pub of: String,
    /// The geometric mean over the seeds; latencies in nanoseconds.
    pub mean: f64,
    /// The lower end of where that mean lies with a confidence of 95 %, as the seeds vary.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The claims of `claims` that were judged with several seeds.
#[must_use]
pub fn over_seeds(claims: &[Claim]) -> Vec<ClaimOverSeeds> {
    let mut groups: Vec<(&str, Vec<&Claim>)> = Vec::new();
    for claim in claims {
        let Some((id, _)) = claim.id.rsplit_once(SEED) else { continue };
        match groups.iter_mut().find(|(known, _)| *known == id) {
            Some((_, group)) => group.push(claim),
            None => groups.push((id, vec![claim])),
        }
    }
    let together = |(id, group): (&str, Vec<&Claim>)| ClaimOverSeeds {
        id: id.to_owned(),
        seeds: group.len() as u64,
        holds: group.iter().filter(|claim| claim.holds).count() as u64,
        numbers: numbers(&group),
    };
    groups.into_iter().map(together).collect()
}

/// The numbers that all of a claim's seeds have.
fn numbers(group: &[&Claim]) -> Vec<NumberOverSeeds> {
    let Some(first) = group.first() else { return Vec::new() };
    let of = |name: &str| -> Option<NumberOverSeeds> {
        let value = |claim: &&Claim| {
            claim.numbers.iter().find(|number| number.of == name).map(|number| number.value)
        };
        let values: Vec<f64> = group.iter().map(value).collect::<Option<_>>()?;
        let (mean, low, high) = interval(&values)?;
        Some(NumberOverSeeds { of: name.to_owned(), mean, low, high })
    };
    first.numbers.iter().filter_map(|number| of(&number.of)).collect()
}

/// The geometric mean of `values` and its interval of 95 %; none of fewer than two, or if one is
/// not a number above zero.
#[must_use]
pub fn interval(values: &[f64]) -> Option<(f64, f64, f64)> {
    let (mean, Interval { low, high }) = statistics::geometric_mean(values)?;
    Some((mean, low, high))
}

/// What came of all seeds, as text; empty if there was one.
#[must_use]
pub fn render(claims: &[ClaimOverSeeds]) -> String {
    let line = |claim: &ClaimOverSeeds| {
        let ClaimOverSeeds { id, seeds, holds, numbers } = claim;
        let numbers = numbers.iter().filter(|number| number.of.contains('/')).map(|number| {
            let [mean, low, high] =
                [number.mean, number.low, number.high].map(format::three_digits);
            format!("    {}: {mean} [{low}, {high}]\n", number.of)
        });
        format!("  {id}: holds with {holds} of {seeds} seeds\n{}", numbers.collect::<String>())
    };
    match claims {
        [] => String::new(),
        claims => format!(
            "\nOver the seeds: ratios are geometric means with 95 % intervals of the mean\n{}",
            claims.iter().map(line).collect::<String>()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClaimNumber;

    fn claim(id: &str, holds: bool, value: f64) -> Claim {
        let number =
            ClaimNumber { of: "tpcc p99 base/ideal".to_owned(), value, ..ClaimNumber::default() };
        Claim { id: id.to_owned(), holds, numbers: vec![number], ..Claim::default() }
    }

    #[test]
    fn seeds_of_a_claim_come_together() {
        let claims = [
            claim("a, seed 1", true, 2.0),
            claim("b, seed 1", true, 0.0),
            claim("c", true, 1.0),
            claim("a, seed 2", false, 8.0),
            claim("b, seed 2", true, 1.0),
        ];
        let all = over_seeds(&claims);
        let found: Vec<(&str, u64, u64)> =
            all.iter().map(|one| (one.id.as_str(), one.holds, one.seeds)).collect();
        assert_eq!(found, [("a", 1, 2), ("b", 2, 2)]);
        let number = &all[0].numbers[0];
        // Logarithms ln 4 ± ln 2: a deviation of the mean of ln 2, and a quantile of 12.7.
        assert!((number.mean - 4.0).abs() < 1e-9, "{number:?}");
        assert!((number.high / 4.0).log2() - 12.706 < 1e-3, "{number:?}");
        assert!((number.low * number.high - 16.0).abs() < 1e-6, "{number:?}");
        assert!(all[1].numbers.is_empty(), "zero has no logarithm");
        let text = render(&all);
        assert!(
            text.contains("  a: holds with 1 of 2 seeds\n    tpcc p99 base/ideal: 4.00 ["),
            "{text}"
        );
        assert_eq!(render(&over_seeds(&[claim("c", true, 1.0)])), "");
    }
}
