//! Choosing experiments and claims by words.

use super::claim::Expectation;
use super::description::Experiment;

/// The experiments that have every word of `text` in id, figure or title, with all their claims.
/// Others keep the claims that have it in id, statement or the words of the paper.
pub fn filter(all: Vec<Experiment>, text: &str) -> Vec<Experiment> {
    let keep = |mut experiment: Experiment| {
        let Experiment { id, figure, title, claims, .. } = &mut experiment;
        keeps(text, [id, figure, title], claims).then_some(experiment)
    };
    all.into_iter().filter_map(keep).collect()
}

/// Whether an experiment with this `heading` has every word of `text`. If the heading has not, the
/// `claims` that do are left.
pub(super) fn keeps(text: &str, heading: [&str; 3], claims: &mut Vec<Expectation>) -> bool {
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    let has_all = |texts: [&str; 3]| {
        let texts = texts.join("\n").to_lowercase();
        words.iter().all(|word| texts.contains(word))
    };
    if has_all(heading) {
        return true;
    }
    claims.retain(|Expectation { id, statement, article, .. }| has_all([id, statement, article]));
    !claims.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::builtin;

    fn found(text: &str) -> Vec<(String, usize)> {
        let filtered = filter(builtin().unwrap(), text);
        filtered.into_iter().map(|one| (one.id, one.claims.len())).collect()
    }

    #[test]
    fn experiments_are_found_with_all_claims_and_claims_alone() {
        let all = builtin().unwrap();
        let of_5a = all.iter().find(|one| one.id == "figure-5a").unwrap().claims.len();
        assert_eq!(found("figure-5A"), [("figure-5a".to_owned(), of_5a)]);
        assert_eq!(found("6-iod1-iod2"), [("figure-6".to_owned(), 1)]);
        assert_eq!(found("no such words anywhere"), []);
        let ttflash = found("ttflash");
        // And some claims of other experiments, in which it is named.
        assert!(ttflash.iter().filter(|(id, _)| id.starts_with("ttflash")).count() > 5);
        // Every word counts.
        assert!(found("ttflash 9a").len() < ttflash.len());
    }
}
