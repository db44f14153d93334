//! The causes of delay as words that go into a sentence.

/// Each cause by the name that it has in a document, and what a read does meanwhile.
const PHRASES: [(&str, &str); 12] = [
    ("transfer", "moving data"),
    ("NAND read", "reading flash"),
    ("behind host reads", "waiting behind reads of the host"),
    ("behind host writes", "waiting behind writes of the host"),
    ("behind collection (read)", "waiting behind a collection that reads"),
    ("behind collection (program)", "waiting behind a collection that programs"),
    ("behind collection (erase)", "waiting behind a collection that erases"),
    ("fail-fast round trip", "asking a drive that fails fast"),
    ("rebuild", "reconstructing from the other drives"),
    ("stripe lock", "waiting for the lock of the stripe"),
    ("late answer", "waiting for a late answer"),
    ("held back", "being held back by the host"),
];

/// What goes after "goes to" and "mostly"; a cause that is not known keeps its name.
pub(crate) fn phrase(cause: &str) -> &str {
    PHRASES.iter().find(|(name, _)| *name == cause).map_or(cause, |(_, phrase)| phrase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_that_a_report_is_shown_with_has_words() {
        let comparison = crate::sample::comparison();
        for (cause, _) in comparison.runs.iter().flat_map(|run| &run.causes[0].parts_us) {
            assert_ne!(phrase(cause), cause);
        }
        assert_eq!(phrase("of another time"), "of another time");
    }
}
